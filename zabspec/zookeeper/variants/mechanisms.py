"""The step at which a server does the wrong thing: a rule for each known bug, broken where its mechanism occurs.

A property that breaks says what users lose, and several bugs may break it. A rule here says what the code does wrong,
so it tells one bug from another. Each is a rule over steps: `before` and `after` are the states around one. No rule is
judged unless it is named (`benchmarks/zookeeper_matrix.py`), and none has a state of its own.

A learner's steps at NEWLEADER may be put together (`coarse.py`), so a rule looks at what is so when NEWLEADER is
acknowledged, when currentEpoch is written, or when a term ends, and not at the phase in between.
"""

from __future__ import annotations

from zabspec.authoring.declaration import safety
from zabspec.language.python.lang import Node, broken, is_quorum
from zabspec.zookeeper.state import (
    State,
    AWAITING_EPOCH_ACKS,
    CHOOSING_EPOCH,
    DIFFS,
    EPOCH_ACKED,
    FOLLOWING,
    IDLE,
    NO_THREAD,
    SAVING,
    SERVING,
    SNAPS,
    SYNCING,
    TO_ACK,
    TO_PERSIST,
    TO_SNAPSHOT,
    TRUNCS,
    WAITING,
    WIDTH,
    counter_of,
    epoch_of,
)
from zabspec.zookeeper.storage import saved_tree

# --- what a step is ----------------------------------------------------------------------------------


def acknowledges(before: State, after: State, p: Node) -> bool:
    """Whether p acknowledges NEWLEADER in this step."""
    return before.phase[p] != WAITING and after.phase[p] == WAITING


def writes_epoch(before: State, after: State, p: Node) -> bool:
    """Whether p, a learner, writes currentEpoch in this step."""
    return before.current_epoch[p] != after.current_epoch[p] and after.role[p] == FOLLOWING


def ends_term(before: State, after: State, p: Node) -> bool:
    """Whether p's term ends in this step, and the process lives."""
    return before.phase[p] != IDLE and after.phase[p] == IDLE and before.crashes_left == after.crashes_left


def is_told(before: State, after: State, p: Node, mode: int) -> bool:
    """Whether p reads the first packet of a synchronization of this mode, and takes it."""
    return before.phase[p] == EPOCH_ACKED and after.phase[p] == SYNCING and after.sync_mode[p] == mode


def comes_to_refuse(before: State, after: State, p: Node) -> bool:
    """Whether p is started, and refuses."""
    return after.refused[p] and not before.refused[p]


def is_on_disk(s: State, p: Node, zxid: int) -> bool:
    """Whether p's log or one of its snapshots has a transaction."""
    if zxid in s.log[p]:
        return True
    for tree in s.snapshot_trees[p]:
        if (tree >> zxid) & 1 == 1:
            return True
    return False


def is_in_memory_alone(s: State, p: Node) -> bool:
    """Whether p's tree has a transaction that is not on its disk, and that no thread will write."""
    for zxid in range(last_of(s) + 1):
        if (s.tree[p] >> zxid) & 1 == 1 and not is_on_disk(s, p, zxid) and zxid not in s.stale_queue[p]:
            return True
    return False


def last_of(s: State) -> int:
    """Return the largest zxid that there is room for."""
    return (s.ELECTIONS + 2) * WIDTH - 1


def stops(before: State, after: State, p: Node) -> bool:
    """Whether p stops for a packet."""
    return after.threw and not before.threw and ends_term(before, after, p)


def takes_step(before: State, event: State, after: State) -> bool:
    """A step is taken."""
    return True


# --- at NEWLEADER ------------------------------------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def acknowledges_with_lists_empty(before: State, event: State, after: State) -> bool:
    """No learner acknowledges NEWLEADER with transactions of the synchronization in lists of Learner.syncWithLeader
    alone (ZOOKEEPER-3911)."""
    for p in range(after.NODES):
        if acknowledges(before, after, p):
            for zxid in after.not_logged[p]:
                if zxid in after.committed[p] or epoch_of(zxid) < after.term[p]:
                    return broken(f"p{p} acknowledges NEWLEADER with {zxid} in a list alone")
    return True


