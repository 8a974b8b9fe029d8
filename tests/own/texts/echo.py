"""The echo algorithm (Chang 1982): a wave goes out from one node of a network, and its echo comes back as a tree."""

from __future__ import annotations

from enum import IntEnum

from zabcheck.language import (
    NOBODY, NODE, Each, Field, Fields, Int, Node, NodeId, OneOf, Processes, Size, action, any_of, declare, processes,
    safety, shared,
)  # fmt: skip


class At(IntEnum):
    BEGIN = 0
    WAIT = 1
    REPLY = 2
    DONE = 3


class State(Fields):
    at: Each[Node, At]
    parent: Each[Node, Node]
    children: Each[Node, set[Node]]
    received: Each[Node, int]
    waves: Each[Node, set[Node]]
    echoes: Each[Node, set[Node]]


def state(size: Size) -> list[Field]:
    return [
        shared("at", OneOf(At), "where it is", NODE),
        shared("parent", NodeId.of(size.nodes), "from whom the wave came first", NODE),
        shared("children", Processes(size.nodes), "who has answered", NODE),
        shared("received", Int(0, size.nodes - 1), "how many neighbours it has heard", NODE),
        shared("waves", Processes(size.nodes), "who has sent it the wave", NODE),
        shared("echoes", Processes(size.nodes), "who has sent it the echo", NODE),
    ]


@action(when=lambda s, p: s.at[p] == At.BEGIN)
def begin(s: State, p: Node) -> None:
    s.at[p] = At.WAIT
    if p == 0:
        for q in set(processes(s)) - {p}:
            s.waves[q].add(p)


@action(when=lambda s, p: s.at[p] == At.WAIT and s.received[p] < s.NODES - 1)
def receive(s: State, p: Node) -> None:
    q = any_of(s, s.waves[p] | s.echoes[p])
    s.received[p] += 1
    if p != 0 and s.received[p] == 1:
        assert s.parent[p] == NOBODY
        assert q in s.waves[p]
        s.parent[p] = q
        for r in set(processes(s)) - {p, q}:
            s.waves[r].add(p)
    if q in s.echoes[p]:
        s.children[p].add(q)
    s.waves[p].discard(q)
    s.echoes[p].discard(q)


@action(when=lambda s, p: s.at[p] == At.WAIT and s.received[p] == s.NODES - 1)
def answer(s: State, p: Node) -> None:
    s.at[p] = At.REPLY


@action(when=lambda s, p: s.at[p] == At.REPLY)
def reply(s: State, p: Node) -> None:
    s.at[p] = At.DONE
    if p != 0:
        assert s.parent[p] != NOBODY
        s.echoes[s.parent[p]].add(p)


def ended(s: State) -> bool:
    """The echo has come back."""
    return s.at[0] == At.DONE


@safety(witness=ended)
def a_tree(s: State) -> bool:
    """Then each other node is a child of its parent."""
    return not ended(s) or all(p in s.children[s.parent[p]] for p in processes(s) if p != 0)


PROTOCOL = declare(__name__, state=state)
