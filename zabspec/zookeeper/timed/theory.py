"""Compute throughput and latency by arithmetic, without a run."""

from __future__ import annotations

from dataclasses import dataclass

from zabspec.zookeeper.timed.setting import GIGABIT, SECOND, Setting


def limit(servers: int, size: int = 1024) -> float:
    """Return the theoretical maximum of Figure 6, in operations per second.

    The leader sends each operation to every follower over one interface of 125 MB/s, and nothing besides.
    """
    return GIGABIT / 8 / (size * (servers - 1))


@dataclass(frozen=True)
class Bounds:
    """Bounds that no run of a setting can leave.

    Attributes:
        network: operations a second of which the leader's interface sends the proposals and commits.
        window: operations a second if each took the least latency, all outstanding ones at once.
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
    at most, an acknowledgement, and one forced write (all servers write at once).
    """
    disk, n = setting.disk, setting.servers
    proposal, small = setting.sending(setting.proposal_bytes), setting.sending(setting.small_bytes)
    write = setting.size * SECOND // disk.rate if disk.rate else 0
    way = 2 * (setting.round_trip // 2)
    least = way + proposal + small + disk.force - disk.spread + write
    # a commit of the operation before may still be on its way out
    most = way + 2 * setting.jitter + (n - 1) * (proposal + small) + small + disk.force + disk.spread + write
    return Bounds(SECOND / ((n - 1) * (proposal + small)), setting.outstanding * SECOND / least, least, most)
