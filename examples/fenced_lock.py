"""A lock with fencing: every grant has a number, and the store takes no write with an earlier one.

    zabcheck --protocol example:fenced_lock
    zabcheck --protocol example:fenced_lock --client 3
    zabcheck --protocol example:fenced_lock --variant unfenced     the store takes every write

Clients are alike; one server keeps the lock, and one store the data.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, MessageType, Node, OneOf, Range, SeqOf, Variant, action, broken, declare, fires,
    ghost, observation, only, receives, safety, send, stored, timer, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)
Store = NewType("Store", Node)

FREE, WAITING, HOLDING = range(3)

Number = Annotated[int, Range(0, lambda size: size.acquires, "--acquires")]
Writes = Annotated[SeqOf[Number], AtMost(lambda size: size.writes)]


class ACQUIRE(MessageType): ...


class GRANT(MessageType):
    number: Number


class RELEASE(MessageType):
    number: Number


class WRITE(MessageType):
    number: Number


class State(Fields):
    holder: Each[Server, Client] = stored("who has the lock")
    lease: Each[Server, bool] = timer("the holder has not been heard of for too long, if it fires")
    last: Each[Server, Number] = stored("the number of the last grant")
    fence: Each[Store, Number] = stored("the largest number it has seen")
    mode: Each[Client, Annotated[int, OneOf("FREE", "WAITING", "HOLDING")]] = volatile("of its request")
    number: Each[Client, Number] = volatile("of its grant")
    writes: Writes = ghost("the numbers of the writes taken, in order")


@action(when=lambda s, p: s.mode[p] == FREE, budget="acquires")
def acquire(s: State, p: Client) -> None:
    s.mode[p] = WAITING
    send(s, p, only(s, Server), ACQUIRE())


@receives
def on_acquire(s: State, p: Server, source: Client, m: ACQUIRE) -> None:
    if s.holder[p] == NOBODY:
        s.last[p] += 1
        s.holder[p] = source
        s.lease[p] = True
        send(s, p, source, GRANT(number=s.last[p]))


@fires("lease", budget="expiries")
def expire(s: State, p: Server) -> None:
    """The server has waited too long: whoever holds the lock may still think so."""
    s.holder[p] = NOBODY


@receives
def on_grant(s: State, p: Client, m: GRANT) -> None:
    if s.mode[p] == WAITING:
        s.mode[p] = HOLDING
        s.number[p] = m.number


def holds(s: State, p: Client) -> bool:
    return s.mode[p] == HOLDING


@action(when=holds, budget="writes")
def write(s: State, p: Client) -> None:
    send(s, p, only(s, Store), WRITE(number=s.number[p]))


@action(when=holds)
def release(s: State, p: Client) -> None:
    s.mode[p] = FREE
    send(s, p, only(s, Server), RELEASE(number=s.number[p]))


@receives
def on_release(s: State, p: Server, m: RELEASE) -> None:
    if m.number == s.last[p]:
        s.holder[p] = NOBODY
        s.lease[p] = False


def accepts(s: State, p: Store, number: int) -> bool:
    """Nothing earlier than what was seen."""
    return number >= s.fence[p]


@receives
def on_write(s: State, p: Store, m: WRITE) -> None:
    if accepts(s, p, m.number):
        s.fence[p] = max(s.fence[p], m.number)
        written(s, p, m.number)


@observation
def written(s: State, p: Store, number: int) -> None:
    s.writes.append(number)


def two_wrote(s: State) -> bool:
    """Two holders have written."""
    return any(s.writes[k] != s.writes[k - 1] for k in range(1, len(s.writes)))


@safety(over="history", witness=two_wrote)
def fencing(s: State) -> bool:
    """No write of an earlier holder comes after one of a later."""
    return all(
        s.writes[k] >= s.writes[k - 1]
        or broken(f"a write under {s.writes[k]} was taken after one under {s.writes[k - 1]}")
        for k in range(1, len(s.writes))
    )


def anything(s: State, p: Store, number: int) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 1, "store": 1},
    budgets={"acquires": 2, "expiries": 1, "writes": 3},
    variants=[Variant("unfenced", "the store takes every write", {"accepts": anything})],
)
