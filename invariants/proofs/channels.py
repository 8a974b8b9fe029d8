"""State what is in flight, and where a follower is until its CEPOCH is taken."""

from __future__ import annotations

from invariants.proofs.clause import clause
from invariants.proofs.connections import connected, member, served
from invariants.proofs.messages import epoch_down, from_follower, of_cepoch, of_propose, txn_proposed
from zabspec.language.python.lang import Node, State
from zabspec.worlds.connections import LOST, OPEN
from zabspec.zab import ACK_LD, CEPOCH, DISCOVERY, NEWLEADER, PROPOSE


def first_down(s: State, f: Node) -> int:
    """Return the epoch of what is in flight to f; 0 if nothing is."""
    return epoch_down(s.to_follower[f][0]) if len(s.to_follower[f]) > 0 else 0


def newleader_at(s: State, f: Node) -> int:
    """Return the place of NEWLEADER in flight to f, 0 or 1; -1 if it is not in flight."""
    if len(s.to_follower[f]) > 0 and s.to_follower[f][0].kind == NEWLEADER:
        return 0
    if len(s.to_follower[f]) > 1 and s.to_follower[f][1].kind == NEWLEADER:
        return 1
    return -1


def sends_ack_ld(s: State, f: Node, l: Node) -> bool:
    """The acknowledgement of NEWLEADER is in flight from f to l."""
    n = len(s.to_leader[f][l])
    return (n > 0 and s.to_leader[f][l][0].kind == ACK_LD) or (n > 1 and s.to_leader[f][l][1].kind == ACK_LD)


def waits(s: State, f: Node, l: Node) -> bool:
    """l's end of a connection from f is open, and it has not taken f's CEPOCH."""
    return served(s, f, l) and not member(s, l, f)


def in_touch(s: State, l: Node, f: Node) -> bool:
    """l has taken f's CEPOCH, and neither knows that their connection is lost."""
    return member(s, l, f) and (s.link[f][l] == OPEN or s.link[f][l] == LOST)


# --- until its CEPOCH is taken -----------------------------------------------------------------


def waits_with_one(s: State) -> bool:
    """Until a follower's CEPOCH is taken, one message is in flight from it to its leader."""
    return all(not (waits(s, f, l) and len(s.to_leader[f][l]) != 1) for f in range(s.NODES) for l in range(s.NODES))


def waits_with_cepoch(s: State) -> bool:
    """Until a follower's CEPOCH is taken, what is in flight from it to its leader is a CEPOCH."""
    return all(
        not (waits(s, f, l) and s.to_leader[f][l][0].kind != CEPOCH) for f in range(s.NODES) for l in range(s.NODES)
    )


def cepoch_promised(s: State) -> bool:
    """A CEPOCH that is not taken says no more than its follower has promised."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if waits(s, f, l) and s.to_leader[f][l][0].kind == CEPOCH:
                if of_cepoch(s.to_leader[f][l][0]) > s.promised_epoch[f]:
                    return False
    return True


def waits_in_discovery(s: State) -> bool:
    """Until its CEPOCH is taken, a follower whose end of the connection is open is in Phase 1."""
    return all(
        not (waits(s, f, l) and connected(s, f, l) and s.phase[f] != DISCOVERY)
        for f in range(s.NODES)
        for l in range(s.NODES)
    )


def waits_unanswered(s: State) -> bool:
    """Until its CEPOCH is taken, nothing is in flight to a follower whose end of the connection is open."""
    return all(
        not (waits(s, f, l) and connected(s, f, l) and len(s.to_follower[f]) > 0)
        for f in range(s.NODES)
        for l in range(s.NODES)
    )


def waits_unpromised(s: State) -> bool:
    """A follower whose end of the connection is open promises nothing until its CEPOCH is taken."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            if waits(s, f, l) and connected(s, f, l) and s.to_leader[f][l][0].kind == CEPOCH:
                if of_cepoch(s.to_leader[f][l][0]) != s.promised_epoch[f]:
                    return False
    return True


# --- in either direction -----------------------------------------------------------------------


def to_leaders(s: State) -> bool:
    """A channel to a leader carries what followers send."""
    return all(
        not (k < len(s.to_leader[f][l]) and not from_follower(s.to_leader[f][l][k]))
        for f in range(s.NODES)
        for l in range(s.NODES)
        for k in range(s.UP)
    )


def to_followers(s: State) -> bool:
    """A channel to a follower carries what leaders send."""
    return all(
        not (k < len(s.to_follower[f]) and from_follower(s.to_follower[f][k]))
        for f in range(s.NODES)
        for k in range(s.DOWN)
    )


def proposed_in_its_epoch(s: State) -> bool:
    """A proposal in flight is of a transaction of its leader's epoch."""
    for f in range(s.NODES):
        for k in range(s.DOWN):
            if k < len(s.to_follower[f]) and s.to_follower[f][k].kind == PROPOSE:
                if txn_proposed(s.to_follower[f][k]).epoch != of_propose(s.to_follower[f][k]):
                    return False
    return True


CLAUSES = (
    clause(waits_with_one, "f.1.1"),
    clause(waits_with_cepoch, "f.1.1"),
    clause(cepoch_promised, "f.1.1"),
    clause(waits_in_discovery, "l.1.1, l.3.3"),
    clause(waits_unanswered, "l.1.1, l.3.3"),
    clause(waits_unpromised, "f.1.1"),
    clause(to_leaders, "IV"),
    clause(to_followers, "IV"),
    clause(proposed_in_its_epoch, "l.3.1"),
)
