"""A lock with fencing: every grant has a number, and the store takes no write with an earlier one.

    zabcheck --protocol fenced_lock.py
    zabcheck --protocol fenced_lock.py --variant unfenced     the store takes every write

Process 0 keeps the lock and process 1 the data; the others are clients.
"""

from __future__ import annotations

from zabcheck.language import (
    NOBODY, Int, Message, MessageName, Node, NodeId, OneOf, Seq, State, Variant, action, broken, declare, ghost,
    observation, receives, safety, send, stored, volatile,
)  # fmt: skip

SERVER, STORE = 0, 1  # who keeps the lock, and who keeps the data
FREE, WAITING, HOLDING = range(3)

ACQUIRE, GRANT, RELEASE, WRITE = (MessageName(n) for n in ("ACQUIRE", "GRANT", "RELEASE", "WRITE"))


def state(size):
    number = Int(0, size.acquires, "--acquires")
    return [
        stored("holder", NodeId.of(size.nodes), "of the server: who has the lock"),
        stored("last", number, "of the server: the number of the last grant"),
        stored("fence", number, "of the store: the largest number it has seen"),
        volatile("mode", OneOf("FREE", "WAITING", "HOLDING"), "of a client"),
        volatile("number", number, "of a client: the number of its grant"),
        ghost("writes", Seq(number, size.writes), "the numbers of the writes taken, in order"),
    ]


def messages(size):
    number = Int(0, size.acquires)
    return [
        Message("ACQUIRE", {}),
        Message("GRANT", {"number": number}),
        Message("RELEASE", {"number": number}),
        Message("WRITE", {"number": number}),
    ]


def is_idle_client(s: State, p: Node) -> bool:
    return p != SERVER and p != STORE and s.mode[p] == FREE


@action(when=is_idle_client, budget="acquires")
def acquire(s: State, p: Node) -> None:
    s.mode[p] = WAITING
    send(s, p, SERVER, ACQUIRE())


def grant(s: State, p: Node, client: Node) -> None:
    s.last[p] += 1
    s.holder[p] = client
    send(s, p, client, GRANT(number=s.last[p]))


@receives
def on_acquire(s: State, p: Node, source: Node, m: ACQUIRE) -> None:
    if s.holder[p] == NOBODY:
        grant(s, p, source)


def may_expire(s: State, p: Node) -> bool:
    return p == SERVER and s.holder[p] != NOBODY


@action(when=may_expire, budget="expiries")
def expire(s: State, p: Node) -> None:
    """The server has waited too long: whoever holds the lock may still think so."""
    s.holder[p] = NOBODY


@receives
def on_grant(s: State, p: Node, m: GRANT) -> None:
    if s.mode[p] == WAITING:
        s.mode[p] = HOLDING
        s.number[p] = m.number


def holds(s: State, p: Node) -> bool:
    return s.mode[p] == HOLDING


@action(when=holds, budget="writes")
def write(s: State, p: Node) -> None:
    send(s, p, STORE, WRITE(number=s.number[p]))


@action(when=holds)
def release(s: State, p: Node) -> None:
    s.mode[p] = FREE
    send(s, p, SERVER, RELEASE(number=s.number[p]))


@receives
def on_release(s: State, p: Node, source: Node, m: RELEASE) -> None:
    if m.number == s.last[p]:
        s.holder[p] = NOBODY


def accepts(s: State, p: Node, number: int) -> bool:
    """Nothing earlier than what was seen."""
    return number >= s.fence[p]


@receives
def on_write(s: State, p: Node, m: WRITE) -> None:
    if accepts(s, p, m.number):
        s.fence[p] = max(s.fence[p], m.number)
        written(s, p, m.number)


@observation
def written(s: State, p: Node, number: int) -> None:
    s.writes.append(number)


def two_wrote(s: State) -> bool:
    """Two holders have written."""
    for k in range(1, len(s.writes)):
        if s.writes[k] != s.writes[k - 1]:
            return True
    return False


@safety(over="history", witness=two_wrote)
def fencing(s: State) -> bool:
    """No write of an earlier holder comes after one of a later."""
    for k in range(1, len(s.writes)):
        if s.writes[k] < s.writes[k - 1]:
            return broken(f"a write under {s.writes[k]} was taken after one under {s.writes[k - 1]}")
    return True


def anything(s: State, p: Node, number: int) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    state=state,
    messages=messages,
    budgets={"acquires": 2, "expiries": 1, "writes": 3},
    nodes=4,
    variants=[Variant("unfenced", "the store takes every write", {"accepts": anything})],
)
