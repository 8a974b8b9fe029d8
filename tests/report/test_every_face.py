"""What a report says of a property is the same in every face: text, JSON, HTML, notebook, JUnit, checks."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import zabcheck
from checker.cli import main
from checker.report.formats.notebook import as_html

TEXT = '''"""Counters that wait for
nobody."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, Size, action, declare, invariant, safety, volatile


class State(Fields):
    count: Each[Node, Annotated[int, Range(0, 3)]] = volatile("how often it counted")


def may_count(s: State, p: Node) -> bool:
    return s.count[p] < 2


@action(when=may_count)
def counts(s: State, p: Node) -> None:
    s.count[p] += 1


def some_count(s: State) -> bool:
    """Somebody has
    counted.

    It is the premise.
    """
    return s.count[0] > 0


@safety(witness=some_count)
def small(s: State) -> bool:
    """A count is at
    most LIMIT.

      It is never
      more.
    """
    return s.count[0] <= LIMIT


@safety(witness=some_count)
def vain(s: State) -> bool:
    """Nothing is
    claimed."""
    return s.count[0] >= 0


@invariant
def never_named(s: State) -> bool:
    """It is in
    range."""
    return s.count[0] < 3


PROTOCOL = declare(__name__)
'''
STATEMENT = "A count is at most {}. It is never more."


def written(folder: Path, limit: int) -> Path:
    path = folder / "counters.py"
    path.write_text(TEXT.replace("LIMIT", str(limit)))
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(main, [str(w) for w in words])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


@cache
def outputs(folder: Path, limit: int) -> dict[str, str]:
    """Every face of one exploration."""
    path, page, cases = written(folder, limit), folder / "page.html", folder / "cases.xml"
    words = ("--protocol", path, "--nodes", 2, "--crashes", 0, "--engine", "interpret")
    (folder / "zabcheck.toml").write_text(f'[[check]]\nname = "all"\nprotocol = "{path}"\nnodes = 2\ncrashes = 0\n')
    return {
        "text": run(*words, "--html", page, "--junit", cases, "--trace", folder / "run.trace.json"),
        "json": run(*words, "--json", "--no-trace"),
        "page": page.read_text(),
        "cases": cases.read_text(),
        "notebook": as_html(zabcheck.explore(str(path), nodes=2, crashes=0, engine="interpret")),
        "properties": run("properties", "--protocol", path),
    }


def joined(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow(seconds=4)
def test_a_statement_has_no_line_break_of_its_docstring(tmp_path: Path) -> None:
    said = outputs(tmp_path, 1)
    report: dict[str, Any] = json.loads(said["json"])
    assert {p["name"]: p["statement"] for p in report["properties"]} | {"no-runtime-error": ""} == {
        "small": STATEMENT.format(1), "vain": "Nothing is claimed.", "no-runtime-error": "",
    }  # fmt: skip
    assert {p["premise"] for p in report["properties"][:2]} == {"Somebody has counted"}
    assert STATEMENT.format(1) in said["page"]
    assert STATEMENT.format(1) in said["cases"]
    assert STATEMENT.format(1) in joined(said["text"])
    assert STATEMENT.format(1) in joined(said["properties"])
    trace = json.loads((tmp_path / "run.trace.json").read_text())
    assert trace["statement"] == STATEMENT.format(1)


@pytest.mark.slow(seconds=4)
def test_a_verdict_and_what_is_left_out_are_the_same_everywhere(tmp_path: Path) -> None:
    """`vain` was 'premise not reached' in JSON, beside the depth at which it is, and counted as tested in a check."""
    said = outputs(tmp_path, 2)
    report = json.loads(said["json"])
    verdicts = {p["name"]: p["verdict"] for p in report["properties"]}
    assert verdicts == {"small": "holds", "vain": "can never be False", "no-runtime-error": "holds"}
    assert [p["name"] for p in report["properties"] if p["verdict"] == "premise not reached"] == []
    for face in ("text", "page"):
        assert "not put to the test: it can never be False" in joined(said[face]), face
    assert "can never be False" in said["notebook"]
    (case,) = (c for c in ElementTree.fromstring(said["cases"]).iter("testcase") if c.get("name") == "vain")
    assert [(child.tag, child.get("message")) for child in case] == [
        ("skipped", "not put to the test: it can never be False")
    ]
    assert report["not_checked"] == ["never-named"]
    for face in ("text", "page", "notebook"):
        assert "not checked: never-named; --property checks what it names" in joined(said[face]), face
    for face, text in said.items():
        assert "premise not reached" not in text, face


@pytest.mark.slow(seconds=2)
def test_without_messages_a_terminal_state_has_no_step(tmp_path: Path) -> None:
    said = outputs(tmp_path, 2)
    assert "terminal states 1 (no step is possible)" in joined(said["text"])
    assert "1 in which no step is possible" in said["page"]
    assert json.loads(said["json"])["engine"]["stuttering_left_out"] is False
    compiled = run("--protocol", written(tmp_path, 2), "--nodes", 2, "--crashes", 0)
    for text in (said["text"], compiled):
        assert "stuttering" not in text