@safety(over="step", witness=takes_step, default=False)
def acknowledges_with_queue_empty(before: State, event: State, after: State) -> bool:
    """No learner acknowledges NEWLEADER with transactions of the synchronization in the queue of SyncRequestProcessor
    (ZOOKEEPER-4646)."""
    for p in range(after.NODES):
        if acknowledges(before, after, p) and len(after.sync_queue[p]) > 0:
            return broken(f"p{p} acknowledges NEWLEADER with transactions queued for its log")
    return True


@safety(over="step", witness=takes_step, default=False)
def writes_epoch_after_log(before: State, event: State, after: State) -> bool:
    """No learner writes currentEpoch with transactions of the synchronization in lists alone (ZOOKEEPER-4643)."""
    for p in range(after.NODES):
        if writes_epoch(before, after, p):
            for zxid in after.not_logged[p]:
                if zxid in after.committed[p] or epoch_of(zxid) < after.term[p]:
                    return broken(f"p{p} writes currentEpoch before {zxid} is handed to its log")
    return True


@safety(over="step", witness=takes_step, default=False)
def queue_is_empty_in_the_new_epoch(before: State, event: State, after: State) -> bool:
    """No learner that has not begun to serve has transactions of the synchronization in the queue of
    SyncRequestProcessor while currentEpoch is the new one (ZOOKEEPER-4785)."""
    for p in range(after.NODES):
        syncs = after.phase[p] > SYNCING and after.phase[p] <= WAITING
        if syncs and after.current_epoch[p] == after.term[p] and len(after.sync_queue[p]) > 0:
            return broken(f"p{p} has written currentEpoch with transactions queued for its log")
    return True


@safety(over="step", witness=takes_step, default=False)
def newleader_is_acknowledged_first(before: State, event: State, after: State) -> bool:
    """No SyncRequestProcessor acknowledges a transaction of the synchronization before the main thread acknowledges
    NEWLEADER (ZOOKEEPER-4685)."""
    for p in range(after.NODES):
        waits = before.phase[p] >= TO_PERSIST and before.phase[p] <= TO_ACK and after.phase[p] == before.phase[p]
        if waits and len(after.sync_queue[p]) < len(before.sync_queue[p]):
            return broken(f"p{p} acknowledges a transaction before NEWLEADER")
    return True


@safety(over="step", witness=takes_step, default=False)
def commit_finds_its_proposal(before: State, event: State, after: State) -> bool:
    """No learner that waits for UPTODATE stops for a COMMIT since its list of proposals is empty (ZOOKEEPER-4394)."""
    for p in range(after.NODES):
        if before.phase[p] == WAITING and len(before.not_logged[p]) == 0 and stops(before, after, p):
            return broken(f"p{p} stops for a COMMIT whose proposal is in no list any more")
    return True


@safety(over="step", witness=takes_step, default=False)
def serves_with_history_applied(before: State, event: State, after: State) -> bool:
    """No learner begins to serve with transactions of earlier epochs that are not applied (ZOOKEEPER-3023)."""
    for p in range(after.NODES):
        if before.phase[p] == WAITING and after.phase[p] == SERVING:
            for zxid in after.pending[p]:
                if epoch_of(zxid) < after.term[p]:
                    return broken(f"p{p} serves before {zxid} is applied")
            for zxid in after.to_apply[p]:
                if epoch_of(zxid) < after.term[p]:
                    return broken(f"p{p} serves before {zxid} is applied")
    return True


