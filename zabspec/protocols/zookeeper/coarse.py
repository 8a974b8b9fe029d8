"""Steps of the text put together, as differences: fewer states, the same verdicts. Each says why nothing is lost; where
it is not asked for, the step is split."""

from __future__ import annotations

from zabspec.language.lang import Node, State
from zabspec.own.authoring import Variant
from zabspec.protocols.zookeeper.leader import has_acks, start_serving
from zabspec.protocols.zookeeper.learner import acknowledge, after_epoch, after_snapshot, persist, save_snapshot
from zabspec.protocols.zookeeper.state import DIFFS, NEWLEADER, TO_ACK, TO_PERSIST, TO_SNAPSHOT

# The order of a text's actions is that of its names: those of other modules come from there.
__all__ = [
    "COARSE",
    "OVERRIDES",
    "received_and_written",
    "restarted",
    "serves_when_complete",
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


OVERRIDES = {
    "restart": ("a crash and the start after it are one step", {"starts_at_once": restarted}),
    "newleader": ("NEWLEADER and the first write for it are one step", {"on_newleader": received_and_written}),
    "epoch": ("currentEpoch and the acknowledgement are one step", {"write_epoch": written_and_acknowledged}),
    "serve": ("a leader serves as soon as it may", {"quorum_may_be_complete": serves_when_complete}),
}

COARSE = (
    *(Variant(f"coarse-{name}", f"merged: {says}", functions) for name, (says, functions) in OVERRIDES.items()),
    Variant(
        "coarse",
        "merged: all of these",
        {name: function for _, functions in OVERRIDES.values() for name, function in functions.items()},
    ),
)
