"""Fast leader election as the db-19 lab states it (its Phase 0): votes for the server with the
latest last zxid, then the highest id.

A protocol that uses it provides `last_zxid(s, p)`, what else a vote carries (`peer_epoch`) and what
being elected means (`elected`, `answer_vote`). The lab's readings 3 and 7 settle what its text
leaves open: a better vote makes a process adopt the voter, and votes carry the sender's own zxid.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import Epoch, Range, volatile
from zabspec.language.python.lang import (
    NOBODY, AnyMessage, Each, Fields, MessageType, Node, RecordType, State, is_quorum, step,
)  # fmt: skip
from zabspec.worlds.actor import ELECTION_TIMER, arm_timer, send


class Zxid(RecordType):
    """A zxid, as votes have it."""

    epoch: Epoch
    counter: Annotated[int, Range(0, lambda size: size.txns, "--txns")]


class LookForLeader(MessageType):
    src_id: Node
    last_zxid: Zxid
    peer_epoch: Epoch


class Vote(MessageType):
    voter_id: Node
    last_zxid: Zxid
    peer_epoch: Epoch
    leader_id: Node


class ElectionState(Fields):
    """What a process keeps in memory about an election."""

    vote_target_id: Each[Node, Node] = volatile("whom it votes for")
    vote_target_zxid: Each[Node, Zxid] = volatile("the last zxid that came with that vote")
    vote_view: Each[Node, Each[Annotated[int, Range(0, lambda size: size.nodes - 1)], Node]] = volatile(
        "for each voter, the leader it named last"
    )


def broadcast(s: State, p: Node, m: AnyMessage) -> None:
    """To every peer in ascending id, never to oneself (reading 12)."""
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, m)


def zxid_less(a: Zxid, b: Zxid) -> bool:
    """Lexicographic: epoch, then counter."""
    return a.epoch < b.epoch or (a.epoch == b.epoch and a.counter < b.counter)


def own_vote(s: State, p: Node) -> None:
    """Vote for oneself, with a cleared view."""
    s.vote_target_id[p] = p
    s.vote_target_zxid[p] = last_zxid(s, p)
    for v in range(s.NODES):
        s.vote_view[p][v] = NOBODY
    s.vote_view[p][p] = p


def forget_votes(s: State, p: Node) -> None:
    """The election is over: what was voted is not looked at before the next, which begins by
    setting it."""
    s.vote_target_id[p] = NOBODY
    s.vote_target_zxid[p] = Zxid(epoch=0, counter=0)
    for v in range(s.NODES):
        s.vote_view[p][v] = NOBODY


@step("looking")
def campaign(s: State, p: Node) -> None:
    """On entering Looking: own vote, both broadcasts, the timer armed again (reading 4)."""
    own_vote(s, p)
    broadcast(s, p, LookForLeader(src_id=p, last_zxid=last_zxid(s, p), peer_epoch=s.current_epoch[p]))
    broadcast(s, p, Vote(voter_id=p, last_zxid=last_zxid(s, p), peer_epoch=s.current_epoch[p], leader_id=p))
    arm_timer(s, p, ELECTION_TIMER)
    check_election(s, p)


@step("vote")
def count_vote(s: State, p: Node, voter: Node, zxid: Zxid, leader: Node) -> None:
    """A vote while Looking: adopt the voter if it is better, and tally."""
    if zxid_less(s.vote_target_zxid[p], zxid) or (s.vote_target_zxid[p] == zxid and voter > s.vote_target_id[p]):
        s.vote_target_id[p] = voter
        s.vote_target_zxid[p] = zxid
        for v in range(s.NODES):
            s.vote_view[p][v] = NOBODY
        s.vote_view[p][p] = voter
        broadcast(s, p, Vote(voter_id=p, last_zxid=last_zxid(s, p), peer_epoch=s.current_epoch[p], leader_id=voter))
    s.vote_view[p][voter] = leader
    check_election(s, p)


def check_election(s: State, p: Node) -> None:
    """A quorum of the view names the process's own target: it is elected."""
    if is_quorum(s, {v for v in range(s.NODES) if s.vote_view[p][v] == s.vote_target_id[p]}):
        elected(s, p, s.vote_target_id[p])


def on_look_for_leader(s: State, p: Node, m: LookForLeader) -> None:
    """LookForLeader counts as a vote of its sender for itself (reading 7)."""
    on_vote_of(s, p, m.src_id, m.last_zxid, m.src_id)


def on_vote(s: State, p: Node, m: Vote) -> None:
    """A vote."""
    on_vote_of(s, p, m.voter_id, m.last_zxid, m.leader_id)


def on_vote_of(s: State, p: Node, voter: Node, zxid: Zxid, leader: Node) -> None:
    """A process that is not Looking answers the sender alone, with a vote that names its leader."""
    if is_looking(s, p):
        count_vote(s, p, voter, zxid, leader)
    else:
        vote = Vote(
            voter_id=p, last_zxid=last_zxid(s, p), peer_epoch=s.current_epoch[p], leader_id=elected_leader(s, p)
        )
        send(s, p, voter, vote)


# --- what the protocol provides ----------------------------------------------------------------


def last_zxid(s: State, p: Node) -> Zxid:
    """The zxid of the last transaction of p's history; zero when it is empty."""
    return Zxid(epoch=0, counter=0)


def is_looking(s: State, p: Node) -> bool:
    """Whether p looks for a leader."""
    return True


def elected_leader(s: State, p: Node) -> Node:
    """The leader of a process that is not Looking."""
    return -1


def elected(s: State, p: Node, leader: Node) -> None:
    """The election ended at p with that leader, possibly itself."""
