"""A property to write: `one_holder`, which holds here and notices the variant `forgetful`."""

from __future__ import annotations

from typing import NewType

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, Variant, action, declare, only, processes, receives, safety, send, stored,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)


class ACQUIRE(MessageType): ...


class GRANT(MessageType): ...


class RELEASE(MessageType): ...


class State(Fields):
    holder: Each[Server, Client] = stored("who has the lock")
    asks: Each[Client, bool] = stored("it waits for the lock")
    holds: Each[Client, bool] = stored("it has the lock")


def is_idle(s: State, p: Client) -> bool:
    return not s.asks[p] and not s.holds[p]


@action(when=is_idle, budget="acquires")
def acquire(s: State, p: Client) -> None:
    s.asks[p] = True
    send(s, p, only(s, Server), ACQUIRE())


@receives
def on_acquire(s: State, p: Server, source: Client, m: ACQUIRE) -> None:
    if s.holder[p] == NOBODY:
        s.holder[p] = source
        send(s, p, source, GRANT())


@receives
def on_grant(s: State, p: Client, m: GRANT) -> None:
    s.asks[p] = False
    s.holds[p] = True


@action(when=lambda s, p: s.holds[p])
def release(s: State, p: Client) -> None:
    s.holds[p] = False
    send(s, p, only(s, Server), RELEASE())


@receives
def on_release(s: State, p: Server, m: RELEASE) -> None:
    s.holder[p] = NOBODY


def on_recovery_server(s: State, p: Server) -> None:
    """The server has kept who holds the lock."""


def forgets(s: State, p: Server) -> None:
    s.holder[p] = NOBODY


def someone_holds(s: State) -> bool:
    """A client has the lock."""
    return any(s.holds[p] for p in processes(s, Client))


@safety(witness=someone_holds)
def one_holder(s: State) -> bool:
    """No two clients have the lock."""
    return True


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 1},
    budgets={"acquires": 2, "crashes": 1},
    variants=[Variant("forgetful", "a server that recovers thinks the lock free", {"on_recovery_server": forgets})],
)
