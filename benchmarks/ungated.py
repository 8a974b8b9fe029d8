"""Let the harm of a finding happen on free-running ZooKeeper servers, again and again, and report how often it does.

    python -m benchmarks.ungated trunc --times 20 [--release 3.9.5] [--jar JAR] [--keep FOLDER] [--record]

Nothing forces a step. Servers are killed and started; connections through passive proxies are cut, stalled or delayed
as a whole, without a look at what passes; what a server forces to its disk may wait, as on a slow disk. When to do so
is read from the servers: their disks, their logs, their answers to `srvr`. The limits are those of ZooKeeper's sample
configuration. Each attempt is judged by what clients read of the servers, or by how a process ended. With `--record`
the result is what `zabcheck report` writes into the finding's folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from checker.zookeeper.finding import FOLDER, UNGATED
from traces.zookeeper.conform.chaos import ROOT, Chaos, ChaosPlan
from traces.zookeeper.reenact.distributions import Cannot, Release, find_release
from traces.zookeeper.reenact.rates import told_rate

PATIENCE = 30.0  # seconds that one action of the servers may take
NODE = f"{ROOT}/t"
DEFAULTS = (f"-Dzookeeper.commitProcessor.numWorkerThreads={os.cpu_count()}", "-Dzookeeper.maxBatchSize=1000")


class Attempt(Chaos):
    """An ensemble for one attempt.

    Attributes:
        count: its number of servers.
        steps: what happens, for who repeats it by other means.
        harm: what is seen where it succeeds.
        settings: options of the servers besides the defaults.
        lists: what each server shows to a client in the end.
        otherwise: what is seen in place of the harm, where that is no list.
    """

    session = 600.0  # so long that no session expires, which is a transaction
    limits = (2000, 10, 5)
    count = 3
    steps: tuple[str, ...] = ()
    harm = ""
    settings: tuple[str, ...] = ()

    def __init__(self, folder: Path, release: Release) -> None:
        release = replace(release, settings=(*release.settings, *self.settings))
        super().__init__(folder, release, ChaosPlan(0.0, 1, clients=1, writes=0, faults=()), self.count)
        self.lists: dict[int, list[str]] = {}
        self.otherwise = ""

    def happens(self) -> str:
        """Make the attempt; return what was seen of the harm, or an empty text.

        Raises:
            Cannot: it did not come to it.
        """
        raise NotImplementedError

    # --- what is done --------------------------------------------------------------------------------

    def begin(self, *numbers: int) -> int:
        """Start servers together, wait until all serve, and return the leader."""
        for n in numbers:
            self.start(n)
        self.see(lambda: all(self.mode(n) for n in numbers) and self.leading(list(numbers)) is not None, "all serve")
        return self.leads(*numbers)

    def begin_equal(self) -> tuple[int, int, int, Any]:
        """Start all three, and wait until they have logged the same; return A, which leads, B, C, and A's client."""
        a = self.begin(*self.numbers)
        b, c = sorted((n for n in self.numbers if n != a), reverse=True)
        client = self.client_of(a)
        client.ensure_path(ROOT)
        self.see(lambda: self.logged(b) == self.logged(a) == self.logged(c), "all have logged the same")
        return a, b, c, client

    def leads(self, *numbers: int) -> int:
        leader = self.leading(list(numbers))
        if leader is None:
            raise Cannot("no server leads")
        return leader

    def end_all(self, *numbers: int) -> None:
        for n in numbers:
            self.kill(n)

    def stall_link(self, sender: int, receiver: int, stalls: bool) -> None:
        """Let nothing pass that one server sends another over the connection there is, or let it pass again."""
        for tap in self.between(sender, receiver):
            tap.hold(sender, stalls)

    def delay_link(self, a: int, b: int, seconds: float) -> None:
        for tap in self.between(a, b):
            tap.least_late = tap.most_late = seconds

    def reset_link(self, a: int, b: int) -> None:
        """Close the quorum connection of two servers; they may connect again at once."""
        for tap in self.between(a, b):
            tap.lose()

    def between(self, a: int, b: int) -> list[Any]:
        return [tap for tap in self.taps if tap.packets and {tap.source, tap.target} == {a, b}]

    def client_of(self, n: int) -> Any:
        return self.client(f"127.0.0.1:{self.servers[n].client}", PATIENCE)

    # --- what is seen --------------------------------------------------------------------------------

    def see(self, seen: Callable[[], bool], what: str, seconds: float = PATIENCE, every: float = 0.05) -> None:
        end = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > end:
                raise Cannot(f"not seen within {seconds:g} s: {what}")
            time.sleep(every)

    def logged(self, n: int) -> int:
        """Return the last zxid in a server's log on the disk; 0 if there is none."""
        return max(self.servers[n].on_disk().log, default=0)

    def current_epoch(self, n: int) -> int:
        return self.servers[n].on_disk().current

    def serves_all(self) -> None:
        """Wait until all serve, and read of each, behind a `sync`, what it shows."""
        self.see(lambda: all(self.mode(n) for n in self.numbers), "all serve in the end")
        for n in self.numbers:
            self.read(n)
        self.lists = {n: [path.rpartition("/")[2] for path in paths] for n, paths in sorted(self.served.paths.items())}
        if len(self.lists) < self.count:
            raise Cannot("not every server was read")

    def shown_on(self) -> list[int]:
        return [n for n, names in self.lists.items() if NODE.rpartition("/")[2] in names]


