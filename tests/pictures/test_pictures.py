"""Pictures of traces: what became of each message, and documents that their readers open."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker.errors import RequestError
from checker.requests.export import Export
from invariants import Property
from tests.pictures.pictured import DATA, FAULTY, NETWORKS, PICTURED, pictured, walk
from traces import Trace, build_trace, read_trace, write_trace
from traces.explain.effects import changes
from traces.explain.flights import Fate, flights, in_flight, leading_to, same
from traces.explain.names import message_text
from traces.pictures import PICTURES, to_html, to_svg
from traces.pictures.geometry import BAND, PHONE, geometry_of
from traces.pictures.html import parts, sliced, what_happens
from traces.pictures.picture import picture_of
from traces.pictures.svg import document
from traces.record.simulated import TooLarge, simulated_trace
from zabspec.model import Configuration, Model
from zabspec.simulator.run import Run

SVG = "{http://www.w3.org/2000/svg}"
RECEIVED = (Fate.RECEIVED, Fate.COPIED)


# --- what became of each message -------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(4))
def test_every_message_has_one_end(name: str, seed: int) -> None:
    """What is sent is received, lost or in flight at the end; what a step receives, a step before it sent."""
    trace = walk(NETWORKS[name], seed)
    found = flights(trace)
    sent = [
        (step.number, message_text(m, trace.model), m.source, m.destination) for step in trace.steps for m in step.sent
    ]
    kept = [f for f in found if f.fate is not Fate.COPIED]
    assert Counter(
        (f.sent, message_text(f.message, trace.model), f.message.source, f.message.destination) for f in kept
    ) == Counter(sent)
    for step in trace.steps:
        ends = [f for f in found if f.ended == step.number and f.fate in (*RECEIVED, Fate.DROPPED)]
        assert len(ends) == (step.message is not None)
        for f in ends:
            assert 0 < f.sent < step.number
            assert f.message.fields == step.message.fields
            assert (f.fate is Fate.DROPPED) == step.word.row.loses
            assert (f.fate is Fate.COPIED) == step.word.row.keeps
    flying = Counter(
        (f.message.source, f.message.destination, f.message.kind) for f in found if f.fate is Fate.IN_FLIGHT
    )
    assert flying == Counter((source, target, m["kind"]) for source, target, m in in_flight(trace.states[-1]))


def test_walks_meet_every_fate() -> None:
    met = {f.fate for name in NETWORKS for seed in range(4) for f in flights(walk(NETWORKS[name], seed))}
    assert met == set(Fate)


def test_what_a_sentence_names_is_marked() -> None:
    """Of the counterexamples whose pictures were shown to readers."""
    steps = {"equal-epoch": {12, 25}, "join-commit-all": {14, 18, 21}, "db19-prefix": {8, 9, 11, 12}}
    for name in PICTURED:
        picture = picture_of(pictured(name))
        assert {row.number for row in picture.rows if row.named} == steps[name], name
    lost = [a for a in picture_of(pictured("db19-prefix")).arrows if a.named and a.flight.fate is Fate.IN_FLIGHT]
    assert ("Propose t1", 2) in [(a.label, a.flight.message.destination) for a in lost]


def test_lanes_have_no_gap() -> None:
    """The stretches of a lane follow each other, and say the role and the epoch that the states have."""
    trace = walk(NETWORKS["zab"], 1)
    roles = ("ELECTION", "FOLLOWING", "LEADING", "DOWN")
    picture = picture_of(trace)
    for p in range(3):
        mine = [s for s in picture.stretches if s.process == p]
        assert mine[0].start == 0
        assert mine[-1].end == len(trace.steps) + 1
        assert all(a.end == b.start for a, b in pairwise(mine))
        for number, state in enumerate(trace.states):
            at = next(s for s in mine if s.start <= number < s.end)
            assert (at.role, at.epoch) == (roles[state["role"][p]], state["current_epoch"][p])
            assert at.down == (at.role == "DOWN")


def test_steps_are_folded_where_nothing_is_told() -> None:
    """All steps are in one part, those that are told in none that is folded."""
    for name in PICTURED:
        picture = picture_of(pictured(name))
        found = parts(picture)
        assert [n for first, last, _ in found for n in range(first, last + 1)] == [r.number for r in picture.rows]
        folded = {n for first, last, fold in found if fold for n in range(first, last + 1)}
        assert not [r.number for r in picture.rows if r.number in folded and (r.named or r.fault or r.marks)]
    joined = picture_of(pictured("join-commit-all"))
    assert parts(joined)[0] == (1, 10, True)
    assert what_happens(joined, 1, 10) == "oracle names p0, CEPOCH, NEWEPOCH, ACK_E, NEWLEADER, ACK_LD"
    assert what_happens(joined, 1, len(joined.rows)).endswith(" more kinds")
    plain = replace(picture, rows=tuple(replace(r, events=(), last=False, fault=False, marks=()) for r in picture.rows))
    count = len(plain.rows)
    assert parts(replace(plain, arrows=())) == [(1, count, False)]  # where nothing is told, nothing is folded


def test_a_run_for_ever_shows_its_loop() -> None:
    trace = read_trace(DATA.parent / "saved" / "joins.trace.json")
    assert trace.lasso is not None
    picture = picture_of(replace(trace, lasso=replace(trace.lasso, loop=1, stabilization_time=0)))
    said = document(picture)
    assert "steps 2 to 4 repeat forever" in said
    assert "for ever" in texts(said)
    assert "stabilization time: from here on there is no fault, and p1 is named" in texts(said)
    assert "repeat forever" not in document(picture_of(trace))


# --- documents -------------------------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    return ["".join(x.itertext()) for x in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", PICTURED)
def test_a_picture_is_svg_and_says_why(name: str) -> None:
    said = " ".join(texts(to_svg(pictured(name))))
    picture = picture_of(pictured(name))
    assert picture.title in said
    assert picture.why in said
    assert all(f" {row.number} " in f" {said} " for row in picture.rows)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_run_is_drawn(name: str) -> None:
    for seed in range(2):
        assert texts(to_svg(walk(NETWORKS[name], seed)))
        assert to_html(walk(NETWORKS[name], seed)).rstrip().endswith("</html>")


def test_an_empty_run_is_drawn() -> None:
    empty = build_trace(Model(FAULTY), None, ())
    assert "A run of 0 steps" in " ".join(texts(to_svg(empty)))
    assert "A run of 0 steps" in to_html(empty)


def test_a_page_needs_nothing_else() -> None:
    page = to_html(pictured("equal-epoch"))
    for word in ("http:", "https:", "src=", "@import", "url(", "<link"):
        assert word not in page, word


def test_a_long_run_of_many_processes_is_a_small_page() -> None:
    trace = walk(Configuration(nodes=7, txns=3, timeouts=1, crashes=1, losses=1), 0, together=True)
    assert len(trace.steps) == 60
    assert len(to_html(trace).encode()) < 1_000_000
    assert len(to_svg(trace).encode()) < 1_000_000


def test_names_are_data(tmp_path: Path) -> None:
    """A file may be called anything, and what it says of itself is shown and never read."""
    from checker.commands.init import START

    evil = tmp_path / "a<b>&'\"</script><img src=x onerror=alert(1)>.py".replace("/", "\u2044")
    text = START.read_text(encoding="utf-8")
    evil.write_text(text.replace('"""', '"""</title></script><svg onload=alert(2)>&amp; ]]> ', 1), encoding="utf-8")
    trace = walk(Configuration(protocol=str(evil)), 0, 12)
    for page in (to_html(trace), to_svg(trace)):
        assert "<img" not in page
        assert "<svg onload" not in page
        assert "&lt;b&gt;" in page
    ElementTree.fromstring(to_svg(trace))


def test_no_document_holds_what_xml_forbids() -> None:
    from traces.pages.markup import tag, text

    said = "a\x00\x0b\ud800\ufffe<b>"
    assert text(said) == "a\ufffd\ufffd\ufffd\ufffd&lt;b&gt;"
    ElementTree.fromstring(tag("a", {"b": said}, text(said)))


# --- the command -----------------------------------------------------------------------------------


def test_the_command_writes_each(tmp_path: Path) -> None:
    from checker.requests.export import FORMATS
    from tests.commands.running import run
    from traces import EXPORTS

    assert set(FORMATS) == {*EXPORTS, *PICTURES, "tla"}  # the last is of a model
    saved = tmp_path / "run.trace.json"
    write_trace(pictured("db19-prefix"), saved)
    for form in ("html", "svg"):
        out = tmp_path / f"run.{form}"
        assert run("export", str(saved), "--to", form, "--output", str(out)).exit_code == 0
        assert run("export", str(saved), "--to", form).stdout.strip() == out.read_text(encoding="utf-8").strip()


def test_a_picture_of_a_cone_draws_faintly_what_is_outside(tmp_path: Path) -> None:
    """What a step depends on is found step by step, from the last one back."""
    trace, path = pictured("db19-prefix"), str(tmp_path / "run.trace.json")
    write_trace(trace, path)
    number = 8
    naive = {number}
    for at in range(number, 0, -1):
        step = trace.steps[at - 1]
        if at in naive and step.process is not None:
            naive |= {*[s.number for s in trace.steps[: at - 1] if s.process == step.process][-1:]}
        if at in naive and step.message is not None and not step.word.row.loses:
            naive |= {*[s.number for s in trace.steps[:at] if any(same(x, step.message) for x in s.sent)][:1]}
    assert leading_to(trace, number) == naive
    faint = len(trace.steps) - len(naive)
    drawn = Export(path, "svg", cone=number).answer().data.decode()
    assert drawn.count('<g opacity="0.2"><g class="step"') == faint > 3
    assert f"Faint steps: no chain of messages leads from them to step {number}." in drawn
    assert "opacity" not in Export(path, "svg").answer().data.decode()
    page = Export(path, "html", cone=number).answer().data.decode()
    assert page.count('<g opacity="0.2"><g class="step"') == 2 * faint  # as for a phone, and as for what is wider
    with pytest.raises(RequestError, match=f"the steps of this run are 1 to {len(trace.steps)}"):
        Export(path, "svg", cone=0).answer()
    with pytest.raises(RequestError, match="--cone is for a picture: --to html or svg"):
        Export(path, "itf", cone=3).answer()


@pytest.mark.slow(seconds=3)
def test_what_finds_a_run_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.commands.running import run

    monkeypatch.chdir(tmp_path)
    trace = pictured("db19-prefix")
    write_trace(trace, Path("run.trace.json"))
    assert run("replay", "run.trace.json", "--html", "run.html").exit_code == 0
    assert Path("run.html").read_text(encoding="utf-8") == to_html(trace)
    for wrong in ("run.trace.json", "none/run.html", "."):
        refused = run("replay", "run.trace.json", "--html", wrong)
        assert (refused.exit_code, refused.stdout) == (2, "")
    assert json.loads(Path("run.trace.json").read_text())["property"] == "prefix"
    well = ("simulate", "--seed", "3", "--rounds", "400", "--proposals", "2")
    broken = ("simulate", "--seed", "14", "--rounds", "310", "--proposals", "3", "--check")
    assert run(*broken, "--html", "simulated.html").exit_code == 1
    assert "is violated after" in Path("simulated.html").read_text(encoding="utf-8")
    for checked in ([], ["--check"]):
        assert run(*well, *checked, "--html", "x.html").exit_code == 0
        assert "A run of " in Path("x.html").read_text(encoding="utf-8")
        Path("x.html").unlink()
    for command in ("bmc", "minimise", "replay", "simulate", "report", "audit"):
        assert "--html" in run(command, "--help").stdout, command


def test_a_run_that_is_too_large_is_drawn_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of it as is told, and the page says so; where no part can be, there is no page and no verdict."""

    def told(most: int) -> None:
        def made(run: Run, of: Property | None = None, until: int | None = None) -> Trace:
            if (run.rounds if until is None else until) > most:
                raise TooLarge("the run is larger than every configuration: it is")
            return simulated_trace(run, of, until)

        monkeypatch.setattr("checker.report.simulated.simulated_trace", made)

    from tests.commands.running import run as run_command

    page = tmp_path / "x.html"
    words = ("simulate", "--seed", "1", "--rounds", "400", "--html", str(page))
    told(260)
    assert run_command(*words).exit_code == 0
    said = page.read_text(encoding="utf-8")
    assert "up to tick 250 of 400: the run is larger than every configuration: it is." in said
    steps = len(simulated_trace(Run(1, rounds=400), None, 250).steps)
    assert f"A run of {steps} steps" in said
    page.unlink()
    told(-1)
    assert run_command(*words).exit_code == 3
    assert not page.exists()


