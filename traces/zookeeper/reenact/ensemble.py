"""Run real servers on loopback, with a proxy on every link and gates in every server."""

from __future__ import annotations

import contextlib
import platform
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.servers import Server, free_ports, wait_for_logs
from traces.zookeeper.reenact.wire.gates import EVERY, Gates
from traces.zookeeper.reenact.wire.links import Connection, Proxy, Recording, Stream, Unit
from traces.zookeeper.reenact.wire.notifications import Greeting, NotificationReader
from traces.zookeeper.reenact.wire.packets import (
    ACK,
    FOLLOWERINFO,
    OBSERVERINFO,
    OUTSIDE,
    UPTODATE,
    Packet,
    PacketReader,
)
from zabspec.temporary import temporary_folder

# --- put the library that holds a server's threads (shim.c) where a server can load it -------------
#
# It is shipped built for the machines in `BUILT`, so that no compiler is needed; elsewhere it is compiled.

HERE = Path(__file__).parent
SOURCE = HERE / "shim.c"
BUILT = ("x86_64", "aarch64")  # with glibc
OPTIONS = ("-shared", "-fPIC", "-O1")


def built_shim(machine: str) -> Path:
    """Return the path of the shipped library for a machine, as `platform.machine` calls it."""
    return HERE / f"shim-{machine}.so"


