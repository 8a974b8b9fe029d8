"""Declare what the simulator's loop needs of a network; `datagrams` and `connections` are the two networks."""

from __future__ import annotations

from zabspec.language.python.lang import Node, State


def begin(s: State, p: Node) -> None:
    """Start process p for the first time."""


def deliver_due(s: State) -> None:
    """Deliver the mail that is due, in the heap's order."""


def fire_timers(s: State, p: Node) -> None:
    """Fire the timers of process p in this tick."""


def link_cut(s: State, a: Node, b: Node) -> None:
    """Cut the link from a to b."""


def link_healed(s: State, a: Node, b: Node) -> None:
    """Heal the link from a to b."""


def lose_link(s: State, f: Node, l: Node) -> None:
    """Lose the connection of follower f to leader l."""


def links_of_crashed(s: State, p: Node) -> None:
    """Close the connections of process p, which crashes."""


def time_out(s: State, p: Node) -> None:
    """Let process p time out, whatever its timers say."""


def serves(s: State, p: Node) -> bool:
    """Return whether the world lets process p, which is up, abcast."""
    return True
