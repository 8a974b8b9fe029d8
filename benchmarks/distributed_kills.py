"""Run a search on Spark of about 10^8 states, kill it five times, and compare every count with the local engine's.

    python -m benchmarks.distributed_kills                      # 97 million orbits, five kills: 10 minutes on two cores
    python -m benchmarks.distributed_kills --depth 38           # 14 million
    python -m benchmarks.distributed_kills --depth 30 --seed 7  # 2 million, other moments

zab with 3 nodes, 2 transactions, 2 timeouts and 1 crash, all states up to renaming, without reductions. First the local
engine, then a standalone cluster of two workers with a core each, on loopback. The seed determines what is killed with
SIGKILL, and when: the driver with its Java process (the command is restarted with --resume), a worker with its
executor, an executor, or a Python process of a task. Moments are drawn by states, so large levels get most of them,
and are within a level, not after it.

Memory is bounded for each process: heaps of Java by -Xmx, the address space of each Python process of a task by
RLIMIT_AS (`spark.executor.pyspark.memory`). The peak of each kind of process is sampled from /proc. Needs Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.standalone import WORKERS, Standalone, descendants

MODEL = ("--nodes", "3", "--txns", "2", "--timeouts", "2", "--crashes", "1", "--losses", "0", "--reduction", "none")
DEPTH = 50
CPU = 1.5e-5  # seconds for a state on Spark, about
KINDS = ("driver", "worker", "executor", "task")
COMPARED = ("states", "steps", "events", "never_taken", "verdict", "exit_code", "coverage", "properties")
EVERY = 0.5  # seconds between two samples of memory
COMING = 300.0  # seconds to wait for a process to kill: after a new driver it takes a while
PATIENCE = 3600.0  # seconds for a whole search


def zabcheck(depth: int, *options: str) -> list[str]:
    """Return the command of the search."""
    words = [sys.executable, "-m", "zabcheck", *MODEL, "--depth", str(depth)]
    return [*words, "--json", "--no-trace", "--evidence", "explored", *options]


def outcome(report: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a report that does not depend on the engine."""
    return {name: report[name] for name in COMPARED}


# --- memory ----------------------------------------------------------------------------------------


def kind_of(pid: int) -> str:
    """Return the kind of a process; empty if it has ended, or is a shell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return ""
    text = " ".join(words)
    for sign, kind in (
        ("CoarseGrainedExecutorBackend", "Java, an executor"),
        ("org.apache.spark.deploy.worker.Worker", "Java, a worker's daemon"),
        ("org.apache.spark.deploy.master.Master", "Java, the master's daemon"),
        ("org.apache.spark.deploy.SparkSubmit", "Java, the driver"),
        ("traces.tables.spark.daemon", "Python, a task"),
        ("zabcheck", "Python, the driver"),
    ):
        if sign in text:
            return kind
    return ""


class Memory(threading.Thread):
    """Records the peak memory of each kind of process: all resident pages, and those that belong to no file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.roots: list[int] = []
        self.most: dict[str, tuple[int, int]] = {}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(EVERY):
            for root in list(self.roots):
                for pid in descendants(root):
                    self.look(pid)

    def look(self, pid: int) -> None:
        kind = kind_of(pid)
        if not kind:
            return
        with contextlib.suppress(OSError, ValueError):
            lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            sizes = {words[0]: int(words[1]) << 10 for words in lines if words[0] in ("VmHWM:", "RssAnon:")}
            resident, own = self.most.get(kind, (0, 0))
            self.most[kind] = max(resident, sizes.get("VmHWM:", 0)), max(own, sizes.get("RssAnon:", 0))


# --- kills -----------------------------------------------------------------------------------------


def moments(seed: int, kills: int, levels: list[int]) -> list[tuple[int, float, str]]:
    """Return the kills in order: the level after whose commit one happens, how far into the next level, and its target.

    Args:
        levels: states of each, as the local engine counts them.
    """
    choose, reached = random.Random(seed), list(accumulate(levels))
    kinds = [*KINDS, *choose.choices(KINDS, k=max(0, kills - len(KINDS)))][:kills]
    choose.shuffle(kinds)
    marks = sorted(choose.uniform(0.02, 0.95) * reached[-1] for _ in kinds)
    places = [next(k for k, n in enumerate(reached) if n >= mark) for mark in marks]
    return [(place, choose.random(), kind) for place, kind in zip(places, kinds, strict=True)]


