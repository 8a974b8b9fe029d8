"""Check a DataFrame of events with Spark, as a DataFrame of verdicts with a row per run and property.

Nothing runs until rows are requested. The plan brings the rows of each run together in order, checks them in place
(`mapInArrow`, `batches.py`), one row per run, and makes a row for each property of it. Where rows are contiguous
already nothing is moved; that no run is in two partitions is then checked from the results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.events.places import Address, Place, cleaned
from traces.events.table import COLUMNS, KINDS, ROW, USUAL, TableError
from traces.judging.judge import read_units
from traces.judging.runs import JUDGED
from traces.judging.sentence import Happened, Violation
from traces.judging.totals import COUNTS, Totals
from traces.judging.totals import ROW as PLACE
from traces.tables.conform import LOSSLESS, READ_AS
from traces.tables.judging.batches import (
    BY_TIME,
    GIVEN,
    MALFORMED,
    NUMBERED,
    UNNOTED,
    WORDS,
    Judge,
    columns_of,
    spoken_of,
)
from traces.tables.spark.connect import is_connect
from traces.tables.spark.guest import workers
from traces.tables.spark.trouble import reason

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.types import StructType

TORN = "its rows are not contiguous: omit together=True"
NOTES = 20  # that are reported
GLOB = re.compile(r"[][{}?*\\]")  # with which Spark reads a name as a pattern
# the other columns of verdicts, and those that they are made from
OWN = ("property", "verdict", "reason", "command", "note", "evidence", "rows", "unused", "words", "said", "times",
       "place", "word")  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """How the rows of runs lie in a DataFrame.

    Attributes:
        observes: the kinds of event that the source of a run notes, if its first row does not say; None: the usual.
        together: the rows of each run lie together, in order, in one partition.
        order: columns that say the order of a run's rows; if empty, the column `row` if there is one.
        expected: the column with the number of rows that a run has to have; empty if nothing is expected.
    """

    observes: Sequence[str] | None = None
    together: bool = False
    order: Sequence[str] = ()
    expected: str = ""


def judge_frame(
    events: DataFrame, names: Sequence[str] = (), how: Rows | None = None, observation: Observation | None = None
) -> DataFrame:
    """Return a DataFrame of verdicts, which is not computed yet.

    Args:
        events: the columns of an event table; the values of further ones in the first row of a run are passed on.
        names: the properties to check; if empty, all that are checked by default.
        how: how the rows lie.
        observation: receives the counts of runs, rows and verdicts.

    Raises:
        TableError: a column is missing, or of another type.
    """
    from pyspark.sql import functions as f

    how = how or Rows()
    check_frame(events.schema, how.order, how.expected)
    numbered = ROW in events.columns and not how.order
    order = NUMBERED if numbered else GIVEN if how.together or how.order else BY_TIME
    further = [c for c in events.columns if c not in {*(name for name, *_ in COLUMNS), *how.order, how.expected}]
    more = [*([ROW] if numbered else []), *further, *([how.expected] if how.expected else [])]
    wanted = [*dict.fromkeys([*columns_of(names), *more])]
    most = int(setting(events.sparkSession, "rows", "0"))
    judge = Judge(tuple(names), USUAL if how.observes is None else tuple(how.observes), order, tuple(further),
                  how.expected, most=most)  # fmt: skip
    if how.together:
        rows = events.select(*wanted)
    else:
        # the rows of a run are sorted where they are judged: by one column Spark sorts by digits, much quicker
        whole = events.select(*dict.fromkeys([*wanted, *how.order]))
        rows = whole.repartition("run").sortWithinPartitions("run", *how.order).select(*wanted)
    with workers(events.sparkSession):
        said = rows.mapInArrow(judge, per_run_schema(events.schema, further))
    read_as = [x.metadata[READ_AS] for x in events.schema if READ_AS in x.metadata]
    said = said.withColumn("note", f.concat_ws("; ", "note", *map(f.lit, read_as))) if read_as else said
    said = once(said, further) if how.together else said.withColumn("times", f.lit(1))
    return by_property(said, further, observation)


def setting(spark: SparkSession, name: str, otherwise: str) -> str:
    """Return a setting of a session, `spark.zabcheck.NAME`."""
    return str(spark.conf.get(f"spark.zabcheck.{name}", otherwise))


def once(said: DataFrame, further: Sequence[str]) -> DataFrame:
    """Return the results of runs, each once, with the number of occurrences as `times`."""
    from pyspark.sql import functions as f

    firsts = (f.first(name).alias(name) for name in ("words", "said", "note", "rows", "unused", *further))
    return said.groupBy("run").agg(f.count(f.lit(1)).alias("times"), *firsts)


def by_property(said: DataFrame, further: Sequence[str], observation: Observation | None = None) -> DataFrame:
    """Return the results of runs, one row per property."""
    from pyspark.sql import functions as f

    each = said.select(*said.columns, f.posexplode("words").alias("place", "word")).where("word >= 0")
    more = f.try_element_at("said", f.col("place").cast("tinyint"))
    torn = f.col("times") > 1
    verdict = f.when(torn, f.lit(MALFORMED)).otherwise(named(WORDS, f.col("word")))
    unnoted = f.when(f.col("word") == WORDS.index("not judged"), named(UNNOTED, f.col("place")))
    out = each.select(
        "run",
        named([p.name for p in JUDGED], f.col("place")).alias("property"),
        verdict.alias("verdict"),
        f.when(torn, f.lit(TORN)).otherwise(f.coalesce(more["reason"], unnoted)).alias("reason"),
        f.when(~torn, more["time"]).alias("time"),
        f.when(~torn, more["command"]).alias("command"),
        f.when(~torn & (f.col("note") != ""), f.col("note")).alias("note"),
        f.when(~torn, more["evidence"]).alias("evidence"),
        "rows",
        "unused",
        *further,
    )
    if observation is None:
        return out
    counts = [f.count_if(f.col("verdict") == word).alias(word.replace(" ", "_")) for word in WORDS]
    return out.observe(observation, f.count(f.lit(1)).alias("verdicts"), *counts)


def named(words: Sequence[str], place: Column) -> Column:
    """Return a column with the word at a place."""
    from pyspark.sql import functions as f

    return f.element_at(f.array(*map(f.lit, words)), place.cast("int") + 1)


def per_run_schema(events: StructType, further: Sequence[str]) -> StructType:
    """Return the schema of the tasks' results as Spark types, with further columns of the events."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    return StructType([*from_arrow_schema(spoken_of()).fields, *(events[name] for name in further)])


