"""ACK-E and NEWLEADER that carry only what is missing (DSN'11 IV, V.A), in place of whole histories.

Each side says how far its history goes before the other one sends: the follower in CEPOCH, the leader in NEWEPOCH. What
is sent then is a part of a history: it begins with the last transaction that both have, which says where the rest
belongs, and is whole where they share none. Where histories differ, the receiver drops what comes after that
transaction. So the last transaction of ACK-E is f.zxid, which is all that l.1.2 compares.

    CEPOCH(f.p, f.zxid)  NEWEPOCH(e', zxid of the leader)  ACK-E(f.a, part of h_f)  NEWLEADER(e', part of I_e')

That the transaction is shared follows from what ZAB keeps, and is not checked: an epoch's transactions come after its
initial history, without gaps, and a later initial history adds nothing older. A history for which it is not so may be
put together wrongly; it is one that l.1.2 does not choose. `readings.md` has the argument, and `zabcheck refine`
checks what comes of it.
"""

from __future__ import annotations

from zabspec.history import accept
from zabspec.language.python.lang import History, Node, State, Txn, step
from zabspec.worlds.actor import choose, send_to_follower, send_to_leader
from zabspec.zab import (
    ACK_E, ACK_LD, CEPOCH, DISCOVERY, NEWEPOCH, NEWLEADER, PROMISING, SYNCHRONIZATION, SYNCHRONIZING, compare,
    epoch_to_propose, has_all_promises, l_2_1, last, on_media, promises, quorum, zxid_le,
)  # fmt: skip


def set_missing(s: State, p: Node, q: Node, h: History, zxid: Txn) -> None:
    """`part[p][q]` becomes what a history that ends with `zxid` lacks: h from its last one that is not later."""
    s.part[p][q].clear()
    for k in range(len(h)):
        if zxid_le(h[k], zxid):
            s.part[p][q].clear()
        s.part[p][q].append(h[k])


def set_joined(s: State, p: Node, q: Node, h: History, received: History) -> None:
    """`part[p][q]` becomes the history of which a part was received: h up to where that begins, then what was
    received."""
    shared = 0
    if len(received) > 0:
        for k in range(len(h)):
            if h[k] == received[0]:
                shared = k
    s.part[p][q].clear()
    for k in range(len(h)):
        if k < shared:
            s.part[p][q].append(h[k])
    for k in range(len(received)):
        s.part[p][q].append(received[k])


@step("f.1.1")
def tell_zxid(s: State, f: Node) -> None:
    """The follower sends its last promise, and how far its history goes."""
    send_to_leader(s, f, CEPOCH(epoch=s.promised_epoch[f], txn=last(s.history[f])))


@step("l.1.1")
def propose_epoch(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """l.1.1; NEWEPOCH(e') says how far the leader's own history goes."""
    s.Q[l].add(f)
    s.new_epoch[l] = max(s.new_epoch[l], m.epoch)
    if quorum(s, s.Q[l]):
        s.new_epoch[l] = epoch_to_propose(s, l)
        s.stage[l] = PROMISING
        for g in range(s.NODES):
            if g in s.Q[l]:
                send_to_follower(s, l, g, NEWEPOCH(epoch=s.new_epoch[l], txn=last(s.history[l])))


@step("f.1.2")
def promise_with_missing(s: State, f: Node, m: NEWEPOCH) -> None:
    """f.1.2; ACK-E carries what the leader lacks, from the last transaction that it has."""
    if s.phase[f] == DISCOVERY and promises(s, f, m.epoch):
        s.promised_epoch[f] = m.epoch
        s.phase[f] = SYNCHRONIZATION
        on_media(s, f)
        set_missing(s, f, f, s.history[f], m.txn)
        send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], history=s.part[f][f]))
        s.part[f][f].clear()


@step("l.1.2")
def choose_from_missing(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """l.1.2 by (f.a, f.zxid) as ever; the history is what the leader has of it itself and what ACK-E carries."""
    set_joined(s, l, f, s.history[l], m.history)
    s.zxids[l][f] = last(m.history)
    if len(s.acked[l]) == 0:
        order = 1
    else:
        order = compare(s, l, m)
    if order == 0 and s.log[l] != s.part[l][f]:
        order = choose(s, 2)
    if order > 0:
        s.best_epoch[l] = m.current_epoch
        s.log[l] = s.part[l][f]
    s.part[l][f].clear()
    s.acked[l].add(f)
    if has_all_promises(s, l):
        s.acked[l].clear()
        s.best_epoch[l] = 0
        s.stage[l] = SYNCHRONIZING
        l_2_1(s, l)


@step("l.2.1")
def propose_missing(s: State, l: Node) -> None:
    """l.2.1; each follower is sent what it lacks of I_e'."""
    for g in range(s.NODES):
        if g in s.Q[l]:
            set_missing(s, l, g, s.log[l], s.zxids[l][g])
            send_to_follower(s, l, g, NEWLEADER(epoch=s.new_epoch[l], history=s.part[l][g]))
            s.part[l][g].clear()
        s.zxids[l][g] = Txn(epoch=0, counter=0, value=0)


def synchronize_with_missing(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1; T is what the follower has of it itself and what NEWLEADER carries."""
    set_joined(s, f, f, s.history[f], m.history)
    s.history[f] = s.part[f][f]
    s.current_epoch[f] = m.epoch
    on_media(s, f)
    s.part[f][f].clear()
    for k in range(len(s.history[f])):
        accept(s, f, m.epoch, s.history[f][k])
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(s.history[f])))


@step("l.3.3")
def admit_with_missing(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """l.3.3; a follower that joins is sent what it lacks of I_e' followed by beta_e'."""
    send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l], txn=last(s.history[l])))
    set_missing(s, l, f, s.log[l], m.txn)
    send_to_follower(s, l, f, NEWLEADER(epoch=s.new_epoch[l], history=s.part[l][f]))
    s.part[l][f].clear()
    s.joining[l].add(f)


def carries_end(h: History, sent: History) -> bool:
    """VI.B, invariant 4, of a part of h: it is how h ends, unaltered, and nothing only where h is empty."""
    before = len(h) - len(sent)
    if before < 0 or (before > 0 and len(sent) == 0):
        return False
    for k in range(len(sent)):
        if h[before + k] != sent[k]:
            return False
    return True


OVERRIDES = {
    "carries": carries_end,
    "f_1_1": tell_zxid,
    "l_1_1": propose_epoch,
    "f_1_2": promise_with_missing,
    "l_1_2": choose_from_missing,
    "l_2_1": propose_missing,
    "synchronize": synchronize_with_missing,
    "l_3_3": admit_with_missing,
}
