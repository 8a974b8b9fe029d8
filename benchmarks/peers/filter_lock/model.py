"""Peterson's lock for N processes: see page.md."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, Node, OneOf, Range, any_of, broken, declare, environment, environment_step, safety,
)  # fmt: skip

IDLE, CLAIMING, WAITING, INSIDE = range(4)

Phase = Annotated[int, OneOf("IDLE", "CLAIMING", "WAITING", "INSIDE")]
Level = Annotated[int, Range(0, lambda size: size.nodes - 1)]


class State(Fields):
    phase: Each[Node, Phase] = environment("what a process does")
    level: Each[Node, Level] = environment("the level that it claims or waits at")
    last: Each[Level, Node] = environment("who came to a level last")


def some_idle(s: State) -> bool:
    return len({p for p in range(s.NODES) if s.phase[p] == IDLE}) > 0


@environment_step(when=some_idle)
def climb(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == IDLE})
    s.phase[p] = CLAIMING
    s.level[p] = 1


def some_claim(s: State) -> bool:
    return len({p for p in range(s.NODES) if s.phase[p] == CLAIMING}) > 0


@environment_step(when=some_claim)
def mark(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == CLAIMING})
    s.phase[p] = WAITING
    s.last[s.level[p]] = p


def may_pass(s: State, p: Node) -> bool:
    if s.phase[p] != WAITING:
        return False
    if s.last[s.level[p]] != p:
        return True
    for q in range(s.NODES):
        if q != p and s.level[q] >= s.level[p]:
            return False
    return True


def some_pass(s: State) -> bool:
    return len({p for p in range(s.NODES) if may_pass(s, p)}) > 0


@environment_step(when=some_pass, name="pass")
def pass_level(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if may_pass(s, p)})
    if s.level[p] == s.NODES - 1:
        s.phase[p] = INSIDE
    else:
        s.phase[p] = CLAIMING
        s.level[p] = s.level[p] + 1


def may_leave(s: State) -> bool:
    return len({p for p in range(s.NODES) if s.phase[p] == INSIDE}) > 0


@environment_step(when=may_leave)
def leave(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == INSIDE})
    s.phase[p] = IDLE
    s.level[p] = 0


def reached(s: State) -> bool:
    """A process is inside."""
    return len({p for p in range(s.NODES) if s.phase[p] == INSIDE}) > 0


@safety(witness=reached)
def one_inside(s: State) -> bool:
    """At most one process is inside."""
    if len({p for p in range(s.NODES) if s.phase[p] == INSIDE}) > 1:
        return broken("two are inside")
    return True


PROTOCOL = declare(__name__, nodes=3)
