"""Tables of what somebody's own protocol shows the outside: a row an observation, judged by what its text says of it.

The properties of such a protocol that are over histories read nothing but what its observations write, so a table is
judged by its text: its observations are made again in the order of the rows, and after each moment, which is the rows
of one time, the properties are asked. The footer says which protocol it is, where its text was, and its digest.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from invariants import Property, properties_of
from invariants.binding import bound
from invariants.registry import HISTORY
from traces.record.events import events_of
from traces.record.trace import text_of
from traces.tables.table import BOUNDARY, TableError, check_arrow, files_of, first_line, printable
from zabspec.language.reference import ERRORS, StateView, range_error
from zabspec.language.sentences import sentence_of
from zabspec.model import ConfigError, Configuration, Model
from zabspec.own.open import ObservationKind
from zabspec.simulator.run import Run

__all__ = ["Broken", "OwnTally", "Source", "judge_own", "source_of", "write_own"]

KEY = (BOUNDARY + "own").encode()  # of the footer: which protocol, and how large
PLAIN = ("run", "process", "kind", "time")
FIELD = "field."  # what the names of an observation's columns begin with
LONGEST = 1_000_000  # rows of a run that its text judges


@dataclass(frozen=True)
class Source:
    """What a table is of.

    Attributes:
        protocol: where its text is.
        text: the digest of that text.
        configuration: how large it is.
    """

    protocol: str
    text: str
    configuration: Configuration


def write_own(run: Run, path: Path) -> str:
    """Play a run once more, listened to, and write what it showed; what went wrong.

    Raises:
        TableError: there is no pyarrow.
        SimulationError: the run has no end.
    """
    check_arrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    _, events = events_of(run)
    # a row of no kind begins the run, which is there also if it shows nothing
    seen: list[dict[str, Any]] = [{"observation": "", "tick": 0, "fields": {}}]
    seen += [e for e in events if e["event"] == "observe"]
    names = sorted({name for e in seen for name in e["fields"]})
    columns: dict[str, Any] = {
        "run": pa.array([0] * len(seen), pa.int64()),
        "process": pa.array([e.get("process") for e in seen], pa.int64()),
        "kind": pa.array([e["observation"] for e in seen], pa.string()),
        "time": pa.array([e["tick"] for e in seen], pa.int64()),
    }
    for name in names:
        values = [e["fields"].get(name) for e in seen]
        columns[FIELD + name] = pa.array([None if v is None else int(v) for v in values], pa.int64())
    said = {"protocol": run.protocol, "text": run.text, "nodes": run.nodes, "budgets": run.budgets}
    said |= {"variant": run.variant, "network": run.network, "table": run.table_budget}
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(said).encode()})
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        pq.write_table(table, beside, compression="zstd")
        os.replace(beside, path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        return f"cannot write {path}: {problem.strerror or problem}"
    return ""


def source_of(path: Path, protocol: str = "") -> Source | None:
    """What a table of somebody's own protocol is of; None: it is an ordinary event table.

    Args:
        protocol: where the text is, if not where it was.

    Raises:
        TableError: its text is not to be found, is another, or there is no such configuration.
    """
    check_arrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = files_of(path)[0]
    try:
        metadata = pq.read_schema(first).metadata or {}
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        return None  # whoever reads it says what is wrong
    if KEY not in metadata:
        return None
    try:
        said = json.loads(metadata[KEY])
        named, text = str(said["protocol"]), str(said["text"])
        where = protocol or next((str(p) for p in places(named, first) if p.exists()), named)
        budgets: dict[str, Any] = {str(name): int(n) for name, n in said["table"].items()}
        c = Configuration(
            where, str(said["variant"]), nodes=int(said["nodes"]), network=str(said["network"]),
            budgets=str(said["budgets"]), **budgets,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        if isinstance(problem, ConfigError):
            raise TableError(f"{first}: {problem}") from None
        raise TableError(f"{first}: its footer does not say which protocol it is of") from None
    if text != text_of(where):
        raise TableError(f"{first}: it is of another text than {where} has now")
    return Source(where, text, c)


def places(named: str, table: Path) -> Iterator[Path]:
    """Where a protocol's file may be: where it was, or beside the table."""
    if "\0" not in named:
        yield from (Path(named), table.parent / named, table.parent / Path(named).name)


