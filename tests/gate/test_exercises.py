"""The exercises that come with zabcheck: none is solved as it stands, and each can be."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands.running import run

# What a solution changes, by file: a text of it, and what stands in its place.
SOLUTIONS = {
    "explain.py": {'"begins": 0': '"begins": 1', '"refusals": 0': '"refusals": 1'},
    "restore.py": {
        "Each[Node, Node] = volatile(": "Each[Node, Node] = stored(",
        "send, volatile": "send, stored, volatile",
    },
    "notice.py": {"    return True\n": "    return sum(1 for p in processes(s, Client) if s.holds[p]) <= 1\n"},
    "quorums.cfg": {"weight.1=1": "weight.1=3", "weight.2=1": "weight.2=3", "weight.3=1": "weight.3=-3"},
    "fair.py": {"not s.latched)": 'not s.latched, fair="strong")'},
    "clock.py": {"PROMISE = LENGTH ": "PROMISE = LENGTH + 2 "},
}


def points(folder: Path) -> tuple[list[str], str]:
    """Return the points of each exercise, as the JUnit file has them, and what is printed."""
    said = run("check", "--junit", str(folder / "grades.xml")).stdout
    return [p.attrib["value"] for p in ElementTree.parse(folder / "grades.xml").iter("property")], said


@pytest.mark.slow(seconds=15)
def test_no_exercise_is_solved_and_each_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "course"
    written = run("init", str(folder), "--from", "exercises")
    assert written.exit_code == 0
    assert str(folder) in written.stdout
    monkeypatch.chdir(folder)
    worth = ["2", "2", "1", "2", "2", "2", "2"]
    assert points(folder)[0] == [f"0 of {n}" for n in worth]
    for name, changes in SOLUTIONS.items():
        text = (folder / name).read_text()
        for before, after in changes.items():
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        (folder / name).write_text(text)
    earned, said = points(folder)
    assert earned == [f"{n} of {n}" for n in worth]
    assert "; 13 of 13 points; " in said