class Trunc(Attempt):
    """An acknowledged write is gone."""

    steps = (
        "A leads B and C. A's disk is slow (what it forces waits), and what A sends C is stalled.",
        "A client of A creates a node. B logs the proposal and acknowledges it.",
        "The connection of B and A is reset, and is slow (1 s each way) when it is made again: B is told to TRUNC.",
        "Once B's log has `Truncating log`, A's disk is no longer slow. A client has its answer; A is killed.",
        "B and C elect. A starts again. All three are read.",
    )
    harm = "the write was acknowledged, and no server has it"

    def happens(self) -> str:
        a, b, c, client = self.begin_equal()
        before = self.logged(b)
        self.servers[a].stall(True)
        self.stall_link(a, c, True)
        answer = client.create_async(NODE)
        self.see(lambda: self.logged(b) > before, "B has logged the proposal")
        time.sleep(0.3)
        if answer.ready():
            raise Cannot("it was committed without A's disk")
        position = self.servers[b].log.stat().st_size
        self.delay_link(a, b, 1.0)
        self.reset_link(a, b)
        self.see(lambda: "Truncating log" in self.servers[b].said(position), "B is told to TRUNC", every=0.01)
        self.servers[a].stall(False)
        try:
            answer.get(timeout=10)
        except Exception as problem:
            raise Cannot(f"the write was answered with {type(problem).__name__}") from None
        self.cut(a, True)
        self.kill(a)
        others = [b, c]
        self.see(lambda: self.leading(others) is not None and all(self.mode(n) for n in others), "B and C serve")
        self.cut(a, False)
        self.start(a)
        self.serves_all()
        return "" if self.shown_on() else self.harm


class Cut(Attempt):
    """A write that nobody committed is read, and is gone."""

    count = 5  # so that three servers can go on without the leader and the follower that have the write on their disks
    steps = (
        "Clients of all five servers have sessions. All servers are killed and started twice, so that the leader, A, "
        "has a snapshot and no log behind it.",
        "A's disk is slow (what it forces waits), and what A sends C, D and E is stalled.",
        "A's client creates a node. B logs the proposal. The connection of B and A is reset; B joins A again, and is "
        "told to TRUNC to `<e,0>`.",
        "B serves; its client reads. A and B are killed. C, D and E elect; A and B start again. All five are read.",
    )
    harm = "a client read a write of B that was not committed, and at most one server of five shows it in the end"

    def happens(self) -> str:
        self.begin(*self.numbers)
        clients = {n: self.client_of(n) for n in self.numbers}
        clients[self.numbers[0]].ensure_path(ROOT)
        for _ in range(2):
            last = max(self.logged(n) for n in self.numbers)
            self.see(lambda last=last: all(self.logged(n) == last for n in self.numbers), "all have logged the same")
            self.end_all(*self.numbers)
            a = self.begin(*self.numbers)
        others = [n for n in self.numbers if n != a]
        b, rest = max(others), sorted(others)[:-1]
        self.see(lambda: clients[a].connected and clients[b].connected, "the sessions go on")
        epoch, counter = divmod(self.servers[a].status()[1], 1 << 32)
        if counter:
            raise Cannot("the epoch has a transaction before the write")
        self.servers[a].stall(True)
        for n in rest:
            self.stall_link(a, n, True)
        answer = clients[a].create_async(NODE)
        self.see(lambda: self.logged(b) >> 32 == epoch, "B has logged the proposal")
        position = self.servers[b].log.stat().st_size
        self.reset_link(a, b)
        self.see(lambda: "Truncating log" in self.servers[b].said(position), "B is told to TRUNC")
        self.see(lambda: self.mode(b) == "follower" and clients[b].connected, "B serves")
        read = clients[b].exists(NODE) is not None
        if answer.ready():
            raise Cannot("it was committed without A's disk")
        self.cut(a, True)
        self.end_all(a, b)
        self.servers[a].stall(False)
        self.see(lambda: self.leading(rest) is not None and all(self.mode(n) for n in rest), "C, D and E serve")
        self.cut(a, False)
        for n in (a, b):
            self.start(n)
        self.serves_all()
        return self.harm if read and len(self.shown_on()) <= 1 else ""


