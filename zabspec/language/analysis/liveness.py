"""Compute which local names are live where: one backward dataflow pass over a typed function, for every back end.

A name is live at a point if some path from there reads the value that it has there. A path takes either side of every
`if` and any number of rounds of every loop, none included: whether a test can be true is not asked, so a name that is
not live here is never read, and one that is may be.

The loop of a `for` gives its name a value in every round, so the name outlives the loop as any other does. Its bounds
are evaluated once, before the first round; the test of a `while` before every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zabspec.language.analysis import tree as t

Names = frozenset[str]
NONE: Names = frozenset()


def reads(e: Any) -> Names:
    """Return the local names that an expression reads.

    Args:
        e: an expression, or a list or tuple of what may be one.
    """
    return frozenset(part.name for part in t.parts(e) if isinstance(part, t.Var))


def given(body: Sequence[t.Stmt]) -> Iterator[str]:
    """Yield the local names that statements assign, as often as they do."""
    return (s.name for s in t.statements(body) if isinstance(s, (t.Assign, t.For)))


@dataclass(frozen=True)
class Ways:
    """What is live at the targets of `break` and `continue`."""

    out: Names = NONE
    again: Names = NONE


def live_in(function: t.Function) -> Liveness:
    """Return the live names of a typed function, worked out once: nothing changes its body."""
    known = vars(function).get("live_names")
    if known is None:
        known = vars(function)["live_names"] = Liveness(function)
    assert isinstance(known, Liveness)
    return known


class Liveness:
    """The live names of one typed function.

    Args:
        function: typed; the answers are by its own statement objects.
    """

    def __init__(self, function: t.Function) -> None:
        self._body = function.body  # kept, as the answers are by identity; the function, which keeps them, is not
        self._after: dict[int, Names] = {}
        self._reads: dict[int, Names] = {}  # of expressions: loops are gone through until nothing changes
        self._head: dict[int, Names] = {}
        self.block(self._body, NONE, Ways())

    # --- answers -------------------------------------------------------------------------------

    def after(self, s: t.Stmt) -> Names:
        """Return the names that are live just behind a statement; none where control never comes there."""
        return self._after.get(id(s), NONE)

    def head(self, loop: t.For | t.While) -> Names:
        """Return the names that are live where a loop decides whether there is another round."""
        return self._head.get(id(loop), NONE)

    def left(self, s: t.Stmt) -> list[str]:
        """Return the names that a statement may give a value which is read behind it, in the order of the source."""
        return in_order([s], self.after(s))

    def carried(self, loop: t.For | t.While) -> list[str]:
        """Return the names that a round of a loop may leave to a later round, or to what follows the loop."""
        return in_order([loop], self.head(loop))

    # --- the pass ------------------------------------------------------------------------------

    def block(self, body: Sequence[t.Stmt], live: Names, ways: Ways) -> Names:
        """Return what is live before statements, given what is live behind them."""
        for s in reversed(body):
            self._after[id(s)] = self._after.get(id(s), NONE) | live
            live = self.statement(s, live, ways)
        return live

    def statement(self, s: t.Stmt, live: Names, ways: Ways) -> Names:
        match s:
            case t.Assign():
                return (live - {s.name}) | self.reads(s.value)
            case t.If():
                return self.reads(s.test) | self.block(s.then, live, ways) | self.block(s.other, live, ways)
            case t.For():
                return self.rounds(s, live, {s.name}, NONE) | self.reads(s.start) | self.reads(s.stop)
            case t.While():
                return self.rounds(s, live, set(), self.reads(s.test))
            case t.Return():
                return self.reads(s.value)
            case t.Break():
                return ways.out
            case t.Continue():
                return ways.again
        return live | self.reads(s)

    def reads(self, e: t.Expr | t.Stmt | None) -> Names:
        """Return the local names that an expression reads, or those of a statement without others in it."""
        found = self._reads.get(id(e))
        if found is None:
            found = self._reads[id(e)] = reads(list(vars(e).values()) if isinstance(e, t.Stmt) else e)
        return found

    def rounds(self, s: t.For | t.While, live: Names, own: set[str], asked: Names) -> Names:
        """Return what is live at the head of a loop: what its rounds leave to each other grows until it stays."""
        head = live | asked | self._head.get(id(s), NONE)
        while True:
            more = head | (self.block(s.body, head, Ways(live, head)) - own)
            if more == head:
                self._head[id(s)] = head
                return head
            head = more


def in_order(body: Sequence[t.Stmt], names: Names) -> list[str]:
    """Return those of some names that statements give a value, by where they first do."""
    return [name for name in dict.fromkeys(given(body)) if name in names]
