"""Determine whether a server would start from its directory, for a release or for all that can have written its files.

A start comes to a last transaction, or to the line of its log that says why it stops.

The rule is the `zookeeper` protocol's own starting step, `on_recovery` (zabspec/protocols/zookeeper/shutdown.py), which
is called here on what a start reads from the files. This file adds what that step leaves out, each with the class and
method that it follows, read at the releases' tags: which files are read (FileTxnSnapLog.restore, FileTxnLog), what ends
reading, and what an unfinished epoch file does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from traces.zookeeper.decode import zxid_text
from traces.zookeeper.logs import LogFile, Reader, read_log
from traces.zookeeper.memory import Scan
from traces.zookeeper.server import PACKED, Server
from traces.zookeeper.snapshots import Snapshot, read_snapshot
from traces.zookeeper.trees import DataTree, Node
from zabspec.protocols.zookeeper.releases import epoch_of_snapshot_counts
from zabspec.protocols.zookeeper.shutdown import on_recovery
from zabspec.protocols.zookeeper.state import WIDTH
from zabspec.protocols.zookeeper.text import SAME

STARTS, REFUSES, UNKNOWN = "starts", "refuses", "unknown"
KNOWN = tuple(number for numbers in SAME.values() for number in numbers)
LARGEST = 0xFFFFF  # jute.maxbuffer, and the same again above it (BinaryInputArchive.checkLength)
SLACK = 1024  # what 3.4 allows above it


def version(release: str) -> tuple[int, ...]:
    """Return a release as numbers that compare; `master` is later than all."""
    return tuple(int(part) for part in release.split(".")) if release[0].isdigit() else (99,)


def finishes_epoch(release: str) -> bool:
    """Return whether currentEpoch.tmp is taken for currentEpoch (ZOOKEEPER-4269, QuorumPeer.loadDataBase)."""
    v = version(release)
    return (3, 5, 10) <= v < (3, 6) or (3, 6, 3) <= v < (3, 7) or v >= (3, 7, 1)


@dataclass
class Start:
    """The result of starting a server from its directories.

    Attributes:
        releases: those that do the same.
        outcome: `starts`, `refuses`, or `unknown`.
        zxid: the last transaction of the tree that it starts with, with which it votes.
        snapshot: what it begins with; empty for the empty tree. records: the number of transactions applied after it.
        line: a part of the line in its log that says why it ends; empty if it starts.
        why: the reason, as a sentence.
        option: a JVM option with which it would start nevertheless.
    """

    server: str
    releases: list[str]
    outcome: str
    zxid: int = 0
    epoch: int = 0
    snapshot: str = ""
    records: int = 0
    line: str = ""
    why: str = ""
    option: str = ""

    def same_as(self, other: Start) -> bool:
        return replace(self, releases=[]) == replace(other, releases=[])

    @property
    def sentence(self) -> str:
        """Return the result in words."""
        if self.outcome == UNKNOWN:
            return f"cannot be determined: {self.why}"
        if self.outcome == REFUSES:
            option = f" (it starts with {self.option})" if self.option else ""
            return f"refuses: {self.why}; its log has '{self.line}'{option}"
        begin = self.snapshot or "the empty tree"
        behind = f" and {self.records:,} records behind it" if self.records else ""
        return f"starts with {zxid_text(self.zxid)} (0x{self.zxid:x}), epoch {self.epoch}, from {begin}{behind}"


# --- which release ------------------------------------------------------------------------------------


def candidates(servers: Sequence[Server]) -> list[str]:
    """Return the releases that can have written the files of all servers, the newest first."""
    least: tuple[int, ...] = (0,)
    most: tuple[int, ...] = (99, 99)
    for s in servers:
        if any(f.digests for f in s.logs) or any(x.has_digest or x.name.endswith(PACKED) for x in s.snapshots):
            least = max(least, (3, 6))
        if any(x.last_processed != -1 for x in s.snapshots if x.usable):
            least = max(least, (3, 9))
        if "updatingEpoch" in s.directory.epochs:
            most = (3, 5)
    found = [r for r in KNOWN if least <= version(r) < most]
    return sorted(found or KNOWN, key=version, reverse=True)


# --- what is read ---------------------------------------------------------------------------------------


@dataclass
class Reading:
    """The files that a start reads.

    Attributes:
        files: the log files, each up to the place at which its reading ends.
        ended: why reading ends with an error: the log line, and the reason; `doubt`: why it cannot be told.
    """

    base: Snapshot | None = None
    files: list[tuple[LogFile, int]] = field(default_factory=list)
    line: str = ""
    why: str = ""
    doubt: str = ""
    option: str = ""

    def end(self, line: str, why: str, option: str = "") -> Reading:
        self.line, self.why, self.option = line, why, option
        return self

    @property
    def from_zxid(self) -> int:
        return self.base.zxid if self.base is not None else 0


def read_by_start(server: Server, release: str) -> Reading:
    """Return what a start reads: the newest usable snapshot, and the log files behind it (FileTxnSnapLog.restore)."""
    out, v = Reading(), version(release)
    if server.directory.trouble or any(f.trouble for f in server.logs):
        out.doubt = "files cannot be read"
        return out
    shown = [x for x in server.snapshots if v >= (3, 6) or not x.name.endswith(PACKED)]  # SnapStream (3.6.0)
    if any(x.state == "unreadable" for x in shown):
        out.doubt = "a snapshot cannot be read"
        return out
    out.base = next((x for x in reversed(shown) if x.usable), None)
    logs = bool(logs_seen(server, v) or packed_seen(server, v))
    if out.base is None and any(x.ended for x in shown):
        return out.end("Not able to find valid snapshots in", "no snapshot can be loaded")
    if out.base is None and logs and v >= (3, 5, 3):
        option = "-Dzookeeper.snapshot.trust.empty=true" if v >= (3, 5, 6) else ""
        why = "there are logs and no snapshot"
        return out.end("No snapshot found, but there are log entries. Something is broken!", why, option)
    return log_files(out, server, v)


def logs_seen(server: Server, v: tuple[int, ...]) -> list[LogFile]:
    """Return the files that a release takes for logs: before 3.6 a name has two parts (Util.getZxidFromName)."""
    return [f for f in server.logs if v >= (3, 6) or f.name.count(".") == 1]


def packed_seen(server: Server, v: tuple[int, ...]) -> list[int]:
    """Return the zxids of compressed files that a release takes for logs."""
    return [z for z, _ in server.directory.packed] if v >= (3, 6) else []


def log_files(out: Reading, server: Server, v: tuple[int, ...]) -> Reading:
    """Select the log files to read, as FileTxnLog.FileTxnIterator does.

    These are the last file that is not named later than needed, and all behind it.
    """
    start = out.from_zxid + 1
    logs, packed = logs_seen(server, v), packed_seen(server, v)
    named = sorted({f.named for f in logs} | set(packed))
    below = [z for z in named if z < start]
    first = below[-1] if below else 0
    plain = {f.named for f in logs}
    if any(z > first or (z == first and z not in plain) for z in packed):
        return out.end("has invalid magic number", "a compressed file with the name of a log is read as one")
    if first in packed:
        out.doubt = "a log and its compressed copy have one name: which of them is read is not determined"
        return out
    read = [f for f in logs if f.named >= first]
    for n, f in enumerate(read):
        if f.size == 0 and n == len(read) - 1 and v >= (3, 9, 3):
            continue  # goToNextLog deletes an empty last file
        if f.ending == "empty" and f.size < 16:
            return out.end("java.io.EOFException", f"{f.name} ends within its header")
        if f.ending == "empty" and zero_header(f):
            return out.end("has invalid magic number", f"the header of {f.name} is zeros")
        seen = f.end
        for damage in sorted(f.damages, key=lambda d: d.place):
            if ends_file(out, f, damage.code, damage.place, damage.hides, v):
                seen = damage.place
                break
            if out.line or out.doubt:
                return out
        out.files.append((f, seen))
    return out


def zero_header(f: LogFile) -> bool:
    with f.path.open("rb") as file:
        return file.read(4) == bytes(4)


def ends_file(out: Reading, f: LogFile, code: str, place: int, hides: bool, v: tuple[int, ...]) -> bool:
    """Return whether a damaged record counts as the end of its file (Util.readTxnBytes).

    If it stops the start instead, the error is recorded in `out`.
    """
    if code == "BAD_MAGIC":
        out.end("has invalid magic number", f"{f.name} does not begin as a log")
    elif code == "CRC":
        out.end("CRC check failed", f"the checksum of a record of {f.name} is wrong")
    elif code == "UNKNOWN_TYPE":
        out.end("Unsupported Txn with type", f"{f.name} has a transaction of a kind that the release does not know")
    elif code == "BAD_BODY":
        out.doubt = f"a record of {f.name} is not a transaction of its kind"
    elif hides and code != "DATA_AFTER_END" and unreasonable(f.path, place, v):
        out.end("Unreasonable length", f"the length of a record of {f.name} is wrong")
    return hides and not out.line


def unreasonable(path: Path, place: int, v: tuple[int, ...]) -> bool:
    """Return whether a length is unreasonable (BinaryInputArchive.checkLength)."""
    with path.open("rb") as file:
        file.seek(place + 8)
        data = file.read(4)
    length = struct.unpack(">i", data)[0] if len(data) == 4 else 0
    return length < -1 or length > LARGEST + (LARGEST if v >= (3, 5, 5) else SLACK)


def out_of_order(server: Server, reading: Reading) -> tuple[int, int]:
    """Return the record behind a gap inside an epoch after the snapshot, and the one before the gap.

    Such a gap stops a start (ZKDatabase.addCommittedProposal, 3.9.4).

    Returns:
        Both zxids; (0, 0) if there is no gap.
    """
    seen = {id(f): stop for f, stop in reading.files}
    last = 0
    for run in server.runs:
        f = server.file_of(run)
        if id(f) not in seen or run.place >= seen[id(f)] or run.hi <= reading.from_zxid:
            continue
        lo = max(run.lo, reading.from_zxid + 1)
        if last and lo > last + 1 and lo >> 32 <= last >> 32:
            return lo, last
        last = max(last, run.hi)
    return 0, 0


# --- the step ------------------------------------------------------------------------------------------


def recovered(base: int, last: int, current: int, accepted: int, marked: bool) -> tuple[bool, int]:
    """Ask the protocol's starting step: whether it refuses, and currentEpoch afterwards.

    Epochs are numbered anew in their order, and a snapshot and the transactions behind it are one of each: the step
    asks nothing else of them.

    Args:
        marked: the file updatingEpoch is there, which 3.4 knows.
    """
    epochs = sorted({0, base >> 32, last >> 32, current, accepted})
    rank = {e: n for n, e in enumerate(epochs)}
    name = rank[base >> 32] * WIDTH + min(base & 0xFFFFFFFF, 1)
    behind = rank[last >> 32] * WIDTH + 2
    s = SimpleNamespace(
        ELECTIONS=len(epochs), PROPOSALS=1, log=[[behind] if last > base else []], snapshot_names=[[name]],
        snapshot_trees=[[0]], committed_log=[[]], tree=[0], last_processed=[0], current_epoch=[rank[current]],
        accepted_epoch=[rank[accepted]], refused=[False],
    )  # fmt: skip
    on_recovery(s, 0)
    if s.refused[0] and marked:
        s.refused[0] = epoch_of_snapshot_counts(s, 0)
    return bool(s.refused[0]), epochs[s.current_epoch[0]]


def number_in(data: bytes | None) -> int | None:
    """Return the number in an epoch file, as Long.parseLong reads its first line; None if there is none."""
    text = (data or b"").split(b"\n")[0].rstrip(b"\r")
    return int(text) if text.isdigit() and len(text) < 20 and int(text) < 1 << 63 else None


def start_of(server: Server, release: str) -> Start:
    """Return the result of a start of one release from a server's directory."""
    reading = read_by_start(server, release)
    out = Start(server.name, [release], STARTS, snapshot=reading.base.name if reading.base is not None else "")
    if reading.doubt:
        return Start(server.name, [release], UNKNOWN, why=reading.doubt)
    if reading.line:
        return refused(out, reading.line, reading.why, reading.option)
    out.zxid, out.records = last_read(server, reading)
    if version(release) >= (3, 9, 4):
        gap, before = out_of_order(server, reading)
        if gap:
            line = f"Committed proposal cached out of order: 0x{gap:x} is not the next proposal of 0x{before:x}"
            return refused(out, line, f"{zxid_text(gap)} follows on {zxid_text(before)} in the log")
    return epochs_checked(out, server, release, reading.from_zxid)


