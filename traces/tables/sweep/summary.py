"""Summarise the rows of a sweep: counts by verdicts, for each program and each value of a swept axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from traces.tables.sweep.block import COUNTS, HOLDS, NOT_REACHED, VERDICTS, VIOLATED, properties_of
from traces.tables.sweep.grid import PROGRAM, Grid

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


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
    def tested(self) -> int:
        """The runs that put the property to the test."""
        return self.holds + self.violated


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


@dataclass
class Alike:
    """Runs with the same values of all swept axes, and the same verdicts.

    Attributes:
        keys: the values of the program's and of the other swept axes, by name.
        pattern: a letter for each property: the first of its verdict, or `-`.
        runs, first, unfinished: how many, the first of them, and how many came to no verdict.
        sums: of the columns that count something.
    """

    keys: Mapping[str, Any]
    pattern: str
    runs: int = 0
    first: int = -1
    unfinished: int = 0
    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))


def keys_of(question: Grid) -> list[str]:
    """Return the axes by which runs are grouped."""
    return list(dict.fromkeys((*PROGRAM, *question.swept)))


def alike_in_table(question: Grid, table: pa.Table) -> list[Alike]:
    """Group the rows of a sweep's table."""
    keys, names = keys_of(question), properties_of(question)
    out: dict[tuple[Any, ...], Alike] = {}
    for row in table.select(["number", *keys, *names, *COUNTS, "error"]).to_pylist():
        pattern = "".join((row[name] or "-")[0] for name in names)
        group = out.setdefault((*(row[key] for key in keys), pattern), Alike({k: row[k] for k in keys}, pattern))
        group.runs += 1
        group.first = row["number"] if group.first < 0 else min(group.first, row["number"])
        group.unfinished += row["error"] != ""
        for count in COUNTS:
            group.sums[count] += row[count] or 0
    return list(out.values())


def alike_in_frame(question: Grid, runs: DataFrame) -> list[Alike]:
    """Group the rows of a sweep's DataFrame."""
    from pyspark.sql import functions as f

    keys, names = keys_of(question), properties_of(question)
    letters = f.concat(*(f.coalesce(f.left(f.col(f"`{name}`"), f.lit(1)), f.lit("-")) for name in names))
    found = runs.groupBy(*keys, letters.alias("pattern")).agg(
        f.count(f.lit(1)).alias("runs"),
        f.min("number").alias("first"),
        f.count_if(f.col("error") != "").alias("unfinished"),
        *(f.coalesce(f.sum(count), f.lit(0)).alias(count) for count in COUNTS),
    )
    return [
        Alike({k: row[k] for k in keys}, row["pattern"], row["runs"], row["first"], row["unfinished"],
              {count: row[count] for count in COUNTS})
        for row in found.collect()
    ]  # fmt: skip


def summary_of(question: Grid, alike: Sequence[Alike]) -> Summary:
    """Return the summary of a sweep from its groups."""
    names = properties_of(question)

    def by(key: Callable[[Alike], Any]) -> dict[Any, Group]:
        some: dict[Any, list[Alike]] = defaultdict(list)
        for group in alike:
            some[key(group)].append(group)
        return {value: group_of(of, names) for value, of in some.items()}

    programs = by(program_of)
    axes = {axis: by(partial(value_of, axis)) for axis in question.swept}
    return Summary(
        group_of(alike, names),
        {axis: {v: groups[v] for v in getattr(question, axis) if v in groups} for axis, groups in axes.items()},
        {program: programs[program] for program in question.programs if program in programs},
        together(alike, names),
    )


def value_of(axis: str, group: Alike) -> Any:
    """Return the value of some runs on an axis."""
    return group.keys[axis]


def program_of(group: Alike) -> tuple[str, ...]:
    """Return the program of some runs."""
    return tuple(group.keys[axis] for axis in PROGRAM)


def group_of(alike: Sequence[Alike], names: tuple[str, ...]) -> Group:
    """Return a group from the counts of its patterns."""
    tallies = {}
    for k, name in enumerate(names):
        said = {verdict: [group for group in alike if group.pattern[k] == verdict[0]] for verdict in VERDICTS}
        holds, not_reached, violated = (sum(g.runs for g in said[v]) for v in (HOLDS, NOT_REACHED, VIOLATED))
        tallies[name] = VerdictTotals(holds, not_reached, violated, min((g.first for g in said[VIOLATED]), default=-1))
    return Group(
        sum(group.runs for group in alike),
        sum(group.runs for group in alike if VIOLATED[0] in group.pattern),
        sum(group.unfinished for group in alike),
        {count: sum(group.sums[count] for group in alike) for count in COUNTS},
        tallies,
    )


def together(alike: Iterable[Alike], names: tuple[str, ...]) -> tuple[Together, ...]:
    """Return which properties were violated in the same runs."""
    out: dict[tuple[Any, ...], Together] = {}
    for group in alike:
        broken = tuple(name for k, name in enumerate(names) if group.pattern[k] == VIOLATED[0])
        if broken:
            program = program_of(group)
            before = out.get((program, broken))
            runs, first = (before.runs, before.first) if before else (0, group.first)
            out[program, broken] = Together(program, broken, runs + group.runs, min(first, group.first))
    return tuple(sorted(out.values(), key=lambda t: (-t.runs, t.first)))
