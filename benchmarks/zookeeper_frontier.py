"""Explore ZooKeeper's newest release with all known repairs, budget by budget.

Each exploration goes to the end, to the first violation, or to where it is cut:

    python -m benchmarks.zookeeper_frontier --output frontier.jsonl --seconds 300 --memory 8

Each budget is explored in a process of its own, with merged steps, three servers, from the beginning and with every
property. A line is written as soon as it is known, so that a run that was stopped continues there; lines of another
version of the sources are refused. In the end the table is kept in benchmarks/results/zookeeper-residue.json.
`--settings` adds variants, as walk,hole (what production has), transfer, or observer,observer-sync (a fourth server
that does not vote); lines of other settings are passed over.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.zookeeper_matrix import SOURCES
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.zookeeper.record import KNOWN, NEWEST, PROTOCOL, configuration
from invariants import properties_of
from traces import build_trace
from traces.replay.replay import replay
from zabspec.model import Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import sources_digest

OBSERVER = PROTOCOLS[PROTOCOL].declared.observers
NAMES = ("elections", "proposals", "crashes", "losses")
# Cheapest first: what comes after a cut one is still explored.
BUDGETS = (
    (2, 1, 2, 2), (3, 1, 1, 1), (4, 1, 1, 1), (5, 1, 1, 1), (6, 1, 1, 1), (3, 1, 2, 1), (3, 2, 1, 1), (4, 2, 1, 1),
    (4, 1, 2, 1), (3, 1, 1, 2), (4, 1, 1, 2), (5, 1, 2, 1), (3, 1, 2, 2), (6, 1, 2, 1), (4, 1, 3, 1), (3, 2, 2, 1),
    (2, 2, 2, 2), (4, 2, 2, 0), (5, 1, 3, 1), (4, 2, 2, 1), (4, 2, 2, 2),
)  # fmt: skip


@dataclass(frozen=True)
class Explored:
    """The result of exploring a budget.

    Attributes:
        breaks: the property violated first; empty if none is up to `depth`.
        depth: of the violation; otherwise of the last level of which every state was found and judged.
        complete: whether every state within the budget was explored.
        stopped: why it ended before; empty if it did not.
        unreached: properties whose premise was not met, so that there is no verdict on them.
        seconds: of CPU, compilation included.
        megabytes: the peak of the process.
        sources: a digest of all that determines the answer.
        settings: variants besides the repairs.
    """

    budget: tuple[int, ...]
    breaks: str
    depth: int
    complete: bool
    stopped: str
    unreached: tuple[str, ...]
    states: int
    seconds: float
    megabytes: int
    sources: str
    settings: str = ""


def explore(budget: tuple[int, ...], seconds: float, memory: int, settings: str) -> Explored:
    """Explore one budget; a violation is replayed in the simulator."""
    judged = [p for p in properties_of(PROTOCOL) if p.default]
    amounts = dict(zip(NAMES, budget, strict=True))
    named = [name for name in settings.split(",") if name]
    observing = [name for name in named if name == OBSERVER]  # they come with quorums
    c = configuration(NEWEST, KNOWN, amounts, False, "", ",".join(observing))
    others = [name for name in named if name not in observing]
    c = replace(c, variant=PROTOCOLS[PROTOCOL].combined(",".join((c.variant, *others))))
    code, _ = Compiled.of(Model(c), judged, True)
    r = Explorer(code, 2).run(Limits(None, None, seconds, memory), False)
    first = min(r.violations.values(), key=lambda v: v.depth, default=None)
    if first is not None:
        replay(build_trace(code.model, first.property, first.schedule))
    stopped = "" if first is not None or r.complete else str(r.error or r.stopped or "it was not explored to its end")
    return Explored(
        budget,
        first.property.name if first is not None else "",
        first.depth if first is not None else min(r.expanded_levels, r.depth) if stopped else r.depth,
        r.complete and first is None,
        stopped,
        tuple(p.name for p in judged if p.name not in r.witnessed),
        r.distinct,
        round(time.process_time(), 1),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        sources_digest(*SOURCES),
        settings,
    )


def read(file: Path) -> Iterator[Explored]:
    """Yield the lines of a file.

    Raises:
        SystemExit: one is of another version of the sources.
    """
    for line in file.read_text().splitlines() if file.exists() else ():
        one = json.loads(line)
        known = Explored(**one | {"budget": tuple(one["budget"]), "unreached": tuple(one["unreached"])})
        if known.sources != sources_digest(*SOURCES):
            raise SystemExit(f"{file} was explored with other sources; begin a new file")
        yield known


def row(x: Explored) -> tuple[str | int, ...]:
    """Return a row of the table."""
    if x.breaks:
        says = f"`{x.breaks}` breaks after {x.depth} steps"
    elif x.complete:
        says = f"explored to the end, depth {x.depth}: no violation"
    else:
        says = f"cut ({x.stopped}): no violation up to depth {x.depth}"
    without = f"; premise not reached: {', '.join(f'`{name}`' for name in x.unreached)}" if x.unreached else ""
    return ", ".join(map(str, x.budget)), x.states, round(x.seconds), x.megabytes, f"{says}{without}"


def main() -> None:
    """Explore every budget that the file does not have, and keep the table."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--output", type=Path, required=True, help="where lines are kept")
    given.add_argument("--seconds", type=float, default=300, help="the most for each budget")
    given.add_argument("--memory", type=float, default=8, help="GiB, the most for each budget")
    given.add_argument("--budget", help="only this one, as 4,1,2,1")
    given.add_argument("--settings", default="", help="variants besides the repairs, as walk,hole")
    o = given.parse_args()
    budgets = [tuple(map(int, o.budget.split(",")))] if o.budget else BUDGETS
    known = {x.budget: x for x in read(o.output) if x.settings == o.settings}
    for budget in budgets:
        if budget in known:
            continue
        if o.budget:
            known[budget] = explore(budget, o.seconds, int(o.memory * 2**30), o.settings)
            with o.output.open("a") as out:
                out.write(json.dumps(asdict(known[budget])) + "\n")
        else:
            same = ("--output", str(o.output), "--seconds", str(o.seconds), "--memory", str(o.memory))
            words = (*same, "--settings", o.settings, "--budget", ",".join(map(str, budget)))
            one = [sys.executable, "-m", "benchmarks.zookeeper_frontier", *words]
            subprocess.run(one, check=True, env=os.environ, stdout=subprocess.DEVNULL)
            known = {x.budget: x for x in read(o.output) if x.settings == o.settings}
            print(*row(known[budget]), sep=" | ", file=sys.stderr)
    table = "-".join(["frontier", *filter(None, o.settings.split(","))])
    kept = Figures("zookeeper-residue", table, (", ".join(NAMES), "states", "CPU s", "MiB", ""))
    for budget in budgets:
        kept.add(*row(known[budget]))


if __name__ == "__main__":
    main()
