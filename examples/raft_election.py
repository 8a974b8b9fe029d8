"""Raft's election: a candidate asks for votes in a new term, and leads with those of a majority.

zabcheck --protocol example:raft_election
zabcheck --protocol example:raft_election --variant generous      a process votes for everyone
zabcheck --protocol example:raft_election --variant forgetful     a vote does not survive a crash
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, Range, Variant, action, broken, declare, forget, ghost, is_quorum,
    observation, receives, safety, send, stored, volatile,
)  # fmt: skip

FOLLOWER, CANDIDATE, LEADER = range(3)

Term = Annotated[int, Range(0, lambda size: size.elections, "--elections")]


class REQUEST_VOTE(MessageType):
    term: Term


class VOTE(MessageType):
    term: Term
    granted: bool


class HEARTBEAT(MessageType):
    term: Term


class State(Fields):
    term: Each[Node, Term] = stored("the latest term it has seen (currentTerm)")
    voted_for: Each[Node, Node] = stored("whom it voted for in this term")
    role: Each[Node, Annotated[int, OneOf("FOLLOWER", "CANDIDATE", "LEADER")]] = volatile("what it is")
    votes: Each[Node, set[Node]] = volatile("who has voted for it in this term")
    led: Each[Term, set[Node]] = ghost("who has led in a term")
    ELECTIONS: int


def may_campaign(s: State, p: Node) -> bool:
    return s.role[p] != LEADER


@action(when=may_campaign, budget="elections")
def campaign(s: State, p: Node) -> None:
    """Its election timer has run out."""
    s.term[p] += 1
    s.role[p] = CANDIDATE
    s.voted_for[p] = p
    s.votes[p].clear()
    s.votes[p].add(p)
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, REQUEST_VOTE(term=s.term[p]))


def catch_up(s: State, p: Node, term: int) -> None:
    """Whoever sees a later term follows in it."""
    if term > s.term[p]:
        s.term[p] = term
        s.role[p] = FOLLOWER
        s.voted_for[p] = NOBODY
        s.votes[p].clear()


def may_grant(s: State, p: Node, candidate: Node) -> bool:
    """One vote a term."""
    return s.voted_for[p] == NOBODY or s.voted_for[p] == candidate


@receives
def on_request_vote(s: State, p: Node, source: Node, m: REQUEST_VOTE) -> None:
    catch_up(s, p, m.term)
    granted = m.term == s.term[p] and may_grant(s, p, source)
    if granted:
        s.voted_for[p] = source
    send(s, p, source, VOTE(term=s.term[p], granted=granted))


def is_enough(s: State, p: Node) -> bool:
    return is_quorum(s, s.votes[p])


@receives
def on_vote(s: State, p: Node, source: Node, m: VOTE) -> None:
    catch_up(s, p, m.term)
    if m.term == s.term[p] and m.granted and s.role[p] == CANDIDATE:
        s.votes[p].add(source)
        if is_enough(s, p):
            s.role[p] = LEADER
            leads(s, p, s.term[p])
            for q in range(s.NODES):
                if q != p:
                    send(s, p, q, HEARTBEAT(term=s.term[p]))


@receives
def on_heartbeat(s: State, p: Node, source: Node, m: HEARTBEAT) -> None:
    catch_up(s, p, m.term)
    if m.term == s.term[p] and s.role[p] == CANDIDATE:
        s.role[p] = FOLLOWER


@observation
def leads(s: State, p: Node, term: int) -> None:
    """p leads in a term."""
    s.led[term].add(p)


def someone_has_led(s: State) -> bool:
    """A process has led."""
    return any(len(s.led[t]) > 0 for t in range(s.ELECTIONS + 1))


@safety(over="history", witness=someone_has_led)
def election_safety(s: State) -> bool:
    """At most one leader can be elected in a given term."""
    return all(len(s.led[t]) <= 1 or broken(f"{s.led[t]} have led in term {t}") for t in range(s.ELECTIONS + 1))


def terms_differ(before: State, event: State, after: State) -> bool:
    """A process has come to a later term."""
    return any(before.term[p] != after.term[p] for p in range(after.NODES))


@safety(over="step", witness=terms_differ)
def terms_grow(before: State, event: State, after: State) -> bool:
    """No process goes back to an earlier term."""
    return all(
        after.term[p] >= before.term[p] or broken(f"p{p} goes back from term {before.term[p]} to {after.term[p]}")
        for p in range(after.NODES)
    )


def always(s: State, p: Node, candidate: Node) -> bool:
    return True


def forget_vote(s: State, p: Node) -> None:
    """The vote was never written down."""
    s.voted_for[p] = NOBODY
    forget(s, p)


PROTOCOL = declare(
    __name__,
    budgets={"elections": 2, "crashes": 1},
    network="ordered",
    variants=[
        Variant("generous", "a process votes for everyone", {"may_grant": always}, rule="one vote a term"),
        Variant("forgetful", "a vote does not survive a crash", {"on_crash": forget_vote}, rule="a vote is durable"),
    ],
)
