"""The db-19 lab's variant of ZAB: a node, as its text states it and its readings fix it.

It elects with votes (`election.py`), and speaks over datagrams: any message may overtake any other
or be lost. Every function named after a fragment of the lab's pseudo-code is that fragment. Time,
delay and jitter are the world's: the lab's `reset_election_deadline` is `arm_timer`. The readings
are those that fix the bytes of the lab's dump; a reading's number stands where it matters.

What it shows the outside (the lab does not say): `propose` abcasts, becoming synced establishes the
leader, and after every handler a process delivers, in the order of its history, each entry up to
`last_committed` beyond those it has delivered since it last crashed.
"""

from __future__ import annotations

from typing import Annotated

from zabspec.authoring.declaration import AtMost, Epoch, OneOf, Range, Size, declare, stored, volatile
from zabspec.history import abcast, abdeliver, accept, end_leadership, end_pass, establish, revise
from zabspec.language.python.lang import (
    NOBODY, AnyMessage, Each, History, Members, MessageType, Node, SeqOf, Txn, forget, is_quorum, step,
)  # fmt: skip
from zabspec.protocols.election import (
    ElectionState, LookForLeader, Vote, Zxid, broadcast, campaign, forget_votes, on_look_for_leader, on_vote, own_vote,
    zxid_less,
)  # fmt: skip
from zabspec.worlds.actor import ELECTION_TIMER, HEARTBEAT_TIMER, arm_timer, send

# The roles, in the order of the dump's bytes; DOWN while crashed, which the lab does not have.
LOOKING, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3


def names_acks(size: Size) -> bool:
    """Whether AckEpoch says which epoch it acknowledges, which the lab's does not: the repair is among the variants."""
    together = ("all-but-", "repaired")
    names = size.variant.split(",")
    return "named-acks" in names or any(v.startswith(together) and v != "all-but-named-acks" for v in names)


Named = Annotated[int, lambda size: size.epoch if names_acks(size) else None]


# The lab's "Wire format"; LookForLeader and Vote are the election's.
class NewEpoch(MessageType):
    new_epoch: Epoch


class AckEpoch(MessageType):
    current_epoch: Epoch
    last_zxid: Zxid
    new_epoch: Named


class NewLeader(MessageType):
    new_epoch: Epoch
    history: History


class AckLeader(MessageType):
    new_epoch: Epoch


class Propose(MessageType):
    txn: Txn


class Ack(MessageType):
    zxid: Zxid


class Commit(MessageType):
    zxid: Zxid


# --- the state of a node, and what it sends ------------------------------------------------------


def pending(size: Size) -> int:
    """How many zxids have an ack set."""
    return max(1, size.txns)


Standing = Annotated[int, OneOf("LOOKING", "FOLLOWING", "LEADING", "DOWN")]
Length = Annotated[int, Range(0, lambda size: size.log, "--txns")]
Count = Annotated[int, Range(0, lambda size: size.txns, "--txns")]
Pending = Annotated[SeqOf[Zxid], AtMost(pending, "--txns")]


class State(ElectionState):
    """The lab's "State (per node)", and that of its election; timers are the world's."""

    current_epoch: Each[Node, Epoch] = stored("epoch of the leader it accepted into sync")
    accepted_epoch: Each[Node, Epoch] = stored("epoch it acknowledged via NewEpoch")
    history: Each[Node, History] = stored("the transactions it accepted")
    last_committed: Each[Node, Zxid] = stored("the last zxid it knows to be committed")
    role: Each[Node, Standing] = volatile("Looking, Following, Leading, or down")
    leader_id: Each[Node, Node] = volatile("whom it follows, itself if it leads")
    pending_new_epoch: Each[Node, Epoch] = volatile("as a leader: the epoch it proposes")
    epoch_acks: Each[Node, set[Node]] = volatile("as a leader: who sent AckEpoch")
    leader_acks: Each[Node, set[Node]] = volatile("as a leader: who sent AckLeader")
    synced: Each[Node, bool] = volatile("as a leader: a quorum has sent AckLeader")
    next_counter: Each[Node, Count] = volatile("as a leader: the counter of the last proposal")
    ack_zxids: Each[Node, Pending] = volatile("as a leader: zxids that may still be committed")
    ack_sets: Each[Node, Each[Annotated[int, Range(0, lambda size: pending(size) - 1)], set[Node]]] = volatile(
        "as a leader: who acknowledged each of them"
    )
    delivered_length: Each[Node, Length] = volatile("how much of its history it delivered")


