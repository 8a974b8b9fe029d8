"""LADIS'08 4.1 with and without COMMIT, over a complete graph of FIFO channels.

"Note that the leader does not have to send the COMMIT if the followers broadcast the ACKs to each other. Not only does
this modification increases the amount of network traffic, but it also requires a complete communication graph rather
than the simple star topology". `ladis` speaks over the star; here every process reaches every other:

    zabcheck --protocol example:ladis_without_commit --takeovers 2
    zabcheck --protocol example:ladis_without_commit --variant acks-to-all --takeovers 2

The broadcast mode is the paper's. A leader takes over by the rules that LADIS'08's own recovery turned out to need
(`docs/reference/variants.md`): promises on disk, and the log of the latest epoch of a quorum.
`benchmarks/results/ladis.md` has what holds, and the price.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Epoch, Fields, History, MessageType, Node, Range, Size, Txn, Variant, abcast, abdeliver, accept, action,
    declare, end_pass, establish, forget, is_quorum, receives, send, step, stored, volatile,
)  # fmt: skip

Count = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
Length = Annotated[int, Range(0, lambda size: size.log, "--txns")]


class NEWEPOCH(MessageType):
    epoch: Epoch


class ACK_E(MessageType):
    epoch: Epoch
    current: Epoch
    log: History


class NEWLEADER(MessageType):
    epoch: Epoch
    log: History


class PROPOSE(MessageType):
    epoch: Epoch
    txn: Txn


class ACK(MessageType):
    epoch: Epoch
    length: Length


class COMMIT(MessageType):
    epoch: Epoch
    length: Length


class State(Fields):
    promised: Each[Node, Epoch] = stored("the latest epoch that it promised")
    current: Each[Node, Epoch] = stored("the latest epoch whose log it accepted")
    log: Each[Node, History] = stored("its log")
    delivered_length: Each[Node, Length] = volatile("how much of it it has delivered in this epoch")
    heard_epoch: Each[Node, Each[Node, Epoch]] = volatile("the epoch of what a process acknowledged last")
    heard: Each[Node, Each[Node, Length]] = volatile("how much of that epoch's log it acknowledged")
    epoch: Each[Node, Epoch] = volatile("the epoch that it leads, or would; 0: none")
    supporters: Each[Node, set[Node]] = volatile("who has promised it, until it has a quorum")
    best: Each[Node, History] = volatile("the log of the latest of them")
    best_epoch: Each[Node, Epoch] = volatile("its epoch")
    leads: Each[Node, bool] = volatile("a quorum has promised")
    ready: Each[Node, bool] = volatile("a quorum has its log")
    informed: Each[Node, set[Node]] = volatile("to whom it has sent NEWLEADER")
    committed: Each[Node, Length] = volatile("how much of its log it has committed")
    count: Each[Node, Count] = volatile("transactions that it has broadcast in its epoch")
    EPOCHS: int


def epochs(size: Size) -> int:
    """Each takeover may begin one."""
    return max(1, size.takeovers)


# --- taking over -----------------------------------------------------------------------------------


@action(when=lambda s, p: s.promised[p] < s.EPOCHS, budget="takeovers", every=40)
@step("take over")
def take_over(s: State, p: Node) -> None:
    """p promises itself the next epoch, and asks everyone else to."""
    promise(s, p, s.promised[p] + 1)
    s.epoch[p] = s.promised[p]
    s.best[p] = s.log[p]
    s.best_epoch[p] = s.current[p]
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, NEWEPOCH(epoch=s.epoch[p]))
    support(s, p, p)


def promise(s: State, p: Node, epoch: int) -> None:
    """p abandons whom it led or followed. What it delivers from then on it delivers from the beginning of its log."""
    end_pass(s, p)
    forget(s, p)
    s.promised[p] = epoch


@receives
def on_newepoch(s: State, p: Node, source: Node, m: NEWEPOCH) -> None:
    if m.epoch > s.promised[p]:
        promise(s, p, m.epoch)
        send(s, p, source, ACK_E(epoch=m.epoch, current=s.current[p], log=s.log[p]))


@receives
def on_ack_e(s: State, p: Node, source: Node, m: ACK_E) -> None:
    if m.epoch == s.epoch[p]:
        if s.leads[p]:
            inform(s, p, source)
        else:
            if later(s, p, m):
                s.best[p] = m.log
                s.best_epoch[p] = m.current
            support(s, p, source)


def later(s: State, p: Node, m: ACK_E) -> bool:
    """Whether a log is later than the best so far: of a later epoch, or longer of the same one."""
    return m.current > s.best_epoch[p] or (m.current == s.best_epoch[p] and len(m.log) > len(s.best[p]))


def support(s: State, p: Node, q: Node) -> None:
    """q has promised p's epoch: with a quorum p leads, and brings them to the best of their logs."""
    s.supporters[p].add(q)
    if is_quorum(s, s.supporters[p]):
        s.leads[p] = True
        s.log[p] = s.best[p]
        take_log(s, p)
        for r in range(s.NODES):
            if r in s.supporters[p] and r != p:
                inform(s, p, r)
        s.supporters[p].clear()
        s.best[p].clear()
        s.best_epoch[p] = 0
        note(s, p, p, s.epoch[p], len(s.log[p]))
        count_acks(s, p)


