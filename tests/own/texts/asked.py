"""Clients ask servers."""

from __future__ import annotations

from typing import NewType

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, action, any_of, declare, is_quorum, processes, receives, safety, send,
    stored, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)


class ASK(MessageType):
    who: Client


class TELL(MessageType): ...


class State(Fields):
    served_by: Each[Client, set[Server]] = volatile("who has served it")
    asks: Each[Client, bool] = volatile("it has asked")
    owner: Each[Server, Client] = stored("whom it serves")
    seen: Each[Node, bool] = stored("it has been seen")


def idle(s: State, p: Client) -> bool:
    return not s.asks[p]


@action(when=idle, budget="asked")
def ask(s: State, p: Client) -> None:
    s.asks[p] = True
    send(s, p, any_of(s, Server), ASK(who=p))


@receives
def on_ask(s: State, p: Server, source: Client, m: ASK) -> None:
    if s.owner[p] == NOBODY:
        s.owner[p] = m.who
    serve(s, p, source)


def serve(s: State, p: Server, c: Client) -> None:
    send(s, p, c, TELL())


@receives
def on_tell(s: State, p: Client, source: Server, m: TELL) -> None:
    s.served_by[p].add(source)


def some(s: State) -> bool:
    """Most servers have served one client."""
    for c in processes(s, Client):
        if is_quorum(s, s.served_by[c], Server):
            return True
    return False


@safety(witness=some)
def owned(s: State) -> bool:
    """Who has served a client has an owner."""
    for c in processes(s, Client):
        for q in processes(s, Server):
            if q in s.served_by[c] and s.owner[q] == NOBODY:
                return False
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 2},
    budgets={"asked": 2},
)
