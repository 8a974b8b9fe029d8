"""Check runs as their rows arrive in Arrow batches: `(state, rows) -> verdicts`, each run whole, its result as one row.

Nothing here depends on Spark. A task passes the rows of its partition, a stream the rows of a bucket of runs, and what
is held between two calls is the rows of runs that have not ended. A run that cannot be decided is never skipped: its
verdict is `malformed`, or `open`, with the reason. A run that does not fit in memory is refused with its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.events.table import KINDS, OBSERVED, USUAL, TableError, printable
from traces.events.table import ROW as ROW_COLUMN
from traces.judging import numbers
from traces.judging.runs import COLUMNS, CRASHES, IN_KERNEL, JUDGED, KIND_CODES, codes_of, kinds_of, misnumbered, needs
from traces.judging.sentence import Happened
from traces.judging.single_run import InMemory
from traces.judging.totals import COUNTS, ROW, UNSAID, PerRun, asked_for, judge_each, most_rows, too_long
from traces.judging.unknowns import BY_ABCAST, BY_INSTANCE, BY_QUORUM, GAPS, first_row, sentence

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERED, BY_TIME, GIVEN = "numbered", "by time", "given"  # how the order of a run's rows is known
MALFORMED = "malformed"
WORDS = (*COUNTS, MALFORMED)  # the verdicts on a property in a run
NEEDED = (*COLUMNS, "message", "detail")  # the columns of a table that are needed, except `row`
AT_ONCE = 1 << 18  # rows that are checked together
BY_COLUMNS = ("time", "process", "position")
OTHERWISE = "it is not decided for this run"
PLACED = tuple(KIND_CODES[kind] for kind in ("abcast", "establish"))  # what of them is first may tell others apart
OF_PROPERTIES = {
    "attempt": BY_INSTANCE,
    "primary_epoch": (*BY_ABCAST, *BY_QUORUM, "one-leader-an-epoch"),
    "index": BY_QUORUM,
}  # columns that only some properties read, if they have a kernel

# The reason why a property is not checked where others are: what the rows would have to record.
UNNOTED = tuple(
    f"only a table known to have every {' and every '.join(sorted(kinds))} shows it"
    if (kinds := needs(p.holds))
    else "no rows show it"
    for p in JUDGED
)


def columns_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a table that some properties need; all if none is named."""
    from traces.judging.runs import KERNEL

    if not names or not {*names} <= {*KERNEL}:
        return NEEDED
    return tuple(c for c in NEEDED if c not in OF_PROPERTIES or {*names} & {*OF_PROPERTIES[c]})


@dataclass(frozen=True)
class Remark:
    """More about a verdict.

    Attributes:
        reason: why.
        time: of the moment in which the property is violated.
        command: the command that makes the run.
        evidence: the rows that violate the property.
    """

    reason: str
    time: int | None = None
    command: str | None = None
    evidence: tuple[Happened, ...] = ()


@dataclass
class Spoken:
    """The verdicts on a run.

    Attributes:
        run: its number; None for rows that have none.
        words: for each of `JUDGED` the place of its verdict in `WORDS`; `UNSAID` if it was not asked for.
        said: more about some of them, by their places in `JUDGED`.
        notes: remarks that hold whatever the verdicts are.
        rows: how many it has; `unused`: how many of them are of no kind that event tables have.
        further: the values of further columns in its first row.
    """

    run: int | None
    words: Sequence[int]
    said: dict[int, Remark] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    unused: int = 0
    further: tuple[Any, ...] = ()

    def each(self) -> Iterator[tuple[int, str, Remark | None]]:
        """Yield the place, the verdict and more about it, of each property that was asked for."""
        for place, word in enumerate(self.words):
            if word != UNSAID:
                said = self.said.get(place)
                unnoted = said is None and WORDS[word] == "not judged"
                yield place, WORDS[word], Remark(UNNOTED[place]) if unnoted else said


