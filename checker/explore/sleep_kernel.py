"""Sleep sets, in the kernel language: what the explorer's kernel adds (docs/explanation/reductions.md).

A step sleeps in a state if taking it there leads to a state that is reached, as early, in another order of the same
steps. The sleep set is written after each packed state: its size, then a name of 16 bits for each step (kind, process,
peer). A step's class says what it may touch (`class_of_step`, generated): the case in bits 0 to 7, the processes in 8
to 15 and 16 to 23, its name from bit 32.

While a state is expanded, `SLEEP_AT` holds the classes of the steps that may sleep in successors: those that sleep
here, and those that were taken here already and were invisible to step properties.

The hooks that it replaces are declared, with their contracts, in `checker/explore/interface.py`.
"""

from __future__ import annotations

from checker.explore.interface import (
    CASES, HEADER, HEADS_AT, MOST_STEPS, NODES, NOTED_AT, RELATION_AT, RENAMING_AT, SLEEP_AT, STEPS_AT, SYMMETRY,
    bytes_of, class_of_step, may_change_ample, sees_step, steps_commute,
)  # fmt: skip
from checker.explore.kernel import GROUPS, MOST, count_orbit, note_broken
from checker.explore.kernel import probe
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import (
    as_bytes, copy_bytes, load_half, load_short, load_word, state_at, store_half, store_short, store_word, words_at,
)  # fmt: skip
from zabspec.language.layout.wrapping import mulhi, prefetch

MOST_ASLEEP = 8  # the maximum number of sleeping steps of a state; further ones are taken unnecessarily
SLEEPER_BYTES = 2 + 2 * MOST_ASLEEP
ASLEEP = 1 << 60  # the mark in a step's word


def read_sleep_set(source: Bytes, offset: int, parent: State, work: Bytes) -> int:
    """Read the sleep set of a state, and mark its steps in the list of possible ones; return the bytes read.

    In a state where the world does not declare that independent steps commute, none sleeps after another.
    """
    steps = words_at(work, STEPS_AT)
    awake = words_at(work, SLEEP_AT)
    count = load_short(source, offset)
    awake[0] = 0
    awake[1] = 1 if steps_commute(parent) else 0
    if count > 0:
        for k in range(steps[0]):
            name = (class_of_step(parent, steps[1 + k]) >> 32) & 65535
            for j in range(count):
                if load_short(source, offset + 2 + 2 * j) == name and not is_asleep(steps[1 + k]):
                    may_sleep(work, class_of_step(parent, steps[1 + k]))
                    steps[1 + k] = steps[1 + k] | ASLEEP
    return 2 + 2 * count


def step_class(parent: State, word: int) -> int:
    """Return the class of a step."""
    return class_of_step(parent, word)


def is_asleep(word: int) -> bool:
    """Return whether a step in the list is marked."""
    return (word & ASLEEP) != 0


def is_invisible(parent: State, child: State) -> bool:
    """Return whether every step property judges the step by its process and its annotations alone."""
    seen = sees_step(parent, child)
    wrong = (parent.error | child.error) != 0
    parent.error = 0
    child.error = 0
    return not seen and not wrong


def visible_step(parent: State, child: State) -> int:
    """Return 1 if a step property can observe this step beyond its process; `child` includes its annotations."""
    return 0 if is_invisible(parent, child) else 1


def may_sleep(work: Bytes, of: int) -> None:
    """Let steps of a class sleep in the successors that are found from now on."""
    awake = words_at(work, SLEEP_AT)
    if awake[0] < MOST_STEPS:
        awake[0] = awake[0] + 1
        awake[1 + awake[0]] = of


def extend_sleep_set(parent: State, child: State, only: bool, mine: int, slot: int, work: Bytes) -> None:
    """Record the sleep set of a successor; then a step that is invisible, with one alternative, may sleep itself."""
    invisible = is_invisible(parent, child)
    note_sleep_set(work, slot, mine)
    if only and invisible and not may_change_ample(parent, child, work):
        may_sleep(work, mine)


def note_sleep_set(work: Bytes, slot: int, mine: int) -> None:
    """Record which steps sleep after a step of class `mine`, under the names they have in its successor."""
    awake = words_at(work, SLEEP_AT)
    noted = words_at(work, NOTED_AT)
    count = 0
    first = 0
    second = 0
    if awake[1] == 1:
        for k in range(awake[0]):
            of = awake[2 + k]
            if count < MOST_ASLEEP and independent(work, of, mine):
                name = (of >> 32) & 65535
                if SYMMETRY:
                    perm = bytes_of(work, RENAMING_AT)
                    a = perm[1 + ((name >> 3) & 7)] - 1
                    b = name & 7
                    if b < NODES:
                        b = perm[1 + b] - 1
                    name = (name & 65472) | (a << 3) | b
                if count < 4:
                    first = first | (name << (16 * count))
                else:
                    second = second | (name << (16 * (count - 4)))
                count = count + 1
    noted[3 * slot] = count
    noted[3 * slot + 1] = first
    noted[3 * slot + 2] = second


