"""Check a table: its units in threads of this process, or as tasks of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from traces.judging.blocks import SHIFT
from traces.judging.blocks_kernel import sum_blocks
from traces.judging.history import judge_history
from traces.judging.kernel import judge_runs
from traces.judging.totals import Span, Totals, Unit, asked_for, check_spans, units_of
from traces.spark.connect import is_connect
from traces.spark.tasks import run_as_tasks
from traces.tables.places import Place
from traces.tables.table import LONGEST, TableError, parts_of
from zabspec.language.kernels import machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int, Totals], object]  # rows checked, of how many, and the results so far
OFTEN = 0.1  # seconds between two looks at what is done
LARGE = 100_000_000  # rows beyond which Spark is worth its start


def read_units(path: Place, longest: int = LONGEST) -> list[Unit]:
    """Return the units of a table, from the footers of its files.

    Raises:
        TableError: it is no event table.
    """
    return units_of(parts_of(path), longest)


def numbers_in(units: Sequence[Unit]) -> Callable[[Span], Sequence[int]]:
    """Return a function that reads the number of every run of a unit."""
    named = {unit.name: unit for unit in units}

    def numbers(span: Span) -> Sequence[int]:
        column = named[span.where].read(("run",)).column("run").to_numpy().tolist()
        return [n for k, n in enumerate(column) if k == 0 or n != column[k - 1]]

    return numbers


def settled(total: Totals, units: Sequence[Unit]) -> Totals:
    """Return the totals of a whole table, after checking that no run is in two units.

    Violations are in the order of their runs: units end in any order.

    Raises:
        TableError: one is.
    """
    total.violations.sort(key=lambda v: (v.run, v.property))
    if total.spans:  # otherwise its runs were looked at in order
        check_spans(total.spans, numbers_in(units))
    return total


# --- in this process -----------------------------------------------------------------------------


def judge_plainly(
    units: Sequence[Unit], names: Sequence[str], threads: int, progress: Progress = lambda *_: None, shift: int = SHIFT
) -> Totals:
    """Check every unit in this process, one unit per thread.

    Args:
        names: the properties to check; if empty, all that are checked by default.
        shift: of the blocks of a long run.

    Raises:
        TableError: a unit cannot be checked.
    """
    total, done = units[0].totals(names), 0
    everything = sum(u.rows for u in units)
    if total.what == "events":
        machine(judge_runs)  # compiled once, before threads ask for it
        machine(sum_blocks)
    stop = Event()
    begun = dict.fromkeys(range(len(units)), 0)  # the number of rows checked, for each unit under way
    pool = ThreadPoolExecutor(threads)

    def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        futures = [pool.submit(work, *a) for a in arguments]
        waiting = set(futures)
        while waiting:
            _, waiting = wait(waiting, OFTEN, FIRST_COMPLETED)
            part = sum(f.done() for f in futures) * everything // (2 * len(futures))
            progress(min(everything, done + part), everything, total)
        return [f.result() for f in futures]

    try:
        under_way = {
            pool.submit(u.judge, names, stop.is_set, partial(begun.__setitem__, k)): k
            for k, u in enumerate(units)
            if not u.long
        }
        wrong: tuple[int, TableError] | None = None  # the first in the table, whichever is found first
        while under_way:
            finished, _ = wait(under_way, OFTEN, FIRST_COMPLETED)
            for future in finished:
                k = under_way.pop(future)
                done += units[k].rows
                begun[k] = 0
                try:
                    total.add(future.result())
                except TableError as problem:
                    wrong = (k, problem) if wrong is None else min(wrong, (k, problem), key=lambda w: w[0])
            if wrong is not None:
                under_way = {future: k for future, k in under_way.items() if k < wrong[0]}
            progress(done + sum(begun.values()), everything, total)
        if wrong is not None:
            raise wrong[1]
        for unit in units:
            if unit.long:
                total.add(judge_history(unit, asked_for(names), each, shift))
                done += unit.rows
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
    return settled(total, units)


# --- on Spark --------------------------------------------------------------------------------------


def judge_on_spark(
    units: Sequence[Unit],
    names: Sequence[str],
    master: str | None = None,
    progress: Progress = lambda *_: None,
    shift: int = SHIFT,
) -> Totals:
    """Check a table as Spark tasks: one unit per task, and of a long run one part.

    The tasks read the files themselves, so a cluster must see them under the same paths.

    Raises:
        NoSpark: there is no session.
        SparkFailed: a job failed.
        TableError: a unit cannot be checked.
    """
    from traces.spark.session import session

    total = units[0].totals(names)
    units = [u.away() for u in units]
    everything = sum(u.rows for u in units)
    whole = [u for u in units if not u.long]
    with session(master or "", brief=everything < LARGE) as spark:
        done = sum(u.rows for u in whole)
        if whole:
            watch = watcher(spark, progress, 0, done, everything, total)
            for tally in tasks(spark, watch)(judged, [(u, tuple(names)) for u in whole]):
                total.add(tally)
        for unit in units:
            if unit.long:
                watch = watcher(spark, progress, done, unit.rows // 2, everything, total)
                total.add(judge_history(unit, asked_for(names), tasks(spark, watch), shift))
                done += unit.rows
    return settled(total, units)


def judged(unit: Unit, names: Sequence[str]) -> Totals:
    """Check a unit, as a task."""
    return unit.judge(names)


Watch = Callable[[], Any]  # makes a context manager under which a job runs


def tasks(spark: SparkSession, watch: Watch) -> Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]:
    """Return a function that maps a function over many arguments, one task each."""

    def each(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        def run(*argument: Any) -> Any:
            try:
                return work(*argument)
            except TableError as problem:  # the job continues, and the message is returned
                return problem

        with watch():
            results = run_as_tasks(spark, run, arguments)
        for result in results:
            if isinstance(result, TableError):
                raise result
        return results

    return each


def watcher(spark: SparkSession, progress: Progress, before: int, rows: int, everything: int, total: Totals) -> Watch:
    """Report the progress of the current job now and then; a session of Spark Connect does not report it."""
    if is_connect(spark):
        return nullcontext

    @contextmanager
    def watch() -> Iterator[None]:
        over = Event()
        tracker = spark.sparkContext.statusTracker()

        def look() -> None:
            while not over.wait(0.5):
                done = 0.0
                for stage in tracker.getActiveStageIds():
                    info = tracker.getStageInfo(stage)
                    done = info.numCompletedTasks / max(1, info.numTasks) if info is not None else done
                progress(before + int(done * rows), everything, total)

        thread = Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()

    return watch