@safety(over="step", witness=takes_step, default=False)
def epoch_is_written_first(before: State, event: State, after: State) -> bool:
    """No learner acknowledges NEWLEADER before currentEpoch is written (ZOOKEEPER-1282)."""
    for p in range(after.NODES):
        if acknowledges(before, after, p) and after.current_epoch[p] != after.term[p]:
            return broken(f"p{p} acknowledges NEWLEADER and has not written currentEpoch")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_is_forced_before_epoch(before: State, event: State, after: State) -> bool:
    """No learner writes currentEpoch while the snapshot of a SNAP is not forced (ZOOKEEPER-2872)."""
    for p in range(after.NODES):
        if writes_epoch(before, after, p) and before.sync_mode[p] == SNAPS:
            if (after.unforced[p] >> after.last_processed[p]) & 1 == 1:
                return broken(f"p{p} writes currentEpoch and has not forced its snapshot")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_is_saved_before_epoch(before: State, event: State, after: State) -> bool:
    """No learner writes currentEpoch after a SNAP with a FileSnap that is closed and saves nothing (ZOOKEEPER-3701)."""
    for p in range(after.NODES):
        if writes_epoch(before, after, p) and before.sync_mode[p] == SNAPS and after.closed[p]:
            return broken(f"p{p} writes currentEpoch, and its snapshot was not saved")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_has_what_names_it(before: State, event: State, after: State) -> bool:
    """No learner saves the tree of a SNAP at NEWLEADER under a zxid whose transaction is not in it (ZOOKEEPER-3104)."""
    for p in range(after.NODES):
        if before.sync_mode[p] == SNAPS and before.phase[p] != after.phase[p]:
            for k in range(len(after.snapshot_names[p])):
                name = after.snapshot_names[p][k]
                lacks = counter_of(name) != 0 and (after.snapshot_trees[p][k] >> name) & 1 == 0
                if lacks and saved_tree(before, p, name) != after.snapshot_trees[p][k]:
                    return broken(f"p{p} has saved its tree as of {name}, and that is not in it")
    return True


# --- at DIFF, TRUNC and SNAP --------------------------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def diff_leaves_last_processed(before: State, event: State, after: State) -> bool:
    """No learner moves lastProcessedZxid at DIFF, before the transactions have come (ZOOKEEPER-2355)."""
    for p in range(after.NODES):
        if is_told(before, after, p, DIFFS) and after.last_processed[p] > before.last_processed[p]:
            return broken(f"p{p} says that it has processed {after.last_processed[p]}, which has not come")
    return True


@safety(over="step", witness=takes_step, default=False)
def what_is_applied_in_sync_is_remembered(before: State, event: State, after: State) -> bool:
    """No learner applies a transaction of the synchronization and leaves it out of committedLog (ZOOKEEPER-4925)."""
    for p in range(after.NODES):
        syncs = before.phase[p] >= SYNCING and before.phase[p] <= WAITING
        if syncs and after.phase[p] >= SYNCING and after.phase[p] <= WAITING:
            for zxid in range(last_of(after) + 1):  # that of an INFORM has been in no list
                applied = (after.tree[p] >> zxid) & 1 == 1 and (before.tree[p] >> zxid) & 1 == 0
                if applied and zxid not in after.committed_log[p]:
                    return broken(f"p{p} applies {zxid} and leaves it out of committedLog")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshots_hold_nothing_that_is_cut(before: State, event: State, after: State) -> bool:
    """No learner that is told to TRUNC reads what is cut back from a snapshot (ZOOKEEPER-4837)."""
    for p in range(after.NODES):
        if is_told(before, after, p, TRUNCS):
            for zxid in range(last_of(after) + 1):
                kept = zxid > after.last_processed[p] and (after.tree[p] >> zxid) & 1 == 1
                if kept and zxid not in after.log[p]:
                    return broken(f"p{p} has {zxid} again, which was cut, from a snapshot")
    return True


@safety(over="step", witness=takes_step, default=False)
def truncate_leaves_nothing_behind(before: State, event: State, after: State) -> bool:
    """No learner that is told to TRUNC keeps a record behind the cut in its log (cut)."""
    for p in range(after.NODES):
        if is_told(before, after, p, TRUNCS):
            for zxid in after.log[p]:
                if zxid > after.last_processed[p]:
                    return broken(f"p{p} keeps {zxid} in its log, behind the cut")
    return True


