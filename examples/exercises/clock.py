"""A constant to choose: the smallest PROMISE with which no two clients hold a lease. Clocks drift by one tick."""

from __future__ import annotations

from typing import NewType

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, action, broken, declare, lease, only, parameter, processes, receives,
    safety, send, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)

LENGTH = 1  # of a client's lease, by its clock
PROMISE = LENGTH  # what the server waits, by its own


class ASK(MessageType): ...


class ANSWER(MessageType):
    granted: bool


class State(Fields):
    holder: Each[Server, Client] = lease("whom it has promised to serve", PROMISE)
    waits: Each[Client, bool] = volatile("it has asked")
    holds: Each[Client, bool] = lease("it is served, and nobody else", LENGTH)
    holder_left: Each[Server, int]
    holds_left: Each[Client, int]
    DRIFT: int = parameter("by how many ticks two clocks differ", 1)


def may_ask(s: State, p: Client) -> bool:
    return not s.waits[p] and s.holds_left[p] == 0


@action(when=may_ask)
def ask(s: State, p: Client) -> None:
    s.waits[p] = True
    s.holds_left[p] = LENGTH  # counts from now: the server grants it later
    send(s, p, only(s, Server), ASK())


@receives
def on_ask(s: State, p: Server, source: Client, m: ASK) -> None:
    if s.holder[p] == NOBODY:
        s.holder[p] = source
        s.holder_left[p] = PROMISE
        send(s, p, source, ANSWER(granted=True))
    else:
        send(s, p, source, ANSWER(granted=False))


def begin(s: State, p: Client) -> None:
    s.holds[p] = s.holds_left[p] > 0


@receives
def on_answer(s: State, p: Client, m: ANSWER) -> None:
    s.waits[p] = False
    if m.granted:
        begin(s, p)


def someone_holds(s: State) -> bool:
    """A client holds a lease."""
    return any(s.holds[p] for p in processes(s, Client))


@safety(witness=someone_holds)
def one_holder(s: State) -> bool:
    """No two clients hold a lease at one moment."""
    for p in processes(s, Client):
        for q in processes(s, Client):
            if p != q and s.holds[p] and s.holds[q]:
                return broken(f"p{p} holds for {s.holds_left[p]} ticks more, and p{q} for {s.holds_left[q]}")
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 1},
    drift="drift",
)
