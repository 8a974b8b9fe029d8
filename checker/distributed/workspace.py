"""What a task works at: a table of what it has met, and columns of what it has found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from checker.distributed.checkpoint import Level
from checker.distributed.code import ExplorationTask, TaskCode
from checker.distributed.fingerprints import cell_of, cells, source_key
from checker.distributed.kernel import SECONDS, Candidates
from checker.distributed.storage import Storage
from checker.explore import kernel
from checker.explore.memory import Block

__all__ = ["Row", "masks", "packed_array", "workspace_for"]

GROUPS: int = kernel.GROUPS
SECTION = 96 << 10  # bytes of candidates of one group between two looks at it
CHUNK = 1 << 20  # bytes of packed states of one group that are sent together
LEAST_STATE = 16  # bytes of a packed state, when rows are counted; smaller ones are sent in smaller chunks
FIRST_CAPACITY = 1 << 14
LOAD = 0.7

# A message to an owner: states of one cell in the order they were met, as columns of bytes, with the
# task's part (`source`) and a number that says in which order its messages for the cell follow.
Row = dict[str, Any]


class Table:
    """The fingerprints that a task has met: sixteen tables of one size, in one block."""

    def __init__(self, code: TaskCode) -> None:
        self.code = code
        self.width = 2 if code.wide else 1
        self.where = Block(8 * (SECONDS + 1))
        self.make(FIRST_CAPACITY)

    def clear(self) -> None:
        """Empty it, for another task."""
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

    def room(self, most: int) -> None:
        """Make room for a group to hold so many."""
        if most <= LOAD * self.capacity:
            return
        block, old, distance = self.block, self.capacity, self.where.get(SECONDS)
        capacity = old
        while most > LOAD * capacity:
            capacity *= 2
        self.make(capacity)
        for g in range(GROUPS):
            self.code.regrow(
                block.address + 8 * g * old, distance, old,
                self.block.address + 8 * g * capacity, self.where.get(SECONDS), capacity,
            )  # fmt: skip


class Columns:
    """What was found in one group and is not sent yet."""

    def __init__(self, code: TaskCode, section: int) -> None:
        self.code = code
        rows = CHUNK // LEAST_STATE + section // (code.header + 1)
        self.rows = rows
        self.most = section // (code.header + 1)
        self.states = Block(CHUNK + section + 8)
        self.found = Candidates(most=rows)

    @property
    def count(self) -> int:
        return self.found.count

    @property
    def full(self) -> bool:
        return self.found.used > CHUNK or self.count + self.most > self.rows

    def append(self, out: Block, start: int, used: int, key: int) -> None:
        self.code.columns(out.address, start, used, key, self.states.address, self.found.address)

    def clear(self) -> None:
        self.found.count = self.found.used = self.found.pairs = 0

    def messages(self, question: ExplorationTask, group: int) -> Iterator[Row]:
        """The columns as rows: one, or one for each owner that has part of the group."""
        found, n = self.found, self.count
        states = self.states.bytes(0, found.used)
        fingerprints = np.frombuffer(found.fingerprint.memory[:n], np.uint64)
        seconds = np.frombuffer(found.second.memory[:n], np.uint64)
        keys = np.frombuffer(found.key.memory[:n], np.uint64)
        sizes = np.frombuffer(found.length.memory[:n], np.uint16)
        renamings = np.frombuffer(found.renamings.memory[:n], np.uint8)
        broken = np.frombuffer(found.broken.memory[: 2 * found.pairs], np.uint64).reshape(-1, 2)
        if question.parts <= GROUPS:
            yield {
                "owner": group * question.parts // GROUPS,
                "cell": group,
                "fingerprints": fingerprints.tobytes(),
                "seconds": seconds.tobytes() if question.wide else b"",
                "keys": keys.tobytes(),
                "sizes": sizes.tobytes(),
                "renamings": renamings.tobytes() if question.symmetry else b"",
                "states": states,
                "broken": broken.tobytes(),
            }
            return
        cell = cell_of(fingerprints, question.parts)
        order = np.argsort(cell, kind="stable")
        packed = packed_array(states, sizes).take(pa.array(order))
        offsets = np.frombuffer(packed.buffers()[1], np.int64)
        data = memoryview(packed.buffers()[2])
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        each = question.parts // GROUPS
        cuts = np.searchsorted(cell[order], np.arange(group * each, (group + 1) * each + 1))
        for k in range(len(cuts) - 1):
            a, b = int(cuts[k]), int(cuts[k + 1])
            if a == b:
                continue
            which = order[a:b]
            mine = [(int(place[row]) - a, mask) for row, mask in broken.tolist() if a <= place[row] < b]
            owner = group * each + k
            yield {
                "owner": owner,
                "cell": owner,
                "fingerprints": fingerprints[which].tobytes(),
                "seconds": seconds[which].tobytes() if question.wide else b"",
                "keys": keys[which].tobytes(),
                "sizes": sizes[which].tobytes(),
                "renamings": renamings[which].tobytes() if question.symmetry else b"",
                "states": bytes(data[offsets[a] : offsets[b]]),
                "broken": np.array(mine, np.uint64).tobytes(),
            }


def packed_array(states: bytes, sizes: Any) -> Any:
    """Packed states of these sizes, one after the other, as an Arrow array."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(states)]
    )


