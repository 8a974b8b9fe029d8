"""A run-time error of the author's text is a violation of `no-runtime-error`; a capacity that is too small is no
verdict. Both have a run, which names the author's line and the values."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.search.code import SearchCode
from checker.search.search import RandomSearch
from invariants import NO_RUNTIME_ERROR, Property, core, properties_of
from tests.sources import never, some
from traces import Trace, TraceError, build_trace, read_trace, to_text, verify, write_trace
from traces.record.failure import named_from
from traces.record.runner import failing_trace
from traces.replay.replay import replay
from traces.shorten.minimise import minimise
from zabspec.model import Configuration, Model

TEXT = (
    '''"""A text with a run-time error in it."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, Int, MessageType, Node, Range, RecordType, SeqOf, SetOf, Txn, action, choose, declare,
    environment, environment_step, ghost, observation, on_disk, receives, safety, send, stored, volatile,
)  # fmt: skip

Level = Annotated[int, Int(0, 3)]


class Pair(RecordType):
    a: Level
    b: Level


class State(Fields):
    level: Each[Node, Level] = stored("how far")
    leader: Each[Node, Node] = volatile("whom it follows")
    log: Each[Node, Annotated[SeqOf[Annotated[int, Int(0, 9)]], AtMost(2)]] = stored("what was heard")
    most: Each[Node, Annotated[int, Range(0, lambda size: size.ups, "--ups")]] = stored("as many as there are")
    seen: Each[Node, Annotated[set[int], SetOf(3)]] = volatile("which it saw")
    slots: Each[Node, Each[Annotated[int, Range(0, 2)], Annotated[int, Int(0, 9)]]] = volatile("one of three")
    pair: Each[Node, Pair] = stored("two numbers")
    shown: Each[Node, Level] = ghost("what was shown")
    clock: Level = environment("a clock")


class UP(MessageType):
    by: Annotated[int, Int(0, 3)]


def on_start(s: State, p: Node) -> None:
    s.leader[p] = NOBODY


def may(s: State, p: Node) -> bool:
    return s.level[p] < 2


@action(when=may, budget="ups")
def up(s: State, p: Node) -> None:
    """p goes up, and says so."""
    s.level[p] += 1
    send(s, p, p, UP(by=s.level[p]))


@observation
def show(s: State, p: Node, x: int) -> None:
    s.shown[p] = 1


@receives
def on_up(s: State, p: Node, source: Node, m: UP) -> None:
    """p hears of it."""
    heard(s, p, m.by)


def heard(s: State, p: Node, by: int) -> None:
    if by > 1:
        wrong(s, p, by)
    show(s, p, by)


def wrong(s: State, p: Node, by: int) -> None:
    pass


def may_tick(s: State) -> bool:
    return s.clock < 1


@environment_step(when=may_tick)
def tick(s: State) -> None:
    s.clock = 1