def spoken_of(further: Iterable[pa.Field] = ()) -> pa.Schema:
    """Return the schema of a task's results, one row per run.

    Args:
        further: of columns that are passed on.
    """
    import pyarrow as pa

    numbers_and_texts = {"row": pa.int64(), "process": pa.int64(), "position": pa.int64(), "kind": pa.string()}
    event = pa.struct([*numbers_and_texts.items(), ("txn", pa.string()), ("time", pa.int64())])
    more = [("reason", pa.string()), ("time", pa.int64()), ("command", pa.string()), ("evidence", pa.list_(event))]
    return pa.schema(
        [
            pa.field("run", pa.int64()),
            pa.field("words", pa.list_(pa.int8())),
            pa.field("said", pa.map_(pa.int8(), pa.struct(more))),
            pa.field("note", pa.string()),
            pa.field("rows", pa.int64()),
            pa.field("unused", pa.int64()),
            *further,
        ]
    )


@dataclass(frozen=True)
class Judge:
    """The check that is made of the rows of a partition, or of a stream.

    Attributes:
        names: the properties; if empty, all that are checked by default.
        observes: the kinds of event that are recorded, for runs whose first row does not say.
        order: how the order of a run's rows is known. `NUMBERED`: the column `row` numbers them, from 0; `BY_TIME`: by
            time, process and position, as far as these say it; `GIVEN`: as they lie.
        further: columns whose values in the first row of a run are passed on.
        expected: the column with the number of rows that a run has to have; empty if nothing is expected.
        at_once: the number of rows that are checked together; `most`: the most rows of a run, 0 for what the machine
            has room for.
    """

    names: tuple[str, ...] = ()
    observes: tuple[str, ...] = USUAL
    order: str = GIVEN
    further: tuple[str, ...] = ()
    expected: str = ""
    at_once: int = AT_ONCE
    most: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Check rows; those of a run come together."""
        further: list[pa.Field] = []

        def noticed() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                further[:] = [batch.schema.field(name) for name in self.further]
                yield batch

        for spoken in self.spoken(noticed()):
            if spoken:
                yield as_batch(spoken, spoken_of(further))

    def spoken(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Spoken]]:
        """Yield the results of the runs, some at a time."""
        import pyarrow as pa

        held, nameless, most = Held(), 0, self.most or most_rows()
        long, rows_of_long = None, 0  # a run that does not fit
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            if without := rows.column("run").null_count:
                nameless += without
                rows = rows.filter(rows.column("run").is_valid())
            for piece, run in pieces(rows):
                if long is not None and run == long:
                    rows_of_long += piece.num_rows
                    continue
                if long is not None:
                    yield [self.refused(long, too_long(rows_of_long, most), rows_of_long)]
                    long = None
                if held.rows >= self.at_once and run != held.last:
                    yield self.judged(held.taken())
                held.add(piece, run)
                if held.of_last > most:
                    before, parts = held.split()
                    if before:
                        yield self.judged(pa.concat_tables(before))
                    long, rows_of_long = run, sum(part.num_rows for part in parts)
                    del before, parts  # or they would be kept in memory until the run has ended
        if long is not None:
            yield [self.refused(long, too_long(rows_of_long, most), rows_of_long)]
        if held.rows:
            yield self.judged(held.taken())
        if nameless:
            yield [self.refused(None, f"{nameless:,} rows have no run number", nameless)]

    def judged(self, table: pa.Table) -> list[Spoken]:
        """Check the runs of a table, each of which is contiguous; return their results in order."""
        table = with_all_columns(table)
        starts = starts_of(table)
        ends = np.append(starts[1:], table.num_rows)
        if self.order != GIVEN:
            table = in_order(table, starts, (ROW_COLUMN,) if self.order == NUMBERED else BY_COLUMNS)
        found = self.misplaced(table, starts) | self.of_other_sizes(table, starts)
        by_noted: dict[tuple[str, ...], list[int]] = {}
        for k, noted in enumerate(self.noted(table, starts)):
            if k not in found:
                by_noted.setdefault(noted, []).append(k)
        for noted, places in by_noted.items():
            found |= self.each(Some(table, starts, ends), places, noted)
        unused, strange = unused_rows(table, starts)
        for k, s in found.items():
            s.rows, s.unused = int(ends[k] - starts[k]), int(unused[k])
            if s.unused:
                s.notes.append(f"rows of kinds that do not exist are not used: {strange}")
        for name in self.further:
            for k in varying(table.column(name), starts):
                found[k].notes.append(f"the first of several values of column {name!r}: perhaps this is not one run")
            for k, value in enumerate(table.column(name).take(starts).to_pylist()):
                found[k].further += (value,)
        return [found[k] for k in sorted(found)]

    def noted(self, table: pa.Table, starts: Any) -> list[tuple[str, ...]]:
        """Return for each run the kinds of event that its source records."""
        kinds, said = (table.column(name).take(starts).to_pylist() for name in ("kind", "message"))
        return [
            self.observes if kind != "run" or text is None else tuple(k for k in OBSERVED if k in text.split(","))
            for kind, text in zip(kinds, said, strict=True)
        ]

    def each(self, some: Some, places: Sequence[int], noted: tuple[str, ...]) -> dict[int, Spoken]:
        """Check some runs; bisect to find a run that cannot be checked, which is malformed."""
        try:
            unit = InMemory((), rows_of=some.rows(places), noted=noted)
            return dict(zip(places, spoken(judge_each(unit, asked_for(self.names))), strict=True))
        except TableError as problem:
            if len(places) == 1:
                return {places[0]: self.refused(some.run(places[0]), str(problem))}
            half = len(places) // 2
            return self.each(some, places[:half], noted) | self.each(some, places[half:], noted)

    def refused(self, run: int | None, why: str, rows: int = 0, word: str = MALFORMED) -> Spoken:
        """Return one result for all requested properties."""
        asked = asked_for(self.names)
        places = [row for name, row in ROW.items() if asked_for([name]) & asked]
        words = [UNSAID] * len(JUDGED)
        for row in places:
            words[row] = WORDS.index(word)
        return Spoken(run, words, dict.fromkeys(places, Remark(why)), rows=rows)

    # --- the order and the number of rows ------------------------------------------------------------

    def misplaced(self, table: pa.Table, starts: Any) -> dict[int, Spoken]:
        """Return the results of runs whose rows are not known to be complete and in order, by their places."""
        runs = table.column("run").take(starts).to_pylist()
        if self.order == NUMBERED:
            found = misnumbered(table.column("row"), starts)
            return {k: self.refused(runs[k], why) for k, why in found.items()}
        if self.order == BY_TIME:
            return {k: self.refused(runs[k], why, word="open") for k, why in untimed(table, starts).items()}
        return {}

    def of_other_sizes(self, table: pa.Table, starts: Any) -> dict[int, Spoken]:
        """Return the results of runs that have another number of rows than expected, by their places."""
        if not self.expected:
            return {}
        sizes = np.diff(np.append(starts, table.num_rows)).tolist()
        runs = table.column("run").take(starts).to_pylist()
        wanted = table.column(self.expected).cast("int64").fill_null(numbers.NULL).to_numpy()
        bounds = np.transpose([np.minimum.reduceat(wanted, starts), np.maximum.reduceat(wanted, starts)]).tolist()
        said = [" or ".join("none" if n == numbers.NULL else f"{n:,}" for n in dict.fromkeys(of)) for of in bounds]
        return {
            k: self.refused(runs[k], f"it has {size:,} rows, and {said[k]} are expected")
            for k, size in enumerate(sizes)
            if bounds[k] != [size, size]
        }


class Held:
    """Rows held in memory: those of whole runs, and those of the last run so far."""

    def __init__(self) -> None:
        self.empty()

    def empty(self) -> None:
        """Drop all rows."""
        self.parts: list[pa.Table] = []
        self.rows = 0
        self.last: int | None = None
        self.of_last = 0  # rows
        self.before = 0  # parts before those of the last run

    def add(self, rows: pa.Table, run: int | None) -> None:
        """Add rows: of one run, or (None) of whole runs."""
        if run is None or run != self.last:
            self.last, self.of_last, self.before = run, 0, len(self.parts)
        self.parts.append(rows)
        self.rows += rows.num_rows
        self.of_last += rows.num_rows if run is not None else 0

    def taken(self) -> pa.Table:
        """Return all rows, and drop them."""
        import pyarrow as pa

        parts = self.parts
        self.empty()
        return pa.concat_tables(parts)

    def split(self) -> tuple[list[pa.Table], list[pa.Table]]:
        """Return the rows before those of the last run, and the last run's; all are dropped."""
        parts, before = self.parts, self.before
        self.empty()
        return parts[:before], parts[before:]


