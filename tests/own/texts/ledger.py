"""A leader writes entries to its disk and sends them to those that follow it, which force them and acknowledge them."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, Range, Start, Variant, action, broken, connect, declare, disconnect,
    force, forget, ghost, observation, on_disk, receives, safety, send_to_follower, send_to_leader, stored, volatile,
)  # fmt: skip

LOOKING, FOLLOWING, LEADING = range(3)

Entries = Annotated[int, Range(0, lambda size: size.writes)]


class HELLO(MessageType): ...


class WRITE(MessageType):
    length: Entries


class ACK(MessageType):
    length: Entries


class State(Fields):
    role: Each[Node, Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING")]] = volatile("where it stands")
    leader: Each[Node, Node] = volatile("whom it follows")
    length: Each[Node, Entries] = on_disk("how many entries it has")
    terms: Each[Node, Annotated[int, Range(0, 15)]] = stored("how often it led, or followed")
    copied: Each[Node, Each[Node, Entries]] = volatile("as a leader: how many its follower has acknowledged")
    promised: Each[Node, Entries] = ghost("how many a process has acknowledged")


def on_elected(s: State, l: Node) -> None:
    s.role[l] = LEADING
    s.terms[l] = s.terms[l] + 1
    force(s, l)
    promise(s, l, s.length[l])


def on_follow(s: State, f: Node, l: Node) -> None:
    s.role[f] = FOLLOWING
    s.leader[f] = l
    s.terms[f] = s.terms[f] + 1
    connect(s, f, l)
    send_to_leader(s, f, HELLO())


@receives
def on_hello(s: State, l: Node, f: Node, m: HELLO) -> None:
    send_to_follower(s, l, f, WRITE(length=s.length[l]))


def may_write(s: State, p: Node) -> bool:
    return s.role[p] == LEADING and s.length[p] < s.WRITES


@action(when=may_write, budget="writes")
def write(s: State, p: Node) -> None:
    s.length[p] = s.length[p] + 1
    for f in range(s.NODES):
        if f != p:
            send_to_follower(s, p, f, WRITE(length=s.length[p]))
    force(s, p)
    promise(s, p, s.length[p])


def quiet_write(s: State, p: Node) -> None:
    """Nobody is told: who follows later hears of it then."""
    s.length[p] = s.length[p] + 1
    force(s, p)
    promise(s, p, s.length[p])


@receives
def on_write(s: State, f: Node, m: WRITE) -> None:
    s.length[f] = m.length
    force(s, f)
    promise(s, f, m.length)
    send_to_leader(s, f, ACK(length=m.length))


def hasty_on_write(s: State, f: Node, m: WRITE) -> None:
    s.length[f] = m.length
    promise(s, f, m.length)
    send_to_leader(s, f, ACK(length=m.length))
    force(s, f)


def idle_on_write(s: State, f: Node, m: WRITE) -> None:
    s.length[f] = m.length
    send_to_leader(s, f, ACK(length=m.length))


@receives
def on_ack(s: State, l: Node, f: Node, m: ACK) -> None:
    s.copied[l][f] = m.length


@observation
def promise(s: State, p: Node, length: int) -> None:
    """Process p has acknowledged so many entries."""
    s.promised[p] = length


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    disconnect(s, l)
    forget(s, l)


def on_leader_lost(s: State, f: Node) -> None:
    disconnect(s, f)
    forget(s, f)


def two_have_it(s: State) -> None:
    """Both have one entry, forced and acknowledged."""
    for p in range(s.NODES):
        s.length[p] = 1
        s.promised[p] = 1


def something_is_promised(s: State) -> bool:
    """An entry is acknowledged."""
    for p in range(s.NODES):
        if s.promised[p] > 0:
            return True
    return False


@safety(witness=something_is_promised)
def promises_are_kept(s: State) -> bool:
    """What a process acknowledged it has."""
    for p in range(s.NODES):
        if s.length[p] < s.promised[p]:
            return broken(f"p{p} acknowledged {s.promised[p]} and has {s.length[p]}")
    return True


PROTOCOL = declare(
    __name__,
    budgets={"writes": 1, "elections": 1, "crashes": 0, "losses": 0, "power_losses": 1},
    nodes=2,
    world="connections",
    elects=("length",),
    starts=[Start("full", "both have an entry", two_have_it)],
    flight=lambda size: 4,
    variants=[
        Variant("hasty", "acknowledged before it is forced", {"on_write": hasty_on_write}),
        Variant("idle", "acknowledged to the leader alone, and not forced", {"on_write": idle_on_write}),
        Variant("quiet", "what is written is sent to those that follow later", {"write": quiet_write}),
    ],
)
