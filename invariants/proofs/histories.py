"""State how histories relate: the same transactions are at the same places, after the same ones."""

from __future__ import annotations

from invariants.analysis import zxid_before
from invariants.core import was_abcast
from invariants.proofs.channels import first_down, newleader_at
from invariants.proofs.clause import clause
from invariants.proofs.connections import member
from invariants.proofs.sources import (
    SOURCES,
    channel_base,
    channel_length,
    has_channel_history,
    is_source,
    length,
    source_entry,
    tag,
)
from zabspec.language.python.lang import Node, State
from zabspec.worlds.connections import OPEN
from zabspec.zab import SYNCHRONIZING


def sources_fit(s: State) -> bool:
    """A source has no more than was ever abcast."""
    return all(
        not (is_source(w, p, q) and length(s, w, p, q) > s.TXNS)
        for w in range(SOURCES)
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


def sources_of_no_epoch(s: State) -> bool:
    """A source of no epoch is empty."""
    return all(
        not (is_source(w, p, q) and tag(s, w, p, q) == 0 and length(s, w, p, q) > 0)
        for w in range(SOURCES)
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


def sources_abcast(s: State) -> bool:
    """Every transaction of a source was abcast, under the zxid that it has there."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                for i in range(s.TXNS):
                    if is_source(w, p, q) and i < length(s, w, p, q):
                        if not was_abcast(s, source_entry(s, w, p, q, i)):
                            return False
    return True


def sources_up_to_their_epoch(s: State) -> bool:
    """No transaction of a source is of a later epoch than the source."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                for i in range(s.TXNS):
                    if is_source(w, p, q) and i < length(s, w, p, q):
                        if source_entry(s, w, p, q, i).epoch > tag(s, w, p, q):
                            return False
    return True


def sources_in_order(s: State) -> bool:
    """Zxids increase along a source."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                for i in range(s.TXNS):
                    if is_source(w, p, q) and i > 0 and i < length(s, w, p, q):
                        if not zxid_before(source_entry(s, w, p, q, i - 1), source_entry(s, w, p, q, i)):
                            return False
    return True


# --- what was abcast ---------------------------------------------------------------------------


def abcasts_known(s: State) -> bool:
    """What was abcast is kept under its identity."""
    return all(not (k < s.abcasts and s.abcast_txn[k].value != k + 1) for k in range(s.TXNS))


def abcasts_numbered(s: State) -> bool:
    """What was abcast has a counter."""
    return all(not (k < s.abcasts and s.abcast_txn[k].counter == 0) for k in range(s.TXNS))


def abcasts_of_an_epoch(s: State) -> bool:
    """What was abcast has an epoch."""
    return all(not (k < s.abcasts and s.abcast_txn[k].epoch == 0) for k in range(s.TXNS))


def abcasts_established(s: State) -> bool:
    """What was abcast is of an epoch in which a leader was established."""
    return all(not (k < s.abcasts and s.established[s.abcast_txn[k].epoch] == 0) for k in range(s.TXNS))


def unknown_is_nothing(s: State) -> bool:
    """Nothing is kept under the identity of what was not abcast."""
    return all(not (k >= s.abcasts and s.abcast_txn[k].value != 0) for k in range(s.TXNS))


def unknown_is_unchosen(s: State) -> bool:
    """What was not abcast is not chosen."""
    return all(not (k >= s.abcasts and s.chosen_epoch[k] != 0) for k in range(s.TXNS))


def unknown_is_not_missed(s: State) -> bool:
    """No initial history is known to lack what was not abcast."""
    return all(not (k >= s.abcasts and s.missing_epoch[k] != 0) for k in range(s.TXNS))


def unknown_is_unaccepted(s: State) -> bool:
    """What was not abcast is accepted by nobody."""
    return all(not (k >= s.abcasts and len(s.accepted[e][k]) > 0) for k in range(s.TXNS) for e in range(s.EPOCHS + 1))


# --- histories that agree ----------------------------------------------------------------------


def log_matching(s: State) -> bool:
    """Two sources that share a transaction are the same up to it."""
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
    """What a process has delivered and a source that shares a transaction with it are the same up to that."""
    return all(
        not (is_source(w, p, q) and not delivery_matching(s, f, w, p, q))
        for f in range(s.NODES)
        for w in range(SOURCES)
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


def delivery_matching(s: State, f: Node, w: int, p: Node, q: Node) -> bool:
    """No transaction stands at different places of what f has delivered and of a source, or behind different ones."""
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
    """Of two sources of one epoch, one goes on from the other."""
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
    return True


def within_the_log(s: State) -> bool:
    """No source is longer than the log of whoever leads its epoch."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                for l in range(s.NODES):
                    if is_source(w, p, q) and s.stage[l] >= SYNCHRONIZING and tag(s, w, p, q) == s.new_epoch[l]:
                        if length(s, w, p, q) > len(s.log[l]):
                            return False
    return True


# --- histories in flight -----------------------------------------------------------------------


def history_in_flight(s: State) -> bool:
    """While their connection is open, what a leader with an initial history has sent a follower whose CEPOCH it has
    taken makes a history of one epoch, or goes on from one."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] >= SYNCHRONIZING and member(s, l, f) and s.link[f][l] == OPEN:
                if not has_channel_history(s, f):
                    return False
    return True


def log_in_flight(s: State) -> bool:
    """While their connection is open, what a leader with an initial history has sent a follower whose CEPOCH it has
    taken makes a history as long as the leader's log."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] >= SYNCHRONIZING and member(s, l, f) and s.link[f][l] == OPEN:
                if channel_length(s, f) != len(s.log[l]):
                    return False
    return True


def newleader_is_whole(s: State) -> bool:
    """A NEWLEADER of the epoch that its follower is in already is no shorter than the follower's history."""
    for f in range(s.NODES):
        if newleader_at(s, f) >= 0 and first_down(s, f) == s.current_epoch[f]:
            if len(s.history[f]) > channel_base(s, f):
                return False
    return True


CLAUSES = (
    clause(sources_fit, "III"),
    clause(sources_of_no_epoch, "III"),
    clause(sources_abcast, "III"),
    clause(sources_up_to_their_epoch, "III"),
    clause(sources_in_order, "III"),
    clause(abcasts_known, "III"),
    clause(abcasts_numbered, "III"),
    clause(abcasts_of_an_epoch, "III"),
    clause(abcasts_established, "V.1"),
    clause(unknown_is_nothing, "III"),
    clause(unknown_is_unchosen, "III"),
    clause(unknown_is_not_missed, "III"),
    clause(unknown_is_unaccepted, "III"),
    clause(log_matching, "VI"),
    clause(delivered_matching, "VI"),
    clause(one_history_an_epoch, "VI"),
    clause(within_the_log, "VI"),
    clause(history_in_flight, "II, l.2.1, l.3.3"),
    clause(log_in_flight, "II, l.2.1, l.3.1, l.3.3"),
    clause(newleader_is_whole, "l.3.3"),
)
