"""Paxos, a sequence of instances of it, with several proposals outstanding (DSN'11, Figure 1).

Every process is proposer, acceptor and learner of every instance; instances are slots of one log, and what is learned
is delivered in their order. A proposer whose ballot a quorum has promised is a primary: it proposes again what they
have accepted, slot by slot the value of the highest ballot, and then broadcasts, each transaction in the next free
slot, without waiting for the one before. That is safe as consensus, and keeps no primary order:

    zabcheck --protocol example:paxos --txns 3 --property local-primary-order
    zabcheck --protocol example:paxos --variant one-at-a-time --txns 2 --campaigns 2

`docs/explanation/case-studies.md` says what holds and what breaks, and shows the runs.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, MessageType, Node, Range, SeqOf, Size, Txn, Variant, abcast, abdeliver, accept, action,
    declare, end_leadership, end_pass, forget, is_quorum, receives, send, step, stored, volatile,
)  # fmt: skip


def epochs(size: Size) -> int:
    return size.nodes * max(1, size.campaigns)


# a ballot: (round, proposer) as one number, so that no two proposers share one; 0 is none
Ballot = Annotated[int, Range(0, epochs, "--campaigns")]
Log = Annotated[SeqOf[Txn], AtMost(lambda size: size.txns, "--txns")]
Count = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
AcceptedIn = Annotated[SeqOf[Ballot], AtMost(lambda size: size.txns, "--txns")]
Slot = Annotated[int, Range(0, lambda size: max(0, size.txns - 1), "--txns")]


class PREPARE(MessageType):
    ballot: Ballot


class PROMISE(MessageType):
    ballot: Ballot
    log: Log
    accepted_in: AcceptedIn


class ACCEPT(MessageType):
    ballot: Ballot
    slot: Slot
    txn: Txn


class ACCEPTED(MessageType):
    ballot: Ballot
    slot: Slot


class CHOSEN(MessageType):
    slot: Slot
    txn: Txn


class State(Fields):
    # of an acceptor
    promised: Each[Node, Ballot] = stored("the highest ballot it has promised")
    promised_to: Each[Node, Node] = stored("to whom")
    log: Each[Node, Log] = stored("what it has accepted last, slot by slot; epoch 0: nothing")
    accepted_in: Each[Node, AcceptedIn] = stored("in which ballot")
    # of a proposer
    ballot: Each[Node, Ballot] = volatile("its ballot; 0: it has none")
    leads: Each[Node, bool] = volatile("a quorum has promised its ballot")
    supporters: Each[Node, set[Node]] = volatile("who has promised it, until it leads")
    best: Each[Node, Log] = volatile("of what they accepted, the values of the highest ballots")
    best_in: Each[Node, AcceptedIn] = volatile("those ballots")
    count: Each[Node, Count] = volatile("transactions that it has broadcast in its ballot")
    acks: Each[Node, Each[Slot, set[Node]]] = volatile("who has accepted its proposal for a slot, until it is chosen")
    # of a learner
    learned: Each[Node, Each[Slot, Txn]] = volatile("what is chosen, slot by slot; epoch 0: it does not know")
    executed: Each[Node, Count] = volatile("how many slots it has delivered")
    CAMPAIGNS: int
    TXNS: int


# --- Phase 1: a proposer asks for a ballot ---------------------------------------------------------


def ballot_of(s: State, p: Node, round: int) -> int:
    """The ballot of p in a round, which counts from 1."""
    return (round - 1) * s.NODES + p + 1


@action(when=lambda s, p: not s.leads[p], budget="campaigns")
@step("phase 1a")
def campaign(s: State, p: Node) -> None:
    """p asks for its first ballot beyond what it has promised, and promises it itself."""
    give_up(s, p)
    b = 0
    for r in range(s.CAMPAIGNS):
        if b == 0 and ballot_of(s, p, r + 1) > s.promised[p]:
            b = ballot_of(s, p, r + 1)
    s.ballot[p] = b
    s.promised[p] = b
    s.promised_to[p] = p
    s.best[p] = s.log[p]
    s.best_in[p] = s.accepted_in[p]
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, PREPARE(ballot=b))
    support(s, p, p)


@receives
def on_prepare(s: State, p: Node, source: Node, m: PREPARE) -> None:
    if m.ballot > s.promised[p]:
        promise(s, p, source, m.ballot)


@step("phase 1b")
def promise(s: State, p: Node, q: Node, ballot: int) -> None:
    """p promises q's ballot, and says what it has accepted in earlier ones, in all slots."""
    follow(s, p, q, ballot)
    send(s, p, q, PROMISE(ballot=ballot, log=s.log[p], accepted_in=s.accepted_in[p]))


