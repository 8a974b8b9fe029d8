"""Premises that are not reached: what may be required, and which command reaches them."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from checker.explore.breadth_first import Explorer
from checker.explore.reaching import TRIED, Tried, reaching
from checker.explore.result import Exploration, Limits
from checker.report.report import Report
from invariants import PROPERTIES
from tests.commands.running import TINY, run
from tests.models import compiled, judged
from zabspec.model import Configuration

LITERAL = "invariant-5-literal"
# those that take a moment; with ZABCHECK_EVERY all of them
EVERY = [t for tried in TRIED.values() for t in tried()]
SOME = [t for t in EVERY if os.environ.get("ZABCHECK_EVERY") or t.configuration.network in ("datagrams", "ordered")]


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
        assert result.stdout.startswith("no verdict: --require-witness: premise not reached for "), required
    report = json.loads(run(*flags, "--json", "--require-witness").stdout)
    assert (report["verdict"], report["exit_code"]) == ("no verdict", 3)
    assert report["required"] == sorted(p.name for p in judged("zab"))


def test_a_premise_that_is_named_is_required_and_no_other() -> None:
    """Of two processes and a transaction: integrity is put to the test, agreement is not."""
    assert run(*TINY, "--require-witness", "integrity").exit_code == 0
    assert run(*TINY, "--require-witness", "integrity,agreement").exit_code == 3
    twice = run(*TINY, "--require-witness", "integrity", "--require-witness", "agreement")
    assert twice.exit_code == 3
    assert "premise not reached for agreement; no violation found" in " ".join(twice.stdout.split())


def test_a_premise_that_is_not_judged_cannot_be_required() -> None:
    for flags in (("--require-witness", "agrement"), ("--property", "integrity", "--require-witness", "agreement")):
        result = run(*TINY, *flags)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "no such property is judged" in result.stderr
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
    """The command at the end of a report."""
    before, _, last = text.rstrip().rpartition("zabcheck ")
    assert re.search(r" reached in \d+ s by:\s+$", before), text
    return shlex.split(last)


@pytest.mark.slow(seconds=1)
def test_the_command_at_the_end_of_a_report_reaches_what_was_not_reached() -> None:
    small = run(*TINY, "--json")
    missing = {name for name, verdict in verdicts(small).items() if verdict == "premise not reached"}
    assert missing
    again = run(*command_in(run(*TINY).stdout), "--json", "--require-witness")
    assert again.exit_code == 0
    assert {verdicts(again)[name] for name in missing} == {"holds"}
    assert json.loads(small.stdout)["to_reach"] == [" ".join(" ".join(run(*TINY).stdout.splitlines()[-2:]).split())]
    assert json.loads(again.stdout)["to_reach"] == []


def test_it_goes_no_deeper_than_that_takes() -> None:
    words = command_in(run(*TINY, "--depth", "4", "--property", "integrity").stdout)
    assert words[-2:] == ["--depth", "20"]
    assert verdicts(run(*words, "--json"))["integrity"] == "holds"


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("tried", SOME, ids=lambda t: f"{t.configuration.network} {t.configuration.nodes}")
def test_each_was_tried(tried: Tried) -> None:
    c = tried.configuration
    asked = judged(c.protocol) if not c.literal else tuple(p for p in PROPERTIES if p.name == LITERAL)
    found = Explorer(compiled(c, False, asked), 2).run(Limits(max(tried.depths)), True)
    assert found.witnessed == tried.reached
    assert bool(found.violations) is tried.breaks


def test_for_every_property_of_a_protocol_here_one_is_known() -> None:
    for t in EVERY:
        if not t.configuration.literal:
            assert set(t.reached) == {p.name for p in judged(t.configuration.protocol)}, t


def test_as_many_processes_are_taken_as_were_asked_for() -> None:
    for nodes, taken in ((2, 2), (3, 3), (5, 3)):
        tried, found = reaching(Configuration(nodes=nodes), ["agreement"])
        assert tried is not None
        assert (tried.configuration.nodes, found) == (taken, ["agreement"])
    tried, _ = reaching(Configuration(literal=True), [LITERAL])
    assert tried is not None
    assert tried.command([LITERAL]).endswith("--property invariant-5-literal --depth 20")


def report_of(configuration: Configuration) -> Report:
    nothing = Exploration(judged(configuration.protocol), levels=[1], expanded_levels=1, complete=True)
    return Report(nothing, configuration, Limits(), 1, (1, 1))


def test_where_none_is_known_the_report_says_so() -> None:
    """For a variant, a property that the table has not, and a protocol that is none of this package's."""
    notes: Any = report_of(Configuration(variant="no-promise")).notes()
    assert notes[-1].startswith("no command is known that reaches, for zab with no-promise, the premise of integrity")
    configuration = Configuration()
    foreign = report_of(configuration)
    assert configuration.merged_by_promise == {}  # known before the protocol's name is one that there is not
    object.__setattr__(configuration, "protocol", "raft")
    assert "no command is known that reaches, for raft over network fifo" in foreign.notes()[-1]
    assert reaching(Configuration(), ["agreement", "unheard-of"])[1] == ["agreement"]
