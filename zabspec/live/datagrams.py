"""Define the stable phase over datagrams for user protocols: no fault, and no further loss.

No process is named: a protocol with elections states in its progress properties what it expects of them. It has no
timers but its own steps.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State
from zabspec.live.connections import stable_beat, stable_beat_due, stable_beats, stable_waits
from zabspec.worlds.steps import RECEIVE

__all__ = [
    "stable_beat", "stable_beat_due", "stable_beats", "stable_begins", "stable_give_up", "stable_gives_up",
    "stable_lasts",
    "stable_takes", "stable_waits",
]  # fmt: skip


def stable_begins(s: State, named: Node) -> bool:
    """Return whether the stable phase may begin here: always."""
    return True


def stable_lasts(s: State, named: Node) -> bool:
    """Return whether the assumptions still hold: there are none that could end."""
    return True


def stable_takes(s: State, word: int, named: Node) -> bool:
    """Return whether a possible step may be taken: no receipt overtakes messages ahead, which would be lost."""
    if (word >> 24) & 255 == RECEIVE:
        return s.in_flight[word & 255].ahead == 0
    return True


def stable_gives_up(s: State, p: Node, named: Node) -> bool:
    """Return False: there is no timer."""
    return False


def stable_give_up(s: State, word: int) -> None:
    """Do nothing."""
