"""Directories of one server, each with something that decides whether it starts; and a real server started on one."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.servers import official
from tests.zookeeper.real import free_ports, read_tree
from tests.zookeeper.test_findings import OLD, TXNS, bytes_of, place_of
from tests.zookeeper.written import HEAD, Txn, Written, create, server, snapshot_bytes, tree_of, zxid
from traces.zookeeper.audit.starting import read_by_start
from traces.zookeeper.disk.logs import Reader, read_log
from traces.zookeeper.disk.memory import Scan
from traces.zookeeper.disk.rules import Rules
from traces.zookeeper.disk.server import Server
from traces.zookeeper.disk.snapshots import read_snapshot
from traces.zookeeper.disk.trees import DataTree, Node

VOTE = re.compile(r"New election\. My id =\s+\d+, proposed zxid\s*=\s*0x([0-9a-f]+)")
SECONDS = 60.0


def healthy(t: list[Txn]) -> Written:
    return server(t)


def current_behind(t: list[Txn]) -> Written:
    return with_epochs(server(t), 2, 3)


def accepted_behind(t: list[Txn]) -> Written:
    return with_epochs(server(t), 3, 2)


def epochs_ahead(t: list[Txn]) -> Written:
    return with_epochs(server(t), 7, 9)


def epoch_files_missing(t: list[Txn]) -> Written:
    return with_epochs(server(t), None)


def accepted_missing(t: list[Txn]) -> Written:
    out = with_epochs(server(t), None)
    out.raw["currentEpoch"] = b"4"
    return out


def current_pending(t: list[Txn]) -> Written:
    out = with_epochs(server(t), 2, 3)
    out.raw["currentEpoch.tmp"] = b"3"
    return out


def pending_above_accepted(t: list[Txn]) -> Written:
    out = with_epochs(server(t), 2, 3)
    out.raw["currentEpoch.tmp"] = b"5"
    return out


def marked_by_3_4(t: list[Txn]) -> Written:
    out = with_epochs(server(t), 2, 3)
    out.raw["updatingEpoch"] = b""
    return out


def epoch_is_no_number(t: list[Txn]) -> Written:
    out = server(t)
    out.raw["currentEpoch"] = b"three"
    return out


def no_snapshot(t: list[Txn]) -> Written:
    return server(t, first=False)


def no_snapshot_and_logs_begin_late(t: list[Txn]) -> Written:
    return server(t[8:], zxid(2, 1), first=False)


def nothing_but_epochs(t: list[Txn]) -> Written:
    return Written({}, {}, current=3)


def deleted_below_a_snapshot(t: list[Txn]) -> Written:
    return with_later(server(t[8:], zxid(2, 4)))


def gap(t: list[Txn]) -> Written:
    return server([x for x in t if x.zxid != zxid(2, 3)])


def gap_below_a_snapshot(t: list[Txn]) -> Written:
    return with_later(server([x for x in t if x.zxid != zxid(2, 3)]))


def newest_snapshot_broken(t: list[Txn]) -> Written:
    out = with_later(server(t))
    data = bytearray(out.snapshots[zxid(2, 8)])
    data[300] ^= 4
    out.snapshots[zxid(2, 8)] = bytes(data)
    return out


def only_snapshot_broken(t: list[Txn]) -> Written:
    out = newest_snapshot_broken(t)
    del out.snapshots[0]
    return out


def newest_snapshot_torn(t: list[Txn]) -> Written:
    out = with_later(server(t))
    out.snapshots[zxid(2, 8)] = out.snapshots[zxid(2, 8)][:200]
    return out


def checksum_wrong(t: list[Txn]) -> Written:
    return changed(t, zxid(2, 3), 60, 1)


def mark_wrong(t: list[Txn]) -> Written:
    return changed(t, zxid(2, 3), len(t[16].record()) - 1, 1)


def mark_wrong_and_another_file(t: list[Txn]) -> Written:
    """What is behind it in its file is dropped, the next file is read."""
    out = changed([x for x in t if x.zxid < zxid(3, 1)], zxid(2, 3), len(t[16].record()) - 1, 1)
    out.files[zxid(3, 1)] = [x for x in t if x.zxid >= zxid(3, 1)]
    return out


def length_unreasonable(t: list[Txn]) -> Written:
    return changed(t, zxid(2, 3), 8, 64)


def length_negative(t: list[Txn]) -> Written:
    return changed(t, zxid(2, 3), 8, 128)


def length_past_the_end(t: list[Txn]) -> Written:
    return changed(t, zxid(2, 3), 10, 64)


def length_zero(t: list[Txn]) -> Written:
    data = bytearray(bytes_of(t))
    at = place_of(t, zxid(2, 3))
    data[at + 8 : at + 12] = bytes(4)
    return as_log(bytes(data))


def torn_tail(t: list[Txn]) -> Written:
    return as_log((HEAD + b"".join(x.record() for x in t))[:-9])


def last_log_empty(t: list[Txn]) -> Written:
    out = server(t)
    out.raw[f"log.{zxid(3, 7):x}"] = b""
    return out


def last_log_half_a_header(t: list[Txn]) -> Written:
    out = server(t)
    out.raw[f"log.{zxid(3, 7):x}"] = HEAD[:7]
    return out


def last_log_only_a_header(t: list[Txn]) -> Written:
    out = server(t)
    out.raw[f"log.{zxid(3, 7):x}"] = HEAD + bytes(4080)
    return out


def last_log_zeros(t: list[Txn]) -> Written:
    out = server(t)
    out.raw[f"log.{zxid(3, 7):x}"] = bytes(4096)
    return out


def random_log(t: list[Txn]) -> Written:
    out = server(t)
    out.raw[f"log.{zxid(3, 7):x}"] = bytes(range(7, 250))
    return out


def packed_copy_that_is_read(t: list[Txn]) -> Written:
    out = server(t, zxid(3, 1))
    out.raw[f"log.{zxid(3, 1):x}.gz"] = b"\x1f\x8b" + bytes(100)
    return out


def packed_copy_that_is_not_read(t: list[Txn]) -> Written:
    out = with_later(server(t, zxid(2, 4), zxid(3, 1)))
    out.raw[f"log.{zxid(1, 1):x}.gz"] = b"\x1f\x8b" + bytes(100)
    return out


def stray_file_with_the_name_of_a_log(t: list[Txn]) -> Written:
    out = server(t)
    out.raw |= {"log.5.fixed~": b"", "log.xyz": b"?", "README": b"x"}
    return out


def abandoned_below_a_later_snapshot(t: list[Txn]) -> Written:
    lost = [replace(x, zxid=zxid(1, 15 + n), digest=None) for n, x in enumerate(t[1:4])]
    out = server([*t[:14], *lost, *t[19:]], zxid(2, 6))
    out.snapshots[zxid(2, 5)] = snapshot_bytes(tree_of(t[:19]), 0)
    return out


KINDS: tuple[Callable[[list[Txn]], Written], ...] = (
    healthy, current_behind, accepted_behind, epochs_ahead, epoch_files_missing, accepted_missing, current_pending,
    pending_above_accepted, marked_by_3_4, epoch_is_no_number, no_snapshot, no_snapshot_and_logs_begin_late,
    nothing_but_epochs, deleted_below_a_snapshot, gap, gap_below_a_snapshot, newest_snapshot_broken,
    only_snapshot_broken, newest_snapshot_torn, checksum_wrong, mark_wrong, mark_wrong_and_another_file,
    length_unreasonable, length_negative, length_past_the_end, length_zero, torn_tail, last_log_empty,
    last_log_half_a_header, last_log_only_a_header, last_log_zeros, random_log, packed_copy_that_is_read,
    packed_copy_that_is_not_read, stray_file_with_the_name_of_a_log, abandoned_below_a_later_snapshot,
)  # fmt: skip


# --- names, places and limits, for which releases have rules of their own ---------------------------------

BEFORE, SINCE = 0xFFFFF + 1024, 2 * 0xFFFFF  # bytes of the longest record that is read: before 3.5.7, and since


def snapshot_with_a_suffix(t: list[Txn]) -> Written:
    out = server(t)
    later = Txn(zxid(3, 7), *create("/later"))
    out.raw[f"snapshot.{later.zxid:x}.bad"] = snapshot_bytes(tree_of([*t, later]), None)
    return out


def log_with_a_suffix(t: list[Txn]) -> Written:
    out = server(t[:-2])
    out.raw[f"log.{t[-2].zxid:x}.bak"] = HEAD + b"".join(x.record() for x in t[-2:])
    return out


def record_of(length: int) -> Callable[[list[Txn]], Written]:
    def kind(t: list[Txn]) -> Written:
        least = len(Txn(zxid(3, 7), *create("/large", b"")).record()) - 13
        return server([*t, Txn(zxid(3, 7), *create("/large", bytes(length - least)))])

    kind.__name__ = f"record_of_{length}"
    return kind


def node_of(length: int) -> Callable[[list[Txn]], Written]:
    def kind(t: list[Txn]) -> Written:
        out, large = server(t), Txn(zxid(3, 7), *create("/large", bytes(length)))
        out.snapshots[large.zxid] = snapshot_bytes(tree_of([*t, large]), None)
        return out

    kind.__name__ = f"node_of_{length}"
    return kind


def placed(name: str) -> Callable[[list[Txn]], Written]:
    def kind(t: list[Txn]) -> Written:
        return server(t, zxid(3, 1))

    kind.__name__ = name
    return kind


# of kinds with a dataLogDir the beginnings of the files that are in it
PLACES: dict[str, tuple[str, ...]] = {
    "logs_in_a_directory": ("log.",), "a_log_left_behind": (f"log.{zxid(3, 1):x}",), "all_left_behind": (),
    "snapshot_beside_the_logs": ("log.", "snapshot."), "swapped": ("snapshot.",),
}  # fmt: skip
LIMITS: tuple[Callable[[list[Txn]], Written], ...] = (
    snapshot_with_a_suffix, log_with_a_suffix, *map(placed, PLACES),
    *(kind(length + more) for length in (BEFORE, SINCE) for kind in (record_of, node_of) for more in (0, 1)),
)  # fmt: skip


def log_directory(kind: str, directory: Path) -> list[Path]:
    """Move what a kind has in a dataLogDir there; return the directories of the server."""
    if kind not in PLACES:
        return [directory]
    logs = directory.with_name("logs")
    (logs / "version-2").mkdir(parents=True)
    for path in sorted((directory / "version-2").iterdir()):
        if path.name.startswith(PLACES[kind]):
            path.rename(logs / "version-2" / path.name)
    return [directory, logs]


def with_epochs(out: Written, current: int | None, accepted: int | None = None) -> Written:
    out.current, out.accepted = current, accepted
    return out


def with_later(out: Written) -> Written:
    """With a snapshot of 2:8, as those before 3.6 wrote it."""
    out.snapshots[zxid(2, 8)] = snapshot_bytes(tree_of(TXNS[:22]), None)
    return out


def as_log(data: bytes) -> Written:
    return Written({}, {0: snapshot_bytes(tree_of([]), None)}, current=3, raw={f"log.{zxid(1, 1):x}": data})


def changed(t: list[Txn], z: int, at: int, bit: int) -> Written:
    data = bytearray(bytes_of(t))
    data[place_of(t, z) + at] ^= bit
    return as_log(bytes(data))


def txns_of(release: str) -> list[Txn]:
    """Records as the release writes them: before 3.6 without digests."""
    return OLD if release.startswith(("3.4", "3.5")) else TXNS


# --- a real server ----------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a real server did: its first vote, or its log where it ended; what a client reads of it."""

    zxid: int | None = None
    log: str = ""
    tree: dict[str, bytes] = field(default_factory=dict)


