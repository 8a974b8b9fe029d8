"""Measure how fast a DataFrame of events is judged: with the rows of a run together, and in any order.

    python benchmarks/frames.py [--events 5000000] [--runs 40000] [--deliveries 0] [--heap 2048] [--master local[2]]

The processor time of this process, of Java and of its workers is measured, from the files to the verdicts counted by
property, the second time (for the one run, the first); and the peak memory of each kind of process. The start of the
session is not included.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq

from benchmarks.judge import many_runs, one_history, timed
from traces.spark.session import session
from traces.tables.table import OBSERVED
from zabcheck.spark import judge

FILES = 8


def scatter(path: Path, folder: Path) -> None:
    """Write the rows of a table in random order, over some files."""
    table = pq.read_table(path)
    table = table.take(np.random.default_rng(1).permutation(table.num_rows))
    folder.mkdir()
    size = -(-table.num_rows // FILES)
    for k in range(FILES):
        pq.write_table(table.slice(k * size, size), folder / f"{k}.parquet", compression="zstd", row_group_size=1 << 18)


class Memory:
    """The peak memory of this process, Java and each Python worker below it, and of all of them at once.

    Attributes:
        most: MiB (the kernel's high-water mark of resident memory), by the kind of process: driver, Java, worker.
        together: MiB, the largest sum seen of all of them at one moment; pages that processes share count in each of
            them.
    """

    def __init__(self) -> None:
        self.most: dict[str, int] = {}
        self.together = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        self.look()

    def __str__(self) -> str:
        each = ", ".join(f"{kind} {most:,}" for kind, most in sorted(self.most.items()))
        return f"at most {each} MiB, {self.together:,} MiB together"

    def watch(self) -> None:
        while not self.over.wait(0.5):
            self.look()

    def look(self) -> None:
        """Record the memory of each process now, and its peak."""
        parents: dict[int, int] = {}
        held: dict[int, tuple[str, int, int]] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError, ValueError):
                text = (entry / "status").read_text()
                words = (entry / "cmdline").read_bytes()
                parents[int(entry.name)] = int(text.partition("PPid:")[2].split()[0])
                most, now = (int(text.partition(f"{name}:")[2].split()[0]) >> 10 for name in ("VmHWM", "VmRSS"))
                java = b"java" in words.partition(b"\0")[0]
                held[int(entry.name)] = ("Java" if java else "worker", most, now)
        total = 0
        for pid, (kind, most, now) in held.items():
            above = pid
            while above in parents and above != os.getpid():
                above = parents[above]
            if above == os.getpid():
                kind = "driver" if pid == above else kind
                self.most[kind] = max(self.most.get(kind, 0), most)
                total += now
        self.together = max(self.together, total)


def counted(spark: Any, path: Path, how: str) -> Any:
    """Return the verdicts on a table, counted.

    Args:
        how: whether the rows of a run are `together`, `anywhere`, or are read by tasks as `files`.
    """
    observes = OBSERVED if path.name != "history.parquet" else None
    if how == "files":
        verdicts = judge(path)
    else:
        verdicts = judge(spark.read.parquet(str(path)), observes=observes, together=how == "together")
    return verdicts.groupBy("property", "verdict").count().collect()


def main() -> None:
    """Build the tables, judge them in each way, and print the figures."""
    options = argparse.ArgumentParser(description="How fast a DataFrame of events is judged.")
    options.add_argument("--events", type=int, default=5_000_000, help="rows of the many runs")
    options.add_argument("--runs", type=int, default=40_000)
    options.add_argument("--deliveries", type=int, default=0, help="of one long history")
    options.add_argument("--way", default="", help="only this: files, together, anywhere, none (but the one run)")
    options.add_argument("--heap", type=int, default=2048, help="MiB that Java may take for its objects")
    options.add_argument("--master", default="local[2]")
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as folder,
        session(chosen.master, memory=chosen.heap << 20) as spark,
    ):
        few = Path(folder) / "few.parquet"
        many_runs(few, 1000, 10)
        counted(spark, few, "anywhere")  # the workers have started and compiled
        if chosen.way != "none":
            many(spark, Path(folder), chosen)
        if chosen.deliveries:
            one(spark, Path(folder), chosen.deliveries)


def many(spark: Any, folder: Path, chosen: argparse.Namespace) -> None:
    """Judge many runs, in each of the ways."""
    path = folder / "table.parquet"
    rows = many_runs(path, chosen.events, chosen.runs)
    scatter(path, folder / "scattered")
    ways = [
        ("files", path, "files"),
        ("together", path, "together"),
        ("sorted again", path, "anywhere"),
        ("scattered", folder / "scattered", "anywhere"),
    ]
    for name, where, how in ways:
        if chosen.way in ("", how):
            counted(spark, where, how)  # Java compiles what it finds hot, for some seconds
            measured(spark, name, where, how, rows)


def one(spark: Any, folder: Path, deliveries: int) -> None:
    """Judge one long run: its files by tasks that read them, and as a DataFrame."""
    path = folder / "history.parquet"
    rows = one_history(path, deliveries)
    for way in ("files", "anywhere"):
        measured(spark, f"one run, {way}", path, way, rows)


def measured(spark: Any, name: str, where: Path, how: str, rows: int) -> None:
    """Judge a table and print the cost."""
    began = time.monotonic()
    with Memory() as memory:
        seconds, found = timed(lambda: counted(spark, where, how))
    bad = [r for r in found if r.verdict not in ("held", "premise not reached", "not judged")]
    assert found, "there are verdicts"
    print(
        f"{name}: {rows:,} rows in {seconds:.1f} s of processor time ({time.monotonic() - began:.0f} s): "
        f"{rows / seconds / 1e6:.2f} M rows/s; {memory}{f'; {bad}' if bad else ''}",
        flush=True,
    )


if __name__ == "__main__":
    main()
