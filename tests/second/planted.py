"""Plant faults (`plants.py`) in a copy of the product, and report in which random protocol the campaign finds each.

    python -m tests.second.planted                     all of them
    python -m tests.second.planted --only overtaking --count 500
    python -m tests.second.planted --engines asked    which the command's own second opinion meets

A difference counts as found only if the product as it is shows none on the same protocol. A protocol that shows one
anyway, or on which an engine did not end in time, is undecided, and the hunt goes on behind it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from tests.second.plants import BY_ANOTHER, PLANTS, Plant

ROOT = Path(__file__).parents[2]
COPIED = ("zabspec", "zabcheck", "checker", "invariants", "traces", "benchmarks", "tests/second")
NO_ANSWER = re.compile("TimeoutExpired|took too long")


@dataclass(frozen=True)
class Hunt:
    """What became of the hunt for a fault.

    Attributes:
        at: how many protocols it took; 0: the fault was not found.
        line: the campaign's line of the protocol that shows it; else of the last protocol that could.
        undecided: seeds of protocols that differ, or give no answer, without the fault too.
    """

    at: int
    line: str
    undecided: tuple[int, ...] = ()

    def told(self) -> str:
        """One line of it."""
        beside = f"; undecided: {', '.join(map(str, self.undecided))}" if self.undecided else ""
        return f"{f'found in protocol {self.at}' if self.at else 'NOT FOUND'} ({self.line[:160]}{beside})"


def planted(plant: Plant, first: int, count: int) -> Hunt:
    """Plant a fault and run the campaign until it is found. A protocol that differs without the fault too decides
    nothing, and is passed over.

    Raises:
        ValueError: the text that the fault replaces is not in its file.
    """
    undecided: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        path = Path(folder) / plant.file
        text = path.read_text()
        if plant.old not in text:
            raise ValueError(f"{plant.file} has no {plant.old!r}")
        path.write_text(text.replace(plant.old, plant.new))
        seen, line = 0, "no protocol could show it"
        seed: int | None = first - 1
        while seed is not None and seed + 1 < first + count:
            ran = campaign(Path(folder), plant, seed + 1, first + count - seed - 1)
            seed, line = ran.different, ran.line or line
            seen += ran.looked
            if seed is not None:
                if not NO_ANSWER.search(line) and campaign(ROOT, plant, seed, 1).different is None:
                    return Hunt(1 + seed - first, line, tuple(undecided))
                undecided.append(seed)
    return Hunt(0, f"{seen} of {count} can show it, the last: {line}", tuple(undecided))


@dataclass(frozen=True)
class Ran:
    """What a campaign came to: the seed that differs, how many protocols were run, the line of the last one."""

    different: int | None
    looked: int
    line: str


def campaign(root: Path, plant: Plant, first: int, count: int) -> Ran:
    """Run the campaign of a tree until the first difference. Protocols in which the fault can not show are counted
    without being run.

    Raises:
        RuntimeError: it ended without a result.
    """
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPATH": str(root), "ZABCHECK_CACHE": cache}
        command = [sys.executable, "-m", "tests.second", "--seed", str(first), "--count", str(count)]
        command += ["--engines", plant.engines, "--until-different", "--having", plant.needs]
        command += ["--favour", plant.favour] if plant.favour else []
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError((done.stderr.splitlines() or ["the campaign ended without a word"])[-1])
    lines = [line for line in done.stdout.splitlines() if ": " in line and line.partition(":")[0].isdigit()]
    found = next((line for line in lines if ": differs" in line or ": failed" in line), None)
    different = int(found.partition(":")[0]) if found is not None else None
    return Ran(different, len(lines), found or (lines[-1] if lines else ""))


def main() -> int:
    """Plant faults one after the other; returns 0 if each is found."""
    asks = argparse.ArgumentParser(prog="python -m tests.second.planted", description=__doc__.split("\n")[0])
    asks.add_argument("--only", help=f"of {', '.join(PLANTS)}")
    asks.add_argument(
        "--by-another", action="store_true", help="those planted by somebody else than the harness's author"
    )
    asks.add_argument("--seed", type=int, default=0, help="the first seed")
    asks.add_argument("--count", type=int, default=500, help="protocols in which it has to be found")
    asks.add_argument("--engines", help="the engines that are compared, in place of those that a fault names")
    given = asks.parse_args()
    missed = 0
    names = given.only.split(",") if given.only else BY_ANOTHER if given.by_another else PLANTS
    for name in names:
        plant = replace(PLANTS[name], engines=given.engines or PLANTS[name].engines)
        hunt = planted(plant, given.seed, given.count)
        missed += not hunt.at
        print(f"{name}: {hunt.told()}", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
