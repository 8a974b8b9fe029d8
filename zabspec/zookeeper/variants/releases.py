"""Releases and repairs as differences to 3.9.5 (= 3.9.4 = master of July 2026): each function stands in for the one
of its
name there. What they rest on is read at the tags, in the class and method that each names."""

from __future__ import annotations

from types import FunctionType

from zabspec.authoring.declaration import Variant
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.learner import end_sync, is_gap, log_request, looks_at_proposal, persist_received
from zabspec.zookeeper.variants.release_34 import cuts_what_is_there, looks_where_applied, sync_from_committed_log
from zabspec.zookeeper.shutdown import drain
from zabspec.zookeeper.state import (
    State,
    DIFF,
    SNAPS,
    TO_ACK,
    TO_PERSIST,
    TO_WRITE_EPOCH,
    TRUNC,
    TRUNCS,
    WIDTH,
    epoch_of,
)
from zabspec.zookeeper.storage import (
    add_committed,
    append_to_log,
    apply_to_tree,
    apply_txn,
    close_file,
    drop_behind,
    fast_forward,
    load_newest,
    restore,
)
from zabspec.zookeeper.sync import start_forwarding, sync_follower

# --- Learner.syncWithLeader: what is done with what came before NEWLEADER ---------------------------


def applied_beside_committed_log(s: State, f: Node, zxid: int) -> None:
    """3.9.3 and earlier: ZooKeeperServer.processTxn(hdr, txn), which does not feed committedLog (ZOOKEEPER-4925)."""
    apply_to_tree(s, f, zxid)


def never_a_gap(s: State, f: Node, zxid: int) -> bool:
    """3.9.3 and earlier: no check of continuity."""
    return False


def always_added(s: State, p: Node, zxid: int) -> None:
    """3.9.3 and earlier, ZKDatabase.addCommittedProposal: whatever it is."""
    s.committed_log[p].append(zxid)


def append_all(s: State, f: Node) -> None:
    """3.9.2, 3.8.5, 3.8.6 (ZOOKEEPER-4785): every transaction received, committed or not, is appended by the main
    thread,
    forced, and the list cleared; acknowledged after UPTODATE; applied by the commit thread later."""
    for zxid in s.not_logged[f]:
        append_to_log(s, f, zxid)
        s.pending[f].append(zxid)
        s.appended[f].append(zxid)
    s.not_logged[f].clear()


def queue_all(s: State, f: Node) -> None:
    """3.5.10, 3.6.3 to 3.9.1 (ZOOKEEPER-3911): every one is handed to the sync thread (logRequest), and the list
    cleared."""
    for zxid in s.not_logged[f]:
        log_request(s, f, zxid)
    s.not_logged[f].clear()


def keep_all(s: State, f: Node) -> None:
    """3.4.10 to 3.5.9, 3.6.0 to 3.6.2: they stay in the list until UPTODATE."""


def epoch_after_snapshot(s: State) -> int:
    """Before 3.9.2 and 3.8.5: setCurrentEpoch comes before the log (ZOOKEEPER-4643)."""
    return TO_WRITE_EPOCH


def log_after_epoch(s: State) -> int:
    return TO_PERSIST


def ack_after_log(s: State) -> int:
    return TO_ACK


def log_after_snapshot(s: State) -> int:
    """ZOOKEEPER-4785 (3.9.2, 3.8.5): the log is forced, then setCurrentEpoch."""
    return TO_PERSIST


def epoch_after_log(s: State) -> int:
    return TO_WRITE_EPOCH


def ack_after_epoch(s: State) -> int:
    return TO_ACK


def moves_to_diff(s: State, f: Node, zxid: int) -> None:
    """3.4.10, 3.5.3: ZKDatabase.setlastProcessedZxid for DIFF as for TRUNC and SNAP."""
    s.last_processed[f] = zxid


def stays_at_diff(s: State, f: Node, zxid: int) -> None:
    """3.4.11, 3.5.4, 3.6.0 (ZOOKEEPER-2355): for TRUNC and SNAP only."""


