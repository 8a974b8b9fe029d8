"""Define what progress properties of protocols with a leader share: whether a quorum is up, and follows."""

from __future__ import annotations

from zabspec.language.python.lang import Node, State, is_quorum
from zabspec.worlds.actor import is_down


def quorum_is_up(s: State) -> bool:
    """Return whether a quorum is up: followers in DSN'11's claim 7, f + 1 of 2f + 1 servers in LADIS'08's 2."""
    return is_quorum(s, {q for q in range(s.NODES) if not is_down(s, q)})


def waits_to_follow(s: State, p: Node, named: Node) -> bool:
    """A process that is up comes to follow the leader that the oracle, or election, names, or to be it."""
    return not is_down(s, p) and s.leader[p] != named
