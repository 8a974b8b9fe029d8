"""A promise to find: a thread may wait for the latch forever. Which fairness of which action excludes that?"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, OneOf, action, declare, progress, safety, shared, stored

OUTSIDE, WAITING, INSIDE = range(3)


class State(Fields):
    at: Each[Node, Annotated[int, OneOf("OUTSIDE", "WAITING", "INSIDE")]] = stored("where it is")
    latched: bool = shared("a thread has the latch")


@action(when=lambda s, p: s.at[p] == OUTSIDE, fair=False)
def wait(s: State, p: Node) -> None:
    s.at[p] = WAITING


@action(when=lambda s, p: s.at[p] == WAITING and not s.latched)
def enter(s: State, p: Node) -> None:
    s.latched = True
    s.at[p] = INSIDE


@action(when=lambda s, p: s.at[p] == INSIDE)
def leave(s: State, p: Node) -> None:
    s.latched = False
    s.at[p] = OUTSIDE


@progress
def enters(s: State, p: Node) -> bool:
    """A thread that waits enters."""
    return s.at[p] == WAITING


def someone_inside(s: State) -> bool:
    """A thread is inside."""
    return any(s.at[p] == INSIDE for p in range(s.NODES))


@safety(witness=someone_inside)
def exclusion(s: State) -> bool:
    """No two threads are inside."""
    return all(not (s.at[p] == INSIDE and s.at[q] == INSIDE) for p in range(s.NODES) for q in range(s.NODES) if p != q)


PROTOCOL = declare(__name__, nodes=2)
