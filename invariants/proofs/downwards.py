"""State what is in flight to a follower, and in which order."""

from __future__ import annotations

from invariants.proofs.channels import first_down
from invariants.proofs.clause import clause
from invariants.proofs.messages import epoch_down
from zabspec.language.python.lang import State
from zabspec.zab import BROADCAST, DISCOVERY, NEWEPOCH, NEWLEADER


def sent_of_an_epoch(s: State) -> bool:
    """What is in flight to a follower is of some epoch."""
    return all(not (len(s.to_follower[f]) > 0 and first_down(s, f) == 0) for f in range(s.NODES))


def sent_of_one_epoch(s: State) -> bool:
    """All that is in flight to a follower is of one epoch."""
    return all(
        not (k < len(s.to_follower[f]) and epoch_down(s.to_follower[f][k]) != first_down(s, f))
        for f in range(s.NODES)
        for k in range(s.DOWN)
    )


def newepoch_in_discovery(s: State) -> bool:
    """A follower to whom a NEWEPOCH is in flight first is in Phase 1."""
    return all(
        not (len(s.to_follower[f]) > 0 and s.to_follower[f][0].kind == NEWEPOCH and s.phase[f] != DISCOVERY)
        for f in range(s.NODES)
    )


def newepoch_first(s: State) -> bool:
    """Nothing is in flight to a follower before a NEWEPOCH."""
    return all(
        not (k > 0 and k < len(s.to_follower[f]) and s.to_follower[f][k].kind == NEWEPOCH)
        for f in range(s.NODES)
        for k in range(s.DOWN)
    )


def newleader_follows(s: State) -> bool:
    """What comes right behind a NEWEPOCH is a NEWLEADER."""
    for f in range(s.NODES):
        if len(s.to_follower[f]) > 1 and s.to_follower[f][0].kind == NEWEPOCH:
            if s.to_follower[f][1].kind != NEWLEADER:
                return False
    return True


def newleader_next(s: State) -> bool:
    """Nothing but a NEWEPOCH is in flight to a follower before a NEWLEADER."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            for j in range(k):
                if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == NEWLEADER:
                    if s.to_follower[f][j].kind != NEWEPOCH:
                        return False
    return True


def newleader_before_broadcast(s: State) -> bool:
    """No NEWLEADER is in flight first to a follower in Phase 3."""
    return all(
        not (len(s.to_follower[f]) > 0 and s.to_follower[f][0].kind == NEWLEADER and s.phase[f] == BROADCAST)
        for f in range(s.NODES)
    )


def sent_after_a_refusal(s: State) -> bool:
    """What comes without a NEWEPOCH to a follower in Phase 1 is the rest of an epoch that it refused."""
    for f in range(s.NODES):
        if len(s.to_follower[f]) > 0 and s.to_follower[f][0].kind != NEWEPOCH and s.phase[f] == DISCOVERY:
            if s.promised_epoch[f] <= first_down(s, f):
                return False
    return True


def sent_as_promised(s: State) -> bool:
    """What is in flight to a follower past Phase 1 is of the epoch that it has promised."""
    return all(
        not (len(s.to_follower[f]) > 0 and s.phase[f] != DISCOVERY and s.promised_epoch[f] != first_down(s, f))
        for f in range(s.NODES)
    )


CLAUSES = (
    clause(sent_of_an_epoch, "II, IV"),
    clause(sent_of_one_epoch, "II, IV"),
    clause(newepoch_in_discovery, "l.1.1, l.3.3"),
    clause(newepoch_first, "l.1.1, l.3.3"),
    clause(newleader_follows, "l.2.1, l.3.3"),
    clause(newleader_next, "l.2.1, l.3.3"),
    clause(newleader_before_broadcast, "f.2.1"),
    clause(sent_after_a_refusal, "f.1.2"),
    clause(sent_as_promised, "II, IV"),
)
