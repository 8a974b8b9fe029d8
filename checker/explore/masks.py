"""Quorums of the abstract protocol as bit masks, and arbitrary choices of a process.

These are among the few functions that are trusted to treat every process alike (`checker/explore/symmetry.py`).
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State


def is_in(q: int, p: Node) -> bool:
    """Return whether p is in the set q."""
    return ((q >> p) & 1) == 1


def mask_of(p: Node) -> int:
    """Return the set of p alone."""
    return 1 << p


def anybody() -> Node:
    """Return some process: facts about epoch 0, the beginning, are stored with every process."""
    return 0


def any_of_latest(s: State, l: Node, e: int, h: int, current: int) -> Node:
    """Return one of those in Q whose ACK-E brought leader l its history h, under f.a = `current`.

    The action requires nothing else of it. If there is none, return some process.
    """
    found = NOBODY
    for p in range(s.NODES):
        if found == NOBODY and p in s.Q[l] and h in s.a_ack_hist[l][p][e]:
            if s.a_ack_current[l][p][e] == current and len(s.a_ack_hist[l][p][e]) == len(s.log[l]) + 1:
                found = p
    return max(found, 0)
