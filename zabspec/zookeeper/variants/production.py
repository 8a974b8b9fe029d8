"""What ZooKeeper does with the settings of production, as differences: each is left out of the text unless its variant
is asked for. `walk`: how a leader reads its own log for a learner that committedLog begins too late for."""

from __future__ import annotations

from zabspec.authoring.declaration import Variant
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.learner import fail_to_truncate
from zabspec.zookeeper.observed import skips, walks
from zabspec.zookeeper.shutdown import shut_down, starts_refused
from zabspec.zookeeper.state import (
    State,
    COMMIT,
    DIFF,
    FOLLOWING,
    NONE,
    PROPOSAL,
    SNAP,
    SNAPS,
    TRUNC,
    counter_of,
    epoch_of,
)
from zabspec.zookeeper.storage import drop_behind, end_file, leave_thread, move_files, restore
from zabspec.zookeeper.sync import send_snapshot, start_forwarding

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "PRODUCTION",
    "PRODUCTION_REPAIRS",
    "accepted_in_memory",
    "checks_where_log_ends",
    "closes_file_at_end",
    "ends_file",
    "exits_by_hole",
    "file_before_memory",
    "fits_always",
    "fits_in_limit",
    "forces_after_sync",
    "forces_none",
    "forces_snapshot",
    "forgets_cut",
    "goes_on_closed",
    "has_thrown",
    "is_unforced",
    "keeps_cut",
    "keeps_log",
    "never_checks_where_log_ends",
    "power_is_lost",
    "queue_committed",
    "queue_logged",
    "reads_own_log",
    "reads_whole_log",
    "some_fill",
    "throws_for_hole",
    "walk_own_log",
]


# --- the files of the log ---------------------------------------------------------------------------


def ends_file(s: State, p: Node) -> None:
    """FileTxnLog.append begins a file, log.<its zxid>, where none is open: after a start, and after
    FileTxnSnapLog.truncateLog, which closes it. That a SyncRequestProcessor begins one after snapCount transactions is
    left out. Where a file would begin that nothing is appended to there is none."""
    count = len(s.log[p])
    for back in range(s.ELECTIONS + s.SNAPSHOTS + 3):
        k = s.ELECTIONS + s.SNAPSHOTS + 2 - back
        if k < len(s.files[p]) and s.files[p][k] >= count:
            s.files[p].pop(k)
    if count > 0:
        s.files[p].append(count)


def closes_file_at_end(s: State, p: Node) -> bool:
    """Whether a start would begin a file where the last one goes on."""
    count = len(s.log[p])
    return count > 0 and count not in s.files[p]


# --- LearnerHandler.syncFollower: the walk through the log on disk -----------------------------------


def reads_own_log(s: State, l: Node, p: int) -> bool:
    """ZKDatabase.getProposalsFromTxnLog: FileTxnIterator.init opens the last file named before p, or the oldest; its
    first record must not be later than p. Names ascend: of logs that do not, this is not the order."""
    return len(s.log[l]) > 0 and s.log[l][0] <= p and fits_in_limit(s, l, p)


def fits_in_limit(s: State, l: Node, p: int) -> bool:
    """ZKDatabase.calculateTxnLogSizeLimit: a third of the newest snapshot (snapshotSizeFactor 0.33).
    FileTxnIterator.getStorageSize adds up the files behind the one that it has opened, of 64 MB each (preAllocSize):
    with snapshots below 194 MB, one is too much. A file that was truncated is smaller, and counts here as any."""
    for k in s.files[l]:
        if k < len(s.log[l]) and s.log[l][k] >= p:
            return False
    return True


def fits_always(s: State, l: Node, p: int) -> bool:
    """Snapshots are so large that no log is too much (ZKDatabase.calculateTxnLogSizeLimit)."""
    return True


def checks_where_log_ends(s: State) -> bool:
    """LearnerHandler.syncFollower (3.6.0, ZOOKEEPER-2418): where what was queued of the log ends before committedLog
    begins, it is dropped, and SNAP sent."""
    return True


def never_checks_where_log_ends(s: State) -> bool:
    """LearnerHandler.syncFollower (3.5.0 to 3.5.10): committedLog is queued behind whatever came of the log."""
    return False


