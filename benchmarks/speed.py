"""How fast the explorer is, as ratios measured in one run.

    python benchmarks/speed.py                       # with and without symmetry, one core and two, interpreted
    python benchmarks/speed.py --tlc tla2tools.jar --spec Zab.tla [--config Zab.cfg] [--tlc-seconds 300]

Every exploration runs in a process of its own, judges all properties, looks for all witnesses,
and keeps ghosts and range checks on. CPU seconds are the process's own, compilation left out (it
is printed apart). TLC's are its whole process's, with one worker.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

BUDGETS = {"nodes": 3, "txns": 3, "timeouts": 1, "crashes": 0, "losses": 0}
SETTINGS = (
    ("one core", False, 1),
    ("two cores", False, 2),
    ("symmetry, one core", True, 1),
    ("symmetry, two cores", True, 2),
)
INTERPRETED_DEPTH = 16  # the interpreted world gets this far in seconds


def explore(symmetry: bool, threads: int, engine: str, depth: int | None) -> dict[str, float]:
    """One exploration in this process."""
    from checker.result import Limits
    from invariants import PROPERTIES
    from zabspec.model import Configuration, Model

    model = Model(Configuration(**BUDGETS))
    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    if engine == "interpret":
        from checker.interpret import Interpreter

        r = Interpreter(model, properties, symmetry).run(Limits(depth=depth))
    else:
        from checker.compiled import Compiled
        from checker.explore import Explorer

        r = Explorer(Compiled(model, properties, symmetry), threads).run(Limits(depth=depth))
    if r.violations or r.error:
        raise SystemExit("the benchmark's exploration did not hold")
    return {
        "distinct": r.distinct, "raw": r.raw, "generated": r.generated, "cpu": r.cpu_seconds,
        "wall": r.seconds, "memory": r.memory, "witnessed": len(r.witnessed), "properties": len(properties),
    }  # fmt: skip


def in_child(**question: object) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps(question)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "a child failed")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def tlc(jar: str, spec: str, config: str | None, seconds: float) -> tuple[float, float, float]:
    """Distinct and generated states, and CPU seconds, of TLC with one worker (stopped after `seconds`)."""
    with tempfile.TemporaryDirectory() as scratch:
        command = ["java", "-XX:+UseParallelGC", "-cp", os.path.abspath(jar), "tlc2.TLC", "-workers", "1"]
        command += ["-metadir", scratch, "-deadlock"]
        if config:
            command += ["-config", os.path.abspath(config)]
        command.append(os.path.basename(spec))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(
            command,
            cwd=os.path.dirname(os.path.abspath(spec)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            output, _ = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.findall(r"([\d,]+) states generated[^,]*, ([\d,]+) distinct states found", output)
    if not found:
        raise SystemExit("TLC printed no counts: " + " ".join(output.strip().splitlines()[-1:]))
    generated, distinct = (float(x.replace(",", "")) for x in found[-1])
    return distinct, generated, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--tlc", metavar="JAR", help="your own tla2tools.jar")
    parser.add_argument("--spec", metavar="FILE", help="the TLA+ module that TLC explores")
    parser.add_argument("--config", metavar="FILE", help="its configuration, if not the module's own")
    parser.add_argument("--tlc-seconds", type=float, default=300.0, help="stop TLC after this long (default 300)")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(explore(**json.loads(options.child))))
        return
    if bool(options.tlc) != bool(options.spec):
        parser.error("--tlc and --spec go together")
    print("zab, fifo,", ", ".join(f"{k} {v}" for k, v in BUDGETS.items()), "- to exhaustion")
    started = time.perf_counter()
    in_child(symmetry=True, threads=1, engine="compiled", depth=3)
    in_child(symmetry=False, threads=1, engine="compiled", depth=3)
    print(f"both kernels compiled (or found in the cache) in {time.perf_counter() - started:.1f} s")
    rows = {}
    columns = (("", 24), ("distinct", 13), ("generated", 13), ("CPU s", 8), ("wall s", 8))
    columns += (("distinct/CPU s", 16), ("generated/CPU s", 17), ("bytes/state", 13))
    print("".join(f"{name:>{width}}" for name, width in columns))
    for name, symmetry, threads in SETTINGS:
        r = rows[name] = in_child(symmetry=symmetry, threads=threads, engine="compiled", depth=None)
        print(
            f"{name:24}{r['distinct']:>13,.0f}{r['generated']:>13,.0f}{r['cpu']:>8.1f}{r['wall']:>8.1f}"
            f"{r['distinct'] / r['cpu']:>16,.0f}{r['generated'] / r['cpu']:>17,.0f}{r['memory'] / r['distinct']:>13.1f}"
        )
    one, two = rows["one core"], rows["two cores"]
    orbits, orbits_two = rows["symmetry, one core"], rows["symmetry, two cores"]
    raw = orbits["raw"] / orbits["cpu"]
    print(f"witnesses met: {one['witnessed']:.0f} of {one['properties']:.0f}")
    print(f"two cores against one, wall: x{one['wall'] / two['wall']:.2f};", end=" ")
    print(f"with symmetry x{orbits['wall'] / orbits_two['wall']:.2f}")
    print(f"raw states that symmetry covers: {orbits['raw']:,.0f}, {raw:,.0f} per CPU second")
    slow = in_child(symmetry=False, threads=1, engine="interpret", depth=INTERPRETED_DEPTH)
    fast, rate = one["distinct"] / one["cpu"], slow["distinct"] / slow["cpu"]
    print(f"interpreted, to depth {INTERPRETED_DEPTH}: {rate:,.0f} distinct states per CPU second;", end=" ")
    print(f"compiled is x{fast / rate:,.0f}")
    if not options.tlc:
        print("TLC: not measured here; give --tlc and --spec")
        return
    distinct, generated, cpu = tlc(options.tlc, options.spec, options.config, options.tlc_seconds)
    theirs = distinct / cpu
    print(f"TLC on {os.path.basename(options.spec)}: {distinct:,.0f} distinct, {generated:,.0f} generated", end=", ")
    print(f"{cpu:.1f} CPU s: {theirs:,.0f} distinct per CPU second")
    print(f"ratio to TLC: x{fast / theirs:,.0f} in distinct states,", end=" ")
    print(f"x{raw / theirs:,.0f} in raw states covered with symmetry")


if __name__ == "__main__":
    main()
