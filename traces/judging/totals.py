"""Collect the results of checking a table: counts that add up, and the violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.events.table import ROW as ROW_NUMBER
from traces.events.table import TableError, TablePart, printable, read_part
from traces.judging import definition
from traces.judging.definition import Judged, judged_by_definition, read_by, violation_of
from traces.judging.numbers import G_KIND, G_MANY
from traces.judging.runs import BITS, COLUMNS, JUDGED, KERNEL, Batch, judgeable, mask_of, misnumbered, of_name
from traces.judging.sentence import Violation, violation
from traces.judging.unknowns import ALWAYS_SAID, GAPS, Where, affected, among, first_row, merged
from zabspec.limits import machine_memory

if TYPE_CHECKING:
    import pyarrow as pa

    from invariants.registry import Property

Stopped = Callable[[], bool]
Progress = Callable[[int], object]
COUNTS = ("holds", "premise not reached", "violated", "not judged", "undecided", "open")


BYTES_A_ROW = 600  # of memory while a run is judged, measured (`python -m benchmarks.judge --memory`)


def never() -> bool:
    return False


def ignored(rows: int) -> None:
    """Ignore progress reports."""


@dataclass(frozen=True)
class Unit:
    """Parts of a table that are checked together: they hold whole runs.

    Attributes:
        parts: in order.
    """

    parts: tuple[TablePart, ...]

    @property
    def rows(self) -> int:
        return sum(p.rows for p in self.parts)

    @property
    def observes(self) -> tuple[str, ...]:
        return tuple(k for k in self.parts[0].observes if all(k in p.observes for p in self.parts))

    @property
    def numbered(self) -> bool:
        """Return whether the column `row` numbers the rows of each run."""
        return bool(self.parts) and all(p.numbered for p in self.parts)

    @property
    def name(self) -> str:
        first = self.parts[0]
        return f"{first.path}, row group {first.groups[0]}"

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns of the unit.

        Raises:
            TableError: it is damaged.
        """
        import pyarrow as pa

        return pa.concat_tables([read_part(p, columns) for p in self.parts], promote_options="permissive")

    def judge(self, names: Sequence[str], stopped: Stopped = never, progress: Progress = ignored) -> Totals:
        """Check every run of the unit.

        Args:
            names: the properties to check; if empty, all of them.
            stopped: called now and then; returns whether to give up.
            progress: called now and then with the number of rows that are checked, if there are many.

        Raises:
            TableError: a run cannot be checked.
        """
        if self.rows > (most := most_rows()):
            raise TableError(f"{self.name}: {too_long(self.rows, most)}")
        return judge_unit(self, asked_for(names), stopped)


def most_rows() -> int:
    """Return the most rows of a run, or of row groups that share one, that this machine has room for."""
    return machine_memory() // 2 // BYTES_A_ROW


def too_long(rows: int, most: int) -> str:
    """Return why a run is not judged."""
    room = f"there is room for {most:,} at {BYTES_A_ROW} bytes a row"
    return f"a run is judged in memory: this has {rows:,} rows, and {room}"


def asked_for(names: Sequence[str]) -> int:
    """Return the mask of the properties to check: all that are checked by default, unless some are named."""
    return mask_of(names or [p.name for p in JUDGED if p.default])


def units_of(parts: Sequence[TablePart]) -> list[Unit]:
    """Return the units of a table; row groups that share a run are one unit.

    Which runs are in a row group is known from its statistics, or else the footer says that it holds whole runs.
    """
    units: list[list[TablePart]] = []
    for part in parts:
        if units and goes_on(units[-1][-1], part):
            units[-1].append(part)
        else:
            units.append([part])
    return [Unit(tuple(u)) for u in units]


def goes_on(one: TablePart, other: TablePart) -> bool:
    """Return whether a run may lie in both of two consecutive row groups."""
    if one.path != other.path:  # what many wrote at once
        return one.least is not None and one.least == one.most == other.least == other.most
    return not other.whole and (one.most is None or other.least is None or one.most == other.least)


@dataclass(frozen=True)
class Span:
    """The runs of a unit.

    Attributes:
        least, most: the least and the greatest run number.
        where: the name of the unit in errors.
        numbers: the number of each run, in order, unless they ascend.
    """

    least: int
    most: int
    where: str
    numbers: tuple[int, ...] | None


