"""The second stage of a level, in a task: an owner decides which of the fingerprints sent to it are new.

It keeps these. Of equal ones the first is new, in the order of the tasks and of what each found, so the answer does
not depend on the order in which messages arrive. Memory is bounded: fingerprints beyond a limit are written to disk,
partitioned by their next bits, and processed partition by partition.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import IO, Any

import numpy as np

from checker.explore.checkpoints.checkpoint import Level, folder_of
from checker.explore.checkpoints.files import File
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.memory import peak_bytes
from checker.tables.distributed.fingerprints import Fingerprints, concatenated, distinct, known, merge_slices, to_merge
from checker.tables.distributed.storage import Storage
from checker.tables.distributed.workspace import Row
from zabspec.temporary import unseen_file

MEMORY = 256 << 20  # bytes of fingerprints that an owner holds before it writes them to disk
SHARES_BITS = 6  # bits of a fingerprint, after those that determine its owner
ORDER_BITS = 40  # bits of an order: the position among what a task found; above them the task's number


def absorbed(
    question: ExplorationTask, storage: Storage, level: Level, rows: Iterable[Row], memory: int = MEMORY
) -> Iterator[Row]:
    """Process the rows of all owners of a task: yield each owner's answers, and the reports to pass on.

    A row is a query of a task or a report. An answer goes to the task that sent the query, a report to the task of the
    owner's number.

    Args:
        memory: bytes of fingerprints to hold before the largest owner writes its own to disk.
    """
    owners: dict[int, Owner] = {}
    asked: dict[int, list[Row]] = {}
    for row in rows:
        owner = owners.setdefault(row["owner"], Owner(question, storage, level, row["owner"]))
        if "report" in row:
            asked.setdefault(row["owner"], []).append(row)
        else:
            owner.take(row)
            if sum(one.held for one in owners.values()) > memory:
                max(owners.values(), key=lambda one: one.held).spill()
    for number, owner in sorted(owners.items()):
        yield from owner.answers()
        yield from asked.get(number, ())


@dataclass
class Query:
    """A task's query to an owner: the number of its fingerprints, and their positions among all that the task found."""

    source: int
    first: int
    count: int
    new: Any = None  # a mask

    @property
    def order(self) -> int:
        return self.source << ORDER_BITS | self.first


