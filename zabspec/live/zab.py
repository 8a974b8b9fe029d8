"""State the progress properties of ZAB: DSN'11 claim 7, and the progress that its sketch of a proof goes through.

Claim 7 assumes a quorum of followers that are up, that they have elected one process, which is up, and messages
received in time. A function returns whether process p still waits.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State
from zabspec.live import connections
from zabspec.live.quorum import quorum_is_up, waits_to_follow
from zabspec.properties import ProgressProperty
from zabspec.zab import BROADCAST, DOWN, ESTABLISHED, LEADING

RULES = connections  # of its stable phase
YIELDS = "yield-to-promise"  # the reading under which nobody is locked out (docs/explanation/liveness.md)


def waits_to_join(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, a process that is up comes to Phase 3 with the leader named: it has delivered what f.2.2
    lets it deliver."""
    if s.role[p] == DOWN or not quorum_is_up(s):
        return False
    return s.leader[p] != named or s.phase[p] != BROADCAST


def waits_to_commit(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, every transaction of the established leader's log, proposed by it or begun with, is
    committed by it."""
    if p != named or not quorum_is_up(s):
        return False
    return s.role[p] == LEADING and s.stage[p] == ESTABLISHED and s.committed[p] < len(s.log[p])


def waits_to_deliver(s: State, p: Node, named: Node) -> bool:
    """While a quorum is up, every transaction of the established leader's log is delivered by every process that is
    up."""
    if s.role[p] == DOWN or not quorum_is_up(s):
        return False
    if s.role[named] != LEADING or s.stage[named] != ESTABLISHED:
        return False
    return s.delivered_length[p] < len(s.log[named])


def waits_to_serve(s: State, p: Node, named: Node) -> bool:
    """Smooth failure handling (LADIS'08 2): while a quorum is up, whichever, the process named serves: it is the
    established leader, its primary may broadcast, and all of its log is committed."""
    if p != named or not quorum_is_up(s):
        return False
    return s.role[p] != LEADING or s.stage[p] != ESTABLISHED or not s.ready[p] or s.committed[p] < len(s.log[p])


GOALS = (
    ProgressProperty("follows", "DSN'11 VI.D", waits_to_follow),
    ProgressProperty("joins", "DSN'11 VI.D", waits_to_join, holds_with=YIELDS),
    ProgressProperty("commits", "DSN'11 claim 7", waits_to_commit),
    ProgressProperty("delivers", "DSN'11 VI.D", waits_to_deliver, holds_with=YIELDS),
    ProgressProperty("serves", "LADIS'08 2", waits_to_serve, default=False),
)