@dataclass
class Totals:
    """The results of checking some runs.

    Attributes:
        counts: for each of `JUDGED` the number of runs with each verdict of `COUNTS`.
        violations: one for every run and property.
        spans: the runs, unit by unit.
        gaps: for each open property, and under `""` for remarks about the rows themselves, where each gap is, by its
            bit (`unknowns.py`).
        notes: further remarks.
        unused: the number of rows of each kind that event tables do not have.
        further: the columns that event tables do not have.
    """

    runs: int = 0
    rows: int = 0
    counts: Any = field(default_factory=lambda: np.zeros((len(JUDGED), len(COUNTS)), np.int64))
    violations: list[Violation] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    gaps: dict[tuple[str, int], Where] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    further: Sequence[str] = ()

    def add(self, other: Totals) -> None:
        self.runs += other.runs
        self.rows += other.rows
        self.counts += other.counts
        self.violations += other.violations
        self.spans += other.spans
        self.notes += other.notes
        self.unused += other.unused
        for key, where in other.gaps.items():
            self.note_gap(*key, where)

    def note_gap(self, name: str, bit: int, where: Where) -> None:
        """Record a gap that leaves a property open."""
        self.gaps[name, bit] = merged(self.gaps.get((name, bit)), where)

    def count(self, name: str, what: str) -> int:
        return int(self.counts[ROW[name], COUNTS.index(what)])


