"""State facts about primaries: one instance an epoch, the order of its transactions, and its earlier deliveries.

What it has delivered before it abcasts matters.
"""

from __future__ import annotations

from invariants.analysis import zxid_before
from invariants.proofs.clause import clause
from invariants.proofs.messages import of_commit_ld, txn_committed_ld
from invariants.proofs.sources import ACK_E_OF, LOG_OF, SOURCES, channel_entry, holds_txn, is_source, tag
from zabspec.language.python.lang import Node, State, Txn
from zabspec.zab import BROADCAST, COMMIT_LD, ESTABLISHED, PROMISING, SYNCHRONIZING


def one_instance(s: State) -> bool:
    """No epoch has a second primary instance."""
    return all(s.abcast_attempt[k] <= 0 for k in range(s.TXNS))


def abcast_by_its_leader(s: State) -> bool:
    """Who abcast in the epoch of an established leader is that leader."""
    for k in range(s.TXNS):
        for l in range(s.NODES):
            if k < s.abcasts and s.stage[l] == ESTABLISHED and s.abcast_txn[k].epoch == s.new_epoch[l]:
                if s.abcast_by[k] != l:
                    return False
    return True


def abcast_in_its_leadership(s: State) -> bool:
    """An established leader in whose epoch something was abcast has abcast in the leadership under way."""
    for k in range(s.TXNS):
        for l in range(s.NODES):
            if k < s.abcasts and s.stage[l] == ESTABLISHED and s.abcast_txn[k].epoch == s.new_epoch[l]:
                if not s.abcast_in_pass[l]:
                    return False
    return True


def abcast_in_its_past(s: State) -> bool:
    """Nobody has abcast in a later epoch than the one it is in."""
    return all(
        not (k < s.abcasts and s.abcast_by[k] == l and s.abcast_txn[k].epoch > s.current_epoch[l])
        for k in range(s.TXNS)
        for l in range(s.NODES)
    )


def abcasts_in_order(s: State) -> bool:
    """The counters of an epoch's abcasts increase."""
    for k in range(s.TXNS):
        for j in range(k):
            if k < s.abcasts and s.abcast_txn[j].epoch == s.abcast_txn[k].epoch:
                if s.abcast_txn[j].counter >= s.abcast_txn[k].counter:
                    return False
    return True


def abcasts_of_one_process(s: State) -> bool:
    """The abcasts of one epoch are of one process."""
    return all(
        not (k < s.abcasts and s.abcast_txn[j].epoch == s.abcast_txn[k].epoch and s.abcast_by[j] != s.abcast_by[k])
        for k in range(s.TXNS)
        for j in range(k)
    )


def primary_epochs_in_order(s: State) -> bool:
    """The epochs of one process's abcasts do not decrease."""
    return all(
        not (k < s.abcasts and s.abcast_by[j] == s.abcast_by[k] and s.abcast_txn[j].epoch > s.abcast_txn[k].epoch)
        for k in range(s.TXNS)
        for j in range(k)
    )


def leads_with_its_abcasts(s: State) -> bool:
    """Whoever leads an epoch has all its abcasts in its log."""
    for k in range(s.TXNS):
        for l in range(s.NODES):
            if k < s.abcasts and s.stage[l] == ESTABLISHED and s.abcast_txn[k].epoch == s.new_epoch[l]:
                if not holds_txn(s, LOG_OF, l, l, k + 1):
                    return False
    return True


def unknown_is_after_nothing(s: State) -> bool:
    """Nothing was delivered before the abcast of what was not abcast."""
    return all(not (k >= s.abcasts and len(s.abcast_after[k]) > 0) for k in range(s.TXNS))


def abcast_after_earlier(s: State) -> bool:
    """What a primary had delivered before it abcast was abcast before."""
    return all(not (j >= k and j in s.abcast_after[k]) for k in range(s.TXNS) for j in range(s.TXNS))


