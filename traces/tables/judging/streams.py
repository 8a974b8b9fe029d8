"""Check a stream of events as it arrives: violations within one trigger, all other verdicts at a run's end.

State is keyed by a bucket of runs, since a key costs more than its rows. The state of a bucket is the rows of its runs
that have not ended; they are judged together, by the judge of tables. Rows may come in any order: `row` numbers them.
Of a run's rows without a gap before them, those whose moment is over are checked, which is when a row with a later time
follows: what is violated at the end of a moment is violated by the run, whatever follows. Everything else is reported
at the end of a run, which is when none of its rows has come while rows of other runs came for a while.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.events.table import COLUMNS, ROW, USUAL, TableError
from traces.judging import numbers
from traces.judging.runs import JUDGED
from traces.tables.judging.batches import NEEDED, NUMBERED, Judge, Spoken, column_of, starts_of
from traces.tables.judging.frames import check_frame, setting
from traces.tables.spark.guest import workers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

VERDICTS = "run bigint, property string, verdict string, reason string, time bigint, command string, note string"
STATE = "buckets int, rows binary, runs binary"
VIOLATED, UNDECIDED = "violated", "undecided"
NUMBERS = tuple(name for name, is_text, *_ in COLUMNS if not is_text and name in (*NEEDED, ROW))
TEXTS = tuple(name for name, is_text, *_ in COLUMNS if is_text and name in NEEDED)
ARRIVED = "arrived"  # when the batch of a row began: its watermark says how long a run has been silent
BUCKETS = "64"  # of runs, unless the session says `spark.zabcheck.buckets`


@dataclass(frozen=True)
class Bounds:
    """The bounds of a stream's state.

    Attributes:
        idle: milliseconds without a row, while rows of other runs come, after which a run counts as ended. Half of them
            pass after the other half was noticed: a query that was down for longer has rows of the run still to read.
        kept: milliseconds for which ended runs are remembered.
        disorder: the most rows of a run that wait for a missing one.
        longest: the most rows of a run.
    """

    idle: int = 600_000
    kept: int = 3_600_000
    disorder: int = 100_000
    longest: int = 1_000_000

    @property
    def half(self) -> int:
        """Return half of the idle time, by which the watermark is behind."""
        return (self.idle + 1) // 2


@dataclass
class RunState:
    """What is kept of a run, beside its rows.

    Attributes:
        last: when its last row came, or it was seen to be silent, in milliseconds.
        silent: no row has come for half of the idle time.
        judged: how many of its first rows are judged.
        violated: the properties of which a violation was reported.
        ended: the run has ended.
    """

    last: int
    silent: bool = False
    judged: int = 0
    violated: set[str] = field(default_factory=set)
    ended: bool = False


@dataclass
class Bucket:
    """The state of a bucket.

    Attributes:
        rows: of the runs that have not ended, by run and `row`; None if there are none.
        runs: the state of each run.
    """

    rows: pa.Table | None = None
    runs: dict[int, RunState] = field(default_factory=dict)

    @classmethod
    def of(cls, state: Any) -> Bucket:
        """Return what Spark keeps."""
        if not state.exists:
            return cls()
        _, rows, runs = state.get
        return cls(unpacked(rows), pickle.loads(runs))

    def as_tuple(self) -> tuple[bytes, bytes]:
        """Return it as Spark keeps it, behind the number of buckets."""
        return packed(self.rows), pickle.dumps(self.runs)


def packed(rows: pa.Table | None) -> bytes:
    """Return rows as bytes."""
    import pyarrow as pa

    if rows is None or not rows.num_rows:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
        out.write_table(rows.combine_chunks())
    found: bytes = sink.getvalue().to_pybytes()
    return found


def unpacked(data: bytes) -> pa.Table | None:
    """Return the rows of some bytes."""
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all() if data else None


@dataclass(frozen=True)
class JudgeStream:
    """The function that Spark calls for each bucket with new rows, and for each in which a run has ended.

    It is `(state, rows) -> verdicts`: a table is the same with an empty state, all of whose runs end.
    """

    judge: Judge
    bounds: Bounds = Bounds()
    buckets: int = int(BUCKETS)

    def __call__(self, key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        """Check what has come of a bucket, and return the results.

        Raises:
            TableError: it is one of another number of buckets, so that rows of its runs come to others.
        """
        if state.exists and (before := state.get[0]) != self.buckets:
            why = f"spark.zabcheck.buckets is {self.buckets}, and the state in the checkpoint is of {before}"
            raise TableError(f"{why}: set it to {before}")
        bucket = Bucket.of(state)
        rows, now = ([], 0) if state.hasTimedOut else rows_of(frames, self.judge.expected)
        said = list(self.more(bucket, rows, now))
        said += self.end(bucket, [run for run, of in bucket.runs.items() if self.silent(of, state)])
        for run in [run for run, of in bucket.runs.items() if of.ended and self.forgotten(of, state)]:
            del bucket.runs[run]
        if not bucket.runs:
            state.remove()
        else:
            state.update((self.buckets, *bucket.as_tuple()))
            state.setTimeoutTimestamp(max(self.due(bucket), state.getCurrentWatermarkMs() + 1))
        if said:
            yield as_frame(said)

    def silent(self, of: RunState, state: Any) -> bool:
        """Return whether no row of an open run has come for the idle time, the second half of it seen from here."""
        watermark = int(state.getCurrentWatermarkMs())
        if of.ended or of.last >= watermark:
            return False
        if not of.silent:
            of.last, of.silent = watermark + self.bounds.half, True
            return False
        return True

    def forgotten(self, of: RunState, state: Any) -> bool:
        """Return whether an ended run need not be remembered any more."""
        return of.last + self.bounds.kept < int(state.getCurrentWatermarkMs()) + self.bounds.half

    def due(self, bucket: Bucket) -> int:
        """Return the watermark from which on something is to be done."""
        ends = (of.last + (self.bounds.kept - self.bounds.half if of.ended else 0) for of in bucket.runs.values())
        return min(ends) + 1

    def more(self, bucket: Bucket, parts: Sequence[pa.Table], now: int) -> Iterator[tuple[Any, ...]]:
        """Add rows to a bucket, and yield which properties are violated.

        Args:
            now: when they came, in milliseconds.
        """
        import pyarrow as pa

        if not parts:
            return
        rows = pa.concat_tables(parts)
        run = column_of(rows, "run")
        if nameless := int((run == numbers.NULL).sum()):
            yield from self.told(self.judge.refused(None, f"{nameless:,} rows have no run number"))
        late = [r for r, of in bucket.runs.items() if of.ended]
        for r in np.intersect1d(run, late).tolist():
            why = f"{int((run == r).sum()):,} rows came after the end of the run"
            yield from self.told(self.judge.refused(r, why))
            bucket.runs[r].last = now
        rows = rows.filter(pa.array((run != numbers.NULL) & ~np.isin(run, late)))
        touched = np.unique(column_of(rows, "run"))
        for r in touched.tolist():
            of = bucket.runs.setdefault(r, RunState(now))
            of.last, of.silent = now, False
        both = rows if bucket.rows is None else pa.concat_tables([bucket.rows, rows])
        order = np.lexsort([column_of(both, ROW), column_of(both, "run")])
        bucket.rows = both = both.take(order).combine_chunks()
        yield from self.checked(bucket, both, touched)

    def checked(self, bucket: Bucket, rows: pa.Table, touched: Any) -> Iterator[tuple[Any, ...]]:
        """Yield which properties are violated by moments that are over, of the runs that have new rows."""
        import pyarrow as pa

        if not rows.num_rows:
            return
        starts = starts_of(rows)
        ends, run = np.append(starts[1:], rows.num_rows), column_of(rows, "run")[starts]
        row, time = column_of(rows, ROW), column_of(rows, "time")
        over: list[Any] = []
        for k in np.flatnonzero(np.isin(run, touched)).tolist():
            start, end = int(starts[k]), int(ends[k])
            there = unbroken(row[start:end])
            if end - start > self.bounds.longest:
                why = f"a run of more than {self.bounds.longest:,} rows is not checked in a stream; check its table"
                yield from self.end(bucket, [int(run[k])], why)
            elif end - start - there > self.bounds.disorder:
                yield from self.end(bucket, [int(run[k])])
            elif (count := moments_over(time[start:end], there)) > bucket.runs[int(run[k])].judged:
                bucket.runs[int(run[k])].judged = count
                over.append(np.arange(start, start + count))
        if over:
            for said in replace(self.judge, expected="").judged(
                rows.take(pa.array(np.concatenate(over))).combine_chunks()
            ):
                of = bucket.runs[said.run or 0]
                yield from self.told(said, of, only=VIOLATED)
                of.violated |= {JUDGED[place].name for place, word, _ in said.each() if word == VIOLATED}

    def end(self, bucket: Bucket, ended: Sequence[int], why: str = "") -> Iterator[tuple[Any, ...]]:
        """Yield all remaining results of some runs, and drop their rows.

        Args:
            why: they are not judged.
        """
        import pyarrow as pa

        if not ended:
            return
        assert bucket.rows is not None
        here = np.isin(column_of(bucket.rows, "run"), list(ended))
        rows = bucket.rows.filter(pa.array(here))
        bucket.rows = bucket.rows.filter(pa.array(~here))
        said = [self.judge.refused(run, why, word=UNDECIDED) for run in ended] if why else self.judge.judged(rows)
        for one in said:
            of = bucket.runs[one.run or 0]
            yield from self.told(one, of)
            bucket.runs[one.run or 0] = replace(of, ended=True, violated=set())

    def told(self, said: Spoken, of: RunState | None = None, only: str = "") -> Iterator[tuple[Any, ...]]:
        """Yield the results of a run as rows, one per property.

        Args:
            of: the run; violations that were reported before are left out.
            only: this verdict alone.
        """
        for place, word, more in said.each():
            name = JUDGED[place].name
            if (of is None or name not in of.violated) and only in ("", word):
                about = (None, None, None) if more is None else (more.reason, more.time, more.command)
                yield said.run, name, word, *about, "; ".join(said.notes) or None


def as_frame(said: Sequence[tuple[Any, ...]]) -> Any:
    """Return results as a frame of pandas."""
    pd: Any = import_module("pandas")  # it does not say what its types are
    names = [column.split()[0] for column in VERDICTS.split(", ")]
    columns = zip(*said, strict=True)
    # pyspark joins it to rows of no type: a column of another type than theirs is one that pandas warns of
    return pd.DataFrame({name: pd.Series(column, dtype="object") for name, column in zip(names, columns, strict=True)})


def rows_of(frames: Iterable[Any], expected: str = "") -> tuple[list[pa.Table], int]:
    """Return rows that came through pandas, with nulls for `numbers.NULL`, and when they came, in milliseconds.

    Args:
        expected: the column with the number of rows that a run has to have, if there is one.
    """
    import pyarrow as pa

    out, now = [], 0
    more = [expected] if expected else []
    for frame in frames:
        columns: dict[str, Any] = {}
        for name in (*NUMBERS, *more):
            column = frame[name].to_numpy(np.int64)
            columns[name] = pa.array(column, pa.int64(), mask=column == numbers.NULL)
        for name in TEXTS:
            columns[name] = pa.array(frame[name], pa.string(), from_pandas=True)
        out.append(pa.table({name: columns[name] for name in (*NEEDED, ROW, *more)}))
        if len(frame):
            now = max(now, int(frame[ARRIVED].max()))
    return out, now


def unbroken(row: Any) -> int:
    """Return how many sorted row numbers exist from the first on, without a gap and each once."""
    wrong = np.flatnonzero(row != np.arange(len(row)))
    return int(wrong[0]) if len(wrong) else len(row)


def moments_over(time: Any, there: int) -> int:
    """Return how many of the first rows belong to moments that are over; none if one of them has no time.

    Args:
        time: of the rows of a run, sorted by their numbers.
        there: how many of them are there without a gap.
    """
    time = time[:there]
    if not len(time) or (time[1:] == numbers.NULL).any():  # the first row begins the run
        return 0
    return int(np.searchsorted(np.maximum.accumulate(time), time.max()))


# --- the plan --------------------------------------------------------------------------------------


def judge_frames(
    events: DataFrame, names: Sequence[str], observes: Sequence[str] | None, bounds: Bounds, expected: str = ""
) -> DataFrame:
    """Return a stream of verdicts on a stream of events.

    Args:
        events: the columns of an event table, `row` among them.
        names: the properties to check; if empty, all that are checked by default.
        observes: the kinds of event that the source of a run records, if its first row does not say.
        bounds: the bounds of the stream's state.
        expected: the column with the number of rows that a run has to have; empty if nothing is expected.

    Raises:
        TableError: it is no stream, or a column is missing or of another type.
    """
    from pyspark.sql import functions as f

    if not events.isStreaming:
        raise TableError("this is not a stream; judge() checks a table")
    more = [expected] if expected else []
    check_frame(events.schema, expected=expected)
    if ROW not in events.columns:
        raise TableError(f"a stream of events has a column {ROW!r}, the order of a run's rows")
    # pandas has no number that says nothing, and would make others inexact
    exact = [f.coalesce(f.col(name), f.lit(numbers.NULL)).alias(name) for name in (*NUMBERS, *more)]
    most = bounds.longest + bounds.disorder  # of what is kept of a run
    judge = Judge(tuple(names), USUAL if observes is None else tuple(observes), NUMBERED, (), expected, most=most)
    buckets = int(setting(events.sparkSession, "buckets", BUCKETS))
    with workers(events.sparkSession):
        came = events.withColumn("came", f.current_timestamp()).withWatermark("came", f"{bounds.half} milliseconds")
        rows = came.select(
            f.pmod(f.xxhash64("run"), f.lit(buckets)).alias("bucket"), *exact, *TEXTS, "came",
            f.unix_millis("came").alias(ARRIVED),
        )  # fmt: skip
        work = JudgeStream(judge, bounds, buckets)
        return rows.groupBy("bucket").applyInPandasWithState(work, VERDICTS, STATE, "append", "EventTimeTimeout")


def write_batches(
    verdicts: DataFrame, folder: str, checkpoint: str, trigger: str, available_now: bool
) -> StreamingQuery:
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

    writer = verdicts.writeStream.outputMode("append").option("checkpointLocation", checkpoint).foreachBatch(put)
    return (writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=trigger)).start()
