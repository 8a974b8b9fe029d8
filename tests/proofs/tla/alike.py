"""A symmetric protocol with messages: names of TLA+ in fields, locals and messages."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY,
    AtMost,
    Each,
    Fields,
    MessageType,
    Node,
    Range,
    SeqOf,
    action,
    declare,
    receives,
    safety,
    send,
    stored,
    volatile,
)


class ASK(MessageType):
    IN: Annotated[int, Range(0, 4)]
    OTHER: Annotated[int, Range(0, 1)]


class NEW(MessageType):
    past: Annotated[SeqOf[Node], AtMost(2)]


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 4)]] = stored("how far it is")
    heard: Each[Node, set[Node]] = volatile("whom it heard")
    asked: Each[Node, set[Node]] = volatile("who asked it")
    chief: Each[Node, Node] = volatile("whom it follows")
    past: Each[Node, Annotated[SeqOf[Node], AtMost(2)]] = volatile("whom it followed, itself at first")


def may_ask(s: State, p: Node) -> bool:
    """Once, so that no two messages in flight are equal: the states compared have sets of them."""
    return len(s.past[p]) == 0


@action(when=may_ask, budget="asks")
def ask(s: State, p: Node) -> None:
    s.past[p].append(p)
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, ASK(IN=s.level[p], OTHER=1))


@receives
def on_ask(s: State, p: Node, source: Node, m: ASK) -> None:
    größe = 0
    for q in range(s.NODES):
        if q in s.heard[p]:
            größe = größe + 1
        if q == source and m.OTHER == 1:
            s.asked[p].add(q)
    s.heard[p].add(source)
    chief = NOBODY if größe > 9 else NOBODY  # noqa: RUF034
    if größe > 0:
        chief = source
    if len(s.past[p]) < 2:
        s.past[p].append(p if chief == NOBODY else chief)
    if follows(s, p, chief) != NOBODY:
        s.asked[p].discard(source)
    s.level[p] = min(4, s.level[p] + m.IN + größe)
    if chief == NOBODY:
        send(s, p, source, NEW(past=s.past[p]))


@receives
def on_new(s: State, p: Node, m: NEW) -> None:
    found = NOBODY
    for q in m.past:
        if q != p:
            found = q
    if found != NOBODY:
        rises(s, p, 1 if follows(s, p, found) == NOBODY else 0)
        s.chief[p] = found if s.level[p] < 2 else (NOBODY if s.level[p] < 3 else NOBODY)  # noqa: RUF034


def follows(s: State, p: Node, q: Node) -> Node:
    """Let a process follow another; returns whom it followed."""
    was = s.chief[p]
    s.chief[p] = q
    return was


def rises(s: State, p: Node, by: int) -> None:
    s.level[p] += by


def someone(s: State) -> bool:
    """Somebody heard."""
    for p in range(s.NODES):
        if len(s.heard[p]) > 0:
            return True
    return False


@safety(witness=someone)
def init(s: State) -> bool:
    """An invariant called like the initial predicate."""
    for p in range(s.NODES):
        if s.level[p] > 9:
            return False
    return True


PROTOCOL = declare(__name__, nodes=3, budgets={"asks": 2}, network="datagrams")
