"""A rule to restore: two processes can lead. Repair it without a new message or field, within the same budgets."""

from __future__ import annotations

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, action, broken, declare, is_quorum, receives, safety, send, volatile,
)  # fmt: skip


class ASK(MessageType): ...


class VOTE(MessageType): ...


class State(Fields):
    voted_for: Each[Node, Node] = volatile("whom it voted for")
    votes: Each[Node, set[Node]] = volatile("who has voted for it")


@action(budget="campaigns")
def campaign(s: State, p: Node) -> None:
    for q in range(s.NODES):
        send(s, p, q, ASK())


@receives
def on_ask(s: State, p: Node, source: Node, m: ASK) -> None:
    if s.voted_for[p] in (NOBODY, source):
        s.voted_for[p] = source
        send(s, p, source, VOTE())


@receives
def on_vote(s: State, p: Node, source: Node, m: VOTE) -> None:
    s.votes[p].add(source)


def someone_leads(s: State) -> bool:
    """A process has the votes of a quorum."""
    return any(is_quorum(s, s.votes[p]) for p in range(s.NODES))


@safety(witness=someone_leads)
def one_leader(s: State) -> bool:
    """At most one process has the votes of a quorum."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and is_quorum(s, s.votes[p]) and is_quorum(s, s.votes[q]):
                return broken(f"p{p} has the votes of {s.votes[p]}, and p{q} those of {s.votes[q]}")
    return True


PROTOCOL = declare(__name__, budgets={"campaigns": 2, "crashes": 1})