def closed_by_primary(s: State) -> bool:
    """A source that has a transaction has all that its primary abcast before it."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                if is_source(w, p, q):
                    for k in range(s.TXNS):
                        for j in range(k):
                            if k < s.abcasts and s.abcast_txn[j].epoch == s.abcast_txn[k].epoch:
                                if holds_txn(s, w, p, q, k + 1) and not holds_txn(s, w, p, q, j + 1):
                                    return False
    return True


def closed_by_delivery(s: State) -> bool:
    """A source that has a transaction has all that its primary had delivered before."""
    return all(
        not (is_source(w, p, q) and holds_txn(s, w, p, q, k + 1) and not holds_txn(s, w, p, q, j + 1))
        for k in range(s.TXNS)
        for j in range(k)
        if j in s.abcast_after[k]
        for w in range(SOURCES)
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


def established_quorum(s: State) -> bool:
    """Where a leader was established, a quorum is in its epoch or a later one."""
    for e in range(s.EPOCHS + 1):
        if s.established[e] > 0:
            count = 0
            for m in range(s.NODES):
                if s.current_epoch[m] >= e:
                    count = count + 1
            if count < s.MAJORITY:
                return False
    return True


def best_is_late(s: State) -> bool:
    """Where a leader was established, a quorum is in its epoch or a later one, even if what each has sent a
    prospective leader counts for what it has."""
    for l in range(s.NODES):
        if s.stage[l] == PROMISING:
            for e in range(s.EPOCHS + 1):
                if s.established[e] > 0 and e < s.new_epoch[l]:
                    count = 0
                    for m in range(s.NODES):
                        if m in s.acked[l]:
                            if s.best_epoch[l] >= e:
                                count = count + 1
                        elif m in s.Q[l] and len(s.to_leader[m][l]) > 0:
                            if tag(s, ACK_E_OF, m, l) >= e:
                                count = count + 1
                        elif s.current_epoch[m] >= e:
                            count = count + 1
                    if count < s.MAJORITY:
                        return False
    return True


def accepted_from(s: State, m: Node, d: Node) -> bool:
    """m has acknowledged NEWLEADER of d, which may yet be established."""
    return s.stage[d] == SYNCHRONIZING and (m in s.acked[d] or (m in s.Q[d] and len(s.to_leader[m][d]) > 0))


def best_is_later(s: State) -> bool:
    """A leader's best epoch is no less than that of an earlier leader which may yet be established, and which one
    that it has heard of had acknowledged."""
    for l in range(s.NODES):
        for d in range(s.NODES):
            for m in range(s.NODES):
                if s.stage[l] == PROMISING and s.new_epoch[d] < s.new_epoch[l] and accepted_from(s, m, d):
                    if m in s.acked[l] and s.best_epoch[l] < s.new_epoch[d]:
                        return False
    return True


def ack_e_is_later(s: State) -> bool:
    """The epoch of an ACK-E in flight is no less than that of an earlier leader which may yet be established, and
    which its sender had acknowledged."""
    for l in range(s.NODES):
        for d in range(s.NODES):
            for m in range(s.NODES):
                if s.stage[l] == PROMISING and s.new_epoch[d] < s.new_epoch[l] and accepted_from(s, m, d):
                    if m in s.Q[l] and len(s.to_leader[m][l]) > 0 and tag(s, ACK_E_OF, m, l) < s.new_epoch[d]:
                        return False
    return True


def missing_stays(s: State) -> bool:
    """What an established epoch's initial history lacks, and was not abcast in it or later, no
    source of that epoch or a later one has."""
    for k in range(s.TXNS):
        if k < s.abcasts and s.missing_epoch[k] > s.abcast_txn[k].epoch:
            for w in range(SOURCES):
                for p in range(s.NODES):
                    for q in range(s.NODES):
                        if is_source(w, p, q) and tag(s, w, p, q) >= s.missing_epoch[k]:
                            if holds_txn(s, w, p, q, k + 1):
                                return False
    return True


def inherited(s: State, k: int, e: int) -> bool:
    """Transaction k is of an epoch before e, and no established epoch from e on lacks it."""
    return k < s.abcasts and s.abcast_txn[k].epoch < e and s.missing_epoch[k] < e


def committed_inherited(s: State) -> bool:
    """Whoever leads an epoch has committed what it inherits."""
    for l in range(s.NODES):
        if s.stage[l] == ESTABLISHED:
            for k in range(s.TXNS):
                if inherited(s, k, s.new_epoch[l]):
                    found = False
                    for i in range(s.TXNS):
                        if i < s.committed[l] and s.log[l][i].value == k + 1:
                            found = True
                    if not found:
                        return False
    return True


def covers_inherited(s: State, f: Node, e: int, t: Txn) -> bool:
    """Up to t, what is in flight to f has all that epoch e inherits."""
    for k in range(s.TXNS):
        if inherited(s, k, e):
            found = False
            for i in range(s.TXNS):
                if channel_entry(s, f, i).value == k + 1 and not zxid_before(t, channel_entry(s, f, i)):
                    found = True
            if not found:
                return False
    return True


def commit_ld_of_established(s: State) -> bool:
    """A commit of NEWLEADER in flight is of an epoch in which a leader was established."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD:
                if s.established[of_commit_ld(s.to_follower[f][k])] == 0:
                    return False
    return True


