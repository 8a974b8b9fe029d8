"""Measure runs per second of `zabcheck sweep` on Spark against the plain loop, and the whole of 100,000 runs.

    python benchmarks/sweep.py [RUNS]

The plain loop runs, judges, dumps and hashes the same blocks and writes the same files, in one process. On Spark the
session, the runs, adding up and the report are measured separately. Wall time is what a user waits for; on a shared
machine the processor time beside it is more accurate.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from traces.spark.session import cores, session
from traces.sweep.findings import findings
from traces.sweep.grid import Grid
from traces.sweep.job import block_for, run_missing
from traces.sweep.report import write_report
from traces.sweep.spot_check import run_again
from traces.sweep.store import open_store
from traces.sweep.summary import summarise

MASTER = "local[*]"
PLAIN = 10_000  # runs of the plain loop


def main() -> None:
    """Print the rates of the plain loop, of the job on Spark, and of the whole command."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    question = Grid(seeds=(f"0:{runs}",))
    question.check()
    print(f"db19, 3 nodes, 1000 ticks, 5 proposals; {cores(MASTER)} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as top:
        loop, loop_cpu = plain(Path(top) / "plain", runs)
        swept, swept_cpu = on_spark(Path(top) / "spark", question)
        whole = as_command(Path(top) / "command", runs)
    print(
        f"against the plain loop, of wall time on {cores(MASTER)} cores: the runs x{swept / loop:.2f}, the whole "
        f"command x{whole / loop:.2f}; of processor time: the runs x{swept_cpu / loop_cpu:.2f}"
    )


def processor_time(pid: int) -> float:
    """Return the seconds that a process and its descendants have used so far."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            used[int(stat.parent.name)] = sum(int(field) for field in fields[11:13]) / tick

    def below(process: int) -> bool:
        return process == pid or (process in parents and below(parents[process]))

    return sum(seconds for process, seconds in used.items() if below(process))


def plain(folder: Path, runs: int) -> tuple[float, float]:
    """Return the runs per second of the plain loop, and those per second of processor time."""
    question = Grid(seeds=(f"0:{min(runs, PLAIN)}",))
    store = open_store(folder, question, lambda _: 1000)
    store.run_block(0)  # compiled
    store.part(0).unlink()
    started, used = time.perf_counter(), time.process_time()
    for block in store.missing():
        store.run_block(block)
    took, used = time.perf_counter() - started, time.process_time() - used
    rate = question.count / took
    print(f"{'plain loop':24} {rate:8,.0f} runs/s, {question.count / used:6,.0f} a CPU-second")
    return rate, question.count / used


def on_spark(folder: Path, question: Grid) -> tuple[float, float]:
    """Return the runs per second of the job alone, and those per second of processor time of Java and workers."""
    store = open_store(folder, question, block_for)
    started = time.perf_counter()
    with session(MASTER, brief=True, memory=1 << 30) as spark:
        java = spark.sparkContext._gateway.proc.pid
        ready, used = time.perf_counter(), processor_time(java)
        run_missing(spark, store, store.missing())
        ran, used = time.perf_counter(), processor_time(java) - used
        summary = summarise(spark, store)
        added = time.perf_counter()
    stopped = time.perf_counter()
    write_report(store, summary, findings(store, summary), run_again(store, store.check()))
    reported = time.perf_counter()
    rate = question.count / (ran - ready)
    print(f"{'on Spark, the runs':24} {rate:8,.0f} runs/s, {question.count / used:6,.0f} a CPU-second")
    print(
        f"{'':24} session {ready - started:.1f} s, runs {ran - ready:.1f} s, adding up {added - ran:.1f} s, "
        f"end {stopped - added:.1f} s, report {reported - stopped:.1f} s; {store.blocks} blocks of {store.block}"
    )
    return rate, question.count / used


def as_command(folder: Path, runs: int) -> float:
    """Return the runs per second of the command from its start to its end."""
    started = time.perf_counter()
    program = Path(sys.executable).parent / "zabcheck"
    done = subprocess.run(
        [program, "sweep", folder, "--seeds", f"0:{runs}", "--json"], capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - started
    broken = json.loads(done.stdout)["broken"]
    print(
        f"{'zabcheck sweep':24} {runs / took:8,.0f} runs/s   {runs:,} runs in {took:.1f} s; {broken:,} break something"
    )
    return runs / took


if __name__ == "__main__":
    main()
