"""The explorer's inner loops, in the kernel language; compiled together with the program.

`expand` takes packed states of one level and puts their successors that are not in the table into buffers, one per
group of fingerprints. `insert` takes one group's buffers, in order, and keeps the first of each new state. While states
are expanded the table is only read, while they are inserted each group is written by one thread: no locks, and the same
result with any number of threads. The parent of a state is its least one, since buffers are read in parents' order.

A fingerprint's top four bits are its group; within the group its place is its remaining bits scaled to the group's
size, then the next free one.

A step that meets a run-time error has no successor: nothing is judged, counted or kept of it but the error. The
report has the first of the author's errors and the first for which a capacity was too small: those met when the steps
of a state are listed come first, then by parent and by the order of its steps.

What the program binds (`unpack`, `enabled`, `apply`, `judge`, ...) and what a reduction changes (the hooks) is
imported from `checker/explore/interface.py`, which states the contract of each.
"""

from __future__ import annotations

from checker.explore.interface import (
    HEADER, IMAGE_AT, MARGIN, MERGES, META_AT, PROPERTIES, QUIET_AT, RENAMINGS, RING_AT, STEPS_AT, SYMMETRY, TERMINALS,
    TOTAL, abstract_ghosts, ample_suffices, apply, canonical, choose_ample, enabled, fixing_renamings,
    hash_state, judge, judge_step, judged_after, note_ample_step, observed_changed, pack, permute,
    recover_ghosts, restore_ghosts, stutters, unpack, what_changed, witness, witness_step,
)  # fmt: skip
from zabspec.language.layout.error_sites import OF_AUTHOR
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import (
    as_bytes, copy_bytes, load_half, load_short, load_word, state_at, store_half, store_short, store_word, words_at,
)  # fmt: skip
from zabspec.language.layout.wrapping import count_bits, mulhi, prefetch, shr
from zabspec.language.python.lang import inlined


# --- linear probing, in the kernel language: how every table of fingerprints is searched -----------
#
# A table holds nonzero words. It occupies the entries `begin` to `end` of an array, has at least one entry that is 0,
# which is a free one, and is searched in a circle.


@inlined
def probe(table: Words, place: int, begin: int, end: int, wanted: int) -> int:
    """Return the entry of a table that holds a word, or the free entry where the search for it ends.

    The caller distinguishes the two by `table[place] != 0`.

    Args:
        place: the entry where the search begins.
        wanted: the word; 0 to find the first free entry.
    """
    while table[place] != 0 and table[place] != wanted:
        place = place + 1
        if place == end:
            place = begin
    return place


GROUPS = 16
RING = 8  # successors between the prefetch of a table entry and its use

# A candidate in a buffer: fingerprint, parent (4 bytes), ordinal (2), packed length (2), violated
# properties, the number of states in its orbit, then the packed state.
CANDIDATE = 32  # bytes before the state; HEADER is that, or more if another kernel stores more
MOST_PROPERTIES = 63

# Words of a unit's report
(
    R_GENERATED, R_DEADLOCKS, R_ERROR, R_STEP_WITNESSES, R_OFFSET, R_WITNESSES, R_ERROR_AT, R_APART,
) = range(8)  # fmt: skip
R_STEPS = 8  # 64 counters: transitions that entered each paper step
R_EVENTS = 72  # 64 counters: transitions of each kind of event
R_BROKEN = 136  # for each of 64 step properties: first parent + 1 that breaks it
R_BROKEN_ORDINAL = 200
R_FAILED = 264  # an error of the author, and its place: like R_ERROR and R_ERROR_AT for a capacity
R_FAILED_AT = 265
R_CLASSLESS = 266  # whether something was observed that has no class
REPORT = 267
LISTED = 1 << 50  # a smaller place: the error was met when the steps of a state were listed
RAW = 67  # in units of 2**32 states, what is beyond it in the next: 20! fits one word, and no sum of it
RAW_LOW = 68
MOST = 69
KEPT = 70
INFO = 71


