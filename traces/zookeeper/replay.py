"""A server's log replayed: the tree that each transaction leaves, held against the digest behind its record; and the
tree that a restart would build from the newest snapshot."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from traces.zookeeper.logs import Reader, read_log
from traces.zookeeper.memory import Scan
from traces.zookeeper.server import Server
from traces.zookeeper.snapshots import Snapshot, read_snapshot
from traces.zookeeper.trees import DataTree, Node

__all__ = ["Episode", "Replay", "Replayed", "replayed", "restart_base", "tree_at"]

UNSETTLED = 0x5A4B_0000_5A4B_0001  # a difference that no digest has: the first comparison is an event
WORD = (1 << 64) - 1


@dataclass
class Episode:
    """From a record on whose digest is not the tree's, as long as it is not again.

    Attributes:
        wanted, found: the digests of the first such record: what it says, and what the tree has.
        healed: the first record that agrees again; 0: none does.
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
    """What replaying a server's log came to.

    Attributes:
        captured: of the zxids asked for: digest of the tree, sum of contents, whether the tree was held to be right.
        base: what it began with, in words; empty: there was nothing to begin with.
        last: the last transaction applied.
    """

    base: str = ""
    applied: int = 0
    checked: int = 0
    missed: int = 0
    last: int = 0
    newest: int = 0
    episodes: list[Episode] = field(default_factory=list)
    captured: dict[int, tuple[int, int, bool | None]] = field(default_factory=dict)
    states: list[tuple[int, bool | None]] = field(default_factory=list)

    def right_at(self, zxid: int) -> bool | None:
        """Whether the tree behind a transaction was as the records say; None: there is nothing that says so."""
        at = bisect.bisect_right([z for z, _ in self.states], zxid) - 1
        return self.states[at][1] if at >= 0 else None


def restart_base(server: Server) -> Snapshot | None:
    """The snapshot that the server begins with when it starts: the newest that it can load."""
    usable = [s for s in server.snapshots if s.usable]
    return usable[-1] if usable else None