@safety(over="step", witness=takes_step, default=False)
def truncate_finds_a_log(before: State, event: State, after: State) -> bool:
    """No learner is told to TRUNC what its log has not, so that it stops (trunc-snap)."""
    for p in range(after.NODES):
        if before.phase[p] == EPOCH_ACKED and stops(before, after, p):
            return broken(f"p{p} stops, since its log has nothing to cut")
    return True


@safety(over="step", witness=takes_step, default=False)
def truncate_keeps_what_is_committed(before: State, event: State, after: State) -> bool:
    """No learner is told to TRUNC what its leader has committed, so that it is on the logs of no quorum (trunc)."""
    for p in range(after.NODES):
        if is_told(before, after, p, TRUNCS):
            leader = before.leader[p]
            for zxid in before.log[p]:
                if zxid not in after.log[p] and epoch_of(zxid) == before.term[p]:
                    led = before.phase[leader] == SERVING and before.term[leader] == before.term[p]
                    committed = led and zxid <= before.last_committed[leader]
                    committed = committed or (before.exposed[before.term[p]] >> zxid) & 1 == 1
                    kept = is_quorum(after, {q for q in range(after.NODES) if is_on_disk(after, q, zxid)})
                    if committed and not kept:
                        return broken(f"p{p} cuts {zxid}, which p{leader} has committed")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_cuts_the_tail(before: State, event: State, after: State) -> bool:
    """No learner acknowledges NEWLEADER with a log that goes on behind the snapshot it was sent (snap-tail)."""
    for p in range(after.NODES):
        if acknowledges(before, after, p) and before.sync_mode[p] == SNAPS:
            for zxid in after.log[p]:
                listed = zxid in after.pending[p] or zxid in after.not_logged[p] or zxid in after.appended[p]
                if zxid > after.last_processed[p] and (after.tree[p] >> zxid) & 1 == 0 and not listed:
                    return broken(f"p{p} keeps {zxid} in its log, behind the snapshot that it was sent")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_keeps_the_running_epoch(before: State, event: State, after: State) -> bool:
    """No learner is sent a SNAP that takes back what it has logged in the running epoch (ZOOKEEPER-2832)."""
    for p in range(after.NODES):
        if is_told(before, after, p, SNAPS):
            for zxid in after.log[p]:
                if epoch_of(zxid) == before.term[p] and (after.tree[p] >> zxid) & 1 == 0:
                    return broken(f"p{p} has logged {zxid} in this epoch, and is sent a snapshot without it")
    return True


@safety(over="step", witness=takes_step, default=False)
def forwarded_without_a_gap(before: State, event: State, after: State) -> bool:
    """No learner is sent a proposal whose predecessor in the epoch it has neither applied nor been sent (forward)."""
    for p in range(after.NODES):
        if before.phase[p] >= SYNCING and after.phase[p] == before.phase[p] and before.role[p] == FOLLOWING:
            for zxid in after.not_logged[p]:
                if zxid not in before.not_logged[p] and counter_of(zxid) > 1 and not has_come(before, p, zxid - 1):
                    return broken(f"p{p} is sent {zxid}, and never was sent the one before")
            for zxid in after.pending[p]:
                if zxid not in before.pending[p] and counter_of(zxid) > 1 and not has_come(before, p, zxid - 1):
                    return broken(f"p{p} is sent {zxid}, and never was sent the one before")
    return True


def has_come(s: State, p: Node, zxid: int) -> bool:
    """Whether p has applied a transaction, or will."""
    listed = zxid in s.not_logged[p] or zxid in s.pending[p] or zxid in s.to_apply[p]
    return listed or (s.tree[p] >> zxid) & 1 == 1


