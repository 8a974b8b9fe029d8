"""Summarise a part of one long history by digests of blocks of its rows, in the kernel language.

A block is the transactions of one epoch whose counters lie within `1 << shift` of each other. For each
instance that abcasts, and each pass of each process, an entry says which of a block's transactions are
among the part's rows (how many, and two sums of their hashes), from which row to which, and whether
their counters grow.
"""

from __future__ import annotations

from traces.judging.memory import Table
from traces.judging.numbers import (
    ABCAST,
    ABDELIVER,
    BEGIN,
    ESTABLISH,
    INITIAL,
    MANY_PROCESSES,
    MOST,
    NO_PROCESS,
    NO_ZXID,
    NULL,
    ODD,
    OTHER,
    OUT_OF_ORDER,
    PASS_BACK,
    REVISE,
    TIME_BACK,
)
from zabspec.language.structs import Struct, size, word, words
from zabspec.language.wrapping import shr, wrap_add, wrap_mul

# Words of an entry. An abcast's has role 0 and its instance's attempt, a delivery's role 1 and its pass.
(
    E_ROLE, E_PROCESS, E_PASS, E_EPOCH, E_BLOCK, E_COUNT, E_SUM, E_SUM2, E_FIRST_ROW, E_LAST_ROW, E_FIRST, E_LAST,
    E_FAULT,
) = range(13)  # fmt: skip
ENTRY = 16
NOBODY = MOST  # the process of an abcast of which it is not known
# Words of an epoch: the greatest counter abcast, and the greatest that was delivered before it was abcast in
# these rows (so it must have been before them)
(B_EPOCH, B_ABCAST, B_NEED) = range(3)
EPOCH = 4
NO_EPOCH = -1


class Sums(Struct):
    """The digests of the rows of a part, as words.

    The words of an entry, or of an epoch, are adjacent, since every row needs all of them.
    """

    most = size()
    slots = size()  # a power of two, above `most`
    most_epochs = size()
    entry = words(most, ENTRY)
    slot = words(slots)  # a hash table of the entries: 1 + the number of one, or 0
    epoch = words(most_epochs, EPOCH)
    entries = word()  # how many there are
    epochs = word()
    full = word()  # there is no room for another: it is to be done again with more
    error = word()
    error_row = word()

    base = word()  # the number of the first row in its run
    shift = word()
    now = word()
    at_epoch = word()  # the number of the last row's epoch; NO_EPOCH: there is none
    first_position = words(MOST)  # of each process here; NULL: it has none
    last_position = words(MOST)
    last_pass = words(MOST)
    latest = words(2, MOST + 1)  # by role and process, the entry of the last row; -1: there is none


def sum_blocks(table: Table, s: Sums, base: int, shift: int) -> None:
    """Sum up the rows of a part, of which the first has number `base` in its run."""
    s.base = base
    s.shift = shift
    s.now = NULL
    s.at_epoch = NO_EPOCH
    for p in range(MOST):
        s.first_position[p] = NULL
        s.last_position[p] = NULL
        s.last_pass[p] = NULL
    for p in range(MOST + 1):
        s.latest[0][p] = -1
        s.latest[1][p] = -1
    row = 0
    while row < table.rows and s.error == 0 and s.full == 0:
        sum_row(table, s, row)
        row = row + 1


def sum_row(table: Table, s: Sums, row: int) -> None:
    """Add a row to the sums."""
    time = table.time[row]
    if time != NULL:
        if time < s.now:
            fails(s, TIME_BACK, row)
        s.now = time
    p = table.process[row]
    kind = table.meaning[table.kind[row]]
    if p != NULL:
        if p < 0 or p >= MOST:
            fails(s, MANY_PROCESSES, row)
            return
        positioned(s, row, p, table.position[row])
    if kind != OTHER and kind != BEGIN and kind != ESTABLISH:
        if kind != REVISE and (table.epoch[row] == NULL or table.counter[row] == NULL):
            fails(s, NO_ZXID, row)
            return
        if p == NULL and kind != ABCAST and kind != INITIAL:
            fails(s, NO_PROCESS, row)
            return
    if kind == ABCAST:
        add(table, s, row, 0, p if p != NULL else NOBODY, table.attempt[row])
    elif kind == ABDELIVER:
        passing = table.passing[row]
        if passing != NULL:
            if passing < s.last_pass[p]:
                fails(s, PASS_BACK, row)
            s.last_pass[p] = passing
        add(table, s, row, 1, p, passing)


def positioned(s: Sums, row: int, p: int, position: int) -> None:
    """Check the position of a row among those of its process."""
    if position != NULL:
        if s.first_position[p] == NULL:
            s.first_position[p] = position
        if position <= s.last_position[p]:
            fails(s, OUT_OF_ORDER, row)
        s.last_position[p] = position


