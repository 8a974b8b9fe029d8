"""Liveness, bounded model checking, random search and mutants under a quorum system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.live.run import moves_of
from zabspec.language.layout.schema import Schema
from zabspec.quorums import system_of

BALLOTS = ["--protocol", str(Path(__file__).parent / "ballots.py")]
SMALL = ["--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0"]


def answered(*words: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.slow(seconds=15)
def test_liveness_is_the_same_with_symmetry_and_without() -> None:
    quorums = "weights 2,1,1"
    found = [
        answered("--live", "--quorums", quorums, *SMALL, "--no-trace", *more)[1] for more in ([], ["--no-symmetry"])
    ]
    with_symmetry, without = found
    assert (with_symmetry["fault_phase"]["symmetry_off"], with_symmetry["configuration"]["quorums"]) == (None, quorums)
    assert with_symmetry["fault_phase"]["raw"] == without["fault_phase"]["raw"]
    assert with_symmetry["fault_phase"]["states"] < without["fault_phase"]["states"]
    said = [{p["name"]: p["verdict"] for p in report["progress_properties"]} for report in found]
    assert said[0] == said[1]


def test_a_process_is_named_by_what_the_renamings_allow() -> None:
    """Of weights 2,1,1 the first is like no other, and the others are alike."""

    class Code:
        nodes, symmetry = 3, True

        class phase:
            names_one = True

        class layout:
            schema = Schema(3, (), {}, system_of("weights 2,1,1"))

    moves = moves_of(Code())  # type: ignore[arg-type]
    assert [to for _, to in moves] == [0, 1, 1]
    assert [p[named] for named, (p, _) in enumerate(moves)] == [0, 1, 1]
    assert all(p in Code.layout.schema.renamings for p, _ in moves)


@pytest.mark.slow(seconds=20)
def test_bmc_finds_two_leaders_and_none_where_quorums_intersect() -> None:
    words = ["bmc", *BALLOTS, "--property", "one-leads", "--every", "1", "--no-trace"]
    code, found = answered(*words, "--depth", "6", "--quorums", "weights 3,3,-3")
    assert (code, found["violated"], found["configuration"]["quorums"]) == (1, ["one-leads"], "weights 3,3,-3")
    code, none = answered(*words, "--depth", str(found["steps"]), "--quorums", "weights 2,1,1")
    assert (code, none["violated"]) == (0, [])


@pytest.mark.slow(seconds=10)
def test_random_walks_find_two_leaders() -> None:
    words = ["--search", *BALLOTS, "--property", "one-leads", "--time-limit", "20", "--seed", "1"]
    code, found = answered(*words, "--quorums", "weights 3,3,-3", "--no-trace")
    assert (code, found["configuration"]["quorums"]) == (1, "weights 3,3,-3")
