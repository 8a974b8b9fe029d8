"""Hold the audit against official servers: draw directories, ask what starts and what is lost, and start the servers.

python -m benchmarks.directories --release 3.9.5 --count 20 --seed 1 [--servers FOLDER]

The servers are found as by `zabcheck reenact`; Java must be a JDK. An ensemble of the release runs on loopback, with
loads and kills; its directories are copied and changed, one to three times each: names, suffixes, places, sizes,
members, epochs, snapshots, myid. Of each directory the audit says what starts, who leads and whether data is whole;
then every quorum is started first, once, on a copy, and the third server after it. Differences are listed.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

from checker.zookeeper.report.audit import Audited
from traces.zookeeper.audit.audit import audit
from traces.zookeeper.disk.rules import zxid_in
from traces.zookeeper.disk.server import NotOne, find_directory
from traces.zookeeper.reenact.distributions import Release, find_release
from traces.zookeeper.reenact.servers import free_ports
from zabspec.zoo_cfg import parse

OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SILENT = '<configuration><root level="OFF"/></configuration>'
BRIEF, SECONDS = 8.0, 30.0  # that servers get to serve, and where that differs from the audit
OLD = 3600  # seconds since files were written, so that no server seems to run
NUMBERS = (1, 2, 3)
Nodes = dict[str, tuple[str, int]]


# --- a directory -------------------------------------------------------------------------------------


@dataclass
class Drawn:
    """The directories of three servers, in a folder of their own.

    Attributes:
        nodes: what clients were told is written.
        logs: the servers whose logs have a directory of their own.
        told: the changes, in words.
    """

    folder: Path
    release: str
    nodes: Nodes
    logs: set[int] = field(default_factory=set)
    told: list[str] = field(default_factory=list)

    def data(self, n: int) -> Path:
        return self.folder / f"server{n}" / "version-2"

    def logs_of(self, n: int) -> Path:
        return self.folder / f"logs{n}" / "version-2" if n in self.logs else self.data(n)

    def files(self, n: int, prefix: str) -> list[Path]:
        """Return a server's logs or snapshots, by their zxids."""
        place = self.logs_of(n) if prefix == "log" else self.data(n)
        found = [p for p in place.glob(f"{prefix}.*") if zxid_in(p.name, prefix) >= 0]
        return sorted(found, key=lambda p: (zxid_in(p.name, prefix), p.name))

    def top(self, n: int) -> int:
        return max((zxid_in(p.name, "log") for p in self.files(n, "log")), default=0)

    def words(self, n: int) -> list[Path]:
        """Return what an audit is given of a server."""
        own = [self.data(n).parent]
        return [*own, self.logs_of(n).parent] if n in self.logs else own

    def copy(self, to: Path) -> Drawn:
        shutil.copytree(self.folder, to, symlinks=True)
        return Drawn(to, self.release, self.nodes, set(self.logs), list(self.told))

    def config(self, n: int, ports: list[int]) -> str:
        """Return the configuration of a server; `ports` has those of clients, then quorum and election."""
        lines = [
            "tickTime=100", "initLimit=600", "syncLimit=300", "admin.enableServer=false", "maxClientCnxns=0",
            "maxSessionTimeout=60000",
            f"dataDir={self.data(n).parent}", f"clientPort={ports[n - 1]}", "clientPortAddress=127.0.0.1",
        ]  # fmt: skip
        lines += [f"dataLogDir={self.logs_of(n).parent}"] if n in self.logs else []
        lines += ["standaloneEnabled=false"] if not self.release.startswith("3.4") else []
        return "\n".join([*lines, *(f"server.{k}=127.0.0.1:{ports[2 + k]}:{ports[5 + k]}" for k in NUMBERS)]) + "\n"


# --- the changes --------------------------------------------------------------------------------------


Change = Callable[[Drawn, int, random.Random], str]


def snapshot_renamed(d: Drawn, n: int, draw: random.Random) -> str:
    """Give a snapshot a suffix."""
    path = draw.choice(d.files(n, "snapshot"))
    suffix = draw.choice((".bad", ".bak", ".tmp", ".gz", ".snappy", ".", ".1"))
    path.rename(path.with_name(path.name + suffix))
    return f"{path.name} renamed to {path.name}{suffix}"