@dataclass
class Owner:
    """One owner, at the end of one level.

    Attributes:
        held: bytes of fingerprints in memory.
    """

    question: ExplorationTask
    storage: Storage
    level: Level
    number: int
    asked: list[Query] = field(default_factory=list)
    columns: list[tuple[Query, Fingerprints]] = field(default_factory=list)
    spilled: list[IO[bytes]] = field(default_factory=list)
    held: int = 0
    cpu: float = 0.0

    @property
    def words(self) -> int:
        """The number of words of a fingerprint with its order, in a file."""
        return 3 if self.question.wide else 2

    def take(self, row: Row) -> None:
        """Add the fingerprints of a task's query."""
        cpu = time.process_time()
        second = np.frombuffer(row["seconds"], np.uint64) if self.question.wide else None
        prints = Fingerprints(np.frombuffer(row["fingerprints"], np.uint64), second)
        one = Query(row["source"], row["first"], len(prints))
        self.asked.append(one)
        self.columns.append((one, prints))
        self.held += 8 * len(prints) * self.words
        self.cpu += time.process_time() - cpu

    def in_order(self) -> tuple[Fingerprints, Any]:
        """Return all fingerprints in memory, with the order of each."""
        self.columns.sort(key=lambda column: column[0].order)
        prints = concatenated([column for _, column in self.columns], self.question.wide)
        none = [np.empty(0, np.uint64)]
        orders = np.concatenate(
            [np.arange(a.order, a.order + a.count, dtype=np.uint64) for a, _ in self.columns] or none
        )
        self.columns, self.held = [], 0
        return prints, orders

    def share_of(self, first: Any) -> Any:
        """Return the partition of each fingerprint: the bits after those that determine its owner."""
        owners = self.question.parts.bit_length() - 1
        return (first << np.uint64(owners)) >> np.uint64(64 - SHARES_BITS)

    def spill(self) -> None:
        """Write the fingerprints in memory to disk, one file for each partition."""
        cpu = time.process_time()
        prints, orders = self.in_order()
        if not self.spilled:
            self.spilled = [unseen_file("fingerprints") for _ in range(1 << SHARES_BITS)]
        shares = self.share_of(prints.first)
        for k, file in enumerate(self.spilled):
            mine = shares == k
            if mine.any():
                columns = [prints.first[mine], orders[mine]] + ([] if prints.second is None else [prints.second[mine]])
                file.write(np.stack(columns, axis=1).tobytes())
        self.cpu += time.process_time() - cpu

    def pieces(self) -> Iterator[tuple[Fingerprints, Any]]:
        """Yield all fingerprints, with the order of each: in one piece, or by partition in order of the first half."""
        if not self.spilled:
            yield self.in_order()
            return
        self.spill()
        for file in self.spilled:
            file.seek(0)
            rows = np.frombuffer(file.read(), np.uint64).reshape(-1, self.words)
            file.close()
            rows = rows[np.argsort(rows[:, 1], kind="stable")]
            columns = [np.ascontiguousarray(rows[:, k]) for k in range(self.words)]
            yield Fingerprints(columns[0], columns[2] if self.question.wide else None), columns[1]

    def answers(self) -> Iterator[Row]:
        """Decide which fingerprints are new, save them as a run, and yield the answer to each query."""
        cpu = time.process_time()
        self.asked.sort(key=lambda one: one.order)
        starts = np.array([one.order for one in self.asked], np.uint64)
        for one in self.asked:
            one.new = np.zeros(one.count, np.bool_)
        runs = self.level.parts[self.number].runs
        with ExitStack() as stack:
            kept: list[Fingerprints] = []
            on_disk = stack.enter_context(unseen_file("fingerprints")) if self.spilled else None
            for prints, orders in self.pieces():
                new, places = self.unseen(prints, runs)
                self.note(starts, np.sort(orders[places]))
                if on_disk is None:
                    kept.append(new)
                elif len(new):
                    kept.append(mapped(on_disk, new))
            runs = self.with_run(kept, runs)
        spent = self.cpu + time.process_time() - cpu
        report = {"runs": runs, "cpu": spent, "memory": peak_bytes()}
        for source, several in groupby(self.asked, key=lambda one: one.source):
            answers = [(one.first, one.count, np.packbits(one.new).tobytes()) for one in several]
            yield {"source": source, "answers": answers}
        yield {"source": self.number, "absorbed": report}

    def note(self, starts: Any, orders: Any) -> None:
        """Mark the fingerprints at these positions of the order as new."""
        if not len(orders):
            return
        which = np.searchsorted(starts, orders, side="right") - 1
        cuts = np.flatnonzero(np.diff(which, prepend=-1))
        for a, b in zip(cuts, [*cuts[1:], len(which)], strict=True):
            one = self.asked[which[a]]
            one.new[(orders[a:b] - np.uint64(one.order)).astype(np.int64)] = True

    def unseen(self, prints: Fingerprints, runs: Sequence[File]) -> tuple[Fingerprints, Any]:
        """Return those fingerprints that were not seen before, sorted, and the position where each occurs first."""
        wanted, places = distinct(prints)
        for file in reversed(runs):
            if not len(wanted):
                break
            new = ~known(run_of(self.storage.mapped(file), file, self.question.wide), wanted)
            wanted, places = wanted[new], places[new]
        return wanted, places

    def with_run(self, new: list[Fingerprints], runs: tuple[File, ...]) -> tuple[File, ...]:
        """Return the owner's runs with a new one, which is merged with those that are not much larger.

        Args:
            new: its pieces, in order.
        """
        count = sum(map(len, new))
        if not count:
            return runs
        n = to_merge([run.count for run in runs], count)
        kept, younger = runs[: len(runs) - n], runs[len(runs) - n :]
        wide = self.question.wide
        name = f"{folder_of(self.level.depth + 1)}/{self.number:05}-{uuid.uuid4().hex[:12]}.run"
        merged = [run_of(self.storage.read(file), file, wide) for file in younger]
        return (*kept, write_run(self.storage, name, [*merged, *new], wide))


def mapped(file: IO[bytes], prints: Fingerprints) -> Fingerprints:
    """Map a file of fingerprints instead of reading it into memory."""
    at, n = file.seek(0, 2), len(prints)
    for column in (prints.first, prints.second):
        if column is not None:
            file.write(column.tobytes())
    file.flush()
    of = np.memmap(file, np.uint64, "r", at, (n if prints.second is None else 2 * n,))
    return Fingerprints(of[:n], None if prints.second is None else of[n:])


def run_of(buffer: Any, file: File, wide: bool) -> Fingerprints:
    """Return the fingerprints in a run's file: all first halves, then all second halves."""
    first = np.frombuffer(buffer, np.uint64, file.count)
    return Fingerprints(first, np.frombuffer(buffer, np.uint64, file.count, 8 * file.count) if wide else None)


def write_run(storage: Storage, name: str, runs: list[Fingerprints], wide: bool) -> File:
    """Write the union of disjoint runs as one run, and return its file."""
    count = sum(map(len, runs))
    pieces: Iterator[Any] = (piece.first for piece in merge_slices(runs))
    if wide:
        pieces = chain(pieces, (piece.second for piece in merge_slices(runs)))
    return storage.write(name, pieces, count)
