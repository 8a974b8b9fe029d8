"""Promises: no epoch has two leaders."""

from __future__ import annotations

from invariants.inductive.clause import clause
from invariants.inductive.connections import member
from invariants.inductive.messages import of_ack_e
from invariants.inductive.sources import SOURCES, is_source, tag
from zabspec.language.lang import Node, State
from zabspec.zab import ACK, ACK_E, ACK_LD, BROADCAST, ESTABLISHED, LEADING, PROMISING, SYNCHRONIZING


def epochs_in_order(s: State) -> bool:
    """V: f.a is at most f.p; a leader has promised nothing beyond the epoch it proposes while its own
    connection lives."""
    for f in range(s.NODES):
        if s.current_epoch[f] > s.promised_epoch[f]:
            return False
        if s.phase[f] == BROADCAST and s.current_epoch[f] != s.promised_epoch[f]:
            return False
    return True


def gathered(s: State) -> bool:
    """l.1.1: what a leader proposes is later than every promise it was told of; whoever acknowledged
    has promised it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.role[l] == LEADING and f in s.Q[l]:
                if f in s.acked[l] and s.promised_epoch[f] < s.new_epoch[l]:
                    return False
                if s.stage[l] >= SYNCHRONIZING and s.promised_epoch[f] < s.new_epoch[l]:
                    return False
                if s.stage[l] >= PROMISING and len(s.to_leader[f][l]) > 0 and s.promised_epoch[f] < s.new_epoch[l]:
                    return False
                if s.stage[l] == SYNCHRONIZING and f in s.acked[l] and s.current_epoch[f] < s.new_epoch[l]:
                    return False
                if s.stage[l] == PROMISING and len(s.to_leader[f][l]) > 0:
                    if of_ack_e(s.to_leader[f][l][0]) >= s.new_epoch[l]:
                        return False
            if s.role[l] == LEADING and s.stage[l] == PROMISING and s.best_epoch[l] >= s.new_epoch[l]:
                return False
            if s.role[l] == LEADING and member(s, l, f):
                for k in range(s.UP):
                    if k < len(s.to_leader[f][l]):
                        kind = s.to_leader[f][l][k].kind
                        if kind == ACK_E and s.promised_epoch[f] < s.new_epoch[l]:
                            return False
                        if (kind == ACK_LD or kind == ACK) and s.current_epoch[f] < s.new_epoch[l]:
                            return False
    return True


def promised_to(s: State, m: Node, l: Node) -> bool:
    """m has promised its epoch to l, which is still choosing an initial history."""
    return s.stage[l] == PROMISING and m in s.Q[l] and (m in s.acked[l] or len(s.to_leader[m][l]) > 0)


def promise_once(s: State) -> bool:
    """No process has promised one epoch to two prospective leaders."""
    for m in range(s.NODES):
        for l in range(s.NODES):
            for k in range(s.NODES):
                if k != l and promised_to(s, m, l) and promised_to(s, m, k) and s.new_epoch[l] == s.new_epoch[k]:
                    return False
    return True


def settled(s: State, e: int) -> bool:
    """A quorum has promised e, or later, and not to a prospective leader of e: none will get it."""
    count = 0
    for m in range(s.NODES):
        free = s.promised_epoch[m] >= e
        for l in range(s.NODES):
            if promised_to(s, m, l) and s.new_epoch[l] == e:
                free = False
        if free:
            count = count + 1
    return count >= s.MAJORITY


def epoch_settled(s: State) -> bool:
    """Once a history belongs to an epoch, or a leader is established in it, the epoch is settled."""
    for e in range(s.EPOCHS + 1):
        if e > 0:
            seen = s.established[e] > 0
            for w in range(SOURCES):
                for p in range(s.NODES):
                    for q in range(s.NODES):
                        if is_source(w, p, q) and tag(s, w, p, q) == e:
                            seen = True
            if seen and not settled(s, e):
                return False
    return True


def one_synchronizer(s: State) -> bool:
    """No two processes have chosen an initial history for one epoch and still lead."""
    for l in range(s.NODES):
        for k in range(s.NODES):
            if k != l and s.stage[l] >= SYNCHRONIZING and s.stage[k] >= SYNCHRONIZING:
                if s.new_epoch[l] == s.new_epoch[k]:
                    return False
    return True


def established_known(s: State) -> bool:
    """A leader in Phase 3 is established, one in Phase 2 is not; no epoch has two."""
    for e in range(s.EPOCHS + 1):
        if s.established[e] > 1:
            return False
    for l in range(s.NODES):
        if s.stage[l] == ESTABLISHED and s.established[s.new_epoch[l]] == 0:
            return False
        if s.stage[l] == SYNCHRONIZING and s.established[s.new_epoch[l]] > 0:
            return False
    return True


CLAUSES = (
    clause(epochs_in_order, "f.1.2, f.2.1"),
    clause(gathered, "l.1.1, l.1.2"),
    clause(promise_once, "f.1.2"),
    clause(epoch_settled, "V.C"),
    clause(one_synchronizer, "V.C"),
    clause(established_known, "V.1"),
)
