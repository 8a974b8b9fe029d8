"""Hold the full search and the search by components against each other, in turns in one process (docs/components.md).

    python benchmarks/components.py                        # 3 nodes, 2 transactions, 1 timeout; three rounds
    python benchmarks/components.py --timeouts 2 --rounds 1
    python benchmarks/components.py --txns 3 --no-symmetry

Counts must be equal, or it stops. CPU-seconds are of exploring alone: compilation is not in them.
"""

from __future__ import annotations

import argparse
import math

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.componented import ComponentExplorer, Components
from checker.explore.result import Exploration, Limits
from invariants import PROPERTIES
from zabspec.model import Configuration, Model


def counted(r: Exploration) -> tuple[object, ...]:
    """What both must find alike."""
    return r.levels, r.raw_levels, r.generated, r.terminal, r.step_counts, r.event_counts, r.witnessed, r.complete


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("nodes", 3), ("txns", 2), ("timeouts", 1), ("crashes", 0), ("rounds", 3), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--no-symmetry", action="store_true")
    asked = parser.parse_args()
    model = Model(Configuration(
        nodes=asked.nodes, txns=asked.txns, timeouts=asked.timeouts, crashes=asked.crashes, losses=0,
    ))  # fmt: skip
    judged = [p for p in PROPERTIES if p.default and p.judges("zab")]
    full, parts = (kind(model, judged, not asked.no_symmetry) for kind in (Compiled, Components))
    full.worked(math.inf, math.inf)  # measured is the code that long runs have
    print("| engine | orbits | transitions | CPU s | seconds | million orbits/CPU s | bytes a state |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for _ in range(asked.rounds):
        found = []
        for name, engine in (
            ("full", Explorer(full, asked.threads)),
            ("components", ComponentExplorer(parts, asked.threads)),
        ):
            r = engine.run(Limits())
            found.append(counted(r))
            print(
                f"| {name} | {r.distinct:,} | {r.generated:,} | {r.cpu_seconds:.2f} | {r.seconds:.2f} "
                f"| {r.distinct / r.cpu_seconds / 1e6:.2f} | {r.memory / r.distinct:.0f} |",
                flush=True,
            )
            engine.forget()
        if found[0] != found[1]:
            raise SystemExit("the two engines differ")


if __name__ == "__main__":
    main()
