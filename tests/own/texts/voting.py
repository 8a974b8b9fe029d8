"""Acceptors vote in two ballots; a value is chosen if a majority votes for it in one (the abstraction of Paxos)."""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, NOTHING, Each, Fields, Maybe, Node, Range, action, any_of, broken, declare, is_quorum, processes,
    safety, shared,
)  # fmt: skip

BALLOTS = range(2)
Ballot = Annotated[int, Range(0, 1)]
Acceptor = NewType("Acceptor", Node)
Value = NewType("Value", Node)


class State(Fields):
    votes: Each[Acceptor, Each[Ballot, Value]] = shared("its vote in each ballot")
    most: Each[Acceptor, Annotated[int, Maybe(Range(0, 1))]] = shared("the highest ballot that it has entered")


def is_silent(s: State, q: Acceptor, low: int, high: int) -> bool:
    return all(s.votes[q][c] == NOBODY for c in BALLOTS if low <= c < high)


def is_safe(s: State, b: int, v: Value) -> bool:
    """Whether a majority has entered b, and voted for v the last time before, if any of it voted."""
    there = {q for q in processes(s, Acceptor) if s.most[q] != NOTHING and s.most[q] >= b}
    if is_quorum(s, {q for q in there if is_silent(s, q, 0, b)}, Acceptor):
        return True
    for c in BALLOTS:
        late = {q for q in there if is_silent(s, q, c + 1, b)}
        if c < b and is_quorum(s, late, Acceptor) and any(s.votes[q][c] == v for q in late):
            return True
    return False


def may_vote(s: State, p: Acceptor, b: int, v: Value) -> bool:
    ahead = s.most[p] != NOTHING and s.most[p] > b
    alike = all(s.votes[q][b] in (NOBODY, v) for q in processes(s, Acceptor))
    return not ahead and s.votes[p][b] == NOBODY and alike and is_safe(s, b, v)


@action
def enter(s: State, p: Acceptor) -> None:
    s.most[p] = any_of(s, {b for b in BALLOTS if s.most[p] == NOTHING or s.most[p] < b})


@action
def vote(s: State, p: Acceptor) -> None:
    b = any_of(s, {b for b in BALLOTS if any(may_vote(s, p, b, v) for v in processes(s, Value))})
    s.votes[p][b] = any_of(s, {v for v in processes(s, Value) if may_vote(s, p, b, v)})
    s.most[p] = b


def is_chosen(s: State, b: int, v: Value) -> bool:
    return is_quorum(s, {q for q in processes(s, Acceptor) if s.votes[q][b] == v}, Acceptor)


def one_chosen(s: State) -> bool:
    """A value is chosen."""
    return any(is_chosen(s, b, v) for b in BALLOTS for v in processes(s, Value))


@safety(witness=one_chosen)
def consistent(s: State) -> bool:
    """At most one value is chosen."""
    found = {v for v in processes(s, Value) if any(is_chosen(s, b, v) for b in BALLOTS)}
    return len(found) <= 1 or broken(f"{found} are chosen")


PROTOCOL = declare(__name__, roles={"acceptor": 3, "value": 2})
