"""A learner: Learner.registerWithLeader, Learner.syncWithLeader, Follower.processPacket, FollowerZooKeeperServer."""

from __future__ import annotations

from zabspec.authoring.declaration import action, receives
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import connect, send_to_leader
from zabspec.zookeeper.observed import exposes, threw_up
from zabspec.zookeeper.shutdown import on_recovery, shut_down
from zabspec.zookeeper.state import (
    State,
    ACK,
    ACKEPOCH,
    CLOSED,
    COMMIT,
    DIFF,
    DIFFS,
    EPOCH_ACKED,
    FOLLOWERINFO,
    FOLLOWING,
    LEADERINFO,
    NEWLEADER,
    NONE,
    PROPOSAL,
    REGISTERED,
    SERVING,
    SNAP,
    SNAPS,
    SYNCING,
    TO_ACK,
    TO_PERSIST,
    TO_SNAPSHOT,
    TO_WRITE_EPOCH,
    TRUNC,
    TRUNCS,
    UPTODATE,
    WAITING,
    epoch_of,
    first_of,
)
from zabspec.zookeeper.storage import (
    append_to_log,
    apply_txn,
    cut_log,
    end_file,
    first_from,
    leave_thread,
    leave_tree,
    meets_hole,
    reload_after_cut,
    remember_cut,
    remember_log,
    take_snapshot,
)
from zabspec.zookeeper.voters import observes


def on_follow(s: State, f: Node, l: Node) -> None:
    """Follower.followLeader: connectToLeader, then FOLLOWERINFO (Learner.registerWithLeader)."""
    s.role[f] = FOLLOWING
    s.leader[f] = l
    s.phase[f] = REGISTERED
    leave_thread(s, f)
    connect(s, f, l)
    send_to_leader(s, f, FOLLOWERINFO(accepted=known_epoch(s, f)))


def known_epoch(s: State, p: Node) -> int:
    """QuorumPeer.getAcceptedEpoch: in memory."""
    return max(s.accepted_epoch[p], s.promised[p])


def may_receive(s: State, f: Node) -> bool:
    """The main thread reads no packet while it works on NEWLEADER."""
    return s.phase[f] < TO_SNAPSHOT or s.phase[f] > TO_ACK


@receives
def on_leaderinfo(s: State, f: Node, m: LEADERINFO) -> None:
    """Learner.registerWithLeader: a larger epoch is written to acceptedEpoch before ACKEPOCH; an equal one is answered
    without a vote; a smaller one ends it."""
    s.term[f] = m.epoch
    if m.epoch > known_epoch(s, f) and s.full[f]:
        fail_to_accept(s, f, m.epoch)
        shut_down(s, f)
    elif m.epoch > known_epoch(s, f):
        s.accepted_epoch[f] = m.epoch
        s.phase[f] = EPOCH_ACKED
        send_to_leader(s, f, ACKEPOCH(current=s.current_epoch[f], zxid=s.last_processed[f]))
        begin_handler(s, f)
    elif m.epoch == known_epoch(s, f):
        s.phase[f] = EPOCH_ACKED
        send_to_leader(s, f, ACKEPOCH(current=-1, zxid=s.last_processed[f]))
        begin_handler(s, f)
    else:
        shut_down(s, f)


def begin_handler(s: State, f: Node) -> None:
    """The leader's LearnerHandler takes no step of its own here (`transfer`)."""


def fail_to_accept(s: State, f: Node, epoch: int) -> None:
    """QuorumPeer.setAcceptedEpoch (3.5.8, 3.6.3): the file is written first, so that a failure leaves the old epoch."""


# --- Learner.syncWithLeader -----------------------------------------------------------------------


@receives
def on_diff(s: State, f: Node, m: DIFF) -> None:
    """Learner.syncWithLeader: snapshotNeeded is false."""
    s.sync_mode[f] = DIFFS
    s.phase[f] = SYNCING
    take_diff_zxid(s, f, m.zxid)


def take_diff_zxid(s: State, f: Node, zxid: int) -> None:
    """lastProcessedZxid stays (ZOOKEEPER-2355)."""


def leaves_at_diff(s: State) -> bool:
    """Whether it does (`take_diff_zxid`)."""
    return True


@receives
def on_trunc(s: State, f: Node, m: TRUNC) -> None:
    """ZKDatabase.truncateLog; where the log has no place to cut it fails (`fail_to_truncate`)."""
    s.sync_mode[f] = TRUNCS
    s.phase[f] = SYNCING
    stood = first_from(s, f, m.zxid)
    remember_log(s, f)
    if s.full[f]:
        fail_to_truncate(s, f)
    elif cut_log(s, f, m.zxid):
        remember_cut(s, f)
        end_file(s, f)
        s.closed[f] = False
        reload_after_cut(s, f, m.zxid, stood)
        s.last_processed[f] = m.zxid
        if meets_hole(s, f):
            stop(s, f)
    else:
        threw_up(s)
        fail_to_truncate(s, f)


