"""The rows of a run are judged as its states are, and come to the same."""

from __future__ import annotations

import pytest

from checker.report.simulated import verdict_word
from invariants.registry import HISTORY
from traces.events.recorded import observes, rows_of_run
from traces.judging.simulated import NEVER, judge, judged_properties
from traces.judging.single_run import judge_rows
from zabspec.simulator.run import Fault, Run

FAULTS = (
    Fault(200, "crash", 0),
    Fault(300, "timeout", 1),
    Fault(320, "recover", 0),
    Fault(500, "crash", 2),
    Fault(650, "recover", 2),
)
TWICE_MISSING = (  # what is chosen is missing from the initial histories of two epochs
    Fault(124, "crash", 0),
    Fault(128, "recover", 0),
    Fault(191, "cut", 0, 1),
    Fault(243, "timeout", 0),
    Fault(376, "cut", 0, 2),
    Fault(388, "cut", 0, 2),
    Fault(546, "cut", 0, 1),
    Fault(581, "crash", 0),
)
RUNS = [
    *(Run(seed, proposals=12) for seed in (14, 109)),
    Run(3, nodes=5, rounds=800, proposals=40, blocked=((0, 1), (1, 0))),
    Run(9, proposals=12, faults=(Fault(300, "crash", 1), Fault(450, "recover", 1))),
    Run(2128200065, proposals=20, faults=TWICE_MISSING, protocol="zab", variant="small-quorum"),
    *(
        Run(0, proposals=12, faults=FAULTS, protocol="zab", variant=variant)
        for variant in ("", "commit-on-propose", "equal-epoch", "small-quorum")
    ),
]


def by_rows(run: Run) -> dict[str, tuple[str, int]]:
    """Of each property of histories, by the rows of the run's event table."""
    tally = judge_rows(rows_of_run(run, every=False), observes(run.protocol))
    broken = {v.property: v.time for v in tally.violations}
    out = {}
    for p in (p for p in judged_properties(run.protocol) if p.of == HISTORY):
        unmet = "holds" if tally.count(p.name, "holds") else "premise not reached"
        out[p.name] = ("violated", int(broken[p.name])) if p.name in broken else (unmet, NEVER)
    return out


@pytest.mark.slow(seconds=3)
def test_both_ways_of_judging_a_run_agree_on_verdicts_and_ticks() -> None:
    judged = [[v for v in judge(run)[1] if v.of.of == HISTORY] for run in RUNS]
    wanted = [{v.of.name: (verdict_word(v), v.broken_at) for v in verdicts} for verdicts in judged]
    assert [by_rows(run) for run in RUNS] == wanted
    broken = {name for verdicts in wanted for name, (word, _) in verdicts.items() if word == "violated"}
    assert len(broken) > 8, broken
