"""Acknowledgements, commits and deliveries: only what is chosen is delivered."""

from __future__ import annotations

from invariants.analysis import zxid_before
from invariants.core import was_abcast
from invariants.inductive.channels import first_down
from invariants.inductive.clause import clause
from invariants.inductive.messages import txn_acked, txn_committed, txn_committed_ld
from invariants.inductive.sources import channel_entry, channel_length, has_channel_history
from zabspec.language.lang import Node, State, Txn
from zabspec.zab import ACK, BROADCAST, COMMIT, COMMIT_LD, ESTABLISHED, LEADING, SYNCHRONIZING


def accepted_in(s: State, m: Node, e: int, t: Txn) -> bool:
    """m has accepted t in epoch e, or t is chosen in e or earlier."""
    if t.value == 0:
        return False
    c = s.chosen_epoch[t.value - 1]
    return (c > 0 and c <= e) or m in s.accepted[e][t.value - 1]


def accepted_all(s: State, m: Node, l: Node, n: int) -> bool:
    """m has accepted the first n of l's log in l's epoch."""
    for i in range(s.TXNS):
        if i < n and i < len(s.log[l]) and not accepted_in(s, m, s.new_epoch[l], s.log[l][i]):
            return False
    return True


def accepted_up_to(s: State, m: Node, l: Node, t: Txn) -> bool:
    """t is in l's log, and m has accepted it and all before it in l's epoch."""
    for k in range(s.TXNS):
        if k < len(s.log[l]) and s.log[l][k] == t and accepted_all(s, m, l, k + 1):
            return True
    return False


def acknowledgements(s: State) -> bool:
    """An acknowledgement, counted or in flight, stands for an acceptance of all it covers; what a
    leader has committed is chosen."""
    for l in range(s.NODES):
        if s.role[l] == LEADING:
            for m in range(s.NODES):
                if s.stage[l] == SYNCHRONIZING and m in s.Q[l]:
                    if (m in s.acked[l] or len(s.to_leader[m][l]) > 0) and not accepted_all(s, m, l, s.TXNS):
                        return False
                if s.stage[l] == ESTABLISHED:
                    for k in range(s.TXNS):
                        if m in s.acks[l][k] and not accepted_all(s, m, l, k + 1):
                            return False
                    for j in range(s.UP):
                        if j < len(s.to_leader[m][l]) and s.to_leader[m][l][j].kind == ACK:
                            if not accepted_up_to(s, m, l, txn_acked(s.to_leader[m][l][j])):
                                return False
            if s.stage[l] == ESTABLISHED:
                for k in range(s.TXNS):
                    if k < s.committed[l]:
                        c = s.chosen_epoch[max(0, s.log[l][k].value - 1)]
                        if c == 0 or c > s.new_epoch[l]:
                            return False
    return True


def has_accepted(s: State) -> bool:
    """f.2.1, f.3.2: what a follower has of the epoch it is in, it has accepted in it."""
    for f in range(s.NODES):
        for i in range(s.TXNS):
            if i < len(s.history[f]) and not accepted_in(s, f, s.current_epoch[f], s.history[f][i]):
                return False
    return True


def commit_covers(s: State, f: Node, t: Txn) -> bool:
    """All that a commit of t would make f deliver is chosen, in its epoch or before; and t is among it, or is none."""
    found = t.epoch == 0 and t.counter == 0
    for i in range(s.TXNS):
        if i < channel_length(s, f):
            u = channel_entry(s, f, i)
            if u == t:
                found = True
            c = s.chosen_epoch[max(0, u.value - 1)]
            if not zxid_before(t, u) and (c == 0 or c > first_down(s, f)):
                return False
    return found


def commits(s: State) -> bool:
    """A commit in flight covers only what is chosen."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]):
                if s.to_follower[f][k].kind == COMMIT:
                    if not has_channel_history(s, f) or not commit_covers(s, f, txn_committed(s.to_follower[f][k])):
                        return False
                if s.to_follower[f][k].kind == COMMIT_LD:
                    if not has_channel_history(s, f) or not commit_covers(s, f, txn_committed_ld(s.to_follower[f][k])):
                        return False
    return True


def deliveries(s: State) -> bool:
    """A process has delivered, in this pass, the beginning of its history; what it has ever delivered was
    abcast, and is chosen in its epoch or before."""
    for p in range(s.NODES):
        if s.diverged[p] or s.pass_length[p] != s.delivered_length[p]:
            return False
        if s.delivered_length[p] > len(s.history[p]) or s.delivered_length[p] > len(s.delivered[p]):
            return False
        if s.phase[p] != BROADCAST and s.delivered_length[p] > 0:
            return False
        for i in range(s.TXNS):
            if i < len(s.delivered[p]):
                t = s.delivered[p][i]
                c = s.chosen_epoch[max(0, t.value - 1)]
                if not was_abcast(s, t) or c == 0 or c > s.current_epoch[p]:
                    return False
            if i < s.delivered_length[p] and s.delivered[p][i] != s.history[p][i]:
                return False
    return True


CLAUSES = (
    clause(has_accepted, "f.2.1, f.3.2"),
    clause(acknowledgements, "l.2.2, l.3.2"),
    clause(commits, "l.2.2, l.3.2, l.3.4"),
    clause(deliveries, "f.2.2, f.3.3"),
)
