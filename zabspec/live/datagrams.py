"""The stable phase over datagrams of a text of somebody's own: no fault, and nothing is lost from then on.

Nobody is named: a text that elects says in its goals what it expects of that. It has no timers but its own steps.
"""

from __future__ import annotations

from zabspec.language.lang import Node, State
from zabspec.live.connections import stable_beat, stable_beat_due, stable_beats, stable_waits
from zabspec.worlds.steps import RECEIVE

__all__ = [
    "stable_beat", "stable_beat_due", "stable_beats", "stable_begins", "stable_give_up", "stable_gives_up",
    "stable_lasts",
    "stable_takes", "stable_waits",
]  # fmt: skip


def stable_begins(s: State, named: Node) -> bool:
    """The moment may be any."""
    return True


def stable_lasts(s: State, named: Node) -> bool:
    """Nothing is assumed that could end."""
    return True


def stable_takes(s: State, word: int, named: Node) -> bool:
    """Of what is possible, no message is received before those ahead of it, which would be lost."""
    if (word >> 24) & 255 == RECEIVE:
        return s.in_flight[word & 255].ahead == 0
    return True


def stable_gives_up(s: State, p: Node, named: Node) -> bool:
    """There is no timer."""
    return False


def stable_give_up(s: State, word: int) -> None:
    """Nothing."""
