"""A leader tells its followers of one of them, which they keep: processes in messages, and in fields of each pair."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, broken, connect, declare, disconnect, forget, receives, safety,
    send_to_follower, send_to_leader, volatile,
)  # fmt: skip

LOOKING, FOLLOWING, LEADING = range(3)


class HELLO(MessageType):
    who: Node


class NAMED(MessageType):
    who: Node


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")
    named: Each[Node, Node] = volatile("whom its leader named")
    heard: Each[Node, Each[Node, Node]] = volatile("as a leader: whom each follower named")


def on_oracle(s: State, p: Node, l: Node) -> None:
    if l == p:
        s.role[p] = LEADING
    else:
        s.role[p] = FOLLOWING
        s.leader[p] = l
        connect(s, p, l)
        send_to_leader(s, p, HELLO(who=p))


@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    s.heard[l][f] = m.who
    for q in range(s.NODES):
        send_to_follower(s, l, q, NAMED(who=f))


@receives
def on_named(s: State, f: Node, m: NAMED) -> None:
    s.named[f] = m.who


def on_leader_lost(s: State, f: Node) -> None:
    disconnect(s, f)
    forget(s, f)


def one_is_named(s: State) -> bool:
    """A follower knows of a process."""
    for p in range(s.NODES):
        if s.named[p] != NOBODY:
            return True
    return False


@safety(witness=one_is_named)
def named_follows(s: State) -> bool:
    """Nobody is named who leads."""
    for p in range(s.NODES):
        if s.named[p] != NOBODY and s.role[s.named[p]] == LEADING:
            return broken(f"p{p} was told of {s.named[p]}, which leads")
    return True


PROTOCOL = declare(
    __name__,
    budgets={"losses": 0, "crashes": 0},
    nodes=3,
    world="connections",
    flight=lambda size: 4,
)
