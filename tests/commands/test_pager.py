"""Lists that are longer than a terminal have a pager there, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG

TAKES = "sh -c 'cat > taken'"
LIST = ("-m", "zabcheck", "properties")
TEXT = (
    "-c",
    "from checker.pager import paged; print('\\n' * 9 + f'shown: {paged(chr(10).join(map(str, range(100))))}')",
)


def on_terminal(folder: Path, *words: str, reads: bool = True, **given: str) -> str:
    """What a terminal of 24 lines gets of a Python command.

    Args:
        reads: somebody types at it.
        given: of the environment.
    """
    ours, theirs = pty.openpty()
    top = str(Path(__file__).parents[2])
    kept = {k: v for k, v in os.environ.items() if k not in ("PAGER", "LESS", "NO_COLOR")}
    environment = kept | {"TERM": "xterm", "LINES": "24", "COLUMNS": "80", "PYTHONPATH": top} | given
    stdin = theirs if reads else subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, *words], stdin=stdin, stdout=theirs, stderr=theirs, env=environment, cwd=folder
    )
    os.close(theirs)
    out = b""
    try:
        while data := os.read(ours, 65536):
            out += data
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(ours)
    assert process.wait(HANG) == 0
    return out.decode().replace("\r\n", "\n")


def test_a_page_is_rendered_on_a_terminal_alone(tmp_path: Path) -> None:
    command = ("-m", "zabcheck", "docs", "ci#what-it-writes")
    shown = on_terminal(tmp_path, *command)
    assert "\x1b[" in shown
    assert "###" not in shown
    assert on_terminal(tmp_path, *command, NO_COLOR="1").startswith("### What it writes\n")


@pytest.mark.slow(seconds=1)
def test_a_long_list_goes_to_the_pager(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, *LIST, PAGER=TAKES, NO_COLOR="1") == ""
    taken = (tmp_path / "taken").read_text()
    assert taken.startswith("property ")
    assert "\x1b" not in taken
    piped = subprocess.run([sys.executable, *LIST], capture_output=True, text=True, timeout=HANG, check=True)
    assert piped.stdout == taken


def test_so_does_the_help_of_all_commands(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, "-m", "zabcheck", "--help", PAGER=TAKES) == ""
    assert (tmp_path / "taken").read_text().startswith("Usage: ")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"PAGER": TAKES}, True),
        ({"PAGER": TAKES, "LINES": "200"}, False),
        ({"PAGER": TAKES, "TERM": "dumb"}, False),
        ({"PAGER": ""}, False),
        ({"PAGER": "cat"}, False),
        ({"PAGER": "no-such-pager"}, False),
        ({"PAGER": "sh 'unclosed"}, False),
        ({"PAGER": "sh -c 'exit 1'"}, False),  # what it does not show is written
        ({"PAGER": "sh -c 'read first; exit 0'"}, True),  # left before the end
    ],
)
def test_where_there_is_a_pager(tmp_path: Path, given: dict[str, str], shown: bool) -> None:
    assert f"shown: {shown}" in on_terminal(tmp_path, *TEXT, **given)


def test_nobody_is_waited_for_who_cannot_type(tmp_path: Path) -> None:
    assert "shown: False" in on_terminal(tmp_path, *TEXT, reads=False, PAGER=TAKES)
