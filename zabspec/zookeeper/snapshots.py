"""Snapshots of a tree that changes while it is written: those of SyncRequestProcessor (`snapshots`), and a SNAP
(`before-3104`, `fuzzy-snap`). In a file of its own, imported last, so that the other actions keep their numbers.

SyncRequestProcessor begins another file of the log after snapCount transactions, and starts a thread, which calls
FileTxnSnapLog.save. That reads lastProcessedZxid, which names the file, and writes the tree as it is meanwhile
(FileSnap.serialize): whatever is applied before it has come to a node may be in it. A start replays the log from the
name on. Nothing waits for the thread when a term ends: then fastForwardDataBase applies what nobody may have
committed, and it may still be writing. It dies with the process. FileSnap.close waits for it, so that a TRUNC comes
after it, and so does FileSnap.serialize, so that no snapshot of the main thread, a new leader's among them, comes
before it; ZKDatabase.clear, at a SNAP, gives the server another tree, and leaves it its own.

One thread at a time. What it writes is the tree as it is at one moment from its beginning to its end. Left out: that
of later transactions it has one and not one before, so where only parts count, `one-node` says what they do; that it
reads lastProcessedZxid in a later term than that in which it was started; that it is so late that FileSnap has been
closed and opened again; that a SyncRequestProcessor which outlives its term (ZOOKEEPER-4712) starts one.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant, action
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.state import (
    State,
    COMMIT,
    IDLE,
    NO_THREAD,
    PROPOSAL,
    SAVING,
    SERVING,
    SNAP,
    STARTED,
    epoch_of,
)
from zabspec.zookeeper.storage import end_file, save_snapshot_as
from zabspec.zookeeper.sync import queue_newleader, start_forwarding
from zabspec.zookeeper.transfers import has_handler, is_queued_later, is_read_later, send_snap, snap_zxid

__all__ = [
    "SNAPSHOTS",
    "ends_with_its_tree",
    "goes_on_at_once",
    "has_logged",
    "is_queued_at_once",
    "is_read_behind_newleader",
    "is_saving",
    "is_started",
    "may_start_snapshot",
    "name_snapshot",
    "named_at_choice",
    "save_periodic",
    "send_behind_snap",
    "start_snapshot",
    "takes_periodic",
    "takes_snapshots",
    "waits_for_monitor",
    "waits_for_thread",
    "was_never_started",
    "written_over",
]


# --- periodic snapshots ------------------------------------------------------------------------------


def takes_snapshots(s: State) -> bool:
    """Whether SyncRequestProcessor takes any (`snapshots`)."""
    return False


def takes_periodic(s: State) -> bool:
    return True


def may_start_snapshot(s: State, p: Node) -> bool:
    """It serves, and has logged something in this term, or is about to, perhaps only when the term ends."""
    return takes_snapshots(s) and s.phase[p] == SERVING and s.snapshot_thread[p] == NO_THREAD and has_logged(s, p)


def has_logged(s: State, p: Node) -> bool:
    count = len(s.log[p])
    return len(s.sync_queue[p]) > 0 or (count > 0 and epoch_of(s.log[p][count - 1]) == s.term[p])


@action(when=may_start_snapshot, budget="snapshots", name="snapshot is due")
def start_snapshot(s: State, p: Node) -> None:
    """SyncRequestProcessor.run: FileTxnSnapLog.rollLog, then the thread is started. snapCount may be any number."""
    end_file(s, p)
    s.snapshot_thread[p] = STARTED


def is_started(s: State, p: Node) -> bool:
    return s.snapshot_thread[p] == STARTED and (s.phase[p] == SERVING or s.phase[p] == IDLE)


@action(when=is_started, name="snapshot begins")
def name_snapshot(s: State, p: Node) -> None:
    """FileTxnSnapLog.save reads DataTree.lastProcessedZxid."""
    s.snapshot_thread[p] = SAVING
    s.saving_as[p] = s.last_processed[p]


def is_saving(s: State, p: Node) -> bool:
    return s.snapshot_thread[p] == SAVING


@action(when=is_saving, name="snapshot is written")
def save_periodic(s: State, p: Node) -> None:
    """FileSnap.serialize has come to the end. One that a crash has broken off is not valid, and is passed over."""
    save_snapshot_as(s, p, s.saving_as[p])
    s.snapshot_thread[p] = NO_THREAD
    s.saving_as[p] = 0


def ends_with_its_tree(s: State, p: Node) -> None:
    """The thread has the tree that is left: what it writes is certain now. That it has not come to the end yet is left
    out: a crash before that is one of a run in which it was never started."""
    if s.snapshot_thread[p] == SAVING:
        save_periodic(s, p)


def was_never_started(s: State, p: Node) -> None:
    """One that has not begun yet is not any more."""
    if s.snapshot_thread[p] == STARTED:
        s.snapshot_thread[p] = NO_THREAD


def waits_for_monitor(s: State, p: Node) -> None:
    """ZooKeeperServer.takeSnapshot (3.9.0 to 3.9.3) is synchronized, as shutdown is: one that has begun is written
    before the term ends. One that has not may still begin (ZOOKEEPER-4570, 4858)."""
    ends_with_its_tree(s, p)


def waits_for_thread(s: State, p: Node) -> None:
    """Proposed here: SyncRequestProcessor.shutdown takes snapThreadMutex, which the thread has until the snapshot is
    written. So where that is drained before fastForwardDataBase (3.9.3, and ZOOKEEPER-4712), the snapshot has nothing
    that the log alone has; where it is drained later (3.5.4 to 3.5.9, 3.6.0 to 3.6.2), or not at all (3.9.2), it
    has."""
    if s.snapshot_thread[p] == STARTED:
        name_snapshot(s, p)
    if s.snapshot_thread[p] == SAVING:
        save_periodic(s, p)


# --- transactions of one node ------------------------------------------------------------------------


def written_over(s: State, tree: int, zxid: int) -> int:
    """DataTree.setData writes whatever it is told to: applied once more, a transaction takes back what came after it,
    until that is applied once more, too."""
    return (tree & ((1 << zxid) - 1)) | (1 << zxid)


# --- SNAP ----------------------------------------------------------------------------------------------


def named_at_choice(s: State, l: Node, f: Node) -> int:
    """LearnerHandler.run: lastProcessedZxid is read at once, and the tree then takes until it is sent."""
    return s.peer_last[l][f]


def is_read_behind_newleader(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run (3.5.0 to 3.5.4): the SNAP is read once NEWLEADER is queued (ZOOKEEPER-3104). What was
    committed at the choice stands before it, and all that is committed then behind it."""
    s.peer_last[l][f] = s.last_processed[l]
    s.queued_to[l][f] = s.last_committed[l]