def take_log(s: State, p: Node) -> None:
    """p has the log of the epoch that it promised, and accepts all in it."""
    s.current[p] = s.promised[p]
    for k in range(len(s.log[p])):
        accept(s, p, s.current[p], s.log[p][k])


def inform(s: State, p: Node, q: Node) -> None:
    s.informed[p].add(q)
    send(s, p, q, NEWLEADER(epoch=s.epoch[p], log=s.log[p]))
    if s.ready[p]:
        announce(s, p, q)


@receives
def on_newleader(s: State, p: Node, source: Node, m: NEWLEADER) -> None:
    if m.epoch == s.promised[p] and s.current[p] < m.epoch:
        s.log[p] = m.log
        take_log(s, p)
        acknowledge(s, p, source)


# --- broadcast mode ----------------------------------------------------------------------------------


def may_abcast(s: State, p: Node) -> bool:
    return s.ready[p]


@step("propose")
def on_abcast(s: State, p: Node) -> None:
    """4.1: the leader proposes; it has the proposal on its own disk."""
    s.count[p] = s.count[p] + 1
    t = abcast(s, p, s.epoch[p], s.count[p])
    s.log[p].append(t)
    accept(s, p, s.epoch[p], t)
    for q in range(s.NODES):
        if q in s.informed[p]:
            send(s, p, q, PROPOSE(epoch=s.epoch[p], txn=t))
    note(s, p, p, s.epoch[p], len(s.log[p]))
    count_acks(s, p)


@receives
def on_propose(s: State, p: Node, source: Node, m: PROPOSE) -> None:
    if m.epoch == s.promised[p] and m.epoch == s.current[p]:
        s.log[p].append(m.txn)
        accept(s, p, m.epoch, m.txn)
        acknowledge(s, p, source)


def acknowledge(s: State, p: Node, leader: Node) -> None:
    """4.1: the acknowledgement of all that p has of its leader's log, to the leader."""
    send(s, p, leader, ACK(epoch=s.current[p], length=len(s.log[p])))


def note(s: State, p: Node, q: Node, epoch: int, length: int) -> None:
    """p knows that q has so much of the log of an epoch. Epochs, and in one epoch lengths, only grow at q."""
    s.heard_epoch[p][q] = epoch
    s.heard[p][q] = length


@receives
def on_ack(s: State, p: Node, source: Node, m: ACK) -> None:
    note(s, p, source, m.epoch, m.length)
    count_acks(s, p)


def counts(s: State, p: Node, q: Node) -> bool:
    """Whether what q acknowledged last is of the log that p has."""
    return s.heard_epoch[p][q] == s.current[p]


