"""A row of the track record as a story: `zabcheck zookeeper ROW --trace --html`, and how its values are read."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from checker.zookeeper.record import Exploring, ask, of_release
from checker.zookeeper.rows import CLIENTS, ROWS
from checker.zookeeper.story import asked, headline, story
from invariants import properties_of
from tests.commands.running import assert_refused, run
from tests.pictures.pictured import FAULTY, walk
from traces import read_trace, to_text
from traces.explain.effects import changed
from traces.explain.export import to_itf
from traces.explain.text import parted
from traces.record import trace as recorded
from zabspec.language.layout.kinds import Int
from zabspec.language.layout.notation import value_text
from zabspec.model import Configuration, Model

ROW = "ZK-1282"
MASK = re.compile(r"\b(?:[6-9]\d|\d{3,})\b")  # a number that could be a set of transactions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow(seconds=3)
def test_a_row_is_a_story_with_its_run(folder: Path) -> None:
    """One command: what happens, what a client loses, ticket, releases, fix, the run and the methods."""
    done = run("zookeeper", ROW, "--trace", "run.trace.json", "--html", "run.html")
    assert done.exit_code == 0, done.output
    text, page = done.stdout, html.unescape(Path("run.html").read_text(encoding="utf-8"))
    row = next(r for r in ROWS if f"ZK-{r.issue}" == ROW)
    for said in (
        row.says,
        row.split,
        CLIENTS[row.breaks],
        f"https://issues.apache.org/jira/browse/ZOOKEEPER-{row.issue}",
    ):
        assert " ".join(said.split()) in " ".join(text.split())
        assert said in page
    assert f"is violated after {row.merged} steps" in page
    trace = read_trace(Path("run.trace.json"))
    assert run("replay", "run.trace.json").exit_code == 0
    rest = text.partition(f"{row.breaks} is violated after")[2]
    assert len(trace.steps) == row.merged
    methods = rest.partition("step  who and what")[2].partition("\nbug ")[0]
    assert "Learner.registerWithLeader" in methods
    steps = to_text(trace).partition("\n\n 1")[2]
    assert "epoch 2 served {} -> {<1,1>" in steps
    assert "founds(" not in steps, "the field that it writes has words of its own"
    for where in (steps, Path("run.html").read_text().partition('class="steps"')[2].partition("<script")[0]):
        shown = re.sub(r"<[^<>]*>", " ", html.unescape(where)) if "<li" in where else where
        assert not re.search(r"(?:exposed|founded|tree)\S* \d+ -> ", shown)
        assert not re.search(r"(?:tree|zxid)=\d", shown)
        assert not MASK.search(shown)
    sets = [entry for s in json.loads(to_itf(trace))["states"] for _, entry in s["tree"]["#map"]]
    assert all(list(one) == ["#set"] for one in sets)
    assert {name for one in sets for name in one["#set"]} >= {"<1,1>"}


def test_a_step_is_told_with_one_look_at_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look reads all the files of a text again; a story of 34 steps had 342."""
    trace, looks, model_of = walk(FAULTY, 1, 3), [], recorded.model_of

    def counted(configuration: Configuration) -> Model:
        looks.append(configuration)
        return model_of(configuration)

    monkeypatch.setattr(recorded, "model_of", counted)
    for step in trace.steps:
        changed(trace, step.number)
    assert len(looks) == len(trace.steps) == 3


def test_every_row_says_what_a_client_loses() -> None:
    """No property of a row is without words, and no words are of a property that there is not."""
    assert {r.breaks for r in ROWS} == set(CLIENTS)
    assert set(CLIENTS) <= {p.name for p in properties_of("zookeeper")}


