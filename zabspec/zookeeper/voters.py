"""Who votes. Observers are servers that follow a leader and are no part of any quorum (`observer`); every server of an
ensemble votes where nothing is said."""

from __future__ import annotations

from zabspec.zookeeper.state import State

from zabspec.language.python.lang import Members, Node, is_quorum

__all__ = [
    "are_more_than_half",
    "completes_quorum",
    "is_in_no_quorum",
    "is_without_vote",
    "last_voter",
    "may_lead",
    "observes",
    "quorum_with_observers",
]


def observes(s: State, p: Node, q: Node) -> bool:
    """LearnerHandler.getLearnerType, QuorumPeer.getLearnerType: whether q is an observer, as p knows. None is."""
    return False


def is_without_vote(s: State, p: Node, q: Node) -> bool:
    """QuorumPeer.getLearnerType: a server without weight is an observer."""
    return is_in_no_quorum(s, p, q)


def is_in_no_quorum(s: State, p: Node, q: Node) -> bool:
    """No set of the others becomes a quorum by q. Who votes has one vote, and there are at most six of them beside an
    observer: three others are enough to ask, in any order, so that processes stay alike."""
    for a in range(s.NODES):
        for b in range(s.NODES):
            for c in range(s.NODES):
                without = is_quorum(s, {r for r in range(s.NODES) if r != q and (r == a or r == b or r == c)})
                together = is_quorum(s, {r for r in range(s.NODES) if r == q or r == a or r == b or r == c})
                if together and not without:
                    return False
    return True


def last_voter(s: State) -> int:
    """The last server that votes: observers come behind."""
    last = 0
    for p in range(s.NODES):
        if not observes(s, 0, p):
            last = p
    return last


def may_lead(s: State, l: Node) -> bool:
    """FastLeaderElection.validVoter: votes for an observer are not counted."""
    return not observes(s, l, l)


def completes_quorum(s: State, l: Node, members: Members) -> bool:
    """Leader.getEpochToPropose, Leader.waitForEpochAck: they count participants (3.4.13, 3.5.4, 3.6.0)."""
    return is_quorum(s, members)


def quorum_with_observers(s: State, l: Node, members: Members) -> bool:
    """3.4.10 to 3.4.12, 3.5.0 to 3.5.3: whoever has sent FOLLOWERINFO or OBSERVERINFO, or ACKEPOCH, is counted
    (ZOOKEEPER-2959)."""
    return are_more_than_half(s, l, members)


def are_more_than_half(s: State, l: Node, members: Members) -> bool:
    """QuorumMaj.containsQuorum: as many as are more than half of the voters, whoever they are."""
    count = 0
    voters = 0
    for q in range(s.NODES):
        if q in members:
            count = count + 1
        if not observes(s, l, q):
            voters = voters + 1
    return 2 * count > voters