def acknowledged(s: State, p: Node, length: int) -> bool:
    """Whether p knows that a quorum has so much of the log of its epoch."""
    return is_quorum(s, {q for q in range(s.NODES) if counts(s, p, q) and s.heard[p][q] >= length})


def in_epoch(s: State, p: Node) -> bool:
    """Whether p leads the epoch of its log, or follows in it."""
    return s.current[p] > 0 and s.current[p] == s.promised[p]


def count_acks(s: State, p: Node) -> None:
    """4.1: "When a leader receives ACKs from a quorum, the leader will broadcast a COMMIT and deliver"."""
    if s.leads[p]:
        if not s.ready[p] and acknowledged(s, p, len(s.log[p])):
            s.ready[p] = True
            establish(s, s.epoch[p], s.log[p])
            commit(s, p, len(s.log[p]))
        for n in range(len(s.log[p]) + 1):
            if s.ready[p] and n > s.committed[p] and acknowledged(s, p, n):
                commit(s, p, n)


@step("commit")
def commit(s: State, p: Node, length: int) -> None:
    s.committed[p] = length
    for q in range(s.NODES):
        if q in s.informed[p]:
            announce(s, p, q)
    deliver_up_to(s, p, length)


def announce(s: State, p: Node, q: Node) -> None:
    """4.1: the COMMIT to a follower."""
    send(s, p, q, COMMIT(epoch=s.epoch[p], length=s.committed[p]))


@receives
def on_commit(s: State, p: Node, m: COMMIT) -> None:
    if m.epoch == s.current[p] and in_epoch(s, p):
        deliver_up_to(s, p, m.length)


def deliver_up_to(s: State, p: Node, length: int) -> None:
    for k in range(len(s.log[p])):
        if k == s.delivered_length[p] and k < length:
            s.delivered_length[p] = k + 1
            abdeliver(s, p, s.log[p][k])


def on_crash(s: State, p: Node) -> None:
    """Its log is on the disk; it follows whoever takes over next."""
    end_pass(s, p)
    forget(s, p)


# --- without COMMIT ------------------------------------------------------------------------------------


def acknowledge_to_all(s: State, p: Node, leader: Node) -> None:
    """4.1: "the followers broadcast the ACKs to each other". Who proposes has what it proposes."""
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, ACK(epoch=s.current[p], length=len(s.log[p])))
    note(s, p, leader, s.current[p], len(s.log[p]))
    note(s, p, p, s.current[p], len(s.log[p]))
    count_acks(s, p)


def count_acks_of_all(s: State, p: Node) -> None:
    """Everyone delivers what it knows that a quorum has."""
    if in_epoch(s, p):
        if s.leads[p] and not s.ready[p] and acknowledged(s, p, len(s.log[p])):
            s.ready[p] = True
            establish(s, s.epoch[p], s.log[p])
        for n in range(len(s.log[p]) + 1):
            if n > s.delivered_length[p] and acknowledged(s, p, n):
                deliver_up_to(s, p, n)


def announces_nothing(s: State, p: Node, q: Node) -> None:
    """The leader does not have to send the COMMIT."""


def counts_any_epoch(s: State, p: Node, q: Node) -> bool:
    """Whatever epoch it is of."""
    return True


PROTOCOL = declare(
    __name__,
    budgets={"takeovers": 1, "crashes": 0},
    network="fifo",
    transactions=True,
    epochs=epochs,
    flight=lambda size: 12 * size.nodes,
    variants=[
        Variant(
            "acks-to-all",
            "followers broadcast their ACKs to each other, and nobody sends COMMIT",
            {"acknowledge": acknowledge_to_all, "count_acks": count_acks_of_all, "announce": announces_nothing},
            rule="4.1",
        ),
        Variant(
            "any-epoch",
            "an acknowledgement counts for the log of whatever epoch its receiver is in",
            {"counts": counts_any_epoch},
            rule="4.1",
        ),
    ],
)
