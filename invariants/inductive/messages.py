"""What is in a message, asked of one whose kind is known by then."""

from __future__ import annotations

from zabspec.language.lang import AnyMessage, Txn
from zabspec.zab import ACK, ACK_E, ACK_LD, CEPOCH, COMMIT, COMMIT_LD, NEWEPOCH, NEWLEADER, PROPOSE


def of_cepoch(m: CEPOCH) -> int:
    return m.epoch


def of_ack_e(m: ACK_E) -> int:
    return m.current_epoch


def of_newepoch(m: NEWEPOCH) -> int:
    return m.epoch


def of_newleader(m: NEWLEADER) -> int:
    return m.epoch


def of_commit_ld(m: COMMIT_LD) -> int:
    return m.epoch


def of_propose(m: PROPOSE) -> int:
    return m.epoch


def of_commit(m: COMMIT) -> int:
    return m.epoch


def epoch_down(m: AnyMessage) -> int:
    """The epoch of a message to a follower."""
    if m.kind == NEWEPOCH:
        return of_newepoch(m)
    if m.kind == NEWLEADER:
        return of_newleader(m)
    if m.kind == COMMIT_LD:
        return of_commit_ld(m)
    if m.kind == PROPOSE:
        return of_propose(m)
    if m.kind == COMMIT:
        return of_commit(m)
    return 0


def txn_proposed(m: PROPOSE) -> Txn:
    return m.txn


def txn_committed(m: COMMIT) -> Txn:
    return m.txn


def txn_committed_ld(m: COMMIT_LD) -> Txn:
    return m.txn


def txn_acked(m: ACK) -> Txn:
    return m.txn


def txn_acked_ld(m: ACK_LD) -> Txn:
    return m.txn


def entry_ack_e(m: ACK_E, i: int) -> Txn:
    return m.history[i]


def length_ack_e(m: ACK_E) -> int:
    return len(m.history)


def entry_newleader(m: NEWLEADER, i: int) -> Txn:
    return m.history[i]


def length_newleader(m: NEWLEADER) -> int:
    return len(m.history)


def no_txn() -> Txn:
    return Txn(epoch=0, counter=0, value=0)


def from_follower(m: AnyMessage) -> bool:
    """A message that a follower sends."""
    return m.kind == CEPOCH or m.kind == ACK_E or m.kind == ACK_LD or m.kind == ACK
