"""Ample sets, in the kernel language: what the explorer's kernel adds to leave out states.

docs/explanation/reductions.md has the argument. If some process is ample in a state, so that its steps are independent
of every step of the others, those steps are sufficient, provided that one of them is invisible to state properties and
that each leaves less remaining work. This is determined while they are taken; if it fails, the state is expanded in
full.

The hooks that it replaces are declared, with their contracts, in `checker/explore/interface.py`. `AMPLE_AT` holds what
they share about the state being expanded.
"""

from __future__ import annotations

from checker.explore.interface import (
    AMPLE_AT, NODES, is_ample, is_free, remaining_work, steps_commute, visible_changed,
)  # fmt: skip
from checker.explore.kernel import R_APART
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import words_at

# Words at AMPLE_AT: how many steps at the front are the ample process's, the remaining work of the state, whether one
# of these steps was found not to reduce it (the expansion is full), and whether one was found to be invisible.
STEPS_OF_AMPLE, REMAINING, FULL, INVISIBLE = range(4)
AMPLE_WORDS = 4


def choose_ample(parent: State, steps: Words, work: Bytes, report: Words) -> None:
    """Put the steps of an ample process first."""
    ample = words_at(work, AMPLE_AT)
    ample[STEPS_OF_AMPLE] = put_ample_first(parent, steps, report)
    ample[REMAINING] = remaining_work(parent)
    ample[FULL] = 0
    ample[INVISIBLE] = 0


def note_ample_step(parent: State, child: State, k: int, work: Bytes) -> None:
    """Record whether a step of the ample process reduces the remaining work, and whether it is invisible."""
    ample = words_at(work, AMPLE_AT)
    if k < ample[STEPS_OF_AMPLE]:
        if remaining_work(child) >= ample[REMAINING]:
            ample[FULL] = 1
        if not visible_changed(parent, child):
            ample[INVISIBLE] = 1


def ample_suffices(k: int, work: Bytes) -> bool:
    """Return whether all steps of the ample process were taken, and turned out to be sufficient."""
    ample = words_at(work, AMPLE_AT)
    return k == ample[STEPS_OF_AMPLE] and ample[INVISIBLE] != 0 and ample[FULL] == 0


def put_ample_first(parent: State, steps: Words, report: Words) -> int:
    """Put the steps of an ample process at the front of the list; return their number.

    That is 0 if there is no ample process, or if its steps are all there are. A state in which the world does not
    declare that independent steps commute is recorded: the search then is not conclusive.
    """
    if not steps_commute(parent):
        report[R_APART] = 1
        return 0
    for p in range(NODES):
        if is_ample(parent, p):
            count = 0
            free = True
            for k in range(steps[0]):
                if ((steps[1 + k] >> 16) & 255) == p:
                    count = count + 1
                    free = free and is_free(parent, steps[1 + k])
            if free and count > 0 and count < steps[0]:
                to_front(steps, p)
                return count
    return 0


def to_front(steps: Words, p: int) -> None:
    """Move the steps of a process to the front of the list, before all others."""
    front = 0
    for k in range(steps[0]):
        word = steps[1 + k]
        if ((word >> 16) & 255) == p:
            steps[1 + k] = steps[1 + front]
            steps[1 + front] = word
            front = front + 1
