"""State what DSN'11's argument claims on the way (sections III, V and VI), over ghosts of the protocol."""

from __future__ import annotations

from invariants.core import INTEGRITY, broadcast_delivered, same_instance, was_abcast
from invariants.registry import HISTORY, STEP, Property
from zabspec.language.python.lang import Node, State, Txn, broken


def one_primary_an_epoch(h: State) -> bool:
    """III: the value of e is unique for different primary instances: no two instances broadcast
    in one epoch."""
    for k in range(h.TXNS):
        if k < h.abcasts and h.abcast_attempt[k] > 0:
            t = h.abcast_txn[k]
            for j in range(h.TXNS):
                u = h.abcast_txn[j]
                if j < k and u.epoch == t.epoch and not same_instance(h, j, k):
                    again = h.abcast_by[j] == h.abcast_by[k]
                    return broken(
                        f"Two primaries broadcast in epoch {t.epoch}: p{h.abcast_by[j]} broadcast {u}, and "
                        f"p{h.abcast_by[k]}{' again, in a later leadership,' if again else ''} broadcast {t}"
                    )
            return broken(f"p{h.abcast_by[k]} broadcast {t} as a second primary of epoch {t.epoch}")
    return True


def some_abcast(h: State) -> bool:
    """A primary broadcasts."""
    return h.abcasts > 0


def one_leader_an_epoch(h: State) -> bool:
    """V.C: no two processes can become established leaders for the same epoch e."""
    return all(
        h.established[e] <= 1 or broken(f"Epoch {e} has more than one established leader") for e in range(h.EPOCHS + 1)
    )


def two_established(h: State) -> bool:
    """Leaders of two epochs have been established."""
    return sum(1 for e in range(h.EPOCHS + 1) if h.established[e] > 0) > 1


def chosen_in_later_histories(h: State) -> bool:
    """VI: a transaction chosen in epoch e (accepted by a quorum at any time, in Phase 2 or 3) is in
    the initial history of every later established epoch, behind none of a later zxid."""
    for k in range(h.TXNS):
        if h.chosen_epoch[k] > 0 and h.missing_epoch[k] > h.chosen_epoch[k]:
            return broken(
                f"{h.abcast_txn[k]} was chosen in epoch {h.chosen_epoch[k]}, but is missing or out of order in the "
                f"initial history of epoch {h.missing_epoch[k]}"
            )
    return True


def chosen_before_established(h: State) -> bool:
    """A transaction is chosen in an epoch earlier than one that is established."""
    return any(
        h.chosen_epoch[k] > 0 and e > h.chosen_epoch[k] and h.established[e] > 0
        for k in range(h.TXNS)
        for e in range(h.EPOCHS + 1)
    )


def unique_zxid(h: State) -> bool:
    """III: zxids order the transactions that are broadcast: no two have the same."""
    for k in range(h.TXNS):
        for j in range(k):
            if k < h.abcasts:
                t = h.abcast_txn[k]
                u = h.abcast_txn[j]
                if t.epoch == u.epoch and t.counter == u.counter:
                    return broken(
                        f"p{h.abcast_by[j]} broadcast {u}, and p{h.abcast_by[k]} broadcast {t}: one zxid stands for "
                        "two transactions"
                    )
    return True


def two_in_an_epoch(h: State) -> bool:
    """Two transactions are broadcast in one epoch."""
    return any(
        k < h.abcasts and h.abcast_txn[k].epoch == h.abcast_txn[j].epoch for k in range(h.TXNS) for j in range(k)
    )


def delivered_stands(h: State) -> bool:
    """VI: what a process has delivered stays how its history begins: no entry of it vanishes,
    changes, or has another put before it."""
    return all(
        h.revised[p] != 2 or broken(f"p{p} replaced its history, and with it what it had delivered")
        for p in range(h.NODES)
    )


def delivered_then_replaced(h: State) -> bool:
    """A process that has delivered replaces its history."""
    return any(h.revised[p] > 0 for p in range(h.NODES))


def delivered_is_chosen(h: State) -> bool:
    """VI: a process delivers chosen transactions only."""
    for p in range(h.NODES):
        for k in range(len(h.delivered[p])):
            t = h.delivered[p][k]
            if was_abcast(h, t) and h.chosen_epoch[t.value - 1] == 0:
                some = accepted_by_some(h, t)
                return broken(
                    f"p{p} delivered {t}, but no quorum had accepted it: {'only ' if some else ''}"
                    f"{ {q for q in range(h.NODES) if accepted_ever(h, q, t)} if some else 'nobody' } had"
                )
    return True


def accepted_by_some(h: State, t: Txn) -> bool:
    """Return whether any process accepted t, in any epoch, while it is not chosen."""
    return any(accepted_ever(h, q, t) for q in range(h.NODES))


def accepted_ever(h: State, q: Node, t: Txn) -> bool:
    """Return whether q accepted t, in any epoch, while it is not chosen."""
    return any(q in h.accepted[e][t.value - 1] for e in range(h.EPOCHS + 1))


def delivers_chosen(before: State, event: State, after: State) -> bool:
    """What a step delivers is chosen when the step is over."""
    for k in range(after.TXNS):
        if k in event.delivered_now and after.chosen_epoch[k] == 0:
            return broken("A step delivers a transaction that no quorum has accepted")
    return True


def delivers(before: State, event: State, after: State) -> bool:
    """A step delivers something."""
    return any(k in event.delivered_now for k in range(after.TXNS))


# What is chosen stays chosen (`accept` of zabspec/history.py): where this is kept by every step, what was delivered is
# chosen in every state.
DELIVERS_CHOSEN = Property(
    "delivers-chosen", STEP, "DSN'11 VI", "a transaction is delivered", delivers_chosen, delivers,
    default=False, sooner=True,
)  # fmt: skip

PROPERTIES = (
    Property("one-primary-an-epoch", HISTORY, "DSN'11 III", "a primary broadcasts", one_primary_an_epoch, some_abcast),
    Property(
        "one-leader-an-epoch", HISTORY, "DSN'11 V.C",
        "leaders of two epochs are established", one_leader_an_epoch, two_established,
    ),
    Property(
        "chosen-in-later-histories", HISTORY, "DSN'11 VI",
        "a transaction is chosen in an epoch earlier than an established one",
        chosen_in_later_histories, chosen_before_established,
    ),
    Property(
        "delivered-is-chosen", HISTORY, "DSN'11 VI",
        "a transaction that was broadcast is delivered", delivered_is_chosen, broadcast_delivered,
        follows_from=(INTEGRITY, DELIVERS_CHOSEN),
    ),
    Property(
        "unique-zxid", HISTORY, "DSN'11 III",
        "two transactions are broadcast in one epoch", unique_zxid, two_in_an_epoch,
    ),
    Property(
        "delivered-stands", HISTORY, "DSN'11 VI",
        "a process that has delivered replaces its history", delivered_stands, delivered_then_replaced,
        protocols=("db19",),
    ),
)  # fmt: skip
