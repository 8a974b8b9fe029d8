"""Single-decree Paxos.

Lamport, *Paxos made simple*, 2001; N acceptors, two values, ballots 1 to 3. Messages are never taken out.

- `asked`: ballots that ask for promises. `value[b]`: proposed in b, or nothing.
- Of an acceptor: `promised`, its highest ballot; `voted`, the ballot of its last vote (0: none); `votes`, of all;
  `told[b]`, the `voted` that its promise of b told, or nothing. A ballot has one value, so a vote is a ballot.
- **ask**: a ballot asks, once.
- **promise**: an acceptor promises a ballot that has asked, above `promised`.
- **propose**: a ballot without a value takes v, if for some k a majority told it at most k, and k is 0, or one told it
  k and `value[k]` is v.
- **vote**: an acceptor votes in a ballot with a value, not below `promised`, above `voted`, and promises it.

Ballots with votes of majorities have one value. Symmetric: acceptors. N = 3: 185,369 states; 4: 2,135,473.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOTHING, Each, Fields, Maybe, Node, Range, action, any_of, declare, environment, environment_step,
    is_quorum, safety, stored,
)  # fmt: skip

BALLOTS = range(1, 4)

Ballot = Annotated[int, Range(0, 3)]
Ballots = set[Annotated[int, Range(0, 3)]]


class State(Fields):
    asked: Ballots = environment("the ballots that ask for promises")
    value: Each[Ballot, Annotated[int, Maybe(Range(0, 1))]] = environment("what is proposed in a ballot")
    promised: Each[Node, Ballot] = stored("the highest ballot that it has promised")
    voted: Each[Node, Ballot] = stored("the ballot of its last vote")
    votes: Each[Node, Ballots] = stored("the ballots in which it has voted")
    told: Each[Node, Each[Ballot, Annotated[int, Maybe(Range(0, 3))]]] = stored(
        "its last vote when it promised a ballot"
    )


@environment_step
def ask(s: State) -> None:
    b = any_of(s, {b for b in BALLOTS if b not in s.asked})
    s.asked.add(b)


@action
def promise(s: State, p: Node) -> None:
    b = any_of(s, {b for b in s.asked if b > s.promised[p]})
    s.promised[p] = b
    s.told[p][b] = s.voted[p]


def is_safe(s: State, b: int, v: int) -> bool:
    """Value v is safe in ballot b."""
    return any(
        is_quorum(s, {p for p in range(s.NODES) if s.told[p][b] != NOTHING and s.told[p][b] <= k})
        and (k == 0 or (s.value[k] == v and any(s.told[p][b] == k for p in range(s.NODES))))
        for k in range(3)
    )


@environment_step
def propose(s: State) -> None:
    b = any_of(s, {b for b in BALLOTS if s.value[b] == NOTHING and any(is_safe(s, b, v) for v in range(2))})
    s.value[b] = any_of(s, {v for v in range(2) if is_safe(s, b, v)})


@action
def vote(s: State, p: Node) -> None:
    b = any_of(s, {b for b in BALLOTS if s.value[b] != NOTHING and b >= s.promised[p] and b > s.voted[p]})
    s.promised[p] = b
    s.voted[p] = b
    s.votes[p].add(b)


def is_chosen(s: State, b: int) -> bool:
    return is_quorum(s, {p for p in range(s.NODES) if b in s.votes[p]})


@safety(witness=lambda s: is_chosen(s, 1) and is_chosen(s, 3))
def one_value(s: State) -> bool:
    """Any two ballots in which a majority has voted have the same value."""
    return all(s.value[b] == s.value[c] for b in BALLOTS for c in BALLOTS if is_chosen(s, b) and is_chosen(s, c))


PROTOCOL = declare(__name__, nodes=3)
