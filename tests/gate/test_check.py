"""The gate: what it says of a matrix, for each way in which what is found is, or is not, what was to be found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from checker.ci import running
from checker.ci.configuration import read_matrix
from checker.cli import main
from checker.commands.init import START
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce import narrowing
from checker.explore.result import Limits
from checker.report import progress
from checker.report.result import Counterexample
from invariants import properties_of
from tests.small_protocols import SMALL
from zabspec.model import Configuration, Model

# Two-phase commit as `zabcheck init` writes it, two processes, in plain Python: 474 states, nothing is compiled.
DEFAULTS = """
[defaults]
protocol = "tpc.py"
nodes = 2
crashes = 0
engine = "interpret"
symmetry = false
"""
SOURCE = 'source = "Gray 1978"'
HOLDS = f'verdict = "holds", {SOURCE}'
BREAKS = f'verdict = "violated", violated = {{ agreement = 5 }}, {SOURCE}'
HASTY = 'variant = "hasty"'
SLOW = "max_states = 5"

Gate = Callable[..., Result]


def one(expect: str = HOLDS, *options: str, name: str = "tpc") -> str:
    """A check, as the file has it."""
    return "\n".join(["[[check]]", f'name = "{name}"', *options, f"expect = {{ {expect} }}", ""])


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Runs `zabcheck check` on a matrix in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tpc.py").write_text(f"{START.read_text()}\n# {tmp_path}\n")  # each text is read where it lies

    def run(text: str | None, *words: str, head: str = "") -> Result:
        if text is not None:
            Path("zabcheck.toml").write_text(f"{head}{DEFAULTS}\n{text}")
        result = CliRunner().invoke(main, ["check", *words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


def files_of(gate: Gate, *text: str, **more: str) -> tuple[Result, dict[str, Any], ElementTree.Element]:
    """The command, its JSON and its JUnit file."""
    words = ("--json", "--junit", "j.xml")
    result = gate("\n".join(text), *words, **more)
    answer = json.loads(result.stdout)
    assert answer["exit_code"] == result.exit_code
    return result, answer, ElementTree.parse("j.xml").getroot()


# --- codes and files ---------------------------------------------------------------------------


def test_it_holds(gate: Gate) -> None:
    figures = "depth = 8, states = 108, raw = 108, exhausted = true, premises = { agreement = 6 }"
    result, answer, suites = files_of(gate, one(f"{HOLDS}, {figures}"))
    assert result.exit_code == 0, result.stdout
    assert answer["sentence"] == "as expected: 1 of 1 check; zabcheck.toml"
    assert answer["checks"][0]["status"] == "as expected"
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("1", "0", "0")


def test_a_new_violation(gate: Gate) -> None:
    result, answer, suites = files_of(gate, one(HOLDS, HASTY))
    assert result.exit_code == 1
    assert answer["checks"][0]["differences"][0] | {"says": ""} == {
        "what": "violated", "name": "agreement", "depth": 5, "says": "",
    }  # fmt: skip
    failure = suites.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "agreement is violated at depth 5, and is expected to hold"
    assert "agreement is violated after 5 steps." in str(failure.text)


def test_a_violation_that_vanished(gate: Gate) -> None:
    result, answer, suites = files_of(gate, one(BREAKS))
    assert result.exit_code == 1
    assert answer["checks"][0]["differences"][0]["what"] == "vanished"
    assert suites.find(".//failure") is not None


def test_a_premise_lost(gate: Gate) -> None:
    result, answer, _ = files_of(gate, one(HOLDS, "budgets = { begins = 0, refusals = 0 }"))
    assert result.exit_code == 1
    assert answer["checks"][0]["differences"][0]["what"] == "premise lost"
    said = answer["checks"][0]["differences"][0]["says"]
    assert "the premise of agreement is not reached, and was expected to be" in said


def test_a_budget_that_is_exhausted(gate: Gate) -> None:
    result, answer, suites = files_of(gate, one(HOLDS, SLOW))
    assert result.exit_code == 3
    assert answer["checks"][0]["status"] == "no verdict"
    assert "--max-states 5 reached" in answer["checks"][0]["reasons"][0]
    assert suites.get("errors") == "1"


def test_a_bad_configuration_writes_no_file(gate: Gate) -> None:
    result = gate(one(HOLDS, "nods = 3"), "--json", "--junit", "j.xml")
    assert result.exit_code == 2
    sentence = "zabcheck.toml: check tpc: there is no key 'nods'; did you mean nodes or rounds or seconds?"
    assert json.loads(result.stdout)["error"] == sentence
    assert json.loads(result.stdout)["exit_code"] == 2
    assert result.stderr == f"zabcheck: {sentence}\n"
    assert not Path("j.xml").exists()


# --- both ways: what is compared differs where the figure does ---------------------------------


def test_without_a_terminal_progress_is_a_line_now_and_then(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SELDOM", 0.0)
    result = gate(one(HOLDS, SLOW) + one(HOLDS, SLOW, HASTY, name="hasty"))
    said = [line for line in result.stderr.splitlines() if " of 2)" in line]
    assert said == ["zabcheck: tpc (1 of 2)", "zabcheck: hasty (2 of 2)"]


# --- what is shared ----------------------------------------------------------------------------


def test_one_exploration_serves_the_checks_that_ask_the_same(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    from checker.requests import explore

    asked: list[list[str]] = []
    real = explore.explored

    def counted(model: Any, judged: Any, *more: Any) -> Any:
        asked.append([p.name for p in judged])
        return real(model, judged, *more)

    monkeypatch.setattr(running, "explored", counted)
    options = ('protocol = "zab"', "txns = 1", "timeouts = 0", "losses = 0", "depth = 21", "keep_going = true")
    half = ('variant = "small-quorum"', *options)
    text = (
        one(f"{HOLDS}, premises = ['integrity']", 'properties = ["integrity"]', *half, name="kept")
        + one(f'verdict = "violated", violated = {{ durability = 11 }}, {SOURCE}', 'properties = ["durability"]', *half)
        + one(f"{HOLDS}, premises = ['integrity']", 'properties = ["integrity"]', *options, name="whole")
    )
    result = gate(text)
    assert result.exit_code == 0, result.stdout
    assert asked == [["integrity", "durability"], ["integrity"]]


@pytest.mark.parametrize(("keep_going", "groups"), [("true", 1), ("false", 2)])
def test_checks_that_end_at_a_violation_share_only_equal_properties(gate: Gate, keep_going: str, groups: int) -> None:
    """What one of them judges would end the exploration of the other."""
    text = "".join(
        one(
            f"{HOLDS}, premises = []", 'protocol = "zab"', f'properties = ["{p}"]', f"keep_going = {keep_going}", name=p
        )
        for p in ("integrity", "agreement")
    )
    gate(text, "--only", "nothing")
    matrix = read_matrix(Path("zabcheck.toml"))
    assert len({a.key for a in running.asked_by(matrix, matrix.checks)}) == groups


ORDERED = '''@safety(witness=up)
def ordered(s: State) -> bool:
    """Nobody before another is above 3."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            if p < q and s.level[p] > 3:
                return False
    return True