def pieces(rows: pa.Table) -> Iterator[tuple[pa.Table, int | None]]:
    """Split rows into up to three pieces: those of the first run, whole runs (None), and those of the last run."""
    runs = rows.column("run").combine_chunks().to_numpy(zero_copy_only=False)
    if not len(runs):
        return
    changes = np.flatnonzero(runs[1:] != runs[:-1]) + 1
    if not len(changes):
        yield rows, int(runs[0])
        return
    first, last = int(changes[0]), int(changes[-1])
    yield rows.slice(0, first), int(runs[0])
    if last > first:
        yield rows.slice(first, last - first), None
    yield rows.slice(last), int(runs[last])


@dataclass(frozen=True)
class Some:
    """Runs of a table.

    Attributes:
        table: its rows.
        starts, ends: of its runs.
    """

    table: pa.Table
    starts: Any
    ends: Any

    def rows(self, places: Sequence[int]) -> pa.Table:
        """Return the rows of some runs, in order."""
        if len(places) == len(self.starts):
            return self.table
        take = np.concatenate([np.arange(self.starts[k], self.ends[k]) for k in places])
        return self.table.take(take)

    def run(self, place: int) -> int:
        """Return the number of a run."""
        return int(self.table.column("run")[int(self.starts[place])].as_py())


