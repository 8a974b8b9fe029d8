"""State the core properties of DSN'11, section III.A, over the observed history.

`h.delivered[p]` is what process p delivered, in order of first delivery over all its passes; a
pass that is not prefix-compatible with an earlier one counts as a second process that disagrees
(`h.diverged[p]`), and breaks total order and agreement.
"""

from __future__ import annotations

from invariants.registry import HISTORY, Property
from zabspec.language.python.lang import Node, State, Txn, broken


def place(h: State, p: Node, t: Txn) -> int:
    """Return the place of t among the deliveries of p; -1 if p did not deliver it."""
    for k in range(len(h.delivered[p])):
        if h.delivered[p][k] == t:
            return k
    return -1


def was_abcast(h: State, t: Txn) -> bool:
    """Return whether some process abcast t, under this zxid."""
    return t.value >= 1 and t.value <= h.abcasts and h.abcast_txn[t.value - 1] == t


def same_instance(h: State, j: int, k: int) -> bool:
    """Return whether abcasts j and k are of one primary instance: epoch, process and attempt."""
    return (
        h.abcast_txn[j].epoch == h.abcast_txn[k].epoch
        and h.abcast_by[j] == h.abcast_by[k]
        and h.abcast_attempt[j] == h.abcast_attempt[k]
    )


def some_delivery(h: State) -> bool:
    """Some process delivered a transaction."""
    return any(len(h.delivered[p]) > 0 for p in range(h.NODES))


def broadcast_delivered(h: State) -> bool:
    """Some process delivered a transaction that was broadcast."""
    return any(was_abcast(h, h.delivered[p][k]) for p in range(h.NODES) for k in range(len(h.delivered[p])))


def integrity(h: State) -> bool:
    """Integrity (III.A): if some process delivers <v, z>, then some process has broadcast <v, z>."""
    for p in range(h.NODES):
        for k in range(len(h.delivered[p])):
            t = h.delivered[p][k]
            if not was_abcast(h, t):
                if t.value >= 1 and t.value <= h.abcasts:
                    u = h.abcast_txn[t.value - 1]
                    return broken(f"p{p} delivered {t}, but what p{h.abcast_by[t.value - 1]} broadcast was {u}")
                return broken(f"p{p} delivered {t}, which no process had broadcast")
    return True


def total_order(h: State) -> bool:
    """Total order (III.A): if some process delivers <v, z> before <v', z'>, then any process that
    delivers <v', z'> must also deliver <v, z>, and deliver it before <v', z'>."""
    for p in range(h.NODES):
        if h.diverged[p]:
            return broken(f"p{p} delivered in one pass otherwise than in another, or the same twice in one")
        for q in range(h.NODES):
            if p != q:
                for j in range(len(h.delivered[p])):
                    u = h.delivered[p][j]
                    later = place(h, q, u)
                    if later >= 0:
                        for i in range(j):
                            t = h.delivered[p][i]
                            earlier = place(h, q, t)
                            if earlier < 0 or earlier > later:
                                return broken(
                                    f"p{p} delivered {t} before {u}, but p{q} delivered {u} "
                                    f"{'without' if earlier < 0 else 'before'} {t}"
                                )
    return True


def total_order_witness(h: State) -> bool:
    """One process delivers a transaction before another, and a second process delivers the latter."""
    return any(
        p != q and len(h.delivered[p]) > 1 and place(h, q, h.delivered[p][1]) >= 0
        for p in range(h.NODES)
        for q in range(h.NODES)
    )


def agreement(h: State) -> bool:
    """Agreement (III.A): if some process p_i delivers <v, z> and some process p_j delivers
    <v', z'>, then either p_i delivers <v', z'> or p_j delivers <v, z>."""
    for p in range(h.NODES):
        if h.diverged[p]:
            return broken(f"p{p} delivered in one pass otherwise than in another, or the same twice in one")
        for q in range(h.NODES):
            j = lacked(h, q, p)
            if j >= 0 and lacked(h, p, q) >= 0:
                t = h.delivered[p][j]
                u = h.delivered[q][lacked(h, p, q)]
                return broken(f"p{p} delivered {t} but not {u}, and p{q} delivered {u} but not {t}")
    return True


def lacked(h: State, p: Node, q: Node) -> int:
    """Return the first place at which q delivered something that p did not; -1 if there is none."""
    for k in range(len(h.delivered[q])):
        if place(h, p, h.delivered[q][k]) < 0:
            return k
    return -1


