"""Transactions of one epoch, and their counters."""

from __future__ import annotations

from invariants.registry import HISTORY, Property
from zabspec.language.python.lang import State, broken


def counter_order(h: State) -> bool:
    """Counter order: a process delivers the transactions of an epoch in the order of their counters."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                t = h.delivered[p][i]
                u = h.delivered[p][j]
                if t.epoch == u.epoch and t.counter >= u.counter:
                    return broken(f"p{p} delivered {t} before {u}, which is of the same epoch")
    return True


def delivers_two(h: State) -> bool:
    """A process delivers two transactions of one epoch."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            if j > 0 and h.delivered[p][j].epoch == h.delivered[p][j - 1].epoch:
                return True
    return False


PROPERTIES = (
    Property(
        "counter-order", HISTORY, "here", "two transactions of an epoch are delivered", counter_order, delivers_two
    ),
)
