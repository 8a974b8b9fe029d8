"""The report as a page: what it shows, and that a file which says something else than its steps is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_cli import BROKEN, TINY, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def broken() -> dict[str, Any]:
    """The report of a variant that breaks."""
    report: dict[str, Any] = json.loads(run(*BROKEN, "--keep-going", "--no-trace", "--json").stdout)
    return report


class Text(HTMLParser):
    """The text of a page, and the ids in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def test_a_page_says_what_the_report_says(broken: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(broken))
    result = run("report", "run.json", "--html", "run.html")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")
    page = Text(Path("run.html").read_text(encoding="utf-8"))
    assert " ".join(broken["sentence"].split()) in page.text
    for p in broken["properties"]:
        assert p["name"] in page.text
        if p["violation"]:
            assert " ".join(p["violation"]["why"].split()).partition(". ")[0] in page.text
        elif p["verdict"] == "holds":
            assert f"holds, witnessed at depth {p['witnessed_at']}" in page.text
    for name, count in broken["steps"].items():
        assert f"{name} {count:,}" in page.text or f"{name} never taken" in page.text
    assert len(page.ids) == len({*page.ids})
    assert f"{broken['states']['distinct']:,} distinct states" in page.text


def test_an_exploration_writes_the_same_page(folder: Path) -> None:
    result = run(*BROKEN, "--no-trace", "--json", "--html", "run.html")
    assert result.exit_code == 1
    Path("run.json").write_text(result.stdout)
    assert run("report", "run.json", "--html").stdout.strip() == Path("run.html").read_text(encoding="utf-8").strip()
    held = run(*TINY, "--html", "held.html")
    assert held.exit_code == 0
    assert "<script" not in Path("held.html").read_text(encoding="utf-8")


def lies(edit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def edited(report: dict[str, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = json.loads(json.dumps(report))
        edit(copy)
        return copy

    return edited


def violated(report: dict[str, Any]) -> dict[str, Any]:
    return next(p for p in report["properties"] if p["violation"])


FORGED = {
    "a step fewer": lambda r: violated(r)["violation"]["words"].pop(),
    "no step": lambda r: violated(r)["violation"].update(words=[]),
    "steps of another": lambda r: violated(r)["violation"].update(words=[1 << 24]),
    "a word that is none": lambda r: violated(r)["violation"].update(words=[1 << 60]),
    "another configuration": lambda r: r["configuration"].update(variant=""),
    "no such variant": lambda r: r["configuration"].update(variant="none-such"),
    "no such protocol": lambda r: r["configuration"].update(protocol="none.py"),
    "no such property": lambda r: violated(r).update(name="none-such"),
    "it holds": lambda r: violated(r).update(verdict="holds"),
    "it holds, and nothing broke it": lambda r: violated(r).update(verdict="holds", violation=None, witnessed_at=None),
    "all of it holds": lambda r: r.update(verdict="holds"),
    "all was well": lambda r: r.update(exit_code=0),
    "another sentence": lambda r: r.update(sentence=r["sentence"].replace("VIOLATED", "holds")),
    "more states": lambda r: r["states"].update(distinct=r["states"]["distinct"] + 1),
    "a greater depth": lambda r: r["states"].update(depth=r["states"]["depth"] + 1),
    "no counterexample": lambda r: violated(r).update(violation=None),
    "another format": lambda r: r.update(format=2),
    "less": lambda r: r.pop("states"),
    "more": lambda r: r.update(more=1),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_report_that_lies_is_refused(name: str, broken: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(lies(FORGED[name])(broken)))
    result = run("report", "run.json", "--html", "run.html")
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert not Path("run.html").exists()


def test_what_is_no_report_is_refused(broken: dict[str, Any], folder: Path) -> None:
    text = json.dumps(broken)
    Path("run.json").write_text(text)
    for content in (b"", b"{", text[: len(text) // 2].encode(), b"[]", b"null", b"\xff", b'{"format": NaN}', b"7"):
        Path("bad.json").write_bytes(content)
        result = run("report", "bad.json", "--html", "bad.html")
        assert (result.exit_code, result.stdout) == (2, ""), content
        assert len(result.stderr.strip().splitlines()) == 1
    assert run("report", "none.json", "--html").exit_code == 2
    assert run("report", ".", "--html").exit_code == 2
    assert run("report", "run.json").exit_code == 2
    assert run("report", "run.json", "--html", "run.json").exit_code == 2
    assert run("report", "run.json", "--html", "none/run.html").exit_code == 2
    assert Path("run.json").read_text() == text


def test_what_a_report_says_is_data(broken: dict[str, Any], folder: Path) -> None:
    evil = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"
    said = f"VIOLATED: {evil}"
    forged = lies(lambda r: [r.update(sentence=said, zabcheck=evil), r["steps"].update({evil: 3})])(broken)
    Path("run.json").write_text(json.dumps(forged))
    page = run("report", "run.json", "--html").stdout
    assert page
    assert "<img" not in page
    assert "<script>alert" not in page
    assert "&lt;/title&gt;" in page
