"""Fingerprints as columns: their owners, which are new, and sorted runs of them.

A run is a sorted set. An owner has a few, each at least twice as large as the next younger one, so that a fingerprint
is looked up in few places and is moved a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Places = NDArray[np.int64]
    Mask = NDArray[np.bool_]

GROUPS = 16  # of the kernel: the four top bits
MOST_PARTS = 1 << 16
SLICE = 1 << 21  # fingerprints of the largest run that are merged at a time


@dataclass(frozen=True)
class Fingerprints:
    """A column of fingerprints.

    Attributes:
        first: the first 64 bits of each.
        second: the other 64 bits of each, if there are 128.
    """

    first: Words
    second: Words | None = None

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, which: Places | Mask | slice) -> Fingerprints:
        return Fingerprints(self.first[which], None if self.second is None else self.second[which])


def concatenated(columns: Sequence[Fingerprints], wide: bool) -> Fingerprints:
    """Return columns one after the other as one."""
    none: list[Words] = [np.empty(0, np.uint64)]
    first = np.concatenate([c.first for c in columns] or none)
    second = np.concatenate([c.second for c in columns if c.second is not None] or none) if wide else None
    return Fingerprints(first, second)


# --- owners --------------------------------------------------------------------------------------


def cells(parts: int) -> int:
    """Return the number of cells by which fingerprints are distributed: the kernel's groups, or more."""
    return max(GROUPS, parts)


def cell_of(first: Words, parts: int) -> NDArray[np.uint32]:
    """Return the cell of each fingerprint. Owner k has the cells from k * cells / parts."""
    return (first >> np.uint64(64 - (cells(parts).bit_length() - 1))).astype(np.uint32)


# --- sorted sets ---------------------------------------------------------------------------------


def ordered(column: Fingerprints) -> Places:
    """Return the order that sorts a column; equal fingerprints in any order."""
    order = np.argsort(column.first)
    if column.second is not None and len(order):
        first, second = column.first[order], column.second[order]
        if np.any((first[1:] == first[:-1]) & (second[1:] != second[:-1])):  # equal in one half only: rare
            return np.lexsort((column.second, column.first))
    return order


def distinct(column: Fingerprints) -> tuple[Fingerprints, Places]:
    """Return the set of a column's fingerprints, sorted, and the index at which each occurs first."""
    if not len(column):
        return column, np.empty(0, np.int64)
    order = ordered(column)
    sorted_ = column[order]
    new = np.empty(len(order), np.bool_)
    new[0] = True
    new[1:] = sorted_.first[1:] != sorted_.first[:-1]
    if sorted_.second is not None:
        new[1:] |= sorted_.second[1:] != sorted_.second[:-1]
    starts = np.flatnonzero(new)
    return sorted_[starts], np.minimum.reduceat(order, starts)


def known(run: Fingerprints, wanted: Fingerprints) -> Mask:
    """Return a mask of the members of a sorted set that are in a run."""
    out = np.zeros(len(wanted), np.bool_)
    if not len(run):
        return out
    # only the relevant part of the run is searched, and so read from its file
    last = len(run) - 1
    places = np.searchsorted(run.first, wanted.first)
    if run.second is None or wanted.second is None:
        np.equal(run.first[np.minimum(places, last)], wanted.first, out=out)
        return out
    waiting = np.flatnonzero(places <= last)
    while len(waiting):
        at = places[waiting]
        waiting = waiting[run.first[at] == wanted.first[waiting]]
        at = places[waiting]
        hit = run.second[at] == wanted.second[waiting]
        out[waiting[hit]] = True
        waiting = waiting[~hit]
        places[waiting] += 1
        waiting = waiting[places[waiting] <= last]
    return out


def merged(runs: Sequence[Fingerprints]) -> Fingerprints:
    """Return the union of disjoint runs."""
    both = concatenated(runs, runs[0].second is not None)
    if both.second is None:
        return Fingerprints(np.sort(both.first, kind="stable"))  # which merges what is sorted already
    order = np.argsort(both.first, kind="stable")
    if np.any(both.first[order[1:]] == both.first[order[:-1]]):
        order = np.lexsort((both.second, both.first))
    return both[order]


def merge_slices(runs: Sequence[Fingerprints], size: int = SLICE) -> Iterator[Fingerprints]:
    """Yield the union of disjoint runs, piece by piece in order."""
    largest = max(runs, key=len)
    cuts = [largest.first[k] for k in range(size, len(largest), size)]
    places = [[0, *(int(np.searchsorted(run.first, cut)) for cut in cuts), len(run)] for run in runs]
    for k in range(len(cuts) + 1):
        yield merged([run[at[k] : at[k + 1]] for run, at in zip(runs, places, strict=True)])


def to_merge(sizes: Sequence[int], new: int) -> int:
    """Return the number of an owner's youngest runs with which a new one is merged.

    Args:
        sizes: of its runs, the oldest first.
        new: the number of fingerprints in the new one.
    """
    n = 0
    while n < len(sizes) and sizes[-1 - n] < 2 * new:
        new += sizes[-1 - n]
        n += 1
    return n
