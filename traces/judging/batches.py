"""Check runs as their rows arrive in Arrow batches: each run whole, its result as one row.

Nothing here depends on Spark: a task passes the rows of its partition, run by run. A run that cannot be decided is
never skipped: its verdict is `MALFORMED`, or `open`, with the reason. A run that is too long to hold in memory goes to
a file of the worker, and is checked by blocks (`history.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import numbers
from traces.judging.history import judge_history
from traces.judging.runs import COLUMNS, CRASHES, JUDGED, KIND_CODES, codes_of, kinds_of, needs
from traces.judging.single_run import InMemory
from traces.judging.totals import COUNTS, ROW, UNSAID, PerRun, Totals, Unit, asked_for, judge_each
from traces.judging.unknowns import GAPS, Unknown, sentence
from traces.tables.table import LONGEST, OBSERVED, USUAL, TableError, TableWriter, parts_of, schema
from traces.tables.table import ROW as ROW_COLUMN
from zabspec.temporary import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERED, BY_TIME, GIVEN = "numbered", "by time", "given"  # how the order of a run's rows is known
MALFORMED = "malformed"
WORDS = (*COUNTS, MALFORMED)  # the verdicts on a property in a run
NEEDED = (*COLUMNS, "message", "detail")  # the columns of a table that are needed, except `row`
AT_ONCE = 1 << 18  # rows that are checked together
BY_COLUMNS = ("time", "process", "position")
MOST_RANGES = 1 << 14  # files of a long run: four thousand million rows
UNSURE = "there is no column 'row', and for so many rows the other columns are not checked for an order"
OTHERWISE = "it is not decided for this run"
PLACED = tuple(KIND_CODES[kind] for kind in ("abcast", "establish"))  # what of them is first may tell others apart

# The reason why a property is not checked where others are: what the rows would have to record.
UNNOTED = tuple(
    f"only a table known to have every {' and every '.join(sorted(kinds))} shows it"
    if (kinds := needs(p.holds))
    else "no rows show it"
    for p in JUDGED
)

Said = tuple[str, int | None, str | None]  # why, the time of the moment, and what makes the run


@dataclass
class Spoken:
    """The verdicts on a run.

    Attributes:
        run: its number; None for rows that have none.
        words: for each of `JUDGED` the place of its verdict in `WORDS`; `UNSAID` if it was not asked for.
        said: more about some of them, by their places in `JUDGED`.
        note: a remark that holds whatever the verdicts are.
    """

    run: int | None
    words: Sequence[int]
    said: dict[int, Said] = field(default_factory=dict)
    note: str | None = None


def spoken_of() -> pa.Schema:
    """Return the schema of a task's results, one row per run."""
    import pyarrow as pa

    more = pa.struct([("reason", pa.string()), ("time", pa.int64()), ("command", pa.string())])
    return pa.schema(
        [
            ("run", pa.int64()),
            ("words", pa.list_(pa.int8())),
            ("said", pa.map_(pa.int8(), more)),
            ("note", pa.string()),
        ]
    )


