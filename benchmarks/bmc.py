"""Run the same searches with the explorer and z3, depth by depth; keep both tables in benchmarks/results/bmc.json.

    python -m benchmarks.bmc                   # some minutes
    BMC_SECONDS=30 python -m benchmarks.bmc    # the time limit of each of z3's queries

Everything is one process on one core, so that the two columns of a row have the same machine. The explorer's seconds
are of one thread, also without symmetry; compilation is left out of both.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import Figures
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.proofs.symbolic.bmc import Bounded, Bounds, check
from invariants import PROPERTIES, Property, property_named
from traces import Runner
from zabspec.model import Configuration, Model

SECONDS = float(os.environ.get("BMC_SECONDS", "60"))
QUIET: dict[str, Any] = {"crashes": 0, "losses": 0}

# The models checked depth by depth: a variant that violates a property, and the protocol, which does not.
DEPTHS: list[tuple[Configuration, str, Sequence[int]]] = [
    (
        Configuration(variant="small-quorum", nodes=2, txns=1, timeouts=0, **QUIET),
        "delivered-is-chosen",
        (8, 11),
    ),
    (
        Configuration(variant="commit-on-propose", nodes=2, txns=1, timeouts=0, **QUIET),
        "delivered-is-chosen",
        (12, 16),
    ),
    (Configuration(nodes=3, txns=2, timeouts=2, crashes=1, losses=1), "agreement", (4, 6)),
]

# For z3 from a state on the way to a violation: the number of steps before its end.
FROM_STATES: list[tuple[Configuration, str, Sequence[int]]] = [
    (Configuration(variant="no-sync", nodes=2, txns=1, timeouts=1, **QUIET), "delivered-is-chosen", (8,)),
    (Configuration(variant="join-commit-all", nodes=3, txns=1, timeouts=0, **QUIET), "delivered-is-chosen", (8,)),
    (Configuration(variant="equal-epoch", nodes=3, txns=1, timeouts=1, **QUIET), "one-leader-an-epoch", (8,)),
    (Configuration(protocol="db19", nodes=2, txns=2, timeouts=2, channel=8), "delivered-is-chosen", (4,)),
]


def name_of(c: Configuration) -> str:
    """Return the name of a configuration in the table."""
    return f"{c.variant or c.protocol}, n={c.nodes}, {c.txns} txn"


def explored(model: Model, p: Property, depth: int | None) -> tuple[str, str, tuple[int, ...]]:
    """Return what the explorer finds to a depth, its time, and the steps of its run."""
    explorer = Explorer(Compiled(model, (p,), False), 1)
    r = explorer.run(Limits(depth, seconds=SECONDS))
    said = "violated" if r.violations else f"none in {r.distinct:,} states" if not r.stopped else r.stopped
    return said, f"{r.seconds:.2f}", r.violations[p.name].schedule if r.violations else ()


def asked(model: Model, p: Property, bounds: Bounds, start: bytes | None = None) -> tuple[str, str]:
    """Return what z3 finds to a depth, and its time."""
    began = time.perf_counter()
    found: Bounded = check(model, [p], bounds, start)
    said = "violated" if found.broken else found.reason or "none"
    if found.broken:
        said += f", {len(found.schedule)} steps"
    return said, f"{time.perf_counter() - began:.1f}"


def main() -> None:
    """Measure both tables."""
    head = ("question", "depth", "explorer", "s", "z3, one question", "s", "z3, a question a step", "s")
    depths_kept = Figures("bmc", "depths", head)
    for configuration, name, depths in DEPTHS:
        model, p = Model(configuration), property_named(name, PROPERTIES)
        for depth in depths:
            said, spent, _ = explored(model, p, depth)
            at_once = asked(model, p, Bounds(depth, depth, SECONDS))
            each_step = asked(model, p, Bounds(depth, 1, SECONDS))
            depths_kept.add(f"{name_of(configuration)}: {name}", depth, said, spent, *at_once, *each_step)
    head = ("on the way to", "steps left", "explorer, from the start", "s", "z3, in rounds", "s", "z3, one by one", "s")
    states_kept = Figures("bmc", "from-states", head)
    for configuration, name, befores in FROM_STATES:
        model, p = Model(configuration), property_named(name, PROPERTIES)
        _, spent, words = explored(model, p, None)
        for before in befores:
            runner = Runner(model)
            for word in words[: len(words) - before]:
                runner.step(word)
            start = runner.state.key()
            rounds = asked(model, p, Bounds(before, before, SECONDS), start)
            single = asked(model, p, Bounds(before, before, SECONDS, together=False), start)
            said = f"violated, {len(words)} steps"
            states_kept.add(f"{name_of(configuration)}: {name}", before, said, spent, *rounds, *single)


if __name__ == "__main__":
    main()
