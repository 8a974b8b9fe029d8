"""Who has the lowest number leads a ring (Chang and Roberts, 1979)."""

from __future__ import annotations

from enum import IntEnum

from zabcheck.language import Each, Fields, Node, action, any_of, declare, initial, processes, progress, safety, shared


class Stands(IntEnum):
    CANDIDATE = 0
    LOST = 1
    WON = 2


class State(Fields):
    initiates: Each[Node, bool] = shared("it begins the election")
    begun: Each[Node, bool] = shared("it has begun")
    stands: Each[Node, Stands] = shared("how it stands")
    arrived: Each[Node, set[Node]] = shared("the numbers that it has yet to receive")


@initial
def who_initiates(s: State) -> None:
    for p in processes(s):
        s.initiates[p] = any_of(s, {False, True})


def successor(s: State, p: Node) -> Node:
    return p + 1 if p < s.NODES - 1 else 0


@action(when=lambda s, p: not s.begun[p])
def begin(s: State, p: Node) -> None:
    s.begun[p] = True
    if s.initiates[p]:
        s.arrived[successor(s, p)].add(p)
    else:
        s.stands[p] = Stands.LOST


@action(when=lambda s, p: s.begun[p])
def receive(s: State, p: Node) -> None:
    q = any_of(s, s.arrived[p])
    s.arrived[p].discard(q)
    if s.stands[p] == Stands.LOST or q < p:
        s.stands[p] = Stands.LOST
        s.arrived[successor(s, p)].add(q)
    elif q == p:
        s.stands[p] = Stands.WON


def elected(s: State) -> bool:
    """One has won."""
    return any(s.stands[p] == Stands.WON for p in processes(s))


@safety(witness=elected)
def the_lowest(s: State) -> bool:
    """The lowest that initiates alone wins."""
    lowest = min((p for p in processes(s) if s.initiates[p]), default=0)
    return all(p == lowest for p in processes(s) if s.stands[p] == Stands.WON)


@progress
def nobody_yet(s: State, p: Node) -> bool:
    """One wins, if any initiates."""
    return any(s.initiates[q] for q in processes(s)) and not elected(s)


PROTOCOL = declare(__name__)
