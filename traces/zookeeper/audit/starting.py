"""Determine what a release reads of a server's directories, and whether it starts from them.

This is the only answer to that question: the audit, its forecast, `conform` and the stores of re-enactment use it.
What differs between releases is in `rules.py`. A start comes to a last transaction and a tree, or to the line of its
log that says why it stops.

The rule for epochs is the `zookeeper` protocol's own starting step, `on_recovery`
(zabspec/zookeeper/shutdown.py), which is called here on what a start reads from the files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from traces.zookeeper.audit.replay import Restart
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.logs import LogFile, bytes_at
from traces.zookeeper.disk.numbers import HEAD
from traces.zookeeper.disk.rules import (
    CREATE_TREE,
    KNOWN,
    TRIED,
    TRUST_EMPTY,
    Rules,
    first_line,
    packing,
    parse_long,
    rules_for,
    version,
)
from traces.zookeeper.disk.server import FIRST, Server, TransactionRun
from traces.zookeeper.disk.snapshots import Snapshot
from zabspec.zookeeper.shutdown import on_recovery
from zabspec.zookeeper.state import WIDTH
from zabspec.zookeeper.variants.releases import epoch_of_snapshot_counts

STARTS, REFUSES, UNKNOWN = "starts", "refuses", "unknown"
LONG = (1 << 64) - 1  # Java writes a negative number as its two's complement


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
        option: a JVM option with which it would start with all that is on its disk.
        lacks: the last transaction that was on its disk, or may have been, and is not in the tree that it starts with.
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
    lacks: int = 0

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
        whole = s.whole or s
        if any(f.digests for f in whole.logs) or any(x.has_digest or packing(x.name) for x in whole.snapshots):
            least = max(least, (3, 6))
        if any(f.recent for f in whole.logs):
            least = max(least, (3, 5))
        if any(x.last_processed != -1 for x in whole.snapshots if x.usable):
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
        server: with the files that the release reads.
        files: the log files, each up to the place at which its reading ends.
        line, why: why reading ends with an error: a part of the log line, and the reason. doubt: why the files do not
            tell. forgets: the start begins with an empty tree though there are logs.
    """

    server: Server
    rules: Rules
    base: Snapshot | None = None
    files: list[tuple[LogFile, int]] = field(default_factory=list)
    line: str = ""
    why: str = ""
    doubt: str = ""
    option: str = ""
    forgets: bool = False

    def end(self, line: str, why: str, option: str = "") -> Reading:
        self.line, self.why, self.option = line, why, option
        return self

    def stop(self, run: TransactionRun) -> int:
        """Return the place at which the reading of a run's file ends; -1 if it is not read."""
        return next((stop for f, stop in self.files if f is self.server.file_of(run)), -1)

    @property
    def from_zxid(self) -> int:
        return self.base.zxid if self.base is not None else 0

    @property
    def restart(self) -> Restart | None:
        """Return what a start replays: a snapshot, and the logs behind it, whole where it refuses them; or None."""
        if self.base is None:
            return None
        whole = [(f, f.end) for f in self.server.needed] if self.line or self.doubt else []
        return Restart(self.base, whole or self.files)


def read_by_start(whole: Server, rules: Rules) -> Reading:
    """Return what a start reads: the newest usable snapshot, and the log files behind it (FileTxnSnapLog.restore)."""
    server = whole.read_by(rules)
    out = Reading(server, rules, server.base)
    if said := myid_refused(server):
        return out.end(*said)
    name, what = server.directory.misplaced
    if name and rules.checks_places:
        return out.end(what, f"{name} is in the wrong one of its two directories")
    if server.directory.trouble or any(f.trouble for f in server.logs):
        out.doubt = "files cannot be read"
        return out
    if any(x.state == "unreadable" for x in server.snapshots):
        out.doubt = "a snapshot cannot be read"
        return out
    deadly = [x.name for x in server.snapshots if x.fatal and not x.usable and x.zxid >= out.from_zxid]
    if deadly:
        out.doubt = f"the damage of {' and '.join(deadly)} may end a server, or be read"
        return out
    tried = [x for x in reversed(server.snapshots) if x.ended][:TRIED]
    if tried and out.base not in tried:
        return out.end("Not able to find valid snapshots in", "no snapshot can be loaded")
    twins = [x for x in server.snapshots if out.base is not None and x.usable and x.zxid == out.base.zxid]
    if any(x.total != twins[0].total or x.content != twins[0].content for x in twins):
        out.doubt = f"{' and '.join(x.name for x in twins)} have one zxid: which is read follows the folder's order"
        return out
    if out.base is None and server.logs and rules.needs_snapshot:
        if not rules.trusts_empty:
            from_first = bool(server.runs) and server.runs[0].lo in FIRST
            complete = from_first and all(r.link in ("start", "next", "epoch", "again") for r in server.runs)
            option = f"-D{TRUST_EMPTY}=true" if rules.can_trust_empty and complete else ""
            why = "there are logs and no snapshot"
            return out.end("No snapshot found, but there are log entries. Something is broken!", why, option)
        out.forgets = not rules.can_trust_empty
    elif out.base is None and not server.logs and not rules.creates_tree:
        out.doubt = f"it has no files, and with {CREATE_TREE}=false it votes only if there is a file initialize"
    return out if out.forgets else log_files(out)


