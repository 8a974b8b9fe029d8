"""Steps of the text put together, or put in an order, as differences: fewer states, the same verdicts. Each says why
nothing is lost; where it is not asked for, the step is split."""

from __future__ import annotations

from zabspec.authoring.declaration import Variant
from zabspec.language.python.lang import AnyMessage, Node, is_quorum
from zabspec.zookeeper.leader import has_acks, leaves_no_trace, start_serving
from zabspec.zookeeper.learner import (
    acknowledge,
    after_epoch,
    after_snapshot,
    is_gap,
    leaves_at_diff,
    persist,
    save_snapshot,
)
from zabspec.zookeeper.shutdown import clears_interrupted, is_half_made
from zabspec.zookeeper.state import (
    State,
    ACK,
    CHOOSING_EPOCH,
    COMMIT,
    DIFF,
    DIFFS,
    FOLLOWERINFO,
    IDLE,
    NEWLEADER,
    NO_THREAD,
    PROPOSAL,
    SERVING,
    SYNCING,
    TO_ACK,
    TO_PERSIST,
    TO_SNAPSHOT,
    WAITING,
    epoch_of,
)
from zabspec.zookeeper.storage import (
    ends_a_file,
    last_zxid,
    newest_snapshot,
    opens_at,
    saved_tree,
    with_txn,
)

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "COARSE",
    "OVERRIDES",
    "admitted_first",
    "are_three",
    "commit_is_noted",
    "heard_first",
    "is_ignored",
    "left_first",
    "lost_when_learned",
    "noted_first",
    "proposal_is_noted",
    "received_and_written",
    "restarted",
    "restarts_otherwise",
    "serves_when_complete",
    "syncs",
    "written_and_acknowledged",
]


def restarted(s: State, p: Node) -> bool:
    """A crash and the start after it are one step. A server that is down is one that looks for a leader and finds none:
    its disk is the same, its memory is read from that, nothing is sent to it, and it may stay so for ever. So a run in
    which it is down for a while is one in which it looks for a while."""
    return True


def received_and_written(s: State, f: Node, m: NEWLEADER) -> None:
    """NEWLEADER is received together with the first write for it (the snapshot, or the log). Between the two the main
    thread reads nothing, and nobody else sees that it has read this; a crash there is one before it is read, and a
    connection that is lost there is one lost while it lies in the channel."""
    s.phase[f] = after_snapshot(s) if s.sync_mode[f] == DIFFS else TO_SNAPSHOT
    if s.phase[f] == TO_SNAPSHOT:
        save_snapshot(s, f)
    elif s.phase[f] == TO_PERSIST:
        persist(s, f)


def written_and_acknowledged(s: State, f: Node) -> None:
    """currentEpoch is written and NEWLEADER acknowledged, unless the sync thread may send between. A crash between is
    one of which the leader learns before it has read the acknowledgement; a connection that is lost between, one in
    which it lies unread."""
    s.current_epoch[f] = s.term[f]
    s.phase[f] = after_epoch(s)
    if s.phase[f] == TO_ACK and len(s.sync_queue[f]) == 0:
        acknowledge(s, f)


def serves_when_complete(s: State, l: Node) -> None:
    """Leader.startZkServer in the step in which the quorum of NEWLEADER is complete, by an acknowledgement or by the
    leader's own currentEpoch. A run in which it serves later is one in which that step is taken later: nobody else sees
    it, and what the leader reads between, it may read before. One in which it never serves is one in which the
    follower's acknowledgement is never read, so that the quorum is not complete."""
    if has_acks(s, l):
        start_serving(s, l)


# --- what may as well be taken first (`worlds/priority.py` says why of such steps in general) ----------------


def noted_first(s: State, f: Node, m: AnyMessage) -> bool:
    """What a learner only notes in lists that every end of its term clears: DIFF, a PROPOSAL and a COMMIT of the sync,
    and before UPTODATE; of a sync by TRUNC or SNAP also a COMMIT that is applied, where an interrupted one is read
    again from the disk. A follower that serves moves what a COMMIT names from one such list to another. Not what ends
    its term."""
    if m.kind == PROPOSAL:
        return proposal_is_noted(s, f, m)
    if m.kind == COMMIT:
        return commit_is_noted(s, f, m)
    return m.kind == DIFF and leaves_at_diff(s)


def syncs(s: State, f: Node) -> bool:
    """Whether it is in Learner.syncWithLeader, behind DIFF, TRUNC or SNAP, and reads packets."""
    return s.phase[f] == SYNCING or s.phase[f] == WAITING


def proposal_is_noted(s: State, f: Node, m: PROPOSAL) -> bool:
    return syncs(s, f) and not is_gap(s, f, m.zxid)


