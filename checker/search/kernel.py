"""Random walks in the explorer's own world, in the kernel language; compiled together with the program.

A walk is determined by its seed and its number. It draws how often steps that spend a budget occur, and a pace for each
process: of two processes that could act, the one with the larger pace mostly does. Now and then it draws both again.
Every state and every step of it is judged as the explorer judges them; a step in which a value would leave its range
ends it.

What the program binds is imported from `checker/explore/interface.py`.
"""

from __future__ import annotations

from checker.explore.interface import (
    COLOUR_AT, NODES, QUIET_AT, RING_AT, SPARE_AT, STEPS_AT, TOTAL, apply, enabled, judge, judge_step, judged_after,
    observed_changed, what_changed, witness, witness_step,
)  # fmt: skip
from checker.explore.kernel import asked_of, count_steps, each_alone
from zabspec.language.layout.error_sites import OF_AUTHOR
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import as_bytes, copy_bytes, state_at, words_at
from zabspec.language.layout.wrapping import shr, unsigned_rem, wrap_add, wrap_mul

# Words of the parameters of a call.
(
    A_SEED, A_FIRST, A_WALKS, A_STEPS, A_LIVE, A_LIVE_STEPS, A_WANT, A_WANT_STEPS, A_SPENDING, A_NOBODYS,
) = range(10)  # fmt: skip
ASKED = 16

# Words of its results.
(
    W_WALKS, W_TAKEN, W_ENDED, W_ERRORS, W_ERROR, W_MET, W_MET_STEPS, W_BROKEN, W_BROKEN_STEPS, W_LENGTH,
    W_LONGEST, W_FAILED,
) = range(12)  # fmt: skip
W_STEPS = 16  # 64 counters: how often each of the paper's steps was entered
W_EVENTS = 80  # 64 counters: steps of each kind
ANSWERED = 144

REST = 48  # about so many steps are taken between two draws of paces


def next_word(asked: Words) -> int:
    """Return the next random word of a walk."""
    asked[A_SEED] = wrap_add(asked[A_SEED], -7046029254386353131)
    z = asked[A_SEED]
    z = wrap_mul(z ^ shr(z, 30), -4658895280553007687)
    z = wrap_mul(z ^ shr(z, 27), -7723592293110705685)
    return z ^ shr(z, 31)


def draw_paces(asked: Words, paces: Words) -> None:
    """Draw how often faults happen, and the pace of each process: powers of two."""
    r = next_word(asked)
    paces[0] = 1 << (r & 7)
    r = r >> 3
    for p in range(NODES):
        paces[1 + p] = 8 << (2 * (r & 3))
        r = r >> 2
        if (p & 15) == 15:
            r = next_word(asked)


def weight_of_step(word: int, spending: int, nobodys: int, paces: Words) -> int:
    """Return the relative probability of a step."""
    kind = (word >> 24) & 255
    if (shr(spending, kind) & 1) == 1:
        return paces[0]
    if (shr(nobodys, kind) & 1) == 1:
        return 8
    return paces[1 + ((word >> 16) & 255)]


def picked_step(asked: Words, steps: Words, paces: Words) -> int:
    """Draw one of the possible steps."""
    total = 0
    for k in range(steps[0]):
        total = total + weight_of_step(steps[1 + k], asked[A_SPENDING], asked[A_NOBODYS], paces)
    left = unsigned_rem(next_word(asked), total)
    k = 0
    left = left - weight_of_step(steps[1], asked[A_SPENDING], asked[A_NOBODYS], paces)
    while left >= 0:
        k = k + 1
        left = left - weight_of_step(steps[1 + k], asked[A_SPENDING], asked[A_NOBODYS], paces)
    return steps[1 + k]


def drawn_alternative(before: State, s: State, word: int, asked: Words) -> int:
    """Draw one of the alternatives of a step, each with the same probability; `s` is overwritten.

    A choice may depend on an earlier one. So alternatives differ in how many there seem to be, and not every number is
    one.
    """
    alternatives = nth_alternative(before, s, word, -1)
    return nth_alternative(before, s, word, unsigned_rem(next_word(asked), alternatives))


def nth_alternative(before: State, s: State, word: int, wanted: int) -> int:
    """Return the number of the alternative of a step that has `wanted` before it; of -1, how many there are."""
    met = 0
    choice = 0
    choices = 1
    while choice < choices:
        copy_bytes(as_bytes(s), as_bytes(before), TOTAL)
        apply(s, word | (choice << 32))
        choices = max(choices, s.choices)
        if s.error != 0 or choice < s.choices:
            if met == wanted:
                return choice
            met = met + 1
        choice = choice + 1
    return met