def snapshot_blank(d: Drawn, n: int, draw: random.Random) -> str:
    """Copy the first snapshot under a later name."""
    blank = d.files(n, "snapshot")[0]
    zxid = max(1, d.top(n) + draw.choice((-3, -1, 0, 2, 5, 200, 1 << 32)))
    shutil.copy(blank, blank.with_name(f"snapshot.{zxid:x}"))
    return f"{blank.name} as snapshot.{zxid:x}"


def snapshot_of_another(d: Drawn, n: int, draw: random.Random) -> str:
    """Add another server's newest snapshot."""
    other = draw.choice([k for k in NUMBERS if k != n])
    path = d.files(other, "snapshot")[-1]
    shutil.copy(path, d.data(n) / path.name)
    return f"{path.name} of server {other}"


def snapshot_cut(d: Drawn, n: int, draw: random.Random) -> str:
    """Cut the newest snapshot."""
    path = d.files(n, "snapshot")[-1]
    keep = draw.choice((0, 5, path.stat().st_size // 2, path.stat().st_size - 1))
    path.write_bytes(path.read_bytes()[:keep])
    return f"{path.name} cut to {keep} bytes"


def snapshots_gone(d: Drawn, n: int, draw: random.Random) -> str:
    """Remove the newest or all snapshots."""
    gone = d.files(n, "snapshot")[draw.choice((0, -1)) :]
    for path in gone:
        path.unlink()
    return f"without {', '.join(p.name for p in gone)}"


def log_copied(d: Drawn, n: int, draw: random.Random) -> str:
    """Add a copy of a log, or an empty file, with a suffix."""
    path = draw.choice(d.files(n, "log"))
    suffix = draw.choice((".bak", ".gz", ".1", "."))
    data = b"" if draw.random() < 0.5 else path.read_bytes()
    path.with_name(path.name + suffix).write_bytes(gzip.compress(data) if suffix == ".gz" and data else data)
    return f"{path.name}{suffix} of {len(data)} bytes"


def log_renamed(d: Drawn, n: int, draw: random.Random) -> str:
    """Give a log a suffix."""
    path = draw.choice(d.files(n, "log"))
    suffix = draw.choice((".bak", ".gz", "."))
    path.rename(path.with_name(path.name + suffix))
    return f"{path.name} renamed to {path.name}{suffix}"


def log_folder(d: Drawn, n: int, draw: random.Random) -> str:
    """Make a folder with the name of a log."""
    zxid = d.top(n) + draw.choice((-1, 1, 100)) if draw.random() < 0.7 else 1
    (d.logs_of(n) / f"log.{zxid:x}").mkdir(exist_ok=True, parents=True)
    return f"a folder log.{zxid:x}"


def log_empty(d: Drawn, n: int, draw: random.Random) -> str:
    """Add a log file without records."""
    name = f"log.{d.top(n) + draw.choice((-1, 1, 500)):x}"
    data = draw.choice((b"", b"ZKLG", bytes(16), b"ZKLG\0\0\0\2" + bytes(8)))
    (d.logs_of(n) / name).write_bytes(data)
    return f"{name} of {len(data)} bytes"


def log_cut(d: Drawn, n: int, draw: random.Random) -> str:
    """Cut the last log."""
    path = d.files(n, "log")[-1]
    data = path.read_bytes().rstrip(b"\0")
    keep = draw.randrange(16, max(17, len(data)))
    path.write_bytes(data[:keep])
    return f"{path.name} cut to {keep} of {len(data)} bytes"


def log_damaged(d: Drawn, n: int, draw: random.Random) -> str:
    """Flip a bit of a log."""
    path = draw.choice(d.files(n, "log"))
    data = bytearray(path.read_bytes())
    at = draw.randrange(16, max(17, len(bytes(data).rstrip(b"\0"))))
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(data))
    return f"a bit of {path.name} at {at}"


def logs_gone(d: Drawn, n: int, draw: random.Random) -> str:
    """Remove logs: all, the last, all but the last, or the first."""
    logs = d.files(n, "log")
    gone = draw.choice((logs, logs[-1:], logs[:-1], logs[:1]))
    for path in gone:
        path.unlink()
    return f"without {', '.join(p.name for p in gone)}"


def set_back(d: Drawn, n: int, draw: random.Random) -> str:
    """Remove everything behind a snapshot, but not the epochs."""
    keep = draw.choice(d.files(n, "snapshot"))
    least = zxid_in(keep.name, "snapshot")
    for prefix in ("log", "snapshot"):
        for path in d.files(n, prefix):
            if zxid_in(path.name, prefix) > least:
                path.unlink()
    return f"set back to {keep.name}"


def disk_replaced(d: Drawn, n: int, draw: random.Random) -> str:
    """Leave nothing but myid."""
    shutil.rmtree(d.data(n))
    if draw.random() < 0.5:
        d.data(n).mkdir()
        return "empty version-2"
    return "no version-2"


def copy_of_another(d: Drawn, n: int, draw: random.Random) -> str:
    """Replace the directory by another server's."""
    other = draw.choice([k for k in NUMBERS if k != n and k not in d.logs] or [n])
    if n in d.logs or other == n:
        return "nothing"
    shutil.rmtree(d.data(n))
    shutil.copytree(d.data(other), d.data(n))
    return f"the directory of server {other}"


def epoch_changed(d: Drawn, n: int, draw: random.Random) -> str:
    """Change an epoch file."""
    name, path = draw.choice((("currentEpoch", 0), ("acceptedEpoch", 1)))
    del path
    file = d.data(n) / name
    old = int(file.read_text()) if file.exists() else 0
    text = draw.choice((str(old + 1), str(old + 8), str(max(0, old - 1)), "", "x", f"{old}\n7", f"{old} ", "9" * 20))
    file.write_text(text)
    return f"{name} {text!r}"


def epochs_ahead(d: Drawn, n: int, draw: random.Random) -> str:
    """Put both epochs ahead."""
    names = ("currentEpoch", "acceptedEpoch")
    for name in names:
        (d.data(n) / name).write_text(str(5 + draw.randrange(2)) if name == names[0] else "9")
    return "epochs ahead"


def epochs_gone(d: Drawn, n: int, draw: random.Random) -> str:
    """Remove epoch files."""
    for name in draw.choice((("currentEpoch",), ("acceptedEpoch",), ("currentEpoch", "acceptedEpoch"))):
        (d.data(n) / name).unlink(missing_ok=True)
    return "without epoch files"


def epoch_pending(d: Drawn, n: int, draw: random.Random) -> str:
    """Leave an unfinished currentEpoch."""
    (d.data(n) / "currentEpoch").write_text("0")
    (d.data(n) / "currentEpoch.tmp").write_text(draw.choice(("1", "2", "x", "7")))
    return "currentEpoch.tmp"


def myid_changed(d: Drawn, n: int, draw: random.Random) -> str:
    """Change the file myid."""
    text = draw.choice((f" {n}", f"{n} ", f"{n}\n9", f"{n}\n", f"+{n}", f"0{n}", "one", "", "9" * 20, f"{n:020d}"))
    (d.data(n).parent / "myid").write_text(text)
    return f"myid {text!r}"


def log_directory(d: Drawn, n: int, draw: random.Random) -> str:
    """Give its logs a directory of their own: all of them, all but one, with a snapshot, or only the directory."""
    if n in d.logs:
        return "nothing"
    logs, place = d.files(n, "log"), d.folder / f"logs{n}" / "version-2"
    place.mkdir(parents=True)
    how = draw.choice(("moved", "moved", "one left behind", "all left behind", "with a snapshot", "swapped"))
    moved = {"one left behind": logs[1:], "all left behind": []}.get(how, logs)
    for path in d.files(n, "snapshot") if how == "swapped" else moved:
        path.rename(place / path.name)
    if how == "with a snapshot":
        shutil.copy(d.files(n, "snapshot")[-1], place)
    d.logs.add(n)
    return f"a log directory, {how}"


def neighbour(d: Drawn, n: int, draw: random.Random) -> str:
    """Add a file that is not ZooKeeper's."""
    name = draw.choice(("README", "log.txt", "log.", "snapshot.old", "lost+found", "zookeeper.log", "log.zz", "1.log"))
    (draw.choice((d.data(n), d.data(n).parent, d.logs_of(n))) / name).write_text("not ours")
    return f"a file {name}"


CHANGES: tuple[Change, ...] = (
    snapshot_renamed, snapshot_blank, snapshot_of_another, snapshot_cut, snapshots_gone, log_copied, log_renamed,
    log_folder, log_empty, log_cut, log_damaged, logs_gone, set_back, disk_replaced, copy_of_another, epoch_changed,
    epochs_ahead, epochs_gone, epoch_pending, myid_changed, log_directory, neighbour,
)  # fmt: skip


def drawn(base: Drawn, to: Path, draw: random.Random) -> Drawn:
    """Return a copy of directories with one to three changes."""
    out = base.copy(to)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3))):
        change, n = draw.choice(CHANGES), draw.choice(NUMBERS)
        with contextlib.suppress(IndexError, OSError, ValueError):  # what an earlier change took away
            out.told.append(f"server{n}: {change(out, n, draw)}")
    return out