def expand(
    source: Bytes,
    offset: int,
    count: int,
    first: int,
    tables: Words,
    where: Words,
    out: Bytes,
    section: int,
    filled: Words,
    work: Bytes,
    report: Words,
    perms: Bytes,
    live: int,
    live_steps: int,
    want: int,
    want_steps: int,
) -> int:
    """Expand up to `count` states packed in `source` from `offset`; return the number of states that were expanded.

    For each state: list its steps, take each alternative of each, judge it, put the successor into the ring; what
    leaves the ring, `settle` looks up. It stays in one piece, longer than a screen: the three loops share the ring and
    the ordinal, and its parameters are how threads call it. What a reduction changes is in the hooks.

    Args:
        first: the number of the first of them in its level.
        tables: the fingerprint table; `where[2g]` is group g's first entry, `where[2g + 1]` its size.
        out: candidates, `section` bytes for each group; `filled[g]` is the number of bytes used, and `filled[GROUPS]`
            whether some group has no room for those of one more state.
        work: a thread's own memory, `Compiled.work` bytes.
        live: the state properties still to be judged; `live_steps`: the step properties.
        want: the state properties with open premises; `want_steps`: the step properties.
    """
    parent = state_at(work, 0)
    steps = words_at(work, STEPS_AT)
    done = 0
    head = 0  # successors that were put into the ring
    tail = 0  # and that were taken out of it again
    while done < count and filled[GROUPS] == 0:
        offset = offset + unpack(as_bytes(state_at(source, offset)), parent)
        list_steps(parent, work, report, first + done)
        ordinal = 0
        deadlock = steps[0] != 0  # until a step other than a stuttering receipt is possible
        for k in range(steps[0]):
            if ample_suffices(k, work):
                deadlock = False
                break
            choice = 0
            choices = 1
            while choice < choices:
                slot = head & (RING - 1)
                child = state_at(work, RING_AT + slot * TOTAL)
                copy_bytes(as_bytes(child), as_bytes(parent), TOTAL)
                apply(child, steps[1 + k] | (choice << 32))
                choices = max(choices, child.choices)
                choice = choice + 1
                if child.error != 0:
                    deadlock = False
                    note_error(report, child.error, first + done, 2 * ordinal)
                    continue
                if choice > child.choices:  # no alternative of its own: an earlier choice left fewer
                    continue
                note_ample_step(parent, child, k, work)
                judge_transition(parent, child, report, live_steps, want_steps, first + done, ordinal)
                ordinal = ordinal + 1
                if stutters(parent, child):
                    continue
                deadlock = False
                report[R_GENERATED] = report[R_GENERATED] + 1
                put_in_ring(parent, child, slot, work, report, tables, where, perms, first + done, ordinal - 1)
                head = head + 1
                if head - tail == RING:
                    settle(work, tail & (RING - 1), tables, where, out, section, filled, report, live, want)
                    tail = tail + 1
        if deadlock:
            report[R_DEADLOCKS] = report[R_DEADLOCKS] + 1
        done = done + 1
    while tail < head:
        settle(work, tail & (RING - 1), tables, where, out, section, filled, report, live, want)
        tail = tail + 1
    report[R_OFFSET] = offset
    return done


def list_steps(parent: State, work: Bytes, report: Words, number: int) -> None:
    """List the steps to take in a state.

    If it cannot be determined which are possible, an error is recorded and the list is empty.

    Args:
        number: of the state in its level.
    """
    steps = words_at(work, STEPS_AT)
    parent.error = 0
    restore_ghosts(parent, work)
    enabled(parent, steps)
    choose_ample(parent, steps, work, report)
    if parent.error != 0:
        note_error(report, parent.error, number, -1)
        steps[0] = 0
    elif steps[0] == 0:
        report[R_DEADLOCKS] = report[R_DEADLOCKS] + 1


def judge_transition(
    parent: State, child: State, report: Words, live: int, want: int, number: int, ordinal: int
) -> None:
    """Judge a step by the step properties `live` and `want`, and count its kind and the paper's steps it entered."""
    broken = judge_step(parent, child, live)
    met = witness_step(parent, child, want & (-1 ^ report[R_STEP_WITNESSES]))
    if (broken | met | parent.error | child.error) != 0:
        judge_taken(parent, child, report, live, want, number, ordinal)
    report[R_EVENTS + child.event] = report[R_EVENTS + child.event] + 1
    count_steps(report, R_STEPS, child.steps)


def count_steps(counts: Words, first: int, steps: int) -> None:
    """Count the paper's steps that a step entered, a bit for each, in the words from the first on."""
    taken = steps
    while taken != 0:
        at = first + count_bits((taken & (0 - taken)) - 1)
        counts[at] = counts[at] + 1
        taken = taken & (taken - 1)


