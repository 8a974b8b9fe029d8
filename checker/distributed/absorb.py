"""The second half of a level, in a task: an owner takes what was sent to it, keeps what it has not
seen before, and writes its part of the next level.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from checker.distributed.checkpoint import Level, Part, folder_of
from checker.distributed.code import ExplorationTask
from checker.distributed.expand import REPORT_CELL
from checker.distributed.fingerprints import Fingerprints, concatenated, distinct, known, merge_slices, to_merge
from checker.distributed.storage import File, Storage
from checker.distributed.workspace import Row, packed_array
from checker.explore.kernel import MANY
from checker.explore.memory import peak_bytes

NOTHING = File("", 0, 0, 0)

__all__ = ["absorbed", "run_of", "write_run"]


def absorbed(
    question: ExplorationTask, storage: Storage, level: Level, rows: Iterable[Row]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What each owner among the rows makes of them. The driver counts what it gets from here, and nothing else."""
    by_owner = sorted(rows, key=lambda row: (row["owner"], row["cell"], row["source"], row["number"]))
    for owner, mine in groupby(by_owner, key=lambda row: int(row["owner"])):
        yield owner, Owner(question, storage, level, owner).take(list(mine))


def numbers(rows: Iterable[Row], column: str, kind: Any) -> Any:
    """A column of all rows, one after the other."""
    return np.frombuffer(b"".join(row[column] for row in rows), kind)


def chosen(rows: Iterable[Row], kept: Any) -> Iterator[Any]:
    """The packed states at these places, message by message: they are most of what an owner holds, and
    are not to be held twice."""
    first = at = 0
    for row in rows:
        sizes = np.frombuffer(row["sizes"], np.uint16)
        end = int(np.searchsorted(kept, first + len(sizes)))
        if end > at:
            states = packed_array(row["states"], sizes).take(pa.array(kept[at:end] - first))
            offsets = np.frombuffer(states.buffers()[1], np.int64, end - at + 1)
            yield memoryview(states.buffers()[2])[offsets[0] : offsets[-1]]
        first, at = first + len(sizes), end
        del row["states"]


class Owner:
    """One owner, at the end of one level."""

    def __init__(self, question: ExplorationTask, storage: Storage, level: Level, owner: int) -> None:
        self.question = question
        self.storage = storage
        self.runs = level.parts[owner].runs
        # no other attempt at this has the same name
        self.name = f"{folder_of(level.depth + 1)}/{owner:04}-{uuid.uuid4().hex[:12]}"

    def written(self, kind: str, pieces: Iterable[Any], count: int) -> File:
        """A file of the next level; nothing is an empty name."""
        return self.storage.write(f"{self.name}.{kind}", pieces, count) if count else NOTHING

    def take(self, rows: list[Row]) -> dict[str, Any]:
        """Write the owner's part of the next level; returns what is to be known of it."""
        cpu = time.process_time()
        reports = [row["report"] for row in rows if row["cell"] == REPORT_CELL]
        rows = [row for row in rows if row["cell"] != REPORT_CELL]
        kept, new = self.unseen(rows)
        raw = len(kept)
        if self.question.symmetry:
            renamings = self.question.configuration.renamings
            same = numbers(rows, "renamings", np.uint8)[kept].astype(np.int64)
            raw = int(np.sum(np.where(same < MANY, renamings // same, same - MANY)))
        part = Part(
            self.written("states", chosen(rows, kept), len(kept)),
            self.written("pred", [numbers(rows, "keys", np.uint64)[kept]], len(kept)),
            self.with_run(new),
        )
        return {
            "part": part,
            "raw": raw,
            "broken": self.broken(rows, kept),
            "reports": reports,
            "cpu": time.process_time() - cpu,
            "memory": peak_bytes(),
        }

    def unseen(self, rows: list[Row]) -> tuple[Any, Fingerprints]:
        """The places of the states not seen before, each where it was first met, and their
        fingerprints in order."""
        first = numbers(rows, "fingerprints", np.uint64)
        second = numbers(rows, "seconds", np.uint64) if self.question.wide else None
        wanted, places = distinct(Fingerprints(first, second))
        for file in reversed(self.runs):
            if not len(wanted):
                break
            new = ~known(run_of(self.storage.mapped(file), file, self.question.wide), wanted)
            wanted, places = wanted[new], places[new]
        return np.sort(places), wanted

    def with_run(self, new: Fingerprints) -> tuple[File, ...]:
        """The owner's runs with a new one, which is merged with those not much larger."""
        if not len(new):
            return self.runs
        n = to_merge([run.count for run in self.runs], len(new))
        kept, younger = self.runs[: len(self.runs) - n], self.runs[len(self.runs) - n :]
        wide = self.question.wide
        runs = [run_of(self.storage.read(file), file, wide) for file in younger]
        return (*kept, write_run(self.storage, self.name + ".run", [*runs, new], wide))

    def broken(self, rows: list[Row], kept: Any) -> dict[int, int]:
        """For each property that a new state breaks, the first such state's place in the part."""
        out: dict[int, int] = {}
        first = 0
        for row in rows:
            for at, mask in np.frombuffer(row["broken"], np.int64).reshape(-1, 2).tolist():
                place = int(np.searchsorted(kept, first + at))
                if place == len(kept) or kept[place] != first + at:
                    continue  # met before, by another way
                while mask:
                    k = (mask & -mask).bit_length() - 1
                    out[k] = min(out.get(k, place), place)
                    mask &= mask - 1
            first += len(row["sizes"]) // 2
        return out


def run_of(buffer: Any, file: File, wide: bool) -> Fingerprints:
    """The fingerprints of a run's file: all first halves, then all second halves."""
    first = np.frombuffer(buffer, np.uint64, file.count)
    return Fingerprints(first, np.frombuffer(buffer, np.uint64, file.count, 8 * file.count) if wide else None)


def write_run(storage: Storage, name: str, runs: list[Fingerprints], wide: bool) -> File:
    """A run of runs that have nothing in common."""
    count = sum(map(len, runs))
    if not wide:
        return storage.write(name, (piece.first for piece in merge_slices(runs)), count)
    whole = concatenated(list(merge_slices(runs)), wide)
    return storage.write(name, (whole.first, whole.second), count)