class SnapTail(Attempt):
    """A write that was never acknowledged comes back, on two servers of three."""

    steps = (
        "A leads B and C. What A sends them is stalled; a client of A creates a node, which A alone logs. A is killed.",
        "B leads C. Both are killed and started: B leads again, from a snapshot with no log behind it. A starts, and "
        "follows: a SNAP at the epoch's first zxid.",
        "A is cut off; B is killed and started, and is elected with C, over a slow connection (2 s each way). Once B's "
        "disk has the new epoch, A is no longer cut off, and joins: a SNAP below the tail of its log. It serves.",
        "A is cut off, B is killed; A is no longer cut off and is elected with C. B starts. One more write.",
        "A is killed and started. All three are read.",
    )
    harm = "a write that was never acknowledged is shown by two servers of three"

    def happens(self) -> str:
        a, b, c, client = self.begin_equal()
        others = [b, c]
        before = self.logged(a)
        for n in others:
            self.stall_link(a, n, True)
        answer = client.create_async(NODE)
        self.see(lambda: self.logged(a) > before, "A has logged the proposal")
        self.cut(a, True)
        self.kill(a)
        with contextlib.suppress(Exception):
            client.stop()
        if answer.ready() and answer.successful():
            raise Cannot("the write was acknowledged")
        self.see(lambda: self.leading(others) is not None, "B or C leads")
        self.end_all(*others)
        if self.begin(*others) != b:
            raise Cannot("C leads")
        self.cut(a, False)
        self.start(a)
        self.see(lambda: self.mode(a) == "follower", "A follows")
        self.cut(a, True)
        self.delay_link(b, c, 2.0)
        epoch = self.current_epoch(b)
        self.kill(b)
        self.start(b)
        self.see(lambda: self.current_epoch(b) > epoch, "B begins an epoch")
        self.cut(a, False)
        self.see(lambda: self.mode(a) == "follower", "A follows in the new epoch")
        self.delay_link(b, c, 0.0)
        self.see(lambda: self.mode(c) == "follower", "C follows in the new epoch")
        self.cut(a, True)
        self.see(lambda: not self.mode(a), "A looks for a leader")
        self.kill(b)
        self.cut(a, False)
        self.see(lambda: self.leading([a, c]) is not None, "A or C leads")
        self.start(b)
        self.see(lambda: self.mode(b) == "follower", "B follows")
        self.client_of(b).create(f"{ROOT}/later")
        self.kill(a)
        self.start(a)
        self.serves_all()
        return self.harm if len(self.shown_on()) == 2 else ""