@dataclass(frozen=True)
class Broken:
    """A property that a run breaks: its run, its name, why, and the time of the moment."""

    run: int
    name: str
    why: str
    time: int | None


@dataclass
class OwnTally:
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


Row = dict[str, Any]


def judge_own(path: Path, source: Source, names: Sequence[str] = ()) -> OwnTally:
    """Judge every run of a table by the protocol's own text.

    Args:
        names: only these properties.

    Raises:
        TableError: a row is none of the protocol's observations, or a value leaves its range.
    """
    known = [p for p in properties_of(source.protocol) if p.default]
    asked = [p for p in known if not names or p.name in names]
    tally = OwnTally(counts={p.name: Counter() for p in asked})
    runs: dict[int, list[Row]] = {}
    sizes: Counter[int] = Counter()
    for file in files_of(path):
        for row in rows_of(file):
            rows = runs.setdefault(row["run"], [])
            if row["kind"] != "":
                sizes[row["run"]] += 1
                if sizes[row["run"]] <= LONGEST:
                    rows.append(row)
    for number, rows in runs.items():
        tally.runs += 1
        tally.rows += sizes[number]
        huge = sizes[number] > LONGEST
        if huge:
            tally.notes.append(f"run {number} has {sizes[number]:,} rows, too many for the text to judge")
        for p in asked:
            if p.of != HISTORY or huge:
                tally.counts[p.name]["not judged"] += 1
        if not huge:
            JudgedRun(source, asked, path).judge(number, rows, tally)
    return tally


def rows_of(file: Path) -> Iterator[Row]:
    """The rows of a file, in order.

    Raises:
        TableError: it is damaged, or a column is missing.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            missing = [name for name in PLAIN if name not in opened.schema_arrow.names]
            if missing:
                raise TableError(f"{file}: there is no column {missing[0]!r}")
            for batch in opened.iter_batches():
                yield from batch.to_pylist()
    except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
        raise TableError(f"{file}: {first_line(problem)}") from None


class JudgedRun:
    """One run, its observations made again."""

    def __init__(self, source: Source, asked: Sequence[Property], path: Path) -> None:
        model = Model(source.configuration)
        text = model.protocol.text
        assert text is not None
        self.path, self.nodes, self.observations = path, source.configuration.nodes, text.observations
        self.names = bound(model)
        self.state = StateView(model.program.layout)
        self.asked = [p for p in asked if p.of == HISTORY]

    def judge(self, number: int, rows: Sequence[Row], tally: OwnTally) -> None:
        """Judge a run, moment by moment."""
        left, met = {p.name: p for p in self.asked}, set[str]()
        unknown = ""
        for k, row in enumerate(rows):
            unknown = self.observe(number, k, row)
            if unknown:
                tally.notes.append(unknown)
                break
            if k + 1 < len(rows) and row["time"] is not None and rows[k + 1]["time"] == row["time"]:
                continue
            for p in list(left.values()):
                result = self.asks(p.holds.__name__, p.name)
                if p.name not in met and self.asks(p.witness.__name__, p.name):
                    met.add(p.name)
                if not result:
                    why = sentence_of(result) or f"{p.name} is not so."
                    tally.broken.append(Broken(number, p.name, why, row["time"]))
                    tally.counts[p.name]["violated"] += 1
                    del left[p.name]
        for name in left:
            word = "open" if unknown else "held" if name in met else "premise not reached"
            tally.counts[name][word] += 1

    def observe(self, number: int, k: int, row: Row) -> str:
        """Make an observation again; what the row leaves unknown, if it does.

        Raises:
            TableError: it is none of the protocol's, or a value leaves its range.
        """
        where = f"{self.path}: run {number}, row {k}"
        shown: ObservationKind | None = self.observations.get(row["kind"]) if isinstance(row["kind"], str) else None
        if shown is None:
            raise TableError(f"{where}: {printable(str(row['kind']))} is no observation of the protocol")
        values = []
        for name, kind in shown.fields.items():
            value = row["process"] if name == shown.acts else row.get(FIELD + name)
            if value is None:
                return f"run {number} is open from row {k} on: {row['kind']} does not say its {name}"
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
            raise TableError(f"{self.path}: {range_error(problem, name)}") from None