def put_in_ring(
    parent: State,
    child: State,
    slot: int,
    work: Bytes,
    report: Words,
    tables: Words,
    where: Words,
    perms: Bytes,
    number: int,
    ordinal: int,
) -> None:
    """Compute the fingerprint of a successor, prefetch its entry of the table, and record what `settle` needs."""
    meta = words_at(work, META_AT)
    flags = (1 if observed_changed(parent, child) else 0) | (what_changed(child) << 1)
    states = 1
    abstract_ghosts(parent, child, work, report)
    if SYMMETRY:
        image = state_at(work, IMAGE_AT + slot * TOTAL)
        h = canonical(child, image, work, perms)
        states = RENAMINGS // fixing_renamings(work)
    else:
        h = hash_state(child)
        if MERGES:
            copy_bytes(as_bytes(state_at(work, IMAGE_AT + slot * TOTAL)), as_bytes(child), TOTAL)
    recover_ghosts(child, work)
    g = shr(h, 60)
    place = where[2 * g] + mulhi(h << 4, where[2 * g + 1])
    prefetch(tables, place)
    meta[4 * slot] = h
    meta[4 * slot + 1] = place
    meta[4 * slot + 2] = number | (ordinal << 32) | (flags << 48)
    meta[4 * slot + 3] = states


def note_error(report: Words, site: int, parent: int, order: int) -> None:
    """Record an error if it is the first of its kind: of the author, or of a capacity that was too small.

    Args:
        order: the position, among its parent's steps, of the step that met it or whose property did; -1 if it was met
            when these were listed.
    """
    at = (parent << 17) if order < 0 else LISTED | (parent << 17) | order
    if (site & OF_AUTHOR) != 0:
        if report[R_FAILED] == 0 or at < report[R_FAILED_AT]:
            report[R_FAILED] = site
            report[R_FAILED_AT] = at
    elif report[R_ERROR] == 0 or at < report[R_ERROR_AT]:
        report[R_ERROR] = site
        report[R_ERROR_AT] = at


def judge_taken(before: State, after: State, report: Words, live: int, want: int, parent: int, ordinal: int) -> None:
    """Judge a step, and record in the report which properties it violates and whose premises it meets."""
    want = want & (-1 ^ report[R_STEP_WITNESSES])
    broken = judge_step(before, after, live)
    met = witness_step(before, after, want)
    if before.error != 0 or after.error != 0:
        site = before.error if before.error != 0 else after.error
        note_error(report, site, parent, 2 * ordinal + 1)
        broken = 0
        met = 0
        for k in range(PROPERTIES):
            before.error = 0
            after.error = 0
            one = judge_step(before, after, live & (1 << k))
            if before.error == 0 and after.error == 0:
                broken = broken | one
            before.error = 0
            after.error = 0
            one = witness_step(before, after, want & (1 << k))
            if before.error == 0 and after.error == 0:
                met = met | one
        before.error = 0
        after.error = 0
    report[R_STEP_WITNESSES] = report[R_STEP_WITNESSES] | met
    while broken != 0:
        k = count_bits((broken & (0 - broken)) - 1)
        if report[R_BROKEN + k] == 0:
            report[R_BROKEN + k] = parent + 1
            report[R_BROKEN_ORDINAL + k] = ordinal
        broken = broken & (broken - 1)


def is_terminal(s: State, steps: Words) -> bool:
    """Return whether no step is possible in a state. An error in listing steps is recorded at its expansion."""
    s.error = 0
    enabled(s, steps)
    known = s.error == 0
    s.error = 0
    return known and steps[0] == 0


def asked_of(s: State, asked: int, steps: Words) -> int:
    """Return the requested properties that apply to a state: those of terminal states only if it is terminal."""
    if TERMINALS != 0:
        if (asked & TERMINALS) != 0:
            if not is_terminal(s, steps):
                return asked & (-1 ^ TERMINALS)
    return asked


def each_alone(s: State, asked: int, changed: bool, premises: bool) -> int:
    """Evaluate `judge`, or for premises `witness`, for each property separately, as one may read past an end."""
    found = 0
    for k in range(PROPERTIES):
        s.error = 0
        mask = asked & (1 << k)
        one = witness(s, mask, changed) if premises else judge(s, mask, changed)
        if s.error == 0:
            found = found | one
    s.error = 0
    return found


