"""ZAB as Reed and Junqueira describe it at LADIS 2008, section 4: broadcast mode and recovery mode.

Read it with the paper in the other hand: a function marked with a step is what the paper says in a
sentence, which its docstring has. The paper leaves much open; every choice is a reading of
`docs/explanation/readings.md`, with the variant that takes the other. What a process has on its disk is its log and
nothing else: no promise and no epoch but those of the zxids in it. `promised_epoch` and
`current_epoch` stay 0 unless a variant adds the rule of DSN'11 that writes them.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import Epoch, OneOf, Range, Size, declare, on_disk, volatile
from zabspec.history import abcast, abdeliver, accept, end_pass, establish
from zabspec.language.python.lang import (
    NOBODY, AnyMessage, Each, Fields, History, Members, MessageType, Node, Txn, forget, is_quorum, step,
)  # fmt: skip
from zabspec.worlds.actor import connect, disconnect, force, send_to_follower, send_to_leader

# What a process is; DOWN while it is crashed.
ELECTION, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3

# Where a leader stands. Only with rules of DSN'11 it asks before it recovers: GATHERING, PROMISING.
IDLE, GATHERING, PROMISING, RECOVERY, BROADCAST = 0, 1, 2, 3, 4


# From a follower to its leader; ACK_E and NEWEPOCH are of DSN'11's Phase 1, which a variant with one of its rules adds.
class FOLLOW(MessageType, to="leader"):
    """It connects, and says what its log ends with."""

    epoch: Epoch
    txn: Txn


class ACK(MessageType, to="leader"):
    txn: Txn


class ACK_E(MessageType, to="leader"):
    current_epoch: Epoch
    txn: Txn


# From a leader to a follower.
class NEWEPOCH(MessageType, to="follower"):
    epoch: Epoch


class TRUNCATE(MessageType, to="follower"):
    txn: Txn


class PROPOSAL(MessageType, to="follower"):
    epoch: Epoch
    txn: Txn


class COMMIT(MessageType, to="follower"):
    txn: Txn


class NEWLEADER(MessageType, to="follower"):
    epoch: Epoch


# --- the state of a process, and what it sends ---------------------------------------------------


Standing = Annotated[int, OneOf("ELECTION", "FOLLOWING", "LEADING", "DOWN")]
Stage = Annotated[int, OneOf("-", "GATHERING", "PROMISING", "RECOVERY", "BROADCAST")]
Length = Annotated[int, Range(0, lambda size: size.log, "--txns")]
Entry = Annotated[int, Range(0, lambda size: size.log - 1)]


def power(size: Size) -> bool:
    """Whether power may be lost: only then what is stored is on a disk."""
    return size.loses_power


class State(Fields):
    """What a process has on its disk, and what it keeps in memory while it follows or leads."""

    promised_epoch: Each[Node, Epoch] = on_disk("f.p of DSN'11, where a variant has that rule; else 0", power)
    current_epoch: Each[Node, Epoch] = on_disk("f.a of DSN'11, where a variant has that rule; else 0", power)
    history: Each[Node, History] = on_disk("its transaction log", power)
    role: Each[Node, Standing] = volatile("what it is; DOWN while it is crashed")
    leader: Each[Node, Node] = volatile("whom it follows, itself if it leads")
    synced: Each[Node, bool] = volatile("as a follower, it has recognised its leader, with the leader's log")
    delivered_length: Each[Node, Length] = volatile(
        "how much of its log it has delivered since it last began to follow or lead"
    )
    stage: Each[Node, Stage] = volatile("as a leader")
    new_epoch: Each[Node, Epoch] = volatile("the epoch it leads")
    committed: Each[Node, Length] = volatile("how much of its log it has committed as a leader")
    Q: Each[Node, set[Node]] = volatile("the broadcast list: to whom all that its log has is sent, or queued")
    recognized: Each[Node, set[Node]] = volatile("who acknowledged NEWLEADER, itself included")
    acks: Each[Node, Each[Entry, set[Node]]] = volatile("who acknowledged each entry of its log")
    gathered: Each[Node, set[Node]] = volatile("with rules of DSN'11: who has answered so far, itself left out")
    held: Each[Node, set[Node]] = volatile("with rules of DSN'11: who has answered, and is ahead of it")
    answered: Each[Node, Each[Node, Txn]] = volatile("what the log of each of these ends with")


# --- definitions -------------------------------------------------------------------------------


def quorum(s: State, members: Members) -> bool:
    """2: "it requires at least 2f + 1 servers"; a quorum is a majority, or of the system that the model is given."""
    return is_quorum(s, members)


def followed_by_quorum(s: State, l: Node) -> bool:
    """Whether the leader, and those on its broadcast list, are a quorum."""
    return quorum(s, {q for q in range(s.NODES) if q == l or q in s.Q[l]})


def zxid_le(t: Txn, u: Txn) -> bool:
    """4.2: the epoch is the high half of a zxid, the counter the low one."""
    return t.epoch < u.epoch or (t.epoch == u.epoch and t.counter <= u.counter)


def last(h: History) -> Txn:
    """What a log ends with; all zero when it is empty."""
    if len(h) == 0:
        return Txn(epoch=0, counter=0, value=0)
    return h[len(h) - 1]


def newleader_zxid(epoch: int) -> Txn:
    """4.2: "a zxid with the epoch bits set to this new epoch and the counter set to zero": what the
    acknowledgement of NEWLEADER names. The first message gets the next one (readings: first counter)."""
    return Txn(epoch=epoch, counter=0, value=0)


def latest_epoch(s: State, p: Node) -> int:
    """The latest epoch that p has on its disk: of its log, and of what DSN'11's rules write beside it."""
    promised_or_current = max(s.promised_epoch[p], s.current_epoch[p])
    return max(last(s.history[p]).epoch, promised_or_current)


# --- recovery mode -----------------------------------------------------------------------------


def on_oracle(s: State, p: Node, l: Node) -> None:
    """4.2: leader election ends for p, which leads or follows l."""
    s.leader[p] = l
    if l == p:
        s.role[p] = LEADING
        take_over(s, p)
    else:
        s.role[p] = FOLLOWING
        connect(s, p, l)
        follow(s, p)


@step("take over")
def take_over(s: State, l: Node) -> None:
    """4.2: "Each time a new leader takes over it will get the epoch of the highest zxid it has in its
    log, increment the epoch": nothing else on its disk says which epochs there have been."""
    lead(s, l, last(s.history[l]).epoch + 1)


