"""ZAB as Junqueira, Reed and Serafini state it at DSN 2011, sections II to V.

Read it with the paper in the other hand: every function named after a step is that step, with f
the follower and l the leader as there. A process runs one step at a time, to completion, and
touches only its own fields; `send_...`, `abcast`, `abdeliver`, `accept` and `establish` are the
world's. Where the paper can be read in two ways, `docs/explanation/readings.md` quotes it, says which reading
stands here, and names the variant that takes the other.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import Epoch, OneOf, Range, Size, declare, on_disk, volatile
from zabspec.history import abcast, abdeliver, accept, end_pass, end_synchronization, establish
from zabspec.language.python.lang import (
    NOBODY,
    AnyMessage,
    Each,
    Fields,
    History,
    Members,
    MessageType,
    Node,
    Txn,
    forget,
    is_quorum,
    step,
)
from zabspec.worlds.actor import choose, connect, disconnect, force, send_to_follower, send_to_leader

# The states of a process (V); DOWN while it is crashed (II).
ELECTION, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3

# Where a process stands in its iteration, as a follower (`phase`) and as a leader (`stage`).
DISCOVERY, SYNCHRONIZATION, BROADCAST = 1, 2, 3
GATHERING, PROMISING, SYNCHRONIZING, ESTABLISHED = 1, 2, 3, 4

HistoryPart = Annotated[History, lambda size: size.history if sends_missing_only(size) else None]
MissingOnly = Annotated[Txn, lambda size: size.txn if sends_missing_only(size) else None]


# From a follower to its leader.
class CEPOCH(MessageType, to="leader"):
    epoch: Epoch
    txn: MissingOnly


class ACK_E(MessageType, to="leader"):
    current_epoch: Epoch
    history: History


class ACK_LD(MessageType, to="leader"):
    """The acknowledgement of NEWLEADER."""

    epoch: Epoch
    txn: Txn


class ACK(MessageType, to="leader"):
    epoch: Epoch
    txn: Txn


# From a leader to a follower.
class NEWEPOCH(MessageType, to="follower"):
    epoch: Epoch
    txn: MissingOnly


class NEWLEADER(MessageType, to="follower"):
    epoch: Epoch
    history: History


class COMMIT_LD(MessageType, to="follower"):
    """The commit of l.2.2 and l.3.4."""

    epoch: Epoch
    txn: Txn


class PROPOSE(MessageType, to="follower"):
    epoch: Epoch
    txn: Txn


class COMMIT(MessageType, to="follower"):
    epoch: Epoch
    txn: Txn


# --- the state of a process, and what it sends ---------------------------------------------------


Standing = Annotated[int, OneOf("ELECTION", "FOLLOWING", "LEADING", "DOWN")]
Phase = Annotated[int, OneOf("-", "DISCOVERY", "SYNCHRONIZATION", "BROADCAST")]
Stage = Annotated[int, OneOf("-", "GATHERING", "PROMISING", "SYNCHRONIZING", "ESTABLISHED")]
Length = Annotated[int, Range(0, lambda size: size.log, "--txns")]
Entry = Annotated[int, Range(0, lambda size: size.log - 1)]


def power(size: Size) -> bool:
    """Whether power may be lost: only then what is stored is on a disk."""
    return size.loses_power


class State(Fields):
    """Table 1, and what a process keeps in memory during one iteration."""

    promised_epoch: Each[Node, Epoch] = on_disk("f.p: the last new epoch proposal f acknowledged", power)
    current_epoch: Each[Node, Epoch] = on_disk("f.a: the last new leader proposal f acknowledged", power)
    history: Each[Node, History] = on_disk("h_f: the transactions f accepted", power)
    role: Each[Node, Standing] = volatile("its state (V); DOWN while it is crashed")
    leader: Each[Node, Node] = volatile("whom it follows in this iteration, itself if it leads")
    phase: Each[Node, Phase] = volatile("as a follower")
    delivered_length: Each[Node, Length] = volatile("how much of h_f it has delivered in this iteration")
    ready: Each[Node, bool] = volatile("ready(e) was invoked (f.3.1)")
    stage: Each[Node, Stage] = volatile("as a leader")
    new_epoch: Each[Node, Epoch] = volatile("e'; while GATHERING, the latest epoch of a CEPOCH")
    best_epoch: Each[Node, Epoch] = volatile("the f.a that came with `log`, while PROMISING")
    log: Each[Node, History] = volatile("I_e', then I_e' followed by beta_e'; while PROMISING, the best history so far")
    committed: Each[Node, Length] = volatile("how much of `log` is committed")
    Q: Each[Node, set[Node]] = volatile("the followers that support it")
    acked: Each[Node, set[Node]] = volatile("who sent ACK-E while PROMISING, ACK of NEWLEADER while SYNCHRONIZING")
    joining: Each[Node, set[Node]] = volatile("who was sent NEWLEADER by l.3.3 and has not acknowledged it")
    acks: Each[Node, Each[Entry, set[Node]]] = volatile("who acknowledged each proposal of `log`")
    part: Each[Node, Each[Node, HistoryPart]] = volatile("scratch: what q lacks of a history, or has of it")
    zxids: Each[Node, Each[Node, MissingOnly]] = volatile("the f.zxid that came with ACK-E")


def sends_missing_only(size: Size) -> bool:
    """Whether ACK-E and NEWLEADER carry parts of histories, and CEPOCH and NEWEPOCH say how far one goes."""
    return "missing-only" in size.variant.split(",")


# --- definitions -------------------------------------------------------------------------------


def quorum(s: State, members: Members) -> bool:
    """II.1: any two quorums intersect; majorities, or the system that the model is given."""
    return is_quorum(s, members)


def zxid_le(t: Txn, u: Txn) -> bool:
    """III: t's zxid precedes u's or equals it."""
    return t.epoch < u.epoch or (t.epoch == u.epoch and t.counter <= u.counter)


def last(h: History) -> Txn:
    """The last transaction of a history; all zero when it is empty."""
    if len(h) == 0:
        return Txn(epoch=0, counter=0, value=0)
    return h[len(h) - 1]


def carries(h: History, sent: History) -> bool:
    """VI.B, invariant 4: whether what ACK-E or NEWLEADER sent is history h, unaltered."""
    return sent == h


# --- Phase 1: discovery ------------------------------------------------------------------------


def on_oracle(s: State, p: Node, l: Node) -> None:
    """IV: the leader oracle of a process in ELECTION names l, possibly itself, and it begins an
    iteration. A process that leads also follows, itself, over a channel like any other."""
    if l == p:
        s.role[p] = LEADING
        s.stage[p] = GATHERING
    else:
        s.role[p] = FOLLOWING
    s.leader[p] = l
    s.phase[p] = DISCOVERY
    connect(s, p, l)
    f_1_1(s, p)


@step("f.1.1")
def f_1_1(s: State, f: Node) -> None:
    """The follower sends its last promise to the prospective leader."""
    send_to_leader(s, f, CEPOCH(epoch=s.promised_epoch[f]))


@step("l.1.1")
def l_1_1(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """CEPOCH(e) from a quorum Q: propose to Q an epoch later than any e received."""
    s.Q[l].add(f)
    s.new_epoch[l] = max(s.new_epoch[l], m.epoch)
    if quorum(s, s.Q[l]):
        s.new_epoch[l] = epoch_to_propose(s, l)
        s.stage[l] = PROMISING
        for g in range(s.NODES):
            if g in s.Q[l]:
                send_to_follower(s, l, g, NEWEPOCH(epoch=s.new_epoch[l]))


def epoch_to_propose(s: State, l: Node) -> int:
    """l.1.1: e' is later than every e received in CEPOCH(e); `new_epoch` held the latest of them."""
    return s.new_epoch[l] + 1


