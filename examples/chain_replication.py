"""Chain replication (van Renesse and Schneider, 2004): a value enters at the head, and is read at the tail.

    zabcheck --protocol example:chain_replication
    zabcheck --protocol example:chain_replication --variant anywhere     a read of what not everyone has

The chain gives processes an order, so the exploration runs without symmetry and says so.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, MessageType, Node, Range, SeqOf, Variant, action, broken, declare, ghost, observation,
    receives, safety, send, stored,
)  # fmt: skip

Place = Annotated[int, Range(0, lambda size: size.puts)]
Stored = Annotated[SeqOf[Place], AtMost(lambda size: size.puts, "--puts")]


class UPDATE(MessageType):
    place: Place
    value: Place


class ACK(MessageType):
    place: Place


class State(Fields):
    acked: Each[Node, Place] = stored("how many of them it knows to be at the tail")
    answered: Stored = ghost("what was read of the last update, read by read")
    written: Stored = ghost("the updates that clients know to be done")
    stored: Each[Node, Stored] = stored("the updates it has, in order")


def is_head(s: State, p: Node) -> bool:
    """Updates enter at the head."""
    return p == 0


def is_tail(s: State, p: Node) -> bool:
    return p == s.NODES - 1


@action(when=is_head, budget="puts")
def put(s: State, p: Node) -> None:
    take(s, p, len(s.stored[p]) + 1)


def take(s: State, p: Node, value: int) -> None:
    if value not in s.stored[p]:
        s.stored[p].append(value)
        if is_tail(s, p):
            s.acked[p] = len(s.stored[p])
            done(s, p, value)
            send(s, p, p - 1, ACK(place=len(s.stored[p])))
        else:
            send(s, p, p + 1, UPDATE(place=len(s.stored[p]), value=value))


@receives
def on_update(s: State, p: Node, m: UPDATE) -> None:
    if m.place == len(s.stored[p]) + 1:
        take(s, p, m.value)


@receives
def on_ack(s: State, p: Node, m: ACK) -> None:
    s.acked[p] = max(s.acked[p], m.place)
    if p > 0:
        send(s, p, p - 1, ACK(place=m.place))


def may_read(s: State, p: Node) -> bool:
    """Only the tail answers."""
    return is_tail(s, p) and len(s.stored[p]) > 0


@action(when=may_read, budget="reads")
def read(s: State, p: Node) -> None:
    answers(s, p, s.stored[p][len(s.stored[p]) - 1])


@observation
def done(s: State, p: Node, value: int) -> None:
    s.written.append(value)


@observation
def answers(s: State, p: Node, value: int) -> None:
    s.answered.append(value)


def all_have(s: State) -> bool:
    """The whole chain has an update."""
    return len(s.stored[s.NODES - 1]) > 0


@safety(witness=all_have)
def update_propagation(s: State) -> bool:
    """What a process has stored is a prefix of what those before it have."""
    for p in range(1, s.NODES):
        if len(s.stored[p]) > len(s.stored[p - 1]):
            return broken(f"p{p} has more than p{p - 1}")
        for k in range(len(s.stored[p])):
            if s.stored[p][k] != s.stored[p - 1][k]:
                return broken(f"p{p} and p{p - 1} differ at place {k + 1}")
    return True


def has_read(s: State) -> bool:
    """Something was read."""
    return len(s.answered) > 0


@safety(over="history", witness=has_read)
def reads_are_done(s: State) -> bool:
    """What is read was done: every process has it."""
    return all(value in s.written or broken(f"{value} was read before it was done") for value in s.answered)


def anyone(s: State, p: Node) -> bool:
    return len(s.stored[p]) > 0


PROTOCOL = declare(
    __name__,
    budgets={"puts": 2, "reads": 2},
    network="ordered",
    variants=[Variant("anywhere", "any process answers a read", {"may_read": anyone})],
)
