"""Reproduce figures 6 and 7 of DSN'11 in the timed world, swept over seeds on Spark.

It keeps Figure 6 in benchmarks/results/plan.json and writes the pictures:

    python -m benchmarks.performance --seeds 10 --pictures docs
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.performance_points import PAPER_DISKS, SERVERS, Point, figure_6, figure_7, measured_on, points
from zabspec.zookeeper.timed.planned import limit


def main() -> None:
    """Run the sweep, keep the table, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pictures", type=Path, help="the folder to write them to")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    from traces.tables.spark.session import session

    seeds = range(1, given.seeds + 1)
    fast, slow = figure_6(seeds), figure_7(seeds)
    with session(given.master, brief=True) as spark:
        answers = measured_on(spark, fast + slow)
    throughput = points(fast, [t for t, _ in answers[: len(fast)]])
    latency = points(slow, [t / 1e6 for _, t in answers[len(fast) :]])
    table(throughput, latency)
    if given.pictures is not None:
        from benchmarks.performance_pictures import latency_picture, throughput_picture

        (given.pictures / "throughput.svg").write_bytes(throughput_picture(throughput))
        (given.pictures / "latency.svg").write_bytes(latency_picture(latency))


def table(throughput: list[Point], latency: list[Point]) -> None:
    """Keep the table: thousands of operations per second beside the limit, and milliseconds."""
    fast = {(p.servers, p.disk): p for p in throughput}
    slow = {(p.servers, p.disk): p for p in latency}
    kept = Figures("plan", "figure-6", ("servers", "limit", *PAPER_DISKS, *(f"{d}, ms" for d in PAPER_DISKS)))
    for n in SERVERS:
        cells = []
        for d in PAPER_DISKS:
            p = fast[n, d]
            spread = f" ({p.low / 1000:.1f}-{p.high / 1000:.1f})" if d == "hdd" else f" ({p.mean / limit(n):.1%})"
            cells.append(f"{p.mean / 1000:.1f}{spread}")
        kept.add(n, f"{limit(n) / 1000:.1f}", *cells, *(f"{slow[n, d].mean:.2f}" for d in PAPER_DISKS))


if __name__ == "__main__":
    main()
