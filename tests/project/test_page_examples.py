"""The examples of the pages print what the pages show."""

from __future__ import annotations

import contextlib
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.project.pages import DOCS, PAGES, TOP, text_of

SPEC = importlib.util.spec_from_file_location("regenerate_pages", DOCS / "regenerate.py")
assert SPEC is not None
assert SPEC.loader is not None
regenerate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(regenerate)
MEASURED = re.compile(r"\b\d+\.\d+\b(?! s| MB)|\d[\d.,]*(?: (?:ms|s|MB|MiB|CPU s)\b|/s\b)|\bload of \d+")


def printed(command: str, folder: Path | None) -> str:
    """Run a command in this process, and return what it prints: once for all pages if it runs in no folder of its page.

    In a folder the same command may print something else once the page has changed a file.
    """
    return run_in(command, folder) if folder else run_here(command)


@cache
def run_here(command: str) -> str:
    return run_in(command, TOP)


def run_in(command: str, folder: Path) -> str:
    program, *words = command.split()
    assert program == "zabcheck", command
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, words)
    return result.stdout + result.stderr


LEFT_OUT = re.compile(r"^\[\d+ lines left out\]$", re.MULTILINE)  # more of them where no evidence is stale


def without_measurements(text: str) -> str:
    return re.sub(r" +", " ", MEASURED.sub("0", LEFT_OUT.sub("[lines left out]", text)))


@pytest.mark.slow(seconds=4)
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("file", [TOP / "README.md", *PAGES], ids=lambda file: file.name)
def test_examples_print_what_the_page_shows(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for times and rates. `python docs/regenerate.py FILE` updates the output. Pages share what they run."""
    monkeypatch.setattr(regenerate, "printed", printed)
    text = text_of(file)
    assert without_measurements(regenerate.regenerated(text)) == without_measurements(text)
