"""Measure how fast the explorer is, as ratios measured in one run.

    python benchmarks/speed.py                       # with and without symmetry, one core and two, interpreted
    python benchmarks/speed.py --tlc tla2tools.jar [--tlc-seconds 3600]   # and TLC on the same model, to its end
    python benchmarks/speed.py --tlc tla2tools.jar --tlc-only --tlc-txns 1    # only that, on a smaller model
    python benchmarks/speed.py --tlc tla2tools.jar --tlc-only --tlc-symmetry --tlc-timeouts 0 --tlc-crashes 1
    python benchmarks/speed.py --tlc tla2tools.jar --tlc-beside zab       # TLC, and the command in two ways
    python benchmarks/speed.py --tlc tla2tools.jar --tlc-beside examples  # the same for three user protocols

Every exploration runs in a process of its own, judges all properties, searches for all witnesses, and keeps ghosts and
range checks on. CPU seconds are the process's own, without compilation (which is printed separately). TLC's are its
whole process's, with one worker. `--tlc-beside` runs whole commands in turn, on one thread, with symmetry: its seconds
include every start; machine code and bytecode are cached.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

BUDGETS = {"nodes": 3, "txns": 3, "timeouts": 1, "crashes": 0, "losses": 0}
SAME = {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 0, "losses": 0}  # what TLC explores too
SETTINGS = (
    ("one core", False, 1),
    ("two cores", False, 2),
    ("symmetry, one core", True, 1),
    ("symmetry, two cores", True, 2),
)
AMPLE = (("ample, symmetry, one core", True, 1),)
ROOT = Path(__file__).parent.parent
# Three protocols of users, with budgets for which TLC takes a minute or two
EXAMPLES = (
    ("fenced_lock", "client=3,server=1,store=1,acquires=3,expiries=2,writes=4", {}),
    ("raft_election", "elections=3", {"crashes": 0}),
    ("chain_replication", "puts=6,reads=5", {}),
)
INTERPRETED_DEPTH = 16  # the interpreted world gets this far in seconds


def explore(
    symmetry: bool, threads: int, engine: str, depth: int | None, budgets: dict[str, int] | None = None
) -> dict[str, float]:
    """Run one exploration in this process."""
    from checker.explore.result import Limits
    from invariants import PROPERTIES
    from zabspec.model import Configuration, Model

    model = Model(Configuration(**(budgets or BUDGETS)))
    properties = [p for p in PROPERTIES if p.default and p.judges("zab")]
    if engine == "interpret":
        from checker.explore.interpret import Interpreter

        r = Interpreter(model, properties, symmetry).run(Limits(depth=depth))
    else:
        from checker.explore.breadth_first import Explorer
        from checker.explore.compiled import Compiled

        if engine == "ample":
            from checker.explore.reduce.ample import AmpleExplorer, Narrowing

            narrow = Narrowing(model, properties, symmetry)
            narrow.worked(math.inf, math.inf)
            r = AmpleExplorer(narrow, threads).run(Limits(depth=depth))
        else:
            plain = Compiled(model, properties, symmetry)
            plain.worked(math.inf, math.inf)
            r = Explorer(plain, threads).run(Limits(depth=depth))
    if r.violations or r.error:
        raise SystemExit("the benchmark's exploration did not hold")
    return {
        "distinct": r.distinct, "raw": r.raw, "generated": r.generated, "cpu": r.cpu_seconds,
        "wall": r.seconds, "memory": r.memory, "witnessed": len(r.witnessed), "properties": len(properties),
    }  # fmt: skip


def in_child(**question: object) -> dict[str, float]:
    """Run an exploration in a process of its own, and return its figures."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", json.dumps(question)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "a child failed")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def against_tlc(jar: str, seconds: float, asked: dict[str, int], settings: tuple[tuple[str, bool, int], ...]) -> None:
    """Compare TLC and zabcheck on the very same model: the module that `zabcheck export --model --to tla` writes.

    TLC judges nothing; zabcheck judges all properties. The last row is with ample sets: its raw states are those of the
    full space, whose verdicts both give.
    """
    from benchmarks.tlc import run_tlc
    from checker.proofs.tla.module import module_of
    from zabspec.model import Configuration, Model

    module = module_of(Model(Configuration(**asked)), (), "Zab")
    bare = replace(module, configuration=module.configuration.replace("INVARIANT TypeOK\n", ""))
    print("TLC on the same model:", ", ".join(f"{k} {v}" for k, v in asked.items()))
    columns = (("", 22), ("states", 12), ("TLC CPU s", 11), ("wall s", 9), ("a CPU s", 9), ("zabcheck CPU s", 16))
    columns += (("wall s", 8), ("a CPU s", 12), ("ratio", 7))
    print("".join(f"{name:>{width}}" for name, width in columns), flush=True)
    for name, symmetry, threads in settings:
        theirs = run_tlc(Path(jar), bare, symmetry, threads, seconds)
        ours = in_child(symmetry=symmetry, threads=threads, engine="compiled", depth=None, budgets=asked)
        if theirs.ended and (theirs.distinct, theirs.generated) != (ours["distinct"], ours["generated"] + 1):
            raise SystemExit(f"{name}: TLC counts {theirs.distinct:,} states, zabcheck {ours['distinct']:,.0f}")
        rate, quick = theirs.distinct / theirs.seconds, ours["distinct"] / ours["cpu"]
        cut = "" if theirs.ended else f"  (TLC stopped after {seconds:.0f} s)"
        print(
            f"{name:22}{theirs.distinct:>12,}{theirs.seconds:>11.1f}{theirs.wall:>9.1f}{rate:>9,.0f}{ours['cpu']:>16.2f}"
            f"{ours['wall']:>8.2f}{quick:>12,.0f}{'x' + format(quick / rate, ',.0f'):>7}{cut}",
            flush=True,
        )
        if symmetry and threads == 1:
            raw = ours["raw"] / ours["distinct"] * rate  # raw states that TLC covers in a CPU second
            less = in_child(symmetry=True, threads=1, engine="ample", depth=None, budgets=asked)
            for how, r in (("in full", ours), ("with ample sets", less)):
                covered = ours["raw"] / r["cpu"]
                print(
                    f"    {ours['raw']:,.0f} raw states {how}: {covered:,.0f} a CPU second, TLC {raw:,.0f}: "
                    f"x{covered / raw:,.0f}",
                    flush=True,
                )