def on_media(s: State, f: Node) -> None:
    """VII: what f has written is on the disk media before f goes on."""
    force(s, f)


@step("f.1.2")
def f_1_2(s: State, f: Node, m: NEWEPOCH) -> None:
    """NEWEPOCH(e'): promise e', and acknowledge with f.a and the history. Phase 1 is complete."""
    if s.phase[f] == DISCOVERY and promises(s, f, m.epoch):
        s.promised_epoch[f] = m.epoch
        s.phase[f] = SYNCHRONIZATION
        on_media(s, f)
        send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], history=s.history[f]))


def promises(s: State, f: Node, epoch: int) -> bool:
    """f.1.2: whether the follower acknowledges. Equality only ever comes from an established
    leader of that epoch, by l.3.3, to a follower it re-admits (readings: re-admission)."""
    return s.promised_epoch[f] <= epoch


@step("l.1.2")
def l_1_2(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """ACK-E from each follower in Q: the initial history is that of the best of them."""
    if len(s.acked[l]) == 0:
        order = 1
    else:
        order = compare(s, l, m)
    if order == 0 and s.log[l] != m.history:
        order = choose(s, 2)
    if order > 0:
        s.best_epoch[l] = m.current_epoch
        s.log[l] = m.history
    s.acked[l].add(f)
    if has_all_promises(s, l):
        s.acked[l].clear()
        s.best_epoch[l] = 0
        s.stage[l] = SYNCHRONIZING
        l_2_1(s, l)


def has_all_promises(s: State, l: Node) -> bool:
    """l.1.2: every follower in Q has acknowledged."""
    for g in range(s.NODES):
        if g in s.Q[l] and g not in s.acked[l]:
            return False
    return True


def compare(s: State, l: Node, m: ACK_E) -> int:
    """l.1.2: 1 when (f.a, f.zxid) of the acknowledgement beats the best so far, 0 when it ties."""
    if m.current_epoch != s.best_epoch[l]:
        return 1 if m.current_epoch > s.best_epoch[l] else -1
    return compare_zxid(last(m.history), last(s.log[l]))


def compare_zxid(t: Txn, u: Txn) -> int:
    """The sign of t's zxid against u's."""
    if not zxid_le(t, u):
        return 1
    return 0 if zxid_le(u, t) else -1


# --- Phase 2: synchronization ------------------------------------------------------------------


@step("l.2.1")
def l_2_1(s: State, l: Node) -> None:
    """Propose NEWLEADER(e', I_e') to all followers in Q."""
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, NEWLEADER(epoch=s.new_epoch[l], history=s.log[l]))


