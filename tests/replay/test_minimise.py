"""Shortening counterexamples: what is left breaks the same property, and nothing more can go."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore import memory
from checker.requests import minimise as minimise_request
from invariants import PROPERTIES, property_named
from tests.replay.wandering import CASES, wandering
from tests.transcript import file_of
from traces import TraceError, build_trace, read_trace, verify, write_trace
from traces.shorten.minimise import World, minimise
from zabspec.model import Configuration, Model


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("case", ["db19", "small-quorum"])
def test_a_walk_shrinks_to_the_shortest_there_is(case: str) -> None:
    trace = wandering(case)
    found = minimise(trace)
    verify(found.trace)
    assert found.steps_before == len(trace.steps) > len(found.trace.steps)
    assert len(found.trace.steps) == CASES[case][2]
    assert found.trace.property_name == trace.property_name
    small, large = found.trace.configuration, trace.configuration
    assert small.txns < large.txns
    assert small.timeouts < large.timeouts
    assert small.nodes <= large.nodes


@pytest.mark.slow(seconds=1)
def test_no_single_step_can_go() -> None:
    trace = minimise(wandering("db19")).trace
    world = World(trace.configuration, property_named(trace.property_name, PROPERTIES))
    deeds = world.deeds(trace.schedule)
    for k in range(len(deeds)):
        found = world.run(deeds[:k] + deeds[k + 1 :])
        assert found is None or len(found[0]) >= len(deeds)


@pytest.mark.slow(seconds=1)
def test_what_cannot_be_shortened_stays(tmp_path: Path) -> None:
    trace = minimise(wandering("small-quorum")).trace
    assert minimise(trace).trace.schedule == trace.schedule


def test_a_size_in_which_no_run_begins_is_not_tried(tmp_path: Path) -> None:
    """What a run begins with names a process that a smaller model has not."""
    path = tmp_path / "climb.py"
    begins = """@initial
def begins(s: State) -> None:
    s.level[1] = choose(s, 2)


@final
def never(s: State) -> bool:
    return s.level[0] > 3


PROTOCOL ="""
    text = file_of("own/terminal", "climb.py").replace("PROTOCOL =", begins)
    path.write_text(text.replace("declare,", "choose, declare, initial,", 1), "utf-8")
    done = CliRunner().invoke(main, ["--protocol", str(path), "--deadlock", "--trace", str(tmp_path / "it.json")])
    assert done.exit_code == 1, done.output
    done = CliRunner().invoke(main, ["minimise", str(tmp_path / "it.json")])
    assert (done.exit_code, "no run is shorter" in done.output) == (0, True), done.output


@pytest.mark.slow(seconds=1)
def test_what_the_process_has_in_use_already_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_use = memory.resident_bytes
    monkeypatch.setattr(memory, "resident_bytes", lambda: in_use() + 2 * minimise_request.MEMORY)
    write_trace(wandering("small-quorum"), tmp_path / "walk.trace.json")
    found = minimise_request.Minimise(str(tmp_path / "walk.trace.json"), "", 900.0).answer()
    assert found.shortest


def test_a_witness_is_no_counterexample() -> None:
    trace = replace(wandering("small-quorum"), property_name="", statement="", source="")
    with pytest.raises(TraceError, match="violates no property"):
        minimise(trace)


def test_a_trace_that_breaks_nothing_is_refused() -> None:
    model = Model(Configuration(txns=1))
    trace = build_trace(model, property_named("agreement", PROPERTIES), [])
    with pytest.raises(TraceError, match="does not violate agreement"):
        minimise(trace)


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_the_command_says_whether_it_is_the_shortest(tmp_path: Path) -> None:
    path = tmp_path / "walk.trace.json"
    write_trace(wandering("small-quorum"), path)
    done = CliRunner().invoke(main, ["minimise", str(path), "--search", "900", "--json"])  # as slow as a machine may be
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["shortest"] is True
    assert said["steps"] == 11
    short = read_trace(tmp_path / "walk.min.trace.json")
    verify(short)
    assert len(short.steps) == 11


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["minimise", "nowhere.json"], "cannot read nowhere.json"),
        (["minimise", "nowhere.json", "--search", "0"], "must be a number of seconds above 0"),
        (["minimise", "nowhere.json", "--output", "no/such/folder.json"], "there is no folder"),
        (["minimise", "nowhere.json", "--output", "PIPE"], "this is not a regular file"),
    ],
)
def test_wrong_questions(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = CliRunner().invoke(main, [str(tmp_path / "pipe") if a == "PIPE" else a for a in arguments])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not done.stdout