def settle(
    work: Bytes,
    slot: int,
    tables: Words,
    where: Words,
    out: Bytes,
    section: int,
    filled: Words,
    report: Words,
    live: int,
    want: int,
) -> None:
    """Look a successor up; if it is not in the table, judge it and write it out as a candidate."""
    meta = words_at(work, META_AT)
    h = meta[4 * slot]
    place = meta[4 * slot + 1]
    g = shr(h, 60)
    begin = where[2 * g]
    if tables[probe(tables, place, begin, begin + where[2 * g + 1], h)] == 0:
        write_out(work, slot, out, section, filled, report, live, want)


def count_orbit(source: Bytes, at: int, info: Words) -> None:
    """Count the states in the orbit of the candidate at an offset."""
    states = load_word(source, at + 24)
    info[RAW] = info[RAW] + (states >> 32)
    info[RAW_LOW] = info[RAW_LOW] + (states & 0xFFFFFFFF)


def successor_at(work: Bytes, slot: int) -> State:
    """Return the state that is visited for a successor: the representative of its orbit, with its class number."""
    if SYMMETRY or MERGES:
        return state_at(work, IMAGE_AT + slot * TOTAL)
    return state_at(work, RING_AT + slot * TOTAL)


def judged_at(work: Bytes, slot: int) -> State:
    """Return the state that is judged for a successor: with merged classes the successor itself, with its value."""
    if MERGES:
        return state_at(work, RING_AT + slot * TOTAL)
    return successor_at(work, slot)


def write_out(
    work: Bytes, slot: int, out: Bytes, section: int, filled: Words, report: Words, live: int, want: int
) -> int:
    """Judge a successor and write it out as a candidate of its group; return the candidate's offset."""
    meta = words_at(work, META_AT)
    h = meta[4 * slot]
    s = successor_at(work, slot)
    g = shr(h, 60)
    at = g * section + filled[g]
    size = pack(s, as_bytes(state_at(out, at + HEADER)))
    store_word(out, at, h)
    number = meta[4 * slot + 2] & 0xFFFFFFFF
    ordinal = (meta[4 * slot + 2] >> 32) & 65535
    flags = shr(meta[4 * slot + 2], 48)
    store_half(out, at + 8, number)
    store_short(out, at + 12, ordinal)
    store_short(out, at + 14, size)
    changed = (flags & 1) == 1
    s = judged_at(work, slot)
    asked = asked_of(s, judged_after(flags >> 1), words_at(work, QUIET_AT))
    broken = judge(s, live & asked, changed)
    met = 0
    if (want & asked) != 0:
        met = witness(s, want & asked, changed)
    if s.error != 0:  # a property reads past an end
        note_error(report, s.error, number, 2 * ordinal + 1)
        broken = each_alone(s, live & asked, changed, False)
        met = each_alone(s, want & asked, changed, True)
    store_word(out, at + 16, broken)
    store_word(out, at + 24, meta[4 * slot + 3])
    report[R_WITNESSES] = report[R_WITNESSES] | met
    filled[g] = filled[g] + HEADER + size
    if filled[g] + MARGIN > section:
        filled[GROUPS] = 1
    return at


def insert(
    source: Bytes,
    start: int,
    end: int,
    table: Words,
    capacity: int,
    level: Bytes,
    limit: int,
    preds: Bytes,
    prints: Words,
    info: Words,
) -> int:
    """Insert one group's candidates from `start` to `end`; return the offset where it stopped.

    It stops early when the level's buffer is full, or the group has as many states as it may.

    Args:
        table, capacity: the group's part of the table.
        level: the buffer that new states are appended to, up to `limit`.
        preds: six bytes for each state of the level in this group: parent, ordinal.
        prints: receives its fingerprint too, if `info[KEPT]` is set: for a checkpoint.
        info: [bytes used, states in this buffer, states of this group in the level, then for each
            of 64 properties the first state of the group that violates it, from 1, the number of states when renamings
            count separately (two words), and the maximum number of states of this group].
    """
    at = start
    ahead = start
    lead = 0
    used = info[0]
    while at < end:
        while ahead < end and lead < 12:
            prefetch(table, mulhi(load_word(source, ahead) << 4, capacity))
            ahead = ahead + HEADER + load_short(source, ahead + 14)
            lead = lead + 1
        h = load_word(source, at)
        size = load_short(source, at + 14)
        place = probe(table, mulhi(h << 4, capacity), 0, capacity, h)
        if table[place] == 0:
            if used + size + 16 > limit or info[2] >= info[MOST]:
                info[0] = used
                return at
            table[place] = h
            copy_bytes(as_bytes(state_at(level, used)), as_bytes(state_at(source, at + HEADER)), size)
            used = used + size
            index = info[2]
            store_half(preds, 6 * index, load_half(source, at + 8))
            store_short(preds, 6 * index + 4, load_short(source, at + 12))
            if info[KEPT] != 0:
                prints[index] = h
            note_broken(load_word(source, at + 16), index + 1, info)
            count_orbit(source, at, info)
            info[1] = info[1] + 1
            info[2] = index + 1
        at = at + HEADER + size
        lead = lead - 1
    info[0] = used
    return at


