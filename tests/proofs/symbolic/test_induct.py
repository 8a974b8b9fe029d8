"""Inductive invariants: what is proved, what is not, and that each can be told from the other."""

from __future__ import annotations

import copy
import itertools
import json
import multiprocessing
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import zabcheck
from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.groups import groups_of
from checker.explore.result import Limits
from checker.explore.symmetry import asymmetry
from checker.proofs.report.induction import answer_of, as_object, as_text, counterexample
from checker.proofs.requests.clauses import everything_assumed, sorted_out
from checker.proofs.symbolic import pool
from checker.proofs.symbolic.bmc import Bounded
from checker.proofs.symbolic.counterexample import rows
from checker.proofs.symbolic.enabledness import Taken
from checker.proofs.symbolic.extension import Z3Answer, inductive, z3_answers
from checker.proofs.symbolic.induction import Induction, InductionFinding, Move
from checker.proofs.symbolic.pool import LOST, Outcome, Question, Verdict, clause_named, run
from checker.proofs.symbolic.solver import SolverAnswer
from checker.report.documents import ExplorationReport
from invariants import PROPERTIES
from invariants.binding import bound
from invariants.proofs import CASES, CLAUSES, SHAPES
from invariants.registry import STEP, Property
from tests.commands.running import request_of
from tests.patience import HANG
from tests.small_protocols import SMALL
from zabspec.language.python.reference import RangeError, StateView
from zabspec.model import Configuration, Model
from zabspec.proofs.symbolic_memory import values_of
from zabspec.proofs.symbolic_terms import Term, evaluate
from zabspec.typed import read

pytestmark = pytest.mark.slow(seconds=1)  # each is small; the model that they share is not

COMMAND = (str(Path(sys.executable).parent / "zabcheck"),)
ONE = ("--nodes", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0", "--max-epoch", "1")
CONFIGURATION = Configuration(timeouts=1, crashes=1, losses=1, max_epoch=2)
JUDGED = [p for p in PROPERTIES if p.default and p.judges("zab")]


@pytest.fixture(scope="module")
def induction() -> Induction:
    first = [c.name for c in SHAPES]
    return Induction(
        Model(CONFIGURATION), CLAUSES, targets=JUDGED, first=first, cases=CASES, symmetric=True, seconds=HANG
    )


def move_of(induction: Induction, label: str) -> Move:
    return next(m for m in induction.moves if m.label == label)


# --- what is proved ------------------------------------------------------------------------------


@pytest.mark.slow(seconds=2)
def test_the_properties_follow_from_the_clauses(induction: Induction):
    findings = induction.initially() + induction.implied()
    assert {f.clause for f in findings if f.answer is not SolverAnswer.PROVED} == set()
    assert {"integrity", "agreement", "total-order", "one-leader-an-epoch", "durability"} <= {
        f.clause for f in findings
    }
    assert {f.clause for f in findings} == {c.name for c in CLAUSES} | {p.name for p in JUDGED if p.of != STEP}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    "label",
    [
        "to_leader(leader=0, follower=0) COMMIT",
        "to_follower(follower=0, leader=0) COMMIT",
    ],
)
def test_these_actions_keep_every_clause(induction: Induction, label: str):
    """The rest is in benchmarks.induct."""
    found = induction.ask(move_of(induction, label))
    assert {f.clause for f in found if f.answer is not SolverAnswer.PROVED} == set()
    assert bool(found) == ("COMMIT" not in label or "to_follower" in label)  # no follower sends a COMMIT


@pytest.mark.slow(seconds=1)
def test_one_of_the_actions_that_are_alike_is_asked_about(induction: Induction):
    labels = {m.label for m in induction.moves}
    assert {"timeout(process=0)", "oracle(process=0, leader=0)", "oracle(process=0, leader=1)"} <= labels
    assert not {label for label in labels if "process=1" in label or "leader=2" in label}
    assert asymmetry(induction.model, CLAUSES) == ""  # no clause tells processes apart


# --- what is not ---------------------------------------------------------------------------------

# A clause that is left out, an action, and a clause that is not kept by it without the first.
WEAKENED = [
    ("links", "oracle(process=0, leader=0)", "asked-to-promise"),
    ("sent-of-one-epoch", "to_follower(follower=0, leader=1) NEWLEADER", "sent-by-its-leader"),
    ("commits", "to_follower(follower=0, leader=1) COMMIT", "deliveries-chosen"),
]


