"""The ledger of the papers' claims: each row was run as it stands, quick ones are run here, and rows can fail."""

from __future__ import annotations

import datetime
import json
import re
import shlex
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import ledger
from checker.ci.shipped import gallery
from checker.cli import main
from checker.page_tables import CLAIM_RUNS, PaperClaim, ledger_rows, paper_claims
from zabspec.authoring.sources import examples

FOLDER = ledger.DOCS
CLAIMS = paper_claims(FOLDER)
RECORD = json.loads((FOLDER / CLAIM_RUNS).read_text(encoding="utf-8"))
QUICK = 1.0  # CPU seconds: a row that took longer is recorded, and not run here
ENTRY = re.compile(r"zabcheck gallery (\S+)")


def run_of(claim: PaperClaim) -> dict[str, object]:
    """The record of a row; empty if it was not run as it stands."""
    found: dict[str, object] = RECORD["runs"].get(claim.digest, {})
    return found


def is_quick(claim: PaperClaim) -> bool:
    seconds = run_of(claim).get("cpu_seconds", 0.0)
    assert isinstance(seconds, float)
    return seconds <= QUICK


def entry_of(claim: PaperClaim) -> str:
    """The entry of the gallery that a row runs; empty if it runs something else."""
    found = ENTRY.fullmatch(claim.commands[-1])
    return found[1] if found and len(claim.commands) == 1 else ""


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


def test_every_row_was_run_as_it_stands() -> None:
    """`python -m benchmarks.ledger` runs and records them. A changed command, or changed words, needs a new run."""
    assert [f"{c.source}: {c.claim}" for c in CLAIMS if not run_of(c)] == []
    assert len({c.digest for c in CLAIMS}) == len(CLAIMS) == len(RECORD["runs"])
    for claim in CLAIMS:
        assert datetime.date.fromisoformat(str(run_of(claim)["date"])) >= datetime.date(2026, 11, 28)
        assert claim.commands
        assert claim.says
        assert all(words.strip() for words in claim.says)
    assert RECORD["versions"]["zabcheck"] == version("zabcheck")


def test_every_row_names_commands_entries_and_examples_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.trace.json").write_text("{}")
    names = {check.name for check in gallery().matrix.checks}
    for claim in CLAIMS:
        for command in claim.commands:
            assert parsed(command).params is not None, command
            assert set(re.findall(r"example:(\w+)", command)) <= set(examples()), command
        if name := entry_of(claim):
            assert name in names
            assert claim.says == (f"{name} as expected",)


def kind_of(claim: PaperClaim) -> str:
    """What a row asks for, without the values: rows that ask for another property or budget are of one kind."""
    words = [shlex.split(command) for command in claim.commands]
    return " ".join(word for command in words for k, word in enumerate(command) if k < 2 or word.startswith("-"))


KINDS = {kind_of(c): c for c in reversed(CLAIMS) if is_quick(c) and not entry_of(c)}


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize("claim", KINDS.values(), ids=lambda c: c.claim[:40])
def test_a_quick_row_of_each_kind_shows_its_claim(claim: PaperClaim) -> None:
    if "sweep" in claim.commands[0]:
        pytest.importorskip("pyarrow")
    assert ledger.trouble(claim) == ""


@pytest.mark.parametrize(
    ("commands", "says", "problem"),
    [
        (["zabcheck variants --protocol zab"], ["no such words"], "does not print 'no such words'"),
        (["zabcheck variants --protocol none"], ["variant"], "ends with 2: zabcheck: there is no protocol"),
        (["zabcheck replay run.trace.json"], ["replayed"], "ends with 2"),
    ],
)
def test_a_row_that_does_not_show_its_claim_is_found(commands: list[str], says: list[str], problem: str) -> None:
    assert problem in ledger.trouble(PaperClaim("", "", tuple(commands), tuple(says)))


def test_the_page_shows_every_row() -> None:
    shown = CliRunner().invoke(main, ["docs", "paper-claims"]).stdout
    for claim in CLAIMS:
        row = next(line for line in shown.splitlines() if f"| {claim.claim} |" in line)
        assert str(run_of(claim)["date"]) in row
        assert all(f"`{command}`" in row for command in claim.commands)
    for left in ledger_rows(FOLDER, "unshown"):
        assert f"| {left['source']} | {left['claim']} | {left['why']} |" in shown
