"""A lease: a server promises a client to serve nobody else for a while, and the client knows until when.

    zabcheck --protocol example:lease
    zabcheck --protocol example:lease --variant late     a lease counts from when it is granted

Time is a field of the environment that a step of its own moves on, as often as --ticks says.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, Range, Variant, action, broken, declare, environment, environment_step,
    only, processes, receives, safety, send, stored, volatile,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)

LEASE = 2

Time = Annotated[int, Range(0, lambda size: size.ticks + LEASE, "--ticks")]
AskedAt = Annotated[int, Range(0, lambda size: size.ticks)]


class ASK(MessageType):
    asked_at: AskedAt


class GRANT(MessageType):
    asked_at: AskedAt


class State(Fields):
    now: AskedAt = environment("what every clock shows")
    holder: Each[Server, Client] = stored("whom it has promised to serve")
    until: Each[Server, Time] = stored("and until when")
    asked_at: Each[Client, Time] = volatile("when it asked for its lease")
    lease: Each[Client, Time] = volatile("it is served before this moment")
    TICKS: int


@environment_step(when=lambda s: s.now < s.TICKS, budget="ticks")
def tick(s: State) -> None:
    s.now += 1


@action(budget="asks")
def ask(s: State, p: Client) -> None:
    s.asked_at[p] = s.now
    send(s, p, only(s, Server), ASK(asked_at=s.now))


@receives
def on_ask(s: State, p: Server, source: Client, m: ASK) -> None:
    if s.holder[p] in (NOBODY, source) or s.until[p] <= s.now:
        s.holder[p] = source
        s.until[p] = s.now + LEASE
        send(s, p, source, GRANT(asked_at=m.asked_at))


def lease_from(s: State, p: Client) -> int:
    """A lease counts from when it was asked for: the server granted it later."""
    return s.asked_at[p]


@receives
def on_grant(s: State, p: Client, m: GRANT) -> None:
    if m.asked_at == s.asked_at[p]:
        s.lease[p] = lease_from(s, p) + LEASE


def someone_holds(s: State) -> bool:
    """A client holds a lease."""
    return any(s.now < s.lease[p] for p in processes(s, Client))


@safety(witness=someone_holds)
def one_holder(s: State) -> bool:
    """No two clients hold a lease at one moment."""
    for p in processes(s, Client):
        for q in processes(s, Client):
            if p != q and s.now < s.lease[p] and s.now < s.lease[q]:
                return broken(f"p{p} holds until {s.lease[p]}, and p{q} until {s.lease[q]}")
    return True


def from_now(s: State, p: Client) -> int:
    return s.now


PROTOCOL = declare(
    __name__,
    roles={"client": 2, "server": 1},
    budgets={"ticks": 3, "asks": 2},
    variants=[Variant("late", "a lease counts from when it is granted", {"lease_from": from_now})],
)