@step("f.2.1")
def f_2_1(s: State, f: Node, m: NEWLEADER) -> None:
    """NEWLEADER(e', T): if f.p is e', set f.a to e', accept every transaction of T, atomically,
    and acknowledge; otherwise start a new iteration."""
    if s.promised_epoch[f] != m.epoch:
        to_election(s, f)
    elif s.phase[f] == SYNCHRONIZATION:
        synchronize(s, f, m)


def synchronize(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1: the two assignments, which no crash comes between, and the acknowledgement."""
    accept_history(s, f, m)
    send_to_leader(s, f, ACK_LD(epoch=m.epoch, txn=last(m.history)))


def accept_history(s: State, f: Node, m: NEWLEADER) -> None:
    """f.2.1: h_f becomes T and f.a e', in this order where power may be lost between them (readings: f.2.1
    is atomic); each transaction is accepted in the new epoch."""
    s.history[f] = m.history
    s.current_epoch[f] = m.epoch
    on_media(s, f)
    for k in range(len(m.history)):
        accept(s, f, m.epoch, m.history[k])


@step("l.2.2")
def l_2_2(s: State, l: Node, f: Node, m: ACK_LD) -> None:
    """NEWLEADER acknowledged by a quorum: send a commit to all followers. Phase 2 is complete."""
    s.acked[l].add(f)
    if quorum(s, s.acked[l]):
        become_established(s, l)


def become_established(s: State, l: Node) -> None:
    """l.2.2, V.1: the initial history is committed."""
    s.stage[l] = ESTABLISHED
    s.acked[l].clear()
    s.committed[l] = len(s.log[l])
    establish(s, s.new_epoch[l], s.log[l])
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, COMMIT_LD(epoch=s.new_epoch[l], txn=last(s.log[l])))


@step("f.2.2")
def f_2_2(s: State, f: Node, m: COMMIT_LD) -> None:
    """The commit of NEWLEADER: deliver the initial history, in its order. Phase 2 is complete.
    The commit names the last transaction the leader had committed (readings: late joiner)."""
    if s.phase[f] == SYNCHRONIZATION:
        deliver_up_to(s, f, covered_by_commit(s, f, m))
        end_synchronization(s, f)
        s.phase[f] = BROADCAST
        if s.leader[f] == f:
            f_3_1(s, f)


def covered_by_commit(s: State, f: Node, m: COMMIT_LD) -> Txn:
    """f.2.2: the last transaction that the commit of NEWLEADER lets the follower deliver."""
    return m.txn


def deliver_up_to(s: State, f: Node, t: Txn) -> None:
    """Deliver what is undelivered of h_f in this iteration, in order, as far as t's zxid."""
    for k in range(len(s.history[f])):
        if k == s.delivered_length[f] and zxid_le(s.history[f][k], t):
            abdeliver(s, f, s.history[f][k])
            s.delivered_length[f] = k + 1


