"""What goals of protocols with a leader ask of the processes: is there a quorum, and do they follow."""

from __future__ import annotations

from zabspec.language.lang import Node, State, is_quorum
from zabspec.worlds.actor import is_down

__all__ = ["quorum_is_up", "waits_to_follow"]


def quorum_is_up(s: State) -> bool:
    """A quorum is up: of followers in DSN'11's claim 7, f + 1 of 2f + 1 servers in LADIS'08's 2."""
    return is_quorum(s, {q for q in range(s.NODES) if not is_down(s, q)})


def waits_to_follow(s: State, p: Node, named: Node) -> bool:
    """A process that is up comes to follow the leader that the oracle, or election, names, or to be it."""
    return not is_down(s, p) and s.leader[p] != named
