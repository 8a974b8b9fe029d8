"""Override functions of `connections` for protocols that may change their leader before closing their end.

This is for protocols that declare their own budgets. A process that changes `role` or `leader` without `disconnect` (by
an assignment, or by `forget` where they are volatile) has its end open still, and does not read it. It has one
connection at a time, and of one iteration the messages (II: "once we close a connection and establish a new one, we
guarantee that a process only has messages from a single iteration"). So it closes that end when it opens another
connection, or crashes; and what was sent over a connection is read over that one only.

A protocol that is bounded by its world is reduced by the reads and writes of these functions too. Where it is shown to
close its end first (`zabspec/authoring/closing.py`), the shorter functions of `connections` do the same and are used.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State, Words
from zabspec.worlds.actor import LEADING, on_crash, went_down
from zabspec.worlds.connections import (
    FOLLOWER_OPEN,
    LEADER_OPEN,
    NONE,
    OPEN,
    close_accepted,
    close_down,
    close_up,
    disconnect,
    read_at_follower,
    take_stale,
)


def connect(s: State, f: Node, l: Node) -> None:
    """Open a connection of follower f to l, after closing the one that it has left open."""
    leave(s, f)
    close_up(s, f, l)
    take_stale(s, f, l)
    s.link[f][l] = OPEN


def leave(s: State, f: Node) -> None:
    """Close process f's end of whatever it opened, also to a process that it no longer follows."""
    for l in range(s.NODES):
        if s.link[f][l] != NONE and s.link[f][l] != LEADER_OPEN:  # f has its end
            close_down(s, f, l)
            if s.link[f][l] == FOLLOWER_OPEN or l == f or s.role[l] != LEADING:
                s.link[f][l] = NONE
                close_up(s, f, l)
            else:
                s.link[f][l] = LEADER_OPEN
    s.to_follower[f].clear()


def enabled_at_follower(s: State, out: Words, f: Node) -> None:
    """List the steps at the follower's end of its connection, if that is open.

    What is in flight to f may be from another process, which it has left.
    """
    link = s.link[f][s.leader[f]]
    if link != NONE and link != LEADER_OPEN:
        read_at_follower(s, out, f)


def crash(s: State, p: Node) -> None:
    """Crash process p: it loses its connections, also those it has left open, and its volatile fields."""
    disconnect(s, p)
    leave(s, p)
    close_accepted(s, p)
    on_crash(s, p)
    went_down(s, p)
