"""What operators do to real servers' files; `tests/zookeeper/drawn.py` has the same for disks that are written."""

from __future__ import annotations

import gzip
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

Accident = Callable[[list[Path], random.Random], None]
HEADER = 16  # bytes of a log before its first record


def version_2(folder: Path) -> Path:
    return folder / "version-2"


def logs(folder: Path) -> list[Path]:
    """Return the logs of a server, the oldest first."""
    return by_zxid(version_2(folder).glob("log.*"))


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of a server, the oldest first."""
    return by_zxid(version_2(folder).glob("snapshot.*"))


def by_zxid(paths: Iterator[Path]) -> list[Path]:
    return sorted(paths, key=zxid_of)


def zxid_of(path: Path) -> int:
    return int(path.name.split(".")[1], 16)


def records(path: Path) -> list[tuple[int, int, int]]:
    """Return of each record of a log its place, its end and its zxid."""
    data, at, out = path.read_bytes(), HEADER, []
    while at + 12 <= len(data):
        length = struct.unpack_from(">i", data, at + 8)[0]
        if length <= 0:
            break
        out.append((at, at + 12 + length + 1, struct.unpack_from(">q", data, at + 24)[0]))
        at = out[-1][1]
    return out


def cut(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.truncate(place)


def set_epochs(folder: Path, epoch: int) -> None:
    for name in ("currentEpoch", "acceptedEpoch"):
        (version_2(folder) / name).write_text(str(epoch))


def keep_until(folder: Path, choose: random.Random) -> int:
    """Take a server back to a record of its logs, as a backup would; return that record's zxid, 0 if there is none."""
    found = [(path, place, end, zxid) for path in logs(folder) for place, end, zxid in records(path)]
    if not found:
        return 0
    path, _, end, zxid = found[choose.randrange(len(found))]
    for other in logs(folder):
        if zxid_of(other) > zxid_of(path):
            other.unlink()
    cut(path, end)
    for snapshot in snapshots(folder):
        if zxid_of(snapshot) > zxid:
            snapshot.unlink()
    return zxid


# --- the accidents ---------------------------------------------------------------------------------------------


def backup_restored(folders: list[Path], choose: random.Random) -> None:
    """Set all of one server back, epoch files too."""
    folder = choose.choice(folders)
    if zxid := keep_until(folder, choose):
        set_epochs(folder, zxid >> 32)


def backup_with_newer_epochs(folders: list[Path], choose: random.Random) -> None:
    keep_until(choose.choice(folders), choose)


def epoch_files_removed(folders: list[Path], choose: random.Random) -> None:
    folder = choose.choice(folders)
    for name in ("currentEpoch", "acceptedEpoch"):
        (version_2(folder) / name).unlink(missing_ok=True)


def tail_cut(folders: list[Path], choose: random.Random) -> None:
    """Cut a log's last records off, also within one."""
    of = [f for f in folders if logs(f) and records(logs(f)[-1])]
    if of:
        path = logs(choose.choice(of))[-1]
        place, end, _ = choose.choice(records(path)[-20:])
        cut(path, choose.randrange(place, end) if choose.random() < 0.5 else place)


def emptied(folders: list[Path], choose: random.Random) -> None:
    folder = version_2(choose.choice(folders))
    shutil.rmtree(folder)
    folder.mkdir()


def copied_from_another(folders: list[Path], choose: random.Random) -> None:
    """Give a server the files of another, but not its myid."""
    source, target = choose.sample(folders, 2)
    shutil.rmtree(version_2(target))
    shutil.copytree(version_2(source), version_2(target))


def last_log_removed(folders: list[Path], choose: random.Random) -> None:
    of = [f for f in folders if len(logs(f)) > 1]
    if of:
        logs(choose.choice(of))[-1].unlink()


def last_snapshot_removed(folders: list[Path], choose: random.Random) -> None:
    of = [f for f in folders if len(snapshots(f)) > 1]
    if of:
        snapshots(choose.choice(of))[-1].unlink()


def purged(folders: list[Path], choose: random.Random) -> None:
    """Do what `zkCleanup.sh -n 3` does, on all servers; one keeps the removed logs as compressed copies."""
    kept = choose.choice(folders)
    for folder in folders:
        least = snapshots(folder)[-3:][0] if snapshots(folder) else None
        needed = [p for p in logs(folder) if least is not None and zxid_of(p) <= zxid_of(least)]
        for path in [*needed[:-1], *snapshots(folder)[:-3]]:
            if folder is kept and path.name.startswith("log"):
                # a name that no release takes for a log
                path.with_name(f"old-{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()


def empty_log_behind(folders: list[Path], choose: random.Random) -> None:
    """Add a log of 0 bytes, as a full disk leaves it."""
    of = [f for f in folders if logs(f) and records(logs(f)[-1])]
    if of:
        folder = choose.choice(of)
        last = records(logs(folder)[-1])[-1][2]
        (version_2(folder) / f"log.{last + 1:x}").write_bytes(b"")


ON_FILES: tuple[Accident, ...] = (
    backup_restored, backup_with_newer_epochs, epoch_files_removed, tail_cut, emptied, copied_from_another,
    last_log_removed, last_snapshot_removed, purged, empty_log_behind,
)  # fmt: skip
