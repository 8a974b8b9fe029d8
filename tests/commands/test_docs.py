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
from checker.page_tables import MARK, RELATIONS, RELEASES, TABLES, with_tables
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


def topics(*words: str) -> list[str]:
    return [each["topic"] for each in json.loads(run(*words, "--json").stdout)["sections"]]


def test_the_list_has_every_page_by_kind(installed: Path) -> None:
    listed = json.loads(run("--json").stdout)
    assert listed["folder"] == str(installed)
    assert [page["topic"] for page in listed["pages"]] == [
        "tutorials/notebook", "how-to/ci", "reference/ci-files", "CONTRIBUTING", "README", "decisions/0001-baseline",
    ]  # fmt: skip
    text = run().stdout
    assert text.index("How to") < text.index("Check in CI") < text.index("Reference") < text.index("Baseline files")


def test_a_page_is_shown_by_its_path_or_its_last_part(installed: Path) -> None:
    for topic in ("ci", "how-to/ci", "docs/how-to/ci.md", "CI"):
        assert run(topic).stdout == PAGES["how-to/ci.md"], topic
    assert run("ci-files").stdout == "# Baseline files\n\nThe baseline is a file of violations.\n", "without comments"
    assert run("notebook").stdout == "```python\nimport zabcheck\n```\n"


def test_a_section_is_shown_with_those_below_it(installed: Path) -> None:
    shown = run("ci#the-baseline").stdout
    assert shown.startswith("## The baseline\n")
    assert "# Not a heading" in shown
    assert shown.endswith("### Renew it\n\nWith `--update`.\n")
    wrong = run("ci#not-a-heading")
    assert wrong.exit_code == 2
    assert "has no section not-a-heading; it has check-in-ci, the-baseline, renew-it, hooks" in wrong.stderr


def test_a_search_lists_pages_about_it_first_and_records_last(installed: Path) -> None:
    assert topics("the", "baseline", "violation") == [
        "reference/ci-files",
        "how-to/ci#the-baseline",
        "decisions/0001-baseline",
    ]
    assert topics("--search", "ci")[0] == "how-to/ci"
    assert topics("xylophone", "hooks") == ["how-to/ci#hooks"], "one of two words is enough"
    assert run("xylophone", "zither", "hooks").exit_code == 2, "one of three is not"
    assert "none has all of them" in run("xylophone", "hooks").stdout


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


def test_a_search_shows_the_row_of_a_table_that_explains_a_word(installed: Path) -> None:
    (installed / "reference/words.md").write_text(
        "# Words\n\nSome.\n\n| word | it is |\n|---|---|\n| **orbit** | a `state`, up to [x](y.md) |\n"
    )
    (installed / "how-to/orbit.md").write_text("# Count\n\nAn orbit is counted, orbit by orbit.\n")
    found = json.loads(run("--search", "what", "is", "an", "orbit", "--json").stdout)
    assert found["query"] == ["orbit"]
    assert found["sections"][0] == {"topic": "reference/words", "excerpt": "orbit: a state, up to x"}


def test_a_search_shows_the_sentence_that_has_the_words(installed: Path) -> None:
    (installed / "reference/words.md").write_text(
        "# Words\n\n```sh\nzabcheck plum --no-op  # a line\n```\n\n| apple | pear |\n|---|---|\n| **plum** | a `tree` |"
        f"\n\nIt\ngrows. An *apple* is\na fruit. It ends.\n\n## List\n\n- **A pear** is\n  green.\n- Not this.\n\n"
        f"## Long\n\n{'x ' * 150}pear {'x ' * 150}\n\n## Bare pear\n"
    )
    page = manual.page_named("words", manual.pages(installed))
    assert page is not None
    words = {section.heading: section for section in page.sections}

    def shown(heading: str, *terms: str) -> str:
        return words[heading].excerpt([manual.Term(term) for term in terms])

    assert shown("Words", "fruit", "apple") == "An apple is a fruit."
    assert shown("Words", "--no-op") == "zabcheck plum --no-op # a line"
    assert shown("Words", "plum") == "plum: a tree", "a row, but not the head of a table"
    assert shown("List", "pear") == "A pear is green."
    assert shown("Bare pear", "pear") == "Bare pear"
    long = shown("Long", "pear")
    assert re.fullmatch(r"\.\.\. (x )+pear( x)+ \.\.\.", long)
    assert len(long) < 220


def test_a_heading_and_an_exact_term_come_first_and_there_are_ten(installed: Path) -> None:
    """`docs III.1` gave 413 sections, for `iii` and `1`."""
    filler = "".join(
        f"## Part {k}\n\nThere is no op III of 1, and III.10. A leader leads {'leaders ' * k}.\n\n"
        for k in range(1, 20)
    )
    about = "## A fig\n\nIt has a no-op (III.1).\n\n## Append a no-op\n\nIt is added.\n\n## A leader\n\nIt is one.\n"
    (installed / "reference/many.md").write_text(f"# Many\n\n{filler}{about}")
    assert topics("III.1") == ["reference/many#a-fig"]
    assert topics("no-op") == ["reference/many#append-a-no-op", "reference/many#a-fig"]
    assert topics("leader")[0] == "reference/many#a-leader", "but `leaders` is more frequent elsewhere"
    assert len(topics("leader")) == 10
    assert topics("no-xylophone-op")[:1] != [], "no section has the term: its words are searched for"


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
    "does holds mean proved for any number of servers": "processes (servers)",
    "how many states can it explore and how much memory does it need": "bytes and 0.8 µs",
    "what happens when I change one rule of ZAB": "is the protocol with one rule changed",
    "why is partial-order reduction sound": "partial-order reductions",
    "where is the code that computes the successors of a state": "`checker/explore/kernel.py`",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_newcomer_is_answered_by_a_search(question: str) -> None:
    found = manual.search(question.split(), PROJECT)
    assert any(QUESTIONS[question] in section.text for section in found.sections[:4])


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
    assert sorted(marks) == sorted(TABLES)


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
