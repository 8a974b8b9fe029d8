"""Viewstamped Replication (Liskov and Cowling, 2012): no disks; the primary of a view follows from its number.

    zabcheck --protocol example:viewstamped
    zabcheck --protocol example:viewstamped --crashes 1      with the paper's recovery of a replica that has lost all
    zabcheck --protocol example:viewstamped --variant longest                a new primary takes the longest log
    zabcheck --protocol example:viewstamped --variant amnesia --crashes 1    a replica that has lost all goes on at once

Views count from 1, and p0 is the primary of view 1. State transfer is left out: with FIFO channels a replica that lags
behind in its view gets what it lacks, and one that lags behind in a later view is told by STARTVIEW.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Epoch, Fields, MessageType, Node, OneOf, Range, SeqOf, Size, Txn, Variant, abcast, abdeliver, accept,
    action, declare, end_leadership, end_pass, forget, is_quorum, receives, send, stored, volatile,
)  # fmt: skip

DOWN, NORMAL, VIEW_CHANGE, RECOVERING = range(4)

Status = Annotated[int, OneOf("DOWN", "NORMAL", "VIEW_CHANGE", "RECOVERING")]
Slot = Annotated[int, Range(0, lambda size: size.txns - 1)]
Length = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
Log = Annotated[SeqOf[Txn], AtMost(lambda size: size.txns, "--txns")]
Nonce = Annotated[int, Range(0, lambda size: size.crashes)]


class PREPARE(MessageType):
    view: Epoch
    place: Length
    txn: Txn
    committed: Length


class PREPAREOK(MessageType):
    view: Epoch
    length: Length


class COMMIT(MessageType):
    view: Epoch
    committed: Length


class STARTVIEWCHANGE(MessageType):
    view: Epoch


class DOVIEWCHANGE(MessageType):
    view: Epoch
    log: Log
    normal: Epoch
    committed: Length


class STARTVIEW(MessageType):
    view: Epoch
    log: Log
    committed: Length


class RECOVERY(MessageType):
    nonce: Nonce


class RESPONSE(MessageType):
    nonce: Nonce
    view: Epoch
    log: Log
    committed: Length


class State(Fields):
    status: Each[Node, Status] = volatile("what it does")
    view: Each[Node, Epoch] = volatile("its view")
    normal: Each[Node, Epoch] = volatile("the latest view in which its status was normal")
    log: Each[Node, Log] = volatile("its log")
    committed: Each[Node, Length] = volatile("how much of it is committed, and delivered")
    acks: Each[Node, Each[Slot, set[Node]]] = volatile("of a primary: who has its log up to an entry")
    heard: Each[Node, set[Node]] = volatile("who wants its view to begin; of one that recovers: who has answered")
    changed: Each[Node, set[Node]] = volatile("of a new primary: who has sent its log")
    best: Each[Node, Log] = volatile("and the log of the latest view")
    best_normal: Each[Node, Epoch] = volatile("that view")
    best_committed: Each[Node, Length] = volatile("the largest number of committed entries that it was told")
    nonce: Each[Node, Nonce] = stored("how often it has recovered: by a clock, and not by its disk")
    TXNS: int


def epochs(size: Size) -> int:
    return 1 + size.suspicions


def on_start(s: State, p: Node) -> None:
    s.status[p] = NORMAL
    s.view[p] = 1
    s.normal[p] = 1


def primary_of(s: State, view: int) -> Node:
    return (view + s.NODES - 1) % s.NODES


# --- normal operation (4.1) -----------------------------------------------------------------------


def may_abcast(s: State, p: Node) -> bool:
    return s.status[p] == NORMAL and p == primary_of(s, s.view[p])


def on_abcast(s: State, p: Node) -> None:
    """A client asks the primary."""
    count = 1 + sum(1 for t in s.log[p] if t.epoch == s.view[p])
    added = abcast(s, p, s.view[p], count)
    s.log[p].append(added)
    accept(s, p, s.view[p], added)
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, PREPARE(view=s.view[p], place=len(s.log[p]) - 1, txn=added, committed=s.committed[p]))
    acknowledge(s, p, p, len(s.log[p]))


@receives
def on_prepare(s: State, p: Node, source: Node, m: PREPARE) -> None:
    if s.status[p] == NORMAL and m.view == s.view[p] and m.place == len(s.log[p]):
        s.log[p].append(m.txn)
        accept(s, p, m.view, m.txn)
        commit(s, p, m.committed)
        send(s, p, source, PREPAREOK(view=m.view, length=len(s.log[p])))


@receives
def on_prepareok(s: State, p: Node, source: Node, m: PREPAREOK) -> None:
    if s.status[p] == NORMAL and m.view == s.view[p]:
        acknowledge(s, p, source, m.length)


def acknowledge(s: State, p: Node, q: Node, length: int) -> None:
    """q has the primary's log up to an entry: what a majority has is committed."""
    done = s.committed[p]
    for k in range(len(s.log[p])):
        if k < length:
            s.acks[p][k].add(q)
        if is_quorum(s, s.acks[p][k]):
            done = max(done, k + 1)
    if done > s.committed[p]:
        commit(s, p, done)
        for r in range(s.NODES):
            if r != p:
                send(s, p, r, COMMIT(view=s.view[p], committed=done))