def agreement_witness(h: State) -> bool:
    """Two processes deliver, and one of them something that the other does not (yet)."""
    return any(
        p != q and len(h.delivered[p]) > 0 and lacked(h, p, q) >= 0 for p in range(h.NODES) for q in range(h.NODES)
    )


def local_primary_order(h: State) -> bool:
    """Local primary order (III.A): if a primary broadcasts <v, z> before it broadcasts <v', z'>,
    then a process that delivers <v', z'> must also deliver <v, z>, before <v', z'>."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(t.value - 1):
                    if same_instance(h, k, t.value - 1):
                        u = h.abcast_txn[k]
                        i = place(h, p, u)
                        if i < 0 or i > j:
                            return broken(
                                f"Primary p{h.abcast_by[k]} broadcast {u} before {t}, but p{p} delivered {t} "
                                f"{'without' if i < 0 else 'before'} {u}"
                            )
    return True


def second_of_instance(h: State) -> bool:
    """A process delivers a transaction that was not the first its primary instance broadcast."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            t = h.delivered[p][j]
            if was_abcast(h, t):
                for k in range(t.value - 1):
                    if same_instance(h, k, t.value - 1):
                        return True
    return False


def global_primary_order(h: State) -> bool:
    """Global primary order (III.A): let primary rho_i broadcast <v, z>, and primary rho_j, which
    rho_i precedes, broadcast <v', z'>. If a process delivers both, it must deliver <v, z> before
    <v', z'>."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                t = h.delivered[p][i]
                u = h.delivered[p][j]
                if t.epoch > u.epoch and was_abcast(h, t) and was_abcast(h, u):
                    return broken(
                        f"p{p} delivered {t}, broadcast by p{h.abcast_by[t.value - 1]}, before {u}, broadcast by "
                        f"p{h.abcast_by[u.value - 1]} as primary of the earlier epoch {u.epoch}"
                    )
    return True


def two_epochs_delivered(h: State) -> bool:
    """A process delivers transactions that two primaries broadcast."""
    for p in range(h.NODES):
        for j in range(len(h.delivered[p])):
            for i in range(j):
                t = h.delivered[p][i]
                u = h.delivered[p][j]
                if t.epoch != u.epoch and was_abcast(h, t) and was_abcast(h, u):
                    return True
    return False


def primary_integrity(h: State) -> bool:
    """Primary integrity (III.A): if rho_e broadcasts <v, z> and some process delivers <v', z'>
    that rho_e', e' < e, has broadcast, then rho_e must deliver <v', z'> before it broadcasts
    <v, z>."""
    for k in range(h.TXNS):
        if k < h.abcasts:
            for p in range(h.NODES):
                for j in range(len(h.delivered[p])):
                    t = h.delivered[p][j]
                    if t.epoch < h.abcast_txn[k].epoch and was_abcast(h, t):
                        if t.value - 1 not in h.abcast_after[k]:
                            u = h.abcast_txn[k]
                            return broken(
                                f"p{h.abcast_by[k]}, primary of epoch {u.epoch}, broadcast {u} without having "
                                f"delivered {t} of the earlier epoch {t.epoch}, which p{p} delivered"
                            )
    return True


def primary_integrity_witness(h: State) -> bool:
    """A primary broadcasts, and some process delivers a transaction that an earlier primary broadcast."""
    for k in range(h.TXNS):
        if k < h.abcasts:
            for p in range(h.NODES):
                for j in range(len(h.delivered[p])):
                    t = h.delivered[p][j]
                    if t.epoch < h.abcast_txn[k].epoch and was_abcast(h, t):
                        return True
    return False


INTEGRITY = Property("integrity", HISTORY, "DSN'11 III.A", "a transaction is delivered", integrity, some_delivery)

PROPERTIES = (
    INTEGRITY,
    Property(
        "total-order", HISTORY, "DSN'11 III.A",
        "one process delivers a before b, and another delivers b", total_order, total_order_witness,
    ),
    Property(
        "agreement", HISTORY, "DSN'11 III.A",
        "two processes deliver, one of them more than the other", agreement, agreement_witness,
    ),
    Property(
        "local-primary-order", HISTORY, "DSN'11 III.A",
        "the second transaction of a primary is delivered", local_primary_order, second_of_instance,
    ),
    Property(
        "global-primary-order", HISTORY, "DSN'11 III.A",
        "a process delivers transactions of two primaries", global_primary_order, two_epochs_delivered,
    ),
    Property(
        "primary-integrity", HISTORY, "DSN'11 III.A",
        "a primary broadcasts, and a transaction of an earlier primary is delivered",
        primary_integrity, primary_integrity_witness,
    ),
)  # fmt: skip
