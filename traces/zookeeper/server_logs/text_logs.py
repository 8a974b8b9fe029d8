"""Read text logs of servers (zookeeper.log) as a history of phases and as rows of the event table.

INFO has elections, epochs and kinds of synchronization; DEBUG of `org.apache.zookeeper.server.quorum` has proposals and
commits as well. The messages are those of 3.4 to 3.9, whatever the pattern of a line: of the text before a message only
a time and a server's number are read. What a log does not contain is a silent step: a server that continues after a
synchronization has delivered what is before.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

from traces.events.table import Rows
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.server_logs.log_lines import MYID, TIME, ServerLine, read_values, recognized
from zabspec.files import Unreadable, opened, reason

OBSERVES = ("abcast", "abdeliver")
LONGEST = 1 << 16  # bytes of a line that are read
ENDLESS = 1 << 26  # a line of so many bytes means that the file is no text
LARGEST = 1 << 36  # bytes of a log that take minutes to read

# Where a line begins inside another one: a process was killed as it wrote, and the next one went on there. It is found
# by the hyphen behind the four digits of its year, which is faster.
BEGINS = re.compile(r"-(?<=.\d{4}-)\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[,.]\d{3,6}\b|(?= +\[myid[:=]))")
PACKED = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
CUT_NUMBER = "0123456789abcdefABCDEFx"  # what a number is written with, of which a torn line may have less

NO_EVENTS = {"notified", "syncs", "joined", "snapshot", "loaded", "observes"}  # of the table, what is no phase
STARTS = ("is looking", "starts", "starts up", "binds")
SESSION = (*STARTS, "got DIFF", "got SNAP", "got TRUNC", "serves")  # what was silent is behind it


@dataclass
class BrokenCondition:
    """A condition that the lines break.

    Attributes:
        rule: its name; `step` is the step of the protocol.
    """

    rule: str
    step: str
    sentence: str
    lines: list[ServerLine]


@dataclass
class TextHistory:
    """The events in the text logs of an ensemble.

    Attributes:
        events: all events, in order of time; `phases` are those other than proposals and commits.
        rows: of the event table; None if there are no proposals or commits (logs at INFO).
        without_events: the files without a line in which ZooKeeper logs a phase, a proposal or a commit.
        doubled: why two files cannot be of one server, though they name one; empty if none are.
        assumed: what the history rests on although no line says it, in words, by what it is about.
        lines: for a row, by process and position, the line from which it comes; None for a silent step.
    """

    servers: dict[int, str]
    phases: list[ServerLine]
    rows: Rows | None
    lines: dict[tuple[int, int], ServerLine | None] = field(default_factory=dict)
    broken: list[BrokenCondition] = field(default_factory=list)
    proposals: int = 0
    commits: int = 0
    silent: int = 0
    events: list[ServerLine] = field(default_factory=list)
    without_events: list[str] = field(default_factory=list)
    doubled: str = ""
    assumed: dict[str, str] = field(default_factory=dict)


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers; raw bytes are escaped, and long lines are cut.

    A line without an end is torn: another one follows it on the same line, or the file ends. Its last number may lack
    digits, and is left out.

    Raises:
        Unreadable: the file cannot be read, is too large, or has a line without an end.
    """
    with opened(path) as fd:
        if os.fstat(fd).st_size > LARGEST:
            raise Unreadable(errno.EFBIG, f"larger than {LARGEST:,} bytes")
        with os.fdopen(os.dup(fd), "rb") as file:
            number = 0
            try:
                source = decoded_source(file)
                while line := source.readline(LONGEST):
                    number, length, is_torn = number + 1, len(line), not line.endswith("\n")
                    while line and not line.endswith("\n") and (rest := source.readline(LONGEST)):
                        if rest.endswith("\n"):
                            break
                        if (length := length + len(rest)) > ENDLESS:
                            raise Unreadable(errno.EFBIG, f"line {number} is longer than {ENDLESS:,} characters")
                    if (of_json := json_line(line)) is not None:
                        yield number, of_json
                    else:
                        yield from ((number, text) for text in untorn(line, is_torn))
            except Unreadable:
                raise
            except (EOFError, zlib.error):
                raise Unreadable(None, f"its compressed data ends, or is damaged, behind line {number}") from None
            except OSError as problem:
                raise Unreadable(problem.errno, reason(problem)) from None