# --- healthy ensembles ------------------------------------------------------------------------------------


class Ensemble:
    """Three servers as processes, which clients write to and which are killed."""

    def __init__(self, folder: Path, release: Release) -> None:
        folder.mkdir(parents=True)
        self.made, self.release = Drawn(folder, release.name, {}), release
        self.ports = free_ports(9)
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        for n in NUMBERS:
            (folder / f"server{n}").mkdir()
            (folder / f"server{n}" / "myid").write_text(str(n))
            (folder / f"zoo{n}.cfg").write_text(self.made.config(n, self.ports))

    def start(self, n: int) -> None:
        options = ("-Dzookeeper.preAllocSize=64", "-Dzookeeper.snapCount=24", "-Dzookeeper.4lw.commands.whitelist=*")
        command = self.release.command(self.made.folder / f"zoo{n}.cfg", *OPTIONS, *options)
        with (self.made.folder / f"out{n}.txt").open("ab") as log:
            self.running[n] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self, n: int) -> None:
        process = self.running.pop(n)
        process.kill()
        process.wait()

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        kazoo = import_module("kazoo.client")
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        client = kazoo.KazooClient(",".join(f"127.0.0.1:{self.ports[n - 1]}" for n in self.running), timeout=10)
        client.start(120)
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                client.stop()
                client.close()

    def write(self, prefix: str, count: int, draw: random.Random) -> None:
        with self.client() as client:
            client.ensure_path("/app")
            for k in range(count):
                path = f"/app/{prefix}{k}"
                client.create(path, draw.randbytes(draw.randrange(60)))
                if k % 5 == 3:
                    client.delete(f"/app/{prefix}{k - 1}")
                if k % 3 == 1:
                    client.set(path, b"changed")

    def live(self, draw: random.Random) -> Drawn:
        """Run it: loads, a server that is away for a while or killed for good, an election."""
        try:
            for n in NUMBERS:
                self.start(n)
            self.write("a", draw.randrange(10, 30), draw)
            away = draw.choice(NUMBERS)
            self.kill(away)
            self.write("b", draw.randrange(3, 25), draw)
            self.start(away)
            self.write("c", draw.randrange(3, 15), draw)
            if draw.random() < 0.6:
                self.kill(draw.choice([n for n in NUMBERS if n != away]))
                self.write("d", draw.randrange(2, 12), draw)
            time.sleep(1.0)
        finally:
            for n in list(self.running):
                self.kill(n)
        return self.made


