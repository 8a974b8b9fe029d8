"""Plan the capacity of an ensemble: throughput, latency, what bounds it, and the cost of one more server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zabspec.authoring.declaration import ConfigError
from zabspec.zookeeper.timed.run import Measured, measure
from zabspec.zookeeper.timed.setting import GIGABIT, MOST_OUTSTANDING, MOST_SERVERS, MOST_SLOW, PACKET, SECOND
from zabspec.zookeeper.timed.setting import Disk, Setting, on_wire


# --- compute throughput and latency by arithmetic, without a run -----------------------------------


def limit(servers: int, size: int = 1024) -> float:
    """Return the theoretical maximum of Figure 6, in operations per second.

    The leader sends each operation to every follower over one interface of 125 MB/s, and nothing besides.
    """
    return GIGABIT / 8 / (size * (servers - 1))


@dataclass(frozen=True)
class Bounds:
    """Bounds that no run of a setting can leave.

    Attributes:
        network: writes a second of which the leader's interface sends the proposals and commits, and answers the reads.
        window: writes a second if each took the least latency, all outstanding ones at once.
        least, most: nanoseconds that an operation takes that is alone.
    """

    network: float
    window: float
    least: float
    most: float

    @property
    def throughput(self) -> float:
        return min(self.network, self.window)


def bounds(setting: Setting) -> Bounds:
    """Return the bounds of a setting.

    A single operation takes a way there and a way back, the sending of its proposal once at least and to every follower
    at most, an acknowledgement, and one forced write (all servers write at once). One of a follower's client also takes
    its way to the leader, and that of its commit: four ways.
    """
    disk, n, ways = setting.disk, setting.servers, 4 if setting.client else 2
    proposal, small = setting.sending(setting.proposal_bytes), setting.sending(setting.small_bytes)
    write = setting.size * SECOND // disk.rate if disk.rate else 0
    least = ways * (setting.round_trip // 2) + proposal + small + disk.force - disk.spread + write
    # a commit of the operation before, and answers to its reads, may still be on their way out
    most = least + ways * setting.jitter + (n - 1) * (proposal + small) - proposal
    most += 2 * (disk.spread + setting.read_time)
    if setting.client:
        least += proposal + small
        most += proposal + n * small + 2 * setting.read_time
    busy = (n - 1) * (proposal + small) + setting.read_time
    return Bounds(SECOND / busy, setting.outstanding * SECOND / least, least, most)


@dataclass(frozen=True)
class Recovery:
    """The cost of Phases 1 and 2 for an ensemble, without an election: from the first CEPOCH to the last commit.

    Attributes:
        bytes: on the wire.
        time: nanoseconds, without jitter.
    """

    bytes: int
    time: int


def recovery(setting: Setting, transactions: int) -> Recovery:
    """Return what it costs to recover all followers, by messages that carry some transactions.

    Each follower sends CEPOCH, ACK-E with the transactions and an acknowledgement; the leader sends each NEWEPOCH,
    NEWLEADER with the transactions and a commit, one after another. f.1.2 and f.2.1 force a write each.
    """
    others, small, disk = setting.servers - 1, setting.small_bytes, setting.disk
    carried = on_wire(PACKET + transactions * (PACKET + setting.size))
    write = transactions * setting.size * SECOND // disk.rate if disk.rate else 0
    sends = (small, others * small, carried, others * carried, small, others * small)
    time = sum(setting.round_trip // 2 + setting.sending(size) for size in sends) + 2 * disk.force + write
    return Recovery(others * (4 * small + 2 * carried), time)


MICROSECOND, MILLISECOND = 1_000, 1_000_000
MOST_LOGGED = 1_000_000

# Where the model was validated (tests/zookeeper/timed/test_timed.py): the least and the most, and in what unit.
HELD: dict[str, tuple[int, int, int, str]] = {
    "--servers": (2, MOST_SERVERS, 1, ""),
    "--latency": (50 * MICROSECOND, 20 * MILLISECOND, MILLISECOND, " ms"),
    "--size": (128, 16 << 10, 1, " bytes"),
    "--outstanding": (1, MOST_OUTSTANDING, 1, ""),
    "--history": (0, MOST_LOGGED, 1, ""),
    "--missing": (0, MOST_LOGGED, 1, ""),
    "--slow-by": (0, MOST_SLOW, MILLISECOND, " ms"),
    "--forced-write": (50 * MICROSECOND, 50 * MILLISECOND, MILLISECOND, " ms"),
}
CYCLES = 6  # rounds of all outstanding operations in a run
LEAST_OPERATIONS = 200
SATURATED = 0.9  # of what its interface can send: then the leader's interface bounds
HINDERS = 1.1  # so much faster without it: then it bounds


@dataclass(frozen=True)
class CapacityPlan:
    """The answer to a question about capacity.

    Attributes:
        throughput: operations a second, reads included, with all outstanding, over the seeds: least, mean, most.
        latency: nanoseconds of a write that is alone: least, mean, most of all.
        busy: nanoseconds from request to delivery with all outstanding, mean.
        bound: what bounds throughput: `interface`, `disk` or `waiting`.
        limit: operations a second, reads included, that the leader's interface can send.
        interface, disk: the fraction of the time for which each is busy at the leader.
        batch: operations per forced write.
        more: mean throughput and latency with one more server; None if the model was not validated for so many.
        alike: mean throughput and latency with no slow follower; None if there is no slow follower.
    """

    throughput: tuple[float, float, float]
    latency: tuple[float, float, float]
    busy: float
    bound: str
    limit: float
    interface: float
    disk: float
    batch: float
    more: tuple[float, float] | None
    alike: tuple[float, float] | None


def check_held(name: str, value: int) -> None:
    """Check that a value is in the range in which the model was compared with measurements.

    Raises:
        ConfigError: it is not.
    """
    low, high, unit, said = HELD[name]
    if not low <= value <= high:
        raise ConfigError(
            f"{name} must be {low / unit:.7g} to {high / unit:.7g}{said}, not {value / unit:.7g}{said}: the model was "
            f"compared with nothing beyond"
        )


def check(setting: Setting) -> None:
    """Check that a setting is in the range in which the model was compared with measurements.

    Raises:
        ConfigError: it is not.
    """
    check_held("--servers", setting.servers)
    check_held("--latency", setting.round_trip)
    check_held("--size", setting.size)
    check_held("--outstanding", setting.outstanding)
    if setting.disk.force:
        check_held("--forced-write", setting.disk.force)
    if setting.bandwidth != GIGABIT:
        raise ConfigError("the model was only compared with interfaces of one gigabit a second")


def plan(setting: Setting, seeds: int = 3) -> CapacityPlan:
    """Return the plan for a setting, whose number of operations is chosen here.

    Raises:
        ConfigError: the setting is outside the range in which the model was compared with measurements.
    """
    check(setting)
    runs = loaded(setting, seeds)
    rates = [r.throughput * (1 + setting.reads) for r in runs]
    alone = [r for s in alone_of(setting).seeds(range(1, seeds + 1)) for r in measure(s).latencies]
    more = None
    if setting.servers < MOST_SERVERS:
        more = expected(replace(setting, servers=setting.servers + 1), seeds)
    alike = expected(replace(setting, slow=0, slow_by=0), seeds) if setting.slow else None
    first = runs[0]
    return CapacityPlan(
        (min(rates), mean(rates), max(rates)),
        (min(alone), mean(alone), max(alone)),
        mean([r.latency for r in runs]),
        what_bounds(setting, mean([r.throughput for r in runs]), seeds),
        bounds(setting).network * (1 + setting.reads),
        first.interface,
        first.disk,
        first.batch,
        more,
        alike,
    )


def expected(setting: Setting, seeds: int) -> tuple[float, float]:
    """Return the mean throughput, reads included, with all writes outstanding, and the latency of a single write."""
    alone = [measure(s).latency for s in alone_of(setting).seeds(range(1, seeds + 1))]
    return mean([r.throughput for r in loaded(setting, seeds)]) * (1 + setting.reads), mean(alone)


def loaded(setting: Setting, seeds: int) -> list[Measured]:
    """Return the measurements of runs with all operations outstanding, one per seed."""
    operations = max(LEAST_OPERATIONS, CYCLES * setting.outstanding)
    return [measure(s) for s in replace(setting, operations=operations).seeds(range(1, seeds + 1))]


def alone_of(setting: Setting) -> Setting:
    """Return the setting with one operation at a time."""
    return replace(setting, outstanding=1, operations=100)


def what_bounds(setting: Setting, rate: float, seeds: int) -> str:
    """Return what limits throughput: `interface`, `disk` or `waiting`.

    It is the leader's interface if that is all but saturated, else the disk if runs without one are faster, else
    waiting for answers.
    """
    if rate >= SATURATED * bounds(setting).network:
        return "interface"
    without = replace(setting, disk=Disk("none", 0, 0, 0))
    if setting.disk.force and mean([r.throughput for r in loaded(without, seeds)]) > HINDERS * rate:
        return "disk"
    return "waiting"


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
