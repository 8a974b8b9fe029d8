"""`zabcheck docs`: the pages listed, shown and searched."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checker import manual
from checker.cli import main
from checker.page_tables import MARK, RELATIONS, TABLES, with_tables
from checker.zookeeper.page_tables import RELEASES
from checker.zookeeper.page_tables import TABLES as OF_ZOOKEEPER
from checker.zookeeper.rows import ROWS
from zabspec import files

PAGES = {
    "README.md": "# The pages\n\nBegin here.\n",
    "CONTRIBUTING.md": "# Contributing\n\nSet it up.\n",
    "how-to/ci.md": "# Check in CI\n\nRun it on every change.\n\n## The baseline\n\nKnown violations stay.\n\n"
    "```sh\n# Not a heading\nzabcheck check\n```\n\n### Renew it\n\nWith `--update`.\n\n## Hooks\n\nFor git.\n",
    "reference/ci-files.md": "# Baseline files\n\n<!-- xylophone -->\nThe baseline is a file of violations.\n",
    "decisions/README.md": "# An index\n",
    "decisions/0001-baseline.md": "# A baseline is kept\n\nWhy the baseline stays: violations.\n",
}


PROJECT = manual.pages(manual.folder())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pages as an installation has them, and no source tree around the package."""
    where = tmp_path / "share/doc/zabcheck"
    for name, text in PAGES.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    cell = {"cell_type": "code", "source": ["import zabcheck"]}
    (where / "tutorials").mkdir()
    (where / "tutorials/notebook.ipynb").write_text(json.dumps({"cells": [cell]}))
    monkeypatch.setattr(files, "__file__", str(tmp_path / "site-packages/zabspec/files.py"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    return where


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["docs", *words])


def test_the_list_has_every_page_by_kind(installed: Path) -> None:
    listed = json.loads(run("--json").stdout)
    assert listed["folder"] == str(installed)
    assert [page["topic"] for page in listed["pages"]] == [
        "tutorials/notebook", "how-to/ci", "reference/ci-files", "CONTRIBUTING", "README", "decisions/0001-baseline",
    ]  # fmt: skip
    text = run().stdout
    assert text.index("How to") < text.index("Check in CI") < text.index("Reference") < text.index("Baseline files")


def test_a_section_is_shown_with_those_below_it(installed: Path) -> None:
    shown = run("ci#the-baseline").stdout
    assert shown.startswith("## The baseline\n")
    assert "# Not a heading" in shown
    assert shown.endswith("### Renew it\n\nWith `--update`.\n")
    wrong = run("ci#not-a-heading")
    assert wrong.exit_code == 2
    assert "has no section not-a-heading; it has check-in-ci, the-baseline, renew-it, hooks" in wrong.stderr


def test_what_no_page_has_is_an_error(installed: Path) -> None:
    wrong = run("xylophone")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "no page has xylophone" in wrong.stderr
    (installed / "README.md").unlink()
    assert run().exit_code == 2
    assert "share/doc/zabcheck is not there" in run().stderr


def test_every_page_of_the_project_is_listed_and_shown() -> None:
    where = Path(__file__).parents[2] / "docs"
    there = manual.pages(manual.folder())
    files = {path for suffix in ("md", "ipynb") for path in where.rglob(f"*.{suffix}")}
    assert {page.path for page in there} == files - set(where.glob("*/README.md"))
    for page in there:
        assert page.sections[0].level == 1, page.topic
        assert (found := manual.page_named(page.topic, there)) is not None
        assert found.path == page.path


@pytest.mark.parametrize("words", ["III.1", "no-op", "--symbolic", "strict causality", "f.2.1"])
def test_a_search_of_the_project_shows_what_it_matched(words: str) -> None:
    found = manual.search(words.split(), PROJECT)
    assert 0 < len(found.sections) <= 60
    for section in found.sections[:10]:
        text = f"{section.heading} {section.excerpt(found.terms)}".lower()
        assert any(term.count(text) for term in found.terms), section.topic


QUESTIONS = {
    "how do I resume an exploration that was killed": "--resume",
    "what does premise not reached mean": "premise not reached",
    "what do the exit codes mean": "exit code",
    "how do I draw a picture of a run": "--to svg",
    "which java version does spark need": "Java 17",
    "how do I export a model to TLA+ for TLC": "--to tla",
    "is the proof about the code that runs": "zabcheck refine",
    "my ensemble does not serve, what should I not do": "zabcheck audit",
    "what is an orbit": "| orbit |",
    "how do I submit to a cluster with spark-submit": "spark-submit",
    # those that were tried in the site's search, too
    "can I delete the data directory of a server that does not start": "delete, move or replace a data directory",
    "what does RESTART_DIFFERS mean": "`RESTART_DIFFERS`",
    "which release fixes ZK-4643": "the fix of ZK-4643 change",
    "how do I check a record of running servers against the model": "zabcheck conform",
    "how do I run zabcheck in GitHub Actions": ".github/workflows",
    "does holds mean proved for any number of servers": "what holds for any number of processes",
    "how many states can it explore and how much memory does it need": "bytes and 0.8 µs",
    "what happens when I change one rule of ZAB": "is the protocol with one rule changed",
    "why is partial-order reduction sound": "a partial-order reduction",
    "where is the code that computes the successors of a state": "`checker/explore/kernel.py`",
    # those of the third round: five that a person asked and found no answer to, five that begin with a name
    "states by symmetry and reduction": "orbits visited",
    "how do I write properties in my own protocol": "@safety(witness=w)",
    "read results with pandas": "pandas.read_parquet",
    "deadlock": "| deadlock |",
    "why is my property not put to the test": "| put to the test |",
    "any_of": "any_of(s, Server)",
    "choose": "choose(s, n)",
    "is_quorum": "checks whether a set contains more than half",
    "--require-witness": "--require-witness",
    "exercises for students": "zabcheck check --only restore",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomer_is_answered_by_a_search(question: str) -> None:
    found = manual.search(question.split(), PROJECT)
    assert any(QUESTIONS[question] in section.text for section in found.sections[:4])


def test_a_name_is_answered_by_the_line_that_explains_it() -> None:
    found = manual.search(["any_of"], PROJECT)
    assert found.sections[0].excerpt(found.terms) == "any_of(s, Server) # any process of a role"
    assert "--keep-going" in run("--keep-going").stdout, "an option is a word here"


def test_a_mark_becomes_a_table_whose_bars_stay_in_their_cells(tmp_path: Path) -> None:
    relation = 'if = ["agreement", "calm"]\nthen = "prefix"\nbecause = "a | b"\n'
    (tmp_path / RELATIONS).write_text(f"[[implication]]\n{relation}")
    shown = with_tables("# A\n\n<!-- generated: implications -->\n\n`<!-- generated: x -->`\n", tmp_path)
    table = "| if | then | because |\n| --- | --- | --- |\n| agreement, *calm* | prefix | a \\| b |"
    assert shown == f"# A\n\n{table}\n\n`<!-- generated: x -->`\n"
    with pytest.raises(KeyError):
        with_tables("<!-- generated: none -->", tmp_path)


def test_the_recorded_steps_of_zookeepers_bugs_are_those_of_their_rows() -> None:
    folder = Path(__file__).parents[2] / "docs/explanation"
    recorded = tomllib.loads((folder / RELEASES).read_text(encoding="utf-8"))
    rows = {row.issue: row for row in ROWS}
    assert set(recorded["breaks"]) <= set(rows)
    assert all(len(steps) == len(recorded["releases"]) for steps in recorded["breaks"].values())
    at = {bug: dict(zip(recorded["releases"], steps, strict=True)) for bug, steps in recorded["breaks"].items()}
    compared = {bug: (row.merged, at[bug].get(row.release)) for bug, row in rows.items() if bug in at}
    assert {bug: pair for bug, pair in compared.items() if pair[0] != pair[1]} == {
        bug: (rows[bug].merged, None) for bug in ("1291", "1282")
    }, "these alone are of no release of the table"


def test_every_table_is_shown_by_some_page_of_the_project() -> None:
    marks = [mark for page in PROJECT for mark in MARK.findall(page.path.read_text(encoding="utf-8"))]
    assert sorted(marks) == sorted([*TABLES, *(f"zookeeper/{name}" for name in OF_ZOOKEEPER)])


def keys_of(part: object, name: str = "") -> Iterator[str]:
    """Yield the path of each key of an object of JSON, as the table of a report's keys writes it."""
    if isinstance(part, dict):
        for key, inner in part.items():
            yield f"{name}{key}"
            yield from keys_of(inner, f"{name}{key}.")
    elif isinstance(part, list):
        for inner in part:
            yield from keys_of(inner, f"{name.removesuffix('.')}[].")


def test_the_page_of_formats_has_every_key_of_a_report() -> None:
    table = TABLES["report-keys"](manual.folder())
    shown = {row[0]: row[1] for row in re.findall(r"^\| `(\S+)` \| (.*) \|$", table, flags=re.MULTILINE)}
    options = "--nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --variant small-quorum --no-trace --json"
    report = json.loads(CliRunner().invoke(main, options.split()).stdout)
    keys = {key for key in keys_of(report) if not key.startswith(("steps.", "events.", "request.", "evidence.cells."))}
    assert "properties[].violation.replayed" in keys
    assert keys <= set(shown)
    assert all(shown.values())
