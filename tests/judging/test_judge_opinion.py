"""The second opinion of `judge` and `sweep`: verdicts on runs are held against the papers' definitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.opinion import judged
from checker.tables.requests.judge import JudgeRequest
from checker.tables.requests.sweep import SweepRequest
from tests.judge_tables import written
from tests.judging.test_judge_definitions import Made, rows_of
from traces.judging import runs, totals
from traces.judging.totals import PerRun, Totals
from traces.tables.sweep import block


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    many = [rows_of(Made(seed).made(), seed) for seed in range(300)]
    return written(tmp_path_factory.mktemp("judged") / "runs.parquet", many, group=500)


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answer(table: Path, count: int | None = None) -> Any:
    return JudgeRequest(str(table), second_opinion=count).answer()


def test_definitions_agree_and_say_so(table: Path) -> None:
    said = answer(table)
    assert said.second.states == judged.RUNS
    assert len(said.second.judged) == 16
    assert "second opinion  20 runs" in said.text()
    assert said.as_json()["second_opinion"]["difference"] == ""
    assert "second_opinion" not in answer(table, 0).as_json()


def without_last(true: Callable[..., Any]) -> Callable[..., Any]:
    """Verdicts of a kernel that does not see violations of one property."""

    def said(out: PerRun, places: Any, found: Any, asked: int, known: int) -> Any:
        found = found.copy()
        found[:, 1] &= ~(1 << runs.BITS["agreement"])
        return true(out, places, found, asked, known)

    return said


def ever_met(true: Callable[..., Any]) -> Callable[..., Any]:
    """Verdicts of a kernel to which every run meets every premise."""

    def said(out: PerRun, places: Any, found: Any, asked: int, known: int) -> Any:
        found = found.copy()
        found[:, 2] |= -1
        return true(out, places, found, asked, known)

    return said


def never_met(true: Callable[..., Any]) -> Callable[..., Any]:
    """Verdicts of a kernel to which no run meets a premise."""

    def said(out: PerRun, places: Any, found: Any, asked: int, known: int) -> Any:
        found = found.copy()
        found[:, 2] = 0
        return true(out, places, found, asked, known)

    return said


def forgetful(true: Callable[..., Any]) -> Callable[..., Any]:
    """Totals that lose the violations of every other run."""

    def add(self: Totals, other: Totals) -> None:
        other.violations = [v for v in other.violations if v.run % 2]
        true(self, other)

    return add


def sure(true: Callable[..., Any]) -> Callable[..., Any]:
    """Whatever a row leaves unknown, nothing depends on it."""
    return lambda mask: {}


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        (totals, "say_verdicts", without_last),
        (totals, "say_verdicts", ever_met),
        (totals, "say_verdicts", never_met),
        (totals, "affected", sure),
        (Totals, "add", forgetful),
    ],
    ids=["violations", "premises", "no premise", "unknowns", "totals"],
)
def test_a_fault_of_the_judge_is_no_verdict(
    table: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, other: Callable[[Any], Any]
) -> None:
    monkeypatch.setattr(owner, name, other(getattr(owner, name)))
    said = answer(table, 200)
    assert said.exit_code == 3
    assert said.sentence.startswith("no verdict: judging by definition contradicts the verdict: ")
    assert Path("zabcheck-second-opinion.json").read_text(encoding="utf-8").count('"kind"') > 1


def test_what_cannot_be_compared_says_why(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "WAYS", 0)
    assert dict(answer(table).second.row) == {
        "second opinion": "none: every run that was drawn leaves too much unknown, or no definition judges it"
    }


@pytest.mark.parametrize("said", [{"integrity": "open"}, {"no-definition": "holds"}])
def test_runs_of_which_nothing_is_compared_do_not_agree(said: dict[str, str]) -> None:
    drawn = judged.Drawn(0, rows_of(Made(0).made()).as_table().to_pylist(), said)
    second = judged.opinion_of_runs(lambda *_: iter([drawn]), [*said], None)
    assert second.row[0][1].startswith("none: every run that was drawn")


def test_a_fault_of_what_judges_a_sweep_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with violations whose row says *holds* contradicts the papers' definitions."""
    monkeypatch.setattr("checker.tables.requests.sweep.has_session", lambda: False)  # where tests left one
    grid: dict[str, Any] = {"seeds": ("14",), "protocol": ("db19",)}
    said = SweepRequest("true", **grid).answer()
    assert said.exit_code == 1
    assert dict(said.second.row)["second opinion"].startswith("1 run, ")
    assert "second opinion" in said.text()
    monkeypatch.setattr(block, "VIOLATED", "holds")
    false = SweepRequest("false", **grid).answer()
    assert (false.exit_code, false.second.states) == (3, 1)
    assert false.sentence.startswith("no verdict: judging by definition contradicts the verdict: ")
    assert false.as_json()["second_opinion"]["difference"].endswith("run 0: holds, and by definition violated")
    assert SweepRequest("none", second_opinion="none", **grid).answer().second.row == []
