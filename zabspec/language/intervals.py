"""Compute an interval of the values that an expression may have, from declared ranges alone.

A function is evaluated once over intervals: a field has its declared range, a parameter any value, a loop is run with
any value in the names that it assigns. A test that is decided so has one branch. The result contains every possible
value, and perhaps more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from zabspec.language import tree as t
from zabspec.language.kinds import Int
from zabspec.language.liveness import given

Interval = tuple[int, int]
Names = dict[str, Interval]
ANY: Interval = (-(1 << 63), (1 << 63) - 1)
TRUTH: Interval = (0, 1)
TRUE, FALSE = (1, 1), (0, 0)


def of_type(kind: t.AnyType) -> Interval:
    return TRUTH if kind == t.BOOL else ANY


def joined(values: Sequence[Interval]) -> Interval:
    return min(v[0] for v in values), max(v[1] for v in values)


def clipped(low: int, high: int) -> Interval:
    """Return an interval within 64-bit words; ANY if a bound is outside."""
    return (low, high) if ANY[0] <= low and high <= ANY[1] else ANY


class Intervals:
    """Evaluates functions of a program, by their names."""

    def __init__(self, functions: Mapping[str, t.Function]) -> None:
        self.functions = functions
        self.known: dict[tuple[str, tuple[tuple[str, Interval], ...]], Interval] = {}

    def result(self, name: str, values: Mapping[str, Interval]) -> Interval:
        """Return the interval of a function's results for such arguments."""
        function = self.functions[name]
        key = (name, tuple(sorted(values.items())))
        if key not in self.known:
            names = {p: values.get(p, of_type(kind)) for p, kind in function.params}
            returns: list[Interval] = []
            self.block(function.body, names, returns)
            self.known[key] = joined(returns) if returns else of_type(function.returns)
        return self.known[key]

    # --- statements ---------------------------------------------------------------------------

    def block(self, body: Iterable[t.Stmt], names: Names, returns: list[Interval]) -> bool:
        """Run statements; return whether what follows them may be reached."""
        return all(self.statement(s, names, returns) for s in body)

    def statement(self, s: t.Stmt, names: Names, returns: list[Interval]) -> bool:
        match s:
            case t.Assign():
                names[s.name] = self.of(s.value, names)
            case t.Return():
                returns.append(self.of(s.value, names) if s.value is not None else ANY)
                return False
            case t.Break() | t.Continue():
                return False
            case t.If():
                return self.branch(s, names, returns)
            case t.For():
                start, stop = self.of(s.start, names), self.of(s.stop, names)
                if stop[1] > start[0]:
                    self.loop([*given(s.body), s.name], s.body, names, returns, (start[0], stop[1] - 1), s.name)
            case t.While():
                self.forget(given(s.body), names)
                if self.of(s.test, names) != FALSE:
                    self.loop([*given(s.body)], s.body, names, returns)
        return True

    def branch(self, s: t.If, names: Names, returns: list[Interval]) -> bool:
        test = self.of(s.test, names)
        if test in (TRUE, FALSE):
            return self.block(s.then if test == TRUE else s.other, names, returns)
        sides = [(side, dict(names)) for side in (s.then, s.other)]
        left = [own for side, own in sides if self.block(side, own, returns)]
        for name in {n for own in left for n in own}:
            # a name without a value on one side is not read behind both
            names[name] = joined([own[name] for own in left if name in own])
        return bool(left)

    def loop(
        self,
        changed: Iterable[str],
        body: Iterable[t.Stmt],
        names: Names,
        returns: list[Interval],
        through: Interval = ANY,
        name: str = "",
    ) -> None:
        """Run a loop's body once, for any iteration."""
        self.forget(changed, names)
        inner = dict(names)
        if name:
            inner[name] = through
        self.block(body, inner, returns)

    def forget(self, changed: Iterable[str], names: Names) -> None:
        for name in changed:
            names[name] = ANY

    # --- expressions --------------------------------------------------------------------------

    def of(self, e: t.Expr, names: Names) -> Interval:
        """Return the interval of an expression."""
        match e:
            case t.Const():
                return e.value, e.value
            case t.Var():
                return names.get(e.name, of_type(e.type))
            case t.Load(place=t.Memory(kind=Int() as kind)):
                return kind.lo, kind.hi
            case t.Compare():
                return self.compare(e, names)
            case t.SameSeq():
                return TRUE if alike(e.left, e.right) else TRUTH
            case t.Logic():
                return self.logic(e, names)
            case t.Not():
                low, high = self.of(e.value, names)
                return 1 - high, 1 - low
            case t.Choice():
                test = self.of(e.test, names)
                sides = [e.then] if test == TRUE else [e.other] if test == FALSE else [e.then, e.other]
                return joined([self.of(side, names) for side in sides])
            case t.Call():
                params = self.functions[e.function].params
                return self.result(
                    e.function,
                    {
                        name: self.of(value, names)
                        for (name, kind), value in zip(params, e.args, strict=True)
                        if kind in (t.INT, t.BOOL)
                    },
                )
        return self.number(e, names)

    def number(self, e: t.Expr, names: Names) -> Interval:
        match e:
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return 0, kind.capacity
            case t.SetSize(value=t.Expr(type=t.SetType(kind=members))):
                return 0, members.count
            case t.RecordField():
                return e.lo, e.lo + (1 << e.bits) - 1
            case t.Binary(op="+" | "-"):
                (a, b), (c, d) = self.of(e.left, names), self.of(e.right, names)
                return clipped(a + c, b + d) if e.op == "+" else clipped(a - d, b - c)
            case t.Builtin(op="min" | "max" as which, args=[one, other]):
                (a, b), (c, d) = self.of(one, names), self.of(other, names)
                return (min(a, c), min(b, d)) if which == "min" else (max(a, c), max(b, d))
        return of_type(e.type)

    def logic(self, e: t.Logic, names: Names) -> Interval:
        found = [self.of(part, names) for part in e.parts]
        if e.op == "and":
            return min(v[0] for v in found), min(v[1] for v in found)
        return max(v[0] for v in found), max(v[1] for v in found)

    def compare(self, e: t.Compare, names: Names) -> Interval:
        if alike(e.left, e.right) and not calls(e.left):
            return TRUE if e.op in ("==", "<=", ">=") else FALSE
        if e.left.type not in (t.INT, t.BOOL):
            return TRUTH
        (a, b), (c, d) = self.of(e.left, names), self.of(e.right, names)
        same, apart = a == b == c == d, b < c or d < a
        decided = {
            "==": (same, apart),
            "!=": (apart, same),
            "<": (b < c, a >= d),
            "<=": (b <= c, a > d),
            ">": (a > d, b <= c),
            ">=": (a >= d, b < c),
        }[e.op]
        return TRUE if decided[0] else FALSE if decided[1] else TRUTH


def alike(a: object, b: object) -> bool:
    """Return whether two expressions are the same, wherever they stand."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b) or not isinstance(a, (t.Expr, t.Term)):
        return a == b
    kind: Any = type(a)
    for name in compared(kind):
        if not alike(getattr(a, name), getattr(b, name)):
            return False
    return True


@cache
def compared(kind: Any) -> tuple[str, ...]:
    """Return the names of what two expressions, or terms, of a kind must agree in to be the same."""
    return tuple(f.name for f in fields(kind) if f.name != "site")


def calls(e: Any) -> bool:
    """Return whether an expression calls a function."""
    if isinstance(e, t.Call):
        return True
    if isinstance(e, (list, tuple)):
        return any(calls(x) for x in e)
    return isinstance(e, (t.Expr, t.Term)) and any(calls(getattr(e, name)) for name in e.nesting)
