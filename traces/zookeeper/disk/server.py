"""Read the directories of a server: its files, and how its log continues from one transaction to the next."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from traces.zookeeper.disk.files import has_gone
from traces.zookeeper.disk.logs import Damage, LogFile
from traces.zookeeper.disk.rules import Rules, first_line, needed, packing, parse_long, zxid_in
from traces.zookeeper.disk.snapshots import Snapshot
from zabspec.files import Unreadable, read_small, reason

VERSION = "version-2"
LOW = 0xFFFFFFFF
FIRST = (1, (1 << 32) + 1)  # transactions that nothing comes before: of a standalone server, and of an ensemble
DEEP = 2  # folders below what is named in which a version-2 is looked for
MOST_FILES = 100_000
KNOWN = ("currentEpoch", "acceptedEpoch", "updatingEpoch", "currentEpoch.tmp", "acceptedEpoch.tmp")
MYID = "myid"


class NotOne(ValueError):
    """The given path is no directory of a server."""


@dataclass
class Directory:
    """The directories of a server, listed; no file is read yet.

    Attributes:
        name: the name of the server in reports.
        folders: its version-2 in dataDir, and the one in dataLogDir if that is another.
        logs, snapshots: entries with the zxids of their names, in order, whichever release reads them.
        epochs: the text of each epoch file, None where it cannot be read.
        myid: the file of that name; None if there is none.
        stray: other files.
        trouble: folders and files that cannot be read, with the reason.
    """

    name: str
    folders: list[Path]
    logs: list[tuple[int, Path]] = field(default_factory=list)
    snapshots: list[tuple[int, Path]] = field(default_factory=list)
    epochs: dict[str, bytes | None] = field(default_factory=dict)
    myid: bytes | None = None
    stray: list[Path] = field(default_factory=list)
    trouble: list[tuple[Path, str]] = field(default_factory=list)
    number: int = 0

    @property
    def misplaced(self) -> tuple[str, str]:
        """Return the first file that a check of two directories finds in the wrong one, and what is wrong.

        Any name counts that begins so (Util.isLogFileName); empty where there is one directory, or nothing is wrong.
        """
        if len(self.folders) > 1:
            for folder, prefix, what in ((self.folders[1], "snapshot.", "Log directory has snapshot files"),
                                         (self.folders[0], "log.", "Snapshot directory has log files")):  # fmt: skip
                with contextlib.suppress(OSError):
                    if names := sorted(e.name for e in entries(folder) if e.name.startswith(prefix)):
                        return names[0], what
        return "", ""


def entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        out = []
        for entry in found:
            out.append(entry)
            if len(out) > MOST_FILES:
                raise NotOne(f"{folder} has more than {MOST_FILES:,} entries")
        return out


def is_folder(e: os.DirEntry[str], follow: bool = True) -> bool:
    """Return whether an entry is a folder; a dangling link is not."""
    try:
        return e.is_dir(follow_symlinks=follow)
    except OSError:
        return False


def version_folders(path: Path) -> list[Path]:
    """Return the folders version-2 at a path or a little below, without following symbolic links below it."""
    if path.name == VERSION:
        return [path]
    if (path / VERSION).is_dir() or (path / MYID).is_file():  # a server makes version-2 where it is missing
        return [path / VERSION]
    if any(e.name.startswith(("log.", "snapshot.")) for e in entries(path)):
        return [path]
    found, ahead = [], [(path, 0)]
    while ahead:
        here, depth = ahead.pop(0)
        try:
            inside = sorted(entries(here), key=lambda e: e.name)
        except OSError:
            continue
        for e in inside:
            if e.name == VERSION and is_folder(e):
                found.append(Path(e.path))
            elif depth < DEEP and is_folder(e, False) and len(ahead) < 1000:
                ahead.append((Path(e.path), depth + 1))
    return found


def joined(folder: Path) -> bool:
    """Return whether a folder has an epoch file; not if it cannot be read."""
    return os.path.exists(folder / "currentEpoch")


def whole(folder: Path) -> bool:
    """Return whether a folder has both logs and snapshots, so that no other one is the log directory beside it."""
    return {"log", "snapshot"} <= {e.name.split(".")[0] for e in entries(folder)}


def file_instead(path: Path) -> str:
    """Return a message that says what is needed instead of a file."""
    needed = "an audit needs the data directory of each server (dataDir in zoo.cfg, and dataLogDir if there is one: "
    needed += f"DATA,LOGS), with its folder {VERSION} and everything in it"
    if zxid_in(path.name, "log") >= 0 or zxid_in(path.name, "snapshot") >= 0 or path.name in KNOWN:
        folder = path.absolute().parent
        return f"{path} is not a folder but one file of a server: {needed}; here {folder}"
    head = b""
    if path.is_file():
        with contextlib.suppress(OSError), path.open("rb") as file:
            head = file.read(1 << 16)
    said = f"{path} is not a folder but a file: {needed}"
    lines = re.findall(rb"^(data(?:Log)?Dir)\s*=\s*([\x20-\x7e]{1,200}?)\s*$", head, re.M)
    if lines:
        named = ", ".join(f"{key.decode()} {value.decode()}" for key, value in lines)
        return f"{said}. This is a configuration ({named}): it goes with --config"
    if b"org.apache.zookeeper" in head or b" - INFO " in head or b"[myid:" in head:
        return f"{said}. This is a text log: those go with --logs"
    return said


def find_directory(words: list[Path], name: str) -> Directory:
    """Find the directories of a server: one, or separate data and log directories.

    Raises:
        NotOne: there is none, it cannot be read, or it holds several servers.
    """
    folders: list[Path] = []
    for path in words:
        try:
            if not path.is_dir():
                raise NotOne(file_instead(path) if path.exists() else f"there is no folder {path}")
            found = version_folders(path)
        except (OSError, ValueError) as problem:
            if isinstance(problem, NotOne):
                raise
            raise NotOne(f"{path} cannot be read: {reason(problem)}") from None
        if not found and folders:  # a log directory that is still empty
            found = [path / VERSION]
        if not found:
            raise NotOne(f"{path} has no {VERSION} and no {MYID}: it is not a data directory of a ZooKeeper server")
        with_epochs = [f for f in found if joined(f)]
        apart = len(found) < 2 or not any(whole(f) for f in found)
        if len(found) > 2 or len(with_epochs) > 1 or not apart:
            names = ", ".join(str(f.parent) for f in found[:4])
            raise NotOne(f"{path} has several folders {VERSION}: give one for each server, or DATA,LOGS ({names})")
        folders += [f for f in map(Path.absolute, found) if f not in folders]
    if len(folders) > 2:
        raise NotOne(f"{', '.join(map(str, words))}: a server has a data and a log directory at most")
    if len(folders) == 2 and all(joined(f) for f in folders):
        both = " and ".join(str(f.parent) for f in folders)
        raise NotOne(
            f"{both} have a currentEpoch each: they are two servers, or one is not the log directory that is used"
        )
    # dataDir has the epochs and myid; the order that was given counts where nothing shows it
    shown = sorted(folders, key=lambda f: (not joined(f), not (f.parent / MYID).exists()))
    return listed(Directory(name, shown))


def listed(directory: Directory) -> Directory:
    """List what lies in a server's folders now.

    Raises:
        NotOne: one cannot be read.
    """
    out = Directory(directory.name, directory.folders, number=directory.number)
    for folder in out.folders:
        if folder.exists():
            list_folder(out, folder)
    for path in (out.folders[0].parent / MYID, out.folders[0] / MYID):
        if out.myid is None:
            try:
                out.myid = read_small(path)
            except Unreadable as problem:
                if not has_gone(path, problem):
                    out.trouble.append((path, str(problem)))
    out.logs.sort(key=lambda item: (item[0], item[1].name))
    out.snapshots.sort(key=lambda item: (item[0], item[1].name))
    return out


def list_folder(out: Directory, folder: Path) -> None:
    """Add a folder's files to a server's directory.

    Raises:
        NotOne: the folder cannot be read.
    """
    try:
        inside = sorted(entries(folder), key=lambda e: e.name)
    except OSError as problem:
        raise NotOne(f"{folder} cannot be read: {reason(problem)}") from None
    for e in inside:
        log, snapshot = zxid_in(e.name, "log"), zxid_in(e.name, "snapshot")
        if log >= 0:
            out.logs.append((log, Path(e.path)))
        elif snapshot >= 0 and not is_folder(e):
            out.snapshots.append((snapshot, Path(e.path)))
        elif e.name not in (*KNOWN, MYID):
            out.stray.append(Path(e.path))
    names = {e.name for e in inside} if folder == out.folders[0] else set()
    for name in KNOWN:  # what a server promised after what it has joined: a running one writes them the other way round
        if name in names:
            try:
                out.epochs[name] = read_small(folder / name)
            except Unreadable as problem:
                if not has_gone(folder / name, problem):
                    out.epochs[name] = None
                    out.trouble.append((folder / name, str(problem)))


# --- how a log goes on -------------------------------------------------------------------------------


@dataclass
class TransactionRun:
    """Transactions one behind the other in a file, and how they follow on what is before them.

    Attributes:
        link: `start`; `next`; `epoch`: the first of a later epoch, directly behind `before`; `bridged`: a snapshot
            lies between (`snapshot`); `gap`; `unknown`: between may be what was purged; `damaged`: between are records
            that cannot be read; `again`: it was there already; `back`: it was not, and is less than what is before.
        before: the greatest transaction before it; what it follows on, but where a snapshot lies between.
    """

    lo: int
    hi: int
    file: int
    place: int
    link: str = ""
    before: int = 0
    snapshot: int = 0


@dataclass
class Server:
    """A server: its files, read, and its history.

    Attributes:
        top: the last transaction that it has, by its logs or by a snapshot.
    """

    directory: Directory
    logs: list[LogFile]
    snapshots: list[Snapshot] = field(default_factory=list)
    runs: list[TransactionRun] = field(default_factory=list)
    seen: list[tuple[int, int]] = field(default_factory=list)
    whole: Server | None = None

    def read_by(self, rules: Rules) -> Server:
        """Return this server as a release reads it: with the files whose names and places it reads.

        Where it refuses files in a wrong place, they are all there, since that is why.
        """
        whole = self.whole or self
        d = self.directory
        places = d.folders if rules.checks_places else [d.folders[0]]
        logs = [f for f in whole.logs if zxid_in(f.name, "log", rules.parts) >= 0
                and (rules.checks_places or f.path.parent == d.folders[-1])]  # fmt: skip
        snapshots = [x for x in whole.snapshots if zxid_in(x.name, "snapshot", rules.parts) >= 0
                     and (rules.reads_packed or not packing(x.name)) and x.path.parent in places]  # fmt: skip
        snapshots = [x.read_by(rules) for x in snapshots]
        out = Server(d, logs, snapshots, whole=whole)
        out.follow()
        return out

    @property
    def unread(self) -> list[str]:
        """Return the names of logs and snapshots that the release does not read."""
        whole = self.whole or self
        mine = {*(f.path for f in self.logs), *(x.path for x in self.snapshots)}
        paths = [*(f.path for f in whole.logs), *(x.path for x in whole.snapshots)]
        return [path.name for path in paths if path not in mine]

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def logged(self) -> int:
        """Return the greatest transaction in its logs; 0 if there is none."""
        return max((r.hi for r in self.runs), default=0)

    @property
    def top(self) -> int:
        return max([self.logged, *(s.zxid for s in self.snapshots if s.usable)])

    @property
    def last(self) -> int:
        """Return its last known transaction: of a snapshot at the beginning of an epoch the last one in its nodes."""
        found = [x.zxid if x.zxid & LOW else x.newest for x in self.snapshots if x.usable]
        return self.top if self.top & LOW else max([self.logged, *(z for z in found if z < self.top)])

    @property
    def records(self) -> int:
        return sum(f.records for f in self.logs)

    def epoch(self, name: str = "currentEpoch", missing: int = -1) -> int:
        """Return the number in an epoch file; `missing` if there is none."""
        value = parse_long(first_line(self.directory.epochs.get(name)))
        return missing if value is None else value

    def has(self, zxid: int) -> bool:
        """Return whether its logs have a transaction."""
        return inside(self.seen, zxid)

    def file_of(self, run: TransactionRun) -> LogFile:
        return self.logs[run.file]

    @property
    def restart_from(self) -> int:
        """Return the zxid of the snapshot that a start begins with; -1 if there is none."""
        return self.base.zxid if self.base is not None else -1

    @property
    def base(self) -> Snapshot | None:
        """Return the snapshot that a start loads (FileSnap.deserialize); None if there is none."""
        return next((s for s in reversed(self.snapshots) if s.usable), None)

    @property
    def needed(self) -> list[LogFile]:
        """Return the logs that a start with that snapshot reads."""
        first = needed((f.named for f in self.logs), self.restart_from)
        return [f for f in self.logs if f.named >= first]

    def not_read(self, run: TransactionRun) -> bool:
        """Return whether no start reads what is missing before a run, since it begins with a later snapshot."""
        return self.restart_from >= max(run.lo - 1, 1)

    def begins_late(self, run: TransactionRun) -> bool:
        """Return whether a run is where the logs begin, and older logs may be deleted since no start reads them."""
        return run is self.runs[0] and self.not_read(run)

    def may_be_bridged(self, run: TransactionRun) -> bool:
        """Return whether an epoch may follow on a snapshot that was purged: there is none from before it."""
        old = any(s.zxid <= run.before for s in self.snapshots)
        return run.link == "epoch" and run is not self.runs[0] and not old

    def next_snapshot(self, run: TransactionRun) -> Snapshot | None:
        """Return the first usable snapshot that a run, or what is behind it, is in; None if there is none."""
        return next((s for s in self.snapshots if s.usable and s.zxid >= run.lo), None)

    def packed_before(self, run: TransactionRun) -> bool:
        """Return whether a compressed log without another copy may contain what is missing before a run."""
        logs = (self.whole or self).logs
        names = {f.named for f in logs if f.ending != "packed"}
        return any(run.before < f.named < run.lo and f.named not in names for f in logs if f.ending == "packed")

    def follow(self) -> None:
        """Determine how its runs follow each other."""
        self.runs, self.seen = list(raw_runs(self.logs)), []
        zxids = sorted({s.zxid for s in self.snapshots})
        top = last = 0
        for n, run in enumerate(self.runs):
            run.before = top
            if n == 0:
                self.begin(run, zxids)
            elif run.lo in (last + 1, top + 1):
                run.link = "next"
            elif run.lo <= top:
                run.link = "again" if inside(self.seen, run.lo) else "back"
            else:
                self.forward(run, self.runs[n - 1], zxids)
            add(self.seen, run.lo, run.hi)
            last, top = run.hi, max(top, run.hi)

    def begin(self, run: TransactionRun, zxids: list[int]) -> None:
        """Determine what the first run follows: nothing, a snapshot, or what was purged."""
        below = [s for s in zxids if s < run.lo]
        run.before = below[-1] if below else 0
        if not below:
            run.link = "start" if run.lo in FIRST else "unknown"
        elif run.lo & LOW == 1:
            run.link, run.snapshot = ("epoch", 0) if run.before == 0 else ("bridged", run.before)
        elif run.before == run.lo - 1:
            run.link, run.snapshot = "bridged", run.before
        else:
            damaged = damages_between(self, None, run) or self.packed_before(run)
            run.link = "damaged" if damaged else "gap"

    def forward(self, run: TransactionRun, before: TransactionRun, zxids: list[int]) -> None:
        """Determine what a run follows that begins after a gap."""
        between = [s for s in zxids if run.before < s < run.lo]
        damages = damages_between(self, before, run)
        new_epoch = run.lo >> 32 > run.before >> 32
        if damages and (any(d.hides for d in damages) or new_epoch or run.lo - run.before - 1 <= len(damages)):
            run.link = "damaged"
        elif run.lo != run.before + 1 and self.packed_before(run):
            run.link = "damaged"
        elif between and (between[-1] == run.lo - 1 or run.lo & LOW == 1):
            run.link, run.snapshot = "bridged", between[-1]
        elif new_epoch and run.lo & LOW == 1:
            run.link = "epoch"
        elif not any(s <= run.before for s in zxids):
            run.link = "unknown"
        else:
            run.link = "gap"

    def missing(self, run: TransactionRun) -> tuple[int, int]:
        """Return the first and the last transaction that a gap before a run leaves out."""
        if run.before >> 32 == run.lo >> 32:
            return run.before + 1, run.lo - 1
        return (run.lo >> 32 << 32) + 1, run.lo - 1


def raw_runs(logs: list[LogFile]) -> Iterator[TransactionRun]:
    for n, f in enumerate(logs):
        if not f.first_place:
            continue
        run = TransactionRun(f.first, f.last, n, f.first_place)
        for jump in f.jumps:
            run.hi = jump.before
            yield run
            run = TransactionRun(jump.zxid, f.last, n, jump.place)
        run.hi = f.last
        yield run


def damages_between(server: Server, before: TransactionRun | None, run: TransactionRun) -> list[Damage]:
    """Return the unreadable records between two runs."""
    start = (-1, 0) if before is None else (before.file, before.place)
    return [
        d
        for n, f in enumerate(server.logs)
        if start[0] <= n <= run.file
        for d in f.damages
        if start < (n, d.place) < (run.file, run.place)
        and d.code in ("CRC", "BAD_EOR", "BAD_LEN", "DATA_AFTER_END", "BAD_MAGIC")
    ]


def inside(ranges: list[tuple[int, int]], zxid: int) -> bool:
    return any(lo <= zxid <= hi for lo, hi in ranges)


def add(ranges: list[tuple[int, int]], lo: int, hi: int) -> None:
    """Add a range to others, merging those that touch it."""
    touching = [r for r in ranges if r[0] <= hi + 1 and lo <= r[1] + 1]
    for r in touching:
        ranges.remove(r)
        lo, hi = min(lo, r[0]), max(hi, r[1])
    ranges.append((lo, hi))