def walk_own_log(s: State, l: Node, f: Node, p: int) -> None:
    """LearnerHandler.syncFollower, LearnerHandler.queueCommittedProposals: its log up to where committedLog begins, and
    then that. That of the log's records none is missing is not looked at: a server that has had a SNAP has none of
    what came with it."""
    walks(s)
    count = len(s.committed_log[l])
    low = s.committed_log[l][0] if count > 0 else s.last_processed[l]
    high = s.committed_log[l][count - 1] if count > 0 else s.last_processed[l]
    previous = 0
    first = 0  # from p on
    last = p
    for zxid in s.log[l]:
        if zxid <= low:
            if zxid < p:
                previous = max(previous, zxid)
            elif first == 0:
                first = zxid
            last = max(last, zxid)
    unlike = counter_of(p) != 0 and first != 0 and first != p and epoch_of(first) != epoch_of(p)
    ends = p if unlike else last  # it gives up before it has queued anything
    if checks_where_log_ends(s) and ends < low:
        send_snapshot(s, l, f)
    elif (first == 0 and counter_of(p) != 0) or unlike:
        queue_committed(s, l, f, p, high)
    else:
        told = first == p or counter_of(p) == 0
        if told:
            send_to_follower(s, l, f, DIFF(zxid=high))
        else:
            send_to_follower(s, l, f, TRUNC(zxid=previous))
        queue_logged(s, l, f, p, p if told else previous)


def queue_logged(s: State, l: Node, f: Node, p: int, kept: int) -> None:
    """What the log has behind p up to committedLog, and what that has behind it, each with its COMMIT.

    Args:
        kept: what the learner has left of its own is up to there.
    """
    low = s.committed_log[l][0] if len(s.committed_log[l]) > 0 else s.last_processed[l]
    last = p
    sent = 0
    for zxid in s.log[l]:
        if zxid > last and zxid <= low:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
            last = zxid
            sent = sent | (1 << zxid)
    for zxid in s.committed_log[l]:
        if zxid > last:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
            last = zxid
            sent = sent | (1 << zxid)
    if ((s.tree[l] >> (kept + 1)) << (kept + 1)) | sent != sent:
        skips(s)
    start_forwarding(s, l, f, last)


def queue_committed(s: State, l: Node, f: Node, p: int, high: int) -> None:
    """3.5: nothing was queued of the log. LearnerHandler.queueCommittedProposals of committedLog, where no zxid comes
    before: TRUNC(-1), which cuts behind the first record as TRUNC(0) does here; of another epoch, SNAP."""
    if len(s.committed_log[l]) > 0 and epoch_of(s.committed_log[l][0]) == epoch_of(p):
        send_to_follower(s, l, f, TRUNC(zxid=0))
        queue_logged(s, l, f, p, 0)
    else:
        send_to_follower(s, l, f, SNAP(zxid=s.last_processed[l], tree=s.tree[l]))
        start_forwarding(s, l, f, p)


def reads_whole_log(s: State, l: Node, p: int) -> bool:
    """Proposed here: ZKDatabase.getProposalsFromTxnLog gives nothing where a later snapshot than p is named after no
    record of the log: what it holds came by SNAP, so that the log has a hole there. One of a former leader's <e,0> is
    taken for such a one, which costs a SNAP. Where that snapshot has been purged, the hole is not seen."""
    for name in s.snapshot_names[l]:
        if name > p and name not in s.log[l]:
            return False
    return reads_own_log(s, l, p)


# --- a hole in committedLog --------------------------------------------------------------------------


def throws_for_hole(s: State, p: Node, zxid: int) -> None:
    """ZKDatabase.addCommittedProposal (3.9.4): what is not the next of its epoch throws an IllegalStateException; of a
    later epoch it is the next."""
    count = len(s.committed_log[p])
    if count == 0:
        s.committed_log[p].append(zxid)
    elif zxid > s.committed_log[p][count - 1]:
        last = s.committed_log[p][count - 1]
        if zxid != last + 1 and epoch_of(zxid) <= epoch_of(last):
            s.hole[p] = True
        else:
            s.committed_log[p].append(zxid)


def has_thrown(s: State, p: Node) -> bool:
    return s.hole[p]