def stays_until_uptodate(s: State, f: Node) -> None:
    """Learner.syncWithLeader (3.5.10): setSyncMode(NONE) comes after UPTODATE. ZOOKEEPER-3911 moved it to NEWLEADER
    (3.6.3, 3.7.0); its backport to 3.5 (24e1d2beb, ZOOKEEPER-4262) did not. So a SNAP counts as interrupted, and clears
    the database, until the server serves."""


# --- the end of a term ------------------------------------------------------------------------------


def sync_thread_survives(s: State, p: Node) -> None:
    """3.5.10, 3.6.3 to 3.9.2: Learner.shutdown calls ZooKeeperServer.shutdown(boolean), which learners do not override:
    fastForwardDataBase, and the sync thread lives on with its queue (ZOOKEEPER-4712)."""
    fast_forward(s, p)
    outlive(s, p)


def outlive(s: State, p: Node) -> None:
    """Each term's thread has a queue of its own: <0,0> stands between two of them."""
    if len(s.stale_queue[p]) > 0 and len(s.sync_queue[p]) > 0:
        s.stale_queue[p].append(0)
    for zxid in s.sync_queue[p]:
        s.stale_queue[p].append(zxid)
    s.sync_queue[p].clear()


def forward_then_drain(s: State, p: Node) -> None:
    """3.4.12 to 3.4.14, 3.5.4 to 3.5.9, 3.6.0 to 3.6.2: fastForwardDataBase, then the sync thread is drained."""
    fast_forward(s, p)
    drain(s, p)


def drain_only(s: State, p: Node) -> None:
    """3.4.10, 3.4.11, 3.5.3: the sync thread is drained, and the tree stays as it is (ZOOKEEPER-2845)."""
    drain(s, p)


def drain_then_forward(s: State, p: Node) -> None:
    """FollowerZooKeeperServer.shutdownComponents (3.9.3)."""
    drain(s, p)
    fast_forward(s, p)


def kept_when_interrupted(s: State, p: Node) -> None:
    """Before 3.5.10, 3.6.3, 3.7.0: the database stays, also with half a SNAP (ZOOKEEPER-3642)."""


def cleared_when_interrupted(s: State, p: Node) -> None:
    """Learner.shutdown: syncMode is SNAP, and zk.shutdown(true) clears the database."""
    restore(s, p)


def half_made_by_trunc_too(s: State, p: Node) -> bool:
    """Pull request of ZOOKEEPER-5094 (#2459): an interrupted TRUNC clears the database as an interrupted SNAP does,
    since what was committed behind it is in the tree and on no disk."""
    return s.sync_mode[p] == SNAPS or s.sync_mode[p] == TRUNCS


def forward_or_reload(s: State, p: Node) -> None:
    """Pull request of ZOOKEEPER-4882 (8a868da8e): where the log ends before lastProcessedZxid, fastForwardDataBase
    fails, and the
    database is cleared and read from the disk. <e,0>, which no log has, is not behind."""
    drain(s, p)
    if is_ahead_of_log(s, p):
        restore(s, p)
    else:
        fast_forward(s, p)


def is_ahead_of_log(s: State, p: Node) -> bool:
    last = 0
    for zxid in s.log[p]:
        last = max(last, zxid)
    for zxid in s.committed_log[p]:
        if zxid > last and zxid == s.last_processed[p]:
            return True
    return False


def is_so(s: State) -> bool:
    return True


def is_not_so(s: State) -> bool:
    return False


# --- what a leader sends ----------------------------------------------------------------------------


def keeps_what_it_acknowledged(s: State, l: Node, f: Node, high: int) -> None:
    """Proposed here, for what TRUNC takes back of the running epoch: what is in toBeApplied is committed, and is not
    cut;
    where something outstanding is cut, the acknowledgements that the learner has given are no more."""
    p = s.peer_last[l][f]
    cut = high
    for zxid in s.to_be_applied[l]:
        if zxid <= p and (p in s.to_be_applied[l] or p in s.outstanding[l]):
            cut = max(cut, zxid)
    for k in range(WIDTH):
        s.acks[l][k].discard(f)
    if cut == p:
        send_to_follower(s, l, f, DIFF(zxid=p))
    else:
        send_to_follower(s, l, f, TRUNC(zxid=cut))
    start_forwarding(s, l, f, cut)


