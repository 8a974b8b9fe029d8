"""State which ends of connections are open, and what a process keeps accordingly."""

from __future__ import annotations

from invariants.proofs.clause import clause
from zabspec.language.python.lang import NOBODY, Node, State
from zabspec.worlds.connections import FOLLOWER_OPEN, LEADER_OPEN, LOST, NONE, OPEN
from zabspec.zab import DOWN, ELECTION, FOLLOWING, LEADING


def connected(s: State, f: Node, l: Node) -> bool:
    """f's end of a connection to l is open."""
    return s.link[f][l] == OPEN or s.link[f][l] == LOST or s.link[f][l] == FOLLOWER_OPEN


def served(s: State, f: Node, l: Node) -> bool:
    """l's end of a connection from f is open."""
    return s.link[f][l] == OPEN or s.link[f][l] == LOST or s.link[f][l] == LEADER_OPEN


def member(s: State, l: Node, f: Node) -> bool:
    """l has taken f's CEPOCH."""
    return f in s.Q[l] or f in s.joining[l]


# --- connections -------------------------------------------------------------------------------


def links(s: State) -> bool:
    """A process has its end of a connection open exactly to the leader that it follows."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            follows = (s.role[f] == FOLLOWING or s.role[f] == LEADING) and s.leader[f] == l
            if connected(s, f, l) != follows:
                return False
    return True


def loss_unknown_to_leader(s: State) -> bool:
    """Only one that leads has yet to learn that a connection to it is lost."""
    return all(
        not ((s.link[f][l] == LOST or s.link[f][l] == LEADER_OPEN) and s.role[l] != LEADING)
        for f in range(s.NODES)
        for l in range(s.NODES)
    )


def closed_end(s: State) -> bool:
    """Nothing is in flight to a leader whose end of the connection is closed."""
    return all(
        not ((s.link[f][l] == NONE or s.link[f][l] == FOLLOWER_OPEN) and len(s.to_leader[f][l]) > 0)
        for f in range(s.NODES)
        for l in range(s.NODES)
    )


def own_connection(s: State) -> bool:
    """A process never loses its connection to itself."""
    return all(not (s.link[f][f] != NONE and s.link[f][f] != OPEN) for f in range(s.NODES))


# --- roles -------------------------------------------------------------------------------------


def leads_itself(s: State) -> bool:
    """A process that leads follows itself."""
    return all(not (s.role[p] == LEADING and s.leader[p] != p) for p in range(s.NODES))


def follows_another(s: State) -> bool:
    """A process that follows, and does not lead, does not follow itself."""
    return all(not (s.role[p] == FOLLOWING and s.leader[p] == p) for p in range(s.NODES))


def has_a_leader(s: State) -> bool:
    """A process has a leader exactly while it leads or follows."""
    return all((s.leader[p] != NOBODY) == (s.role[p] == LEADING or s.role[p] == FOLLOWING) for p in range(s.NODES))


def has_a_phase(s: State) -> bool:
    """A process is in a phase exactly while it leads or follows."""
    return all((s.phase[p] != 0) == (s.role[p] == LEADING or s.role[p] == FOLLOWING) for p in range(s.NODES))


def has_a_stage(s: State) -> bool:
    """A process is in a stage exactly while it leads."""
    return all((s.stage[p] != 0) == (s.role[p] == LEADING) for p in range(s.NODES))


def idle_is_sent_nothing(s: State) -> bool:
    """Nothing is in flight to a process that is in ELECTION, or down."""
    return all(not ((s.role[p] == ELECTION or s.role[p] == DOWN) and len(s.to_follower[p]) > 0) for p in range(s.NODES))


def quorum_of_a_leader(s: State) -> bool:
    """Only one that leads has a Q."""
    return all(not (s.role[p] != LEADING and len(s.Q[p]) > 0) for p in range(s.NODES))


def epoch_of_a_leader(s: State) -> bool:
    """Only one that leads has a new epoch."""
    return all(not (s.role[p] != LEADING and s.new_epoch[p] != 0) for p in range(s.NODES))


CLAUSES = (
    clause(links, "II, V.B"),
    clause(loss_unknown_to_leader, "II, V.B"),
    clause(closed_end, "II, V.B"),
    clause(own_connection, "II, V.B"),
    clause(leads_itself, "IV, V"),
    clause(follows_another, "IV, V"),
    clause(has_a_leader, "IV, V"),
    clause(has_a_phase, "IV, V"),
    clause(has_a_stage, "IV, V"),
    clause(idle_is_sent_nothing, "IV, V"),
    clause(quorum_of_a_leader, "IV, V"),
    clause(epoch_of_a_leader, "IV, V"),
)