@receives
def on_commit(s: State, p: Node, m: COMMIT) -> None:
    if s.status[p] == NORMAL and m.view == s.view[p]:
        commit(s, p, min(m.committed, len(s.log[p])))


def commit(s: State, p: Node, length: int) -> None:
    """What is committed is executed in the order of the log, which is to deliver it."""
    for k in range(len(s.log[p])):
        if k == s.committed[p] and k < length:
            s.committed[p] = k + 1
            abdeliver(s, p, s.log[p][k])


# --- view change (4.2) ----------------------------------------------------------------------------


def takes_part(s: State, p: Node) -> bool:
    return s.status[p] == NORMAL or s.status[p] == VIEW_CHANGE


@action(when=takes_part, budget="suspicions")
def change(s: State, p: Node) -> None:
    """p has waited for the primary too long."""
    leave(s, p, s.view[p] + 1)


def leave(s: State, p: Node, view: int) -> None:
    """p leaves its view for a later one, and says so."""
    s.status[p] = VIEW_CHANGE
    s.view[p] = view
    forget_counts(s, p)
    end_leadership(s, p)
    s.heard[p].add(p)
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, STARTVIEWCHANGE(view=view))


def forget_counts(s: State, p: Node) -> None:
    for k in range(s.TXNS):
        s.acks[p][k].clear()
    s.heard[p].clear()
    s.changed[p].clear()
    s.best[p].clear()
    s.best_normal[p] = 0
    s.best_committed[p] = 0


@receives
def on_startviewchange(s: State, p: Node, source: Node, m: STARTVIEWCHANGE) -> None:
    if takes_part(s, p) and m.view > s.view[p]:
        leave(s, p, m.view)
    if s.status[p] == VIEW_CHANGE and m.view == s.view[p] and not is_quorum(s, s.heard[p]):
        s.heard[p].add(source)
        if is_quorum(s, s.heard[p]):
            q = primary_of(s, m.view)
            send(s, p, q, DOVIEWCHANGE(view=m.view, log=s.log[p], normal=s.normal[p], committed=s.committed[p]))


def newer(s: State, p: Node, normal: int, length: int) -> bool:
    """Whether a log is newer than the best so far: of a later view, or longer and of the same."""
    return normal > s.best_normal[p] or (normal == s.best_normal[p] and length > len(s.best[p]))


