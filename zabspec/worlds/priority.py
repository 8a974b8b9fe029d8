"""Give steps priority: a step that may as well be taken first is, and nothing else is possible before it.

These functions replace those of `connections` of the same name, where a protocol declares that a step may be taken
first (`actor.py`).

Why nothing is lost. Let t be such a step of a process p in a state s, and w a run from s without t. No other process
sees what t does, and t sends nothing; so t may be taken before w, and the rest of w is as it was, up to the first step
of w, if there is one, that ends the term of p (it crashes, or learns of a loss): after that, the states with and
without t are the same. If there is none, they differ by t alone, of which no property sees anything that it has not
seen in s. So what w violates, t and w violate. Nothing is added either: every run is one of the protocol without this
order.

None of this is derived from the protocol: that a step is one of these is its author's promise. So a verdict names the
hooks that are in force (`Configuration.merged_by_promise`), and `--reduction none` explores without them.

A connection may be lost when its first end learns of it. This end then does not receive what the other end sent
meanwhile, as it learns of the loss. The other end may leave unread what this end sent, as it will learn of the loss
too.
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State, Words
from zabspec.worlds.actor import (
    ELECTION,
    LEADING,
    admits_first,
    hears_first,
    is_changed_by_crash,
    is_down,
    leaves_first,
    loses_when_learned,
    may_receive,
    may_vote,
    receivable,
    takes_first,
)
from zabspec.worlds.connections import FIFO, FOLLOWER_OPEN, LEADER_OPEN, LOST, NONE, OPEN, list_all, may_join
from zabspec.worlds.crash_within import offer_with
from zabspec.worlds.step_annotations import any_step, emit, emit_alone, no_steps
from zabspec.worlds.steps import (
    CRASH,
    FOLLOWER_LEARNS,
    FOLLOWER_LOSES,
    JOIN,
    LEADER_LOSES,
    LOSE_CONNECTION,
    TO_FOLLOWER,
    TO_LEADER,
)

# The order of steps in a protocol: where it declares none, these functions do not exist.
ORDERING = frozenset(
    {"takes_first", "hears_first", "leaves_first", "admits_first", "loses_when_learned", "is_changed_by_crash"}
)

ANY_NETWORK = frozenset({"loses_when_learned", "is_changed_by_crash"})  # the others are for FIFO channels


def enabled(s: State, out: Words) -> None:
    """List every step that may as well be taken first; if there is none, every step."""
    no_steps(out)
    if s.NETWORK == FIFO:
        list_first(s, out)
    if not any_step(out):
        list_all(s, out)


def list_first(s: State, out: Words) -> None:
    """List the steps that may as well be taken first."""
    for p in range(s.NODES):
        if not is_down(s, p) and s.role[p] != ELECTION:
            if s.leader[p] != NOBODY:
                first_at_follower(s, out, p)
            if s.role[p] == LEADING:
                first_at_leader(s, out, p)


def first_at_follower(s: State, out: Words, f: Node) -> None:
    """List the steps of a follower that may as well be taken first."""
    l = s.leader[f]
    if may_receive(s, f):
        if len(s.to_follower[f]) > 0:
            if takes_first(s, f, s.to_follower[f][0]):
                offer_with(s, out, TO_FOLLOWER, f, l, 0)
        elif s.link[f][l] == FOLLOWER_OPEN and leaves_first(s, f):
            offer_with(s, out, FOLLOWER_LEARNS, f, l, 0)


def first_at_leader(s: State, out: Words, l: Node) -> None:
    """List the steps of a leader that may as well be taken first, and the joins that have to precede them."""
    hears = False
    for f in range(s.NODES):
        link = s.link[f][l]
        if link == OPEN or link == LOST or link == LEADER_OPEN:
            if len(s.to_leader[f][l]) > 0:
                if receivable(s, l, f, s.to_leader[f][l][0]) and hears_first(s, l, f, s.to_leader[f][l][0]):
                    offer_with(s, out, TO_LEADER, l, f, 0)
                    hears = True
    if hears and admits_first(s, l) and may_join(s, l):
        for p in range(s.NODES):
            if not is_down(s, p) and s.role[p] == ELECTION and s.link[p][l] == NONE and may_vote(s, p):
                offer_with(s, out, JOIN, p, l, 0)


def offer_loss(s: State, out: Words, f: Node, l: Node) -> None:
    """List the loss of the open connection of f to l, by the end that learns of it first."""
    if loses_when_learned(s) and s.role[l] == LEADING:
        if may_receive(s, f):
            emit(out, FOLLOWER_LOSES, f, l, 0)
        emit(out, LEADER_LOSES, l, f, 0)
    else:
        emit(out, LOSE_CONNECTION, f, l, 0)


def offer_crash(s: State, out: Words, p: Node) -> None:
    """List the crash of process p, if it has any effect."""
    if is_changed_by_crash(s, p):
        emit_alone(out, CRASH, p)
