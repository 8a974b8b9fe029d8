"""How a leader brings a learner up to date: LearnerHandler.syncFollower, Leader.startForwarding."""

from __future__ import annotations

from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.state import (
    State,
    COMMIT,
    DIFF,
    NEWLEADER,
    PROPOSAL,
    SNAP,
    TRUNC,
    counter_of,
    epoch_of,
)
from zabspec.zookeeper.voters import observes


def sync_follower(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.syncFollower (3.5.0 to master). One step, as it holds logLock from the choice through
    startForwarding, under which nothing falls between committedLog, toBeApplied and outstandingProposals.

    Left out: forceSnapSync, which is for tests."""
    p = s.peer_last[l][f]
    own = s.last_processed[l]
    count = len(s.committed_log[l])
    low = s.committed_log[l][0] if count > 0 else own
    high = s.committed_log[l][count - 1] if count > 0 else own
    if p == own:
        send_to_follower(s, l, f, DIFF(zxid=p))
        start_forwarding(s, l, f, p)
    elif p > high and counter_of(p) != 0 and truncates_ahead(s, l, p):
        send_ahead(s, l, f, high)
    elif p >= low and p <= high and count > 0:
        walk_committed_log(s, l, f, p)
    elif p < low and walks_log(s, l, p):
        walk_log(s, l, f, p)
    else:
        send_snapshot(s, l, f)
    finish_transfer(s, l, f)


def finish_transfer(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run, behind syncFollower: merged with it here, a step of its own in `transfer`."""
    queue_newleader(s, l, f)


def queue_newleader(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run: NEWLEADER is queued; from now on one packet is awaited."""
    send_to_follower(s, l, f, NEWLEADER())
    s.unsettled[l].add(f)


def walks_log(s: State, l: Node, p: int) -> bool:
    """Whether its log on the disk is read for the learner. Not where snapshotSizeFactor is below 0; by default it is
    0.33, and that is the variant `walk`."""
    return False


def walk_log(s: State, l: Node, f: Node, p: int) -> None:
    """What is sent then (`walk`)."""


def truncates_ahead(s: State, l: Node, p: int) -> bool:
    """Whether a learner that is ahead gets TRUNC, also where the leader has no committedLog, and the learner what is to
    be cut in a snapshot alone."""
    return True


def send_ahead(s: State, l: Node, f: Node, high: int) -> None:
    """The learner is ahead of committedLog: TRUNC, also of what it has logged and acknowledged in this very epoch,
    and which
    is in toBeApplied or outstanding."""
    send_to_follower(s, l, f, TRUNC(zxid=high))
    start_forwarding(s, l, f, high)


def send_snapshot(s: State, l: Node, f: Node) -> None:
    """SNAP overtakes what startForwarding has queued. Left out: that the tree is streamed while commits go on."""
    send_to_follower(s, l, f, SNAP(zxid=s.last_processed[l], tree=s.tree[l]))
    start_forwarding(s, l, f, s.last_processed[l])


def walk_committed_log(s: State, l: Node, f: Node, p: int) -> None:
    """LearnerHandler.queueCommittedProposals."""
    count = len(s.committed_log[l])
    high = s.committed_log[l][count - 1]
    previous = 0
    here = False
    for zxid in s.committed_log[l]:
        if zxid < p:
            previous = max(previous, zxid)
        elif zxid == p:
            here = True
    first = 0  # the first later than p
    for zxid in s.committed_log[l]:
        if first == 0 and zxid > p:
            first = zxid
    if here or counter_of(p) == 0:
        send_to_follower(s, l, f, DIFF(zxid=high))
        send_committed(s, l, f, p)
    elif first == 0 or epoch_of(first) != epoch_of(p):
        send_snapshot(s, l, f)
    else:
        send_to_follower(s, l, f, TRUNC(zxid=previous))
        send_committed(s, l, f, p)


def send_committed(s: State, l: Node, f: Node, p: int) -> None:
    """What is in committedLog twice, or not in its place, is sent once: queuedZxid only grows."""
    last = p
    for zxid in s.committed_log[l]:
        if zxid > last:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
            last = zxid
    start_forwarding(s, l, f, last)


def start_forwarding(s: State, l: Node, f: Node, base: int) -> None:
    """Leader.startForwarding: what is committed and not applied, then, to who votes, what is outstanding; from now on
    all."""
    if s.last_proposed[l] > base:
        forward_to_be_applied(s, l, f, base)
        if not observes(s, l, f):
            forward_outstanding(s, l, f, base)
    s.forwarding[l].add(f)


def forward_to_be_applied(s: State, l: Node, f: Node, base: int) -> None:
    for zxid in s.to_be_applied[l]:
        if zxid > base:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))


def forward_outstanding(s: State, l: Node, f: Node, base: int) -> None:
    for zxid in s.outstanding[l]:
        if zxid > base:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