@dataclass(frozen=True)
class Judge:
    """The check that a task makes of the rows of a partition.

    Attributes:
        names: the properties; if empty, all that are checked by default.
        observes: the kinds of event that are recorded, for runs whose first row does not say.
        order: how the order of a run's rows is known. `NUMBERED`: the column `row` numbers them, from 0; `BY_TIME`: by
            time, process and position, as far as these say it; `GIVEN`: as they lie.
        at_once, longest: the number of rows that are checked together, and the most rows of a run that is held in
            memory.
    """

    names: tuple[str, ...] = ()
    observes: tuple[str, ...] = USUAL
    order: str = GIVEN
    at_once: int = AT_ONCE
    longest: int = LONGEST

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Check rows; those of a run come together."""
        for spoken in self.spoken(batches):
            if spoken:
                yield as_batch(spoken)

    def spoken(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Spoken]]:
        """Yield the results of the runs, some at a time."""
        import pyarrow as pa

        held, nameless = Held(), 0
        long: Long | None = None
        try:
            for batch in batches:
                rows = pa.Table.from_batches([batch])
                if without := rows.column("run").null_count:
                    nameless += without
                    rows = rows.filter(rows.column("run").is_valid())
                for piece, run in pieces(rows):
                    if long is not None and run == long.run:
                        long.add(piece)
                        continue
                    if long is not None:
                        yield [long.judged()]
                        long = None
                    if held.rows >= self.at_once and run != held.last:
                        yield self.judged(held.taken())
                    held.add(piece, run)
                    if held.of_last > self.longest:
                        before, parts = held.split()
                        if before:
                            yield self.judged(pa.concat_tables(before))
                        long = Long(self, parts)
                        del before, parts  # or they would be kept in memory until the run has ended
            if long is not None:
                yield [long.judged()]
        finally:
            if long is not None:
                long.close()
        if held.rows:
            yield self.judged(held.taken())
        if nameless:
            yield [self.refused(None, f"{nameless:,} rows have no run number")]

    # --- runs in memory ------------------------------------------------------------------------------

    def judged(self, table: pa.Table) -> list[Spoken]:
        """Check the runs of a table."""
        runs = column_of(table, "run")
        starts = np.flatnonzero(np.concatenate(([True], runs[1:] != runs[:-1])))
        ends = np.append(starts[1:], len(runs))
        if self.order != GIVEN:
            table = in_order(table, starts, (ROW_COLUMN,) if self.order == NUMBERED else BY_COLUMNS)
        wrong = self.misplaced(table, starts)
        by_noted: dict[tuple[str, ...], list[int]] = {}
        for k, noted in enumerate(self.noted(table, starts)):
            if k not in wrong:
                by_noted.setdefault(noted, []).append(k)
        out = [wrong[k] for k in sorted(wrong)]
        for noted, places in by_noted.items():
            out += self.each(Some(table, starts, ends), places, noted)
        return out

    def noted(self, table: pa.Table, starts: Any) -> list[tuple[str, ...]]:
        """Return for each run the kinds of event that its source records."""
        kinds, said = (table.column(name).take(starts).to_pylist() for name in ("kind", "message"))
        return [
            self.observes if kind != "run" or text is None else tuple(k for k in OBSERVED if k in text.split(","))
            for kind, text in zip(kinds, said, strict=True)
        ]

    def each(self, some: Some, places: Sequence[int], noted: tuple[str, ...]) -> list[Spoken]:
        """Check some runs; bisect to find a run that cannot be checked, which is malformed."""
        try:
            unit = InMemory((), rows_of=some.rows(places), noted=noted)
            return spoken(judge_each(unit, asked_for(self.names)))
        except TableError as problem:
            if len(places) == 1:
                return [self.refused(some.run(places[0]), str(problem))]
            half = len(places) // 2
            return self.each(some, places[:half], noted) + self.each(some, places[half:], noted)

    def refused(self, run: int | None, why: str, word: str = MALFORMED) -> Spoken:
        """Return one result for all requested properties."""
        asked = asked_for(self.names)
        rows = [row for name, row in ROW.items() if asked_for([name]) & asked]
        words = [UNSAID] * len(JUDGED)
        for row in rows:
            words[row] = WORDS.index(word)
        return Spoken(run, words, dict.fromkeys(rows, (why, None, None)))

    # --- the order of rows ---------------------------------------------------------------------------

    def misplaced(self, table: pa.Table, starts: Any) -> dict[int, Spoken]:
        """Return the results of runs whose rows are not known to be complete and in order, by their places."""
        runs = table.column("run").take(starts).to_pylist()
        if self.order == NUMBERED:
            found = misnumbered(table.column("row"), starts, 0)
            return {k: self.refused(runs[k], why) for k, why in found.items()}
        if self.order == BY_TIME:
            return {k: self.refused(runs[k], why, "open") for k, why in untimed(table, starts).items()}
        return {}


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


# --- the order of rows -----------------------------------------------------------------------------


def column_of(table: pa.Table, name: str) -> Any:
    """Return a column of numbers, with `NULL` for nulls."""
    column = table.column(name).fill_null(numbers.NULL).combine_chunks()
    return column.to_numpy(zero_copy_only=False)


def in_order(table: pa.Table, starts: Any, names: Sequence[str]) -> pa.Table:
    """Return the rows of each run sorted by some columns; among equal rows, the one that begins the run comes first.

    Args:
        table: the rows.
        starts: the first rows of the runs.
        names: the columns, the most significant first; nulls sort first.
    """
    run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, table.num_rows)))
    keys = [run, *(column_of(table, name) for name in names)]
    if len(keys) == 2 and bool(((keys[1][1:] > keys[1][:-1]) | (run[1:] != run[:-1])).all()):
        return table  # as nearly always where rows lay together
    compute: Any = import_module("pyarrow.compute")  # it does not say what it exports
    begins = compute.equal(table.column("kind"), "run").fill_null(False).combine_chunks()
    others = ~begins.to_numpy(zero_copy_only=False)
    return table.combine_chunks().take(np.lexsort([others, *keys[::-1]]))


def misnumbered(column: pa.ChunkedArray, starts: Any, first: int) -> dict[int, str]:
    """Return why runs do not have every row exactly once, by their places.

    Args:
        starts: of the runs.
        first: what the first row has to be; that of all other runs is 0.
    """
    there = column.is_valid().to_numpy()
    found = column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False)
    lengths = np.diff(np.append(starts, len(found)))
    wanted = np.arange(len(found)) - np.repeat(starts, lengths)
    wanted[: lengths[0]] += first
    wrong = np.flatnonzero((found != wanted) | ~there)
    of_run = np.searchsorted(starts, wrong, side="right") - 1
    out: dict[int, str] = {}
    for k, at in zip(of_run.tolist(), wrong.tolist(), strict=True):
        if k not in out:
            out[k] = numbered_why(int(found[at]) if there[at] else None, int(wanted[at]))
    return out


def numbered_why(found: int | None, wanted: int) -> str:
    """Return why a row is not the next of its run."""
    if found is None:
        return "column 'row' is null in a row of it"
    if found < wanted:
        return f"its row {found:,} occurs more than once, or numbers in column 'row' are below 0"
    return f"its row {wanted:,} is missing: column 'row' continues with {found:,}"


def untimed(table: pa.Table, starts: Any) -> dict[int, str]:
    """Return why the columns of some runs do not determine the order of their rows, by their places.

    Rows are sorted by `BY_COLUMNS`. What one process does is in order then. Of one moment it is not known
    which process was first; that matters where one of them abcasts, or is established.
    """
    kinds, words = kinds_of(table.set_column(table.schema.get_field_index("kind"), "kind", filled(table)), "the rows")
    codes = codes_of(words)[kinds]
    time, process, position = (column_of(table, name) for name in BY_COLUMNS)
    crash = np.array([word in CRASHES for word in words] or [False])[kinds]
    event = ((codes != numbers.OTHER) & (codes != numbers.BEGIN)) | crash
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


# --- a run that is too long for memory -------------------------------------------------------------


class Long:
    """Collects a run in files as its rows arrive, and checks it by blocks at its end.

    Numbered rows may come in any order: those with nearby numbers go to one file, and are sorted at the end.

    Args:
        parts: its first rows, which are removed from the list.
    """

    def __init__(self, judge: Judge, parts: list[pa.Table]) -> None:
        self.judge, self.rows, self.wrong = judge, 0, ""
        self.waiting: list[pa.Table] = []
        self.ranges: set[int] = set()
        self.run = int(parts[0].column("run")[0].as_py())
        self.table: TableWriter | None = None
        self.files = ExitStack()
        self.folder: Path = self.files.enter_context(temporary_folder("run"))
        self.path = self.folder / "run.parquet"
        self.writing = ExitStack()
        self.files.push(self.writing)
        try:
            while parts:
                self.add(parts.pop(0))
        except BaseException:
            self.close()
            raise

    def add(self, rows: pa.Table) -> None:
        """Add rows of the run."""
        self.rows += rows.num_rows
        if self.judge.order == GIVEN:
            self.write(rows)
        elif self.judge.order == NUMBERED and not self.wrong:
            self.waiting.append(rows)
            if sum(part.num_rows for part in self.waiting) >= self.judge.at_once:
                self.sort_out()

    def sort_out(self) -> None:
        """Distribute the waiting rows to files, by their numbers."""
        import pyarrow as pa

        rows, self.waiting = pa.concat_tables(self.waiting).combine_chunks(), []
        number = column_of(rows, ROW_COLUMN)
        of_range = number // self.judge.at_once
        if number.min() < 0:
            self.wrong = numbered_why(None if number.min() == numbers.NULL else int(number.min()), 0)
            return
        if of_range.max() >= MOST_RANGES:
            self.wrong = f"column 'row' says {int(number.max()):,}, and a run of so many rows is not checked"
            return
        order = np.argsort(of_range, kind="stable")
        rows, of_range = rows.take(order), of_range[order]
        starts = np.flatnonzero(np.concatenate(([True], of_range[1:] != of_range[:-1])))
        packed = pa.ipc.IpcWriteOptions(compression="lz4")  # uncompressed they are 160 bytes a row
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(of_range)], strict=True):
            k = int(of_range[start])
            self.ranges.add(k)
            with (
                (self.folder / f"{k}.arrow").open("ab") as out,
                pa.ipc.new_stream(out, rows.schema, options=packed) as stream,
            ):
                stream.write_table(rows.slice(start, end - start))

    def put_in_order(self) -> None:
        """Write the numbered rows in order; set `wrong` if some are missing."""
        if self.waiting and not self.wrong:
            self.sort_out()
        done = 0
        for k in sorted(self.ranges):
            if self.wrong:
                return
            rows = in_order(streams(self.folder / f"{k}.arrow"), np.zeros(1, np.int64), (ROW_COLUMN,))
            self.wrong = misnumbered(rows.column(ROW_COLUMN), np.zeros(1, np.int64), done).get(0, "")
            done += rows.num_rows
            self.write(rows)

    def write(self, rows: pa.Table) -> None:
        """Write the next rows."""
        import pyarrow as pa

        if self.table is None:  # its first row, which says what is noted, may not have been the first that came
            noted = self.judge.noted(rows, np.zeros(1, np.int64))[0]
            self.table = self.writing.enter_context(TableWriter(self.path, noted))
        have = set(rows.schema.names)
        made = schema()
        columns = [rows.column(f.name) if f.name in have else pa.nulls(rows.num_rows, f.type) for f in made]
        self.table.add_part(pa.table([column.cast(f.type) for column, f in zip(columns, made, strict=True)], made))

    def judged(self) -> Spoken:
        """Check the run, and remove its file."""
        try:
            self.put_in_order()
            if self.wrong:
                return self.judge.refused(self.run, self.wrong)
            if self.judge.order == BY_TIME:
                return self.judge.refused(self.run, UNSURE, "open")
            self.writing.close()
            unit = Unit(tuple(parts_of(self.path)), long=True)
            return spoken_long(judge_history(unit, asked_for(self.judge.names), one_by_one), self.run)
        except TableError as problem:
            return self.judge.refused(self.run, str(problem).replace(str(self.path), "the rows"))
        finally:
            self.close()

    def close(self) -> None:
        """Remove its file."""
        self.files.close()


def streams(path: Path) -> pa.Table:
    """Return the rows of a file of consecutive Arrow streams."""
    import pyarrow as pa

    parts = []
    with pa.memory_map(str(path)) as file:
        while file.tell() < file.size():
            parts.append(pa.ipc.open_stream(file).read_all())
        return pa.concat_tables(parts).combine_chunks()


def one_by_one(work: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run a function over many arguments."""
    return [work(*argument) for argument in arguments]


