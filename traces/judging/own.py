"""Tables of what somebody's own protocol shows the outside, judged by what its text says of it.

The properties of such a protocol that are over histories read nothing but what its observations write, so a table is
judged by its text: its observations are made again in the order of the rows, and after each moment, which is the rows
of one time, the properties are asked. A run is read once, row by row, and nothing of it is kept but the state that its
observations made; so memory does not grow with a table, nor with a run. Row groups that no run can share are judged
apart: one after another in this process, or each by a task of Spark, by the same function.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from invariants import Property, properties_of
from invariants.binding import bound
from invariants.registry import HISTORY
from traces.record.trace import text_of
from traces.tables.own import FIELD, PLAIN, Source
from traces.tables.table import TableError, files_of, first_line, printable
from zabspec.authoring.reading import ObservationKind
from zabspec.language.reference import ERRORS, StateView, range_error
from zabspec.language.sentences import sentence_of
from zabspec.model import ConfigError, Model

__all__ = ["Broken", "ObservationTotals", "Stretch", "judge_own", "judge_own_on_spark", "judge_stretch", "stretches_of"]

AT_ONCE = 1 << 14  # rows that are read at once

Row = dict[str, Any]
Progress = Callable[[int, int], object]  # rows judged, of how many


@dataclass(frozen=True)
class Broken:
    """A property that a run breaks: its run, its name, why, and the time of the moment."""

    run: int
    name: str
    why: str
    time: int | None


@dataclass
class ObservationTotals:
    """What judging a table came to.

    Attributes:
        runs, rows: how many.
        counts: of each property how many runs of each word (`held`, `premise not reached`, `violated`, `open`,
            `not judged`).
        broken: one for every run and property.
        notes: what else there is to say.
    """

    runs: int = 0
    rows: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: ObservationTotals) -> None:
        self.runs += other.runs
        self.rows += other.rows
        for name, counts in other.counts.items():
            self.counts.setdefault(name, Counter()).update(counts)
        self.broken += other.broken
        self.notes += other.notes


# --- what is judged apart ------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """Row groups of a table that share no run with others.

    Attributes:
        groups: each as its file and its number there, in order.
        rows: how many they have.
        least, most: of the runs in them, where the files say so.
    """

    groups: tuple[tuple[str, int], ...]
    rows: int
    least: int | None
    most: int | None


def stretches_of(path: Path) -> list[Stretch]:
    """The stretches of a table, as the footers of its files tell: one ends where every run before it has a smaller
    number than every run behind it.

    Raises:
        TableError: a file is damaged, or has not the columns.
    """
    found = [group for file in files_of(path) for group in groups_of(file)]
    known = all(g.least is not None for g in found)
    behind = [*accumulate(reversed([g.least or 0 for g in found]), min)][::-1]  # the least number from a group on
    out: list[Stretch] = []
    for k, g in enumerate(found):
        last = out[-1] if out else None
        if last is None or (known and (last.most or 0) < behind[k]):
            out.append(g)
            continue
        least = min(last.least or 0, g.least or 0) if known else None
        most = max(last.most or 0, g.most or 0) if known else None
        out[-1] = Stretch(last.groups + g.groups, last.rows + g.rows, least, most)
    return out


def groups_of(file: Path) -> Iterator[Stretch]:
    """The row groups of a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            schema, footer = opened.schema_arrow, opened.metadata
    except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
        raise TableError(f"{file}: {first_line(problem)}") from None
    for name in PLAIN:
        if schema.names.count(name) != 1:
            raise TableError(
                f"{file}: there is {'no' if name not in schema.names else 'more than one'} column {name!r}"
            )
    if not pa.types.is_int64(schema.field("run").type):
        raise TableError(f"{file}: column 'run' is {schema.field('run').type}, and in such a table it is int64")
    at = footer.schema.names.index("run")
    for k in range(footer.num_row_groups):
        group = footer.row_group(k)
        statistics = group.column(at).statistics
        told = statistics is not None and statistics.has_min_max
        least, most = (statistics.min, statistics.max) if told else (None, None)
        if group.num_rows:
            yield Stretch(((str(file.absolute()), k),), group.num_rows, least, most)


# --- judging ---------------------------------------------------------------------------------------


def asked_of(source: Source, names: Sequence[str]) -> list[Property]:
    """The properties that are asked: all, unless some are named."""
    return [p for p in properties_of(source.protocol) if p.default and (not names or p.name in names)]


