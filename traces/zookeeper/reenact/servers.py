"""Run a real ZooKeeper server as a process: start, kill, read."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from traces.zookeeper.reenact.distributions import NO_WALK, Cannot, Release
from traces.zookeeper.reenact.periodic import PERIODIC, takes_snapshots
from traces.zookeeper.reenact.stores import Disk, read_disk
from zabspec.limits import Deadline

TICK, INIT_LIMIT, SYNC_LIMIT = 500, 600, 240  # milliseconds, ticks: so long that time decides nothing by itself
OPTIONS = (
    "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
    "-Dzookeeper.maxBatchSize=1", "-Dzookeeper.snapCount=100000",
    "-Dzookeeper.commitProcessor.numWorkerThreads=0", "-Dzookeeper.fastleader.maxNotificationInterval=400",
)  # fmt: skip
# The first line of every release at INFO, which the main thread writes before it opens a port, in the layout of the
# product's own configuration of logging (distributions.py).
FIRST_LINE = re.compile(
    r"^[\d-]{10} [\d:]{8},\d{3} \[myid:\d*\] - INFO +\[main:QuorumPeerConfig\] - Reading configuration from: ", re.M
)
EXITED = re.compile(r"^(?:Exception in thread \S+ |Caused by: )?(java\S+(?:Exception|Error)\b.*)$", re.M)


class CannotRun(Cannot):
    """Servers end at their start, or log nothing that can be read: no other try would go better."""


def settings_for(variant: str) -> tuple[str, ...]:
    """Return the settings of servers that are compared with a variant of the protocol.

    Raises:
        Cannot: no setting has that effect: a snapshotSizeFactor above 1 is not taken.
    """
    asked = variant.split(",")
    if "walk-large" in asked:
        raise Cannot("the variant walk-large needs snapshots of hundreds of megabytes, which are not made here")
    if takes_snapshots(variant):
        if "walk" in asked:
            raise Cannot(
                "with the variant walk a file of the log ends where a snapshot is due, which is not chosen here"
            )
        return (*NO_WALK, *PERIODIC)
    return () if "walk" in asked else NO_WALK


def free_ports(count: int) -> list[int]:
    """Return unused ports below those that connections get, so that a restarted server can use its own again."""
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        first = 32768
    ports: list[int] = []
    for port in random.sample(range(10000, max(first, 20000)), 1000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
        if len(ports) == count:
            break
    return ports


def limit_lines(tick: int, init: int, sync: int) -> tuple[str, ...]:
    """Return the lines of a configuration that set tickTime (milliseconds), initLimit and syncLimit (ticks)."""
    return f"tickTime={tick}", f"initLimit={init}", f"syncLimit={sync}"


class Server:
    """One server: its folder, its configuration, and its process, if it runs.

    Args:
        number: its id.
        client, quorum, election: its own ports.
        servers: of all the quorum and election ports, and whether each observes.
        proxies: for each of these ports of others the one to connect to instead.
        gate: the socket that its threads ask over; None if they run freely.
        lines: further lines of its configuration; of two that set one thing the last counts.
    """

    def __init__(
        self, folder: Path, number: int, release: Release, ports: tuple[int, int, int],
        servers: dict[int, tuple[int, int, bool]], proxies: dict[int, int], shim: Path, gate: Path | None,
        lines: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.folder, self.number, self.release, self.shim, self.gate = folder, number, release, shim, gate
        self.client, self.quorum, self.election = ports
        self.proxies = proxies
        self.data, self.log = folder / f"server{number}", folder / f"log{number}.txt"
        self.process: subprocess.Popen[bytes] | None = None
        self.data.mkdir(parents=True)
        (self.data / "myid").write_text(str(number))
        all_lines = [
            *limit_lines(TICK, INIT_LIMIT, SYNC_LIMIT), *lines, f"dataDir={self.data}", f"clientPort={self.client}",
            "clientPortAddress=127.0.0.1", "maxClientCnxns=0", "maxSessionTimeout=600000", "4lw.commands.whitelist=*",
            "standaloneEnabled=false", "reconfigEnabled=false", "admin.enableServer=false",
        ]  # fmt: skip
        for k, (quorum, election, observes) in sorted(servers.items()):
            all_lines.append(f"server.{k}=127.0.0.1:{quorum}:{election}{':observer' if observes else ''}")
        all_lines += ["peerType=observer"] if number in servers and servers[number][2] else []
        self.clock = folder / f"clock{number}"  # how many nanoseconds its main thread's clock is ahead (shim.c)
        self.put_ahead(0)
        self.disk = folder / f"disk{number}"  # whether nothing is forced to it now (shim.c)
        self.stall(False)
        self.forced: Path | None = None  # a folder of what it has forced, if that is kept (shim.c, disks.py)
        self.configuration = folder / f"zoo{number}.cfg"
        self.configuration.write_text("\n".join(all_lines) + "\n")

    def start(self) -> None:
        env = os.environ | {"ZABCHECK_PORTS": "".join(f"{port}>{proxy}," for port, proxy in self.proxies.items())}
        env |= {"LD_PRELOAD": str(self.shim), "ZABCHECK_CLOCK": str(self.clock), "ZABCHECK_STALL": str(self.disk)}
        if self.forced is not None:
            env["ZABCHECK_FORCED"] = str(self.forced)
        options: tuple[str, ...] = (*OPTIONS, *self.release.settings)
        if self.gate is not None:
            env["ZABCHECK_GATE"] = str(self.gate)
            options = (*options, f"-agentpath:{self.shim}")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.release.command(self.configuration, *options), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=env, cwd=self.folder, start_new_session=True,
            )  # fmt: skip

    def snapshot(self, zxid: int) -> Path:
        """Return the path of the server's snapshot of a zxid."""
        return self.data / "version-2" / f"snapshot.{zxid:x}"

    def on_disk(self) -> Disk:
        """Return what the release reads of the server's disk."""
        return read_disk(self.data, self.release.name)

    def put_ahead(self, milliseconds: int) -> None:
        """Move the clock of the server's main thread ahead."""
        with self.clock.open("r+b" if self.clock.exists() else "wb") as f:
            f.write(struct.pack("=q", milliseconds * 1_000_000))

    def stall(self, stalls: bool) -> None:
        """Let what its threads force to the disk wait, or continue."""
        with self.disk.open("r+b" if self.disk.exists() else "wb") as f:
            f.write(b"1" if stalls else b"0")

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def said(self, since: int = 0) -> str:
        """Return the server's log from a position on."""
        with contextlib.suppress(OSError), self.log.open("rb") as lines:
            lines.seek(since)
            return lines.read().decode(errors="replace")
        return ""

    def asked(self, word: str = "srvr") -> str:
        """Return the answer to a four-letter word; empty if there is none."""
        out = b""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.client), 1) as s:
            s.settimeout(1)
            s.sendall(word.encode())
            while part := s.recv(4096):
                out += part
        return out.decode(errors="replace")

    def status(self) -> tuple[str, int]:
        """Return the server's role and its last processed zxid (-1 if unknown).

        The role is `leader`, `follower` or `observer`, or empty for a server that does not serve.
        """
        said = self.asked()
        mode, zxid = re.search(r"^Mode: (\w+)", said, re.M), re.search(r"^Zxid: 0x([0-9a-f]+)", said, re.M)
        return (mode[1] if mode else "", int(zxid[1], 16) if zxid else -1)


def wait_for_logs(servers: Iterable[Server], seconds: float = 60.0) -> None:
    """Wait until servers that start have logged their first line as it can be read.

    A server writes it before it answers any client. So one that answers, and has not written it, writes no line that
    could be waited for.

    Raises:
        CannotRun: a server ended, or logs nothing that can be read.
    """
    end = Deadline(seconds)
    for server in servers:
        what = server.release.described()
        while not FIRST_LINE.search(server.said()):
            ended, answers = not server.runs, bool(server.asked())
            said = server.said()
            if FIRST_LINE.search(said):
                break
            if ended:
                why = EXITED.findall(said)
                raise CannotRun(f"a server of {what}, ends at its start: {why[0] if why else f'see {server.log}'}")
            if not answers and end.over():
                raise Cannot(f"a server of {what}, does not answer within {seconds:g} s")
            if answers:
                raise CannotRun(
                    f"a server of {what}, logs nothing that can be read: its jars need log4j 1.2, reload4j, log4j 2 or "
                    "Logback, with the binding of SLF4J for it"
                )
            time.sleep(0.05)
