"""3.9.5 broken on purpose, as differences: what the properties, and the steps that the text is cut into, have to show.
Each is one change of one rule (two writes swapped, a check dropped, a list not cleared), over all known repairs."""

from __future__ import annotations

from types import FunctionType

from zabspec.authoring.declaration import Variant
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower, send_to_leader
from zabspec.zookeeper.broadcast import leader_commits, process_ack
from zabspec.zookeeper.leader import open_to, open_to_settled
from zabspec.zookeeper.learner import after_snapshot, apply_in_sync, begin_handler
from zabspec.zookeeper.observed import exposes, founds, proposes
from zabspec.zookeeper.variants.releases import (
    NAMES,
    OLD_ORDER,
    REPAIRS,
    acknowledged_before_epoch,
    never_a_gap,
    written_at_uptodate,
)
from zabspec.zookeeper.state import (
    State,
    ACK,
    ACKEPOCH,
    DIFF,
    EPOCH_ACKED,
    LEADERINFO,
    LEADING,
    PROPOSAL,
    SERVING,
    SNAP,
    SNAPS,
    SYNCING,
    first_of,
)
from zabspec.zookeeper.storage import (
    append_to_log,
    apply_to_tree,
    apply_txn,
    fast_forward,
    log_in_thread,
    newest_snapshot,
    saved_tree,
)
from zabspec.zookeeper.sync import (
    forward_outstanding,
    forward_to_be_applied,
    send_committed,
    start_forwarding,
)

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "MUTANTS",
    "accepted_in_memory",
    "acknowledged_before_logged",
    "ahead_gets_diff",
    "applied_when_proposed",
    "applied_without_a_record",
    "commits_alone",
    "diverged_gets_diff",
    "forwards_after_newleader",
    "forwards_what_is_committed",
    "forwards_what_is_outstanding",
    "goes_on_counting",
    "keeps_its_log",
    "load_keeps_committed_log",
    "mutant",
    "no_snapshot_at_newleader",
    "not_forwarded",
    "not_in_the_leaders_log",
    "only_the_tree",
    "proposed_without_a_write",
    "received_kept_after_uptodate",
    "recorded_and_not_applied",
    "serves_alone",
    "snap_keeps_committed_log",
    "uncommitted_too",
    "uptodate_at_once",
]

# --- two writes swapped ---------------------------------------------------------------------------


def acknowledged_before_logged(s: State, p: Node) -> None:
    """SyncRequestProcessor: the acknowledgement goes out, and the append is a step after it."""
    zxid = s.sync_queue[p][0]
    if len(s.appended[p]) == 0:
        s.appended[p].append(zxid)
        if s.role[p] == LEADING:
            process_ack(s, p, p, zxid)
        else:
            send_to_leader(s, p, ACK(zxid=zxid))
    else:
        s.appended[p].clear()
        s.sync_queue[p].pop(0)
        log_in_thread(s, p, zxid)


def applied_when_proposed(s: State, l: Node) -> None:
    """ProposalRequestProcessor: handed to FinalRequestProcessor before a quorum has it."""
    zxid = s.last_proposed[l] + 1
    proposes(s, zxid, s.term[l])
    s.last_proposed[l] = zxid
    s.outstanding[l].append(zxid)
    apply_txn(s, l, zxid)
    exposes(s, s.term[l], s.tree[l])
    for f in range(s.NODES):
        if f in s.forwarding[l]:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
    s.sync_queue[l].append(zxid)


# --- a write dropped ------------------------------------------------------------------------------


def accepted_in_memory(s: State, f: Node, m: LEADERINFO) -> None:
    """Learner.registerWithLeader: ACKEPOCH without acceptedEpoch on the disk."""
    s.term[f] = m.epoch
    s.phase[f] = EPOCH_ACKED
    if m.epoch > s.accepted_epoch[f]:
        send_to_leader(s, f, ACKEPOCH(current=s.current_epoch[f], zxid=s.last_processed[f]))
    else:
        send_to_leader(s, f, ACKEPOCH(current=-1, zxid=s.last_processed[f]))
    begin_handler(s, f)


def proposed_without_a_write(s: State, l: Node) -> None:
    """Leader.getEpochToPropose: the leader's own acceptedEpoch stays."""


def applied_without_a_record(s: State, f: Node) -> None:
    """Learner.syncWithLeader: what is committed at NEWLEADER is applied, and not appended."""
    for zxid in s.committed[f]:
        if len(s.not_logged[f]) > 0 and s.not_logged[f][0] == zxid:
            s.not_logged[f].pop(0)
            apply_in_sync(s, f, zxid)
    s.committed[f].clear()


def recorded_and_not_applied(s: State, f: Node) -> None:
    """Learner.syncWithLeader: what is committed at NEWLEADER is appended, and not applied."""
    for zxid in s.committed[f]:
        if len(s.not_logged[f]) > 0 and s.not_logged[f][0] == zxid:
            s.not_logged[f].pop(0)
            append_to_log(s, f, zxid)
    s.committed[f].clear()


