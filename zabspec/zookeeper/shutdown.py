"""The end of a term without a crash: QuorumPeer.run, finally; and what a server begins with when it starts."""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node
from zabspec.worlds.actor import disconnect, forget
from zabspec.zookeeper.state import State, IDLE, LEADING, LOOKING, NONE, SERVING, SNAPS, WIDTH, epoch_of
from zabspec.zookeeper.storage import (
    end_file,
    ends_by_hole,
    fast_forward,
    log_in_thread,
    lose_unforced,
    meets_hole,
    restore,
)


def shut_down(s: State, p: Node) -> None:
    """Follower.shutdown, Leader.shutdown: the processors end; of memory the database stays (ZOOKEEPER-2678)."""
    enters_shutdown(s, p)
    if s.role[p] == LEADING:
        if s.phase[p] == SERVING:
            end_leader(s, p)
    elif s.phase[p] == SERVING:
        end_running(s, p)
    else:
        end_starting(s, p)
    ends_by_hole(s, p)
    disconnect(s, p)
    end_term(s, p)


def enters_shutdown(s: State, p: Node) -> None:
    """ZooKeeperServer.shutdown is synchronized, and nothing holds its monitor for long (but in 3.9.0 to 3.9.3)."""


def end_leader(s: State, p: Node) -> None:
    """LeaderZooKeeperServer.shutdownComponents, ZooKeeperServer.shutdownComponents: the sync thread is drained, then
    fastForwardDataBase. That its last own acknowledgements may still commit is left out: the COMMITs go to connections
    that are being closed."""
    drain(s, p)
    fast_forward(s, p)


def end_running(s: State, p: Node) -> None:
    """FollowerZooKeeperServer.shutdownComponents (3.9.3): the sync thread is drained, then fastForwardDataBase."""
    drain(s, p)
    fast_forward(s, p)


def end_starting(s: State, p: Node) -> None:
    """Learner.shutdown where the server does not run yet: nothing, but that an interrupted SNAP clears the database
    (3.6.3: ZOOKEEPER-3642). It is read from the disk again when the next election begins."""
    if is_half_made(s, p):
        clear_interrupted(s, p)


def is_half_made(s: State, p: Node) -> bool:
    """Learner.shutdown: zk.shutdown(getSyncMode() == SNAP). What a TRUNC has applied since is kept (ZOOKEEPER-5094)."""
    return s.sync_mode[p] == SNAPS


def clear_interrupted(s: State, p: Node) -> None:
    restore(s, p)


def clears_interrupted(s: State) -> bool:
    """Whether it does (`clear_interrupted`)."""
    return True


def drain(s: State, p: Node) -> None:
    """SyncRequestProcessor.shutdown: what is queued is appended and forced."""
    waits_for_snapshot(s, p)
    for zxid in s.sync_queue[p]:
        log_in_thread(s, p, zxid)
    s.sync_queue[p].clear()


def waits_for_snapshot(s: State, p: Node) -> None:
    """SyncRequestProcessor.shutdown waits for its thread, not for one that saves the tree (`snapshots`)."""


def end_term(s: State, p: Node) -> None:
    """Leader, LearnerHandlers, and the lists of Learner.syncWithLeader are new objects in every term."""
    s.role[p] = LOOKING
    s.full[p] = False
    s.leader[p] = NOBODY
    s.phase[p] = IDLE
    s.sync_mode[p] = NONE
    s.term[p] = 0
    s.not_logged[p].clear()
    s.committed[p].clear()
    s.appended[p].clear()
    s.pending[p].clear()
    s.sync_queue[p].clear()
    s.to_apply[p].clear()
    s.heard[p].clear()
    s.linked[p].clear()
    s.answered[p].clear()
    s.agreed[p].clear()
    s.forwarding[p].clear()
    s.unsettled[p].clear()
    s.settled[p].clear()
    s.looping[p].clear()
    s.new_leader_acks[p].clear()
    s.outstanding[p].clear()
    s.to_be_applied[p].clear()
    for k in range(WIDTH):
        s.acks[p][k].clear()
    for f in range(s.NODES):
        s.peer_last[p][f] = 0
        s.queued_to[p][f] = 0
    s.last_proposed[p] = 0
    s.last_committed[p] = 0


def on_timeout(s: State, p: Node) -> None:
    """initLimit or syncLimit has passed."""
    shut_down(s, p)


def may_time_out(s: State, p: Node) -> bool:
    return s.role[p] != LOOKING


def on_crash(s: State, p: Node) -> None:
    lose_unforced(s, p)
    forget(s, p)


def on_recovery(s: State, p: Node) -> None:
    """QuorumPeer.loadDataBase: it refuses to start where the snapshot's or log's epoch is larger than currentEpoch, or
    that larger than acceptedEpoch (ZOOKEEPER-1653, 2354)."""
    end_file(s, p)
    restore(s, p)
    if starts_refused(s, p) or meets_hole(s, p):
        s.refused[p] = True


def starts_refused(s: State, p: Node) -> bool:
    return epoch_of(s.last_processed[p]) > s.current_epoch[p] or s.accepted_epoch[p] < s.current_epoch[p]


def may_vote(s: State, p: Node) -> bool:
    return not s.refused[p]
