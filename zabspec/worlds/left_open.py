"""Connections of a text that may follow another, or nobody, before it has closed its end. These functions stand in for
those of `connections` of the same name, for texts that declare their own budgets.

A process that changes `role` or `leader` without `disconnect` (by an assignment, or by `forget` where they are
volatile) has its end open still, and does not read it. It has one connection at a time, and of one iteration the
messages (II: "once we close a connection and establish a new one, we guarantee that a process only has messages from a
single iteration"). So it closes that end when it opens another connection, or crashes; and what was sent over it is
read over it alone.

A text that is bounded by its world is reduced, by what these functions read and write too. Where it is shown to close
its end first (`zabspec/authoring/closing.py`), these do what the shorter ones of `connections` do, and it has those."""

from __future__ import annotations

from zabspec.language.lang import Node, State, Words
from zabspec.worlds.actor import LEADING, on_crash, went_down
from zabspec.worlds.connections import (
    FOLLOWER_OPEN,
    LEADER_OPEN,
    NONE,
    OPEN,
    close_accepted,
    disconnect,
    read_at_follower,
)


def connect(s: State, f: Node, l: Node) -> None:
    """Follower f opens a connection to l, and has one at a time: what it has left open closes."""
    leave(s, f)
    s.to_leader[f][l].clear()
    s.link[f][l] = OPEN


def leave(s: State, f: Node) -> None:
    """Process f closes its end of whatever it opened, also to one that it follows no longer."""
    s.to_follower[f].clear()
    for l in range(s.NODES):
        if s.link[f][l] != NONE and s.link[f][l] != LEADER_OPEN:  # f has its end
            if s.link[f][l] == FOLLOWER_OPEN or l == f or s.role[l] != LEADING:
                s.link[f][l] = NONE
                s.to_leader[f][l].clear()
            else:
                s.link[f][l] = LEADER_OPEN


def enabled_at_follower(s: State, out: Words, f: Node) -> None:
    """What can happen at the follower's end of its connection, if that is open: what is in flight to f may be of
    another, which it has left."""
    link = s.link[f][s.leader[f]]
    if link != NONE and link != LEADER_OPEN:
        read_at_follower(s, out, f)


def crash(s: State, p: Node) -> None:
    """Process p loses its connections, those that it has left open with them, and its volatile fields."""
    disconnect(s, p)
    leave(s, p)
    close_accepted(s, p)
    on_crash(s, p)
    went_down(s, p)
