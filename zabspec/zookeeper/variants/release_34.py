"""Releases 3.4.10 to 3.4.14 as differences to 3.5.3 and 3.6.0: read at release-3.4.10 and release-3.4.14, in the class
and method that each function names. The two tags are alike in these."""

from __future__ import annotations

from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower
from zabspec.zookeeper.state import State, COMMIT, DIFF, DIFFS, PROPOSAL, SNAP, SYNCING, TRUNC, counter_of
from zabspec.zookeeper.sync import finish_transfer, send_ahead, start_forwarding

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "cuts_ahead",
    "cuts_what_is_there",
    "forwards_from_learner",
    "looks_where_applied",
    "send_from_committed_log",
    "sync_from_committed_log",
]

# --- LearnerHandler.run: how a learner is brought up to date ---------------------------------------


def sync_from_committed_log(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run (3.4.10, 3.4.14), where 3.5.0 has syncFollower (ZOOKEEPER-1413). Where committedLog is empty,
    or begins after what the learner has, SNAP, also to one that is ahead; <e,0> of a former leader is a zxid as any
    other. NEWLEADER is queued before SNAP is written, and read behind it."""
    p = s.peer_last[l][f]
    count = len(s.committed_log[l])
    low = s.committed_log[l][0] if count > 0 else s.last_processed[l]
    high = s.committed_log[l][count - 1] if count > 0 else s.last_processed[l]
    if p == s.last_processed[l]:
        send_to_follower(s, l, f, DIFF(zxid=p))
        start_forwarding(s, l, f, p)
    elif p > high and cuts_ahead(s, l, p):
        send_ahead(s, l, f, high)
    elif p >= low and p <= high and count > 0:
        send_from_committed_log(s, l, f, p)
    else:
        send_to_follower(s, l, f, SNAP(zxid=s.last_processed[l], tree=s.tree[l]))
        start_forwarding(s, l, f, p if forwards_from_learner(s) else s.last_processed[l])
    finish_transfer(s, l, f)


def cuts_ahead(s: State, l: Node, p: int) -> bool:
    """Whether a learner that is ahead gets TRUNC: where there is a committedLog (ZOOKEEPER-2832)."""
    return len(s.committed_log[l]) > 0


def cuts_what_is_there(s: State, l: Node, p: int) -> bool:
    """LearnerHandler.syncFollower (3.5.0): an empty committedLog begins and ends with lastProcessedZxid; and no log has
    <e,0>."""
    return counter_of(p) != 0


def forwards_from_learner(s: State) -> bool:
    """LearnerHandler.run (3.4.10, 3.4.14): what is forwarded begins behind what the learner said (`updates`), not
    behind what is sent. Behind a SNAP, what it said that it has is not sent; behind a DIFF, what is in committedLog and
    still in toBeApplied is sent twice."""
    return True


def send_from_committed_log(s: State, l: Node, f: Node, p: int) -> None:
    """LearnerHandler.run, the loop over proposals: where the last that is not later than what the learner has is
    another one, TRUNC to that, across epochs, too."""
    high = s.committed_log[l][len(s.committed_log[l]) - 1]
    previous = s.committed_log[l][0]
    for zxid in s.committed_log[l]:
        if zxid <= p:
            previous = zxid
    base = p
    if previous < p and p < high:
        base = previous
        send_to_follower(s, l, f, TRUNC(zxid=previous))
    else:
        send_to_follower(s, l, f, DIFF(zxid=high))
    for zxid in s.committed_log[l]:
        if zxid > p:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))
    start_forwarding(s, l, f, base if forwards_from_learner(s) else high)


# --- Learner.syncWithLeader -----------------------------------------------------------------------


def looks_where_applied(s: State, f: Node) -> bool:
    """Learner.syncWithLeader, COMMIT (3.4.10, 3.4.14): the head of packetsNotCommitted is looked at only where it is
    applied at once, behind TRUNC or SNAP and before NEWLEADER; else the COMMIT is recorded unseen."""
    return s.phase[f] == SYNCING and s.sync_mode[f] != DIFFS