def myid_refused(server: Server) -> tuple[str, str] | None:
    """Return the line and the reason with which a server refuses its file myid (QuorumPeerConfig.setupMyId)."""
    data = server.directory.myid
    if data is None or parse_long(first_line(data)) is not None:
        return None
    said = first_line(data)[:40] or ("null" if not data else "")
    return f"serverid {said} is not a number", "myid holds no number"


def log_files(out: Reading) -> Reading:
    """Select the log files to read, as FileTxnLog.FileTxnIterator does.

    These are the last file that is not named later than needed, and all behind it.
    """
    rules, logs, read = out.rules, out.server.logs, out.server.needed
    for f in read:
        others = twins(f, logs)
        if others and (f.named <= out.from_zxid or (f.records and any(t.records for t in others))):
            # below the snapshot one of them is read, above it both: which, or which first, the folder's order decides
            out.doubt = f"{' and '.join(x.name for x in [f, *others])} have one zxid: the folder's order decides"
            return out
        if f.ending == "folder":
            return out.end("(Is a directory)", f"{f.name} is a folder")
        if f.ending == "packed":
            return out.end("has invalid magic number", f"{f.name}, a compressed file, is read as a log by its name")
        if f.size == 0 and rules.deletes_empty_tail and f.named == read[-1].named:
            if not others:
                continue
            out.doubt = f"{f.name} is empty and has the zxid of another log: a start refuses it unless it comes last"
            return out
        if f.ending == "empty" and f.size < HEAD:
            return out.end("java.io.EOFException", f"{f.name} ends within its header")
        if f.ending == "empty" and zero_header(f):
            return out.end("has invalid magic number", f"the header of {f.name} is zeros")
        seen = f.end
        odd = [(d.place, d.code, d.hides) for d in f.damages]
        odd += [(f.recent, "UNKNOWN_TYPE", False)] if f.recent and not rules.knows_recent else []
        odd += [(f.torn[0], "TORN_TAIL", True)] if f.torn is not None else []
        for place, code, hides in sorted(odd):
            if ends_file(out, f, code, place, hides):
                seen = place
                break
            if out.line or out.doubt:
                return out
        if f.widest > rules.longest:
            most = f"{rules.longest:,} bytes are read, and {f.name} has a record of {f.widest:,}"
            return out.end("Unreasonable length", most, f"-Djute.maxbuffer={f.widest}")
        out.files.append((f, seen))
    return out


def twins(f: LogFile, logs: Sequence[LogFile]) -> list[LogFile]:
    """Return the other files with the zxid of one."""
    return [t for t in logs if t is not f and t.named == f.named]


def zero_header(f: LogFile) -> bool:
    return bytes_at(f.path, 0, 4) == bytes(4)


def ends_file(out: Reading, f: LogFile, code: str, place: int, hides: bool) -> bool:
    """Return whether a damaged record counts as the end of its file (Util.readTxnBytes).

    If it stops the start instead, the error is recorded in `out`.
    """
    if code == "BAD_MAGIC":
        line = "has invalid magic number" if f.size >= HEAD else "java.io.EOFException"
        out.end(line, f"{f.name} does not begin as a log")
    elif code == "CRC":
        out.end("CRC check failed", f"the checksum of a record of {f.name} is wrong")
    elif code == "UNKNOWN_TYPE":
        out.end("Unsupported Txn with type", f"{f.name} has a transaction of a kind that the release does not know")
    elif code == "BAD_BODY":
        out.doubt = f"a record of {f.name} is not a transaction of its kind"
    elif hides and code != "DATA_AFTER_END" and (line := refused_length(f.path, place, out.rules)):
        out.end(line, f"the length of a record of {f.name} is wrong")
    return hides and not out.line


def refused_length(path: Path, place: int, rules: Rules) -> str:
    """Return the error of a start that reads a length (BinaryInputArchive.readBuffer); empty if there is none."""
    data = bytes_at(path, place + 8, 4)
    length = struct.unpack(">i", data)[0] if len(data) == 4 else 0
    if length == -1:  # is no record, whose bytes are counted nevertheless (Util.readTxnBytes)
        return "java.lang.NullPointerException"
    return "Unreasonable length" if length < 0 or length > rules.longest else ""


def read_runs(reading: Reading) -> list[tuple[int, int]]:
    """Return the transactions that a start applies behind its snapshot, in the order in which it reads them."""
    start, out = reading.from_zxid, []
    for r in reading.server.runs:
        stop, hi = reading.stop(r), r.hi
        for damage in reading.server.file_of(r).damages:  # reading may end within a run
            if damage.place == stop and r.lo < damage.zxid <= hi:
                hi = damage.zxid - 1
        if r.place < stop and hi > start:
            out.append((max(r.lo, start + 1), hi))
    return out


