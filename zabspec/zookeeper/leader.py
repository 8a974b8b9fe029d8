"""A leader: Leader.lead, Leader.getEpochToPropose, Leader.waitForEpochAck, Leader.startZkServer, LearnerHandler.run."""

from __future__ import annotations

from zabspec.authoring.declaration import action, receives
from zabspec.language.python.lang import AnyMessage, Node, is_quorum
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.broadcast import process_ack
from zabspec.zookeeper.learner import known_epoch
from zabspec.zookeeper.observed import exposes, founds, swallows
from zabspec.zookeeper.shutdown import shut_down
from zabspec.zookeeper.state import (
    State,
    ACK,
    ACKEPOCH,
    AWAITING_ACKS,
    AWAITING_EPOCH_ACKS,
    CHOOSING_EPOCH,
    CLOSED,
    FOLLOWERINFO,
    LEADERINFO,
    LEADING,
    SERVING,
    TO_WRITE_OWN_EPOCH,
    UPTODATE,
    WRITTEN,
    first_of,
)
from zabspec.zookeeper.storage import leave_thread, take_snapshot
from zabspec.zookeeper.sync import sync_follower
from zabspec.zookeeper.voters import completes_quorum


def on_elected(s: State, l: Node) -> None:
    """Leader.lead: ZooKeeperServer.loadData, then getEpochToPropose with its own acceptedEpoch."""
    s.role[l] = LEADING
    s.phase[l] = CHOOSING_EPOCH
    leave_thread(s, l)
    load_data(s, l)
    s.term[l] = known_epoch(s, l) + 1
    s.heard[l].add(l)


def load_data(s: State, l: Node) -> None:
    """ZooKeeperServer.loadData takes a snapshot of the tree, which may hold what no quorum has (ZOOKEEPER-1558)."""
    take_snapshot(s, l)


def leaves_no_trace(s: State) -> bool:
    """Whether nothing is on a disk of an election of which the leader hears nothing more (`load_data`)."""
    return False


@receives
def on_followerinfo(s: State, l: Node, f: Node, m: FOLLOWERINFO) -> None:
    """LearnerHandler.run, Leader.getEpochToPropose: whichever thread completes the quorum writes the leader's
    acceptedEpoch, then all get LEADERINFO. A crash between is one before the write as others see it, and one after
    LEADERINFO that nobody received. Nobody looks at connectingFollowers again."""
    s.linked[l].add(f)
    if s.phase[l] == CHOOSING_EPOCH:
        s.term[l] = max(s.term[l], m.accepted + 1)
        s.heard[l].add(f)
        if completes_quorum(s, l, s.heard[l]):
            store_proposed(s, l)
            s.phase[l] = AWAITING_EPOCH_ACKS
            s.heard[l].clear()
            s.agreed[l].add(l)
            for q in range(s.NODES):
                if q in s.linked[l]:
                    send_to_follower(s, l, q, LEADERINFO(epoch=s.term[l]))
    else:
        send_to_follower(s, l, f, LEADERINFO(epoch=s.term[l]))


def store_proposed(s: State, l: Node) -> None:
    """Leader.getEpochToPropose: setAcceptedEpoch, before anybody hears of the epoch (ZOOKEEPER-1291)."""
    s.accepted_epoch[l] = s.term[l]


@receives
def on_ackepoch(s: State, l: Node, f: Node, m: ACKEPOCH) -> None:
    """Leader.waitForEpochAck: returns at once where the quorum is complete; a follower that is more recent than the
    leader is sent away (StateSummary.isMoreRecentThan)."""
    s.peer_last[l][f] = m.zxid
    if s.phase[l] != AWAITING_EPOCH_ACKS:
        sync_learner(s, l, f)
        has_answer(s, l, f)
    elif m.current > s.current_epoch[l] or (m.current == s.current_epoch[l] and m.zxid > s.last_processed[l]):
        s.linked[l].discard(f)
        s.peer_last[l][f] = 0
        send_to_follower(s, l, f, CLOSED())
    else:
        s.answered[l].add(f)
        if m.current >= 0:
            s.agreed[l].add(f)
        if completes_quorum(s, l, s.agreed[l]):
            s.phase[l] = TO_WRITE_OWN_EPOCH
            s.agreed[l].clear()
            for q in range(s.NODES):
                if q in s.answered[l]:
                    sync_learner(s, l, q)
            have_answers(s, l)


