"""The properties over the observed history that every protocol with transactions has (O7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from zabspec.second.language import is_quorum


def each(s: Any) -> Iterator[tuple[int, list, list]]:
    """Yield each process, what it delivered, and the transactions of that which were abcast."""
    for p in range(s.NODES):
        delivered = list(s.delivered[p])
        yield p, delivered, [t for t in delivered if was_abcast(s, t)]


def was_abcast(s: Any, t: Any) -> bool:
    """Whether t is what was abcast as its value."""
    return 1 <= t.value <= s.abcasts and s.abcast_txn[t.value - 1] == t


def one_instance(s: Any, j: int, k: int) -> bool:
    """Whether abcasts j and k are of one instance."""
    return (s.abcast_txn[j].epoch, s.abcast_by[j], s.abcast_attempt[j]) == (
        s.abcast_txn[k].epoch, s.abcast_by[k], s.abcast_attempt[k],
    )  # fmt: skip


def diverged(s: Any) -> bool:
    """Whether any process diverged."""
    return any(s.diverged[p] for p in range(s.NODES))


def before(delivered: list, first: Any, then: Any) -> bool:
    """Whether `first` is delivered, and before `then`."""
    return first in delivered and delivered.index(first) < delivered.index(then)


def ordered_pairs(delivered: list) -> Iterator[tuple[Any, Any]]:
    """Yield each two deliveries, the earlier one first."""
    for k, t in enumerate(delivered):
        for u in delivered[k + 1 :]:
            yield t, u


def integrity(s: Any) -> bool:
    """Every delivered transaction was abcast."""
    return all(len(delivered) == len(known) for _, delivered, known in each(s))


def total_order(s: Any) -> bool:
    """What one process delivers in an order, no process delivers otherwise."""
    rows = [delivered for _, delivered, _ in each(s)]
    pairs = [pair for row in rows for pair in ordered_pairs(row)]
    return not diverged(s) and all(before(row, t, u) for t, u in pairs for row in rows if u in row)


def agreement(s: Any) -> bool:
    """Of any two processes, one has delivered all that the other has."""
    rows = [set(delivered) for _, delivered, _ in each(s)]
    return not diverged(s) and all(a <= b or b <= a for a in rows for b in rows)


def local_primary_order(s: Any) -> bool:
    """What an instance abcast is delivered in that order, without holes."""
    return all(
        before(delivered, s.abcast_txn[j], t)
        for _, delivered, known in each(s)
        for t in known
        for j in range(t.value - 1)
        if one_instance(s, j, t.value - 1)
    )


def prefix(s: Any) -> bool:
    """What an instance abcast is delivered without holes."""
    return all(
        s.abcast_txn[j] in delivered
        for _, delivered, known in each(s)
        for t in known
        for j in range(t.value - 1)
        if one_instance(s, j, t.value - 1)
    )


def global_primary_order(s: Any) -> bool:
    """Nothing of an earlier epoch is delivered after something of a later one."""
    return all(t.epoch <= u.epoch for _, _, known in each(s) for t, u in ordered_pairs(known))


def primary_integrity(s: Any) -> bool:
    """Whoever abcasts has delivered all that anybody delivers of earlier epochs."""
    return all(
        t.value - 1 in s.abcast_after[k]
        for _, _, known in each(s)
        for t in known
        for k in range(s.abcasts)
        if t.epoch < s.abcast_txn[k].epoch
    )


def po_causal_order(s: Any) -> bool:
    """What a transaction depends on is delivered before it."""
    return all(
        before(delivered, s.abcast_txn[j], t)
        for _, delivered, known in each(s)
        for t in known
        for j in range(t.value - 1)
        if one_instance(s, j, t.value - 1) or j in s.abcast_after[t.value - 1]
    )


def strict_causality(s: Any) -> bool:
    """Of any two transactions that a process delivers, one PO-precedes the other."""
    earlier: list[set[int]] = []  # what PO-precedes each abcast, by chains too
    for k in range(s.abcasts):
        direct = {j for j in range(k) if one_instance(s, j, k) or j in s.abcast_after[k]}
        earlier.append(direct.union(*(earlier[j] for j in direct)))
    return all(
        t.value - 1 in earlier[u.value - 1] or u.value - 1 in earlier[t.value - 1]
        for _, _, known in each(s)
        for t, u in ordered_pairs(known)
    )


def one_primary_an_epoch(s: Any) -> bool:
    """Every epoch has one instance that abcasts."""
    return all(s.abcast_attempt[k] <= 0 for k in range(s.abcasts))


def one_leader_an_epoch(s: Any) -> bool:
    """No epoch has two established leaders."""
    return all(s.established[e] != 2 for e in range(s.EPOCHS + 1))


def chosen_in_later_histories(s: Any) -> bool:
    """What is chosen is in the initial history of every later epoch, in its place."""
    return not any(s.chosen_epoch[k] > 0 and s.missing_epoch[k] > s.chosen_epoch[k] for k in range(s.TXNS))


def delivered_is_chosen(s: Any) -> bool:
    """What is delivered is chosen."""
    return all(s.chosen_epoch[t.value - 1] > 0 for _, _, known in each(s) for t in known)


def unique_zxid(s: Any) -> bool:
    """No two abcasts have epoch and counter in common."""
    zxids = [(s.abcast_txn[k].epoch, s.abcast_txn[k].counter) for k in range(s.abcasts)]
    return len(set(zxids)) == len(zxids)


def delivered_stands(s: Any) -> bool:
    """Nothing delivered is taken back."""
    return all(s.revised[p] != 2 for p in range(s.NODES))


def causal_order(s: Any) -> bool:
    """Nothing is delivered before what its process abcast earlier, or what is of an earlier epoch."""
    return not any(
        (u.value < t.value and s.abcast_by[u.value - 1] == s.abcast_by[t.value - 1]) or u.epoch < t.epoch
        for _, _, known in each(s)
        for t, u in ordered_pairs(known)
    )


def stable(s: Any, q: int) -> Any:
    """Return what q has in its history for certain: where power may be lost still, what it has forced."""
    loses = s.__world__.disks and s.power_losses_left + s.outages_left > 0
    return s.history_images[q][0] if loses else s.history[q]


def durability(s: Any) -> bool:
    """What is delivered is in the stable histories of a quorum."""
    return all(
        is_quorum(s, [q for q in range(s.NODES) if t in stable(s, q)]) for _, delivered, _ in each(s) for t in delivered
    )


CORE: tuple[Callable, ...] = (
    integrity, total_order, agreement, local_primary_order, global_primary_order, primary_integrity, po_causal_order,
    strict_causality, one_primary_an_epoch, one_leader_an_epoch, chosen_in_later_histories, delivered_is_chosen,
    unique_zxid, delivered_stands, prefix, causal_order,
)  # fmt: skip


def core(revises: bool) -> list[Callable]:
    """Return the properties of a protocol: `delivered-stands` is one if it revises what it delivered (db19)."""
    return [f for f in CORE if revises or f is not delivered_stands]
