"""Dining philosophers (Dijkstra 1971): each takes the left fork, then the right one, eats once, and leaves."""

from __future__ import annotations

from enum import IntEnum

from zabcheck.language import NOBODY, Each, Fields, Node, Variant, action, declare, final, shared, stored


class At(IntEnum):
    THINKS = 0
    WAITS = 1
    EATS = 2
    GONE = 3


class State(Fields):
    at: Each[Node, At] = stored("what it does")
    fork: Each[Node, Node] = shared("who has the fork to the left of each")


def right(s: State, p: Node) -> Node:
    return (p + 1) % s.NODES


def first(s: State, p: Node) -> Node:
    return p


def other_way_round(s: State, p: Node) -> Node:
    return right(s, p) if p == 0 else p


def second(s: State, p: Node) -> Node:
    return p if first(s, p) != p else right(s, p)


@action(when=lambda s, p: s.at[p] == At.THINKS and s.fork[first(s, p)] == NOBODY)
def take_one(s: State, p: Node) -> None:
    s.fork[first(s, p)], s.at[p] = p, At.WAITS


@action(when=lambda s, p: s.at[p] == At.WAITS and s.fork[second(s, p)] == NOBODY)
def take_another(s: State, p: Node) -> None:
    s.fork[second(s, p)], s.at[p] = p, At.EATS


@action(when=lambda s, p: s.at[p] == At.EATS)
def leave(s: State, p: Node) -> None:
    s.fork[p], s.fork[right(s, p)], s.at[p] = NOBODY, NOBODY, At.GONE


@final
def gone(s: State, p: Node) -> bool:
    return s.at[p] == At.GONE


VARIANTS = [Variant("left_handed", "p0 takes the fork to the right first", {"first": other_way_round})]
PROTOCOL = declare(__name__, variants=VARIANTS, deadlock=True)
