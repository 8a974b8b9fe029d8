"""Every example of every --help shows something."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from checker.cli import main

# What takes more than a moment is not run, but read by its command.
LONG = re.compile(
    r"zabcheck (sweep|bmc|refine) |--engine spark|--nodes 3 --timeouts 1|--property agreement --json|lossy"
    r"|zabcheck gallery$|zabcheck gallery (networks|--source)|zabcheck zookeeper"
)

# Their examples read files that the reader has, or serve until they are interrupted: these are read by their command.
READ_YOUR_OWN = ("check", "audit", "walk")


def commands() -> dict[str, click.Command]:
    """Every command by its name; the one without a subcommand is nameless."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {"": main} | {name: command for name, command in found.items() if command is not None}


def examples(command: click.Command) -> list[str]:
    """The examples of a command's help, without what is said of them."""
    lines = (command.epilog or "").splitlines()
    return [re.split(r" {3,}", line.strip())[0] for line in lines if line.startswith("  zabcheck ")]


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line)[1:])


GIVEN = {name: examples(command) for name, command in commands().items() if examples(command)}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("name", GIVEN)
def test_every_example_shows_something(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other in one folder, as a reader does it: an example may read what one before it has written.
    It answers, with 0 or 1, and writes the files that it names."""
    monkeypatch.chdir(tmp_path)
    for line in GIVEN[name]:
        words = shlex.split(line)[1:]
        if name in READ_YOUR_OWN or LONG.search(line):
            command = commands()[name]
            context = command.make_context(name, words[1:] if name else words)
            assert context.command is command
            continue
        result = run(line)
        # a rule is changed to show what breaks
        assert result.exit_code in ((1,) if "--variant" in words else (0, 1)), (line, result.stderr)
        assert len(result.stdout) > 60 or "--output" in words, line
        assert result.stderr == "", line
        for option, value in itertools.pairwise(words):
            if option in ("--trace", "--table", "--events", "--dump", "--violations", "--output"):
                assert Path(value).stat().st_size, f"{line} writes no {value}"


def test_every_help_has_a_first_line_and_names_only_real_options() -> None:
    for name in commands():
        result = CliRunner().invoke(main, [name, "--help"] if name else ["--help"])
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) > 5
        known = {opt for c in commands().values() for p in c.params for opt in p.opts} | {"--help", "--version"}
        assert set(re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", result.stdout)) <= known, name


def test_there_are_examples() -> None:
    assert {"", "simulate", "sweep", "judge", "bmc", "refine"} <= set(GIVEN)
    assert sum(map(len, GIVEN.values())) > 20
