"""Define the event table: the events of runs, one row per event, as Parquet.

There is one schema for all sources: the simulator, importers of real logs. The rows of a run are
contiguous, in an order that agrees with the order of every process. A run that fits into a row group lies in one, which
the file's footer says (`WHOLE`). `docs/reference/file-formats.md` is the reference.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from traces.events.places import Address, Place, begins, cleaned, incomplete
from zabspec import __version__
from zabspec.errors import RequestError
from zabspec.extras import missing
from zabspec.files import Unreadable, check_readable, replacing

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

VERSION = 1
GROUP = 1 << 20  # rows of a row group, unless a run has more
BOUNDARY = "zabcheck."  # what the keys of the footer begin with

# The columns: name, whether it is text, whether it may be null, and what it says.
COLUMNS: tuple[tuple[str, bool, bool, str], ...] = (
    ("run", False, False, "the run"),
    ("process", False, True, "whose event it is; null: the network's, or unknown who abcast"),
    ("position", False, True, "its place among the events of its process, from 0"),
    ("kind", True, False, "what happened"),
    ("primary_epoch", False, True, "of the primary that abcasts, that proposes what is accepted, or is established"),
    ("attempt", False, True, "with epoch and process the primary instance that abcasts"),
    ("pass", False, True, "the crash-free iteration of the process; grows, and need not begin at 0"),
    ("index", False, True, "the place of a delivery in its pass, of an entry in its history; of `run` the processes"),
    ("epoch", False, True, "of the transaction's zxid"),
    ("counter", False, True, "of the transaction's zxid"),
    ("identity", False, True, "of the transaction, whatever its zxid"),
    ("digest", False, True, "of the transaction's payload"),
    ("time", False, True, "a tick, a step; never less than in the row before. Rows of one time are one moment"),
    ("peer", False, True, "the other process: of a message, a connection, a cut"),
    ("message", True, True, "the kind of message, the timer, the role; of `run` the kinds that are noted"),
    ("detail", True, True, "of `run` the command line that makes it; of `drop` why"),
    ("row", False, True, "its place in its run, from 0, where the order of rows may be lost; the column may be absent"),
)  # fmt: skip
ROW = "row"

# The kinds of event: what a history is made of, and everything else there is to know.
OBSERVED = ("abcast", "abdeliver", "accept", "establish", "revise")
USUAL = ("abcast", "abdeliver")  # of a file that does not say: what is not noted did not therefore not happen
KINDS: dict[str, str] = {
    "run": "a run begins, with so many processes (index) and so made (detail)",
    "abcast": "a primary instance broadcasts a transaction",
    "abdeliver": "a process delivers a transaction in a pass",
    "accept": "a process accepts the proposal <primary_epoch, transaction> (f.2.1, f.3.2)",
    "establish": "a leader is established in primary_epoch (V.1); its initial history follows",
    "initial": "an entry of that initial history, in order",
    "revise": "a process that has delivered replaces its history; its beginning follows, as far as it had delivered",
    "entry": "an entry of that history, in order",
    "ready": "a primary may abcast (f.3.1)",
    "crash": "a process crashes",
    "recover": "a process that had crashed recovers",
    "timeout": "a process gives up waiting",
    "timer": "a timer fires",
    "oracle": "the oracle names a leader (peer) to a process",
    "connect": "a process connects to its leader (peer)",
    "lost": "a process learns that its connection with peer is lost",
    "role": "a process takes a role (message)",
    "send": "a process sends a message to peer",
    "deliver": "a process is given a message from peer",
    "drop": "a message of process to peer is lost (detail: why)",
    "cut": "from now on nothing that process sends arrives at peer",
    "heal": "it arrives again",
    "lose": "a connection of process with peer is lost",
}


class TableError(RequestError):
    """A table cannot be read, or the file is not one; the message says why in one sentence."""


def check_arrow(*more: str) -> None:
    """Check that pyarrow is installed, and other packages that event tables need.

    Args:
        more: packages needed besides pyarrow.

    Raises:
        TableError: a package is not installed.
    """
    if lacking := missing("pyarrow", *more):
        raise TableError(f"event tables need {lacking}")


def schema() -> pa.Schema:
    """Return the schema of event tables."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([pa.field(name, text if is_text else pa.int64(), null) for name, is_text, null, _ in COLUMNS])


def empty_columns() -> dict[str, list[Any]]:
    """Return an empty list of values for each column of the event table, by name."""
    return {name: [] for name, *_ in COLUMNS}


# --- writing -------------------------------------------------------------------------------------