def lead(s: State, l: Node, epoch: int) -> None:
    """The leader has its epoch, and is the first to recognise itself."""
    if promises(s, l, epoch):
        keep_promise(s, l, epoch)
        s.new_epoch[l] = epoch
        s.stage[l] = first_stage(s)
        s.recognized[l].add(l)
        if quorum(s, s.recognized[l]):
            begin_broadcast(s, l)


def first_stage(s: State) -> int:
    """What a leader does once it has its epoch: it brings its followers to its own state."""
    return RECOVERY


@step("follow")
def follow(s: State, f: Node) -> None:
    """4: the server "will start in recovery mode, discover and synchronize with the leader"."""
    send_to_leader(s, f, FOLLOW(epoch=latest_epoch(s, f), txn=last(s.history[f])))


@step("connected")
def on_connected(s: State, l: Node, f: Node, m: FOLLOW) -> None:
    """A follower has connected, in either mode."""
    greet(s, l, f, m)


def greet(s: State, l: Node, f: Node, m: FOLLOW) -> None:
    """What a leader that has its epoch answers: what the follower lacks."""
    synchronize(s, l, f, m.txn)


@step("synchronize")
def synchronize(s: State, l: Node, f: Node, end: Txn) -> None:
    """4.2: the leader has the follower truncate its log, queues "any PROPOSAL it has that the follower
    has not seen", then "a COMMIT for all such proposals up to the last message committed"; "After all
    such messages have been queued, the leader adds the follower to the broadcast list"."""
    kept = common_end(s, l, end)
    if end != kept:
        send_to_follower(s, l, f, TRUNCATE(txn=kept))
    for k in range(len(s.history[l])):
        if not zxid_le(s.history[l][k], kept) and queues(s, l, k):
            send_to_follower(s, l, f, PROPOSAL(epoch=s.new_epoch[l], txn=s.history[l][k]))
    if s.committed[l] > 0:
        send_to_follower(s, l, f, COMMIT(txn=s.history[l][s.committed[l] - 1]))
    send_to_follower(s, l, f, NEWLEADER(epoch=s.new_epoch[l]))
    if lists_at_once(s, l):
        s.Q[l].add(f)


