"""Write and read tables of a user protocol's observations, one row per observation.

The footer names the protocol, the path of its source and its digest. The tables are checked against that source
(`traces/judging/own.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.events.places import Place
from traces.events.table import BOUNDARY, TableError, check_arrow, files_of, opened_parquet
from traces.record.events import events_of
from traces.record.trace import text_of
from zabspec.errors import RequestError
from zabspec.model import Configuration
from zabspec.simulator.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

KEY = (BOUNDARY + "own").encode()  # of the footer: which protocol, and how large
PLAIN = ("run", "process", "kind", "time")
FIELD = "field."  # what the names of an observation's columns begin with


@dataclass(frozen=True)
class Source:
    """The protocol and configuration from which a table was made.

    Attributes:
        protocol: the path or module of its source.
        text: the digest of that source.
        configuration: its sizes.
    """

    protocol: str
    text: str
    configuration: Configuration


def table_of_run(run: Run, number: int = 0) -> pa.Table:
    """Play a run once more, listened to, and return what it showed as a table.

    Args:
        number: of the run in it.

    Raises:
        TableError: there is no pyarrow, or the run does not begin in the first state.
        SimulationError: the run has no end.
    """
    check_arrow()
    refuse_start(run.start)
    _, events = events_of(run)
    seen = [e for e in events if e["event"] == "observe"]
    rows = [Row(e.get("process"), e["observation"], e["tick"], e["fields"]) for e in seen]
    said = {"protocol": run.protocol, "text": run.text, "nodes": run.nodes, "budgets": run.budgets}
    said |= {"variant": run.variant, "network": run.network, "table": run.table_budget}
    said |= {"quorums": run.quorums} if run.quorums else {}
    said |= {"parameters": run.parameters} if run.parameters else {}
    return table_of(rows, said, number)


def refuse_start(start: str) -> None:
    """Refuse a run that does not begin in the first state: observations before its start are in no row.

    Raises:
        TableError: `start` is not empty.
    """
    if start:
        raise TableError(f"a table begins in the initial state, but this run begins in {start!r} (starts)")


@dataclass(frozen=True)
class Row:
    """An observation: its process, its name, its time, and its other fields."""

    process: int | None
    kind: str
    time: int
    fields: Mapping[str, Any]


def table_of(seen: Sequence[Row], said: Mapping[str, Any], number: int = 0) -> pa.Table:
    """Return the table of one run.

    Args:
        said: the protocol and its sizes, for the footer.
        number: the number of the run.
    """
    import pyarrow as pa

    # a row of no kind begins the run, which is there also if it shows nothing
    rows = [Row(None, "", 0, {}), *seen]
    names = sorted({name for row in rows for name in row.fields})
    columns: dict[str, Any] = {
        "run": pa.array([number] * len(rows), pa.int64()),
        "process": pa.array([row.process for row in rows], pa.int64()),
        "kind": pa.array([row.kind for row in rows], pa.string()),
        "time": pa.array([row.time for row in rows], pa.int64()),
    }
    for name in names:
        values = [row.fields.get(name) for row in rows]
        columns[FIELD + name] = pa.array([None if v is None else int(v) for v in values], pa.int64())
    return pa.table(columns).replace_schema_metadata({KEY: json.dumps(said).encode()})


def source_of(path: Place, protocol: str = "") -> Source | None:
    """Return the protocol that a table of observations was made from; None for an ordinary event table.

    Args:
        protocol: the path of the protocol's source, if it has moved.

    Raises:
        TableError: the source is missing or has changed, the configuration does not exist, or the files of a folder are
            not of one protocol in one size.
    """
    check_arrow()
    files = files_of(path)
    first, written = files[0], footer_of(files[0])
    if written is None:
        return None
    for file in files[1:]:
        if footer_of(file) != written:
            raise TableError(f"{file}: it is not of the same protocol, source and size as {first}")
    try:
        said = json.loads(written)
        named, text = str(said["protocol"]), str(said["text"])
        where = protocol or next((str(p) for p in places(named, first) if p.exists()), named)
        budgets: dict[str, Any] = {str(name): int(n) for name, n in said["table"].items()}
        c = Configuration(
            where, str(said["variant"]), nodes=int(said["nodes"]), network=str(said["network"]),
            budgets=str(said["budgets"]), parameters=str(said.get("parameters", "")),
            quorums=str(said.get("quorums", "")), **budgets,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        if isinstance(problem, RequestError):
            raise TableError(f"{first}: {problem}") from None
        raise TableError(f"{first}: its footer does not name its protocol") from None
    if text != text_of(where):
        raise TableError(f"{first}: it is of another version of the source of {where}")
    return Source(where, text, c)


def footer_of(file: Place) -> bytes | None:
    """Return the footer entry that names a file's protocol; None without such an entry, or if unreadable."""
    import pyarrow as pa

    try:
        with opened_parquet(file) as opened:
            return (opened.schema_arrow.metadata or {}).get(KEY)
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        return None


def places(named: str, table: Place) -> Iterator[Path]:
    """Yield where a protocol's file may be: at its recorded path, or beside the table."""
    if "\0" not in named:
        yield Path(named)
        if isinstance(table, Path):
            yield from (table.parent / named, table.parent / Path(named).name)
