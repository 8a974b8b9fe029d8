"""A group whose members change: each view is agreed on by a majority of the one before it.

    zabcheck --protocol example:views
    zabcheck --protocol example:views --variant by-the-new     a majority of the new view is enough

Two processes found the group. Another one joins, and who retires leaves once it knows a view without itself.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Variant, action, any_process, broken, declare, is_quorum, joins, leaves,
    parameter, receives, safety, send, stored, volatile,
)  # fmt: skip

Number = Annotated[int, Range(0, lambda size: size.views, "--views")]


class JOIN(MessageType): ...


class ACCEPT(MessageType):
    number: Number


class PROPOSE(MessageType):
    number: Number
    view: set[Node]


class VIEW(MessageType):
    number: Number
    view: set[Node]


class State(Fields):
    number: Each[Node, Number] = stored("of the view that it knows")
    view: Each[Node, set[Node]] = stored("who is in it")
    accepted: Each[Node, Number] = stored("the largest number of a view that it has accepted")
    proposed: Each[Node, set[Node]] = volatile("the next view, as it proposes it")
    agreed: Each[Node, set[Node]] = volatile("who has accepted that")
    members: set[Node]
    VIEWS: int = parameter("the largest number of a view", 1)


def on_start(s: State, p: Node) -> None:
    if p in s.members:
        s.view[p] = s.members


@joins()
def join(s: State, p: Node) -> None:
    send(s, p, any_process(s), JOIN())


def may_propose(s: State, p: Node) -> bool:
    return p in s.view[p] and len(s.proposed[p]) == 0 and s.number[p] < s.VIEWS


@receives
def on_join(s: State, p: Node, source: Node, m: JOIN) -> None:
    if may_propose(s, p):
        s.proposed[p] = s.view[p]
        s.proposed[p].add(source)
        propose(s, p)


@action(when=may_propose, budget="retirements")
def retire(s: State, p: Node) -> None:
    s.proposed[p] = s.view[p]
    s.proposed[p].discard(p)
    propose(s, p)


def propose(s: State, p: Node) -> None:
    for q in range(s.NODES):
        if q in s.view[p] or q in s.proposed[p]:
            send(s, p, q, PROPOSE(number=s.number[p] + 1, view=s.proposed[p]))


@receives
def on_propose(s: State, p: Node, source: Node, m: PROPOSE) -> None:
    if s.number[p] < m.number and s.accepted[p] < m.number:
        s.accepted[p] = m.number
        send(s, p, source, ACCEPT(number=m.number))


def enough(s: State, p: Node) -> bool:
    """Whether a view is agreed on: by a majority of the view before it."""
    return is_quorum(s, s.agreed[p], s.view[p])


@receives
def on_accept(s: State, p: Node, source: Node, m: ACCEPT) -> None:
    if m.number == s.number[p] + 1 and len(s.proposed[p]) > 0:
        s.agreed[p].add(source)
        if enough(s, p):
            for q in range(s.NODES):
                if q in s.view[p] or q in s.proposed[p]:
                    send(s, p, q, VIEW(number=m.number, view=s.proposed[p]))


@receives
def on_view(s: State, p: Node, m: VIEW) -> None:
    if m.number > s.number[p]:
        s.number[p] = m.number
        s.view[p] = m.view
        s.proposed[p].clear()
        s.agreed[p].clear()


def is_out(s: State, p: Node) -> bool:
    return s.number[p] > 0 and p not in s.view[p]


@leaves(when=is_out)
def leave(s: State, p: Node) -> None:
    """It is in no view that it knows."""


def two_know(s: State) -> bool:
    """Two processes know a new view."""
    return any(p != q and s.number[p] > 0 and s.number[q] > 0 for p in range(s.NODES) for q in range(s.NODES))


@safety(witness=two_know)
def one_view(s: State) -> bool:
    """No two views have one number."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if s.number[p] > 0 and s.number[p] == s.number[q] and s.view[p] != s.view[q]:
                return broken(f"view {s.number[p]} is {s.view[p]} to p{p}, and {s.view[q]} to p{q}")
    return True


def by_the_new(s: State, p: Node) -> bool:
    return is_quorum(s, s.agreed[p], s.proposed[p])


PROTOCOL = declare(
    __name__,
    members=2,
    budgets={"retirements": 1},
    variants=[Variant("by-the-new", "a majority of the new view is enough", {"enough": by_the_new})],
)
