"""State facts about promises: no epoch has two leaders."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.connections import member
from invariants.proofs.messages import of_ack_e
from invariants.proofs.sources import SOURCES, is_source, tag
from zabspec.language.python.lang import Node, State
from zabspec.zab import ACK, ACK_E, ACK_LD, BROADCAST, ESTABLISHED, PROMISING, SYNCHRONIZING


def accepted_as_promised(s: State) -> bool:
    """No follower's f.a is later than its f.p."""
    return all(s.current_epoch[f] <= s.promised_epoch[f] for f in range(s.NODES))


def broadcast_as_promised(s: State) -> bool:
    """A follower in Phase 3 is in the epoch that it has promised."""
    return all(not (s.phase[f] == BROADCAST and s.current_epoch[f] != s.promised_epoch[f]) for f in range(s.NODES))


def acked_has_promised(s: State) -> bool:
    """Whoever has acknowledged has promised its leader's epoch."""
    return all(
        not (f in s.acked[l] and s.promised_epoch[f] < s.new_epoch[l]) for l in range(s.NODES) for f in range(s.NODES)
    )


def quorum_has_promised(s: State) -> bool:
    """Once a leader has its initial history, all of Q have promised its epoch."""
    return all(
        not (s.stage[l] >= SYNCHRONIZING and f in s.Q[l] and s.promised_epoch[f] < s.new_epoch[l])
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def acked_has_accepted(s: State) -> bool:
    """Whoever has acknowledged NEWLEADER is in its leader's epoch."""
    return all(
        not (s.stage[l] == SYNCHRONIZING and f in s.acked[l] and s.current_epoch[f] < s.new_epoch[l])
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def ack_e_of_promise(s: State) -> bool:
    """Whoever has an ACK-E in flight to a leader that has taken its CEPOCH has promised that leader's epoch."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if member(s, l, f):
                for k in range(s.UP):
                    if k < len(s.to_leader[f][l]) and s.to_leader[f][l][k].kind == ACK_E:
                        if s.promised_epoch[f] < s.new_epoch[l]:
                            return False
    return True


def ack_of_acceptance(s: State) -> bool:
    """Whoever has an acknowledgement of NEWLEADER or of a proposal in flight to a leader that has taken its CEPOCH
    is in that leader's epoch."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if member(s, l, f) and s.current_epoch[f] < s.new_epoch[l]:
                for k in range(s.UP):
                    if k < len(s.to_leader[f][l]):
                        if s.to_leader[f][l][k].kind == ACK_LD or s.to_leader[f][l][k].kind == ACK:
                            return False
    return True


def ack_e_is_earlier(s: State) -> bool:
    """The epoch of an ACK-E in flight from Q is earlier than what the leader proposes."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if s.stage[l] == PROMISING and f in s.Q[l] and s.to_leader[f][l][0].kind == ACK_E:
                if of_ack_e(s.to_leader[f][l][0]) >= s.new_epoch[l]:
                    return False
    return True


def best_is_earlier(s: State) -> bool:
    """The best epoch that a leader which awaits promises was told of is earlier than what it proposes."""
    return all(not (s.stage[l] == PROMISING and s.best_epoch[l] >= s.new_epoch[l]) for l in range(s.NODES))


def promised_to(s: State, m: Node, l: Node) -> bool:
    """m has promised its epoch to l, which is still choosing an initial history."""
    return s.stage[l] == PROMISING and m in s.Q[l] and (m in s.acked[l] or len(s.to_leader[m][l]) > 0)


def promise_once(s: State) -> bool:
    """No process has promised one epoch to two prospective leaders."""
    return all(
        not (k != l and promised_to(s, m, l) and promised_to(s, m, k) and s.new_epoch[l] == s.new_epoch[k])
        for m in range(s.NODES)
        for l in range(s.NODES)
        for k in range(s.NODES)
    )


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


def source_settled(s: State) -> bool:
    """Once a history belongs to an epoch, the epoch is settled."""
    return all(
        not (is_source(w, p, q) and tag(s, w, p, q) == e)
        for e in range(s.EPOCHS + 1)
        if e > 0 and not settled(s, e)
        for w in range(SOURCES)
        for p in range(s.NODES)
        for q in range(s.NODES)
    )


def established_settled(s: State) -> bool:
    """Once a leader is established in an epoch, the epoch is settled."""
    return all(not (e > 0 and s.established[e] > 0 and not settled(s, e)) for e in range(s.EPOCHS + 1))


def one_synchronizer(s: State) -> bool:
    """No two processes have chosen an initial history for one epoch and still lead."""
    for l in range(s.NODES):
        for k in range(s.NODES):
            if k != l and s.stage[l] >= SYNCHRONIZING and s.stage[k] >= SYNCHRONIZING:
                if s.new_epoch[l] == s.new_epoch[k]:
                    return False
    return True


def established_once(s: State) -> bool:
    """No epoch has two established leaders."""
    return all(s.established[e] <= 1 for e in range(s.EPOCHS + 1))


def established_known(s: State) -> bool:
    """Whoever leads in Phase 3 was established in its epoch."""
    return all(not (s.stage[l] == ESTABLISHED and s.established[s.new_epoch[l]] == 0) for l in range(s.NODES))


def established_later(s: State) -> bool:
    """In the epoch of a leader in Phase 2 nobody was established."""
    return all(not (s.stage[l] == SYNCHRONIZING and s.established[s.new_epoch[l]] > 0) for l in range(s.NODES))


# What was promised, as far as it can be said without a history.
PROMISED = (
    clause(accepted_as_promised, "f.1.2, f.2.1"),
    clause(broadcast_as_promised, "f.1.2, f.2.1"),
    clause(acked_has_promised, "l.1.2"),
    clause(quorum_has_promised, "l.1.2"),
    clause(acked_has_accepted, "l.2.2"),
    clause(ack_e_of_promise, "f.1.2"),
    clause(ack_of_acceptance, "f.2.1"),
    clause(ack_e_is_earlier, "l.1.1"),
    clause(best_is_earlier, "l.1.1"),
)

SETTLED = (
    clause(promise_once, "f.1.2"),
    clause(source_settled, "V.C"),
    clause(established_settled, "V.C"),
    clause(one_synchronizer, "V.C"),
    clause(established_once, "V.1"),
    clause(established_known, "V.1"),
    clause(established_later, "V.1"),
)

CLAUSES = (*PROMISED, *SETTLED)
