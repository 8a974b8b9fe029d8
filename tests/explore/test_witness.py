"""The shortest runs that put properties to the test (`--witness`)."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from checker.report.witnessed import Witnessed
from tests.commands.running import TINY, assert_refused, run
from traces import TraceError, read_trace, to_text, verify
from traces.replay.replay import replay
from zabspec.model import Configuration


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow(seconds=3)
def test_each_run_is_as_long_as_the_report_says(folder: Path) -> None:
    """For every premise that the exploration reports reached there is a run, replayed in both worlds; for no other."""
    report = json.loads(run(*TINY, "--json", "--html", "report.html").stdout)
    wanted = {p["name"]: p["witnessed_at"] for p in report["properties"]}
    assert len(set(wanted.values())) > 2
    found = run(*TINY, "--witness", "--json", "--html", "runs.html")
    assert found.exit_code == 3
    content = json.loads(found.stdout)
    assert {p["property"]: p["steps"] for p in content["properties"]} == wanted
    assert "no run reaches the premise of total-order, agreement" in content["sentence"]
    verdicts_link_to_their_runs({name: at for name, at in wanted.items() if at is not None})
    for p in content["properties"]:
        if p["trace"] is not None:
            trace = read_trace(Path(p["trace"]))
            assert (trace.premise_of, trace.property_name, len(trace.steps)) == (p["property"], "", p["steps"])
            verify(trace)
            replay(trace)


def verdicts_link_to_their_runs(wanted: dict[str, int]) -> None:
    """On the page of the report to the command that draws the run, on the page of runs to the run itself."""
    page = Path("report.html").read_text(encoding="utf-8")
    for name, at in wanted.items():
        assert f'href="#witness-{name}">holds, witnessed at depth {at}</a>' in page
        command = page.partition(f'id="witness-{name}"')[2].partition("<code>")[2].partition("</code>")[0]
        assert command.startswith("zabcheck --nodes 2 ")
        assert command.endswith(f"--witness {name} --html {name}.html")
    assert page.count("holds, witnessed at") == len(wanted)
    runs = Path("runs.html").read_text(encoding="utf-8")
    for name, at in wanted.items():
        assert f'href="#{name}-run">after {at} steps</a>' in runs
        assert f"the premise of {name} is first reached after {at} steps" in runs.partition(f'id="{name}-run"')[2]
    assert runs.count('<section class="run"') == len(wanted)


@pytest.mark.slow(seconds=2)
def test_the_report_names_the_command_that_shows_the_run(folder: Path) -> None:
    text = run(*TINY).stdout
    below = text.partition("reaches the premise of a property:")[2].partition("\nnot checked: ")[0]
    copied = [line.rstrip("\\") for line in below.splitlines()[1:]]
    words = shlex.split(" ".join(copied))
    assert words[0] == "zabcheck"
    shown = run(*words[1:], "--html", "run.html", "--trace", "run.trace.json")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("the premise of integrity is first reached after 20 steps; ")
    assert "the premise of integrity is first reached after 20 steps" in Path("run.html").read_text(encoding="utf-8")
    assert run("replay", "run.trace.json").exit_code == 0


def test_a_run_that_meets_no_premise_is_refused(folder: Path) -> None:
    """The premise is looked for at every step, in the run that is repeated and in the simulator."""
    assert run(*TINY, "--witness", "integrity", "--trace", "run.trace.json").exit_code == 0
    trace = read_trace(Path("run.trace.json"))
    of = {"statement": "", "source": ""}
    for wrong, words in (
        (replace(trace, steps=trace.steps[:-1]), "the last step does not reach the premise of integrity"),
        (other(trace, "invariant-1"), "a step before the last one reaches the premise of invariant-1"),
        (replace(trace, statement="another"), "header, statement"),
        (replace(trace, premise_of="none"), "no property 'none'"),
        (replace(trace, premise_of="", **of, property_name=""), ""),
    ):
        for check in (verify, replay):
            if words:
                with pytest.raises(TraceError, match=words):
                    check(wrong)
            else:
                check(wrong)
    assert "A run of 20 steps." in to_text(wrong)
    content = json.loads(Path("run.trace.json").read_text())
    for change in ({"premise_of": "none"}, {"property": "integrity"}, {"version": 2}, {"lasso": None}):
        Path("run.trace.json").write_text(json.dumps(content | change))
        with pytest.raises(TraceError):
            read_trace(Path("run.trace.json"))


def other(trace, name):  # type: ignore[no-untyped-def]
    """The trace, said to be of another property."""
    from invariants import PROPERTIES, property_named

    prop = property_named(name, PROPERTIES)
    return replace(trace, premise_of=name, statement=prop.statement, source=prop.source)


def test_quorums_that_do_not_intersect_are_told() -> None:
    """As an exploration and a graph tell them: what a run of these shows is no run of ZAB."""
    said = repr(Witnessed(Configuration(quorums="weights 3,3,-3"), [], {}, []).parts())
    assert "warning: the quorums {p0} and {p1} do not intersect" in said


def test_what_does_not_go_with_witness_is_refused(folder: Path) -> None:
    assert_refused(run(*TINY, "--witness", "integrty"), "did you mean integrity")
    assert_refused(run(*TINY, "--witness", "integrity", "--live"), "does not go with")
    assert_refused(run(*TINY, "--witness", "--keep-going"), "--keep-going does not go with --witness")
    assert_refused(run(*TINY, "--witness", "no-runtime-error"), "has no premise: every step checks it")
