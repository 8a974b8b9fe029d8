"""LADIS'08's requirements (section 2), over the observed history."""

from __future__ import annotations

from invariants.core import place, same_instance, second_of_instance, two_epochs_delivered, was_abcast
from invariants.registry import HISTORY, Property
from zabspec.language.lang import State, broken


def prefix_property(h: State) -> bool:
    """Prefix property (LADIS'08 2): if m is the last message delivered for a leader L, any message
    proposed before m by L must also be delivered. A process elected twice is two leaders."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(t.value - 1):
                    u = h.abcast_txn[k]
                    if same_instance(h, k, t.value - 1) and place(h, p, u) < 0:
                        return broken(
                            f"Leader p{h.abcast_by[k]} of epoch {t.epoch} proposed {u} before {t}, but p{p} delivered "
                            f"{t} without {u}"
                        )
    return True


def causal_order(h: State) -> bool:
    """Causal order (LADIS'08 2): if message a causally precedes message b and both messages are
    delivered, then a must be ordered before b. A message precedes those that its server proposes
    later, and those that a later leader proposes."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                a = h.delivered[p][j]
                b = h.delivered[p][i]
                if was_abcast(h, a) and was_abcast(h, b):
                    if h.abcast_by[a.value - 1] == h.abcast_by[b.value - 1] and a.value < b.value:
                        return broken(
                            f"p{p} delivered {b} before {a}, but p{h.abcast_by[a.value - 1]} proposed {a} before {b}"
                        )
                    if a.epoch < b.epoch:
                        return broken(
                            f"p{p} delivered {b} before {a}, but p{h.abcast_by[a.value - 1]} proposed {a} as leader of "
                            f"epoch {a.epoch}, before the epoch in which p{h.abcast_by[b.value - 1]} proposed {b}"
                        )
    return True


def two_ordered(h: State) -> bool:
    """A process delivers two transactions, one causally before the other."""
    return second_of_instance(h) or two_epochs_delivered(h)


PROPERTIES = (
    Property(
        "prefix", HISTORY, "LADIS'08 2",
        "the second transaction of a leader is delivered", prefix_property, second_of_instance,
    ),
    Property(
        "causal-order", HISTORY, "LADIS'08 2",
        "a process delivers two transactions, one causally before the other", causal_order, two_ordered,
    ),
)  # fmt: skip
