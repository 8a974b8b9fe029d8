"""Define the stable phase of LADIS'08's ZAB, and its progress properties.

It is that of any protocol over connections (`connections.py`), except for the oracle: LADIS'08's names no process whose
log a quorum is ahead of. So the stabilization time is one at which it may name the one process, and a run counts for as
long as it may.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State
from zabspec.live.connections import (
    stable_beat,
    stable_beat_due,
    stable_beats,
    stable_give_up,
    stable_gives_up,
    stable_takes,
    stable_waits,
)
from zabspec.live.quorum import quorum_is_up, waits_to_follow
from zabspec.properties import ProgressProperty
from zabspec.protocols.ladis import BROADCAST, DOWN, LEADING
from zabspec.worlds.actor import is_down, oracle_may_name

__all__ = [
    "GOALS", "stable_beat", "stable_beat_due", "stable_beats", "stable_give_up", "stable_gives_up", "stable_takes",
    "stable_waits",
]  # fmt: skip


def stable_begins(s: State, named: Node) -> bool:
    """Return whether the stable phase may begin here: the named process is up, and the oracle may name it."""
    return not is_down(s, named) and oracle_may_name(s, named, named)


def stable_lasts(s: State, named: Node) -> bool:
    """Return whether the assumptions still hold: the oracle may name the process."""
    return oracle_may_name(s, named, named)


# --- what must come of it ------------------------------------------------------------------------


def waits_to_synchronize(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, a process that is up comes out of recovery mode, as a leader or with the leader named."""
    if s.role[p] == DOWN or not quorum_is_up(s):
        return False
    if p == named:
        return s.role[p] != LEADING or s.stage[p] != BROADCAST
    return s.leader[p] != named or not s.synced[p]


def waits_to_commit(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, every message in the log of a leader in broadcast mode is committed by it."""
    if p != named or not quorum_is_up(s):
        return False
    return s.role[p] == LEADING and s.stage[p] == BROADCAST and s.committed[p] < len(s.history[p])


def waits_to_deliver(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, every message in the log of the leader in broadcast mode is delivered by every process that
    is up."""
    if s.role[p] == DOWN or not quorum_is_up(s):
        return False
    if s.role[named] != LEADING or s.stage[named] != BROADCAST:
        return False
    return s.delivered_length[p] < len(s.history[named])


GOALS = (
    ProgressProperty("follows", "LADIS'08 4.2", waits_to_follow),
    ProgressProperty("joins", "LADIS'08 4, 4.2", waits_to_synchronize),
    ProgressProperty("commits", "LADIS'08 4.1", waits_to_commit),
    ProgressProperty("delivers", "LADIS'08 2, 4.1", waits_to_deliver),
)
