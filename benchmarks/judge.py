"""Measure how fast event tables are judged in one process, and how much memory a row of a run takes.

    python -m benchmarks.judge [--events 20000000] [--runs 200000]
    python -m benchmarks.judge --memory --events 4000000

The table is made here, with two epochs, a crash and a redelivery; nothing in it is violated.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from traces.events.table import COLUMNS, ROW, TableWriter, schema
from traces.judging.judge import judge_plainly, read_units
from traces.judging.kernel import judge_runs
from zabspec.language.native.kernels import machine


def many_runs(path: Path, events: int, runs: int, nodes: int = 3, seed: int = 1) -> int:
    """Write a table of runs without violations, of `events` rows in all; return the number of rows.

    Each has two epochs, a crash of p0 in the middle, and redelivery after it.
    """
    each = events // runs
    txns = max(2, (each - 8) // (3 + nodes))
    template = one_run(txns, nodes)
    n = len(template["kind"])
    batch = max(1, (1 << 19) // n)
    done = 0
    random = np.random.default_rng(seed)
    with TableWriter(path) as writer:
        while done < runs:
            count = min(batch, runs - done)
            columns = {name: np.tile(values, count) for name, values in template.items() if name != "kind"}
            columns["run"] = np.repeat(np.arange(done, done + count), n)
            salt = np.repeat(random.integers(1, 1 << 40, count), n)
            columns["digest"] = np.where(columns["identity"] == NULL, NULL, columns["identity"] * 7919 + salt)
            writer.add_table(table_of(columns, list(template["kind"]) * count))
            done += count
    return n * runs


NULL = -(1 << 63)


def one_run(txns: int, nodes: int) -> dict[str, Any]:
    """Return the rows of one run, as columns; NULL stands for null."""
    rows: list[dict[str, Any]] = [{"kind": "run", "index": nodes}]
    half = txns // 2
    made: list[tuple[int, int, int]] = []
    position = [0] * nodes

    def note(kind: str, p: int, **values: Any) -> None:
        rows.append({"kind": kind, "process": p, "position": position[p], "time": len(rows), **values})
        position[p] += 1

    def txn(t: tuple[int, int, int]) -> dict[str, int]:
        return {"epoch": t[0], "counter": t[1], "identity": t[2]}

    for e, count, primary in ((1, half, 0), (2, txns - half, 1)):
        passing = 0 if e == 1 else 1
        if e == 2:
            note("crash", 0)
            note("recover", 0)
        note("establish", primary, primary_epoch=e)
        for t in list(made):
            note("initial", primary, primary_epoch=e, **txn(t))
        if e == 2:
            for k, t in enumerate(made):
                note("abdeliver", 0, **{"pass": passing}, index=k, **txn(t))
        for c in range(1, count + 1):
            t = (e, c, len(made) + 1)
            made.append(t)
            note("abcast", primary, primary_epoch=e, attempt=0, **txn(t))
            for p in range(nodes):
                note("accept", p, primary_epoch=e, **txn(t))
            for p in range(nodes):
                note("abdeliver", p, **{"pass": passing if p == 0 else 0}, index=len(made) - 1, **txn(t))
    for k, row in enumerate(rows):
        row[ROW] = k
    names = [name for name, *_ in COLUMNS if name not in ("message", "detail")]
    columns: dict[str, Any] = {
        name: np.array([NULL if (x := r.get(name)) is None else x for r in rows], np.int64)
        for name in names
        if name != "kind"
    }
    return columns | {"kind": [r["kind"] for r in rows]}


def table_of(columns: dict[str, Any], kinds: list[str] | pa.Array) -> pa.Table:
    """Return columns as an Arrow table of events; missing columns are null."""
    out = []
    size = len(columns["run"])
    for f in schema():
        if f.name == "kind":
            out.append(pa.array(kinds).dictionary_encode() if isinstance(kinds, list) else kinds)
        elif f.name in columns:
            values = columns[f.name]
            out.append(pa.array(values, mask=values == NULL))
        else:
            out.append(pa.nulls(size, f.type))
    return pa.table([a.cast(f.type) for a, f in zip(out, schema(), strict=True)], schema=schema())


# --- measured --------------------------------------------------------------------------------------


class Usage:
    """Processor time of this process and of all that it starts, even those it never waits for.

    /proc is read now and then, and the last value of each process counts.
    """

    def __init__(self) -> None:
        self.seen: dict[tuple[int, str], float] = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self) -> Self:
        self.look()
        self.first = dict(self.seen)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        self.look()

    def watch(self) -> None:
        pause = 0.05  # seconds, at first: reading /proc costs milliseconds itself, which count
        while not self.over.wait(pause):
            self.look()
            pause = min(1.0, pause * 1.05)

    @property
    def seconds(self) -> float:
        return sum(self.seen.values()) - sum(self.first.values())

    def look(self) -> None:
        parents: dict[int, int] = {}
        times: dict[int, tuple[str, float]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    parents[int(entry.name)] = int(fields[1])
                    ticks = int(fields[11]) + int(fields[12])
                    times[int(entry.name)] = (fields[19], ticks / os.sysconf("SC_CLK_TCK"))
        for pid, (born, seconds) in times.items():
            above = pid
            while above in parents and above != os.getpid():
                above = parents[above]
            if above == os.getpid():
                self.seen[pid, born] = seconds


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Run a function; return the processor time and its result."""
    with Usage() as usage:
        result = work()
    return usage.seconds, result


def peak() -> int:
    """Return the bytes of memory that this process has had at most."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def measured(path: Path) -> None:
    """Judge a table; print rows per second of processor time, and bytes a row if it is one run."""
    units = read_units(path)
    before = peak()
    seconds, tally = timed(lambda: judge_plainly(units, (), 1))
    assert not tally.violations, tally.violations[:3]
    size = (peak() - before) / tally.rows
    said = f", at most {size:,.0f} bytes a row" if tally.runs == 1 else ""
    print(
        f"{tally.runs:,} runs, {tally.rows:,} rows in {seconds:.1f} CPU-s: {tally.rows / seconds:,.0f} a second{said}"
    )


def main() -> None:
    """Write a table, judge it, and print the rate."""
    options = argparse.ArgumentParser(description="How fast event tables are judged, and in how much memory.")
    options.add_argument("--events", type=int, default=20_000_000, help="rows")
    options.add_argument("--runs", type=int, default=200_000)
    options.add_argument("--memory", action="store_true", help="one run of these rows: how many bytes a row takes")
    options.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.path:
        measured(chosen.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        many_runs(path, chosen.events, 1 if chosen.memory else chosen.runs)
        machine(judge_runs)  # compiled once and kept
        subprocess.run([sys.executable, "-m", "benchmarks.judge", "--path", str(path)], check=True)


if __name__ == "__main__":
    main()
