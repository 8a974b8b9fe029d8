"""What commands print, recorded: a line of `tests/transcripts/` that differs is a change that a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcript import TOP, Transcript, compare, difference, edited

FOLDER = TOP / "tests" / "transcripts"
NEEDS = {"commands/wrong-engines": "pyspark", "commands/wrong-sweeps": "pyarrow"}
NAMES = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in sorted(FOLDER.rglob("*.txt"))]


@pytest.mark.slow(seconds=1)
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", NAMES)
def test_commands_print_what_is_recorded(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    compare(FOLDER / f"{name}.txt", tmp_path, request)


@pytest.mark.parametrize(
    ("line", "said"), [("zabcheck list", "is no line of a transcript"), ("edit a\n- y\n+ z", "not exactly one 'y")]
)
def test_a_line_that_means_nothing_is_refused(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        Transcript("t", tmp_path).run(f"file a\n| x\n{line}\n")


def test_output_that_differs_is_shown(tmp_path: Path) -> None:
    now = Transcript("t", tmp_path).run("$ zabcheck --nodes 0\n    nothing\n")
    assert "-    nothing" in difference("t", "$ zabcheck --nodes 0\n    nothing\n", now)
    assert "+  = 2" in difference("t", "$ zabcheck --nodes 0\n    nothing\n", now)
    assert edited("a\nb\nc\n", ["- b", "+ d", "+ e"], "t") == "a\nd\ne\nc\n"