# --- columns and their order -----------------------------------------------------------------------


def column_of(table: pa.Table, name: str) -> Any:
    """Return a column of numbers, with `NULL` for nulls."""
    column = table.column(name).fill_null(numbers.NULL).combine_chunks()
    return column.to_numpy(zero_copy_only=False)


def starts_of(table: pa.Table) -> Any:
    """Return the first row of each run."""
    runs = column_of(table, "run")
    return np.flatnonzero(np.concatenate(([True], runs[1:] != runs[:-1]))) if len(runs) else np.zeros(0, np.int64)


def varying(column: pa.ChunkedArray, starts: Any) -> list[int]:
    """Return the places of the runs in which a column has other values than in the first row; of nested ones none."""
    import pyarrow.compute as pc
    from pyarrow.types import is_nested

    if is_nested(column.type):
        return []
    firsts = column.take(np.repeat(starts, np.diff(np.append(starts, len(column)))))
    other = pc.not_equal(column, firsts).fill_null(False).to_numpy()
    found: list[int] = np.flatnonzero(np.logical_or.reduceat(other, starts)).tolist()
    return found


def with_all_columns(table: pa.Table) -> pa.Table:
    """Return rows with nulls for the columns of `NEEDED` that were not sent."""
    import pyarrow as pa

    for name in NEEDED:
        if name not in table.column_names:
            kind = pa.int64() if name in IN_KERNEL else pa.string()
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return table


def unused_rows(table: pa.Table, starts: Any) -> tuple[Any, str]:
    """Return for each run the number of rows of kinds that event tables do not have, and these kinds in words."""
    kinds, words = kinds_of(table.set_column(table.schema.get_field_index("kind"), "kind", filled(table)), "the rows")
    strange = [k for k, word in enumerate(words) if word not in KINDS]
    unused = np.add.reduceat(np.isin(kinds, strange).astype(np.int64), starts) if strange else np.zeros(len(starts))
    return unused, ", ".join(sorted(repr(printable(words[k] or "")) for k in strange))


def in_order(table: pa.Table, starts: Any, names: Sequence[str]) -> pa.Table:
    """Return the rows of each run sorted by some columns; among equal rows, the one that begins the run comes first.

    Args:
        table: the rows.
        starts: the first rows of the runs.
        names: the columns, the most significant first; nulls sort first.
    """
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, table.num_rows)))
    compute: Any = import_module("pyarrow.compute")  # it does not say what it exports
    begins = compute.equal(table.column("kind"), "run").fill_null(False).combine_chunks()
    keys = [run, *(column_of(table, name) for name in names), ~begins.to_numpy(zero_copy_only=False)]
    before, same = np.zeros(len(run), bool)[1:], np.ones(len(run), bool)[1:]
    for key in keys:
        before |= same & (key[:-1] < key[1:])
        same &= key[:-1] == key[1:]
    if (before | same).all():
        return table  # as nearly always where rows lay together
    return table.combine_chunks().take(np.lexsort(keys[::-1]))


