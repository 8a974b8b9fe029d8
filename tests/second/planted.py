"""Faults planted in a copy of the product, and in how many random protocols the campaign finds each.

    python -m tests.second.planted                     all of them
    python -m tests.second.planted --only overtaking --count 500

The first are real: each gave a wrong answer once, and stands here with its fix taken back.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("zabspec", "zabcheck", "checker", "invariants", "traces", "tests/second")


@dataclass(frozen=True)
class Plant:
    """A fault.

    Attributes:
        what: it does.
        engines: that are asked.
        edits: by file, pieces of text that stand there and what stands in their place.
    """

    what: str
    engines: str
    edits: tuple[tuple[str, str, str], ...]


PLANTS = {
    "overtaking": Plant(
        "a receipt that overtakes as many messages as it sends is left out as one that stutters",
        "reduced",
        (
            (
                "checker/explore/stuttering.py",
                'f"    if after.event != {RECEIVE} or after.event_message.{IN_LINE} != 0 or after.accepts != 0:"',
                'f"    if after.event != {RECEIVE} or after.accepts != 0:"',
            ),
        ),
    ),
    "bag-order": Plant(
        "a property may depend on the order of messages in flight",
        "compiled",
        (("zabspec/language/frontend.py", "check_bags(", "(lambda *_: None)("),),
    ),
    "lost-local": Plant(
        "the TLA+ export drops a local name that one round of a loop hands to the next through an if",
        "tlc",
        (
            (
                "checker/tla/control.py",
                "        states, names = self.changed_states(both), self.live.left(s)\n",
                "        inside = {id(e) for e in walk(s)}\n"
                "        names = [n for n in self.live.left(s) if any(isinstance(e, t.Var) and e.name == n\n"
                "                 and id(e) not in inside for e in walk(self.current.body))]\n"
                "        states = self.changed_states(both)\n",
            ),
        ),
    ),
    "colours": Plant(
        "processes named in messages and in fields of pairs colour a process",
        "symmetric",
        (("zabspec/language/derive.py", "marks[at : at + kind.size] = bytes(kind.size)", "pass"),),
    ),
    "empty-except": Plant(
        "the TLA+ export writes a Forget without a change",
        "tlc",
        (("checker/tla/statements.py", 'if changes else "s"  #', "#"),),
    ),
    "choices": Plant(
        "machine code explores only the first alternative of a choice",
        "compiled",
        (("checker/explore/kernel.py", "choices = max(choices, child.choices)", "choices = 1"),),
    ),
    "checkpoint": Plant(
        "a resumed search has no premises that were reached before",
        "checkpointed",
        (("checker/explore/checkpointed.py", "r.witnessed = dict(level.witnessed)", "r.witnessed = {}"),),
    ),
}


def planted(plant: Plant, first: int, count: int) -> tuple[int, str]:
    """In how many protocols a fault is found (0: in none), and the line that tells it.

    Raises:
        ValueError: what it replaces does not stand there.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file, old, new in plant.edits:
            path = Path(folder) / file
            text = path.read_text()
            if old not in text:
                raise ValueError(f"{file} has no {old!r}")
            path.write_text(text.replace(old, new))
        tlc = Path(ROOT).parent / "shared" / "tools" / "tla2tools.jar"
        env = {
            **os.environ, "PYTHONPATH": folder, "ZABCHECK_CACHE": str(Path(folder) / "cache"),
            "ZABCHECK_TLC": os.environ.get("ZABCHECK_TLC", str(tlc)),
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.second", "--seed", str(first), "--count", str(count)]
        command += ["--engines", plant.engines, "--until-different"]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": " in line and line.partition(":")[0].isdigit()]
    found = [k for k, line in enumerate(lines, 1) if ": differs" in line or ": failed" in line]
    return (found[0], lines[found[0] - 1]) if found else (0, (done.stderr.splitlines() or ["nothing"])[-1])


def main() -> int:
    """Plant faults one after the other; returns 0 if each is found."""
    asks = argparse.ArgumentParser(prog="python -m tests.second.planted", description=__doc__.split("\n")[0])
    asks.add_argument("--only", help=f"of {', '.join(PLANTS)}")
    asks.add_argument("--seed", type=int, default=0, help="the first seed")
    asks.add_argument("--count", type=int, default=500, help="protocols in which it has to be found")
    given = asks.parse_args()
    missed = 0
    for name in given.only.split(",") if given.only else PLANTS:
        at, line = planted(PLANTS[name], given.seed, given.count)
        missed += not at
        print(f"{name}: {f'found in protocol {at}' if at else 'NOT FOUND'} ({line[:160]})", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
