"""Check tables of a user protocol's observations against its properties.

The properties of such a protocol that are over histories read only what its observations write. So the observations are
made again in the order of the rows, and after each moment, which is the rows of one time, the properties are evaluated.
A run is read once, row by row, and only the state of its observations is kept; so memory does not grow with a table,
nor with a run. Row groups that cannot share a run are checked separately: one after another in this process, or each by
a task of Spark, by the same function.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from invariants import Property, properties_of
from invariants.binding import bound, vacuous
from invariants.registry import HISTORY
from traces.events.own import FIELD, PLAIN, Source
from traces.events.places import Place
from traces.events.table import TableError, TablePart, first_line, opened_parquet, parts_of, printable
from traces.judging.observed import names_of
from traces.judging.runs import FOLLOWS, UNTOLD
from traces.judging.sentence import Violation
from traces.judging.totals import Progress, Stopped, Totals, Unit, ignored, never
from traces.record.trace import text_of
from zabspec.authoring.reading import ObservationKind
from zabspec.language.analysis.bag_order import LazyEffects
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import ERRORS, StateView, range_error
from zabspec.language.python.sentences import sentence_of
from zabspec.model import ConfigError, Model
from zabspec.roles import roles_of

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 14  # rows that are read at once
BROKEN, MET = "broken", "premise met"  # what may be so of a property where a moment may end

Row = dict[str, Any]


@dataclass(frozen=True)
class ObservedUnit(Unit):
    """Row groups that share no run with others, of a protocol that declares observations.

    Attributes:
        source: the protocol.
    """

    source: Source = field(kw_only=True)

    def runs(self) -> tuple[int, int] | None:
        """Return the least and the greatest number of its runs, or None if the files do not contain them."""
        known = [(p.least, p.most) for p in self.parts if p.least is not None and p.most is not None]
        if len(known) < len(self.parts):
            return None
        return min(least for least, _ in known), max(most for _, most in known)

    def totals(self, names: Sequence[str]) -> Totals:
        return Totals(names=tuple(p.name for p in asked_of(self.source, names)), what="observations")

    def judge(self, names: Sequence[str], stopped: Stopped = never, progress: Progress = ignored) -> Totals:
        """Check the runs, in the order of their rows.

        Raises:
            TableError: a row is none of the protocol's observations, a value leaves its range, the rows of a run are
                not adjacent, or the protocol's source has changed.
        """
        try:
            if text_of(self.source.protocol) != self.source.text:
                raise TableError(f"{self.source.protocol}: its source has changed")
            judging = Judging(self.source, asked_of(self.source, names), self.totals(names))
        except ConfigError as problem:
            raise TableError(str(problem)) from None
        for place, row in rows_of(self):
            judging.take(place, row)
            if judging.tally.rows % AT_ONCE == 0:
                progress(judging.tally.rows)
                if stopped():
                    break
        judging.end_run()
        return judging.tally


def observed_units(path: Place, source: Source) -> list[ObservedUnit]:
    """Return the units of a table, from the footers of its files.

    A unit ends where every earlier run has a smaller number than every later one.

    Raises:
        TableError: a file is damaged, or lacks columns.
    """
    parts = parts_of(path, check_columns)
    known = all(p.least is not None for p in parts)
    behind = [*accumulate(reversed([p.least or 0 for p in parts]), min)][::-1]  # the least number from a part on
    out: list[list[TablePart]] = []
    most = 0
    for k, part in enumerate(parts):
        if not out or (known and most < behind[k]):
            out.append([])
            most = part.most or 0
        out[-1].append(part)
        most = max(most, part.most or 0)
    return [ObservedUnit(tuple(unit), source=source) for unit in out]


def check_columns(file: Place, found: pa.Schema) -> None:
    """Check the columns of a table of observations.

    Raises:
        TableError: a column is missing, or duplicated.
    """
    import pyarrow as pa

    for name in PLAIN:
        if found.names.count(name) != 1:
            raise TableError(f"{file}: there is {'no' if name not in found.names else 'more than one'} column {name!r}")
    if not pa.types.is_int64(found.field("run").type):
        raise TableError(f"{file}: column 'run' is {found.field('run').type}, and in such a table it is int64")


def asked_of(source: Source, names: Sequence[str]) -> list[Property]:
    """Return the properties to check: those with the given names; without names those checked by default."""
    return [p for p in properties_of(source.protocol) if (p.name in names if names else p.default)]


def rows_of(unit: ObservedUnit) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a unit in order, each with its file.

    Raises:
        TableError: a file is damaged, or its statistics are wrong.
    """
    import pyarrow as pa

    runs = unit.runs()
    for part in unit.parts:
        file = str(part.path)
        try:
            with opened_parquet(part.path) as opened:
                names = [n for n in opened.schema_arrow.names if n in PLAIN or n.startswith(FIELD)]
                for batch in opened.iter_batches(AT_ONCE, row_groups=list(part.groups), columns=names):
                    for row in batch.to_pylist():
                        number = row["run"]
                        if number is None:
                            raise TableError(f"{file}: a row has no run number")
                        if runs is not None and not runs[0] <= number <= runs[1]:
                            raise TableError(f"{file}: its footer excludes run {number}, but a row is of it")
                        yield file, row
        except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
            raise TableError(f"{file}: {first_line(problem)}") from None