# --- Phase 3: broadcast ------------------------------------------------------------------------


@step("f.3.1")
def f_3_1(s: State, f: Node) -> None:
    """A follower that leads invokes ready(e'): its application may abcast."""
    s.ready[f] = True


def may_abcast(s: State, p: Node) -> bool:
    """III: a primary abcasts once ready(e) told it that recovery is complete."""
    return s.ready[p]


def on_abcast(s: State, p: Node) -> None:
    """V: the primary creates a transaction and abcasts it; the leader is the same process."""
    l_3_1(s, p, abcast(s, p, s.new_epoch[p], next_counter(s, p)))


def next_counter(s: State, l: Node) -> int:
    """III: the counter is incremented for every new transaction of the instance."""
    t = last(s.log[l])
    return t.counter + 1 if t.epoch == s.new_epoch[l] else 1


@step("l.3.1")
def l_3_1(s: State, l: Node, t: Txn) -> None:
    """Propose <e', <v, z>> to all followers in Q, in the order of zxid."""
    s.log[l].append(t)
    for g in range(s.NODES):
        if receives_proposals(s, l, g):
            send_to_follower(s, l, g, PROPOSE(epoch=s.new_epoch[l], txn=t))


def receives_proposals(s: State, l: Node, g: Node) -> bool:
    """l.3.1: Q, and whoever was sent NEWLEADER and has not acknowledged it yet: what is proposed
    from then on is not in the history it was sent (readings: proposals while joining)."""
    return g in s.Q[l] or g in s.joining[l]


@step("f.3.2")
def f_3_2(s: State, f: Node, m: PROPOSE) -> None:
    """Accept the leader's proposals in the order received: append to h_f, and acknowledge."""
    if takes_proposals(s, f):
        s.history[f].append(m.txn)
        on_media(s, f)
        accept(s, f, m.epoch, m.txn)
        send_to_leader(s, f, ACK(epoch=m.epoch, txn=m.txn))


def takes_proposals(s: State, f: Node) -> bool:
    """f.3.2: once it has accepted NEWLEADER, also before its commit (readings: PROPOSE in Phase 2)."""
    return s.phase[f] >= SYNCHRONIZATION and s.current_epoch[f] == s.promised_epoch[f]


@step("l.3.2")
def l_3_2(s: State, l: Node, f: Node, m: ACK) -> None:
    """A proposal acknowledged by a quorum: send COMMIT to all followers."""
    for k in range(len(s.log[l])):
        if s.log[l][k] == m.txn and to_commit(s, l, k):
            count_acknowledgement(s, l, f, k)


