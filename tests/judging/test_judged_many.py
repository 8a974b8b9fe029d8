"""Runs with more proposals than `invariants/` can hold are judged as event tables are, and come to the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.report.simulated import Progress, judge_many, verdict_word
from invariants.registry import HISTORY
from traces.judging import definition
from traces.judging.runs import KERNEL
from traces.judging.simulated import judge
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
    *(Run(seed, proposals=12) for seed in (14, 81, 109, 42)),
    Run(3, nodes=5, rounds=2000, proposals=40, blocked=((0, 1), (1, 0))),
    Run(9, proposals=12, faults=(Fault(300, "crash", 1), Fault(450, "recover", 1))),
    Run(2128200065, proposals=20, faults=TWICE_MISSING, protocol="zab", variant="small-quorum"),
    *(
        Run(0, proposals=12, faults=FAULTS, protocol="zab", variant=variant)
        for variant in ("", "commit-on-propose", "equal-epoch", "small-quorum")
    ),
]


def said(verdicts: Any) -> dict[str, tuple[str, int]]:
    """Of each property of histories."""
    return {v.of.name: (verdict_word(v), v.broken_at) for v in verdicts if v.of.of == HISTORY}


@pytest.mark.slow(seconds=4)
def test_both_ways_of_judging_a_run_agree_on_verdicts_and_ticks() -> None:
    wanted = [said(judge(run)[1]) for run in RUNS]
    assert [said(v for v, _ in judge_many(run, Progress(run.rounds))) for run in RUNS] == wanted
    broken = {name for verdicts in wanted for name, (word, _) in verdicts.items() if word == "violated"}
    assert len(broken) > 8, broken


def test_a_run_too_large_for_a_property_without_kernel_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never called held, nor its premise unreached."""
    monkeypatch.delitem(KERNEL, "agreement")
    monkeypatch.setattr(definition, "MOST_ROWS", 1)
    run = Run(14, rounds=300, proposals=4)
    (said,) = ((verdict_word(v), why) for v, why in judge_many(run, Progress(300)) if v.of.name == "agreement")
    assert said == ("not judged", "agreement is checked by its definition only, in runs of fewer proposals")


@pytest.mark.slow(seconds=1)
def test_check_of_many_proposals() -> None:
    result = CliRunner().invoke(main, ["simulate", "--seed", "14", "--proposals", "200", "--check", "--json"])
    answer = json.loads(result.stdout)
    broken = {p["name"]: p for p in answer["properties"] if p["verdict"] == "violated"}
    assert set(broken) >= {"total-order", "agreement"}
    (unseen,) = (p for p in answer["properties"] if p["verdict"] == "not judged")
    assert unseen["name"] == "durability", "rows do not tell what is in stable histories"
    assert all(p["why"] and 0 <= p["tick"] < 1000 for p in broken.values())
    assert result.exit_code == answer["exit_code"] == 1


def test_without_what_judges_tables_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabspec.extras.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["simulate", "--proposals", "64", "--check"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "more than 63 proposals" in result.stderr
    assert "pip install 'zabcheck[tables]'" in result.stderr