# --- what servers do ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What the servers of a directory did when a quorum was started first.

    Attributes:
        ended: for a server that ended, why. serves: those that serve in the end. leader: who leads; 0 for nobody.
        trees: of those that serve.
    """

    started: tuple[int, ...]
    ended: dict[int, str] = field(default_factory=dict)
    serves: set[int] = field(default_factory=set)
    leader: int = 0
    led: int = 0
    trees: dict[int, Nodes] = field(default_factory=dict)

    def lost(self, nodes: Nodes) -> list[str]:
        """Return the nodes that a server that serves does not have, or with other data."""
        return sorted({p for tree in self.trees.values() for p in nodes if tree.get(p, ("", 0))[0] != nodes[p][0]})

    @property
    def alike(self) -> bool:
        return len({json.dumps(tree, sort_keys=True) for tree in self.trees.values()}) < 2


class Officials:
    """A JVM in which official servers are started on copies of directories."""

    def __init__(self, release: Release, work: Path) -> None:
        self.work = work
        (work / "silent.xml").write_text(SILENT)
        (work / "silent.properties").write_text("log4j.rootLogger=OFF\n")
        silent = (
            f"-Dlogback.configurationFile={work}/silent.xml", "-Dorg.apache.logging.log4j.level=OFF",
            f"-Dlog4j.configuration=file:{work}/silent.properties",
        )  # fmt: skip
        classes, source = ":".join(map(str, release.jars)), Path(__file__).with_name("Directories.java")
        options = (*OPTIONS, *silent, "-Djava.security.manager=allow")
        command = [str(release.java.program), *options, "-cp", classes, str(source)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)  # fmt: skip

    def seen(self, made: Drawn, first: tuple[int, ...], seconds: float = SECONDS) -> Seen:
        """Start some servers first, and then the others, on a copy."""
        place = self.work / "started"
        shutil.rmtree(place, ignore_errors=True)
        copy, ports = made.copy(place), free_ports(9)
        paths = {n: place / f"zoo{n}.cfg" for n in NUMBERS}
        for n, path in paths.items():
            path.write_text(copy.config(n, ports))
        groups = [",".join(str(paths[n]) for n in NUMBERS if (n in first) == inside) for inside in (True, False)]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join([str(place / "out"), *groups, str(seconds)]) + "\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()).strip() != "done":
            if not line:
                raise SystemExit("the JVM with the official servers has ended")
        return self.read(first, (place / "out").read_text(errors="replace"))

    def read(self, first: tuple[int, ...], text: str) -> Seen:
        out, n = Seen(first), 0
        for line in text.splitlines():
            kind, *words = line.split("\t")
            if kind == "peer":
                when, cfg, state, serves, _, ended = words
                n = int(Path(cfg).stem[3:])
                if ended:
                    out.ended[n] = ended
                if serves == "true" and when == "first" and state == "LEADING":
                    out.led = n
                if when == "all":
                    out.serves |= {n} if serves == "true" else set()
                    out.leader = n if serves == "true" and state == "LEADING" else out.leader
                out.trees[n] = {}
                if when == "all" and serves != "true":
                    del out.trees[n]
            elif kind == "node" and not words[0].startswith("/zookeeper"):
                out.trees[n][words[0]] = (words[1], int(words[2]))
        return out

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


# --- the comparison -----------------------------------------------------------------------------------------


def asked(made: Drawn, forecast: bool = True) -> dict[str, Any]:
    """Return the audit's report of directories as JSON values."""
    for path in made.folder.rglob("*"):
        os.utime(path, (time.time() - OLD,) * 2)
    directories = [find_directory(made.words(n), f"server{n}") for n in NUMBERS]
    plain = next((n for n in NUMBERS if n not in made.logs), 1)
    config = parse(made.config(plain, list(range(2001, 2010))).encode(), made.release)
    return Audited(audit(directories, config, release=made.release, forecast=forecast)).as_json()


