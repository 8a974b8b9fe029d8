"""Explore ZAB to exhaustion under sets of budgets; keep the table `full` of benchmarks/results/exhaustion.json.

    python -m benchmarks.exhaustion            # every row; the largest takes minutes and 6 GB
    python -m benchmarks.exhaustion 0 1 2      # some rows

Each row runs in a process of its own, so that memory is that row's.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

from benchmarks.figures import Figures

HEAD = ("nodes", "txns", "timeouts", "crashes", "raw states", "orbits", "depth", "seconds", "CPU s", "memory", "result")
ROWS: list[dict[str, int]] = [
    {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 0},
    {"nodes": 3, "txns": 2, "timeouts": 0, "crashes": 1},
    {"nodes": 3, "txns": 2, "timeouts": 2, "crashes": 0},
    {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 1},
    {"nodes": 3, "txns": 2, "timeouts": 0, "crashes": 2},
    {"nodes": 3, "txns": 2, "timeouts": 2, "crashes": 1},
    {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 2},
    {"nodes": 4, "txns": 2, "timeouts": 1, "crashes": 0},
    {"nodes": 5, "txns": 1, "timeouts": 0, "crashes": 1},
    {"nodes": 4, "txns": 2, "timeouts": 2, "crashes": 0},
]
SECONDS = float(os.environ.get("ROW_SECONDS", "3600"))  # a row that needs longer says how far it got
MEMORY = 16 << 30  # bytes; a row that needs more says how far it got


def run_row(row: dict[str, int]) -> dict[str, object]:
    """Explore one row in this process."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits
    from invariants import PROPERTIES
    from zabspec.model import Configuration, Model

    model = Model(Configuration(losses=0, **row))
    code = Compiled(model, [p for p in PROPERTIES if p.default and p.judges("zab")], symmetry=True)
    code.worked(math.inf, math.inf)  # the code that long runs have is measured
    r = Explorer(code).run(Limits(memory=MEMORY, seconds=SECONDS))
    return {
        "raw": r.raw, "orbits": r.distinct, "generated": r.generated, "depth": r.depth,
        "seconds": round(r.seconds, 1), "cpu_seconds": round(r.cpu_seconds, 1), "memory": r.memory,
        "complete": r.complete, "stopped": r.stopped or r.error, "levels": r.levels,
        "witnessed": r.witnessed, "violations": sorted(r.violations),
    }  # fmt: skip


def main() -> None:
    """Measure the table, each row in a process of its own."""
    if len(sys.argv) == 3 and sys.argv[1] == "--row":
        print(json.dumps(run_row(ROWS[int(sys.argv[2])])))
        return
    chosen = [int(a) for a in sys.argv[1:]] or list(range(len(ROWS)))
    kept = Figures("exhaustion", "full", HEAD)
    for k in chosen:
        command = [sys.executable, "-m", "benchmarks.exhaustion", "--row", str(k)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"row {k} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        r, row = json.loads(done.stdout), ROWS[k]
        result = "violated: " + ", ".join(r["violations"]) if r["violations"] else "no violation"
        if not r["complete"]:
            result += f"; {r['stopped']}, in level {len(r['levels']) - 1}"
        figures = (r["raw"], r["orbits"], r["depth"], r["seconds"], r["cpu_seconds"])
        kept.add(*row.values(), *figures, f"{r['memory'] / 2**30:.2f} GiB", result)
        print(
            "  witnesses:",
            ", ".join(f"{p} {d}" for p, d in sorted(r["witnessed"].items(), key=lambda i: i[1])),
            flush=True,
        )


if __name__ == "__main__":
    main()
