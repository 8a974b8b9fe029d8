"""How a leader brings a learner up to date, in the steps in which servers do (`transfer`).

LearnerHandler.run calls syncFollower, which holds a lock from the choice through startForwarding. Behind it the handler
holds none. It reads lastProcessedZxid and the tree for a SNAP, if it sends one, and then queues NEWLEADER. What the
leader applies before that is read comes in the SNAP and once more behind it. What it proposes and commits before
NEWLEADER is queued stands before NEWLEADER.

Each learner has a handler of its own, which ends with the connection. WRITTEN stands for it: no packet of ZooKeeper,
but a step that the leader takes for one learner. All that wait for a SNAP get it in one step. What is proposed or
committed between the choice and that step is, as the learner sees it, proposed or committed before the choice.

It is of 3.5.5 and 3.6.0 and later. Before them NEWLEADER is queued before the SNAP is read (ZOOKEEPER-3104): that is
`before-3104` (`snapshots.py`). 3.4 has its SNAP in the step of the choice.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant, action, receives
from zabspec.language.python.lang import Node
from zabspec.worlds.actor import send_to_follower, send_to_leader
from zabspec.zookeeper.state import State, AWAITING_EPOCH_ACKS, COMMIT, PROPOSAL, SERVING, SNAP, WRITTEN
from zabspec.zookeeper.sync import queue_newleader, start_forwarding

__all__ = [
    "TRANSFER",
    "does_not_serve",
    "forward_applied",
    "has_handler",
    "has_snap_to_send",
    "is_queued_later",
    "is_read_later",
    "keeps_where_it_began",
    "on_written",
    "send_snap",
    "send_snaps",
    "snap_zxid",
    "some_wait",
    "waits_for_snap",
]


def is_read_later(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.syncFollower: what is forwarded begins behind lastProcessedZxid as it is now; what the SNAP has is
    read later (`send_snaps`)."""
    s.peer_last[l][f] = s.last_processed[l]


def keeps_where_it_began(s: State, l: Node, f: Node) -> None:
    """Behind what is forwarded is kept in place of what the learner said."""


def some_wait(s: State, l: Node) -> None:
    """Of those that have answered, who waits for a SNAP: nothing is forwarded to them yet."""
    for f in range(s.NODES):
        if f in s.forwarding[l]:
            s.answered[l].discard(f)
            s.peer_last[l][f] = 0


def waits_for_snap(s: State, l: Node, f: Node) -> None:
    """The same of one that answers later."""
    if f in s.forwarding[l]:
        s.peer_last[l][f] = 0
    else:
        s.answered[l].add(f)


def has_snap_to_send(s: State, l: Node) -> bool:
    return s.phase[l] > AWAITING_EPOCH_ACKS and len(s.answered[l]) > 0


@action(when=has_snap_to_send, name="send SNAP")
def send_snaps(s: State, l: Node) -> None:
    """LearnerHandler.run: SNAP, which overtakes what startForwarding has queued."""
    for f in range(s.NODES):
        if f in s.answered[l]:
            send_snap(s, l, f)
            s.peer_last[l][f] = 0
    s.answered[l].clear()


def send_snap(s: State, l: Node, f: Node) -> None:
    """To one of them; what is forwarded then."""
    send_to_follower(s, l, f, SNAP(zxid=snap_zxid(s, l, f), tree=s.tree[l]))
    forward_applied(s, l, f)
    start_forwarding(s, l, f, s.peer_last[l][f])


def snap_zxid(s: State, l: Node, f: Node) -> int:
    """LearnerHandler.run reads lastProcessedZxid, and then the tree; both at one moment, unless that takes a while
    (`fuzzy-snap`)."""
    return s.last_processed[l]


def forward_applied(s: State, l: Node, f: Node) -> None:
    """What was in toBeApplied at the choice, and has been applied since."""
    for zxid in s.committed_log[l]:
        if zxid > s.peer_last[l][f]:
            send_to_follower(s, l, f, PROPOSAL(zxid=zxid))
            send_to_follower(s, l, f, COMMIT(zxid=zxid))


def is_queued_later(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run, behind syncFollower: it goes on in a step of its own (`on_written`)."""


def has_handler(s: State, f: Node) -> None:
    """LearnerHandler.run: that of this learner, which has ACKEPOCH to read before."""
    send_to_leader(s, f, WRITTEN())


@receives
def on_written(s: State, l: Node, f: Node, m: WRITTEN) -> None:
    """LearnerHandler.run: what stands before NEWLEADER is written, or queued."""
    queue_newleader(s, l, f)


def does_not_serve(s: State, l: Node) -> bool:
    """Leader.lead: it waits for learners until initLimit has passed, and looks who is there from its first ping on."""
    return s.phase[l] != SERVING


TRANSFER = (
    Variant(
        "transfer",
        "a SNAP is read, and NEWLEADER queued, in steps of their own: what happens between may come before NEWLEADER; "
        "a leader that does not serve yet leads on without a quorum",
        {
            "send_snapshot": is_read_later,
            "forget_what_it_said": keeps_where_it_began,
            "have_answers": some_wait,
            "has_answer": waits_for_snap,
            "finish_transfer": is_queued_later,
            "begin_handler": has_handler,
            "waits_for_others": does_not_serve,
        },
    ),
)
