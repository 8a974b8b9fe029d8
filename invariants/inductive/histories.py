"""How histories relate: the same transactions stand in the same places behind the same ones."""

from __future__ import annotations

from invariants.analysis import zxid_before
from invariants.core import was_abcast
from invariants.inductive.channels import first_down, newleader_at
from invariants.inductive.clause import clause
from invariants.inductive.connections import member
from invariants.inductive.sources import (
    SOURCES,
    channel_base,
    channel_length,
    has_channel_history,
    is_source,
    length,
    source_entry,
    tag,
)
from zabspec.language.lang import Node, State
from zabspec.worlds.connections import OPEN
from zabspec.zab import LEADING, SYNCHRONIZING


def sources_known(s: State) -> bool:
    """Every transaction of a source was abcast, under the zxid it has there, in an epoch up to the
    source's; zxids increase along it. A source of no epoch is empty."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                if is_source(w, p, q):
                    n = length(s, w, p, q)
                    e = tag(s, w, p, q)
                    if n > s.TXNS or (e == 0 and n > 0):
                        return False
                    for i in range(s.TXNS):
                        if i < n:
                            t = source_entry(s, w, p, q, i)
                            if not was_abcast(s, t) or t.epoch > e:
                                return False
                            if i > 0 and not zxid_before(source_entry(s, w, p, q, i - 1), t):
                                return False
    return True


def abcasts_known(s: State) -> bool:
    """What was abcast is kept under its identity, with an epoch; nothing is kept of what was not."""
    for k in range(s.TXNS):
        t = s.abcast_txn[k]
        if k < s.abcasts and (t.value != k + 1 or t.epoch == 0 or t.counter == 0):
            return False
        if k < s.abcasts and s.established[t.epoch] == 0:
            return False
        if k >= s.abcasts:
            if t.value != 0 or s.chosen_epoch[k] != 0 or s.missing_epoch[k] != 0:
                return False
            for e in range(s.EPOCHS + 1):
                if len(s.accepted[e][k]) > 0:
                    return False
    return True


def log_matching(s: State) -> bool:
    """A transaction stands at the same place of every source that has it, behind the same ones; and so
    it does in what a process has delivered."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                for v in range(w + 1):
                    for a in range(s.NODES):
                        for b in range(s.NODES):
                            if is_source(w, p, q) and is_source(v, a, b) and (v != w or a != p or b != q):
                                if not matching(s, w, p, q, v, a, b):
                                    return False
    return True


def matching(s: State, w: int, p: Node, q: Node, v: int, a: Node, b: Node) -> bool:
    """No transaction stands at different places of two sources, or behind different ones."""
    same = True
    for i in range(s.TXNS):
        t = source_entry(s, w, p, q, i)
        if t != source_entry(s, v, a, b, i):
            same = False
        for j in range(s.TXNS):
            if t.value != 0 and t.value == source_entry(s, v, a, b, j).value:
                if i != j or not same:
                    return False
    return True


def delivered_matching(s: State) -> bool:
    """What a process has delivered matches every source, and what every other has delivered."""
    for f in range(s.NODES):
        for w in range(SOURCES):
            for p in range(s.NODES):
                for q in range(s.NODES):
                    if is_source(w, p, q):
                        same = True
                        for i in range(s.TXNS):
                            t = s.delivered[f][i]
                            if source_entry(s, w, p, q, i) != t:
                                same = False
                            for j in range(s.TXNS):
                                if t.value != 0 and t.value == source_entry(s, w, p, q, j).value:
                                    if i != j or not same:
                                        return False
    return True


def one_history_an_epoch(s: State) -> bool:
    """Of two sources of one epoch, one goes on from the other; none is longer than its leader's log."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                if is_source(w, p, q):
                    e = tag(s, w, p, q)
                    for v in range(w + 1):
                        for a in range(s.NODES):
                            for b in range(s.NODES):
                                if is_source(v, a, b) and tag(s, v, a, b) == e and e > 0:
                                    for i in range(s.TXNS):
                                        if i < length(s, w, p, q) and i < length(s, v, a, b):
                                            if source_entry(s, w, p, q, i) != source_entry(s, v, a, b, i):
                                                return False
                    for l in range(s.NODES):
                        if s.stage[l] >= SYNCHRONIZING and e == s.new_epoch[l] and length(s, w, p, q) > len(s.log[l]):
                            return False
    return True


def log_in_flight(s: State) -> bool:
    """What a leader has sent a follower makes its whole log of the follower's history, as long as their
    connection is open; and what a follower has of that epoch already, NEWLEADER has too."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.role[l] == LEADING and s.stage[l] >= SYNCHRONIZING and member(s, l, f) and s.link[f][l] == OPEN:
                if not has_channel_history(s, f) or channel_length(s, f) != len(s.log[l]):
                    return False
    for f in range(s.NODES):
        if newleader_at(s, f) >= 0 and first_down(s, f) == s.current_epoch[f]:
            if len(s.history[f]) > channel_base(s, f):
                return False
    return True


CLAUSES = (
    clause(sources_known, "III"),
    clause(abcasts_known, "III"),
    clause(log_matching, "VI"),
    clause(delivered_matching, "VI"),
    clause(one_history_an_epoch, "VI"),
    clause(log_in_flight, "II, l.2.1, l.3.1, l.3.3"),
)
