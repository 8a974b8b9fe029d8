"""Measure simulated runs per second on one core, compiled, and the ratio to the CPython world; in one run.

    python -m benchmarks.simulate

Every run is set up, played, dumped and hashed; the first runs of each are compared, to show that both engines do the
same. Only processor time counts, so that other programs do not disturb. The
rates are kept in `results/sweep.json`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.figures import Figures
from traces.judging.simulated import judge, verdicts
from zabspec.simulator.dump import Dump, digest
from zabspec.simulator.run import Run, Simulator, play

SECONDS = 4.0


def hashed(simulator: Simulator, dump: Dump, run: Run) -> str:
    """Set up, play, dump and hash a run."""
    simulator.begin(run)
    simulator.advance(run.rounds)
    return digest(dump.canonical(simulator.state))


def rate(one: Callable[[int], object]) -> float:
    """Return the runs per second of processor time, with increasing seeds."""
    seed, started = 0, time.process_time()
    while time.process_time() - started < SECONDS:
        one(seed)
        seed += 1
    return seed / (time.process_time() - started)


def measured(run: Run, engine: str) -> tuple[float, list[str]]:
    """Return the rate of a kind of run in an engine, and the first digests."""
    simulator = play(run, engine)
    dump = Dump(simulator.layout)
    first = [hashed(simulator, dump, run.with_seed(seed)) for seed in range(5)]
    return rate(lambda seed: hashed(simulator, dump, run.with_seed(seed))), first


def main() -> None:
    """Measure the rates of both engines for each kind of run."""
    figures = Figures("sweep", "simulate", ("run", "compiled, runs a CPU-second", "in CPython"))
    for run in (Run(0), Run(0, protocol="zab"), Run(0, 7, 1000, 200)):
        (compiled, first), (interpreted, again) = measured(run, "compiled"), measured(run, "interpret")
        if first != again:
            raise SystemExit("the engines disagree")
        of = f"{run.protocol} ({run.nodes}, {run.rounds}, {run.proposals})"
        figures.add(of, round(compiled), round(interpreted, 2))
    judge(Run(0))
    figures.add("db19, judged", round(rate(lambda seed: verdicts(Run(seed)))), "")


if __name__ == "__main__":
    main()
