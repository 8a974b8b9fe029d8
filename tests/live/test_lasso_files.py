"""A run in which somebody waits for ever, in a file: read, replayed, shortened and shown; refused if it is none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.result import Limits
from checker.live.code import LiveCode
from checker.live.lasso import lasso_of
from checker.live.run import ALL, LiveRun
from tests.live.lock import FORGETS
from traces import Trace, TraceError, build_trace, read_trace, to_itf, to_text, verify, write_trace
from traces.pictures.picture import picture_of
from traces.replay.replay import replay
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import ACTION, CRASH


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def unfolded(result: Result) -> str:
    """What was printed, in one line."""
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that --live leaves."""
    folder, before = tmp_path_factory.mktemp("lasso"), Path.cwd()
    os.chdir(folder)
    try:
        Path("forgets.py").write_text(FORGETS)
        result = asked("--live", "--protocol", "forgets.py")
        assert result.exit_code == 1, result.output
        return folder / "zabcheck-forgets-served.trace.json"
    finally:
        os.chdir(before)


def changed(saved: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The file, with something in it changed."""
    content = json.loads(saved.read_text())
    protocol = str(saved.parent / "forgets.py")
    content["configuration"]["protocol"] = content["request"]["protocol"] = protocol
    change(content)
    out = tmp_path / "changed.trace.json"
    out.write_text(json.dumps(content))
    return out


def in_lasso(**given: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["lasso"].update(given)


@pytest.mark.slow(seconds=4)
def test_a_lasso_is_saved_read_and_replayed(saved: Path) -> None:
    there = read_trace(saved)
    assert there.as_dict()["version"] == 1
    lasso, steps = there.lasso, len(there.steps)
    assert lasso is not None
    assert (lasso.progress_property, lasso.process, lasso.named) == ("served", 1, None)
    assert lasso.loop is not None
    assert there.states[lasso.loop] == there.states[-1]
    verify(there)
    assert replay(there).lasso == lasso
    result = asked("replay", str(saved))
    assert result.exit_code == 0, result.output
    said = f"the run is fair, and served is not reached: p1 starves while steps {lasso.loop + 1} to {steps} repeat"
    assert f"{said} forever" in unfolded(result)
    assert json.loads(asked("replay", "--json", str(saved)).output)["lasso"]["loop"] == lasso.loop


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_lasso(loop=2), "the last step of the loop does not lead back"),
        (lambda c: c["lasso"].update(loop=c["lasso"]["loop"] + 1), "does not lead back to its beginning"),
        (in_lasso(loop=None), "not fair: for ever enabled and never taken: p0 does goes-on"),
        (in_lasso(process=0), "p0 does not wait"),
        (in_lasso(named=0), "in this protocol nobody is named"),
        (in_lasso(progress_property="serves"), "there is no progress property 'serves'; there are served"),
        (in_lasso(statement="Nobody gets it."), "lasso, statement: the trace says 'Nobody gets it.'"),
        (in_lasso(process=7), "process must be 0 to 1"),
        (in_lasso(loop=99), "loop must be "),
        (in_lasso(stabilization_time=99), "stabilization_time must be "),
        (in_lasso(more=1), "lasso: there is no key 'more'"),
        (lambda c: c["lasso"].pop("named"), "lasso: 'named' is missing"),
        (lambda c: c.update(property="one-holder"), "is given besides a property"),
        (lambda c: c.update(premise_of="one-holder"), "is given besides 'lasso'"),
    ],
)  # fmt: skip
def test_a_file_that_says_what_is_not_so_is_refused(
    change: Callable[[dict[str, Any]], None], said: str, saved: Path, tmp_path: Path
) -> None:
    path = changed(saved, tmp_path, change)
    result = asked("replay", str(path))
    assert result.exit_code == 2, result.output
    assert said in unfolded(result)
    with pytest.raises(TraceError):
        verify(read_trace(path))


def test_a_loop_that_lacks_a_step_does_not_close(saved: Path, tmp_path: Path) -> None:
    assert replay(read_trace(changed(saved, tmp_path, lambda _: None)))
    result = asked("replay", str(changed(saved, tmp_path, lambda content: content["steps"].pop())))
    assert result.exit_code == 2
    assert "the last step of the loop does not lead back" in unfolded(result)


@pytest.mark.slow(seconds=3)
def test_a_lasso_is_shortened_while_somebody_waits(saved: Path, tmp_path: Path) -> None:
    """Steps that need not be there go, from each of its parts."""
    first = read_trace(saved)
    lasso = first.lasso
    assert lasso is not None
    assert lasso.loop is not None
    turn = first.schedule[lasso.loop : lasso.loop + 1]  # goes on, and back again
    words = (*turn, *turn, *first.schedule[: lasso.loop], *turn, *turn, *turn, *turn, *turn, *turn)
    longer = replace(
        build_trace(first.model, None, words),
        lasso=replace(lasso, stabilization_time=lasso.stabilization_time + 2, loop=lasso.loop + 4),
    )
    write_trace(longer, tmp_path / "longer.trace.json")
    result = asked("minimise", str(tmp_path / "longer.trace.json"), "--output", str(tmp_path / "short.trace.json"))
    assert result.exit_code == 0, result.output
    assert f"{len(words)} steps are {len(first.steps)} now, and still leave served unreached" in unfolded(result)
    short = read_trace(tmp_path / "short.trace.json")
    verify(short)
    assert short.lasso is not None
    assert len(short.steps) == len(first.steps)


def test_pictures_and_other_formats_show_the_moment_and_the_loop(saved: Path) -> None:
    there = read_trace(saved)
    assert there.lasso is not None
    assert there.lasso.loop is not None
    assert "served is not reached: p1 starves while steps" in to_text(there)
    assert "-- stabilization time: from here on there is no fault" in to_text(there)
    assert json.loads(to_itf(there))["loop"] == there.lasso.loop
    picture = picture_of(there)
    assert picture.title.startswith("served is not reached after")
    assert any("repeat forever" in event for row in picture.rows for event in row.events)


def test_after_the_moment_there_is_no_fault(saved: Path, tmp_path: Path) -> None:
    """p1 asks, and the server fails: if the moment is before that, this is no run of the stable phase."""
    first = read_trace(saved)
    assert first.lasso is not None
    words = (ACTION << 24 | 1 << 16, CRASH << 24)
    failed = build_trace(Model(replace(first.configuration, crashes=1)), None, words)
    for moment, code in ((2, 0), (1, 2), (0, 2)):
        lasso = replace(first.lasso, stabilization_time=moment, loop=None)
        write_trace(replace(failed, lasso=lasso), tmp_path / "failed.trace.json")
        result = asked("replay", str(tmp_path / "failed.trace.json"))
        assert result.exit_code == code, result.output
        assert ("step 2 is not possible in the stable phase" in unfolded(result)) == (code == 2)


@cache
def unfair() -> Trace:
    """A run that is not fair: p1's own steps are left out of what has to be done."""
    c = LiveCode.of(Model(Configuration(nodes=2, txns=1, timeouts=0, crashes=0, losses=0, max_epoch=4)), (), True)[0]
    dropped = sum(1 << k for k, one in enumerate(c.classes) if one.process == 1)
    run = LiveRun(c, 1, ALL & ~dropped)
    run.run(Limits(None, None, None, None))
    found = lasso_of(run, run.live.found["follows"])
    return replace(build_trace(Model(found.configuration), None, found.schedule), lasso=found.lasso)


@pytest.mark.slow(seconds=3)
def test_an_unfair_run_and_one_that_names_another_are_refused(tmp_path: Path) -> None:
    made = unfair()
    assert made.lasso is not None
    other = replace(made.lasso, named=1 - (made.lasso.named or 0))
    nobody = replace(made.lasso, named=None)
    for lasso, said in ((made.lasso, "not fair"), (other, "lasso"), (nobody, "in this protocol a process is named")):
        write_trace(replace(made, lasso=lasso), tmp_path / "made.trace.json")
        result = asked("replay", str(tmp_path / "made.trace.json"))
        assert result.exit_code == 2, result.output
        assert said in unfolded(result)
