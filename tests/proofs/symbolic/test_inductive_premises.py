"""What is proved of a protocol that does nothing is said to be empty; what a run breaks is not counted as proved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from checker.explore.premises import Premises, reached_by, stages
from checker.proofs.report.induction import Inductive, answer_of, as_object, as_text, proved_of
from checker.proofs.symbolic import pool
from checker.proofs.symbolic.induction import InductionFinding
from checker.proofs.symbolic.pool import Outcome, Question, Verdict
from checker.proofs.symbolic.solver import SolverAnswer
from invariants import properties_of, property_named
from zabspec.model import Configuration

TEXT = START.read_text(encoding="utf-8")
# texts in which the premise of agreement (two processes have decided) is never true
BEGINS = "def may_begin(s: State, p: Node) -> bool:\n    return s.phase[p] == WORKING"
EMPTY = {
    "nobody begins": TEXT.replace(BEGINS, BEGINS.replace("s.phase[p] == WORKING", "s.phase[p] == COMMITTED")),
    "nobody shows a decision": TEXT.replace("        decided(s, p, m.commit)\n", ""),
}


@pytest.fixture
def everything_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """z3 is not asked: whatever it is asked about is proved."""

    def run(question: Question, *_: Any) -> Outcome:
        return Outcome(question, [Verdict(c) for c in question.named(question.asked)])

    monkeypatch.setattr(pool, "run", run)


def induct(path: Path, *words: str) -> Any:
    return CliRunner().invoke(main, ["induct", "--protocol", str(path), "--nodes", "2", "--processes", "1", *words])


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", EMPTY)
def test_a_proof_about_what_never_happens_is_reported_as_vacuous(
    tmp_path: Path, everything_is_proved: None, name: str
) -> None:
    path = tmp_path / "tpc.py"
    assert EMPTY[name] != TEXT
    path.write_text(EMPTY[name], encoding="utf-8")
    ran = induct(path)
    assert ran.exit_code == 0, ran.output
    assert "premises not reached by any explored run: agreement" in ran.output
    assert "agreement               proved, premise not reached" in ran.output
    assert "1 of them put to the test by no explored run" in " ".join(ran.output.split())
    assert re.search(r"explored for premises: nodes 2, crashes 1, .*: all \d+ states", " ".join(ran.output.split()))
    ran = induct(path, "--require-witness")
    assert ran.exit_code == 3
    assert "--require-witness: not put to the test: agreement" in ran.output
    ran = induct(path, "--require-witness=agreement", "--json")
    assert ran.exit_code == 3
    made = json.loads(ran.stdout)
    assert made["premises"]["not_reached"] == made["premises"]["required"] == ["agreement"]
    assert made["premises"]["explorations"][0]["complete"] is True
    of = {c["clause"]: c["premise_reached"] for c in made["clauses"]}
    assert of["agreement"] is False
    assert of["one-decision"] is None, "a clause has no premise"


@pytest.mark.slow(seconds=2)
def test_a_property_that_can_never_be_false_is_not_one_whose_premise_no_run_meets(
    tmp_path: Path, everything_is_proved: None
) -> None:
    path = tmp_path / "tpc.py"
    path.write_text(TEXT.replace("if s.outcome[p] == 1 and s.outcome[q] == 2:", "if s.outcome[p] > 2:"), "utf-8")
    said = " ".join(induct(path).output.split())
    assert "can never be False: agreement explored for" in said
    assert "agreement proved, can never be False" in said
    assert "premise" not in said.replace("explored for premises", "")
    made = json.loads(induct(path, "--json").stdout)
    assert (made["premises"]["not_reached"], made["premises"]["never_false"]) == ([], ["agreement"])


@pytest.mark.slow(seconds=2)
def test_a_premise_that_a_run_meets_is_told_with_its_depth(tmp_path: Path, everything_is_proved: None) -> None:
    path = tmp_path / "tpc.py"
    path.write_text(TEXT, encoding="utf-8")
    ran = induct(path, "--require-witness", "--json")
    assert ran.exit_code == 0, ran.output
    made = json.loads(ran.stdout)
    assert made["premises"]["reached"].keys() == {"agreement"}
    assert made["premises"]["reached"]["agreement"] > 3
    assert made["premises"]["not_reached"] == []
    # a bound that is too small is no witness, and is said
    ran = induct(path, "--witness-states", "5")
    assert "premises not reached by any explored run: agreement" in ran.output
    assert "--max-states 5 reached" in " ".join(ran.output.split())
    ran = induct(path, "--witness-states", "0")
    assert "whether runs reach the premises of properties was not checked" in " ".join(ran.output.split())


def test_a_proof_says_of_which_parameters_it_is(everything_is_proved: None) -> None:
    words = ["induct", "--protocol", "example:work_queue", "--jobs", "2", "--witness-states", "0"]
    said = " ".join(CliRunner().invoke(main, words).output.split())
    assert re.search(r"assumptions: \d+ processes, (\w+ \d+, )*jobs 2;", said), said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--require-witness", "--witness-states", "0"], "--require-witness contradicts --witness-states 0"),
        (["--require-witness=agrement"], "no such property is checked; did you mean agreement?"),
        (["--require-witness=one-decision"], "no such property is checked"),
    ],
)
def test_a_wrong_question_is_refused_in_a_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    path = tmp_path / "tpc.py"
    path.write_text(TEXT, encoding="utf-8")
    ran = induct(path, *words)
    assert ran.exit_code == 2
    assert said in " ".join(ran.output.split())


# --- refuted ---------------------------------------------------------------------------------------

NAMES = ("delivered-is-chosen", "durability", "agreement")


def of_zab(variant: str) -> tuple[Outcome, Configuration]:
    """Two clauses of zab, one of them not inductive, and properties that follow from both."""
    c = Configuration(variant=variant, nodes=2, txns=1, timeouts=0, crashes=0, losses=0)
    question = Question(c, ("counters", "links"), targets=NAMES)
    verdicts = [Verdict(p) for p in question.named(question.asked)]
    verdicts[0].failing = InductionFinding("counters", "recover(process=0)", SolverAnswer.COUNTEREXAMPLE, 0.1)
    for v in verdicts[2:]:
        v.follows = True
    return Outcome(question, verdicts), c


@pytest.mark.slow(seconds=2)
def test_a_violated_property_is_not_proved_beside_a_wrong_clause() -> None:
    outcome, c = of_zab("small-quorum")
    properties = [property_named(name, properties_of("zab")) for name in NAMES]
    assert "durability" in proved_of(outcome)[0]
    outcome.premises = reached_by(c, properties, 100_000, 100.0, every=True, threads=1)
    assert set(outcome.refuted) == {"delivered-is-chosen", "durability"}
    assert proved_of(outcome)[0] == ["links", "agreement"]
    assert answer_of(outcome) == ("violated", 1)
    made = as_object(outcome, "violated")
    assert {v["clause"] for v in made["clauses"] if v["verdict"] == "violated"} == set(outcome.refuted)
    assert all(made["premises"]["violated"].values()), "each with its run"
    assert "2 of 5 proved" in (text := " ".join(as_text(outcome).split()))
    assert "2 violated in a run: delivered-is-chosen, durability" in text
    assert "violated in a run of 11 steps: durability" in as_text(outcome)
    assert Inductive(outcome).sentence.startswith("violated: delivered-is-chosen, durability; 2 of 5 proved")


CLAIMS = """

