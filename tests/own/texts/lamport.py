"""Mutual exclusion by logical clocks over FIFO channels (Lamport, Time, Clocks, and the Ordering of Events, 1978)."""

from __future__ import annotations

from enum import IntEnum

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, Node, Range, RecordType, SeqOf, action, any_of, declare, parameter, processes, safety, shared,
)  # fmt: skip


class Kind(IntEnum):
    REQUEST = 0
    ACK = 1
    RELEASE = 2


Requested = Annotated[int, Range(0, lambda size: size.times)]


class Letter(RecordType):
    kind_of: Kind
    time: Requested


Channel = Annotated[SeqOf[Letter], AtMost(lambda size: 3 * size.times)]


class State(Fields):
    clock: Each[Node, Annotated[int, Range(1, lambda size: size.times)]] = shared("its clock")
    requested: Each[Node, Each[Node, Requested]] = shared("the time at which another asked; 0: it does not")
    acks: Each[Node, set[Node]] = shared("who has answered its request")
    critical: Each[Node, bool] = shared("it is in its critical section")
    channel: Each[Node, Each[Node, Channel]] = shared("from a process to another")
    TIMES: int = parameter("the latest time of a clock", 6)


@action(when=lambda s, p: s.requested[p][p] == 0)
def request(s: State, p: Node) -> None:
    s.requested[p][p] = s.clock[p]
    s.acks[p] = {p}
    for q in processes(s):
        if q != p:
            s.channel[p][q].append(Letter(kind_of=Kind.REQUEST, time=s.clock[p]))


def first(s: State, p: Node, q: Node, kind: Kind) -> bool:
    return len(s.channel[q][p]) > 0 and s.channel[q][p][0].kind_of == kind


def later(s: State, p: Node, q: Node) -> int:
    return max(s.clock[p], s.channel[q][p][0].time) + 1


@action()
def receive_request(s: State, p: Node) -> None:
    q = any_of(
        s,
        {
            q
            for q in processes(s)
            if first(s, p, q, Kind.REQUEST) and max(s.clock[p], s.channel[q][p][0].time) < s.TIMES
        },
    )
    asked = s.channel[q][p].pop(0)
    s.requested[p][q] = asked.time
    s.clock[p] = max(s.clock[p], asked.time) + 1
    s.channel[p][q].append(Letter(kind_of=Kind.ACK, time=0))


@action()
def receive_ack(s: State, p: Node) -> None:
    q = any_of(s, {q for q in processes(s) if first(s, p, q, Kind.ACK)})
    s.channel[q][p].pop(0)
    s.acks[p].add(q)


@action()
def receive_release(s: State, p: Node) -> None:
    q = any_of(s, {q for q in processes(s) if first(s, p, q, Kind.RELEASE)})
    s.channel[q][p].pop(0)
    s.requested[p][q] = 0


def beats(s: State, p: Node, q: Node) -> bool:
    mine, other = s.requested[p][p], s.requested[p][q]
    return other == 0 or mine < other or (mine == other and p < q)


@action(when=lambda s, p: len(s.acks[p]) == s.NODES and all(beats(s, p, q) for q in processes(s) if q != p))
def enter(s: State, p: Node) -> None:
    s.critical[p] = True


@action(when=lambda s, p: s.critical[p])
def leave(s: State, p: Node) -> None:
    s.critical[p] = False
    s.requested[p][p] = 0
    s.acks[p] = set()
    for q in processes(s):
        if q != p:
            s.channel[p][q].append(Letter(kind_of=Kind.RELEASE, time=0))


def someone_waits(s: State) -> bool:
    """One is in its critical section while another asks."""
    return any(s.critical[p] and s.requested[q][q] > 0 for p in processes(s) for q in processes(s) if p != q)


@safety(witness=someone_waits)
def exclusion(s: State) -> bool:
    """At most one process is in its critical section."""
    return sum(1 for p in processes(s) if s.critical[p]) <= 1


PROTOCOL = declare(__name__)
