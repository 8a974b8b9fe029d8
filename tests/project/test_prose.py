"""The prose of the pages: those that are done in the page map keep the rules, and each rule finds what breaks it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.project.page_map import DOCS, TOP, Page, page_map, text_of
from tests.project.prose import dialect, faults, length, plain, sentences

DONE = [page for page in page_map()[0].values() if page.done and page.kind != "generated"]
SPEC = importlib.util.spec_from_file_location("regenerate_pages", DOCS / "regenerate.py")
assert SPEC is not None
assert SPEC.loader is not None
regenerate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(regenerate)
# Pages of no kind that keep the rules as well, but for their beginning. The list may only get longer.
ALSO = ["README.md", "docs/on-the-index.md", "docs/decisions/0027-a-site-by-sphinx.md"]
MEASURED = re.compile(r"\b\d+\.\d+\b(?! s| MB)|\d[\d.,]*(?: (?:ms|s|MB|MiB|CPU s)\b|/s\b)|\bload of \d+")


@pytest.mark.parametrize("page", DONE, ids=lambda page: page.path)
def test_a_page_that_is_done_keeps_the_rules(page: Page) -> None:
    assert list(faults(text_of(page.file), page.kind)) == []


@pytest.mark.parametrize("name", ALSO)
def test_other_pages_in_plain_words_keep_the_rules(name: str) -> None:
    assert list(faults((TOP / name).read_text())) == []


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
@pytest.mark.parametrize("file", [TOP / "README.md", *(page.file for page in DONE)], ids=lambda file: file.name)
def test_examples_print_what_the_page_shows(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for times and rates. `python docs/regenerate.py FILE` updates the output. Pages share what they run."""
    monkeypatch.setattr(regenerate, "printed", printed)
    text = text_of(file)
    assert without_measurements(regenerate.regenerated(text)) == without_measurements(text)


GOOD = "# Check it\n\nAfter this page you can check a protocol.\n\n<!-- run: zabcheck -->\n```text\nx\n```\n\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It is told beside the answer.", "write report"),
        ("A protocol of one's own is read.", "user protocol"),
        ("What is asked\nof rows is this.", "request"),
        ("Does anybody wait for ever?", "starvation"),
        (f"{'One ' * 41}ends.", "a sentence of 42 words"),
        ("One " * 38 + "ends. " + "Two " * 38 + "ends.", "words on average"),
        ("word " * 25, "line 10 is longer"),
        ("| it is told |", "write report"),
        ("- item " + "word " * 25, "line 10 is longer"),
    ],
)
def test_each_rule_finds_what_breaks_it(text: str, fault: str) -> None:
    assert list(faults(GOOD + "It runs.", "how-to")) == []
    found = list(faults(GOOD + text, "how-to"))
    assert any(fault in each for each in found), found


@pytest.mark.parametrize(
    "text",
    [
        "`told` and \"what is asked of rows\" are quoted.",
        "| tell | " + "cell " * 30 + "|",
        "```text\nIt is told, " + "word " * 40 + "\n```",
        "[a link](" + "x" * 130 + ")",
        "<!-- told: a comment -->",
    ],
)  # fmt: skip
def test_code_quotations_and_tables_are_no_prose(text: str) -> None:
    assert list(faults(GOOD + text, "how-to")) == []


@pytest.mark.parametrize(
    ("text", "kind", "fault"),
    [
        (GOOD.replace("# Check it\n\n", ""), "tutorial", "no heading"),
        (GOOD.replace("After this page you can check", "This is about"), "explanation", "what the reader can do"),
        (GOOD.replace("<!-- run: zabcheck -->\n", ""), "reference", "no example whose output is checked"),
        (GOOD.partition("<!--")[0], "explanation", "no example, and no picture"),
    ],
)
def test_a_page_begins_with_what_one_can_do_and_an_example(text: str, kind: str, fault: str) -> None:
    assert list(faults(GOOD, kind)) == []
    assert any(fault in each for each in faults(text, kind))


def test_code_of_a_notebook_is_an_example_if_it_has_output(tmp_path: Path) -> None:
    start = {"cell_type": "markdown", "source": ["# Check it\n", "\n", "After this you can check it."]}
    code: dict[str, object] = {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"output_type": "execute_result"}]}
    file = tmp_path / "page.ipynb"
    file.write_text(json.dumps({"cells": [start, code]}))
    assert list(faults(text_of(file), "tutorial")) == []
    file.write_text(json.dumps({"cells": [start, code | {"outputs": []}]}))
    assert list(faults(text_of(file), "tutorial")) == [
        "no example whose output is checked (<!-- run: or example: -->) within 60 lines"
    ]


def test_sentences_are_cut_where_they_end() -> None:
    text = "One. Two, e.g. this; see [a](x.md#b. C) and `a. B`. Is it?\n- Item one\n- *Item.* two\n\n## No. Heading\n"
    cut = ["One.", "Two, e.g this; see a and `code`.", "Is it?", "Item one", "*Item.* two"]
    assert list(sentences(text)) == cut
    assert length("The `code` of well-known ZK-4643 isn't long.") == 7
    assert plain("[`a` b](c)") == "`code` b"


def test_the_vocabulary_has_a_word_instead_for_each() -> None:
    assert list(dialect("What breaks is told.")) == [
        ("told", "report, message"),
        ("What breaks", "violation, violated property"),
    ]


def test_continuous_integration_checks_the_spelling() -> None:
    assert re.search(r"^\.venv/bin/codespell$", (TOP / ".ci/run").read_text(), flags=re.MULTILINE)
    assert Path(SPEC.origin or "").is_file()
