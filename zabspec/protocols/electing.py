"""ZAB with the db-19 lab's election for its leader oracle: what `election.py` asks of a protocol.

The paper's oracle is a black box (IV). Here whoever is in ELECTION votes, and what the votes come to
is what the oracle names; the simulator's world then lets it answer (`simulator/elections.py`).
"""

from __future__ import annotations

from dataclasses import replace

from zabspec import zab
from zabspec.authoring.declaration import volatile
from zabspec.language.python.lang import AnyMessage, Each, Node
from zabspec.protocols.election import (
    ElectionState, LookForLeader, Vote, Zxid, forget_votes, on_look_for_leader, on_vote,
)  # fmt: skip
from zabspec.zab import ELECTION, last


class State(zab.State, ElectionState):
    """ZAB's, and those of the election."""

    vote_winner: Each[Node, Node] = volatile("whom the votes elected for the iteration to come, or under way")


def last_zxid(s: State, p: Node) -> Zxid:
    """The zxid of the last transaction of h_f."""
    t = last(s.history[p])
    return Zxid(epoch=t.epoch, counter=t.counter)


def is_looking(s: State, p: Node) -> bool:
    """In ELECTION, and nobody is elected yet."""
    return s.role[p] == ELECTION and s.vote_winner[p] < 0


def elected_leader(s: State, p: Node) -> Node:
    return s.vote_winner[p]


def elected(s: State, p: Node, leader: Node) -> None:
    """The votes name a leader; the oracle answers when a connection to it can open."""
    forget_votes(s, p)
    s.vote_winner[p] = leader


def on_election_message(s: State, p: Node, m: AnyMessage) -> None:
    """LookForLeader or Vote."""
    if m.kind == LookForLeader:
        on_look_for_leader(s, p, m)
    elif m.kind == Vote:
        on_vote(s, p, m)


PROTOCOL = replace(
    zab.PROTOCOL,
    module=__name__,
    extends=("zabspec.protocols.election", "zabspec.zab"),
)
