"""Rules of zab under which a process accepts what it has long had, last of all when it recovers: tests of
test_deliveries.py."""

from __future__ import annotations

from zabspec.history import abdeliver, accept
from zabspec.language.python.lang import Node, State, Txn
from zabspec.worlds.actor import send_to_leader
from zabspec.zab import (
    ACK,
    BROADCAST,
    COMMIT,
    ELECTION,
    ESTABLISHED,
    PROMISING,
    PROPOSE,
    count_acknowledgement,
    deliver_up_to,
    quorum,
    takes_proposals,
    to_commit,
    to_election,
    zxid_le,
)


def append(s: State, f: Node, m: PROPOSE) -> None:
    """f.3.2 that does not accept yet."""
    if takes_proposals(s, f):
        s.history[f].append(m.txn)
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=m.txn))


def accept_when_told(s: State, f: Node, m: COMMIT) -> None:
    """f.3.3 that accepts, and acknowledges once more."""
    if s.phase[f] == BROADCAST and s.leader[f] != f:
        for k in range(len(s.history[f])):
            accept(s, f, m.epoch, s.history[f][k])
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=m.txn))


def count_twice(s: State, l: Node, f: Node, m: ACK) -> None:
    """l.3.2, and with the second acknowledgement the leader accepts and delivers."""
    for k in range(len(s.log[l])):
        if s.log[l][k] == m.txn:
            if to_commit(s, l, k):
                count_acknowledgement(s, l, f, k)
            elif f != l:
                deliver_up_to(s, l, m.txn)


def accept_and_deliver(s: State, f: Node, t: Txn) -> None:
    """What is delivered is accepted in the same step, if it was not before."""
    for k in range(len(s.history[f])):
        if k == s.delivered_length[f] and zxid_le(s.history[f][k], t):
            accept(s, f, s.current_epoch[f], s.history[f][k])
            abdeliver(s, f, s.history[f][k])
            s.delivered_length[f] = k + 1


def deliver_without(s: State, l: Node, f: Node) -> None:
    """A leader that loses a follower waits for its second acknowledgement no longer."""
    s.Q[l].discard(f)
    s.joining[l].discard(f)
    if s.stage[l] == ESTABLISHED and s.committed[l] > 0:
        deliver_up_to(s, l, s.log[l][s.committed[l] - 1])
    if s.stage[l] >= PROMISING and not quorum(s, s.Q[l]):
        to_election(s, l)


def accept_again(s: State, p: Node) -> None:
    """A process that recovers accepts what it has."""
    s.role[p] = ELECTION
    for k in range(len(s.history[p])):
        accept(s, p, s.current_epoch[p], s.history[p][k])


RULES = {
    "f_3_2": append,
    "f_3_3": accept_when_told,
    "l_3_2": count_twice,
    "deliver_up_to": accept_and_deliver,
    "on_follower_lost": deliver_without,
    "on_recovery": accept_again,
}