def out_of_order(runs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the record behind a gap inside an epoch, and the one before it; (0, 0) if there is none."""
    top = 0
    for lo, hi in runs:
        if top and lo > top + 1 and lo >> 32 <= top >> 32:
            return lo, top
        top = max(top, hi)
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
    s: Any = SimpleNamespace(
        ELECTIONS=len(epochs), PROPOSALS=1, log=[[behind] if last > base else []], snapshot_names=[[name]],
        snapshot_trees=[[0]], committed_log=[[]], tree=[0], last_processed=[0], current_epoch=[rank[current]],
        accepted_epoch=[rank[accepted]], refused=[False],
    )  # fmt: skip
    on_recovery(s, 0)
    if s.refused[0] and marked:
        s.refused[0] = epoch_of_snapshot_counts(s, 0)
    return bool(s.refused[0]), epochs[s.current_epoch[0]]


def start_of(server: Server, release: str, options: Mapping[str, str] | None = None) -> Start:
    """Return the result of a start of one release from a server's directory.

    Args:
        options: properties of the server's JVM.
    """
    rules = rules_for(release, options)
    reading = read_by_start(server, rules)
    out = Start(server.name, [release], STARTS, snapshot=reading.base.name if reading.base is not None else "")
    if reading.doubt:
        return Start(server.name, [release], UNKNOWN, why=reading.doubt)
    if reading.line:
        return refused(out, reading.line, reading.why, reading.option)
    runs = read_runs(reading)
    if reading.forgets:
        out.lacks = reading.server.logged
    elif reading.base is None and runs and runs[0][0] not in FIRST:
        out.lacks = runs[0][0] - 1
    out.zxid = max((hi for _, hi in runs), default=reading.from_zxid)
    out.records = sum(hi - lo + 1 for lo, hi in runs)
    gap, before = out_of_order(runs)
    if gap and rules.refuses_gaps:
        line = f"Committed proposal cached out of order: 0x{gap:x} is not the next proposal of 0x{before:x}"
        return refused(out, line, f"{zxid_text(gap)} follows on {zxid_text(before)} in the log")
    return epochs_checked(out, server, rules, reading.from_zxid)


def refused(out: Start, line: str, why: str, option: str = "") -> Start:
    return Start(out.server, out.releases, REFUSES, line=line, why=why, option=option)


def epochs_checked(out: Start, server: Server, rules: Rules, base: int) -> Start:
    """Check the epoch files against the last transaction (QuorumPeer.loadDataBase)."""
    files = server.directory.epochs
    values: dict[str, int] = {}
    for name in ("currentEpoch", "acceptedEpoch"):
        value = parse_long(first_line(files[name])) if name in files else out.zxid >> 32
        if value is None:
            said = first_line(files[name])[:40] or ("" if files[name] else "null")
            return refused(out, f"Found {said} in", f"{name} holds no number")
        values[name] = value
    current, accepted = values["currentEpoch"], values["acceptedEpoch"]
    if out.zxid >> 32 > current and "currentEpoch.tmp" in files and rules.finishes_epoch:
        pending = parse_long(first_line(files["currentEpoch.tmp"]))
        if pending is None:
            return refused(out, "Found ", "currentEpoch.tmp holds no number")
        # it is believed, whatever the last transaction is
        ends, _ = recovered(0, 0, pending, accepted, False)
        current = pending
    else:
        marked = "updatingEpoch" in files and rules.version < (3, 5)
        ends, current = recovered(base, out.zxid, current, accepted, marked)
        # which of its two reasons: with every epoch accepted there is one left
        older, _ = recovered(base, out.zxid, values["currentEpoch"], max(out.zxid >> 32, accepted, current), marked)
        if ends and older:
            line = f"The current epoch, {current & LONG:x}, is older than the last zxid, {out.zxid}"
            return refused(out, line, f"currentEpoch is {current}, and its history ends with {zxid_text(out.zxid)}")
    if ends:
        line = f"The accepted epoch, {accepted & LONG:x} is less than the current epoch, {current & LONG:x}"
        return refused(out, line, f"acceptedEpoch says {accepted}, and currentEpoch {current}")
    out.epoch = current
    return out


def starts(servers: Sequence[Server], releases: Iterable[str], options: Mapping[str, str] | None = None) -> list[Start]:
    """Return the result of starting each server; releases with the same result are merged, the newest first."""
    out: list[Start] = []
    for s in servers:
        mine: list[Start] = []
        for release in releases:
            one = start_of(s, release, options)
            same = next((x for x in mine if x.same_as(one)), None)
            if same is None:
                mine.append(one)
            else:
                same.releases.append(release)
        out += mine
    return out