def not_in_the_leaders_log(s: State, l: Node) -> None:
    """ProposalRequestProcessor: the leader's own SyncRequestProcessor is left out; the followers are a quorum."""
    zxid = s.last_proposed[l] + 1
    proposes(s, zxid, s.term[l])
    s.last_proposed[l] = zxid
    s.outstanding[l].append(zxid)
    for f in range(s.NODES):
        if f in s.forwarding[l]:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))


def no_snapshot_at_newleader(s: State, f: Node) -> None:
    """Learner.syncWithLeader: takeSnapshot is left out, also where the tree came by SNAP."""
    s.phase[f] = after_snapshot(s)


def only_the_tree(s: State, p: Node, zxid: int) -> None:
    """ZooKeeperServer.processTxn without addCommittedProposal, in the sync phase (as before 3.9.4)."""
    apply_to_tree(s, p, zxid)


# --- a check dropped ------------------------------------------------------------------------------


def commits_alone(s: State, l: Node, zxid: int) -> None:
    """Leader.tryToCommit without hasAllQuorums."""
    if (zxid - 1) not in s.outstanding[l]:
        leader_commits(s, l, zxid)


def serves_alone(s: State, l: Node) -> bool:
    """Leader.waitForNewLeaderAck without its quorum."""
    return len(s.new_leader_acks[l]) > 0


def uptodate_at_once(s: State, l: Node, f: Node, m: ACK) -> None:
    """LearnerHandler.run without waiting for the server to run: UPTODATE as soon as NEWLEADER is acknowledged."""
    if f in s.unsettled[l]:
        s.unsettled[l].discard(f)
        s.new_leader_acks[l].add(f)
        open_to(s, l, f)
    elif f in s.looping[l]:
        process_ack(s, l, f, m.zxid)


def uncommitted_too(s: State, f: Node) -> None:
    """Learner.syncWithLeader applies every proposal received before NEWLEADER, committed or not."""
    for zxid in s.not_logged[f]:
        append_to_log(s, f, zxid)
        apply_in_sync(s, f, zxid)
    s.not_logged[f].clear()
    s.committed[f].clear()


# --- DIFF, TRUNC, SNAP ----------------------------------------------------------------------------


def ahead_gets_diff(s: State, l: Node, f: Node, high: int) -> None:
    """LearnerHandler.syncFollower: peerLastZxid > maxCommittedLog is a DIFF."""
    send_to_follower(s, l, f, DIFF(zxid=high))
    start_forwarding(s, l, f, s.peer_last[l][f])


def diverged_gets_diff(s: State, l: Node, f: Node, p: int) -> None:
    """LearnerHandler.queueCommittedProposals without the test that peerLastZxid is in committedLog (ZOOKEEPER-1154)."""
    count = len(s.committed_log[l])
    send_to_follower(s, l, f, DIFF(zxid=s.committed_log[l][count - 1]))
    send_committed(s, l, f, p)


def forwards_what_is_outstanding(s: State, l: Node, f: Node, base: int) -> None:
    """Leader.startForwarding without toBeApplied."""
    if s.last_proposed[l] > base:
        forward_outstanding(s, l, f, base)
    s.forwarding[l].add(f)


def forwards_what_is_committed(s: State, l: Node, f: Node, base: int) -> None:
    """Leader.startForwarding without outstandingProposals."""
    if s.last_proposed[l] > base:
        forward_to_be_applied(s, l, f, base)
    s.forwarding[l].add(f)


def forwards_after_newleader(s: State, l: Node, f: Node, p: int) -> None:
    """LearnerHandler.queueCommittedProposals: what the learner lacks is sent without COMMIT."""
    count = len(s.committed_log[l])
    send_to_follower(s, l, f, DIFF(zxid=s.committed_log[l][count - 1]))
    last = p
    for zxid in s.committed_log[l]:
        if zxid > p:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            last = zxid
    start_forwarding(s, l, f, last)


def keeps_its_log(s: State, p: Node, zxid: int) -> bool:
    """FileTxnLog.truncate without setLength."""
    found = False
    for k in range(len(s.log[p])):
        if s.log[p][k] >= zxid:
            found = True
    return found


# --- a list not cleared, a number not set ---------------------------------------------------------


def snap_keeps_committed_log(s: State, f: Node, m: SNAP) -> None:
    """ZKDatabase.deserializeSnapshot without clear()."""
    s.sync_mode[f] = SNAPS
    s.phase[f] = SYNCING
    s.tree[f] = m.tree
    s.last_processed[f] = m.zxid


