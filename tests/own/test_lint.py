"""`zabcheck lint` for tools: its files, and what is no file. `tests/transcripts/own/lint*.txt` have what it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START


@pytest.mark.parametrize("name", ["nowhere.py", "folder.py", "text.txt"])
def test_what_is_no_file_is_a_wrong_request(folder: Path, name: str) -> None:
    Path("folder.py").mkdir()
    found = CliRunner().invoke(main, ["lint", name])
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert found.stderr.startswith("zabcheck: ")
    assert CliRunner().invoke(main, ["lint", name, "--json"]).exit_code == 2


def test_docstrings_that_python_drops_are_not_called_missing(folder: Path) -> None:
    words = [sys.executable, "-OO", "-m", "zabcheck", "lint", str(START)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "agreement has no docstring, as Python's -OO drops them" in " ".join(done.stdout.split())