def check_frame(found: StructType, more: Sequence[str] = (), expected: str = "") -> None:
    """Check the columns of a DataFrame of events.

    Args:
        more: further columns that have to be there.
        expected: the column with the number of rows of a run; empty if there is none.

    Raises:
        TableError: a column is missing, duplicated, or of another type; one sentence has all mistakes.
    """
    from pyspark.sql.types import LongType, StringType

    wanted: dict[str, Any] = {name: StringType() if is_text else LongType() for name, is_text, *_ in COLUMNS}
    wrong = [f"there is no column {name!r}" for name in (*more, expected) if name and name not in found.names]
    wrong += [
        f"column {expected!r} is {field.dataType.simpleString()}, and a number of rows is a whole number"
        for field in found.fields
        if field.name == expected and field.dataType.simpleString() not in LOSSLESS
    ]
    wrong += [f"the name of column {name!r} is one that verdicts use" for name in found.names if name.casefold() in OWN]
    wrong += [f"column {name!r} is spelt like {name.casefold()!r}" for name in found.names
              if name.casefold() in wanted and name not in wanted]  # fmt: skip
    for name, kind in wanted.items():
        here = [field for field in found.fields if field.name == name]
        if name == ROW and not here:
            continue
        if len(here) != 1:
            count = "two columns" if here else "no column"
            wrong.append(f"a DataFrame of events has a column {name!r}, and this has {count} of that name")
        elif here[0].dataType != kind:
            said, right = here[0].dataType.simpleString(), kind.simpleString()
            wrong.append(f"column {name!r} is {said}, and in a DataFrame of events it is {right}")
    if wrong:
        raise TableError("; ".join(wrong))


# --- a whole table ---------------------------------------------------------------------------------


