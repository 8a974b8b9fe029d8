"""What must hold of the stores: of those of one server among each other, and of the disks of a quorum. A loss begins
here, long before a client can see it."""

from __future__ import annotations

from zabspec.authoring.declaration import safety
from zabspec.language.python.lang import Node, broken, is_quorum
from zabspec.worlds.actor import is_down
from zabspec.zookeeper.properties import two_founded
from zabspec.zookeeper.state import (
    State,
    AWAITING_ACKS,
    AWAITING_EPOCH_ACKS,
    IDLE,
    LEADING,
    LOOKING,
    SERVING,
    TO_ACK,
    TO_SNAPSHOT,
    TO_WRITE_OWN_EPOCH,
    counter_of,
    epoch_of,
)
from zabspec.zookeeper.storage import last_zxid, newest_snapshot, opens_at, saved_tree, with_txn
from zabspec.zookeeper.voters import observes

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "CONNECTED",
    "NOT_CONNECTED",
    "committed_log_is_whole",
    "epoch_has_its_history",
    "epoch_is_on_a_quorum",
    "has_several",
    "is_idle",
    "looks_again",
    "memory_is_the_disk",
    "nothing_moves",
    "on_disk",
    "one_lacks_what_is_served",
    "quiet_servers_agree",
    "served_is_on_a_quorum",
]

NOT_CONNECTED, CONNECTED = 0, 1  # what the world's `link` says; else there is something to learn yet


def on_disk(s: State, p: Node) -> int:
    """The tree that QuorumPeer.loadDataBase would read: the newest snapshot, then what the log has after it."""
    newest = newest_snapshot(s, p, last_zxid(s))
    tree = saved_tree(s, p, newest)
    ahead = False
    first = opens_at(s, p, newest + 1)
    for k in range(len(s.log[p])):
        zxid = s.log[p][k]
        if k >= first and zxid > newest:
            ahead = True
        if ahead:
            tree = with_txn(s, tree, zxid)
    return tree


def one_lacks_what_is_served(s: State) -> bool:
    """What is served is not on every disk."""
    for p in range(s.NODES):
        held = on_disk(s, p)
        for e in range(s.ELECTIONS + 2):
            if (s.exposed[e] | held) != held:
                return True
    return False


@safety(witness=one_lacks_what_is_served)
def served_is_on_a_quorum(s: State) -> bool:
    """What a server that serves has applied is on the disks of a quorum, at every moment after."""
    served = 0
    for e in range(s.ELECTIONS + 2):
        served = served | s.exposed[e]
    everywhere = served
    for p in range(s.NODES):
        everywhere = everywhere & on_disk(s, p)
    for z in range(last_zxid(s) + 1):
        if ((served ^ everywhere) >> z) & 1 == 1:
            if not is_quorum(s, {p for p in range(s.NODES) if (on_disk(s, p) >> z) & 1 == 1}):
                holders = 0
                for p in range(s.NODES):
                    holders = holders + ((on_disk(s, p) >> z) & 1)
                return broken(f"<{epoch_of(z)},{counter_of(z)}> was served, and is on {holders} disks")
    return True


@safety(witness=two_founded)
def epoch_is_on_a_quorum(s: State) -> bool:
    """Where a leader is established, a quorum has its epoch, or a later one, as currentEpoch on the disk."""
    for e in range(s.ELECTIONS + 2):
        if s.founded[e] != 0:
            if not is_quorum(s, {p for p in range(s.NODES) if s.current_epoch[p] >= e}):
                holders = 0
                for p in range(s.NODES):
                    if s.current_epoch[p] >= e:
                        holders = holders + 1
                return broken(f"the leader of epoch {e} is established, and {holders} disks say so")
    return True


@safety(witness=two_founded)
def epoch_has_its_history(s: State) -> bool:
    """A voter whose currentEpoch is that of an established leader has on its disk what that leader began with."""
    # An observer logs that only once it serves (Learner.syncWithLeader), and its currentEpoch counts nowhere.
    for p in range(s.NODES):
        began, held = s.founded[s.current_epoch[p]], on_disk(s, p) | 1
        if not observes(s, p, p) and (began | held) != held:
            return broken(f"p{p} has currentEpoch {s.current_epoch[p]} without all of that epoch's initial history")
    return True


