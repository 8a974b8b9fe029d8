"""Quorums of the abstract protocol as the bits of numbers, and processes of which any will do.

These are of the few functions that are trusted to do the same with every process (`checker/explore/symmetry.py`).
"""

from __future__ import annotations

from zabspec.language.lang import NOBODY, Node, State


def is_in(q: int, p: Node) -> bool:
    """Whether p is in the set q."""
    return ((q >> p) & 1) == 1


def mask_of(p: Node) -> int:
    """The set of p alone."""
    return 1 << p


def anybody() -> Node:
    """Some process: what is said of epoch 0, the beginning, lies with every process."""
    return 0


def any_of_latest(s: State, l: Node, e: int, h: int, current: int) -> Node:
    """One of those in Q whose ACK-E brought leader l its history h, under f.a = `current`: the action asks
    of it no more than that. Somebody, if there is none."""
    found = NOBODY
    for p in range(s.NODES):
        if found == NOBODY and p in s.Q[l] and h in s.a_ack_hist[l][p][e]:
            if s.a_ack_current[l][p][e] == current and len(s.a_ack_hist[l][p][e]) == len(s.log[l]) + 1:
                found = p
    return max(found, 0)