def genuine(induction: Induction, finding: InductionFinding) -> bool:
    """Whether a counterexample to induction is one, in the CPython world."""
    model = induction.model
    names, layout = bound(model), model.program.layout
    before, after = StateView(layout, finding.before), StateView(layout, finding.after)
    out = [0] * (model.most_steps + 1)
    names["enabled"](before.copy(), out)
    assert finding.word & 0xFFFFFFFF in out[1 : out[0] + 1]
    for c in induction.every:
        assert names[c.holds.__name__](before), c.name
    stepped = before.copy()
    names["apply"](stepped, finding.word)
    assert stepped.key() == after.key()
    broken = next(c for c in induction.every if c.name == finding.clause)
    try:
        return not names[broken.holds.__name__](after)
    except RangeError:
        return True


def weakened(induction: Induction, without: str) -> Induction:
    """The same questions with one clause less to suppose: what is built of the model serves all of them."""
    weak = copy.copy(induction)
    weak.clauses = weak.every = tuple(c for c in induction.clauses if c.name != without)
    weak.known = {name: said for name, said in induction.known.items() if name != without}
    weak.shape = [name for name in induction.shape if name != without]
    vars(weak).pop("plain", None)
    return weak


@pytest.mark.slow
@pytest.mark.parametrize(("without", "label", "broken"), WEAKENED, ids=[w for w, _, _ in WEAKENED])
def test_a_weakened_invariant_is_rejected(induction: Induction, without: str, label: str, broken: str):
    weak = weakened(induction, without)
    (found,) = weak.ask(move_of(weak, label), [broken])
    assert (found.clause, found.answer) == (broken, SolverAnswer.COUNTEREXAMPLE)
    assert genuine(weak, found)
    shown = rows(weak, found)
    assert 1 <= len(shown) <= 40  # of some two hundred
    assert any(was != now for _, was, now in shown)


def test_with_the_clause_that_was_left_out_it_is_kept(induction: Induction):
    for _, label, broken in WEAKENED[:1]:
        assert all(f.answer is SolverAnswer.PROVED for f in induction.ask(move_of(induction, label), [broken]))


# --- the same in every world -----------------------------------------------------------------------


def some_states(model: Model) -> list[bytes]:
    """States of runs, and what becomes of some of them when bytes of theirs are changed."""
    names = bound(model)
    states = []
    s = model.program.initial()
    number = 12345
    for _ in range(100):
        out = [0] * (model.most_steps + 1)
        names["enabled"](s.copy(), out)
        words = [w for w in out[1 : out[0] + 1] if w >> 24 not in (7, 8)] or out[1 : out[0] + 1]
        if not words:
            s = model.program.initial()
            continue
        number = number * 1103515245 + 12345 & 0x7FFFFFFF
        step = s.copy()
        try:
            names["apply"](step, words[number % len(words)])
        except RangeError:
            continue
        s = step
        states.append(s.key())
    return states[::32]


@pytest.mark.slow(seconds=7)
def test_clauses_taken_apart_say_what_they_say_in_python(induction: Induction):
    model = induction.model
    names, layout = bound(model), model.program.layout
    state = induction.transition.state
    variables = {v: key for key, v in state.items() if isinstance(v, Term)}
    said: set[tuple[str, bool]] = set()
    for data in some_states(model):
        for change in ((), (("role", 0),), (("to_follower", 0),), (("promised_epoch", 1),), (("history", 2),)):
            s = StateView(layout, data)
            for field, p in change:
                at = dict(layout.elements(field))[p,]
                raw = bytearray(s.key())
                size = layout.fields[field].kind.size
                raw[at : at + size] = bytes(size)
                s = StateView(layout, bytes(raw))
            held = values_of(layout, s.key())
            known = {v: held[key] for v, key in variables.items()}
            for made, term in induction.views.means.items():
                known[made] = evaluate(term, known)
            for c in CLAUSES:
                value = all(evaluate(term, known) for term in induction.known[c.name])
                try:
                    assert value == bool(names[c.holds.__name__](s)), c.name
                except RangeError:
                    continue
                said.add((c.name, value))
    assert len({n for n, value in said if not value}) > 7  # both answers are met
    assert {n for n, value in said if value} == {c.name for c in CLAUSES}


@pytest.mark.slow(seconds=2)
def test_the_explorer_confirms_every_clause():
    """With faults on one channel each way; on random ways through larger spaces, `test_clauses.py`."""
    configuration = Configuration(nodes=2, txns=1, timeouts=1, crashes=1, losses=0)
    for group in groups_of(CLAUSES):
        found = Explorer(Compiled.of(Model(configuration), group, True)[0], 1).run(Limits(), keep_going=True)
        assert found.complete
        assert found.violations == {}


