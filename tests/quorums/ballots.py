"""A ballot: processes ask for votes, each votes once, and who has the votes of a quorum leads. It is for tests: two
lead where quorums do not intersect."""

from __future__ import annotations

from zabcheck.language import (
    NOBODY,
    Each,
    Fields,
    Members,
    MessageType,
    Node,
    Variant,
    action,
    broken,
    declare,
    is_quorum,
    receives,
    safety,
    send,
    stored,
    volatile,
)


class ASK(MessageType): ...


class VOTE(MessageType): ...


class State(Fields):
    voted: Each[Node, Node] = stored("whom it voted for")
    asked: Each[Node, bool] = volatile("it has asked for votes")
    votes: Each[Node, set[Node]] = volatile("who voted for it")
    leads: Each[Node, bool] = volatile("it has the votes of a quorum")


def on_start(s: State, p: Node) -> None:
    s.voted[p] = NOBODY


def may_ask(s: State, p: Node) -> bool:
    return not s.asked[p]


@action(when=may_ask, budget="asks")
def ask(s: State, p: Node) -> None:
    """It asks everybody, itself among them."""
    s.asked[p] = True
    for q in range(s.NODES):
        send(s, p, q, ASK())


@receives
def on_ask(s: State, p: Node, source: Node, m: ASK) -> None:
    if s.voted[p] == NOBODY:
        s.voted[p] = source
        send(s, p, source, VOTE())


@receives
def on_vote(s: State, p: Node, source: Node, m: VOTE) -> None:
    if not s.leads[p]:
        s.votes[p].add(source)
        if enough(s, s.votes[p]):
            s.leads[p] = True


def enough(s: State, members: Members) -> bool:
    """These, or more, decide."""
    return is_quorum(s, members)


def votes_of_a_quorum(s: State, p: Node) -> bool:
    """Whether those that voted for p are a quorum."""
    return is_quorum(s, {q for q in range(s.NODES) if s.voted[q] == p})


def somebody_leads(s: State) -> bool:
    for p in range(s.NODES):
        if s.leads[p]:
            return True
    return False


@safety(witness=somebody_leads)
def one_leads(s: State) -> bool:
    """At most one process leads."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p != q and s.leads[p] and s.leads[q]:
                return broken(f"p{p} leads, and so does p{q}")
    return True


@safety(witness=somebody_leads)
def who_leads_has_a_quorum(s: State) -> bool:
    """A quorum has voted for who leads."""
    for p in range(s.NODES):
        if s.leads[p] and not votes_of_a_quorum(s, p):
            return broken(f"p{p} leads, with the votes of { {q for q in range(s.NODES) if s.voted[q] == p} }")
    return True


def half(s: State, members: Members) -> bool:
    """Half of the processes are enough."""
    return 2 * len(members) >= s.NODES


PROTOCOL = declare(
    __name__,
    budgets={"asks": 2},
    flight=lambda size: 2 * size.nodes,
    variants=[Variant("half", "half of the processes decide", {"enough": half})],
)
