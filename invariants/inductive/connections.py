"""Which ends of connections are open, and what a process keeps where it stands."""

from __future__ import annotations

from invariants.inductive.clause import clause
from zabspec.language.lang import NOBODY, Node, State
from zabspec.worlds.connections import FOLLOWER_OPEN, LEADER_OPEN, LOST, NONE, OPEN
from zabspec.zab import DOWN, ELECTION, ESTABLISHED, FOLLOWING, GATHERING, LEADING, PROMISING, SYNCHRONIZING


def connected(s: State, f: Node, l: Node) -> bool:
    """f's end of a connection to l is open."""
    return s.link[f][l] == OPEN or s.link[f][l] == LOST or s.link[f][l] == FOLLOWER_OPEN


def served(s: State, f: Node, l: Node) -> bool:
    """l's end of a connection from f is open."""
    return s.link[f][l] == OPEN or s.link[f][l] == LOST or s.link[f][l] == LEADER_OPEN


def member(s: State, l: Node, f: Node) -> bool:
    """l has taken f's CEPOCH."""
    return f in s.Q[l] or f in s.joining[l]


def links(s: State) -> bool:
    """A process has an end of a connection open exactly to the leader it follows; a leader learns of
    a loss only while it leads; nothing is in flight to an end that is closed."""
    for f in range(s.NODES):
        for l in range(s.NODES):
            follows = (s.role[f] == FOLLOWING or s.role[f] == LEADING) and s.leader[f] == l
            if connected(s, f, l) != follows:
                return False
            if (s.link[f][l] == LOST or s.link[f][l] == LEADER_OPEN) and s.role[l] != LEADING:
                return False
            if (s.link[f][l] == NONE or s.link[f][l] == FOLLOWER_OPEN) and len(s.to_leader[f][l]) > 0:
                return False
        if s.link[f][f] != NONE and s.link[f][f] != OPEN:
            return False
    return True


def roles(s: State) -> bool:
    """A process in ELECTION, or down, keeps nothing of an iteration; one that leads follows itself;
    one that does not lead keeps nothing of a leader."""
    for p in range(s.NODES):
        if s.role[p] == LEADING:
            if s.leader[p] != p or s.stage[p] == 0 or s.phase[p] == 0:
                return False
        else:
            if s.stage[p] != 0 or len(s.Q[p]) > 0 or len(s.acked[p]) > 0 or len(s.joining[p]) > 0:
                return False
            if s.new_epoch[p] != 0 or s.best_epoch[p] != 0 or len(s.log[p]) > 0 or s.committed[p] != 0 or s.ready[p]:
                return False
            for k in range(s.TXNS):
                if len(s.acks[p][k]) > 0:
                    return False
        if s.role[p] == FOLLOWING and (s.leader[p] == p or s.leader[p] == NOBODY or s.phase[p] == 0):
            return False
        if s.role[p] == ELECTION or s.role[p] == DOWN:
            if s.leader[p] != NOBODY or s.phase[p] != 0 or s.delivered_length[p] != 0 or len(s.to_follower[p]) > 0:
                return False
    return True


def stages(s: State) -> bool:
    """What a leader keeps in each stage: Q is a quorum from l.1.1 on, and exactly one until it is
    established; nobody joins before, nobody has acknowledged while it gathers or is established."""
    for l in range(s.NODES):
        if s.role[l] == LEADING:
            if s.stage[l] == GATHERING and len(s.Q[l]) >= s.MAJORITY:
                return False
            if s.stage[l] == PROMISING and len(s.Q[l]) != s.MAJORITY:
                return False
            if s.stage[l] == SYNCHRONIZING and len(s.Q[l]) != s.MAJORITY:
                return False
            if s.stage[l] == ESTABLISHED and len(s.Q[l]) < s.MAJORITY:
                return False
            if s.stage[l] != ESTABLISHED and (len(s.joining[l]) > 0 or s.committed[l] != 0 or s.ready[l]):
                return False
            if (s.stage[l] == GATHERING or s.stage[l] == ESTABLISHED) and len(s.acked[l]) > 0:
                return False
            if s.stage[l] >= PROMISING and s.new_epoch[l] == 0:
                return False
            if s.stage[l] == GATHERING or len(s.acked[l]) == 0:
                if s.stage[l] <= PROMISING and (s.best_epoch[l] != 0 or len(s.log[l]) > 0):
                    return False
            if s.committed[l] > len(s.log[l]):
                return False
            for k in range(s.TXNS):
                if len(s.acks[l][k]) > 0 and (s.stage[l] != ESTABLISHED or k >= len(s.log[l])):
                    return False
            for f in range(s.NODES):
                if f in s.acked[l] and f not in s.Q[l]:
                    return False
                if f in s.Q[l] and f in s.joining[l]:
                    return False
                if member(s, l, f) and not served(s, f, l):
                    return False
                if s.stage[l] == ESTABLISHED and f == l and not member(s, l, f) and s.ready[l]:
                    return False
    return True


CLAUSES = (
    clause(links, "II, V.B"),
    clause(roles, "IV, V"),
    clause(stages, "IV"),
)
