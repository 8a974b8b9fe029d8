"""The state that a run may begin in: a leader of epoch 1, two followers in sync, <1,1> everywhere, <1,2> proposed."""

from __future__ import annotations

from zabspec.language.python.lang import Node
from zabspec.worlds.actor import connect, send_to_follower, spend_election
from zabspec.zookeeper.state import State, FOLLOWING, LEADING, PROPOSAL, SERVING, first_of
from zabspec.zookeeper.storage import apply_to_tree, apply_txn, log_in_thread, take_snapshot
from zabspec.zookeeper.voters import last_voter, observes


def established(s: State) -> None:
    """p0 leads epoch 1."""
    first = first_of(1)
    for p in range(s.NODES):
        log_in_thread(s, p, first + 1)
        apply_txn(s, p, first + 1)
        serve_in(s, p, 1)
    s.role[0] = LEADING
    for f in range(s.NODES):
        if f != 0 and not observes(s, 0, f):
            send_to_follower(s, 0, f, PROPOSAL(zxid=first + 2))
    s.outstanding[0].append(first + 2)
    s.sync_queue[0].append(first + 2)
    s.last_proposed[0] = first + 2
    s.last_committed[0] = first + 1
    s.founded[1] = 1
    s.exposed[1] = s.tree[0]


def after_snap(s: State) -> None:
    """p0 leads epoch 3, and the others but the last have come to it by SNAP: their logs end with <1,1> where the
    snapshot has <2,1>, too. The last is where epoch 1 has left it. From `established`, of three servers, with the walk:
    p0 crashes; p0 and p1 elect p0; <2,1> is proposed, and logged by p0 alone, in a second file; p0 crashes; p0 and p1
    elect p0, for which p1's <1,1> is before its committedLog, and in the first of two files: SNAP. Two elections have
    been."""
    come_by_snap(s)
    serve_third_epoch(s)
    s.committed_log[0].append(first_of(2) + 1)
    spend_election(s)
    spend_election(s)


def come_by_snap(s: State) -> None:
    """The disks and trees of epoch 3 in `after_snap`."""
    last = last_voter(s)
    for p in range(last + 1):
        s.current_epoch[p] = 1
        s.accepted_epoch[p] = 1
        s.log[p].append(first_of(1) + 1)
        apply_to_tree(s, p, first_of(1) + 1)
    s.founded[1] = 1
    s.exposed[1] = s.tree[0]
    s.founded[2] = s.tree[0] | 1
    s.exposed[2] = s.tree[0]
    take_snapshot(s, 0)
    s.files[0].append(1)
    s.log[0].append(first_of(2) + 1)
    s.files[0].append(2)
    for p in range(last):
        apply_to_tree(s, p, first_of(2) + 1)
        take_snapshot(s, p)
        s.unforced[p] = 0  # written back since
    s.committed_log[last].append(first_of(1) + 1)


def snapshot_alone(s: State) -> None:
    """Nobody leads; the last server has <1,2> in a snapshot and no log, and p1 has accepted epoch 2 with <1,1>. From
    the beginning, of three servers, with the fix of 2354: p0 and p1 establish epoch 1; <1,1> is logged by both and
    <1,2> by p0, and none is committed; p1 leads epoch 2 with the last server, which crashes before it has anything; p0
    leads epoch 3 with it, sends it SNAP <1,2>, and it crashes when that is saved; the term of p0 ends. Three elections
    have been."""
    last = last_voter(s)
    first = first_of(1)
    for p in range(last):
        s.log[p].append(first + 1)
        apply_txn(s, p, first + 1)
        s.current_epoch[p] = 2
        s.accepted_epoch[p] = 2
    s.log[0].append(first + 2)
    apply_txn(s, 0, first + 2)
    apply_to_tree(s, last, first + 1)
    apply_to_tree(s, last, first + 2)
    take_snapshot(s, last)
    for p in range(last + 1):
        if p == 0 or p == last:
            s.current_epoch[p] = 1
            s.accepted_epoch[p] = 3
    s.founded[1] = 1
    for _ in range(3):
        spend_election(s)


def serve_in(s: State, p: Node, epoch: int) -> None:
    """p serves in an epoch: it leads if it is p0, and follows p0 otherwise."""
    s.current_epoch[p] = epoch
    s.accepted_epoch[p] = epoch
    s.phase[p] = SERVING
    s.term[p] = epoch
    if p != 0:
        s.role[p] = FOLLOWING
        s.leader[p] = 0
        connect(s, p, 0)
        s.linked[0].add(p)
        s.forwarding[0].add(p)
        s.looping[0].add(p)


def serve_third_epoch(s: State) -> None:
    """p0 leads epoch 3, all but the last server that votes follow it, and nothing has been proposed in it."""
    for p in range(last_voter(s)):
        serve_in(s, p, 3)
    s.role[0] = LEADING
    s.last_processed[0] = first_of(3)
    s.last_proposed[0] = first_of(3)
    s.last_committed[0] = first_of(3)
    s.founded[3] = s.tree[0] | 1
    s.exposed[3] = s.tree[0]
