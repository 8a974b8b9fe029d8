"""Measure how fast event tables are judged: many runs, and one long history.

    python benchmarks/judge.py [--events 20000000] [--runs 200000] [--deliveries 20000000] [--engines plain,spark]

Both tables are made here, with two epochs, a crash and a redelivery, and a process that lags; nothing in them is
violated. The processor time of this process and its children is measured, from opening the table to the verdict, so
that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from traces.judging.blocks_kernel import sum_blocks

from traces.judging.judge import judge_on_spark, judge_plainly, read_units
from traces.judging.kernel import judge_runs
from traces.spark.session import session
from traces.tables.table import COLUMNS, ROW, USUAL, TableWriter, schema
from zabspec.language.kernels import machine


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


def one_history(path: Path, deliveries: int, nodes: int = 3) -> int:
    """Write a table of one history without violations: so many deliveries by `nodes` processes; return the rows.

    The last process lags behind; there are two epochs, and a redelivery after a crash.
    """
    txns = deliveries // nodes
    half = txns // 2
    lag = min(half // 4, 50_000)
    chunk = 1 << 18
    position = [0] * (nodes + 1)
    rows = 0
    kinds = pa.array(["abcast", "abdeliver"])
    with TableWriter(path, USUAL) as writer:
        for first in range(0, txns + lag, chunk):
            i = np.arange(first, min(first + chunk, txns + lag))
            parts = []
            for p in range(-1, nodes):  # -1: the abcasts
                k = i - lag if p == nodes - 1 else i
                keep = (k >= 0) & (k < txns)
                at = (i * (nodes + 1) + p + 1)[keep]
                parts.append((at, k[keep], np.full(keep.sum(), p)))
            at, k, p = (np.concatenate(x) for x in zip(*parts, strict=True))
            order = np.argsort(at, kind="stable")
            at, k, p = at[order], k[order], p[order]
            epoch = np.where(k < half, 1, 2)
            primary = np.where(k < half, 0, 1)
            whose = np.where(p < 0, primary, p)
            place = np.empty(len(k), np.int64)
            for q in range(nodes):
                mine = whose == q
                place[mine] = position[q] + np.arange(mine.sum())
                position[q] += int(mine.sum())
            columns = {
                "run": np.zeros(len(k), np.int64), "process": whose, "position": place,
                "primary_epoch": np.where(p < 0, epoch, NULL), "attempt": np.where(p < 0, 0, NULL),
                "pass": np.where(p < 0, NULL, 0), "index": np.where(p < 0, NULL, k), "epoch": epoch,
                "counter": np.where(k < half, k + 1, k - half + 1), "identity": k + 1, "digest": k * 7919 + 13,
                "time": at, ROW: rows + np.arange(len(k)),
            }  # fmt: skip
            kind = pa.DictionaryArray.from_arrays(pa.array((p >= 0).astype(np.int32)), kinds)
            writer.add_part(table_of(columns, kind))
            rows += len(k)
    return rows


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


def start_of_spark(master: str) -> float:
    """Return the cost of a session that only starts its Python processes."""

    def work() -> None:
        with session(master, brief=True) as spark:
            spark.sparkContext.parallelize(range(4), 4).map(lambda k: k).collect()

    return timed(work)[0]


def report(name: str, path: Path, target: float, engines: list[str], start: float, master: str) -> None:
    """Judge a table by every engine and print rows per second of processor time."""
    for engine in engines:
        if engine == "plain":
            seconds, tally = timed(lambda: judge_plainly(read_units(path), (), 1))
            extra = ""
        else:
            seconds, tally = timed(lambda: judge_on_spark(read_units(path), (), master))
            extra = f", {tally.rows / max(seconds - start, 1e-9) / 1e6:.2f} M without the {start:.1f} s of its start"
        assert not tally.violations, tally.violations[:3]
        rate = tally.rows / seconds / 1e6
        met = (
            "met"
            if rate >= target
            else "met without the start"
            if extra and tally.rows / max(seconds - start, 1e-9) / 1e6 >= target
            else "not met"
        )
        print(
            f"{name}, {engine}: {tally.rows:,} rows in {seconds:.1f} s of processor time: {rate:.2f} M rows/s{extra}"
            f" (target {target:g} M: {met})",
            flush=True,
        )


def main() -> None:
    """Write both tables, judge them with every engine, and print the rates."""
    options = argparse.ArgumentParser(description="How fast event tables are judged.")
    options.add_argument("--events", type=int, default=20_000_000, help="rows of the many runs")
    options.add_argument("--runs", type=int, default=200_000)
    options.add_argument("--deliveries", type=int, default=20_000_000, help="of the one history")
    options.add_argument("--engines", default="plain,spark")
    options.add_argument("--master", default="local[2]")
    chosen = options.parse_args()
    engines = chosen.engines.split(",")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        machine(judge_runs), machine(sum_blocks)  # compiled once and kept
        start = start_of_spark(chosen.master) if "spark" in engines else 0.0
        rows = many_runs(path, chosen.events, chosen.runs)
        print(f"{chosen.runs:,} runs, {rows:,} rows, {path.stat().st_size >> 20} MiB", flush=True)
        report("many runs", path, 3.0, engines, start, chosen.master)
        rows = one_history(path, chosen.deliveries)
        print(
            f"one history, {chosen.deliveries:,} deliveries, {rows:,} rows, {path.stat().st_size >> 20} MiB", flush=True
        )
        report("one history", path, 2.0, engines, start, chosen.master)


if __name__ == "__main__":
    main()
