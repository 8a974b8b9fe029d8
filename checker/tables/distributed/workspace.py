"""The memory that a task works with: a table of what it has met, and columns of what it has found."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from checker.explore import kernel
from checker.explore.checkpoints.checkpoint import Level
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.memory import Block
from checker.tables.distributed.candidates import Candidates
from checker.tables.distributed.code import TaskCode
from checker.tables.distributed.fingerprints import Fingerprints, cell_of
from checker.tables.distributed.kernel import SECONDS
from checker.tables.distributed.kernel import Candidates as Found
from checker.tables.distributed.storage import Storage, Writer

GROUPS: int = kernel.GROUPS
SECTION = 96 << 10  # bytes of candidates of one group between two checks of its size
CHUNK = 1 << 20  # bytes of packed states of one group that are sent together
LEAST_STATE = 16  # bytes of a packed state, when rows are counted; smaller ones are sent in smaller chunks
FIRST_CAPACITY = 1 << 14
LOAD = 0.7
LARGEST = 256 << 20  # bytes of the table of a task

# A message between tasks, as Spark pickles it. To an owner: the fingerprints of some states of a task (`source`), and
# the place of the first of them among all that it found.
Row = dict[str, Any]


class Table:
    """The fingerprints that a task has met: sixteen tables of one size, in one block."""

    def __init__(self, code: TaskCode) -> None:
        self.code = code
        self.width = 2 if code.wide else 1
        self.where = Block(8 * (SECONDS + 1))
        self.make(FIRST_CAPACITY)

    def clear(self) -> None:
        """Empty the table, for another task."""
        if self.capacity == FIRST_CAPACITY:
            self.block.map[:] = bytes(self.block.size)
        else:
            self.make(FIRST_CAPACITY)

    def make(self, capacity: int) -> None:
        self.capacity = capacity
        self.block = Block(8 * GROUPS * capacity * self.width, huge=True)
        for g in range(GROUPS):
            self.where.put(2 * g, g * capacity)
            self.where.put(2 * g + 1, capacity)
        self.where.put(SECONDS, GROUPS * capacity)

    def room(self, most: int) -> bool:
        """Make room for `most` fingerprints in each group, or empty the table if that exceeds its memory limit.

        Returns:
            Whether it still holds its previous content.
        """
        if most <= LOAD * self.capacity:
            return True
        block, old, distance = self.block, self.capacity, self.where.get(SECONDS)
        capacity = old
        while most > LOAD * capacity:
            capacity *= 2
        if 8 * GROUPS * capacity * self.width > LARGEST:
            self.make(old)
            return False
        self.make(capacity)
        for g in range(GROUPS):
            self.code.regrow(
                block.address + 8 * g * old, distance, old,
                self.block.address + 8 * g * capacity, self.where.get(SECONDS), capacity,
            )  # fmt: skip
        return True


class Columns:
    """The candidates found in one group that are not sent yet."""

    def __init__(self, code: TaskCode, section: int) -> None:
        self.code = code
        rows = CHUNK // LEAST_STATE + section // (code.header + 1)
        self.rows = rows
        self.most = section // (code.header + 1)
        self.states = Block(CHUNK + section + 8)
        self.found = Found(most=rows)

    @property
    def count(self) -> int:
        return self.found.count

    @property
    def full(self) -> bool:
        return self.found.used > CHUNK or self.count + self.most > self.rows

    def append(self, out: Block, start: int, used: int) -> None:
        self.code.columns(out.address, start, used, self.states.address, self.found.address)

    def clear(self) -> None:
        self.found.count = self.found.used = self.found.pairs = 0

    def candidates(self, symmetry: bool) -> Candidates:
        """Return the columns in the form in which they are kept."""
        found, n = self.found, self.count
        return Candidates(
            np.frombuffer(found.key.memory[:n], np.uint64),
            np.frombuffer(found.length.memory[:n], np.uint16),
            np.frombuffer(found.orbit.memory[: n if symmetry else 0], np.uint64),
            np.frombuffer(found.broken.memory[: 2 * found.pairs], np.uint64).reshape(-1, 2),
            self.states.bytes(0, found.used),
        )

    def fingerprints(self, wide: bool) -> Fingerprints:
        """Return the fingerprints of the columns' states, in their order."""
        n = self.count
        second = np.frombuffer(self.found.second.memory[:n], np.uint64) if wide else None
        return Fingerprints(np.frombuffer(self.found.fingerprint.memory[:n], np.uint64), second)

    def messages(self, question: ExplorationTask, group: int, first: int) -> tuple[Candidates, list[Row]]:
        """Return the columns, in the order in which they are kept, and the queries to their owners.

        Args:
            first: the index of the first of them among all that the task has found.
        """
        found, prints = self.candidates(question.symmetry), self.fingerprints(question.wide)
        if question.parts <= GROUPS:
            return found, [message(group * question.parts // GROUPS, first, prints)]
        cell = cell_of(prints.first, question.parts)
        order = np.argsort(cell, kind="stable")
        prints = prints[order]
        each = question.parts // GROUPS
        cuts = np.searchsorted(cell[order], np.arange(group * each, (group + 1) * each + 1)).tolist()
        asked = [message(group * each + k, first + a, prints[a:b]) for k, (a, b) in enumerate(pairwise(cuts)) if a < b]
        return found.reordered(order), asked


def message(owner: int, first: int, prints: Fingerprints) -> Row:
    """Return the query to an owner about some states, which are adjacent."""
    return {
        "owner": owner,
        "first": first,
        "fingerprints": prints.first.tobytes(),
        "seconds": b"" if prints.second is None else prints.second.tobytes(),
    }


def masks(code: TaskCode, level: Level) -> tuple[int, int, int, int]:
    """Return masks of the properties still to be judged, of states and of steps, and of the open premises of each."""
    live = sum(1 << k for k, p in enumerate(code.properties) if p.name not in level.violations)
    want = sum(1 << k for k, p in enumerate(code.properties) if p.name not in level.witnessed)
    steps = code.of_steps
    return live & ~steps, live & steps, code.wanted_of(want & ~steps), want & steps


class Workspace:
    """The memory of a task. The next task of the process reuses it: allocation takes longer than a small task."""

    def __init__(self, code: TaskCode) -> None:
        self.code = code
        self.section = code.numbers["MARGIN"] + SECTION
        self.work, self.out = Block(code.work), Block(GROUPS * self.section)
        code.begin(self.work.address)
        self.filled = Block(8 * (GROUPS + 1))
        self.table = Table(code)
        self.groups = [Columns(code, self.section) for _ in range(GROUPS)]

    def found(
        self, question: ExplorationTask, storage: Storage, level: Level, source: int, report: Block, out: Writer
    ) -> Generator[Row, None, int]:
        """Expand a share of a level; yield the queries to owners, and return the number of states found.

        Counters are written to `report`.

        Args:
            out: where what was found is kept.
        """
        code, section, table, filled = self.code, self.section, self.table, self.filled
        counts, written, done = [0] * GROUPS, 0, 0
        most = section // (code.header + 1)
        masks_of = masks(code, level)
        pieces = level.shares()[source]
        for piece in pieces:
            packed = storage.read(level.parts[piece.part].states)
            offset, end = piece.at, done + piece.count
            while done < end:
                if not table.room(max(counts) + most):
                    counts = [0] * GROUPS  # states that leave the task twice are known to their owner
                filled.map[:] = bytes(filled.size)
                done += code.expand(
                    packed.address, offset, end - done, done, table.block.address, table.where.address,
                    self.out.address, section, filled.address, self.work.address, report.address, code.perms,
                    *masks_of,
                )  # fmt: skip
                offset = report.get(kernel.R_OFFSET)
                last = done >= end and piece is pieces[-1]
                for g, columns in enumerate(self.groups):
                    before = columns.count
                    columns.append(self.out, g * section, filled.get(g))
                    counts[g] += columns.count - before
                    if columns.count and (last or columns.full):
                        kept, asked = columns.messages(question, g, written)
                        for part in kept.written():
                            out.write(part)
                        written += len(kept)
                        yield from ({**row, "source": source} for row in asked)
                        columns.clear()
        return written


_workspaces: dict[TaskCode, list[Workspace]] = {}  # workspaces that are not in use


@contextmanager
def workspace_for(code: TaskCode) -> Iterator[Workspace]:
    """Yield an empty workspace for exclusive use."""
    free = _workspaces.setdefault(code, [])
    workspace = free.pop() if free else Workspace(code)
    yield workspace
    # not after an error, nor when a task is cancelled: its content is unknown then
    workspace.table.clear()
    free.append(workspace)
