"""A bridge of a single lane: cars of two directions, which enter in the order of their arrival."""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    AtMost,
    Each,
    Fields,
    Node,
    Range,
    SeqOf,
    action,
    broken,
    declare,
    initial,
    is_a,
    processes,
    progress,
    safety,
    shared,
)

Right = NewType("Right", Node)
Left = NewType("Left", Node)
FIRST, LAST = 4, 5  # the bridge
END = 8
Queue = Annotated[SeqOf[Node], AtMost(4)]


class State(Fields):
    at: Each[Node, Annotated[int, Range(1, END)]] = shared("where it is")
    waiting: Queue = shared("who waits for the bridge")


@initial
def start(s: State) -> None:
    for c in processes(s, Right):
        s.at[c] = END


def on_bridge(s: State, c: Node) -> bool:
    return s.at[c] in (FIRST, LAST)


def following(s: State, c: Node) -> int:
    if is_a(s, c, Right):
        return s.at[c] - 1 if s.at[c] > 1 else END
    return s.at[c] + 1 if s.at[c] < END else 1


def move(s: State, c: Node) -> None:
    s.at[c] = following(s, c)


def arrives(s: State, c: Node) -> None:
    if s.at[c] == (LAST + 1 if is_a(s, c, Right) else FIRST - 1):
        s.waiting.append(c)


def is_free(s: State, x: int) -> bool:
    return all(s.at[c] != x for c in processes(s))


@action(when=lambda s, c: following(s, c) not in (FIRST, LAST))
def move_outside(s: State, c: Node) -> None:
    move(s, c)
    arrives(s, c)


@action(when=lambda s, c: on_bridge(s, c) and is_free(s, following(s, c)))
def move_inside(s: State, c: Node) -> None:
    move(s, c)
    arrives(s, c)


def may_enter(s: State, c: Node) -> bool:
    if len(s.waiting) == 0 or s.waiting[0] != c:
        return False
    if not any(on_bridge(s, d) for d in processes(s)):
        return True
    same = all(not on_bridge(s, d) or is_a(s, d, Right) == is_a(s, c, Right) for d in processes(s))
    return not on_bridge(s, c) and same and is_free(s, following(s, c))


@action(when=may_enter)
def enter(s: State, c: Node) -> None:
    move(s, c)
    s.waiting.pop(0)


def occupied(s: State) -> bool:
    """Two cars are on the bridge."""
    return sum(1 for c in processes(s) if on_bridge(s, c)) == 2


@safety(witness=occupied)
def no_crash(s: State) -> bool:
    """On the bridge no two cars are at one place, or go in two directions."""
    for c in processes(s):
        for d in processes(s):
            if c != d and on_bridge(s, c) and on_bridge(s, d):
                if s.at[c] == s.at[d] or is_a(s, c, Right) != is_a(s, d, Right):
                    return broken(f"p{c} and p{d} meet")
    return True


@progress
def enters(s: State, c: Node) -> bool:
    """Every car enters the bridge again and again."""
    return not on_bridge(s, c)


@progress
def leaves(s: State, c: Node) -> bool:
    """Every car leaves the bridge."""
    return on_bridge(s, c)


PROTOCOL = declare(__name__, roles={"right": 2, "left": 2})
