"""Plant faults (`plants.py`) in a copy of the product, and report in which random protocol the campaign finds each.

    python -m tests.second.planted                     all of them
    python -m tests.second.planted --only overtaking --count 500

A difference counts as found only if the product as it is shows none on the same protocol.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.second.plants import BY_ANOTHER, PLANTS, Plant

ROOT = Path(__file__).parents[2]
COPIED = ("zabspec", "zabcheck", "checker", "invariants", "traces", "tests/second")


def planted(plant: Plant, first: int, count: int) -> tuple[int, str]:
    """Plant a fault and run the campaign until it is found.

    Returns:
        How many protocols that took (0: it was not found), and the campaign's line of the last one.

    Raises:
        ValueError: the text that the fault replaces is not in its file.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        path = Path(folder) / plant.file
        text = path.read_text()
        if plant.old not in text:
            raise ValueError(f"{plant.file} has no {plant.old!r}")
        path.write_text(text.replace(plant.old, plant.new))
        at, line, problem = campaign(Path(folder), plant, first, count)
    if not at:
        return 0, line or problem
    return (0, f"without the fault too: {line}") if campaign(ROOT, plant, first + at - 1, 1)[0] else (at, line)


def campaign(root: Path, plant: Plant, first: int, count: int) -> tuple[int, str, str]:
    """Run the campaign of a tree until the first difference. Protocols in which the fault can not show are counted
    without being run.

    Returns:
        How many protocols that took (0: there is none), the line of the last one, and the last line of standard error.
    """
    tlc = ROOT.parent / "shared" / "tools" / "tla2tools.jar"
    with tempfile.TemporaryDirectory() as cache:
        env = {
            "ZABCHECK_TLC": str(tlc), **os.environ, "PYTHONPATH": str(root), "ZABCHECK_CACHE": cache,
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.second", "--seed", str(first), "--count", str(count)]
        command += ["--engines", plant.engines, "--until-different", "--having", plant.needs]
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": " in line and line.partition(":")[0].isdigit()]
    found = [line for line in lines if ": differs" in line or ": failed" in line]
    problem = (done.stderr.splitlines() or ["nothing"])[-1]
    if found:
        return 1 + int(found[0].partition(":")[0]) - first, found[0], problem
    return 0, f"{len(lines)} of {count} can show it, the last: {lines[-1]}" if lines else "", problem


def main() -> int:
    """Plant faults one after the other; returns 0 if each is found."""
    asks = argparse.ArgumentParser(prog="python -m tests.second.planted", description=__doc__.split("\n")[0])
    asks.add_argument("--only", help=f"of {', '.join(PLANTS)}")
    asks.add_argument(
        "--by-another", action="store_true", help="those planted by somebody else than the harness's author"
    )
    asks.add_argument("--seed", type=int, default=0, help="the first seed")
    asks.add_argument("--count", type=int, default=500, help="protocols in which it has to be found")
    given = asks.parse_args()
    missed = 0
    names = given.only.split(",") if given.only else BY_ANOTHER if given.by_another else PLANTS
    for name in names:
        at, line = planted(PLANTS[name], given.seed, given.count)
        missed += not at
        print(f"{name}: {f'found in protocol {at}' if at else 'NOT FOUND'} ({line[:160]})", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
