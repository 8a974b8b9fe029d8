"""State how far a follower is while neither it nor its leader, having taken its CEPOCH, knows of a lost connection."""

from __future__ import annotations

from invariants.proofs.channels import first_down, in_touch, newleader_at
from invariants.proofs.clause import clause
from zabspec.language.python.lang import State
from zabspec.worlds.connections import OPEN
from zabspec.zab import (
    BROADCAST,
    DISCOVERY,
    ESTABLISHED,
    GATHERING,
    NEWLEADER,
    PROMISING,
    SYNCHRONIZATION,
    SYNCHRONIZING,
)


def sent_by_its_leader(s: State) -> bool:
    """What is in flight to a follower in touch with its leader is of that leader's epoch."""
    return all(
        not (in_touch(s, l, f) and len(s.to_follower[f]) > 0 and first_down(s, f) != s.new_epoch[l])
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def one_request(s: State) -> bool:
    """A leader that is not established has at most one message in flight to a follower in touch with it."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] != ESTABLISHED and len(s.to_follower[f]) > 1)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


# --- Phase 1 -----------------------------------------------------------------------------------


def gathered_unanswered(s: State) -> bool:
    """Nothing is in flight to a follower in touch with a leader that gathers."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] == GATHERING and len(s.to_follower[f]) > 0)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def gathered_in_discovery(s: State) -> bool:
    """A follower in touch with a leader that gathers is in Phase 1."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] == GATHERING and s.phase[f] != DISCOVERY)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def refuses_the_established(s: State) -> bool:
    """A follower in Phase 1 in touch with a leader that is not established has promised no more than that leader's
    epoch."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] != ESTABLISHED and s.phase[f] == DISCOVERY:
                if s.promised_epoch[f] > s.new_epoch[l]:
                    return False
    return True


def not_promised_yet(s: State) -> bool:
    """A follower in Phase 1 in touch with a leader that awaits promises has not promised that leader's epoch."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == PROMISING and s.phase[f] == DISCOVERY:
                if s.promised_epoch[f] == s.new_epoch[l]:
                    return False
    return True


def asked_to_promise(s: State) -> bool:
    """While their connection is open, something is in flight to a follower in Phase 1 from a leader that has
    proposed an epoch to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] >= PROMISING and s.phase[f] == DISCOVERY:
                if len(s.to_follower[f]) == 0 and s.link[f][l] == OPEN:
                    return False
    return True


