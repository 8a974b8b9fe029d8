"""Replay a server's log: compare the tree after each transaction with its record's digest.

The tree that a restart would build from the newest snapshot is replayed too.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from traces.zookeeper.disk.logs import LogFile, Reader, read_log
from traces.zookeeper.disk.memory import Scan
from traces.zookeeper.disk.server import FIRST, Server
from traces.zookeeper.disk.snapshots import Snapshot, read_snapshot
from traces.zookeeper.disk.trees import DataTree, Node

Ends = Mapping[str, tuple[int, "Replayed", "Restart | None"]]  # last transaction, replay of the start, what it replays
UNSETTLED = 0x5A4B_0000_5A4B_0001  # a difference that no digest has: the first comparison is an event
WORD = (1 << 64) - 1


@dataclass
class Episode:
    """A stretch of a log in which the records' digests differ from the tree's.

    Attributes:
        wanted, found: the digests of the first such record: the record's, and the tree's.
        healed: the first record that agrees again; 0 if none does.
        settled: whether the tree was known to be right before.
    """

    zxid: int
    file: Path
    place: int
    wanted: int
    found: int
    before: int
    healed: int = 0
    changes: int = 0
    settled: bool = True


@dataclass
class Replayed:
    """The result of replaying a server's log.

    Attributes:
        captured: for each zxid asked for the digest of the tree, the sum of its contents, and whether the tree was
            taken to be right.
        base: the description of what it began with; empty if there was nothing to begin with.
        bases: the names of all snapshots from which it went on. last: the last transaction applied.
        unlisted: how many nodes have permissions that neither a snapshot nor a record lists.
    """

    base: str = ""
    bases: list[str] = field(default_factory=list)
    applied: int = 0
    checked: int = 0
    last: int = 0
    newest: int = 0
    unlisted: int = 0
    episodes: list[Episode] = field(default_factory=list)
    captured: dict[int, tuple[int, int, bool | None]] = field(default_factory=dict)
    states: list[tuple[int, bool | None]] = field(default_factory=list)

    def right_at(self, zxid: int) -> bool | None:
        """Return whether the tree after a transaction agreed with the log's digests; None if no digest shows it."""
        at = bisect.bisect_right([z for z, _ in self.states], zxid) - 1
        return self.states[at][1] if at >= 0 else None


@dataclass(frozen=True)
class Restart:
    """What a start replays: a snapshot, and log files, each up to a place."""

    base: Snapshot
    files: list[tuple[LogFile, int]]

    def stops(self) -> dict[Path, int]:
        return {f.path: stop for f, stop in self.files}


