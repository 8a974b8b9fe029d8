"""What the simulator's loop asks of a network; `datagrams` and `connections` are the two there are."""

from __future__ import annotations

from zabspec.language.lang import Node, State


def begin(s: State, p: Node) -> None:
    """Process p starts for the first time."""


def deliver_due(s: State) -> None:
    """Deliver the mail that is due, in the heap's order."""


def fire_timers(s: State, p: Node) -> None:
    """What time does to process p in this tick."""


def link_cut(s: State, a: Node, b: Node) -> None:
    """From now on nothing that a sends arrives at b."""


def link_healed(s: State, a: Node, b: Node) -> None:
    """What a sends arrives at b again."""


def lose_link(s: State, f: Node, l: Node) -> None:
    """The connection of follower f to leader l is lost."""


def links_of_crashed(s: State, p: Node) -> None:
    """The connections of process p, which crashes, close."""


def time_out(s: State, p: Node) -> None:
    """Process p has waited too long, whatever its timers say."""


def serves(s: State, p: Node) -> bool:
    """Whether the world lets process p, which is up, abcast."""
    return True