@receives
def on_doviewchange(s: State, p: Node, source: Node, m: DOVIEWCHANGE) -> None:
    if takes_part(s, p) and m.view > s.view[p]:
        leave(s, p, m.view)
    if s.status[p] == VIEW_CHANGE and m.view == s.view[p]:
        s.changed[p].add(source)
        if newer(s, p, m.normal, len(m.log)):
            s.best[p] = m.log
            s.best_normal[p] = m.normal
        s.best_committed[p] = max(s.best_committed[p], m.committed)
        if is_quorum(s, s.changed[p]):
            begin_view(s, p)


def begin_view(s: State, p: Node) -> None:
    """The new primary has the logs of a majority."""
    s.log[p] = s.best[p]
    done = s.best_committed[p]
    enter(s, p, s.view[p])
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, STARTVIEW(view=s.view[p], log=s.log[p], committed=done))
    commit(s, p, done)
    acknowledge(s, p, p, len(s.log[p]))


def enter(s: State, p: Node, view: int) -> None:
    s.status[p] = NORMAL
    s.view[p] = view
    s.normal[p] = view
    forget_counts(s, p)
    for t in s.log[p]:
        accept(s, p, view, t)


@receives
def on_startview(s: State, p: Node, source: Node, m: STARTVIEW) -> None:
    if takes_part(s, p) and (m.view > s.view[p] or (m.view == s.view[p] and s.status[p] == VIEW_CHANGE)):
        end_leadership(s, p)
        s.log[p] = m.log
        enter(s, p, m.view)
        commit(s, p, m.committed)
        if len(s.log[p]) > m.committed:
            send(s, p, source, PREPAREOK(view=m.view, length=len(s.log[p])))


# --- recovery (4.3) -------------------------------------------------------------------------------


def on_crash(s: State, p: Node) -> None:
    """Everything is lost: p has no disk."""
    forget(s, p)
    end_pass(s, p)


def on_recovery(s: State, p: Node) -> None:
    s.status[p] = RECOVERING
    s.nonce[p] += 1
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, RECOVERY(nonce=s.nonce[p]))


@receives
def on_recovery_asked(s: State, p: Node, source: Node, m: RECOVERY) -> None:
    if s.status[p] == NORMAL:
        send(s, p, source, RESPONSE(nonce=m.nonce, view=s.view[p], log=s.log[p], committed=s.committed[p]))


@receives
def on_response(s: State, p: Node, source: Node, m: RESPONSE) -> None:
    """A majority has answered, the primary of the latest view that they know among them: its log is p's."""
    if s.status[p] == RECOVERING and m.nonce == s.nonce[p]:
        s.heard[p].add(source)
        if m.view > s.view[p]:
            s.view[p] = m.view
            s.changed[p].clear()
        if m.view == s.view[p] and source == primary_of(s, m.view):
            s.changed[p].add(source)
            s.best[p] = m.log
            s.best_committed[p] = m.committed
        if is_quorum(s, s.heard[p]) and len(s.changed[p]) > 0:
            s.log[p] = s.best[p]
            done = s.best_committed[p]
            enter(s, p, s.view[p])
            commit(s, p, done)


# --- with one rule changed ------------------------------------------------------------------------


def longer(s: State, p: Node, normal: int, length: int) -> bool:
    return s.best_normal[p] == 0 or length > len(s.best[p])


def go_on(s: State, p: Node) -> None:
    """It goes on in the first view, with an empty log."""
    s.nonce[p] += 1
    s.status[p] = NORMAL
    s.view[p] = 1
    s.normal[p] = 1


PROTOCOL = declare(
    __name__,
    budgets={"suspicions": 2, "crashes": 0},
    network="fifo",
    transactions=True,
    epochs=epochs,
    variants=[
        Variant("longest", "a new primary takes the longest log", {"newer": longer}, rule="4.2, step 3"),
        Variant("amnesia", "a replica that has lost its state goes on at once", {"on_recovery": go_on}, rule="4.3"),
    ],
)