@pytest.mark.parametrize("name", PICTURED)
def test_on_a_phone_words_are_right_of_all_lanes(name: str) -> None:
    """No label lies over a lane or an arrow, and the drawing is as wide as the screen."""
    picture = picture_of(pictured(name))
    g = geometry_of(picture, narrow=True)
    said = re.findall(r'<span class="([^"]*)" style="(\w+):([\d.]+)px', sliced(picture, g, 1, len(g.rows)))
    words = [(side, float(x)) for how, side, x in said if "middle" not in how and "turned" not in how]
    assert len(words) >= len(g.rows)
    assert all(side == "left" and x > g.lanes[-1] + BAND / 2 for side, x in words)
    assert g.width == PHONE


def test_a_value_that_is_none_has_no_sign_of_its_own() -> None:
    said = [line for n in range(1, 22) for line in changes(pictured("join-commit-all"), n)]
    assert "p1.phase none -> DISCOVERY" in said
    assert any(line.endswith(": ACK_LD(epoch=1)") for line in said)


# --- the pages -------------------------------------------------------------------------------------


def test_the_picture_of_the_readme_is_the_one_that_its_command_makes() -> None:
    kept = (DATA.parent.parent.parent / "docs" / "join-commit-all.svg").read_text(encoding="utf-8")
    assert kept == to_svg(pictured("join-commit-all"))
    assert len(kept) < 100_000


def test_a_trace_is_one_line_and_a_notebook_shows_its_picture() -> None:
    trace = pictured("equal-epoch")
    count = len(trace.steps)
    said = f"one-leader-an-epoch is violated after {count} steps; zab with equal-epoch, 3 processes"
    assert repr(trace) == f"<Trace: {said}>"
    plain = replace(trace, property_name="")
    assert "the premise of x is first reached after 1 step; " in repr(
        replace(plain, premise_of="x", steps=trace.steps[:1])
    )
    assert "a run of 0 steps; " in repr(replace(plain, steps=()))
    assert trace._repr_html_() == to_svg(trace)
