"""State what a leader keeps in each stage."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.connections import member, served
from zabspec.language.python.lang import State
from zabspec.zab import ESTABLISHED, GATHERING, PROMISING, SYNCHRONIZING


def no_quorum_yet(s: State) -> bool:
    """A leader that gathers has no quorum yet."""
    return all(not (s.stage[l] == GATHERING and len(s.Q[l]) >= s.MAJORITY) for l in range(s.NODES))


def smallest_quorum(s: State) -> bool:
    """From its proposal of an epoch until it is established, a leader's Q is exactly a majority."""
    return all(
        not ((s.stage[l] == PROMISING or s.stage[l] == SYNCHRONIZING) and len(s.Q[l]) != s.MAJORITY)
        for l in range(s.NODES)
    )


def quorum_kept(s: State) -> bool:
    """An established leader has a quorum."""
    return all(not (s.stage[l] == ESTABLISHED and len(s.Q[l]) < s.MAJORITY) for l in range(s.NODES))


def joins_the_established(s: State) -> bool:
    """Nobody joins a leader that is not established."""
    return all(not (s.stage[l] != ESTABLISHED and len(s.joining[l]) > 0) for l in range(s.NODES))


def commits_when_established(s: State) -> bool:
    """A leader that is not established has committed nothing."""
    return all(not (s.stage[l] != ESTABLISHED and s.committed[l] != 0) for l in range(s.NODES))


def ready_when_established(s: State) -> bool:
    """A leader that is not established is not ready."""
    return all(not (s.stage[l] != ESTABLISHED and s.ready[l]) for l in range(s.NODES))


def acked_while_asking(s: State) -> bool:
    """ACK-E and the acknowledgements of NEWLEADER are counted only while a leader waits for them."""
    return all(
        not (s.stage[l] != PROMISING and s.stage[l] != SYNCHRONIZING and len(s.acked[l]) > 0) for l in range(s.NODES)
    )


def epoch_proposed(s: State) -> bool:
    """A leader that no longer gathers has proposed an epoch."""
    return all(not (s.stage[l] >= PROMISING and s.new_epoch[l] == 0) for l in range(s.NODES))


def no_best_epoch_yet(s: State) -> bool:
    """Before the first ACK-E a leader keeps no best epoch."""
    return all(not (s.stage[l] <= PROMISING and len(s.acked[l]) == 0 and s.best_epoch[l] != 0) for l in range(s.NODES))


def no_best_history_yet(s: State) -> bool:
    """Before the first ACK-E a leader keeps no best history."""
    return all(not (s.stage[l] <= PROMISING and len(s.acked[l]) == 0 and len(s.log[l]) > 0) for l in range(s.NODES))


def commits_its_log(s: State) -> bool:
    """A leader has committed no more than its log."""
    return all(s.committed[l] <= len(s.log[l]) for l in range(s.NODES))


def acks_when_established(s: State) -> bool:
    """Acknowledgements of proposals are counted only by an established leader."""
    return all(not (len(s.acks[l][k]) > 0 and s.stage[l] != ESTABLISHED) for l in range(s.NODES) for k in range(s.TXNS))


def acks_its_log(s: State) -> bool:
    """Acknowledgements are counted only of what is in the leader's log."""
    return all(not (len(s.acks[l][k]) > 0 and k >= len(s.log[l])) for l in range(s.NODES) for k in range(s.TXNS))


def acked_in_quorum(s: State) -> bool:
    """Whoever has acknowledged is in Q."""
    return all(not (f in s.acked[l] and f not in s.Q[l]) for l in range(s.NODES) for f in range(s.NODES))


def joins_from_outside(s: State) -> bool:
    """Nobody in Q joins."""
    return all(not (f in s.Q[l] and f in s.joining[l]) for l in range(s.NODES) for f in range(s.NODES))


def members_served(s: State) -> bool:
    """A leader's end of the connection is open to whoever's CEPOCH it has taken."""
    return all(not (member(s, l, f) and not served(s, f, l)) for l in range(s.NODES) for f in range(s.NODES))


def ready_with_itself(s: State) -> bool:
    """A leader that is ready has taken its own CEPOCH."""
    return all(not (s.ready[l] and not member(s, l, l)) for l in range(s.NODES))


CLAUSES = (
    clause(no_quorum_yet, "l.1.1"),
    clause(smallest_quorum, "l.1.1"),
    clause(quorum_kept, "IV"),
    clause(joins_the_established, "l.3.3"),
    clause(commits_when_established, "l.2.2"),
    clause(ready_when_established, "f.3.1"),
    clause(acked_while_asking, "l.1.2, l.2.2"),
    clause(epoch_proposed, "l.1.1"),
    clause(no_best_epoch_yet, "l.1.2"),
    clause(no_best_history_yet, "l.1.2"),
    clause(commits_its_log, "l.2.2, l.3.2"),
    clause(acks_when_established, "l.3.2"),
    clause(acks_its_log, "l.3.2"),
    clause(acked_in_quorum, "l.1.2, l.2.2"),
    clause(joins_from_outside, "l.3.3"),
    clause(members_served, "IV"),
    clause(ready_with_itself, "f.3.1"),
)