'''
    + some("somebody", "s.level[p] > 0", "Somebody is up.")
    + never("low", "s.level[p] == 3", "Nobody is at 3.", "somebody")
    + """PROTOCOL = declare(__name__, budgets={"ups": 3}, nodes=2)
"""
)
WRONG = "    pass\n"
GUARD = "    return s.level[p] < 2\n"
NOBODY = "    s.leader[p] = NOBODY\n"
LOW = "            return False\n    return True\n"

# What of the text is replaced, by what, at which depth it is met, and what is said; `^` marks the line.
OF_AUTHOR = {
    "range": (WRONG, "    s.level[p] = s.level[p] + by^\n", 3, "level[p0] would be 4, declared 0..3"),
    "below": (WRONG, "    s.level[p] = s.level[p] - 5^\n", 3, "level[p0] would be -3, declared 0..3"),
    "process": (WRONG, "    s.leader[p] = by + 5^\n", 3, "leader[p0] would be 7, declared -1..1"),
    "axis": (WRONG, "    s.slots[p][by + 1] = 1^\n", 3, "slots[p0] has no entry 3: its entries are 0..2"),
    "axis read": (WRONG, "    s.level[p] = s.slots[p][0 - by]^\n", 3, "slots[p0] has no entry -2"),
    "sequence": (WRONG, "    s.level[p] = s.log[p][by]^\n", 3, "log[p0] has no place 2: its places are 0..1"),
    "remove": (WRONG, "    s.log[p].remove(0)^\n", 3, "log[p0] has no element 0 to remove: it holds 0"),
    "room": (
        WRONG,
        "    for k in range(3):\n        s.log[p].append(k)^\n",
        3,
        "log[p0] would hold 3 elements, declared at most 2",
    ),
    "element": (WRONG, "    s.log[p].append(by + 8)^\n", 3, "log[p0] would be 10, declared 0..9"),
    "member": (WRONG, "    s.seen[p].add(by + 1)^\n", 3, "seen[p0] cannot have the member 3: its members are 0..2"),
    "record": (WRONG, "    s.pair[p] = Pair(a=by + 2, b=0)^\n", 3, "Pair.a would be 4, declared 0..3"),
    "message": (WRONG, "    send(s, p, p, UP(by=by + 2))^\n", 3, "UP.by would be 4, declared 0..3"),
    "no such target": (WRONG, "    send(s, p, by + 3, UP(by=0))^\n", 3, "endpoint has no entry 5"),
    "nobody": (WRONG, "    send(s, p, NOBODY, UP(by=0))^\n", 3, "endpoint has no entry of NOBODY"),
    "past the length": (WRONG, "    s.log[p][len(s.log[p])] = 1^\n", 3, "log[p0] has 0 entries, none at 0"),
    "before the first": (WRONG, "    s.log[p][0 - by] = 1^\n", 3, "log[p0] has 0 entries, none at -2"),
    "shifted by too little": (WRONG, "    s.level[p] = 1 << (0 - by)^\n", 3, "would be 1 << -2: a shift takes 0..63"),
    "shifted right by too much": (WRONG, "    s.level[p] = by >> (62 + by)^\n", 3, "would be 2 >> 64: a shift"),
    "shifted out": (WRONG, "    s.level[p] = by << (61 + by)^\n", 3, "would leave 64 bits: it would be 2 << 63"),
    "a product": (WRONG, "    s.level[p] = (by << 40) * (by << 40)^\n", 3, "would leave 64 bits: it would be"),
    "shifted in place": (WRONG, "    s.level[p] <<= 62 + by^\n", 3, "a shift takes 0..63"),
    "fewer than none": (WRONG, "    s.level[p] = choose(s, 0 - by)^\n", 3, "would be divided by zero"),
    "choose nothing": (WRONG, "    s.level[p] = choose(s, by - 2)^\n", 3, "an integer would be divided by zero"),
    "ghost": ("    s.shown[p] = 1\n", "    s.shown[p] = x * 2^\n", 3, "shown[p0] would be 4, declared 0..3"),
    "environment": ("    s.clock = 1\n", "    s.clock = 7 // s.clock^\n", 1, "an integer would be divided by zero"),
    "guard": (GUARD, "    return s.slots[p][s.level[p] + 2] == 0^\n", 1, "slots[p0] has no entry 3"),
    "start": (NOBODY, "    s.leader[p] = 3 - s.level[p]^\n", 0, "leader[p0] would be 3, declared -1..1"),
    "property": (LOW, LOW.replace("True", "s.slots[0][s.level[0] + 1] < 9^"), 2, "slots[p0] has no entry 3"),
    "premise": ("s.level[p] > 0:\n", "6 // (s.level[p] - 2) > 9:^\n", 2, "an integer would be divided by zero"),
}  # fmt: skip
OF_CAPACITY = {
    "channel": ("", "", {"channel": 1}, 2, "in_flight would hold 2 elements, declared at most 1", "--channel"),
    "flag of a budget": (WRONG, "    s.most[p] = by + 2^\n", {}, 3, "most[p0] would be 4, declared 0..3", "--ups"),
    "alternatives": (
        WRONG,
        "    s.level[p] = choose(s, 200 + by * 99)^\n",
        {},
        3,
        "choices would be 398, declared 0..255",
        "a step has at most 255 alternatives: choose from fewer, or in several steps",
    ),
}


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


def replayed(trace: Trace, folder: Path) -> Trace:
    """A trace that was written, read, held against both worlds, shortened and shown; as it was read."""
    file = folder / "run.trace.json"
    write_trace(trace, file)
    again = read_trace(file)
    assert again == trace
    verify(again)
    assert replay(again).failure == trace.failure
    assert len(minimise(again).trace.steps) <= len(again.steps)
    return again


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("case", OF_AUTHOR)
def test_an_error_of_the_author_is_a_violation_with_its_line_and_values(case: str, tmp_path: Path) -> None:
    old, new, depth, said = OF_AUTHOR[case]
    path, line = text_with(tmp_path, old, new)
    if case == "start":
        trace = failing_trace(model_of(path)[0], (), True)
    else:
        model, judged = model_of(path)
        found = Interpreter(model, judged, False).run(Limits())
        violation = found.violations[NO_RUNTIME_ERROR.name]
        assert violation.depth == depth
        trace = build_trace(model, NO_RUNTIME_ERROR, violation.schedule)
    assert trace.failure is not None
    assert said in trace.failure.sentence
    assert (trace.failure.file, trace.failure.line, trace.failure.widen) == ("mine.py", line, "")
    assert trace.failure.code in path.read_text(encoding="utf-8").split("\n")[line - 1]
    again = replayed(trace, tmp_path)
    shown = to_text(again)
    assert f"mine.py:{line}:" in shown
    assert re.search(r"\n +\^+\n", shown)
    assert trace.failure.values


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    "case",
    [
        "range", "no such target", "guard", "property", "premise", "choose nothing", "nobody", "past the length",
        "before the first", "shifted by too little", "shifted right by too much", "a product", "fewer than none",
    ],
)  # fmt: skip
def test_the_engines_agree_on_the_verdict_and_the_depth(case: str, tmp_path: Path) -> None:
    old, new, depth, _ = OF_AUTHOR[case]
    model, judged = model_of(text_with(tmp_path, old, new)[0])
    symmetry = case not in ("no such target", "property", "nobody", "premise")  # the text tells processes apart
    plain = Interpreter(model, judged, symmetry).run(Limits())
    for threads in (1, 2):
        fast = Explorer(Compiled(model, judged, symmetry), threads).run(Limits())
        for what in ("levels", "generated", "expanded_levels", "witnessed"):
            assert getattr(fast, what) == getattr(plain, what), what
        for r in (fast, plain):
            assert r.violations.keys() == {NO_RUNTIME_ERROR.name}
            assert r.violations[NO_RUNTIME_ERROR.name].depth == depth
            verify(build_trace(model, NO_RUNTIME_ERROR, r.violations[NO_RUNTIME_ERROR.name].schedule))


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", OF_CAPACITY)
def test_a_capacity_that_is_too_small_is_no_verdict_and_has_a_run(case: str, tmp_path: Path) -> None:
    old, new, given, depth, said, widen = OF_CAPACITY[case]
    path, line = text_with(tmp_path, old, new)
    model, judged = model_of(path, **given)
    runs: list[Exploration] = [
        Interpreter(model, judged, False).run(Limits()),
        Explorer(Compiled(model, judged, False), 1).run(Limits()),
    ]
    for r in runs:
        assert not r.violations
        assert widen in r.error
        assert r.error_run is not None
        assert len(r.error_run) == depth
        trace = replayed(failing_trace(model, r.error_run, False), tmp_path)
        assert trace.failure is not None
        assert trace.property_name == ""
        assert said.replace("p0", "p1") in trace.failure.sentence.replace("p0", "p1")
        assert trace.failure.widen == widen
        assert trace.failure.file == "mine.py"
        assert not line or trace.failure.line == line


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
    _, line = text_with(tmp_path, *OF_AUTHOR["range"][:2])
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
        ["export", saved, "--to", "mermaid"],
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
def test_what_meets_none_holds_and_counts_for_no_other_property(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text_with(tmp_path, "", "")
    run = json.loads(CliRunner().invoke(main, ["--protocol", "mine.py", "--no-trace", "--json"]).stdout)
    rows = {p["name"]: p["verdict"] for p in run["properties"]}
    assert rows == {"low": "holds", "no-runtime-error": "holds"}
    assert run["sentence"].startswith("holds: 1 property, each put to the test")
    cut = json.loads(CliRunner().invoke(main, ["--protocol", "mine.py", "--depth", "0", "--json"]).stdout)
    assert cut["sentence"].startswith("premise not reached: no property (1 checked) was put to the test")
    alone = CliRunner().invoke(main, ["--protocol", "mine.py", "--property", "no-runtime-error", "--no-trace"])
    assert alone.output.startswith("holds: no-runtime-error, in every step")


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", ["range", "ghost", "environment"])
def test_a_simulated_run_that_meets_it_is_a_violation(case: str, folder: Path) -> None:
    _, line = text_with(folder, *OF_AUTHOR[case][:2])
    run = CliRunner().invoke(main, ["simulate", "--protocol", "mine.py", "--budget", "ups=9"])
    assert run.exit_code == 1, run.output
    assert run.stdout.startswith("VIOLATED: no-runtime-error: ")
    assert f"\nmine.py:{line}:\n" in run.stdout
    told = CliRunner().invoke(main, ["simulate", "--protocol", "mine.py", "--budget", "ups=9", "--json"])
    assert (told.exit_code, json.loads(told.stdout)["place"]) == (1, f"mine.py:{line}")


def test_the_built_in_property_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text_with(tmp_path, "", "")
    listed = CliRunner().invoke(main, ["properties", "--protocol", "mine.py"])
    assert "no-runtime-error (always)" in listed.output
    assert "no-runtime-error" not in CliRunner().invoke(main, ["properties", "--protocol", "zab"]).output


@pytest.mark.slow(seconds=2)
def test_random_walks_find_it_too(tmp_path: Path) -> None:
    model, judged = model_of(text_with(tmp_path, *OF_AUTHOR["range"][:2])[0])
    found = RandomSearch(SearchCode(model, judged), "random", 1, 1).run(20)
    assert found.broken.keys() == {NO_RUNTIME_ERROR.name}
    verify(build_trace(model, NO_RUNTIME_ERROR, found.broken[NO_RUNTIME_ERROR.name].schedule))


def test_a_forged_error_is_refused(tmp_path: Path) -> None:
    path, _ = text_with(tmp_path, *OF_AUTHOR["range"][:2])
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


AT_ONCE = {
    "a property that errs": "s.slots[0][s.level[0] + 3] < 9",
    "one that divides": "7 // s.level[0] < 9",
    "one that is false": "s.level[0] > 0",
    "a premise that errs": None,
}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("case", AT_ONCE)
def test_a_run_without_a_step_is_replayed_and_shortened(case: str, folder: Path) -> None:
    said = AT_ONCE[case]
    changed = (LOW, LOW.replace("True", said)) if said else ("s.level[p] > 0:\n", "6 // s.level[p] > 9:\n")
    text_with(folder, *changed)
    ran = CliRunner().invoke(main, ["--protocol", "mine.py", "--json", "--engine", "interpret"])
    assert ran.exit_code == 1, ran.stderr
    broken = [p["violation"] for p in json.loads(ran.stdout)["properties"] if p["violation"]]
    assert [v["depth"] for v in broken] == [0]
    for words in (["replay"], ["minimise", "--search", "3"], ["export", "--to", "html"]):
        done = CliRunner().invoke(main, [words[0], broken[0]["trace_file"], *words[1:]])
        assert done.exit_code == 0, (words, done.output)


NO_RANGE = {
    "division": ("s.level[p] - 6 // (s.level[p] - 1) > 9", "an integer would be divided by zero in gets"),
    "rest": ("6 % (s.level[p] - 1) > 9", "an integer would be divided by zero in gets"),
    "index": ("s.slots[p][s.level[p] + 2] > 9", "slots has no entry outside 0..2 in gets"),
    "shift": ("1 << (0 - s.level[p]) > 9", "or be shifted by a number outside 0..63 in gets"),
}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("case", NO_RANGE)
def test_a_progress_property_that_errs_is_no_verdict_and_said_to_err(case: str, folder: Path) -> None:
    body, said = NO_RANGE[case]
    goal = f'@progress\ndef gets(s: State, p: Node) -> bool:\n    """Who waits."""\n    return {body}\n\n\nPROTOCOL ='
    path, _ = text_with(folder, "PROTOCOL =", goal)
    path.write_text(path.read_text().replace("import (\n", "import (\n    progress,\n", 1))
    ran = CliRunner().invoke(main, ["--live", "--protocol", "mine.py", "--no-trace"])
    assert ran.exit_code == 3, ran.stderr
    told = " ".join(ran.output.split())
    assert "no verdict: a run-time error: " in told
    assert said in told
    assert "leave its range" not in told


def test_a_file_of_ours_is_named_from_where_the_packages_lie(tmp_path: Path) -> None:
    path, _ = text_with(tmp_path, *OF_AUTHOR["below"][:2])
    for model in (Model(Configuration()), model_of(path)[0]):
        assert named_from(model, core.__file__) == str(Path("invariants", "core.py"))
