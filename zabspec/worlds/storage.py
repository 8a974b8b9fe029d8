"""Define disks: what processes write there, what they force, and what is left when power is lost.

A field on a disk (`on_disk`) is written like any other. A crash of the process keeps all that it wrote. Loss of power
keeps what it forced, and of what it wrote since any prefix, in the order of the writes: each prefix is explored. One
write is one statement that changes such a field.

For each process the world keeps images of its fields on the disk: image 0 is what is forced, image k what is there
after the k-th write since. `unforced` is the number of such writes; unused images are cleared, so that states differ in
them only where it matters, and once no power can be lost any more there are none. In an outage all processes lose power
(`outages.py`).

Processes also fail within a step. What lasts of a step are its writes, what it forces, what it sends and what it shows;
a process may fail at the beginning, and after each of these. The handler then runs on to its end, and nothing that it
does from there lasts: its fields are put back to what they were, and what it sends or shows, the connections that it
opens or closes, are not sent, shown, opened or closed. A run-time error that it meets there is dropped, and what it
chooses there is no alternative: machine code takes the error back (`drop_rest`), CPython does not pass it on
(`reference.load`). Which of these points it is, is an alternative of the step, as `choose` has them. The number of
alternatives is kept up to date as the step runs, so that they are all listed when one meets an error. Of an election,
which is one step of several processes, one fails; the others do their part.

The code is the explorer's and the simulator's: `model.py` of either puts it over its world for a protocol with disks.
"""

from __future__ import annotations

from zabspec.language.python.lang import Node, State, Words
from zabspec.worlds.actor import crashes_spent, outages_spent, power_losses_spent
from zabspec.worlds.crash_within import emit_inside_with
from zabspec.worlds.step_annotations import emit, emit_inside, emit_which
from zabspec.worlds.steps import (
    ACTION,
    BROKEN_OFF,
    CRASH_ELECTING,
    CRASH_INSIDE,
    OUTAGE_INSIDE,
    POWER_LOSS,
    POWER_LOSS_ELECTING,
    POWER_LOSS_INSIDE,
)

# How a process fails inside a step.
BY_CRASH, BY_POWER_LOSS, BY_OUTAGE = 1, 2, 3
# The functions in which a world lets a process act: one that has failed meets no run-time error in them.
HANDLERS = (
    "on_message", "on_timer", "receive_as_leader", "receive_as_follower", "on_follower_lost", "on_leader_lost",
    "on_timeout", "on_oracle", "on_elected", "on_follow", "on_abcast", "on_act", "on_recovery",
)  # fmt: skip


def fill_power_losses(s: State) -> None:
    """Fill the budget of power losses."""
    s.power_losses_left = s.POWER_LOSSES


# --- what the world provides to handlers ---------------------------------------------------------


def wrote(s: State, p: Node) -> None:
    """Record that a statement has written a lasting field of p: a write, if the field is on the disk."""
    if lasts(s):
        if imaged(s) and image_differs(s, p, s.unforced[p]):
            s.unforced[p] = s.unforced[p] + 1
            keep_image(s, p, s.unforced[p])
        pass_point(s)


def force(s: State, p: Node) -> None:
    """Force all that p has written to its disk."""
    if lasts(s):
        if imaged(s):
            keep_image(s, p, 0)
            clear_images(s, p, 1)
        pass_point(s)


def choose(s: State, alternatives: int) -> int:
    """Return one of 0..alternatives-1; all are explored.

    What a step chooses first is the lowest digit of its alternative; in a step that breaks off, the rest of the digit
    after the points passed so far. A process that has failed chooses no more.
    """
    most = max(alternatives, 0)  # of fewer than one there is none: it divides by zero
    if s.fails == 0:
        whole = s.choice // s.choices % most
        s.choices = s.choices * most
        return whole
    if not lasts(s):
        return 0
    s.choices = max(s.choices, s.choice - s.options * s.index + s.options * most)
    s.options = s.options * most
    chosen = s.index % most
    s.index = s.index // most
    return chosen


# --- images --------------------------------------------------------------------------------------