# --- results -----------------------------------------------------------------------------------------


def spoken(each: PerRun) -> list[Spoken]:
    """Return the result of each run of a unit."""
    words = each.words.T.tolist()
    out = [Spoken(run, said) for run, said in zip(each.batch.runs.tolist(), words, strict=True)]
    for place, v in each.violations:
        out[place].said[ROW[v.property]] = (v.why, v.time, v.command)
    for place, name, bit, where in each.gaps:
        text = sentence(GAP[bit], where)
        if not name:
            out[place].note = "; ".join(filter(None, (out[place].note, text)))
        else:
            before = out[place].said.get(ROW[name])
            out[place].said[ROW[name]] = (f"{before[0]}; {text}" if before else text, None, None)
    settle(out)
    return out


def spoken_long(totals: Totals, run: int) -> Spoken:
    """Return the result of a long run."""
    words = [int(np.argmax(row)) if row.any() else UNSAID for row in totals.counts]
    out = Spoken(run, words)
    for v in totals.violations:
        out.said[ROW[v.property]] = (v.why, v.time, v.command)
    for (name, bit), where in totals.gaps.items():
        text = sentence(GAP[bit], where)
        if name:
            before = out.said.get(ROW[name])
            out.said[ROW[name]] = (f"{before[0]}; {text}" if before else text, None, None)
        else:
            totals.notes.append(text)
    out.note = "; ".join(totals.notes) or None
    settle([out])
    return out


def settle(spoken: Sequence[Spoken]) -> None:
    """Add a reason to undecided properties that have none."""
    undecided = WORDS.index("undecided")
    for s in spoken:
        if undecided in s.words:
            for row, word in enumerate(s.words):
                if word == undecided:
                    s.said.setdefault(row, (OTHERWISE, None, None))


GAP: dict[int, Unknown] = {gap.bit: gap for gap in GAPS}


def as_batch(spoken: Sequence[Spoken]) -> pa.RecordBatch:
    """Return results as rows."""
    import pyarrow as pa

    made = spoken_of()
    said = [[(k, dict(zip(("reason", "time", "command"), v, strict=True))) for k, v in s.said.items()] for s in spoken]
    columns = [
        pa.array([s.run for s in spoken], pa.int64()),
        pa.array([s.words for s in spoken], made.field("words").type),
        pa.array(said, made.field("said").type),
        pa.array([s.note for s in spoken], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=made)