class TruncSnap(Attempt):
    """A server exits whenever it follows the only other one."""

    steps = (
        "A leads B and C; all are new. What A sends them is stalled; a client of A opens a session, which A alone "
        "logs. A is killed.",
        "B is elected with C over a slow connection (2 s each way). Once B's disk has the new epoch, both are killed.",
        "A and C start. A is elected and sends C a SNAP. Once C has saved it, its disk is slow, and both are killed.",
        "B and C start; B is elected.",
    )
    harm = "C ended with exit code 13, and no server serves; again when it was started again"

    def happens(self) -> str:
        a = self.begin(*self.numbers)
        others = [n for n in self.numbers if n != a]
        b, c = max(others), min(others)
        client = self.leave_alone(a, b, c)
        epoch = self.current_epoch(b)
        position = self.servers[b].log.stat().st_size
        self.delay_link(b, c, 2.0)
        self.cut(a, True)
        self.kill(a)
        with contextlib.suppress(Exception):
            client.stop()
        self.see(lambda: max(self.current_epoch(b), self.current_epoch(c)) > epoch, "one begins an epoch", every=0.01)
        if self.current_epoch(c) > epoch:
            raise Cannot("C leads")
        self.end_term(b, c)
        self.delay_link(b, c, 0.0)
        self.cut(a, False)
        self.keep_away(b, True)
        had = self.servers[c].on_disk()
        self.start(a)
        self.start(c)
        place = self.servers[c].snapshot(self.logged(a))
        self.see(place.exists, "C has saved the snapshot", every=0.001)
        self.servers[c].stall(True)
        self.end_all(c, a)
        self.servers[c].stall(False)
        has = self.servers[c].on_disk()
        if has.current != had.current or has.log:
            raise Cannot("C had written its epoch before it was killed")
        self.see(lambda: self.is_free(b, position), "B's term has ended")
        self.keep_away(b, False)
        for _ in range(2):
            position = self.servers[c].log.stat().st_size
            self.start(c)
            process = self.servers[c].process
            assert process is not None
            self.see(
                lambda process=process: process.poll() is not None or bool(self.mode(b) and self.mode(c)),
                "C ends, or B and C serve",
            )
            exited = process.poll() == 13 and "Not able to truncate the log" in self.servers[c].said(position)
            if not exited or self.mode(b):
                self.otherwise = f"C ended with {process.poll()}" if process.poll() is not None else "B and C serve"
                return ""
        return self.harm

    # --- how B comes to the end of its log -----------------------------------------------------------

    def leave_alone(self, a: int, b: int, c: int) -> Any:
        """Let A log a transaction that no other server has; return the client that asks for it."""
        for n in (b, c):
            self.stall_link(a, n, True)
        client = import_module("kazoo.client").KazooClient(f"127.0.0.1:{self.servers[a].client}", self.session)
        client.start_async()  # it gets no answer
        self.see(lambda: self.logged(a) > 0, "A has logged the session")
        return client

    def end_term(self, b: int, c: int) -> None:
        self.end_all(c, b)

    def keep_away(self, b: int, away: bool) -> None:
        """Keep B from the others, which elect without it, or let it return."""
        if not away:
            self.start(b)

    def is_free(self, b: int, position: int) -> bool:
        """Return whether B's term has ended; its log from a position on says so, where it was not killed."""
        return not self.servers[b].runs


class TruncEpoch(TruncSnap):
    """A server exits whenever it follows the only other one, whose committedLog ends before its snapshot."""

    steps = (
        "A leads B and C; all are new. What A sends C is stalled; a client of A opens a session, which A and B commit. "
        "What A sends B is stalled, too; the client creates a node, which A alone logs. A is killed.",
        "B is elected with C over a slow connection (2 s each way). Once B's disk has the new epoch, C is killed and B "
        "is cut off; it looks for a leader when initLimit is over, and has the session in its committedLog.",
        "A and C start. A is elected and sends C a SNAP. Once C has saved it, its disk is slow, and both are killed.",
        "B is no longer cut off, and C starts; B is elected.",
    )

    def leave_alone(self, a: int, b: int, c: int) -> Any:
        self.stall_link(a, c, True)
        client = self.client_of(a)
        self.see(lambda: 0 < self.logged(a) == self.logged(b), "A and B have logged the session")
        both = self.logged(a)
        self.stall_link(a, b, True)
        client.create_async(NODE)
        self.see(lambda: self.logged(a) > both, "A has logged the node")
        if self.logged(b) > both:
            raise Cannot("B has logged the node")
        return client

    def end_term(self, b: int, c: int) -> None:
        self.kill(c)

    def keep_away(self, b: int, away: bool) -> None:
        self.cut(b, away)

    def is_free(self, b: int, position: int) -> bool:
        said = self.servers[b].said(position)
        return "PeerState set to LOOKING" in said[said.rindex(" LEADING") :]


