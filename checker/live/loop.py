"""Fairness in the graph of the stable phase: the obligations that a set of nodes, or a loop, leaves unmet.

docs/explanation/liveness.md, "Fairness", has the definitions. An obligation is a class of steps, by its number, or a
message in flight, by its bytes. It is enabled in a node or not, and met by an edge or not. A run that stays in some
nodes and edges forever is fair if each obligation that is enabled in all of the nodes is met by one of the edges.

A loop is made short, though not necessarily the shortest: it goes by shortest paths from one unmet obligation to the
next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from checker.live.graph import CLASS_AT, CLASSES, TARGET, UNFAIR, Components, Graph

Edge = tuple[int, int]  # its number, and its target
Obligation = int | bytes

NOTHING: frozenset[bytes] = frozenset()


class Mail(Protocol):
    """The messages of a graph that may overtake each other."""

    def receivable(self, v: int) -> frozenset[bytes]:
        """Return the messages that may be received in a node."""

    def received(self, v: int, e: int) -> bytes:
        """Return the message that an edge of a node receives; empty if it receives none of those."""


class NoMail:
    """The messages of a graph in which no message overtakes another."""

    def receivable(self, v: int) -> frozenset[bytes]:
        return NOTHING

    def received(self, v: int, e: int) -> bytes:
        return b""


def class_at(g: Graph, e: int) -> int:
    """Return the class of an edge."""
    return g.edge[e] >> CLASS_AT & CLASSES


def edges_in(g: Graph, c: Components, v: int) -> Iterator[tuple[int, int]]:
    """Yield the edges of a node within its component: number and target."""
    for e in range(g.edge_begin[v], g.edge_end[v]):
        w = g.edge[e] & TARGET
        if c.component[w] == c.component[v]:
            yield e, w


def overtaken(g: Graph, c: Components, nodes: Iterable[int], mail: Mail) -> frozenset[bytes]:
    """Return the messages that may be received in all nodes of a component, and that none of its edges receives."""
    always: frozenset[bytes] | None = None
    nodes = list(nodes)
    for v in nodes:
        here = mail.receivable(v)
        always = here if always is None else always & here
        if not always:
            return NOTHING
    left = set(always or NOTHING)
    for v in nodes:
        for e, _ in edges_in(g, c, v):
            left.discard(mail.received(v, e))
            if not left:
                return NOTHING
    return frozenset(left)


def unjust(g: Graph, at: int, loop: Sequence[Edge], asked: int, mail: Mail, strong: int = 0) -> list[Obligation]:
    """Return the obligations that a run which ends in this loop does not meet.

    They are always enabled, and never met; for those that are `strong`, being enabled once is enough.
    """
    always, messages = asked & g.possible[at], mail.receivable(at)
    ever, taken = strong & g.possible[at], 0
    met, u = {b""}, at
    for e, w in loop:
        always &= g.possible[w]
        ever |= strong & g.possible[w]
        messages &= mail.receivable(w)
        met.add(mail.received(u, e))
        if class_at(g, e) != UNFAIR:
            taken |= 1 << class_at(g, e)
        u = w
    messages -= met
    left = (always | ever) & ~taken
    return [*(k for k in range(UNFAIR) if left >> k & 1), *sorted(messages)]


def way(g: Graph, c: Components, v: int, wanted: Obligation, mail: Mail, strong: int = 0) -> list[Edge]:
    """Return the shortest path from a node within its component that meets an obligation.

    It ends with an edge that meets the obligation, or, unless that is `strong`, in a node in which it is not enabled.
    """

    def just(u: int, e: int, w: int) -> bool:
        if isinstance(wanted, bytes):
            return mail.received(u, e) == wanted or wanted not in mail.receivable(w)
        return class_at(g, e) == wanted or not (strong | g.possible[w]) >> wanted & 1

    return walk(g, c, v, just)


def walk(g: Graph, c: Components, v: int, done: Callable[[int, int, int], bool]) -> list[Edge]:
    """Return the shortest path from a node within its component whose last edge (from, number, to) satisfies `done`.

    Raises:
        AssertionError: there is none.
    """
    before: dict[int, tuple[int, Edge]] = {}
    ahead = deque([v])
    seen = {v}
    while ahead:
        u = ahead.popleft()
        for e, w in edges_in(g, c, u):
            if done(u, e, w):
                out = [(e, w)]
                while u != v:
                    u, edge = before[u]
                    out.insert(0, edge)
                return out
            if w not in seen:
                seen.add(w)
                before[w] = (u, (e, w))
                ahead.append(w)
    raise AssertionError("the component is not fair, or no component")


def loop_at(g: Graph, c: Components, at: int, asked: int, mail: Mail, strong: int = 0) -> tuple[Edge, ...]:
    """Return a loop through a node of a fair component that meets every obligation; empty if the run may end there."""
    if not unjust(g, at, (), asked, mail, strong):
        return ()
    tour: list[Edge] = []
    here = at
    while (left := unjust(g, at, tour, asked, mail, strong)) or here != at:
        part = way(g, c, here, left[0], mail, strong) if left else walk(g, c, here, lambda u, e, w: w == at)
        tour += part  # the way back may enable an obligation that is strong
        here = part[-1][1]
    plain = walk(g, c, at, lambda u, e, w: w == at)
    fair = not unjust(g, at, plain, asked, mail, strong)
    return tuple(plain if fair and len(plain) <= len(tour) else tour)
