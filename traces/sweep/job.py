"""Run a sweep on Spark: one task for every missing block."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traces.spark import SparkFailed
from traces.spark.tasks import run_as_tasks
from traces.sweep.block import answer
from traces.sweep.checksum import CheckedBlock
from traces.sweep.events import events_of
from traces.sweep.grid import Grid
from traces.sweep.store import MANIFEST, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK = 0.5  # seconds between two looks at how many blocks are finished
WORTH = 0.5  # seconds that a block is to take: a task costs some milliseconds, and a killed one its block
PARTS, MOST_PARTS = 64, 20_000  # blocks in a sweep, if they can be that many; and at most
TRIED = 4  # configurations that are timed to find out

Tell = Callable[[int], None]  # how many configurations are finished


def block_for(question: Grid, events: bool = False) -> int:
    """Choose the number of configurations of a block, by timing some that are spread over the sweep.

    Args:
        events: whether the events of the runs are recorded as well.
    """
    seconds = []
    for k in range(min(TRIED, question.count)):
        number = k * (question.count - 1) // max(1, TRIED - 1) if question.count > TRIED else k
        run = question.run(number)
        answer(run)  # compiles it
        started = time.process_time()
        answer(run)
        if events:
            list(events_of(question, number))
        seconds.append(time.process_time() - started)
    by_time = int(WORTH * len(seconds) / max(1e-6, sum(seconds)))
    return max(1, min(by_time, -(-question.count // PARTS)), -(-question.count // MOST_PARTS))


def run_missing(
    spark: SparkSession, store: Store, missing: list[int], tell: Tell = lambda _: None
) -> dict[int, CheckedBlock]:
    """Run the missing blocks and return them, by number.

    Whatever is finished stays, however this ends.

    Args:
        tell: called now and then, from a thread of its own, with the number of finished configurations.

    Raises:
        SparkFailed: a task has failed as often as Spark allows.
        StoreError: the folder belongs to another sweep by now.
    """
    made: dict[int, CheckedBlock] = {}
    if missing:
        with Watching(store, tell):
            done = run_as_tasks(spark, RunBlock(store), [(block,) for block in missing])
        made = store.check(missing)
        if sorted(done) != missing or sorted(made) != missing:
            raise SparkFailed(f"blocks are missing from {store.runs}; is it one folder for all workers?")
    store.clear()
    return made


@dataclass(frozen=True)
class RunBlock:
    """The task that runs a block."""

    store: Store

    def __call__(self, block: int) -> int:
        """Run a block unless it is finished; return its number.

        Raises:
            OSError: the worker does not see the folder, or cannot write to it.
        """
        gc.freeze()  # pyspark collects garbage after every task, and looking through what is imported takes 25 ms
        if not (self.store.folder / MANIFEST).exists():
            raise FileNotFoundError(f"a worker does not see {self.store.folder}: all must share it")
        # a task that Spark runs a second time, to be sure or to be quick, need not do it over
        if self.store.unsealed(block) is None:
            self.store.run_block(block)
        return block


class Watching:
    """Looks at what is finished while something runs; a context manager."""

    def __init__(self, store: Store, tell: Tell) -> None:
        self.store, self.tell = store, tell
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self) -> None:
        while not self.over.wait(LOOK):
            with contextlib.suppress(OSError):
                self.tell(sum(len(self.store.numbers(block)) for block in self.store.finished()))

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
