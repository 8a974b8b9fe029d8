"""A disk that is full for a while, and one that has not yet what is not forced. In a file of its own, which is imported
last, so that the other actions keep their numbers."""

from __future__ import annotations

from zabspec.authoring.declaration import action
from zabspec.language.python.lang import Node
from zabspec.zookeeper.state import State, EPOCH_ACKED, FOLLOWING, REGISTERED

__all__ = ["disks_fill", "fill_disk", "has_unforced", "may_fill_disk", "write_back"]


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


def has_unforced(s: State, p: Node) -> bool:
    """Only where power is lost (`power`)."""
    return s.unforced[p] != 0 or len(s.uncut[p]) > 0


@action(when=has_unforced, name="written back")
def write_back(s: State, p: Node) -> None:
    """The kernel writes what FileSnap.serialize and FileTxnLog.truncate have not forced. All at once: that of a
    snapshot and of a cut only one is there is left out."""
    s.unforced[p] = 0
    s.uncut[p].clear()
    s.uncut_at[p] = 0