def never(s: State) -> bool:
    \"\"\"Never.\"\"\"
    return s.phase[0] == COMMITTED and s.phase[0] == ABORTED


def at_once(s: State) -> bool:
    \"\"\"Always.\"\"\"
    return s.phase[0] == s.phase[0]


@safety(witness={witness})
def claim(s: State) -> bool:
    \"\"\"A claim that a run violates.\"\"\"
    for p in range(s.NODES):
        if s.phase[p] == {phase}:
            return False
    return True
"""


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("witness", "phase"), [("never", "COMMITTED"), ("at_once", "WORKING")])
def test_nothing_is_proved_from_a_clause_that_a_run_violates(
    tmp_path: Path, everything_is_proved: None, witness: str, phase: str
) -> None:
    """14 of 15 were said to be proved: with "nobody commits" supposed, agreement is."""
    path = tmp_path / "tpc.py"
    path.write_text(TEXT + CLAIMS.format(witness=witness, phase=phase), encoding="utf-8")
    ran = induct(path)
    said = " ".join(ran.output.split())
    assert ran.exit_code == 1, ran.output
    assert "0 of 15 proved; 1 violated in a run: claim" in said
    assert "nothing is proved: every other verdict assumes claim, which a run violates" in said
    made = json.loads(induct(path, "--json").stdout)
    assert made["answer"] == "violated"
    assert made["at_every_depth"] == []
    assert {c["clause"]: c["verdict"] for c in made["clauses"]}["agreement"] == "no verdict"


def test_a_property_that_is_violated_is_no_vacuous_one() -> None:
    outcome, _ = of_zab("")
    outcome.premises = Premises(NAMES, reached={"agreement": 27})
    assert outcome.unreached == ["delivered-is-chosen", "durability"]
    outcome.required = NAMES
    assert outcome.unmet == ["delivered-is-chosen", "durability"]
    assert answer_of(outcome) == ("not inductive", 1)
    outcome.verdicts[0].failing = None
    assert answer_of(outcome) == ("undecided", 3)


def test_one_timeout_is_explored_before_all_faults() -> None:
    c = Configuration(nodes=2, txns=1, timeouts=2, crashes=1, losses=1)
    first, last = stages(c)
    assert (first.timeouts, first.crashes, first.losses) == (1, 0, 0)
    assert last == c
    assert list(stages(first)) == [first]
