"""Push-pull gossip: who knows a rumor tells it so often by itself, and who does not asks.

    zabcheck --protocol example:gossip
    zabcheck --protocol example:gossip --live                        everybody comes to know
    zabcheck --protocol example:gossip --live --variant push-only    who does not know does not ask
    zabcheck --protocol example:gossip --variant parrot              an answer says more than is known

A process calls one other at a time, in any order, but everyone before anyone again.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, Range, Variant, action, any_of, declare, ghost, observation, parameter,
    progress, receives, safety, send, stored,
)  # fmt: skip

Told = Annotated[int, Range(0, lambda size: size.fanout)]


class CALL(MessageType):
    knows: bool


class ANSWER(MessageType):
    knows: bool


class State(Fields):
    knows: Each[Node, bool] = stored("it has heard the rumor")
    calling: Each[Node, bool] = stored("it waits for an answer")
    told: Each[Node, Told] = stored("how often it has told the rumor by itself")
    uncalled: Each[Node, set[Node]] = stored("whom it has not called in this round")
    origin: Node = ghost("who began")
    learned: set[Node] = ghost("who has learned the rumor")
    FANOUT: int = parameter("how often a process tells what it knows", 1)
    rumors_left: int


def begin_round(s: State, p: Node) -> None:
    for q in range(s.NODES):
        if q != p:
            s.uncalled[p].add(q)


def on_start(s: State, p: Node) -> None:
    begin_round(s, p)


@action(budget="rumors")
def invent(s: State, p: Node) -> None:
    begins(s, p)
    learn(s, p)


def learn(s: State, p: Node) -> None:
    if not s.knows[p]:
        s.knows[p] = True
        learns(s, p)


def wants(s: State, p: Node) -> bool:
    """Who knows pushes, so often and no more; who does not pulls."""
    return not s.knows[p] or s.told[p] < s.FANOUT


@action(when=lambda s, p: not s.calling[p] and wants(s, p))
def call(s: State, p: Node) -> None:
    q = any_of(s, s.uncalled[p])
    s.uncalled[p].discard(q)
    if len(s.uncalled[p]) == 0:
        begin_round(s, p)
    if s.knows[p]:
        s.told[p] += 1
    s.calling[p] = True
    send(s, p, q, CALL(knows=s.knows[p]))


def answer(s: State, p: Node) -> bool:
    return s.knows[p]


@receives
def on_call(s: State, p: Node, source: Node, m: CALL) -> None:
    if m.knows:
        learn(s, p)
    send(s, p, source, ANSWER(knows=answer(s, p)))


@receives
def on_answer(s: State, p: Node, m: ANSWER) -> None:
    s.calling[p] = False
    if m.knows:
        learn(s, p)


@observation
def begins(s: State, p: Node) -> None:
    s.origin = p


@observation
def learns(s: State, p: Node) -> None:
    s.learned.add(p)


def two_know(s: State) -> bool:
    """Two processes know the rumor."""
    return len(s.learned) > 1


@safety(over="history", witness=two_know)
def from_somebody(s: State) -> bool:
    """Nobody knows a rumor that nobody began."""
    return len(s.learned) == 0 or s.origin != NOBODY


@progress
def learned_by_all(s: State, p: Node) -> bool:
    """Once somebody has begun a rumor, everybody comes to know it."""
    return s.rumors_left == 0 and not s.knows[p]


def only_push(s: State, p: Node) -> bool:
    return s.knows[p] and s.told[p] < s.FANOUT


def always_yes(s: State, p: Node) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    budgets={"rumors": 1},
    variants=[
        Variant("push-only", "who does not know the rumor does not call", {"wants": only_push}),
        Variant("parrot", "an answer says that the rumor is known", {"answer": always_yes}),
    ],
)
