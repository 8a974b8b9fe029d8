"""Ghost abstraction, in the kernel language: merge states that differ only in ghosts that no property reads
(docs/reduction.md).

When a transaction is abcast, two parts of its ghosts are dropped that no property asks for, then or later. They never
come back, since an abcast writes no other's ghosts:

- that its primary had delivered what the same instance had broadcast before: this precedes the new one anyhow, and
  is not of an earlier epoch;
- behind the last abcast of a run who abcast what, if epoch and attempt tell as much: of each two either the later
  one is of a later epoch, or both are of one instance.
"""

from __future__ import annotations

from checker.explore.interface import ABSTRACTS_GHOSTS, same_instance
from zabspec.language.lang import NOBODY, State


def abstract_ghosts(before: State, after: State) -> None:
    """Drop what no property reads of a step's ghosts, if every judged property is known to judge both states alike."""
    if ABSTRACTS_GHOSTS:
        drop_parts(before, after)


def drop_parts(before: State, after: State) -> None:
    """Drop what no property reads of a transaction that a step has abcast."""
    if after.abcasts != before.abcasts:
        drop_own_deliveries(after)
        if after.abcasts == after.TXNS and epochs_tell_instances(after):
            for k in range(after.TXNS):
                after.abcast_by[k] = NOBODY


def drop_own_deliveries(s: State) -> None:
    """Drop that the primary of the newest abcast had delivered earlier ones of its own instance."""
    k = s.abcasts - 1
    for j in range(k):
        if same_instance(s, j, k):
            s.abcast_after[k].discard(j)


def epochs_tell_instances(s: State) -> bool:
    """Return whether of each two abcasts the later one is of a later epoch, or of the same instance."""
    for k in range(s.TXNS):
        for j in range(k):
            if s.abcast_txn[j].epoch >= s.abcast_txn[k].epoch and not same_instance(s, j, k):
                return False
    return True