def truncates_what_it_knows(s: State, l: Node, p: int) -> bool:
    """Proposed here: TRUNC where there is a committedLog, or for what was proposed in this very epoch, which a learner
    has in its log. Otherwise what is to be cut may be in a snapshot alone, and SNAP takes its place."""
    return len(s.committed_log[l]) > 0 or epoch_of(p) == s.term[l]


def truncates_in_running_epoch(s: State, l: Node, p: int) -> bool:
    """Proposed here: TRUNC only for what was proposed in this very epoch, which a learner has in its log. What is to be
    cut of an earlier one may be in a snapshot of the learner alone, whatever the leader's committedLog has, and SNAP
    takes its place."""
    return epoch_of(p) == s.term[l]


# --- snapshots and truncation -----------------------------------------------------------------------


def no_snapshot_before_discovery(s: State, l: Node) -> None:
    """ZOOKEEPER-1558: ZooKeeperServer.loadData (3.4.6 to 3.4.14) takes no snapshot."""


def reload_up_to_cut(s: State, p: Node, zxid: int, stood: int) -> None:
    """Pull request of ZOOKEEPER-4837 (432578d3f): FileSnap.deserialize passes over snapshots that are named later than
    the cut."""
    load_newest(s, p, zxid)


def reload_what_was_not_cut(s: State, p: Node, zxid: int, stood: int) -> None:
    """Proposed here in the place of that pull request, which passes over a snapshot that is named later than the cut
    and holds nothing of what is cut (of a SNAP, <e,0>): FileSnap.deserialize passes over those alone that may hold the
    first record behind the cut, of which FileTxnLog.truncate says the zxid. Where the log holds the cut itself, what is
    later than that is passed over, as there."""
    load_newest(s, p, max(zxid, stood - 1))


def cut_before_the_first_behind(s: State, p: Node, zxid: int) -> bool:
    """Proposed here: FileTxnLog.truncate cuts behind the last record that is not later than z, not behind the first
    that is not earlier."""
    kept = 0
    found = False
    for k in range(len(s.log[p])):
        if not found and s.log[p][k] <= zxid:
            kept = k + 1
        found = found or s.log[p][k] >= zxid
    if found:
        drop_behind(s, p, kept)
    return found


def drop_tail(s: State, f: Node) -> None:
    """Proposed here: once the snapshot of a SNAP is on the disk, and before currentEpoch is written, the log is cut
    behind it and later snapshots are deleted, in this order. One step: a crash inside keeps a shorter history of the
    server's own, with its earlier epoch, and what it lacks the leader lacks, too."""
    if s.sync_mode[f] == SNAPS:
        kept = 0
        behind = False
        for k in range(len(s.log[f])):
            behind = behind or s.log[f][k] > s.last_processed[f]
            if not behind:
                kept = k + 1
        drop_behind(s, f, kept)
        close_file(s, f)
        drop_later_snapshots(s, f)


def drop_later_snapshots(s: State, f: Node) -> None:
    """Those that are named later than lastProcessedZxid."""
    for back in range(s.ELECTIONS + s.SNAPSHOTS + 3):
        k = s.ELECTIONS + s.SNAPSHOTS + 2 - back
        if k < len(s.snapshot_names[f]) and s.snapshot_names[f][k] > s.last_processed[f]:
            s.snapshot_names[f].pop(k)
            s.snapshot_trees[f].pop(k)


def epoch_of_snapshot_counts(s: State, p: Node) -> bool:
    """QuorumPeer.loadDataBase (3.4.6 to 3.4.14, ZOOKEEPER-1653), and the same for ZOOKEEPER-2354: where the snapshot
    is of a later epoch that was accepted, currentEpoch becomes that. On 3.4 where the file updatingEpoch is there,
    which Learner.syncWithLeader makes before the snapshot of NEWLEADER, and deletes behind currentEpoch: since an
    epoch's log comes after it, and a leader takes no snapshot, there is no later snapshot without that file."""
    e = epoch_of(s.last_processed[p])
    if e > s.current_epoch[p] and e <= s.accepted_epoch[p]:
        s.current_epoch[p] = e
    return e > s.current_epoch[p] or s.accepted_epoch[p] < s.current_epoch[p]