def one_walk(start: State, work: Bytes, asked: Words, path: Words, answer: Words, number: int) -> bool:
    """Walk once; return whether it found what ends the call: a violation."""
    s = state_at(work, RING_AT)
    before = state_at(work, SPARE_AT)
    steps = words_at(work, STEPS_AT)
    paces = words_at(work, COLOUR_AT)
    copy_bytes(as_bytes(s), as_bytes(start), TOTAL)
    asked[A_SEED] = wrap_mul(number ^ shr(number, 29), -4658895280553007687)
    draw_paces(asked, paces)
    length = 0
    while length < asked[A_STEPS]:
        s.error = 0
        enabled(s, steps)
        if s.error != 0:
            answer[W_LENGTH] = length
            return note_walk_error(answer, s.error)
        if steps[0] == 0:
            answer[W_ENDED] = answer[W_ENDED] + 1
            return False
        if unsigned_rem(next_word(asked), REST) == 0:
            draw_paces(asked, paces)
        word = picked_step(asked, steps, paces)
        copy_bytes(as_bytes(before), as_bytes(s), TOTAL)
        apply(s, word)
        if s.choices > 1 and s.error == 0:
            word = word | (drawn_alternative(before, s, word, asked) << 32)
            copy_bytes(as_bytes(s), as_bytes(before), TOTAL)
            apply(s, word)
        path[length] = word
        length = length + 1
        if s.error != 0:
            answer[W_LENGTH] = length
            return note_walk_error(answer, s.error)
        answer[W_TAKEN] = answer[W_TAKEN] + 1
        answer[W_LONGEST] = max(answer[W_LONGEST], length)
        answer[W_EVENTS + s.event] = answer[W_EVENTS + s.event] + 1
        count_steps(answer, W_STEPS, s.steps)
        if judged_on_walk(before, s, work, asked, answer):
            answer[W_LENGTH] = length
            return True
    return False


def judged_on_walk(before: State, s: State, work: Bytes, asked: Words, answer: Words) -> bool:
    """Judge a step and the state after it, and record the premises that they meet.

    Return whether anything is violated.
    """
    changed = observed_changed(before, s)
    asking = asked_of(s, judged_after(what_changed(s)), words_at(work, QUIET_AT))
    broken = judge(s, asked[A_LIVE] & asking, changed)
    failed = False
    if s.error != 0:  # a property reads past an end
        failed = note_walk_error(answer, s.error)
        broken = each_alone(s, asked[A_LIVE] & asking, changed, False)
        s.error = 0
    broken_steps = judge_step(before, s, asked[A_LIVE_STEPS])
    if before.error != 0 or s.error != 0:
        failed = note_walk_error(answer, before.error if before.error != 0 else s.error) or failed
        broken_steps = 0
        before.error = 0
        s.error = 0
    want = asked[A_WANT] & (-1 ^ answer[W_MET]) & asking
    if want != 0:
        met = witness(s, want, changed)
        if s.error == 0:
            answer[W_MET] = answer[W_MET] | met
        s.error = 0
    want = asked[A_WANT_STEPS] & (-1 ^ answer[W_MET_STEPS])
    if want != 0:
        met = witness_step(before, s, want)
        if s.error == 0 and before.error == 0:
            answer[W_MET_STEPS] = answer[W_MET_STEPS] | met
        s.error = 0
        before.error = 0
    answer[W_BROKEN] = broken
    answer[W_BROKEN_STEPS] = broken_steps
    return (broken | broken_steps) != 0 or failed


def note_walk_error(answer: Words, error: int) -> bool:
    """Record a run-time error, which ends a walk; return whether it is of the author, and so a violation."""
    answer[W_ERRORS] = answer[W_ERRORS] + 1
    answer[W_ERROR] = error
    if (error & OF_AUTHOR) == 0:
        return False
    answer[W_FAILED] = error
    return True


def random_walks(start: State, work: Bytes, asked: Words, path: Words, answer: Words) -> int:
    """Walk repeatedly from a state; return the number of walks: fewer than requested, if the last found something.

    Args:
        start: the state they begin in.
        asked: the parameters (A_...). A_FIRST is the number of the first; A_SEED is overwritten.
        path: the steps of the last walk.
        answer: the results (W_...), added to what is there.
    """
    done = 0
    while done < asked[A_WALKS]:
        found = one_walk(start, work, asked, path, answer, wrap_add(asked[A_FIRST], done))
        done = done + 1
        answer[W_WALKS] = answer[W_WALKS] + 1
        if found:
            return done
    return done