def ghosts_begun(model: Model) -> str:
    """Return the ghosts that `@initial` writes, in words; empty if it writes none."""
    program = model.program
    written = {w.at.field for w in LazyEffects(program.typed(["begin_at"]), program.layout)["begin_at"].writes}
    return ", ".join(f.name for f in program.schema.fields if f.role is Role.GHOST and f.name in written)


def is_of_kind(value: object, kind: str, nodes: int) -> bool:
    """Return whether a row's value is one of a kind of field: a truth value is written as 0 or 1, or as one."""
    if kind == "bool":
        return isinstance(value, int) and value in (0, 1)
    return type(value) is int and (kind != "Node" or 0 <= value < nodes)


class Seen:
    """A set of numbers, kept as ranges."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, number: int) -> bool:
        """Add a number; return whether it is new."""
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
    """Checks runs of a user protocol one after another, by making their observations again.

    Attributes:
        tally: the results so far.
    """

    def __init__(self, source: Source, asked: Sequence[Property], tally: Totals) -> None:
        model = Model(source.configuration)
        text = model.protocol.text
        self.nodes, self.observations = source.configuration.nodes, text.observations
        self.names, self.layout = bound(model), model.program.layout
        if unseen := ghosts_begun(model):
            raise TableError(f"{source.protocol}: a run begins with values in {unseen}, which no row of a table shows")
        roles = roles_of(model.configuration.roles)
        self.roles = {} if roles is None else roles.by_type
        self.every = asked
        # what is observed of transactions is in no row of an observation
        history = {*FOLLOWS, *UNTOLD} if text.declared.transactions else set[str]()
        self.asked = [p for p in asked if p.of == HISTORY and not history & {*names_of(p.holds), *names_of(p.witness)}]
        self.vain = vacuous(model, self.asked)
        self.tally = tally
        self.seen = Seen()
        self.run: int | None = None
        self.place = ""
        self.row = 0
        self.time: int | None = None
        self.fresh = False  # something was observed since the properties were evaluated
        self.unknown = ""  # what a row leaves unknown
        self.said = True  # whether the row before says its time
        self.untimed = -1  # the first row that does not
        self.pending: set[tuple[str, str]] = set()  # what is so of which where a moment ends, unless none does here
        self.doubted: set[tuple[str, str]] = set()  # what is so of which where a moment may end

    def take(self, place: str, row: Row) -> None:
        """Handle one row, of the current run or of another.

        Raises:
            TableError: the rows of a run are apart, or the row is none.
        """
        self.place = place
        if row["run"] != self.run:
            self.end_run()
            self.begin_run(row["run"])
            if row["kind"] != "":
                self.unknown = f"run {self.run} is open: its first row, which has no kind, is missing"
            else:  # the initial state is judged, too, where its moment ends
                self.pass_time(f"{place}: run {self.run}", row["time"])
                self.fresh, self.untimed = True, -1
        elif row["kind"] == "":
            raise TableError(f"{place}: run {self.run} begins twice: a run has one number in all files of a table")
        if row["kind"] == "":  # it begins the run, and is none of its observations
            return
        self.tally.rows += 1
        if self.unknown:
            return
        where = f"{place}: run {self.run}, row {self.row}"
        self.pass_time(where, row["time"])
        self.unknown = self.observe(where, row)
        self.row, self.fresh = self.row + 1, not self.unknown

    def pass_time(self, where: str, time: object) -> None:
        """End the moments that end before a row.

        Rows of one time are one moment, and so is a run without times; a row without a time may have any from that of
        the row before to that of the row after.

        Args:
            where: the place of the row, for errors.
            time: the time of the row.

        Raises:
            TableError: it is no time, or less than one before.
        """
        if time is None:
            self.untimed = self.row if self.untimed < 0 else self.untimed
            self.doubt()
        elif type(time) is not int:
            raise TableError(f"{where}: its time is {printable(str(time))}, which is not a whole number")
        elif self.time is not None and time < self.time:
            raise TableError(f"{where}: its time is less than that of a row before")
        elif self.said:
            if time != self.time:
                self.end_moment()
        else:
            self.doubt()
            if time != self.time:
                self.doubted |= self.pending
            self.pending.clear()
        self.said = time is not None
        self.time = self.time if time is None else time

    def doubt(self) -> None:
        """Evaluate the properties where a moment may end; violations and met premises there are only possible ones."""
        for p in self.left.values() if self.fresh else ():
            if not self.asks(p.holds.__name__, p.name):
                self.pending.add((p.name, BROKEN))
            if p.name not in self.met and self.asks(p.witness.__name__, p.name):
                self.pending.add((p.name, MET))

    def begin_run(self, number: int) -> None:
        if not self.seen.add(number):
            raise TableError(f"{self.place}: the rows of run {number} are not contiguous")
        self.run, self.row, self.time, self.fresh, self.unknown = number, 0, None, False, ""
        self.said, self.untimed, self.pending, self.doubted = True, -1, set(), set()
        self.state = StateView(self.layout)
        self.left, self.met = {p.name: p for p in self.asked}, set[str]()
        self.tally.runs += 1

    def end_run(self) -> None:
        """Conclude the current run, if there is one."""
        if self.run is None:
            return
        self.end_moment()
        if self.unknown:
            self.tally.notes.append(self.unknown)
        self.doubted |= self.pending
        doubted = {n for n, what in self.doubted if n in self.left and (what == BROKEN or n not in self.met)}
        if doubted and not self.unknown:
            row = "its first row" if self.untimed < 0 else f"row {self.untimed}"
            self.tally.notes.append(f"run {self.run} is open: {row} has no time, so the ends of moments are unknown")
        for name in self.left:
            is_open = self.unknown or name in doubted
            put_to_the_test = name in self.met and name not in self.vain
            self.tally.say(name, "open" if is_open else "holds" if put_to_the_test else "premise not reached")
        for p in self.every:
            if p not in self.asked:
                self.tally.say(p.name, "not judged")
        self.run = None

    def end_moment(self) -> None:
        """Evaluate the properties, if something was observed since the last time."""
        if not self.fresh:
            return
        self.fresh = False
        for p in list(self.left.values()):
            result = self.asks(p.holds.__name__, p.name)
            if p.name not in self.met and self.asks(p.witness.__name__, p.name):
                self.met.add(p.name)
            if not result:
                why = sentence_of(result) or f"{p.name} is False."
                assert self.run is not None
                time = self.time if self.said else None
                self.tally.violations.append(Violation(self.run, p.name, why, time, ()))
                self.tally.say(p.name, "violated")
                del self.left[p.name]

    def observe(self, where: str, row: Row) -> str:
        """Make an observation again; return what the row leaves unknown, if anything.

        Raises:
            TableError: it is none of the protocol's, or a value leaves its range.
        """
        shown: ObservationKind | None = self.observations.get(row["kind"]) if isinstance(row["kind"], str) else None
        if shown is None:
            raise TableError(f"{where}: {printable(str(row['kind']))} is not an observation of the protocol")
        values = []
        for name, kind in shown.fields.items():
            value = row["process"] if name == shown.acts else row.get(FIELD + name)
            if value is None:
                return f"run {self.run} is open from row {self.row} on: {row['kind']} has no {name}"
            written = shown.function.__annotations__.get(name)
            role = self.roles.get(str(getattr(written, "__name__", written)))
            if role is not None and value not in role.members:
                raise TableError(f"{where}: {name} is {printable(str(value))}, which is not a {role.name}")
            if not is_of_kind(value, kind, self.nodes):
                raise TableError(f"{where}: {name} is {printable(str(value))}, which is not a {kind}")
            values.append(bool(value) if kind == "bool" else value)
        try:
            self.names[row["kind"]](self.state, *values)
        except ERRORS as problem:
            raise TableError(f"{where}: {range_error(problem, row['kind'])}") from None
        return ""

    def asks(self, function: str, name: str) -> Any:
        """Evaluate a property function on the current state.

        Raises:
            TableError: a value leaves its range.
        """
        try:
            return self.names[function](self.state)
        except ERRORS as problem:
            raise TableError(f"{self.place}: {range_error(problem, name)}") from None