def differences(made: Drawn, said: dict[str, Any], seen: list[Seen]) -> list[str]:
    """Return where the audit and the servers differ; what may never be begins with `!`."""
    out: list[str] = []
    ended = {n: why for s in seen for n, why in s.ended.items()}
    lost = {s.started: s.lost(made.nodes) for s in seen if s.serves}
    unserved = [s.started for s in seen if not s.serves]
    verdict, data, service = said["verdict"], said["data"], said["service"]
    for x in said["starts"]:
        n = int(x["server"][-1])
        real = "refuses" if n in ended else "starts"
        if x["outcome"] not in (real, "unknown"):
            out.append(f"{x['server']} {real} ({ended.get(n, '')[:150]}), told: {x['outcome']} {x['reason'] or ''}")
    loses = {k: v for k, v in lost.items() if v}
    named = data == "unknown" and said["forecast"] is None and "acknowledged is unknown" in said["headline"]
    if loses and (data == "whole" or (verdict == "OK" and not named)):
        out.append(f"! {verdict}, data {data}, and {dict(list(loses.items())[:2])!s:.200} are lost")
    if len(unserved) == len(seen) and service not in ("none", "unknown"):
        out.append(f"! {verdict}, service {service}, and no quorum serves: {[s.ended for s in seen][:1]}")
    if len(unserved) == len(seen) and verdict in ("OK", "WARN"):
        out.append(f"! {verdict} and no quorum serves")
    whole = all(len(s.serves) == len(NUMBERS) and s.alike for s in seen)
    if verdict in ("DANGER", "VIOLATION") and not loses and whole:
        if verdict == "DANGER":
            out.append("! DANGER, and every start ends with everything")
        elif data in ("lost", "in danger"):
            out.append(f"{verdict}, data {data}, and every start ends with everything")
    if service == "all" and not any(len(s.serves) == len(NUMBERS) for s in seen):
        out.append(f"service all, and {[(s.started, sorted(s.serves)) for s in seen]}")
    outcomes = (said["forecast"] or {}).get("outcomes") or []
    for s in seen:
        mine = [o for o in outcomes if o["started"] == [f"server{n}" for n in s.started]]
        leaders = {o["leader"] for o in mine}
        if mine and s.led and f"server{s.led}" not in leaders:
            out.append(f"{s.started}: server{s.led} leads, forecast: {leaders}")
        if mine and s.led and loses.get(s.started) and not any(map(loses_any, mine)):
            out.append(f"! forecast loses nothing of {s.started}, and {loses[s.started][:3]} are lost")
    return out


