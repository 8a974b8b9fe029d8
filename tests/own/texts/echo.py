"""The echo algorithm (Chang 1982): a wave goes out from one node of a network, and its echo comes back as a tree."""

from __future__ import annotations

from enum import IntEnum

from typing import Annotated

from zabcheck.language import NOBODY, Each, Fields, Node, Range, action, any_of, declare, processes, safety, shared


class At(IntEnum):
    BEGIN = 0
    WAIT = 1
    REPLY = 2
    DONE = 3


Received = Annotated[int, Range(0, lambda size: size.nodes - 1)]


class State(Fields):
    at: Each[Node, At] = shared("where it is")
    parent: Each[Node, Node] = shared("from whom the wave came first")
    children: Each[Node, set[Node]] = shared("who has answered")
    received: Each[Node, Received] = shared("how many neighbours it has heard")
    waves: Each[Node, set[Node]] = shared("who has sent it the wave")
    echoes: Each[Node, set[Node]] = shared("who has sent it the echo")


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


PROTOCOL = declare(__name__)
