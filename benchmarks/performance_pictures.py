"""Draw the pictures of docs/explanation/performance.md as SVG that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.performance_points import PAPER_DISKS, SERVERS, Point
from traces.tables.sweep.report import STYLE, svg
from zabspec.zookeeper.timed.planned import limit

LINES = {
    "none": ("network only", "#1a6bb3", "o"),
    "cache": ("disk, write cache on", "#2c8a4b", "s"),
    "hdd": ("disk, write cache off", "#b3261e", "^"),
}


def throughput_picture(found: Sequence[Point]) -> bytes:
    """Draw figure 6: operations per second against servers, beside the theoretical limit."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        ax = figure.add_subplot()
        ax.plot(SERVERS, [limit(n) for n in SERVERS], color="#555555", linestyle="--", linewidth=1, label="limit")
        lines(ax, found)
        ax.set_yscale("log")
        ax.set_ylabel("operations a second")
        return svg(figure)


def latency_picture(found: Sequence[Point]) -> bytes:
    """Draw figure 7: the latency of a single operation in milliseconds, against servers."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        ax = figure.add_subplot()
        lines(ax, found)
        ax.set_yscale("log")
        ax.set_ylabel("latency, ms")
        return svg(figure)


def lines(ax: Axes, found: Sequence[Point]) -> None:
    """Draw a line for each disk, with error bars for the range over seeds."""
    for disk in PAPER_DISKS:
        name, colour, marker = LINES[disk]
        of = [p for p in found if p.disk == disk]
        bars = ([p.mean - p.low for p in of], [p.high - p.mean for p in of])
        ax.errorbar(
            [p.servers for p in of], [p.mean for p in of], bars,
            label=name, color=colour, marker=marker, markersize=3.5, linewidth=1, capsize=2,
        )  # fmt: skip
    ax.set_xlabel("servers")
    ax.set_xticks(list(SERVERS))
    ax.legend(frameon=False)