def silent_in_discovery(s: State) -> bool:
    """A follower in Phase 1 in touch with its leader has nothing in flight to it."""
    return all(
        not (in_touch(s, l, f) and s.phase[f] == DISCOVERY and len(s.to_leader[f][l]) > 0)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def uncounted_in_discovery(s: State) -> bool:
    """No follower in Phase 1 in touch with its leader is counted as having acknowledged."""
    return all(
        not (in_touch(s, l, f) and s.phase[f] == DISCOVERY and f in s.acked[l])
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def synchronizes_the_promised(s: State) -> bool:
    """No follower in touch with a leader that synchronizes is in Phase 1."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and s.phase[f] == DISCOVERY)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def leads_the_promised(s: State) -> bool:
    """Nobody in Q of an established leader, and in touch with it, is in Phase 1."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] == ESTABLISHED and f in s.Q[l] and s.phase[f] == DISCOVERY)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def newleader_with_newepoch(s: State) -> bool:
    """What is in flight to a follower in Phase 1 in touch with an established leader has a NEWLEADER in it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == ESTABLISHED and s.phase[f] == DISCOVERY:
                if len(s.to_follower[f]) > 0 and newleader_at(s, f) < 0:
                    return False
    return True


# --- past Phase 1 ------------------------------------------------------------------------------


def promised_its_leader(s: State) -> bool:
    """A follower past Phase 1 in touch with its leader has promised that leader's epoch."""
    return all(
        not (in_touch(s, l, f) and s.phase[f] != DISCOVERY and s.promised_epoch[f] != s.new_epoch[l])
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def promised_unanswered(s: State) -> bool:
    """Nothing is in flight to a follower in Phase 2 in touch with a leader that awaits promises."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == PROMISING and s.phase[f] == SYNCHRONIZATION:
                if len(s.to_follower[f]) > 0:
                    return False
    return True


def not_accepted_yet(s: State) -> bool:
    """No follower in Phase 2 in touch with a leader that awaits promises is in that leader's epoch."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == PROMISING and s.phase[f] == SYNCHRONIZATION:
                if s.current_epoch[f] == s.new_epoch[l]:
                    return False
    return True


def promise_on_the_way(s: State) -> bool:
    """While their connection is open and a leader awaits promises, whoever is in Phase 2 has a promise in
    flight, or it is counted."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == PROMISING and s.phase[f] == SYNCHRONIZATION:
                if s.link[f][l] == OPEN and f not in s.acked[l] and len(s.to_leader[f][l]) == 0:
                    return False
    return True


def broadcast_when_established(s: State) -> bool:
    """A leader is established if a follower in touch with it is in Phase 3."""
    return all(
        not (in_touch(s, l, f) and s.stage[l] != ESTABLISHED and s.phase[f] == BROADCAST)
        for l in range(s.NODES)
        for f in range(s.NODES)
    )


def sends_newleader(s: State) -> bool:
    """What is in flight to a follower in touch with a leader that synchronizes is a NEWLEADER."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and len(s.to_follower[f]) > 0:
                if s.to_follower[f][0].kind != NEWLEADER:
                    return False
    return True


def newleader_unaccepted(s: State) -> bool:
    """No follower in touch with a leader that synchronizes is in its epoch while NEWLEADER is in flight to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and len(s.to_follower[f]) > 0:
                if s.current_epoch[f] == s.new_epoch[l]:
                    return False
    return True


def newleader_unanswered(s: State) -> bool:
    """A follower in touch with a leader that synchronizes has nothing in flight while NEWLEADER is in flight to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and len(s.to_follower[f]) > 0:
                if len(s.to_leader[f][l]) > 0:
                    return False
    return True


def newleader_uncounted(s: State) -> bool:
    """No follower in touch with a leader that synchronizes is counted while NEWLEADER is in flight to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and len(s.to_follower[f]) > 0:
                if f in s.acked[l]:
                    return False
    return True


def newleader_accepted(s: State) -> bool:
    """While their connection is open, a follower of a leader that synchronizes is in its epoch, or NEWLEADER is
    in flight to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == SYNCHRONIZING and s.link[f][l] == OPEN:
                if len(s.to_follower[f]) == 0 and s.current_epoch[f] != s.new_epoch[l]:
                    return False
    return True


def synchronized(s: State) -> bool:
    """A follower in Phase 2 in touch with an established leader is in its epoch, or a NEWLEADER is in flight to it."""
    for l in range(s.NODES):
        for f in range(s.NODES):
            if in_touch(s, l, f) and s.stage[l] == ESTABLISHED and s.phase[f] == SYNCHRONIZATION:
                if newleader_at(s, f) < 0 and s.current_epoch[f] != s.new_epoch[l]:
                    return False
    return True


CLAUSES = (
    clause(sent_by_its_leader, "IV"),
    clause(one_request, "IV"),
    clause(gathered_unanswered, "l.1.1"),
    clause(gathered_in_discovery, "l.1.1"),
    clause(refuses_the_established, "f.1.2, l.3.3"),
    clause(not_promised_yet, "f.1.2"),
    clause(asked_to_promise, "l.1.1, l.3.3"),
    clause(silent_in_discovery, "f.1.1"),
    clause(uncounted_in_discovery, "l.1.2"),
    clause(synchronizes_the_promised, "l.1.2"),
    clause(leads_the_promised, "l.3.3"),
    clause(newleader_with_newepoch, "l.3.3"),
    clause(promised_its_leader, "f.1.2"),
    clause(promised_unanswered, "l.1.2"),
    clause(not_accepted_yet, "f.2.1"),
    clause(promise_on_the_way, "f.1.2"),
    clause(broadcast_when_established, "l.2.2"),
    clause(sends_newleader, "l.2.1"),
    clause(newleader_unaccepted, "f.2.1"),
    clause(newleader_unanswered, "f.2.1"),
    clause(newleader_uncounted, "l.2.2"),
    clause(newleader_accepted, "f.2.1"),
    clause(synchronized, "f.2.1"),
)
