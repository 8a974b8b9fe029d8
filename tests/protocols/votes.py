"""FastLeaderElection with its votes, in the place of the one step that an election is in the world of connections. It
stands in the world's text: it looks at more than one server, as no handler does.

A server votes for itself, hears the votes of others, takes the greatest, and has decided when a quorum votes as it
does. A vote is heard as it is when it is heard, and again after the hearer has changed its own; what is known of
another's vote may be old. Ties go to the larger id (FastLeaderElection.totalOrderPredicate), so processes are told
apart."""

from __future__ import annotations

from zabspec.authoring.annotated import Annotations
from zabspec.authoring.declaration import Size, volatile
from zabspec.language import Field
from zabspec.language.python.lang import NOBODY, Each, Fields, Node, State, Words, is_quorum
from zabspec.worlds.actor import elections_left, is_down, may_vote, on_elected, on_follow, spend_election
from zabspec.worlds.connections import NONE, emit_elections, may_join
from zabspec.worlds.step_annotations import emit
from zabspec.worlds.steps import ORACLE
from zabspec.zookeeper.state import LEADING, LOOKING, CurrentEpoch, Zxid

__all__: list[str] = []


class Votes(Fields):
    """The votes: what the map from this election to that of one step forgets."""

    voted: Each[Node, Node] = volatile("FastLeaderElection.proposedLeader")
    vote_epoch: Each[Node, CurrentEpoch] = volatile("proposedEpoch")
    vote_zxid: Each[Node, Zxid] = volatile("proposedZxid")
    backers: Each[Node, set[Node]] = volatile("recvset: who is known to vote as it does")


def hidden_fields(size: Size) -> tuple[Field, ...]:
    return tuple(Annotations(size, {}).fields(Votes))


def enabled_at_elector(s: State, out: Words, p: Node) -> None:
    """What can happen to a server that looks for a leader: it hears a vote, or of a leader, or a quorum has decided."""
    if may_vote(s, p):
        if elections_left(s):
            emit_elections(s, out, p)
        for q in range(s.NODES):
            if may_hear(s, p, q):
                emit(out, ORACLE, p, q, 0)


def may_hear(s: State, p: Node, q: Node) -> bool:
    """Whether the vote of q, or that q leads, is news to p."""
    if p == q:
        return s.voted[p] == NOBODY
    if s.role[q] == LEADING:
        return s.link[p][q] == NONE and may_join(s, q)
    if s.role[q] != LOOKING or is_down(s, q) or s.voted[p] == NOBODY or s.voted[q] == NOBODY:
        return False
    return exceeds(s, q, p) or (votes_alike(s, p, q) != (q in s.backers[p]))


def exceeds(s: State, p: Node, q: Node) -> bool:
    """FastLeaderElection.totalOrderPredicate: the vote of p is greater than that of q."""
    if s.vote_epoch[p] != s.vote_epoch[q]:
        return s.vote_epoch[p] > s.vote_epoch[q]
    if s.vote_zxid[p] != s.vote_zxid[q]:
        return s.vote_zxid[p] > s.vote_zxid[q]
    return s.voted[p] > s.voted[q]


def votes_alike(s: State, p: Node, q: Node) -> bool:
    return s.voted[p] == s.voted[q] and s.vote_epoch[p] == s.vote_epoch[q] and s.vote_zxid[p] == s.vote_zxid[q]


def on_oracle(s: State, p: Node, q: Node) -> None:
    """p hears of q."""
    if p == q:
        s.voted[p] = p
        s.vote_epoch[p] = s.current_epoch[p]
        s.vote_zxid[p] = own_zxid(s, p)
        s.backers[p].add(p)
    elif s.role[q] == LEADING:
        forget_vote(s, p)
        on_follow(s, p, q)
    elif exceeds(s, q, p):
        s.voted[p] = s.voted[q]
        s.vote_epoch[p] = s.vote_epoch[q]
        s.vote_zxid[p] = s.vote_zxid[q]
        s.backers[p].clear()
        s.backers[p].add(p)
        s.backers[p].add(q)
    elif votes_alike(s, p, q):
        s.backers[p].add(q)
    else:
        s.backers[p].discard(q)


def own_zxid(s: State, p: Node) -> int:
    """QuorumPeer.getLastLoggedZxid, which is lastProcessedZxid."""
    return s.last_processed[p]


def last_logged(s: State, p: Node) -> int:
    """What that method's name says."""
    last = 0
    for zxid in s.log[p]:
        last = max(last, zxid)
    return last


def forget_vote(s: State, p: Node) -> None:
    s.voted[p] = NOBODY
    s.vote_epoch[p] = 0
    s.vote_zxid[p] = 0
    s.backers[p].clear()


def has_decided(s: State, p: Node, l: Node) -> bool:
    return s.voted[p] == l and is_quorum(s, s.backers[p])


def may_elect(s: State, l: Node, quorum: int) -> bool:
    """Whether l and these have decided for l by one vote. Nothing is said here of who outranks whom."""
    if not has_decided(s, l, l):
        return False
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1:
            looks = f != l and not is_down(s, f) and s.role[f] == LOOKING and s.link[f][l] == NONE
            if not looks or not may_vote(s, f) or not has_decided(s, f, l) or not votes_alike(s, f, l):
                return False
    return True


def elect(s: State, l: Node, quorum: int) -> None:
    """These elect l."""
    spend_election(s)
    forget_vote(s, l)
    on_elected(s, l)
    for f in range(s.NODES):
        if (quorum >> f) & 1 == 1:
            forget_vote(s, f)
            on_follow(s, f, l)