# --- 3.4 before its release --------------------------------------------------------------------------


def proposed_and_not_stored(s: State, l: Node) -> None:
    """3.4 before its release: the leader proposes an epoch that it has not stored (ZOOKEEPER-1291)."""


def stored_before_proposed(s: State, l: Node) -> None:
    """Leader.getEpochToPropose (3.4.0, 41ec40fb9)."""
    s.accepted_epoch[l] = s.term[l]


def acknowledged_before_epoch(s: State) -> int:
    """3.4 before its release: NEWLEADER is acknowledged, and currentEpoch written at UPTODATE (ZOOKEEPER-1282)."""
    return TO_ACK


def written_at_uptodate(s: State, f: Node) -> None:
    s.current_epoch[f] = s.term[f]


def written_already(s: State, f: Node) -> None:
    """Learner.syncWithLeader (3.4.0, 41ec40fb9): setCurrentEpoch at NEWLEADER."""


Differences = dict[str, FunctionType]

V393: Differences = {
    "apply_in_sync": applied_beside_committed_log,
    "is_gap": never_a_gap,
    "add_committed": always_added,
}
V392 = V393 | {"persist_received": append_all, "end_running": sync_thread_survives}
OLD_ORDER: Differences = {
    "after_snapshot": epoch_after_snapshot,
    "after_epoch": log_after_epoch,
    "after_persist": ack_after_log,
}
V391 = V392 | {"persist_received": queue_all} | OLD_ORDER
V3510 = V391 | {"end_sync": stays_until_uptodate}
V360 = V391 | {
    "persist_received": keep_all,
    "clear_interrupted": kept_when_interrupted,
    "clears_interrupted": is_not_so,
    "end_running": forward_then_drain,
}
V353 = V360 | {
    "end_running": drain_only,
    "end_leader": drain_only,
    "take_diff_zxid": moves_to_diff,
    "leaves_at_diff": is_not_so,
}
V3414 = V360 | {
    "sync_follower": sync_from_committed_log,
    "removes_apart": is_so,
    "commits_in_order": is_not_so,
    "looks_at_proposal": looks_where_applied,
    "load_data": no_snapshot_before_discovery,
    "leaves_no_trace": is_so,
    "starts_refused": epoch_of_snapshot_counts,
}
V3410 = V3414 | {
    "end_running": drain_only,
    "end_leader": drain_only,
    "take_diff_zxid": moves_to_diff,
    "leaves_at_diff": is_not_so,
}

RELEASES = (
    Variant("3.9.3", "3.9.3", V393),
    Variant("3.9.2", "3.9.2, 3.8.5, 3.8.6", V392),
    Variant("3.9.1", "3.6.3 to 3.6.4, 3.7.1, 3.7.2, 3.8.0 to 3.8.4, 3.9.0, 3.9.1", V391),
    Variant("3.6.0", "3.6.0 to 3.6.2, 3.5.4 to 3.5.9", V360),
    Variant("3.5.10", "3.5.10", V3510),
    Variant("3.5.3", "3.5.3", V353),
    Variant("3.4.14", "3.4.12 to 3.4.14", V3414),
    Variant("3.4.10", "3.4.10", V3410),
    Variant(
        "before-1291", "3.9.5 with the fix of ZOOKEEPER-1291 in 3.4.0", {"store_proposed": proposed_and_not_stored}
    ),
    Variant(
        "before-1282",
        "3.9.5 with the fix of ZOOKEEPER-1282 in 3.4.0",
        {"after_persist": acknowledged_before_epoch, "epoch_at_uptodate": written_at_uptodate},
    ),
)
NAMES = tuple(r.name for r in RELEASES)


def repair(name: str, summary: str, overrides: Differences, over: tuple[str, ...] = ()) -> Variant:
    return Variant(name, summary, overrides, over=(*NAMES, *over), repairs=True)


NEW_ORDER: Differences = {
    "after_snapshot": log_after_snapshot,
    "after_epoch": ack_after_epoch,
    "after_persist": epoch_after_log,
}

