"""Measure a stream of events: rows a CPU-second at the margin, and the fixed cost of a micro-batch.

    python -m benchmarks.stream [--events 400000] [--files 10]

Three streams are judged: one, one of three times the rows, and one in three times the micro-batches. Rows are out of
order within a bound. One run in fifty delivers two transactions in another order. Needs Linux (it reads /proc).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.distributed import cpu_of_all
from benchmarks.judge import many_runs
from traces.events.table import ROW


def make(folder: Path, events: int, runs: int, files: int, spread: int) -> Path:
    """Write the rows of a table over some files, each within so many positions of its original one.

    Return the table.
    """
    path = folder / "table.parquet"
    many_runs(path, events, runs)
    table = pq.read_table(path)
    table = pa.table([c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns],
                     names=table.schema.names)  # fmt: skip
    run = table.column("run").to_numpy()
    row = np.arange(len(run)) - np.searchsorted(run, run)
    table = broken(table, run)
    table = table.set_column(table.schema.get_field_index(ROW), ROW, pa.array(row))
    pq.write_table(table, path)
    # runs come eight at a time, with their rows interleaved
    several = np.argsort((run // 8) * 10**9 + row * 8 + run % 8, kind="stable")
    source = np.random.default_rng(1)
    order = several[np.argsort(np.arange(len(several)) + source.integers(0, spread, len(several)), kind="stable")]
    table = table.take(order)
    (folder / "all").mkdir()
    size = -(-table.num_rows // files)
    for k in range(files):
        pq.write_table(table.slice(k * size, size), folder / "all" / f"{k:05}.parquet")
    return path


def broken(table: pa.Table, run: Any) -> pa.Table:
    """Exchange the transactions of two deliveries of one process, in one run of fifty."""
    kinds, process = table.column("kind").to_pylist(), table.column("process").to_pylist()
    columns = {name: table.column(name).to_pylist() for name in ("epoch", "counter", "identity", "digest")}
    starts = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1]))).tolist()
    for k in range(0, len(starts), 50):
        end = starts[k + 1] if k + 1 < len(starts) else len(kinds)
        at = [i for i in range(starts[k], end) if kinds[i] == "abdeliver" and process[i] == 2][:2]
        for column in columns.values():
            column[at[0]], column[at[1]] = column[at[1]], column[at[0]]
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(column, pa.int64()))
    return table


def used(folder: Path) -> None:
    """Judge the files of a folder, one a micro-batch; print the CPU seconds of that, without the session's start."""
    from traces.tables.spark.session import session
    from zabcheck.tables.spark import SCHEMA, judge_stream, write_stream

    with session("local[2]") as spark:
        cold = cpu_of_all()
        for name in ("warm", "all"):  # the first query starts Python's workers and has Java compile
            start = cpu_of_all()
            there = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / name))
            places = (folder / f"out-{name}", folder / f"state-{name}")
            write_stream(judge_stream(there), *places, available_now=True).awaitTermination()
        print(json.dumps([cpu_of_all() - start, start - cold]))


def measured(events: int, runs: int, files: int) -> float:
    """Return the CPU seconds of a stream of so many rows, in so many micro-batches."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, events, runs, files, spread=2_000)
        (folder / "warm").mkdir()
        for part in sorted((folder / "all").iterdir())[:2]:
            shutil.copy(part, folder / "warm")
        command = [sys.executable, "-m", "benchmarks.stream", "--query", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        seconds: float = json.loads(done.stdout.splitlines()[-1])[0]
    print(f"{events:,} rows of {runs:,} runs in {files} micro-batches: {seconds:.1f} CPU-s", flush=True)
    return seconds


def main() -> None:
    """Measure three streams; print the cost of a row at the margin, and of a micro-batch."""
    options = argparse.ArgumentParser(description="The rate of a stream of events.")
    options.add_argument("--events", type=int, default=400_000)
    options.add_argument("--files", type=int, default=10)
    options.add_argument("--query", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.query:
        used(chosen.query)
        return
    rows, files = chosen.events, chosen.files
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    few, many, batches = (measured(n, n // 100, k) for n, k in ((rows, files), (3 * rows, files), (rows, 3 * files)))
    rate = f"at the margin {2 * rows / (many - few):,.0f} rows a CPU-second"
    print(f"{rate}; a micro-batch {(batches - few) / (2 * files):.2f} CPU-s")


if __name__ == "__main__":
    main()
