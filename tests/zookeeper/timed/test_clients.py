"""Clients of a follower, reads and recoveries of `zabcheck plan`, against a simulation that shares nothing with it.

Here a server is an interface that sends one message after another, and a disk. Bits take a nanosecond each.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from zabspec.zookeeper.timed.planned import bounds, recovery
from zabspec.zookeeper.timed.run import measure
from zabspec.zookeeper.timed.setting import Disk, Setting


def bits(payload: int) -> int:
    """Bits on the wire: a frame of 1,538 bytes carries 1,448, of which a packet's head takes 20."""
    return -(-(20 + payload) * 1538 // 1448) * 8


class Network:
    """A clock, and servers that send."""

    def __init__(self, servers: int, one_way: int) -> None:
        self.now, self.one_way = 0, one_way
        self.free = [0] * servers
        self.sent = 0
        self.order = itertools.count()
        self.later: list[tuple[int, int, Callable[[], None]]] = []

    def at(self, time: int, what: Callable[[], None]) -> None:
        heapq.heappush(self.later, (time, next(self.order), what))

    def occupy(self, p: int, takes: int) -> int:
        self.free[p] = max(self.now, self.free[p]) + takes
        self.sent += takes
        return self.free[p]

    def send(self, p: int, payload: int, what: Callable[[], None]) -> None:
        self.at(self.occupy(p, bits(payload)) + self.one_way, what)

    def run(self) -> None:
        while self.later:
            self.now, _, what = heapq.heappop(self.later)
            what()


class Phase3(Network):
    """Operations in a closed loop: broadcast by server 0, requested and delivered at `client`."""

    def __init__(self, servers: int, one_way: int, size: int, operations: int, outstanding: int, **more: int) -> None:
        super().__init__(servers, one_way)
        self.servers, self.size, self.operations = servers, size, operations
        self.client, self.force, self.read = more.get("client", 0), more.get("force", 0), more.get("read", 0)
        self.began: list[int] = []
        self.ended: list[int] = []
        self.acks: dict[int, int] = {}
        self.waiting: list[list[int]] = [[] for _ in range(servers)]
        self.forcing = [False] * servers
        for _ in range(outstanding):
            self.request()
        self.run()

    def request(self) -> None:
        if len(self.began) == self.operations:
            return
        k = len(self.began)
        self.began.append(self.now)
        if self.client:
            self.send(self.client, self.size, lambda: self.broadcast(k))
        else:
            self.broadcast(k)

    def broadcast(self, k: int) -> None:
        for f in range(1, self.servers):
            self.send(0, self.size, lambda f=f: self.accept(f, k))  # type: ignore[misc]
        self.occupy(0, self.read)
        self.accept(0, k)

    def accept(self, f: int, k: int) -> None:
        if self.force:
            self.waiting[f].append(k)
            self.write(f)
        else:
            self.acknowledge(f, k)
        if f:
            self.occupy(f, self.read)

    def write(self, f: int) -> None:
        if self.waiting[f] and not self.forcing[f]:
            self.forcing[f] = True
            taken, self.waiting[f] = self.waiting[f], []
            self.at(self.now + self.force, lambda: self.written(f, taken))

    def written(self, f: int, taken: list[int]) -> None:
        for k in taken:
            self.acknowledge(f, k)
        self.forcing[f] = False
        self.write(f)

    def acknowledge(self, f: int, k: int) -> None:
        if f:
            self.send(f, 0, lambda: self.count(k))
        else:
            self.at(self.now, lambda: self.count(k))

    def count(self, k: int) -> None:
        self.acks[k] = self.acks.get(k, 0) + 1
        if self.acks[k] == self.servers // 2 + 1:
            for f in range(1, self.servers):
                self.send(0, 0, lambda f=f: self.deliver(f))  # type: ignore[misc]
            self.deliver(0)

    def deliver(self, p: int) -> None:
        if p == self.client:
            self.ended.append(self.now)
            self.request()

    @property
    def latencies(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self.began, self.ended, strict=True))


def setting(servers: int, round_trip: int, size: int, force: int, **more: int) -> Setting:
    return Setting(servers, Disk("here", force, 0, 0), size=size, round_trip=round_trip, jitter=0, **more)