# --- the command -----------------------------------------------------------------------------------


def ask(*args: str) -> Result:
    return CliRunner().invoke(main, ["induct", *args])


def answered(*args: str) -> tuple[int, str]:
    done = ask(*args)
    return done.exit_code, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_property_alone_is_not_inductive_which_is_no_violation():
    code, text = answered(*ONE, "--clause", "agreement", "--assume", "none")
    assert code == 1
    assert "agreement  not inductive" in text
    assert "agreement is not inductive: Agreement (III.A)" in text
    assert "violat" not in text
    assert "assumptions: 1 process" in text
    assert text.splitlines()[-1].startswith("only agreement checked: 0 of 1 kept by every step; ")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_with_what_it_needs_it_is_proved_and_json_says_so():
    code, text = answered(
        "--clause", "links,leads-itself", "--json", "--processes", "1",
        "--nodes", "1", "--txns", "1", "--max-epoch", "1",
    )  # fmt: skip
    content = json.loads(text)
    others = [c.name for c in CLAUSES if c.name not in ("links", "leads-itself")]
    assert (code, content["answer"], content["requested_clauses"]) == (0, "kept", ["links", "leads-itself"])
    assert [(c["clause"], c["verdict"]) for c in content["clauses"]] == [("links", "kept"), ("leads-itself", "kept")]
    assert content["assumed_clauses"] == others
    assert content["at_every_depth"] == content["no_verdict_because"] == []
    assert content["sentence"] == (
        f"kept; only links, leads-itself checked: 2 of 2 kept by every step, assuming {len(others)} others that were "
        "not checked"
    )
    assert any("epochs up to 1" in a for a in content["assumptions"])


@pytest.mark.slow(seconds=2)
def test_a_clause_that_a_wrong_variant_breaks_fails_when_checked_alone() -> None:
    """Given all others; of the text itself the same move keeps it."""
    variant, clause, label = "commit-on-propose", "commits", "abcast(process=0)"
    configuration = Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0, max_epoch=2)
    others = tuple(c.name for c in CLAUSES if c.name != clause)
    answers = {}
    for name in (variant, ""):
        question = Question(replace(configuration, variant=name), (clause,), others, chosen=True)
        asked = pool.induction(question)
        found = asked.ask(move_of(asked, label))  # nothing: it keeps the clause without a query
        answers[name] = found[0].answer if found else SolverAnswer.PROVED
        if name:
            assert genuine(asked, found[0])
    assert answers == {variant: SolverAnswer.COUNTEREXAMPLE, "": SolverAnswer.PROVED}


def told(holds: bool = True, obstacle: str = "", targets: tuple[str, ...] = ()) -> tuple[str, dict[str, Any], int]:
    """What the command says of an answer about one clause, as text, as JSON, and its exit code."""
    others = tuple(c.name for c in CLAUSES[1:])
    question = Question(CONFIGURATION, (CLAUSES[0].name,), others, targets, chosen=True)
    verdicts = [Verdict(c, follows=c.name in targets) for c in question.named(question.asked)]
    if not holds:
        verdicts[0].failing = InductionFinding(CLAUSES[0].name, "timeout(process=0)", SolverAnswer.COUNTEREXAMPLE, 0.0)
    entered = frozenset(Model(CONFIGURATION).program.steps)
    taken = Taken(
        "crash(process=0)", SolverAnswer.COUNTEREXAMPLE, entered=entered, errors=(obstacle,) if obstacle else ()
    )
    outcome = Outcome(question, verdicts, [taken])
    word, code = answer_of(outcome)
    return as_text(outcome), as_object(outcome, word), code


def test_what_is_kept_of_some_clauses_never_reads_as_if_all_were_proved() -> None:
    text, content, code = told(targets=("agreement",))
    assert code == 0
    assert f"only links, agreement checked: 2 of 2 kept by every step, assuming {len(CLAUSES) - 1}" in joined(text)
    assert f"assumed, not checked: the {len(CLAUSES) - 1} other clauses, listed by" in joined(text)
    assert "proved" not in text
    assert [line.split()[:2] for line in text.splitlines()[1:3]] == [["links", "kept"], ["agreement", "follows"]]
    assert (content["answer"], content["at_every_depth"]) == ("kept", [])
    assert "proved" not in json.dumps(content)


