"""Find real ZooKeeper servers, and run one of them as a process: start, kill, read."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from traces.reenact.periodic import PERIODIC, takes_snapshots

HERE = Path(__file__).parent
TICK, INIT_LIMIT, SYNC_LIMIT = 500, 600, 240  # milliseconds, ticks: so long that time decides nothing by itself
NEEDED = ("slf4j-api", "netty-handler", "metrics-core", "snappy-java", "commons-io", "commons-cli")
OPTIONS = (
    "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
    "-Dzookeeper.maxBatchSize=1", "-Dzookeeper.snapCount=100000",
    "-Dzookeeper.commitProcessor.numWorkerThreads=0", "-Dzookeeper.fastleader.maxNotificationInterval=400",
)  # fmt: skip
# Where the text has no walk through the log (`walk`), so that there is none. Else both are as by default.
NO_WALK = ("-Dzookeeper.preAllocSize=64", "-Dzookeeper.snapshotSizeFactor=-1")


class Cannot(Exception):
    """Real servers cannot be run here, or did not behave as required; the message says why in one sentence."""


@dataclass(frozen=True)
class Release:
    """A release of ZooKeeper to start.

    Attributes:
        name: the name of the release, or of the one with which a build of the user's own is compared.
        command: the command that starts a server, before the path of its configuration.
        environment: further environment variables.
        settings: further lines of the configuration.
    """

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    settings: tuple[str, ...] = NO_WALK

    @property
    def batches(self) -> bool:
        """Return whether the sync thread forces its whole queue at once, as before 3.6.0 (zookeeper.maxBatchSize)."""
        return self.before(3, 6)

    @property
    def is_34(self) -> bool:
        """Return whether the release is 3.4.

        There a leader saves no snapshot when it is elected, and a commit thread takes a transaction before it is held.
        """
        return self.before(3, 5)

    def before(self, *number: int) -> bool:
        found = re.match(r"(\d+)\.(\d+)", self.name)
        return found is not None and (int(found[1]), int(found[2])) < number


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


def find_release(release: str, folder: str = "", jar: str = "", servers: str = "") -> Release:
    """Find the servers of a release.

    Args:
        release: the release.
        folder: a build or an unpacked distribution of ZooKeeper.
        jar: a server's jar, in place of the release's.
        servers: the folder of the release's distribution.

    Raises:
        Cannot: something is missing.
    """
    if shutil.which("java") is None:
        raise Cannot("real ZooKeeper servers need Java, but there is no `java` here")
    if find_spec("kazoo") is None:
        raise Cannot("clients need the package kazoo, which is not installed")
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        raise Cannot("holding a server's threads needs a C compiler, but there is no `cc`, `gcc` or `clang` here")
    if folder:
        return built(Path(folder), release)
    if servers:
        return built(distribution(Path(servers), release), release)
    own = Path(os.environ.get("ZABCHECK_ZOOKEEPER", HERE.parents[2] / "shared" / "zookeeper" / "servers"))
    script, java = own / "run-zookeeper", Path(os.environ.get("JAVA_DIR", "/usr/share/java"))
    if not script.exists():
        raise Cannot(f"no servers found: no {script.name} in {own} (set ZABCHECK_ZOOKEEPER); {how_to_get(release)}")
    for name in NEEDED:
        if not (java / f"{name}.jar").exists():
            raise Cannot(f"ZooKeeper's servers need {name}.jar in {java}: servers/README.md names the packages")
    given = Path(os.path.realpath(jar)) if jar else own / f"zookeeper-server-{release}.jar"
    if jar and not given.is_file():
        raise Cannot(f"{jar} is not a file")
    if not given.exists() and release != "debian":
        have = sorted(p.stem.removeprefix("zookeeper-server-") for p in own.glob("zookeeper-server-*.jar"))
        raise Cannot(f"there is no server {given.name}; there are {', '.join(have)}")
    if release == "debian" and not jar and not (java / "zookeeper.jar").exists():
        raise Cannot(f"Debian's ZooKeeper is not installed: there is no zookeeper.jar in {java}")
    word = str(given) if jar else release
    return Release(release, (str(script), word), {"JAVA_DIR": str(java)})


def distribution(folder: Path, release: str) -> Path:
    """Find the unpacked distribution of a release in a folder, or a folder directly below.

    Raises:
        Cannot: it is not there.
    """
    jars = [jar for pattern in ("lib", "*/lib") for jar in sorted(folder.glob(f"{pattern}/zookeeper-{release}.jar"))]
    old = sorted(folder.glob(f"*/zookeeper-{release}.jar"))  # 3.4 has it beside its lib
    if not jars and not old:
        raise Cannot(f"{folder} has no ZooKeeper {release}: no lib/zookeeper-{release}.jar; {how_to_get(release)}")
    return jars[0].parent.parent if jars else old[0].parent


def how_to_get(release: str) -> str:
    """Return how to get a release, which zabcheck never downloads."""
    return (
        f"zabcheck downloads nothing: unpack ZooKeeper {release}, of https://archive.apache.org/dist/zookeeper, into "
        f"a folder and give it with --servers"
    )


def built(folder: Path, release: str) -> Release:
    """Return the user's own build as a release.

    Args:
        folder: the build.
        release: the release that it is compared with.

    Raises:
        Cannot: the folder is no build.
    """
    places = [
        folder,
        folder / "lib",
        folder / "zookeeper-server" / "target" / "lib",
        folder / "zookeeper-server" / "target",
    ]
    jars = [p for place in places for p in sorted(place.glob("*.jar"))]
    if not any(p.name.startswith("zookeeper") for p in jars):
        raise Cannot(
            f"{folder} is not a build of ZooKeeper: there is no zookeeper*.jar in its lib or zookeeper-server/target"
        )
    classes = ":".join(os.path.realpath(p) for p in jars)
    return Release(release, ("java", "-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain"), {})


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


def compiled_shim(folder: Path) -> Path:
    """Compile the library that makes threads ask (shim.c).

    Raises:
        Cannot: it does not compile, or the loader could not find it: it breaks LD_PRELOAD at blanks and colons.
    """
    out = folder / "shim.so"
    if set(str(out)) & set(" \t\n:"):
        raise Cannot(f"the library that holds threads cannot lie in {folder}: its name has a blank or a colon")
    compiler = next(name for name in ("cc", "gcc", "clang") if shutil.which(name))
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(out), str(HERE / "shim.c"), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Cannot(f"the library that holds threads does not compile: {done.stderr.strip().splitlines()[-1]}")
    return out


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
        env = os.environ | self.release.environment
        env["ZABCHECK_PORTS"] = "".join(f"{port}>{proxy}," for port, proxy in self.proxies.items())
        env |= {"LD_PRELOAD": str(self.shim), "ZABCHECK_CLOCK": str(self.clock), "ZABCHECK_STALL": str(self.disk)}
        if self.forced is not None:
            env["ZABCHECK_FORCED"] = str(self.forced)
        options: tuple[str, ...] = (*OPTIONS, *self.release.settings)
        if self.gate is not None:
            env["ZABCHECK_GATE"] = str(self.gate)
            options = (*options, f"-agentpath:{self.shim}")
        if self.release.command[0] == "java":
            command = ["java", *options, *self.release.command[1:], str(self.configuration)]
        else:
            command = [*self.release.command, str(self.configuration), *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=self.folder,
                start_new_session=True,
            )  # fmt: skip

    def snapshot(self, zxid: int) -> Path:
        """Return the path of the server's snapshot of a zxid."""
        return self.data / "version-2" / f"snapshot.{zxid:x}"

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
