"""The functions of `zabcheck` whose commands are about files: each has an answer with text, JSON and a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import zabcheck
from checker.cli import main
from checker.report.formats.notebook import UNTESTED
from checker.zookeeper.record import Exploring, RowOutcome
from tests.zookeeper.written import ensemble, history, server
from traces.record.trace import Trace

CONFIG = "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\n"
CHECKS = """
[[check]]
name = "two"
nodes = 2
txns = 1
timeouts = 0
crashes = 0
losses = 0

[check.expect]
verdict = "holds"
source = "the test"
"""


@pytest.fixture(scope="module")
def broken() -> Trace:
    """A counterexample."""
    found = zabcheck.explore(variant="small-quorum", nodes=2, txns=1, timeouts=0, crashes=0, losses=0)
    trace = found["delivered-is-chosen"].trace
    assert trace is not None
    return trace


def same_text(words: list[str], text: str) -> bool:
    """Whether a command prints what an answer says, but for times."""
    shown = CliRunner().invoke(main, words).stdout
    return without_times(shown) == without_times(text)


def without_times(text: str) -> list[str]:
    """The words of a text without what another run may have otherwise: times, where lines are folded, and the values
    of an example of z3's, which follow from what it was asked before."""
    timeless = re.sub(r"\(?\b\d[\d.]* (ms|s)\b\)?", "a time", text)
    return re.sub(r"=\s+(0x[0-9a-f]+|\d+)\b", "= a value", timeless).split()


def test_an_audit_is_a_function(tmp_path: Path) -> None:
    folders = [str(folder) for folder in ensemble(tmp_path, *(server(history((1, 4), (2, 3))) for _ in range(3)))]
    found = zabcheck.audit(folders)
    assert (found.exit_code, found.findings) == (0, ())
    assert same_text(["audit", *folders], found.text())
    assert found.as_json()["exit_code"] == 0
    assert "<html" in found.html()
    with pytest.raises(zabcheck.RequestError, match="name the directories"):
        zabcheck.audit()


def test_a_notebook_shows_pictures_and_names_the_nearest_name(tmp_path: Path) -> None:
    """An audit shows its timelines, a small graph itself; a headline is green only if all was put to the test."""
    folders = [str(folder) for folder in ensemble(tmp_path, *(server(history((1, 4), (2, 3))) for _ in range(3)))]
    assert "<iframe srcdoc=" in zabcheck.audit(folders)._repr_html_()
    graph = zabcheck.graph(nodes=2, txns=1, timeouts=0, crashes=0, losses=0, depth=6)
    assert graph.picture()._repr_svg_().count("<circle") == len(graph.graph)
    assert graph.picture() in graph._repr_html_()
    held = zabcheck.explore(nodes=2, txns=1, timeouts=0, crashes=0, losses=0, properties=["integrity", "agreement"])
    assert f'color:{UNTESTED}"' in held._repr_html_()
    with pytest.raises(KeyError, match="integrty; did you mean integrity"):
        held["integrty"]


def test_quorums_are_a_function(tmp_path: Path) -> None:
    config = tmp_path / "zoo.cfg"
    config.write_text(CONFIG, encoding="utf-8")
    found = zabcheck.quorums(config)
    assert found.passed
    assert found.as_json()["intersection"] == "proved"
    assert found.disjoint == ()
    assert same_text(["quorums", str(config)], found.text())
    assert found.picture() == ""


def test_a_plan_is_a_function(tmp_path: Path) -> None:
    config = tmp_path / "zoo.cfg"
    config.write_text(CONFIG, encoding="utf-8")
    found = zabcheck.plan(config=config, latency="2ms", outstanding=100)
    assert found.plan.latency[1] > 2_000_000
    assert found.setting.servers == 3
    assert "operations a second" in found.sentence
    assert same_text(["plan", str(config), "--latency", "2ms", "--outstanding", "100"], found.text())
    with pytest.raises(zabcheck.RequestError, match="--servers does not go with"):
        zabcheck.plan(5, config=config)
    with pytest.raises(zabcheck.RequestError, match="--latency must be like 100us or 2ms, not '2 years'"):
        zabcheck.plan(3, latency="2 years")
    with pytest.raises(zabcheck.RequestError, match=r"--latency must be 0\.05 to 20 ms"):
        zabcheck.plan(3, latency=2)


def test_minimising_is_a_function(broken: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    short = zabcheck.minimise(broken, search=1.0)
    assert len(short.trace.steps) <= short.steps_before == len(broken.steps)
    assert short.trace.property_name == "delivered-is-chosen"
    assert "Saved" not in short.sentence
    assert list(tmp_path.iterdir()) == []
    assert short.as_json()["trace"] is None
    assert short.picture().startswith("<svg")
    saved = tmp_path / "short.trace.json"
    assert f"Saved as {saved}" in zabcheck.minimise(broken, saved, 1.0).sentence
    assert zabcheck.replay(saved).passed


def test_exporting_is_a_function(broken: Trace, tmp_path: Path) -> None:
    as_svg = zabcheck.export(broken, "svg")
    assert as_svg.data.decode() == as_svg.picture()
    assert as_svg.trace == broken
    page = tmp_path / "run.html"
    written = zabcheck.export(broken, "html", output=page)
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert written.sentence.endswith(f"bytes of html, saved as {page}")
    with pytest.raises(zabcheck.RequestError):
        zabcheck.export(broken, "paper")


def test_checking_is_a_function(tmp_path: Path) -> None:
    file = tmp_path / "zabcheck.toml"
    file.write_text(CHECKS, encoding="utf-8")
    found = zabcheck.check(file)
    assert found.exit_code == CliRunner().invoke(main, ["check", str(file)]).exit_code == 1  # 11 premises are not met
    assert [o.check.name for o in found.outcomes] == ["two"]
    assert json.loads(json.dumps(found.as_json()))["checks"][0]["name"] == "two"
    with pytest.raises(zabcheck.RequestError, match="there is no check 'three'"):
        zabcheck.check(file, only=["three"])


def test_the_track_record_is_a_function(monkeypatch: pytest.MonkeyPatch, broken: Trace) -> None:
    found_again, repaired = Exploring(11, 500, 0.1, False, "", broken), Exploring(0, 900, 0.2, True, "", None)
    monkeypatch.setattr(
        "checker.zookeeper.record.ask",
        lambda row, seconds, split, recorded: RowOutcome(row, found_again, repaired, split),
    )
    found = zabcheck.zookeeper("ZK-4643")
    assert [row.row.issue for row in found.rows] == ["4643"]
    assert found["ZK-4643"].verdict == "found"
    assert found.sentence.startswith("1 of 1 rows are reproduced")
    assert found.as_json()["rows"][0]["depth"] == 11
    assert found.runs == {"ZK-4643": broken}
    assert found.picture().startswith("<svg")
    changed = Exploring(0, 900, 0.1, True, "", None)
    monkeypatch.setattr("checker.zookeeper.record.ask", lambda row, *_: RowOutcome(row, changed, repaired))
    assert zabcheck.zookeeper("ZK-4643").exit_code == 1
    with pytest.raises(zabcheck.RequestError):
        zabcheck.zookeeper("ZK-0")


def test_a_run_has_its_picture(broken: Trace) -> None:
    found = zabcheck.replay(broken)
    assert found.picture().startswith("<svg")
    assert list(found.runs) == ["delivered-is-chosen"]
    assert str(broken._repr_html_()).count("<svg") == 1
    assert len(repr(broken)) < 120
