"""What distribution costs: the engine on Spark against the local one, as ratios measured in one run.

    python benchmarks/distributed.py                 # 20 million states and more; every figure and verdict compared
    python benchmarks/distributed.py --depth 30      # less of the same
    python benchmarks/distributed.py --master 'local[2,4]' --fingerprint 128

CPU seconds are those of all processes: Java, the tasks' Python processes and the driver; starting the session is
told apart. Both engines judge all properties and look for all witnesses. Needs Linux (it reads /proc).
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
OF_THE_MACHINE = ("seconds", "cpu_seconds", "compile_seconds", "memory", "properties", "engine", "fingerprint_bits")


def cpu_of_all() -> float:
    """CPU seconds of this process and all that came of it, the living and those waited for."""
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
    """Everything an exploration found that does not depend on the engine."""
    out = {k: v for k, v in dataclasses.asdict(r).items() if k not in OF_THE_MACHINE}
    out["violations"] = {name: list(found.schedule) for name, found in r.violations.items()}
    out["verdicts"] = {p.name: r.verdict(p) for p in r.properties}
    found: dict[str, Any] = json.loads(json.dumps(out))
    return found


def local(budgets: dict[str, int], depth: int, symmetry: bool) -> dict[str, Any]:
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
    budgets: dict[str, int], depth: int, symmetry: bool, master: str, wide: bool, here: int | None
) -> dict[str, Any]:
    from checker.distributed.checkpoint import Checkpoint, Level
    from checker.distributed.cluster import Cluster
    from checker.distributed.code import ExplorationTask
    from checker.distributed.explore import SparkExplorer
    from checker.distributed.run import usual_parts
    from checker.distributed.storage import Storage
    from checker.explore.result import Limits
    from invariants import PROPERTIES
    from traces.spark.session import session
    from zabspec.model import Configuration

    times: list[tuple[int, float]] = []

    class Timed(SparkExplorer):
        def commit(self, level: Level, before: Level | None) -> None:
            super().commit(level, before)
            times.append((level.size, time.perf_counter()))

    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    question, _ = ExplorationTask.of(Configuration(**budgets), properties, symmetry, wide, 0)
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
    levels = [after - before for (_, before), (_, after) in pairwise(times)]
    return {
        "answer": answer(r), "cpu": cpu, "wall": wall, "states": r.distinct, "session": started - begun,
        "memory": r.memory, "disk": disk, "levels": levels, "tasks": r.cpu_seconds, "parts": question.parts,
    }  # fmt: skip


def in_child(engine: str, **question: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", json.dumps([engine, question])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "a child failed")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
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
    print("zab, fifo,", ", ".join(f"{k} {v}" for k, v in BUDGETS.items()), f"- to depth {options.depth}")
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    there = {"master": options.master, "wide": options.fingerprint == "128"}
    ask = {"budgets": BUDGETS, "depth": options.depth, "symmetry": options.symmetry}
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
    few = in_child("spark", budgets=SMALL, depth=SMALL_DEPTH, symmetry=True, **there, here=0)
    print(f"a level of few states as a job: {statistics.median(few['levels'][4:]):.2f} s", end=" ")
    few = in_child("spark", budgets=SMALL, depth=SMALL_DEPTH, symmetry=True, **there, here=None)
    print(f"(here, without a job: {statistics.median(few['levels']):.3f} s)")
    print(f"load after: {os.getloadavg()[0]:.1f}")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