def sync_learner(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run, from waitForEpochAck on."""
    sync_follower(s, l, f)
    forget_what_it_said(s, l, f)


def have_answers(s: State, l: Node) -> None:
    """All that have answered are brought up to date."""
    s.answered[l].clear()


def has_answer(s: State, l: Node, f: Node) -> None:
    """One that answers later is brought up to date at once."""


def forget_what_it_said(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run: peerLastZxid is not looked at again."""
    s.peer_last[l][f] = 0


def at_own_epoch(s: State, l: Node) -> bool:
    return s.phase[l] == TO_WRITE_OWN_EPOCH


@action(when=at_own_epoch, name="write own currentEpoch")
def write_own_epoch(s: State, l: Node) -> None:
    """Leader.lead: setCurrentEpoch after waitForEpochAck, which LearnerHandlers do not wait for; then it counts itself
    (waitForNewLeaderAck)."""
    s.current_epoch[l] = s.term[l]
    s.phase[l] = AWAITING_ACKS
    s.new_leader_acks[l].add(l)
    quorum_may_be_complete(s, l)


def receivable(s: State, l: Node, f: Node, m: AnyMessage) -> bool:
    """A LearnerHandler that has read the answer to NEWLEADER reads no more before the server runs. One that queues
    NEWLEADER in a step of its own (`transfer`) has begun to forward before."""
    return f not in s.settled[l] and (m.kind != WRITTEN or f in s.forwarding[l])


@receives
def on_ack(s: State, l: Node, f: Node, m: ACK) -> None:
    """LearnerHandler.run: one packet is read after NEWLEADER, of type ACK, whatever its zxid;
    Leader.waitForNewLeaderAck
    says an error of another one, does not count it, and returns."""
    if f in s.unsettled[l]:
        s.unsettled[l].discard(f)
        if m.zxid != first_of(s.term[l]):
            swallows(s)
        if s.phase[l] == SERVING:
            open_to(s, l, f)
        else:
            s.settled[l].add(f)
            if m.zxid == first_of(s.term[l]):
                s.new_leader_acks[l].add(f)
                quorum_may_be_complete(s, l)
    elif f in s.looping[l]:
        process_ack(s, l, f, m.zxid)


def quorum_may_be_complete(s: State, l: Node) -> None:
    """The main thread, which waits for the quorum, goes on in a step of its own."""


def open_to(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run: the server runs; UPTODATE, then the loop."""
    s.looping[l].add(f)
    send_to_follower(s, l, f, UPTODATE())


def has_acks(s: State, l: Node) -> bool:
    return s.phase[l] == AWAITING_ACKS and is_quorum(s, s.new_leader_acks[l])


@action(when=has_acks, name="startZkServer")
def start_serving(s: State, l: Node) -> None:
    """Leader.startZkServer: lastCommitted, then the processors, then lastProcessedZxid is <e,0>. One step: that the
    last
    comes after the processors run, so that a transaction may be applied between, is left out."""
    s.phase[l] = SERVING
    founds(s, s.term[l], s.tree[l])
    exposes(s, s.term[l], s.tree[l])
    s.last_proposed[l] = first_of(s.term[l])
    s.last_committed[l] = first_of(s.term[l])
    s.last_processed[l] = first_of(s.term[l])
    open_to_settled(s, l)


def open_to_settled(s: State, l: Node) -> None:
    """The LearnerHandlers that wait for the server to run go on."""
    for f in range(s.NODES):
        if f in s.settled[l]:
            open_to(s, l, f)
    s.settled[l].clear()
    s.new_leader_acks[l].clear()


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """LearnerHandler ends: Leader.removeLearnerHandler. A leader without a quorum of learners gives up, at the next
    ping
    or when initLimit has passed; the sets of discovery and of NEWLEADER keep who was in them."""
    s.linked[l].discard(f)
    s.answered[l].discard(f)
    s.peer_last[l][f] = 0
    s.queued_to[l][f] = 0
    s.forwarding[l].discard(f)
    s.unsettled[l].discard(f)
    s.settled[l].discard(f)
    s.looping[l].discard(f)
    if not is_quorum(s, {q for q in range(s.NODES) if q == l or q in s.linked[l]}) and not waits_for_others(s, l):
        shut_down(s, l)


def waits_for_others(s: State, l: Node) -> bool:
    """Leader.lead: whether it leads on meanwhile."""
    return False