def decoded_source(file: io.BufferedReader) -> io.TextIOWrapper:
    """Return the text of a file: of gzip decompressed, of UTF-16 by its byte order mark or zero bytes, else UTF-8.

    Raises:
        Unreadable: it is compressed otherwise.
    """
    head = file.peek(8)[:8]
    if packed := next((name for magic, name in PACKED.items() if head.startswith(magic)), ""):
        raise Unreadable(None, f"it is compressed ({packed}): decompress it")
    source = io.BufferedReader(gzip.GzipFile(fileobj=file)) if head.startswith(b"\x1f\x8b") else file
    head = source.peek(4)[:4]
    encoding = "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif len(head) == 4 and 0 in head:
        encoding = "utf-16-le" if head[1] == 0 else "utf-16-be"
    return io.TextIOWrapper(source, encoding, "backslashreplace", newline="\n")


def json_line(text: str) -> str | None:
    """Return a line in JSON, as log4j2 and Logback write it, in ZooKeeper's own layout; None if it is not in JSON."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    message = next((str(found[key]) for key in ("message", "msg", "log") if key in found), "")
    thread = next((str(found[key]) for key in ("thread", "thread_name", "threadName") if key in found), "")
    instant = found.get("instant")
    if isinstance(instant, dict):
        millis: Any = int(instant.get("epochSecond", 0)) * 1000 + int(instant.get("nanoOfSecond", 0)) // 1_000_000
    else:
        millis = found.get("timeMillis")
    times = (str(found.get(key)) for key in ("@timestamp", "timestamp", "time", "timeStamp"))
    when = next(filter(TIME.match, times), "")
    if not when and isinstance(millis, int):
        when = datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S,%f")
    context = next((c for k in ("contextMap", "mdc") if isinstance(c := found.get(k), dict)), found)
    return f"{when} [myid:{context.get('myid', '')}] - {found.get('level', '')} [{thread}:] - {message}"


def untorn(text: str, is_torn: bool) -> Iterator[str]:
    """Yield the lines that stand on one, and of each that is torn what can be relied on.

    Args:
        is_torn: whether the last of them is.
    """
    begins = [m.start() - 4 for m in BEGINS.finditer(text)]
    for start, end in zip([0, *begins], [*begins, None], strict=True):
        part = text[start:end].rstrip("\n")
        yield part.rstrip(CUT_NUMBER) if is_torn or end is not None else part


def numbered_lines(path: Path, place: int) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of a file, each with the number of the server that wrote it and its own number.

    A line that names no server (`[myid:N]`) is of the one before; the first ones are of the first that is named.

    Args:
        place: the number if no line names one.
    """
    server = number_of(path, place)
    for line, text in lines_of(path):
        if "myid" in text and (found := MYID.search(text)) is not None:
            server = int(found[1])
        yield server, line, text


def events_of(path: Path, place: int, label: str) -> Iterator[ServerLine]:
    """Yield the events in a file's lines, in order; a time before the server's previous one is replaced by it."""
    last: dict[int, str] = defaultdict(str)
    for server, line, text in numbered_lines(path, place):
        told = recognized(text)
        if told is None or told[0].kind in NO_EVENTS:
            continue
        if (said := time_of(text)) is not None:
            last[server] = max(last[server], said)
        event = ServerLine(server, line, label, last[server], told[0].kind)
        read_values(event, told[1].groupdict())
        yield event


def time_of(text: str) -> str | None:
    """Return the time that a line begins with, to be compared with others, or None."""
    said = TIME.search(text[:80])
    return None if said is None else f"{said[1]} {said[2]}.{(said[3] or '0').ljust(6, '0')}"


def is_fine(text: str) -> bool:
    """Return whether the time that a line begins with has a part of a second."""
    said = TIME.search(text[:80])
    return said is not None and said[3] is not None


def number_of(path: Path, place: int) -> int:
    """Return the number of the server whose log it is, by the first lines that name it; else its place."""
    for line, text in lines_of(path):
        found = MYID.search(text)
        if found is not None:
            return int(found[1])
        if line > 10_000:
            break
    return place