def beside_tlc(jar: str, seconds: float, rows: Sequence[tuple[str, dict[str, Any], list[str]]]) -> None:
    """Compare TLC and the whole command in turn, on one model after the other.

    The command explores every state (`--reduction none`), and then with its defaults. Both run on one thread, and with
    symmetry; if a module has none, because its processes have roles or its network no order, `--reduction none` runs
    without as well. TLC judges nothing.

    Args:
        rows: for each model its name, its parameters, and the words of the command.
    """
    from benchmarks.tlc import run_tlc
    from checker.proofs.tla.module import module_of
    from zabspec.model import Configuration, Model

    columns = (
        ("", 18),
        ("generated", 12),
        ("states", 11),
        ("TLC CPU s", 11),
        ("none", 8),
        ("exploring", 11),
        ("default", 9),
    )
    columns += (
        ("exploring", 11),
        ("visited", 11),
        ("ratios: none", 14),
        ("exploring", 11),
        ("default", 9),
        ("exploring", 11),
    )
    print("".join(f"{name:>{width}}" for name, width in columns), flush=True)
    for name, parameters, words in rows:
        module = module_of(Model(Configuration(**parameters)), (), "Beside")
        bare = replace(module, configuration=module.configuration.replace("INVARIANT TypeOK\n", ""))
        theirs = run_tlc(Path(jar), bare, True, 1, seconds)
        whole = ["--reduction", "none", *([] if module.symmetric else ["--no-symmetry"])]
        every, default = (commanded([*words, *more]) for more in (whole, []))
        if theirs.ended and (theirs.distinct, theirs.generated) != (every["orbits"], every["generated"] + 1):
            raise SystemExit(f"{name}: TLC counts {theirs.distinct:,} states, zabcheck {every['orbits']:,.0f}")
        ratios = [theirs.seconds / r[of] for r in (every, default) for of in ("cpu", "exploring")]
        cells = [f"{theirs.generated:>12,}{theirs.distinct:>11,}{theirs.seconds:>11.1f}"]
        cells += [f"{every['cpu']:>8.2f}{every['exploring']:>11.2f}{default['cpu']:>9.2f}{default['exploring']:>11.2f}"]
        cells += [f"{default['orbits']:>11,.0f}"]
        least = "x" if theirs.ended else ">x"
        cells += [f"{least + format(r, ',.1f'):>{width}}" for r, width in zip(ratios, (14, 11, 9, 11), strict=True)]
        cut = "" if module.symmetric else "  (TLC and none: without symmetry)"
        cut += "" if theirs.ended else f"  (TLC stopped after {seconds:.0f} s)"
        print(f"{name:18}{''.join(cells)}{cut}", flush=True)