@receives
def on_promise(s: State, p: Node, source: Node, m: PROMISE) -> None:
    if m.ballot == s.ballot[p] and not s.leads[p]:
        for k in range(len(m.log)):
            if k >= len(s.best[p]):
                s.best[p].append(m.log[k])
                s.best_in[p].append(m.accepted_in[k])
            elif m.accepted_in[k] > s.best_in[p][k]:
                s.best[p][k] = m.log[k]
                s.best_in[p][k] = m.accepted_in[k]
        support(s, p, source)


def support(s: State, p: Node, q: Node) -> None:
    """q has promised p's ballot: with a quorum p leads."""
    s.supporters[p].add(q)
    if is_quorum(s, s.supporters[p]):
        lead(s, p)


@step("leads")
def lead(s: State, p: Node) -> None:
    """A quorum has promised p's ballot: it proposes again what they have accepted, in all slots."""
    s.supporters[p].clear()
    s.leads[p] = True
    for k in range(s.TXNS):
        if k < len(s.best[p]):
            if s.best[p][k].epoch > 0:
                propose(s, p, k, s.best[p][k])
            else:
                fill(s, p, k)
    s.best[p].clear()
    s.best_in[p].clear()


def fill(s: State, p: Node, slot: int) -> None:
    """A slot before one of these for which nobody of the quorum has accepted anything: p's own transactions fill it."""


def follow(s: State, p: Node, q: Node, ballot: int) -> None:
    """p promises a later ballot of q's, and gives up its own."""
    s.promised[p] = ballot
    s.promised_to[p] = q
    give_up(s, p)


def give_up(s: State, p: Node) -> None:
    s.ballot[p] = 0
    s.leads[p] = False
    s.count[p] = 0
    s.supporters[p].clear()
    s.best[p].clear()
    s.best_in[p].clear()
    for k in range(s.TXNS):
        s.acks[p][k].clear()
    end_leadership(s, p)


# --- Phase 2: it proposes values -------------------------------------------------------------------


def free_slot(s: State, p: Node) -> int:
    """The first slot for which p has no value; TXNS: there is none."""
    for k in range(s.TXNS):
        if k >= len(s.log[p]) or s.log[p][k].epoch == 0:
            return k
    return s.TXNS


def settled(s: State, p: Node) -> bool:
    """Whether p has waited for its proposals long enough to make another: it does not wait."""
    return True


def may_abcast(s: State, p: Node) -> bool:
    return s.leads[p] and free_slot(s, p) < s.TXNS and settled(s, p)


def on_abcast(s: State, p: Node) -> None:
    """The application at p, a primary, broadcasts: in the next free slot."""
    s.count[p] = s.count[p] + 1
    t = abcast(s, p, s.ballot[p], s.count[p])
    propose(s, p, free_slot(s, p), t)


@step("phase 2a")
def propose(s: State, p: Node, slot: int, t: Txn) -> None:
    """p proposes t for a slot, and accepts it itself."""
    put(s, p, slot, t, s.ballot[p])
    s.acks[p][slot].clear()
    for q in range(s.NODES):
        if q != p:
            send(s, p, q, ACCEPT(ballot=s.ballot[p], slot=slot, txn=t))
    count_ack(s, p, p, slot)


@receives
def on_accept(s: State, p: Node, source: Node, m: ACCEPT) -> None:
    if m.ballot > s.promised[p]:
        follow(s, p, source, m.ballot)
    if m.ballot == s.promised[p] and s.promised_to[p] == source:
        vote(s, p, source, m)


