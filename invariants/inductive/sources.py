"""Sources: wherever a history lies that belongs to an epoch.

A source is a follower's history under f.a, a leader's log, what a channel will make of a follower's
history, or the history an ACK-E in flight carries. Most of the argument is about sources, and does
not care where they lie. They are numbered: histories, logs, channels, then ACK-Es by follower and leader.
"""

from __future__ import annotations

from invariants.inductive.channels import first_down, newleader_at
from invariants.inductive.messages import (
    entry_ack_e,
    entry_newleader,
    length_ack_e,
    length_newleader,
    no_txn,
    of_ack_e,
    txn_proposed,
)
from zabspec.language.lang import Node, State, Txn
from zabspec.zab import ACK_E, FOLLOWING, LEADING, PROPOSE, SYNCHRONIZATION, SYNCHRONIZING


def has_channel_history(s: State, f: Node) -> bool:
    """What is in flight to f will make, or goes on from, a history of one epoch."""
    if s.role[f] != FOLLOWING and s.role[f] != LEADING:
        return False
    if newleader_at(s, f) >= 0:
        return True
    return s.phase[f] >= SYNCHRONIZATION and s.current_epoch[f] == s.promised_epoch[f]


def tag(s: State, x: int) -> int:
    """The epoch that source x belongs to."""
    if x < s.NODES:
        return s.current_epoch[x]
    if x < 2 * s.NODES:
        l = x - s.NODES
        return s.new_epoch[l] if s.stage[l] >= SYNCHRONIZING else s.best_epoch[l]
    if x < 3 * s.NODES:
        f = x - 2 * s.NODES
        if not has_channel_history(s, f):
            return 0
        return first_down(s, f) if newleader_at(s, f) >= 0 else s.current_epoch[f]
    f = (x - 3 * s.NODES) // s.NODES
    l = (x - 3 * s.NODES) % s.NODES
    if len(s.to_leader[f][l]) > 0 and s.to_leader[f][l][0].kind == ACK_E:
        return of_ack_e(s.to_leader[f][l][0])
    return 0


def length(s: State, x: int) -> int:
    """How many transactions source x has."""
    if x < s.NODES:
        return len(s.history[x])
    if x < 2 * s.NODES:
        return len(s.log[x - s.NODES])
    if x < 3 * s.NODES:
        return channel_length(s, x - 2 * s.NODES)
    f = (x - 3 * s.NODES) // s.NODES
    l = (x - 3 * s.NODES) % s.NODES
    if len(s.to_leader[f][l]) > 0 and s.to_leader[f][l][0].kind == ACK_E:
        return length_ack_e(s.to_leader[f][l][0])
    return 0


def source_entry(s: State, x: int, i: int) -> Txn:
    """The transaction at place i of source x; all zero beyond its end."""
    if x < s.NODES:
        return s.history[x][i]
    if x < 2 * s.NODES:
        return s.log[x - s.NODES][i]
    if x < 3 * s.NODES:
        return channel_entry(s, x - 2 * s.NODES, i)
    f = (x - 3 * s.NODES) // s.NODES
    l = (x - 3 * s.NODES) % s.NODES
    if len(s.to_leader[f][l]) > 0 and s.to_leader[f][l][0].kind == ACK_E:
        return entry_ack_e(s.to_leader[f][l][0], i)
    return no_txn()


def channel_base(s: State, f: Node) -> int:
    """The length of the history that the proposals in flight to f go on from."""
    at = newleader_at(s, f)
    if at == 0:
        return length_newleader(s.to_follower[f][0])
    if at == 1:
        return length_newleader(s.to_follower[f][1])
    return len(s.history[f])


def channel_length(s: State, f: Node) -> int:
    """The length of what the channel to f will make of its history."""
    if not has_channel_history(s, f):
        return 0
    total = channel_base(s, f)
    for k in range(s.DOWN):
        if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == PROPOSE:
            total = total + 1
    return total


def channel_entry(s: State, f: Node, i: int) -> Txn:
    """The transaction at place i of what the channel to f will make of its history."""
    if not has_channel_history(s, f):
        return no_txn()
    at = channel_base(s, f)
    if i < at:
        if newleader_at(s, f) == 0:
            return entry_newleader(s.to_follower[f][0], i)
        if newleader_at(s, f) == 1:
            return entry_newleader(s.to_follower[f][1], i)
        return s.history[f][i]
    for k in range(s.DOWN):
        if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == PROPOSE:
            if at == i:
                return txn_proposed(s.to_follower[f][k])
            at = at + 1
    return no_txn()


def holds_txn(s: State, x: int, v: int) -> bool:
    """Whether source x has the transaction with identity v."""
    for i in range(s.TXNS):
        if source_entry(s, x, i).value == v:
            return True
    return False
