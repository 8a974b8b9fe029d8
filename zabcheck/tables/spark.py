"""zabcheck in a Spark program: DataFrames in, DataFrames out.

    from zabcheck.tables.spark import conform, judge, sweep

    events = conform(spark.table("lake.zab.log"), {"run": "cluster_run", "time": "at"}, attempt=0)
    verdicts = judge(events, "total-order")
    verdicts.where("verdict = 'violated'").groupBy("property").count().show()

Nothing runs before rows are requested. `docs/how-to/tables-and-spark.md` has the columns, and the verdicts of runs
whose order is unclear. Settings of a session: `spark.zabcheck.rows`, the most rows of a run (default: what memory has
room for), and `spark.zabcheck.buckets` of a stream's state (64).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from checker.errors import RequestError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from invariants.registry import Property
    from traces.events.places import Place

SCHEMA: StructType
ARROW_SCHEMA: pa.Schema
Names = str | Sequence["str | Property"]
__all__ = [
    "ARROW_SCHEMA", "SCHEMA", "Swept", "conform", "described", "judge", "judge_stream", "session", "sweep",
    "write_stream",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return the schema of event tables: `SCHEMA` as a StructType, `ARROW_SCHEMA` as pyarrow has it."""
    if name == "SCHEMA":
        from traces.tables.conform import spark_schema

        return spark_schema()
    if name == "ARROW_SCHEMA":
        from traces.events.table import schema

        return schema()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what other floors refuse into a `RequestError`."""
    try:
        yield
    except OSError as problem:
        raise RequestError(str(problem)) from None


@contextmanager
def session(master: str = "", *, brief: bool = False) -> Iterator[SparkSession]:
    """Open a session, or use the one of this process or of spark-submit, which stays as it is.

    Args:
        master: where it runs; if empty, the present session, or all cores of this machine.
        brief: Java compiles quickly rather than well, in a session that is made on this machine: for work that takes
            under a minute, or is Python's, as a sweep.

    Raises:
        RequestError: there can be none.
    """
    from traces.tables.spark import session as sessions

    shown = {"spark.ui.enabled": "true", "spark.ui.showConsoleProgress": "true"}
    with refusing(), sessions.session(master, brief=brief, conf=shown) as spark:
        yield spark


def described(spark: SparkSession, what: str) -> AbstractContextManager[None]:
    """Describe the jobs that start meanwhile in Spark's user interface; a session of Spark Connect cannot."""
    from traces.tables.judging.frames import described as jobs

    return jobs(spark, what)


@dataclass(frozen=True)
class Swept:
    """Simulated runs, which are made when somebody asks for rows.

    Attributes:
        runs: a row a run, as in the table of `zabcheck sweep` (docs/reference/file-formats.md).
        events: what happened in them, whole runs in each partition, in order; `run` is `number` of `runs`. They cost a
            hundred times a run.
        events_of: returns the events of the runs with some numbers.
        properties: the names of the properties, which are columns of `runs`.
    """

    runs: DataFrame
    events: DataFrame
    events_of: Callable[[Sequence[int]], DataFrame]
    properties: tuple[str, ...]


def conform(
    df: DataFrame, mapping: Mapping[str, str] | None = None, *, kinds: Mapping[str, str] | None = None, **nulls: int
) -> DataFrame:
    """Return a DataFrame of events in the columns of an event table; columns that no event table has stay.

    Args:
        df: events, one a row. A column of an event table that it lacks is null, except `run` and `kind`.
        mapping: the name in `df` of each column of an event table that has another name there.
        kinds: the kind of event for each value that is spelt otherwise, as {"ABCAST": "abcast"}.
        nulls: what a null of a column stands for, as `attempt=0`; the notes of verdicts say so.

    Raises:
        RequestError: columns or kinds are missing, or of another type; one sentence has all mistakes.
    """
    from traces.tables import conform as tables

    with refusing():
        return tables.conform(df, mapping or {}, kinds or {}, nulls)