def judge_place(place: Place, names: Sequence[str], master: str | None = None) -> Totals:
    """Check a table that Spark reads: files, or a table of a catalog.

    Raises:
        NoSpark: there is none.
        SparkFailed: a job failed.
        TableError: there is no such table, or a run cannot be checked.
    """
    from traces.tables.spark.session import session

    with session(master or "") as spark, described(spark, f"zabcheck judge {place}"):
        return totals_of(*rows_at(spark, place), names, place)


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


def rows_at(spark: SparkSession, place: Place) -> tuple[DataFrame, Rows]:
    """Return a table that Spark reads, and how its rows lie: in files that zabcheck wrote runs are whole.

    Raises:
        TableError: there is none.
    """
    from pyspark.errors import PySparkException

    if not isinstance(place, Address):
        parts = [part for unit in read_units(place) for part in unit.parts]
        if not parts:
            raise TableError(f"{place}: there is no run in this table")
        observes = tuple(k for k in parts[0].observes if all(k in part.observes for part in parts))
        there = dict.fromkeys(str(Path(str(part.path)).absolute()) for part in parts)
        files = ["file://" + GLOB.sub(r"\\\g<0>", name) for name in there]
        return spark.read.parquet(*files), Rows(observes, together=all(part.whole for part in parts))
    if place.by_arrow:
        raise TableError(f"{place}: pyarrow reads this; Spark reads such an address as s3a://")
    try:
        found = spark.read.parquet(place.text) if place.scheme else spark.table(place.text)
        _ = found.schema  # Spark Connect looks for the table when it is asked for this
        return found, Rows()
    except PySparkException as problem:
        raise TableError(f"{place}: {cleaned(reason(problem), place)}") from None
    except Exception as problem:  # a file system that Hadoop has not, or that does not answer
        if not (said := reason(problem)):
            raise
        raise TableError(f"{place}: {cleaned(said, place)}") from None


def totals_of(events: DataFrame, how: Rows, names: Sequence[str], place: Place) -> Totals:
    """Check a DataFrame of events, and count the results.

    Raises:
        TableError: it is none, or a run cannot be judged.
    """
    from pyspark.sql import functions as f

    try:
        verdicts = judge_frame(events, names, how).persist()
    except TableError as problem:
        raise TableError(f"{place}: {problem}") from None
    try:
        told = (
            f.count(f.lit(1)).alias("runs"),
            f.sum("rows").alias("rows"),
            f.sum("unused").alias("unused"),
            f.min(f.struct("run", "reason")).alias("first"),
            f.slice(f.sort_array(f.collect_set("note")), 1, NOTES).alias("notes"),
        )
        counted = verdicts.groupBy("property", "verdict").agg(*told).collect()
        broken = verdicts.where("verdict = 'violated'").orderBy("run", "property").collect()
    finally:
        verdicts.unpersist()
    damaged = [row.first for row in counted if row.verdict == MALFORMED]
    if damaged:
        wrong = min(damaged, key=lambda first: (first.run is not None, first.run or 0))
        run = "" if wrong.run is None else f", run {wrong.run}"
        raise TableError(f"{place}{run}: {wrong.reason}")
    out = Totals()
    for row in counted:
        out.counts[PLACE[row.property], COUNTS.index(row.verdict)] += row.runs
        if row.verdict == "open":
            out.notes.append(f"{row.property} is open, since {row.first.reason}.")
    one = [row for row in counted if row.property == counted[0].property]
    out.further = [name for name in events.columns if name not in {name for name, *_ in COLUMNS}]
    out.runs, out.rows = sum(row.runs for row in one), sum(row.rows for row in one)
    if any(row.unused for row in one):
        unused = events.where(~f.col("kind").isin([*KINDS])).groupBy("kind").count().collect()
        out.unused = Counter({row["kind"]: row["count"] for row in unused})
    out.violations = [violation_of(v) for v in broken]
    out.notes = sorted(out.notes) + sorted({note for row in counted for note in row.notes})[:NOTES]
    return out


def violation_of(v: Any) -> Violation:
    """Return the violation of a row of verdicts."""
    events = tuple(Happened(e.row, e.process, e.position, e.kind, e.txn, None, e.time, None) for e in v.evidence or ())
    return Violation(v.run, v.property, v.reason, v.time, events, v.command)
