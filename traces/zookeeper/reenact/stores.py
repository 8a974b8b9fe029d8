"""Read the disk of a server as its release does: logged zxids, snapshots, epochs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from traces.zookeeper.audit.starting import read_by_start
from traces.zookeeper.disk.logs import Reader, read_log
from traces.zookeeper.disk.rules import rules_for
from traces.zookeeper.disk.server import NotOne, Server, find_directory
from traces.zookeeper.disk.snapshots import read_snapshot
from traces.zookeeper.disk.trees import DataTree


@dataclass(frozen=True)
class Disk:
    """The contents of a server's disk, as a start would find them.

    Attributes:
        log: the zxids of its records, in the order in which they stand, and of its files.
        snapshots: the zxids after which snapshots are named that a start can load, ascending.
        current, accepted: the epochs; -1 if there is no such file, or none that holds a number.
    """

    log: tuple[int, ...]
    snapshots: tuple[int, ...]
    current: int
    accepted: int


@cache
def log_reader() -> Reader:
    return Reader(1 << 16)


def read_disk(folder: Path, release: str) -> Disk:
    """Read what a release reads of a server's disk."""
    try:
        directory = find_directory([folder], folder.name)
    except NotOne:
        return Disk((), (), -1, -1)
    logs = [read_log(path, named, log_reader()) for named, path in directory.logs]
    whole = Server(directory, logs, [read_snapshot(path, named, DataTree()) for named, path in directory.snapshots])
    whole.follow()
    reading = read_by_start(whole, rules_for(release))
    runs = [r for r in reading.server.runs if r.place < reading.stop(r) or reading.stop(r) < 0]
    snapshots = tuple(sorted({x.zxid for x in reading.server.snapshots if x.usable}))
    log = tuple(zxid for r in runs for zxid in range(r.lo, r.hi + 1))
    return Disk(log, snapshots, whole.epoch(), whole.epoch("acceptedEpoch"))
