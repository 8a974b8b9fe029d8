"""A disk that is full for a while. In a file of its own, imported last: the other actions keep their numbers."""

from __future__ import annotations

from zabspec.authoring.declaration import action
from zabspec.language.lang import Node, State
from zabspec.protocols.zookeeper.state import EPOCH_ACKED, FOLLOWING, REGISTERED

__all__ = ["disks_fill", "fill_disk", "may_fill_disk"]


def disks_fill(s: State) -> bool:
    """Whether writes fail other than those of the log (`full-disk`)."""
    return False


def may_fill_disk(s: State, p: Node) -> bool:
    """Of a learner in discovery, before it is told to TRUNC: elsewhere it would make no difference."""
    before_sync = s.phase[p] == REGISTERED or s.phase[p] == EPOCH_ACKED
    return disks_fill(s) and s.role[p] == FOLLOWING and before_sync and not s.full[p]


@action(when=may_fill_disk, budget="write_errors", name="disk is full")
def fill_disk(s: State, p: Node) -> None:
    """What it writes in this term fails: acceptedEpoch (QuorumPeer.setAcceptedEpoch), and a TRUNC
    (FileTxnLog.truncate). Left out: currentEpoch, a snapshot, and what a leader writes."""
    s.full[p] = True