class Replay:
    """A server's log, replayed from a beginning on.

    Args:
        wanted: zxids at which the tree is captured.
        restart: what is replayed instead of the whole log.
    """

    def __init__(self, server: Server, wanted: Iterable[int] = (), restart: Restart | None = None) -> None:
        self.server, self.out = server, Replayed()
        self.restart = restart
        self.stops = self.stops_of(server)
        self.wanted = sorted(set(wanted))
        self.tree = DataTree()
        self.reader = Reader(sums=False)
        self.dead = True  # there is no tree to apply anything to
        self.open: Episode | None = None
        self.file = Path()
        self.segment_newest = self.previous = 0
        self.resets: dict[tuple[int, int], Snapshot | None] = {}

    # --- where it begins -----------------------------------------------------------------------

    def begin(self, snapshot: Snapshot | None) -> None:
        """Begin with a snapshot, or with the empty tree."""
        if snapshot is None:
            self.tree.begin_empty()
            self.settle(True, 0, 0)
            self.out.base = "the empty tree"
            return
        again = read_snapshot(snapshot.path, snapshot.zxid, self.tree)
        self.dead = not again.usable
        self.tree.tree.zxid = snapshot.zxid
        self.out.base = self.out.base or snapshot.name
        self.out.bases.append(snapshot.name)
        # before the first transaction there is nothing that could have come in while it was written
        self.settle(True if snapshot.zxid == 0 else None, snapshot.zxid, again.newest)

    def settle(self, right: bool | None, zxid: int, newest: int) -> None:
        """Accept a tree, known to be right or not."""
        self.end_segment()
        self.dead = False
        self.segment_newest = newest
        self.tree.tree.delta = UNSETTLED
        self.out.states.append((zxid, None))
        self.settled = bool(right)

    def stops_of(self, server: Server) -> dict[Path, int]:
        """Return the files with records that are read, and where the reading of each ends."""
        stops = self.restart.stops() if self.restart is not None else {f.path: f.end for f in server.logs}
        return {f.path: stops[f.path] for f in server.logs if f.first_place and f.path in stops}

    def first_base(self) -> None:
        """Begin with the restart's snapshot, the oldest that shows what was before the log, or the empty tree."""
        server = self.server
        first = server.runs[0] if server.runs else None
        usable = [s for s in server.snapshots if s.usable]
        below = [s for s in usable if first is not None and s.zxid < first.lo]
        if self.restart is not None:
            self.begin(self.restart.base)
        elif first is None:
            return
        elif first.link in ("gap", "epoch") and first.lo not in FIRST and server.begins_late(first):
            self.begin(next(s for s in usable if s.zxid >= first.lo - 1))  # the log before it was deleted
        elif below:
            self.begin(below[-1])
        elif first.lo in FIRST:
            self.begin(None)
        elif usable:
            self.begin(usable[0])

    # --- what is applied -------------------------------------------------------------------------

    def run(self) -> Replayed:
        """Replay all files."""
        self.find_resets()
        for n, f in enumerate(self.server.logs):
            if f.path in self.stops:
                self.index, self.file = n, f.path
                read_log(f.path, f.named, self.reader, self.visit, until=self.stops[f.path])
        t = self.tree.tree
        self.capture(t.zxid)
        return replace(
            self.out, applied=t.applied, checked=t.checked, last=t.zxid, newest=self.tree.newest(),
            unlisted=int(self.tree.unlisted(t)),
            episodes=[e for e in self.out.episodes if not (e is self.open and self.says_nothing)],
        )  # fmt: skip

    def find_resets(self) -> None:
        """Find where the log continues from a snapshot; a restart loads only one.

        Where the snapshot that it continued from was purged, what is before does not tell what is behind: the next
        snapshot has it.
        """
        if self.restart is not None:
            return
        usable = [s for s in self.server.snapshots if s.usable]
        for n, run in enumerate(self.server.runs):
            if run.link == "bridged":
                found = [s for s in usable if run.before <= s.zxid < run.lo]
                self.resets[(run.file, run.place)] = found[-1] if found else None
            elif run.link == "unknown" and n:
                self.resets[(run.file, run.place)] = next((s for s in usable if s.zxid >= run.lo), None)

    def visit(self, s: Scan) -> None:
        """Apply the entries of a piece of a file."""
        self.apply_until(s, s.count)
        self.previous = s.zxid[s.count - 1] if s.count else self.previous

    def apply_until(self, s: Scan, end: int) -> None:
        """Apply the first entries of a piece of a file, switching trees where the log continues from a snapshot."""
        start = 0
        places = [p for n, p in self.resets if n == self.index]
        for at in sorted(p for p in places if end and s.place[0] <= p <= s.place[end - 1]):
            k = next(e for e in range(start, end) if s.place[e] >= at)
            self.apply(s, start, k)
            self.reset(self.resets[(self.index, at)])
            start = k
        self.apply(s, start, end)

    def reset(self, snapshot: Snapshot | None) -> None:
        """Continue the log from a snapshot."""
        if snapshot is None:
            self.end_segment()
            self.dead = True
            self.out.states.append((self.tree.tree.zxid, None))
        elif snapshot.zxid > self.tree.tree.zxid or self.dead:
            applied, checked = self.tree.tree.applied, self.tree.tree.checked
            self.begin(snapshot)
            t = self.tree.tree
            t.applied, t.checked = t.applied + applied, t.checked + checked

    def apply(self, s: Scan, start: int, end: int) -> None:
        if self.dead:
            return
        while start < end:
            now = self.tree.tree.zxid
            at = bisect.bisect_right(self.wanted, now)
            stop = end
            if at < len(self.wanted) and s.zxid[end - 1] >= self.wanted[at]:
                stop = next((e for e in range(start, end) if s.zxid[e] > self.wanted[at]), end)
                stop = max(stop, start + 1)
            for entry, wanted, found in self.tree.apply(s, start, stop):
                self.compared(s, entry, wanted, found)
            self.capture(self.tree.tree.zxid)
            start = stop

    def capture(self, zxid: int) -> None:
        at = bisect.bisect_left(self.wanted, zxid)
        if not self.dead and at < len(self.wanted) and self.wanted[at] == zxid:
            t = self.tree.tree
            self.out.captured[zxid] = (t.total & WORD, t.content & WORD, self.out.right_at(zxid))

    def compared(self, s: Scan, entry: int, wanted: int, found: int) -> None:
        """Handle a record whose digest compares otherwise than the one before."""
        zxid, right = s.zxid[entry], wanted == found
        if right:
            if self.open is not None:
                self.open.healed = zxid
                if not self.open.settled:
                    self.out.episodes.remove(self.open)
                self.open = None
            self.settled = True
            self.out.states.append((zxid, True))
            return
        if self.open is None:
            before = s.zxid[entry - 1] if entry else self.previous
            self.open = Episode(
                zxid, self.file, s.place[entry], wanted & WORD, found & WORD, before, settled=self.settled
            )
            self.out.episodes.append(self.open)
            self.out.states.append((zxid, False if self.settled else None))
        else:
            self.open.changes += 1
            if not self.open.settled and zxid > self.segment_newest and self.open.zxid <= self.segment_newest:
                self.open.zxid, self.open.place, self.open.file = zxid, s.place[entry], self.file
                self.open.wanted, self.open.found = wanted & WORD, found & WORD

    @property
    def says_nothing(self) -> bool:
        """Return whether the current difference may come from the snapshot alone.

        It was never right, and the log does not go beyond what the snapshot may contain, which was written while
        transactions came in.
        """
        return self.open is not None and not self.open.settled and self.tree.tree.zxid <= self.segment_newest

    def end_segment(self) -> None:
        """End the part of the log that was replayed on one tree."""
        if self.says_nothing:
            self.out.episodes = [e for e in self.out.episodes if e is not self.open]
        self.open = None
        self.settled = False


def replayed(server: Server, wanted: Iterable[int] = (), restart: Restart | None = None) -> Replayed:
    """Replay a server's whole log from the oldest possible beginning, or what it has after a restart."""
    replay = Replay(server, wanted, restart)
    if restart is None and not server.records:
        return replay.out
    replay.first_base()
    return replay.run()


def tree_at(server: Server, zxid: int, restart: Restart | None) -> dict[str, Node]:
    """Return the nodes of a server's tree after a transaction, by path."""
    replay = Replay(server, [zxid], restart)
    replay.first_base()
    replay.find_resets()
    kept: dict[str, Node] = {}

    def visit(s: Scan) -> None:
        end = next((e for e in range(s.count) if s.zxid[e] > zxid), s.count)
        if not kept:
            replay.apply_until(s, end)
        if end < s.count and not kept:
            kept.update({n.path: n for n in replay.tree.nodes()})

    for n, f in enumerate(server.logs):
        if f.path in replay.stops:
            replay.index, replay.file = n, f.path
            read_log(f.path, f.named, replay.reader, visit, until=replay.stops[f.path])
    return kept or {n.path: n for n in replay.tree.nodes()}
