"""`benchmarks/results/paper-claims.md` names commands that parse, and entries of the gallery and tests that exist."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest

from checker.ci.shipped import gallery
from checker.cli import main

TOP = Path(__file__).parents[2]
PAGE = (TOP / "benchmarks/results/paper-claims.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.split("<!-- claims -->")[1].split("<!-- end -->")[0].strip().splitlines()[2:]
]
TOPICS = ("liveness", "causality", "state graph", "quorums", "tree", "other")
CODE = re.compile(r"`([^`]+)`")


def named(cell: str) -> list[str]:
    return CODE.findall(cell)


@cache
def written_in(file: str) -> set[str]:
    """The tests of a file; none: there is no such file."""
    path = TOP / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_topic_has_rows_that_are_whole() -> None:
    assert {row[0] for row in ROWS} == {*TOPICS}
    assert [row for row in ROWS if len(row) != 5 or not all(row)] == []
    assert len({row[1] for row in ROWS}) == len(ROWS)


def parsed(line: str) -> click.Context:
    """A command line as zabcheck reads it.

    Raises:
        ClickException: it does not take it.
    """
    words = shlex.split(line)[1:]
    if words[0].startswith("-"):
        return main.make_context("zabcheck", words)
    command = main.get_command(click.Context(main), words[0])
    if command is None:
        raise click.UsageError(f"no command {words[0]}")
    return command.make_context(words[0], words[1:])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:2])[:50])
def test_a_row_names_a_command_that_parses(
    row: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = named(row[2])
    if line.startswith("python "):
        files = [word for word in line.split() if word.endswith(".py")]
        assert files
        assert all((TOP / file).is_file() for file in files)
        return
    for word in shlex.split(line):
        if word.startswith("examples/"):
            assert (TOP / word).is_file()
    monkeypatch.chdir(TOP)  # where the examples are
    trace = tmp_path / "run.trace.json"
    trace.write_text("{}")
    assert line.startswith("zabcheck ")
    assert parsed(line.replace(trace.name, str(trace))).params


def test_every_entry_of_the_gallery_is_there() -> None:
    entries = {check.name for check in gallery().matrix.checks}
    for row in ROWS:
        if row[3].startswith("none: "):
            continue
        assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", row[3]), row[3]
        assert {*named(row[3])} <= entries, row[3]


def test_every_test_is_there() -> None:
    for row in ROWS:
        for test in named(row[4]):
            file, _, name = test.partition("::")
            assert name in written_in(file), test


def test_what_is_not_there_is_found_out() -> None:
    with pytest.raises(click.ClickException):
        parsed("zabcheck --quorum 'weights 1,1,1'")
    with pytest.raises(click.ClickException):
        parsed("zabcheck proof --quorums 'weights 1,1,1'")
    assert written_in("tests/project/no_such_file.py") == set()
    assert "test_every_test_is_there" in written_in("tests/project/test_paper_claims.py")