def place_shim(folder: Path) -> Path:
    """Write the library to a folder, and return its path.

    Raises:
        Cannot: there is none for this machine, or the loader could not find it: it breaks LD_PRELOAD at blanks and
            colons.
    """
    out, machine = folder / "shim.so", platform.machine()
    if set(str(out)) & set(" \t\n:"):
        raise Cannot(f"the library that holds threads cannot lie in {folder}: its name has a blank or a colon")
    if machine in BUILT and platform.libc_ver()[0] == "glibc":
        shutil.copyfile(built_shim(machine), out)
        return out
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise Cannot(
            f"the library that holds a server's threads is shipped for glibc on {' and '.join(BUILT)}; on {machine} it "
            "needs a C compiler, and there is no `cc`, `gcc` or `clang` here"
        )
    command = [compiler, *OPTIONS, "-o", str(out), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Cannot(f"the library that holds threads does not compile: {done.stderr.strip().splitlines()[-1]}")
    return out


# --- hold the packets of the quorum protocol one by one, and of election messages only the newest vote ---

COUNTER = (1 << 32) - 1


def counts(packet: Unit, said_uptodate: bool) -> bool:
    """Return whether a packet is one of the model's.

    Pings, packets about clients, and the second ACK(<e,0>), behind UPTODATE, which Leader.processAck ignores, are not.
    """
    assert isinstance(packet, Packet)
    if packet.kind in OUTSIDE:
        return False
    return not (packet.kind == ACK and packet.zxid & COUNTER == 0 and said_uptodate)


class FlushedProxy(Proxy):
    """Connections that let units through when something arrives or they are connected."""

    def on_unit(self, stream: Stream) -> None:
        self.flush(stream)

    def on_connected(self, connection: Connection) -> None:
        with self.recording.changed:
            self.flush(connection.up)

    def flush(self, stream: Stream) -> None:
        """Pass on what may pass, once there is a connection to send it on."""
        if stream.destination is not None:
            self.let_through(stream)

    def let_through(self, stream: Stream) -> None:
        raise NotImplementedError


class QuorumProxy(FlushedProxy):
    """The connections that a follower opens to a leader.

    Attributes:
        held: whether packets that are messages of the model wait to be let through; if not, all pass.
    """

    def __init__(self, source: int, target: int, port_behind: int, recording: Recording) -> None:
        self.held = False
        super().__init__("quorum", source, target, port_behind, recording, packets)

    def let_through(self, stream: Stream) -> None:
        """Pass on what need not wait, from the front."""
        while stream.waiting and (not self.held or not counts(stream.waiting[0], uptodate_passed(stream))):
            self.note_uptodate(stream)
            stream.let()

    def note_uptodate(self, stream: Stream) -> None:
        if isinstance(u := stream.waiting[0], Packet) and u.kind == UPTODATE:
            stream.connection.told_uptodate = True

    def model_packets(self, stream: Stream) -> list[Packet]:
        """Return the waiting packets that belong to the model."""
        with self.recording.changed:
            return [u for u in stream.waiting if isinstance(u, Packet) and counts(u, uptodate_passed(stream))]

    def let_one(self, stream: Stream) -> int:
        """Pass on the first packet of the model, with what need not wait before and after it.

        Returns:
            How many bytes were passed on up to the end of that packet.
        """
        with self.recording.changed:
            self.flush(stream)
            self.note_uptodate(stream)
            stream.let()
            sent = stream.sent
            self.flush(stream)
            return sent

    def on_end(self, stream: Stream) -> None:
        if not self.held:
            stream.connection.close()


def uptodate_passed(stream: Stream) -> bool:
    return stream.connection.told_uptodate


def packets(opened: bool) -> Callable[[bytes], list[Unit]]:
    reader = PacketReader()
    return lambda data: list(reader.feed(data))


class ElectionProxy(FlushedProxy):
    """The connections between two servers' election ports."""

    impatient = True

    def __init__(
        self, source: int, target: int, port_behind: int, recording: Recording, passes: Callable[[int, int], bool]
    ) -> None:
        self.passes = passes
        super().__init__("election", source, target, port_behind, recording, notifications)

    def let_through(self, stream: Stream) -> None:
        """Pass on what may pass; of votes that may not, keep the newest, as QuorumCnxManager does."""
        open_now = self.passes(self.source, self.target)
        while stream.waiting and (open_now or isinstance(stream.waiting[0], Greeting)):
            stream.let()
        del stream.waiting[:-1]

    def flush_all(self) -> None:
        with self.recording.changed:
            for c in self.connections:
                self.flush(c.up)
                self.flush(c.down)

    def on_connected(self, connection: Connection) -> None:
        super().on_connected(connection)
        with self.recording.changed:
            connection.connected = True
            if connection.up.ended and connection.far is not None:
                with contextlib.suppress(OSError):
                    connection.far.shutdown(socket.SHUT_WR)

    def on_end(self, stream: Stream) -> None:
        """Close both halves.

        A server with the smaller id says who it is and hangs up at once, to be called back: if the other half does not
        exist yet, what it said still has to pass.
        """
        c = stream.connection
        with self.recording.changed:
            if stream is c.up and not c.connected:
                return
        c.close()


def notifications(opened: bool) -> Callable[[bytes], list[Unit]]:
    reader = NotificationReader(opened)
    return lambda data: list(reader.feed(data))


RETRY: dict[str, float] = {"max_tries": 20, "delay": 0.1, "max_delay": 0.5}


class Ensemble:
    """The servers of an ensemble, by their numbers.

    Attributes:
        group: the servers whose votes reach each other.

    Args:
        observers: those of the servers that observe.
        lines: further lines of their configurations.
    """

    def __init__(
        self, folder: Path, release: Release, numbers: Iterable[int] = (1, 2, 3), observers: Iterable[int] = (),
        lines: Iterable[str] = (),
    ) -> None:  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.release = folder, release
        self.recording = Recording(folder)
        self.numbers, self.observers, self.lines = sorted(numbers), frozenset(observers), tuple(lines)
        self.group: set[int] = set()
        self.held = contextlib.ExitStack()
        self.sockets = self.held.enter_context(temporary_folder("gates"))
        self.clients: list[Any] = []
        self.quorum: dict[tuple[int, int], QuorumProxy] = {}
        self.election: dict[tuple[int, int], ElectionProxy] = {}
        self.gates: dict[int, Gates] = {}
        self.servers: dict[int, Server] = {}
        try:
            self.build()
        except BaseException:
            self.end()
            raise

    def build(self) -> None:
        shim = place_shim(self.sockets)
        ports = free_ports(3 * len(self.numbers))
        own = {n: (ports[3 * k], ports[3 * k + 1], ports[3 * k + 2]) for k, n in enumerate(self.numbers)}
        for a in self.numbers:
            for b in self.numbers:
                if a != b:
                    self.quorum[a, b] = QuorumProxy(a, b, own[b][1], self.recording)
                    self.election[a, b] = ElectionProxy(a, b, own[b][2], self.recording, self.hear)
        reached = {n: (*own[n][1:], n in self.observers) for n in self.numbers}
        for n in self.numbers:
            proxies = {own[k][1]: self.quorum[n, k].port for k in self.numbers if k != n}
            proxies |= {own[k][2]: self.election[n, k].port for k in self.numbers if k != n}
            self.gates[n] = Gates(self.sockets / f"{n}", f"server {n}", self.recording)
            self.servers[n] = Server(
                self.folder, n, self.release, own[n], reached, proxies, shim, self.gates[n].path, lines=self.lines
            )

    def hear(self, a: int, b: int) -> bool:
        """Return whether the votes of two servers reach each other."""
        return a in self.group and b in self.group

    # --- what is done to it ------------------------------------------------------------------------

    def regroup(self, members: Iterable[int]) -> None:
        """Let the votes of these servers reach each other, and no others'."""
        with self.recording.changed:
            self.group = set(members)
            self.recording.note("election", f"votes pass among {sorted(self.group)}")
            for proxy in self.election.values():
                proxy.flush_all()

    def drop_votes(self, sender: int) -> None:
        """Lose the waiting votes of a server, which has left the election that they belong to."""
        with self.recording.changed:
            for (a, b), proxy in self.election.items():
                for c in proxy.connections:
                    stream = c.up if a == sender else c.down
                    if sender in (a, b) and stream.waiting and not isinstance(stream.waiting[0], Greeting):
                        self.recording.note(stream.place, "its waiting vote is lost")
                        stream.waiting.clear()

    def hold(self, held: bool) -> None:
        """Hold every packet that the model has, or let all through."""
        with self.recording.changed:
            for proxy in self.quorum.values():
                proxy.held = held
                for c in proxy.connections:
                    for stream in (c.up, c.down):
                        proxy.flush(stream)

    def start(self, n: int) -> None:
        self.recording.note(f"server {n}", "started")
        self.servers[n].start()

    def start_all(self) -> None:
        """Start every server, and wait until its log can be read.

        Raises:
            CannotRun: it cannot.
        """
        for n in self.numbers:
            self.start(n)
        wait_for_logs(self.servers.values())

    def kill(self, n: int) -> None:
        self.recording.note(f"server {n}", "killed")
        self.servers[n].kill()
        self.gates[n].died()

    def end(self) -> None:
        """End everything that was started, without raising."""
        for s in self.servers.values():
            with contextlib.suppress(Exception):
                s.kill()
        things: list[Gates | QuorumProxy | ElectionProxy] = [*self.gates.values(), *self.quorum.values()]
        for thing in [*things, *self.election.values()]:
            with contextlib.suppress(Exception):
                thing.end()
        for client in self.clients:
            threading.Thread(target=closed, args=(client,), daemon=True).start()
        self.clients.clear()
        self.held.close()
        self.recording.close()

    # --- what is seen of it ------------------------------------------------------------------------

    def registers(self, follower: int, leader: int) -> bool:
        """Return whether the FOLLOWERINFO or OBSERVERINFO of a learner waits on its newest connection to a leader."""
        c = self.quorum[follower, leader].newest
        if c is None or c.up.dead or c.near_closed or c.up.destination is None:
            return False
        kind = OBSERVERINFO if follower in self.observers else FOLLOWERINFO
        return any(u.kind == kind for u in self.quorum[follower, leader].model_packets(c.up))

    # --- clients -----------------------------------------------------------------------------------

    def client(self, n: int, lasting: bool = False, seconds: float = 30) -> Any:
        """Connect a client to one server.

        Args:
            n: the server.
            lasting: the client reconnects with its session whenever the server serves again.
            seconds: the time to wait for a session.

        Raises:
            Cannot: no session within that time.
        """
        hosts, retry = f"127.0.0.1:{self.servers[n].client}", RETRY | ({"max_tries": -1} if lasting else {})
        return connected(self.clients, hosts, seconds, f" from server {n}", timeout=300, connection_retry=retry)

    def open_all(self) -> None:
        """Open all gates and links."""
        self.hold(False)
        for gates in self.gates.values():
            gates.open(*EVERY)
        self.regroup(self.numbers)


def connected(clients: list[Any], hosts: str, seconds: float, named: str = "", **given: Any) -> Any:
    """Connect a client of kazoo, and add it to some before it has a session.

    Raises:
        Cannot: no session within some seconds; the message says from whom.
    """
    import logging

    kazoo = import_module("kazoo.client")
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    made = kazoo.KazooClient(hosts, **given)
    clients.append(made)
    try:
        made.start(seconds)
    except Exception as problem:
        raise Cannot(f"a client got no session{named}: {type(problem).__name__}") from None
    return made


def closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.stop()
        client.close()
