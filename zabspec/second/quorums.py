"""Which sets of processes are quorums (section 5.1 of the page): majorities, or a system of weights and groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import combinations

Quorums = Callable[[Collection[int]], bool]


def quorums_of(text: str, nodes: int) -> Quorums:
    """Return whether a set of processes is a quorum, by the text of a system (Q1, Q2); empty: majorities."""
    if not text:
        return lambda members: len(set(members)) >= nodes // 2 + 1
    said = re.search(r"weights (\S+)$", text)
    weight = [int(w) for w in said[1].split(",")] if said else [1] * nodes
    groups = [[int(k) - 1 for k in g.split(",")] for g in re.findall(r"\{([^}]*)\}", text)] or [list(range(nodes))]
    whole = [sum(weight[p] for p in g) for g in groups]

    def is_quorum(members: Collection[int]) -> bool:
        here = [[weight[p] for p in g if p in members] for g in groups]
        won = [h for h, w in zip(here, whole, strict=True) if h and sum(h) > int(w / 2)]
        return len(won) > (len(groups) - whole.count(0)) // 2

    return is_quorum


def smallest(quorums: Quorums, nodes: int) -> int:
    """Return how many processes a quorum has at least (Q5)."""
    return next(k for k in range(nodes + 1) for c in combinations(range(nodes), k) if quorums(c))
