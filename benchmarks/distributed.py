"""Measure the cost of distribution: the engine on Spark against the local one, as ratios measured in one run.

    python benchmarks/distributed.py                 # 20 million states and more; every figure and verdict compared
    python benchmarks/distributed.py --depth 30      # less of the same
    python benchmarks/distributed.py --master 'local[2,4]' --fingerprint 128

CPU seconds are those of all processes: Java (executors and driver, which are one process here), the tasks' Python
processes and Python's driver, from the first level to the last; the start of the session is reported separately. Both
engines judge all properties and search for all witnesses. Needs Linux (it reads /proc).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

BUDGETS = {"nodes": 3, "txns": 4, "timeouts": 1, "crashes": 0, "losses": 0}
DEPTH = 38
SMALL = {"nodes": 3, "txns": 1, "timeouts": 1, "crashes": 0, "losses": 0}  # for the overhead of a level
SMALL_DEPTH = 16
OF_THE_MACHINE = (
    "seconds", "cpu_seconds", "compile_seconds", "memory", "properties", "engine", "fingerprint_bits", "jobs",
)  # fmt: skip


def cpu_of_all() -> float:
    """Return the CPU seconds of this process and its descendants, running and reaped ones."""
    children: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        children.setdefault(int(words[1]), []).append(pid)
        spent[pid] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    waiting, total = [os.getpid()], 0.0
    while waiting:
        pid = waiting.pop()
        total += spent.get(pid, 0.0)
        waiting += children.get(pid, [])
    return total


def answer(r: Any) -> dict[str, Any]:
    """Return every part of an exploration's result that does not depend on the engine."""
    out = {k: v for k, v in dataclasses.asdict(r).items() if k not in OF_THE_MACHINE}
    out["violations"] = {name: list(found.schedule) for name, found in r.violations.items()}
    out["verdicts"] = {p.name: r.verdict(p) for p in r.properties}
    found: dict[str, Any] = json.loads(json.dumps(out))
    return found


def local(budgets: dict[str, int], depth: int | None, symmetry: bool) -> dict[str, Any]:
    """Explore with the local engine on one thread; return its answer and its costs."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits
    from invariants import PROPERTIES
    from zabspec.model import Configuration, Model

    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    explorer = Explorer(Compiled(Model(Configuration(**budgets)), properties, symmetry), 1)
    started, cpu = time.perf_counter(), cpu_of_all()
    r = explorer.run(Limits(depth=depth))
    return {"answer": answer(r), "cpu": cpu_of_all() - cpu, "wall": time.perf_counter() - started, "states": r.distinct}


def spark(
    budgets: dict[str, int],
    depth: int | None,
    symmetry: bool,
    master: str,
    wide: bool,
    here: int | None,
) -> dict[str, Any]:
    """Explore with the engine on Spark; return its answer and its costs."""
    from checker.explore.checkpoints.checkpoint import Checkpoint, Level
    from checker.explore.result import Limits
    from checker.tables.distributed.cluster import Cluster
    from checker.tables.distributed.code import task_of
    from checker.tables.distributed.explore import SparkExplorer
    from checker.tables.distributed.run import usual_parts
    from checker.tables.distributed.storage import Storage
    from invariants import PROPERTIES
    from traces.tables.spark.session import session
    from zabspec.model import Configuration

    made: list[dict[str, float]] = []

    class Timed(SparkExplorer):
        def commit(self, level: Level, before: Level | None) -> None:
            super().commit(level, before)
            made.append({"size": level.size, "at": time.perf_counter()})

    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    question, _ = task_of(Configuration(**budgets), properties, symmetry, wide, 0)
    begun = time.perf_counter()
    with session(master, brief=True) as context, tempfile.TemporaryDirectory() as folder:
        question = dataclasses.replace(question, parts=usual_parts(context.sparkContext.defaultParallelism))
        explorer = Timed(question, Checkpoint(Storage(folder)))
        if here is not None:
            explorer.here = here
        started, cpu = time.perf_counter(), cpu_of_all()
        r = explorer.run(Cluster(context), Limits(depth=depth))
        cpu, wall = cpu_of_all() - cpu, time.perf_counter() - started
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "answer": answer(r), "cpu": cpu, "wall": wall, "states": r.distinct, "session": started - begun,
        "memory": r.memory, "disk": disk, "parts": question.parts, "made": made, "jobs": r.jobs,
    }  # fmt: skip


def of_late_levels(run: dict[str, Any]) -> float:
    """Return the median seconds of a level of few states, without the first four, in which Java compiles."""
    return statistics.median(after["at"] - before["at"] for before, after in pairwise(run["made"][4:]))


def in_child(engine: str, **question: Any) -> dict[str, Any]:
    """Run an exploration in a process of its own, and return its result."""
    command = [sys.executable, __file__, "--child", json.dumps([engine, question])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "a child failed")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def words(ask: dict[str, Any]) -> str:
    """Return an exploration's parameters in words."""
    bounds = ", ".join(f"{k} {v}" for k, v in ask["budgets"].items())
    extent = "to exhaustion" if ask["depth"] is None else f"to depth {ask['depth']}"
    return f"zab, {bounds}, {extent}, {'orbits' if ask['symmetry'] else 'every state'}"


def main() -> None:
    """Compare the engines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--depth", type=int, default=DEPTH, help=f"how deep (default {DEPTH})")
    parser.add_argument("--master", default="local[2,4]", help="where, as Spark names it (default local[2,4])")
    parser.add_argument("--fingerprint", choices=["64", "128"], default="64", help="bits (default 64)")
    parser.add_argument("--symmetry", action="store_true", help="count renamings of a state once")
    options = parser.parse_args()
    if options.child:
        engine, question = json.loads(options.child)
        print(json.dumps({"local": local, "spark": spark}[engine](**question)))
        return
    ask = {"budgets": BUDGETS, "depth": options.depth, "symmetry": options.symmetry}
    print(words(ask))
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    there = {"master": options.master, "wide": options.fingerprint == "128"}
    one, far = in_child("local", **ask), in_child("spark", **ask, **there, here=None)
    same = one["answer"] == far["answer"]
    differ = ", ".join(k for k in one["answer"] if one["answer"][k] != far["answer"][k])
    print(f"{one['states']:,} states; counts, levels, transitions, witnesses, verdicts:", end=" ")
    print("all the same" if same else f"DIFFERENT: {differ}")
    for name, r in (("local, one core", one), (f"spark, {options.master}", far)):
        print(f"{name:24}{r['cpu']:>8.1f} CPU s{r['wall']:>8.1f} s{r['states'] / r['cpu']:>14,.0f} states per CPU s")
    print(f"ratio, per CPU second: {far['cpu'] / one['cpu']:.1f} times the local engine's")
    generated = one["answer"]["generated"]
    print(f"session started in {far['session']:.1f} s; {far['parts']} parts; {generated:,} successors;", end=" ")
    print(f"largest process {far['memory'] / 1e6:,.0f} MB; checkpoint {far['disk'] / far['states']:.1f} bytes a state")
    print(f"levels that were jobs: {far['jobs']} of {len(far['answer']['levels'])}")
    small = {"budgets": SMALL, "depth": SMALL_DEPTH, "symmetry": True, **there}
    few, none = (in_child("spark", **small, here=here) for here in (0, None))
    print(f"a level of few states as a job: {of_late_levels(few):.2f} s (here: {of_late_levels(none):.3f} s)")
    print(f"load after: {os.getloadavg()[0]:.1f}")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
