"""Observers: servers that follow a leader and do not vote. What they do differently stands where followers do it,
behind `observes`; here is the packet that only they get. In a file of its own, which is imported last.

An observer joins a leader that a quorum of the others has elected, and is brought up to date as a follower is
(Learner.syncWithLeader); it acknowledges NEWLEADER, which is not counted. It gets no PROPOSAL of what is outstanding,
and no COMMIT but for what was committed when it came: once that is so, the leader sends INFORM, with the transaction.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant, receives
from zabspec.language.python.lang import Node
from zabspec.zookeeper.learner import apply_in_sync, commit_request, is_gap, stop
from zabspec.zookeeper.state import State, DIFFS, INFORM, SERVING, SYNCING
from zabspec.zookeeper.storage import meets_hole
from zabspec.zookeeper.voters import completes_quorum, is_without_vote, quorum_with_observers

__all__ = ["OBSERVERS", "on_inform", "persists_as_follower"]


@receives
def on_inform(s: State, f: Node, m: INFORM) -> None:
    """Learner.syncWithLeader: before NEWLEADER of a sync by TRUNC or SNAP it is applied at once, else it is a proposal
    and its commit; once it serves, Observer.processPacket hands it to ObserverZooKeeperServer.commitRequest."""
    if s.phase[f] == SERVING:
        commit_request(s, f, m.zxid)
    elif is_gap(s, f, m.zxid):
        stop(s, f)
    elif s.phase[f] == SYNCING and s.sync_mode[f] != DIFFS:
        apply_in_sync(s, f, m.zxid)
        if meets_hole(s, f):
            stop(s, f)
    else:
        s.not_logged[f].append(m.zxid)
        s.committed[f].append(m.zxid)


def persists_as_follower(s: State, f: Node) -> bool:
    """Proposed here: Learner.syncWithLeader asks for no FollowerZooKeeperServer, and an observer too writes and applies
    what is committed before it acknowledges NEWLEADER."""
    return True


OBSERVERS = (
    Variant("observer", "servers without weight (--quorums) are observers", {"observes": is_without_vote}),
    Variant(
        "before-2959",
        "with observer: 3.4.10 to 3.4.12, 3.5.0 to 3.5.3, a leader counts observers in discovery",
        {"completes_quorum": quorum_with_observers},
        needs=("observer",),
    ),
    Variant(
        "2959",
        "a leader counts no observers in discovery",
        {"completes_quorum": completes_quorum},
        over=("before-2959",),
        repairs=True,
        needs=("observer",),
    ),
    Variant(
        "observer-sync",
        "an observer, too, writes and applies what is committed before it acknowledges NEWLEADER",
        {"persists_in_sync": persists_as_follower},
        repairs=True,
        needs=("observer",),
    ),
)
