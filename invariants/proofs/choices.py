"""State what is chosen, what still may be, and who has it."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.sources import ACK_E_OF, HISTORY_OF, LOG_OF, SOURCES, holds_txn, is_source, tag
from zabspec.language.python.lang import Node, State
from zabspec.zab import PROMISING


def choosable(s: State, c: int, k: int) -> bool:
    """VI.1: a quorum has accepted transaction k in an epoch up to c, or may yet accept it in c."""
    if k >= s.abcasts or c < s.abcast_txn[k].epoch:
        return False
    if s.chosen_epoch[k] > 0 and s.chosen_epoch[k] <= c:
        return True
    return sum(1 for m in range(s.NODES) if m in s.accepted[c][k] or s.promised_epoch[m] <= c) >= s.MAJORITY


def stored(s: State, m: Node, c: int, k: int) -> bool:
    """m has transaction k in epoch c, or is in a later one."""
    return s.current_epoch[m] > c or (s.current_epoch[m] == c and holds_txn(s, HISTORY_OF, m, m, k + 1))


def acceptances(s: State) -> bool:
    """A quorum of acceptances is a choice."""
    return all(len(s.accepted[c][k]) < s.MAJORITY for k in range(s.TXNS) for c in range(s.EPOCHS + 1))


def accepted_until_chosen(s: State) -> bool:
    """From when a transaction is chosen, acceptances in that epoch and later ones are not noted."""
    return all(
        not (len(s.accepted[c][k]) > 0 and s.chosen_epoch[k] > 0 and s.chosen_epoch[k] <= c)
        for k in range(s.TXNS)
        for c in range(s.EPOCHS + 1)
    )


def accepted_from_its_epoch(s: State) -> bool:
    """No transaction is accepted in an epoch before its own."""
    return all(
        not (len(s.accepted[c][k]) > 0 and c < s.abcast_txn[k].epoch)
        for k in range(s.TXNS)
        for c in range(s.EPOCHS + 1)
    )


def accepted_is_stored(s: State) -> bool:
    """Who has accepted a transaction in an epoch has it, or is in a later epoch."""
    return all(
        not (m in s.accepted[c][k] and not stored(s, m, c, k))
        for k in range(s.TXNS)
        for c in range(s.EPOCHS + 1)
        for m in range(s.NODES)
    )


def chosen_from_its_epoch(s: State) -> bool:
    """No transaction is chosen in an epoch before its own."""
    return all(not (s.chosen_epoch[k] > 0 and s.chosen_epoch[k] < s.abcast_txn[k].epoch) for k in range(s.TXNS))


def chosen_is_stored(s: State) -> bool:
    """What is chosen is had by a quorum, counting whoever is in a later epoch."""
    for k in range(s.TXNS):
        if s.chosen_epoch[k] > 0:
            count = 0
            for m in range(s.NODES):
                if stored(s, m, s.chosen_epoch[k], k):
                    count = count + 1
            if count < s.MAJORITY:
                return False
    return True


def later_sources(s: State) -> bool:
    """A source of an epoch has every transaction that is chosen, or may yet be, in an earlier one."""
    for w in range(SOURCES):
        for p in range(s.NODES):
            for q in range(s.NODES):
                if is_source(w, p, q):
                    for k in range(s.TXNS):
                        for c in range(s.EPOCHS):
                            if c > 0 and c < tag(s, w, p, q) and choosable(s, c, k):
                                if not holds_txn(s, w, p, q, k + 1):
                                    return False
    return True


def missed_when_established(s: State) -> bool:
    """An initial history that is known to lack a transaction is that of an established epoch."""
    return all(not (s.missing_epoch[k] > 0 and s.established[s.missing_epoch[k]] == 0) for k in range(s.TXNS))


def later_established(s: State) -> bool:
    """What an established epoch's initial history lacks is chosen in no earlier epoch, nor may it be."""
    return all(
        not (c > 0 and c < s.missing_epoch[k] and choosable(s, c, k)) for k in range(s.TXNS) for c in range(s.EPOCHS)
    )


def best_so_far(s: State, l: Node, c: int, k: int) -> bool:
    """The best history that prospective leader l has been sent is of a later epoch than c, or of c and
    has k."""
    return s.best_epoch[l] > c or (s.best_epoch[l] == c and holds_txn(s, LOG_OF, l, l, k + 1))


def sent_so_far(s: State, m: Node, l: Node, c: int, k: int) -> bool:
    """So is the history in m's ACK-E."""
    e = tag(s, ACK_E_OF, m, l)
    return e > c or (e == c and holds_txn(s, ACK_E_OF, m, l, k + 1))


def best_covers(s: State) -> bool:
    """The best history covers what whoever has acknowledged had accepted in an earlier epoch."""
    return all(
        not (c > 0 and c < s.new_epoch[l] and m in s.accepted[c][k] and not best_so_far(s, l, c, k))
        for l in range(s.NODES)
        for m in range(s.NODES)
        if s.stage[l] == PROMISING and m in s.acked[l]
        for k in range(s.TXNS)
        for c in range(s.EPOCHS)
    )


def ack_e_covers(s: State) -> bool:
    """An ACK-E in flight covers what its sender had accepted in an earlier epoch."""
    return all(
        not (c > 0 and c < s.new_epoch[l] and m in s.accepted[c][k] and not sent_so_far(s, m, l, c, k))
        for l in range(s.NODES)
        for m in range(s.NODES)
        if s.stage[l] == PROMISING and m in s.Q[l] and len(s.to_leader[m][l]) > 0
        for k in range(s.TXNS)
        for c in range(s.EPOCHS)
    )


def best_covers_chosen(s: State) -> bool:
    """What is chosen in an earlier epoch a quorum has, counting what it has sent for what it has."""
    for l in range(s.NODES):
        if s.stage[l] == PROMISING:
            for k in range(s.TXNS):
                c = s.chosen_epoch[k]
                if c > 0 and c < s.new_epoch[l]:
                    count = 0
                    for m in range(s.NODES):
                        if m in s.acked[l]:
                            if best_so_far(s, l, c, k):
                                count = count + 1
                        elif m in s.Q[l] and len(s.to_leader[m][l]) > 0:
                            if sent_so_far(s, m, l, c, k):
                                count = count + 1
                        elif stored(s, m, c, k):
                            count = count + 1
                    if count < s.MAJORITY:
                        return False
    return True


CLAUSES = (
    clause(acceptances, "VI.1"),
    clause(accepted_until_chosen, "VI.1"),
    clause(accepted_from_its_epoch, "VI.1"),
    clause(accepted_is_stored, "VI.1"),
    clause(chosen_from_its_epoch, "VI.1"),
    clause(chosen_is_stored, "VI.1"),
    clause(later_sources, "VI"),
    clause(missed_when_established, "VI"),
    clause(later_established, "VI"),
    clause(best_covers, "l.1.2"),
    clause(ack_e_covers, "l.1.2"),
    clause(best_covers_chosen, "l.1.2"),
)
