"""A leader lease: a majority promises not to follow anyone else for a while, and the leader knows until when.

    zabcheck --protocol example:leader_lease
    zabcheck --protocol example:leader_lease --variant late     a lease counts from when it is granted

Time is a field of the environment that a step of its own moves on, as often as --ticks says.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, Range, Variant, action, broken, declare, environment, environment_step,
    is_quorum, receives, safety, send, stored, volatile,
)  # fmt: skip

LEASE = 2

Until = Annotated[int, Range(0, lambda size: size.ticks + LEASE, "--ticks")]
Time = Annotated[int, Range(0, lambda size: size.ticks)]


class ASK(MessageType):
    asked_at: Time


class GRANT(MessageType):
    asked_at: Time


class State(Fields):
    now: Time = environment("what every clock shows")
    promised_to: Each[Node, Node] = stored("whom it follows")
    promised_until: Each[Node, Until] = stored("and until when")
    asked_at: Each[Node, Until] = volatile("when it asked for its lease")
    granted: Each[Node, set[Node]] = volatile("who has granted it")
    lease: Each[Node, Until] = volatile("it leads before this moment")
    TICKS: int


@environment_step(when=lambda s: s.now < s.TICKS, budget="ticks")
def tick(s: State) -> None:
    s.now += 1


@action(budget="asks")
def ask(s: State, p: Node) -> None:
    s.asked_at[p] = s.now
    s.granted[p].clear()
    for q in range(s.NODES):
        send(s, p, q, ASK(asked_at=s.now))


def is_free(s: State, p: Node, source: Node) -> bool:
    """It follows nobody, or nobody else."""
    return s.promised_to[p] in (NOBODY, source) or s.promised_until[p] <= s.now


@receives
def on_ask(s: State, p: Node, source: Node, m: ASK) -> None:
    if is_free(s, p, source):
        s.promised_to[p] = source
        s.promised_until[p] = s.now + LEASE
        send(s, p, source, GRANT(asked_at=m.asked_at))


def lease_from(s: State, p: Node) -> int:
    """A lease counts from when it was asked for: whoever granted it did so later."""
    return s.asked_at[p]


@receives
def on_grant(s: State, p: Node, source: Node, m: GRANT) -> None:
    if m.asked_at == s.asked_at[p]:
        s.granted[p].add(source)
        if is_quorum(s, s.granted[p]):
            s.lease[p] = lease_from(s, p) + LEASE


def leads(s: State, p: Node) -> bool:
    return s.now < s.lease[p]


def someone_leads(s: State) -> bool:
    """A process leads."""
    return any(leads(s, p) for p in range(s.NODES))


@safety(witness=someone_leads)
def one_leader(s: State) -> bool:
    """No two processes lead at one moment."""
    leaders = {p for p in range(s.NODES) if leads(s, p)}
    return len(leaders) <= 1 or broken(f"{leaders} lead at time {s.now}")


def from_now(s: State, p: Node) -> int:
    return s.now


PROTOCOL = declare(
    __name__,
    budgets={"ticks": 3, "asks": 2},
    variants=[Variant("late", "a lease counts from when it is granted", {"lease_from": from_now})],
)
