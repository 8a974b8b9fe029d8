"""Run the refinement check with sets of budgets, and with every variant; keep both in benchmarks/results/proof.json.

    python -m benchmarks.refine                # both tables; some minutes
    python -m benchmarks.refine budgets 0 1    # some rows of the first
    python -m benchmarks.refine variants no-promise equal-epoch

Each row runs in a process of its own, so that memory is that row's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.figures import Figures

SIZES = ("nodes", "txns", "timeouts", "crashes", "losses")
BUDGETS: list[dict[str, int]] = [
    {"txns": 2, "timeouts": 1},
    {"txns": 2, "timeouts": 0, "crashes": 1},
    {"txns": 2, "timeouts": 0, "losses": 1},
    {"txns": 3, "timeouts": 0},
    {"txns": 1, "timeouts": 2},
    {"txns": 1, "timeouts": 1, "crashes": 1},
    {"txns": 1, "timeouts": 0, "nodes": 4},
    {"txns": 2, "timeouts": 2, "nodes": 2},
]
# If a variant's own budget has too many states to explore, a smaller one in which it fails to refine too.
SMALLER = {"history-by-zxid": {"txns": 1, "timeouts": 2}, "history-by-length": {"txns": 1, "timeouts": 2}}
SECONDS = os.environ.get("ROW_SECONDS", "280")  # a row that needs longer says how far it got


def asked(words: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the command's report, and its stderr."""
    program = os.path.join(os.path.dirname(sys.executable), "zabcheck")
    options = [x for name, value in words.items() for x in (f"--{name}", str(value))]
    command = [program, "refine", *options, "--time-limit", SECONDS, "--memory-limit", "4G", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (json.loads(done.stdout) if done.stdout else {}), done.stderr


def budgets(rows: list[int]) -> None:
    """Measure the table of unmodified zab by budgets."""
    kept = Figures("proof", "refine", (*SIZES, "orbits", "without it", "depth", "CPU s", "memory", "result"))
    never: dict[str, set[str]] = {"actions": set(), "clauses": set()}
    for k, row in [(k, BUDGETS[k]) for k in rows]:
        r, trouble = asked(row)
        if not r:
            print(f"row {k} failed: {trouble.strip()}", flush=True)
            continue
        c = r["configuration"]
        left = {a for a in r["never_taken"] if a != "stutter"}
        unmet = {name for name, said in r["clauses"].items() if said["premise_at"] is None}
        never["actions"] = left if k == rows[0] else never["actions"] & left
        never["clauses"] = unmet if k == rows[0] else never["clauses"] & unmet
        result = r["verdict"] if r["coverage"]["exhausted"] else r["sentence"].split(";")[0]
        result += f"; never {', '.join(sorted(left))}" if left else ", every action taken"
        result += f"; {len(unmet)} clauses' hypotheses not met" if unmet else ", every clause's hypotheses met"
        sizes, states = [c[name] for name in SIZES], r["states"]
        cost = (round(r["cost"]["cpu_seconds"]), f"{r['cost']['memory_bytes'] / 2**30:.2f} GiB")
        kept.add(*sizes, states["distinct"], states_without_it(row), states["depth"], *cost, result)
    for what, names in never.items():
        print(f"{what} that no row took or met: {', '.join(sorted(names)) or 'none'}")


def states_without_it(row: dict[str, int]) -> int:
    """Return the number of states of the executable protocol without the refinement check."""
    program = os.path.join(os.path.dirname(sys.executable), "zabcheck")
    given = {"timeouts": 1, "crashes": 0, "losses": 0, **row}
    options = [x for name, value in given.items() for x in (f"--{name}", str(value))]
    done = subprocess.run([program, *options, "--json"], capture_output=True, text=True, check=False)
    return int(json.loads(done.stdout)["states"]["distinct"])


def variants(names: list[str]) -> None:
    """Measure the table of variants, each with the budget that shows it."""
    from checker.ci.variants import shown

    there = shown("zab")
    kept = Figures("proof", "refine-variants", ("variant", "budget", "refinement", "step", "property breaks"))
    for name in names or list(there):
        v = there[name]
        row = SMALLER.get(name) or {k: x for k, x in v.within.items() if k == "txns" or x}
        r, trouble = asked({"timeouts": 0, **row, "variant": name})
        if not r:
            print(f"{name} failed: {trouble.strip()}", flush=True)
            continue
        first = r["failures"][0] if r["failures"] else None
        broken = [f["name"].removeprefix("clause ") for f in r["failures"][1:]]
        also = f"; clause *{'*, *'.join(broken)}*" if broken else ""
        cut = "" if r["coverage"]["exhausted"] else "; " + r["sentence"].split(";")[0]
        said = f"{first['action']}: {first['broken']}{also}" if first else f"refines{cut}"
        breaks = f"{next(iter(v.breaks))} at {v.depth}" if v.breaks else "none: it is safe"
        budget = ", ".join(f"{k} {x}" for k, x in row.items() if not (k == "nodes" and x == 3))
        kept.add(f"`{name}`", budget, said, first["depth"] if first else "-", breaks)


def main() -> None:
    """Print the tables that the command line names."""
    which, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if which in ("", "budgets"):
        budgets([int(k) for k in rest] or list(range(len(BUDGETS))))
    if which in ("", "variants"):
        variants(rest)


if __name__ == "__main__":
    main()
