"""The commands of the README and of the pages: they exist, and so do their files, or an earlier command
makes them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from tests.project import pages
from tests.project.pages import TOP, text_of

README = TOP / "README.md"
PAGES = [README, *pages.PAGES]
WRITES = ("--output", "--trace", "--table", "--junit", "--html", ">")
FILE = re.compile(r"^[\w./-]+\.(json|parquet|py|cfg|html|svg|png|xml|toml|mmd)$")


def commands(page: Path) -> list[str]:
    """Return the lines that a page has a reader type, those that go on joined."""
    blocks = re.findall(r"```sh\n(.*?)```", text_of(page), re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", "").splitlines() if line.strip()]


def written_by(line: str) -> set[str]:
    """Return the files that a command writes."""
    words = shlex.split(line, comments=True)
    return {words[k + 1] for k, word in enumerate(words[:-1]) if word in WRITES or word == "init"}


def made_by_examples(page: Path) -> set[str]:
    """Return the files that a page's own examples write (`<!-- write: FILE -->`, `<!-- run: COMMAND -->`)."""
    text = text_of(page)
    ran = re.findall(r"<!-- run: (.*?)(?:, first: \d+)? -->", text)
    return set(re.findall(r"<!-- write: ([^ ,]+)", text)).union(*map(written_by, ran))


def test_every_file_is_there_or_made_before() -> None:
    made: set[str] = set().union(*map(made_by_examples, PAGES))
    for line in (line for page in PAGES for line in commands(page)):
        words = shlex.split(line, comments=True)
        new = written_by(line)
        if words[:2] == ["zabcheck", "init"] and words[3:4] == ["--from"]:
            new |= {f"{words[2]}/{file.name}" for file in (START.parents[1] / words[4]).glob("*")}
        for word in words:
            if FILE.match(word) and word not in new | made:
                found = word.startswith("zabcheck-db19-") and any("db19" in name for name in made)
                assert found or (TOP / word).exists(), (word, line)
        made |= new | (
            {"db19, a trace for each property"} if "--protocol db19" in line and "--keep-going" in line else set()
        )
    assert len(made) >= 4


def test_every_command_is_one() -> None:
    """Its options are there: nothing is run."""
    seen = 0
    for line in (line for page in PAGES for line in commands(page)):
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
    assert seen > 9


def test_the_first_command_is_the_first_thing_shown() -> None:
    assert commands(README)[0].endswith(".venv/bin/zabcheck --nodes 3 --depth 20")
    assert CliRunner().invoke(main, ["--help"]).stdout.count("zabcheck --nodes 3 --depth 20") == 1
