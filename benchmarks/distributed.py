"""Measure the cost of distribution: the engine on Spark against the local one, as ratios measured in one run.

    python benchmarks/distributed.py                 # 20 million states and more; every figure and verdict compared
    python benchmarks/distributed.py --depth 30      # less of the same
    python benchmarks/distributed.py --master 'local[2,4]' --fingerprint 128
    python benchmarks/distributed.py --record        # writes the parameters of forecasts (costs.json)
    python benchmarks/distributed.py --fingerprint 128 --forecast 10000000000 160 512

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

from checker.distributed.costs import RECORDED, Costs, recorded

BUDGETS = {"nodes": 3, "txns": 4, "timeouts": 1, "crashes": 0, "losses": 0}
DEPTH = 38
WHOLE = {"nodes": 3, "txns": 2, "timeouts": 2, "crashes": 0, "losses": 0}  # what --record explores to exhaustion
WORTH = 10_000  # states that are worth a task, the value of `Cluster`
SMALL = {"nodes": 3, "txns": 1, "timeouts": 1, "crashes": 0, "losses": 0}  # for the overhead of a level
SMALL_DEPTH = 16
OF_THE_MACHINE = (
    "seconds", "cpu_seconds", "compile_seconds", "memory", "properties", "engine", "fingerprint_bits", "usage",
    "account", "chosen",
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
    worth: int = WORTH,
) -> dict[str, Any]:
    """Explore with the engine on Spark; return its answer and its costs."""
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

    made: list[dict[str, float]] = []

    class Timed(SparkExplorer):
        def commit(self, level: Level, before: Level | None) -> None:
            super().commit(level, before)
            packed = sum(part.states.size for part in level.parts)
            counted, jobs = level.usage.cpu, level.usage.jobs
            now, cpu = time.perf_counter(), cpu_of_all()
            made.append(
                {
                    "size": level.size, "at": now, "cpu": cpu, "counted": counted, "jobs": jobs, "packed": packed,
                    "memory": level.memory,
                }
            )  # fmt: skip

    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    question, _ = ExplorationTask.of(Configuration(**budgets), properties, symmetry, wide, 0)
    begun, before = time.perf_counter(), cpu_of_all()
    with session(master, brief=True) as context, tempfile.TemporaryDirectory() as folder:
        question = dataclasses.replace(question, parts=usual_parts(context.sparkContext.defaultParallelism))
        explorer = Timed(question, Checkpoint(Storage(folder)))
        if here is not None:
            explorer.here = here
        session_cpu = cpu_of_all() - before
        started, cpu = time.perf_counter(), cpu_of_all()
        r = explorer.run(Cluster(context, worth), Limits(depth=depth))
        cpu, wall = cpu_of_all() - cpu, time.perf_counter() - started
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    assert r.usage is not None
    largest = max(made, key=lambda level: level["size"])
    return {
        "answer": answer(r), "cpu": cpu, "wall": wall, "states": r.distinct, "session": started - begun,
        "session_cpu": session_cpu, "memory": r.memory, "disk": disk, "parts": question.parts,
        "packed": largest["packed"] / largest["size"], "made": made, "usage": r.usage.as_json(),
    }  # fmt: skip


def levels_of(run: dict[str, Any]) -> list[dict[str, float]]:
    """Return for each level after the first the states expanded for it and found new, and its costs."""
    return [
        {name: after[name] - before[name] for name in ("at", "cpu", "counted", "jobs")}
        | {"states": (before["size"] + after["size"]) / 2}
        for before, after in pairwise(run["made"])
    ]


def of_late_levels(run: dict[str, Any], name: str) -> float:
    """Return the median cost of a level of few states, without the first four, in which Java compiles."""
    return statistics.median(level[name] for level in levels_of(run)[4:])


def for_each_state(run: dict[str, Any], name: str, level: float) -> float:
    """Return the cost of each state, from the levels at least half as large as the largest.

    The cost of any level is subtracted.
    """
    levels = levels_of(run)
    most = max(one["states"] for one in levels)
    large = [one for one in levels if one["states"] >= most / 2 and one["jobs"]]
    return sum(one[name] - level for one in large) / sum(one["states"] for one in large)


def of_memory(run: dict[str, Any]) -> tuple[int, float]:
    """Return the bytes of a task's process without states, and those for each state of its share.

    They are the coefficients of a line through the memory of the largest process at the end of jobs, while these grew.
    """
    most, points = 0.0, []
    for before, after in pairwise(run["made"]):
        if after["jobs"] > before["jobs"] and after["size"] > most:
            most = after["size"]
            points.append((most / run["parts"], after["memory"]))
    slope, base = statistics.linear_regression(*zip(*points, strict=True))
    return round(base), max(0.0, slope)


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


def parameters(
    question: str,
    options: argparse.Namespace,
    one: dict[str, Any],
    far: dict[str, Any],
    few: dict[str, Any],
    many: dict[str, Any],
) -> Costs:
    """Return the parameters of forecasts.

    Args:
        question: the exploration, in words.
        one: the local engine's run; `far`: the same on Spark.
        few: a small exploration, each level a job with one task a stage; `many`: the same, with tasks for each state.
    """
    used, states, levels = far["usage"], far["states"], far["answer"]["levels"]
    level_cpu, level_counted = (of_late_levels(few, name) for name in ("cpu", "counted"))
    more = 3 * (far["parts"] - 1)  # tasks of a large level, beyond one of each stage
    task_cpu = max(0.0, of_late_levels(many, "cpu") - level_cpu) / more
    counted = for_each_state(far, "counted", level_counted)
    # at least the counted part: in a small level tasks may take more than in a large one
    cpu = max(counted, for_each_state(far, "cpu", level_cpu + more * task_cpu))
    overhead = used["jobs"] * level_cpu + (used["tasks"] - 3 * used["jobs"]) * task_cpu
    base_memory, share_memory = of_memory(far)
    return Costs(
        question=question,
        machine=f"{os.cpu_count()} cores, {options.master}",
        day=time.strftime("%d %B %Y").lstrip("0"),
        bits=int(options.fingerprint),
        states=states,
        levels=len(levels),
        jobs=used["jobs"],
        parts=far["parts"],
        cores=os.cpu_count() or 1,
        local_cpu=one["cpu"] / one["states"],
        cpu=cpu,
        counted=counted,
        level_seconds=of_late_levels(few, "at"),
        level_cpu=level_cpu,
        level_counted=level_counted,
        first_cpu=max(0.0, far["cpu"] - overhead - cpu * states),
        task_cpu=task_cpu,
        start_seconds=far["session"],
        start_cpu=far["session_cpu"],
        sent=used["sent"] / used["states"],
        successors=far["answer"]["generated"] / states,
        message=used["shuffle"] / used["sent"],
        written=used["written"] / used["states"],
        kept=far["disk"] / states,
        packed=far["packed"],
        candidates=used["candidates"] / used["states"],
        largest=max(levels) / states,
        base_memory=base_memory,
        share_memory=share_memory,
    )


def record(costs: Costs) -> None:
    """Write parameters to the file that forecasts are made from."""
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    RECORDED.write_text(json.dumps({**known, str(costs.bits): costs.as_json()}, indent=1, sort_keys=True) + "\n")
    print(f"recorded in {RECORDED}")


def table(rows: list[list[int]], bits: int) -> str:
    """Return forecasts as a Markdown table."""
    costs = recorded(bits)
    lines = ["| states | cores | CPU hours | hours | shuffle, TB | written, TB | on disk at most, TB | a task, GB |"]
    lines.append("|" + "---|" * 8)
    for states, cores, parts in rows:
        f = costs.forecast(states, cores, parts)
        sizes = " | ".join(f"{size / 1e12:,.2f}" for size in (f.shuffle, f.written, f.disk))
        hours = f"{f.cpu / 3600:,.1f} | {f.seconds / 3600:,.2f}"
        lines.append(f"| {states:,} | {cores:,} | {hours} | {sizes} | {f.memory / 1e9:,.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Compare the engines, record the parameters of forecasts, or print forecasts, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--depth", type=int, default=DEPTH, help=f"how deep (default {DEPTH})")
    parser.add_argument("--master", default="local[2,4]", help="where, as Spark names it (default local[2,4])")
    parser.add_argument("--fingerprint", choices=["64", "128"], default="64", help="bits (default 64)")
    parser.add_argument("--symmetry", action="store_true", help="count renamings of a state once")
    parser.add_argument(
        "--record", action="store_true", help="explore another question, and keep its costs for forecasts"
    )
    parser.add_argument(
        "--forecast", nargs=3, type=int, action="append", metavar=("STATES", "CORES", "PARTS"),
        help="measure nothing: forecast this from what is recorded, as a row of a table (repeatable)",
    )  # fmt: skip
    options = parser.parse_args()
    if options.forecast:
        print(table(options.forecast, int(options.fingerprint)))
        return
    if options.child:
        engine, question = json.loads(options.child)
        print(json.dumps({"local": local, "spark": spark}[engine](**question)))
        return
    ask = {"budgets": BUDGETS, "depth": options.depth, "symmetry": options.symmetry}
    if options.record:
        ask = {"budgets": WHOLE, "depth": None, "symmetry": True}
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
    used = far["usage"]
    per = {name: used[name] / used["states"] for name in ("sent", "shuffle", "written", "python_cpu", "java_cpu")}
    print(
        f"of tasks, as Spark and they count: Python {used['python_cpu']:.1f} CPU s, Java {used['java_cpu']:.1f};",
        end=" ",
    )
    print(f"shuffle {per['shuffle']:.1f} bytes a state, {per['sent']:.2f} fingerprints; spilled {used['spilled']:,}")
    small = {"budgets": SMALL, "depth": SMALL_DEPTH, "symmetry": True, **there}
    few, many = (in_child("spark", **small, here=0, worth=worth) for worth in (WORTH, 1))
    print(f"a level of few states as a job: {of_late_levels(few, 'at'):.2f} s", end=" ")
    none = in_child("spark", **small, here=None)
    print(f"(here, without a job: {of_late_levels(none, 'at'):.3f} s)")
    if options.record:
        record(parameters(words(ask), options, one, far, few, many))
    print(f"load after: {os.getloadavg()[0]:.1f}")
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
