"""Measure one pipeline on Spark that makes, writes, judges and counts events: its time, and the memory of a worker.

    python -m benchmarks.pipeline [--events 10000000] [--runs 64000] [--kills 0] [--heap 2048]

Runs are copies of one without violations, with other payloads; in one of a thousand a process delivers the first two
transactions in the wrong order. With --kills the pipeline is run once undisturbed, then killed so often at random
moments of the time that this took, Java and workers with it, and restarted; the tables are compared in the end.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from benchmarks.judge import NULL, one_run, timed
from traces.events.table import COLUMNS, OBSERVED

BROKEN = 1000  # one run of so many
AT_ONCE = 1 << 16  # rows
TABLES = ("events", "verdicts", "rates")
DIGESTS = "tables: "


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


@dataclass(frozen=True)
class Make:
    """A task: it makes the rows of runs."""

    txns: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the rows of numbered runs."""
        whole = one_run(self.txns, 3)
        wrong = {name: values.copy() if name != "kind" else values for name, values in whole.items()}
        at = [k for k, kind in enumerate(whole["kind"]) if kind == "abdeliver" and whole["process"][k] == 2][:2]
        for name in ("epoch", "counter", "identity"):
            wrong[name][at] = whole[name][at[::-1]]
        size = len(whole["kind"])
        at_once = max(1, AT_ONCE // size)
        usual = rows(np.zeros(at_once, np.int64), whole, wrong, size)
        for batch in batches:
            runs = batch.column(0).to_numpy()
            for k in range(0, len(runs), at_once):
                some = runs[k : k + at_once]
                same = len(some) == at_once and not (some % BROKEN == 7).any()
                yield renamed(usual, some, whole, size) if same else rows(some, whole, wrong, size)


def rows(runs: Any, whole: dict[str, Any], wrong: dict[str, Any], size: int) -> pa.RecordBatch:
    """Return the rows of some runs."""
    bad = np.repeat(runs % BROKEN == 7, size)
    columns: list[pa.Array] = []
    for name, is_text, *_ in COLUMNS:
        if name == "kind":
            columns.append(pa.array(list(whole["kind"]) * len(runs), pa.string()))
        elif name == "message":
            first = [",".join(OBSERVED)] + [None] * (size - 1)
            columns.append(pa.array(first * len(runs), pa.string()))
        elif is_text:
            columns.append(pa.nulls(size * len(runs), pa.string()))
        else:
            values = np.tile(whole[name], len(runs)) if name in whole else np.full(size * len(runs), NULL)
            if name in wrong:
                values = np.where(bad, np.tile(wrong[name], len(runs)), values)
            if name == "run":
                values = np.repeat(runs, size)
            if name == "row":
                values = np.tile(np.arange(size), len(runs))
            if name == "digest":
                identity = np.where(bad, np.tile(wrong["identity"], len(runs)), np.tile(whole["identity"], len(runs)))
                values = digests(identity, np.repeat(runs, size))
            columns.append(numbers(values))
    return pa.RecordBatch.from_arrays(columns, names=[name for name, *_ in COLUMNS])


def renamed(usual: pa.RecordBatch, runs: Any, whole: dict[str, Any], size: int) -> pa.RecordBatch:
    """Return the rows of runs without violations: all but two of their columns are the same."""
    run = np.repeat(runs, size)
    own = {"run": numbers(run), "digest": numbers(digests(np.tile(whole["identity"], len(runs)), run))}
    columns = [own.get(name, usual.column(name)) for name in usual.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=usual.schema.names)


def digests(identity: Any, run: Any) -> Any:
    """Return the digests of payloads, which differ from run to run."""
    return np.where(identity == NULL, NULL, identity * 7919 + run)


def numbers(values: Any) -> pa.Array:
    """Return a column of numbers, some of which are null."""
    return pa.array(values.astype(np.int64), pa.int64(), mask=values == NULL)


def pipeline(folder: Path, events: int, runs: int, master: str, heap: int) -> None:
    """Make the tables."""
    from traces.tables.spark.guest import workers
    from traces.tables.spark.session import session
    from zabcheck.tables.spark import judge

    columns = ", ".join(f"{name} {'string' if is_text else 'bigint'}" for name, is_text, *_ in COLUMNS)
    txns = max(2, (events // runs - 8) // 6)
    tasks = max(2, events // 1_000_000)
    with session(master, memory=heap << 20) as spark, workers(spark), Memory() as memory:
        steps = {
            "made": lambda: spark.range(0, runs, 1, tasks).mapInArrow(Make(txns), columns)
            .write.mode("overwrite").parquet(f"{folder}/events"),
            "judged": lambda: judge(spark.read.parquet(f"{folder}/events"), together=True)
            .write.mode("overwrite").parquet(f"{folder}/verdicts"),
            "counted": lambda: spark.read.parquet(f"{folder}/verdicts").groupBy("property", "verdict").count()
            .coalesce(1).orderBy("property", "verdict").write.mode("overwrite").parquet(f"{folder}/rates"),
        }  # fmt: skip
        for name, step in steps.items():
            began = time.monotonic()
            seconds, _ = timed(step)
            print(f"{name}: {seconds:.1f} s of processor time, {time.monotonic() - began:.1f} s", flush=True)
        count = spark.read.parquet(f"{folder}/events").count()
        found = {tuple(r) for r in spark.read.parquet(f"{folder}/rates").collect()}
        bad = sum(n for _, verdict, n in found if verdict == "violated")
        whole = {sum(n for p, _, n in found if p == name) for name in {p for p, *_ in found}}
        said = ", ".join(f"{name} {digest(spark.read.parquet(f'{folder}/{name}'))}" for name in TABLES)
    print(f"{DIGESTS}{said}")
    wanted = len(range(7, runs, BROKEN))
    total = [n for p, v, n in found if (p, v) == ("total-order", "violated")]
    print(f"{count:,} events of {runs:,} runs; {bad:,} verdicts violated; {memory}")
    print(
        "as it has to be" if whole == {runs} and total == [wanted] else f"NOT AS IT HAS TO BE: {whole} {total} {wanted}"
    )


def digest(table: Any) -> str:
    """Return the number of rows of a table, and a digest of them that does not depend on their order."""
    from pyspark.sql import functions as f

    each = f.xxhash64(*table.columns).cast("decimal(38,0)")
    count, sums = table.agg(f.count(f.lit(1)), f.sum(each)).first()
    return f"{count:,} rows {int(sums) % (1 << 64):016x}"


def finished(words: list[str]) -> tuple[float, str]:
    """Run a program to its end; return its seconds, and the contents of the tables that it prints."""
    began = time.monotonic()
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return time.monotonic() - began, next(line for line in done.stdout.splitlines() if line.startswith(DIGESTS))


def killed(words: list[str], kills: int, within: float) -> list[str]:
    """Start a program and kill it, its Java and its workers, so often, each time at a random moment.

    If it ends before that, it is restarted without tables.

    Args:
        within: seconds from its start within which it is killed.

    Returns:
        The tables that were finished each time.
    """
    out: list[str] = []
    folder = Path(words[words.index("--folder") + 1])
    while len(out) < kills:
        process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)
        try:
            process.wait(random.uniform(0.0, within))
            shutil.rmtree(folder)  # it ended by itself, and is not counted
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            out.append("".join(name[0] for name in TABLES if (folder / name / "_SUCCESS").exists()) or "-")
    return out


def main() -> None:
    """Run the pipeline, undisturbed or with kills, and print the figures."""
    options = argparse.ArgumentParser(description="Events made, judged and counted in one pipeline.")
    options.add_argument("--events", type=int, default=10_000_000)
    options.add_argument("--runs", type=int, default=64_000)
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--heap", type=int, default=2048, help="MiB that Java may take for its objects")
    options.add_argument("--master", default="local[2]")
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.folder:
        pipeline(chosen.folder, chosen.events, chosen.runs, chosen.master, chosen.heap)
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        words = [sys.executable, "-m", "benchmarks.pipeline", "--master", chosen.master]
        words += ["--events", str(chosen.events), "--runs", str(chosen.runs), "--heap", str(chosen.heap)]
        seconds, wanted = finished([*words, "--folder", f"{folder}/undisturbed"])
        if chosen.kills:
            there = [*words, "--folder", f"{folder}/killed"]
            tables = killed(there, chosen.kills, seconds)
            print(f"{chosen.kills} kills within {seconds:.0f} s of a start; tables that were there: {' '.join(tables)}")
            print("equal tables" if finished(there)[1] == wanted else "DIFFERENT TABLES")


if __name__ == "__main__":
    main()
