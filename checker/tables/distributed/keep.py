"""The last stage of a level, in a task: keep its states that owners report as new, as a part of the next level."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checker.explore.checkpoints.checkpoint import Level, LevelPart, folder_of
from checker.explore.checkpoints.files import NOTHING, PADDING, Damaged, File
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.memory import peak_bytes
from checker.tables.distributed.candidates import Candidates, chunks_of
from checker.tables.distributed.storage import Storage
from checker.tables.distributed.workspace import Row

BLOCKS = 16  # the approximate number of blocks of a part
LEAST_BLOCK = 256  # states


def kept(question: ExplorationTask, storage: Storage, level: Level, rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
    """Keep the new states of each task among the rows; yield each task's number and what the driver counts.

    The driver counts nothing else. The file of a task's candidates stays until the level is committed: another attempt
    may need it.

    Raises:
        RuntimeError: a message is missing, or came twice.
        Damaged: the file of candidates is missing, or not what was written.
    """
    by_source: dict[int, list[Row]] = {}
    for row in rows:
        by_source.setdefault(row["source"], []).append(row)
    for source, mine in sorted(by_source.items()):
        yield source, Keeping(question, storage, level, source).keep(mine)


def one_of(rows: list[Row], name: str) -> Any:
    found = [row[name] for row in rows if name in row]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} messages with {name!r} reached a task, instead of one")
    return found[0]


@dataclass
class Keeping:
    """One task's part of the next level, as it is written at the end of a level."""

    question: ExplorationTask
    storage: Storage
    level: Level
    source: int
    raw: int = 0
    broken: dict[int, int] = field(default_factory=dict)
    predecessors: list[Any] = field(default_factory=list)
    blocks: list[tuple[int, int]] = field(default_factory=list)

    def keep(self, rows: list[Row]) -> dict[str, Any]:
        """Write the task's part of the next level; return its description for the driver."""
        cpu = time.process_time()
        report, found, absorbed = (one_of(rows, name) for name in ("report", "candidates", "absorbed"))
        mask = mask_of([one for row in rows for one in row.get("answers", ())], found.count)
        count = int(np.count_nonzero(mask))
        states = predecessors = NOTHING
        # no other attempt at this task has the same name
        name = f"{folder_of(self.level.depth + 1)}/{self.source:05}-{uuid.uuid4().hex[:12]}"
        if count:
            states = self.storage.write(f"{name}.states", self.chosen(found, mask), count)
            predecessors = self.storage.write(f"{name}.pred", self.predecessors, count)
            if sum(n for n, _ in self.blocks) != count:
                raise RuntimeError(f"{count} states had to be kept, but {sum(n for n, _ in self.blocks)} were")
        spent = time.process_time() - cpu
        return {
            "part": LevelPart(states, predecessors, absorbed["runs"], tuple(self.blocks)),
            "raw": self.raw,
            "broken": self.broken,
            "reports": [report],
            "cpu": spent + absorbed["cpu"],
            "candidates": found,
            "memory": max(peak_bytes(), absorbed["memory"]),
        }

    def chosen(self, found: File, mask: Any) -> Iterator[Any]:
        """Yield the packed states that are new, and record their other columns."""
        buffer = self.storage.read(found)
        at = before = 0
        most = max(LEAST_BLOCK, int(np.count_nonzero(mask)) // BLOCKS)
        for chunk in chunks_of(buffer, found.size - PADDING):
            mine = mask[at : at + len(chunk)]
            at += len(chunk)
            if mine.any():
                new = chunk.kept(mine)
                self.note(new, before)
                self.share_out(new.sizes, most)
                before += len(new)
                yield new.states
        if at != len(mask):
            raise Damaged(f"{found.name} has {at} states, not {len(mask)}")

    def note(self, new: Candidates, before: int) -> None:
        """Record the keys, renamings and violations of some states.

        Args:
            before: the number of states of the part that come before them.
        """
        self.predecessors.append(new.keys)
        if self.question.symmetry:  # an orbit fits a word; of many the sum does not
            low, high = new.orbits & np.uint64(0xFFFFFFFF), new.orbits >> np.uint64(32)
            self.raw += int(np.sum(low)) + (int(np.sum(high)) << 32)
        else:
            self.raw += len(new)
        for row, properties in new.broken.tolist():
            mask = properties
            while mask:
                k = (mask & -mask).bit_length() - 1
                self.broken.setdefault(k, before + row)
                mask &= mask - 1

    def share_out(self, sizes: Any, most: int) -> None:
        """Add some states to the blocks."""
        ends = np.cumsum(sizes, dtype=np.int64)
        at = done = 0
        while at < len(sizes):
            if not self.blocks or self.blocks[-1][0] >= most:
                self.blocks.append((0, 0))
            count, size = self.blocks[-1]
            n = min(most - count, len(sizes) - at)
            self.blocks[-1] = count + n, size + int(ends[at + n - 1]) - done
            at, done = at + n, int(ends[at + n - 1])


def mask_of(answers: list[tuple[int, int, bytes]], states: int) -> Any:
    """Return the mask of a task's states that owners report as new.

    Args:
        states: their number.

    Raises:
        RuntimeError: a state is reported by no owner, or by two.
    """
    answers.sort()
    out = []
    at = 0
    for first, count, bits in answers:
        if first != at:
            raise RuntimeError(
                f"of {abs(first - at)} states {'nobody' if first > at else 'several owners'} reported which are new"
            )
        out.append(np.unpackbits(np.frombuffer(bits, np.uint8), count=count).astype(np.bool_))
        at += count
    if at != states:  # even if nothing seems to be new: the level would be treated as the last
        raise RuntimeError(f"owners reported on {at} states, but {states} were found")
    return np.concatenate(out) if out else np.zeros(0, np.bool_)
