"""A run-time error of the author's text is a violation of `no-runtime-error`; a capacity that is too small is no
verdict. Both have a run, which names the author's line and the values."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.search.code import SearchCode
from checker.search.search import RandomSearch
from invariants import NO_RUNTIME_ERROR, Property, core, properties_of
from tests.transcript import file_of
from traces import TraceError, build_trace, read_trace, verify, write_trace
from traces.record.failure import named_from
from zabspec.model import Configuration, Model

TEXT = file_of("own/runtime-errors", "mine.py")
WRONG = "    pass\n"
GUARD = "    return s.level[p] < 2\n"

# What of the text is replaced, by what; `^` marks the line.
RANGE = (WRONG, "    s.level[p] = s.level[p] + by^\n")


def text_with(folder: Path, old: str, new: str) -> tuple[Path, int]:
    """A text in which one piece is replaced, and the line of it that is marked."""
    assert old in TEXT
    text = TEXT.replace(old, new, 1) if old else TEXT
    line = next((k for k, said in enumerate(text.split("\n"), 1) if said.endswith("^")), 0)
    path = folder / "mine.py"
    path.write_text(text.replace("^\n", "\n"), encoding="utf-8")
    return path, line


def model_of(path: Path, **given: object) -> tuple[Model, list[Property]]:
    judged = [p for p in properties_of(str(path)) if p.default]
    return Model(Configuration(str(path), **given)), judged  # type: ignore[arg-type]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("in_step", "in_property"), [(4, 3), (3, 4)])
def test_of_two_errors_behind_one_state_the_first_is_reported(in_step: int, in_property: int, tmp_path: Path) -> None:
    """Step by step: what a step meets comes before what a property meets in its successor, and that before what the
    next step meets. The sentence is that of the run."""
    path, _ = text_with(tmp_path, "    s.level[p] += 1\n", f"    s.level[p] += 9 if p == {in_step} else 1\n")
    asks = f"s.level[p] == 1 and p == {in_property}:\n            return s.slots[p][s.level[p] + 2] == 0"
    text = path.read_text(encoding="utf-8").replace("s.level[p] == 3:\n            return False", asks)
    path.write_text(text.replace("nodes=2", "nodes=6"), encoding="utf-8")
    model, judged = model_of(path)
    said = (
        "slots has no entry outside 0..2 in low"
        if in_property < in_step
        else "level would leave its range 0..3 in step"
    )
    for r in (
        Interpreter(model, judged, False).run(Limits()),
        Explorer(Compiled(model, judged, False), 1).run(Limits()),
    ):
        assert said in r.error
        trace = build_trace(model, NO_RUNTIME_ERROR, r.violations[NO_RUNTIME_ERROR.name].schedule)
        assert (len(trace.steps), trace.steps[0].process) == (1, min(in_step, in_property))


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("who", [0, 1])
def test_an_error_in_enabledness_is_reported_first(who: int, tmp_path: Path) -> None:
    """Whichever state of the level comes first: its run is shorter than that to what a step from the other meets."""
    path, _ = text_with(
        tmp_path, "    s.level[p] += 1\n", f"    s.level[p] += 9 if p != {who} and s.level[p] == 1 else 1\n"
    )
    asks = f"    if p == {who}:\n        return s.slots[p][s.level[p] + 2] == 0\n"
    path.write_text(path.read_text(encoding="utf-8").replace(GUARD, asks + GUARD), encoding="utf-8")
    model, judged = model_of(path)
    for r in (
        Interpreter(model, judged, False).run(Limits()),
        Explorer(Compiled(model, judged, False), 1).run(Limits()),
    ):
        assert "slots has no entry outside 0..2" in r.error
        trace = build_trace(model, NO_RUNTIME_ERROR, r.violations[NO_RUNTIME_ERROR.name].schedule)
        assert [(step.label, step.process) for step in trace.steps] == [("up", who)]


def test_an_error_of_the_author_is_found_beside_one_of_a_capacity(tmp_path: Path) -> None:
    """Whichever comes first in a level: the author's is a violation, and is not hidden."""
    both = "    if p == 0:\n        s.most[p] = by + 2\n    else:\n        s.level[p] = 9\n"
    for text in (both, both.replace("p == 0", "p == 1")):
        model, judged = model_of(text_with(tmp_path, WRONG, text)[0])
        for r in (
            Interpreter(model, judged, False).run(Limits()),
            Explorer(Compiled(model, judged, False), 2).run(Limits()),
        ):
            assert r.violations[NO_RUNTIME_ERROR.name].depth == 3


