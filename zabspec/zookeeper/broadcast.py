"""Broadcast: Leader.propose, Leader.processAck, Leader.tryToCommit, SyncRequestProcessor, CommitProcessor."""

from __future__ import annotations

from zabspec.authoring.declaration import action
from zabspec.language.python.lang import Node, is_quorum
from zabspec.worlds.actor import send_to_follower, send_to_leader
from zabspec.zookeeper.observed import exposes, proposes
from zabspec.zookeeper.shutdown import shut_down
from zabspec.zookeeper.state import State, ACK, COMMIT, INFORM, LEADING, PROPOSAL, SERVING, counter_of
from zabspec.zookeeper.storage import apply_txn, log_in_thread, meets_hole
from zabspec.zookeeper.voters import observes


def may_propose(s: State, l: Node) -> bool:
    return s.role[l] == LEADING and s.phase[l] == SERVING


@action(when=may_propose, budget="proposals")
def propose(s: State, l: Node) -> None:
    """ProposalRequestProcessor.processRequest, Leader.propose: sent to who is forwarded to before it is logged here."""
    zxid = s.last_proposed[l] + 1
    proposes(s, zxid, s.term[l])
    s.last_proposed[l] = zxid
    s.outstanding[l].append(zxid)
    for f in range(s.NODES):
        if f in s.forwarding[l] and not observes(s, l, f):
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
    s.sync_queue[l].append(zxid)


def has_queued(s: State, p: Node) -> bool:
    return len(s.sync_queue[p]) > 0


@action(when=has_queued, name="sync thread")
def log_next(s: State, p: Node) -> None:
    """SyncRequestProcessor.run: FileTxnLog.append, SyncRequestProcessor.flush (FileTxnLog.commit forces), then
    AckRequestProcessor.processRequest or SendAckRequestProcessor.processRequest, which an observer has not
    (LeaderZooKeeperServer.setupRequestProcessors, FollowerZooKeeperServer.setupRequestProcessors,
    ObserverZooKeeperServer.setupRequestProcessors). One step of one transaction: a batch is several of them, whose
    crashes between lose no more."""
    zxid = s.sync_queue[p][0]
    s.sync_queue[p].pop(0)
    log_in_thread(s, p, zxid)
    if s.role[p] == LEADING:
        process_ack(s, p, p, zxid)
    elif not observes(s, p, p):
        send_to_leader(s, p, ACK(zxid=zxid))


@action(when=has_queued, budget="write_errors", name="log write fails")
def log_fails(s: State, p: Node) -> None:
    """SyncRequestProcessor.run meets an IOException: nothing of its queue is logged, the server's state is ERROR, and
    the main thread ends the term in the same process (ZooKeeperServerListenerImpl.notifyStopping)."""
    s.sync_queue[p].clear()
    shut_down(s, p)


def has_stale(s: State, p: Node) -> bool:
    return len(s.stale_queue[p]) > 0


@action(when=has_stale, name="sync thread of an earlier term")
def log_stale(s: State, p: Node) -> None:
    """A SyncRequestProcessor that its term's end did not stop (ZOOKEEPER-4712): it appends to the log there is, forces
    it, and ends: its acknowledgement goes to a closed socket, and SendAckRequestProcessor.flush asks
    learner.sock.isClosed(), where Learner.closeSockSync has set sock to null (3.7.0 to 3.9.2: a NullPointerException).
    What else it had queued is gone, not what that of a later term has (`outlive` puts <0,0> between). That of an
    observer acknowledges nothing, and goes on."""
    log_in_thread(s, p, s.stale_queue[p][0])
    goes_on = observes(s, p, p)
    if goes_on:
        s.stale_queue[p].pop(0)
    for _ in range(s.PROPOSALS + 8):
        if len(s.stale_queue[p]) == 0 or s.stale_queue[p][0] == 0 or goes_on:
            break
        s.stale_queue[p].pop(0)
    if len(s.stale_queue[p]) > 0 and s.stale_queue[p][0] == 0:
        s.stale_queue[p].pop(0)


def process_ack(s: State, l: Node, f: Node, zxid: int) -> None:
    """Leader.processAck: nothing for <e,0>, for what is committed, and for what it does not know."""
    if zxid > s.last_committed[l] and zxid in s.outstanding[l]:
        s.acks[l][counter_of(zxid)].add(f)
        try_to_commit(s, l, zxid)


def try_to_commit(s: State, l: Node, zxid: int) -> None:
    """Leader.tryToCommit (3.5.0): not while the one before is outstanding, and what waits is not tried again."""
    waits = commits_in_order(s) and (zxid - 1) in s.outstanding[l]
    if not waits and is_quorum(s, s.acks[l][counter_of(zxid)]):
        leader_commits(s, l, zxid)


def leader_commits(s: State, l: Node, zxid: int) -> None:
    """Leader.tryToCommit, once there is a quorum: commit, and inform."""
    for k in range(s.PROPOSALS + 8):
        if k >= len(s.outstanding[l]):
            break
        if s.outstanding[l][k] == zxid:
            s.outstanding[l].pop(k)
    s.acks[l][counter_of(zxid)].clear()
    s.to_be_applied[l].append(zxid)
    s.last_committed[l] = zxid
    for f in range(s.NODES):
        if f in s.forwarding[l]:
            tell_committed(s, l, f, zxid)
    s.to_apply[l].append(zxid)


def tell_committed(s: State, l: Node, f: Node, zxid: int) -> None:
    """Leader.commit, and Leader.inform, which has the transaction with it."""
    if observes(s, l, f):
        send_to_follower(s, l, f, INFORM(zxid=zxid))
    else:
        send_to_follower(s, l, f, COMMIT(zxid=zxid))


def commits_in_order(s: State) -> bool:
    """Whether one waits for the one before (ZOOKEEPER-107)."""
    return True


def has_committed(s: State, p: Node) -> bool:
    return len(s.to_apply[p]) > 0 or has_applied(s, p)


def has_applied(s: State, p: Node) -> bool:
    """The first of toBeApplied is in the tree, and is to be removed from there."""
    return removes_apart(s) and len(s.to_be_applied[p]) > 0 and (s.tree[p] >> s.to_be_applied[p][0]) & 1 == 1


def removes_apart(s: State) -> bool:
    """Whether a leader's removing of a transaction from toBeApplied is a step of its own, after it was applied and
    added to committedLog. Who is synchronized between gets the same: what is forwarded begins behind the last of
    committedLog that was sent, or behind that of a SNAP (3.6.0); in 3.5 behind what the learner said, and then what
    the SNAP has comes again, is applied again, and is not logged. So it is one step."""
    return False


@action(when=has_committed, name="commit thread")
def apply_next(s: State, p: Node) -> None:
    """CommitProcessor.run, FinalRequestProcessor.applyRequest; of a leader ToBeAppliedRequestProcessor.processRequest,
    which takes it from toBeApplied."""
    if has_applied(s, p):
        s.to_be_applied[p].pop(0)
    else:
        zxid = s.to_apply[p][0]
        s.to_apply[p].pop(0)
        apply_txn(s, p, zxid)
        exposes(s, s.term[p], s.tree[p])
        if not removes_apart(s) and len(s.to_be_applied[p]) > 0 and s.to_be_applied[p][0] == zxid:
            s.to_be_applied[p].pop(0)
        if meets_hole(s, p):
            shut_down(s, p)
