"""A protocol with so few states that each can be looked at: what an induction says of it can be checked one by one."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each,
    Fields,
    MessageType,
    Node,
    Range,
    action,
    choose,
    declare,
    environment,
    environment_step,
    invariant,
    receives,
    safety,
    send,
    volatile,
)


class TICK(MessageType):
    n: Annotated[int, Range(0, 1)]


class STOP(MessageType): ...


class State(Fields):
    turn: Annotated[int, Range(0, 1)] = environment("a clock")
    late: bool = environment("whether it has struck")
    level: Each[Node, Annotated[int, Range(0, 2)]] = volatile("a number of each process")


def may_rise(s: State, p: Node) -> bool:
    return s.level[p] < 2


@action(when=may_rise, budget="rises")
def rise(s: State, p: Node) -> None:
    s.level[p] += 1
    send(s, p, 1 - p, TICK(n=choose(s, 2)))


def may_stop(s: State, p: Node) -> bool:
    return s.level[p] >= 2 and s.turn > 0


@action(when=may_stop)
def stop(s: State, p: Node) -> None:
    send(s, p, p, STOP())


@receives
def on_tick(s: State, p: Node, source: Node, m: TICK) -> None:
    if m.n == 1:
        s.level[p] = 1
    elif s.level[p] == 1:
        s.level[p] = 2


@receives
def on_stop(s: State, p: Node, source: Node, m: STOP) -> None:
    if source == p:
        s.level[p] = 0


def may_strike(s: State) -> bool:
    return s.turn < 1 and not s.late


@environment_step(when=may_strike, everywhere=True)
def strike(s: State) -> None:
    s.turn += 1
    s.late = s.turn == 1


def most(s: State) -> int:
    """The larger of two levels."""
    return s.level[0] if s.level[0] > s.level[1] else s.level[1]


@invariant
def stopped_when_late(s: State) -> bool:
    """Before the clock has struck, not all are at 0."""
    return s.late or most(s) > 0


@invariant
def late_at_the_end(s: State) -> bool:
    """The clock has struck when it is at its end, and not before."""
    return s.late == (s.turn == 1)


@invariant
def not_both_high(s: State) -> bool:
    """Not both levels are 2."""
    return not (s.level[0] == 2 and s.level[1] == 2)


@invariant
def early_is_low(s: State) -> bool:
    """Before the clock goes nobody is at 2."""
    return s.turn > 0 or most(s) < 2


@invariant
def no_stop_early(s: State, m: STOP) -> bool:
    """Before the clock goes no process is stopped."""
    return s.turn > 0


@invariant
def begins_high(s: State) -> bool:
    """Not so at first."""
    return s.turn > 0 or s.level[0] > 0


def anything(before: State, event: State, after: State) -> bool:
    return True


@safety(over="step", witness=anything)
def levels_stay(before: State, event: State, after: State) -> bool:
    """No step takes a level from 2 to 0."""
    return not (before.level[0] == 2 and after.level[0] == 0) and not (before.level[1] == 2 and after.level[1] == 0)


@safety(over="step", witness=anything)
def clock_goes_on(before: State, event: State, after: State) -> bool:
    """The clock never goes back."""
    return after.turn >= before.turn


PROTOCOL = declare(__name__, budgets={"rises": 1}, nodes=2)