def count_acknowledgement(s: State, l: Node, f: Node, k: int) -> None:
    """l.3.2: f acknowledges the k-th transaction of the leader's log; it is committed with a quorum."""
    s.acks[l][k].add(f)
    if quorum(s, s.acks[l][k]):
        commit(s, l, k)


def to_commit(s: State, l: Node, k: int) -> bool:
    """l.3.2: a commit covers every transaction before it (f.3.3), so none is sent for those."""
    return k >= s.committed[l]


def commit(s: State, l: Node, k: int) -> None:
    """l.3.2: COMMIT(e', <v, z>) for the k-th transaction of the leader's log."""
    s.committed[l] = max(s.committed[l], k + 1)
    for j in range(s.committed[l]):
        s.acks[l][j].clear()
    for g in range(s.NODES):
        if receives_commits(s, l, g):
            send_to_follower(s, l, g, COMMIT(epoch=s.new_epoch[l], txn=s.log[l][k]))


def receives_commits(s: State, l: Node, g: Node) -> bool:
    """l.3.2: Q; the commit of l.3.4 names what a joiner missed (readings: commits to joiners)."""
    return g in s.Q[l]


@step("f.3.3")
def f_3_3(s: State, f: Node, m: COMMIT) -> None:
    """COMMIT(e', <v, z>): deliver <v, z>, after all of h_f that precedes it."""
    if s.phase[f] == BROADCAST:
        deliver_up_to(s, f, m.txn)


