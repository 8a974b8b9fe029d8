"""Run free-running ensembles one after another, check their records against the releases' models, and write the table.

    python -m benchmarks.chaos record FOLDER --releases 3.9.5,3.9.3 --runs 100 --until 21:00
    python -m benchmarks.chaos explain FOLDER
    python -m benchmarks.chaos table FOLDER    # keeps benchmarks/results/conform.json

A run that its folder has is not repeated: each step can be interrupted and resumed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figures

ZABCHECK = [sys.executable, "-m", "zabcheck"]


def record(folder: Path, releases: list[str], runs: int, seconds: float, writes: int, until: str) -> None:
    """Record one run after the other, the releases in turn; a seed is the number of the run."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(runs):
        release, seed = releases[k % len(releases)], k + 1
        place = folder / f"{release}-{seed}"
        if place.exists():
            continue
        if until and time.strftime("%H:%M") >= until:
            return
        words = ["chaos", "--release", release, "--seed", str(seed), "--seconds", str(seconds), "--record-only"]
        done = subprocess.run(
            [*ZABCHECK, *words, "--writes", str(writes), "--output", str(place)], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        print(place.name, done.returncode, (done.stderr.strip().splitlines() or [""])[-1][:150], flush=True)


def explain(folder: Path, limit: float, names: list[str]) -> None:
    """Check each complete record against its release's model."""
    for place in sorted(folder.iterdir(), key=order):
        out = place / "conform.json"
        if not (place / "record.jsonl").exists() or out.exists() or (names and place.name not in names):
            continue
        if '"what": "end"' not in (place / "record.jsonl").read_text()[-200:]:
            continue
        words = ["conform", str(place / "record.jsonl"), "--time-limit", str(limit), "--json"]
        done = subprocess.run([*ZABCHECK, *words], capture_output=True, text=True, check=False)
        if done.stdout.startswith("{"):
            out.write_text(done.stdout)
        said = json.loads(out.read_text()) if out.exists() else {}
        print(place.name, said.get("verdict"), said.get("cpu_seconds"), said.get("why"), said.get("at"), flush=True)


def order(place: Path) -> tuple[int, str]:
    """Return the sort key of a run's folder: its seed, then its name."""
    seed = place.name.rpartition("-")[2]
    return (int(seed) if seed.isdigit() else 0, place.name)


def rows(folder: Path) -> Iterator[tuple[str, int, dict[str, Any], dict[str, int]]]:
    """Yield for each run its release, its seed, the result of `conform`, and the counts of its clients' answers."""
    for place in sorted(folder.iterdir(), key=order):
        if not (place / "conform.json").exists():
            continue
        release, _, seed = place.name.rpartition("-")
        answers: dict[str, int] = {}
        for text in (place / "record.jsonl").read_text().splitlines():
            if '"answered"' in text:
                said = json.loads(text)["outcome"]
                answers[said] = answers.get(said, 0) + 1
        yield release, int(seed), json.loads((place / "conform.json").read_text()), answers


def table(folder: Path) -> None:
    """Keep the table, a run in each row."""
    kinds = ("DIFF", "TRUNC", "SNAP")
    head = ("seed", "release", "epochs", *kinds, "acknowledged", "observations", "verdict", "breaks", "CPU-s")
    kept = Figures("conform", "minutes", head)
    for release, seed, said, answers in rows(folder):
        verdict = said["verdict"]
        if said["at"] is not None:
            verdict += f": line {said['at']['line']}, {said['at']['observation']}"
        elif said["why"]:
            verdict += f": {said['why']}"
        broken = ", ".join(f"`{name}`" for name in said["broken"])
        syncs = [said["syncs"].get(kind, 0) for kind in kinds]
        counts = (answers.get("acknowledged", 0), said["total"])
        kept.add(seed, release, said["elections"], *syncs, *counts, verdict, broken, round(said["seconds"], 2))


def main() -> None:
    """Run the step that the command line names."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("what", choices=("record", "explain", "table"))
    words.add_argument("folder", type=Path)
    words.add_argument("--releases", default="3.9.5,3.9.3,3.9.2,3.6.0")
    words.add_argument("--runs", type=int, default=100)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--writes", type=int, default=1000)
    words.add_argument("--until", default="", help="HH:MM at which no new run begins")
    words.add_argument("--limit", type=float, default=300.0, help="seconds of one search")
    words.add_argument("--only", default="", help="names of runs to explain, with commas")
    said = words.parse_args()
    if said.what == "record":
        record(said.folder, said.releases.split(","), said.runs, said.seconds, said.writes, said.until)
    elif said.what == "explain":
        explain(said.folder, said.limit, [n for n in said.only.split(",") if n])
    else:
        table(said.folder)


if __name__ == "__main__":
    main()
