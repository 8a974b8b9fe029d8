"""The report as a page: what it shows, and that a file whose steps do not show what it says is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import BROKEN, TINY, run


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


@pytest.mark.slow(seconds=1)
def test_a_page_says_what_the_report_says(broken: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(broken))
    result = run("report", "run.json", "--html", "run.html")
    assert (result.exit_code, result.stdout) == (1, "")
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
    page = run("report", "run.json", "--rerun", "--html").stdout
    first, second = (re.sub(r"\(\d+\.\d s\)", "", p.strip()) for p in (page, Path("run.html").read_text("utf-8")))
    assert first == second
    held = run(*TINY, "--html", "held.html")
    assert held.exit_code == 0
    assert '<section class="run"' not in Path("held.html").read_text(encoding="utf-8"), "there is no run to draw"


def lies(edit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what edits a copy of a report."""

    def edited(report: dict[str, Any]) -> dict[str, Any]:
        copy = deepcopy(report)
        edit(copy)
        return copy

    return edited


def violated(report: dict[str, Any]) -> dict[str, Any]:
    return next(p for p in report["properties"] if p["violation"])


FORGED = {
    "a step fewer": lambda r: violated(r)["violation"]["schedule"].pop(),
    "no step": lambda r: violated(r)["violation"].update(words=[]),
    "steps of another": lambda r: violated(r)["violation"].update(words=[1 << 24]),
    "a word that is none": lambda r: violated(r)["violation"].update(words=[1 << 60]),
    "another configuration": lambda r: r["configuration"].update(variant=""),
    "no such variant": lambda r: r["configuration"].update(variant="none-such"),
    "no such protocol": lambda r: r["configuration"].update(protocol="none.py"),
    "no such property": lambda r: violated(r).update(name="none-such"),
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
    assert run("report", "run.json").exit_code == 1  # its sentence, and its code
    assert run("report", "run.json", "--html", "run.json").exit_code == 2
    assert run("report", "run.json", "--html", "none/run.html").exit_code == 2
    assert Path("run.json").read_text() == text


def test_what_a_report_says_is_data(broken: dict[str, Any], folder: Path) -> None:
    evil = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"
    forged = lies(lambda r: r.update(zabcheck=evil))(broken)
    Path("run.json").write_text(json.dumps(forged))
    page = run("report", "run.json", "--html").stdout
    assert page
    assert "<img" not in page
    assert "<script>alert" not in page
    assert "&lt;/title&gt;" in page


@pytest.fixture(scope="module")
def bounded() -> dict[str, Any]:
    """The report of an exploration that a depth ended."""
    report: dict[str, Any] = json.loads(run(*TINY, "--depth", "12", "--json").stdout)
    assert not report["coverage"]["exhausted"]
    return report


def named(r: dict[str, Any], name: str) -> dict[str, Any]:
    return next(p for p in r["properties"] if p["name"] == name)


MISTYPED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a huge count": lambda r: r["states"]["levels"].append(10**400),
    "a fraction of a state": lambda r: r["states"].update(terminal=7.0),
    "a negative count": lambda r: r["states"].update(generated=-1),
    "a number for a truth": lambda r: r["coverage"].update(exhausted=1),
    "no trace of an error": lambda r: r["coverage"].pop("error_trace_file"),
    "nothing of stuttering": lambda r: r["engine"].pop("stuttering_off"),
}


@pytest.mark.parametrize("name", MISTYPED)
def test_a_report_with_a_value_of_another_type_is_refused(name: str, bounded: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(lies(MISTYPED[name])(bounded)))
    for flags in (("--html", "run.html"), ("--rerun",)):
        result = run("report", "run.json", *flags)
        assert (result.exit_code, result.stdout) == (2, ""), result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
        assert "is not a report" in result.stderr
    assert not Path("run.html").exists()


def test_an_answer_of_another_command_is_called_that(folder: Path) -> None:
    Path("run.json").write_text(run("--witness", "integrity", "--nodes", "2", "--json").stdout)
    said = "run.json is not a report of an exploration: it answers a request of kind 'witness'\n"
    assert run("report", "run.json", "--html", "x.html").stderr.endswith(said)


HONEST = {
    "bounded": (*TINY, "--depth", "12"),
    "without symmetry": (*TINY, "--no-symmetry"),
    "cut short": (*TINY, "--max-states", "5"),
    "interpreted": (*TINY, "--engine", "interpret", "--depth", "6"),
    "every step": (*TINY, "--reduction", "none"),
    "narrowed": (*TINY, "--reduction", "auto"),
    "a witness required": (*TINY, "--require-witness", "integrity", "--depth", "4"),
    "one property": (*TINY, "--property", "total-order"),
    "broken": BROKEN,
    "datagrams": ("--protocol", "db19", "--nodes", "2", "--txns", "1", "--timeouts", "1", "--network", "ordered"),
    "ladis": ("--protocol", "ladis", *TINY),
}


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", HONEST)
def test_a_report_that_was_not_edited_is_taken(name: str, folder: Path) -> None:
    result = run(*HONEST[name], "--no-trace", "--json")
    Path("run.json").write_text(result.stdout)
    again = run("report", "run.json", "--html")
    assert again.exit_code == result.exit_code, again.stderr
    assert "</html>" in again.stdout
    same = run("report", "run.json", "--rerun")
    if name != "cut short":
        assert (same.exit_code, same.stdout) == (result.exit_code, ""), same.stderr
        assert "explored again, with the same result" in same.stderr


@pytest.fixture(scope="module")
def larger() -> dict[str, Any]:
    """The report of a larger exploration."""
    flags = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "1")
    report: dict[str, Any] = json.loads(run(*flags, "--depth", "14", "--no-trace", "--json").stdout)
    assert report["states"]["distinct"] > 600
    return report