@dataclass
class PerRun:
    """The verdicts on each run of a unit.

    Attributes:
        batch: its runs, in order.
        words: a row for each of `JUDGED`, a column for each run: the place of the verdict in `COUNTS`, or `UNSAID`.
        violations: each with the place of its run in the batch.
        gaps: what leaves properties open, as `Totals.gaps`: the places of the runs, property and bit.
        notes: further remarks.
    """

    batch: Batch
    words: Any
    violations: list[tuple[int, Violation]] = field(default_factory=list)
    gaps: list[tuple[Any, str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def say(self, place: int, name: str, what: str) -> None:
        """Record the verdict of a property in a run."""
        self.words[ROW[name], place] = COUNTS.index(what)

    def totals(self) -> Totals:
        """Return the totals of all runs."""
        out = Totals(len(self.batch.starts), self.batch.rows, notes=self.notes, unused=self.batch.unused)
        for k in range(len(COUNTS)):
            out.counts[:, k] = np.count_nonzero(self.words == k, axis=1)
        out.violations = [v for _, v in self.violations]
        for places, name, bit in self.gaps:
            first = places[np.argmin(self.batch.runs[places])]
            out.note_gap(name, bit, replace(first_row(self.batch, int(first), GAPS[bit]), runs=len(places)))
        return out


UNSAID = -1
ROW = {p.name: row for row, p in enumerate(JUDGED)}


def judge_unit(unit: Unit, asked: int, stopped: Stopped = never) -> Totals:
    """Check every run of a unit.

    Args:
        asked: the mask (`BITS`) of the properties to check.
        stopped: called now and then; returns whether to give up.

    Raises:
        TableError: a run cannot be checked, or two runs have the same number.
    """
    each = judge_each(unit, asked, stopped)
    batch, out = each.batch, each.totals()
    check_rows(unit, batch)
    if batch.rows:
        growing = bool((batch.runs[1:] > batch.runs[:-1]).all())
        numbers = None if growing else tuple(batch.runs.tolist())
        out.spans.append(Span(int(batch.runs.min()), int(batch.runs.max()), unit.name, numbers))
        if numbers is not None and len(set(numbers)) < len(numbers):
            raise TableError(apart(first_repeated(numbers), unit.name))
    return out


def check_rows(unit: Unit, batch: Batch) -> None:
    """Check that the runs of a unit have every row once and in order, if its rows are numbered.

    Raises:
        TableError: one has not.
    """
    if not unit.numbered or (column := unit.read((ROW_NUMBER,)).column(ROW_NUMBER)).null_count == batch.rows:
        return
    for place, why in misnumbered(column, batch.starts).items():
        raise TableError(f"{batch.name}, run {batch.runs[place]}: {why}")


def judge_each(unit: Unit, asked: int, stopped: Stopped = never) -> PerRun:
    """Check every run of a unit, without checking that their numbers differ.

    Args:
        asked: the mask (`BITS`) of the properties to check.
        stopped: called now and then; returns whether to give up.

    Raises:
        TableError: a run cannot be checked.
    """
    batch = Batch(unit.read(COLUMNS), unit.name)
    out = PerRun(batch, np.full((len(JUDGED), len(batch.starts)), UNSAID, np.int8))
    known = judgeable(unit.observes) & asked
    slow = [p for p in JUDGED if known >> BITS[p.name] & 1 and p.name not in KERNEL]
    asked, known = (mask & ~mask_of([p.name for p in slow]) for mask in (asked, known))
    broken_runs: list[RunViolations] = []
    for place, found in batch.judged():
        if stopped():
            break
        for prop in slow:
            broken_runs += by_definition(out, place, found[:, 3].tolist(), prop, stopped)
        for mask in np.unique(found[:, 3]):
            same = np.flatnonzero(found[:, 3] == mask)
            said = say_verdicts(out, place + same, found[same], asked, known)
            broken_runs += [RunViolations(int(place + same[k]), int(said[k])) for k in np.flatnonzero(said)]
    if broken_runs:
        broken_runs.sort(key=lambda b: b.place)
        out.violations = violations_of(unit, batch, broken_runs)
    return out


@dataclass(frozen=True)
class RunViolations:
    """The violations in a run.

    Attributes:
        place: the place of the run in its batch.
        mask: the mask of properties from the kernel.
        defined: the violations of properties for which there is no kernel, found by their definition.
    """

    place: int
    mask: int
    defined: dict[str, Judged] = field(default_factory=dict)


def say_verdicts(out: PerRun, places: Any, found: Any, asked: int, known: int) -> Any:
    """Record the kernel's verdicts on runs that leave the same unknown: what depends on that is open.

    Args:
        places: of these runs in the batch.
        found: of each what the kernel says.

    Returns:
        For each run the mask of the properties that it violates for certain.
    """
    mask, said = int(found[0, 3]), np.zeros(len(places), np.int64)
    unsure = affected(mask)
    for row, p in enumerate(JUDGED):
        bit, gaps = 1 << BITS[p.name], unsure.get(p.name, ())
        if not asked & bit:
            continue
        if not known & bit:
            out.words[row, places] = COUNTS.index("not judged")
            continue
        bad, good = (found[:, 1] & bit) != 0, (found[:, 2] & bit) != 0
        words = np.where(good, COUNTS.index("holds"), COUNTS.index("premise not reached"))
        if gaps:
            bad &= all(p.name in gap.sure for gap in gaps)
            settled = all(gap.bit == G_MANY for gap in gaps)
            words[:] = COUNTS.index("undecided" if settled else "open")
            left = places[~bad]
            out.gaps += [(left, p.name, gap.bit) for gap in gaps if len(left) and not settled]
        out.words[row, places] = np.where(bad, COUNTS.index("violated"), words)
        said |= np.where(bad, bit, 0)
    out.gaps += [(places, "", gap.bit) for gap in among(mask) if gap.bit in ALWAYS_SAID]
    return said


def by_definition(
    out: PerRun, place: int, gaps: Sequence[int], prop: Property, stopped: Callable[[], bool]
) -> list[RunViolations]:
    """Check runs by the source of a property without a kernel, and record the verdicts.

    Args:
        place: of the first run in the batch.
        gaps: of each run the mask of what it leaves unknown.
    """
    found, large, batch = [], 0, out.batch
    for k, mask in enumerate(gaps):
        if stopped():
            break
        judged = judged_by_definition(batch, place + k, prop)
        word = "open" if gaps[k] >> G_KIND & 1 and judged.word != "not judged" else judged.word
        if word == "violated":
            found.append(RunViolations(place + k, 0, defined={prop.name: judged}))
        elif word == "open":
            read = read_by(prop)
            here = [
                gap
                for gap in among(mask)
                if gap.bit == G_KIND or (gap.null and (not gap.kinds or read & set(gap.kinds)))
            ]
            word = "open" if here else "undecided"
            for gap in here:
                out.gaps.append((np.array([place + k]), prop.name, gap.bit))
        large += word == "not judged"
        out.say(place + k, prop.name, word)
    if large:
        out.notes.append(
            f"{batch.name}: {prop.name} is checked by its definition, in runs of at most {definition.MOST_ROWS:,} "
            f"rows: {large:,} are larger, and not checked"
        )
    return found


def text_of(value: pa.Scalar) -> str | None:
    """Return a text of a table, printable; None if it is missing or no text."""
    try:
        text: str | None = value.as_py()
    except UnicodeDecodeError:
        return None
    return text and printable(text)


def violations_of(unit: Unit, batch: Batch, broken: Sequence[RunViolations]) -> list[tuple[int, Violation]]:
    """Return the violations of some runs of a unit, each with its witness and the place of its run."""
    texts = unit.read(("kind", "detail"))
    out = []
    for b in broken:
        start, end, run = int(batch.starts[b.place]), int(batch.ends[b.place]), int(batch.runs[b.place])
        kinds, details = (texts.column(c).slice(start, end - start) for c in ("kind", "detail"))
        command = text_of(details[0]) if text_of(kinds[0]) == "run" else None
        witnesses = {n: rows for n, rows in batch.witness(b.place).items() if b.mask >> BITS[n] & 1} if b.mask else {}
        for name, judged in b.defined.items():
            said = violation_of(batch, kinds, b.place, of_name(name), judged)
            out.append((b.place, replace(said, command=command)))
        for name, rows in witnesses.items():
            said = violation(batch, kinds, run, start, of_name(name), rows)
            out.append((b.place, replace(said, command=command)))
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
    return f"{where}: the rows of run {run} are not contiguous"


def check_spans(spans: Sequence[Span], numbers_of: Callable[[Span], Sequence[int]]) -> None:
    """Check that no run is in two units.

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
