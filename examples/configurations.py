"""Broadcast in a primary component, as COReL has it (Keidar and Dolev, 1996), with one broadcaster in each.

    zabcheck --protocol example:configurations --property dsn-causal-order --property total-order --property agreement
    zabcheck --protocol example:configurations --property tree-example
    zabcheck --protocol example:configurations --variant one-history --property tree-example

Group communication is of the environment: it installs configurations, each of a majority. Before anything new its
members recover: they report what they have, and the broadcaster orders all of it. A message that a configuration left
undelivered, and that only a process outside the next one had, is found when this process is back, and delivered after
messages that were broadcast without it. Causality holds, across configurations too: these do not depend on it. DSN'11
(VIII): states become inconsistent, since updates do not commute.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Epoch, Fields, MessageType, Node, Range, SeqOf, Size, Txn, Variant, abcast, abdeliver, accept, action,
    any_process, declare, end_leadership, environment, environment_step, is_quorum, receives, send, stored,
)  # fmt: skip

Log = Annotated[SeqOf[Txn], AtMost(lambda size: size.txns, "--txns")]
Length = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
Slot = Annotated[int, Range(0, lambda size: size.txns - 1)]
Taken = Annotated[int, Range(0, lambda size: size.txns + 1)]


class HAVE(MessageType):
    configuration: Epoch
    adopted: Epoch
    log: Log


class ORDER(MessageType):
    configuration: Epoch
    log: Log


class PUT(MessageType):
    configuration: Epoch
    txn: Txn


class ACK(MessageType):
    configuration: Epoch
    length: Length


class SAFE(MessageType):
    configuration: Epoch
    length: Length


class State(Fields):
    configurations: Annotated[int, Range(0, lambda size: size.installs)] = environment("how many there were")
    majority: set[Node] = environment("who is in the latest one")
    chosen: Node = environment("who broadcasts in it")
    heard: Each[Node, Epoch] = stored("the latest configuration that it has heard of")
    members: Each[Node, set[Node]] = stored("who is in that")
    broadcaster: Each[Node, Node] = stored("who broadcasts in it")
    adopted: Each[Node, Epoch] = stored("the latest configuration whose order it has")
    log: Each[Node, Log] = stored("the messages that it has, in that order")
    delivered_length: Each[Node, Length] = stored("how many of them it has delivered")
    reports: Each[Node, set[Node]] = stored("of a broadcaster: who has reported")
    latest: Each[Node, Epoch] = stored("the latest order among the reports")
    order: Each[Node, Log] = stored("that order")
    reported: Each[Node, Each[Slot, Txn]] = stored("every message of a report, by its value - 1; value 0: none")
    taken: Each[Node, Each[Node, Taken]] = stored("1 + how many messages of the order a member has; 0: it has no order")
    TXNS: int


def epochs(size: Size) -> int:
    return size.installs


# --- configurations -------------------------------------------------------------------------------


@environment_step(budget="installs")
def install(s: State) -> None:
    """The next one has all processes, or all but one if these are a majority."""
    p = any_process(s)
    without = any_process(s)
    members = {q for q in range(s.NODES) if q == p or q != without}
    if is_quorum(s, members):
        s.configurations += 1
        s.majority = members
        s.chosen = p


@action(when=lambda s, p: p in s.majority and s.heard[p] < s.configurations)
def hear(s: State, p: Node) -> None:
    """p takes nothing more of an earlier configuration, and reports what it has."""
    s.heard[p] = s.configurations
    s.members[p] = s.majority
    s.broadcaster[p] = s.chosen
    end_leadership(s, p)
    s.reports[p].clear()
    s.latest[p] = 0
    s.order[p].clear()
    for k in range(s.TXNS):
        s.reported[p][k] = Txn(epoch=0, counter=0, value=0)
    for q in range(s.NODES):
        s.taken[p][q] = 0
    send(s, p, s.chosen, HAVE(configuration=s.heard[p], adopted=s.adopted[p], log=s.log[p]))


@receives
def on_have(s: State, p: Node, source: Node, m: HAVE) -> None:
    if m.configuration > s.heard[p] and p in s.majority:
        hear(s, p)
    if m.configuration == s.heard[p]:
        s.reports[p].add(source)
        if m.adopted > s.latest[p] or (m.adopted == s.latest[p] and len(m.log) > len(s.order[p])):
            s.latest[p] = m.adopted
            s.order[p] = m.log
        for t in m.log:
            s.reported[p][t.value - 1] = t
        if len(s.reports[p]) == len(s.members[p]):
            add_what_is_left(s, p)
            for q in range(s.NODES):
                if q in s.members[p]:
                    send(s, p, q, ORDER(configuration=s.heard[p], log=s.order[p]))


def add_what_is_left(s: State, p: Node) -> None:
    """All that was reported is ordered: behind the latest order what is not in it, in the order of zxids."""
    for epoch in range(s.heard[p]):
        for count in range(s.TXNS + 1):
            for k in range(s.TXNS):
                t = s.reported[p][k]
                if t.value > 0 and t.epoch == epoch and t.counter == count and t not in s.order[p]:
                    s.order[p].append(t)


@receives
def on_order(s: State, p: Node, source: Node, m: ORDER) -> None:
    if m.configuration == s.heard[p] and s.adopted[p] < m.configuration:
        s.adopted[p] = m.configuration
        s.log[p] = m.log
        for t in m.log:
            accept(s, p, m.configuration, t)
        send(s, p, source, ACK(configuration=m.configuration, length=len(m.log)))


# --- broadcast ------------------------------------------------------------------------------------


def leads(s: State, p: Node) -> bool:
    return s.heard[p] > 0 and s.adopted[p] == s.heard[p] and s.broadcaster[p] == p


def may_abcast(s: State, p: Node) -> bool:
    """Nothing new before recovery ends: all members have the order, and p has delivered it."""
    return leads(s, p) and recovered(s, p)


def recovered(s: State, p: Node) -> bool:
    old = sum(1 for t in s.log[p] if t.epoch < s.heard[p])
    return all_have(s, p, old) and s.delivered_length[p] >= old


def all_have(s: State, p: Node, length: int) -> bool:
    return all(q not in s.members[p] or s.taken[p][q] > length for q in range(s.NODES))


def on_abcast(s: State, p: Node) -> None:
    count = 1 + sum(1 for t in s.log[p] if t.epoch == s.heard[p])
    added = abcast(s, p, s.heard[p], count)
    for q in range(s.NODES):
        if q in s.members[p] and q != p:
            send(s, p, q, PUT(configuration=s.heard[p], txn=added))
    take(s, p, added)
    note(s, p, p, len(s.log[p]))


def take(s: State, p: Node, t: Txn) -> None:
    s.log[p].append(t)
    accept(s, p, s.heard[p], t)


@receives
def on_put(s: State, p: Node, source: Node, m: PUT) -> None:
    if m.configuration == s.heard[p] and s.adopted[p] == m.configuration:
        take(s, p, m.txn)
        send(s, p, source, ACK(configuration=m.configuration, length=len(s.log[p])))


@receives
def on_ack(s: State, p: Node, source: Node, m: ACK) -> None:
    if m.configuration == s.heard[p]:
        note(s, p, source, m.length)


def note(s: State, p: Node, q: Node, length: int) -> None:
    """q has so many messages. What all members have keeps its place in every later order: it is safe."""
    s.taken[p][q] = length + 1
    for n in range(s.TXNS + 1):
        if s.delivered_length[p] < n <= len(s.log[p]) and leads(s, p) and all_have(s, p, n):
            deliver(s, p, n)
            for r in range(s.NODES):
                if r in s.members[p] and r != p:
                    send(s, p, r, SAFE(configuration=s.heard[p], length=n))


@receives
def on_safe(s: State, p: Node, m: SAFE) -> None:
    if m.configuration == s.heard[p]:
        deliver(s, p, m.length)


def deliver(s: State, p: Node, length: int) -> None:
    for k in range(len(s.log[p])):
        if k == s.delivered_length[p] and k < length:
            s.delivered_length[p] = k + 1
            abdeliver(s, p, s.log[p][k])


# --- with one rule changed ------------------------------------------------------------------------


def add_nothing(s: State, p: Node) -> None:
    """The latest order is that of one process, as in ZAB's l.1.2."""


PROTOCOL = declare(
    __name__,
    budgets={"installs": 3},
    network="fifo",
    transactions=True,
    epochs=epochs,
    variants=[
        Variant(
            "one-history",
            "what the latest order lacks is dropped",
            {"add_what_is_left": add_nothing},
            rule="recovery",
            safe=True,
        ),
    ],
)
