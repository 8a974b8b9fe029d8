"""A sync thread that outlives its term, in a batch (`broadcast.log_stale` is its end). In a file of its own, so that
the other actions keep their numbers."""

from __future__ import annotations

from zabspec.zookeeper.state import State

from zabspec.authoring.declaration import action
from zabspec.language.python.lang import Node
from zabspec.zookeeper.storage import log_in_thread

__all__ = ["has_stale_batch", "log_stale_batch"]


def has_stale_batch(s: State, p: Node) -> bool:
    return len(s.stale_queue[p]) > 1 and s.stale_queue[p][1] != 0


@action(when=has_stale_batch, name="sync thread of an earlier term, in a batch")
def log_stale_batch(s: State, p: Node) -> None:
    """The same with more behind it: of one batch (1,000, unless zookeeper.maxBatchSize says otherwise), which is forced
    with its last; or of 3.5.10, 3.6.3 and 3.6.4, where nothing ends that thread."""
    log_in_thread(s, p, s.stale_queue[p][0])
    s.stale_queue[p].pop(0)
