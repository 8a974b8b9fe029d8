"""`docs/architecture.md` and the docstrings of folders: short, and true of the tree as it is."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.patience import HANG

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs/architecture.md").read_text()
CONTRACTS = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
FLOORS = next(contract["layers"] for contract in CONTRACTS if contract["id"] == "floors")
FOLDERS = sorted(path.parent for package in FLOORS for path in (TOP / package).rglob("__init__.py"))
PATH = re.compile(r"`([\w./]+(?:/|\.py|\.toml))`")  # a folder or a file; `zabcheck` and `answer()` are neither
OF_FILE = re.compile(r"`(\w+)` of `([\w./]+\.py)`")
MOST_LINES = 5  # of a folder's docstring, but for blank ones


def section(title: str) -> str:
    """The text below a heading of the page."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""


def test_every_path_on_the_page_exists() -> None:
    named = PATH.findall(PAGE)
    assert len(named) > 60
    assert not [path for path in named if not (TOP / path).exists()]


def test_every_function_on_the_page_is_in_its_file() -> None:
    named = OF_FILE.findall(PAGE)
    assert named
    assert not [(name, file) for name, file in named if f"def {name}(" not in (TOP / file).read_text()]


def test_the_floors_are_those_of_the_import_contract() -> None:
    assert re.findall(r"^\| `(\w+)/` \|", section("Floors"), re.MULTILINE) == FLOORS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(TOP).as_posix())
def test_a_folder_says_what_it_holds_and_where_to_start(folder: Path) -> None:
    text = docstring(folder)
    named = PATH.findall(text)
    assert [path for path in named if (folder / path).exists()], "name a file of the folder to start reading at"
    assert not [path for path in named if not (folder / path).exists() and not (TOP / path).exists()]
    if folder.name != "zabcheck":  # whose docstring is the help of the Python API
        assert len([line for line in text.splitlines() if line]) <= MOST_LINES


@pytest.mark.slow(seconds=5)
def test_the_command_of_the_page_finds_a_violation_and_draws_it(tmp_path: Path) -> None:
    block = re.search(r"```sh\nzabcheck (.*)\n```", PAGE)
    assert block is not None
    command = [sys.executable, "-m", "zabcheck", *shlex.split(block[1])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=HANG, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("VIOLATED: delivered-is-chosen")
    assert (tmp_path / "run.html").stat().st_size > 10_000
