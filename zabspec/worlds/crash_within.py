"""Steps and those that break them off, as both worlds list and read them.

A step that a process takes is listed together with those in which it fails inside it, if the protocol has disks
(`worlds/storage.py`); of any other, `breaks_off` is False and nothing else is listed. The word of a step that breaks
off another has the process that fails, the kind of that other, and which of them it is: the number of an internal
step, the place of a message, and with another process at the other end of its connection that one besides, PLACES to
each. Of an election it has who fails, and the leader and the quorum as the election has them.
"""

from __future__ import annotations

from zabspec.language.lang import NOBODY, Node, State, Words
from zabspec.worlds.actor import begin_inside, may_fail_acting, may_fail_inside, may_fail_inside_with
from zabspec.worlds.step_annotations import emit, emit_alone, emit_which, peer_in, process_in
from zabspec.worlds.steps import ACTION, CRASHES_INSIDE, ELECT, ELECTIONS_BROKEN_OFF, PEERS, PLACES

# --- the steps that are possible -----------------------------------------------------------------


def offer(s: State, out: Words, kind: int, p: Node) -> None:
    """A step of p that has nobody at the other end."""
    emit_alone(out, kind, p)
    may_fail_inside(s, out, kind, p, 0)


def offer_action(s: State, out: Words, p: Node, k: int) -> None:
    """The k-th internal step of p."""
    emit_which(out, ACTION, p, k)
    may_fail_acting(s, out, p, k)


def offer_with(s: State, out: Words, kind: int, p: Node, q: Node, place: int) -> None:
    """A step of p that has q at the other end of a connection, where a message lies at a place."""
    emit(out, kind, p, q, place)
    may_fail_inside_with(s, out, kind, p, q, place)


def offer_receipt(s: State, out: Words, kind: int, p: Node, source: Node, place: int) -> None:
    """A step of p that receives the datagram at a place, which says itself who sent it."""
    emit(out, kind, p, source, place)
    may_fail_inside(s, out, kind, p, place)


def emit_inside_with(out: Words, kind: int, a: Node, b: int, peer: Node, place: int) -> None:
    """Append a step word of process a, of a kind that is another step broken off: b says of which kind, with whom at
    the other end of its connection, and at which place the message lies."""
    emit(out, kind, a, b, peer * PLACES + place)


def peer_inside(word: int) -> Node:
    """Who is at the other end, in a word that `emit_inside_with` made."""
    return (word & 255) // PLACES


def place_inside(word: int) -> int:
    """And the place of the message."""
    return (word & 255) % PLACES


# --- what a word says of the step that is broken off -------------------------------------------------


def kind_broken_off(word: int) -> int:
    """Its kind."""
    elects = (ELECTIONS_BROKEN_OFF >> ((word >> 24) & 255)) & 1 == 1
    return ELECT if elects else (word >> 8) & 255


def process_broken_off(word: int) -> Node:
    """The process that takes it: the one that fails, but in an election, of which it may be any."""
    elects = (ELECTIONS_BROKEN_OFF >> ((word >> 24) & 255)) & 1 == 1
    return peer_in(word) if elects else process_in(word)


def peer_broken_off(word: int) -> Node:
    """Who is at the other end of its connection; nobody, if it is of a kind that has nobody there."""
    return peer_inside(word) if (PEERS >> kind_broken_off(word)) & 1 == 1 else NOBODY


def which_broken_off(word: int) -> int:
    """Which of its kind it is: its operand c."""
    return place_inside(word) if (PEERS >> kind_broken_off(word)) & 1 == 1 else word & 255


def begin_broken_off(s: State, word: int) -> None:
    """A step begins that breaks off another: inside it the process fails that the word names first."""
    if (CRASHES_INSIDE >> s.event) & 1 == 1:
        s.crashes_left = s.crashes_left - 1
    s.event_process = process_in(word)
    begin_inside(s, s.event, process_in(word))
