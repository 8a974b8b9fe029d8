"""Two jugs, of three and five gallons: measure four. Every mark stands alone, without parentheses."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Fields, Node, Range, action, declare, safety, shared


class State(Fields):
    small: Annotated[int, Range(0, 3)] = shared("gallons in the small jug")
    big: Annotated[int, Range(0, 5)] = shared("gallons in the big jug")


@action
def fill_small(s: State, p: Node) -> None:
    """Fill the small jug."""
    s.small = 3


@action
def fill_big(s: State, p: Node) -> None:
    """Fill the big jug."""
    s.big = 5


@action
def empty_small(s: State, p: Node) -> None:
    """Empty the small jug."""
    s.small = 0


@action
def empty_big(s: State, p: Node) -> None:
    """Empty the big jug."""
    s.big = 0


@action
def small_to_big(s: State, p: Node) -> None:
    """Pour the small jug into the big one."""
    poured = min(s.small, 5 - s.big)
    s.small = s.small - poured
    s.big = s.big + poured


@action
def big_to_small(s: State, p: Node) -> None:
    """Pour the big jug into the small one."""
    poured = min(s.big, 3 - s.small)
    s.big = s.big - poured
    s.small = s.small + poured


@safety
def never_four(s: State) -> bool:
    """The big jug never holds four gallons."""
    return s.big != 4


PROTOCOL = declare(__name__, nodes=1)
