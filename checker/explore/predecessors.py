"""How every state was first found, level by level: in memory, or on disk once memory is scarce.

They are written once and read only for the way back to a violation, so what they take is better left to the table of
fingerprints, which every step reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from checker.explore.memory import Budget
from zabspec.temporary import unseen_file

PREDECESSOR = 6  # bytes kept for each state: the number of its parent in the level before (4), the step's ordinal (2)


@dataclass
class PredecessorPart:
    """The predecessors of one group of a level.

    Attributes:
        count: of its states.
        packed: their entries; None if they are on disk.
        at: their offset on disk, in bytes.
    """

    count: int
    packed: bytes | None
    at: int = 0


class Predecessors:
    """The predecessors of all levels, each in groups."""

    def __init__(self) -> None:
        self.levels: list[list[PredecessorPart]] = []
        self.file: IO[bytes] | None = None
        self.spilled = 0  # levels from the first on that are on disk

    def __len__(self) -> int:
        return len(self.levels)

    def append(self, groups: Iterable[tuple[int, bytes]], budget: Budget) -> None:
        """Add those of the next level, by group: the number of states, and their entries.

        If memory is scarce all that is in memory is written to disk; where there is no room on disk, it stays.
        """
        level = [PredecessorPart(count, packed) for count, packed in groups]
        self.levels.append(level)
        budget.add(sum(PREDECESSOR * part.count for part in level))
        if budget.scarce():
            with contextlib.suppress(OSError):
                self.spill(budget)

    def spill(self, budget: Budget) -> None:
        """Write to disk what is in memory.

        Raises:
            OSError: the disk is full. What was not written is still in memory.
        """
        if self.file is None:
            self.file = unseen_file("predecessors")
        for level in self.levels[self.spilled :]:
            for part in level:
                if part.packed is not None:
                    at = self.file.seek(0, os.SEEK_END)
                    self.file.write(part.packed)
                    self.file.flush()
                    budget.give(len(part.packed))
                    part.packed, part.at = None, at
            self.spilled += 1

    def groups(self, depth: int) -> list[tuple[int, bytes]]:
        """Return a level as it was added."""
        return [(part.count, self.entries(part, 0, part.count)) for part in self.levels[depth]]

    def every(self) -> list[list[tuple[int, bytes]]]:
        """Return all levels as they were added."""
        return [self.groups(depth) for depth in range(len(self))]

    def of(self, depth: int, index: int) -> tuple[int, int]:
        """Return the number of the parent of a state, in the level before, and the ordinal of the step from it.

        Raises:
            IndexError: the level has no state of that number.
        """
        at = index
        for part in self.levels[depth]:
            if 0 <= at < part.count:
                entry = self.entries(part, at, 1)
                return int.from_bytes(entry[:4], "little"), int.from_bytes(entry[4:], "little")
            at -= part.count
        raise IndexError(f"level {depth} has no state {index}")

    def entries(self, part: PredecessorPart, first: int, count: int) -> bytes:
        """Return entries of a part, from memory or disk."""
        if part.packed is not None:
            return part.packed[PREDECESSOR * first : PREDECESSOR * (first + count)]
        assert self.file is not None
        found = os.pread(self.file.fileno(), PREDECESSOR * count, part.at + PREDECESSOR * first)
        if len(found) != PREDECESSOR * count:
            raise OSError(f"a temporary file of predecessors ends at {len(found)} of {PREDECESSOR * count} bytes")
        return found
