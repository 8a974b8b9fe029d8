"""Run passive proxies between servers; packets are recorded before they pass."""

from __future__ import annotations

import contextlib
import queue
import random
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traces.zookeeper.conform.record import head, last, line
from traces.zookeeper.reenact.wire.links import close
from traces.zookeeper.reenact.wire.packets import ACKEPOCH, OUTSIDE, Malformed, PacketReader
from zabspec.limits import Deadline

ROOM = 1 << 16
LISTENS = 4.0  # seconds that a server may take to listen


class Recorder:
    """The writer of a record, in the order of observation.

    Attributes:
        dying: servers that got SIGKILL, and whose last packets may be in transit.
    """

    def __init__(
        self, path: Path, release: str, servers: list[int], seed: int, plan: Mapping[str, Any] | None = None
    ) -> None:  # fmt: skip
        self.changed = threading.Condition(threading.RLock())
        self.out = path.open("w", encoding="utf-8", buffering=1)
        self.out.write(head(release, servers, seed, plan) + "\n")
        self.began = time.monotonic()
        self.count = self.connections = 0
        self.over = False
        self.dying: set[int] = set()
        self.reading: dict[int, int] = dict.fromkeys(servers, 0)

    def note(self, what: str, **fields: Any) -> None:
        with self.changed:
            if not self.over:
                self.out.write(line(what, time.monotonic() - self.began, fields) + "\n")
                self.count += 1

    def end(self) -> None:
        """Complete the record with its last line."""
        with self.changed:
            if not self.over:
                self.out.write(last(self.count) + "\n")
            self.close()

    def close(self) -> None:
        with self.changed:
            self.over = True
            self.out.close()
            self.changed.notify_all()

    def wait_until_dead(self, server: int, seconds: float = 5.0) -> bool:
        """Wait until nothing more can come from a server; return whether that is so."""
        with self.changed:
            return self.changed.wait_for(lambda: self.reading[server] == 0, seconds)


class Direction:
    """One direction of a connection: one thread reads and records, another one passes on.

    Args:
        sender: the server whose packets these are.
        reader: what cuts the bytes into packets; None if they are not looked at.
    """

    def __init__(
        self, tap: Tap, number: int, up: bool, sender: int, source: socket.socket, destination: socket.socket
    ) -> None:  # fmt: skip
        self.tap, self.number, self.up, self.sender = tap, number, up, sender
        self.source, self.destination = source, destination
        self.reader = PacketReader() if tap.packets else None
        self.queue: queue.SimpleQueue[tuple[float, float, bytes]] = queue.SimpleQueue()
        self.silent = self.ended = self.held = self.waits = False

    def start(self) -> None:
        for what in (self.read, self.send):
            threading.Thread(target=what, daemon=True, name="tap").start()

    def read(self) -> None:
        recorder = self.tap.recorder
        try:
            while data := self.source.recv(ROOM):
                with recorder.changed:
                    # Neither seen nor passed on: where the connection is then cut, it is as if it had never come.
                    self.waits = self.held
                    recorder.changed.notify_all()
                    recorder.changed.wait_for(lambda: not self.held or self.silent or recorder.over)
                    self.waits = False
                    if self.silent:
                        break
                    self.see(data)
                    self.queue.put((time.monotonic(), self.tap.delay(), data))
        except OSError:
            pass
        with recorder.changed:
            recorder.reading[self.sender] -= 1
            self.ended = True
            if self.tap.packets and not self.silent:
                recorder.note("closed", **self.tap.ends(self.number), by=self.sender)
            recorder.changed.notify_all()
            recorder.changed.wait_for(lambda: self.sender not in recorder.dying or recorder.over)
        self.queue.put((0.0, 0.0, b""))

    def see(self, data: bytes) -> None:
        if self.reader is None or self.silent:
            return
        try:
            found = self.reader.feed(data)
        except Malformed as problem:
            self.reader = None
            self.tap.recorder.note("unread", connection=self.number, message=f"it is not of the protocol: {problem}")
            return
        for p in found:
            if self.up and p.name == self.tap.holds_behind:
                self.tap.answers(self.number).held = True
            if p.kind not in OUTSIDE:
                more = {"current": p.number} if p.kind == ACKEPOCH else {}
                self.tap.recorder.note(
                    "packet", **self.tap.ends(self.number), up=self.up, kind=p.name, zxid=p.zxid, **more
                )

    def send(self) -> None:
        with contextlib.suppress(OSError):
            while (item := self.queue.get())[2]:
                pause = item[1] - (time.monotonic() - item[0])
                if pause > 0:
                    time.sleep(pause)
                self.destination.sendall(item[2])
        with contextlib.suppress(OSError):
            self.destination.shutdown(socket.SHUT_WR)


