# ruff: noqa: F821
# mypy: ignore-errors
"""A part of one long history summed up, in the kernel language: digests of blocks of its rows.

A block is the transactions of one epoch whose counters lie within `1 << shift` of each other. For each
instance that abcasts, and each pass of each process, an entry says which of a block's transactions are
among the part's rows (how many, and two sums of their hashes), from which row to which, and whether
their counters grow.
"""

from __future__ import annotations

from traces.judging.planes import (
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
from zabspec.language.lang import Bytes, Words

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
# The report: how many entries and epochs, an error and its row
ENTRIES, EPOCHS, ERROR, ERROR_ROW = range(4)
REPORT = 8


def mixed(a: int, b: int, c: int, d: int) -> int:
    """A hash of four words."""
    h = wrap_mul(wrap_add(a, 0x1F3D5B79), ODD)
    h = wrap_mul((h ^ shr(h, 29)) ^ b, -4658895280553007687)
    h = wrap_mul((h ^ shr(h, 32)) ^ c, -7723592293110705685)
    h = wrap_mul((h ^ shr(h, 29)) ^ d, -4658895280553007687)
    return h ^ shr(h, 32)


def entry_of(entries: Words, most: int, table: Words, mask: int, report: Words, role: int, p: int, passing: int,
             epoch: int, block: int) -> int:  # fmt: skip
    """Where an entry begins; -1 if there is no room for it."""
    place = (block + wrap_mul(epoch, ODD) + wrap_mul(wrap_add(passing, 31 * (2 * p + role)), 0x9E3779B1)) & mask
    while table[place] != 0:
        at = (table[place] - 1) * ENTRY
        if entries[at + E_BLOCK] == block and entries[at + E_EPOCH] == epoch and entries[at + E_PASS] == passing:
            if entries[at + E_PROCESS] == p and entries[at + E_ROLE] == role:
                return at
        place = (place + 1) & mask
    n = report[ENTRIES]
    if n == most:
        return -1
    report[ENTRIES] = n + 1
    table[place] = n + 1
    at = n * ENTRY
    entries[at + E_ROLE] = role
    entries[at + E_PROCESS] = p
    entries[at + E_PASS] = passing
    entries[at + E_EPOCH] = epoch
    entries[at + E_BLOCK] = block
    entries[at + E_COUNT] = 0
    entries[at + E_SUM] = 0
    entries[at + E_SUM2] = 0
    entries[at + E_FIRST_ROW] = -1
    entries[at + E_FAULT] = 0
    return at


def epoch_of(epochs: Words, most: int, report: Words, last: int, e: int) -> int:
    """Where an epoch begins; `last` is a guess; -1 if there is no room for it."""
    if last >= 0 and epochs[last + B_EPOCH] == e:
        return last
    for k in range(report[EPOCHS]):
        if epochs[k * EPOCH + B_EPOCH] == e:
            return k * EPOCH
    if report[EPOCHS] == most:
        return -1
    at = report[EPOCHS] * EPOCH
    report[EPOCHS] = report[EPOCHS] + 1
    epochs[at + B_EPOCH] = e
    epochs[at + B_ABCAST] = NULL
    epochs[at + B_NEED] = NULL
    return at


def fails(report: Words, error: int, row: int) -> int:
    report[ERROR] = error
    report[ERROR_ROW] = row
    return 0


def sum_blocks(
    kinds: Bytes, kind_of: Words, process: Words, position: Words, passes: Words, attempt: Words, epoch: Words,
    counter: Words, identity: Words, digest: Words, time: Words, rows: int, base: int, shift: int, entries: Words,
    most: int, table: Words, mask: int, epochs: Words, most_epochs: int, seen: Words, report: Words,
) -> int:  # fmt: skip
    """Sum up the rows of a part; 0, or -1 if there is no room for all its entries.

    Args:
        base: the number of the first row in its run.
        entries, table: room for `most` entries; a table of `mask + 1` words, all zero.
        seen: for each process its first position here, its last, its last pass, and the entries of its last
            delivery and abcast.
    """
    for k in range(REPORT):
        report[k] = 0
    for p in range(MOST):
        seen[p] = NULL
        seen[MOST + p] = NULL
        seen[2 * MOST + p] = NULL
        seen[3 * MOST + p] = -1  # the entry of its last delivery
        seen[4 * MOST + p] = -1  # and of its last abcast
    seen[4 * MOST + NOBODY] = -1
    now = NULL
    e = -1
    for row in range(rows):
        if time[row] != NULL:
            if time[row] < now:
                fails(report, TIME_BACK, row)
            now = time[row]
        p = process[row]
        kind = kind_of[load_half(kinds, 4 * row)]
        if p != NULL:
            if p < 0 or p >= MOST:
                fails(report, MANY_PROCESSES, row)
                break
            if position[row] != NULL:
                if seen[p] == NULL:
                    seen[p] = position[row]
                if position[row] <= seen[MOST + p]:
                    fails(report, OUT_OF_ORDER, row)
                seen[MOST + p] = position[row]
        if kind != OTHER and kind != BEGIN and kind != ESTABLISH:
            if kind != REVISE and (epoch[row] == NULL or counter[row] == NULL):
                fails(report, NO_ZXID, row)
                break
            if p == NULL and kind != ABCAST and kind != INITIAL:
                fails(report, NO_PROCESS, row)
                break
        if kind == ABCAST or kind == ABDELIVER:
            if p == NULL:
                p = NOBODY
            role = 0
            passing = attempt[row]
            if kind == ABDELIVER:
                role = 1
                passing = passes[row]
                if passing != NULL:
                    if passing < seen[2 * MOST + p]:
                        fails(report, PASS_BACK, row)
                    seen[2 * MOST + p] = passing
            block = counter[row] >> shift
            at = seen[(4 - role) * MOST + p]
            same = False
            if at >= 0:
                same = entries[at + E_BLOCK] == block and entries[at + E_EPOCH] == epoch[row]
                same = same and entries[at + E_PASS] == passing
            if not same:
                at = entry_of(entries, most, table, mask, report, role, p, passing, epoch[row], block)
                if at < 0:
                    return -1
                seen[(4 - role) * MOST + p] = at
            h = mixed(identity[row], epoch[row], counter[row], digest[row])
            entries[at + E_COUNT] = entries[at + E_COUNT] + 1
            entries[at + E_SUM] = wrap_add(entries[at + E_SUM], h)
            entries[at + E_SUM2] = wrap_add(entries[at + E_SUM2], wrap_mul(h ^ shr(h, 31), -7723592293110705685))
            if entries[at + E_FIRST_ROW] < 0:
                entries[at + E_FIRST_ROW] = base + row
                entries[at + E_FIRST] = counter[row]
            elif counter[row] <= entries[at + E_LAST]:
                entries[at + E_FAULT] = 1
            entries[at + E_LAST] = counter[row]
            entries[at + E_LAST_ROW] = base + row
            e = epoch_of(epochs, most_epochs, report, e, epoch[row])
            if e < 0:
                return -1
            if role == 0:
                epochs[e + B_ABCAST] = max(epochs[e + B_ABCAST], counter[row])
            elif counter[row] > epochs[e + B_ABCAST]:
                epochs[e + B_NEED] = max(epochs[e + B_NEED], counter[row])
        if report[ERROR] != 0:
            break
    return 0
