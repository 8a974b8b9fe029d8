"""A rule that makes a circle of one step; in a file of its own, all of which is then a protocol's text."""

from __future__ import annotations

from zabspec.language.python.lang import Node, State


def stay_down(s: State, p: Node) -> None:
    """A recovery that changes nothing: a circle of the one step of a process on its own."""