@step("phase 2b")
def vote(s: State, p: Node, source: Node, m: ACCEPT) -> None:
    """p accepts what is proposed in the ballot that it has promised."""
    put(s, p, m.slot, m.txn, m.ballot)
    send(s, p, source, ACCEPTED(ballot=m.ballot, slot=m.slot))


def put(s: State, p: Node, slot: int, t: Txn, ballot: int) -> None:
    """p accepts t for a slot."""
    for k in range(s.TXNS):
        if k <= slot and k >= len(s.log[p]):
            s.log[p].append(Txn(epoch=0, counter=0, value=0))
            s.accepted_in[p].append(0)
    s.log[p][slot] = t
    s.accepted_in[p][slot] = ballot
    if t.value > 0:
        accept(s, p, ballot, t)


@receives
def on_accepted(s: State, p: Node, source: Node, m: ACCEPTED) -> None:
    if s.leads[p] and m.ballot == s.ballot[p] and not is_quorum(s, s.acks[p][m.slot]):
        count_ack(s, p, source, m.slot)


def count_ack(s: State, p: Node, q: Node, slot: int) -> None:
    """q has accepted p's proposal. From a quorum on it is chosen, and everyone is told."""
    s.acks[p][slot].add(q)
    if is_quorum(s, s.acks[p][slot]):
        for r in range(s.NODES):
            if r != p:
                send(s, p, r, CHOSEN(slot=slot, txn=s.log[p][slot]))
        learn(s, p, slot, s.log[p][slot])


# --- what is chosen is delivered in the order of the slots -----------------------------------------


@receives
def on_chosen(s: State, p: Node, source: Node, m: CHOSEN) -> None:
    learn(s, p, m.slot, m.txn)


def learn(s: State, p: Node, slot: int, t: Txn) -> None:
    """p knows what is chosen for a slot, and delivers as far as it knows all before."""
    if s.learned[p][slot].epoch == 0:
        s.learned[p][slot] = t
        for k in range(s.TXNS):
            if k == s.executed[p] and s.learned[p][k].epoch > 0:
                s.executed[p] = k + 1
                if s.learned[p][k].value > 0:
                    abdeliver(s, p, s.learned[p][k])


def on_crash(s: State, p: Node) -> None:
    """What p had learned it learns again, from whoever leads next, and delivers again from the first slot on."""
    forget(s, p)
    end_pass(s, p)


# --- with one rule changed -------------------------------------------------------------------------


def all_delivered(s: State, p: Node) -> bool:
    """Whether p has waited for its proposals long enough to make another: until all are chosen, and delivered."""
    return s.executed[p] == free_slot(s, p)


def fill_with_no_op(s: State, p: Node, slot: int) -> None:
    """A no-op: a value that is no transaction, which nobody delivers."""
    propose(s, p, slot, Txn(epoch=s.ballot[p], counter=0, value=0))


def ballot_is_round(s: State, p: Node, round: int) -> int:
    """The ballot of p in a round: the round. Several may campaign with one ballot, and at most one leads with it, as
    an acceptor promises it to one of them."""
    return round


PROTOCOL = declare(
    __name__,
    budgets={"campaigns": 3, "crashes": 0},
    network="fifo",
    transactions=True,
    epochs=epochs,
    flight=lambda size: 12 * size.nodes,
    variants=[
        Variant(
            "one-at-a-time",
            "a primary has one proposal outstanding: it broadcasts when all before it are delivered",
            {"settled": all_delivered},
            rule="phase 2a",
        ),
        Variant(
            "no-ops",
            "a new proposer fills the gaps in what a quorum has accepted with no-ops, and its own transactions follow",
            {"fill": fill_with_no_op},
            rule="phase 2a",
        ),
        Variant(
            "rounds-alone",
            "a ballot is a round, which an acceptor promises to one proposer: no two processes are told apart",
            {"ballot_of": ballot_is_round},
            rule="phase 1a",
        ),
    ],
)
