"""Read the disk of a server as the audit does: logged zxids, snapshots, epochs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from traces.zookeeper.logs import Reader, read_log
from traces.zookeeper.memory import Scan
from traces.zookeeper.rules import first_line, parse_long
from traces.zookeeper.server import NotOne, find_directory

_readers: list[Reader] = []


@dataclass(frozen=True)
class Disk:
    """The contents of a server's disk, as a start would find them.

    Attributes:
        log: the zxids of its records, in the order in which they stand, and of its files.
        snapshots: the zxids after which snapshots are named, ascending.
        current, accepted: the epochs; -1 if there is no such file, or none that holds a number.
    """

    log: tuple[int, ...]
    snapshots: tuple[int, ...]
    current: int
    accepted: int


def read_disk(folder: Path) -> Disk:
    """Read the contents of a server's disk."""
    if not _readers:
        _readers.append(Reader(1 << 16))
    zxids: list[int] = []

    def visit(s: Scan) -> None:
        zxids.extend(s.zxid[n] for n in range(s.count))

    try:
        directory = find_directory([folder], folder.name)
    except NotOne:
        return Disk((), (), -1, -1)
    for named, path in directory.logs:
        read_log(path, named, _readers[0], visit)
    snapshots = tuple(sorted({zxid for zxid, path in directory.snapshots if path.exists() and path.stat().st_size}))
    found = [parse_long(first_line(directory.epochs.get(name))) for name in ("currentEpoch", "acceptedEpoch")]
    current, accepted = (-1 if epoch is None else epoch for epoch in found)
    return Disk(tuple(zxids), snapshots, current, accepted)
