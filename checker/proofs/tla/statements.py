"""Translate statements of the language to chains of states in TLA+."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from checker.proofs.tla.env import ROOT, Env, Next, Operator, Untranslatable, Ways, Word, asserted, walk
from checker.proofs.tla.expressions import NAMED, Expressions
from checker.proofs.tla.places import place_of
from checker.proofs.tla.syntax import If, Node, TlaText, flat, let
from checker.proofs.tla.values import whole, zero
from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Int, Kind, Seq, SetOf
from zabspec.language.layout.schema import Role

SHORT = 24  # characters of a value that is repeated rather than named


class Known(t.Expr):
    """An expression that is translated already."""

    node: Node
    process: bool


class Statements(Expressions):
    """Translates statements."""

    def on_Known(self, e: Known, env: Env) -> Node:
        return e.node

    def is_process(self, e: t.Expr, env: Env) -> bool:
        return e.process if isinstance(e, Known) else super().is_process(e, env)

    # --- the order of things ----------------------------------------------------------------------

    def ready(self, asked: Sequence[Any], env: Env, then: Next) -> Node:
        """Return the continuation after those pending changes are made that some expressions read."""
        changed = {s: {name for name, _ in changes} for s, changes in env.pending.items() if changes}
        if not changed:
            return then(env)
        stale: set[str] = set()
        for e in walk(list(asked)):
            if isinstance(e, t.Memory) and e.base.type == t.STATE:
                place = place_of(e, self.layout)
                assert isinstance(e.base, t.Var)
                if place.field is not None and place.field.name in changed.get(e.base.name, ()):
                    stale.add(e.base.name)
            elif isinstance(e, t.Call) or (isinstance(e, t.Builtin) and e.op == "forget"):
                stale |= {a.name for a in e.args if isinstance(a, t.Var) and a.type == t.STATE} & changed.keys()
        return self.made(sorted(stale), env, then)

    def made(self, states: Sequence[str], env: Env, then: Next) -> Node:
        """Return the continuation with the pending changes of some states made."""
        names = []
        for state in states:
            if env.pending.get(state):
                called = self.fresh.name("s")
                names.append((called, TlaText(env.now(state))))
                env = env.at(state, called)
        return let(names, then(env))

    def hoisted(self, e: t.Expr, env: Env, then: Any) -> Node:
        """Return the continuation with an expression without calls that change the state: these are moved before it."""
        call = self.first_change(e)
        if call is None:
            return self.ready([e], env, lambda at: then(at, e))
        earlier = self.read_before(e, call)
        if earlier:
            return self.as_it_was(e, earlier, env, lambda at, now: self.hoisted(now, at, then))
        f = self.program.functions[call.function]
        state = self.state_of(f)
        given = next(a for (name, _), a in zip(f.params, call.args, strict=True) if name == state)
        assert isinstance(given, t.Var)

        def called(at: Env) -> Node:
            result = self.fresh.name("r")
            value = TlaText(self.called(f, call, at))
            on = at.at(given.name, f"{result}.state")
            known = Known(call.type, TlaText(f"{result}.value"), "return" in f.processes)
            return let([(result, value)], self.hoisted(substituted(e, call, known), on, then))

        return self.ready([call], env, called)

    def read_before(self, e: Any, call: t.Call) -> list[t.Expr]:
        """Return the parts of an expression that read the state and are evaluated before a call that changes it."""
        return [x for x in evaluated_before(e, call) or () if any(map(self.reads_state, walk(x)))]

    @staticmethod
    def reads_state(e: Any) -> bool:
        return isinstance(e, t.Call) or (isinstance(e, t.Memory) and e.base.type == t.STATE)

    def as_it_was(self, e: Any, parts: Sequence[t.Expr], env: Env, then: Any) -> Node:
        """Return the continuation with an expression, parts of which are evaluated now, before the state changes."""

        def named_(at: Env) -> Node:
            names, now = [], e
            for part in parts:
                if isinstance(part.type, (t.SeqType, t.MessageType)):
                    raise Untranslatable(f"{self.where(part)}: what a call is given is changed by a later argument")
                process = self.is_process(part, at)
                called = self.fresh.name("was")
                names.append((called, self.expr(part, at, process)))
                now = substituted(now, part, Known(part.type, TlaText(called), process))
            return let(names, then(at, now))

        return self.ready(parts, env, named_)

    def first_change(self, e: Any, sure: bool = True) -> t.Call | None:
        """Return the first call in an expression that changes the state, in the order of evaluation."""
        if isinstance(e, (list, tuple)):
            return next((c for c in (self.first_change(x, sure) for x in e) if c is not None), None)
        if isinstance(e, t.Term):
            return self.first_change(e.index, sure)
        if not isinstance(e, t.Expr):
            return None
        if isinstance(e, (t.Logic, t.Choice)):
            first, *rest = e.parts if isinstance(e, t.Logic) else (e.test, e.then, e.other)
            found = self.first_change(first, sure)
            return found if found is not None else self.first_change(rest, False)
        inner = self.first_change([v for v in vars(e).values() if isinstance(v, (t.Expr, list, tuple))], sure)
        if inner is not None:
            return inner
        if isinstance(e, t.Call) and e.function in self.writers:
            if not sure:
                called = self.program.functions[e.function].called
                raise Untranslatable(f"{self.where(e)}: {called} is called in a condition: {NAMED}")
            return e
        return None

    # --- statements -------------------------------------------------------------------------------

    def block(self, body: Sequence[t.Stmt], env: Env, after: Next, ways: Ways) -> Node:
        if not body:
            return after(env)
        s, rest = body[0], body[1:]
        return self.statement(s, env, lambda at: self.block(rest, at, after, ways), ways)

    def statement(self, s: t.Stmt, env: Env, after: Next, ways: Ways) -> Node:
        if isinstance(s, (t.Assign, t.Store, t.Copy, t.Append, t.Return)):
            env = env.forgetting(self.said_by(s.value))
        return getattr(self, f"do_{type(s).__name__}", self.not_here)(s, env, after, ways)

    def not_here(self, s: t.Stmt, env: Env, after: Next, ways: Ways) -> Node:
        raise Untranslatable(f"{self.where(s)}: a module has no {type(s).__name__}")

    def do_Assign(self, s: t.Assign, env: Env, after: Next, ways: Ways) -> Node:
        known = self.static(s.value, env)
        if known is not None and self.acting:
            return after(env.named(s.name, known))

        def assigned(at: Env, e: t.Expr) -> Node:
            value = self.expr(e, at, self.is_process(t.Var(s.value.type, s.name), at))
            text = flat(value).text
            if len(text) <= SHORT and ("." not in text or text.endswith(".value")):
                return after(at.named(s.name, TlaText(text, flat(value).loose)))
            called = self.fresh.name(s.name)
            return let([(called, value)], after(at.named(s.name, TlaText(called))))

        return self.hoisted(s.value, env, assigned)

    def change(self, place: t.Memory, how: str, asked: Sequence[Any], env: Env, after: Next, value: Any) -> Node:
        """Return the continuation after a change of a location; `value` returns its form in an EXCEPT."""
        found = place_of(place, self.layout)
        if found.field is None:
            raise Untranslatable(f"{self.where(place)}: a message is changed outside the state")
        f = found.field
        assert isinstance(found.base, t.Var)
        state = found.base.name
        if f.role is Role.SCRATCH and not self.kept(f.name):
            if not self.acting or how != "=" or found.parts:
                return after(env)
            return self.ready(asked, env, lambda at: after(replace(at, aside={**at.aside, f.name: value(at)})))

        def changed(at: Env) -> Node:
            self.written.add(f.name)
            path = "".join(self.index(p, at) for p in found.parts)
            new = value(at)
            text = str(new) if isinstance(new, int) else flat(new).text
            if how == "=" and found.parts and place.terms[-1].length is not None:  # TLC would leave it as it is
                path = "".join(self.index(p, at) for p in found.parts[:-1])
                index = found.parts[-1].index
                assert index is not None
                text = f"PutAt(@, {self.place_in(index, at)}, {text})"
            return after(at.changed(state, f.name, f"!.{f.name}{path} = {text}"))

        return self.ready([*asked, *(p.index for p in found.parts if p.index is not None)], env, changed)

    def do_Store(self, s: t.Store, env: Env, after: Next, ways: Ways) -> Node:
        def stored(at: Env, e: t.Expr) -> Node:
            known = self.static(e, at)
            keep = self.acting and known is not None and s.place.base.type == t.STATE
            f = place_of(s.place, self.layout).field
            if keep and f is not None and f.name in self.carried and known == self.unsaid(f) and self.untouched(s, at):
                return after(at)
            if keep and f is not None and not self.kept(f.name):
                return self.change(s.place, "=", [], at, after, lambda _: known)
            return self.change(s.place, "=", [e], at, after, lambda on: self.kept_as(s.place.kind, e, on))

        f = place_of(s.place, self.layout).field
        if f is not None and not self.kept(f.name) and not self.acting:
            return after(env)
        return self.hoisted(s.value, env, stored)

    def untouched(self, s: t.Store, env: Env) -> bool:
        """Return whether a field that is stored into still has its value in the variable."""
        found = place_of(s.place, self.layout)
        assert isinstance(found.base, t.Var)
        changed = {name for name, _ in env.pending.get(found.base.name, ())}
        return env.states[found.base.name] == ROOT and not found.parts and found.field_name not in changed

    def do_Copy(self, s: t.Copy, env: Env, after: Next, ways: Ways) -> Node:
        return self.hoisted(
            s.value, env, lambda at, e: self.change(s.place, "=", [e], at, after, lambda on: self.expr(e, on))
        )

    def do_SetChange(self, s: t.SetChange, env: Env, after: Next, ways: Ways) -> Node:
        kind = s.place.kind
        assert isinstance(kind, SetOf)
        nodes = kind.nodes

        def changed(on: Env, e: t.Expr) -> Node:
            def value(at: Env) -> Node:
                item = self.process(e, at) if nodes else self.expr(e, at)
                return TlaText(f"@ {UNION if s.add else MINUS} {{{flat(item).text}}}")

            return self.change(s.place, "change", [e], on, after, value)

        return self.hoisted(s.item, env, changed)

    def do_Clear(self, s: t.Clear, env: Env, after: Next, ways: Ways) -> Node:
        return self.change(s.place, "clear", [], env, after, lambda _: self.least_of(s.place.kind))

    def do_Append(self, s: t.Append, env: Env, after: Next, ways: Ways) -> Node:
        kind = s.place.kind
        assert isinstance(kind, Seq)

        def appended(at: Env, e: t.Expr) -> Node:
            return self.change(
                s.place, "append", [e], at, after,
                lambda on: TlaText(f"Append(@, {flat(self.kept_as(kind.element, e, on)).text})"),
            )  # fmt: skip

        return self.hoisted(s.value, env, appended)

    def do_Remove(self, s: t.Remove, env: Env, after: Next, ways: Ways) -> Node:
        def removed(on: Env, index: t.Expr) -> Node:
            def value(at: Env) -> Node:
                if self.static(index, at) == 0:
                    return TlaText("Tail(@)")
                return TlaText(f"RemoveAt(@, {self.place_in(index, at)})")

            return self.change(s.place, "remove", [index], on, after, value)

        return self.hoisted(s.index, env, removed)

    def do_Evaluate(self, s: t.Evaluate, env: Env, after: Next, ways: Ways) -> Node:
        e = s.value
        if isinstance(e, t.Builtin) and e.op == "forget":
            return self.ready([e], env, lambda at: self.forgotten(e, at, after))
        if isinstance(e, t.Call) and e.function in self.writers and self.first_change(list(e.args)) is not None:
            return self.argued(e, env, after, ways)
        if isinstance(e, t.Call) and e.function in self.writers and self.acting:
            f = self.program.functions[e.function]
            if any(self.is_known(a, env) for a in e.args):
                return self.inline(f, e, env, after)
        env = env.forgetting(self.said_by(e))
        if (asked := asserted(s)) is not None:
            assert isinstance(e, t.Binary)
            said = self.program.sites[e.site - 1].sentence().replace("\\", "\\\\").replace('"', "'")
            failed = TlaText(f'Assert(FALSE, "{said}")')
            return self.hoisted(asked, env, lambda at, test: If(self.expr(test, at), after(at), failed))
        if not isinstance(e, t.Call) or e.function not in self.writers:
            if self.asserts(e):
                raise Untranslatable(f"{self.where(e)}: an assertion of a function whose value nothing uses")
            return after(env)
        f = self.program.functions[e.function]
        state = self.given(f, e)
        return self.ready([e], env, lambda at: self.after_call(state, self.called(f, e, at), at, after, f))

    def asserts(self, e: object) -> bool:
        """Return whether there is an assertion in a part of the program, or in what it calls."""
        called = (self.program.functions[c.function].body for c in walk(e) if isinstance(c, t.Call))
        return any(asserted(s) is not None for s in walk(e)) or any(map(self.asserts, called))

    def forgotten(self, e: t.Builtin, env: Env, after: Next) -> Node:
        """Return the continuation after a process loses what is volatile."""
        state = e.args[0]
        assert isinstance(state, t.Var)
        self.forget()
        call = f"Forget({env.now(state.name)}, {flat(self.process(e.args[1], env)).text})"
        return self.after_call(state.name, call, env, after)

    @staticmethod
    def is_known(e: t.Expr, env: Env) -> bool:
        """Return whether an argument is a step word, or a number that follows from one."""
        return isinstance(e, t.Var) and isinstance(env.names.get(e.name), (Word, int))

    def argued(self, e: t.Call, env: Env, after: Next, ways: Ways) -> Node:
        """Translate a call, some argument of which changes the state: the arguments come first."""
        call = self.first_change(list(e.args))
        assert call is not None
        earlier = self.read_before(e.args, call)
        if earlier:
            return self.as_it_was(e, earlier, env, lambda at, now: self.argued(now, at, after, ways))
        env = env.forgetting(self.said_by(call))
        f = self.program.functions[call.function]
        state = self.given(f, call)

        def called(at: Env) -> Node:
            result = self.fresh.name("r")
            value = TlaText(self.called(f, call, at))
            known = Known(call.type, TlaText(f"{result}.value"), "return" in f.processes)
            on = at.at(state, f"{result}.state")
            return let([(result, value)], self.do_Evaluate(t.Evaluate(0, substituted(e, call, known)), on, after, ways))

        return self.ready([call], env, called)

    def given(self, f: t.Function, e: t.Call) -> str:
        """Return the name of a call's state in the caller."""
        state = self.state_of(f)
        given = next(a for (name, _), a in zip(f.params, e.args, strict=True) if name == state)
        assert isinstance(given, t.Var)
        return given.name

    def after_call(self, state: str, call: str, env: Env, after: Next, f: t.Function | None = None) -> Node:
        """Return the continuation after a call that returns another state; its unused value is dropped."""
        if f is not None and f.returns != t.VOID:
            call = f"{call}.state"
        called = self.fresh.name("s")
        return let([(called, TlaText(call))], after(env.at(state, called)))

    def forget(self) -> None:
        """Add the operator that sets what is volatile of a process to the least of its range."""
        changes = []
        for f in self.layout.schema.fields:
            if f.role is Role.VOLATILE and self.kept(f.name):
                self.written.add(f.name)
                value = self.least_of(f.kind).text
                changes.append(f"!.{f.name}[p] = {whole(f.axes[1:], value, '|->')}")
        body = f"[s EXCEPT {', '.join(changes)}]" if changes else "s"  # a protocol may have nothing volatile
        self.operators.setdefault("Forget", Operator("Forget", ["s", "p"], TlaText(body)))

    def least_of(self, kind: Kind) -> TlaText:
        """Return the value whose bytes are all zero, by its name if it has one."""
        return self.enumerated_value(kind, kind.lo) if isinstance(kind, Int) and kind.names else zero(kind)

    def inline(self, f: t.Function, e: t.Call, env: Env, after: Next) -> Node:
        """Translate a call in place, as a part of its arguments is known."""
        caller, inner, state = self.current, self.entered(f, e, env), self.given(f, e)
        own = self.state_of(f)

        def back(at: Env, _: Node | None = None) -> Node:
            self.current = caller
            on = env.at(state, at.states[own])
            on = replace(on, aside=at.aside, pending={**on.pending, state: at.pending.get(own, ())})
            out = after(on)
            self.current = f
            return out

        self.current = f
        out = self.block(f.body, inner, back, Ways(back))
        self.current = caller
        return out

    def do_Return(self, s: t.Return, env: Env, after: Next, ways: Ways) -> Node:
        if s.value is None:
            return ways.back(env, None)
        process = "return" in self.current.processes
        return self.hoisted(
            s.value, env, lambda at, e: ways.back(at, self.process(e, at) if process else self.expr(e, at))
        )

    def do_Break(self, s: t.Break, env: Env, after: Next, ways: Ways) -> Node:
        assert ways.out is not None
        return ways.out(env)

    def do_Continue(self, s: t.Continue, env: Env, after: Next, ways: Ways) -> Node:
        assert ways.again is not None
        return ways.again(env)


