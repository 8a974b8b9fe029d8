"""Invariants 1 to 5 of ZAB (DSN 2011, VI.B): of a step, before it and after it, and the fifth of a state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

BROADCAST = 3  # the phase of a follower
DOWN = 3  # the role of a process that has crashed


def in_zxid_order(txns: list) -> bool:
    """Return whether each transaction has a later zxid than the one before it (III)."""
    return all((t.epoch, t.counter) < (u.epoch, u.counter) for t, u in pairwise(txns))


def carried(s: Any, history: Any, sent: Any) -> bool:
    """Return whether a message carries a history; with `missing-only` it carries the end of one."""
    whole, part = list(history), list(sent)
    return part == (whole[len(whole) - len(part) :] if "missing-only" in s.__world__.model.size.variant else whole)


def grown(before: Any, after: Any) -> list:
    """Return the last message of a channel if it is a new one."""
    return list(after)[-1:] if len(after) > len(before) else []


def invariant_1(before: Any, event: Any, after: Any) -> bool:
    """Return whether f.a = e of a follower f that accepts a proposal of epoch e."""
    return not event.accepts or after.current_epoch[event.event_process] == event.accept_epoch


def invariant_2(before: Any, event: Any, after: Any) -> bool:
    """Return whether a follower accepts proposals and delivers transactions in the order of their zxids."""
    f, m = event.event_process, event.event_message
    proposed = event.accepts and m.kind == "PROPOSE"
    if proposed and not in_zxid_order([*list(before.history[f])[-1:], m.txn]):
        return False
    if f < 0 or after.phase[f] != BROADCAST:
        return True
    since, until = before.delivered_length[f], after.delivered_length[f]
    return since >= until or in_zxid_order(list(after.history[f])[max(0, since - 1) : until])


def invariant_3(before: Any, event: Any, after: Any) -> bool:
    """Return whether a follower accepts nothing from the leader of an epoch before the one it promised."""
    return not event.accepts or event.accept_epoch >= before.promised_epoch[event.event_process]


def invariant_4(before: Any, event: Any, after: Any) -> bool:
    """Return whether an initial history is a follower's, and ACK-E and NEWLEADER carry histories unaltered."""
    p, m = event.event_process, event.event_message
    if m.kind == "NEWEPOCH":
        sent = [x for l in range(after.NODES) for x in grown(before.to_leader[p][l], after.to_leader[p][l])]
        return all(carried(after, after.history[p], x.history) for x in sent if x.kind == "ACK_E")
    if m.kind == "NEWLEADER":
        return not event.accepts or carried(after, after.history[p], m.history)
    if m.kind not in ("ACK_E", "CEPOCH") or after.role[p] == DOWN:  # who failed within the step has forgotten its log
        return True
    sent = [x for f in range(after.NODES) for x in grown(before.to_follower[f], after.to_follower[f])]
    kept = [list(h) for h in (before.log[p], *(after.history[f] for f in range(after.NODES)))]
    chosen = m.kind == "CEPOCH" or list(after.log[p]) in kept or carried(after, after.log[p], m.history)
    return chosen and all(carried(after, after.log[p], x.history) for x in sent if x.kind == "NEWLEADER")


def invariant_5(s: Any) -> bool:
    """Return whether what each f delivered since it joined its epoch, without I_e, is a prefix of its epoch's.

    Of an f whose passes disagree the state has not what it delivered in the last.
    """
    for f in (f for f in range(s.NODES) if not s.diverged[f]):
        broadcast = [s.abcast_txn[k] for k in range(s.abcasts) if s.abcast_txn[k].epoch == s.current_epoch[f]]
        mine = [t for t in list(s.delivered[f])[: s.pass_length[f]] if t.epoch == s.current_epoch[f]]
        if mine != broadcast[: len(mine)]:
            return False
    return True


OF_STEPS: tuple[Callable, ...] = (invariant_1, invariant_2, invariant_3, invariant_4)