def judge(
    events: DataFrame | str | PathLike[str],
    properties: Names = (),
    *,
    observes: Sequence[str] | None = None,
    together: bool = False,
    order: Sequence[str] = (),
    rows: str = "",
    observation: Observation | None = None,
) -> DataFrame:
    """Judge every run in a DataFrame of events by the properties of histories.

    Args:
        events: with the columns of an event table (`SCHEMA`); further ones, as a date, are passed on to the verdicts:
            their values in the first row of a run; a note says where it has several. Or the path of files of such a
            table, which have their own order.
        properties: one or several; none: all that are judged by default. Columns that they do not read are not sent.
        observes: the kinds of event that the source of a run notes, if the run's first row does not say; None: abcast
            and abdeliver.
        together: the rows of each run lie together, in order, in one partition: they are not moved. A run of which this
            is not so is malformed.
        order: columns that say the order of the rows of a run; none: `row`, or else time, process and position, as far
            as these say it.
        rows: the column with the number of rows that the run must have; a run that was cut short is malformed.
        observation: receives the number of verdicts of each kind, as `open` and `malformed`, with the first action.

    Returns:
        A row for each run and property: `run`, `property`, `verdict` (as of `zabcheck judge`; or malformed), `reason`,
        `time`, `command`, `note`, `evidence` (the rows that violate it), `rows`, `unused` (rows of kinds that do not
        exist), and the further columns. It is not computed yet.

    Raises:
        RequestError: there is no such property, a column is missing or of another type, or there is no Spark.
    """
    names = names_of(properties, observes)
    with refusing():
        from traces.tables.judging.frames import Rows, judge_frame, rows_at

        if isinstance(events, str | PathLike):
            if observes is not None or together or order:
                raise RequestError("observes, together and order are for a DataFrame; files have their own")
            found, lie = rows_at(active_session(), place_named(fspath(events)))
            return judge_frame(found, names, lie, observation)
        return judge_frame(events, names, Rows(observes, together, order, rows), observation)


