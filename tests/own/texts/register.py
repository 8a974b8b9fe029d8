"""A last-writer-wins register, replicated by anti-entropy: who gossips sends what it has, and the later write wins."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, RecordType, Variant, action, any_process, broken, declare, ghost,
    observation, receives, safety, send, stored,
)  # fmt: skip

Shown = Annotated[int, Range(0, lambda size: size.writes)]
Clock = Annotated[int, Range(0, lambda size: size.writes, "--writes")]


class GOSSIP(MessageType):
    write: Write


class Write(RecordType, ordered=True):
    clock: Clock
    value: Clock


class State(Fields):
    latest: Each[Node, Write] = stored("the latest write it knows")
    shown: Each[Node, Shown] = ghost("the clock of what it showed last")
    WRITES: int


@action(budget="writes")
def write(s: State, p: Node) -> None:
    s.latest[p] = Write(clock=s.latest[p].clock + 1, value=s.latest[p].value)
    shows(s, p, s.latest[p].clock)


@action(budget="gossips")
def gossip(s: State, p: Node) -> None:
    send(s, p, any_process(s), GOSSIP(write=s.latest[p]))


def wins(s: State, p: Node, w: Write) -> bool:
    return w > s.latest[p]


@receives
def on_gossip(s: State, p: Node, m: GOSSIP) -> None:
    if wins(s, p, m.write):
        s.latest[p] = m.write
        shows(s, p, m.write.clock)


@observation
def shows(s: State, p: Node, clock: int) -> None:
    s.shown[p] = clock


def two_know(s: State) -> bool:
    """Two replicas have shown something."""
    count = 0
    for p in range(s.NODES):
        if s.shown[p] > 0:
            count = count + 1
    return count > 1


def moved(before: State, event: State, after: State) -> bool:
    """A replica shows something."""
    return two_know(after)


@safety(over="step", witness=moved)
def no_step_back(before: State, event: State, after: State) -> bool:
    """No replica goes back to an earlier write."""
    for p in range(after.NODES):
        if after.latest[p] < before.latest[p]:
            return broken(f"p{p} goes back to {after.latest[p]}")
    return True


def always(s: State, p: Node, w: Write) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    budgets={"writes": 2, "gossips": 2},
    variants=[Variant("last-received", "what comes last wins", {"wins": always})],
)