def first_time(path: Path) -> str:
    """Return the first time that a file's lines have, by which the files of a server are ordered; empty for none."""
    return next((said for _, text in lines_of(path) if (said := time_of(text)) is not None), "")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name a file in the error that it cannot be read."""
    try:
        yield
    except Unreadable as problem:
        raise Unreadable(None, f"{path}: {problem}") from None


def server_numbers(paths: list[Path]) -> list[int]:
    """Return the number of the server of each log; one that no line names has a number that no other log has.

    Raises:
        Unreadable: one cannot be read; names it.
    """
    named = []
    for path in paths:
        with naming(path):
            named.append(number_of(path, -1))
    free = (n for n in count(1) if n not in named)
    return [n if n >= 0 else next(free) for n in named]


def read_text_logs(paths: list[Path]) -> TextHistory:
    """Read text logs; files of one server follow each other in time, and one file can be of several servers.

    A log of which no line names the server has a number that no other log has.

    Raises:
        Unreadable: one cannot be read; names it.
    """
    names = [p.name for p in paths]
    label = {p: p.name if names.count(p.name) == 1 else f"{p.absolute().parent.name}/{p.name}" for p in paths}
    events: dict[int, list[ServerLine]] = defaultdict(list)
    files: dict[int, list[str]] = defaultdict(list)
    silent, heads, doubled = [], [], ""
    for number, path in zip(server_numbers(paths), paths, strict=True):
        with naming(path):
            heads.append((first_time(path), number, path))
    for _, number, path in sorted(heads, key=itemgetter(0)):
        with naming(path):
            before = sum(map(len, events.values()))
            for e in events_of(path, number, label[path]):
                if label[path] not in files[e.server]:
                    if files[e.server] and e.time < events[e.server][-1].time:
                        both = f"{files[e.server][-1]} and {label[path]} both name server {e.server}"
                        doubled = f"{both}, and overlap in time"
                    files[e.server].append(label[path])
                events[e.server].append(e)
            if sum(map(len, events.values())) == before:
                files[number].append(label[path])
                silent.append(label[path])
    out = TextHistory({n: ", ".join(of) for n, of in sorted(files.items())}, [], None, without_events=silent)
    out.doubled = doubled
    out.assumed = {"lines": "from the first to the last line of a server's log none is missing"}
    several = [f"{', '.join(of)} (server {n})" for n, of in sorted(files.items()) if len(of) > 1]
    if several and not doubled:
        out.assumed["servers"] = f"files that name one server are its log, one after the other: {'; '.join(several)}"
    together = list(merge(*events.values(), key=lambda e: e.time))
    out.events = together
    out.phases = [e for e in together if e.kind not in ("proposes", "commits")]
    fill_rows(out, caused(events))
    out.broken += two_leaders(out.phases) + durable_order(events)
    return out


def caused(events: dict[int, list[ServerLine]]) -> list[ServerLine]:
    """Return the events in an order in which a commit is behind its proposal, whatever the servers' clocks say.

    Each server's own order is kept. A proposal and its commit are milliseconds apart, which is less than clocks are.
    """
    proposed: dict[int, tuple[str, int]] = {}
    epochs = {e.value >> 32 for of in events.values() for e in of if e.kind == "proposes"}
    ranks: dict[int, list[tuple[str, int]]] = {}
    for _ in range(len(epochs) + 2):  # what waits for a proposal delays those of later epochs
        before, proposed = proposed, {}
        for server, of in events.items():
            last, ranks[server] = ("", 0), []
            for e in of:
                last = max(last, (e.time, 0))
                if e.kind == "proposes":
                    proposed.setdefault(e.value, last)
                elif e.kind == "commits" and (found := proposed.get(e.value, before.get(e.value))) is not None:
                    last = max(last, (found[0], found[1] + 1))
                ranks[server].append(last)
        if proposed == before:
            break
    placed = (zip(ranks[server], of, strict=True) for server, of in events.items())
    return [e for _, e in merge(*placed, key=itemgetter(0))]


def is_txn(zxid: int) -> bool:
    """Return whether a zxid is that of a transaction, and not of an epoch or of a request without one."""
    return 0 < zxid < 1 << 63 and zxid & 0xFFFFFFFF != 0


def fill_rows(out: TextHistory, together: list[ServerLine]) -> None:
    """Add proposals and commits as rows: abcast and abdeliver."""
    commits = [e for e in together if e.kind == "commits" and is_txn(e.value)]
    proposed: dict[int, ServerLine] = {}
    for e in together:
        if e.kind == "proposes" and is_txn(e.value):
            proposed.setdefault(e.value, e)
            out.proposals += 1
    out.commits = len(commits)
    if not commits:
        return
    numbers = {server: k for k, server in enumerate(sorted(out.servers))}
    rows = Rows(0, len(numbers))
    known = sorted({e.value for e in commits} | proposed.keys())
    told: set[int] = set()
    delivered: dict[int, set[int]] = defaultdict(set)
    index: dict[int, int] = defaultdict(int)
    fresh = dict.fromkeys(numbers, True)  # nothing was delivered since a synchronization: what is before is silent

    def add(kind: str, process: int | None, zxid: int, by: ServerLine | None, **values: int) -> None:
        rows.add(kind, process, epoch=zxid >> 32, counter=zxid & 0xFFFFFFFF, **values)
        if process is not None:
            out.lines[(process, rows.positions[process] - 1)] = by

    def abcast(zxid: int) -> None:
        if zxid not in told:
            told.add(zxid)
            by = proposed.get(zxid)
            add("abcast", None if by is None else numbers[by.server], zxid, by, primary_epoch=zxid >> 32, attempt=0)

    def deliver(server: int, zxid: int, by: ServerLine | None) -> None:
        abcast(zxid)
        add("abdeliver", numbers[server], zxid, by, **{"pass": 0, "index": index[server]})
        index[server] += 1
        delivered[server].add(zxid)

    def catch_up(server: int, before: int) -> None:
        """Add the deliveries of a server before a synchronization, which the log does not contain.

        What an old leader proposed and nobody committed is assumed to be delivered too: on every server, so that no two
        differ by it.
        """
        for zxid in known:
            if zxid >= before:
                break
            if zxid not in delivered[server]:
                deliver(server, zxid, None)
                out.silent += 1
        fresh[server] = False

    for e in together:
        if e.kind in SESSION:
            fresh[e.server] = True
        elif e.kind in ("proposes", "commits") and is_txn(e.value):
            if fresh[e.server]:
                catch_up(e.server, e.value)
            if e.kind == "proposes":
                abcast(e.value)
            elif e.value not in delivered[e.server]:
                deliver(e.server, e.value, e)
    out.rows = rows


# --- phases ------------------------------------------------------------------------------------------


def two_leaders(phases: list[ServerLine]) -> list[BrokenCondition]:
    """Check that an epoch has one leader, and that epochs grow on each server."""
    out: list[BrokenCondition] = []
    leaders: dict[int, ServerLine] = {}
    last: dict[int, ServerLine] = {}
    for e in phases:
        if e.kind != "serves":
            continue
        epoch = e.value >> 32
        other = leaders.setdefault(epoch, e)
        if other.server != e.server:
            what = f"server {other.server} and server {e.server} are both established as leaders of epoch {epoch}"
            out.append(BrokenCondition("one established leader an epoch", "l.1.1", what, [other, e]))
        before = last.get(e.server)
        if before is not None and before.value >> 32 >= epoch and before.number != e.number:
            what = f"server {e.server} is established in epoch {epoch} after epoch {before.value >> 32}"
            out.append(BrokenCondition("epochs grow", "l.1.1", what, [before, e]))
        last[e.server] = e
    return out


ORDER = ("got NEWLEADER", "persisted", "epoch", "acknowledged")


def durable_order(events: dict[int, list[ServerLine]]) -> list[BrokenCondition]:
    """Check that the history is stored before the epoch, and both before NEWLEADER is acknowledged (f.2.1).

    3.8.5, 3.9.2 and later log this at INFO; earlier releases do not, which is no fault.
    """
    out = []
    for of_server in events.values():
        seen: list[ServerLine] = []
        for e in of_server:
            if e.kind in (ORDER[0], *STARTS):
                seen = [e] if e.kind == ORDER[0] else []
            elif e.kind in ORDER and seen:
                later = [s for s in seen if ORDER.index(s.kind) > ORDER.index(e.kind)]
                if later:
                    what = f"server {e.server}: '{later[0].kind}' comes before '{e.kind}'"
                    out.append(
                        BrokenCondition(
                            "the history is stored before the epoch, and both before the answer",
                            "f.2.1",
                            what,
                            [later[0], e],
                        )
                    )
                seen.append(e)
    return out


def phase_text(e: ServerLine) -> str:
    """Return a line of the history of phases."""
    value = "" if e.value < 0 else f" {e.value}" if e.kind == "epoch" else f" {zxid_text(e.value)}"
    return f"server {e.server}: {e.kind}{value}{f' to server {e.learner}' if e.learner else ''} {e.phase}".rstrip()