class Rows:
    """The rows of a run, recorded in order; positions are counted here.

    Args:
        run: the number of the run.
        nodes: the number of its processes.
        detail: the command that produces it.
        observes: which of `OBSERVED` its source records; None if the rows do not say.
    """

    def __init__(self, run: int, nodes: int, detail: str | None = None, observes: Iterable[str] | None = None) -> None:
        self.run = run
        self.columns = empty_columns()
        self.positions: dict[int, int] = {}
        noted = None if observes is None else ",".join(observes)
        self.add("run", index=nodes, message=noted, detail=detail)

    def add(self, kind: str, process: int | None = None, **values: Any) -> None:
        """Record an event; columns that are not named are null."""
        position = None
        if process is not None:
            position = self.positions.get(process, 0)
            self.positions[process] = position + 1
        values |= {"run": self.run, "process": process, "position": position, "kind": kind, ROW: len(self)}
        for name, column in self.columns.items():
            column.append(values.get(name))

    def __len__(self) -> int:
        return len(self.columns["run"])

    def as_table(self) -> pa.Table:
        """Return the rows as a table in memory."""
        import pyarrow as pa

        made = schema()
        return pa.table([pa.array(self.columns[f.name], f.type) for f in made], schema=made)


class TableWriter:
    """Writes runs to a table, each whole; a context manager. The file is there when all of it is.

    Args:
        path: the file.
        observes: which of `OBSERVED` the source of the runs notes. What is not among them is
            unknown, rather than not to have happened.
        group: rows of a row group.

    Raises:
        TableError: there is no pyarrow.
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, observes: Iterable[str] = OBSERVED, group: int = GROUP) -> None:
        check_arrow()
        self.path, self.group = path, group
        self.observes = tuple(k for k in OBSERVED if k in set(observes))
        self.files = contextlib.ExitStack()
        self.waiting: list[pa.Table] = []
        self.rows = 0
        self.writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        beside = self.files.enter_context(replacing(self.path))
        texts = [name for name, is_text, *_ in COLUMNS if is_text]
        few = {"run", "process", "primary_epoch", "attempt", "pass", "epoch", "peer", *texts}
        self.writer = pq.ParquetWriter(
            beside, schema(), compression="zstd", use_dictionary=sorted(few), write_statistics=["run", "time"],
            data_page_size=1 << 20, write_page_checksum=True,
            column_encoding={ROW: "DELTA_BINARY_PACKED"},
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.writer is not None
        try:
            if kind is None:
                self.flush()
                self.writer.add_key_value_metadata(
                    {
                        BOUNDARY + "table": str(VERSION),
                        BOUNDARY + "whole": "true",
                        BOUNDARY + "observes": ",".join(self.observes),
                        BOUNDARY + "tool": __version__,
                    }
                )
            self.writer.close()
        except BaseException:
            kind, value, trace = sys.exc_info()
            raise
        finally:
            self.files.__exit__(kind, value, trace)

    def add(self, rows: Rows) -> None:
        """Write a run."""
        self.add_table(rows.as_table())

    def add_table(self, run: pa.Table) -> None:
        """Write whole runs given as rows of the schema."""
        if self.rows and self.rows + run.num_rows > self.group:
            self.flush()
        self.waiting.append(run)
        self.rows += run.num_rows

    def flush(self) -> None:
        """End the row group."""
        import pyarrow as pa

        assert self.writer is not None
        if self.rows:
            self.writer.write_table(pa.concat_tables(self.waiting).unify_dictionaries(), row_group_size=self.rows)
        self.waiting, self.rows = [], 0


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TablePart:
    """Row groups of one file that hold whole runs (`whole`) or a part of one.

    Attributes:
        path: the file.
        groups: which of its row groups.
        rows: how many rows they have.
        least, most: of the runs in them, if the file says so.
        whole: the file's footer says that no run is split over its row groups.
        observes: which kinds of event the source of the file notes.
        further: the names of the file's columns that an event table does not have.
        numbered: the file has the column `row`.
    """

    path: str | Address
    groups: tuple[int, ...]
    rows: int
    least: int | None
    most: int | None
    whole: bool
    observes: tuple[str, ...]
    further: tuple[str, ...] = ()
    numbered: bool = False


def files_of(path: Place) -> Sequence[Place]:
    """Return the files of a table: the file itself, or every visible Parquet file in a folder, whatever its name.

    Raises:
        TableError: there are none, the folder has files that are not of the table, or pyarrow has no file system for
            the address.
    """
    if isinstance(path, Address):
        return files_at(path)
    try:
        if path.is_dir():
            every = {p: p.relative_to(path).parts for p in sorted(path.rglob("*"))}
            if why := incomplete(every.values()):
                raise TableError(f"{path}: {why}")
            seen = [p for p, parts in every.items() if not any(x[0] in "._" for x in parts) and not p.is_dir()]
            inside = [p for p in seen if p.suffix == ".parquet" or (p.is_file() and begins(p.open("rb")))]
            if not inside:
                raise TableError(f"{path}: there is no Parquet file in this folder")
            for file in inside:
                readable(file)
            return inside
    except TableError:
        raise
    except OSError as problem:
        raise TableError(f"{path}: {problem.strerror or problem}") from None
    except ValueError as problem:  # a zero byte in the name
        raise TableError(f"{str(path)!r}: {problem}") from None
    readable(path)
    return [path]


def files_at(address: Address) -> list[Address]:
    """Return the files of a remote table.

    Raises:
        TableError: there are none, or pyarrow has no file system for the address.
    """
    import pyarrow as pa

    if not address.by_arrow:
        raise TableError(f"{address}: pyarrow has no file system for this; Spark may have (--engine spark)")
    try:
        found = address.files()
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise TableError(f"{address}: {cleaned(first_line(problem), address)}") from None
    if not found:
        raise TableError(f"{address}: there is no Parquet file there")
    return found


@contextlib.contextmanager
def opened_parquet(place: Place | str, **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a file of a table, local or remote.

    Raises:
        OSError, ValueError, pa.ArrowException: it cannot be opened, or is none; nothing of that is secret.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(place, Address):
        with pq.ParquetFile(place, **options) as opened:
            yield opened
        return
    try:
        with place.open() as file, pq.ParquetFile(file, **options) as opened:
            yield opened
    except (UnicodeDecodeError, TableError):
        raise
    except (OSError, ValueError, pa.ArrowException) as problem:
        kind = pa.ArrowInvalid if isinstance(problem, pa.ArrowInvalid) else OSError
        raise kind(cleaned(first_line(problem), place)) from None


def readable(file: Path) -> None:
    """Check that Arrow can read a file without waiting for it.

    Raises:
        TableError: it cannot.
    """
    try:
        check_readable(file)
    except Unreadable as problem:
        raise TableError(f"{file}: {problem}") from None


def parts_of(path: Place) -> list[TablePart]:
    """Return the row groups of a table's files in order, one per part, as the footers describe them.

    Raises:
        TableError: a file is no event table, or is damaged.
    """
    check_arrow()
    return [part for file in files_of(path) for part in parts_of_file(file)]


def parts_of_file(file: Place) -> Iterator[TablePart]:
    import pyarrow as pa

    try:
        with opened_parquet(file) as opened:
            found, footer = opened.schema_arrow, opened.metadata
    except pa.ArrowInvalid:
        raise TableError(f"{file}: this is not a Parquet file, or is truncated") from None
    except UnicodeDecodeError:
        raise TableError(f"{file}: the name of a column is not text") from None
    except (OSError, pa.ArrowException) as problem:
        raise TableError(f"{file}: {first_line(problem)}") from None
    check_schema(file, found)
    keys = {
        k.decode("utf-8", "replace"): v.decode("utf-8", "replace")
        for k, v in (footer.metadata or {}).items()
        if k.startswith(BOUNDARY.encode())
    }
    version = keys.get(BOUNDARY + "table", str(VERSION))
    if version != str(VERSION):
        raise TableError(
            f"{file}: this is an event table of version {printable(version)}, and this program reads {VERSION}"
        )
    observes = keys.get(BOUNDARY + "observes")
    at = footer.schema.names.index("run")
    where = file if isinstance(file, Address) else str(file)
    further = tuple(name for name in found.names if name not in {name for name, *_ in COLUMNS})
    for k in range(footer.num_row_groups):
        group = footer.row_group(k)
        stats = group.column(at).statistics
        least, most = (stats.min, stats.max) if stats is not None and stats.has_min_max else (None, None)
        if group.num_rows:
            yield TablePart(
                where, (k,), group.num_rows, least, most, keys.get(BOUNDARY + "whole") == "true",
                USUAL if observes is None else tuple(k for k in observes.split(",") if k in OBSERVED), further,
                ROW in found.names,
            )  # fmt: skip


def first_line(problem: BaseException) -> str:
    return printable(str(problem).splitlines()[0] if str(problem) else type(problem).__name__)


def printable(text: str) -> str:
    """Replace the unprintable characters of a text from a file, so that it cannot control a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def check_schema(file: Place, found: pa.Schema) -> None:
    """Check that a file has the columns of an event table.

    Raises:
        TableError: a column is missing, or of another type.
    """
    import pyarrow as pa

    for name, is_text, *_ in COLUMNS:
        if name == ROW and name not in found.names:
            continue
        if found.names.count(name) != 1:
            count = "two columns" if name in found.names else "no column"
            raise TableError(f"{file}: an event table has a column {name!r}, and this has {count} of that name")
        kind = found.field(name).type
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        fits = pa.types.is_string(inner) or pa.types.is_large_string(inner) if is_text else pa.types.is_int64(kind)
        if not fits:
            wanted = "string" if is_text else "int64"
            raise TableError(f"{file}: column {name!r} is {kind}, and in an event table it is {wanted}")


def read_part(part: TablePart, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a part.

    Raises:
        TableError: the file is damaged.
    """
    import pyarrow as pa

    texts = {name for name, is_text, *_ in COLUMNS if is_text}
    try:
        with opened_parquet(
            part.path,
            read_dictionary=[c for c in columns if c in texts],
            pre_buffer=True,
            page_checksum_verification=True,
        ) as opened:
            return opened.read_row_groups(list(part.groups), columns=list(columns), use_threads=False)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as problem:
        raise TableError(f"{part.path}: row group {part.groups[0]} cannot be read: {first_line(problem)}") from None
