"""Run a TCP proxy for each ordered pair of servers and each port, which holds, passes or drops single units.

A connection can also be closed at one end alone.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from traces.zookeeper.reenact.wire.packets import Malformed
from zabspec.limits import Deadline

# --- record what happens on the servers, in order, and wait for it ---------------------------------


class Recording:
    """A recording of everything that is seen, under one lock, one line per event.

    Args:
        folder: where the files are made: `events.txt`, and `bytes.jsonl` with all that came over links, a line a piece:
            seconds, link, which of its connections, and the bytes in hexadecimal.
    """

    def __init__(self, folder: Path) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.out = (folder / "events.txt").open("w", encoding="utf-8", buffering=1)
        self.raw = (folder / "bytes.jsonl").open("w", encoding="utf-8", buffering=1)
        self.began = time.monotonic()
        self.over = False

    def note(self, place: str, said: str) -> None:
        with self.changed:
            if not self.over:
                self.out.write(f"{time.monotonic() - self.began:9.3f} {place}: {said}\n")
            self.changed.notify_all()

    def came(self, place: str, connection: int, data: bytes) -> None:
        """Record bytes that came over a link."""
        with self.changed:
            if not self.over:
                self.raw.write(
                    json.dumps([round(time.monotonic() - self.began, 4), place, connection, data.hex()]) + "\n"
                )

    def wait(self, seen: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition; return whether it was met in time.

        Disks and servers are polled, since nothing announces a change there.
        """
        end = Deadline(seconds)
        pause = 0.005
        while not seen():
            if end.over():
                return False
            with self.changed:
                self.changed.wait(min(pause, end.left()))
            pause = min(2 * pause, 0.1)
        return True

    def close(self) -> None:
        with self.changed:
            self.over = True
            self.out.close()
            self.raw.close()


class Unit(Protocol):
    """A unit that is passed or held as a whole."""

    @property
    def raw(self) -> bytes: ...


U = TypeVar("U", bound=Unit)
ROOM = 1 << 16
PATIENCE = 20.0  # seconds that a server may take to listen


def close(end: socket.socket | None, reset: bool = False) -> None:
    if end is None:
        return
    with contextlib.suppress(OSError):
        if reset:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            end.shutdown(socket.SHUT_RDWR)
    end.close()


class Stream:
    """One direction of a connection.

    Attributes:
        waiting: what has arrived and was not let through.
        ended: nothing more arrives.
        dead: what arrives from now on is lost.
        trouble: what arrived is not of the protocol.
    """

    def __init__(self, connection: Connection, place: str, feed: Callable[[bytes], list[Unit]]) -> None:
        self.connection, self.place, self.feed = connection, place, feed
        self.waiting: list[Unit] = []
        self.ended = self.dead = False
        self.trouble = ""
        self.source: socket.socket | None = None
        self.destination: socket.socket | None = None
        self.sent = 0

    def pump(self) -> None:
        """Read until the stream ends."""
        recording, source = self.connection.recording, self.source
        assert source is not None
        try:
            while data := source.recv(ROOM):
                with recording.changed:
                    recording.came(self.place, self.connection.number, data)
                    for unit in self.feed(data):
                        self.arrived(unit)
        except OSError:
            pass
        except Malformed as problem:
            self.trouble = str(problem)
            recording.note(self.place, f"not of the protocol: {problem}")
        with recording.changed:
            self.ended = True
            recording.note(self.place, "ended")
        self.connection.proxy.on_end(self)

    def arrived(self, unit: Unit) -> None:
        if self.dead:
            self.connection.recording.note(self.place, f"lost: {told(unit)}")
            return
        self.connection.recording.note(self.place, f"came: {told(unit)}")
        self.waiting.append(unit)
        self.connection.proxy.on_unit(self)

    def let(self, count: int = 1) -> None:
        """Pass the first unit on."""
        with self.connection.recording.changed:
            for _ in range(count):
                unit = self.waiting.pop(0)
                self.connection.recording.note(self.place, f"let through: {told(unit)}")
                self.sent += len(unit.raw)
                with contextlib.suppress(OSError, AttributeError):
                    assert self.destination is not None
                    self.destination.sendall(unit.raw)

    def read(self, upto: int) -> bool:
        """Return whether the server has read this many of the passed bytes off its socket."""
        to = self.destination
        try:
            return to is None or unread(to.getsockname()[1], to.getpeername()[1]) <= self.sent - upto
        except OSError:
            return True

    def cut(self, kept: int) -> None:
        """Lose all waiting units but the first, and all later ones."""
        with self.connection.recording.changed:
            for unit in self.waiting[kept:]:
                self.connection.recording.note(self.place, f"lost: {told(unit)}")
            del self.waiting[kept:]
            self.dead = True