def test_what_is_not_kept_of_some_clauses_or_left_out_is_no_pass() -> None:
    text, content, code = told(holds=False)
    assert (code, content["answer"]) == (1, "not inductive")
    assert "only links checked: 0 of 1 kept by every step" in text
    text, content, code = told(obstacle="x would leave its range")
    assert (code, content["answer"], content["clauses"][0]["verdict"]) == (3, "undecided", "no verdict")
    assert (
        "nothing is proved: a step can have a run-time error, and is then not taken: x would leave its range"
        in joined(text)
    )
    assert "only links checked: 0 of 1 kept by every step" in text


def joined(text: str) -> str:
    """A text whose lines were folded, in one."""
    return " ".join(text.split())


def test_what_is_asked_about_and_what_is_assumed() -> None:
    """All others, unless one says which."""

    def sorted_of(*words: str) -> tuple[list[list[str]], bool]:
        request = request_of("induct", *words)
        return [[c.name for c in found] for found in sorted_out(request, CONFIGURATION)], everything_assumed(request)

    def all_but(*names: str) -> list[str]:
        return [c.name for c in CLAUSES if c.name not in names]

    assert sorted_of() == ([all_but(), [], [p.name for p in JUDGED]], True)
    assert sorted_of("--clause", "counters") == ([["counters"], all_but("counters"), []], True)
    assert sorted_of("--clause", "counters", "--assume", "all") == sorted_of("--clause", "counters")
    assert sorted_of("--clause", "agreement") == ([[], all_but(), ["agreement"]], True)
    assert sorted_of("--clause", "agreement", "--assume", "none") == ([["agreement"], [], []], False)
    some = sorted_of("--clause", "links,counters", "--assume", "commits, agreement")
    assert some == ([["links", "counters"], ["commits", "agreement"], []], False)
    assert sorted_of("--clause", "links", "--without", "commits")[0][1] == all_but("links", "commits")


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("in_this_process")
def test_what_one_step_breaks_several_may_not():
    """Two may (test_second_opinion.py has a clause that they break)."""
    code, text = answered(*ONE, "--clause", "waits-with-cepoch", "--assume", "links", "--k", "3")
    assert code == 0
    assert "k-inductive (k = 3)" in text.splitlines()[1]


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("in_this_process")
def test_a_property_of_steps_is_not_asked_of_several():
    alone = ("--clause", "invariant-1", "--assume", "none")
    code, text = answered(*ONE, *alone, "--k", "2", "--query-limit", "1e300")
    assert "Traceback" not in text
    assert (code, text.splitlines()[1].split()[:3]) == (1, ["invariant-1", "not", "inductive"])


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("in_this_process")
def test_what_supposes_an_open_clause_is_not_said_of_every_depth():
    alone = ("--clause", "waits-with-one", "--clause", "links", "--assume", "none")
    code, text = answered(*ONE, *alone)
    assert code == 1
    assert "each proved or following clause assumes waits-with-one, which is not proved" in joined(text)


def test_a_process_that_dies_leaves_its_question_undecided(monkeypatch: pytest.MonkeyPatch):
    real = multiprocessing.active_children
    calls = itertools.count()

    def children() -> list[Any]:
        if next(calls) == 2:  # the first two are made before anything is asked
            process = real()[0]
            process.kill()
            process.join()
        return real()

    monkeypatch.setattr(multiprocessing, "active_children", children)
    question = Question(Configuration(nodes=2, txns=1, timeouts=1, max_epoch=2), ("links",))
    verdicts = run(question, jobs=1, time_limit=HANG).verdicts
    assert [v.word for v in verdicts] == ["undecided"]
    assert verdicts[0].undecided[0] == LOST


@pytest.mark.usefixtures("in_this_process")
def test_a_channel_that_is_too_small_makes_nothing_inductive():
    # commit-on-propose sends two messages where one fits: all that it breaks lies beyond such a step
    small = Configuration(variant="commit-on-propose", nodes=2, txns=1, timeouts=0, crashes=0, losses=0, channel=1)
    assert inductive(small, [clause_named("delivered-is-chosen")], 200.0, 1) == (set(), ())


