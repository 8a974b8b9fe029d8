"""State causal order, PO causal order and strict causality (DSN'11, section III.B), over the observed history.

One abcast PO-precedes another when it was broadcast earlier by the same primary instance, or when
the primary of the later one had delivered it before broadcasting, or through a chain of these
(`docs/explanation/readings.md`: PO precedence). Identities follow the order of abcasts, so a chain only ever
leads from a lower to a higher identity.

One abcast happens before another (Definition III.1) when the same *process* broadcast it earlier, in whatever
instance, or when the process of the later one had delivered it before broadcasting, or through a chain of these
(`docs/explanation/readings.md`: happens before). So what PO-precedes happens before, and not the other way round.
"""

from __future__ import annotations

from invariants.core import place, same_instance, second_of_instance, was_abcast
from invariants.registry import HISTORY, Property
from zabspec.language.python.lang import State, broken


def directly_precedes(h: State, j: int, k: int) -> bool:
    """Return whether abcast j PO-precedes abcast k without an intermediate."""
    return j < k and (same_instance(h, j, k) or j in h.abcast_after[k])


def precedes(h: State, j: int, k: int) -> bool:
    """Return whether abcast j PO-precedes abcast k (III.B)."""
    reached = 1 << k
    for back in range(k + 1):
        b = k - back
        if ((reached >> b) & 1) == 1:
            for a in range(b):
                if directly_precedes(h, a, b):
                    reached = reached | (1 << a)
    return j != k and ((reached >> j) & 1) == 1


def po_causal_order(h: State) -> bool:
    """PO causal order (III.B): if <v, z> PO-precedes <v', z'> and a process delivers <v', z'>,
    then it must also deliver <v, z>, before <v', z'>."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                # a chain holds if each of its links does
                for k in range(t.value - 1):
                    if directly_precedes(h, k, t.value - 1):
                        u = h.abcast_txn[k]
                        i = place(h, p, u)
                        if i < 0 or i > j:
                            by = h.abcast_by[t.value - 1]
                            own = same_instance(h, k, t.value - 1)
                            return broken(
                                f"{u} PO-precedes {t} (p{by} "
                                f"{'broadcast it earlier' if own else 'had delivered it when it broadcast the latter'}"
                                f"), but p{p} delivered {t} {'without' if i < 0 else 'before'} {u}"
                            )
    return True


def preceded_delivery(h: State) -> bool:
    """A process delivers a transaction that another PO-precedes."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(t.value - 1):
                    if directly_precedes(h, k, t.value - 1):
                        return True
    return False


def strict_causality(h: State) -> bool:
    """Strict causality (III.B): if some process delivers <v, z> and <v', z'>, then one of them
    PO-precedes the other."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                # precedence is transitive and follows identities, so that it is enough to look at neighbours
                below = 0
                for i in range(len(h.delivered[p])):
                    u = h.delivered[p][i]
                    if i != j and was_abcast(h, u) and u.value <= t.value:
                        if u.value == t.value:
                            return broken(f"p{p} delivered {t} twice")
                        below = max(below, u.value)
                if below > 0 and not precedes(h, below - 1, t.value - 1):
                    u = h.abcast_txn[below - 1]
                    return broken(
                        f"p{p} delivered {u} and {t}, and neither PO-precedes the other: p{h.abcast_by[t.value - 1]} "
                        f"broadcast {t} without having delivered {u} of p{h.abcast_by[below - 1]}, nor anything that "
                        "it PO-precedes"
                    )
    return True


def two_delivered(h: State) -> bool:
    """Some process delivers two transactions that were broadcast."""
    return any(
        was_abcast(h, h.delivered[p][i]) and was_abcast(h, h.delivered[p][j])
        for p in range(h.NODES)
        for j in range(len(h.delivered[p]))
        for i in range(j)
    )


def directly_causes(h: State, j: int, k: int) -> bool:
    """Return whether abcast j happens before abcast k without another abcast in between.

    Both are of one process, or the process of k had delivered the transaction of j. A delivery counts whenever that
    abcast came, as the definition has it.
    """
    if j == k:
        return False
    return (j < k and h.abcast_by[j] == h.abcast_by[k]) or j in h.abcast_after[k]


def dsn_causal_order(h: State) -> bool:
    """Causal order (III.1): if abcast(<v, z>) happens before abcast(<v', z'>) and a process delivers
    <v', z'>, then it must also deliver <v, z>, before <v', z'>. The events are abcasts and deliveries, and
    unlike for PO causal order all events of a process are in one order, whatever it was the primary of."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                # a chain holds if each of its links does
                for k in range(h.TXNS):
                    if k < h.abcasts and directly_causes(h, k, t.value - 1):
                        u = h.abcast_txn[k]
                        i = place(h, p, u)
                        if i < 0 or i > j:
                            by = h.abcast_by[t.value - 1]
                            own = k < t.value - 1 and h.abcast_by[k] == by
                            return broken(
                                f"{u} happens before {t} (p{by} "
                                f"{'broadcast it earlier' if own else 'had delivered it when it broadcast the latter'}"
                                f"), but p{p} delivered {t} {'without' if i < 0 else 'before'} {u}"
                            )
    return True


def caused_delivery(h: State) -> bool:
    """A process delivers a transaction before which another happens."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(h.TXNS):
                    if k < h.abcasts and directly_causes(h, k, t.value - 1):
                        return True
    return False


PROPERTIES = (
    Property(
        "po-causal-order", HISTORY, "DSN'11 III.B",
        "a transaction that another PO-precedes is delivered", po_causal_order, preceded_delivery,
    ),
    Property(
        "strict-causality", HISTORY, "DSN'11 III.B",
        "a process delivers two transactions that were broadcast", strict_causality, two_delivered,
    ),
    # It does not hold of PO atomic broadcast, and is not meant to (III.B): so it is checked only where it is named.
    Property(
        "dsn-causal-order", HISTORY, "DSN'11 III.1",
        "a transaction that another happens before is delivered", dsn_causal_order, caused_delivery, default=False,
    ),
)  # fmt: skip

__all__ = [
    "PROPERTIES", "dsn_causal_order", "po_causal_order", "precedes", "second_of_instance", "strict_causality",
]  # fmt: skip