def fail_to_truncate(s: State, f: Node) -> None:
    """FileTxnSnapLog.truncateLog catches an IOException (3.5.7, 3.6.0), and Learner.syncWithLeader exits with 13. That
    it is started again at once is merged, as everywhere. Before, the term ends, and the database, which has been
    cleared, is read again; that such a server is not refused, as one that starts may be, is in `before-3701` alone."""
    shut_down(s, f)
    on_recovery(s, f)


@receives
def on_snap(s: State, f: Node, m: SNAP) -> None:
    """ZKDatabase.deserializeSnapshot: the tree is the leader's; nothing is done to the log, nothing is on disk yet."""
    leave_tree(s, f)
    s.sync_mode[f] = SNAPS
    s.phase[f] = SYNCING
    s.committed_log[f].clear()
    s.tree[f] = m.tree
    s.last_processed[f] = m.zxid


@receives
def on_proposal(s: State, f: Node, m: PROPOSAL) -> None:
    """Learner.syncWithLeader: kept in packetsNotLogged until NEWLEADER; once it serves, Follower.processPacket hands it
    to FollowerZooKeeperServer.logRequest."""
    if s.phase[f] == SERVING and not observes(s, f, f):  # Observer.processPacket ignores it
        log_request(s, f, m.zxid)
    elif s.phase[f] != SERVING and is_gap(s, f, m.zxid):
        stop(s, f)
    elif s.phase[f] != SERVING:
        s.not_logged[f].append(m.zxid)


def is_gap(s: State, f: Node, zxid: int) -> bool:
    """Learner.enforceContinuousProposal (3.9.4): a proposal of the epoch of the one before follows it at once. Left
    out: lastQueued outlives what is applied, and the list does not. A field for it made no difference in
    32,770,204 orbits (`coarse,walk` from `established`: one proposal, two crashes, one lost connection)."""
    count = len(s.not_logged[f])
    if count == 0:
        return False
    last = s.not_logged[f][count - 1]
    return zxid != last + 1 and epoch_of(zxid) <= epoch_of(last)


@receives
def on_commit(s: State, f: Node, m: COMMIT) -> None:
    """Learner.syncWithLeader: in the sync phase the head of packetsNotLogged is looked at first, and there is one; once
    it serves, Follower.processPacket hands it to FollowerZooKeeperServer.commit."""
    if s.phase[f] == SERVING:
        if not observes(s, f, f):  # Observer.processPacket ignores it
            commit(s, f, m.zxid)
    elif len(s.not_logged[f]) == 0 and looks_at_proposal(s, f):
        stop(s, f)
    elif s.phase[f] == SYNCING and s.sync_mode[f] != DIFFS:
        if s.not_logged[f][0] == m.zxid:
            apply_in_sync(s, f, m.zxid)
            s.not_logged[f].pop(0)
            if meets_hole(s, f):
                stop(s, f)
    else:
        s.committed[f].append(m.zxid)


def looks_at_proposal(s: State, f: Node) -> bool:
    """Whether the head is looked at, whatever is done with the COMMIT (COMMITANDACTIVATE, 3.5.0: ZOOKEEPER-107)."""
    return True


def apply_in_sync(s: State, f: Node, zxid: int) -> None:
    """FollowerZooKeeperServer.processTxn(Request) (3.9.4): committedLog has it too (ZOOKEEPER-4925)."""
    apply_txn(s, f, zxid)


@receives
def on_newleader(s: State, f: Node, m: NEWLEADER) -> None:
    """Learner.syncWithLeader: what follows are steps of their own: the snapshot, the log, the epoch, the
    acknowledgement."""
    s.phase[f] = after_snapshot(s) if s.sync_mode[f] == DIFFS else TO_SNAPSHOT


def after_snapshot(s: State) -> int:
    """The log is written before currentEpoch (ZOOKEEPER-4643, 4785)."""
    return TO_PERSIST


def at_snapshot(s: State, f: Node) -> bool:
    return s.phase[f] == TO_SNAPSHOT


@action(when=at_snapshot, name="snapshot at NEWLEADER")
def save_snapshot(s: State, f: Node) -> None:
    """ZooKeeperServer.takeSnapshot(syncSnapshot)."""
    take_snapshot(s, f)
    s.phase[f] = after_snapshot(s)


def at_persist(s: State, f: Node) -> bool:
    return s.phase[f] == TO_PERSIST


@action(when=at_persist, name="persist at NEWLEADER")
def persist(s: State, f: Node) -> None:
    leave_tail(s, f)
    if persists_in_sync(s, f):
        persist_received(s, f)
    s.phase[f] = after_persist(s)
    if meets_hole(s, f):
        stop(s, f)


def persists_in_sync(s: State, f: Node) -> bool:
    """Learner.syncWithLeader: a follower; for an observer what has come waits for UPTODATE."""
    return not observes(s, f, f)


