"""State facts about followers that join an established leader, until their acknowledgement of NEWLEADER is received."""

from __future__ import annotations

from invariants.proofs.channels import in_touch, newleader_at, sends_ack_ld
from invariants.proofs.clause import clause
from zabspec.language.python.lang import State
from zabspec.worlds.connections import OPEN
from zabspec.zab import BROADCAST, COMMIT, COMMIT_LD, ESTABLISHED, SYNCHRONIZATION


def joined_has_newleader(s: State) -> bool:
    """No NEWLEADER is in flight to anyone in Q of an established leader, and in touch with it."""
    return all(
        not (s.stage[l] == ESTABLISHED and f in s.Q[l] and in_touch(s, l, f) and newleader_at(s, f) >= 0)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def joins_before_broadcast(s: State) -> bool:
    """Nobody who joins a leader, and is in touch with it, is in Phase 3."""
    return all(
        not (f in s.joining[l] and in_touch(s, l, f) and s.phase[f] == BROADCAST)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def joins_uncommitted(s: State) -> bool:
    """No commit is in flight to whoever joins a leader, and is in touch with it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if f in s.joining[l] and in_touch(s, l, f):
                for k in range(s.DOWN):
                    if k < len(s.to_follower[f]):
                        if s.to_follower[f][k].kind == COMMIT_LD or s.to_follower[f][k].kind == COMMIT:
                            return False
    return True


def ack_ld_on_the_way(s: State) -> bool:
    """While their connection is open, whoever joins in Phase 2 and has taken NEWLEADER has an acknowledgement of it
    in flight."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if f in s.joining[l] and s.link[f][l] == OPEN and s.phase[f] == SYNCHRONIZATION:
                if newleader_at(s, f) < 0 and not sends_ack_ld(s, f, l):
                    return False
    return True


def newleader_unacknowledged(s: State) -> bool:
    """While NEWLEADER is in flight to whoever joins in Phase 2, and is in touch with its leader, no acknowledgement
    of one is in flight."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if f in s.joining[l] and in_touch(s, l, f) and s.phase[f] == SYNCHRONIZATION:
                if newleader_at(s, f) >= 0 and sends_ack_ld(s, f, l):
                    return False
    return True


CLAUSES = (
    clause(joined_has_newleader, "l.3.4"),
    clause(joins_before_broadcast, "l.3.4"),
    clause(joins_uncommitted, "l.3.4"),
    clause(ack_ld_on_the_way, "l.3.4"),
    clause(newleader_unacknowledged, "l.3.4"),
)
