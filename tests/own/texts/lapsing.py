"""A process that forgets whom it follows, and closes nothing."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY,
    Each,
    Fields,
    MessageType,
    Node,
    OneOf,
    action,
    connect,
    declare,
    forget,
    receives,
    safety,
    send_to_follower,
    send_to_leader,
    volatile,
)

ELECTION, FOLLOWING, LEADING = range(3)


class ASK(MessageType): ...


class TELL(MessageType):
    who: Node


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("ELECTION", "FOLLOWING", "LEADING")]] = volatile("the role")
    leader: Each[Node, Node] = volatile("whom it follows")
    told: Each[Node, Node] = volatile("who told it")


def on_oracle(s: State, p: Node, l: Node) -> None:
    s.role[p] = LEADING if l == p else FOLLOWING
    if l != p:
        s.leader[p] = l
        connect(s, p, l)
        send_to_leader(s, p, ASK())


@receives
def on_ask(s: State, l: Node, f: Node, m: ASK) -> None:
    send_to_follower(s, l, f, TELL(who=l))


@receives
def on_tell(s: State, f: Node, m: TELL) -> None:
    s.told[f] = m.who


def may_lapse(s: State, p: Node) -> bool:
    return s.role[p] == FOLLOWING


@action(when=may_lapse, budget="lapses")
def lapses(s: State, p: Node) -> None:
    forget(s, p)


def follows_another(s: State) -> bool:
    """Somebody follows the third."""
    return s.leader[0] == 2 or s.leader[1] == 2


@safety(witness=follows_another)
def told_by_its_leader(s: State) -> bool:
    """Whoever was told was told by the one that it follows."""
    for p in range(s.NODES):
        if s.told[p] != NOBODY and s.told[p] != s.leader[p]:
            return False
    return True


PROTOCOL = declare(
    __name__,
    budgets={"lapses": 2},
    flight=lambda size: 4,
    world="connections",
)
