"""Directories of one server (`starts.txt`), and a real server started on one."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.servers import official
from tests.zookeeper.directories import directory
from tests.zookeeper.healthy import OLD, TXNS
from tests.zookeeper.real import free_ports, read_tree
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


KINDS: dict[str, Callable[[list[Txn]], Written]] = {
    name: partial(directory, words)
    for name, words in re.findall(r"^(\w+): (.*)", Path(__file__).with_name("starts.txt").read_text(), re.MULTILINE)
}


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


def record_of(length: int, t: list[Txn]) -> Written:
    least = len(Txn(zxid(3, 7), *create("/large", b"")).record()) - 13
    return server([*t, Txn(zxid(3, 7), *create("/large", bytes(length - least)))])


def node_of(length: int, t: list[Txn]) -> Written:
    out, large = server(t), Txn(zxid(3, 7), *create("/large", bytes(length)))
    out.snapshots[large.zxid] = snapshot_bytes(tree_of([*t, large]), None)
    return out


# of kinds with a dataLogDir the beginnings of the files that are in it
PLACES: dict[str, tuple[str, ...]] = {
    "logs_in_a_directory": ("log.",), "a_log_left_behind": (f"log.{zxid(3, 1):x}",), "all_left_behind": (),
    "snapshot_beside_the_logs": ("log.", "snapshot."), "swapped": ("snapshot.",),
}  # fmt: skip
LIMITS: dict[str, Callable[[list[Txn]], Written]] = {
    "snapshot_with_a_suffix": snapshot_with_a_suffix, "log_with_a_suffix": log_with_a_suffix,
    **{name: partial(directory, "1:1..2:10 | 3:1..3:6") for name in PLACES},
    **{f"{kind.__name__}_{length + more}": partial(kind, length + more)
       for length in (BEFORE, SINCE) for kind in (record_of, node_of) for more in (0, 1)},
}  # fmt: skip


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
        command = official(release).command(work / "zoo.cfg", "-Xmx96m", "-XX:+UseSerialGC")
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