@pytest.mark.parametrize("client", [0, 1])
@pytest.mark.parametrize("force", [0, 1_000_000])
@pytest.mark.parametrize("servers", [2, 3, 5, 13])
def test_an_operation_alone_takes_what_a_simulation_takes(servers: int, force: int, client: int) -> None:
    """LADIS'08 5: "4 times the packet transmission latency", for a follower's client; two ways at the leader."""
    for round_trip, size in ((100_000, 1024), (50_000, 16384), (20_000_000, 128)):
        asked = setting(servers, round_trip, size, force, operations=20, outstanding=1, client=client)
        expected = Phase3(servers, round_trip // 2, size, 20, 1, client=client, force=force).latencies
        assert measure(asked).latencies == expected
        ways = (4 if client else 2) * round_trip // 2
        # the frames of one operation, to each server, and its forced write
        assert ways <= min(expected) <= max(expected) <= ways + force + (servers + 1) * (bits(size) + bits(0))
        assert bounds(asked).least <= min(expected) <= max(expected) <= bounds(asked).most


@pytest.mark.parametrize("client", [0, 1])
@pytest.mark.parametrize(("servers", "reads"), [(3, 0), (3, 2), (5, 9), (2, 100)])
def test_throughput_is_that_of_a_simulation_and_of_the_leaders_interface(servers: int, reads: int, client: int) -> None:
    """An answer is as large as an operation, and each server gives its share: LADIS'08 1, reads scale with servers."""
    read = round(reads * bits(1024) / servers)
    alike = Phase3(servers, 50_000, 1024, 3000, 300, client=client, read=read)
    asked = setting(servers, 100_000, 1024, 0, operations=3000, outstanding=300, client=client)
    rate = measure(replace(asked, reads=float(reads))).throughput
    assert rate == pytest.approx(2400 * 1e9 / (alike.ended[2699] - alike.ended[299]), rel=0.02)
    assert rate == pytest.approx(1e9 / ((servers - 1) * (bits(1024) + bits(0)) + read), rel=0.02)


def test_reads_reach_what_ladis_measured() -> None:
    """LADIS'08 5: "tens to hundreds of thousands of operations per second"; 1: reads scale, writes do not."""
    rates = {}
    for servers, reads in ((3, "2:1"), (7, "2:1"), (3, "100:1"), (7, "100:1")):
        said = json.loads(planned("--servers", str(servers), "--reads", reads, "--json").stdout)
        rates[servers, reads] = said["throughput"]["mean"]
        ratio = int(reads.split(":")[0])
        assert said["limit"] == pytest.approx(
            (1 + ratio) * 1e9 / ((servers - 1) * (bits(1024) + bits(0)) + ratio * bits(1024) / servers), rel=1e-4
        )
    assert all(10_000 < rate < 1_000_000 for rate in rates.values())
    assert rates[7, "2:1"] < rates[3, "2:1"]  # writes do not scale
    assert rates[7, "100:1"] > rates[3, "100:1"]  # reads do


class Phases12(Network):
    """Phases 1 and 2: each message to all others once the one before has come from all."""

    def __init__(self, servers: int, one_way: int, payload: int, forces: tuple[int, int]) -> None:
        super().__init__(servers, one_way)
        self.others = servers - 1
        self.heard = 0
        self.rounds = iter(((0, 0, forces[0]), (payload, payload, forces[1]), (0, 0, 0)))
        self.ended: list[int] = []
        self.round()
        self.run()

    def round(self) -> None:
        """The followers send; once the leader has heard all it sends to each, which forces what it gets."""
        up, self.down, self.force = next(self.rounds)
        self.heard = 0
        for f in range(1, self.others + 1):
            self.send(f, up, self.hear)

    def hear(self) -> None:
        self.heard += 1
        if self.heard == self.others:
            self.left = self.others
            for _ in range(self.others):
                self.send(0, self.down, lambda: self.at(self.now + self.force, self.got))

    def got(self) -> None:
        self.left -= 1
        self.ended.append(self.now)
        if self.left == 0 and len(self.ended) < 3 * self.others:
            self.round()


@pytest.mark.parametrize("servers", [2, 3, 5, 13])
@pytest.mark.parametrize("transactions", [0, 1, 1000, 100_000])
def test_a_recovery_takes_the_bytes_and_the_time_of_a_simulation(servers: int, transactions: int) -> None:
    """Six ways: CEPOCH, NEWEPOCH, ACK-E, NEWLEADER, its acknowledgement, its commit; two of them carry a history."""
    disk = Disk("here", 1_000_000, 0, 500_000_000)
    asked = Setting(servers, disk, size=1024, round_trip=2_000_000, jitter=0)
    alike = Phases12(servers, 1_000_000, transactions * (20 + 1024), (1_000_000, 1_000_000 + 2 * transactions * 1024))
    cost = recovery(asked, transactions)
    assert cost.bytes * 8 == alike.sent
    assert cost.time == max(alike.ended)


def planned(*words: str) -> Result:
    return CliRunner().invoke(main, ["plan", *words], prog_name="zabcheck")


def test_a_plan_says_what_it_costs_to_send_a_history_and_what_is_missing() -> None:
    words = ("--servers", "3", "--history", "100000", "--missing", "100", "--client", "follower", "--reads", "2:1")
    text = " ".join(planned(*words).stdout.split())
    said = json.loads(planned(*words, "--json").stdout)
    assert 990 < said["recovery"]["history"]["bytes"] / said["recovery"]["missing"]["bytes"] < 1001
    assert "recovery, history" in text
    assert "clients next to a follower, which forwards their writes" in text
    assert "2 reads a write" in text
    assert json.loads(planned("--json").stdout)["recovery"] == {}
