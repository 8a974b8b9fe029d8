"""Decide which touches of two steps collide, so that the steps may not commute (docs/explanation/reductions.md).

Nothing here knows a protocol; which of the world's own functions commute is declared beside them
(`Conventions.commute`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from zabspec.language.analysis.footprints import ANYTHING, Touch

NEVER = 0xFFFF  # of two steps that are never independent

# The ways in which a process of one step may be one of the other's: bits of a number.
SAME: Mapping[tuple[str, str], int] = {("a", "a"): 1, ("a", "b"): 2, ("b", "a"): 4, ("b", "b"): 8}


Pairs = Collection[frozenset[str]]  # of labels; of one with itself, that label alone


def pairs_of(pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Return pairs of labels, in either order."""
    return frozenset(frozenset(pair) for pair in pairs)


def collisions(one: Iterable[Touch], other: Iterable[Touch], commute: Pairs, apart: Pairs = frozenset()) -> int:
    """Return for each way in which the processes of two steps may coincide a bit: whether what they touch collides.

    Bit k of the number stands for the coincidences whose bits (`SAME`) are those of k.

    Args:
        commute: the pairs of labels that do not collide.
        apart: those that do not if two processes take the steps.
    """
    needed: set[int] = set()  # the coincidences without which a pair of touches is apart
    by_field: dict[str, list[Touch]] = {}
    for y in other:
        by_field.setdefault(y.field, []).append(y)
    for x in one:
        if x.field == ANYTHING or ANYTHING in by_field:
            return NEVER
        for y in by_field.get(x.field, ()):
            labels = frozenset((x.label, y.label)) if x.label and y.label else frozenset()
            if not (x.writes or y.writes) or (labels and labels in commute):
                continue
            pairs = {(p, q) for p, q in zip(x.keys, y.keys, strict=True) if p is not None and q is not None}
            if labels and labels in apart:
                pairs.add(("a", "a"))
            needed.add(sum(SAME[pair] for pair in pairs))
    return sum(1 << k for k in range(16) if any(k & bits == bits for bits in needed))
