"""Premises that are not reached: what may be required, and which command reaches them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import Result

from checker.ci.shipped import measured
from checker.explore.result import Exploration, Limits
from checker.report.report import Explored
from tests.commands.running import TINY, run
from tests.models import judged
from zabspec.model import Configuration


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdicts(result: Result) -> dict[str, str]:
    return {p["name"]: p["verdict"] for p in json.loads(result.stdout)["properties"]}


# --- --require-witness -----------------------------------------------------------------------------


def test_a_vacuous_run_is_no_verdict_where_a_witness_is_required() -> None:
    """`--depth 4` reaches no premise at all; the sentence says which were required."""
    flags = (*TINY, "--depth", "4")
    assert run(*flags).exit_code == 3
    for required in (
        ("--require-witness",),
        ("--require-witness", "all"),
        ("--require-witness", "agreement,integrity"),
    ):
        result = run(*flags, *required)
        assert result.exit_code == 3, required
        assert result.stdout.startswith("no verdict: --require-witness: not put to the test: "), required
    report = json.loads(run(*flags, "--json", "--require-witness").stdout)
    assert (report["verdict"], report["exit_code"]) == ("no verdict", 3)
    assert report["required"] == sorted(p.name for p in judged("zab"))


def test_a_premise_that_is_named_is_required_and_no_other() -> None:
    """Of two processes and a transaction: integrity is put to the test, agreement is not."""
    assert run(*TINY, "--require-witness", "integrity").exit_code == 0
    assert run(*TINY, "--require-witness", "integrity,agreement").exit_code == 3
    twice = run(*TINY, "--require-witness", "integrity", "--require-witness", "agreement")
    assert twice.exit_code == 3
    assert "not put to the test: agreement; no violation found" in " ".join(twice.stdout.split())


def test_a_premise_that_is_not_judged_cannot_be_required() -> None:
    for flags in (("--require-witness", "agrement"), ("--property", "integrity", "--require-witness", "agreement")):
        result = run(*TINY, *flags)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "no such property is checked" in result.stderr
    assert "did you mean agreement" in run(*TINY, "--require-witness", "agrement").stderr


def test_a_violation_is_one_whatever_was_required() -> None:
    broken = (*TINY, "--variant", "small-quorum", "--no-trace", "--require-witness")
    assert run(*broken).exit_code == 1
    assert run(*broken, "--keep-going").exit_code == 1


def test_what_was_required_and_not_reached_is_an_error_in_the_junit_file(folder: Path) -> None:
    run(*TINY, "--require-witness", "agreement", "--junit", "out.xml")
    text = Path("out.xml").read_text()
    assert text.count("<error ") == 1
    assert 'errors="1"' in text


# --- what reaches them -----------------------------------------------------------------------------


def command_in(text: str) -> list[str]:
    """The command that reaches premises, as a report has it."""
    found = re.search(r" by:\n((?:  .*\n)+)", text)
    assert found is not None, text
    return shlex.split(found[1].replace("\\\n", " "))[1:]


@pytest.mark.slow(seconds=1)
def test_the_command_of_a_report_reaches_what_was_not_reached() -> None:
    small = run(*TINY, "--json")
    missing = {name for name, verdict in verdicts(small).items() if verdict == "premise not reached"}
    assert missing
    again = run(*command_in(run(*TINY).stdout), "--json", "--require-witness")
    assert again.exit_code == 0
    assert {verdicts(again)[name] for name in missing} == {"holds"}
    (way,) = json.loads(small.stdout)["to_reach"]
    assert way["argv"][1:] == command_in(run(*TINY).stdout)
    assert (set(way["premises"]), way["seconds"] > 0) == (missing, True)
    assert way["leaves_out"] == []  # there are no faults
    assert json.loads(again.stdout)["to_reach"] == []


def report_of(configuration: Configuration) -> Explored:
    nothing = Exploration(judged(configuration.protocol), levels=[1], expanded_levels=1, complete=True)
    return Explored(nothing, configuration, Limits(), 1, (1, 1))


@pytest.mark.slow(seconds=1)
def test_the_recorded_expectations_say_what_asks_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps: the advice names a command whose recorded cost is the gallery's, and which meets every premise."""
    monkeypatch.chdir(tmp_path)
    words = ("--nodes", "2", "--depth", "16")
    text = " ".join(run(*words).stdout.replace("\\\n", " ").split())
    assert text.startswith("holds: ")
    cost = measured()["zab-two-processes"]
    command = "zabcheck --nodes 2 --txns 2 --timeouts 1 --crashes 0 --losses 0"
    said = "16 steps do not reach 18 of 21 premises; without crashes and lost connections all are reached in"
    said += f" {cost:.1f} s of CPU time, as last measured"
    assert f"{said}, by: {command} property verdict" in text
    assert "premise not reached, 18 properties: integrity, total-order, " in text
    assert run(*command.split()[1:]).stdout.startswith("holds: 21 properties, each put to the test; ")


@pytest.mark.slow(seconds=1)
def test_steps_are_too_few_only_where_more_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one transaction no number of steps shows two of one epoch: the bounds are too small, and not the depth."""
    monkeypatch.chdir(tmp_path)
    for few in ("--txns 1", "--txns 2 --timeouts 1 --max-epoch 1"):
        text = " ".join(run("--nodes", "2", *few.split(), "--losses", "0", "--depth", "3").stdout.split())
        assert "not reached within these bounds: 21 of 21 premises; without crashes all are reached in " in text
    small = run("--nodes", "2", "--losses", "0", "--txns", "1", "--depth", "3", "--json")
    (way,) = json.loads(small.stdout)["to_reach"]
    assert way["leaves_out"] == ["crashes"]
    assert way["argv"] == shlex.split(way["sentence"].partition(" by: ")[2])
