"""Primary-backup over virtual synchrony (Birman and Joseph, 1987): a group agrees on its views, and on what each got.

    zabcheck --protocol example:primary_backup
    zabcheck --protocol example:primary_backup --variant on-receipt      deliver what may yet be lost
    zabcheck --protocol example:primary_backup --variant unblocked       take updates after what one has is sent
    zabcheck --protocol example:primary_backup --removals 2              who entered a view is removed before others do
    zabcheck --protocol example:primary_backup --removals 2 --variant patient    and what helps

The primary of a view broadcasts to its members. It is safe, and delivered, when all of them have it. For a new view all
its members send what they have: each enters it with the most that one of them has, and delivers that first. The
membership service is of the environment: it removes whom it suspects, and a process hears of it in a step of its own.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Epoch, Fields, MessageType, Node, Range, SeqOf, Size, Txn, Variant, abcast, abdeliver, accept,
    action, choose, declare, end_leadership, environment, environment_step, receives, send, stored,
)  # fmt: skip

Log = Annotated[SeqOf[Txn], AtMost(lambda size: size.txns, "--txns")]
Slot = Annotated[int, Range(0, lambda size: size.txns - 1)]
Length = Annotated[int, Range(0, lambda size: size.txns, "--txns")]


class UPDATE(MessageType):
    view: Epoch
    place: Length
    txn: Txn


class ACK(MessageType):
    view: Epoch
    length: Length


class SAFE(MessageType):
    view: Epoch
    length: Length


class FLUSH(MessageType):
    view: Epoch
    last: Epoch
    log: Log


class State(Fields):
    removed: set[Node] = environment("of the membership service: whom it has removed")
    views: Annotated[int, Range(0, lambda size: size.removals)] = environment("how often it has")
    view: Each[Node, Epoch] = stored("the view that it is in")
    next_view: Each[Node, Epoch] = stored("the latest view that it has heard of: it flushes until it is in it")
    members: Each[Node, set[Node]] = stored("who is of that view; nobody: not p itself")
    primary: Each[Node, Node] = stored("its primary")
    log: Each[Node, Log] = stored("what it has")
    delivered_length: Each[Node, Length] = stored("how much of it it has delivered")
    acks: Each[Node, Each[Slot, set[Node]]] = stored("of a primary: who has its log up to a place")
    flushed: Each[Node, set[Node]] = stored("who has sent what it has, for the next view")
    best: Each[Node, Log] = stored("the most that one of them has")
    best_view: Each[Node, Epoch] = stored("and in which view it was")
    TXNS: int


def epochs(size: Size) -> int:
    return 1 + size.removals


# --- membership -----------------------------------------------------------------------------------


@environment_step(when=lambda s: len(s.removed) < s.NODES - 1, budget="removals")
def remove(s: State) -> None:
    """The membership service suspects a process, and removes it."""
    p = choose(s, s.NODES)
    if p not in s.removed:
        s.removed.add(p)
        s.views += 1


def on_start(s: State, p: Node) -> None:
    learn(s, p)
    s.view[p] = 1


def learn(s: State, p: Node) -> None:
    """p hears who is of the latest view. Its primary is the member of the lowest number."""
    s.next_view[p] = s.views + 1
    s.members[p].clear()
    s.primary[p] = NOBODY
    if p not in s.removed:
        for q in range(s.NODES):
            if q not in s.removed:
                s.members[p].add(q)
                if s.primary[p] == NOBODY:
                    s.primary[p] = q


@action(when=lambda s, p: s.next_view[p] <= s.views)
def hear(s: State, p: Node) -> None:
    flush(s, p)


def flush(s: State, p: Node) -> None:
    """p takes nothing more in its view, and sends the members of the next what it has."""
    learn(s, p)
    end_leadership(s, p)
    s.flushed[p].clear()
    s.best[p].clear()
    s.best_view[p] = 0
    for k in range(s.TXNS):
        s.acks[p][k].clear()
    for q in range(s.NODES):
        if q in s.members[p]:
            send(s, p, q, FLUSH(view=s.next_view[p], last=s.view[p], log=s.log[p]))


@receives
def on_flush(s: State, p: Node, source: Node, m: FLUSH) -> None:
    if m.view > s.next_view[p]:
        flush(s, p)
    if m.view == s.next_view[p] and s.view[p] < m.view and source in s.members[p]:
        s.flushed[p].add(source)
        if m.last > s.best_view[p] or (m.last == s.best_view[p] and len(m.log) > len(s.best[p])):
            s.best[p] = m.log
            s.best_view[p] = m.last
        if len(s.flushed[p]) == len(s.members[p]):
            enter(s, p)


def enter(s: State, p: Node) -> None:
    """p has what all members have, and so have they: it is delivered, and then the view begins."""
    s.log[p] = s.best[p]
    s.view[p] = s.next_view[p]
    s.flushed[p].clear()
    s.best[p].clear()
    s.best_view[p] = 0
    for t in s.log[p]:
        accept(s, p, s.view[p], t)
    after_entering(s, p)


def after_entering(s: State, p: Node) -> None:
    """All members of the view have what p has, if they do not enter it yet."""
    deliver(s, p, len(s.log[p]))


# --- broadcast ------------------------------------------------------------------------------------


def in_its_view(s: State, p: Node) -> bool:
    return s.view[p] == s.next_view[p] and p in s.members[p]


def takes(s: State, p: Node) -> bool:
    """Whether p takes updates of its view: not once it has sent what it has for the next."""
    return in_its_view(s, p)


def ready(s: State, p: Node) -> bool:
    """Whether a primary begins to broadcast: as soon as it is in its view."""
    return True


def may_abcast(s: State, p: Node) -> bool:
    return in_its_view(s, p) and s.primary[p] == p and ready(s, p)


def on_abcast(s: State, p: Node) -> None:
    count = 1 + sum(1 for t in s.log[p] if t.epoch == s.view[p])
    added = abcast(s, p, s.view[p], count)
    for q in range(s.NODES):
        if q in s.members[p] and q != p:
            send(s, p, q, UPDATE(view=s.view[p], place=len(s.log[p]), txn=added))
    take(s, p, added)
    note_ack(s, p, p, len(s.log[p]))
    tell_what_is_safe(s, p)


def take(s: State, p: Node, t: Txn) -> None:
    s.log[p].append(t)
    accept(s, p, s.view[p], t)


@receives
def on_update(s: State, p: Node, source: Node, m: UPDATE) -> None:
    if takes(s, p) and m.view == s.view[p] and m.place == len(s.log[p]):
        take(s, p, m.txn)
        send(s, p, source, ACK(view=m.view, length=len(s.log[p])))


@receives
def on_ack(s: State, p: Node, source: Node, m: ACK) -> None:
    if m.view == s.next_view[p]:
        note_ack(s, p, source, m.length)
        if in_its_view(s, p):
            tell_what_is_safe(s, p)


def note_ack(s: State, p: Node, q: Node, length: int) -> None:
    """q has the log of the view up to a place."""
    for k in range(s.TXNS):
        if k < length:
            s.acks[p][k].add(q)


def tell_what_is_safe(s: State, p: Node) -> None:
    """What all members have is safe: the primary delivers it, and so do they."""
    safe = s.delivered_length[p]
    for k in range(len(s.log[p])):
        if len(s.acks[p][k]) == len(s.members[p]):
            safe = max(safe, k + 1)
    if safe > s.delivered_length[p]:
        deliver(s, p, safe)
        for r in range(s.NODES):
            if r in s.members[p] and r != p:
                send(s, p, r, SAFE(view=s.view[p], length=safe))


@receives
def on_safe(s: State, p: Node, m: SAFE) -> None:
    if in_its_view(s, p) and m.view == s.view[p]:
        deliver(s, p, m.length)


def deliver(s: State, p: Node, length: int) -> None:
    for k in range(len(s.log[p])):
        if k == s.delivered_length[p] and k < length:
            s.delivered_length[p] = k + 1
            abdeliver(s, p, s.log[p][k])


# --- with one rule changed ------------------------------------------------------------------------


def take_and_deliver(s: State, p: Node, t: Txn) -> None:
    s.log[p].append(t)
    accept(s, p, s.view[p], t)
    deliver(s, p, len(s.log[p]))


def even_after_its_flush(s: State, p: Node) -> bool:
    return p in s.members[p]


def wait_until_safe(s: State, p: Node) -> None:
    """What p has entered with is safe when all members have entered."""
    if s.primary[p] == p:
        note_ack(s, p, p, len(s.log[p]))
        tell_what_is_safe(s, p)
    else:
        send(s, p, s.primary[p], ACK(view=s.view[p], length=len(s.log[p])))


def has_delivered_all(s: State, p: Node) -> bool:
    return s.delivered_length[p] == len(s.log[p])


PROTOCOL = declare(
    __name__,
    budgets={"removals": 1},
    network="fifo",
    transactions=True,
    epochs=epochs,
    variants=[
        Variant("on-receipt", "what arrives is delivered at once", {"take": take_and_deliver}, "safe delivery"),
        Variant("unblocked", "updates are taken after the flush", {"takes": even_after_its_flush}, "flush"),
        Variant(
            "patient",
            "what a view begins with is delivered when all its members have entered it, and then it broadcasts",
            {"after_entering": wait_until_safe, "ready": has_delivered_all},
            rule="flush",
            safe=True,
        ),
    ],
)