def test_release_fixes_and_rule_are_apart() -> None:
    c = Configuration("zookeeper", "3.9.1,4394,4925,coarse,mutant-serve-alone")
    assert parted(c) == ("3.9.1", ("4394", "4925"), ("coarse",), ("mutant-serve-alone",))
    assert parted(Configuration("zookeeper")) == ("3.9.5", (), (), ())
    assert parted(Configuration("zab", "join-commit-all")) == ("", (), (), ("join-commit-all",))


def test_a_mask_is_read_as_a_set() -> None:
    kind = Int(0, 15, members=("a", "b", "c", "d"))
    assert [value_text(kind, n) for n in (0, 1, 10)] == ["{}", "{a}", "{b, d}"]
    assert value_text(kind, 16) == "16"  # no member has that bit: the number is all that is known


def test_a_row_is_asked_of_another_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on record of it, so nothing has changed, whatever is found."""
    asked: list[str] = []

    def explored(c: Configuration, name: str, seconds: float | None) -> Exploring:
        asked.append(c.variant)
        return Exploring(0, 1234, 0.1, True, "", None)

    monkeypatch.setattr("checker.zookeeper.record.explored", explored)
    recorded = next(r for r in ROWS if f"ZK-{r.issue}" == ROW)
    known = next(r for r in ROWS if r.issue == "4643")
    assert of_release(known, "3.8.1") is known  # that of 3.9.1 by another number
    assert of_release(known, "3.6.0") is not known
    done = run("zookeeper", ROW, "--release", "3.9.5")
    assert done.exit_code == 0, done.output
    assert f"{ROW} in 3.9.4 with " in done.stdout
    assert f"no violation found: {recorded.breaks} holds in all" in " ".join(done.stdout.split())
    assert "not found, not recorded" in " ".join(done.stdout.split())
    assert "without its fix" not in done.stdout  # the release has it
    assert "1282" not in asked[0].split(",")
    assert "1282" in asked[1].split(",")
    assert run("zookeeper", ROW).exit_code == 1  # what is on record of its own release is another outcome
    assert_refused(run("zookeeper", ROW, "--release", "3.9.99"), "there is no release '3.9.99' in this model")


@pytest.mark.parametrize(
    ("issue", "release", "has", "unlike"),
    [
        ("2872", "3.5.9", "before-2872", "3.6.2"),
        ("2307", "3.5.9", "", "3.6.2"),
        ("2307", "3.5.7", "before-2307", "3.5.8"),
        ("3701", "3.5.6", "before-3701", "3.5.7"),
        ("2418", "3.5.9", "before-2418", "3.6.0"),
        ("2418", "3.6.0", "", "3.5.9"),
    ],
)
def test_a_row_of_settings_is_asked_of_the_release_itself(
    issue: str, release: str, has: str, unlike: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text stands for several releases, and with a setting these may differ."""
    texts: list[str] = []

    def explored(c: Configuration, name: str, seconds: float | None) -> Exploring:
        texts.append(c.variant)
        return Exploring(0, 1234, 0.1, True, "", None)

    monkeypatch.setattr("checker.zookeeper.record.explored", explored)
    row = next(r for r in ROWS if r.issue == issue)
    one = ask(of_release(row, release), None)
    assert ",".join(x for x in texts[0].split(",") if x == f"before-{issue}") == has
    assert f" with {row.settings} and " in headline(one)
    numbers = next(text for name, text in story(one) if name == "release")
    assert release in numbers
    assert unlike not in numbers


def test_a_setting_that_a_release_has_not_is_not_named() -> None:
    row = next(r for r in ROWS if r.issue == "hole")
    assert asked(row) == "3.9.4 with hole"
    assert asked(of_release(row, "3.9.3")) == "3.9.3"


@pytest.mark.slow(seconds=3)
def test_a_row_that_a_time_limit_ends_names_the_limit() -> None:
    """Whether its premise is reached is not known then."""
    row = next(row for row in ROWS if row.issue == "4643")
    found = ask(row, 0.01)
    assert found.undecided
    assert found.without.trouble == found.repaired.trouble == "--time-limit 0.01 s reached"