# --- what a leader reads from its log (walk) -----------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def log_reaches_committed_log(before: State, event: State, after: State) -> bool:
    """No leader sends a learner its log where that ends before committedLog begins (ZOOKEEPER-2418)."""
    for p in range(after.NODES):
        if skips_now(before, after, p) and not reaches(before, p):
            return broken(f"p{p} sends what its log has, which ends before committedLog begins")
    return True


@safety(over="step", witness=takes_step, default=False)
def log_has_no_hole(before: State, event: State, after: State) -> bool:
    """No leader sends a learner its log where that lacks what a snapshot has brought (ZOOKEEPER-2099)."""
    for p in range(after.NODES):
        if skips_now(before, after, p) and reaches(before, p):
            return broken(f"p{p} sends what its log has, which lacks what came by a snapshot")
    return True


def skips_now(before: State, after: State, p: Node) -> bool:
    """Whether p brings a learner up to date in this step, and leaves transactions out."""
    if not after.skipped or before.skipped:
        return False
    for f in range(after.NODES):
        if f in after.unsettled[p] and f not in before.unsettled[p]:
            return True
    return False


def reaches(s: State, p: Node) -> bool:
    """Whether p's log reaches what committedLog, or without one the tree, begins with."""
    low = s.committed_log[p][0] if len(s.committed_log[p]) > 0 else s.last_processed[p]
    last = 0
    for zxid in s.log[p]:
        last = max(last, zxid)
    return last >= low


# --- the end of a term, and a start --------------------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def sync_thread_ends_with_its_term(before: State, event: State, after: State) -> bool:
    """No SyncRequestProcessor outlives its term with transactions in its queue (ZOOKEEPER-4712)."""
    for p in range(after.NODES):
        if ends_term(before, after, p) and len(after.stale_queue[p]) > len(before.stale_queue[p]):
            return broken(f"p{p}'s sync thread outlives its term")
    return True


@safety(over="step", witness=takes_step, default=False)
def what_was_logged_in_sync_is_applied(before: State, event: State, after: State) -> bool:
    """No learner's term ends before it serves with transactions of the synchronization in the log and not in the tree
    (ZOOKEEPER-4541)."""
    for p in range(after.NODES):
        if ends_term(before, after, p) and before.phase[p] >= TO_PERSIST and before.phase[p] <= WAITING:
            for zxid in before.pending[p]:
                if zxid in after.log[p] and (after.tree[p] >> zxid) & 1 == 0:
                    return broken(f"p{p} keeps its tree without {zxid}, which it has logged")
    return True


@safety(over="step", witness=takes_step, default=False)
def log_is_replayed_at_the_end(before: State, event: State, after: State) -> bool:
    """No server that served keeps its tree without what its log had when the term ended (ZOOKEEPER-2845)."""
    for p in range(after.NODES):
        if ends_term(before, after, p) and before.phase[p] == SERVING:
            for zxid in before.log[p]:
                missing = zxid > before.last_processed[p] and (after.tree[p] >> zxid) & 1 == 0
                if missing and zxid in after.log[p]:
                    return broken(f"p{p} keeps its tree without {zxid}, which its log has")
    return True


@safety(over="step", witness=takes_step, default=False)
def queue_is_drained_before_the_replay(before: State, event: State, after: State) -> bool:
    """No server that served keeps its tree without what was drained into its log when the term ended (late-drain)."""
    for p in range(after.NODES):
        if ends_term(before, after, p) and before.phase[p] == SERVING:
            for zxid in before.sync_queue[p]:
                if zxid in after.log[p] and (after.tree[p] >> zxid) & 1 == 0:
                    return broken(f"p{p} keeps its tree without {zxid}, which was drained into its log")
    return True


@safety(over="step", witness=takes_step, default=False)
def tree_is_not_ahead_of_the_log(before: State, event: State, after: State) -> bool:
    """No server that served keeps a tree with a transaction that could not be written (ZOOKEEPER-4882)."""
    for p in range(after.NODES):
        if ends_term(before, after, p) and before.phase[p] == SERVING and is_in_memory_alone(after, p):
            return broken(f"p{p} keeps a tree that is ahead of its disk")
    return True