class Tap:
    """A proxy that listens in place of one server for another.

    Args:
        source, target: the servers.
        port_behind: the port of the target.
        packets: whether it is a quorum port, whose packets are recorded.
        seconds_late: the delay of what passes, drawn afresh for each piece.
    """

    def __init__(self, source: int, target: int, port_behind: int, packets: bool, recorder: Recorder) -> None:
        self.source, self.target, self.port_behind = source, target, port_behind
        self.packets, self.recorder = packets, recorder
        self.cut = self.over = False
        self.holds_behind = ""  # a kind of packet, the answers to which are held back
        self.least_late = self.most_late = 0.0
        self.drawn = random.Random(f"{source} {target} {packets}")
        self.live: list[tuple[int, list[Direction]]] = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True, name="tap").start()

    def ends(self, number: int) -> dict[str, int]:
        return {"connection": number, "follower": self.source, "leader": self.target}

    def delay(self) -> float:
        return self.drawn.uniform(self.least_late, self.most_late) if self.most_late else 0.0

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self.join, args=(near,), daemon=True, name="tap").start()

    def join(self, near: socket.socket) -> None:
        """Connect to the target; if that fails, the incoming connection is closed."""
        far = self.reach()
        if far is None:
            close(near)
            return
        for s in (near, far):
            with contextlib.suppress(OSError):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.recorder.changed:
            if self.cut or self.over:
                close(near)
                close(far)
                return
            self.recorder.connections += 1
            number = self.recorder.connections
            pair = [
                Direction(self, number, True, self.source, near, far),
                Direction(self, number, False, self.target, far, near),
            ]
            for d in pair:
                self.recorder.reading[d.sender] += 1
            self.live.append((number, pair))
        for d in pair:
            d.start()

    def reach(self) -> socket.socket | None:
        end = Deadline(LISTENS)
        while not self.cut and not self.over:
            try:
                far = socket.create_connection(("127.0.0.1", self.port_behind), 1)
            except OSError:
                if end.over() or not self.packets:
                    return None
                time.sleep(0.05)
            else:
                far.settimeout(None)
                return far
        return None

    def lose(self) -> None:
        """Cut every connection: packets already read are recorded but do not pass."""
        with self.recorder.changed:
            for number, pair in self.live:
                if self.packets and not all(d.ended for d in pair):
                    self.recorder.note("lost", **self.ends(number))
                for d in pair:
                    d.silent = True
                    close(d.source)
            self.live.clear()
            self.recorder.changed.notify_all()

    def answers(self, number: int) -> Direction:
        """Return the direction from the target of a live connection to the side that opened it."""
        return next(pair[1] for k, pair in self.live if k == number)

    def hold(self, sender: int, holds: bool) -> None:
        """Hold back what a server sends over the existing connections, or let it pass again."""
        with self.recorder.changed:
            for _, pair in self.live:  # those of later connections are not held back
                for d in pair:
                    d.held = holds and d.sender == sender
            self.recorder.changed.notify_all()

    def end(self) -> None:
        self.over = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for _, pair in self.live:
            for d in pair:
                close(d.source)
