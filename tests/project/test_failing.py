"""What a failing test shows: the run that it made, and what of a golden file is otherwise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.failing import differences, expectation, runs_of
from tests.protocols.paper_run import Run
from tests.scenario import Scenario, played

STORY = "start zab nodes=2 txns=1\np0's oracle names p0\np1's oracle names p0\np0 receives CEPOCH from p1\nin flight\n"


def failed() -> tuple[str, str]:
    """What is expected where a test fails, and the run that it shows."""
    run = Run(nodes=2)
    run.elect(0, 1)
    run.s.to_leader[0][0].pop(0)
    run.leader(0, 1)
    with pytest.raises(AssertionError) as error:
        assert run.Q(0) == {0, 1}
    (found,) = runs_of(error.tb)
    assert found is run
    expected = expectation(error.tb)
    return expected, run.at_failure(expected)


def test_a_run_shows_its_steps_and_what_was_expected_when() -> None:
    expected, text = failed()
    assert expected.endswith("assert run.Q(0) == {0, 1}")
    lines = text.splitlines()
    assert lines[0].startswith("zab, 2 nodes, 3 transactions")
    assert lines[1].split() == ["p0", "p1"]
    assert lines[2].endswith(": run.elect(0, 1)")
    assert [line.split() for line in lines[3:5]] == [
        ["1", "o", "oracle", "names", "p0,", "f.1.1", "|"],
        ["2", "|", "o", "oracle", "names", "p0,", "f.1.1"],
    ]
    assert lines[5].endswith(": run.leader(0, 1)")
    assert lines[6].strip() == "(the test changes the state)"
    assert lines[7].split() == ["3", "o", "CEPOCH", "0", "<-", "p1", "|"]
    assert lines[8].strip() == f"after step 3: expected at {expected}"
    assert "the last 3 of 3 steps:" in lines
    assert "p0.Q {} -> {p1}" in [line.strip() for line in lines]


def test_a_scenario_shows_the_run_to_the_first_output_that_is_another() -> None:
    scenario = played(Scenario("story.txt", STORY))
    assert scenario.difference("story.txt", scenario.text) == ""
    changed = scenario.text.replace("p0.Q {} -> {p1}", "p0.Q {} -> {p0}").replace("p0 -> p0: CEPOCH", "p0 -> p0: ACK")
    text = scenario.difference("story.txt", changed)
    first, _, *lines = text.splitlines()
    assert first == "story.txt:2: p0's oracle names p0"
    assert [line for line in lines if line[:1] in ("+", "-")][:2] == [
        "-   p0 -> p0: ACK(epoch=0)", "+   p0 -> p0: CEPOCH(epoch=0)",
    ]  # fmt: skip
    assert "after step 1: expected at line 2: p0's oracle names p0" in [line.strip() for line in lines]
    assert "the last step:" in lines
    assert not any(line.startswith("2  ") for line in lines), "what came later is not shown"
    assert "later outputs that change: 2, from line 4 on" in lines


def test_a_golden_file_fails_as_lines() -> None:
    old = {"states": 3, "premises": {"a": 15, "b": 2}, "steps": {"f.1.1": 1}, "depth": 4, "levels": [1, 2]}
    new = {"states": 4, "premises": {"a": 14, "c": 9}, "steps": {"f.1.1": 1}, "depth": 4, "levels": [1, 3, 1]}
    assert differences(old, new) == [
        "states 3 -> 4",
        "a: premise 15 -> 14",
        "b: premise 2 -> none",
        "c: premise none -> 9",
        "levels 1: 2 -> 3",
        "levels 2: none -> 1",
    ]
    assert differences(old, old) == []


def test_a_failing_test_is_reported_with_its_run() -> None:
    """By the hook in `tests/conftest.py`; mutants, which read no summary, go without."""

    def sections(no_summary: bool) -> list[Any]:
        run = Run(nodes=1)
        with pytest.raises(AssertionError) as error:
            assert run.oracle(0, 0) == set()
        found: list[Any] = []
        report = SimpleNamespace(failed=True, sections=found)
        item = SimpleNamespace(config=SimpleNamespace(getoption=lambda name, default: no_summary))
        hook = conftest.pytest_runtest_makereport(item, SimpleNamespace(excinfo=error))  # type: ignore[arg-type]
        next(hook)
        with pytest.raises(StopIteration) as end:
            hook.send(report)  # type: ignore[arg-type]
        assert end.value.value is report
        return found

    ((title, text),) = sections(False)
    assert title == "the run"
    assert "after step 1: expected at test_failing.py:" in text
    assert sections(True) == []