def names_of(properties: Names, observes: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of properties, after checking them, kinds of event, and that Spark is installed.

    Raises:
        RequestError: there is no such property or kind, or no Spark.
    """
    from checker.tables.requests.judge import check_names
    from traces.judging.runs import JUDGED
    from traces.tables.spark.session import check_installed

    some = (properties,) if isinstance(properties, str) else properties
    names = tuple(p if isinstance(p, str) else p.name for p in some)
    check_names(names, [p.name for p in JUDGED])
    check_kinds(observes or ())
    with refusing():
        check_installed()
    return names


def judge_stream(
    events: DataFrame,
    properties: Names = (),
    *,
    observes: Sequence[str] | None = None,
    rows: str = "",
    idle: float = 600.0,
    kept: float = 3600.0,
    disorder: int = 100_000,
    longest: int = 1_000_000,
) -> DataFrame:
    """Judge the runs of a stream of events while they come.

    A row for each property that is violated comes in the batch in which the moment of the violation is over; for every
    other property one comes when the run has ended. State is kept for buckets of runs, and is their rows.

    Args:
        events: a stream with the columns of an event table (docs/reference/file-formats.md), `row` among
            them: rows may come in any order.
        properties: which; none: all that are judged by default.
        observes: the kinds of event that the source of a run notes, if the run's first row does not say; None: abcast
            and abdeliver.
        rows: the column with the number of rows that the run must have; one that ends with another is malformed.
        idle: seconds without a row, while rows of other runs come, after which a run has ended.
        kept: seconds since its last row for which it is remembered that it has: rows that come meanwhile are
            malformed, later ones a run.
        disorder: rows of a run that wait for one that is missing; with more the run is malformed.
        longest: rows of a run; a longer one is undecided.

    Returns:
        A stream of rows as of `judge`, to be written in append mode.

    Raises:
        RequestError: there is no such property, it is no stream, a column is missing or of another type, or there is no
            Spark.
    """
    for name, least in {"idle": idle, "kept": kept, "disorder": disorder, "longest": longest}.items():
        if not least > 0:
            raise RequestError(f"{name} must be above 0, not {least}")
    names = names_of(properties, observes)
    with refusing():
        from traces.tables.judging.streams import Bounds, judge_frames

        bounds = Bounds(max(1, round(idle * 1000)), max(1, round(kept * 1000)), disorder, longest)
        return judge_frames(events, names, observes, bounds, rows)


def write_stream(
    verdicts: DataFrame,
    folder: str | PathLike[str],
    checkpoint: str | PathLike[str],
    *,
    trigger: str = "10 seconds",
    available_now: bool = False,
) -> StreamingQuery:
    """Start a query that writes a stream of verdicts as Parquet, the rows of each batch to a folder of its number.

    A query that was killed and is started again with the same checkpoint writes every row once.

    Args:
        folder: where to; a path, or an address of Hadoop's.
        checkpoint: where Spark keeps what has been read, and the state.
        trigger: how often a batch begins.
        available_now: judge the rows that are there, and end; runs that have not ended wait for the next query.
    """
    from traces.tables.judging.streams import write_batches

    return write_batches(verdicts, fspath(folder), fspath(checkpoint), trigger, available_now)


def check_kinds(observes: Sequence[str]) -> None:
    """Check kinds of event that a source may note.

    Raises:
        RequestError: one is none.
    """
    from traces.events.table import OBSERVED

    for kind in observes:
        if kind not in OBSERVED:
            raise RequestError(f"observes: there is no kind {kind!r}; there are {', '.join(OBSERVED)}")


def active_session() -> SparkSession:
    """Return the active session.

    Raises:
        RequestError: there is none.
    """
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        raise RequestError("there is no active SparkSession; SparkSession.builder.getOrCreate() makes one")
    return found


def place_named(name: str) -> Place:
    """Return a name as a path or an address."""
    from traces.events.places import address_of
    from zabspec.files import place_of

    return address_of(name) or place_of(name)


def sweep(spark: SparkSession, *, every: bool = False, partitions: int | None = None, **grid: Any) -> Swept:
    """Run every configuration of a grid in the simulator.

    Args:
        every: events are also what no property speaks of (messages, timers, faults).
        partitions: of each of the two; None: by the number of configurations.
        grid: what to run, in the words of `zabcheck sweep`, a value or several: seeds (or a range), protocol, variant,
            network, oracle, nodes, rounds, proposals, delay, partition, schedule, faults, fault_kinds, sample,
            sample_seed.

    Raises:
        RequestError: there is no such grid, events cannot be noted of its runs, or there is no Spark.
    """
    from traces.tables.spark.session import check_installed
    from traces.tables.sweep.grid import Grid

    if "seeds" not in grid:
        raise RequestError("seeds is missing, for example seeds='1:1001'")
    for name in grid:
        if name not in Grid.__dataclass_fields__:
            raise RequestError(f"a sweep has no option {name!r}")
    with refusing():
        check_installed()
        from traces.tables.sweep.block import properties_of
        from traces.tables.sweep.frames import events_frame, runs_frame

        asked: dict[str, Any] = {name: v if name in SINGLE else values(v) for name, v in grid.items()}
        question = Grid(**asked)
        question.check()

        def events_of(numbers: Sequence[int]) -> DataFrame:
            return events_frame(spark, question, every, partitions, numbers)

        events = events_frame(spark, question, every, partitions)
        return Swept(runs_frame(spark, question, partitions), events, events_of, properties_of(question))


SINGLE = ("sample", "sample_seed", "quorums")


def values(given: Any) -> tuple[Any, ...]:
    """Return the values of an axis: one, or several; a range is of seeds."""
    if isinstance(given, range) and given.step == 1:
        return (f"{given.start}:{given.stop}",)
    return tuple(given) if isinstance(given, list | tuple | range) else (given,)
