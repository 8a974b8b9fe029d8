"""Check a DataFrame of events with Spark, as a DataFrame of verdicts with a row per run and property.

Nothing runs until rows are requested. The plan brings the rows of each run together in order, checks them in place
(`mapInArrow`, `batches.py`), one row per run, and makes a row for each property of it. Where rows are contiguous
already nothing is moved; that no run is in two partitions is then checked from the results.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traces.judging.batches import (
    BY_TIME,
    GIVEN,
    MALFORMED,
    NEEDED,
    NUMBERED,
    UNNOTED,
    WORDS,
    Judge,
    as_batch,
    one_by_one,
    spoken_long,
    spoken_of,
)
from traces.judging.history import judge_history
from traces.judging.judge import read_units
from traces.judging.runs import JUDGED
from traces.judging.sentence import Violation
from traces.judging.totals import COUNTS, Totals, Unit, asked_for
from traces.spark.connect import is_connect
from traces.spark.guest import workers
from traces.spark.trouble import reason
from traces.tables.places import Address, Place, cleaned
from traces.tables.table import COLUMNS, KINDS, ROW, USUAL, TableError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

TORN = "its rows are not contiguous: omit together=True"
NOTES = 20  # that are told


def judge_frame(
    events: DataFrame,
    names: Sequence[str] = (),
    observes: Sequence[str] | None = None,
    together: bool = False,
    order: Sequence[str] = (),
) -> DataFrame:
    """Return a DataFrame of verdicts, which is not computed yet.

    Args:
        events: the columns of an event table; others are left alone.
        names: the properties to check; if empty, all that are checked by default.
        observes: the kinds of event that the source of a run notes, if its first row does not say.
        together: the rows of each run lie together, in order, in one partition.
        order: columns that say the order of a run's rows; if empty, the column `row` if there is one.

    Raises:
        TableError: a column is missing, or of another type.
    """
    from pyspark.sql import functions as f

    check_frame(events.schema, order)
    numbered = ROW in events.columns and not order
    how = NUMBERED if numbered else GIVEN if together or order else BY_TIME
    sent = [*NEEDED, *([ROW] if numbered else [])]
    if together:
        rows = events.select(*sent)
    else:
        # the rows of a run are sorted where they are judged: by one column Spark sorts by digits, much quicker
        whole = events.select(*dict.fromkeys([*sent, *order]))
        rows = whole.repartition("run").sortWithinPartitions("run", *order).select(*sent)
    judge = Judge(tuple(names), USUAL if observes is None else tuple(observes), how)
    with workers(events.sparkSession):
        said = rows.mapInArrow(judge, per_run_schema())
    if together:
        return by_property(once(said))
    return by_property(said.withColumn("times", f.lit(1)))


def judge_files(spark: SparkSession, place: Place, names: Sequence[str] = ()) -> DataFrame:
    """Return a DataFrame of verdicts on files whose runs lie together, which tasks read themselves.

    Raises:
        TableError: it is no event table.
    """
    units = [u.away() for u in read_units(place)]
    rows = [(pickle.dumps(u),) for u in units]
    with workers(spark):
        sent = spark.createDataFrame(rows, "unit binary").repartition(max(1, len(units)))
        return by_property(once(sent.mapInArrow(JudgeUnits(tuple(names)), per_run_schema())))


@dataclass(frozen=True)
class JudgeUnits:
    """The task that reads and checks files.

    Attributes:
        names: the properties; if empty, all that are checked by default.
    """

    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Check units of a table, which are read here; what cannot be read is malformed."""
        for batch in batches:
            for sent in batch.column(0).to_pylist():
                unit: Unit = pickle.loads(sent)
                judge = Judge(self.names, unit.observes, GIVEN)
                try:
                    if unit.long:
                        totals = judge_history(unit, asked_for(self.names), one_by_one)
                        yield as_batch([spoken_long(totals, unit.parts[0].least or 0)])
                    else:
                        yield from judge(unit.read(NEEDED).to_batches())
                except TableError as problem:
                    yield as_batch([judge.refused(None, str(problem))])


def once(said: DataFrame) -> DataFrame:
    """Return the results of runs, each once, with the number of occurrences as `times`."""
    from pyspark.sql import functions as f

    firsts = (f.first(name).alias(name) for name in ("words", "said", "note"))
    return said.groupBy("run").agg(f.count(f.lit(1)).alias("times"), *firsts)


def by_property(said: DataFrame) -> DataFrame:
    """Return the results of runs, one row per property."""
    from pyspark.sql import functions as f

    each = said.select("run", "times", "said", "note", f.posexplode("words").alias("place", "word"))
    each = each.where("word >= 0")
    more = f.try_element_at("said", f.col("place").cast("tinyint"))
    torn = f.col("times") > 1
    verdict = f.when(torn, f.lit(MALFORMED)).otherwise(named(WORDS, f.col("word")))
    unnoted = f.when(f.col("word") == WORDS.index("not judged"), named(UNNOTED, f.col("place")))
    return each.select(
        "run",
        named([p.name for p in JUDGED], f.col("place")).alias("property"),
        verdict.alias("verdict"),
        f.when(torn, f.lit(TORN)).otherwise(f.coalesce(more["reason"], unnoted)).alias("reason"),
        f.when(~torn, more["time"]).alias("time"),
        f.when(~torn, more["command"]).alias("command"),
        f.when(~torn, f.col("note")).alias("note"),
    )