# --- definitions -------------------------------------------------------------------------------


def zxid_of(t: Txn) -> Zxid:
    """A transaction's zxid."""
    return Zxid(epoch=t.epoch, counter=t.counter)


def last_zxid(s: State, p: Node) -> Zxid:
    """The zxid of the last entry of the history; (0, 0) when it is empty."""
    if len(s.history[p]) == 0:
        return Zxid(epoch=0, counter=0)
    return zxid_of(s.history[p][len(s.history[p]) - 1])


def is_looking(s: State, p: Node) -> bool:
    return s.role[p] == LOOKING


def elected_leader(s: State, p: Node) -> Node:
    return s.leader_id[p]


def quorum(s: State, members: Members) -> bool:
    """n/2 + 1 (reading 12), or the system that the model is given."""
    return is_quorum(s, members)


# --- Phase 0: election ---------------------------------------------------------------------------


def on_start(s: State, p: Node) -> None:
    """Looking, with the timer armed; nothing is sent before that deadline passes (reading 3)."""
    s.role[p] = LOOKING
    s.leader_id[p] = NOBODY
    own_vote(s, p)
    arm_timer(s, p, ELECTION_TIMER)
    deliver(s, p)


def enter_looking(s: State, p: Node) -> None:
    """Enter Looking, also when Looking already (reading 4); it clears leader_id (reading 6)."""
    stop_leading(s, p)
    s.role[p] = LOOKING
    s.leader_id[p] = NOBODY
    campaign(s, p)


def elected(s: State, p: Node, leader: Node) -> None:
    """check_election: a quorum of the view agrees on the target. What was voted is not looked at again."""
    forget_votes(s, p)
    if leader == p:
        become_leading(s, p)
    else:
        become_following(s, p, leader)


@step("follow")
def become_following(s: State, p: Node, leader: Node) -> None:
    """Sets role and leader, resets the timer (reading 6)."""
    stop_leading(s, p)
    forget_votes(s, p)
    s.role[p] = FOLLOWING
    s.leader_id[p] = leader
    arm_timer(s, p, ELECTION_TIMER)


def stop_leading(s: State, p: Node) -> None:
    """What only a leader reads is not looked at again before it leads anew, which begins by
    setting it: forgotten here, so that states which differ in nothing else are one."""
    end_leadership(s, p)
    s.pending_new_epoch[p] = 0
    s.epoch_acks[p].clear()
    s.leader_acks[p].clear()
    s.synced[p] = False
    s.next_counter[p] = 0
    clear_acks(s, p)


# --- Phases 1 and 2: discovery and synchronization ---------------------------------------------


@step("lead")
def become_leading(s: State, p: Node) -> None:
    """A fresh epoch; clears `synced` and the ack sets (reading 6)."""
    stop_leading(s, p)
    s.role[p] = LEADING
    s.leader_id[p] = p
    s.pending_new_epoch[p] = max(s.accepted_epoch[p], s.current_epoch[p]) + 1
    s.accepted_epoch[p] = s.pending_new_epoch[p]
    s.epoch_acks[p].add(p)
    broadcast(s, p, NewEpoch(new_epoch=s.pending_new_epoch[p]))
    try_finish_discovery(s, p)


@step("new epoch")
def on_new_epoch(s: State, p: Node, source: Node, m: NewEpoch) -> None:
    """NewEpoch(e): promise a later e, acknowledge it, and an equal one again (reading 10)."""
    if m.new_epoch > s.accepted_epoch[p]:
        s.accepted_epoch[p] = m.new_epoch
        if s.role[p] != FOLLOWING:  # a follower keeps its leader (reading 8)
            become_following(s, p, source)
        acknowledge_epoch(s, p, source, m)
    elif acknowledges_again(s, p, source, m):
        acknowledge_epoch(s, p, source, m)
    arm_timer(s, p, ELECTION_TIMER)


def acknowledge_epoch(s: State, p: Node, source: Node, m: NewEpoch) -> None:
    """Reply AckEpoch(current_epoch, last_zxid)."""
    send(s, p, source, AckEpoch(current_epoch=s.current_epoch[p], last_zxid=last_zxid(s, p)))


def acknowledges_again(s: State, p: Node, source: Node, m: NewEpoch) -> bool:
    """NewEpoch(e): whether an epoch that is not later than the promise is acknowledged."""
    return m.new_epoch == s.accepted_epoch[p]


