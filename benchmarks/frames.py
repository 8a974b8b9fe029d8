"""How fast a DataFrame of events is judged: where the rows of a run lie together, and where they lie anywhere.

    python benchmarks/frames.py [--events 5000000] [--runs 40000] [--deliveries 0] [--master local[2]]

What is timed is processor time, of this process, of Java and of its workers, from the files to the verdicts counted by
property, the second time (of the one run, the first); and the most memory that a Python worker held. The start of the
session is not part of it.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
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
    """Write the rows of a table in any order, over some files."""
    table = pq.read_table(path)
    table = table.take(np.random.default_rng(1).permutation(table.num_rows))
    folder.mkdir()
    size = -(-table.num_rows // FILES)
    for k in range(FILES):
        pq.write_table(table.slice(k * size, size), folder / f"{k}.parquet", compression="zstd", row_group_size=1 << 18)


class Memory:
    """The most memory that any Python process below this one has held."""

    def __init__(self) -> None:
        self.most = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def watch(self) -> None:
        while not self.over.wait(0.2):
            for entry in Path("/proc").iterdir():
                try:
                    words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                    if b"python" in words.partition(b"\0")[0] and b"traces.spark.daemon" in words:
                        text = (entry / "status").read_text()
                        self.most = max(self.most, int(text.partition("VmHWM:")[2].split()[0]) >> 10)
                except (OSError, IndexError):
                    continue


def counted(spark: Any, path: Path, how: str) -> Any:
    """The verdicts on a table, counted; `how`: its rows lie `together`, `anywhere`, or are read by tasks as `files`."""
    observes = OBSERVED if path.name != "history.parquet" else None
    if how == "files":
        verdicts = judge(path)
    else:
        verdicts = judge(spark.read.parquet(str(path)), observes=observes, together=how == "together")
    return verdicts.groupBy("property", "verdict").count().collect()


def main() -> None:
    options = argparse.ArgumentParser(description="How fast a DataFrame of events is judged.")
    options.add_argument("--events", type=int, default=5_000_000, help="rows of the many runs")
    options.add_argument("--runs", type=int, default=40_000)
    options.add_argument("--deliveries", type=int, default=0, help="of one long history")
    options.add_argument("--way", default="", help="only this: files, together, anywhere")
    options.add_argument("--master", default="local[2]")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, session(chosen.master) as spark:
        path = Path(folder) / "table.parquet"
        rows = many_runs(path, chosen.events, chosen.runs)
        scatter(path, Path(folder) / "scattered")
        few = Path(folder) / "few.parquet"
        many_runs(few, 1000, 10)
        counted(spark, few, "anywhere")  # the workers have started and compiled
        ways = [
            ("files", path, "files"),
            ("together", path, "together"),
            ("sorted again", path, "anywhere"),
            ("scattered", Path(folder) / "scattered", "anywhere"),
        ]
        if chosen.deliveries:
            history = Path(folder) / "history.parquet"
            long = one_history(history, chosen.deliveries)
            ways += [("one run", history, "anywhere")]
        for name, where, how in ways:
            if chosen.way not in ("", how):
                continue
            with Memory() as memory:
                if name != "one run":
                    counted(spark, where, how)  # Java compiles what it finds hot, for some seconds
                seconds, found = timed(lambda where=where, how=how: counted(spark, where, how))
            bad = [r for r in found if r.verdict not in ("held", "premise not reached", "not judged")]
            assert found, "there are verdicts"
            count = long if name == "one run" else rows
            print(
                f"{name}: {count:,} rows in {seconds:.1f} s of processor time: {count / seconds / 1e6:.2f} M rows/s; "
                f"a worker held at most {memory.most:,} MiB{f'; {bad}' if bad else ''}",
                flush=True,
            )


if __name__ == "__main__":
    main()
