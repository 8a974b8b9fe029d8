"""Checkpoints of the local engine: after each level, the data that a killed run needs to resume.

Manifests, validation and cleanup are those of a distributed exploration
(`checker/explore/checkpoints/checkpoint.py`). Here a level has one part, and its fingerprints are one run per level,
which later levels leave unchanged.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker.explore import kernel
from checker.explore.breadth_first import GROUPS, LOAD, Chunk, Explorer, LevelGroup
from checker.explore.checkpoints.checkpoint import Checkpoint, Level, LevelPart, Refused, check_same, folder_of
from checker.explore.checkpoints.files import Damaged, File, Folder, StorageError
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.compiled import Compiled
from checker.explore.memory import Block
from checker.explore.predecessors import PREDECESSOR
from checker.explore.result import Limits, Violation

COUNTS = struct.Struct(f"<{GROUPS}Q")  # of each group, before its items in a file
CHUNK = struct.Struct("<2Q")  # bytes and states of a buffer, before it
SUMMED = (kernel.R_GENERATED, kernel.R_DEADLOCKS, *range(kernel.R_STEPS, kernel.R_BROKEN))


class Kept:
    """The checkpoint of one exploration; a context manager, which locks it against other runs.

    Args:
        where: the folder.
        code: the model.
        limits: of this run.
        resume: whether to continue from what is there; if not, the folder must be empty.

    Raises:
        Refused: the folder does not match that, or another run uses it.
        StorageError: it cannot be used.
    """

    def __init__(self, where: Path, code: Compiled, limits: Limits, resume: bool) -> None:
        self.folder = Folder(where)
        self.checkpoint = Checkpoint(self.folder)
        names = tuple(p.name for p in code.properties)
        self.task = ExplorationTask(
            code.model.configuration, names, code.symmetry, False, GROUPS, code.identity, code.stuttering_steps,
            engine="compiled",
        )  # fmt: skip
        self.level: Level | None = None
        if resume and not self.checkpoint.depths():
            raise Refused(f"{where} has no checkpoint to resume from")
        if not resume:
            self.folder.create()
            self.checkpoint.check_empty()
        self.checkpoint.lock()
        if resume:
            try:
                found, self.level = self.checkpoint.last()
                check_same(found, self.task, self.level, limits, str(where))
            except BaseException:
                self.checkpoint.unlock()
                raise

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.checkpoint.unlock()

    @property
    def depth(self) -> int:
        """The depth of the last level that is saved, or -1."""
        return self.level.depth if self.level is not None else -1

    # --- writing -----------------------------------------------------------------------------------

    def keep(self, explorer: Explorer, level: list[LevelGroup]) -> None:
        """Write a level and commit it; if it cannot be written, stop the exploration."""
        r, before = explorer.result, self.level
        depth, count = len(r.levels) - 1, sum(group.count for group in level)
        try:
            self.folder.create(folder_of(depth))
            preds = explorer.preds.groups(depth)
            parts = LevelPart(
                self.write(depth, "states", states_of(level), count),
                self.write(depth, "predecessors", [counts(n for n, _ in preds), *(data for _, data in preds)], count),
                (*(before.parts[0].runs if before else ()), self.write(depth, "prints", prints_of(level), count)),
            )
            kept = Level(
                depth,
                [parts],
                list(r.levels),
                list(r.raw_levels),
                totals_of(explorer),
                dict(r.witnessed),
                {name: list(found.schedule) for name, found in r.violations.items()},
                "",
                time.perf_counter() - explorer.started,
                time.process_time() - self.cpu_before(explorer),
            )
            self.checkpoint.commit(self.task, kept)
        except OSError as problem:
            r.stopped = f"--checkpoint {self.folder.where}: {problem.strerror or problem}"
            return
        except StorageError as problem:
            r.stopped = str(problem)
            return
        self.level = kept
        if before is not None:
            self.folder.remove([before.parts[0].states.name])
        for group in level:
            group.prints = Block(8)

    def cpu_before(self, explorer: Explorer) -> float:
        return explorer.cpu_started - explorer.result.cpu_seconds

    def write(self, depth: int, name: str, pieces: Any, count: int) -> File:
        return self.folder.write(f"{folder_of(depth)}/{name}", pieces, count)

    # --- reading -----------------------------------------------------------------------------------

    def last(self, explorer: Explorer) -> list[LevelGroup] | None:
        """Restore all that is saved, and return the frontier to resume from.

        Raises:
            Refused: a file is damaged.
        """
        if self.level is None:
            return None
        try:
            self.put_back_prints(explorer, [self.folder.read(run) for run in self.level.parts[0].runs])
            for depth in range(self.level.depth + 1):
                _, level = self.checkpoint.load(depth)
                packed = self.folder.read(level.parts[0].predecessors)
                explorer.preds.append(grouped(packed, PREDECESSOR), explorer.budget)
            found = self.states(explorer, self.folder.read(self.level.parts[0].states))
        except (Damaged, struct.error, ValueError) as problem:
            raise Refused(f"the checkpoint {self.folder.where} is damaged: {problem}") from None
        self.put_back_counts(explorer, self.level)
        self.checkpoint.tidy(self.level, None)
        if self.level.depth:
            self.folder.remove([f"{folder_of(self.level.depth - 1)}/states"])
        return found

    def put_back_prints(self, explorer: Explorer, runs: Sequence[bytes]) -> None:
        """Restore the fingerprint tables from the runs of all levels."""
        found = [grouped(run, 8) for run in runs]
        for g, group in enumerate(explorer.groups):
            group.count = sum(run[g][0] for run in found)
            capacity = max(group.capacity, int(group.count / LOAD) + 1)
            group.block, group.capacity = Block(8 * capacity, huge=True, budget=explorer.budget), capacity
            for run in found:
                count, data = run[g]
                if count:
                    held = ctypes.create_string_buffer(data, len(data))
                    explorer.code.rehash(ctypes.addressof(held), count, group.block.address, capacity)

    def states(self, explorer: Explorer, data: bytes) -> list[LevelGroup]:
        """Return the states of the level to resume from."""
        level, at = [], COUNTS.size
        for chunks in COUNTS.unpack_from(data):
            group = LevelGroup(explorer.budget)
            for _ in range(chunks):
                used, count = CHUNK.unpack_from(data, at)
                block, at = explorer.pool.take(), at + CHUNK.size
                block.map[:used] = data[at : at + used]
                at += used
                group.chunks.append(Chunk(block, used, count))
            group.info.put(2, sum(chunk.count for chunk in group.chunks))
            level.append(group)
        return level

    def put_back_counts(self, explorer: Explorer, level: Level) -> None:
        """Restore the findings and counters up to the level."""
        r = explorer.result
        r.levels, r.raw_levels, r.expanded_levels = list(level.levels), list(level.raw_levels), level.depth
        r.witnessed = dict(level.witnessed)
        known = {p.name: p for p in explorer.code.properties}
        r.violations = {name: Violation(known[name], tuple(words)) for name, words in level.violations.items()}
        for place, total in zip(SUMMED, level.totals, strict=True):
            explorer.slots[0].report.put(place, total)
        r.cpu_seconds = level.cpu_seconds
        explorer.started -= level.seconds


def counts(of: Any) -> bytes:
    return COUNTS.pack(*of)


def states_of(level: list[LevelGroup]) -> Iterator[Any]:
    """Yield the packed states of a level: the number of buffers of each group, then the buffers."""
    yield counts(len(group.chunks) for group in level)
    for group in level:
        for chunk in group.chunks:
            yield CHUNK.pack(chunk.used, chunk.count)
            yield group.states(chunk)


def prints_of(level: list[LevelGroup]) -> Iterator[Any]:
    """Yield the fingerprints of a level: their number in each group, then the fingerprints."""
    yield counts(group.count for group in level)
    for group in level:
        yield memoryview(group.prints.map)[: 8 * group.count]


def grouped(data: bytes, size: int) -> list[tuple[int, bytes]]:
    """Return the content of a file by group: the number of items, and their bytes, `size` for each.

    Raises:
        ValueError: it is short.
    """
    out, at = [], COUNTS.size
    for count in COUNTS.unpack_from(data):
        if at + size * count > len(data):
            raise ValueError("a file is too short")
        out.append((count, data[at : at + size * count]))
        at += size * count
    return out


def totals_of(explorer: Explorer) -> list[int]:
    """Return the sums of the kernel's counters."""
    return [sum(slot.report.get(place) for slot in explorer.slots) for place in SUMMED]