def looks_again(s: State) -> bool:
    """A server that has applied something looks for a leader."""
    for p in range(s.NODES):
        if s.role[p] == LOOKING and not is_down(s, p) and s.tree[p] != 0:
            return True
    return False


@safety(witness=looks_again)
def memory_is_the_disk(s: State) -> bool:
    """A server that looks for a leader has in memory what a start would read from its disk; one that serves has applied
    nothing that is neither there nor in the queue of its sync thread."""
    for p in range(s.NODES):
        if not is_down(s, p):
            tree = on_disk(s, p)
            if s.phase[p] == IDLE and s.tree[p] != tree:
                return broken(f"p{p} votes with another tree than it would start with")
            if s.phase[p] == SERVING:
                for zxid in s.sync_queue[p]:
                    tree = tree | (1 << zxid)
                if (s.tree[p] | tree) != tree:
                    return broken(f"p{p} has applied what it has not logged, and will not log")
    return True


def has_several(s: State) -> bool:
    """A server has two transactions in committedLog."""
    for p in range(s.NODES):
        if len(s.committed_log[p]) > 1:
            return True
    return False


@safety(witness=has_several)
def committed_log_is_whole(s: State) -> bool:
    """committedLog ascends, and from its first transaction on it has what the tree has, and nothing else."""
    for p in range(s.NODES):
        last = 0
        known = 0
        for zxid in s.committed_log[p]:
            if zxid <= last:
                return broken(f"the committedLog of p{p} does not ascend")
            last = zxid
            known = known | (1 << zxid)
        first = known & (0 - known)  # its bit; those of earlier transactions are less
        if known != 0 and s.tree[p] & (0 - first) != known:
            return broken(f"the committedLog of p{p} is not a part of its tree without a hole")
    return True


# --- an ensemble in which nothing moves -----------------------------------------------------------------------------


def is_idle(s: State, p: Node) -> bool:
    """This server has nothing in a queue, of an earlier term neither, and waits for a packet, or serves."""
    working = s.phase[p] >= TO_SNAPSHOT and s.phase[p] <= TO_ACK
    elected = s.phase[p] == TO_WRITE_OWN_EPOCH or (s.phase[p] == AWAITING_ACKS and is_quorum(s, s.new_leader_acks[p]))
    sends = s.phase[p] > AWAITING_EPOCH_ACKS and len(s.answered[p]) > 0  # a SNAP (`transfer`)
    queued = len(s.sync_queue[p]) > 0 or len(s.stale_queue[p]) > 0 or len(s.to_apply[p]) > 0
    return not working and not elected and not sends and not queued


def nothing_moves(s: State) -> bool:
    """All are up and connected to one leader, which has its epoch, nothing is in flight, and no server has anything to
    do by itself. In discovery a leader may wait in vain: a learner that has accepted its epoch before, and reconnects,
    does not count (Leader.waitForEpochAck), and initLimit ends it."""
    leaders = 0
    for p in range(s.NODES):
        if s.role[p] == LEADING:
            leaders = leaders + (1 if s.phase[p] >= AWAITING_ACKS else 2)
    for p in range(s.NODES):
        if is_down(s, p) or s.role[p] == LOOKING or not is_idle(s, p) or len(s.to_follower[p]) > 0:
            return False
        for q in range(s.NODES):
            if len(s.to_leader[p][q]) > 0:
                return False
            if s.link[p][q] != NOT_CONNECTED and s.link[p][q] != CONNECTED:
                return False
    return leaders == 1


@safety(witness=nothing_moves)
def quiet_servers_agree(s: State) -> bool:
    """Where nothing is left to do, all serve, nothing is outstanding, and all have applied and logged the same."""
    if nothing_moves(s):
        for p in range(s.NODES):
            if s.phase[p] != SERVING or len(s.outstanding[p]) > 0 or len(s.pending[p]) > 0:
                return broken(f"p{p} waits for a packet that no server will send")
            for q in range(s.NODES):
                if s.tree[p] != s.tree[q] or on_disk(s, p) != on_disk(s, q):
                    return broken(f"p{p} and p{q} have nothing left to do, and differ")
    return True