DISK: Differences = {"end_running": forward_or_reload, "end_leader": forward_or_reload}

REPAIRS = (
    repair(
        "3911",
        "what came before NEWLEADER goes to the sync thread before the ACK",
        {"persist_received": queue_all, "end_sync": end_sync},
    ),
    repair(
        "4646",
        "what came before NEWLEADER is appended and forced before the ACK (also 4685)",
        {"persist_received": append_all, "end_sync": end_sync},
        ("3911",),
    ),
    repair("4643", "currentEpoch is written after the log", NEW_ORDER),
    repair(
        "4394",
        "what is committed is appended, forced and applied before the ACK, the rest kept (also 3023, 4541)",
        {"persist_received": persist_received, "end_sync": end_sync},
        ("3911", "4646"),
    ),
    repair(
        "4925",
        "what is applied in the sync phase enters committedLog, and gaps are refused",
        {"apply_in_sync": apply_txn, "is_gap": is_gap, "add_committed": add_committed},
    ),
    repair(
        "4712",
        "the sync thread is drained, then the tree is brought up to the log",
        {"end_running": drain_then_forward},
        ("2845",),
    ),
    repair(
        "2845",
        "the tree is brought up to the log",
        {"end_running": forward_then_drain, "end_leader": drain_then_forward},
    ),
    repair(
        "3642",
        "an interrupted SNAP clears the database",
        {"clear_interrupted": cleared_when_interrupted, "clears_interrupted": is_so},
    ),
    repair("2355", "DIFF leaves lastProcessedZxid", {"take_diff_zxid": stays_at_diff, "leaves_at_diff": is_so}),
    repair("4882", "a tree that is ahead of its log is read again", DISK, ("4712", "2845")),
    repair("1291", "an epoch is stored before it is proposed", {"store_proposed": stored_before_proposed}),
    repair(
        "1282",
        "currentEpoch is written before NEWLEADER is acknowledged",
        {"after_persist": epoch_after_log, "epoch_at_uptodate": written_already},
        ("4643",),
    ),
    repair("4837", "after TRUNC only snapshots up to the cut are read", {"reload_after_cut": reload_up_to_cut}),
    repair(
        "4837-here",
        "after TRUNC only snapshots before what was cut are read",
        {"reload_after_cut": reload_what_was_not_cut},
    ),
    repair(
        "1558",
        "a leader takes no snapshot before discovery",
        {"load_data": no_snapshot_before_discovery, "leaves_no_trace": is_so},
    ),
    repair("trunc", "what is acknowledged in the running epoch is not cut", {"send_ahead": keeps_what_it_acknowledged}),
    repair(
        "cut",
        "a log that does not hold the cut is cut before what is behind it",
        {"cut_log": cut_before_the_first_behind},
    ),
    repair(
        "snap-tail",
        "a SNAP cuts what the log has behind it",
        {"leave_tail": drop_tail},
    ),
    repair(
        "trunc-snap",
        "a leader without a committedLog sends SNAP to who is ahead of it",
        {"truncates_ahead": truncates_what_it_knows},
    ),
    repair(
        "trunc-epoch",
        "a leader sends SNAP to who is ahead of it by proposals of an earlier epoch (also trunc-snap)",
        {"truncates_ahead": truncates_in_running_epoch},
        ("trunc-snap",),
    ),
    repair("5094", "an interrupted TRUNC clears the database", {"is_half_made": half_made_by_trunc_too}),
    repair("2354", "currentEpoch follows an accepted snapshot", {"starts_refused": epoch_of_snapshot_counts}),
    repair(
        "2832", "a learner that is ahead is truncated also without a committedLog", {"cuts_ahead": cuts_what_is_there}
    ),
    repair("forward", "what is forwarded begins behind what was sent", {"forwards_from_learner": is_not_so}),
    repair(
        "1413",
        "a learner is synchronized as from 3.5.0 on (also 2832, forward)",
        {"sync_follower": sync_follower, "removes_apart": is_not_so},
        ("2832", "forward"),
    ),
    repair(
        "107",
        "a transaction is committed after the one before",
        {"commits_in_order": is_so, "looks_at_proposal": looks_at_proposal},
    ),
)