@safety(over="step", witness=takes_step, default=False)
def interrupted_truncate_clears_the_tree(before: State, event: State, after: State) -> bool:
    """No learner whose synchronization by TRUNC is interrupted keeps what is on no disk (ZOOKEEPER-5094)."""
    for p in range(after.NODES):
        syncs = before.phase[p] >= SYNCING and before.phase[p] <= TO_SNAPSHOT and before.sync_mode[p] == TRUNCS
        if ends_term(before, after, p) and syncs and is_in_memory_alone(after, p):
            return broken(f"p{p} keeps what it applied behind a TRUNC, and has it on no disk")
    return True


@safety(over="step", witness=takes_step, default=False)
def interrupted_snapshot_clears_the_tree(before: State, event: State, after: State) -> bool:
    """No learner whose synchronization by SNAP is interrupted keeps what is on no disk (ZOOKEEPER-3642)."""
    for p in range(after.NODES):
        syncs = before.phase[p] >= SYNCING and before.phase[p] <= TO_SNAPSHOT and before.sync_mode[p] == SNAPS
        if ends_term(before, after, p) and syncs and is_in_memory_alone(after, p):
            return broken(f"p{p} keeps the tree of a SNAP, and has it on no disk")
    return True


@safety(over="step", witness=takes_step, default=False)
def snapshot_is_no_later_than_the_epoch(before: State, event: State, after: State) -> bool:
    """No server refuses to start since a snapshot is of a later epoch than currentEpoch (ZOOKEEPER-2354)."""
    for p in range(after.NODES):
        if comes_to_refuse(before, after, p):
            for name in after.snapshot_names[p]:
                if epoch_of(name) > after.current_epoch[p]:
                    return broken(f"p{p} refuses to start: its snapshot is of a later epoch than currentEpoch")
    return True


@safety(over="step", witness=takes_step, default=False)
def log_is_no_later_than_the_epoch(before: State, event: State, after: State) -> bool:
    """No server refuses to start since its log, and no snapshot, is of a later epoch than currentEpoch (log-epoch)."""
    for p in range(after.NODES):
        if comes_to_refuse(before, after, p):
            newest = 0
            for name in after.snapshot_names[p]:
                newest = max(newest, name)
            if epoch_of(newest) <= after.current_epoch[p] < epoch_of(after.last_processed[p]):
                return broken(f"p{p} refuses to start: its log is of a later epoch than currentEpoch")
    return True


@safety(over="step", witness=takes_step, default=False)
def log_is_replayed_without_a_hole(before: State, event: State, after: State) -> bool:
    """No server refuses to start since its log lacks a transaction inside an epoch (hole)."""
    for p in range(after.NODES):
        if comes_to_refuse(before, after, p):
            previous = 0
            for zxid in after.log[p]:
                if previous != 0 and epoch_of(zxid) == epoch_of(previous) and zxid > previous + 1:
                    return broken(f"p{p} refuses to start: its log has a hole before {zxid}")
                previous = zxid
    return True


@safety(over="step", witness=takes_step, default=False)
def periodic_snapshot_has_what_was_served(before: State, event: State, after: State) -> bool:
    """No server writes a periodic snapshot with a transaction that no server has served: one that it has applied when
    its term ended, from its log (late-snapshot)."""
    for p in range(after.NODES):
        if before.snapshot_thread[p] == SAVING and after.snapshot_thread[p] == NO_THREAD:
            tree = saved_tree(after, p, before.saving_as[p])
            served = saved_tree(before, p, before.saving_as[p])
            for e in range(after.ELECTIONS + 2):
                served = served | after.exposed[e]
            if (tree | served) != served:
                return broken(f"p{p} writes a snapshot with what no server has served")
    return True


