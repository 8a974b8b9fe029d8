"""Define the setting of a timed run: servers, network, disks, and what is broadcast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from zabspec.authoring.declaration import ConfigError

GIGABIT = 1_000_000_000  # bits a second
SECOND = 1_000_000_000  # nanoseconds, in which all times are

MOST_SERVERS = 13  # as many as Figure 6 has
MOST_OPERATIONS = 8_000  # the number of transactions that a history has room for
MOST_OUTSTANDING = 1_000  # as many as the paper's benchmark keeps
MOST_READS = 1_000  # for each write
MOST_SLOW = 20_000_000  # the most additional nanoseconds of a message to a slow follower, or from it

# A packet of ZooKeeper's leaders and followers: a type (4 bytes), a zxid (8), the length of its data (4), and how many
# identities follow (4), none; then the data, which of a proposal is the operation.
PACKET = 20
# Of an Ethernet frame of 1,538 bytes on the wire (preamble, addresses, checksum and gap counted) TCP with time stamps
# carries 1,448. Small packets that are sent one after another share a frame.
FRAME, CARRIED = 1538, 1448


@dataclass(frozen=True)
class Disk:
    """A disk to which the log is forced.

    Attributes:
        name: the name on the command line.
        force: nanoseconds that forcing takes on average, whatever is written; 0 without a rate means that there is no
            disk.
        spread: the half-width of the interval in which a forced write's time is distributed evenly, in nanoseconds.
        rate: bytes a second that the disk writes, in addition to the forcing time; 0 if it is not limited.
        why: the source of its figures.
    """

    name: str
    force: int
    spread: int
    rate: int
    why: str = field(compare=False, default="")


MILLISECOND = SECOND // 1000
SATA = 300_000_000  # bytes a second of the interface of the paper's disks

DISKS = {
    d.name: d
    for d in (
        Disk("none", 0, 0, 0, "nothing is written"),
        Disk("cache", MILLISECOND // 10, MILLISECOND // 20, SATA, "assumed: 0.1 ms a command, 300 MB/s to its cache"),
        Disk("hdd", 30 * MILLISECOND, 4_170_000, SATA, "fitted to Figure 6: 30 ms, plus or minus half a rotation"),
        Disk("ssd", MILLISECOND, MILLISECOND // 4, 500_000_000, "assumed, not measured: 1 ms; give yours"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """The parameters of a timed run.

    Attributes:
        servers: the number of servers, 2 to 13, of which the first leads.
        size: bytes of an operation.
        outstanding: the number of operations that the client at the leader keeps undelivered.
        operations: the number of operations in all.
        round_trip: nanoseconds between two servers there and back, as `ping` measures it.
        jitter: the most nanoseconds that a message takes longer one way; the time is distributed evenly.
        bandwidth: bits a second that a server's one interface sends.
        disk: the disk to which each server forces its log.
        seed: the seed of jitter and forced writes.
        slow: the number of slow followers, which are the last ones.
        slow_by: additional nanoseconds of a message to a slow follower, or from it.
        unanimous: whether the only quorum is all servers; if not, majorities are.
        client: the server whose clients make the operations: 0 is the leader, 1 a follower.
        reads: reads for each write, spread evenly over the servers; each is answered by the server that it comes to.
    """

    servers: int
    disk: Disk = DISKS["none"]
    size: int = 1024
    outstanding: int = 1000
    operations: int = 5000
    round_trip: int = 100_000
    jitter: int = 5_000
    bandwidth: int = GIGABIT
    seed: int = 1
    slow: int = 0
    slow_by: int = 0
    unanimous: bool = False
    client: int = 0
    reads: float = 0.0

    def __post_init__(self) -> None:
        """Check the setting.

        Raises:
            ConfigError: a number is out of range.
        """
        self.within("servers", self.servers, 2, MOST_SERVERS)
        self.within("size", self.size, 1, 1 << 20)
        self.within("outstanding operations", self.outstanding, 1, MOST_OUTSTANDING)
        self.within("operations", self.operations, 1, MOST_OPERATIONS)
        self.within("round trip, in ns,", self.round_trip, 0, 10 * SECOND)
        self.within("jitter, in ns,", self.jitter, 0, SECOND)
        self.within("slow followers", self.slow, 0, self.servers - 1)
        self.within("delay of a slow follower, in ns,", self.slow_by, 0, MOST_SLOW)
        self.within("client", self.client, 0, 1)
        self.within("reads for each write", self.reads, 0, MOST_READS)
        self.within("bandwidth, in bits a second,", self.bandwidth, 1_000_000, 100 * GIGABIT)
        self.within("forced write, in ns,", self.disk.force, 0, 10 * SECOND)
        self.within("spread of a forced write, in ns,", self.disk.spread, 0, self.disk.force)

    @staticmethod
    def within(what: str, value: float, low: int, high: int) -> None:
        if not low <= value <= high:
            raise ConfigError(f"the {what} must be {low:,} to {high:,}, not {value:,}")

    @property
    def quorum(self) -> int:
        """Return the size of a smallest quorum."""
        return self.servers if self.unanimous else self.servers // 2 + 1

    @property
    def survives(self) -> int:
        """Return how many crashes leave a quorum."""
        return self.servers - self.quorum

    @property
    def proposal_bytes(self) -> int:
        """Return the bytes of a proposal on the wire."""
        return on_wire(PACKET + self.size)

    @property
    def small_bytes(self) -> int:
        """Return the bytes of an acknowledgement, or a commit, on the wire."""
        return on_wire(PACKET)

    @property
    def read_time(self) -> int:
        """Return the nanoseconds for which a server's interface answers reads, for each write: an answer is as large as
        a write."""
        return round(self.reads * self.sending(self.proposal_bytes) / self.servers)

    def sending(self, size: int) -> int:
        """Return the nanoseconds that the interface takes to send some bytes."""
        return -(-size * 8 * SECOND // self.bandwidth)

    def seeds(self, seeds: Iterable[int]) -> list[Setting]:
        return [replace(self, seed=seed) for seed in seeds]


def on_wire(size: int) -> int:
    """Return the bytes on the wire for some bytes of a stream."""
    return -(-size * FRAME // CARRIED)