def untimed(table: pa.Table, starts: Any) -> dict[int, str]:
    """Return why the columns of some runs do not determine the order of their rows, by their places.

    Rows are sorted by `BY_COLUMNS`. What one process does is in order then. Of one moment it is not known
    which process was first; that matters where one of them abcasts, or is established.
    """
    kinds, words = kinds_of(table.set_column(table.schema.get_field_index("kind"), "kind", filled(table)), "the rows")
    codes = codes_of(words)[kinds]
    time, process, position = (column_of(table, name) for name in BY_COLUMNS)
    crash = np.array([word in CRASHES for word in words] or [False])[kinds]
    event = ((codes > numbers.OTHER) & (codes < numbers.BEGIN)) | crash
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    at = np.flatnonzero(event)
    out: dict[int, str] = {}
    if not len(at):
        return out
    run, process, position, time, codes = (column[at] for column in (run, process, position, time, codes))
    begins = np.concatenate(([True], (run[1:] != run[:-1]) | (time[1:] != time[:-1])))
    moment = np.cumsum(begins) - 1
    many = np.bincount(moment) > 1
    strange = (process == numbers.NULL) | (position == numbers.NULL)
    other = np.concatenate(([False], ~begins[1:] & (process[1:] != process[:-1])))
    several = np.bincount(moment, other) > 0
    placed = np.bincount(moment, np.isin(codes, PLACED)) > 0
    nulls = np.bincount(run, time == numbers.NULL, len(starts))
    half = (nulls > 0) & (nulls < np.bincount(run, minlength=len(starts)))  # some rows have a time, others none
    open_ = (many[moment] & strange) | (several & placed)[moment] | half[run]
    for k in np.flatnonzero(open_).tolist():
        if int(run[k]) not in out:
            when = "without a time" if time[k] == numbers.NULL else f"of time {time[k]:,}"
            out[int(run[k])] = f"there is no column 'row', and no other column gives the order of its rows {when}"
    return out


def filled(table: pa.Table) -> pa.ChunkedArray:
    """Return the column of kinds, with an empty word for nulls, which are refused later."""
    import pyarrow.compute as pc

    return pc.fill_null(table.column("kind"), "")


# --- results -----------------------------------------------------------------------------------------


def spoken(each: PerRun) -> list[Spoken]:
    """Return the result of each run of a unit."""
    words = each.words.T.tolist()
    out = [Spoken(run, said) for run, said in zip(each.batch.runs.tolist(), words, strict=True)]
    for place, v in each.violations:
        out[place].said[ROW[v.property]] = Remark(v.why, v.time, v.command, v.events)
    texts: dict[tuple[int, int], str] = {}  # a gap of a run is that of several properties
    for places, name, bit in each.gaps:
        for place in places.tolist():
            if (place, bit) not in texts:
                texts[place, bit] = sentence(GAPS[bit], first_row(each.batch, place, GAPS[bit]))
            text = texts[place, bit]
            if not name:
                out[place].notes.append(text)
            else:
                before = out[place].said.get(ROW[name])
                out[place].said[ROW[name]] = Remark(f"{before.reason}; {text}" if before else text)
    undecided = WORDS.index("undecided")
    for s in out:
        for row in [row for row, word in enumerate(s.words) if word == undecided]:
            s.said.setdefault(row, Remark(OTHERWISE))
    return out


def said_as_row(said: Remark) -> dict[str, Any]:
    """Return more about a verdict as values of `spoken_of`."""
    events = [{name: getattr(e, name) for name in ("row", "process", "position", "kind", "txn", "time")}
              for e in said.evidence]  # fmt: skip
    return {"reason": said.reason, "time": said.time, "command": said.command, "evidence": events}


def as_batch(spoken: Sequence[Spoken], made: pa.Schema) -> pa.RecordBatch:
    """Return results as rows of a schema."""
    import pyarrow as pa

    further = len(made) - len(spoken_of())
    values = [
        [s.run for s in spoken],
        [s.words for s in spoken],
        [[(k, said_as_row(v)) for k, v in s.said.items()] for s in spoken],
        ["; ".join(s.notes) or None for s in spoken],
        [s.rows for s in spoken],
        [s.unused for s in spoken],
        *([s.further[k] if s.further else None for s in spoken] for k in range(further)),
    ]
    columns = [pa.array(value, of.type) for value, of in zip(values, made, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=made)
