"""Translate conditionals and loops: to IF, quantifiers, folds over processes or numbers, or recursive operators."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checker.proofs.tla.env import Env, Fresh, Next, Ways, Word, asserted, walk
from checker.proofs.tla.places import place_of
from checker.proofs.tla.statements import MINUS, Statements
from checker.proofs.tla.syntax import (
    FALSE,
    TRUE,
    If,
    Let,
    Many,
    Node,
    Quantified,
    TlaText,
    conj,
    disj,
    either,
    flat,
    let,
    words,
)
from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import Liveness, live_in


class Control(Statements):
    """Translates statements that decide what is done, or how often."""

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
        states, names = self.changed_states(both), self.live.left(s)
        if not states and not names:
            return after(self.without(env, both))

        def joined(at: Env) -> Node:
            answer = self.expr(test, at)
            sides = [
                self.block(part, at, lambda on: self.together(on, states, names), ways) for part in (s.then, s.other)
            ]
            return self.parted(either(answer, *sides), states, names, self.without(at, both), after)

        return self.made(states, env, joined)

    def shared(self, s: t.If, test: t.Expr, env: Env, after: Next, ways: Ways) -> Node:
        """Translate a conditional both of whose sides may continue: the continuation is written once, and named."""
        both = [*s.then, *s.other]
        states, names = self.changed_states(both), self.live.left(s)
        joined = self.without(env, both)
        if not states and not names and len(flat(after(joined)).text) < 60:
            answer = self.expr(test, env)
            return either(answer, self.block(s.then, env, after, ways), self.block(s.other, env, after, ways))
        called = self.fresh.name("after")
        inner, params = self.within(joined, states, names)
        body = after(inner)

        def go(on: Env) -> Node:
            return self.called_with(called, on, states, names)

        answer = self.expr(test, env)
        sides = [self.block(part, env, go, ways) for part in (s.then, s.other)]
        return let([(f"{called}({', '.join(params)})" if params else called, body)], either(answer, *sides))

    def changed_states(self, body: Sequence[t.Stmt]) -> list[str]:
        """Return the states that statements change, by their names; after an `assert` a state may not be."""
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
            elif asserted(s) is not None:
                found.add(self.state_of(self.current))
        return sorted(found)

    @property
    def live(self) -> Liveness:
        """Return which local names of the current function are read where."""
        return live_in(self.current)

    def without(self, env: Env, body: Sequence[t.Stmt]) -> Env:
        """Return the environment after statements that may not run: the annotations they may store are unknown."""
        return env.forgetting(self.said_by(body))

    def value_text(self, name: str, env: Env) -> str:
        """Return the value of a local name as text."""
        value = env.names[name]
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            kind = self.current.locals.get(name, t.INT)
            return "NOBODY" if value == -1 and self.is_process(t.Var(kind, name), env) else str(value)
        assert not isinstance(value, Word), f"{name} is a step word"
        assert value is not None, f"{name} has no value in a module"
        return flat(value).text

    @staticmethod
    def labels(states: Sequence[str], names: Sequence[str]) -> dict[str, str]:
        """Return by local name the label of its part in a record of states and names."""
        fresh = Fresh({f"state{k or ''}" for k in range(len(states))})
        return {name: fresh.name(name) for name in names}

    def together(self, env: Env, states: Sequence[str], names: Sequence[str]) -> Node:
        """Return what a branch leaves, as one value."""
        parts = [(f"state{k or ''}", env.now(state)) for k, state in enumerate(states)]
        parts += [(label, self.value_text(name, env)) for name, label in self.labels(states, names).items()]
        if len(parts) == 1:
            return TlaText(parts[0][1], " " in parts[0][1] and parts[0][1][0] not in "[{(")
        return TlaText("[" + ", ".join(f"{name} |-> {value}" for name, value in parts) + "]")

    def parted(self, whole_: Node, states: Sequence[str], names: Sequence[str], env: Env, after: Next) -> Node:
        """Return the continuation with the parts of what a branch left."""
        if len(states) + len(names) == 1:
            called = self.fresh.name("s" if states else names[0])
            on = env.at(states[0], called) if states else env.named(names[0], TlaText(called))
            return let([(called, whole_)], after(on))
        called = self.fresh.name("r")
        for k, state in enumerate(states):
            env = env.at(state, f"{called}.state{k or ''}")
        for name, label in self.labels(states, names).items():
            env = env.named(name, TlaText(f"{called}.{label}"))
        return let([(called, whole_)], after(env))

    def do_While(self, s: t.While, env: Env, after: Next, ways: Ways) -> Node:
        """Translate a loop to an operator that calls itself while the test holds."""
        states, names = self.changed_states(s.body), self.live.carried(s)
        env = self.without(env, s.body)
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
        """Return the environment in an operator's body that takes states and names, and their parameters."""
        params: list[str] = []
        for state in states:
            params.append(self.fresh.name("s"))
            env = env.at(state, params[-1])
        for name in names:
            params.append(self.fresh.name(name))
            env = env.named(name, TlaText(params[-1]))
        return env, params

    def called_with(self, called: str, env: Env, states: Sequence[str], names: Sequence[str]) -> Node:
        """Return a call of an operator with the states and names that it continues from."""
        args = self.given_on(env, states, names)
        return TlaText(f"{called}({', '.join(args)})" if args else called)

    def given_on(self, env: Env, states: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return the arguments of an operator that takes states and names."""
        return [env.now(state) for state in states] + [self.value_text(name, env) for name in names]

    # --- loops --------------------------------------------------------------------------------------

    def over(self, s: t.For, env: Env) -> str | None:
        """Return the set that a loop iterates over, or None if it is empty."""
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
        states, names = self.changed_states(s.body), self.live.carried(s)
        env = self.without(env, s.body)
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
        """Translate a loop that only searches: some round returns the value, or none does."""
        name = self.fresh.name(s.name)
        found, missed = (TRUE, FALSE) if value else (FALSE, TRUE)
        body = self.block(
            s.body, env.named(s.name, TlaText(name)), lambda _: missed, Ways(lambda *_: found, None, lambda _: missed)
        )
        asked: Node = Quantified("\\E" if value else "\\A", name, over, body)
        answer = TRUE if value else FALSE
        if value:
            return either(asked, ways.back(env, answer), after(env))
        return either(asked, after(env), ways.back(env, answer))

    def folded(self, s: t.For, over: str, states: list[str], names: list[str], env: Env, after: Next) -> Node:
        """Translate a loop whose every round continues from what the previous one left."""
        called, item = self.fresh.name("s" if states and not names else "acc"), self.fresh.name(s.name)
        inner, single = env, len(states) + len(names) == 1
        for k, state in enumerate(states):
            inner = inner.at(state, called if single else f"{called}.state{k or ''}")
        for name, label in self.labels(states, names).items():
            inner = inner.named(name, TlaText(called if single else f"{called}.{label}"))
        inner = inner.named(s.name, TlaText(item))

        def round_(on: Env) -> Node:
            return self.together(on, states, names)

        body = self.block(s.body, inner, round_, Ways(lambda *_: TRUE, None, round_))
        begin = flat(self.together(env, states, names)).text
        if not states and single and (asked := gathered(body, called, item, over, begin)) is not None:
            return self.parted(asked, states, names, env, after)
        if states and single and (after_idle := without_idle_rounds(body, called, item, over, begin)) is not None:
            over = after_idle
        if isinstance(body, TlaText):
            whole_: Node = TlaText(folding(f"LAMBDA {called}, {item} : {body.text}", begin, over))
        else:
            each = self.fresh.name("each")
            whole_ = let([(f"{each}({called}, {item})", body)], TlaText(folding(each, begin, over)))
        return self.parted(whole_, states, names, env, after)

    def recursive(
        self, s: t.For, over: str, states: list[str], names: list[str], env: Env, after: Next, ways: Ways
    ) -> Node:
        """Translate a loop that may be left early to an operator that calls itself."""
        called, left = self.fresh.name("loop"), self.fresh.name("left")
        item = self.fresh.name(s.name)
        inner, own = self.within(env, states, names)
        params = [left, *own]

        def again(on: Env) -> Node:
            args = [f"{left} {MINUS} {{{item}}}", *self.given_on(on, states, names)]
            return TlaText(f"{called}({', '.join(args)})")

        body = self.block(s.body, inner.named(s.name, TlaText(item)), again, Ways(ways.back, after, again))
        end = after(inner)
        first = "Pick" if over == "Node" else "Least"
        step = either(TlaText(f"{left} = {{}}", True), end, let([(item, TlaText(f"{first}({left})"))], body))
        head = f"RECURSIVE {called}({', '.join('_' for _ in params)}) {called}({', '.join(params)})"
        return Let(((head, step),), TlaText(f"{called}({', '.join([over, *self.given_on(env, states, names)])})"))


def gathered(body: Node, called: str, item: str, over: str, begin: str) -> Node | None:
    """Translate a loop that only tests some or all rounds, or counts or collects; None if it is no such loop."""
    collected = f"{called} \\union {{{item}}}"
    match body:
        case If(test=rest, then=TlaText(text=then), other=TlaText(text=other)) if (then, other) == (collected, called):
            those = f"{{{item} \\in {over} : {flat(rest).text}}}"
            return TlaText(those) if begin == "{}" and called not in words(rest) else None
        case Many(parts=parts) if parts[-1] == TlaText(called) and begin in ("TRUE", "FALSE"):
            rest = (conj if body.op == "/\\" else disj)(*parts[:-1])
        case Many(parts=parts) if parts[0] == TlaText(called) and begin in ("TRUE", "FALSE"):
            rest = (conj if body.op == "/\\" else disj)(*parts[1:])
        case If(test=rest, then=TlaText(text=then), other=TlaText(text=other)) if (then, other) == (
            f"{called} + 1",
            called,
        ):
            counted = f"Cardinality({{{item} \\in {over} : {flat(rest).text}}})"
            return (
                None
                if called in words(rest)
                else TlaText(counted if begin == "0" else f"{begin} + {counted}", begin != "0")
            )
        case _:
            return None
    every = body.op == "/\\"
    if called in words(rest):
        return None
    asked = Quantified("\\A" if every else "\\E", item, over, rest)
    return asked if (begin == "TRUE") == every else TlaText(begin)


def without_idle_rounds(body: Node, called: str, item: str, over: str, begin: str) -> str | None:
    """Return the range of a loop from the last position of a sequence down to its first, without idle rounds.

    The loop covers the maximum length of the sequence; rounds beyond its actual length do nothing, and come first. So
    the sequence has its initial length in them. Return None for any other loop.
    """
    match body:
        case If(test=Many(op="/\\", parts=(TlaText(text=guard), *_)) | TlaText(text=guard), other=TlaText(text=other)):
            pass
        case _:
            return None
    low, _, high = over.partition("..")
    found = re.fullmatch(rf"\((\d+) - {item}\) < Len\({called}((?:\.\w+)+)\)", guard)
    if other != called or found is None or found[1] != high or low != "0" or not begin.isidentifier():
        return None
    return f"Max(0, {int(high) + 1} - Len({begin}{found[2]}))..{high}"


def folding(each: str, begin: str, over: str) -> str:
    """Return the fold of a loop."""
    if over == "Node":
        return f"OverNodes({each}, {begin})"
    low, _, high = over.partition("..")
    return f"Through({each}, {begin}, {low}, {high})"


def falls_through(body: Sequence[t.Stmt]) -> bool:
    """Return whether control may continue after statements."""
    for s in body:
        if isinstance(s, (t.Return, t.Break, t.Continue)):
            return False
        if isinstance(s, t.If) and not falls_through(s.then) and not falls_through(s.other):
            return False
    return True
