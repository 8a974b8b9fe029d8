"""What z3 says of small protocols of many shapes: an answer, never an internal error, and what a search says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.proofs.symbolic import extension
from checker.proofs.symbolic.bmc import Bounds, check
from invariants import properties_of
from invariants.registry import Property
from tests.small_protocols import SMALL, Small, asked
from zabspec.model import Configuration, Model
from zabspec.properties import DEADLOCK


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "small.py"
    path.write_text(SMALL[request.param].text, encoding="utf-8")
    return path


def property_of(path: Path) -> Property:
    return next(p for p in properties_of(str(path)) if p.name == "low")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("written", "small"), SMALL.items(), ids=SMALL, indirect=["written"])
def test_z3_and_a_search_of_everything_agree(written: Path, small: Small) -> None:
    model, p = Model(Configuration(str(written), nodes=2)), property_of(written)
    searched = Interpreter(model, [p], False).run(Limits(), False)
    assert min((len(v.schedule) for v in searched.violations.values()), default=None) == small.depth
    outcome = asked(str(written))
    verdict = next(v for v in outcome.verdicts if v.clause.name == "low")
    if small.induct:
        assert (verdict.word, outcome.obstacles) == (small.induct, [])
    else:
        assert "a step can have a run-time error" in outcome.obstacles[0]
    for depth in {3} if small.depth is None else {max(1, small.depth - 1), max(1, small.depth)}:
        found = check(model, [p], Bounds(depth, together=False))
        reached = small.depth is not None and small.depth <= depth
        assert bool(found.broken or found.left_range) == reached, (depth, found)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("written", ["violated at the start"], indirect=True)
def test_a_run_without_a_step_is_a_counterexample(written: Path) -> None:
    ran = CliRunner().invoke(main, ["bmc", "--protocol", str(written), "--depth", "2"])
    assert ran.exit_code == 1, ran.output
    assert "low is violated after 0 steps" in ran.output


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("written", ["one alternative too many", "as it is"], indirect=True)
def test_a_column_that_fails_is_a_sentence_in_it(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A violation, and what else an exploration found, is reported whatever happens to z3."""

    def fails(*_: object) -> None:
        raise KeyError(512)

    monkeypatch.setattr(extension, "inductive", fails)
    monkeypatch.chdir(written.parent)
    violated = "choose(s, 4)" in written.read_text(encoding="utf-8")
    other = written.read_text(encoding="utf-8").replace("PROTOCOL =", OTHER + "PROTOCOL =")
    written.write_text(other, encoding="utf-8")
    ran = CliRunner().invoke(main, ["--protocol", str(written), "--symbolic", "5"])
    assert ran.exit_code == (1 if violated else 3), ran.output
    assert "an internal error (KeyError: 512), there is no verdict; please report it" in " ".join(ran.output.split())
    assert ("VIOLATED: low at depth 1" in ran.output) is violated


OTHER = '''@safety(witness=up)
def another(s: State) -> bool:
    """No level above 4."""
    for p in range(s.NODES):
        if s.level[p] > 4:
            return False
    return True


'''


@pytest.mark.slow(seconds=1)
def test_a_range_named_after_epochs_is_named_where_a_protocol_has_none(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    path.write_text(SMALL["beyond a range"].text.replace("Range(0, 4)", 'Range(0, 2, "--max-epoch")'), encoding="utf-8")
    assert asked(str(path)).within == ("--max-epoch",)


@pytest.mark.slow(seconds=2)
def test_z3_leaves_properties_of_terminal_states_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that other states violate is no clause, and is not violated by them."""
    path = tmp_path / "small.py"
    path.write_text(SMALL["as it is"].text.replace("(__name__", "(__name__, deadlock=True"), encoding="utf-8")
    words = {v.clause.name: v.word for v in asked(str(path)).verdicts}
    assert (words["low"], DEADLOCK in words) == ("proved", False)
    monkeypatch.setattr(extension, "inductive", lambda *_: (set(), ()))
    judged = [p for p in properties_of(str(path)) if p.name in ("low", DEADLOCK)]
    said = extension.z3_answers(Configuration(str(path), nodes=2), judged, 20.0, 1)
    assert (said[DEADLOCK].text, said["low"].steps > 0) == (extension.TERMINAL_STATES, True)