def unread(ours: int, theirs: int) -> int:
    """Return the number of unread bytes at a server's end of a loopback connection, or on the way there (proc(5))."""
    ends = {f"0100007F:{theirs:04X}", f"0100007F:{ours:04X}"}
    waiting = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table) as lines:
            for line in lines:
                words = line.split()
                if {words[1][-13:], words[2][-13:]} == ends:
                    sent, received = (int(n, 16) for n in words[4].split(":"))
                    waiting += received if words[1].endswith(f":{theirs:04X}") else sent
    return waiting


def told(unit: Unit) -> str:
    said = getattr(unit, "told", None)
    return str(said()) if said is not None else f"{len(unit.raw)} bytes"


class Connection:
    """A connection that a server opened to another, in two halves.

    Attributes:
        up, down: the halves from the server that opened it, and to it.
        told_uptodate: whether an UPTODATE was let through.
        connected: whether both halves exist, and what came before that was handled.
    """

    def __init__(self, proxy: Proxy, near: socket.socket) -> None:
        self.proxy, self.recording, self.near = proxy, proxy.recording, near
        self.far: socket.socket | None = None
        self.number = len(proxy.connections) + 1
        name = f"{proxy.what} {proxy.source}->{proxy.target}"
        self.up = Stream(self, name, proxy.reader(True))
        self.down = Stream(self, f"{proxy.what} {proxy.source}<-{proxy.target}", proxy.reader(False))
        self.near_closed = self.told_uptodate = self.connected = False

    def run(self) -> None:
        """Connect the two halves once the other server listens."""
        end = Deadline(PATIENCE)
        self.up.source = self.down.destination = self.near
        threading.Thread(target=self.up.pump, daemon=True, name="link up").start()
        while self.far is None and not self.near_closed and not self.proxy.over:
            try:
                self.far = socket.create_connection(("127.0.0.1", self.proxy.port_behind), 1)
                self.far.settimeout(None)
            except OSError:
                if end.over() or self.proxy.impatient:
                    self.close_near()
                    return
                time.sleep(0.02)
        if self.far is None:
            return
        with contextlib.suppress(OSError):
            for s in (self.near, self.far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.up.destination = self.down.source = self.far
        self.recording.note(self.up.place, "connected")
        self.proxy.on_connected(self)
        self.down.pump()

    def close_near(self, reset: bool = False) -> None:
        """Close the end of the server that opened the connection."""
        self.near_closed = True
        close(self.near, reset)

    def close_far(self) -> None:
        close(self.far, False)

    def close(self) -> None:
        self.close_near()
        self.close_far()


class Proxy:
    """A proxy that listens in place of one server for another.

    Args:
        what: the purpose of the connections.
        source, target: the servers.
        port_behind: the port of the target.
        reader: makes a reader for a direction: true for that of the server that opens the connection.
    """

    impatient = False

    def __init__(
        self, what: str, source: int, target: int, port_behind: int, recording: Recording,
        reader: Callable[[bool], Callable[[bytes], list[Unit]]],
    ) -> None:  # fmt: skip
        self.what, self.source, self.target, self.port_behind = what, source, target, port_behind
        self.recording, self.reader = recording, reader
        self.connections: list[Connection] = []
        self.over = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True, name="proxy").start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                c = Connection(self, near)
                with self.recording.changed:
                    self.connections.append(c)
                threading.Thread(target=c.run, daemon=True, name="connection").start()

    def on_unit(self, stream: Stream) -> None:
        """Handle a unit that has come."""

    def on_connected(self, connection: Connection) -> None:
        """Handle a connection whose two halves exist."""

    def on_end(self, stream: Stream) -> None:
        """Handle the end of a direction."""

    @property
    def newest(self) -> Connection | None:
        return self.connections[-1] if self.connections else None

    def end(self) -> None:
        self.over = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for c in self.connections:
            c.close()