def named(words: Sequence[str], place: Column) -> Column:
    """Return a column with the word at a place."""
    from pyspark.sql import functions as f

    return f.element_at(f.array(*map(f.lit, words)), place.cast("int") + 1)


def per_run_schema() -> StructType:
    """Return the schema of the tasks' results as Spark types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(spoken_of())


def check_frame(found: StructType, order: Sequence[str] = ()) -> None:
    """Check the columns of a DataFrame of events.

    Raises:
        TableError: a column is missing, duplicated, or of another type.
    """
    from pyspark.sql.types import LongType, StringType

    wanted: dict[str, Any] = {name: StringType() if is_text else LongType() for name, is_text, *_ in COLUMNS}
    for name, kind in wanted.items():
        here = [field for field in found.fields if field.name == name]
        if name == ROW and not here:
            continue
        if len(here) != 1:
            count = "two columns" if here else "no column"
            raise TableError(f"a DataFrame of events has a column {name!r}, and this has {count} of that name")
        if here[0].dataType != kind:
            said, right = here[0].dataType.simpleString(), kind.simpleString()
            raise TableError(f"column {name!r} is {said}, and in a DataFrame of events it is {right}")
    for name in order:
        if name not in found.names:
            raise TableError(f"there is no column {name!r} to order rows by")


# --- a whole table ---------------------------------------------------------------------------------


def judge_address(address: Address, names: Sequence[str], master: str | None = None) -> Totals:
    """Check a table that Spark reads: files in any of Hadoop's file systems, or a table of a catalog.

    Raises:
        NoSpark: there is none.
        SparkFailed: a job failed.
        TableError: there is no such table, or a run cannot be checked.
    """
    from traces.spark.session import session

    with session(master or "") as spark, described(spark, f"zabcheck judge {address}"):
        return totals_of(events_at(spark, address), names, address)


@contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Describe the jobs that are started meanwhile in the user interface; a session of Spark Connect cannot."""
    if is_connect(spark):
        yield
        return
    spark.sparkContext.setJobDescription(what)
    try:
        yield
    finally:
        spark.sparkContext.setJobDescription("")


def events_at(spark: SparkSession, address: Address) -> DataFrame:
    """Return a table that Spark reads.

    Raises:
        TableError: there is none.
    """
    from pyspark.errors import PySparkException

    try:
        found = spark.read.parquet(address.text) if address.scheme else spark.table(address.text)
        _ = found.schema  # Spark Connect looks for the table when it is asked for this
        return found
    except PySparkException as problem:
        raise TableError(f"{address}: {cleaned(reason(problem), address)}") from None
    except Exception as problem:  # a file system that Hadoop has not, or that does not answer
        if not (said := reason(problem)):
            raise
        raise TableError(f"{address}: {cleaned(said, address)}") from None


def totals_of(events: DataFrame, names: Sequence[str], address: Address) -> Totals:
    """Check a DataFrame of events, and count the results.

    Raises:
        TableError: it is none, or a run cannot be judged.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen, strange = Observation(), ~f.col("kind").isin([*KINDS])
    try:
        check_frame(events.schema)
        counted = (f.count(f.lit(1)).alias("rows"), f.count_if(strange).alias("unused"))
        verdicts = judge_frame(events.observe(seen, *counted), names).persist()
    except TableError as problem:
        raise TableError(f"{address}: {problem}") from None
    try:
        told = (
            f.count(f.lit(1)).alias("runs"),
            f.min(f.struct("run", "reason")).alias("first"),
            f.slice(f.sort_array(f.collect_set("note")), 1, NOTES).alias("notes"),
        )
        found = verdicts.groupBy("property", "verdict").agg(*told).collect()
        broken = verdicts.where("verdict = 'violated'").orderBy("run", "property").collect()
    finally:
        verdicts.unpersist()
    out = Totals(rows=int(seen.get["rows"]))
    if seen.get["unused"]:
        unused = events.where(strange).groupBy("kind").count().collect()
        out.unused = Counter({row["kind"]: row["count"] for row in unused})
    damaged = [row.first for row in found if row.verdict == MALFORMED]
    if damaged:
        wrong = min(damaged, key=lambda first: (first.run is not None, first.run or 0))
        run = "" if wrong.run is None else f", run {wrong.run}"
        raise TableError(f"{address}{run}: {wrong.reason}")
    of_property: dict[str, int] = {}
    for row in found:
        out.counts[out.names.index(row.property), COUNTS.index(row.verdict)] += row.runs
        of_property[row.property] = of_property.get(row.property, 0) + row.runs
        if row.verdict == "open":
            out.notes.append(f"{row.property} is open: {row.first.reason}.")
    out.runs = max(of_property.values(), default=0)
    out.violations = [Violation(v.run, v.property, v.reason, v.time, (), v.command) for v in broken]
    out.notes = sorted(out.notes) + sorted({note for row in found for note in row.notes})[:NOTES]
    return out
