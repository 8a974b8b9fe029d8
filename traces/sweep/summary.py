"""Summarise the rows of a sweep, by Spark SQL over its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from traces.sweep.block import COUNTS, HOLDS, NOT_REACHED, VERDICTS, VIOLATED, properties_of, schema_of
from traces.sweep.checksum import read_table
from traces.sweep.grid import AXES, PROGRAM
from traces.sweep.store import Store

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

OWN = f"block-{'[0-9]' * 8}.parquet"


@dataclass(frozen=True)
class VerdictTotals:
    """The verdicts on one property in some runs.

    Attributes:
        holds, not_reached, violated: runs with each verdict; in the rest it was not judged.
        first: the number of the first run that breaks it; -1 if none does.
    """

    holds: int
    not_reached: int
    violated: int
    first: int

    @property
    def judged(self) -> int:
        return self.holds + self.not_reached + self.violated


@dataclass(frozen=True)
class Group:
    """Runs that have some values in common.

    Attributes:
        runs: how many.
        broken: of those, how many broke a property.
        unfinished: how many came to no verdict.
        sums: of the columns that count something.
        tallies: the verdicts, by property.
    """

    runs: int
    broken: int
    unfinished: int
    sums: Mapping[str, int]
    tallies: Mapping[str, VerdictTotals]


@dataclass(frozen=True)
class Together:
    """Runs of one program that broke exactly the same properties.

    Attributes:
        program: protocol, variant, network, oracle.
        names: the properties.
        runs: how many.
        first: the number of the first.
    """

    program: tuple[str, ...]
    names: tuple[str, ...]
    runs: int
    first: int


@dataclass(frozen=True)
class Summary:
    """The summary of a sweep.

    Attributes:
        every: the totals of all runs.
        axes: for every axis that was swept, the totals for each of its values.
        programs: the totals for each program.
        together: the properties that broke together, the most frequent first.
    """

    every: Group
    axes: Mapping[str, Mapping[Any, Group]] = field(default_factory=dict)
    programs: Mapping[tuple[str, ...], Group] = field(default_factory=dict)
    together: tuple[Together, ...] = ()


def summarise(spark: SparkSession, store: Store, away: bool = False) -> Summary:
    """Return the summary of a finished sweep.

    Spark counts patterns: the verdicts of a run as a word with one letter per property. There are few, so that the rest
    is little work, and the query has few columns: planning it takes Spark longer than scanning a million rows.

    Args:
        away: no worker sees the folder, so that its rows are sent to them.
    """
    question = store.question
    names = properties_of(question)
    sets = [(axis,) for axis in question.swept] + [PROGRAM]
    keys = [axis for axis in AXES if any(axis in one for one in sets)]
    if away:
        tables = [read_table(store.part(block)) for block in range(store.blocks)]
        needed = ["number", *keys, *names, *COUNTS, "error"]
        frame = spark.createDataFrame(pa.concat_tables([t.select(needed).replace_schema_metadata() for t in tables]))
    else:
        reader = spark.read.option("__globPaths__", "false").option("pathGlobFilter", OWN)  # whatever else is there
        frame = reader.schema(spark_schema(store)).parquet(f"file://{store.runs}")
    frame.createOrReplaceTempView("sweep")
    grouping = ", ".join(f"({', '.join(one)}, pattern)" for one in sets)
    marks = ", ".join(f"grouping({key}) AS `in {key}`" for key in keys)
    sums = ", ".join(f"coalesce(sum({count}), 0) AS {count}" for count in COUNTS)
    rows = spark.sql(
        f"SELECT {', '.join(keys)}, {marks}, pattern, count(*) AS runs, min(number) AS first, "
        f"count_if(error <> '') AS unfinished, {sums} "
        f"FROM (SELECT *, {pattern(names)} AS pattern FROM sweep) GROUP BY GROUPING SETS ({grouping})"
    ).collect()
    found: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = {one: {} for one in sets}
    for row in rows:
        one = tuple(key for key in keys if not row[f"in {key}"])
        found[one].setdefault(tuple(row[key] for key in one), []).append(row)
    programs = found[PROGRAM]
    return Summary(
        group_of([row for some in programs.values() for row in some], names),
        {
            axis: {v: group_of(found[(axis,)][(v,)], names) for v in getattr(question, axis) if (v,) in found[(axis,)]}
            for axis in question.swept
        },
        {program: group_of(programs[program], names) for program in question.programs if program in programs},
        together(programs, names),
    )


def spark_schema(store: Store) -> Any:
    """Return the table's schema, so that no file need be opened to find it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema_of(store.question))


def pattern(names: tuple[str, ...]) -> str:
    """Return SQL for the first letters of a row's verdicts, with `-` where there is none."""
    letters = [f"coalesce(left(`{name}`, 1), '-')" for name in names]
    return f"concat({', '.join(letters)})"


def group_of(rows: list[Row], names: tuple[str, ...]) -> Group:
    """Return a group from the counts of its patterns."""
    tallies = {}
    for k, name in enumerate(names):
        said = {verdict: [row for row in rows if row["pattern"][k] == verdict[0]] for verdict in VERDICTS}
        counts = (sum(row["runs"] for row in said[verdict]) for verdict in (HOLDS, NOT_REACHED, VIOLATED))
        holds, not_reached, violated = counts
        tallies[name] = VerdictTotals(
            holds, not_reached, violated, min((row["first"] for row in said[VIOLATED]), default=-1)
        )
    return Group(
        sum(row["runs"] for row in rows),
        sum(row["runs"] for row in rows if VIOLATED[0] in row["pattern"]),
        sum(row["unfinished"] for row in rows),
        {count: sum(row[count] for row in rows) for count in COUNTS},
        tallies,
    )


def together(programs: Mapping[tuple[Any, ...], list[Row]], names: tuple[str, ...]) -> tuple[Together, ...]:
    """Return which properties were violated in the same runs."""
    out: dict[tuple[Any, ...], Together] = {}
    for program, rows in programs.items():
        for row in rows:
            broken = tuple(name for k, name in enumerate(names) if row["pattern"][k] == VIOLATED[0])
            if broken:
                before = out.get((program, broken))
                runs, first = (before.runs, before.first) if before else (0, row["first"])
                out[program, broken] = Together(program, broken, runs + row["runs"], min(first, row["first"]))
    return tuple(sorted(out.values(), key=lambda t: (-t.runs, t.first)))