def commanded(words: list[str]) -> dict[str, float]:
    """Return the CPU seconds of the command for a model whose machine code is cached, and its figures.

    Raises:
        SystemExit: it had no verdict, or something is violated.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        command = [sys.executable, "-m", "zabcheck", *words, "--threads", "1", "--no-trace", "--json"]
        for _ in range(2):  # the second finds in the cache what the first made
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip() or 'something is broken'}")
    said = json.loads(done.stdout)
    return {
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "exploring": said["cost"]["cpu_seconds"], "orbits": said["states"]["distinct"],
        "generated": said["states"]["generated"],
    }  # fmt: skip


def rows_of_zab(asked: dict[str, int]) -> list[tuple[str, dict[str, Any], list[str]]]:
    """Return the single row of `zab` with some budgets."""
    words = [word for name, n in asked.items() for word in (f"--{name}", str(n))]
    return [(f"zab ({asked['timeouts']}, {asked['crashes']})", dict(asked), words)]


def rows_of_examples() -> list[tuple[str, dict[str, Any], list[str]]]:
    """Return a row for each of the example protocols."""
    rows = []
    for name, budgets, faults in EXAMPLES:
        path = f"examples/{name}.py"
        words = ["--protocol", path, *(w for budget in budgets.split(",") for w in ("--budget", budget))]
        words += [w for fault, n in faults.items() for w in (f"--{fault}", str(n))]
        rows.append((name, {"protocol": path, "budgets": budgets, **faults}, words))
    return rows


def main() -> None:
    """Run the measurements that the command line names, and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--tlc", metavar="JAR", help="your own tla2tools.jar")
    parser.add_argument("--tlc-seconds", type=float, default=3600.0, help="stop a run of TLC after this long")
    parser.add_argument(
        "--tlc-txns", type=int, default=SAME["txns"], help="transactions of the model that TLC explores"
    )
    parser.add_argument("--tlc-timeouts", type=int, default=SAME["timeouts"], help="timeouts of it")
    parser.add_argument("--tlc-crashes", type=int, default=SAME["crashes"], help="crashes of it")
    parser.add_argument("--tlc-symmetry", action="store_true", help="only with symmetry, on one core")
    parser.add_argument("--tlc-only", action="store_true", help="TLC against zabcheck, and nothing else")
    parser.add_argument(
        "--tlc-beside", choices=("zab", "examples"), help="TLC, and whole commands in turn, and nothing else"
    )
    options = parser.parse_args()
    budgets = {"txns": options.tlc_txns, "timeouts": options.tlc_timeouts, "crashes": options.tlc_crashes}
    settings = tuple(s for s in SETTINGS if s[1:] == (True, 1)) if options.tlc_symmetry else SETTINGS
    if options.child:
        print(json.dumps(explore(**json.loads(options.child))))
        return
    if options.tlc_beside:
        if not options.tlc:
            parser.error("--tlc-beside is for --tlc")
        rows = rows_of_zab(SAME | budgets) if options.tlc_beside == "zab" else rows_of_examples()
        beside_tlc(options.tlc, options.tlc_seconds, rows)
        return
    if options.tlc_only:
        if not options.tlc:
            parser.error("--tlc-only is for --tlc")
        against_tlc(options.tlc, options.tlc_seconds, SAME | budgets, settings)
        return
    print("zab, fifo,", ", ".join(f"{k} {v}" for k, v in BUDGETS.items()), "- to exhaustion")
    started = time.perf_counter()
    in_child(symmetry=True, threads=1, engine="compiled", depth=3)
    in_child(symmetry=False, threads=1, engine="compiled", depth=3)
    print(f"both kernels compiled (or found in the cache) in {time.perf_counter() - started:.1f} s")
    measured = {}
    columns = (("", 24), ("distinct", 13), ("generated", 13), ("CPU s", 8), ("wall s", 8))
    columns += (("distinct/CPU s", 16), ("generated/CPU s", 17), ("bytes/state", 13))
    print("".join(f"{name:>{width}}" for name, width in columns))
    engines = {"compiled": SETTINGS, "ample": AMPLE}
    for engine, (name, symmetry, threads) in ((e, setting) for e, settings in engines.items() for setting in settings):
        r = measured[name] = in_child(symmetry=symmetry, threads=threads, engine=engine, depth=None)
        print(
            f"{name:24}{r['distinct']:>13,.0f}{r['generated']:>13,.0f}{r['cpu']:>8.1f}{r['wall']:>8.1f}"
            f"{r['distinct'] / r['cpu']:>16,.0f}{r['generated'] / r['cpu']:>17,.0f}{r['memory'] / r['distinct']:>13.1f}"
        )
    one, two = measured["one core"], measured["two cores"]
    orbits, orbits_two = measured["symmetry, one core"], measured["symmetry, two cores"]
    raw = orbits["raw"] / orbits["cpu"]
    print(f"witnesses met: {one['witnessed']:.0f} of {one['properties']:.0f}")
    print(f"two cores against one, wall: x{one['wall'] / two['wall']:.2f};", end=" ")
    print(f"with symmetry x{orbits['wall'] / orbits_two['wall']:.2f}")
    print(f"raw states that symmetry covers: {orbits['raw']:,.0f}, {raw:,.0f} per CPU second")
    fewer = measured[AMPLE[0][0]]["cpu"]
    print(f"with ample sets: {orbits['raw'] / fewer:,.0f} raw states of the full space per CPU second")
    slow = in_child(symmetry=False, threads=1, engine="interpret", depth=INTERPRETED_DEPTH)
    fast, rate = one["distinct"] / one["cpu"], slow["distinct"] / slow["cpu"]
    print(f"interpreted, to depth {INTERPRETED_DEPTH}: {rate:,.0f} distinct states per CPU second;", end=" ")
    print(f"compiled is x{fast / rate:,.0f}")
    if options.tlc:
        against_tlc(options.tlc, options.tlc_seconds, SAME | budgets, settings)
    else:
        print("TLC: not measured here; give --tlc")


if __name__ == "__main__":
    main()