@step("ack epoch")
def on_ack_epoch(s: State, p: Node, source: Node, m: AckEpoch) -> None:
    """AckEpoch from F, only if Leading. What it carries is not looked at."""
    if counts_ack_epoch(s, p, m):
        s.epoch_acks[p].add(source)
        try_finish_discovery(s, p)


def counts_ack_epoch(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch: no guard but the role, so that a late one repeats the end of discovery (reading 9).
    What a repair asks besides is asked here."""
    return s.role[p] == LEADING and in_discovery(s, p) and is_of_epoch(s, p, m) and is_no_later(s, p, m)


def in_discovery(s: State, p: Node) -> bool:
    """AckEpoch: the lab does not ask whether discovery is done."""
    return True


def is_of_epoch(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch: the lab does not ask which epoch it acknowledges."""
    return True


def is_no_later(s: State, p: Node, m: AckEpoch) -> bool:
    """AckEpoch: the lab does not ask whose history is the later one."""
    return True


def try_finish_discovery(s: State, p: Node) -> None:
    """A quorum has acknowledged the epoch: it begins, with the leader's own history."""
    if quorum(s, s.epoch_acks[p]):
        finish_discovery(s, p)


@step("finish discovery")
def finish_discovery(s: State, p: Node) -> None:
    """The epoch is current, its counter zero, and NewLeader carries the whole history."""
    s.current_epoch[p] = s.pending_new_epoch[p]
    s.next_counter[p] = 0
    s.leader_acks[p].clear()
    s.leader_acks[p].add(p)
    accept_history(s, p)
    broadcast(s, p, NewLeader(new_epoch=s.current_epoch[p], history=s.history[p]))
    try_finish_sync(s, p)


def accept_history(s: State, p: Node) -> None:
    """The whole history is accepted in the current epoch."""
    for k in range(len(s.history[p])):
        accept(s, p, s.current_epoch[p], s.history[p][k])


@step("new leader")
def on_new_leader(s: State, p: Node, source: Node, m: NewLeader) -> None:
    """NewLeader(e, hist): the history becomes the leader's; last_committed stays (reading 11)."""
    if takes_new_leader(s, p, source, m):
        s.accepted_epoch[p] = m.new_epoch
        s.current_epoch[p] = m.new_epoch
        s.history[p] = m.history
        accept_history(s, p)
        revise(s, p, s.history[p])
        if s.role[p] != FOLLOWING:  # a follower keeps its leader (reading 8)
            become_following(s, p, source)
        arm_timer(s, p, ELECTION_TIMER)
        send(s, p, source, AckLeader(new_epoch=m.new_epoch))


def takes_new_leader(s: State, p: Node, source: Node, m: NewLeader) -> bool:
    """NewLeader(e): any e that is not earlier than the promise. What a repair asks besides is asked here."""
    return m.new_epoch >= s.accepted_epoch[p] and is_promised(s, p, source, m) and is_first(s, p, m)


def is_promised(s: State, p: Node, source: Node, m: NewLeader) -> bool:
    """NewLeader: the lab does not ask whether the epoch was promised to who sends it."""
    return True


def is_first(s: State, p: Node, m: NewLeader) -> bool:
    """NewLeader: the lab takes the history of an epoch again, whatever has been proposed since."""
    return True


@step("ack leader")
def on_ack_leader(s: State, p: Node, source: Node, m: AckLeader) -> None:
    """AckLeader(e) from F, only if Leading and e is the current epoch."""
    if s.role[p] == LEADING and m.new_epoch == s.current_epoch[p] and in_synchronization(s, p):
        s.leader_acks[p].add(source)
        try_finish_sync(s, p)


def in_synchronization(s: State, p: Node) -> bool:
    """AckLeader: the lab does not ask whether discovery is done, so that one of an earlier epoch counts."""
    return True


def try_finish_sync(s: State, p: Node) -> None:
    """A quorum has the leader's history: it is synced."""
    if not s.synced[p] and quorum(s, s.leader_acks[p]):
        finish_sync(s, p)


@step("finish sync")
def finish_sync(s: State, p: Node) -> None:
    """Synced: what the epoch starts from is committed."""
    s.synced[p] = True
    establish(s, s.current_epoch[p], s.history[p])
    if zxid_less(s.last_committed[p], last_zxid(s, p)):
        advance(s, p, last_zxid(s, p))
        broadcast(s, p, Commit(zxid=s.last_committed[p]))


# --- Phase 3: broadcast --------------------------------------------------------------------------


def may_abcast(s: State, p: Node) -> bool:
    """propose: requires Leading and synced."""
    return s.role[p] == LEADING and s.synced[p]


def on_abcast(s: State, p: Node) -> None:
    """A client's proposal at the leader."""
    s.next_counter[p] = s.next_counter[p] + 1
    propose(s, p, abcast(s, p, s.current_epoch[p], s.next_counter[p]))
    deliver(s, p)


@step("propose")
def propose(s: State, p: Node, t: Txn) -> None:
    """Append, count one's own acknowledgement, broadcast."""
    s.history[p].append(t)
    accept(s, p, s.current_epoch[p], t)
    begin_acks(s, p, zxid_of(t))
    broadcast(s, p, Propose(txn=t))
    try_commit(s, p, zxid_of(t))


@step("on propose")
def on_propose(s: State, p: Node, source: Node, m: Propose) -> None:
    """Propose(txn) from the leader it follows: append what is later than the last (reading 14)."""
    if s.role[p] == FOLLOWING and s.leader_id[p] == source and appends(s, p, m) and keeps_promise(s, p):
        s.history[p].append(m.txn)
        accept(s, p, m.txn.epoch, m.txn)
        arm_timer(s, p, ELECTION_TIMER)
        send(s, p, source, Ack(zxid=zxid_of(m.txn)))


def appends(s: State, p: Node, m: Propose) -> bool:
    """Propose: any zxid greater than the last, so a history can have holes (reading 14)."""
    return zxid_less(last_zxid(s, p), zxid_of(m.txn))


def keeps_promise(s: State, p: Node) -> bool:
    """Propose: the lab does not ask whether a later epoch has been promised."""
    return True


@step("on ack")
def on_ack(s: State, p: Node, source: Node, m: Ack) -> None:
    """Ack(zxid) from F, only if Leading."""
    if s.role[p] == LEADING and counts_ack(s, p, m):
        acknowledge(s, p, m.zxid, source)
        try_commit(s, p, m.zxid)


def counts_ack(s: State, p: Node, m: Ack) -> bool:
    """Ack: any zxid, also one the leader never proposed in this epoch (reading 14)."""
    return True


def try_commit(s: State, p: Node, zxid: Zxid) -> None:
    """A quorum has acknowledged this very zxid: commit it, and whatever is before it."""
    if zxid_less(s.last_committed[p], zxid) and acknowledged(s, p, zxid) and may_commit(s, p, zxid):
        commit(s, p, zxid)


def may_commit(s: State, p: Node, zxid: Zxid) -> bool:
    """Nothing is asked of what is before the zxid, nor whether the history has it (reading 14)."""
    return True


@step("commit")
def commit(s: State, p: Node, zxid: Zxid) -> None:
    """The leader commits."""
    advance(s, p, zxid)
    broadcast(s, p, Commit(zxid=zxid))


@step("on commit")
def on_commit(s: State, p: Node, source: Node, m: Commit) -> None:
    """Commit(zxid), whoever sent it; only the timer needs the current leader (reading 11)."""
    if s.leader_id[p] == source:
        arm_timer(s, p, ELECTION_TIMER)
    if takes_commit(s, p, source) and zxid_less(s.last_committed[p], m.zxid) and covers(s, p, m.zxid):
        advance(s, p, m.zxid)


def takes_commit(s: State, p: Node, source: Node) -> bool:
    """Commit: from whoever (reading 11)."""
    return True


def covers(s: State, p: Node, zxid: Zxid) -> bool:
    """Commit: one beyond the last zxid is ignored (reading 11)."""
    return not zxid_less(last_zxid(s, p), zxid)


# --- who acknowledged what -----------------------------------------------------------------------


def begin_acks(s: State, p: Node, zxid: Zxid) -> None:
    """ack_set[zxid] = {self}."""
    for k in range(len(s.ack_zxids[p])):
        if s.ack_zxids[p][k] == zxid:
            s.ack_sets[p][k].clear()
    acknowledge(s, p, zxid, p)


def acknowledge(s: State, p: Node, zxid: Zxid, source: Node) -> None:
    """ack_set[zxid] += F; one that is unknown creates its set (reading 14). What is committed
    already needs none: `try_commit` never looks at it again."""
    if zxid_less(s.last_committed[p], zxid):
        found = False
        for k in range(len(s.ack_zxids[p])):
            if s.ack_zxids[p][k] == zxid:
                s.ack_sets[p][k].add(source)
                found = True
        if not found:
            s.ack_sets[p][len(s.ack_zxids[p])].add(source)
            s.ack_zxids[p].append(zxid)


def acknowledged(s: State, p: Node, zxid: Zxid) -> bool:
    """Whether a quorum has acknowledged a zxid."""
    for k in range(len(s.ack_zxids[p])):
        if s.ack_zxids[p][k] == zxid:
            return quorum(s, s.ack_sets[p][k])
    return False


def clear_acks(s: State, p: Node) -> None:
    for k in range(len(s.ack_zxids[p])):
        s.ack_sets[p][k].clear()
    s.ack_zxids[p].clear()


def advance(s: State, p: Node, zxid: Zxid) -> None:
    """last_committed moves on; the ack sets it passes are done with."""
    s.last_committed[p] = zxid
    kept = 0
    for k in range(len(s.ack_zxids[p])):
        if zxid_less(zxid, s.ack_zxids[p][k]):
            if kept < k:
                s.ack_zxids[p][kept] = s.ack_zxids[p][k]
                s.ack_sets[p][kept] = s.ack_sets[p][k]
            kept = kept + 1
    for k in range(len(s.ack_zxids[p])):
        if k >= kept:
            s.ack_sets[p][k].clear()
            s.ack_zxids[p].pop(kept)


def deliver(s: State, p: Node) -> None:
    """After every handler: deliver each entry up to last_committed beyond those delivered."""
    for k in range(s.delivered_length[p], len(s.history[p])):
        if zxid_less(s.last_committed[p], zxid_of(s.history[p][k])):
            return
        abdeliver(s, p, s.history[p][k])
        s.delivered_length[p] = k + 1


# --- timers, crashes -----------------------------------------------------------------------------


def timer_armed(s: State, p: Node, timer: int) -> bool:
    """Looking and Following wait for the election deadline; Leading only sends heartbeats, and never
    steps down by itself (reading 4)."""
    if timer == ELECTION_TIMER:
        return s.role[p] == LOOKING or s.role[p] == FOLLOWING
    return s.role[p] == LEADING


def on_timer(s: State, p: Node, timer: int) -> None:
    """on_tick, when a deadline has passed."""
    if timer == ELECTION_TIMER:
        enter_looking(s, p)
    else:
        heartbeat(s, p)
    deliver(s, p)


@step("heartbeat")
def heartbeat(s: State, p: Node) -> None:
    """Synced: the last commit, also when that is (0, 0); discovery done: NewLeader (reading 5)."""
    arm_timer(s, p, HEARTBEAT_TIMER)
    if s.synced[p]:
        broadcast(s, p, Commit(zxid=s.last_committed[p]))
    elif s.current_epoch[p] == s.pending_new_epoch[p]:
        broadcast(s, p, NewLeader(new_epoch=s.current_epoch[p], history=s.history[p]))


def is_down(s: State, p: Node) -> bool:
    """Whether p has crashed and not recovered."""
    return s.role[p] == DOWN


def on_crash(s: State, p: Node) -> None:
    """What is volatile is lost, and the pass ends (beyond the lab)."""
    end_pass(s, p)
    forget(s, p)
    s.role[p] = DOWN


def on_recovery(s: State, p: Node) -> None:
    """A process that recovers starts like any other (beyond the lab)."""
    on_start(s, p)


# --- which fragment a message is -----------------------------------------------------------------


def on_message(s: State, p: Node, source: Node, m: AnyMessage) -> None:
    """A message from a peer."""
    if m.kind == LookForLeader:
        on_look_for_leader(s, p, m)
    elif m.kind == Vote:
        on_vote(s, p, m)
    elif m.kind == NewEpoch:
        on_new_epoch(s, p, source, m)
    elif m.kind == AckEpoch:
        on_ack_epoch(s, p, source, m)
    elif m.kind == NewLeader:
        on_new_leader(s, p, source, m)
    elif m.kind == AckLeader:
        on_ack_leader(s, p, source, m)
    elif m.kind == Propose:
        on_propose(s, p, source, m)
    elif m.kind == Ack:
        on_ack(s, p, source, m)
    elif m.kind == Commit:
        on_commit(s, p, source, m)
    deliver(s, p)


PROTOCOL = declare(
    __name__,
    variants="zabspec.protocols.db19_variants",
    world="datagrams",
    transactions=True,
    bounded_by_world=True,
    revises=True,
    shared_names=True,
    replicas=True,
    released=True,
    progress="zabspec.live.db19",
    extends=("zabspec.protocols.election",),
)
