"""Check a stream of events as it arrives: violations within one trigger, all other verdicts at a run's end.

The state of a run is its rows so far. Rows may come in any order: `row` numbers them. Of the rows without a gap before
them, those whose moment is over are checked, which is when a row with a later time follows: what is violated at the end
of a moment is violated by the run, whatever follows. Everything else is reported at the end of a run, which is when
none of its rows has come for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import numbers
from traces.judging.batches import NEEDED, NUMBERED, UNNOTED, WORDS, Judge, Spoken
from traces.judging.runs import JUDGED
from traces.spark.guest import workers
from traces.tables.table import COLUMNS, ROW, USUAL, TableError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

VERDICTS = "run bigint, property string, verdict string, reason string, time bigint, command string, note string"
STATE = "rows binary, judged bigint, violated string, ended boolean"
VIOLATED, UNDECIDED = "violated", "undecided"
NUMBERS = tuple(name for name, is_text, *_ in COLUMNS if not is_text and name in (*NEEDED, ROW) and name != "run")
TEXTS = tuple(name for name, is_text, *_ in COLUMNS if is_text and name in NEEDED)
BETWEEN = ","  # names of properties in a state


@dataclass(frozen=True)
class Bounds:
    """The bounds of a stream's state.

    Attributes:
        idle: milliseconds without a row after which a run counts as ended.
        kept: milliseconds for which ended runs are remembered.
        disorder: the most rows of a run that wait for a missing one.
        longest: the most rows of a run.
    """

    idle: int = 600_000
    kept: int = 3_600_000
    disorder: int = 100_000
    longest: int = 1_000_000


@dataclass
class RunState:
    """What is kept of a run.

    Attributes:
        rows: those that have come, by their numbers; None if none has.
        judged: how many of the first ones are judged.
        violated: the properties of which it is said that they are violated.
        ended: the run has ended.
    """

    rows: pa.Table | None = None
    judged: int = 0
    violated: list[str] = field(default_factory=list)
    ended: bool = False

    @classmethod
    def of(cls, state: Any) -> RunState:
        """Return what Spark keeps."""
        if not state.exists:
            return cls()
        rows, judged, violated, ended = state.get
        return cls(unpacked(rows), int(judged), [name for name in violated.split(BETWEEN) if name], bool(ended))

    def as_tuple(self) -> tuple[bytes, int, str, bool]:
        """Return it as Spark keeps it."""
        return packed(self.rows), self.judged, BETWEEN.join(self.violated), self.ended


def packed(rows: pa.Table | None) -> bytes:
    """Return rows as bytes."""
    import pyarrow as pa

    if rows is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
        out.write_table(rows.combine_chunks())
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpacked(data: bytes) -> pa.Table | None:
    """Return the rows of some bytes."""
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all() if data else None


@dataclass(frozen=True)
class JudgeStream:
    """The function that Spark calls for each run with new rows, and for each that has ended."""

    judge: Judge
    bounds: Bounds = Bounds()

    def __call__(self, key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        """Check what has come of a run, and return the results."""
        (run,) = key
        run = None if run is None or run != run else int(run)
        if state.hasTimedOut:
            kept = RunState.of(state)
            if kept.ended:
                state.remove()
                return
            yield self.end(run, kept, state)
            return
        rows = rows_of(frames, run)
        if run is None:
            yield self.as_frame(self.judge.refused(None, f"{rows.num_rows:,} rows have no run number"))
            return
        kept = RunState.of(state)
        if kept.ended:
            state.update(kept.as_tuple())
            state.setTimeoutDuration(self.bounds.kept)
            yield self.as_frame(self.judge.refused(run, f"{rows.num_rows:,} rows came after the end of the run"))
            return
        yield from self.more(run, rows, kept, state)

    def more(self, run: int, rows: pa.Table, kept: RunState, state: Any) -> Iterator[Any]:
        """Add rows of a run, and return which properties are violated."""
        import pyarrow as pa

        both = rows if kept.rows is None else pa.concat_tables([kept.rows, rows])
        kept.rows = both.take(np.argsort(numbers_of(both, ROW), kind="stable"))
        if kept.rows.num_rows > self.bounds.longest:
            why = f"a run of more than {self.bounds.longest:,} rows is not checked in a stream; check its table"
            yield self.end(run, kept, state, why)
            return
        there = unbroken(numbers_of(kept.rows, ROW))
        if kept.rows.num_rows - there > self.bounds.disorder:
            yield self.end(run, kept, state)
            return
        over = moments_over(kept.rows, there)
        if over > kept.judged:
            said = self.spoken(kept.rows.slice(0, over))
            yield self.as_frame(said, kept, only=VIOLATED)
            kept.judged = over
            kept.violated += [name for name, word in words_of(said) if word == VIOLATED and name not in kept.violated]
        state.update(kept.as_tuple())
        state.setTimeoutDuration(self.bounds.idle)

    def end(self, run: int | None, kept: RunState, state: Any, why: str = "") -> Any:
        """Return all remaining results of a run, and drop its rows.

        Args:
            why: it is not judged.
        """
        assert kept.rows is not None
        said = self.judge.refused(run, why, UNDECIDED) if why else self.spoken(kept.rows)
        state.update(RunState(ended=True).as_tuple())
        state.setTimeoutDuration(self.bounds.kept)
        return self.as_frame(said, kept)

    def spoken(self, rows: pa.Table) -> Spoken:
        """Check rows of a run, sorted by their numbers."""
        found = [said for some in self.judge.spoken(rows.combine_chunks().to_batches()) for said in some]
        assert len(found) == 1
        return found[0]

    def as_frame(self, said: Spoken, kept: RunState | None = None, only: str = "") -> Any:
        """Return the results of a run, one row per property.

        Args:
            kept: of the run; what was said of it before is left out.
            only: this verdict alone.
        """
        pd: Any = import_module("pandas")  # it does not say what its types are
        before = kept.violated if kept is not None else []
        rows = []
        for place, word in enumerate(said.words):
            name = JUDGED[place].name
            if word < 0 or name in before or only not in ("", WORDS[word]):
                continue
            why, time, command = said.said.get(place, (None, None, None))
            why = UNNOTED[place] if why is None and WORDS[word] == "not judged" else why
            rows.append((said.run, name, WORDS[word], why, time, command, said.note))
        columns = list(zip(*rows, strict=True)) or [()] * 7
        names = [column.split()[0] for column in VERDICTS.split(", ")]
        # pyspark joins it to rows of no type: a column of another type than theirs is one that pandas warns of
        return pd.DataFrame(
            {name: pd.Series(column, dtype="object") for name, column in zip(names, columns, strict=True)}
        )


def words_of(said: Spoken) -> list[tuple[str, str]]:
    """Return the properties that have a verdict, with the verdict."""
    return [(JUDGED[place].name, WORDS[word]) for place, word in enumerate(said.words) if word >= 0]


def rows_of(frames: Iterable[Any], run: int | None) -> pa.Table:
    """Return rows that came through pandas, with nulls for `numbers.NULL`."""
    import pyarrow as pa

    return pa.concat_tables([rows_of_frame(frame, run) for frame in frames])


def rows_of_frame(frame: Any, run: int | None) -> pa.Table:
    """Return the rows of a frame, with nulls for `numbers.NULL`."""
    import pyarrow as pa

    columns: dict[str, Any] = {"run": pa.array(np.full(len(frame), run or 0), pa.int64())}
    for name in NUMBERS:
        column = frame[name].to_numpy(np.int64)
        columns[name] = pa.array(column, pa.int64(), mask=column == numbers.NULL)
    for name in TEXTS:
        columns[name] = pa.array(frame[name], pa.string(), from_pandas=True)
    return pa.table({name: columns[name] for name in (*NEEDED, ROW)})


def numbers_of(rows: pa.Table, name: str) -> Any:
    """Return a column of numbers, with `numbers.NULL` for nulls."""
    return rows.column(name).fill_null(numbers.NULL).combine_chunks().to_numpy(zero_copy_only=False)


def unbroken(row: Any) -> int:
    """Return how many sorted row numbers exist from the first on, without a gap and each once."""
    wrong = np.flatnonzero(row != np.arange(len(row)))
    return int(wrong[0]) if len(wrong) else len(row)


def moments_over(rows: pa.Table, there: int) -> int:
    """Return how many of the first rows belong to moments that are over; none if one of them has no time.

    Args:
        rows: sorted by their numbers.
        there: how many of them are there without a gap.
    """
    time = numbers_of(rows, "time")[:there]
    if not len(time) or (time[1:] == numbers.NULL).any():  # the first row begins the run
        return 0
    return int(np.searchsorted(np.maximum.accumulate(time), time.max()))


# --- the plan --------------------------------------------------------------------------------------


def judge_frames(events: DataFrame, names: Sequence[str], observes: Sequence[str] | None, bounds: Bounds) -> DataFrame:
    """Return a stream of verdicts on a stream of events.

    Args:
        events: the columns of an event table, `row` among them.
        names: the properties to check; if empty, all that are checked by default.
        observes: the kinds of event that the source of a run records, if its first row does not say.
        bounds: the bounds of the stream's state.

    Raises:
        TableError: it is no stream, or a column is missing or of another type.
    """
    from pyspark.sql import functions as f

    from traces.judging.frames import check_frame

    if not events.isStreaming:
        raise TableError("this is not a stream; judge() checks a table")
    check_frame(events.schema)
    if ROW not in events.columns:
        raise TableError(f"a stream of events has a column {ROW!r}, the order of a run's rows")
    # pandas has no number that says nothing, and would make others inexact
    exact = [f.coalesce(f.col(name), f.lit(numbers.NULL)).alias(name) for name in NUMBERS]
    work = JudgeStream(Judge(tuple(names), USUAL if observes is None else tuple(observes), NUMBERED), bounds)
    with workers(events.sparkSession):
        rows = events.select("run", *exact, *TEXTS).groupBy("run")
        timeout = "ProcessingTimeTimeout"
        return rows.applyInPandasWithState(work, VERDICTS, STATE, "append", timeout)


def write_batches(verdicts: DataFrame, folder: str, checkpoint: str, trigger: str) -> StreamingQuery:
    """Start a query that writes the rows of each batch to a folder of its number, where there are any.

    A batch that is run again after a crash has the same rows and replaces what it has written: no row is lost or there
    twice.
    """

    def put(frame: DataFrame, number: int) -> None:
        rows = frame.persist()
        try:
            if not rows.isEmpty():
                rows.coalesce(1).write.mode("overwrite").parquet(f"{folder}/batch={number}")
        finally:
            rows.unpersist()

    writer = verdicts.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    return writer.foreachBatch(put).trigger(processingTime=trigger).start()
