"""Compute figures 6 and 7 of DSN'11 from timed runs: one point per number of servers and disk, over some seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zabspec.zookeeper.timed.run import measure
from zabspec.zookeeper.timed.setting import DISKS, MOST_OPERATIONS, MOST_SERVERS, Setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVERS = range(2, MOST_SERVERS + 1)
PAPER_DISKS = ("none", "cache", "hdd")  # the three lines of both figures
ALONE = 100  # operations of a run that has one at a time

Answer = tuple[float, float]  # operations a second; mean latency, in nanoseconds


@dataclass(frozen=True)
class Point:
    """What the runs of one setting came to, over their seeds.

    Attributes:
        low, mean, high: operations a second, or milliseconds.
    """

    servers: int
    disk: str
    low: float
    mean: float
    high: float


def answer(setting: Setting) -> Answer:
    """Run a setting, and return its measurements."""
    measured = measure(setting)
    return measured.throughput, measured.latency


def answers(settings: Iterable[Setting]) -> Iterator[Answer]:
    return map(answer, settings)


def here(settings: Sequence[Setting]) -> list[Answer]:
    """Run settings in this process."""
    return list(answers(settings))


def measured_on(spark: SparkSession, settings: Sequence[Setting]) -> list[Answer]:
    """Run settings on Spark, a few in each task, and return their measurements in order."""
    return spark.sparkContext.parallelize(settings, max(1, len(settings) // 4)).mapPartitions(answers).collect()


def figure_6(seeds: Sequence[int], disks: Sequence[str] = PAPER_DISKS) -> list[Setting]:
    """Return the points of figure 6, throughput: 1,024-byte operations, 1,000 outstanding."""
    return [
        setting
        for disk in disks
        for n in SERVERS
        for setting in Setting(n, DISKS[disk], operations=MOST_OPERATIONS).seeds(seeds)
    ]


def figure_7(seeds: Sequence[int], disks: Sequence[str] = PAPER_DISKS) -> list[Setting]:
    """Return the points of figure 7, latency: the same operations, one at a time."""
    return [
        setting
        for disk in disks
        for n in SERVERS
        for setting in Setting(n, DISKS[disk], outstanding=1, operations=ALONE).seeds(seeds)
    ]


def points(settings: Sequence[Setting], values: Sequence[float]) -> list[Point]:
    """Return one point for all seeds of each setting, in the order of the settings."""
    grouped: dict[tuple[int, str], list[float]] = {}
    for setting, value in zip(settings, values, strict=True):
        grouped.setdefault((setting.servers, setting.disk.name), []).append(value)
    return [Point(n, disk, min(v), sum(v) / len(v), max(v)) for (n, disk), v in grouped.items()]