def exits_by_hole(s: State, p: Node) -> None:
    """ZooKeeperServer.shutdown catches an IOException of fastForwardDataBase, and nothing else: what
    ZKDatabase.addCommittedProposal throws passes through QuorumPeer.run, whose thread ends, and the process with it.
    When it is started again, QuorumPeer.loadDataBase replays the log, and it throws there, too: it refuses to start.
    Where the database was to be read for a TRUNC (ZKDatabase.truncateLog), QuorumPeer.getLastLoggedZxid reads it in
    each election, and never votes. Where the commit thread has met it, the term ends, and the log is looked at in the
    same way. Merged: that it is started again at once; one that is down is as one that looks for a leader and finds
    none."""
    if s.hole[p]:
        s.hole[p] = False
        leave_thread(s, p)
        end_file(s, p)
        restore(s, p)
        if starts_refused(s, p) or s.hole[p]:
            s.refused[p] = True
            s.hole[p] = False


# --- a disk that is full -----------------------------------------------------------------------------


def some_fill(s: State) -> bool:
    return True


def accepted_in_memory(s: State, f: Node, epoch: int) -> None:
    """QuorumPeer.setAcceptedEpoch (before 3.5.8; 3.6.0 to 3.6.2): memory first, then the file, which fails: asked for
    the same epoch again, it acknowledges what is on no disk (ZOOKEEPER-2307)."""
    s.promised[f] = epoch


def file_before_memory(s: State, f: Node, epoch: int) -> None:
    """QuorumPeer.setAcceptedEpoch (3.5.8, 3.6.3): a failure leaves the old epoch."""


def goes_on_closed(s: State, f: Node) -> None:
    """FileTxnSnapLog.truncateLog (before 3.5.7): both objects are closed, FileTxnLog.truncate throws, and neither is
    opened again; the term ends, the database is read from the disk, and from now on FileSnap.serialize saves nothing,
    and says nothing (ZOOKEEPER-3701). Left out: that a log with an open file takes no more, either."""
    s.closed[f] = True
    shut_down(s, f)
    restore(s, f)


# --- loss of power -----------------------------------------------------------------------------------


def is_unforced(s: State, p: Node, name: int) -> None:
    """FileTxnSnapLog.save: only a SNAP's snapshot is forced (3.5.10, 3.6.0: ZOOKEEPER-2872). Not that of a TRUNC, nor
    that of ZooKeeperServer.loadData, or of SyncRequestProcessor."""
    bit = 1 << name
    s.unforced[p] = s.unforced[p] & (0 - 1 - bit)
    if not forces_snapshot(s, p) and name in s.snapshot_names[p]:
        s.unforced[p] = s.unforced[p] | bit


def forces_snapshot(s: State, p: Node) -> bool:
    """Learner.syncWithLeader: syncSnapshot (3.5.10, 3.6.0)."""
    return s.role[p] == FOLLOWING and s.sync_mode[p] == SNAPS


def forces_none(s: State, p: Node) -> bool:
    """Learner.syncWithLeader (before 3.5.10; 3.4): no snapshot is forced."""
    return False


def forces_after_sync(s: State, p: Node) -> bool:
    """Proposed here: Learner.syncWithLeader forces the snapshot of a TRUNC, too."""
    return s.role[p] == FOLLOWING and s.sync_mode[p] != NONE


def keeps_log(s: State, p: Node) -> None:
    """FileTxnLog.truncate: RandomAccessFile.setLength and File.delete, of which nothing is forced. Of two such cuts
    the earlier one is taken to be written back."""
    s.uncut[p].clear()
    for zxid in s.log[p]:
        s.uncut[p].append(zxid)


def keeps_cut(s: State, p: Node) -> None:
    """What is cut: behind what is left."""
    for zxid in s.log[p]:
        if len(s.uncut[p]) > 0 and s.uncut[p][0] == zxid:
            s.uncut[p].pop(0)
    s.uncut_at[p] = len(s.log[p]) if len(s.uncut[p]) > 0 else 0


def forgets_cut(s: State, p: Node) -> None:
    """Proposed here: FileTxnLog.truncate forces the file, and its folder."""
    s.uncut[p].clear()


