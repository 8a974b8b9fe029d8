"""How a leader brings a learner up to date, in two steps as servers do (`transfer`).

LearnerHandler.run calls syncFollower, which holds a lock from the choice through startForwarding. Behind it the handler
holds none: it writes the SNAP, if there is one, and then queues NEWLEADER. What the leader proposes and commits
meanwhile stands before NEWLEADER. Each learner has a handler of its own, which ends with the connection. WRITTEN stands
for it: no packet of ZooKeeper, but a step that the leader takes for one learner.
"""

from __future__ import annotations

from zabspec.authoring.declaration import Variant, receives
from zabspec.language.lang import Node, State
from zabspec.protocols.zookeeper.state import WRITTEN
from zabspec.protocols.zookeeper.sync import queue_newleader
from zabspec.worlds.actor import send_to_leader

__all__ = ["TRANSFER", "has_handler", "is_queued_later", "on_written"]


def is_queued_later(s: State, l: Node, f: Node) -> None:
    """LearnerHandler.run, behind syncFollower: it goes on in a step of its own (`on_written`)."""


def has_handler(s: State, f: Node) -> None:
    """LearnerHandler.run: that of this learner, which has ACKEPOCH to read before."""
    send_to_leader(s, f, WRITTEN())


@receives
def on_written(s: State, l: Node, f: Node, m: WRITTEN) -> None:
    """LearnerHandler.run: what stands before NEWLEADER is written, or queued."""
    queue_newleader(s, l, f)


TRANSFER = (
    Variant(
        "transfer",
        "NEWLEADER is queued in a step of its own: what is proposed and committed during a SNAP is before",
        {"finish_transfer": is_queued_later, "begin_handler": has_handler},
    ),
)
