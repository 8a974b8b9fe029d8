"""A sweep as DataFrames: one of its runs, and one of their events.

Neither is computed before rows are needed. A run is computed again by whoever needs its rows, from its number alone,
and with the same result; all of its rows come from one task. So the part of a task that a committer of Spark's, or of a
table format, makes visible consists of whole runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traces.events.table import COLUMNS
from traces.tables.spark.connect import is_connect
from traces.tables.spark.guest import workers
from traces.tables.sweep.block import block_table, schema_of
from traces.tables.sweep.events import check_events, events_of
from traces.tables.sweep.grid import Grid

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

RUNS, EVENTS = 2_000, 100  # configurations of a task: some thousand a second are played, and some ten listened to
MOST = 20_000  # tasks
AT_ONCE = 50  # configurations whose rows are in memory
AT_CONNECT = 16  # tasks at least, of a server that does not say how many it runs at once


@dataclass(frozen=True)
class Runs:
    """The task that makes rows of runs."""

    question: Grid

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of numbered configurations."""
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            for k in range(0, len(numbers), AT_ONCE):
                yield from block_table(self.question, numbers[k : k + AT_ONCE]).to_batches()


@dataclass(frozen=True)
class Events:
    """The task that makes rows of events.

    A run that does not come to its end has none; `error` of its row says why.

    Attributes:
        every: also record events that no property uses.
    """

    question: Grid
    every: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of numbered configurations."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.rows(number)

    def rows(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the events of one run."""
        import pyarrow as pa

        for table in events_of(self.question, number, self.every):
            columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
            yield from pa.table(columns, names=table.schema.names).to_batches()


def runs_frame(spark: SparkSession, question: Grid, partitions: int | None = None) -> DataFrame:
    """Return the rows of a sweep's table as a DataFrame.

    Args:
        question: the grid, checked.
        partitions: the number of tasks; by default derived from the number of configurations.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    return made(spark, question, Runs(question), from_arrow_schema(schema_of(question)), RUNS, partitions)


def events_frame(
    spark: SparkSession,
    question: Grid,
    every: bool = False,
    partitions: int | None = None,
    numbers: Sequence[int] | None = None,
) -> DataFrame:
    """Return the events of a sweep's runs as a DataFrame: an event table whose runs have the configurations' numbers.

    The rows of each run are contiguous and in order.

    Args:
        question: the grid, checked.
        every: also record events that no property uses (messages, timers, faults).
        partitions: the number of tasks; by default derived from the number of configurations.
        numbers: of the configurations; None for all.

    Raises:
        TableError: a protocol's events cannot be recorded.
    """
    check_events(question)
    columns = ", ".join(f"{name} {'string' if is_text else 'bigint'}" for name, is_text, *_ in COLUMNS)
    return made(spark, question, Events(question, every), columns, EVENTS, partitions, numbers)


def made(
    spark: SparkSession,
    question: Grid,
    task: Callable[..., Any],
    columns: Any,
    each: int,
    partitions: int | None,
    numbers: Sequence[int] | None = None,
) -> DataFrame:
    """Return a DataFrame of the rows that tasks make of configurations, `each` of them per task."""
    count = question.count if numbers is None else len(numbers)
    at_once = AT_CONNECT if is_connect(spark) else spark.sparkContext.defaultParallelism
    wanted = max(at_once, -(-count // each))
    tasks = partitions or max(1, min(count, wanted, MOST))
    with workers(spark):
        places = spark.range(0, count, 1, tasks)
        if numbers is not None:
            from pyspark.sql import functions as f

            places = places.select(f.element_at(f.array(*map(f.lit, numbers)), f.col("id").cast("int") + 1))
        return places.mapInArrow(task, columns)
