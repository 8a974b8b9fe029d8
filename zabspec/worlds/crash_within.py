"""Encode steps within which their process fails, as both worlds list and read them.

A step of a process is listed together with those in which the process fails within it, if the protocol has disks
(`worlds/storage.py`); otherwise `breaks_off` is False and nothing else is listed. The word of a step that breaks off
another has the process that fails, the kind of the other step, and which of that kind it is: the number of an internal
step, or the place of a message; with another process at the other end of its connection also that process, PLACES to
each. Of an election it has the process that fails, and the leader and the quorum as the election has them.
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State, Words
from zabspec.worlds.actor import begin_inside, may_fail_acting, may_fail_inside, may_fail_inside_with
from zabspec.worlds.step_annotations import emit, emit_alone, emit_which, peer_in, process_in
from zabspec.worlds.steps import ACTION, CRASHES_INSIDE, ELECT, ELECTIONS_BROKEN_OFF, PEERS, PLACES

# --- the steps that are possible -----------------------------------------------------------------


def offer(s: State, out: Words, kind: int, p: Node) -> None:
    """List a step of p that has no process at the other end."""
    emit_alone(out, kind, p)
    may_fail_inside(s, out, kind, p, 0)


def offer_action(s: State, out: Words, p: Node, k: int) -> None:
    """List the k-th internal step of p."""
    emit_which(out, ACTION, p, k)
    may_fail_acting(s, out, p, k)


def offer_with(s: State, out: Words, kind: int, p: Node, q: Node, place: int) -> None:
    """List a step of p with q at the other end of a connection, about the message at a place."""
    emit(out, kind, p, q, place)
    may_fail_inside_with(s, out, kind, p, q, place)


def offer_receipt(s: State, out: Words, kind: int, p: Node, source: Node, place: int) -> None:
    """List a step of p that receives the datagram at a place, which names its sender itself."""
    emit(out, kind, p, source, place)
    may_fail_inside(s, out, kind, p, place)


def emit_inside_with(out: Words, kind: int, a: Node, b: int, peer: Node, place: int) -> None:
    """Append the word of a step of process a that breaks off another.

    b is the kind of the other step, `peer` the process at the other end of its connection, and `place` the place of its
    message.
    """
    emit(out, kind, a, b, peer * PLACES + place)


def peer_inside(word: int) -> Node:
    """Return the process at the other end, from a word of `emit_inside_with`."""
    return (word & 255) // PLACES


def place_inside(word: int) -> int:
    """Return the place of the message, from a word of `emit_inside_with`."""
    return (word & 255) % PLACES


# --- what a word says of the step that is broken off -------------------------------------------------


def kind_broken_off(word: int) -> int:
    """Return the kind of the broken-off step."""
    elects = (ELECTIONS_BROKEN_OFF >> ((word >> 24) & 255)) & 1 == 1
    return ELECT if elects else (word >> 8) & 255


def process_broken_off(word: int) -> Node:
    """Return the process that takes the broken-off step: the one that fails, but for an election its leader."""
    elects = (ELECTIONS_BROKEN_OFF >> ((word >> 24) & 255)) & 1 == 1
    return peer_in(word) if elects else process_in(word)


def peer_broken_off(word: int) -> Node:
    """Return the process at the other end of the broken-off step's connection; nobody, if its kind has none."""
    return peer_inside(word) if (PEERS >> kind_broken_off(word)) & 1 == 1 else NOBODY


def which_broken_off(word: int) -> int:
    """Return operand c of the broken-off step, which tells it from others of its kind."""
    return place_inside(word) if (PEERS >> kind_broken_off(word)) & 1 == 1 else word & 255


def begin_broken_off(s: State, word: int) -> None:
    """Begin a step that breaks off another: the process named first in the word fails within it."""
    if (CRASHES_INSIDE >> s.event) & 1 == 1:
        s.crashes_left = s.crashes_left - 1
    s.event_process = process_in(word)
    begin_inside(s, s.event, process_in(word))