def power_is_lost(s: State, p: Node) -> None:
    """What is not forced is gone: snapshots, of which FileSnap.deserialize takes the newest that is whole, and the cut
    of a log, whose tail is there again, before what was logged since, in a file of its own."""
    for back in range(s.ELECTIONS + s.SNAPSHOTS + 3):
        k = s.ELECTIONS + s.SNAPSHOTS + 2 - back
        if k < len(s.snapshot_names[p]) and (s.unforced[p] >> s.snapshot_names[p][k]) & 1 == 1:
            s.snapshot_names[p].pop(k)
            s.snapshot_trees[p].pop(k)
    if len(s.uncut[p]) > 0:
        count = 0
        for zxid in s.log[p]:
            count = count + 1
            if count > s.uncut_at[p]:
                s.uncut[p].append(zxid)
        move_files(s, p, s.uncut_at[p], len(s.uncut[p]) - (len(s.log[p]) - s.uncut_at[p]))
        drop_behind(s, p, s.uncut_at[p])
        for zxid in s.uncut[p]:
            s.log[p].append(zxid)
    s.unforced[p] = 0
    s.uncut[p].clear()
    s.uncut_at[p] = 0


PRODUCTION = (
    Variant(
        "walk",
        "a leader reads its log for a learner, as by default, with snapshots below 194 MB",
        {
            "walks_log": reads_own_log,
            "walk_log": walk_own_log,
            "end_file": ends_file,
            "ends_a_file": closes_file_at_end,
        },
    ),
    Variant(
        "walk-large",
        "the same, with snapshots so large that no log is too much",
        {
            "walks_log": reads_own_log,
            "walk_log": walk_own_log,
            "fits_in_limit": fits_always,
        },
    ),
    Variant(
        "before-2418",
        "of either: 3.5.0 to 3.5.10, which do not look whether the log reaches committedLog",
        {"checks_where_log_ends": never_checks_where_log_ends},
        needs=("walk", "walk-large"),
    ),
    Variant(
        "power",
        "a crash is a loss of power: what is not forced is gone",
        {
            "leave_unforced": is_unforced,
            "remember_log": keeps_log,
            "remember_cut": keeps_cut,
            "lose_unforced": power_is_lost,
        },
    ),
    Variant(
        "before-2872",
        "with power: before 3.5.10, the snapshot of a SNAP is not forced",
        {"forces_snapshot": forces_none},
        needs=("power",),
    ),
    Variant("full-disk", "disks fill: acceptedEpoch is not written, a log not truncated", {"disks_fill": some_fill}),
    Variant(
        "before-2307",
        "with full-disk: before 3.5.8, 3.6.0 to 3.6.2, an epoch is set in memory, then written",
        {"fail_to_accept": accepted_in_memory},
        needs=("full-disk",),
    ),
    Variant(
        "before-3701",
        "with full-disk: before 3.5.7, a log that is not truncated leaves snapshots that are not saved",
        {"fail_to_truncate": goes_on_closed},
        needs=("full-disk",),
    ),
    Variant(
        "hole",
        "3.9.4 and later: a hole inside an epoch throws, also while a log is replayed",
        {"add_committed": throws_for_hole, "meets_hole": has_thrown, "ends_by_hole": exits_by_hole},
        over=("4925",),
    ),
)

PRODUCTION_REPAIRS = (
    Variant(
        "2418",
        "a log that ends before committedLog begins is not sent",
        {"checks_where_log_ends": checks_where_log_ends},
        over=("before-2418",),
        repairs=True,
        needs=("walk", "walk-large"),
    ),
    Variant(
        "2872",
        "the snapshot of a SNAP is forced",
        {"forces_snapshot": forces_snapshot},
        over=("before-2872",),
        repairs=True,
        needs=("power",),
    ),
    Variant(
        "trunc-forced",
        "what a TRUNC has cut is forced, and the snapshot behind it",
        {"remember_cut": forgets_cut, "forces_snapshot": forces_after_sync},
        over=("power", "before-2872", "2872"),
        repairs=True,
        needs=("power",),
    ),
    Variant(
        "2307",
        "an epoch is written, then set in memory",
        {"fail_to_accept": file_before_memory},
        over=("before-2307",),
        repairs=True,
        needs=("full-disk",),
    ),
    Variant(
        "3701",
        "a server that cannot truncate its log exits",
        {"fail_to_truncate": fail_to_truncate},
        over=("before-3701",),
        repairs=True,
        needs=("full-disk",),
    ),
    Variant(
        "walk-whole",
        "a log with a hole that a snapshot bridges is not sent",
        {"walks_log": reads_whole_log},
        over=("walk", "walk-large"),
        repairs=True,
        needs=("walk", "walk-large"),
    ),
)
