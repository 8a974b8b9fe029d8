"""Deadlock: a state without a step in which a run may not end, and properties of terminal states."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.proofs.tla.module import module_of
from invariants import known_properties, property_named
from tests.proofs.tla.running import JAR, needs_tlc, run_tlc
from tests.second.reference import explore
from tests.transcript import file_of
from zabspec.model import Configuration, Model

TWO_PHASE = Path(__file__).parents[2] / "examples" / "start" / "tpc.py"
UNBOUND = """@final
def is_unbound(s: State, p: Node) -> bool:
    return s.phase[p] != PREPARED


PROTOCOL ="""
CLIMB = file_of("own/terminal", "climb.py")
AT_TOP = """@final
def at_top(s: State) -> bool:
    return sum(s.level[p] for p in range(s.NODES)) == s.STEPS


PROTOCOL ="""


def zabcheck(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(main, [*arguments, "--no-trace"])
    return found.exit_code, " ".join(found.output.split())


def with_ends(folder: Path, ends: str) -> str:
    """Write the protocol that goes up, with this in front of its last line; return the path."""
    path = folder / "climb.py"
    path.write_text(CLIMB.replace("PROTOCOL =", ends), "utf-8")
    return str(path)


@pytest.mark.parametrize("options", [[], ["--engine", "interpret", "--reduction", "none"]])
def test_a_deadlock_is_a_violation_with_its_run(options: list[str], tmp_path: Path) -> None:
    """In as many steps as the second semantics says; with one philosopher the other way round there is none."""
    path = tmp_path / "dining.py"
    path.write_text(file_of("own/terminal", "dining.py"))
    asked = ["--protocol", str(path), "--nodes", "3", *options]
    code, said = zabcheck(*asked)
    assert (code, "no step is possible, and gone is False of p" in said) == (1, True)
    request = {"protocol": str(path), "nodes": 3, "network": "datagrams", "budgets": {}, "properties": ["deadlock"]}
    depth = explore(request)["verdicts"]["deadlock"]["depth"]
    assert depth == 3
    assert f"VIOLATED: deadlock at depth {depth}" in said
    assert "terminal states 0 of those expanded (no step is possible)" in said
    code, said = zabcheck(*asked, "--variant", "left_handed")
    assert code == 0, said


@pytest.fixture(params=[True, False], ids=["marked", "unmarked"])
def two_phase(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Two-phase commit, with and without a mark of where a process may end."""
    if not request.param:
        return str(TWO_PHASE)
    path, text = tmp_path / "tpc.py", TWO_PHASE.read_text("utf-8")
    path.write_text(text.replace("PROTOCOL =", UNBOUND).replace("    declare,", "    declare,\n    final,"), "utf-8")
    return str(path)


@pytest.mark.parametrize("crashes", [0, 1])
def test_two_phase_commit_blocks_where_its_coordinator_forgets(two_phase: str, crashes: int) -> None:
    """With a mark only then: without one, that all have committed is an end in which no step waits for its budget."""
    code, said = zabcheck("--protocol", two_phase, "--nodes", "2", "--deadlock", "--crashes", str(crashes))
    given = {"begins": 1, "refusals": 1, "crashes": crashes}
    request = {"protocol": two_phase, "nodes": 2, "network": "fifo", "budgets": given, "properties": ["deadlock"]}
    theirs = explore(request)["verdicts"]["deadlock"]
    held = crashes == 0 and two_phase != str(TWO_PHASE)
    assert (theirs["result"], code) == (("held", 0) if held else ("violated", 1)), said
    assert held or f"VIOLATED: deadlock at depth {theirs['depth']}" in said


@needs_tlc
@pytest.mark.parametrize("two_phase", [False], indirect=True)
def test_tlc_agrees(two_phase: str) -> None:
    """By its own ENABLED: the same verdict, and the same depth."""
    model = Model(Configuration(two_phase, nodes=2, crashes=1))
    judged = [property_named("deadlock", known_properties(two_phase))]
    theirs = run_tlc(JAR, module_of(model, judged, "Ends"), limit=300)
    asked = ["--protocol", two_phase, "--nodes", "2", "--crashes", "1", "--property", "deadlock"]
    code, said = zabcheck(*asked, "--reduction", "none")
    assert (theirs.violated, code) == ("Deadlock", 1)
    assert f"VIOLATED: deadlock at depth {theirs.depth}" in said