def common_end(s: State, l: Node, end: Txn) -> Txn:
    """4.2: "the leader checks the last committed proposal for the epoch of the follower's latest
    proposal and tell the follower to truncate its transaction log": here the leader's last entry of
    that epoch, or of the latest one before if it has none of it (readings: truncation). A follower
    that is not beyond it truncates nothing."""
    kept = Txn(epoch=0, counter=0, value=0)
    for k in range(len(s.history[l])):
        if s.history[l][k].epoch <= end.epoch:
            kept = s.history[l][k]
    return end if zxid_le(end, kept) else kept


def queues(s: State, l: Node, k: int) -> bool:
    """4.2: "any PROPOSAL it has": committed or not (readings: what a joiner gets)."""
    return True


def lists_at_once(s: State, l: Node) -> bool:
    """4.2: the follower is on the broadcast list once all is queued (readings: the broadcast list)."""
    return True


@step("truncate")
def on_truncate(s: State, f: Node, m: TRUNCATE) -> None:
    """4.2: the follower forgets what comes after; "a skipped message must remain skipped"."""
    for _ in range(len(s.history[f])):
        if not zxid_le(last(s.history[f]), m.txn):
            s.history[f].pop()


@step("recognize")
def on_newleader(s: State, f: Node, m: NEWLEADER) -> None:
    """4.2: "requiring that a quorum of servers recognize a server as the leader for that epoch". All
    that the leader queued before came before: the follower has the leader's log."""
    s.synced[f] = True
    recognize(s, f, m.epoch)
    send_to_leader(s, f, ACK(txn=newleader_zxid(m.epoch)))


def recognize(s: State, p: Node, epoch: int) -> None:
    """Process p has the log of the leader of an epoch, itself perhaps: it accepts each entry in it."""
    keep_epoch(s, p, epoch)
    force(s, p)
    for k in range(len(s.history[p])):
        accept(s, p, epoch, s.history[p][k])


@step("recognized")
def on_recognized(s: State, l: Node, f: Node) -> None:
    """4.2: before a new leader proposes, "all messages that are in its transaction log have been
    proposed to and committed by a quorum of followers"."""
    s.recognized[l].add(f)
    if lists_late(s, l):
        s.Q[l].add(f)
    if s.stage[l] == RECOVERY and quorum(s, s.recognized[l]):
        begin_broadcast(s, l)


def lists_late(s: State, l: Node) -> bool:
    """Whether a follower is on the broadcast list only now."""
    return False


def begin_broadcast(s: State, l: Node) -> None:
    """4: "Once a leader has a quorum of synchronized followers, it can begin to broadcast"."""
    s.stage[l] = BROADCAST
    recognize(s, l, s.new_epoch[l])
    establish(s, s.new_epoch[l], s.history[l])
    if len(s.history[l]) > s.committed[l]:
        commit(s, l, len(s.history[l]) - 1)


# --- broadcast mode ----------------------------------------------------------------------------


def may_abcast(s: State, p: Node) -> bool:
    """4: a leader in broadcast mode."""
    return s.stage[p] == BROADCAST


@step("propose")
def on_abcast(s: State, p: Node) -> None:
    """4.1: "Before proposing a message the leader assigns a monotonically increasing unique id"; the
    proposal goes "into the outgoing queue for each follower". The leader has it on its own disk
    (readings: the leader's own log)."""
    t = abcast(s, p, s.new_epoch[p], next_counter(s, p))
    s.history[p].append(t)
    force(s, p)
    accept(s, p, s.new_epoch[p], t)
    for g in range(s.NODES):
        if g in s.Q[p]:
            send_to_follower(s, p, g, PROPOSAL(epoch=s.new_epoch[p], txn=t))
    count_ack(s, p, p, len(s.history[p]) - 1)


