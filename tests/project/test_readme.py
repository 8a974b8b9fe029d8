"""What the README says one can do: its files are there, or made by a line before."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
from click.testing import CliRunner

from checker.cli import main

TOP = Path(__file__).parent.parent.parent
README = (TOP / "README.md").read_text(encoding="utf-8")
WRITES = ("--output", "--trace", "--table", "--junit", "--html", ">")
FILE = re.compile(r"^[\w./-]+\.(json|parquet|py|cfg|html|svg|png|xml|toml|mmd)$")


def commands() -> list[str]:
    """The lines that the README has a reader type."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_every_file_is_there_or_made_before() -> None:
    made: set[str] = set()
    for line in commands():
        words = shlex.split(line, comments=True)
        new = {words[k + 1] for k, word in enumerate(words[:-1]) if word in WRITES or word == "init"}
        for word in words:
            if FILE.match(word) and word not in new | made:
                found = word.startswith("zabcheck-db19-") and any("db19" in name for name in made)
                assert found or (TOP / word).exists(), (word, line)
        made |= new | (
            {"db19, a trace for each property"} if "--protocol db19" in line and "--keep-going" in line else set()
        )
    assert len(made) > 6


def test_every_command_is_one() -> None:
    """Its options are there: nothing is run."""
    seen = 0
    for line in commands():
        for part in re.split(r"&&|\|", line):
            words = shlex.split(part, comments=True)
            if not words or not words[0].endswith("zabcheck"):
                continue
            seen += 1
            context = click.Context(main)
            name = words[1] if words[1:] and not words[1].startswith("-") else ""
            command = main.get_command(context, name) if name else main
            assert command is not None, line
            flags = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
            used = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert used <= flags | {"--help"}, (line, used - flags)
    assert seen > 20


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README):
        assert target.startswith("http") or (TOP / target).exists(), target


def test_the_first_command_is_the_first_thing_shown() -> None:
    assert commands()[0].endswith(".venv/bin/zabcheck --nodes 3 --depth 20")
    assert CliRunner().invoke(main, ["--help"]).stdout.count("zabcheck --nodes 3 --depth 20") == 1