def imaged(s: State) -> bool:
    """Return whether power may still be lost, or is in this step, so that it matters what is forced."""
    return power_is_lost(s) or s.fails >= BY_POWER_LOSS


def power_is_lost(s: State) -> bool:
    """Return whether power may still be lost."""
    return s.power_losses_left > 0 or outages_now(s) > 0


def clear_images(s: State, p: Node, first: int) -> None:
    """Clear the images from one on."""
    for k in range(s.IMAGES):
        if k >= first:
            clear_image(s, p, k)
    s.unforced[p] = 0


def came_back(s: State, p: Node) -> None:
    """Make what came back from the disk of p durable; once no power can be lost any more, clear all images."""
    clear_images(s, p, 1)
    keep_image(s, p, 0)
    if not power_is_lost(s):
        for q in range(s.NODES):
            clear_images(s, q, 0)


# --- failing between steps -----------------------------------------------------------------------


def may_fail(s: State, out: Words, p: Node) -> None:
    """List the power losses of process p, one for each prefix of what it has not forced."""
    if s.power_losses_left > 0:
        for k in range(s.IMAGES):
            if k <= s.unforced[p]:
                emit_which(out, POWER_LOSS, p, k)


def lose_power(s: State, p: Node, kept: int) -> None:
    """Let process p lose power; of what it has not forced the first writes are kept."""
    s.power_losses_left = s.power_losses_left - 1
    take_image(s, p, kept)
    came_back(s, p)


# --- outages: outages.py replaces these functions, where there may be any ------------------------


def outages_now(s: State) -> int:
    """Return how many outages are left."""
    return 0


def begin_outage(s: State) -> None:
    """Spend an outage."""


def ways_to_keep(s: State) -> int:
    """Return in how many ways processes keep first writes of what they have not forced, in an outage."""
    return 1


def lose_all(s: State, kept: int) -> None:
    """Let all processes lose power, in one of the ways of `ways_to_keep`."""


def crash_others(s: State, p: Node) -> None:
    """Crash all processes that are up, except p."""


# --- failing inside a step -----------------------------------------------------------------------


def breaks_off(kind: int) -> bool:
    """Return whether a kind of step is another one within which its process fails."""
    return (BROKEN_OFF >> kind) & 1 == 1


def may_fail_inside(s: State, out: Words, base: int, p: Node, which: int) -> None:
    """List the failures within a possible step of p."""
    if s.crashes_left > 0:
        emit_inside(out, CRASH_INSIDE, p, base, which)
    if s.power_losses_left > 0:
        emit_inside(out, POWER_LOSS_INSIDE, p, base, which)
    if outages_now(s) > 0:
        emit_inside(out, OUTAGE_INSIDE, p, base, which)


def may_fail_inside_with(s: State, out: Words, base: int, p: Node, peer: Node, place: int) -> None:
    """List the failures within a step that has another process at the other end of its connection."""
    if s.crashes_left > 0:
        emit_inside_with(out, CRASH_INSIDE, p, base, peer, place)
    if s.power_losses_left > 0:
        emit_inside_with(out, POWER_LOSS_INSIDE, p, base, peer, place)
    if outages_now(s) > 0:
        emit_inside_with(out, OUTAGE_INSIDE, p, base, peer, place)


def may_fail_acting(s: State, out: Words, p: Node, k: int) -> None:
    """List the failures within the k-th internal step of p, if the budgets suffice for that step and one more."""
    if s.crashes_left > crashes_spent(s, k):
        emit_inside(out, CRASH_INSIDE, p, ACTION, k)
    if s.power_losses_left > power_losses_spent(s, k):
        emit_inside(out, POWER_LOSS_INSIDE, p, ACTION, k)
    if outages_now(s) > outages_spent(s, k):
        emit_inside(out, OUTAGE_INSIDE, p, ACTION, k)


