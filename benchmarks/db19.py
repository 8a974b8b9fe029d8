"""Print the tables of results/db19.md: what the lab's protocol and its repairs violate, explored and in seeded runs.

    python benchmarks/db19.py classes|told|alone|without|repaired [--runs N]

Each table is printed as Markdown. Counts are the same on every machine; seconds are not.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import db19_classes

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import MODULES, PROPERTIES, Property, binding
from traces.judging.simulated import judged_properties, verdicts
from traces.shorten.realise import Wanted, attempt
from zabspec.model import Configuration, Model
from zabspec.protocols.db19_variants import REPAIRS
from zabspec.simulator.run import SimulationError

JUDGED = [p for p in PROPERTIES if p.default and p.judges("db19")]
MEMORY = 6 << 30
ONE_TIMER: dict[str, int | str] = {"timeouts": 1}
TWO_TIMERS: dict[str, int | str] = {"timeouts": 2, "network": "ordered"}


def explored(variant: str, depth: int, properties: Sequence[Property] = JUDGED, **budgets: int | str) -> Exploration:
    """Explore on past violations, to a depth."""
    model = Model(Configuration(protocol="db19", variant=variant, nodes=3, **budgets))  # type: ignore[arg-type]
    code, _ = Compiled.of(model, properties, False)
    return Explorer(code, 0).run(Limits(depth=depth, memory=MEMORY), True)


def shortest(r: Exploration) -> str:
    """Return the violated properties, each with the length of its shortest run."""
    return ", ".join(f"{name} {found.depth}" for name, found in r.violations.items()) or "nothing"


def part(variant: str, nodes: int, first: int, count: int) -> Counter[str]:
    """Return how many of some runs violate each property; the key "" has the number of runs."""
    names = [p.name for p in judged_properties("db19")]
    wanted = Wanted("", "db19", variant, nodes, "")
    out: Counter[str] = Counter()
    for number in range(first, first + count):
        run = attempt(wanted, number)
        try:
            broken = verdicts(replace(run, proposals=min(run.proposals, 6)))
        except SimulationError:
            continue
        out[""] += 1
        for k, name in enumerate(names):
            out[name] += broken >> k & 1
    return out


def swept(variant: str, runs: int, nodes: int = 3) -> Counter[str]:
    """Return how many of many seeded runs violate each property, on two processes."""
    verdicts(attempt(Wanted("", "db19", variant, nodes, ""), 0))  # compiled once, before two processes do it
    out: Counter[str] = Counter()
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(part, variant, nodes, start, 500) for start in range(0, runs, 500)]
        for job in jobs:
            out += job.result()
    return out


def rates(c: Counter[str]) -> str:
    """Return the counts of violations in words."""
    total = c.pop("")
    return (
        ", ".join(f"{name} {n}" for name, n in c.most_common() if n)
        + (" " if c.total() else "nothing ")
        + f"of {total:,}"
    )


def classes() -> None:
    """Print the table of the shortest counterexamples of the unchanged protocol."""
    print("| budget | depth | states | shortest counterexamples |\n|---|---|---|---|")
    for depth, budgets in (
        (15, {"txns": 2, "timeouts": 1}),
        (19, {"txns": 2, "timeouts": 2, "network": "ordered"}),
    ):
        r = explored("", depth, **budgets)
        print(f"| {budgets} | {r.depth} | {r.distinct:,} ({r.seconds:.0f} s) | {shortest(r)} |", flush=True)


def by_one_step() -> None:
    """Print the shortest counterexamples of each class in `db19_classes.py`."""
    binding.MODULES = (*MODULES, db19_classes)
    r = explored("", 18, db19_classes.CLASSES, txns=2, timeouts=2, network="ordered")
    print(f"{r.distinct:,} states to depth {r.depth} ({r.seconds:.0f} s): {shortest(r)}")


def table(names: list[str], budgets: Sequence[tuple[int, Mapping[str, int | str]]], runs: int) -> None:
    """Print the table of variants: the shortest violations, and the rates in seeded runs."""
    print("| variant | explored: shortest | seeded runs |\n|---|---|---|")
    for name in names:
        depths: dict[str, int] = {}
        for depth, budget in budgets:
            for broken, found in explored(name, depth, txns=2, **budget).violations.items():
                depths[broken] = min(depths.get(broken, found.depth), found.depth)
        told = ", ".join(f"{k} {d}" for k, d in sorted(depths.items(), key=lambda x: x[1])) or "nothing"
        print(f"| `{name}` | {told} | {rates(swept(name, runs))} |", flush=True)


def repaired(runs: int) -> None:
    """Print the table of the budgets in which the repaired protocol was explored."""
    print("| budget | depth | states | broken |\n|---|---|---|---|")
    for depth, budgets in (
        (20, {"txns": 2, "timeouts": 1}),
        (18, {"txns": 2, "timeouts": 1, "heartbeats": 1}),
        (20, {"txns": 2, "timeouts": 2, "network": "ordered"}),
        (14, {"txns": 2, "timeouts": 2, "heartbeats": 1, "network": "ordered"}),
        (17, {"txns": 2, "timeouts": 3, "network": "ordered"}),
        (16, {"txns": 2, "timeouts": 2, "crashes": 1, "network": "ordered"}),
    ):
        r = explored("repaired", depth, **budgets)
        whole = "all there are" if r.complete else str(r.depth)
        print(f"| {budgets} | {whole} | {r.distinct:,} ({r.seconds:.0f} s) | {shortest(r)} |", flush=True)
    for nodes in (3, 5):
        print(f"\nseeded, {nodes} nodes: {rates(swept('repaired', runs, nodes))}", flush=True)


def main() -> None:
    """Print the table that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=("classes", "told", "alone", "without", "repaired"))
    parser.add_argument("--only", nargs="*", metavar="REPAIR", default=[r.name for r in REPAIRS])
    parser.add_argument("--runs", type=int, default=20_000)
    given = parser.parse_args()
    if given.table == "classes":
        classes()
        print("\nseeded:", rates(swept("", given.runs)))
    elif given.table == "repaired":
        repaired(given.runs)
    elif given.table == "told":
        by_one_step()
    elif given.table == "alone":
        table(given.only, ((14, ONE_TIMER), (16, TWO_TIMERS)), given.runs)
    else:
        deep = ((14, ONE_TIMER), (18, TWO_TIMERS), *((14, b | {"heartbeats": 1}) for b in (ONE_TIMER, TWO_TIMERS)))
        table([f"all-but-{name}" for name in given.only], deep, given.runs)


if __name__ == "__main__":
    main()
