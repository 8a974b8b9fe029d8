"""Run a ZooKeeper ensemble on loopback, with writing clients and seeded faults, and record it."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from traces.zookeeper.conform.taps import Recorder, Tap
from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.ensemble import closed, connected, place_shim
from traces.zookeeper.reenact.servers import Server, free_ports, limit_lines, wait_for_logs
from zabspec.limits import Deadline
from zabspec.temporary import temporary_folder

ROOT = "/zabcheck"
LIMITS = (200, 25, 10)  # tickTime in milliseconds, initLimit and syncLimit in ticks
BEGINS, SETTLES = 60.0, 40.0  # seconds that an ensemble may take to serve
FAULTS = ("kill", "stop", "cut", "delay", "tail", "behind", "stall")
HEALS = 20.0  # seconds that servers may take, under faults, until one leads or all serve


@dataclass(frozen=True)
class ChaosPlan:
    """The workload and the faults of a recording under chaos.

    Attributes:
        seconds: how long clients write and faults happen.
        seed: from which the faults are drawn; what servers make of them is not determined.
        clients: the number of clients that write, one write at a time each.
        writes: the most writes of all clients; they are spread over the time.
        faults: the kinds of fault that happen.
    """

    seconds: float
    seed: int
    clients: int = 3
    writes: int = 1000
    faults: tuple[str, ...] = FAULTS

    def as_json(self) -> dict[str, Any]:
        """Return the plan as the record's first line contains it."""
        return asdict(self)


@dataclass
class Served:
    """The clients' answers, and what the servers serve in the end.

    Attributes:
        outcomes: by path: `acknowledged`, `refused`, or `unknown`.
        paths: for each server that could be read the paths that it serves in the end.
    """

    outcomes: dict[str, str] = field(default_factory=dict)
    paths: dict[int, list[str]] = field(default_factory=dict)


