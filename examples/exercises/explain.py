"""A variant to explain: what does `hasty` need to violate agreement? Set the smallest budgets in the last lines."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, Variant, action, broken, declare, receives, safety, send, stored, volatile,
)  # fmt: skip

WORKING, PREPARED, COMMITTED, ABORTED = range(4)

Phase = Annotated[int, OneOf("WORKING", "PREPARED", "COMMITTED", "ABORTED")]


class PREPARE(MessageType): ...


class YES(MessageType): ...


class COMMIT(MessageType): ...


class State(Fields):
    phase: Each[Node, Phase] = stored("where it stands")
    agreed: Each[Node, set[Node]] = volatile("of a coordinator: who voted yes")


def is_working(s: State, p: Node) -> bool:
    return s.phase[p] == WORKING


@action(when=is_working, budget="begins")
def begin(s: State, p: Node) -> None:
    for q in range(s.NODES):
        send(s, p, q, PREPARE())


@action(when=is_working, budget="refusals")
def refuse(s: State, p: Node) -> None:
    s.phase[p] = ABORTED


@receives
def on_prepare(s: State, p: Node, source: Node, m: PREPARE) -> None:
    if s.phase[p] == WORKING:
        s.phase[p] = PREPARED
        send(s, p, source, YES())


def enough(s: State, p: Node) -> bool:
    return len(s.agreed[p]) == s.NODES


def all_but_one(s: State, p: Node) -> bool:
    return len(s.agreed[p]) >= s.NODES - 1


@receives
def on_yes(s: State, p: Node, source: Node, m: YES) -> None:
    s.agreed[p].add(source)
    if enough(s, p):
        for q in range(s.NODES):
            send(s, p, q, COMMIT())


@receives
def on_commit(s: State, p: Node, m: COMMIT) -> None:
    if s.phase[p] == PREPARED:
        s.phase[p] = COMMITTED


def someone_committed(s: State) -> bool:
    """A process has committed."""
    return any(s.phase[p] == COMMITTED for p in range(s.NODES))


@safety(witness=someone_committed)
def agreement(s: State) -> bool:
    """No process commits and another aborts."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.phase[p] == COMMITTED and s.phase[q] == ABORTED:
                return broken(f"p{p} has committed, and p{q} has aborted")
    return True


PROTOCOL = declare(
    __name__,
    budgets={"begins": 0, "refusals": 0, "crashes": 0},
    variants=[Variant("hasty", "all votes but one are enough", {"enough": all_but_one})],
)
