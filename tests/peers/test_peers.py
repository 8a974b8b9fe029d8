"""The models that other tools are compared on: zabcheck's counts are those that their docstrings give, and a row
has figures only beside the right number of states."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.peers.__main__ import SIZES, row
from benchmarks.peers.tools import HERE, WAYS, Run, zabcheck
from tests.commands.running import run

COUNTS = {
    "two_phase_commit": (288, 80),
    "filter_lock": (356, 72),
    "paxos": (185_369, 34_113),
    "ring_election": (28, 28),
    "readers_writers": (167, 33),
}


def test_every_model_has_its_files_and_counts() -> None:
    there = {folder.name for folder in HERE.iterdir() if (folder / "model.py").exists()}
    assert there == set(SIZES) == set(COUNTS)
    for model in there:
        files = {"model.py", "model.pml.j2", "main.rs.j2", "Model.tla", "Model.cfg.j2"}
        assert files <= set(os.listdir(HERE / model))


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("model", COUNTS)
def test_zabcheck_has_the_states_that_are_given(model: str) -> None:
    for flags, wanted in zip((("--no-symmetry", "--reduction", "none"), ()), COUNTS[model], strict=True):
        words = ("--protocol", str(HERE / model / "model.py"), "--nodes", "3", "--no-trace", "--json", *flags)
        assert json.loads(run(*words).stdout)["states"]["distinct"] == wanted


@pytest.mark.slow(seconds=2)
def test_what_is_measured_of_zabcheck_has_its_states(tmp_path: Path) -> None:
    assert zabcheck()("ring_election", 3, tmp_path).states == COUNTS["ring_election"][1]


def test_no_time_is_shown_beside_other_states() -> None:
    way = next(w for w in WAYS if w.tool == "SPIN")
    run = Run(288, 1000, 1.25, 2.5, 30)
    assert "1.2" in row(way, "two_phase_commit", run, 288)
    told = row(way, "two_phase_commit", run, 289)
    assert told[2] == "288: not 289"
    assert not any(told[3:7])


def test_a_model_without_symmetry_has_no_orbits() -> None:
    way = next(w for w in WAYS if w.tool == "zabcheck" and w.orbits)
    run = Run(28, 55, 1.25, 0, 30)
    assert row(way, "ring_election", run, 28)[2] == "28"
    assert row(way, "filter_lock", run, 28)[2] == "28 orbits"