def test_what_bounded_checking_breaks_is_said(monkeypatch: pytest.MonkeyPatch):
    p = clause_named("agreement")
    monkeypatch.setattr("checker.proofs.symbolic.extension.inductive", lambda *_: (set(), ()))
    monkeypatch.setattr("checker.proofs.symbolic.bmc.check_in_time", lambda *_: Bounded(11, (p,), (), 12))
    other = clause_named("integrity")
    said = z3_answers(Configuration(), [p, other], 1.0, 1)
    beyond, unknown = (
        "violated beyond: `zabcheck bmc --depth 12` finds it",
        "it is not known whether its premise is reached",
    )
    assert said["agreement"].text == f"holds for 11 steps, and {unknown}, {beyond}"
    assert said["integrity"].text == f"holds for 11 steps, and {unknown}"
    assert replace(said["agreement"], premise=False).text == f"premise not reached within 11 steps, {beyond}"
    assert replace(said["integrity"], premise=True).text == "holds for 11 steps"
    monkeypatch.setattr(
        "checker.proofs.symbolic.bmc.check_in_time", lambda *_: Bounded(60, left_range="x would leave its range")
    )
    assert z3_answers(Configuration(), [p], 1.0, 1)["agreement"].text == "undecided"


@pytest.mark.parametrize("met", [{"steps": 11, "broken": 12}, {"interrupted": True}])
def test_what_z3_meets_beyond_the_exploration_is_no_pass(monkeypatch: pytest.MonkeyPatch, met: dict[str, Any]):
    """The exploration held; a violation deeper than that is not written down, and an interrupt is no verdict."""
    flags = ("--nodes", "1", "--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0", "--symbolic", "9")

    def said(
        configuration: Configuration, properties: list[Property], seconds: float, jobs: int
    ) -> dict[str, Z3Answer]:
        if "interrupted" in met:
            raise KeyboardInterrupt
        return {p.name: Z3Answer("bounded", **met) for p in properties}

    monkeypatch.setattr("checker.proofs.symbolic.extension.z3_answers", said)
    assert CliRunner().invoke(main, list(flags)).exit_code == 3
    monkeypatch.setattr(
        "checker.proofs.symbolic.extension.z3_answers", lambda c, ps, *_: {p.name: Z3Answer("bounded", 11) for p in ps}
    )
    assert CliRunner().invoke(main, list(flags)).exit_code == 0


def test_a_bound_says_holds_only_of_what_it_puts_to_the_test(monkeypatch: pytest.MonkeyPatch):
    """What an exploration knows of a premise, by the depth it is reached at and how far all states were seen."""
    small: dict[str, Any] = {"nodes": 1, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}
    judged = ("one-primary-an-epoch", "integrity")
    at = zabcheck.explore(**small, properties=judged).exploration.witnessed
    monkeypatch.setattr("checker.proofs.symbolic.extension.inductive", lambda *_: (set(), ()))
    monkeypatch.setattr("checker.proofs.symbolic.bmc.check_in_time", lambda *_: Bounded(at["integrity"] - 1))
    for depth in (at["integrity"] - 2, at["integrity"] - 1, None):
        said = zabcheck.explore(**small, properties=judged, depth=depth, symbolic=1.0).symbolic
        assert said["one-primary-an-epoch"].text == f"holds for {at['integrity'] - 1} steps"
        unknown = depth == at["integrity"] - 2
        assert said["integrity"].premise is (None if unknown else False)
        assert said["integrity"].text.startswith("holds for" if unknown else "premise not reached within")


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_symbolic_adds_to_the_report_of_an_exploration(tmp_path: Path):
    path = tmp_path / "small.py"
    path.write_text(SMALL["as it is"].text, encoding="utf-8")
    found = CliRunner().invoke(main, ["--protocol", str(path), "--symbolic", "100", "--json"])
    assert found.exit_code == 0
    report = json.loads(found.output)
    read(report, ExplorationReport)
    assert [p["symbolic"]["verdict"] for p in report["properties"] if p["name"] == "low"] == ["inductive"]


