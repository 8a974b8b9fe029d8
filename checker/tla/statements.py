"""Statements of the language as chains of states in TLA+."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from checker.tla.env import ROOT, Env, Next, Operator, Untranslatable, Value, Ways, Word, walk
from checker.tla.expressions import Expressions
from checker.tla.places import place_of
from checker.tla.syntax import FALSE, TRUE, If, Let, Many, Node, Quantified, Text, conj, disj, either, flat, let, words
from checker.tla.values import named, whole, zero
from zabspec.language import tree as t
from zabspec.language.kinds import Int, Kind, Seq, SetOf
from zabspec.language.schema import Role

__all__ = ["Statements"]

SHORT = 24  # characters of a value that is written again rather than named


@dataclass
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
        """What comes then, with those changes made that what is asked reads."""
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
        """What comes then, with the pending changes of some states made."""
        names = []
        for state in states:
            if env.pending.get(state):
                called = self.fresh.name("s")
                names.append((called, Text(env.now(state))))
                env = env.at(state, called)
        return let(names, then(env))

    def hoisted(self, e: t.Expr, env: Env, then: Any) -> Node:
        """What comes then with an expression, in which no call changes the state: these came before."""
        call = self.first_change(e)
        if call is None:
            return self.ready([e], env, lambda at: then(at, e))
        f = self.program.functions[call.function]
        state = self.state_of(f)
        given = next(a for (name, _), a in zip(f.params, call.args, strict=True) if name == state)
        assert isinstance(given, t.Var)

        def called(at: Env) -> Node:
            result = self.fresh.name("r")
            value = Text(self.called(f, call, at))
            on = at.at(given.name, f"{result}.state")
            known = Known(call.type, Text(f"{result}.value"), "return" in f.processes)
            return let([(result, value)], self.hoisted(substituted(e, call, known), on, then))

        return self.ready([call], env, called)

    def first_change(self, e: Any, sure: bool = True) -> t.Call | None:
        """The first call in an expression that changes the state, as it is evaluated."""
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
                raise Untranslatable(f"{self.where(e)}: {e.function} changes the state where it may not be asked")
            return e
        return None

    # --- statements -------------------------------------------------------------------------------

    def block(self, body: Sequence[t.Stmt], env: Env, after: Next, ways: Ways) -> Node:
        if not body:
            return after(env)
        s, rest = body[0], body[1:]
        return self.statement(s, env, lambda at: self.block(rest, at, after, ways), ways)

    def statement(self, s: t.Stmt, env: Env, after: Next, ways: Ways) -> Node:
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
                return after(at.named(s.name, Text(text, flat(value).loose)))
            called = self.fresh.name(s.name)
            return let([(called, value)], after(at.named(s.name, Text(called))))

        return self.hoisted(s.value, env, assigned)

    def change(self, place: t.Memory, how: str, asked: Sequence[Any], env: Env, after: Next, value: Any) -> Node:
        """A change of a place; `value` is asked for how an EXCEPT says it."""
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
        """Whether a field is stored into that is still as it is in the variable."""
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

        def value(at: Env) -> Node:
            item = self.process(s.item, at) if nodes else self.expr(s.item, at)
            return Text(f"@ {UNION if s.add else MINUS} {{{flat(item).text}}}")

        return self.change(s.place, "change", [s.item], env, after, value)

    def do_Clear(self, s: t.Clear, env: Env, after: Next, ways: Ways) -> Node:
        return self.change(s.place, "clear", [], env, after, lambda _: self.least_of(s.place.kind))

    def do_Append(self, s: t.Append, env: Env, after: Next, ways: Ways) -> Node:
        kind = s.place.kind
        assert isinstance(kind, Seq)

        def appended(at: Env, e: t.Expr) -> Node:
            return self.change(
                s.place, "append", [e], at, after,
                lambda on: Text(f"Append(@, {flat(self.kept_as(kind.element, e, on)).text})"),
            )  # fmt: skip

        return self.hoisted(s.value, env, appended)

    def do_Remove(self, s: t.Remove, env: Env, after: Next, ways: Ways) -> Node:
        def value(at: Env) -> Node:
            if self.static(s.index, at) == 0:
                return Text("Tail(@)")
            return Text(f"RemoveAt(@, {self.place_in(s.index, at)})")

        return self.change(s.place, "remove", [s.index], env, after, value)

    def do_Evaluate(self, s: t.Evaluate, env: Env, after: Next, ways: Ways) -> Node:
        e = s.value
        if isinstance(e, t.Builtin) and e.op == "forget":
            return self.ready([e], env, lambda at: self.forgotten(e, at, after))
        if not isinstance(e, t.Call) or e.function not in self.writers:
            return after(env)
        f = self.program.functions[e.function]
        if self.first_change(list(e.args)) is not None:
            return self.argued(e, env, after, ways)
        if self.acting and any(self.is_known(a, env) for a in e.args):
            return self.inline(f, e, env, after)
        state = self.given(f, e)
        return self.ready([e], env, lambda at: self.after_call(state, self.called(f, e, at), at, after, f))

    def forgotten(self, e: t.Builtin, env: Env, after: Next) -> Node:
        """A process forgets what is volatile."""
        state = e.args[0]
        assert isinstance(state, t.Var)
        self.forget()
        call = f"Forget({env.now(state.name)}, {flat(self.process(e.args[1], env)).text})"
        return self.after_call(state.name, call, env, after)

    @staticmethod
    def is_known(e: t.Expr, env: Env) -> bool:
        """Whether an argument is a name for a step word, or for a number that follows from one."""
        return isinstance(e, t.Var) and isinstance(env.names.get(e.name), (Word, int))

    def argued(self, e: t.Call, env: Env, after: Next, ways: Ways) -> Node:
        """A call, some argument of which changes the state: the arguments come first."""
        call = self.first_change(list(e.args))
        assert call is not None
        f = self.program.functions[call.function]
        state = self.given(f, call)

        def called(at: Env) -> Node:
            result = self.fresh.name("r")
            value = Text(self.called(f, call, at))
            known = Known(call.type, Text(f"{result}.value"), "return" in f.processes)
            on = at.at(state, f"{result}.state")
            return let([(result, value)], self.do_Evaluate(t.Evaluate(0, substituted(e, call, known)), on, after, ways))

        return self.ready([call], env, called)

    def given(self, f: t.Function, e: t.Call) -> str:
        """What a call's state is called where it is made."""
        state = self.state_of(f)
        given = next(a for (name, _), a in zip(f.params, e.args, strict=True) if name == state)
        assert isinstance(given, t.Var)
        return given.name

    def after_call(self, state: str, call: str, env: Env, after: Next, f: t.Function | None = None) -> Node:
        """What comes after a call that makes another state; a value that nobody asked for is dropped."""
        if f is not None and f.returns != t.VOID:
            call = f"{call}.state"
        called = self.fresh.name("s")
        return let([(called, Text(call))], after(env.at(state, called)))

    def forget(self) -> None:
        """The operator that sets what is volatile of a process to the least of its range."""
        changes = []
        for f in self.layout.schema.fields:
            if f.role is Role.VOLATILE and self.kept(f.name):
                self.written.add(f.name)
                value = self.least_of(f.kind).text
                changes.append(f"!.{f.name}[p] = {whole(f.axes[1:], value, '|->')}")
        self.operators.setdefault("Forget", Operator("Forget", ["s", "p"], Text(f"[s EXCEPT {', '.join(changes)}]")))

    def least_of(self, kind: Kind) -> Text:
        """The value that all zero bytes are, by its name if it has one."""
        return self.enumerated_value(kind, kind.lo) if isinstance(kind, Int) and kind.names else zero(kind)

    def inline(self, f: t.Function, e: t.Call, env: Env, after: Next) -> Node:
        """A call, done in its place: a part of its arguments is known."""
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

    # --- where control divides --------------------------------------------------------------------

    def do_If(self, s: t.If, env: Env, after: Next, ways: Ways) -> Node:
        known = self.static(s.test, env)
        if known is not None:
            return self.block(s.then if known else s.other, env, after, ways)
        return self.hoisted(s.test, env, lambda at, test: self.divided(s, test, at, after, ways))

    def divided(self, s: t.If, test: t.Expr, env: Env, after: Next, ways: Ways) -> Node:
        both = [*s.then, *s.other]
        if any(isinstance(x, (t.Return, t.Break, t.Continue)) for x in walk(both)):
            falls = [falls_through(s.then), falls_through(s.other)]
            if all(falls):
                return self.shared(s, test, env, after, ways)
            answer = self.expr(test, env)
            return either(answer, self.block(s.then, env, after, ways), self.block(s.other, env, after, ways))
        states = self.changed_states(both)
        env_names = [n for n in assigned(both) if self.read_outside(n, s)]
        if not states and not env_names:
            return after(env)

        def joined(at: Env) -> Node:
            answer = self.expr(test, at)
            sides = [
                self.block(part, at, lambda on: self.together(on, states, env_names), ways)
                for part in (s.then, s.other)
            ]
            return self.parted(either(answer, *sides), states, env_names, at, after)

        return self.made(states, env, joined)

    def shared(self, s: t.If, test: t.Expr, env: Env, after: Next, ways: Ways) -> Node:
        """Both sides go on, and one of them may not: what comes then stands once, and is named."""
        states = self.changed_states([*s.then, *s.other])
        locals_ = [n for n in assigned([*s.then, *s.other]) if self.read_outside(n, s)]
        if not states and not locals_ and len(flat(after(env)).text) < 60:
            answer = self.expr(test, env)
            return either(answer, self.block(s.then, env, after, ways), self.block(s.other, env, after, ways))
        called = self.fresh.name("after")
        inner, params = self.within(env, states, locals_)
        body = after(inner)

        def go(on: Env) -> Node:
            args = [on.now(state) for state in states] + [self.value_text(on.names[name]) for name in locals_]
            return Text(f"{called}({', '.join(args)})" if args else called)

        answer = self.expr(test, env)
        sides = [self.block(part, env, go, ways) for part in (s.then, s.other)]
        return let([(f"{called}({', '.join(params)})" if params else called, body)], either(answer, *sides))

    def changed_states(self, body: Sequence[t.Stmt]) -> list[str]:
        """The states that statements change, as they are called."""
        found = set()
        for s in walk(list(body)):
            if isinstance(s, (t.Store, t.Copy, t.SetChange, t.Clear, t.Append, t.Remove)):
                place = place_of(s.place, self.layout)
                if place.field is not None and self.kept(place.field.name) and isinstance(place.base, t.Var):
                    found.add(place.base.name)
            elif isinstance(s, t.Call) and s.function in self.writers:
                found.add(self.given(self.program.functions[s.function], s))
            elif isinstance(s, t.Builtin) and s.op == "forget" and isinstance(s.args[0], t.Var):
                found.add(s.args[0].name)
        return sorted(found)

    def read_outside(self, name: str, s: t.Stmt) -> bool:
        """Whether a local name is read anywhere in the function but in one statement."""
        inside = {id(e) for e in walk(s)}
        return any(isinstance(e, t.Var) and e.name == name and id(e) not in inside for e in walk(self.current.body))

    @staticmethod
    def value_text(value: Value) -> str:
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if value is None:
            return "0"
        return flat(value).text  # type: ignore[arg-type]

    def together(self, env: Env, states: Sequence[str], names: Sequence[str]) -> Node:
        """What a side leaves, as one value."""
        parts = [(f"state{k or ''}", env.now(state)) for k, state in enumerate(states)]
        parts += [(named(name), self.value_text(env.names.get(name))) for name in names]
        if len(parts) == 1:
            return Text(parts[0][1], " " in parts[0][1] and parts[0][1][0] not in "[{(")
        return Text("[" + ", ".join(f"{name} |-> {value}" for name, value in parts) + "]")

    def parted(self, whole_: Node, states: Sequence[str], names: Sequence[str], env: Env, after: Next) -> Node:
        """What comes after, with what a side left."""
        if len(states) + len(names) == 1:
            called = self.fresh.name("s" if states else names[0])
            on = env.at(states[0], called) if states else env.named(names[0], Text(called))
            return let([(called, whole_)], after(on))
        called = self.fresh.name("r")
        for k, state in enumerate(states):
            env = env.at(state, f"{called}.state{k or ''}")
        for name in names:
            env = env.named(name, Text(f"{called}.{named(name)}"))
        return let([(called, whole_)], after(env))

    def do_While(self, s: t.While, env: Env, after: Next, ways: Ways) -> Node:
        """One operator that calls itself while the test holds."""
        states = self.changed_states(s.body)
        names = [n for n in assigned(s.body) if n in env.names]
        called = self.fresh.name("loop")

        def begun(at: Env) -> Node:
            inner, params = self.within(at, states, names)

            def again(on: Env) -> Node:
                return self.called_with(called, on, states, names)

            body = self.block(s.body, inner, again, Ways(ways.back, after, again))
            step = self.hoisted(s.test, inner, lambda on, test: either(self.expr(test, on), body, after(on)))
            head = f"RECURSIVE {called}({', '.join('_' for _ in params)}) {called}({', '.join(params)})"
            return Let(((head, step),), again(at))

        return self.made(states, env, begun)

    def within(self, env: Env, states: Sequence[str], names: Sequence[str]) -> tuple[Env, list[str]]:
        """Where the body of an operator begins that takes states and names; and what it calls them."""
        params: list[str] = []
        for state in states:
            params.append(self.fresh.name("s"))
            env = env.at(state, params[-1])
        for name in names:
            params.append(self.fresh.name(name))
            env = env.named(name, Text(params[-1]))
        return env, params

    def called_with(self, called: str, env: Env, states: Sequence[str], names: Sequence[str]) -> Node:
        """A call of an operator of this one with what it goes on from."""
        args = [env.now(state) for state in states] + [self.value_text(env.names[name]) for name in names]
        return Text(f"{called}({', '.join(args)})" if args else called)

    # --- loops --------------------------------------------------------------------------------------

    def over(self, s: t.For, env: Env) -> str | None:
        """The set that a loop goes through; none: it is empty."""
        start, stop = self.static(s.start, env), self.static(s.stop, env)
        if start is not None and stop is not None and start >= stop:
            return None
        if id(s) in self.loops[self.current.name] and (start, stop) == (0, self.nodes):
            return "Node"
        low = str(start) if start is not None else self.text(s.start, env).tight
        return f"{low}..{stop - 1}" if stop is not None else f"{low}..({self.text(s.stop, env).tight} - 1)"

    def do_For(self, s: t.For, env: Env, after: Next, ways: Ways) -> Node:
        return self.ready([s.start, s.stop], env, lambda at: self.loop(s, at, after, ways))

    def loop(self, s: t.For, env: Env, after: Next, ways: Ways) -> Node:
        over = self.over(s, env)
        if over is None:
            return after(env)
        inside = list(walk(s.body))
        states = self.changed_states(s.body)
        names = [n for n in assigned(s.body) if n in s.before and n in env.names]
        returned = [x for x in inside if isinstance(x, t.Return)]
        leaves = any(isinstance(x, t.Break) for x in inside)
        if not states and not names and not leaves:
            if not returned:
                return after(env)
            values = {
                x.value.value if isinstance(x.value, t.Const) and x.value.type == t.BOOL else None for x in returned
            }
            if len(values) == 1 and None not in values:
                return self.quantified(s, over, bool(values.pop()), env, after, ways)
        if returned or leaves:
            return self.recursive(s, over, states, names, env, after, ways)
        return self.made(states, env, lambda at: self.folded(s, over, states, names, at, after))

    def quantified(self, s: t.For, over: str, value: bool, env: Env, after: Next, ways: Ways) -> Node:
        """A loop that only looks for something: some round gives the value back, or none does."""
        name = self.fresh.name(s.name)
        found, missed = (TRUE, FALSE) if value else (FALSE, TRUE)
        body = self.block(
            s.body, env.named(s.name, Text(name)), lambda _: missed, Ways(lambda *_: found, None, lambda _: missed)
        )
        asked: Node = Quantified("\\E" if value else "\\A", name, over, body)
        answer = TRUE if value else FALSE
        if value:
            return either(asked, ways.back(env, answer), after(env))
        return either(asked, after(env), ways.back(env, answer))

    def folded(self, s: t.For, over: str, states: list[str], names: list[str], env: Env, after: Next) -> Node:
        """A loop whose every round goes on from what the one before left."""
        called, item = self.fresh.name("s" if states and not names else "acc"), self.fresh.name(s.name)
        inner = env.named(s.name, Text(item))
        single = len(states) + len(names) == 1
        for k, state in enumerate(states):
            inner = inner.at(state, called if single else f"{called}.state{k or ''}")
        for name in names:
            inner = inner.named(name, Text(called if single else f"{called}.{named(name)}"))

        def round_(on: Env) -> Node:
            return self.together(on, states, names)

        body = self.block(s.body, inner, round_, Ways(lambda *_: TRUE, None, round_))
        begin = flat(self.together(env, states, names)).text
        if not states and single and (asked := gathered(body, called, item, over, begin)) is not None:
            return self.parted(asked, states, names, env, after)
        if isinstance(body, Text):
            whole_: Node = Text(folding(f"LAMBDA {called}, {item} : {body.text}", begin, over))
        else:
            each = self.fresh.name("each")
            whole_ = let([(f"{each}({called}, {item})", body)], Text(folding(each, begin, over)))
        return self.parted(whole_, states, names, env, after)

    def recursive(
        self, s: t.For, over: str, states: list[str], names: list[str], env: Env, after: Next, ways: Ways
    ) -> Node:
        """A loop that may be left: one operator that calls itself."""
        called, left = self.fresh.name("loop"), self.fresh.name("left")
        item = self.fresh.name(s.name)
        inner, own = self.within(env, states, names)
        params = [left, *own]

        def again(on: Env) -> Node:
            args = [on.now(state) for state in states] + [self.value_text(on.names[name]) for name in names]
            return Text(f"{called}({', '.join([f'{left} {MINUS} {{{item}}}', *args])})")

        body = self.block(s.body, inner.named(s.name, Text(item)), again, Ways(ways.back, after, again))
        end = after(inner)
        first = "Pick" if over == "Node" else "Least"
        step = either(Text(f"{left} = {{}}", True), end, let([(item, Text(f"{first}({left})"))], body))
        head = f"RECURSIVE {called}({', '.join('_' for _ in params)}) {called}({', '.join(params)})"
        begin = [env.now(state) for state in states] + [self.value_text(env.names[name]) for name in names]
        return Let(((head, step),), Text(f"{called}({', '.join([over, *begin])})"))