def exhausted(r: dict[str, Any]) -> None:
    """As if it had been explored to exhaustion, in every place that says so."""
    depth = r["limits"]["depth"]
    r["coverage"].update(exhausted=True)
    r["limits"].update(depth=None)
    said = (f"explored to depth {depth} and no further", f"explored to exhaustion (depth {depth})")
    r.update(sentence=r["sentence"].replace(*said))
    r["engine"].update(reduction_off="at most 500,000 states")


@pytest.mark.slow(seconds=1)
def test_a_forged_report_is_detected_by_exploring_again(larger: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(lies(exhausted)(larger)))
    assert run("report", "run.json", "--html").exit_code == larger["exit_code"]
    result = run("report", "run.json", "--rerun")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "explored again, with another result: " in result.stderr
    assert "exhausted False, but the report says True" in result.stderr


@pytest.mark.slow(seconds=1)
def test_what_was_left_out_is_part_of_the_outcome(bounded: dict[str, Any], folder: Path) -> None:
    """Another mode, and the counts were not compared: forged ones came to the same outcome."""

    def forge(r: dict[str, Any]) -> None:
        r["engine"].update(symmetry=False, symmetry_off="processes differ")
        r["states"].update(raw=r["states"]["distinct"])

    Path("run.json").write_text(json.dumps(lies(forge)(bounded)))
    result = run("report", "run.json", "--rerun")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "symmetry True, but the report says False" in result.stderr


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """The report of an exploration to exhaustion."""
    report: dict[str, Any] = json.loads(run(*TINY, "--json").stdout)
    assert report["coverage"]["exhausted"]
    return report


def cut(reason: str, **limits: Any) -> Callable[[dict[str, Any]], None]:
    """As if a limit had ended it."""

    def edit(r: dict[str, Any]) -> None:
        r["coverage"].update(exhausted=False, stopped=reason)
        r["limits"].update(limits)

    return edit


def level(r: dict[str, Any], depth: int, more: int) -> None:
    r["states"]["levels"][depth] += more
    r["states"].update(raw=r["states"]["raw"] + more)


EDITED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a state fewer": (lambda r: level(r, 5, -1), "levels ["),
    "a witness too early": (lambda r: named(r, "integrity").update(witnessed_at=3), "integrity holds at depth 20"),
    "not all, and no reason": (lambda r: r["coverage"].update(exhausted=False), "exhausted True"),
    "a limit that did not end it": (lambda r: r["limits"].update(max_states=5), "limits {"),
    "a reason that is none": (cut("everything looked at"), "exhausted True"),
    "other successors": (lambda r: r["states"].update(generated=70), "generated 69"),
    "another step": (lambda r: r["steps"].update({"f.1.1": 9}), "steps {"),
    "another event": (lambda r: r["events"].update(crash=1), "events {"),
    "symmetry": (lambda r: r["engine"].update(symmetry_off="--no-symmetry"), "symmetry_off None"),
    "reduced": (lambda r: r["engine"].update(reduced=True, reduction_off=None), "reduced False"),
}  # fmt: skip
AS_STATED = "as the file states, not run again"


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", EDITED)
def test_edited_figures_are_shown_as_stated_and_refuted_by_rerun(
    name: str, whole: dict[str, Any], folder: Path
) -> None:
    edit, why = EDITED[name]
    Path("run.json").write_text(json.dumps(lies(edit)(whole)))
    result = run("report", "run.json", "--html", "run.html")
    assert AS_STATED in result.stderr
    assert AS_STATED in Path("run.html").read_text(encoding="utf-8")
    result = run("report", "run.json", "--rerun", "--html", "rerun.html")
    assert result.exit_code == 3
    assert why in result.stderr
    assert AS_STATED in Path("rerun.html").read_text(encoding="utf-8")


def test_a_page_of_figures_that_were_measured_again_is_not_as_stated(whole: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(whole))
    result = run("report", "run.json", "--rerun", "--html")
    assert result.exit_code == 0
    assert AS_STATED not in result.stdout + result.stderr


SAYS_ELSE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "the sentence": lambda r: r.update(sentence=f"holds: forged; {r['sentence']}"),
    "what a property states": lambda r: named(r, "integrity").update(statement="forged"),
    "a premise": lambda r: named(r, "agreement").update(premise="forged"),
    "what was not checked": lambda r: r.update(not_checked=["forged"]),
    "what was never taken": lambda r: r.update(never_taken=["forged"]),
    "a second opinion": lambda r: r["second_opinion"].update(difference="", by="forged", levels=0),
}


@pytest.mark.parametrize("name", SAYS_ELSE)
def test_what_was_explored_again_is_shown_as_it_was_found(name: str, whole: dict[str, Any], folder: Path) -> None:
    Path("run.json").write_text(json.dumps(lies(SAYS_ELSE[name])(whole)))
    stated = run("report", "run.json", "--html")
    assert "forged" in stated.stdout
    assert AS_STATED in stated.stdout
    shown = run("report", "run.json", "--rerun", "--html", "-")
    assert shown.exit_code == 0
    assert "forged" not in shown.stdout + shown.stderr
    assert "forged" not in run("report", "run.json", "--rerun").stderr


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e400", "NaN", "Infinity"])
def test_a_number_that_no_float_holds_is_refused(number: str, whole: dict[str, Any], folder: Path) -> None:
    text = json.dumps(lies(lambda r: r["cost"].update(compile_seconds=77.25))(whole))
    Path("run.json").write_text(text.replace("77.25", number))
    result = run("report", "run.json", "--html")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not JSON: it has" in result.stderr