def judge_own(
    path: Path, source: Source, names: Sequence[str] = (), progress: Progress = lambda *_: None
) -> ObservationTotals:
    """Judge every run of a table by the protocol's own text, in this process.

    Args:
        names: only these properties.

    Raises:
        TableError: a row is none of the protocol's observations, a value leaves its range, or the rows of a run are
            apart.
    """
    stretches = stretches_of(path)
    everything = sum(x.rows for x in stretches)
    total = ObservationTotals(counts={p.name: Counter() for p in asked_of(source, names)})
    for stretch in stretches:
        total.add(judge_stretch(source, tuple(names), stretch, partial(told, progress, total.rows, everything)))
    return total


def told(progress: Progress, before: int, everything: int, done: int) -> None:
    """Tell how far a stretch is, behind the rows before it."""
    progress(before + done, everything)


def judge_own_on_spark(
    path: Path,
    source: Source,
    names: Sequence[str] = (),
    master: str | None = None,
    progress: Progress = lambda *_: None,
) -> ObservationTotals:
    """The same as tasks of Spark, a stretch to a task. Tasks read the files and the text themselves, so a cluster must
    see both under the same paths.

    Raises:
        NoSpark: there is none.
        SparkFailed: a job failed.
        TableError: as in this process.
    """
    from traces.judging.judge import tasks, watcher
    from traces.judging.totals import Totals
    from traces.spark.session import LOCAL, session

    stretches = stretches_of(path)
    everything = sum(x.rows for x in stretches)
    total = ObservationTotals(counts={p.name: Counter() for p in asked_of(source, names)})
    if not stretches:
        return total
    with session(master or LOCAL, brief=True) as spark:
        context = spark.sparkContext
        watch = watcher(context, lambda done, rows, _: progress(done, rows), 0, everything, everything, Totals())
        given = [(away(source), tuple(names), x) for x in stretches]
        for found in tasks(context, watch)(judge_stretch, given):
            total.add(found)
    return total


def away(source: Source) -> Source:
    """What a table is of, as another process finds it: by an absolute path."""
    if not source.protocol.endswith(".py"):
        return source
    where = str(Path(source.protocol).absolute())
    return replace(source, protocol=where, configuration=replace(source.configuration, protocol=where))


def judge_stretch(
    source: Source, names: Sequence[str], stretch: Stretch, progress: Callable[[int], object] = lambda _: None
) -> ObservationTotals:
    """Judge the runs of a stretch, in the order of its rows.

    Raises:
        TableError: as `judge_own`; or the text is another by now.
    """
    try:
        if text_of(source.protocol) != source.text:
            raise TableError(f"{source.protocol}: its text is another by now")
        judging = Judging(source, asked_of(source, names))
    except ConfigError as problem:
        raise TableError(str(problem)) from None
    for place, row in rows_of(stretch):
        judging.take(place, row)
        if judging.tally.rows % AT_ONCE == 0:
            progress(judging.tally.rows)
    judging.end_run()
    return judging.tally


def rows_of(stretch: Stretch) -> Iterator[tuple[str, Row]]:
    """The rows of a stretch, in order, each with its file.

    Raises:
        TableError: a file is damaged, or says of its runs what is not so.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for file, group in stretch.groups:
        try:
            with pq.ParquetFile(file) as opened:
                names = [n for n in opened.schema_arrow.names if n in PLAIN or n.startswith(FIELD)]
                for batch in opened.iter_batches(AT_ONCE, row_groups=[group], columns=names):
                    for row in batch.to_pylist():
                        number = row["run"]
                        if number is None:
                            raise TableError(f"{file}: a row says no run")
                        if stretch.least is not None and not stretch.least <= number <= (stretch.most or 0):
                            raise TableError(f"{file}: its footer says that no row is of run {number}, and one is")
                        yield file, row
        except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
            raise TableError(f"{file}: {first_line(problem)}") from None


class Seen:
    """Numbers, kept as the ranges that they make."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, number: int) -> bool:
        """Whether a number is new."""
        k = bisect_right(self.starts, number)
        if k and self.ends[k - 1] >= number:
            return False
        joins_left = k > 0 and self.ends[k - 1] == number - 1
        joins_right = k < len(self.starts) and self.starts[k] == number + 1
        if joins_left and joins_right:
            self.ends[k - 1] = self.ends.pop(k)
            self.starts.pop(k)
        elif joins_left:
            self.ends[k - 1] = number
        elif joins_right:
            self.starts[k] = number
        else:
            self.starts.insert(k, number)
            self.ends.insert(k, number)
        return True