class Chaos:
    """An ensemble with its proxies and its clients, under faults.

    `run` does everything; `end` stops everything, whatever has happened.

    Args:
        folder: a new one, for the record, the servers' logs and their data.

    Attributes:
        session: seconds after which a client's session expires.
        limits: tickTime in milliseconds, initLimit and syncLimit in ticks.
    """

    session = 6.0
    limits = LIMITS

    def __init__(self, folder: Path, release: Release, plan: ChaosPlan, count: int = 3) -> None:
        self.folder, self.release, self.plan = folder, release, plan
        self.numbers = list(range(1, count + 1))
        self.draw = random.Random(f"chaos {plan.seed}")
        self.record = folder / "record.jsonl"
        self.recorder = Recorder(self.record, release.name, self.numbers, plan.seed, plan.as_json())
        self.held = contextlib.ExitStack()
        self.taps: list[Tap] = []
        self.servers: dict[int, Server] = {}
        self.stopped: set[int] = set()
        self.clients: list[Any] = []
        self.writing = threading.Event()
        self.quiet = False
        self.served = Served()
        self.done_at: list[tuple[float, str]] = []
        try:
            self.build()
        except BaseException:
            self.end()
            raise

    def build(self) -> None:
        shim = place_shim(self.held.enter_context(temporary_folder("chaos")))
        ports = free_ports(3 * len(self.numbers))
        own = {n: (ports[3 * k], ports[3 * k + 1], ports[3 * k + 2]) for k, n in enumerate(self.numbers)}
        reached = {n: (*own[n][1:], False) for n in self.numbers}
        for a in self.numbers:
            proxies: dict[int, int] = {}
            for b in self.numbers:
                if a != b:
                    for port, packets in ((own[b][1], True), (own[b][2], False)):
                        self.taps.append(Tap(a, b, port, packets, self.recorder))
                        proxies[port] = self.taps[-1].port
            self.servers[a] = Server(
                self.folder, a, self.release, own[a], reached, proxies, shim, None, limit_lines(*self.limits)
            )

    # --- faults ------------------------------------------------------------------------------------

    def start(self, n: int) -> None:
        self.recorder.note("starts", server=n)
        self.servers[n].start()

    def kill(self, n: int) -> None:
        """Send SIGKILL; the server's last packets are recorded before the record says that it is dead."""
        recorder = self.recorder
        with recorder.changed:
            recorder.dying.add(n)
            recorder.note("kills", server=n)
        try:
            self.servers[n].kill()
            self.stopped.discard(n)
            if not recorder.wait_until_dead(n):
                raise Cannot(f"connections of server {n} stay open though it is dead")
            recorder.note("killed", server=n)
        finally:
            with recorder.changed:
                recorder.dying.discard(n)
                recorder.changed.notify_all()

    def signal(self, n: int, stops: bool) -> None:
        import signal

        process = self.servers[n].process
        if process is not None:
            self.recorder.note("stops" if stops else "continues", server=n)
            process.send_signal(signal.SIGSTOP if stops else signal.SIGCONT)
            (self.stopped.add if stops else self.stopped.discard)(n)

    def cut(self, n: int, cuts: bool) -> None:
        """Cut a server off from all others, or heal the cut."""
        with self.recorder.changed:
            for tap in self.taps:
                if n in (tap.source, tap.target):
                    tap.cut = cuts
                    if cuts:
                        tap.lose()

    def late(self, n: int, most: float) -> None:
        """Delay the traffic from and to a server by up to `most` seconds."""
        for tap in self.taps:
            if n in (tap.source, tap.target):
                tap.most_late = most

    # --- clients -----------------------------------------------------------------------------------

    def client(self, hosts: str, seconds: float) -> Any:
        retry = {"max_tries": -1, "delay": 0.1, "max_delay": 0.5}
        return connected(
            self.clients, hosts, seconds, timeout=self.session, randomize_hosts=False, connection_retry=retry
        )

    def write(self, k: int, client: Any) -> None:
        """Write one node after another as a client, waiting for each answer.

        After a disturbance the client is late, and then pauses less.
        """
        pause = max(0.002, self.plan.seconds * self.plan.clients / max(1, self.plan.writes))
        due = time.monotonic()
        for i in range(-(-self.plan.writes // self.plan.clients)):
            while self.writing.is_set() and (self.quiet or not client.connected or time.monotonic() < due):
                time.sleep(0.002 if time.monotonic() < due else 0.02)
            if not self.writing.is_set():
                return
            path = f"{ROOT}/w{k}-{i}"
            self.told(path, self.asked(client, path))
            due = max(due + pause, time.monotonic() - 3 * pause)

    def asked(self, client: Any, path: str) -> str:
        if not client.connected:
            return "refused"
        try:
            client.create_async(path, path.encode()).get(timeout=10)
        except Exception as problem:
            name = type(problem).__name__
            return "refused" if name in ("SessionExpiredError", "NoNodeError") else "unknown"
        return "acknowledged"

    def told(self, path: str, outcome: str) -> None:
        with self.recorder.changed:
            self.served.outcomes[path] = outcome
            self.recorder.note("answered", path=path, outcome=outcome)

    # --- all of it ---------------------------------------------------------------------------------

    def run(self, say: Callable[[str], None] = lambda _: None) -> Served:
        """Run the ensemble for the planned time, then let it settle, and return what clients and servers answered.

        Args:
            say: receives progress messages.

        Raises:
            Cannot: the ensemble did not start to serve.
        """
        for n in self.numbers:
            self.start(n)
        wait_for_logs(self.servers.values())
        self.wait(lambda: all(self.mode(n) for n in self.numbers), "all servers serve", BEGINS)
        hosts = [f"127.0.0.1:{s.client}" for s in self.servers.values()]
        writers = [
            self.client(",".join(hosts[k % len(hosts) :] + hosts[: k % len(hosts)]), 30)
            for k in range(self.plan.clients)
        ]
        writers[0].ensure_path(ROOT)
        self.writing.set()
        threads = [threading.Thread(target=self.write, args=pair, daemon=True) for pair in enumerate(writers)]
        for t in threads:
            t.start()
        self.disturb(say)
        self.writing.clear()
        for t in threads:
            t.join(12)
        self.settle(say)
        return self.served

    def disturb(self, say: Callable[[str], None]) -> None:
        """Inject faults by the seed, one after another and each kind equally often, until the time is over."""
        end, kinds = Deadline(self.plan.seconds), dealt(self.plan.faults, self.draw)
        while not end.over() and self.pause(self.draw.uniform(0.5, 1.5), end):
            if not self.plan.faults:
                continue
            what, n = next(kinds), self.draw.choice(self.numbers)
            for_how_long = self.draw.uniform(0.5, 4.0)
            say(f"{what} {n}")
            if what == "kill":
                self.kill(n)
                self.pause(for_how_long, end)
                self.start(n)
            elif what == "stop":
                self.signal(n, True)
                self.pause(for_how_long, end)
                self.signal(n, False)
            elif what == "cut":
                self.cut(n, True)
                self.pause(for_how_long, end)
                self.cut(n, False)
            elif what == "tail":
                self.leave_tail(n, for_how_long / 4, self.draw.random() < 0.5, self.draw.random() < 0.7)
            elif what == "behind":
                self.leave_behind(n, for_how_long / 2)
            elif what == "stall":
                self.stall(n, for_how_long, self.draw.random() < 0.5, end)
            else:
                self.late(n, 0.2)
                self.pause(for_how_long, end)
                self.late(n, 0.0)
            self.pause(self.draw.uniform(0.5, 3.0), end)

    def leave_tail(self, n: int, seconds: float, kills: bool, quiet: bool) -> None:
        """Let the leader log transactions that no other server has.

        What the leader sends is held back for a moment; then it is cut off, or killed, until another server leads.

        Args:
            n: the server to disturb if none leads.
            seconds: how long to wait between the steps.
            kills: kill the leader after cutting it off.
            quiet: nobody writes before it has returned. Then it may get a TRUNC; where the next epoch has transactions,
                servers send a SNAP instead.
        """
        leader = self.leading(self.numbers) or n
        for tap in self.taps:
            if tap.packets:
                tap.hold(leader, True)
        time.sleep(min(1.2, 0.3 + seconds))  # less than syncLimit
        self.quiet = quiet
        self.cut(leader, True)
        if kills:
            self.kill(leader)
        others = [m for m in self.numbers if m != leader]
        self.until(lambda: self.leading(others) is not None)
        time.sleep(seconds)
        self.cut(leader, False)
        if kills:
            self.start(leader)
        self.until(lambda: all(self.mode(m) for m in self.numbers))
        self.quiet = False

    def leave_behind(self, n: int, seconds: float) -> None:
        """Kill a server while the others are written to and restarted twice.

        After the second restart the leader remembers no proposal from before its snapshot, so a SNAP may follow when
        the server returns.
        """
        others = [m for m in self.numbers if m != n]
        self.kill(n)
        for _ in range(2):
            time.sleep(seconds)
            for m in others:
                self.kill(m)
            for m in others:
                self.start(m)
            self.until(lambda: all(self.mode(m) for m in others))
        self.start(n)
        self.until(lambda: all(self.mode(m) for m in self.numbers))

    def stall(self, n: int, seconds: float, kills: bool, end: Deadline) -> None:
        """Stall a server's disk, so that it acknowledges nothing; it may be killed meanwhile."""
        self.recorder.note("note", message=f"the disk of server {n} stalls")
        self.servers[n].stall(True)
        self.pause(seconds, end)
        if kills:
            self.kill(n)
        self.servers[n].stall(False)
        self.recorder.note("note", message=f"the disk of server {n} continues")
        if kills:
            self.start(n)

    def leading(self, among: list[int]) -> int | None:
        """Return the leading server, or None."""
        return next((m for m in among if self.mode(m) == "leader"), None)

    def until(self, seen: Callable[[], bool]) -> None:
        """Wait for the servers to reach a condition, for a limited time: they need not reach it."""
        end = Deadline(HEALS)
        while not end.over() and not seen():
            time.sleep(0.1)

    def pause(self, seconds: float, end: Deadline) -> bool:
        time.sleep(max(0.0, min(seconds, end.left())))
        return not end.over()

    def settle(self, say: Callable[[str], None]) -> None:
        """Heal all faults, let clients read, end everything, and read the disks."""
        say("settles")
        for n in list(self.stopped):
            self.signal(n, False)
        for n in self.numbers:
            self.late(n, 0.0)
            if not self.servers[n].runs:
                self.recorder.note("note", message=f"server {n} has ended by itself")
        running = [n for n in self.numbers if self.servers[n].runs]
        end = Deadline(SETTLES)
        while not end.over() and not all(self.mode(n) for n in running):
            time.sleep(0.2)
        for n in running:
            with contextlib.suppress(Cannot):
                self.read(n)
        for client in self.clients:
            closed(client)
        self.clients.clear()
        for n in self.numbers:
            self.kill(n)
        for n in self.numbers:
            disk = self.servers[n].on_disk()
            self.recorder.note(
                "disk", server=n, log=ranges(disk.log), snapshots=list(disk.snapshots), current=disk.current,
                accepted=disk.accepted,
            )  # fmt: skip
        self.recorder.end()

    def read(self, n: int) -> None:
        """Record the paths that a server serves.

        Raises:
            Cannot: the server does not answer the read.
        """
        client = self.client(f"127.0.0.1:{self.servers[n].client}", 10)
        try:
            client.sync(ROOT)
            paths = sorted(f"{ROOT}/{name}" for name in client.get_children(ROOT))
        except Exception as problem:
            raise Cannot(f"server {n} answers a read with {type(problem).__name__}") from None
        self.served.paths[n] = paths
        self.recorder.note("served", server=n, paths=paths)

    def mode(self, n: int) -> str:
        return self.servers[n].status()[0] if self.servers[n].runs else ""

    def wait(self, seen: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for a condition.

        Raises:
            Cannot: it is not met in time; the message names `what`.
        """
        end = Deadline(seconds)
        while not seen():
            if end.over():
                raise Cannot(f"not seen within {seconds:g} s: {what}")
            time.sleep(0.2)

    def end(self) -> None:
        """End everything that was started, without raising."""
        self.writing.clear()
        for s in self.servers.values():
            with contextlib.suppress(Exception):
                s.kill()
        for tap in self.taps:
            with contextlib.suppress(Exception):
                tap.end()
        for client in self.clients:
            closed(client)
        self.clients.clear()
        self.recorder.close()
        self.held.close()


def dealt(kinds: tuple[str, ...], draw: random.Random) -> Iterator[str]:
    """Yield kinds without end, in rounds that contain each kind once."""
    while True:
        yield from draw.sample(kinds, len(kinds))


def ranges(zxids: tuple[int, ...]) -> list[list[int]]:
    """Return zxids in order, as ranges of consecutive ones."""
    out: list[list[int]] = []
    for _, run in groupby(enumerate(zxids), lambda pair: pair[1] - pair[0]):
        found = [z for _, z in run]
        out.append([found[0], found[-1]])
    return out