def add(table: Table, s: Sums, row: int, role: int, p: int, passing: int) -> None:
    """Add an abcast (role 0) or a delivery (role 1) of p, in an attempt or a pass."""
    epoch = table.epoch[row]
    counter = table.counter[row]
    block = counter >> s.shift
    at = s.latest[role][p]
    same = False
    if at >= 0:
        same = s.entry[at][E_BLOCK] == block and s.entry[at][E_EPOCH] == epoch and s.entry[at][E_PASS] == passing
    if not same:
        at = entry_of(s, role, p, passing, epoch, block)
        if at < 0:
            s.full = 1
            return
        s.latest[role][p] = at
    h = mixed(table.identity[row], epoch, counter, table.digest[row])
    s.entry[at][E_COUNT] = s.entry[at][E_COUNT] + 1
    s.entry[at][E_SUM] = wrap_add(s.entry[at][E_SUM], h)
    s.entry[at][E_SUM2] = wrap_add(s.entry[at][E_SUM2], wrap_mul(h ^ shr(h, 31), -7723592293110705685))
    if s.entry[at][E_FIRST_ROW] < 0:
        s.entry[at][E_FIRST_ROW] = s.base + row
        s.entry[at][E_FIRST] = counter
    elif counter <= s.entry[at][E_LAST]:
        s.entry[at][E_FAULT] = 1
    s.entry[at][E_LAST] = counter
    s.entry[at][E_LAST_ROW] = s.base + row
    in_epoch(s, role, epoch, counter)


def in_epoch(s: Sums, role: int, epoch: int, counter: int) -> None:
    """Update how far an epoch is abcast, and what of it must have been before."""
    e = epoch_of(s, epoch)
    s.at_epoch = e
    if e < 0:
        s.full = 1
    elif role == 0:
        s.epoch[e][B_ABCAST] = max(s.epoch[e][B_ABCAST], counter)
    elif counter > s.epoch[e][B_ABCAST]:
        s.epoch[e][B_NEED] = max(s.epoch[e][B_NEED], counter)


def mixed(a: int, b: int, c: int, d: int) -> int:
    """Return a hash of four words."""
    h = wrap_mul(wrap_add(a, 0x1F3D5B79), ODD)
    h = wrap_mul((h ^ shr(h, 29)) ^ b, -4658895280553007687)
    h = wrap_mul((h ^ shr(h, 32)) ^ c, -7723592293110705685)
    h = wrap_mul((h ^ shr(h, 29)) ^ d, -4658895280553007687)
    return h ^ shr(h, 32)


def entry_of(s: Sums, role: int, p: int, passing: int, epoch: int, block: int) -> int:
    """Return the number of an entry, which is created if new; -1 if there is no room for it."""
    mask = s.slots - 1
    place = wrap_add(block, wrap_mul(epoch, ODD))
    place = wrap_add(place, wrap_mul(wrap_add(passing, 31 * (2 * p + role)), 0x9E3779B1)) & mask
    while s.slot[place] != 0:
        at = s.slot[place] - 1
        if s.entry[at][E_BLOCK] == block and s.entry[at][E_EPOCH] == epoch and s.entry[at][E_PASS] == passing:
            if s.entry[at][E_PROCESS] == p and s.entry[at][E_ROLE] == role:
                return at
        place = (place + 1) & mask
    at = s.entries
    if at == s.most:
        return -1
    s.entries = at + 1
    s.slot[place] = at + 1
    for k in range(ENTRY):
        s.entry[at][k] = 0
    s.entry[at][E_ROLE] = role
    s.entry[at][E_PROCESS] = p
    s.entry[at][E_PASS] = passing
    s.entry[at][E_EPOCH] = epoch
    s.entry[at][E_BLOCK] = block
    s.entry[at][E_FIRST_ROW] = -1
    return at


def epoch_of(s: Sums, epoch: int) -> int:
    """Return the number of an epoch, which is created if new; -1 if there is no room for it."""
    if s.at_epoch != NO_EPOCH and s.epoch[s.at_epoch][B_EPOCH] == epoch:
        return s.at_epoch
    for k in range(s.epochs):
        if s.epoch[k][B_EPOCH] == epoch:
            return k
    e = s.epochs
    if e == s.most_epochs:
        return -1
    s.epochs = e + 1
    s.epoch[e][B_EPOCH] = epoch
    s.epoch[e][B_ABCAST] = NULL
    s.epoch[e][B_NEED] = NULL
    return e


def fails(s: Sums, error: int, row: int) -> None:
    """Record an error and its row."""
    s.error = error
    s.error_row = row