def loses_any(outcome: dict[str, Any]) -> bool:
    """Return whether an outcome of the forecast speaks of a loss."""
    keys = ("loses", "may_lose", "drops", "vanish", "repeats_epoch_of")
    return any(outcome.get(key) for key in keys)


def compared(made: Drawn, officials: Officials) -> tuple[dict[str, Any], list[str]]:
    """Return the audit's report of directories, and where official servers differ from it."""
    pairs = list(combinations(NUMBERS, 2))
    with ThreadPoolExecutor(1) as pool:
        audited = pool.submit(asked, made)
        seen = [officials.seen(made, first, BRIEF) for first in pairs]
        try:
            said = audited.result()
        except NotOne as problem:
            return {"verdict": "refused", "data": "", "service": ""}, [f"refused: {problem}"]
    if differences(made, said, seen):
        seen = [officials.seen(made, first) for first in pairs]
    found = differences(made, said, seen)
    if any(s.lost(made.nodes) for s in seen):  # what it says without a forecast
        plain = differences(made, asked(made, forecast=False), seen)
        found += [f"{line} (without --forecast)" for line in plain if line not in found]
    return said, found


def main() -> int:
    """Draw directories, compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--servers", default="")
    parser.add_argument("--release", default="3.9.5")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first directory to look at")
    parser.add_argument("--runs", type=int, default=4, help="ensembles that run, of which directories are drawn")
    parser.add_argument("--keep", type=Path, help="where the directories of the runs are, or are to be kept")
    chosen = parser.parse_args()
    release = find_release(chosen.release, servers=chosen.servers)
    tally: Counter[str] = Counter()
    forbidden = 0
    with tempfile.TemporaryDirectory(prefix="zabcheck-directories-") as top:
        work = Path(top)
        officials = Officials(release, work)
        try:
            bases = list(healthy(chosen, release, officials, work))
            for k in range(chosen.first, chosen.first + chosen.count):
                draw = random.Random(f"{chosen.seed} {k}")
                made = drawn(draw.choice(bases), work / "drawn", draw)
                said, found = compared(made, officials)
                tally[f"{said['verdict']}, data {said['data']}, service {said['service']}"] += 1
                tally["differences"] += bool(found)
                forbidden += any(line.startswith("!") for line in found)
                for line in found:
                    print(f"{k} [{'; '.join(made.told)}] {said['verdict']}: {line}", flush=True)
                shutil.rmtree(work / "drawn")
        finally:
            officials.end()
    print("\n".join(f"{count:5} {what}" for what, count in sorted(tally.items())))
    print(f"{chosen.count} directories of {chosen.release}, seed {chosen.seed}: {forbidden} that may not be")
    return 1 if forbidden else 0


def healthy(chosen: argparse.Namespace, release: Release, officials: Officials, work: Path) -> Iterator[Drawn]:
    """Yield the directories of ensembles that ran, with the nodes that all of them serve when they are started."""
    for k in range(chosen.runs):
        draw = random.Random(f"{chosen.seed} run {k}")
        place = (chosen.keep or work) / f"run-{chosen.release}-{chosen.seed}-{k}"
        if not place.exists():
            Ensemble(place, release).live(draw)
        made = Drawn(place, chosen.release, {})
        seen = officials.seen(made, (1, 2))
        others = officials.seen(made, (2, 3))
        if not seen.trees or not seen.alike or seen.trees != others.trees:
            raise SystemExit(f"the ensemble of {place} does not serve one tree")
        yield Drawn(place, chosen.release, next(iter(seen.trees.values())))


if __name__ == "__main__":
    sys.exit(main())
