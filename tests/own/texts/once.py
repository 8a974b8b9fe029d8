"""A server serves each request of its clients once, however often it arrives."""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOTHING, Each, Fields, Maybe, MessageType, Node, Range, RecordType, Variant, action, broken, declare, only,
    processes, receives, safety, send, stored, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)

Sent = Annotated[int, Maybe(Range(0, 1))]


class ASK(MessageType):
    number: Annotated[int, Range(0, 1)]


class Last(RecordType):
    who: Client
    number: Sent
    known: set[Client]


class State(Fields):
    sent: Each[Client, Sent] = volatile("the number of its last request")
    served: Each[Server, Each[Client, Sent]] = stored("of each client, the number of what it served last")
    times: Each[Server, Each[Client, Annotated[int, Range(0, 4)]]] = stored("how often it has served each client")
    last: Each[Server, Last] = stored("what it served last, and whom it knew then")


@action(budget="requests")
def ask(s: State, p: Client) -> None:
    if s.sent[p] == NOTHING:
        s.sent[p] = 0
    elif s.sent[p] < 1:
        s.sent[p] += 1
    send(s, p, only(s, Server), ASK(number=s.sent[p]))


def is_new(s: State, p: Server, c: Client, number: int) -> bool:
    return s.served[p][c] == NOTHING or s.served[p][c] < number


@receives
def on_ask(s: State, p: Server, source: Client, m: ASK) -> None:
    if is_new(s, p, source, m.number):
        s.last[p] = Last(who=source, number=m.number, known={c for c in processes(s, Client) if s.times[p][c] > 0})
        s.served[p][source] = m.number
        s.times[p][source] += 1


def someone_served(s: State) -> bool:
    """A server knows whom it served last."""
    for p in processes(s, Server):
        if s.last[p].number != NOTHING and s.last[p].who in s.last[p].known:
            return True
    return False


@safety(witness=someone_served)
def once(s: State) -> bool:
    """No request is served twice."""
    for p in processes(s, Server):
        for c in processes(s, Client):
            if s.served[p][c] != NOTHING and s.times[p][c] > s.served[p][c] + 1:
                return broken(f"p{p} has served p{c} {s.times[p][c]} times, and last {s.served[p][c]}")
    return True


def always(s: State, p: Server, c: Client, number: int) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 1},
    budgets={"requests": 3, "duplicates": 1},
    variants=[Variant("forgetful", "everything is served", {"is_new": always})],
)