@step("l.3.3")
def l_3_3(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """CEPOCH from a follower while in Phase 3: propose NEWEPOCH(e') and
    NEWLEADER(e', I_e' followed by beta_e') back to it."""
    send_to_follower(s, l, f, NEWEPOCH(epoch=s.new_epoch[l]))
    send_to_follower(s, l, f, NEWLEADER(epoch=s.new_epoch[l], history=s.log[l]))
    s.joining[l].add(f)


@step("l.3.4")
def l_3_4(s: State, l: Node, f: Node, m: ACK_LD) -> None:
    """NEWLEADER acknowledged by a follower that joins: send it a commit, and it is in Q. It accepted
    the proposals in beta_e' with it (f.2.1), so that it acknowledges those too (l.3.2)."""
    s.joining[l].discard(f)
    s.Q[l].add(f)
    commit_newleader(s, l, f, m)
    for k in range(len(s.log[l])):
        if acknowledged_with_newleader(s, l, k, m) and to_commit(s, l, k):
            count_acknowledgement(s, l, f, k)


def commit_newleader(s: State, l: Node, f: Node, m: ACK_LD) -> None:
    """l.3.4: the commit of NEWLEADER to the follower that joins."""
    send_to_follower(s, l, f, COMMIT_LD(epoch=s.new_epoch[l], txn=committed_for_joiner(s, l, m)))


def acknowledged_with_newleader(s: State, l: Node, k: int, m: ACK_LD) -> bool:
    """l.3.4: whether the k-th transaction was in beta_e' of the NEWLEADER that is acknowledged; I_e' is
    committed already (readings: what the acknowledgement of NEWLEADER acknowledges)."""
    return s.log[l][k].epoch == s.new_epoch[l] and zxid_le(s.log[l][k], m.txn)


def committed_for_joiner(s: State, l: Node, m: ACK_LD) -> Txn:
    """l.3.4: what the joiner may deliver is what is committed (readings: late joiner)."""
    if s.committed[l] == 0:
        return Txn(epoch=0, counter=0, value=0)
    return s.log[l][s.committed[l] - 1]


# --- iterations, losses, crashes ---------------------------------------------------------------


def to_election(s: State, p: Node) -> None:
    """V: abandon the iteration, its connections and its pass; back to ELECTION."""
    disconnect(s, p)
    end_pass(s, p)
    forget(s, p)


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """V.B: the leader considers the follower down; without a quorum it gives up leadership. An
    acknowledgement already received still stands for what was written to stable storage."""
    s.Q[l].discard(f)
    s.joining[l].discard(f)
    if s.stage[l] >= PROMISING and not quorum(s, s.Q[l]):
        to_election(s, l)


def on_leader_lost(s: State, f: Node) -> None:
    """V.C: the follower abandons the leader and proceeds to ELECTION."""
    to_election(s, f)


def on_timeout(s: State, p: Node) -> None:
    """V.B, V.C: no heartbeat within the timeout."""
    to_election(s, p)


def may_time_out(s: State, p: Node) -> bool:
    """Only an iteration can be abandoned."""
    return s.role[p] == FOLLOWING or s.role[p] == LEADING


def recovering(s: State, p: Node) -> bool:
    """V: whether p is in Phase 1 or 2, as a follower or as a leader."""
    return s.phase[p] < BROADCAST or (s.role[p] == LEADING and s.stage[p] < ESTABLISHED)


def is_down(s: State, p: Node) -> bool:
    """Whether p has crashed and not recovered."""
    return s.role[p] == DOWN


def on_crash(s: State, p: Node) -> None:
    """II: what is not in Table 1 is lost."""
    end_pass(s, p)
    forget(s, p)
    s.role[p] = DOWN


def on_recovery(s: State, p: Node) -> None:
    """II, V: a process that recovers begins in ELECTION."""
    s.role[p] = ELECTION


def late_cepoch(s: State, l: Node, f: Node, m: CEPOCH) -> None:
    """CEPOCH between l.1.1 and l.2.2, which `takes_cepoch` does not let through."""


# --- which step a message is -------------------------------------------------------------------


def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:
    """Whether a leader takes the message now; until then it waits, first in its channel."""
    if m.kind == CEPOCH:
        return takes_cepoch(s, p, m)
    return True


def takes_cepoch(s: State, l: Node, m: CEPOCH) -> bool:
    """A leader takes CEPOCH while it gathers Q and again once established; in between a late one
    waits in its channel (readings: late CEPOCH)."""
    return s.stage[l] == GATHERING or s.stage[l] == ESTABLISHED


def receive_as_leader(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """A message from follower f."""
    if m.kind == CEPOCH:
        if s.stage[l] == GATHERING:
            l_1_1(s, l, f, m)
        elif s.stage[l] == ESTABLISHED:
            l_3_3(s, l, f, m)
        else:
            late_cepoch(s, l, f, m)
    elif m.kind == ACK_E:
        if s.stage[l] == PROMISING and f in s.Q[l]:
            l_1_2(s, l, f, m)
    elif m.kind == ACK_LD:
        if s.stage[l] == SYNCHRONIZING and f in s.Q[l]:
            l_2_2(s, l, f, m)
        elif s.stage[l] == ESTABLISHED and f in s.joining[l]:
            l_3_4(s, l, f, m)
    elif m.kind == ACK:
        if s.stage[l] == ESTABLISHED:
            l_3_2(s, l, f, m)


def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    """A message from the leader the process follows."""
    if m.kind == NEWEPOCH:
        f_1_2(s, f, m)
    elif m.kind == NEWLEADER:
        f_2_1(s, f, m)
    elif m.kind == COMMIT_LD:
        f_2_2(s, f, m)
    elif m.kind == PROPOSE:
        f_3_2(s, f, m)
    elif m.kind == COMMIT:
        f_3_3(s, f, m)


__all__ = [
    "BROADCAST",
    "DISCOVERY",
    "DOWN",
    "ELECTION",
    "ESTABLISHED",
    "FOLLOWING",
    "GATHERING",
    "LEADING",
    "NOBODY",
    "PROMISING",
    "SYNCHRONIZATION",
    "SYNCHRONIZING",
]


PROTOCOL = declare(
    __name__,
    variants="zabspec.protocols.zab_variants",
    world="connections",
    transactions=True,
    bounded_by_world=True,
    shared_names=True,
    replicas=True,
    released=True,
    progress="zabspec.live.zab",
    lab_oracle="zabspec.protocols.electing",
)