@pytest.mark.slow(seconds=1)
def test_the_command_reports_lists_saves_and_replays_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, line = text_with(tmp_path, *RANGE)
    run = CliRunner().invoke(main, ["--protocol", "mine.py", "--json"])
    assert run.exit_code == 1, run.output
    content = json.loads(run.stdout)
    rows = {p["name"]: p for p in content["properties"]}
    assert rows["no-runtime-error"]["verdict"] == "violated"
    assert rows["low"]["verdict"] == "no verdict"
    assert f"mine.py:{line}" in rows["no-runtime-error"]["violation"]["why"]
    saved = rows["no-runtime-error"]["violation"]["trace_file"]
    for words in (
        ["replay", saved],
        ["export", saved, "--to", "svg"],
        ["export", saved, "--to", "itf"],
        ["minimise", saved, "--search", "5"],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, (words, done.output)
    (tmp_path / "run.json").write_text(run.stdout, encoding="utf-8")
    assert CliRunner().invoke(main, ["report", "run.json", "--html", "run.html"]).exit_code == 1
    cut = CliRunner().invoke(main, ["--protocol", "mine.py", "--channel", "1"])
    assert cut.exit_code == 3
    assert "the run that needs more room is in zabcheck-mine-no-room.trace.json" in " ".join(cut.output.split())
    assert CliRunner().invoke(main, ["replay", "zabcheck-mine-no-room.trace.json"]).exit_code == 0


@pytest.mark.slow(seconds=2)
def test_random_walks_find_it_too(tmp_path: Path) -> None:
    model, judged = model_of(text_with(tmp_path, *RANGE)[0])
    found = RandomSearch(SearchCode(model, judged), 1, 1).run(20)
    assert found.broken.keys() == {NO_RUNTIME_ERROR.name}
    verify(build_trace(model, NO_RUNTIME_ERROR, found.broken[NO_RUNTIME_ERROR.name].schedule))


def test_a_forged_error_is_refused(tmp_path: Path) -> None:
    path, _ = text_with(tmp_path, *RANGE)
    model, judged = model_of(path)
    found = Interpreter(model, judged, False).run(Limits())
    trace = build_trace(model, NO_RUNTIME_ERROR, found.violations[NO_RUNTIME_ERROR.name].schedule)
    assert trace.failure is not None
    for changed in (
        dataclasses.replace(trace, failure=dataclasses.replace(trace.failure, line=1)),
        dataclasses.replace(trace, failure=dataclasses.replace(trace.failure, sentence="all is well")),
        dataclasses.replace(trace, failure=dataclasses.replace(trace.failure, where="enabled")),
        dataclasses.replace(trace, steps=trace.steps[:-1]),
    ):
        with pytest.raises(TraceError):
            verify(changed)
    for forged in (
        dataclasses.replace(trace, failure=dataclasses.replace(trace.failure, widen="--channel")),
        dataclasses.replace(trace, property_name="low"),
        dataclasses.replace(trace, failure=None),
    ):
        write_trace(forged, tmp_path / "forged.json")
        with pytest.raises(TraceError):
            read_trace(tmp_path / "forged.json")


def test_a_file_of_ours_is_named_from_where_the_packages_lie(tmp_path: Path) -> None:
    path, _ = text_with(tmp_path, *RANGE)
    for model in (Model(Configuration()), model_of(path)[0]):
        assert named_from(model, core.__file__) == str(Path("invariants", "core.py"))


AT_THE_START = """
from __future__ import annotations

from zabcheck.language import Fields, Node, State, action, any_of, declare, initial, safety, shared


class State(Fields):
    who: Node = shared("who is chosen")


@initial
def begin(s: State) -> None:
    s.who = any_of(s, {q for q in range(s.NODES) if q == s.who})


@action(budget="steps")
def step(s: State, p: Node) -> None:
    s.who = p


@safety
def true(s: State) -> bool:
    "Somebody is chosen."
    return s.who == 0


PROTOCOL = declare(__name__, nodes=2, budgets={"steps": 1})
"""


@pytest.mark.parametrize("words", ["bmc --depth 2", "induct", "export --model --to tla --output M.tla", "--mutate 2"])
def test_an_error_in_the_initial_state_is_no_verdict(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(AT_THE_START)
    result = CliRunner().invoke(main, [*words.split(), "--protocol", "mine.py"])
    assert result.exit_code == 3
    assert "no verdict: a run-time error: any_of is of an empty set in the initial state" in result.output