def load_keeps_committed_log(s: State, p: Node, limit: int) -> None:
    """ZKDatabase.truncateLog without clear(): what is replayed is added to the committedLog there was."""
    newest = newest_snapshot(s, p, limit)
    s.tree[p] = saved_tree(s, p, newest)
    s.last_processed[p] = newest
    fast_forward(s, p)


def received_kept_after_uptodate(s: State, f: Node) -> None:
    """Learner.syncWithLeader: packetsNotLogged is not emptied as its head is logged."""
    for zxid in s.committed[f]:
        if zxid in s.not_logged[f]:
            append_to_log(s, f, zxid)
            apply_in_sync(s, f, zxid)
    s.committed[f].clear()


def goes_on_counting(s: State, l: Node) -> None:
    """Leader.startZkServer without ZooKeeperServer.setZxid: the counter goes on from the last transaction."""
    s.phase[l] = SERVING
    founds(s, s.term[l], s.tree[l])
    exposes(s, s.term[l], s.tree[l])
    s.last_proposed[l] = s.last_processed[l]
    s.last_committed[l] = s.last_processed[l]
    s.last_processed[l] = first_of(s.term[l])
    open_to_settled(s, l)


def not_forwarded(s: State, p: Node) -> None:
    """FollowerZooKeeperServer.shutdownComponents without fastForwardDataBase."""
    for zxid in s.sync_queue[p]:
        log_in_thread(s, p, zxid)
    s.sync_queue[p].clear()


Differences = dict[str, FunctionType]
MENDED = tuple(r.name for r in REPAIRS)


def mutant(name: str, summary: str, overrides: Differences) -> Variant:
    return Variant(f"mutant-{name}", summary, overrides, over=(*NAMES, *MENDED))


MUTANTS = (
    mutant(
        "ack-log", "a proposal is acknowledged, then logged, in two steps", {"log_next": acknowledged_before_logged}
    ),
    mutant(
        "ack-epoch",
        "NEWLEADER is acknowledged before currentEpoch is written",
        {"after_persist": acknowledged_before_epoch, "epoch_at_uptodate": written_at_uptodate},
    ),
    mutant("epoch-log", "at NEWLEADER currentEpoch is written before the log", OLD_ORDER),
    mutant("applied-early", "a leader applies what it proposes", {"propose": applied_when_proposed}),
    mutant("accepted-unwritten", "a follower does not write acceptedEpoch", {"on_leaderinfo": accepted_in_memory}),
    mutant("proposed-unwritten", "a leader does not write acceptedEpoch", {"store_proposed": proposed_without_a_write}),
    mutant("sync-unlogged", "a DIFF is applied and not logged", {"persist_received": applied_without_a_record}),
    mutant("sync-unapplied", "a DIFF is logged and not applied", {"persist_received": recorded_and_not_applied}),
    mutant("leader-unlogged", "a leader does not log its proposals", {"propose": not_in_the_leaders_log}),
    mutant("snap-unsaved", "no snapshot is taken at NEWLEADER", {"save_snapshot": no_snapshot_at_newleader}),
    mutant(
        "committed-log-hole",
        "what is applied at NEWLEADER is not in committedLog",
        {"apply_in_sync": only_the_tree, "is_gap": never_a_gap},
    ),
    mutant("commit-alone", "a leader commits without a quorum", {"try_to_commit": commits_alone}),
    mutant("serve-alone", "a leader serves without a quorum", {"has_acks": serves_alone}),
    mutant("uptodate-early", "UPTODATE is sent before the leader serves", {"on_ack": uptodate_at_once}),
    mutant("uncommitted-applied", "at NEWLEADER all that came is applied", {"persist_received": uncommitted_too}),
    mutant("ahead-diff", "a learner that is ahead gets DIFF", {"send_ahead": ahead_gets_diff}),
    mutant("diverged-diff", "a learner that has diverged gets DIFF", {"walk_committed_log": diverged_gets_diff}),
    mutant("forward-applied", "toBeApplied is not forwarded", {"start_forwarding": forwards_what_is_outstanding}),
    mutant(
        "forward-outstanding", "what is outstanding is not forwarded", {"start_forwarding": forwards_what_is_committed}
    ),
    mutant("diff-uncommitted", "a DIFF carries no COMMIT", {"walk_committed_log": forwards_after_newleader}),
    mutant("trunc-uncut", "TRUNC does not cut the log", {"cut_log": keeps_its_log}),
    mutant("snap-committed-log", "SNAP does not clear committedLog", {"on_snap": snap_keeps_committed_log}),
    mutant("load-committed-log", "a reload does not clear committedLog", {"load_newest": load_keeps_committed_log}),
    mutant(
        "received-kept", "what a sync has logged is logged again", {"persist_received": received_kept_after_uptodate}
    ),
    mutant("counter-goes-on", "a new leader continues with the old zxids", {"start_serving": goes_on_counting}),
    mutant("not-forwarded", "the tree is not brought up to the log", {"end_running": not_forwarded}),
)
