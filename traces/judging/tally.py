"""What judging a table came to: counts that add up, and the violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging.runs import BITS, COLUMNS, JUDGED, Batch, judgeable, unjudged
from traces.judging.told import Violation, violation
from traces.pipeline.table import LONGEST, Part, TableError, read_part

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COUNTS", "Span", "Tally", "Unit", "check_spans", "judge_unit", "units_of"]

COUNTS = ("held", "premise not reached", "violated", "not judged", "undecided")


@dataclass(frozen=True)
class Unit:
    """Parts of a table that are judged together: they hold whole runs.

    Attributes:
        parts: in order.
        long: they are one run that is too long for one task.
    """

    parts: tuple[Part, ...]
    long: bool = False

    @property
    def rows(self) -> int:
        return sum(p.rows for p in self.parts)

    @property
    def observes(self) -> tuple[str, ...]:
        return tuple(k for k in self.parts[0].observes if all(k in p.observes for p in self.parts))

    @property
    def name(self) -> str:
        first = self.parts[0]
        return f"{first.path}, row group {first.groups[0]}"

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of it.

        Raises:
            TableError: it is damaged.
        """
        import pyarrow as pa

        return pa.concat_tables([read_part(p, columns) for p in self.parts], promote_options="permissive")


def units_of(parts: Sequence[Part], longest: int = LONGEST) -> list[Unit]:
    """The units of a table. Row groups that share a run are one; of which runs are in a row group, its
    statistics tell, or else that the footer says it holds whole runs."""
    units: list[list[Part]] = []
    for part in parts:
        if units and goes_on(units[-1][-1], part):
            units[-1].append(part)
        else:
            units.append([part])
    return [Unit(tuple(u), sum(p.rows for p in u) > longest and one_run(u)) for u in units]


def one_run(parts: Sequence[Part]) -> bool:
    """Whether the statistics say that row groups hold one run."""
    least = parts[0].least
    return least is not None and all(p.least == p.most == least for p in parts)


def goes_on(one: Part, other: Part) -> bool:
    """Whether a run may lie in both of two row groups, one behind the other."""
    if one.path != other.path:  # what many wrote at once
        return one.least is not None and one.least == one.most == other.least == other.most
    return not other.whole and (one.most is None or other.least is None or one.most == other.least)


@dataclass(frozen=True)
class Span:
    """The runs of a unit.

    Attributes:
        least, most: of their numbers.
        where: what errors call the unit.
        numbers: the number of each, in order, unless they grow.
    """

    least: int
    most: int
    where: str
    numbers: tuple[int, ...] | None


@dataclass
class Tally:
    """What was found in some runs.

    Attributes:
        counts: for each property, in the order of `JUDGED`, how many runs of each of `COUNTS`.
        violations: one for every run and property.
        spans: which runs these were, unit by unit.
        notes: what else must be said.
    """

    runs: int = 0
    rows: int = 0
    counts: Any = field(default_factory=lambda: np.zeros((len(JUDGED), len(COUNTS)), np.int64))
    violations: list[Violation] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.runs += other.runs
        self.rows += other.rows
        self.counts += other.counts
        self.violations += other.violations
        self.spans += other.spans
        self.notes += other.notes

    def count(self, name: str, what: str) -> int:
        place = next(k for k, p in enumerate(JUDGED) if p.name == name)
        return int(self.counts[place, COUNTS.index(what)])


def judge_unit(unit: Unit, asked: int, stopped: Callable[[], bool] = lambda: False) -> Tally:
    """Judge every run of a unit.

    Args:
        asked: the mask (`BITS`) of the properties to judge.
        stopped: asked now and then whether to give up.

    Raises:
        TableError: a run cannot be judged.
    """
    batch = Batch(unit.read(COLUMNS), unit.name)
    out = Tally(len(batch.starts), batch.rows)
    known = judgeable(unit.observes) & asked
    broken_runs: list[tuple[int, int]] = []
    for place, found in batch.judged():
        if stopped():
            break
        broken, met, unknown = found[:, 1], found[:, 2], found[:, 3]
        without = np.zeros(len(found), np.int64)
        for value in np.unique(unknown[unknown != 0]):
            without[unknown == value] = unjudged(int(value))
        for k, p in enumerate(JUDGED):
            bit = 1 << BITS[p.name]
            if asked & bit:
                judged = (without & bit) == 0 if known & bit else np.zeros(len(found), bool)
                bad = (broken & bit) != 0
                good = (met & bit) != 0
                out.counts[k] += (
                    np.count_nonzero(judged & ~bad & good), np.count_nonzero(judged & ~bad & ~good),
                    np.count_nonzero(judged & bad), np.count_nonzero(~judged), 0,
                )  # fmt: skip
        said = broken & known & ~without
        broken_runs += [(place + int(k), int(said[k])) for k in np.flatnonzero(said)]
    if broken_runs:
        out.violations = told(unit, batch, broken_runs)
    if batch.rows:
        growing = bool((batch.runs[1:] > batch.runs[:-1]).all())
        numbers = None if growing else tuple(batch.runs.tolist())
        out.spans.append(Span(int(batch.runs.min()), int(batch.runs.max()), unit.name, numbers))
        if numbers is not None and len(set(numbers)) < len(numbers):
            raise TableError(apart(first_repeated(numbers), unit.name))
    return out


def told(unit: Unit, batch: Batch, broken: Sequence[tuple[int, int]]) -> list[Violation]:
    """The violations of some runs of a unit, each with its witness.

    Args:
        broken: the place of each run, and the mask of what it breaks.
    """
    texts = unit.read(("kind", "detail"))
    out = []
    for place, mask in broken:
        start, end, run = int(batch.starts[place]), int(batch.ends[place]), int(batch.runs[place])
        kinds, details = (texts.column(c).slice(start, end - start) for c in ("kind", "detail"))
        command = details[0].as_py() if kinds[0].as_py() == "run" else None
        for name, rows in batch.witness(place).items():
            if mask >> BITS[name] & 1:
                out.append(replace(violation(batch, kinds, run, start, name, rows), command=command))
    return out


# --- whether each run lies in one place ------------------------------------------------------------


def first_repeated(numbers: Iterable[int]) -> int:
    seen: set[int] = set()
    for n in numbers:
        if n in seen:
            return n
        seen.add(n)
    raise ValueError("none is repeated")


def apart(run: int, where: str) -> str:
    return f"{where}: the rows of run {run} do not lie together"


def check_spans(spans: Sequence[Span], numbers_of: Callable[[Span], Sequence[int]]) -> None:
    """Whether no run is in two units.

    Args:
        numbers_of: the numbers of the runs of a unit, where a span does not have them.

    Raises:
        TableError: one is.
    """
    order = sorted(spans, key=lambda s: (s.least, s.most, s.where))
    overlapping: list[Span] = []
    farthest: Span | None = None
    for span in order:
        if farthest is not None and span.least <= farthest.most:
            overlapping += [span] if farthest in overlapping else [farthest, span]
        if farthest is None or span.most > farthest.most:
            farthest = span
    where: dict[int, Span] = {}
    for span in overlapping:
        for n in span.numbers if span.numbers is not None else numbers_of(span):
            if where.setdefault(n, span) is not span:
                raise TableError(f"{apart(n, where[n].where)} ({span.where} has more of them)")