def note_broken(broken: int, number: int, info: Words) -> None:
    """Record the properties that a state violates, if it is the first."""
    p = 0
    while broken != 0:
        if (broken & 1) != 0 and info[3 + p] == 0:
            info[3 + p] = number
        broken = shr(broken, 1)
        p = p + 1


def rehash(old: Words, old_capacity: int, new: Words, capacity: int) -> None:
    """Move a group's fingerprints into a larger, empty table."""
    for k in range(old_capacity):
        h = old[k]
        if h != 0:
            new[probe(new, mulhi(h << 4, capacity), 0, capacity, 0)] = h


def successors(source: State, out: Bytes, most: int, work: Bytes) -> int:
    """Write every successor of a state itself, in order: a word (step and choice), then the state with its annotations.

    Return their number, or -1 if there is no room.
    """
    steps = words_at(work, STEPS_AT)
    source.error = 0
    enabled(source, steps)
    if source.error != 0:
        return 0
    n = 0
    for k in range(steps[0]):
        choice = 0
        choices = 1
        while choice < choices:
            if n == most:
                return -1
            at = n * (TOTAL + 8)
            child = state_at(out, at + 8)
            copy_bytes(as_bytes(child), as_bytes(source), TOTAL)
            store_word(out, at, steps[1 + k] | (choice << 32))
            apply(child, steps[1 + k] | (choice << 32))
            choices = max(choices, child.choices)
            choice = choice + 1
            if child.error == 0 and choice <= child.choices:
                n = n + 1
    return n


def fingerprint(s: State, to: State, work: Bytes, perms: Bytes) -> int:
    """Return the fingerprint of a state, and write to `to` the state that represents its orbit."""
    if SYMMETRY:
        return canonical(s, to, work, perms)
    copy_bytes(as_bytes(to), as_bytes(s), TOTAL)
    return hash_state(s)


def renamed(s: State, to: State, perm: Bytes) -> None:
    """Write the state under a renaming; unchanged without symmetry."""
    if SYMMETRY:
        permute(s, to, perm)
    else:
        copy_bytes(as_bytes(to), as_bytes(s), TOTAL)


def take(s: State, word: int) -> None:
    """Take one step, as `apply` of the CPython world does."""
    apply(s, word)


def pack_state(s: State, out: Bytes) -> int:
    """Pack a state, as `pack` does, for callers outside the kernel."""
    return pack(s, out)


def unpack_state(source: Bytes, s: State) -> int:
    """Unpack a state, as `unpack` does, for callers outside the kernel."""
    return unpack(source, s)


def look_at_one_state(s: State, asked: int, work: Bytes, premises: int) -> int:
    """Return which of the requested properties a state violates or, with `premises`, whose premises it meets.

    `s.error` is the first error of a property that reads past an end.
    """
    mask = asked_of(s, asked, words_at(work, QUIET_AT))
    s.error = 0
    found = witness(s, mask, True) if premises != 0 else judge(s, mask, True)
    site = s.error
    if site != 0:
        found = each_alone(s, mask, True, premises != 0)
    s.error = site
    return found


def judge_one_step(before: State, after: State, report: Words, live: int, want: int) -> None:
    """Judge a single step; see `judge_taken`."""
    judge_taken(before, after, report, live, want, 0, 0)


def states_of_orbit(work: Bytes) -> int:
    """Return how many states there are in the orbit of the one that `fingerprint` was called for last."""
    if SYMMETRY:
        return RENAMINGS // fixing_renamings(work)
    return 1