class Replay:
    """A server's log, replayed from a beginning on.

    Args:
        wanted: zxids at which the tree is captured.
    """

    def __init__(self, server: Server, wanted: Iterable[int] = ()) -> None:
        self.server, self.out = server, Replayed()
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
        """From a snapshot, or from the empty tree."""
        if snapshot is None:
            self.tree.begin_empty()
            self.settle(True, 0, 0)
            self.out.base = "the empty tree"
            return
        again = read_snapshot(snapshot.path, snapshot.zxid, self.tree)
        self.dead = not again.usable
        self.tree.tree.zxid = snapshot.zxid
        self.out.base = self.out.base or snapshot.name
        # before the first transaction there is nothing that could have come in while it was written
        self.settle(True if snapshot.zxid == 0 else None, snapshot.zxid, again.newest)

    def settle(self, right: bool | None, zxid: int, newest: int) -> None:
        """A tree is there, known to be right or not."""
        self.end_segment()
        self.dead = False
        self.segment_newest = newest
        self.tree.tree.delta = UNSETTLED
        self.out.states.append((zxid, None))
        self.settled = bool(right)

    def first_base(self) -> None:
        """What the whole log begins with: the oldest snapshot that says what was there, or nothing."""
        server = self.server
        first = server.runs[0] if server.runs else None
        usable = [s for s in server.snapshots if s.usable]
        below = [s for s in usable if first is not None and s.zxid < first.lo]
        if first is None:
            return
        if below:
            self.begin(below[-1])
        elif first.lo == (1 << 32) + 1:
            self.begin(None)
        elif usable:
            self.begin(usable[0])

    # --- what is applied -------------------------------------------------------------------------

    def run(self, start: int = 0) -> Replayed:
        """Through all files from one on."""
        for run in self.server.runs:
            if run.link == "bridged":
                found = [s for s in self.server.snapshots if s.usable and run.before <= s.zxid < run.lo]
                self.resets[(run.file, run.place)] = found[-1] if found else None
        for n, f in enumerate(self.server.logs):
            if n >= start and f.first_place:
                self.index, self.file = n, f.path
                read_log(f.path, f.named, self.reader, self.visit, until=f.end)
        self.end_segment()
        t = self.tree.tree
        self.out.applied, self.out.checked, self.out.missed = t.applied, t.checked, t.missed
        self.out.last, self.out.newest = t.zxid, self.tree.newest()
        self.capture(t.zxid)
        return self.out

    def visit(self, s: Scan) -> None:
        """The entries of a piece of a file, up to each place at which the tree is another."""
        start = 0
        places = [p for n, p in self.resets if n == self.index]
        for at in sorted(p for p in places if s.count and s.place[0] <= p <= s.place[s.count - 1]):
            k = next(e for e in range(start, s.count) if s.place[e] >= at)
            self.apply(s, start, k)
            self.reset(self.resets[(self.index, at)])
            start = k
        self.apply(s, start, s.count)
        self.previous = s.zxid[s.count - 1] if s.count else self.previous

    def reset(self, snapshot: Snapshot | None) -> None:
        """The log goes on from a snapshot."""
        if snapshot is None:
            self.end_segment()
            self.dead = True
            self.out.states.append((self.tree.tree.zxid, None))
        elif snapshot.zxid > self.tree.tree.zxid or self.dead:
            applied, checked, missed = self.tree.tree.applied, self.tree.tree.checked, self.tree.tree.missed
            self.begin(snapshot)
            t = self.tree.tree
            t.applied, t.checked, t.missed = t.applied + applied, t.checked + checked, t.missed + missed

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
        """A digest came out otherwise than the one before."""
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

    def end_segment(self) -> None:
        """What was never right, from a snapshot that was written while transactions came in, says nothing unless
        the log goes on behind all that it can hold."""
        if self.open is not None and not self.open.settled and self.tree.tree.zxid <= self.segment_newest:
            self.out.episodes.remove(self.open)
        self.open = None
        self.settled = False


def replayed(server: Server, wanted: Iterable[int]) -> Replayed:
    """A server's whole log, from the oldest beginning that there is."""
    replay = Replay(server, wanted)
    if not server.records:
        return replay.out
    replay.first_base()
    return replay.run()


def restarted(server: Server, base: Snapshot, wanted: Iterable[int] = ()) -> Replayed:
    """What a server has after a restart: a snapshot and all records behind it, whatever lies between."""
    replay = Replay(server, wanted)
    replay.begin(base)
    replay.resets = {}
    start = max((n for n, f in enumerate(server.logs) if f.named <= base.zxid), default=0)
    for n, f in enumerate(server.logs):
        if n >= start and f.first_place:
            replay.index, replay.file = n, f.path
            read_log(f.path, f.named, replay.reader, replay.visit, until=f.end)
    replay.end_segment()
    t = replay.tree.tree
    replay.out.last, replay.out.newest = t.zxid, replay.tree.newest()
    replay.out.applied, replay.out.checked, replay.out.missed = t.applied, t.checked, t.missed
    replay.capture(t.zxid)
    return replay.out


def tree_at(server: Server, zxid: int, base: Snapshot | None) -> dict[str, Node]:
    """The nodes of a server's tree behind a transaction, by their paths."""
    replay = Replay(server, [zxid])
    if base is None:
        replay.first_base()
    else:
        replay.begin(base)
    kept: dict[str, Node] = {}

    def visit(s: Scan) -> None:
        end = next((e for e in range(s.count) if s.zxid[e] > zxid), s.count)
        if not kept:
            replay.apply(s, 0, end)
        if end < s.count and not kept:
            kept.update({n.path: n for n in replay.tree.nodes()})

    for f in server.logs:
        read_log(f.path, f.named, replay.reader, visit, until=f.end)
    return kept or {n.path: n for n in replay.tree.nodes()}
