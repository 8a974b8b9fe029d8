"""Chain replication with its master (van Renesse and Schneider, 2004): what enters at the head is done at the tail.

    zabcheck --protocol example:chain_with_master
    zabcheck --protocol example:chain_with_master --variant eager        the head does not wait for the tail
    zabcheck --protocol example:chain_with_master --variant cautious     who hears of a removal drops what is not done

The master is of the environment: it removes whom it suspects, rightly or not, and each process learns of it later, in
a step of its own. A configuration is who is left, in the order of their numbers; how many there were is the epoch.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Epoch, Fields, MessageType, Node, Range, SeqOf, Size, Txn, Variant, abcast, abdeliver, accept,
    action, choose, declare, end_leadership, environment, environment_step, receives, send, stored,
)  # fmt: skip

Length = Annotated[int, Range(0, lambda size: size.txns, "--txns")]


class UPDATE(MessageType):
    epoch: Epoch
    place: Length
    txn: Txn


class DONE(MessageType):
    epoch: Epoch
    length: Length


class State(Fields):
    removed: set[Node] = environment("of the master: whom it has removed")
    configuration: Annotated[int, Range(0, lambda size: size.removals)] = environment("how often it has")
    epoch: Each[Node, Epoch] = stored("the latest configuration that it has learned of")
    member: Each[Node, bool] = stored("it is of that configuration")
    previous: Each[Node, Node] = stored("who is before it there; nobody: it is the head")
    following: Each[Node, Node] = stored("who is behind it; nobody: it is the tail")
    log: Each[Node, Annotated[SeqOf[Txn], AtMost(lambda size: size.txns, "--txns")]] = stored("the updates it has")
    done: Each[Node, Length] = stored("how many of them it knows to be done, and has delivered")
    TXNS: int


def epochs(size: Size) -> int:
    return 1 + size.removals


# --- the master -----------------------------------------------------------------------------------


@environment_step(when=lambda s: len(s.removed) < s.NODES - 1, budget="removals")
def remove(s: State) -> None:
    """The master suspects a process, and removes it."""
    p = choose(s, s.NODES)
    if p not in s.removed:
        s.removed.add(p)
        s.configuration += 1


def on_start(s: State, p: Node) -> None:
    learn(s, p)


def learn(s: State, p: Node) -> None:
    """p hears of the latest configuration. Whom it had sent to may be gone: it sends again what is not done."""
    s.epoch[p] = s.configuration + 1
    s.member[p] = p not in s.removed
    s.previous[p] = NOBODY
    s.following[p] = NOBODY
    keep(s, p)
    for q in range(s.NODES):
        if q not in s.removed:
            if q < p:
                s.previous[p] = q
            if q > p and s.following[p] == NOBODY:
                s.following[p] = q
    if not s.member[p]:
        end_leadership(s, p)
    elif s.following[p] == NOBODY:
        deliver(s, p, len(s.log[p]))
    else:
        for k in range(len(s.log[p])):
            if k >= s.done[p]:
                pass_on(s, p, k)


def keep(s: State, p: Node) -> None:
    """p keeps what it has: it may be done at the tail already."""


@action(when=lambda s, p: s.epoch[p] <= s.configuration)
def hear(s: State, p: Node) -> None:
    learn(s, p)


# --- updates --------------------------------------------------------------------------------------


def may_abcast(s: State, p: Node) -> bool:
    """Updates enter at the head, as far as it knows that it is."""
    return s.member[p] and s.previous[p] == NOBODY


def on_abcast(s: State, p: Node) -> None:
    count = 1 + sum(1 for t in s.log[p] if t.epoch == s.epoch[p])
    take(s, p, abcast(s, p, s.epoch[p], count))


def take(s: State, p: Node, t: Txn) -> None:
    """p has an update: the tail says that it is done, the others pass it on."""
    s.log[p].append(t)
    accept(s, p, s.epoch[p], t)
    if s.following[p] == NOBODY:
        deliver(s, p, len(s.log[p]))
    else:
        pass_on(s, p, len(s.log[p]) - 1)


def pass_on(s: State, p: Node, place: int) -> None:
    send(s, p, s.following[p], UPDATE(epoch=s.epoch[p], place=place, txn=s.log[p][place]))


@receives
def on_update(s: State, p: Node, m: UPDATE) -> None:
    if m.epoch > s.epoch[p]:
        learn(s, p)
    if m.epoch == s.epoch[p]:
        if m.place == len(s.log[p]):
            take(s, p, m.txn)
        elif m.place < s.done[p]:
            tell(s, p)


@receives
def on_done(s: State, p: Node, m: DONE) -> None:
    if m.epoch > s.epoch[p]:
        learn(s, p)
    if m.epoch == s.epoch[p]:
        deliver(s, p, min(m.length, len(s.log[p])))


def deliver(s: State, p: Node, length: int) -> None:
    """So many updates are done: p delivers them, and says so to whom it had them from."""
    for k in range(len(s.log[p])):
        if k == s.done[p] and k < length:
            s.done[p] = k + 1
            abdeliver(s, p, s.log[p][k])
    tell(s, p)


def tell(s: State, p: Node) -> None:
    if s.previous[p] != NOBODY:
        send(s, p, s.previous[p], DONE(epoch=s.epoch[p], length=s.done[p]))


# --- with one rule changed ------------------------------------------------------------------------


def take_and_deliver(s: State, p: Node, t: Txn) -> None:
    """Who has an update delivers it at once."""
    s.log[p].append(t)
    accept(s, p, s.epoch[p], t)
    if s.following[p] != NOBODY:
        pass_on(s, p, len(s.log[p]) - 1)
    deliver(s, p, len(s.log[p]))


def drop_undone(s: State, p: Node) -> None:
    for _ in range(s.TXNS):
        if len(s.log[p]) > s.done[p]:
            s.log[p].pop()


PROTOCOL = declare(
    __name__,
    budgets={"removals": 2},
    network="fifo",
    transactions=True,
    epochs=epochs,
    variants=[
        Variant("eager", "who has an update delivers it at once", {"take": take_and_deliver}, "the tail answers"),
        Variant(
            "cautious", "who hears of a removal drops what is not done", {"keep": drop_undone}, "what is sent stays"
        ),
    ],
)