def independent(work: Bytes, x: int, y: int) -> bool:
    """Return whether steps of two classes lead to the same state in either order, wherever both are possible."""
    a = (x >> 8) & 255
    b = (x >> 16) & 255
    c = (y >> 8) & 255
    d = (y >> 16) & 255
    same = 1 if a == c else 0
    same = same | (2 if a == d else 0)
    same = same | (4 if b == c else 0)
    same = same | (8 if b == d and b < NODES else 0)
    return ((load_short(work, RELATION_AT + 2 * ((x & 255) * CASES + (y & 255))) >> same) & 1) == 0


def write_sleep_set(work: Bytes, slot: int, out: Bytes, at: int) -> int:
    """Write the names after a packed state; return the number of bytes."""
    noted = words_at(work, NOTED_AT)
    count = noted[3 * slot]
    store_short(out, at, count)
    if count > 0:
        store_word(out, at + 2, noted[3 * slot + 1])
        if count > 4:
            store_word(out, at + 10, noted[3 * slot + 2])
    return 2 + 2 * count


def claim_states(source: Bytes, start: int, end: int, table: Words, capacity: int, info: Words) -> int:
    """Enter the fingerprints of one group's candidates from `start` to `end`, and strike out those that are known.

    Return the offset where it stopped, which is earlier if the limit is reached, as in `insert`.

    Args:
        info: [bytes of those that are new, their number in this call, states of the group in the level; RAW and MOST as
            in `insert`].
    """
    at = start
    ahead = start
    lead = 0
    info[0] = 0
    info[1] = 0
    while at < end:
        while ahead < end and lead < 12:
            prefetch(table, mulhi(load_word(source, ahead) << 4, capacity))
            ahead = ahead + HEADER + load_short(source, ahead + 14)
            lead = lead + 1
        h = load_word(source, at)
        size = load_short(source, at + 14)
        place = probe(table, mulhi(h << 4, capacity), 0, capacity, h)
        if table[place] != 0:
            store_word(source, at, 0)
        else:
            if info[2] >= info[MOST]:
                return at
            table[place] = h
            info[0] = info[0] + size
            info[1] = info[1] + 1
            info[2] = info[2] + 1
            count_orbit(source, at, info)
        at = at + HEADER + size
        lead = lead - 1
    return at


def next_claimed(out: Bytes, at: int, end: int) -> int:
    """Return the first candidate from `at` that is not struck out, or `end`."""
    while at < end and load_word(out, at) == 0:
        at = at + HEADER + load_short(out, at + 14)
    return at


def begin_gathering(out: Bytes, section: int, filled: Words, work: Bytes) -> None:
    """Begin with the candidates of all groups in `out`, of which `filled` is as `expand` left it."""
    heads = words_at(work, HEADS_AT)
    for g in range(GROUPS):
        heads[g] = next_claimed(out, g * section, g * section + filled[g])


def gather_states(
    out: Bytes,
    section: int,
    filled: Words,
    level: Bytes,
    used: int,
    index: int,
    preds: Bytes,
    info: Words,
    work: Bytes,
    enough: int,
) -> int:
    """Append more of the candidates that are not struck out to a level, in the order in which they were found.

    Args:
        level: the buffer to append to, from `used` on; it has room.
        index: the number of the first in the level.
        preds: as in `insert`, of the whole level.
        info: [, the number of the next; by property from 3 on, the first state of the level that violates it, from 1].
        enough: bytes after which it stops.

    Returns: the number of bytes used then.
    """
    heads = words_at(work, HEADS_AT)
    stop = used + enough
    going = True
    while going and used < stop:
        going = False
        best = 0
        group = 0
        for g in range(GROUPS):
            if heads[g] < g * section + filled[g]:
                key = (load_half(out, heads[g] + 8) << 16) | load_short(out, heads[g] + 12)
                if not going or key < best:
                    best = key
                    group = g
                    going = True
        if going:
            at = heads[group]
            size = load_short(out, at + 14)
            copy_bytes(as_bytes(state_at(level, used)), as_bytes(state_at(out, at + HEADER)), size)
            used = used + size
            store_half(preds, 6 * index, load_half(out, at + 8))
            store_short(preds, 6 * index + 4, load_short(out, at + 12))
            index = index + 1
            note_broken(load_word(out, at + 16), index, info)
            heads[group] = next_claimed(out, at + HEADER + size, group * section + filled[group])
    info[1] = index
    return used