def refused(out: Start, line: str, why: str, option: str = "") -> Start:
    return Start(out.server, out.releases, REFUSES, line=line, why=why, option=option)


def epochs_checked(out: Start, server: Server, release: str, base: int) -> Start:
    """Check the epoch files against the last transaction (QuorumPeer.loadDataBase)."""
    files = server.directory.epochs
    values: dict[str, int] = {}
    for name in ("currentEpoch", "acceptedEpoch"):
        value = number_in(files[name]) if name in files else out.zxid >> 32
        if value is None:
            said = (files[name] or b"").split(b"\n")[0].decode("latin-1")[:40]
            return refused(out, f"Found {said or 'null'} in", f"{name} holds no number")
        values[name] = value
    current, accepted = values["currentEpoch"], values["acceptedEpoch"]
    if out.zxid >> 32 > current and "currentEpoch.tmp" in files and finishes_epoch(release):
        pending = number_in(files["currentEpoch.tmp"])
        if pending is None:
            return refused(out, "Found ", "currentEpoch.tmp holds no number")
        # it is believed, whatever the last transaction is
        ends, _ = recovered(0, 0, pending, accepted, False)
        current = pending
    else:
        marked = "updatingEpoch" in files and version(release) < (3, 5)
        ends, current = recovered(base, out.zxid, current, accepted, marked)
        # which of its two reasons: with every epoch accepted there is one left
        older, _ = recovered(base, out.zxid, values["currentEpoch"], max(out.zxid >> 32, accepted, current), marked)
        if ends and older:
            line = f"The current epoch, {current:x}, is older than the last zxid, {out.zxid}"
            return refused(out, line, f"currentEpoch is {current}, and its history ends with {zxid_text(out.zxid)}")
    if ends:
        line = f"The accepted epoch, {accepted:x} is less than the current epoch, {current:x}"
        return refused(out, line, f"acceptedEpoch says {accepted}, and currentEpoch {current}")
    out.epoch = current
    return out