def leave_tail(s: State, f: Node) -> None:
    """Nothing is done to what the log, or a later snapshot, has behind the snapshot of a SNAP."""


def after_persist(s: State) -> int:
    return TO_WRITE_EPOCH


def persist_received(s: State, f: Node) -> None:
    """Each COMMIT recorded whose zxid is the head of packetsNotLogged: append it, apply it; then ZKDatabase.commit
    forces
    the log (3.9.3). One step: a crash inside keeps some prefix of what was appended, as one of a shorter sync does."""
    for zxid in s.committed[f]:
        if len(s.not_logged[f]) > 0 and s.not_logged[f][0] == zxid:
            s.not_logged[f].pop(0)
            append_to_log(s, f, zxid)
            apply_in_sync(s, f, zxid)
    s.committed[f].clear()


def at_epoch(s: State, f: Node) -> bool:
    return s.phase[f] == TO_WRITE_EPOCH


@action(when=at_epoch, name="write currentEpoch")
def write_epoch(s: State, f: Node) -> None:
    """QuorumPeer.setCurrentEpoch."""
    s.current_epoch[f] = s.term[f]
    s.phase[f] = after_epoch(s)


def after_epoch(s: State) -> int:
    return TO_ACK


def at_ack(s: State, f: Node) -> bool:
    return s.phase[f] == TO_ACK


@action(when=at_ack, name="acknowledge NEWLEADER")
def acknowledge(s: State, f: Node) -> None:
    """ACK(<e,0>)."""
    end_sync(s, f)
    s.phase[f] = WAITING
    send_to_leader(s, f, ACK(zxid=first_of(s.term[f])))


def end_sync(s: State, f: Node) -> None:
    """setSyncMode(NONE) before the acknowledgement (3.6.3, 3.7.0: ZOOKEEPER-3911)."""
    s.sync_mode[f] = NONE


@receives
def on_uptodate(s: State, f: Node, m: UPTODATE) -> None:
    """ZooKeeperServer.startup: it serves; what is left is queued for the log, what is committed for the tree. The
    second
    ACK(<e,0>) is left out: Leader.processAck ignores it. One step of the main thread: it only queues."""
    epoch_at_uptodate(s, f)
    s.sync_mode[f] = NONE  # where `end_sync` has not said so
    s.phase[f] = SERVING
    exposes(s, s.term[f], s.tree[f])
    for zxid in s.appended[f]:
        send_to_leader(s, f, ACK(zxid=zxid))
    s.appended[f].clear()
    if observes(s, f, f):
        take_informed(s, f)
    else:
        take_received(s, f)


def take_received(s: State, f: Node) -> None:
    """Learner.syncWithLeader, behind UPTODATE, of a follower."""
    for zxid in s.not_logged[f]:
        log_request(s, f, zxid)
    s.not_logged[f].clear()
    for zxid in s.committed[f]:
        commit(s, f, zxid)
    s.committed[f].clear()


def take_informed(s: State, f: Node) -> None:
    """The same of an observer: what is not the next that is committed is left out; where nothing more is, the
    comparison throws."""
    throws = False
    for zxid in s.not_logged[f]:
        if len(s.committed[f]) == 0:
            throws = True
        elif not throws and s.committed[f][0] == zxid:
            s.committed[f].pop(0)
            commit_request(s, f, zxid)
    s.not_logged[f].clear()
    s.committed[f].clear()
    if throws:
        stop(s, f)


def commit_request(s: State, f: Node, zxid: int) -> None:
    """ObserverZooKeeperServer.commitRequest: to the sync thread and to the commit thread. Left out:
    zookeeper.observer.syncEnabled=false, with which it logs nothing."""
    s.sync_queue[f].append(zxid)
    s.to_apply[f].append(zxid)


def epoch_at_uptodate(s: State, f: Node) -> None:
    """currentEpoch was written before NEWLEADER was acknowledged (ZOOKEEPER-1282)."""


@receives
def on_closed(s: State, f: Node, m: CLOSED) -> None:
    """The leader's LearnerHandler has closed its socket."""
    shut_down(s, f)


# --- FollowerZooKeeperServer ----------------------------------------------------------------------


def log_request(s: State, f: Node, zxid: int) -> None:
    """FollowerZooKeeperServer.logRequest."""
    s.pending[f].append(zxid)
    s.sync_queue[f].append(zxid)


def commit(s: State, f: Node, zxid: int) -> None:
    """FollowerZooKeeperServer.commit: it warns where nothing is pending, and exits where something else is."""
    if len(s.pending[f]) > 0:
        if s.pending[f][0] == zxid:
            s.pending[f].pop(0)
            s.to_apply[f].append(zxid)
        else:
            stop(s, f)


def stop(s: State, f: Node) -> None:
    """The main thread throws, or the process exits, for a packet."""
    threw_up(s)
    shut_down(s, f)


def on_leader_lost(s: State, f: Node) -> None:
    shut_down(s, f)