def next_counter(s: State, l: Node) -> int:
    """4.2: "Each proposal increments the counter"."""
    t = last(s.history[l])
    return t.counter + 1 if t.epoch == s.new_epoch[l] else first_counter(s)


def first_counter(s: State) -> int:
    """Figure 4: the first message of epoch 1 is 100000001."""
    return 1


@step("accept")
def on_proposal(s: State, f: Node, m: PROPOSAL) -> None:
    """4.1: "it writes it to disk, batching when it can, and sends an acknowledgement to the leader as
    soon as the proposal is on the disk media"."""
    s.history[f].append(m.txn)
    force(s, f)
    if accepts_at_once(s, f):
        accept(s, f, m.epoch, m.txn)
        send_to_leader(s, f, ACK(txn=m.txn))


def accepts_at_once(s: State, f: Node) -> bool:
    """Whether a proposal that is on the disk is accepted, though the follower has not come to NEWLEADER yet."""
    return True


@step("acknowledged")
def on_ack(s: State, l: Node, f: Node, m: ACK) -> None:
    """4.1: an acknowledgement names a zxid: that of NEWLEADER, or of an entry of the leader's log."""
    if same_zxid(m.txn, newleader_zxid(s.new_epoch[l])):
        on_recognized(s, l, f)
    for k in range(len(s.history[l])):
        if same_zxid(s.history[l][k], m.txn) and k >= s.committed[l] and counts_now(s, l):
            count_ack(s, l, f, k)


def counts_now(s: State, l: Node) -> bool:
    """While it recovers a leader commits its log as a whole, when a quorum has recognised it
    (readings: commits while recovering)."""
    return s.stage[l] == BROADCAST


def same_zxid(t: Txn, u: Txn) -> bool:
    return t.epoch == u.epoch and t.counter == u.counter


def count_ack(s: State, l: Node, f: Node, k: int) -> None:
    """4.1: "When a leader receives ACKs from a quorum, the leader will broadcast a COMMIT"."""
    s.acks[l][k].add(f)
    if quorum(s, s.acks[l][k]):
        commit(s, l, k)


@step("commit")
def commit(s: State, l: Node, k: int) -> None:
    """4.1: COMMIT to the followers, "and deliver the message locally"; it stands for all before it."""
    s.committed[l] = k + 1
    for j in range(s.committed[l]):
        s.acks[l][j].clear()
    for g in range(s.NODES):
        if g in s.Q[l]:
            send_to_follower(s, l, g, COMMIT(txn=s.history[l][k]))
    deliver_up_to(s, l, s.history[l][k])


@step("deliver")
def on_commit(s: State, f: Node, m: COMMIT) -> None:
    """4.1: "Followers deliver the message when they receive the COMMIT from the leader"."""
    deliver_up_to(s, f, m.txn)


def deliver_up_to(s: State, p: Node, t: Txn) -> None:
    """Deliver what is undelivered of the log, in its order, as far as t's zxid."""
    for k in range(len(s.history[p])):
        if k == s.delivered_length[p] and zxid_le(s.history[p][k], t):
            abdeliver(s, p, s.history[p][k])
            s.delivered_length[p] = k + 1


# --- where rules of DSN'11 enter ---------------------------------------------------------------


def promises(s: State, p: Node, epoch: int) -> bool:
    """Whether p follows, or leads, in an epoch: LADIS'08 has it promise nothing."""
    return True


def keep_promise(s: State, p: Node, epoch: int) -> None:
    """And so it writes down nothing."""


def keep_epoch(s: State, p: Node, epoch: int) -> None:
    """An epoch becomes durable with a proposal of it, and with nothing else."""


@step("f.1.2")
def on_newepoch(s: State, f: Node, m: NEWEPOCH) -> None:
    """A leader that asks first proposes its epoch."""
    if promises(s, f, m.epoch):
        keep_promise(s, f, m.epoch)
        send_to_leader(s, f, ACK_E(current_epoch=s.current_epoch[f], txn=last(s.history[f])))


@step("l.1.2")
def on_ack_e(s: State, l: Node, f: Node, m: ACK_E) -> None:
    """A follower has promised, and says what its log ends with."""
    synchronize(s, l, f, m.txn)


