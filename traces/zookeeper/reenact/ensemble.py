"""Run real servers on loopback, with a proxy on every link and gates in every server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.gates import EVERY, Gates
from traces.zookeeper.reenact.notifications import Greeting
from traces.zookeeper.reenact.packets import FOLLOWERINFO, OBSERVERINFO
from traces.zookeeper.reenact.quorum_links import ElectionProxy, QuorumProxy
from traces.zookeeper.reenact.recording import Recording
from traces.zookeeper.reenact.servers import Server, free_ports, wait_for_logs
from traces.zookeeper.reenact.shim import place_shim
from zabspec.temporary import temporary_folder

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
        import logging

        kazoo = import_module("kazoo.client")
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        made = kazoo.KazooClient(
            f"127.0.0.1:{self.servers[n].client}",
            timeout=300,
            connection_retry=RETRY | ({"max_tries": -1} if lasting else {}),
        )
        self.clients.append(made)
        try:
            made.start(seconds)
        except Exception as problem:
            raise Cannot(f"a client got no session from server {n}: {type(problem).__name__}") from None
        return made

    def open_all(self) -> None:
        """Open all gates and links."""
        self.hold(False)
        for gates in self.gates.values():
            gates.open(*EVERY)
        self.regroup(self.numbers)


def closed(client: Any) -> None:
    with contextlib.suppress(Exception):
        client.stop()
        client.close()