@pytest.mark.slow
def test_out_of_time_is_undecided():
    code, text = answered("--time-limit", "0.001", "--processes", "1", "--nodes", "2", "--txns", "1")
    assert code == 3
    assert "undecided" in text
    assert "not inductive" not in text


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--clause", "linkz"], "there is no clause 'linkz'; did you mean links"),
        (["--without", "zyxwvu"], "`zabcheck induct --list` lists them"),
        (["--assume", "links"], "--assume needs --clause"),
        (["--clause", "links,linkz"], "there is no clause 'linkz'; did you mean links"),
        (["--clause", "links,"], "there is no clause ''; `zabcheck induct --list` lists them"),
        (["--clause", "links", "--clause", "links"], "--clause links is given twice"),
        (["--clause", "links,links"], "--clause links is given twice"),
        (["--clause", "links", "--assume", "all", "--assume", "rolez"], "there is no clause 'rolez'"),
        (["--clause", "links", "--assume", "none,counters"], "--assume none contradicts --assume counters"),
        (["--clause", "links", "--without", "links"], "--without links contradicts"),
        (["--clause", "links", "--assume", "commits", "--without", "commits"], "--without commits contradicts"),
        (["--depth", "3"], "--depth is for --confirm"),
        (["--confirm", "--seed", "3"], "--seed does not go with --confirm"),
        (["--confirm", "--k", "2"], "--k does not go with --confirm"),
        (["--confirm", "--require-witness"], "--require-witness does not go with --confirm"),
        (["--query-limit", "0"], "must be a number of seconds above 0"),
        (["--nodes", "9"], "--nodes must be 1 to 7"),
        (["--variant", "nope"], "there is no variant 'nope'"),
    ],
)
def test_a_wrong_question_is_one_sentence(args: list[str], sentence: str):
    result = ask(*args)
    assert result.exit_code == 2
    assert sentence in result.output
    assert len(result.output.splitlines()) == 1


def test_the_list_says_what_every_clause_says():
    text = ask("--list").output
    begun = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert begun == [c.name for c in CLAUSES]
    assert all(c.statement in joined(text) for c in CLAUSES)
    assert max(map(len, text.splitlines())) <= 80
    rows = json.loads(ask("--list", "--json").output)
    assert [(r["clause"], r["source"]) for r in rows] == [(c.name, c.source) for c in CLAUSES]


@pytest.mark.slow(seconds=2)
def test_confirm_explores():
    """Once for each group of clauses that an exploration can judge."""
    chosen = CLAUSES[: len(groups_of(CLAUSES)[0]) + 1]
    names = ",".join(c.name for c in chosen)
    result = ask("--confirm", "--timeouts", "0", "--crashes", "0", "--losses", "0", "--clause", names)
    assert result.exit_code == 0
    assert f"{len(chosen)} clauses hold in every reachable state (5,098 of them)" in result.output


@pytest.mark.slow(seconds=1)
def test_confirm_that_ends_before_its_depth_is_no_verdict(monkeypatch: pytest.MonkeyPatch):
    """It says how far it got, and not that every state to the depth asked for was looked at."""

    def late(self: Explorer) -> bool:
        if len(self.result.levels) > 3:
            self.result.stopped = "--time-limit 1 s reached"
        return bool(self.result.stopped)

    monkeypatch.setattr(Explorer, "cut_short", late)
    budgets = ("--timeouts", "0", "--crashes", "0", "--losses", "0", "--clause", "commits")
    result = ask("--confirm", *budgets, "--depth", "9", "--time-limit", "1")
    assert result.exit_code == 3
    said = " ".join(result.output.split())
    assert re.search(r"no verdict: --time-limit 1 s reached after \d+ states; .* every state up to depth 2$", said)
    assert ask("--confirm", *budgets, "--depth", "2").exit_code == 0


@pytest.mark.slow(seconds=1)
def test_confirm_finds_what_is_no_invariant():
    # a leader that commits what it proposes reaches states that the clauses of zab exclude
    budgets = ("--timeouts", "0", "--crashes", "0", "--losses", "0", "--clause", "commits")
    result = ask("--confirm", "--variant", "commit-on-propose", *budgets)
    assert result.exit_code == 1
    assert "is False in a reachable state" in result.output


@pytest.mark.slow
def test_several_processes_give_the_answers_of_one(tmp_path: Path):
    path = tmp_path / "small.py"
    path.write_text(SMALL["three alternatives"].text, encoding="utf-8")
    question = Question(Configuration(str(path), nodes=2), ("low",))
    words = [[(v.clause.name, v.word) for v in run(question, jobs).verdicts] for jobs in (1, 2)]
    assert words == 2 * [[("low", "proved")]]


def test_a_counterexample_left_for_lack_of_time_is_reported_as_one() -> None:
    finding = InductionFinding(CLAUSES[0].name, "timeout(process=0)", SolverAnswer.COUNTEREXAMPLE, 0.0)
    lines = counterexample(Verdict(CLAUSES[0], failing=finding))
    assert lines[0].startswith(f"{CLAUSES[0].name} is not inductive: ")
    assert lines[1:] == ["no time was left to find which fields of the counterexample matter"]