# --- losses and crashes ------------------------------------------------------------------------


def to_election(s: State, p: Node) -> None:
    """4: it follows, or leads, no longer."""
    disconnect(s, p)
    end_pass(s, p)
    forget(s, p)


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """4: "The service remains in broadcast mode until the leader fails or it no longer has a quorum of
    followers". What a follower acknowledged of messages is on its disk all the same."""
    s.Q[l].discard(f)
    s.gathered[l].discard(f)
    s.held[l].discard(f)
    s.answered[l][f] = Txn(epoch=0, counter=0, value=0)
    if s.stage[l] == BROADCAST:
        if not followed_by_quorum(s, l):
            to_election(s, l)
    else:
        s.recognized[l].discard(f)


def on_leader_lost(s: State, f: Node) -> None:
    """4.1: followers "abandon the leader"."""
    to_election(s, f)


def on_timeout(s: State, p: Node) -> None:
    """4.2: "they eventually timeout, and restart the leader election"."""
    to_election(s, p)


def may_time_out(s: State, p: Node) -> bool:
    return s.role[p] == FOLLOWING or s.role[p] == LEADING


def recovering(s: State, p: Node) -> bool:
    """Whether p is in recovery mode, as a follower or as a leader."""
    return (s.role[p] == FOLLOWING and not s.synced[p]) or (s.role[p] == LEADING and s.stage[p] != BROADCAST)


def is_down(s: State, p: Node) -> bool:
    """Whether p has crashed and not recovered."""
    return s.role[p] == DOWN


def on_crash(s: State, p: Node) -> None:
    """2: "crash-fail with stateful recovery": the log is there when it comes back."""
    end_pass(s, p)
    forget(s, p)
    s.role[p] = DOWN


def on_recovery(s: State, p: Node) -> None:
    """It begins with an election."""
    s.role[p] = ELECTION


# --- which step a message is -------------------------------------------------------------------


def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:
    """A leader takes what comes, once it has an epoch, or gathers one."""
    return s.stage[p] != IDLE


def receive_as_leader(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """A message from follower f."""
    if m.kind == FOLLOW:
        on_connected(s, l, f, m)
    elif m.kind == ACK:
        on_ack(s, l, f, m)
    elif m.kind == ACK_E:
        on_ack_e(s, l, f, m)


def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    """A message from the leader the process follows."""
    if m.kind == NEWEPOCH:
        on_newepoch(s, f, m)
    elif m.kind == TRUNCATE:
        on_truncate(s, f, m)
    elif m.kind == PROPOSAL:
        on_proposal(s, f, m)
    elif m.kind == COMMIT:
        on_commit(s, f, m)
    elif m.kind == NEWLEADER:
        on_newleader(s, f, m)


__all__ = [
    "BROADCAST",
    "DOWN",
    "ELECTION",
    "FOLLOWING",
    "GATHERING",
    "IDLE",
    "LEADING",
    "NOBODY",
    "PROMISING",
    "RECOVERY",
]


# --- how large it gets -------------------------------------------------------------------------


def epochs(size: Size) -> int:
    """A later epoch takes a leader whose log has a proposal of the one before, which a quorum recognised: an iteration
    each, and one of the new leader. Without a rule of DSN'11 every epoch but the last has a proposal of its own."""
    iterations = size.nodes * (1 + size.faults)
    recognized = (iterations - 1) // size.smallest_quorum + 1
    return recognized if size.variant else min(size.txns + 1, recognized)


def channels(size: Size) -> tuple[int, int]:
    """To a leader what begins an iteration, and an acknowledgement of each entry of its log and of NEWLEADER; to a
    follower what begins one, every entry once, and a COMMIT each, of NEWLEADER and of what was committed before."""
    return 3 + size.txns + 2 * size.duplicates, 5 + 2 * size.txns + 2 * size.duplicates


PROTOCOL = declare(
    __name__,
    variants="zabspec.protocols.ladis_variants",
    world="connections",
    transactions=True,
    bounded_by_world=True,
    epochs=epochs,
    flight=channels,
    shared_names=True,
    replicas=True,
    released=True,
    oracle="zabspec.protocols.ladis_oracle",
    progress="zabspec.live.ladis",
)