@safety(over="step", witness=takes_step, default=False)
def what_was_cut_stays_cut(before: State, event: State, after: State) -> bool:
    """No loss of power brings back what a TRUNC has cut (cut-power)."""
    for p in range(after.NODES):
        if len(before.uncut[p]) > 0 and len(after.uncut[p]) == 0:
            for zxid in before.uncut[p]:
                if zxid in after.log[p] and zxid not in before.log[p]:
                    return broken(f"p{p} has {zxid} again, which was cut")
    return True


@safety(over="step", witness=takes_step, default=False)
def log_file_is_not_written_over(before: State, event: State, after: State) -> bool:
    """No file of a log is opened over another, so that records are gone which no TRUNC, and no repair, has cut
    (log-files)."""
    for p in range(after.NODES):
        cuts = before.phase[p] == EPOCH_ACKED or before.sync_mode[p] == SNAPS
        if not cuts and before.crashes_left == after.crashes_left:
            for zxid in before.log[p]:
                if zxid not in after.log[p]:
                    return broken(f"p{p} writes over a file of its log, and {zxid} is gone")
    return True


# --- discovery ------------------------------------------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def leader_waits_for_a_quorum_to_save(before: State, event: State, after: State) -> bool:
    """No server that is elected saves a snapshot with what is on the disks of no quorum (ZOOKEEPER-1558)."""
    for p in range(after.NODES):
        elected = before.phase[p] == IDLE and after.phase[p] == CHOOSING_EPOCH
        if elected and after.last_processed[p] in after.snapshot_names[p]:
            for zxid in range(last_of(after) + 1):
                if (after.tree[p] >> zxid) & 1 == 1 and is_saved(after, p, zxid) and not is_saved(before, p, zxid):
                    kept = is_quorum(before, {q for q in range(after.NODES) if is_on_disk(before, q, zxid)})
                    if not kept:
                        return broken(f"p{p} saves a snapshot with {zxid}, which no quorum has")
    return True


def is_saved(s: State, p: Node, zxid: int) -> bool:
    """Whether a snapshot of p has a transaction."""
    for tree in s.snapshot_trees[p]:
        if (tree >> zxid) & 1 == 1:
            return True
    return False


@safety(over="step", witness=takes_step, default=False)
def epoch_is_stored_before_it_is_proposed(before: State, event: State, after: State) -> bool:
    """No leader proposes an epoch that its acceptedEpoch has not (ZOOKEEPER-1291)."""
    for p in range(after.NODES):
        proposes = before.phase[p] == CHOOSING_EPOCH and after.phase[p] == AWAITING_EPOCH_ACKS
        if proposes and after.accepted_epoch[p] < after.term[p]:
            return broken(f"p{p} proposes epoch {after.term[p]} and has not stored it")
    return True


@safety(over="step", witness=takes_step, default=False)
def accepted_epoch_is_written_first(before: State, event: State, after: State) -> bool:
    """No server has an acceptedEpoch in memory that it could not write (ZOOKEEPER-2307)."""
    for p in range(after.NODES):
        if after.promised[p] > after.accepted_epoch[p] and before.promised[p] <= before.accepted_epoch[p]:
            return broken(f"p{p} has accepted epoch {after.promised[p]} in memory alone")
    return True


# --- discovery ---------------------------------------------------------------------------------------


@safety(over="step", witness=takes_step, default=False)
def quorum_has_heard_of_the_epoch(before: State, event: State, after: State) -> bool:
    """No leader chooses an epoch before it has heard from a quorum (ZOOKEEPER-2959)."""
    for p in range(after.NODES):
        if before.phase[p] == CHOOSING_EPOCH and after.phase[p] == AWAITING_EPOCH_ACKS:
            heard = is_quorum(
                after, {q for q in range(after.NODES) if q in before.heard[p] or is_linked_now(before, after, p, q)}
            )
            if not heard:
                return broken(f"p{p} chooses epoch {after.term[p]} without a quorum")
    return True


def is_linked_now(before: State, after: State, p: Node, q: Node) -> bool:
    """Whether p reads FOLLOWERINFO from q in this step."""
    return q in after.linked[p] and q not in before.linked[p]