'''


@pytest.mark.slow(seconds=2)
def test_a_check_has_the_same_answer_in_any_company(gate: Gate) -> None:
    """A property that distinguishes processes turns symmetry off, for its own check alone."""
    text = SMALL["as it is"].text.replace("PROTOCOL =", ORDERED + "PROTOCOL =")
    Path("small.py").write_text(text)
    given = ('protocol = "small.py"', "keep_going = true", "symmetry = true", 'engine = "compiled"')
    checks = {name: one(HOLDS, f'properties = ["{name}"]', *given, name=name) for name in ("low", "ordered")}

    def states(text: str) -> dict[str, int]:
        result = gate(text, "--json")
        assert result.exit_code == 0, result.stdout
        return {c["name"]: c["result"]["states"] for c in json.loads(result.stdout)["checks"]}

    together = states("".join(checks.values()))
    assert together == states(checks["low"]) | states(checks["ordered"])
    assert together["low"] < together["ordered"]


@pytest.mark.slow(seconds=1)
def test_a_violation_whose_run_does_not_replay_is_none(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    from checker.requests.base import counterexamples

    wrong = Counterexample(trouble="it does not replay: a bug of zabcheck", replayed=False)
    monkeypatch.setattr(counterexamples, "counterexample", lambda *given: wrong)
    for expect in (BREAKS, HOLDS):
        result = gate(one(expect, HASTY), "--json")
        found = json.loads(result.stdout)["checks"][0]
        assert result.exit_code == 3, result.stdout
        assert found["result"]["violated"] == {}
        assert "it does not replay: a bug of zabcheck" in found["reasons"]


@pytest.mark.slow(seconds=3)
def test_a_saved_run_is_replayed_and_judged_at_each_of_its_states(gate: Gate, tmp_path: Path) -> None:
    saved = Path(__file__).parents[1] / "data/saved/agreement.trace.json"
    (tmp_path / "run.trace.json").write_bytes(saved.read_bytes())
    options = ('protocol = "zab"', 'engine = "replay"', 'trace = "run.trace.json"')
    expect = f'verdict = "violated", violated = {{ delivered-is-chosen = 11, durability = 11 }}, {SOURCE}'
    assert gate(one(expect, *options), head="").exit_code == 0
    found = json.loads(
        gate(one(expect.replace("durability = 11", "durability = 9"), *options), "--json", head="").stdout
    )
    assert [d["name"] for d in found["checks"][0]["differences"]] == ["durability"]
    assert gate(one(HOLDS, *options, 'properties = ["integrity"]'), head="").exit_code == 0
    assert gate(one(HOLDS, *options), head="").exit_code == 1
    for more, said in {
        "nodes = 2": "a saved run has its own nodes: omit it",
        "depth = 2": "a saved run has its own depth: omit it",
        'properties = ["agrement"]': "did you mean agreement?",
    }.items():
        assert said in gate(one(HOLDS, *options, more), head="").stderr, more
    for wrong, said in {
        ('engine = "replay"',): "names the trace of a saved run",
        ('trace = "run.trace.json"',): "names the trace of a saved run",
        ('protocol = "ladis"', *options[1:]): "is a run of zab, not of ladis",
        (*options[:2], 'trace = "none.json"'): "none.json",
    }.items():
        done = gate(one(HOLDS, *wrong), head="")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), wrong
        assert said in done.stderr, wrong
    (tmp_path / "run.trace.json").write_text(saved.read_text().replace("CEPOCH", "ACK"))
    assert gate(one(expect, *options), head="").exit_code == 2


def test_after_an_interrupt_the_rest_is_not_run_and_there_is_no_verdict(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = running.answers, []

    def interrupted(group: Any, shared: Any) -> Any:
        calls.append(group[0].check.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(group, shared)

    monkeypatch.setattr(running, "answers", interrupted)
    result = gate(one() + one(HOLDS, "depth = 3", name="second") + one(HOLDS, "depth = 4", name="third"), "--json")
    assert result.exit_code == 3
    assert calls == ["tpc", "second"]
    assert [c["status"] for c in json.loads(result.stdout)["checks"]] == ["as expected", "no verdict", "no verdict"]


# --- elsewhere ---------------------------------------------------------------------------------


def test_github_gets_annotations_at_the_handler(gate: Gate) -> None:
    text = one(HOLDS, HASTY, name="hasty") + one(BREAKS, name="gone") + one(HOLDS, SLOW, name="cut")
    result = gate(text, "--github")
    assert result.exit_code == 1
    lines = [line for line in result.stdout.splitlines() if line.startswith("::")]
    assert lines[0].startswith("::error file=tpc.py,line=")
    assert "title=hasty%3A violated::agreement is violated at depth 5" in lines[0]
    assert lines[1].startswith("::error file=zabcheck.toml,line=")
    assert "title=gone%3A vanished" in lines[1]
    assert lines[2].startswith("::warning file=zabcheck.toml,line=")
    assert len(lines) == 3


def test_counterexamples_to_what_is_new_are_saved(gate: Gate) -> None:
    Path("out").mkdir()
    gate(one(HOLDS, HASTY, name="new") + one(BREAKS, HASTY, name="expected"), "--traces", "out")
    assert [path.name for path in Path("out").iterdir()] == ["new-agreement.trace.json"]
    again = CliRunner().invoke(main, ["replay", "out/new-agreement.trace.json"])
    assert again.exit_code == 0, again.output


def test_json_says_that_a_run_could_not_be_saved(gate: Gate) -> None:
    Path("out/new-agreement.trace.json").mkdir(parents=True)
    result = gate(one(HOLDS, HASTY, name="new"), "--traces", "out", "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["exit_code"]) == (3, 3)
    assert said["error"] == "cannot write out/new-agreement.trace.json: this is not a regular file"
    assert f"zabcheck: {said['error']}" in result.stderr.splitlines()


def test_a_file_that_cannot_be_written_is_no_success(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.ending.write_file", lambda path, *_: f"cannot write {path}: No space left on device")
    result = gate(one(), "--junit", "j.xml")
    assert result.exit_code == 3
    assert "No space left" in result.stderr


@pytest.mark.slow(seconds=3)
def test_a_large_space_is_counted_whole(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check expects is counts and depths of all states: no reduction begins, however large the space is.
    (The gallery's entries of more than 500,000 states were reduced, and differed.)"""
    monkeypatch.setattr(narrowing, "SMALL", 100)
    size = (
        'protocol = "zab"',
        "txns = 1",
        "timeouts = 1",
        "losses = 0",
        'engine = "compiled"',
        "symmetry = true",
        'properties = ["integrity"]',
    )
    c = Configuration("zab", nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
    judged = [p for p in properties_of("zab") if p.name == "integrity"]
    whole = Explorer(Compiled.of(Model(c), judged, True)[0], 1).run(Limits())
    assert whole.complete
    assert whole.distinct > 500
    exact = f'verdict = "holds", exhausted = true, states = {whole.distinct}, depth = {whole.depth}, source = "counted"'
    result = gate(one(exact, *size), "--json")
    assert result.exit_code == 0, result.stdout


def test_a_check_without_its_second_opinion_says_so(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "second opinion" not in gate(one()).output

    def lacks(*_: object) -> None:
        raise NotImplementedError("no such construct")

    monkeypatch.setattr("zabspec.second.own.configure.user_model", lacks)
    said = " ".join(gate(one()).output.split())
    assert "tpc: no second opinion: the second semantics does not run it: NotImplementedError" in said
    assert "second opinion" not in gate(one(HOLDS, 'second_opinion = "none"')).output
