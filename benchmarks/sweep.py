"""Measure the CPU of `zabcheck sweep` against a plain loop that plays and judges the same runs.

    python -m benchmarks.sweep [RUNS]

Both are processes of their own, from their start to their end; the command also writes its table, report and plots. The
row, of 3 nodes, 1000 ticks and 5 proposals, is kept in `results/sweep.json`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figures

LOOP = """
import sys
from traces.tables.sweep.block import block_table
from traces.tables.sweep.grid import Grid
grid = Grid(seeds=(f"1:{int(sys.argv[1]) + 1}",))
grid.check()
block_table(grid, range(grid.count))
"""


def used(command: list[str], codes: tuple[int, ...]) -> tuple[float, float]:
    """Run a command; return the CPU seconds of it and its children, and the seconds that it took."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - started


def main() -> None:
    """Measure the CPU of the loop and of the command, and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    figures = Figures("sweep", "command", ("seeds of db19", "loop, CPU s", "sweep, CPU s", "sweep, s", "ratio"))
    program = str(Path(sys.executable).parent / "zabcheck")
    with tempfile.TemporaryDirectory() as folder:
        loop, _ = used([sys.executable, "-c", LOOP, str(runs)], (0,))
        sweep, seconds = used([program, "sweep", f"{folder}/x", "--seeds", f"1:{runs + 1}"], (0, 1))
    figures.add(runs, round(loop, 2), round(sweep, 2), round(seconds, 1), round(sweep / loop, 2))


if __name__ == "__main__":
    main()