def commit_is_noted(s: State, f: Node, m: COMMIT) -> bool:
    if s.phase[f] == SERVING:
        return len(s.pending[f]) == 0 or s.pending[f][0] == m.zxid
    if not syncs(s, f) or len(s.not_logged[f]) == 0:
        return False
    return s.phase[f] == WAITING or s.sync_mode[f] == DIFFS or (is_half_made(s, f) and clears_interrupted(s))


def heard_first(s: State, l: Node, f: Node, m: AnyMessage) -> bool:
    """An ACK of what is committed, which Leader.processAck ignores. And the first FOLLOWERINFO, of three servers: where
    l, or who elected it, crashes or loses the connection before it is read, nothing has come of the election, and the
    run is one without it; where anything else happens meanwhile, it may as well happen before the election, but that
    the third server joins (`admitted_first`)."""
    if m.kind == ACK:
        return is_ignored(s, l, f, m)
    return m.kind == FOLLOWERINFO and s.phase[l] == CHOOSING_EPOCH and are_three(s) and leaves_no_trace(s)


def are_three(s: State) -> bool:
    """There are three servers, any two of which are a quorum."""
    for p in range(s.NODES):
        if not is_quorum(s, {q for q in range(s.NODES) if q != p}):
            return False
    return s.NODES == 3


def is_ignored(s: State, l: Node, f: Node, m: ACK) -> bool:
    return f in s.looping[l] and m.zxid <= s.last_committed[l]


def admitted_first(s: State, l: Node) -> bool:
    """The third server may join before any FOLLOWERINFO is read, and its own be the first."""
    return s.phase[l] == CHOOSING_EPOCH


def left_first(s: State, f: Node) -> bool:
    """A learner that does not serve, of three, with nothing in a queue, whose leader has closed the connection: it can
    do nothing else, and no property looks at it. Nobody else waits for it to stay: the third joins that leader only
    where it has a quorum without it."""
    waits = s.phase[f] != IDLE and s.phase[f] != SERVING
    return waits and are_three(s) and len(s.sync_queue[f]) == 0 and len(s.stale_queue[f]) == 0


def lost_when_learned(s: State) -> bool:
    """See `worlds/priority.py`. No handler looks at a connection, and the only property that does is of ensembles in
    which none is lost."""
    return True


def restarts_otherwise(s: State, p: Node) -> bool:
    """Whether a crash changes a server, which is none that looks for a leader and has in memory just what it reads from
    its disk when it starts, and starts. A run in which such a one crashes is one in which it does not, and has a crash
    left."""
    if s.phase[p] != IDLE or s.refused[p] or len(s.stale_queue[p]) > 0 or ends_a_file(s, p):
        return True
    if s.snapshot_thread[p] != NO_THREAD:
        return True  # which dies with it
    if s.promised[p] > s.accepted_epoch[p] or s.closed[p] or s.unforced[p] != 0 or len(s.uncut[p]) > 0:
        return True
    last = newest_snapshot(s, p, last_zxid(s))
    tree = saved_tree(s, p, last)
    count = 0
    first = opens_at(s, p, last + 1)
    for k in range(len(s.log[p])):
        zxid = s.log[p][k]
        if k >= first and zxid > last:
            last = zxid
            tree = with_txn(s, tree, zxid)
            if count >= len(s.committed_log[p]) or s.committed_log[p][count] != zxid:
                return True
            count = count + 1
        elif count > 0:
            return True  # a log that does not ascend
    if count != len(s.committed_log[p]) or tree != s.tree[p] or last != s.last_processed[p]:
        return True
    return epoch_of(last) > s.current_epoch[p] or s.accepted_epoch[p] < s.current_epoch[p]


OVERRIDES = {
    "restart": ("a crash and the start after it are one step", {"starts_at_once": restarted}),
    "newleader": ("NEWLEADER and the first write for it are one step", {"on_newleader": received_and_written}),
    "epoch": ("currentEpoch and the acknowledgement are one step", {"write_epoch": written_and_acknowledged}),
    "serve": ("a leader serves as soon as it may", {"quorum_may_be_complete": serves_when_complete}),
    "order": (
        "what is only noted is noted first",
        {
            "takes_first": noted_first,
            "hears_first": heard_first,
            "admits_first": admitted_first,
            "leaves_first": left_first,
        },
    ),
    "losses": (
        "a lost connection and the first end's learning of it are one step",
        {"loses_when_learned": lost_when_learned},
    ),
    "crashes": ("a crash that changes nothing is none", {"is_changed_by_crash": restarts_otherwise}),
}

COARSE = (
    *(Variant(f"coarse-{name}", f"merged: {says}", functions) for name, (says, functions) in OVERRIDES.items()),
    Variant(
        "coarse",
        "merged: all of these",
        {name: function for _, functions in OVERRIDES.values() for name, function in functions.items()},
    ),
)
