"""Runs that begin in several states: explored, searched, replayed, exported; what takes one state alone says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from traces import read_trace
from traces.record.simulated import simulated_trace
from traces.replay.replay import replay
from zabspec.simulator.run import Run

TEXT = '''"""Coins that lie anyhow; who has the turn flips its own, and passes the turn on."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, Int, Node, Size, action, any_of, declare, initial, processes, progress, safety, shared,
)  # fmt: skip


class State(Fields):
    up: Each[Node, bool] = shared("it lies so")
    turn: Node = shared("whose turn it is")
    price: Annotated[int, Int(0, 300)] = shared("what does not change")


@initial
def begin(s: State) -> None:
    for p in processes(s):
        s.up[p] = any_of(s, {False, True})
    s.turn = any_of(s, processes(s))
    s.price = any_of(s, range(300))


@action(when=lambda s, p: s.turn == p)
def flip(s: State, p: Node) -> None:
    s.up[p] = not s.up[p]
    s.turn = any_of(s, set(processes(s)) - {p})


@safety(witness=lambda s: s.price > 2)
def cheap(s: State) -> bool:
    """The price is no higher."""
    return s.price < 300


@progress
def waits(s: State, p: Node) -> bool:
    """All lie the same way."""
    return any(s.up[q] != s.up[p] for q in processes(s))


PROTOCOL = declare(__name__)
'''
STATES, ORBITS = 8 * 3 * 300, 6 * 300
REFUSED = "mine.py:2[0-9]: a run may begin in several states, and only explorations on this machine"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(TEXT)
    return tmp_path / "mine.py"


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--protocol", "mine.py"])


@pytest.mark.parametrize("engine", [(), ("--engine", "interpret"), ("--reduction", "none")])
def test_every_start_is_a_state_of_depth_0(text: Path, engine: tuple[str, ...]) -> None:
    whole = asked("--no-trace", "--no-symmetry", *engine)
    assert whole.exit_code == 0, whole.output
    assert f"distinct states        {STATES:,}" in whole.stdout
    assert "explored to exhaustion (depth 0)" in whole.stdout
    orbits = asked("--no-trace", "--reduction", "none")
    assert f"distinct states        {ORBITS:,} orbits, of {STATES:,} states" in orbits.stdout


def test_a_violation_names_its_start_and_replays(text: Path) -> None:
    text.write_text(TEXT.replace("s.price < 300", "s.price < 298 or not s.up[s.turn]"))
    found = asked("--trace", "it.trace.json")
    assert found.exit_code == 1, found.output
    assert "the counterexample to cheap was replayed" in found.stdout
    trace = read_trace(Path("it.trace.json"))
    start = trace.configuration.start
    assert re.fullmatch(r":\d+", start)
    assert trace.initial["price"] >= 298
    assert replay(trace).property_name == "cheap"
    one = asked("--no-trace", "--start", start)
    assert "VIOLATED at depth 0" in one.stdout
    assert re.search(r"distinct states +1( orbit|\n)", one.stdout), one.stdout


def test_a_later_violation_begins_at_the_start_that_leads_to_it(text: Path) -> None:
    text.write_text(TEXT.replace("s.price < 300", "not all(s.up[p] for p in processes(s)) or s.price != 2").replace(
        "s.price = any_of(s, range(300))\n",
        "s.price = any_of(s, range(3))\n    if all(s.up[p] for p in processes(s)):\n        s.price = 0\n",
    ))  # fmt: skip
    for engine in ((), ("--engine", "interpret", "--no-symmetry"), ("--search", "random", "--time-limit", "20")):
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


def test_a_process_that_waits_is_shown_from_its_start(text: Path) -> None:
    text.write_text(TEXT.replace("range(300)", "range(2)"))
    found = asked("--live", "--trace", "it.trace.json")
    assert found.exit_code == 1, found.output
    assert "replayed" in found.stdout, found.stdout
    assert CliRunner().invoke(main, ["replay", "it.trace.json"]).exit_code == 0


def test_a_start_that_errs_is_a_violation_with_its_number(text: Path) -> None:
    text.write_text(TEXT.replace("Int(0, 300)", "Int(0, 298)"))
    found = asked("--trace", "it.trace.json")
    assert found.exit_code == 1, found.output
    assert "price would be 299, declared 0..298" in found.stdout
    assert read_trace(Path("it.trace.json")).configuration.start == f":{299 * 24}"


@pytest.mark.parametrize(
    "words",
    [("bmc", "--depth", "2"), ("--checkpoint", "kept"), ("graph", "--output", "it.graphml")],
    ids=["bmc", "checkpoint", "graph"],
)
def test_what_begins_in_one_state_says_so(text: Path, words: tuple[str, ...]) -> None:
    found = asked(*words)
    assert found.exit_code == 2, found.output
    assert re.search(REFUSED, " ".join(found.output.split())), found.output
    if "bmc" in words:
        assert "within 2 steps from the" in asked(*words, "--start", ":4").stdout


def test_what_is_no_start_is_refused(text: Path) -> None:
    for start, said in ((":7200", "there is no start number 7200"), (":x", "--start is NAME, NAME:N or :N")):
        found = asked("--no-trace", "--start", start)
        assert (found.exit_code, said in found.output) == (2, True), found.output
    text.write_text(TEXT.replace("@safety", "@initial\ndef again(s: State) -> None:\n    s.price = 1\n\n\n@safety"))
    assert "runs begin with begin already" in asked("--no-trace").output


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