def is_queued_at_once(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run (3.5.0 to 3.5.4): NEWLEADER is queued behind syncFollower; that of who waits for a SNAP is
    seen behind it (`send_behind_snap`). Merged: what happens between the two."""
    if f in s.forwarding[l]:
        queue_newleader(s, l, f)


def goes_on_at_once(s: State, f: Node) -> None:
    """LearnerHandler.run (3.5.0 to 3.5.4) has no step of its own behind that."""


def send_behind_snap(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run (3.5.0 to 3.5.4): SNAP, and what was queued since the choice, NEWLEADER among it. A proposal
    that was outstanding at the choice was queued before NEWLEADER, and comes behind it here, with its COMMIT: these
    releases have it in a list either way."""
    send_to_follower(s, l, f, SNAP(zxid=snap_zxid(s, l, f), tree=s.tree[l]))
    base = s.peer_last[l][f]
    to = max(base, s.queued_to[l][f])
    for zxid in s.committed_log[l]:
        if zxid > base and zxid <= to:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
    for zxid in s.to_be_applied[l]:
        if zxid > s.last_processed[l] and zxid <= to:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
    queue_newleader(s, l, f)
    for zxid in s.committed_log[l]:
        if zxid > to:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
    start_forwarding(s, l, f, to)
    s.queued_to[l][f] = 0


SNAPSHOTS = (
    Variant(
        "snapshots",
        "a server takes snapshots while it serves, of a tree that changes",
        {"takes_snapshots": takes_periodic, "leave_tree": ends_with_its_tree, "leave_thread": was_never_started},
    ),
    Variant(
        "one-node",
        "all transactions write one node: one that is applied once more takes back what came after it",
        {"with_txn": written_over},
    ),
    Variant(
        "fuzzy-snap",
        "with transfer: the name of a SNAP is read at the choice, the tree when it is sent",
        {"snap_zxid": named_at_choice},
        needs=("transfer",),
    ),
    Variant(
        "before-3104",
        "with transfer: 3.5.0 to 3.5.4, NEWLEADER is queued before a SNAP is read",
        {
            "send_snapshot": is_read_behind_newleader,
            "finish_transfer": is_queued_at_once,
            "begin_handler": goes_on_at_once,
            "send_snap": send_behind_snap,
        },
        over=("transfer",),
        needs=("transfer",),
    ),
    Variant(
        "before-4858",
        "with snapshots: 3.9.0 to 3.9.3, takeSnapshot is synchronized, as the server's shutdown is",
        {"enters_shutdown": waits_for_monitor},
    ),
    Variant(
        "late-snapshot",
        "the end of a term waits for a snapshot that is being written",
        {"waits_for_snapshot": waits_for_thread},
        repairs=True,
        needs=("snapshots",),
    ),
    Variant(
        "3104",
        "NEWLEADER is queued once a SNAP is written",
        {
            "send_snapshot": is_read_later,
            "finish_transfer": is_queued_later,
            "begin_handler": has_handler,
            "send_snap": send_snap,
        },
        over=("transfer", "before-3104"),
        repairs=True,
        needs=("transfer",),
    ),
)
