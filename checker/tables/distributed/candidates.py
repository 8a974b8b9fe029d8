"""The file in which a task keeps the states it found until it is known which of them are new.

It is a sequence of chunks; the states of one belong to one owner, or to one group of the kernel. A chunk is four
numbers (rows, bytes of states, pairs in `broken`, and number of orbits), then its columns: keys, broken, orbits,
sizes, states, padded to whole words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

HEAD = 4  # words
WORD = 8


@dataclass(frozen=True)
class Candidates:
    """States that a task has found, in the order in which they are kept.

    Attributes:
        keys: the key of each, its predecessor and ordinal (`fingerprints.split_key`).
        sizes: bytes of each packed state.
        orbits: the number of states in the orbit of each; empty without symmetry.
        broken: rows, and the properties that their states violate.
        states: packed, one after the other.
    """

    keys: Any
    sizes: Any
    orbits: Any
    broken: Any
    states: Any

    def __len__(self) -> int:
        return len(self.sizes)

    def written(self) -> list[Any]:
        """Return the pieces of a chunk, in the order in which they are written."""
        head = np.array([len(self), len(self.states), len(self.broken), len(self.orbits)], np.int64)
        columns = (self.keys, self.broken, self.orbits, self.sizes, self.states)
        pieces = [head, *(np.ascontiguousarray(column) for column in columns[:-1]), self.states]
        size = sum(memoryview(piece).nbytes for piece in pieces)
        return [*pieces, bytes(padded(size) - size)]

    def reordered(self, order: Any) -> Candidates:
        """Return the same states in another order."""
        packed = packed_array(self.states, self.sizes).take(pa.array(order))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        broken = self.broken.copy()
        broken[:, 0] = place[broken[:, 0].astype(np.int64)]
        orbits = self.orbits[order] if len(self.orbits) else self.orbits
        return Candidates(self.keys[order], self.sizes[order], orbits, broken, states_in(packed))

    def kept(self, mask: Any) -> Candidates:
        """Return the candidates selected by a mask."""
        places = np.flatnonzero(mask)
        rows = self.broken[:, 0].astype(np.int64)
        broken = self.broken[mask[rows]] if len(rows) else self.broken
        if len(broken):
            broken = broken.copy()
            broken[:, 0] = np.searchsorted(places, broken[:, 0].astype(np.int64))
        packed = packed_array(self.states, self.sizes).take(pa.array(places))
        orbits = self.orbits[places] if len(self.orbits) else self.orbits
        return Candidates(self.keys[places], self.sizes[places], orbits, broken, states_in(packed))


def padded(size: int) -> int:
    """Return a number of bytes rounded up to whole words."""
    return -(-size // WORD) * WORD


def states_in(packed: Any) -> memoryview:
    """Return the bytes of an Arrow array of packed states."""
    offsets = np.frombuffer(packed.buffers()[1], np.int64, len(packed) + 1, WORD * packed.offset)
    return memoryview(packed.buffers()[2])[offsets[0] : offsets[-1]] if len(packed) else memoryview(b"")


def packed_array(states: Any, sizes: Any) -> Any:
    """Return packed states of these sizes, one after the other, as an Arrow array."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(states)]
    )


def chunks_of(buffer: Any, size: int) -> Iterator[Candidates]:
    """Read the chunks of a file, one at a time.

    Args:
        size: the number of its bytes that are chunks.
    """
    at = 0
    while at < size:
        rows, states, pairs, several = np.frombuffer(buffer, np.int64, HEAD, at).tolist()
        at += WORD * HEAD
        keys = np.frombuffer(buffer, np.uint64, rows, at)
        at += WORD * rows
        broken = np.frombuffer(buffer, np.uint64, 2 * pairs, at).reshape(-1, 2)
        at += 2 * WORD * pairs
        orbits = np.frombuffer(buffer, np.uint64, several, at)
        at += WORD * several
        begin = at
        sizes = np.frombuffer(buffer, np.uint16, rows, at)
        at += 2 * rows
        packed = memoryview(buffer)[at : at + states]
        yield Candidates(keys, sizes, orbits, broken, packed)
        at = begin + padded(2 * rows + states)