def test_where_a_run_may_end_counts_spent_budgets_too(tmp_path: Path) -> None:
    """Without @final a step that waits for its budget alone is no deadlock; with it, every end is looked at."""
    assert zabcheck("--protocol", with_ends(tmp_path, "PROTOCOL ="), "--deadlock", "--property", "deadlock")[0] == 0
    path = with_ends(tmp_path, AT_TOP)
    assert zabcheck("--protocol", path, "--deadlock", "--depth", "2")[0] == 0
    assert zabcheck("--protocol", path, "--deadlock")[0] == 0
    code, said = zabcheck("--protocol", path, "--deadlock", "--steps", "7")
    assert (code, "VIOLATED: deadlock at depth 6" in said) == (1, True)
    assert "no step is possible, and at_top is False" in said


def test_deadlock_has_no_premise_that_a_run_could_show(tmp_path: Path) -> None:
    path = with_ends(tmp_path, AT_TOP)
    code, said = zabcheck("--protocol", path, "--deadlock")
    assert (code, "--witness" in said) == (0, False)
    code, said = zabcheck("--protocol", path, "--witness", "deadlock")
    assert (code, said) == (2, "zabcheck: deadlock has no premise: every state checks it")


def test_a_search_at_random_judges_where_its_model_ends(tmp_path: Path) -> None:
    path = with_ends(tmp_path, AT_TOP)
    asked = ["--protocol", path, "--property", "deadlock", "--time-limit", "5", "--seed", "1"]
    code, said = zabcheck(*asked, "--search", "--steps", "7")
    assert code == 1, said


@pytest.mark.parametrize(
    ("budget", "given"), [("TIMEOUTS", ()), ("CRASHES", ("--crashes", "1")), ("DROPS", ("--drops", "3"))]
)
def test_a_step_reads_what_its_world_has_of_a_budget(tmp_path: Path, budget: str, given: tuple[str, ...]) -> None:
    """With the budgets of its world alone, a run is replayed and simulated with their amounts, too."""
    path = tmp_path / "climb.py"
    text = CLIMB.replace('budgets={"steps": 4}', "bounded_by_world=True").replace(', budget="steps"', "")
    path.write_text(text.replace("s.level[p] < 3", f"s.level[p] < s.{budget}").replace("STEPS", budget), "utf-8")
    code, said = zabcheck("--protocol", str(path), "--deadlock", *given)
    assert code == 1
    assert "the counterexample to deadlock was replayed in the simulator, step by step equal" in said
    found = CliRunner().invoke(main, ["simulate", "--protocol", str(path)])
    assert found.exit_code == 0, found.output


def test_a_saved_deadlock_is_replayed_as_what_its_request_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    never = AT_TOP.replace("== s.STEPS", "== 99")
    Path("climb.py").write_text(CLIMB.replace("PROTOCOL =", never))
    words = ["--protocol", "climb.py", "--deadlock", "--trace", "it.json"]
    assert "VIOLATED: deadlock at depth 4" in CliRunner().invoke(main, words).stdout
    assert CliRunner().invoke(main, ["replay", "it.json"]).exit_code == 0
    Path("it.json").write_text(Path("it.json").read_text().replace('"deadlock": true, ', ""))
    assert "for other properties than deadlock" in CliRunner().invoke(main, ["replay", "it.json"]).stderr


def test_an_error_in_a_mark_is_a_violation_with_its_run(tmp_path: Path) -> None:
    """It is met only where no step is possible, and only if the request checks deadlock."""
    errs = AT_TOP.replace(
        "sum(s.level[p] for p in range(s.NODES)) == s.STEPS", "4 // (s.level[0] + s.level[1] - s.STEPS) == 1"
    )
    path = with_ends(tmp_path, errs)
    code, said = zabcheck("--protocol", path, "--deadlock")
    assert (code, "VIOLATED: no-runtime-error at depth 4" in said) == (1, True), said
    assert zabcheck("--protocol", path)[0] != 1