def masks(code: TaskCode, level: Level) -> tuple[int, int, int, int]:
    """The properties still to be judged, of states and of steps, and premises still to be met."""
    live = sum(1 << k for k, p in enumerate(code.properties) if p.name not in level.violations)
    want = sum(1 << k for k, p in enumerate(code.properties) if p.name not in level.witnessed)
    steps = code.of_steps
    return live & ~steps, live & steps, code.wanted_of(want & ~steps), want & steps


class Workspace:
    """What a task needs room for. It is used again by the next task of the process: to get memory from
    the system takes longer than a small task."""

    def __init__(self, code: TaskCode) -> None:
        self.code = code
        self.section = code.numbers["MARGIN"] + SECTION
        self.work, self.out = Block(code.work), Block(GROUPS * self.section)
        code.begin(self.work.address)
        self.filled = Block(8 * (GROUPS + 1))
        self.table = Table(code)
        self.groups = [Columns(code, self.section) for _ in range(GROUPS)]

    def found(
        self, question: ExplorationTask, storage: Storage, level: Level, source: int, report: Block
    ) -> Iterator[Row]:
        """Expand a part; gives the messages with states. Counts are in the report."""
        code, section, table, filled = self.code, self.section, self.table, self.filled
        counts, numbers = [0] * GROUPS, [0] * cells(question.parts)
        most = section // (code.header + 1)
        part = level.parts[source]
        packed = storage.read(part.states)
        live, live_steps, want, want_steps = masks(code, level)
        done = offset = 0
        while done < part.count:
            table.room(max(counts) + most)
            filled.map[:] = bytes(filled.size)
            done += code.expand(
                packed.address, offset, part.count - done, done, table.block.address, table.where.address,
                self.out.address, section, filled.address, self.work.address, report.address, code.perms, code.rank,
                live, live_steps, want, want_steps,
            )  # fmt: skip
            offset = report.get(kernel.R_OFFSET)
            last = done >= part.count
            for g, columns in enumerate(self.groups):
                before = columns.count
                columns.append(self.out, g * section, filled.get(g), source_key(source))
                counts[g] += columns.count - before
                if columns.count and (last or columns.full):
                    for row in columns.messages(question, g):
                        yield {**row, "source": source, "number": numbers[row["cell"]]}
                        numbers[row["cell"]] += 1
                    columns.clear()


_workspaces: dict[TaskCode, list[Workspace]] = {}  # that nobody uses now


@contextmanager
def workspace_for(code: TaskCode) -> Iterator[Workspace]:
    """A desk that nobody else uses meanwhile, empty."""
    free = _workspaces.setdefault(code, [])
    workspace = free.pop() if free else Workspace(code)
    yield workspace
    # not after an error, nor when a task is given up: who knows what is on it
    workspace.table.clear()
    free.append(workspace)