UNION, MINUS = "\\union", "\\"


def evaluated_before(e: Any, call: t.Call) -> list[t.Expr] | None:
    """Return what is evaluated of an expression before a call within it, in order; None if the call is not in it."""
    if e is call:
        return []
    if isinstance(e, t.SetHas):  # Python evaluates what is looked for before the set
        parts: list[Any] = [e.item, e.value]
    elif isinstance(e, t.Term):
        parts = [e.index]
    elif isinstance(e, t.Expr):
        parts = list(vars(e).values())
    elif isinstance(e, (list, tuple)):
        parts = list(e)
    else:
        return None
    found: list[t.Expr] = []
    for part in parts:
        inner = evaluated_before(part, call)
        if inner is not None:
            return [*found, *inner]
        if isinstance(part, t.Expr):
            found.append(part)
        elif isinstance(part, (list, tuple)):
            found += [x for x in part if isinstance(x, t.Expr)]
            found += [x for y in part if isinstance(y, tuple) for x in y if isinstance(x, t.Expr)]
    return None


def substituted(e: Any, old: Any, new: Any) -> Any:
    """Return an expression with a part of it replaced."""
    if e is old:
        return new
    if isinstance(e, (t.Expr, t.Term)):
        return type(e)(**{f.name: substituted(getattr(e, f.name), old, new) for f in fields(e)})
    if isinstance(e, list):
        return [substituted(x, old, new) for x in e]
    if isinstance(e, tuple):
        return tuple(substituted(x, old, new) for x in e)
    return e
