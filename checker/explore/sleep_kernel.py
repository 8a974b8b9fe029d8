"""What the explorer's kernel does besides when it reduces, in the kernel language: sleep sets (docs/reduction.md).

A step sleeps in a state if taking it there leads to a state that is reached, as early, in another order of the same
steps. Which steps sleep is written behind each packed state: how many, then a name of 16 bits each (kind, process,
peer). A step's class says what it may touch (`class_of_step`, generated): the case in bits 0 to 7, the processes in 8
to 15 and 16 to 23, its name from bit 32.

While a state is expanded, `SLEEP_AT` holds the classes of the steps that may sleep in successors: those that sleep
here, and those that were taken here already and that no property of steps looks beyond its process for.
"""

from __future__ import annotations

from zabspec.language.lang import Bytes, State, Words

MOST_ASLEEP = 8  # steps that sleep in a state; more are taken although they need not be
SLEEPER_BYTES = 2 + 2 * MOST_ASLEEP
ASLEEP = 1 << 60  # the mark in a step's word


def put_to_sleep(source: Bytes, offset: int, parent: State, work: Bytes) -> int:
    """Read which steps of a state sleep, and mark them in the list of those that are possible; returns the bytes read.

    In a state of which the world does not say that independent steps may change places none sleeps after another.
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


def is_asleep(word: int) -> bool:
    """Whether a step in the list is marked."""
    return (word & ASLEEP) != 0


def is_quiet(parent: State, child: State) -> bool:
    """Whether every property of steps judges the step by what its process has and by what it says about itself."""
    seen = sees_step(parent, child)
    wrong = (parent.error | child.error) != 0
    parent.error = 0
    child.error = 0
    return not seen and not wrong


def looks_away(parent: State, child: State) -> int:
    """Whether a step is not quiet; `child` with its scratch."""
    return 0 if is_quiet(parent, child) else 1


def may_sleep(work: Bytes, of: int) -> None:
    """A step of that class may sleep in what is found from now on."""
    awake = words_at(work, SLEEP_AT)
    if awake[0] < MOST_STEPS:
        awake[0] = awake[0] + 1
        awake[1 + awake[0]] = of


def note_sleepers(work: Bytes, slot: int, mine: int, perms: Bytes, which: int) -> None:
    """Note which steps sleep after a step of class `mine`, under the names they have in its successor."""
    awake = words_at(work, SLEEP_AT)
    noted = words_at(work, NOTED_AT)
    count = 0
    first = 0
    second = 0
    if awake[1] == 1:
        for k in range(awake[0]):
            of = awake[2 + k]
            if count < MOST_ASLEEP and change_places(work, of, mine):
                name = (of >> 32) & 65535
                if SYMMETRY:
                    at = which * PERM_STRIDE + 1
                    a = perms[at + ((name >> 3) & 7)] - 1
                    b = name & 7
                    if b < NODES:
                        b = perms[at + b] - 1
                    name = (name & 65472) | (a << 3) | b
                if count < 4:
                    first = first | (name << (16 * count))
                else:
                    second = second | (name << (16 * (count - 4)))
                count = count + 1
    noted[3 * slot] = count
    noted[3 * slot + 1] = first
    noted[3 * slot + 2] = second


def change_places(work: Bytes, x: int, y: int) -> bool:
    """Whether steps of two classes lead to the same state in either order, wherever both are possible."""
    a = (x >> 8) & 255
    b = (x >> 16) & 255
    c = (y >> 8) & 255
    d = (y >> 16) & 255
    same = 1 if a == c else 0
    same = same | (2 if a == d else 0)
    same = same | (4 if b == c else 0)
    same = same | (8 if b == d and b < NODES else 0)
    return ((load_short(work, RELATION_AT + 2 * ((x & 255) * CASES + (y & 255))) >> same) & 1) == 0


def write_sleepers(work: Bytes, slot: int, out: Bytes, at: int) -> int:
    """Write the names behind a packed state; returns how many bytes."""
    noted = words_at(work, NOTED_AT)
    count = noted[3 * slot]
    store_short(out, at, count)
    if count > 0:
        store_word(out, at + 2, noted[3 * slot + 1])
        if count > 4:
            store_word(out, at + 10, noted[3 * slot + 2])
    return 2 + 2 * count


def claim_states(source: Bytes, start: int, end: int, table: Words, capacity: int, info: Words) -> int:
    """Enter the fingerprints of one group's candidates from `start` to `end`, and strike out those that are known;
    returns where it stopped, as `insert` does where there may be no more.

    Args:
        info: [bytes of those that are new, how many in this call, states of the group in the level; RAW and MOST as in
            `insert`].
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
        place = mulhi(h << 4, capacity)
        known = False
        while table[place] != 0 and not known:
            if table[place] == h:
                known = True
            else:
                place = place + 1
                if place == capacity:
                    place = 0
        if known:
            store_word(source, at, 0)
        else:
            if info[2] >= info[MOST]:
                return at
            table[place] = h
            info[0] = info[0] + size
            info[1] = info[1] + 1
            info[2] = info[2] + 1
            info[RAW] = info[RAW] + states_of_orbit(source, at)
        at = at + HEADER + size
        lead = lead - 1
    return at


def next_claimed(out: Bytes, at: int, end: int) -> int:
    """The first candidate from `at` that is not struck out; `end` if there is none."""
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
        level: where to, from `used` on; there is room.
        index: the number in the level of the first.
        preds: as in `insert`, of the whole level.
        info: [, the number of the next; by property from 3 on, the first state of the level that breaks it, from 1].
        enough: bytes after which it stops.

    Returns: the bytes used then.
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
            note_broken(load_word(out, at + 16) & ((1 << MOST_PROPERTIES) - 1), index, info)
            heads[group] = next_claimed(out, at + HEADER + size, group * section + filled[group])
    info[1] = index
    return used


def note_broken(broken: int, number: int, info: Words) -> None:
    """Note the properties that a state breaks, if it is the first."""
    p = 0
    while broken != 0:
        if (broken & 1) != 0 and info[3 + p] == 0:
            info[3 + p] = number
        broken = shr(broken, 1)
        p = p + 1
