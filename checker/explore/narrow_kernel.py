"""What the explorer's kernel does besides when it leaves out states, in the kernel language: ample sets
(docs/reduction.md).

Of a state in which some process is on its own, so that no step of another has to do with its steps, those steps are
enough, if one of them changes nothing that a property of states reads, and if each of them leaves less to do for
processes on their own. Whether that is so is seen as they are taken; if not, the others are taken as well.
"""

from __future__ import annotations

from checker.explore.kernel import R_APART
from checker.explore.sleep_kernel import ASLEEP
from zabspec.language.lang import Bytes, State, Words


def put_first(parent: State, steps: Words, report: Words) -> int:
    """Put the steps of a process on its own at the front of the list; returns how many they are, 0 if there is none
    or if they are all there is.

    A state of which the world does not say that independent steps may change places is noted: there is none in a
    search that is to be believed.
    """
    if not steps_commute(parent):
        report[R_APART] = 1
        return 0
    for p in range(NODES):
        if is_on_its_own(parent, p):
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
    """Put the steps of a process at the front, all others behind them."""
    front = 0
    for k in range(steps[0]):
        word = steps[1 + k]
        if ((word >> 16) & 255) == p:
            steps[1 + k] = steps[1 + front]
            steps[1 + front] = word
            front = front + 1


def wake(steps: Words, work: Bytes) -> None:
    """No step sleeps in this state, and none does behind it that did not before it."""
    awake = words_at(work, SLEEP_AT)
    awake[0] = 0
    awake[1] = 0
    for k in range(steps[0]):
        steps[1 + k] = steps[1 + k] & (ASLEEP - 1)