class LateSnapshot(Attempt):
    """A write that was never committed stays, in a periodic snapshot of one server."""

    nodes, at_once = 40000, 1000
    steps = (
        "A leads B and C; a snapshot is due after 1000 transactions (snapCount). "
        f"/big gets {nodes} nodes of 600 bytes.",
        "A's disk is slow (what it forces waits). A client of A writes one node again and again, which B and C commit.",
        "Once B has begun a periodic snapshot, what A sends C is stalled, and the client creates another node. B logs "
        "it, and is cut off; A is killed.",
        "A's disk is no longer slow. A starts, and C is elected. B is no longer cut off, and is told to TRUNC.",
        "All three are read.",
    )
    harm = "a write that was never committed, and was truncated, is shown by one server of three"
    settings = ("-Xmx512m", "-Dzookeeper.snapCount=1000")

    def happens(self) -> str:
        a, b, c, client = self.begin_equal()
        self.fill(client)
        own = self.servers[b].data / "version-2"
        self.see(lambda: len({self.servers[n].status()[1] for n in self.numbers}) == 1, "all have what was written")
        self.servers[a].stall(True)
        before = set(own.glob("snapshot.*"))
        end = time.monotonic() + PATIENCE
        while before.issuperset(own.glob("snapshot.*")):
            client.set_async(ROOT, b"")
            time.sleep(0.002)
            if time.monotonic() > end:
                raise Cannot("B begins no snapshot")
        self.stall_link(a, c, True)
        answer = client.create_async(NODE)
        self.see(lambda: self.has_logged(own), "B has logged the node", every=0.001)
        position = self.servers[b].log.stat().st_size
        for n in (b, a):
            self.cut(n, True)
        self.kill(a)
        if answer.ready() and answer.successful():
            raise Cannot("it was committed without A's disk")
        self.servers[a].stall(False)
        self.cut(a, False)
        self.cut(b, True)  # of A, too
        self.start(a)
        self.see(lambda: self.leading([c]) is not None and bool(self.mode(a)), "C leads A")
        self.cut(b, False)
        self.see(lambda: "Truncating log" in self.servers[b].said(position), "B is told to TRUNC")
        self.serves_all()
        return self.harm if self.shown_on() == [b] else ""

    def fill(self, client: Any) -> None:
        """Make a tree that takes long to write: /big comes before the node of the attempt in a snapshot."""
        client.create("/big")
        draw = random.Random(1)
        for k in range(0, self.nodes, self.at_once):
            transaction = client.transaction()
            for n in range(k, k + self.at_once):
                transaction.create(f"/big/n{n}", draw.randbytes(600))
            transaction.commit()

    def has_logged(self, own: Path) -> bool:
        """Return whether the newest log file has the node; it begins with the snapshot."""
        newest = max(own.glob("log.*"), key=lambda path: int(path.suffix[1:], 16))
        with newest.open("rb") as log:
            return NODE.encode() in log.read(1 << 20)


ATTEMPTS: dict[str, type[Attempt]] = {
    "trunc": Trunc,
    "cut": Cut,
    "snap-tail": SnapTail,
    "trunc-snap": TruncSnap,
    "trunc-epoch": TruncEpoch,
    "late-snapshot": LateSnapshot,
}


def attempted(name: str, release: Release, folder: Path) -> tuple[str, str]:
    """Make one attempt; return what was seen of the harm, or an empty text, and why not."""
    try:
        ensemble = ATTEMPTS[name](folder.resolve(), release)
        try:
            seen = ensemble.happens()
        finally:
            ensemble.end()
    except Cannot as problem:
        return "", str(problem)
    return seen, ensemble.otherwise or f"servers show {ensemble.lists}"


def main() -> None:
    """Make the attempts, and report the rate."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("finding", choices=ATTEMPTS)
    words.add_argument("--times", type=int, default=1)
    words.add_argument("--release", default="3.9.5")
    words.add_argument("--jar", default="", help="a server's jar in place of the release's, or classes before it")
    words.add_argument("--keep", type=Path, help="a new folder for disks, logs and records")
    words.add_argument("--record", action="store_true")
    said = words.parse_args()
    if said.record and said.jar:
        words.error("a record is of a release")
    found = find_release(said.release, jar=said.jar)
    release = replace(found, settings=DEFAULTS)
    hits = 0
    with contextlib.ExitStack() as held:
        folder = said.keep or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="ungated")))
        for k in range(said.times):
            own, began = folder / f"attempt{k}", time.monotonic()
            own.mkdir(parents=True)
            seen, why = attempted(said.finding, release, own)
            hits += bool(seen)
            print(f"{k + 1}: {seen or 'no'}: {why} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{said.finding}, {said.release}: {told_rate(hits, said.times)}")
    if said.record:
        attempt = ATTEMPTS[said.finding]
        place = Path(__file__).parent.parent / "checker" / "zookeeper" / FOLDER / said.finding / UNGATED
        record = {"release": said.release, "hits": hits, "times": said.times, "harm": attempt.harm}
        place.write_text(json.dumps({**record, "steps": attempt.steps}, indent=1) + "\n")


if __name__ == "__main__":
    main()
