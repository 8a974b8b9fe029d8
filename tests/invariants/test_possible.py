"""What an induction leaves out: steps that meet errors, and moves that no state allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import invariants.proofs.impossible as golden
from checker.commands.publishing import publish
from checker.proofs.report.induction import Inductive
from checker.proofs.symbolic.assumptions import EPOCHS
from checker.proofs.symbolic.enabledness import Possible, Taken, pattern
from checker.proofs.symbolic.induction import Induction, Move
from checker.proofs.symbolic.pool import Outcome, Question, Verdict, clause_named
from checker.proofs.symbolic.solver import SolverAnswer
from invariants.proofs import CASES, CLAUSES, SHAPES
from tests.patience import HANG
from zabspec import zab
from zabspec.language.python.lang import Node, State
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.protocols.zab_variants import Variant
from zabspec.zab import last

pytestmark = pytest.mark.slow(seconds=1)  # each is small; the model that they share is not

USUAL = Configuration(timeouts=1, crashes=1, losses=1, max_epoch=2)
ONE = Configuration(nodes=1, txns=2, timeouts=1, crashes=1, losses=1, max_epoch=2)


def possible_of(
    configuration: Configuration, without: str = "", cut: tuple[str, ...] = (EPOCHS,), clauses: bool = True
) -> Possible:
    model = Model(configuration)
    induction = Induction(
        model,
        [c for c in CLAUSES if clauses and c.name != without],
        first=[c.name for c in SHAPES],
        cases=CASES,
        symmetric=True,
        seconds=HANG,
    )
    return Possible(induction, golden.impossible(), cut)


usual = cache(possible_of)


def move(possible: Possible, label: str) -> Move:
    return next(m for m in possible.induction.moves if m.label == label)


def everything(possible: Possible) -> Outcome:
    """An outcome in which every clause is kept, whatever is taken."""
    question = Question(possible.induction.model.configuration, tuple(c.name for c in possible.induction.clauses))
    taken = [possible.enabled(), *(possible.of(m) for m in possible.induction.moves)]
    return Outcome(question, [Verdict(clause_named(n)) for n in question.clauses], taken)


# --- of zab ----------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=3)
def test_what_is_impossible_is_listed_and_one_error_is_left(pytestconfig: pytest.Config):
    """The golden file is written anew with --rewrite."""
    outcome = everything(usual(USUAL))
    found = {t.move: t.forbidden_by for t in outcome.taken if t.impossible}
    steps = {name: clauses for name, clauses in golden.impossible().items() if name.startswith("step ")}
    if pytestconfig.getoption("rewrite"):
        path = Path(str(files("invariants.proofs").joinpath(golden.FILE)))
        path.write_text(golden.lines(found | steps), encoding="utf-8")
        golden.impossible.cache_clear()
    assert golden.lines(found | steps) == files("invariants.proofs").joinpath(golden.FILE).read_text()
    assert all(t.known for t in outcome.taken if t.impossible)
    assert all(pattern(move(usual(USUAL), label)) == label for label in found)
    assert outcome.obstacles == []
    assert outcome.errors == []
    assert {site.sentence() for t in outcome.taken for site in t.granted} == {
        f"new_epoch would leave its range 0..2 in step l.1.1 (zabspec/zab.py:{line_of(zab.l_1_1)});"
        " widen it with --max-epoch"
    }


def line_of(function: Callable[..., Any]) -> int:
    """The line in which a function stores a new epoch."""
    source = Path(function.__code__.co_filename).read_text().splitlines()
    first = function.__code__.co_firstlineno
    return next(k for k in range(first, first + 20) if "s.new_epoch[l] = epoch_to_propose" in source[k - 1])


def test_one_process_never_joins_its_own_epoch_late():
    outcome = everything(usual(ONE))
    entered = frozenset().union(*(t.entered for t in outcome.taken))
    assert set(Model(ONE).program.steps) - entered == {"l.3.3", "l.3.4"}
    assert outcome.obstacles == []
    assert "epochs up to 2: a step that would begin a later epoch is not taken (--max-epoch): new_epoch would" in (
        "; ".join(outcome.granted)
    )


# A clause that is left out, a move, and the error that it then may meet.
NEEDED = [
    ("counters", "abcast(process=0)", "Txn.counter would leave its range 0..2 in abcast"),
    ("acks-in-flight", "to_follower(follower=0, leader=0) PROPOSE", "to_leader would hold more than 4"),
    ("commits-in-flight", "to_leader(leader=0, follower=0) ACK", "to_follower would hold more than 5"),
]


@pytest.mark.parametrize(("without", "label", "error"), NEEDED, ids=[w for w, _, _ in NEEDED])
def test_without_a_clause_an_error_is_not_excluded(without: str, label: str, error: str):
    weak = possible_of(ONE, without)
    taken = weak.of(move(weak, label))
    assert taken.answer is SolverAnswer.COUNTEREXAMPLE
    assert [e.startswith(error) for e in taken.errors] == [True]
    whole = usual(ONE)
    assert whole.of(move(whole, label)).errors == ()


def test_asking_for_steps_meets_no_error_with_the_clauses_or_without():
    """It asks of the connection to a leader only where there is a leader."""
    assert usual(ONE).enabled().errors == ()
    assert possible_of(ONE, clauses=False).enabled().errors == ()


def test_only_a_channel_of_a_given_size_is_an_assumption():
    small = replace(ONE, channel=1)
    cut = possible_of(small, cut=(EPOCHS, "--channel"))
    taken = cut.of(move(cut, "abcast(process=0)"))
    assert ({s.widen for s in taken.granted}, taken.errors) == ({"--channel"}, ())
    whole = possible_of(small)
    taken = whole.of(move(whole, "abcast(process=0)"))
    assert ([e.endswith("widen it with --channel") for e in taken.errors], taken.granted) == ([True], ())


# --- of protocols whose steps err, or are never taken ------------------------------------------------


def always_three(s: State, l: Node) -> int:
    return 3


def three_in_the_last_epoch(s: State, l: Node) -> int:
    t = last(s.log[l])
    if s.new_epoch[l] == 2:
        return 3
    return t.counter + 1 if t.epoch == s.new_epoch[l] else 1


def beyond_the_last_epoch(s: State, l: Node) -> int:
    return s.EPOCHS + 1


def two_epochs_on(s: State, l: Node) -> int:
    return s.new_epoch[l] + 2


def never(s: State, p: Node) -> bool:
    return False


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Configuration]:
    """Makes a configuration of zab with a function replaced."""

    def edit(**functions: Any) -> Configuration:
        made = Variant("edited", "a function replaced", functions)
        monkeypatch.setitem(PROTOCOLS["zab"].variants, "edited", made)  # type: ignore[arg-type]
        return replace(ONE, variant="edited")

    return edit


def obstacles(possible: Possible, label: str) -> list[str]:
    question = Question(possible.induction.model.configuration, ("links",))
    taken = [possible.of(move(possible, label))]
    return Outcome(question, [Verdict(clause_named("links"))], taken, unasked=1).obstacles


def test_an_abcast_that_always_overflows_is_no_proof(edited: Callable[..., Configuration]):
    """It broke nothing, since it was never taken: 61 of 61 proved."""
    counter, overflow = possible_of(edited(next_counter=always_three)), "abcast(process=0)"
    said = obstacles(counter, overflow)
    assert said[0].startswith(
        "a step can have a run-time error, and is then not taken: Txn.counter would leave its range 0..2"
    )
    assert said[1].startswith("the move abcast(process=0) can never be taken in any state")
    assert len(said) == 2


def test_an_abcast_that_overflows_in_one_epoch_is_no_proof(edited: Callable[..., Configuration]):
    (said,) = obstacles(possible_of(edited(next_counter=three_in_the_last_epoch)), "abcast(process=0)")
    assert said.startswith(
        "a step can have a run-time error, and is then not taken: Txn.counter would leave its range 0..2"
    )


@pytest.mark.parametrize("epoch", [beyond_the_last_epoch, two_epochs_on])
def test_a_step_that_exceeds_the_epochs_too_early_is_no_proof(
    edited: Callable[..., Configuration], epoch: Callable[..., Any]
):
    said = obstacles(possible_of(edited(epoch_to_propose=epoch)), "to_leader(leader=0, follower=0) CEPOCH")
    assert said[0].startswith(
        "a step can have a run-time error, and is then not taken: new_epoch would leave its range 0..2"
    )


def test_a_step_of_the_paper_that_nobody_takes_is_no_proof(edited: Callable[..., Configuration]):
    outcome = everything(possible_of(edited(may_abcast=never)))
    assert "abcast(process=0)" not in {t.move for t in outcome.taken}
    assert outcome.obstacles == ["step l.3.1 can never be taken under the clauses, so the proof does not cover it"]


def test_what_is_not_listed_is_no_proof_and_the_clause_is_named(monkeypatch: pytest.MonkeyPatch):
    label = "to_leader(leader=0, follower=0) NEWEPOCH"
    small = usual(ONE)
    monkeypatch.setattr(small, "known", {})
    said = obstacles(small, label)
    assert said == [f"the move {label} can never be taken under to-leaders, so the proof does not cover it"]
    monkeypatch.setattr(small, "known", {label: ("links",)})  # listed with a clause that does not forbid it
    assert obstacles(small, label) == said


# --- how it is told --------------------------------------------------------------------------------


def outcome_told(alone: bool = False, as_json: bool = False, **more: Any) -> tuple[int, str]:
    taken = Taken("abcast(process=0)", SolverAnswer.COUNTEREXAMPLE, entered=frozenset(Model(ONE).program.steps), **more)
    outcome = Outcome(Question(ONE, ("links",), alone=alone), [Verdict(clause_named("links"))], [taken])
    answer = publish(Inductive(outcome), as_json)
    return answer.code, answer.text(answer.code)


def test_what_stands_in_the_way_ends_with_3():
    assert outcome_told()[0] == 0
    code, text = outcome_told(errors=("x would leave its range",))
    assert code == 3
    said = " ".join(text.split())  # whose lines were folded
    assert "nothing is proved: a step can have a run-time error, and is then not taken: x would leave its range" in said
    assert "0 of 1 proved" in text
    assert text.splitlines()[1].split()[:3] == ["links", "no", "verdict"]
    content = json.loads(outcome_told(as_json=True, errors=("x would leave its range",))[1])
    assert (content["answer"], content["at_every_depth"]) == ("undecided", [])
    assert content["clauses"][0]["verdict"] == "no verdict"
    assert outcome_told(undecided=True)[0] == 3


def test_what_some_clauses_do_not_exclude_is_an_assumption():
    code, text = outcome_told(alone=True, errors=("x would leave its range",))
    assert code == 0
    assert "a step with a run-time error is not taken: x would leave its range" in " ".join(text.split())
    content = json.loads(outcome_told(alone=True, as_json=True, errors=("x would leave its range",))[1])
    assert content["at_every_depth"] == []