UNION, MINUS = "\\union", "\\"


def gathered(body: Node, called: str, item: str, over: str, begin: str) -> Node | None:
    """A loop whose rounds only say whether some or all of them have something, or count those that do."""
    match body:
        case Many(parts=parts) if parts[-1] == Text(called) and begin in ("TRUE", "FALSE"):
            rest = (conj if body.op == "/\\" else disj)(*parts[:-1])
        case Many(parts=parts) if parts[0] == Text(called) and begin in ("TRUE", "FALSE"):
            rest = (conj if body.op == "/\\" else disj)(*parts[1:])
        case If(test=rest, then=Text(text=then), other=Text(text=other)) if (then, other) == (f"{called} + 1", called):
            counted = f"Cardinality({{{item} \\in {over} : {flat(rest).text}}})"
            return (
                None
                if called in words(rest)
                else Text(counted if begin == "0" else f"{begin} + {counted}", begin != "0")
            )
        case _:
            return None
    every = body.op == "/\\"
    if called in words(rest):
        return None
    asked = Quantified("\\A" if every else "\\E", item, over, rest)
    return asked if (begin == "TRUE") == every else Text(begin)


def folding(each: str, begin: str, over: str) -> str:
    """What a loop leaves."""
    if over == "Node":
        return f"OverNodes({each}, {begin})"
    low, _, high = over.partition("..")
    return f"Through({each}, {begin}, {low}, {high})"


def assigned(body: Sequence[t.Stmt]) -> list[str]:
    """The local names that statements give a value."""
    return list(dict.fromkeys(s.name for s in walk(list(body)) if isinstance(s, t.Assign)))


def falls_through(body: Sequence[t.Stmt]) -> bool:
    """Whether control may go on behind statements."""
    for s in body:
        if isinstance(s, (t.Return, t.Break, t.Continue)):
            return False
        if isinstance(s, t.If) and not falls_through(s.then) and not falls_through(s.other):
            return False
    return True


def substituted(e: Any, old: Any, new: Any) -> Any:
    """An expression with a part of it replaced."""
    if e is old:
        return new
    if isinstance(e, (t.Expr, t.Term)):
        return type(e)(**{f.name: substituted(getattr(e, f.name), old, new) for f in fields(e)})
    if isinstance(e, list):
        return [substituted(x, old, new) for x in e]
    if isinstance(e, tuple):
        return tuple(substituted(x, old, new) for x in e)
    return e
