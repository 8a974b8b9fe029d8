"""Each node of a graph learns how far it is from the root, and over which neighbour."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each,
    Fields,
    Node,
    Range,
    action,
    any_of,
    broken,
    declare,
    initial,
    progress,
    safety,
    shared,
)

FAR = 6
EDGES = (1, 2, 12, 13, 23, 24, 34)  # that of p and q, p < q, is 10 p + q


class State(Fields):
    mother: Each[Node, Node] = shared("over which neighbour")
    distance: Each[Node, Annotated[int, Range(0, FAR)]] = shared("how far from the root")


@initial
def begin(s: State) -> None:
    for p in range(s.NODES):
        s.mother[p] = p
        s.distance[p] = FAR if p > 0 else 0


def is_nearer(s: State, p: Node, q: Node) -> bool:
    return 10 * min(p, q) + max(p, q) in EDGES and s.distance[q] + 1 < s.distance[p]


@action
def learn(s: State, p: Node) -> None:
    q = any_of(s, {q for q in range(s.NODES) if is_nearer(s, p, q)})
    s.mother[p] = q
    s.distance[p] = any_of(s, range(s.distance[q] + 1, s.distance[p]))


def is_over(s: State) -> bool:
    """Nothing is left to learn."""
    return not any(is_nearer(s, p, q) for p in range(s.NODES) for q in range(s.NODES))


@safety(witness=is_over)
def is_a_tree(s: State) -> bool:
    """At the end each node but the root is one further than its mother."""
    return not is_over(s) or all(
        s.distance[p] == s.distance[s.mother[p]] + 1 or broken(f"p{p} is not") for p in range(1, s.NODES)
    )


@progress
def ends(s: State, p: Node) -> bool:
    """It ends."""
    return not is_over(s)


PROTOCOL = declare(__name__, nodes=5)
