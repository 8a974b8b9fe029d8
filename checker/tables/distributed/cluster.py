"""Run the tasks of a level: in this process, or as jobs of a Spark session."""

from __future__ import annotations

import gc
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from checker.explore.checkpoints.checkpoint import Checkpoint, Level
from checker.explore.checkpoints.task import ExplorationTask
from checker.tables.distributed.absorb import MEMORY, absorbed
from checker.tables.distributed.code import code_for
from checker.tables.distributed.expand import expanded
from checker.tables.distributed.keep import kept
from checker.tables.distributed.storage import Damaged, File, Storage
from checker.tables.distributed.workspace import Row
from traces.tables.spark.guest import is_local
from zabspec.limits import Deadline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMING = 30.0  # seconds that executors may take to register
SETTLED = 1.0  # seconds without another one after which no more are expected
LOOK = 0.05  # seconds between two checks of a job
SAY = 0.5  # seconds between two checks of the number of finished tasks
WORTH = 10_000  # states: with fewer, a task takes about as long to begin as to work

Task = Callable[[Iterable[Any]], Iterator[Any]]
Watch = Callable[[float], bool]  # called with the part of the tasks that are done; returns whether to continue


class Cancelled(Exception):
    """A level was cancelled before it was complete."""


class Here:
    """Runs the tasks of a level one after the other in this process: for levels that are not worth a job."""

    memory = MEMORY

    def level(self, question: ExplorationTask, storage: Storage, level: Level, watch: Watch) -> list[dict[str, Any]]:
        """Expand a level; return what every task keeps of it, by part.

        Raises:
            Cancelled: `watch` requested it.
        """
        rows: list[Row] = []
        for source in range(question.parts):
            if not watch(source / question.parts):
                raise Cancelled
            rows += expanded(question, storage, level, source)
        answers = absorbed(question, storage, level, rows, self.memory)
        return [result for _, result in kept(question, storage, level, answers)]


class Cluster:
    """Runs the tasks of a level as a Spark job of three stages: expand, let the owners decide what is new, keep that.

    Args:
        worth: the number of states for which a task pays off; one task takes several parts of a small level.
        memory: bytes of fingerprints that a task holds before it writes them to disk.
    """

    def __init__(self, spark: SparkSession, worth: int = WORTH, memory: int = MEMORY) -> None:
        self.spark = spark
        self.worth = worth
        self.memory = memory
        self._sources: dict[tuple[int, int], Any] = {}

    def level(self, question: ExplorationTask, storage: Storage, level: Level, watch: Watch) -> list[dict[str, Any]]:
        """Expand a level; return what every task keeps of it, by part.

        Raises:
            Cancelled: `watch` requested it.
            Exception: Spark's, if a task failed finally.
        """
        parts = question.parts
        tasks = max(1, min(parts, level.size // self.worth))
        expand, absorb, keep = self.tasks(question, storage, level.depth)
        # plain RDDs: there is nothing to plan here, and a level takes half the time that it takes as a DataFrame
        found = self.sources(parts, tasks).mapPartitions(expand)
        new = found.partitionBy(tasks, int).values().mapPartitions(absorb)
        job = new.partitionBy(tasks, int).values().mapPartitions(keep)
        group = f"zabcheck level {level.depth + 1} {uuid.uuid4().hex}"  # more than one search may make such a level
        answers = self.collected(job, group, 3 * tasks, watch)
        by_owner = dict(answers)
        if sorted(by_owner) != list(range(parts)) or len(answers) != parts:
            raise RuntimeError(f"{parts} tasks had to answer, but {len(answers)} answers came")
        return [by_owner[part] for part in range(parts)]

    def cores(self) -> int:
        """Return the number of tasks that run at once.

        A cluster's executors register after its session has begun: the number is read once no more have registered for
        a second.
        """
        context: Any = self.spark.sparkContext
        if is_local(str(context.master)):
            return int(context.defaultParallelism)
        coming, settled = Deadline(COMING), Deadline(SETTLED)
        cores = 0
        while not coming.over() and not (cores and settled.over()):
            now = registered(context)
            if now is None:
                break
            if now != cores:
                cores, settled = now, Deadline(SETTLED)
            time.sleep(LOOK)
        return cores or int(context.defaultParallelism)

    def damage(self, storage: Storage, files: Sequence[File]) -> str:
        """Return what is wrong with the first damaged file among these; empty if none is damaged."""

        def read(file: File) -> str:
            try:
                storage.read(file)
            except Damaged as problem:
                return str(problem)
            return ""

        context = self.spark.sparkContext
        return next(filter(None, context.parallelize(files, min(len(files), 4096)).map(read).collect()), "")

    def sources(self, parts: int, tasks: int) -> Any:
        """Return the numbers of the parts as an RDD, distributed over `tasks` tasks."""
        if (parts, tasks) not in self._sources:
            self._sources[parts, tasks] = self.spark.sparkContext.parallelize(range(parts), tasks)
        return self._sources[parts, tasks]

    def tasks(self, question: ExplorationTask, storage: Storage, depth: int) -> tuple[Task, Task, Task]:
        """Return the functions of the three stages. They read the level from its manifest."""
        memory = self.memory

        def expand(sources: Iterable[int]) -> Iterator[tuple[int, Row]]:
            begin(question)
            level = Checkpoint(storage).load(depth)[1]
            return ((row["owner"], row) for source in sources for row in expanded(question, storage, level, source))

        def absorb(rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
            begin(question)
            level = Checkpoint(storage).load(depth)[1]
            return ((row["source"], row) for row in absorbed(question, storage, level, rows, memory))

        def keep(rows: Iterable[Row]) -> Iterator[tuple[int, dict[str, Any]]]:
            begin(question)
            level = Checkpoint(storage).load(depth)[1]
            return kept(question, storage, level, rows)

        return expand, absorb, keep

    def collected(self, job: Any, name: str, tasks: int, watch: Watch) -> list[Any]:
        """Run a job in a thread, and return its rows; report progress meanwhile."""
        context = self.spark.sparkContext
        outcome: list[Any] = []
        trouble: list[BaseException] = []

        def run() -> None:
            try:
                context.setJobGroup(name, name.rpartition(" ")[0], interruptOnCancel=False)
                outcome.extend(job.collect())
            except BaseException as problem:  # raised in the waiting thread
                trouble.append(problem)

        worker = threading.Thread(target=run, daemon=True)
        worker.start()
        looked = time.perf_counter()
        while worker.is_alive():
            worker.join(LOOK)
            if worker.is_alive() and time.perf_counter() - looked > SAY:
                looked = time.perf_counter()
                if not watch(self.done(name) / tasks):
                    context.cancelJobGroup(name)
                    raise Cancelled
        if trouble:
            raise trouble[0]
        return outcome

    def done(self, group: str) -> int:
        """Return the number of finished tasks of a group of jobs."""
        tracker = self.spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage)


def registered(context: Any) -> int | None:
    """Return the number of cores of the registered executors; None if Spark cannot report it."""
    from py4j.protocol import Py4JError

    try:
        found = context._jsc.sc().statusStore().executorList(True)
        each = [found.apply(k) for k in range(found.size())]
        return sum(int(one.totalCores()) for one in each if one.id() != "driver" and one.isActive())
    except (Py4JError, AttributeError, TypeError):
        return None


@cache
def begin(question: ExplorationTask) -> None:
    """Compile the code of an exploration in a task's process, and exempt what it keeps from garbage collection.

    Spark collects garbage after every task, and would traverse everything that a process keeps each time, which takes
    longer than a small task.
    """
    code_for(question)
    gc.collect()
    gc.freeze()
