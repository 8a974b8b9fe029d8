"""Play every row's run, and random runs, on official servers, and write the table of what came of it.

    zabcheck reenact --list-servers                 # what is found here, and how to get the rest
    python -m benchmarks.official_servers play RUNS.jsonl --random 20 --until 22:45
    python -m benchmarks.official_servers table RUNS.jsonl     # keeps benchmarks/results/official-servers.json

A row is played on the release of its run, and on the newest and the oldest other one in which the bug occurs
(docs/explanation/zookeeper-releases.toml). What the file has already is not played again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.lines import read_lines
from checker.errors import NoVerdict
from checker.zookeeper.requests.conformance import ConformanceRequest
from checker.zookeeper.requests.reenact import ReenactRequest
from checker.zookeeper.runs import RUNS
from traces.zookeeper.reenact.distributions import Cannot, Release, find_release, listed
from traces.zookeeper.reenact.messages import told_run
from traces.zookeeper.reenact.plan import ReenactmentPlan
from zabspec.zookeeper.of_releases import variant_of

MATRIX = Path(__file__).parents[1] / "docs" / "explanation" / "zookeeper-releases.toml"
SEED = "seed "


@dataclass(frozen=True)
class Played:
    """A run on official servers.

    Attributes:
        run: a row of the track record, or `seed N` of a random run.
        day: when it was played, as ISO 8601.
        origin: where the servers were found. digest: the SHA-256 of the server's jar. java: its version.
        steps, agreed: the number of steps, and of those that agree with the model.
        adapted: the number of the trace's steps that the release does not have, or has elsewhere.
        result: what the servers did, or where they differ.
    """

    run: str
    release: str
    day: str
    origin: str
    digest: str
    java: int
    steps: int
    agreed: int
    adapted: int
    result: str
    seconds: float

    @property
    def whole(self) -> bool:
        """Return whether every step agrees."""
        return self.steps == self.agreed > 0


@cache
def releases() -> list[str]:
    """Return all releases, the newest first."""
    return list(listed())


def releases_of(row: str) -> list[str]:
    """Return the three releases on which a row is played; fewer if the bug occurs in fewer, or has no column."""
    matrix, own = tomllib.loads(MATRIX.read_text()), RUNS[row].release
    columns = dict(zip(matrix["releases"], matrix["occurs"].get(row, [1] * len(matrix["releases"])), strict=True))
    having = [name for name in releases() if columns.get(variant_of("zookeeper", name) or "3.9.4")]
    if not RUNS[row].start:  # new servers, whose clients have sessions that are no transactions
        having = [name for name in having if not name.startswith("3.4.")]
    others = [name for name in having if variant_of("zookeeper", name) != variant_of("zookeeper", own)] or having
    return list(dict.fromkeys((own, *others[:1], *others[-1:], *having)))[:3]


def wanted(runs: int) -> Iterator[tuple[str, str]]:
    """Yield what is to be played, as run and release: first each row on its own release."""
    of_rows = {row: releases_of(row) for row in RUNS}
    for place in range(3):
        yield from ((row, names[place]) for row, names in of_rows.items() if place < len(names))
    for seed in range(1, runs + 1):
        yield from ((f"{SEED}{seed}", name) for name in releases())


def play(run: str, release: str, folder: Path) -> tuple[ReenactmentPlan | None, int, int, str]:
    """Play a row or a random run; return its plan, if it has one, the steps, those that agree, and the result."""
    if run.startswith(SEED):
        seed = int(run.removeprefix(SEED))
        lines = ConformanceRequest(release, seed=seed, output=str(folder)).answer().lines
        return None, lines[0].drawn, lines[0].agreed, lines[0].trouble or "; ".join(lines[0].differs or lines[0].harm)
    done = ReenactRequest(release=release, trace=f"ZK-{run}", output=str(folder)).answer()
    last = done.played[-1]
    result = "; ".join(" ".join(line.split()) for line in told_run(done.plan, last)[0 if last.played.differs else 1 :])
    return done.plan, len(done.plan.steps), last.played.steps, last.trouble or result


def one(run: str, servers: Release) -> Played:
    """Play a run on the servers of a release."""
    began, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="zabcheck-official-"))
    try:
        plan, steps, agreed, result = play(run, servers.name, folder / "run")
    except NoVerdict as problem:
        plan, steps, agreed, result = None, 0, 0, str(problem)
    shutil.rmtree(folder, ignore_errors=True)
    adapted = len(plan.skipped) + len(plan.inserted) if plan else 0
    day, seconds = date.today().isoformat(), round(time.monotonic() - began, 1)
    return Played(
        run, servers.name, day, servers.origin, servers.digest, servers.java.version, steps, agreed, adapted, result,
        seconds,
    )  # fmt: skip


def play_all(file: Path, runs: int, until: str) -> None:
    """Play what is wanted and the file does not have, and add a line for each."""
    have = {(line.run, line.release) for line in read_lines(Played, file, "run")}
    for run, release in wanted(runs):
        if (run, release) in have:
            continue
        if until and time.strftime("%H:%M") >= until:
            return
        try:
            played = one(run, find_release(release))
        except Cannot as problem:
            print(f"{run} on {release}: {problem}", flush=True)
            continue
        with file.open("a") as out:
            out.write(json.dumps(asdict(played)) + "\n")
        print(f"{run} on {release}: {played.agreed} of {played.steps}, {played.seconds} s; {played.result}", flush=True)


def table(lines: list[Played]) -> None:
    """Keep the tables of runs that were played: servers, rows, and random runs that differ."""
    drawn = [x for x in lines if x.run.startswith(SEED)]
    rows = [x for x in lines if x not in drawn]
    head = ("release", "found in", "SHA-256 of the server's jar", "Java", "random runs that agree", "steps")
    servers = Figures("official-servers", "servers", head)
    for x in {x.release: x for x in sorted(lines, key=order)}.values():
        mine = [d for d in drawn if d.release == x.release]
        agreed, of = sum(d.agreed for d in mine), sum(d.steps for d in mine)
        whole = f"{sum(d.whole for d in mine)} of {len(mine)}"
        servers.add(x.release, x.origin, f"`{x.digest}`", x.java, whole, f"{agreed} of {of}")
    head = ("row", "release", "day", "steps", "steps of the run that differ", "result")
    played = Figures("official-servers", "rows", head)
    for x in sorted(rows, key=lambda x: (list(RUNS).index(x.run), order(x))):
        played.add(x.run, x.release, x.day, f"{x.agreed} of {x.steps}", x.adapted, x.result)
    differ = Figures("official-servers", "differ", ("seed", "release", "day", "steps", "where"))
    for x in (x for x in sorted(drawn, key=order) if not x.whole):
        differ.add(x.run, x.release, x.day, f"{x.agreed} of {x.steps}", x.result)
    print(f"{sum(x.whole for x in rows)} of {len(rows)} runs of rows agree in every step, and", end=" ")
    print(f"{sum(x.whole for x in drawn)} of {len(drawn)} random runs")


def order(line: Played) -> tuple[int, ...]:
    """Return the sort key of a line: the newest release first."""
    return tuple(-int(part) for part in line.release.split("."))


def main() -> None:
    """Play, or write the table."""
    words = argparse.ArgumentParser(prog="python -m benchmarks.official_servers", description=__doc__.split("\n")[0])
    words.add_argument("what", choices=("play", "table"))
    words.add_argument("file", type=Path)
    words.add_argument("--random", type=int, default=0, metavar="N", help="random runs on every release")
    words.add_argument("--until", default="", metavar="HH:MM", help="begin no run after this time of day")
    given = words.parse_args()
    if given.what == "play":
        play_all(given.file, given.random, given.until)
    else:
        table(read_lines(Played, given.file, "run"))


if __name__ == "__main__":
    main()
