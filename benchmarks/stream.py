"""Judge a stream of events while the query is killed and restarted, and compare its verdicts with those of the table.

    python -m benchmarks.stream [--events 100000] [--runs 1000] [--kills 5] [--files 40] [--spread 2000]

Rows are out of order within a bound, over some files that come one after another. One run in fifty delivers two
transactions in another order at one process. The query runs in a process of its own, which is killed at random
moments, Java and workers with it. The seconds in all, those until the first row, processor time, state and the
differences are printed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.judge import many_runs
from traces.tables.table import ROW

TRIGGER = "1 second"


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


def query(folder: Path, idle: float) -> None:
    """Judge the files as they come, until no row has come for a while."""
    from traces.spark.session import session
    from zabcheck.spark import judge_stream, write_stream

    with session("local[2]", partitions=2) as spark:
        schema = spark.read.parquet(str(folder / "table.parquet")).schema
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(folder / "in"))
        found = write_stream(judge_stream(rows, idle=idle), folder / "out", folder / "checkpoint", trigger=TRIGGER)
        used = 0
        while not (folder / "done").exists():
            found.awaitTermination(0.5)
            used = max(used, state_bytes(found.lastProgress))
            (folder / "state").write_text(str(used))
        found.stop()


def state_bytes(progress: Any) -> int:
    """Return what a batch says that the state takes in memory."""
    return sum(int(one["memoryUsedBytes"]) for one in progress["stateOperators"]) if progress else 0


def processor_seconds(session: int) -> float:
    """Return the processor time of all processes of a session, and of those that they have waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(words[3]) == session:
            ticks += sum(int(word) for word in words[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def verdicts(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Return verdicts, sorted."""
    return sorted((r["run"], r["property"], r["verdict"]) for r in rows)


def said(folder: Path) -> pa.Table | None:
    """Return what the stream has written so far."""
    files = [f for f in sorted((folder / "out").glob("batch=*/*.parquet")) if "_temporary" not in f.parts]
    tables = []
    for file in files:
        try:
            tables.append(pq.read_table(file, partitioning=None))
        except (OSError, pa.ArrowException):
            continue
    return pa.concat_tables(tables) if tables else None


def started(folder: Path, idle: float) -> subprocess.Popen[bytes]:
    """Start the query in a process group of its own."""
    words = [sys.executable, "-m", "benchmarks.stream", "--query", str(folder), "--idle", str(idle)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)


def run(options: argparse.Namespace, folder: Path) -> None:
    """Make a stream, judge it, kill the query, and compare."""
    path = make(folder, options.events, options.runs, options.files, options.spread)
    (folder / "in").mkdir()
    waiting = sorted((folder / "all").iterdir())
    kills = sorted(random.sample(range(1, len(waiting)), options.kills))
    began, process, first, each = time.monotonic(), started(folder, options.idle), 0.0, options.every
    spent = 0.0
    for k, file in enumerate(waiting):
        os.rename(file, folder / "in" / file.name)
        time.sleep(each)
        if k in kills:
            spent += processor_seconds(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process = started(folder, options.idle)
        if not first and (folder / "out").exists() and said(folder) is not None:
            first = time.monotonic() - began
    wanted = batch(path)
    last, count = time.monotonic(), -1
    while time.monotonic() - last < 2 * options.idle + 60:
        table = said(folder)
        now = table.num_rows if table is not None else 0
        first = first or (time.monotonic() - began if now else 0.0)
        if now == len(wanted):
            break
        if process.poll() is not None:
            sys.exit(f"the query has ended: {(folder / 'log').read_text(errors='replace')[-2000:]}")
        last, count = (time.monotonic(), now) if now != count else (last, count)
        time.sleep(2)
    spent += processor_seconds(process.pid)
    kept, used = folder_bytes(folder / "checkpoint" / "state"), int((folder / "state").read_text())
    (folder / "done").touch()
    process.wait()
    table = said(folder)
    assert table is not None
    found = verdicts(table.to_pylist())
    bad = sum(word == "violated" for *_, word in wanted)
    rows = pq.read_metadata(path).num_rows
    print(
        f"{rows:,} rows of {options.runs:,} runs in {len(waiting)} files, {options.kills} kills, "
        f"{time.monotonic() - began:.0f} s, of which the last {options.idle:.0f} and more waited for the end of runs; "
        f"{len(wanted):,} verdicts, {bad} violated; the first row after {first:.0f} s; "
        f"{spent:.0f} s of processor time, {rows / spent:,.0f} rows a second of it; "
        f"state: {used / 1e6:.1f} MB in memory, {kept / 1e6:.1f} MB in the checkpoint; "
        f"{'equal' if found == wanted else f'DIFFERENT: {len(found):,} against {len(wanted):,}'}"
    )


def batch(path: Path) -> list[tuple[Any, ...]]:
    """Return the verdicts on the table."""
    from traces.judging.batches import NUMBERED, WORDS, Judge
    from traces.judging.runs import JUDGED
    from traces.tables.table import USUAL

    out = []
    for some in Judge((), USUAL, NUMBERED).spoken(pq.ParquetFile(path).iter_batches(1 << 16)):
        for one in some:
            out += [(one.run, JUDGED[k].name, WORDS[word]) for k, word in enumerate(one.words) if word >= 0]
    return sorted(out)


def main() -> None:
    """Parse the command line, and run the measurement or the query."""
    options = argparse.ArgumentParser(description="A stream of events judged while it is killed.")
    options.add_argument("--events", type=int, default=100_000)
    options.add_argument("--runs", type=int, default=1_000)
    options.add_argument("--files", type=int, default=40)
    options.add_argument("--spread", type=int, default=2_000, help="places by which a row is out of order")
    options.add_argument("--kills", type=int, default=5)
    options.add_argument("--every", type=float, default=3.0, help="seconds from one file to the next")
    options.add_argument(
        "--idle", type=float, default=120.0, help="longer than a restart and what it has to catch up with"
    )
    options.add_argument("--query", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.query:
        query(chosen.query, chosen.idle)
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        run(chosen, Path(folder))


if __name__ == "__main__":
    main()
