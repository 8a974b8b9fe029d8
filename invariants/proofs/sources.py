"""Define sources: the places of a history that belongs to an epoch.

A source is a follower's history under f.a, a leader's log, what a channel will make of a follower's history, or the
history an ACK-E in flight carries. Most of the argument is about sources, independent of where they lie. A source is
named by its kind w and two processes: an ACK-E by its follower p and leader q, any other by its process, twice.
"""

from __future__ import annotations

from invariants.proofs.channels import first_down, newleader_at
from invariants.proofs.messages import (
    entry_ack_e,
    entry_newleader,
    length_ack_e,
    length_newleader,
    no_txn,
    of_ack_e,
    txn_proposed,
)
from zabspec.language.python.lang import Node, State, Txn
from zabspec.zab import ACK_E, FOLLOWING, LEADING, NEWLEADER, PROPOSE, SYNCHRONIZATION, SYNCHRONIZING

# The kinds of sources, and how many there are.
HISTORY_OF, LOG_OF, CHANNEL_TO, ACK_E_OF = range(4)
SOURCES = 4


def has_channel_history(s: State, f: Node) -> bool:
    """Return whether what is in flight to f will make, or continues, a history of one epoch."""
    if s.role[f] != FOLLOWING and s.role[f] != LEADING:
        return False
    if newleader_at(s, f) >= 0:
        return True
    return s.phase[f] >= SYNCHRONIZATION and s.current_epoch[f] == s.promised_epoch[f]


def is_source(w: int, p: Node, q: Node) -> bool:
    """Return whether w, p, q name a source."""
    return w == ACK_E_OF or p == q


def tag(s: State, w: int, p: Node, q: Node) -> int:
    """Return the epoch that a source belongs to."""
    if w == HISTORY_OF:
        return s.current_epoch[p]
    if w == LOG_OF:
        return s.new_epoch[p] if s.stage[p] >= SYNCHRONIZING else s.best_epoch[p]
    if w == CHANNEL_TO:
        if not has_channel_history(s, p):
            return 0
        return first_down(s, p) if newleader_at(s, p) >= 0 else s.current_epoch[p]
    if len(s.to_leader[p][q]) > 0 and s.to_leader[p][q][0].kind == ACK_E:
        return of_ack_e(s.to_leader[p][q][0])
    return 0


def length(s: State, w: int, p: Node, q: Node) -> int:
    """Return how many transactions a source has."""
    if w == HISTORY_OF:
        return len(s.history[p])
    if w == LOG_OF:
        return len(s.log[p])
    if w == CHANNEL_TO:
        return channel_length(s, p)
    if len(s.to_leader[p][q]) > 0 and s.to_leader[p][q][0].kind == ACK_E:
        return length_ack_e(s.to_leader[p][q][0])
    return 0


def source_entry(s: State, w: int, p: Node, q: Node, i: int) -> Txn:
    """Return the transaction at place i of a source; all zero beyond its end."""
    if w == HISTORY_OF:
        return s.history[p][i]
    if w == LOG_OF:
        return s.log[p][i]
    if w == CHANNEL_TO:
        return channel_entry(s, p, i)
    if len(s.to_leader[p][q]) > 0 and s.to_leader[p][q][0].kind == ACK_E:
        return entry_ack_e(s.to_leader[p][q][0], i)
    return no_txn()


def channel_base(s: State, f: Node) -> int:
    """Return the length of the history that the proposals in flight to f continue."""
    at = newleader_at(s, f)
    if at == 0 and s.to_follower[f][0].kind == NEWLEADER:
        return length_newleader(s.to_follower[f][0])
    if at == 1 and s.to_follower[f][1].kind == NEWLEADER:
        return length_newleader(s.to_follower[f][1])
    return len(s.history[f])


def channel_length(s: State, f: Node) -> int:
    """Return the length of what the channel to f will make of its history."""
    if not has_channel_history(s, f):
        return 0
    total = channel_base(s, f)
    for k in range(s.DOWN):
        if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == PROPOSE:
            total = total + 1
    return total


def channel_entry(s: State, f: Node, i: int) -> Txn:
    """Return the transaction at place i of what the channel to f will make of its history."""
    if not has_channel_history(s, f):
        return no_txn()
    at = channel_base(s, f)
    if i < at:
        if newleader_at(s, f) == 0 and s.to_follower[f][0].kind == NEWLEADER:
            return entry_newleader(s.to_follower[f][0], i)
        if newleader_at(s, f) == 1 and s.to_follower[f][1].kind == NEWLEADER:
            return entry_newleader(s.to_follower[f][1], i)
        return s.history[f][i]
    for k in range(s.DOWN):
        if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == PROPOSE:
            if at == i:
                return txn_proposed(s.to_follower[f][k])
            at = at + 1
    return no_txn()


def holds_txn(s: State, w: int, p: Node, q: Node, v: int) -> bool:
    """Return whether a source has the transaction with identity v."""
    return any(source_entry(s, w, p, q, i).value == v for i in range(s.TXNS))
