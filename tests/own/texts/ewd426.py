"""A self-stabilizing token ring (Dijkstra: EWD426, 1974)."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, Node, Range, action, any_of, declare, initial, processes, progress, safety, shared,
)  # fmt: skip

VALUES = 6


class State(Fields):
    counter: Each[Node, Annotated[int, Range(0, VALUES - 1)]] = shared("what its successor compares with its own")


@initial
def anyhow(s: State) -> None:
    for p in processes(s):
        s.counter[p] = any_of(s, range(VALUES))


def has_token(s: State, p: Node) -> bool:
    before = s.counter[p - 1 if p > 0 else s.NODES - 1]
    return (s.counter[p] == before) == (p == 0)


@action(when=has_token)
def move(s: State, p: Node) -> None:
    s.counter[p] = (s.counter[p] + 1) % VALUES if p == 0 else s.counter[p - 1]


def unique(s: State) -> bool:
    """There is one token."""
    return sum(has_token(s, p) for p in processes(s)) == 1


@safety(witness=unique)
def a_token(s: State) -> bool:
    """There is a token."""
    return any(has_token(s, p) for p in processes(s))


@safety(over="step", witness=lambda before, event, after: unique(before))
def stays_unique(before: State, event: State, after: State) -> bool:
    """A token that is the only one stays so."""
    return not unique(before) or unique(after)


@progress
def several(s: State, p: Node) -> bool:
    """There is one token in the end."""
    return not unique(s)


PROTOCOL = declare(__name__, nodes=6)