class Search:
    """The search on Spark, which is restarted after the driver is killed."""

    def __init__(self, cluster: Standalone, folder: Path, depth: int, heap: str, python: str) -> None:
        self.cluster, self.levels = cluster, folder / "levels"
        self.command = zabcheck(
            depth,
            "--engine",
            "spark",
            "--master",
            cluster.master,
            "--fingerprint",
            "64",
            "--checkpoint",
            str(self.levels),
        )
        settings = {"spark.executor.memory": heap, "spark.driver.memory": heap, "spark.executor.pyspark.memory": python}
        conf = " ".join(f"--conf {name}={value}" for name, value in settings.items())
        self.environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{conf} pyspark-shell"}
        self.output, self.trouble = folder / "answer.json", folder / "trouble"
        self.memory = Memory()
        self.workers = list(range(1, 1 + len(WORKERS)))  # the numbers of their daemons
        self.begin()
        self.memory.start()

    def begin(self) -> None:
        resume = ["--resume"] if self.committed(0) else []
        with self.output.open("w") as out, self.trouble.open("a") as trouble:
            self.driver = subprocess.Popen(
                [*self.command, *resume], stdout=out, stderr=trouble, env=self.environment, start_new_session=True
            )
        self.note_roots()

    def note_roots(self) -> None:
        self.memory.roots = [self.driver.pid, *(p.pid for p in self.cluster.processes if p.poll() is None)]

    def committed(self, level: int) -> bool:
        return (self.levels / f"level-{level:05}.json").exists()

    def wait_for(self, level: int) -> bool:
        """Wait until a level is committed; return whether the search continues."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.driver.poll() is not None:
                return False
            if self.committed(level):
                return True
            time.sleep(0.1)
        raise SystemExit(f"level {level} did not come in {PATIENCE:.0f} s")

    def of_kind(self, kind: str) -> list[int]:
        return [pid for k in self.workers for pid in descendants(self.cluster.processes[k].pid) if kind_of(pid) == kind]

    def kill(self, kind: str, choose: random.Random) -> str:
        """Kill a process of some kind; return what it was."""
        if kind == "driver":
            for pid in reversed(descendants(self.driver.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.driver.wait()
            self.begin()
            return "the driver and its Java process, resumed"
        if kind == "worker":
            at = choose.randrange(len(self.workers))
            self.cluster.kill(self.workers[at])
            self.workers[at] = self.cluster.worker(WORKERS[at])
            self.note_roots()
            return f"the worker on {WORKERS[at]} with its executor, another one started"
        name = "Java, an executor" if kind == "executor" else "Python, a task"
        end = time.monotonic() + COMING
        while not (found := self.of_kind(name)) and self.driver.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if not found:
            return f"no process was there: {name}"
        pid = choose.choice(sorted(found))
        os.kill(pid, signal.SIGKILL)
        return f"a process: {name}"

    def end(self) -> None:
        self.memory.over.set()
        for pid in reversed(descendants(self.driver.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """Yield a standalone cluster, which is stopped at the end."""
    cluster = Standalone(folder)
    try:
        yield cluster
    finally:
        cluster.end()


# --- all of it -------------------------------------------------------------------------------------


def killed(options: argparse.Namespace, levels: list[int], folder: Path) -> tuple[dict[str, Any], int, float]:
    """Search on Spark, with kills; return the report, the number of kills that hit a process, and the seconds."""
    plan, choose, struck = moments(options.seed, options.kills, levels), random.Random(options.seed + 1), 0
    with standalone(folder) as cluster:
        search = Search(cluster, folder, options.depth, options.heap, options.python)
        started = time.monotonic()
        try:
            for level, part, kind in plan:
                if not search.wait_for(level):
                    break
                time.sleep(part * levels[min(level + 1, len(levels) - 1)] * CPU / 2)
                before = search.driver.poll() is None
                what = search.kill(kind, choose) if before else "the search was over"
                struck += before and not what.startswith("no process")
                print(f"  {time.monotonic() - started:6.1f} s, after level {level}: {what}", flush=True)
            code = search.driver.wait(PATIENCE)
            if code not in (0, 1, 3):
                raise SystemExit(f"the search ended with {code}: {search.trouble.read_text()[-600:]}")
        finally:
            search.end()
        seconds = time.monotonic() - started
        for kind, (resident, own) in sorted(search.memory.most.items()):
            print(f"  {kind}: at most {resident / 1e6:,.0f} MB resident, {own / 1e6:,.0f} MB of them of no file")
        return json.loads(search.output.read_text()), struck, seconds


def main() -> None:
    """Run both searches, compare them, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=DEPTH, help=f"how deep (default {DEPTH})")
    parser.add_argument("--kills", type=int, default=5, help="how many (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of what is killed and when (default 1)")
    parser.add_argument("--heap", default="768m", help="of each Java process but daemons, -Xmx (default 768m)")
    parser.add_argument("--python", default="4g", help="address space of a task's Python process (default 4g)")
    parser.add_argument("--folder", type=Path, help="where everything lies meanwhile (default: a temporary folder)")
    options = parser.parse_args()
    cores = os.cpu_count() or 1
    print(f"load before: {os.getloadavg()[0]:.1f} on {cores} cores", flush=True)
    started = time.monotonic()
    done = subprocess.run(zabcheck(options.depth, "--threads", str(cores)), capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    here = json.loads(done.stdout)
    levels, cost = here["states"]["levels"], here["cost"]
    print(f"local: {here['states']['distinct']:,} states in {len(levels)} levels, {here['sentence']}")
    print(
        f"  {cost['seconds']:.1f} s, {cost['cpu_seconds']:.1f} CPU s, {cost['memory_bytes'] / 1e6:,.0f} MB", flush=True
    )
    folder = Path(tempfile.mkdtemp(prefix="kills-", dir=options.folder))
    print(f"Spark, standalone on loopback, {len(WORKERS)} workers of a core, seed {options.seed}, in turn killed:")
    print(f"  bounds: heap {options.heap} of Java, address space {options.python} of a task", flush=True)
    try:
        there, struck, seconds = killed(options, levels, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"  {seconds:.1f} s with kills and new starts; {there['sentence']}")
    print(f"  {there['engine']['spark']['jobs']} levels were jobs")
    one, other = outcome(here), outcome(there)
    differ = [name for name in COMPARED if one[name] != other[name]]
    same = sum(a == b for a, b in zip(levels, there["states"]["levels"], strict=False))
    print(f"levels equal: {same} of {len(levels)}; kills that met something: {struck} of {options.kills}")
    print(f"states, levels, steps, verdicts: {'DIFFERENT: ' + ', '.join(differ) if differ else 'all the same'}")
    print(f"{time.monotonic() - started:.0f} s in all; load after: {os.getloadavg()[0]:.1f}")
    if differ or struck < options.kills:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