class Judging:
    """Runs, one after another, their observations made again.

    Attributes:
        tally: what they came to so far.
    """

    def __init__(self, source: Source, asked: Sequence[Property]) -> None:
        model = Model(source.configuration)
        text = model.protocol.text
        self.nodes, self.observations = source.configuration.nodes, text.observations
        self.names, self.layout = bound(model), model.program.layout
        self.every = asked
        self.asked = [p for p in asked if p.of == HISTORY]
        self.tally = ObservationTotals(counts={p.name: Counter() for p in asked})
        self.seen = Seen()
        self.run: int | None = None
        self.place = ""
        self.row = 0
        self.time: int | None = None
        self.fresh = False  # something was observed since the properties were asked
        self.unknown = ""  # what a row leaves unknown

    def take(self, place: str, row: Row) -> None:
        """One row, of the run that the one before was of, or of another.

        Raises:
            TableError: the rows of a run are apart, or the row is none.
        """
        self.place = place
        if row["run"] != self.run:
            self.end_run()
            self.begin_run(row["run"])
        elif row["kind"] == "":
            raise TableError(f"{place}: run {self.run} begins again: a run has one number in all files of a table")
        if row["kind"] == "":  # it begins the run, and is none of its observations
            return
        self.tally.rows += 1
        if self.unknown:
            return
        if self.time is None or row["time"] != self.time:
            self.end_moment()
        where = f"{place}: run {self.run}, row {self.row}"
        self.unknown = self.observe(where, row)
        self.row, self.time, self.fresh = self.row + 1, row["time"], not self.unknown

    def begin_run(self, number: int) -> None:
        if not self.seen.add(number):
            raise TableError(f"{self.place}: the rows of run {number} do not lie together")
        self.run, self.row, self.time, self.fresh, self.unknown = number, 0, None, False, ""
        self.state = StateView(self.layout)
        self.left, self.met = {p.name: p for p in self.asked}, set[str]()
        self.tally.runs += 1

    def end_run(self) -> None:
        """What is said of the run so far, if there is one, is all."""
        if self.run is None:
            return
        self.end_moment()
        if self.unknown:
            self.tally.notes.append(self.unknown)
        for name in self.left:
            word = "open" if self.unknown else "held" if name in self.met else "premise not reached"
            self.tally.counts[name][word] += 1
        for p in self.every:
            self.tally.counts[p.name]["not judged"] += p.of != HISTORY
        self.run = None

    def end_moment(self) -> None:
        """The properties are asked, if something was observed since they were."""
        if not self.fresh:
            return
        self.fresh = False
        for p in list(self.left.values()):
            result = self.asks(p.holds.__name__, p.name)
            if p.name not in self.met and self.asks(p.witness.__name__, p.name):
                self.met.add(p.name)
            if not result:
                why = sentence_of(result) or f"{p.name} is not so."
                assert self.run is not None
                self.tally.broken.append(Broken(self.run, p.name, why, self.time))
                self.tally.counts[p.name]["violated"] += 1
                del self.left[p.name]

    def observe(self, where: str, row: Row) -> str:
        """Make an observation again; what the row leaves unknown, if it does.

        Raises:
            TableError: it is none of the protocol's, or a value leaves its range.
        """
        shown: ObservationKind | None = self.observations.get(row["kind"]) if isinstance(row["kind"], str) else None
        if shown is None:
            raise TableError(f"{where}: {printable(str(row['kind']))} is no observation of the protocol")
        values = []
        for name, kind in shown.fields.items():
            value = row["process"] if name == shown.acts else row.get(FIELD + name)
            if value is None:
                return f"run {self.run} is open from row {self.row} on: {row['kind']} does not say its {name}"
            if type(value) is not int or (kind == "Node" and not 0 <= value < self.nodes):
                raise TableError(f"{where}: {name} is {printable(str(value))}, which is no {kind}")
            values.append(bool(value) if kind == "bool" else value)
        try:
            self.names[row["kind"]](self.state, *values)
        except ERRORS as problem:
            raise TableError(f"{where}: {range_error(problem, row['kind'])}") from None
        return ""

    def asks(self, function: str, name: str) -> Any:
        """
        Raises:
            TableError: a value leaves its range.
        """
        try:
            return self.names[function](self.state)
        except ERRORS as problem:
            raise TableError(f"{self.place}: {range_error(problem, name)}") from None
