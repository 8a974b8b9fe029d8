"""Fairness in the graph of the stable phase: what a set of nodes, or a loop, leaves undone.

The definition is in docs/explanation/liveness.md, "Fairness".

An obligation is a class of steps, by its number, or a message in flight, by its bytes. It is enabled in a node or not,
and met by an edge or not. A run that stays in some nodes and edges for ever is fair if each obligation that is enabled
in all of the nodes is met by one of the edges.

A loop is made short, and not claimed to be the shortest: it goes by shortest ways from one unmet obligation to the
next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from checker.live.graph import CLASS_AT, CLASSES, TARGET, UNFAIR, Components, Graph

__all__ = ["Edge", "Mail", "NoMail", "Obligation", "class_at", "loop_at", "overtaken", "unjust"]

Edge = tuple[int, int]  # its number, and where it leads
Obligation = int | bytes

NOTHING: frozenset[bytes] = frozenset()


class Mail(Protocol):
    """The messages of a graph that may overtake each other."""

    def receivable(self, v: int) -> frozenset[bytes]:
        """The messages that may be received in a node."""

    def received(self, v: int, e: int) -> bytes:
        """The message that an edge of a node receives; empty: none of those."""


class NoMail:
    """No message overtakes another."""

    def receivable(self, v: int) -> frozenset[bytes]:
        return NOTHING

    def received(self, v: int, e: int) -> bytes:
        return b""


def class_at(g: Graph, e: int) -> int:
    """The class of an edge."""
    return g.edge[e] >> CLASS_AT & CLASSES


def edges_in(g: Graph, c: Components, v: int) -> Iterator[tuple[int, int]]:
    """The edges of a node within its component: number and target."""
    for e in range(g.edge_begin[v], g.edge_end[v]):
        w = g.edge[e] & TARGET
        if c.component[w] == c.component[v]:
            yield e, w


def overtaken(g: Graph, c: Components, nodes: Iterable[int], mail: Mail) -> frozenset[bytes]:
    """The messages that may be received in all nodes of a component, and that none of its edges receives."""
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
    """The obligations that a run which ends in this loop does not meet: always enabled, and never met; of those that
    are `strong`, once enabled."""
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
    """The shortest way from a node on within its component that does justice to an obligation: over an edge that meets
    it, or, unless it is `strong`, to a node in which it is not enabled."""

    def just(u: int, e: int, w: int) -> bool:
        if isinstance(wanted, bytes):
            return mail.received(u, e) == wanted or wanted not in mail.receivable(w)
        return class_at(g, e) == wanted or not (strong | g.possible[w]) >> wanted & 1

    return walk(g, c, v, just)


def walk(g: Graph, c: Components, v: int, done: Callable[[int, int, int], bool]) -> list[Edge]:
    """The shortest way from a node on within its component whose last edge (from, number, to) is a wanted one.

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
    """A loop through a node of a fair component that meets every obligation; empty: the run may end there."""
    if not unjust(g, at, (), asked, mail, strong):
        return ()
    tour: list[Edge] = []
    here = at
    while (left := unjust(g, at, tour, asked, mail, strong)) or here != at:
        part = way(g, c, here, left[0], mail, strong) if left else walk(g, c, here, lambda u, e, w: w == at)
        tour += part  # on the way back there may be what is to be done once it can be
        here = part[-1][1]
    plain = walk(g, c, at, lambda u, e, w: w == at)
    fair = not unjust(g, at, plain, asked, mail, strong)
    return tuple(plain if fair and len(plain) <= len(tour) else tour)
