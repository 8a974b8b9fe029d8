"""Decide whether a piece of code may meet a run-time error, by declared ranges and by what is known there.

A number has the range that is declared, and that a test before has shown (`if s.leader[p] != NOBODY`). The name of a
loop has the range of the loop, and the source or target of a message is a process. Parameters are checked at each call
(`EffectsOf.call`). Where an error cannot be excluded, there may be one.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.intervals import ANY, Interval, Intervals, alike, calculated, clipped
from zabspec.language.analysis.liveness import given, reads
from zabspec.language.layout.error_sites import ENVELOPE
from zabspec.language.layout.kinds import Int, Kind

Shown = tuple[t.Expr, Interval]
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Erring:
    """What is known at one point of a function, as the analysis walks through it."""

    def __init__(self, function: t.Function, functions: Mapping[str, t.Function]) -> None:
        times = Counter(given(function.body))
        names = {name for name, _ in function.params}
        self.once = {name for name, count in times.items() if count == 1} - names
        self.intervals = Intervals(functions)
        self.names: dict[str, Interval] = {}
        self.shown_there: list[Shown] = []

    def copied(self) -> Erring:
        """Return a copy to continue from."""
        made = copy.copy(self)
        made.names, made.shown_there = dict(self.names), list(self.shown_there)
        return made

    # --- queries ------------------------------------------------------------------------------

    def leaves(self, e: t.Expr, low: int, high: int) -> bool:
        """Return whether a number may be outside a range."""
        found = self.of(e)
        return found[0] < low or found[1] > high

    def leaves_kind(self, e: t.Expr, kind: Kind) -> bool:
        """Return whether a value may be outside the range of a place that takes it."""
        return isinstance(kind, Int) and e.type == t.INT and self.leaves(e, kind.lo, kind.hi)

    def of(self, e: t.Expr) -> Interval:
        """Return the range of a number where it stands."""
        low, high = self.interval(e)
        for known, (least, most) in self.shown_there:
            if alike(e, known):
                low, high = max(low, least), min(high, most)
        if isinstance(e, t.Load) and e.place.field in (f"{ENVELOPE}source", f"{ENVELOPE}target"):
            low = max(low, 0)  # a message to nobody cannot be sent
        return low, max(low, high)

    def interval(self, e: t.Expr) -> Interval:
        match e:
            case t.Var():
                return self.names.get(e.name, (0, 1) if e.type == t.BOOL else ANY)
            case t.Binary(op=op):
                return clipped(*calculated(op, self.of(e.left), self.of(e.right)))
            case t.Choice():
                with self.given(self.shown(e.test, True)):
                    a, b = self.of(e.then)
                with self.given(self.shown(e.test, False)):
                    c, d = self.of(e.other)
                return min(a, c), max(b, d)
        return self.intervals.of(e, self.names)

    def is_not(self, e: t.Expr, number: int) -> bool:
        """Return whether an earlier test has shown that a number is not this one."""
        return any(
            isinstance(known, t.Compare)
            and any(
                alike(e, one) and self.of(other) == (number, number)
                for one, other in ((known.left, known.right), (known.right, known.left))
            )
            for known, _ in self.shown_there
        )

    # --- what becomes known -------------------------------------------------------------------

    def assigned(self, name: str, value: t.Expr) -> None:
        """Update what is known after an assignment to a name."""
        self.shown_there = [k for k in self.shown_there if name not in reads(k[0])]
        if name in self.once and value.type in (t.INT, t.BOOL):
            self.names[name] = self.of(value)

    def written(self) -> None:
        """Update what is known after a change of the state."""
        self.shown_there = [k for k in self.shown_there if not loads(k[0])]

    def enter(self, s: t.For | t.While) -> None:
        """Update what is known at the beginning of an iteration, which may follow others."""
        changed = set(given(s.body))
        if isinstance(s, t.For):
            start, stop = self.of(s.start), self.of(s.stop)
            if s.name not in changed:
                self.names[s.name] = start[0], max(start[0], stop[1] - 1)
            changed.add(s.name)
        self.shown_there = [k for k in self.shown_there if not changed & reads(k[0]) and not loads(k[0])]

    def left(self, s: t.For | t.While) -> None:
        """Update what is known after a loop."""
        changed = {*given(s.body), *([s.name] if isinstance(s, t.For) else [])}
        self.shown_there = [k for k in self.shown_there if not changed & reads(k[0])]

    @contextmanager
    def given(self, known: list[Shown]) -> Iterator[None]:
        """Add knowledge within a block; whatever is written there counts as written afterwards too."""
        before = self.shown_there
        self.shown_there = [*before, *known]
        yield
        now = self.shown_there
        self.shown_there = [k for k in before if any(k is kept for kept in now)]

    def shown(self, test: t.Expr, truth: bool) -> list[Shown]:
        """Return the ranges of numbers that follow from a test's truth value."""
        match test:
            case t.Not():
                return self.shown(test.value, not truth)
            case t.Logic(op=op) if (op == "and") == truth:
                return [e for part in test.parts for e in self.shown(part, truth)]
            case t.Compare(left=t.Expr(type=t.INT)):
                op = test.op if truth else OPPOSITE[test.op]
                apart = [(t.Compare(t.BOOL, op, test.left, test.right), (1, 1))] if op == "!=" else []
                found = [self.bounded(test.left, op, test.right), self.bounded(test.right, MIRRORED[op], test.left)]
                return [e for e in found if not isinstance(e[0], t.Const)] + apart
            case t.SetHas(value=t.Expr(type=t.SetType(kind=members))) if truth:
                return [(test.item, (0, members.count - 1))]
        return []

    def bounded(self, e: t.Expr, op: str, other: t.Expr) -> Shown:
        """Return the range of a number that follows from a comparison."""
        (low, high), (least, most) = self.of(e), self.of(other)
        match op:
            case "==":
                low, high = max(low, least), min(high, most)
            case "!=" if least == most:
                low, high = low + (low == least), high - (high == least)
            case "<" | "<=":
                high = min(high, most - (op == "<"))
            case ">" | ">=":
                low = max(low, least + (op == ">"))
        return e, (low, high)


def loads(e: Any) -> bool:
    """Return whether an expression reads memory, or calls a function."""
    return any(isinstance(part, (t.Memory, t.Call)) for part in t.parts(e))