def commits_inherited(s: State) -> bool:
    """The commit of NEWLEADER makes its follower deliver all that its epoch inherits."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == COMMIT_LD:
                e = of_commit_ld(s.to_follower[f][k])
                if not covers_inherited(s, f, e, txn_committed_ld(s.to_follower[f][k])):
                    return False
    return True


def ready_in_broadcast(s: State) -> bool:
    """A primary that is ready is in Phase 3."""
    return all(not (s.ready[l] and s.phase[l] != BROADCAST) for l in range(s.NODES))


def primary_ready(s: State) -> bool:
    """A primary that is ready has delivered all that its epoch inherits."""
    return all(
        not (s.ready[l] and inherited(s, k, s.new_epoch[l]) and not has_delivered_value(s, l, k + 1))
        for l in range(s.NODES)
        for k in range(s.TXNS)
    )


def has_delivered_value(s: State, p: Node, v: int) -> bool:
    """p has delivered the transaction with identity v."""
    return any(s.delivered[p][i].value == v for i in range(s.TXNS))


def abcast_after_inherited(s: State) -> bool:
    """A primary had delivered, when it abcast, all that its epoch inherits."""
    return all(
        not (k < s.abcasts and inherited(s, j, s.abcast_txn[k].epoch) and j not in s.abcast_after[k])
        for k in range(s.TXNS)
        for j in range(s.TXNS)
    )


CLAUSES = (
    clause(one_instance, "III"),
    clause(abcast_by_its_leader, "III"),
    clause(abcast_in_its_leadership, "III"),
    clause(abcast_in_its_past, "III"),
    clause(abcasts_in_order, "III, l.3.1"),
    clause(abcasts_of_one_process, "III"),
    clause(primary_epochs_in_order, "III"),
    clause(leads_with_its_abcasts, "l.3.1"),
    clause(unknown_is_after_nothing, "III"),
    clause(abcast_after_earlier, "III"),
    clause(closed_by_primary, "III.A, VI"),
    clause(closed_by_delivery, "III.B"),
    clause(established_quorum, "V.1"),
    clause(best_is_late, "l.1.2"),
    clause(best_is_later, "l.1.2"),
    clause(ack_e_is_later, "l.1.2"),
    clause(missing_stays, "VI"),
    clause(committed_inherited, "l.2.2"),
    clause(commit_ld_of_established, "l.2.2, l.3.4"),
    clause(commits_inherited, "l.2.2, l.3.4"),
    clause(ready_in_broadcast, "f.3.1"),
    clause(primary_ready, "f.3.1"),
    clause(abcast_after_inherited, "III.A"),
)