def may_fail_electing(s: State, out: Words, l: Node, quorum: int) -> None:
    """List the failures of the leader, or one of the quorum, within the election."""
    for p in range(s.NODES):
        if p == l or (quorum >> p) & 1 == 1:
            if s.crashes_left > 0:
                emit(out, CRASH_ELECTING, p, l, quorum)
            if s.power_losses_left > 0:
                emit(out, POWER_LOSS_ELECTING, p, l, quorum)


def begin_inside(s: State, kind: int, p: Node) -> None:
    """Begin a step within which p fails."""
    if kind == POWER_LOSS_INSIDE or kind == POWER_LOSS_ELECTING:
        s.fails = BY_POWER_LOSS
        s.power_losses_left = s.power_losses_left - 1
    elif kind == OUTAGE_INSIDE:
        s.fails = BY_OUTAGE
        begin_outage(s)
    else:
        s.fails = BY_CRASH
    s.failing = p
    s.failed = 0
    s.index = s.choice
    s.options = 1
    if kind == CRASH_INSIDE or kind == POWER_LOSS_INSIDE or kind == OUTAGE_INSIDE:
        its_turn_in(s, p)


def its_turn_in(s: State, p: Node) -> None:
    """Let process p do its part of the step; it may fail before it does anything."""
    drop_rest(s)
    s.turn_of = p
    pass_point(s)


def lasts(s: State) -> bool:
    """Return whether effects last now: they are not those of a process that has failed."""
    return s.failed == 0 or s.turn_of != s.failing


vars(lasts)["handlers"] = HANDLERS  # where CPython drops run-time errors (`reference.load`)


def pass_point(s: State) -> None:
    """Pass a point after a lasting effect, at which the process may fail.

    It may fail of power loss with each prefix of what it has not forced.
    """
    if s.fails > 0 and s.failed == 0 and s.turn_of == s.failing:
        ways = ways_of(s, s.failing)
        if s.index < ways:
            s.choices = max(s.choices, s.choice + s.options + 1)
            s.failed = 1
            s.kept = s.index
            s.error_then = s.error
            s.steps_then = s.steps
            remember(s, s.failing)
        else:
            s.index = s.index - ways


def ways_of(s: State, p: Node) -> int:
    """Return in how many ways a failure of process p keeps first writes of what is not forced."""
    if s.fails == BY_OUTAGE:
        return ways_to_keep(s)
    return s.unforced[p] + 1 if s.fails == BY_POWER_LOSS else 1


def drop_rest(s: State) -> None:
    """Undo the annotations that a process made after it had failed.

    An error that it met then did not happen, and it entered no step of the paper.
    """
    if s.failed == 1 and s.turn_of == s.failing:
        s.error = s.error_then
        s.steps = s.steps_then


def end_inside(s: State, p: Node) -> None:
    """Put the fields of p back to what they were where it failed, after its handler has ended.

    Past the last point p fails at the end, when the step is a whole one, and there are no more alternatives of what it
    chose: one of a larger number is no alternative of its own.
    """
    drop_rest(s)
    if s.failed == 0:
        if s.index == 0:
            s.choices = max(s.choices, s.choice + 1)
        s.kept = ways_of(s, p) - 1
        remember(s, p)
    put_back(s, p)
    by = s.fails
    s.fails = 0
    s.failed = 0
    if by == BY_POWER_LOSS:
        if s.kept < s.unforced[p]:
            take_image(s, p, s.kept)
        came_back(s, p)
    elif by == BY_OUTAGE:
        lose_all(s, s.kept)
        crash_others(s, p)


# --- what follows from the fields: `disks.py` generates code that overrides these functions ------------


def keep_image(s: State, p: Node, k: int) -> None:
    """Copy the fields of p to image k."""


def take_image(s: State, p: Node, k: int) -> None:
    """Copy image k to the fields of p."""


def clear_image(s: State, p: Node, k: int) -> None:
    """Clear image k."""


def image_differs(s: State, p: Node, k: int) -> bool:
    """Return whether the fields of p differ from image k."""
    return False


def remember(s: State, p: Node) -> None:
    """Remember all fields of p, within the step."""


def put_back(s: State, p: Node) -> None:
    """Restore the remembered fields of p."""
