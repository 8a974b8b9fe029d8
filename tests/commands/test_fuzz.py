"""A few fuzzed commands and changed files; `python -m tests.fuzz` makes as many as one likes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.commands import commands
from tests.fuzz.files import ZOO, Damaged
from tests.fuzz.running import Outcome
from tests.fuzz.truth import faults, lies
from tests.patience import HANG

TOP = Path(__file__).parents[2]


@pytest.mark.slow
def test_commands_end_as_they_should_fuzzed_on_changed_files_and_cut_short() -> None:
    """In a process of its own, which has no threads when it forks."""
    words = ["--commands", "4", "--files", "5", "--declared", "8", "--ends", "99", "--most", "8", "--seed", "8"]
    command = [sys.executable, "-m", "tests.fuzz", *words, "--limit", str(HANG)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n0 wrong of 25" in done.stdout


WRONG = "zabcheck: no\n"


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ((1, "", "Traceback (most recent call last):\n"), ()),
        ((-11, "", ""), ()),
        ((2, "holds: all", WRONG), ()),
        ((2, "", f"{WRONG}{WRONG}"), ()),
        ((0, "", ""), ()),
        ((1, "", "zabcheck: found\n"), ()),
        ((3, "", ""), ()),
        ((0, "\x1b[2J", ""), ()),
        ((0, "VIOLATED: agreement at depth 3\n", ""), ()),
        ((1, "holds: all\n", ""), ()),
        ((0, '{"exit_code": 1}', ""), ("--json",)),
    ],
)
def test_an_ending_that_is_not_as_it_should_be_is_seen(
    ending: tuple[int, str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    assert faults(Outcome(words, *ending, 0.1), tmp_path)
    assert not faults(Outcome(("variants",), 0, "zab", "", 0.1), tmp_path)
    assert not faults(Outcome(("quorums",), 2, "", WRONG, 0.1), tmp_path)
    for after, seen in ((0.1, False), (9.0, True)):  # it had answered as it was told to end; it went on
        assert bool(faults(Outcome(("variants",), 0, "zab", "", 20.0, True, after), tmp_path)) is seen
    (tmp_path / "zabcheck-error-1.txt").touch()
    assert faults(Outcome(("variants",), 3, "", "zabcheck: no verdict\n", 0.1), tmp_path)


def test_a_changed_file_that_is_believed_is_seen(tmp_path: Path) -> None:
    trace = {"tool": "1", "steps": [1]}
    (tmp_path / "a.trace.json").write_text(json.dumps(trace))
    for content, code, seen in (
        ({"tool": "2", "steps": [1]}, 0, False), ({"tool": "1", "steps": [True]}, 0, True), ({"steps": [1]}, 0, True),
        ({"steps": [1]}, 2, False), (trace, 2, True),
        (trace | {"configuration": {"max_epoch": 1}}, 0, True), (trace | {"request": {"kind": "check"}}, 0, False),
    ):  # fmt: skip
        given = Damaged(("replay",), "a.trace.json", json.dumps(content).encode())
        assert bool(lies(Outcome(given.words, code, "", "", 0.1), given, tmp_path)) is seen, (content, code)
    for code in (0, 1, 2, 3):
        given = Damaged(("quorums",), "zoo.cfg", ZOO.encode())
        assert bool(lies(Outcome(given.words, code, "", "", 0.1), given, tmp_path)) is (code != 0)


def test_the_same_seed_gives_the_same_commands() -> None:
    assert list(commands(50, 3)) == list(commands(50, 3)) != list(commands(50, 4))