def started(release: str, directories: list[Path], work: Path, alone: bool = False) -> Seen:
    """Start a server of a release on a copy of its directories, in an ensemble of which no other server is there; from
    3.5 on in one of which it is the only server, so that it leads, and clients can read from it.

    Args:
        alone: as a standalone server, which 3.4 needs for that; it asks no epoch file.
    """
    folder = work / "data"
    for path, copy in zip(directories, (folder, work / "logs"), strict=False):
        shutil.copytree(path, copy)
    (folder / "myid").write_text("1")
    client, *ports = free_ports(7)
    old = release.startswith("3.4")
    lines = ["tickTime=200", "initLimit=60", "syncLimit=30", f"dataDir={folder}", f"clientPort={client}",
             "clientPortAddress=127.0.0.1", "4lw.commands.whitelist=*", "admin.enableServer=false"]  # fmt: skip
    lines += [f"dataLogDir={work / 'logs'}"] if len(directories) > 1 else []
    lines += ["standaloneEnabled=false", "reconfigEnabled=false"] if not old else []
    count = 0 if alone else 3 if old else 1
    lines += [f"server.{n + 1}=127.0.0.1:{ports[2 * n]}:{ports[2 * n + 1]}" for n in range(count)]
    (work / "zoo.cfg").write_text("\n".join(lines) + "\n")
    out, path = Seen(), work / "log.txt"
    with path.open("wb") as log:
        command = official(release).command(work / "zoo.cfg", "-Xmx96m")
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=work)
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and process.poll() is None and out.zxid is None and not alone:
            found = VOTE.search(path.read_text(errors="replace"))
            if found:
                out.zxid = int(found[1], 16)
                break
            time.sleep(0.1)
        if process.poll() is None and (alone or not old):
            out.tree = tree_from(client)
    finally:
        process.kill()
        process.wait()
    out.log = path.read_text(errors="replace")
    return out


def tree_from(port: int) -> dict[str, bytes]:
    import logging

    from kazoo.client import KazooClient

    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    client = KazooClient(f"127.0.0.1:{port}", timeout=20)
    try:
        client.start(30)
        return read_tree(client)
    finally:
        with contextlib.suppress(Exception):
            client.stop()
            client.close()


def start_tree(server: Server, rules: Rules) -> dict[str, Node]:
    """Return the nodes that a server starts with, by path."""
    reading, tree = read_by_start(server, rules), DataTree()
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
