"""The parts of the explorer's kernel that differ in a task, in the kernel language.

`checker/explore/kernel.py` expands; its `settle` is replaced by one for a single thread with a table of its own, which
holds what this task has met: a successor is looked up, put into the table and written out at once, so that no state
leaves a task twice. `columns` then splits candidates into columns.

With fingerprints of 128 bits (WIDE) the first 64 are the explorer's; the second 64 are stored `where[SECONDS]` words
after the first in the table.

The names that the program binds are imported from `checker/explore/interface.py`.
"""

from __future__ import annotations

from checker.explore.interface import HEADER, META_AT, WIDE, hash_second
from checker.explore.kernel import CANDIDATE, successor_at, write_out
from checker.explore.kernel import probe
from zabspec.language.analysis import structs
from zabspec.language.python.lang import Bytes, State, Words
from zabspec.language.python.memory import (
    as_bytes, copy_bytes, load_half, load_short, load_word, state_at, store_word, words_at,
)  # fmt: skip
from zabspec.language.layout.wrapping import mulhi, shr

REPLACES = ("settle",)  # of the explorer's kernel

SECONDS = 32  # the word of `where` with the distance to the second halves of fingerprints


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
    """Look a successor up; if this task has not met it, judge it and write it out."""
    meta = words_at(work, META_AT)
    h = meta[4 * slot]
    second = 0
    if WIDE:
        second = hash_second(successor_at(work, slot))
    g = shr(h, 60)
    begin = where[2 * g]
    end = begin + where[2 * g + 1]
    place = probe(tables, meta[4 * slot + 1], begin, end, h)
    if WIDE:
        while tables[place] != 0 and tables[place + where[SECONDS]] != second:
            place = probe(tables, place + 1 if place + 1 < end else begin, begin, end, h)
    if tables[place] == 0:
        tables[place] = h
        if WIDE:
            tables[place + where[SECONDS]] = second
        at = write_out(work, slot, out, section, filled, report, live, want)
        if WIDE:
            store_word(out, at + CANDIDATE, second)


class Candidates(structs.Struct):
    """The states found in one group, as columns.

    Of each state: its fingerprint, its predecessor's key, the size of its packed form, and how many states there are in
    its orbit. Of some: the properties that they violate.
    """

    most = structs.size()
    count = structs.word()
    used = structs.word()  # bytes of packed states
    pairs = structs.word()
    fingerprint = structs.words(most)
    second = structs.words(most)
    key = structs.words(most)
    length = structs.words(most, width=2)
    orbit = structs.words(most)
    broken = structs.words(most, 2)  # a row, and the properties that its state breaks


def columns(source: Bytes, start: int, used: int, states: Bytes, found: Candidates) -> None:
    """Append one group's candidates, `used` bytes from `start`, to columns.

    Args:
        states: where packed states go, one after the other.
    """
    at = start
    end = start + used
    while at < end:
        row = found.count
        size = load_short(source, at + 14)
        found.fingerprint[row] = load_word(source, at)
        if WIDE:
            found.second[row] = load_word(source, at + CANDIDATE)
        found.key[row] = (load_half(source, at + 8) << 16) | load_short(source, at + 12)
        found.length[row] = size
        found.orbit[row] = load_word(source, at + 24)
        if load_word(source, at + 16) != 0:
            found.broken[found.pairs][0] = row
            found.broken[found.pairs][1] = load_word(source, at + 16)
            found.pairs = found.pairs + 1
        copy_bytes(as_bytes(state_at(states, found.used)), as_bytes(state_at(source, at + HEADER)), size)
        found.used = found.used + size
        found.count = row + 1
        at = at + HEADER + size


def regrow(old: Words, old_seconds: int, old_capacity: int, new: Words, new_seconds: int, capacity: int) -> None:
    """Move a group's fingerprints into a larger, empty table; `..._seconds` as in `where[SECONDS]`."""
    for k in range(old_capacity):
        h = old[k]
        if h != 0:
            place = probe(new, mulhi(h << 4, capacity), 0, capacity, 0)
            new[place] = h
            if WIDE:
                new[place + new_seconds] = old[k + old_seconds]


def second_fingerprint(s: State) -> int:
    """Return the second 64 bits of the fingerprint of a state that represents its orbit; 0 unless WIDE."""
    if WIDE:
        return hash_second(s)
    return 0