# --- what is applied ---------------------------------------------------------------------------------------


def last_read(server: Server, reading: Reading) -> tuple[int, int]:
    """Return the last transaction that a start applies, and how many it applies after the snapshot."""
    base, seen = reading.from_zxid, {id(f): stop for f, stop in reading.files}
    last, count = base, 0
    for run in server.runs:
        f = server.file_of(run)
        if id(f) in seen and run.place < seen[id(f)] and run.hi > base:
            last, count = max(last, run.hi), count + run.hi - max(run.lo, base + 1) + 1
    return last, count


def start_tree(server: Server, release: str) -> dict[str, Node]:
    """Return the nodes that a server starts with, by path."""
    reading, tree = read_by_start(server, release), DataTree()
    if reading.base is None:
        tree.begin_empty()
    else:
        read_snapshot(reading.base.path, reading.base.zxid, tree)
        tree.tree.zxid = reading.base.zxid
    reader = Reader(sums=False)

    def visit(s: Scan) -> None:
        for _ in tree.apply(s, 0, s.count):
            pass  # whether a digest is another only makes a line in its log

    for f, stop in reading.files:
        if f.first_place and stop > f.first_place:
            read_log(f.path, f.named, reader, visit, until=stop)
    return {n.path: n for n in tree.nodes()}


def starts(servers: Sequence[Server], releases: Iterable[str]) -> list[Start]:
    """Return the result of starting each server; releases with the same result are merged, the newest first."""
    out: list[Start] = []
    for s in servers:
        mine: list[Start] = []
        for release in releases:
            one = start_of(s, release)
            same = next((x for x in mine if x.same_as(one)), None)
            if same is None:
                mine.append(one)
            else:
                same.releases.append(release)
        out += mine
    return out
