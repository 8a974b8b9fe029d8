"""Real ZooKeeper ensembles of three servers on loopback, driven by kazoo."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.servers import official

OPTIONS = ("-Dzookeeper.preAllocSize=64", "-Dzookeeper.snapCount=60", "-Dzookeeper.snapshotSizeFactor=-1")


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def launched(version: str, folder: Path, n: int, *options: str) -> subprocess.Popen[bytes]:
    """A server of a release, by its configuration `zooN.cfg` in a folder, where its `logN.txt` goes; n from 0."""
    command = official(version).command(folder / f"zoo{n + 1}.cfg", "-Xmx96m", "-XX:+UseSerialGC", *options)
    with (folder / f"log{n + 1}.txt").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def mode_of(port: int) -> str:
    """What the server at a port of clients says it is, `leader` say; empty: it does not answer, or does not serve."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as s:
        s.sendall(b"srvr")
        s.settimeout(1)
        said = b""
        while part := s.recv(4096):
            said += part
        for line in said.decode().splitlines():
            if line.startswith("Mode: "):
                return line[6:]
    return ""


class Real:
    """Three servers.

    Args:
        versions: of each server.
    """

    def __init__(self, folder: Path, *versions: str) -> None:
        self.folder, self.versions = folder, list(versions)
        ports = free_ports(9)
        self.clients, self.peers, self.votes = ports[:3], ports[3:6], ports[6:]
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        for n in range(3):
            (folder / f"server{n + 1}").mkdir(parents=True)
            (folder / f"server{n + 1}" / "myid").write_text(str(n + 1))
            lines = [
                "tickTime=200", "initLimit=60", "syncLimit=30", f"dataDir={folder}/server{n + 1}",
                f"clientPort={self.clients[n]}", "maxClientCnxns=0", "4lw.commands.whitelist=*",
                "standaloneEnabled=false", "reconfigEnabled=false", "admin.enableServer=false",
            ]  # fmt: skip
            lines += [f"server.{k + 1}=127.0.0.1:{self.peers[k]}:{self.votes[k]}" for k in range(3)]
            (folder / f"zoo{n + 1}.cfg").write_text("\n".join(lines) + "\n")

    def start(self, *which: int) -> None:
        for n in which or (0, 1, 2):
            self.running[n] = launched(self.versions[n], self.folder, n, *OPTIONS)

    def kill(self, *which: int) -> None:
        for n in which:
            self.running[n].send_signal(signal.SIGKILL)
        for n in which:
            self.running.pop(n).wait()

    def stop(self) -> None:
        self.kill(*self.running)

    def mode(self, n: int) -> str:
        return mode_of(self.clients[n])

    def wait(self, count: int = 3, seconds: float = 90) -> int:
        """Until so many servers serve; which one leads."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            modes = [self.mode(n) for n in self.running]
            if "leader" in modes and sum(m in ("leader", "follower") for m in modes) >= count:
                return list(self.running)[modes.index("leader")]
            time.sleep(0.1)
        raise AssertionError(f"no ensemble of {count} within {seconds} s: {[self.mode(n) for n in self.running]}")

    def others(self, n: int) -> list[int]:
        return [k for k in range(3) if k != n]

    @contextlib.contextmanager
    def client(self, *which: int) -> Iterator[object]:
        import logging

        from kazoo.client import KazooClient

        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        hosts = ",".join(f"127.0.0.1:{self.clients[n]}" for n in which or range(3))
        client = KazooClient(hosts, timeout=20)
        client.start(60)
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                client.stop()
                client.close()

    @property
    def directories(self) -> list[Path]:
        return [self.folder / f"server{n + 1}" for n in range(3)]


def write_all(client: object, prefix: str, count: int, draw: random.Random, create2: bool = True) -> None:
    """Transactions of every kind, many at once."""
    from kazoo.security import make_acl

    results = []
    client.ensure_path("/app")  # type: ignore[attr-defined]
    for n in range(count):
        path = f"/app/{prefix}{n}"
        results.append(client.create_async(path, draw.randbytes(draw.randrange(120)), ephemeral=n % 17 == 3))  # type: ignore[attr-defined]
        if n % 3 == 1:
            results.append(client.set_async(f"/app/{prefix}{n - 1}", draw.randbytes(30)))  # type: ignore[attr-defined]
        if n % 11 == 6:
            acl = [make_acl("world", "anyone", read=True, write=True, delete=True)]
            results.append(client.set_acls_async(f"/app/{prefix}{n - 4}", acl))  # type: ignore[attr-defined]
        if create2 and n % 13 == 8:
            results.append(client.create_async(f"/app/{prefix}{n}c", b"with data", include_data=True))  # type: ignore[attr-defined]
        if n % 7 == 5:
            results.append(client.delete_async(f"/app/{prefix}{n - 2}"))  # type: ignore[attr-defined]
        if n % 5 == 2:
            t = client.transaction()  # type: ignore[attr-defined]
            t.create(f"/app/{prefix}{n}m", b"multi")
            if n % 2:
                t.check(f"/app/{prefix}{n}", 99)
            t.set_data(f"/app/{prefix}{n}", b"in a multi")
            results.append(t.commit_async())
    for r in results:
        with contextlib.suppress(Exception):
            r.get(timeout=20)


def send(client: object, prefix: str, count: int) -> None:
    """Transactions of which nobody waits for an answer."""
    for n in range(count):
        client.create_async(f"/app/{prefix}{n}", b"never")  # type: ignore[attr-defined]


def drive(real: Real, draw: random.Random, full: bool = True) -> Iterator[str]:
    """A life of an ensemble; between its chapters the directories can be audited."""

    def write(client: object, prefix: str, count: int, draw: random.Random) -> None:
        write_all(client, prefix, count, draw, not real.versions[0].startswith("3.4"))

    real.start()
    leader = real.wait()
    with real.client() as client:
        write(client, "a", 40, draw)
    yield "written"
    with real.client(*real.others(leader)) as client:  # a leader dies while it is written to
        send(client, "lost", 60)
        real.kill(leader)
    real.wait(2)
    with real.client(*real.others(leader)) as client:
        write(client, "b", 30, draw)
    real.start(leader)
    leader = real.wait()
    yield "a leader was killed"
    if not full:
        return
    follower = real.others(leader)[0]
    with real.client(leader) as client:  # a follower dies in mid-write, and comes back by DIFF
        send(client, "c", 80)
        real.kill(follower)
        write(client, "d", 20, draw)
    real.start(follower)
    real.wait()
    yield "DIFF"
    real.kill(follower)  # long enough away for a SNAP
    with real.client(leader) as client:
        write(client, "e", 420, draw)
        real.start(follower)  # and back while the others are written to: what it is sent is not of one moment
        for n in range(30):
            write(client, f"e{n}_", 12, draw)
            if real.mode(follower) == "follower":
                break
        write(client, "ee", 20, draw)
    leader = real.wait()
    with real.client() as client:
        write(client, "f", 20, draw)
    yield "SNAP"
    with real.client(leader) as client:  # proposals that only the leader logs, and a TRUNC
        real.kill(*real.others(leader))
        send(client, "g", 15)
        time.sleep(0.3)
        real.kill(leader)
    real.start(*real.others(leader))
    real.wait(2)
    real.start(leader)
    real.wait()
    with real.client() as client:
        write(client, "h", 20, draw)
    yield "TRUNC"
    real.stop()
    real.start()
    real.wait()
    with real.client() as client:
        write(client, "i", 10, draw)
    yield "restarted"


def read_tree(client: object, path: str = "/") -> dict[str, bytes]:
    """Every node that a server shows a client, with its data."""
    data, _ = client.get(path)  # type: ignore[attr-defined]
    out = {path: data}
    for name in client.get_children(path):  # type: ignore[attr-defined]
        if (path, name) != ("/", "zookeeper"):
            out |= read_tree(client, f"{path.rstrip('/')}/{name}")
    return out


def restarted_trees(folder: Path, directories: list[Path], versions: list[str]) -> list[dict[str, bytes]]:
    """What clients read from each server of copies of these directories, started afresh."""
    real = Real(folder, *versions)
    for n, path in enumerate(directories):
        shutil.copytree(path / "version-2", folder / f"server{n + 1}" / "version-2")
    try:
        real.start()
        real.wait()
        out = []
        for n in range(3):
            with real.client(n) as client:
                client.sync("/")  # type: ignore[attr-defined]
                out.append(read_tree(client))
        return out
    finally:
        real.stop()
