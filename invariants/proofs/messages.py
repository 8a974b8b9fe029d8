"""Return parts of messages whose kind is known."""

from __future__ import annotations

from zabspec.language.python.lang import AnyMessage, Txn
from zabspec.zab import ACK, ACK_E, ACK_LD, CEPOCH, COMMIT, COMMIT_LD, NEWEPOCH, NEWLEADER, PROPOSE


def of_cepoch(m: CEPOCH) -> int:
    """Return the epoch of a CEPOCH."""
    return m.epoch


def of_ack_e(m: ACK_E) -> int:
    """Return the epoch of an ACK-E, f.a."""
    return m.current_epoch


def of_newepoch(m: NEWEPOCH) -> int:
    """Return the epoch of a NEWEPOCH."""
    return m.epoch


def of_newleader(m: NEWLEADER) -> int:
    """Return the epoch of a NEWLEADER."""
    return m.epoch


def of_commit_ld(m: COMMIT_LD) -> int:
    """Return the epoch of a commit of NEWLEADER."""
    return m.epoch


def of_propose(m: PROPOSE) -> int:
    """Return the epoch of a proposal."""
    return m.epoch


def of_commit(m: COMMIT) -> int:
    """Return the epoch of a COMMIT."""
    return m.epoch


def epoch_down(m: AnyMessage) -> int:
    """Return the epoch of a message to a follower."""
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
    """Return the transaction of a proposal."""
    return m.txn


def txn_committed(m: COMMIT) -> Txn:
    """Return the transaction that a COMMIT names."""
    return m.txn


def txn_committed_ld(m: COMMIT_LD) -> Txn:
    """Return the transaction that a commit of NEWLEADER names."""
    return m.txn


def txn_acked(m: ACK) -> Txn:
    """Return the transaction that an acknowledgement names."""
    return m.txn


def txn_acked_ld(m: ACK_LD) -> Txn:
    """Return the transaction that an acknowledgement of NEWLEADER names."""
    return m.txn


def entry_ack_e(m: ACK_E, i: int) -> Txn:
    """Return the transaction at place i of an ACK-E's history."""
    return m.history[i]


def length_ack_e(m: ACK_E) -> int:
    """Return the length of an ACK-E's history."""
    return len(m.history)


def entry_newleader(m: NEWLEADER, i: int) -> Txn:
    """Return the transaction at place i of a NEWLEADER's history."""
    return m.history[i]


def length_newleader(m: NEWLEADER) -> int:
    """Return the length of a NEWLEADER's history."""
    return len(m.history)


def no_txn() -> Txn:
    """Return the transaction that stands for none."""
    return Txn(epoch=0, counter=0, value=0)


def from_follower(m: AnyMessage) -> bool:
    """Return whether a follower sends such a message."""
    return m.kind == CEPOCH or m.kind == ACK_E or m.kind == ACK_LD or m.kind == ACK
