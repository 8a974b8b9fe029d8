"""Generate, for a property of steps, a function that tests whether it reads beyond the acting process.

The function returns True where the property would read a field that is not of that process, and otherwise False, by the
same tests. Where it returns False, the property's result follows from what the process holds before and after the step,
and from the step annotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.footprints import Names, Reach, Symbol, Touch, Value, Walk
from zabspec.language.analysis.liveness import given
from zabspec.language.layout.conventions import Conventions
from zabspec.language.layout.schema import Layout, Role

ACTS = Symbol("a")
TRUE, FALSE = t.Const(t.BOOL, 1), t.Const(t.BOOL, 0)


class StepLocality(Walk):
    """The locality of one property of steps.

    Attributes:
        own: the fields of the process that are read where it does not look beyond.
    """

    def __init__(self, program: t.TypedProgram, layout: Layout, world: Conventions) -> None:
        super().__init__(program, layout, world, None)
        self.own: set[Touch] = set()

    def of_function(self, f: t.Function) -> t.Function:
        """Return the function, made from a property's `holds` or witness."""
        names: Names = {name: (None, frozenset()) for name, _ in f.params}
        return replace(f, returns=t.BOOL, body=[*self.made(f.body, names), t.Return(f.line, FALSE)])

    def said(self, place: t.Memory) -> Value:
        return ACTS if place.field == self.world.process_field else None

    def looks_away(self, e: t.Expr, names: Names) -> bool:
        """Return whether an expression reads more than the acting process has."""
        reads = self.of(e, names)[1]
        if self.trouble or not all(self.is_own(r) for r in reads):
            return True
        self.own |= {Touch(r.field, ("a",), False) for r in reads}
        return False

    def is_own(self, r: Reach) -> bool:
        f = self.layout.fields.get(r.field)
        return (
            f is not None
            and r.keys == (ACTS,)
            and not r.writes
            and f.role not in (Role.NETWORK, Role.BUDGET, Role.SHARED)
        )

    def made(self, statements: Sequence[t.Stmt], names: Names) -> list[t.Stmt]:
        """Return the statements, with `return True` in place of the first on each path that reads beyond."""
        out: list[t.Stmt] = []
        for s in statements:
            match s:
                case t.Assign() if not self.looks_away(s.value, names):
                    names[s.name] = self.of(s.value, names)
                    out.append(s)
                case t.If():
                    out += self.test(s, names)
                case t.For() if not self.looks_away(s.start, names) and not self.looks_away(s.stop, names):
                    out.append(self.round(s, names))
                case t.Return():
                    value = s.value
                    out.append(t.Return(s.line, FALSE if value is None else self.condition(value, names) or FALSE))
                case t.Break() | t.Continue():
                    out.append(s)
                case _:
                    out.append(t.Return(s.line, TRUE))
            if isinstance(out[-1] if out else None, t.Return):
                break
        return out

    def condition(self, e: t.Expr, names: Names) -> t.Expr | None:
        """Return the condition under which evaluating an expression reads beyond, or None for never."""
        parts = e.parts if isinstance(e, t.Logic) else [e]
        for k, part in enumerate(parts):
            if self.looks_away(part, names):
                if k == 0:
                    return TRUE
                before: t.Expr = (
                    t.Logic(t.BOOL, e.op, list(parts[:k])) if isinstance(e, t.Logic) and k > 1 else parts[0]
                )
                return before if isinstance(e, t.Logic) and e.op == "and" else t.Not(t.BOOL, before)
        return None

    def test(self, s: t.If, names: Names) -> list[t.Stmt]:
        when = self.condition(s.test, names)
        if when is None:
            sides = [dict(names), dict(names)]
            then, other = self.made(s.then, sides[0]), self.made(s.other, sides[1])
            for name in given([s]):
                names[name] = (None, frozenset())
            return [t.If(s.line, s.test, then, other)]
        if when is TRUE:
            return [t.Return(s.line, TRUE)]
        # where it does not look beyond, the parts before have decided the test: false of `and`, true of `or`
        decided = s.other if isinstance(s.test, t.Logic) and s.test.op == "and" else s.then
        return [t.If(s.line, when, [t.Return(s.line, TRUE)], []), *self.made(decided, names)]

    def round(self, s: t.For, names: Names) -> t.For:
        for name in (*given(s.body), s.name):
            names[name] = (None, frozenset())  # what has a value has it from what is the process's own
        inner = dict(names)
        inner[s.name] = (Symbol(f"{s.name} of {s.line}"), frozenset())
        return replace(s, body=self.made(s.body, inner))
