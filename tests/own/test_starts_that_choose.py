"""Runs that begin in several states: explored, searched, replayed, exported; what takes one state alone says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from tests.transcript import file_of
from traces import read_trace
from traces.record.simulated import simulated_trace
from traces.replay.replay import replay
from zabspec.simulator.run import Run

TEXT = file_of("own/starts-that-choose", "mine.py")


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(TEXT)
    return tmp_path / "mine.py"


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--protocol", "mine.py"])


def test_a_later_violation_begins_at_the_start_that_leads_to_it(text: Path) -> None:
    text.write_text(TEXT.replace("s.price < 300", "not all(s.up[p] for p in processes(s)) or s.price != 2").replace(
        "s.price = any_of(s, range(300))\n",
        "s.price = any_of(s, range(3))\n    if all(s.up[p] for p in processes(s)):\n        s.price = 0\n",
    ))  # fmt: skip
    for engine in ((), ("--engine", "interpret", "--no-symmetry"), ("--search", "--time-limit", "20")):
        found = asked("--trace", "it.trace.json", *engine)
        assert found.exit_code == 1, found.output
        assert read_trace(Path("it.trace.json")).initial["price"] == 2
        again = CliRunner().invoke(main, ["replay", "it.trace.json"])
        assert (again.exit_code, "cheap" in again.stdout) == (0, True), again.output
    start = read_trace(Path("it.trace.json")).configuration.start
    changed = Path("it.trace.json").read_text().replace(f'"{start}"', '":0"')
    Path("it.trace.json").write_text(changed)
    assert "does not replay: initial state" in CliRunner().invoke(main, ["replay", "it.trace.json"]).stderr
    for wrong in (":99999", "x:y"):
        Path("it.trace.json").write_text(changed.replace('":0"', f'"{wrong}"'))
        refused = CliRunner().invoke(main, ["replay", "it.trace.json"])
        assert (refused.exit_code, "it.trace.json" in refused.stderr) == (2, True), refused.output


def test_what_z3_is_not_asked_is_a_sentence_beside_the_verdicts(text: Path) -> None:
    """The induction begins in all of them, and may answer before the bounded search refuses."""
    found = asked("--symbolic", "2", "--no-trace", "--depth", "1")
    said = " ".join(found.output.split())
    assert "choose one by its number, --start :0" in said or "inductive: at every depth" in said, found.output
    assert "internal error" not in found.output


@pytest.mark.parametrize(
    ("old", "new", "engine"), [("Range(0, 300)", "Range(0, 298)", ()), ("range(300)", "range(2)", ("--live",))]
)
def test_a_violation_names_its_start_and_replays(text: Path, old: str, new: str, engine: tuple[str, ...]) -> None:
    text.write_text(TEXT.replace(old, new))
    assert asked("--trace", "it.trace.json", *engine).exit_code == 1
    trace = read_trace(Path("it.trace.json"))
    assert re.fullmatch(r":\d+", trace.configuration.start)
    assert replay(trace).property_name == trace.property_name


def test_a_simulated_run_begins_in_one_of_them(text: Path) -> None:
    traces = [simulated_trace(Run(seed, rounds=200, protocol="mine.py")) for seed in range(6)]
    assert len({trace.configuration.start for trace in traces}) > 3
    assert all(len(replay(trace).steps) > 0 for trace in traces)


def test_a_report_says_where_its_run_begins_and_its_page_draws_it(text: Path) -> None:
    """One that names another start, or none that there is, is no run to what it claims."""
    text.write_text(TEXT.replace("s.price < 300", "s.price != 7 or s.up[0]"))
    found = asked("--no-trace", "--json")
    report = json.loads(found.stdout)
    run = next(p["violation"] for p in report["properties"] if p["violation"])
    assert (found.exit_code, run["schedule"]) == (1, [])
    assert run["start"] > 0

    def drawn(start: int) -> Result:
        run["start"] = start
        (text.parent / "report.json").write_text(json.dumps(report))
        return CliRunner().invoke(main, ["report", "report.json", "--html", "page.html"])

    page = drawn(run["start"])
    assert page.exit_code in (0, 1), page.output
    assert "The price is no higher." in (text.parent / "page.html").read_text()
    for wrong in (0, 10**9):
        refused = drawn(wrong)
        assert refused.exit_code == 2, refused.output
        assert "Traceback" not in refused.output
