"""Measure how long the induction of `zabcheck induct` takes, and the cost of each clause.

    python -m benchmarks.induct [--txns 1 2] [--epochs 2 3] [--jobs 2] [--seconds 120]

Every row is a whole induction from the default budgets: all clauses, all actions, all properties. A row in which not
everything is proved names the rest. The rows are kept in `results/proof.json`.
"""

from __future__ import annotations

import argparse
import resource
import time

from benchmarks.figures import Figures
from checker.proofs.symbolic.pool import Question, run
from invariants import PROPERTIES
from invariants.proofs import CLAUSES
from zabspec.model import Configuration


def main() -> None:
    """Measure the inductions that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--txns", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--epochs", type=int, nargs="+", default=[2])
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each query")
    given = parser.parse_args()
    judged = tuple(p.name for p in PROPERTIES if p.default and p.judges("zab"))
    print(f"{len(CLAUSES)} clauses, {len(judged)} properties, {given.nodes} processes")
    figures = Figures("proof", "induct", ("nodes", "txns", "epochs", "queries", "seconds", "CPU s", "not proved"))
    for txns in given.txns:
        for epochs in given.epochs:
            configuration = Configuration(
                nodes=given.nodes, txns=txns, timeouts=1, crashes=1, losses=1, max_epoch=epochs
            )
            question = Question(configuration, tuple(c.name for c in CLAUSES), targets=judged, seconds=given.seconds)
            began, spent = time.perf_counter(), cpu()
            outcome = run(question, given.jobs)
            took, used = time.perf_counter() - began, cpu() - spent
            verdicts = outcome.verdicts
            left = ", ".join([*(v.clause.name for v in verdicts if not v.holds), *outcome.obstacles]) or "-"
            asked = sum(v.asked for v in verdicts)
            figures.add(given.nodes, txns, epochs, asked, round(took), round(used), left)


def cpu() -> float:
    """Return the CPU seconds of this process and those it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


if __name__ == "__main__":
    main()
