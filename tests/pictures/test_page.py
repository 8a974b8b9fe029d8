"""The page of a trace in a real browser, by keys and clicks; the readers of the other formats.

Without Chromium, or without Mermaid's own parser, what needs it is skipped, and says so: `apt install chromium`;
`npm install mermaid jsdom` in the folder that ZABCHECK_NODE names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import cpu_of
from tests.pictures.browser import CHROMIUM, Browser, browser
from tests.pictures.pictured import PICTURED, pictured, walk
from traces.pictures import to_html, to_svg
from zabspec.model import Configuration

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium")
pytestmark = pytest.mark.slow(seconds=2)  # each alone: Chromium begins, and opens a page


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the counterexamples, and of a run of 60 steps and 7 processes."""
    out = tmp_path_factory.mktemp("pages")
    for name in PICTURED:
        (out / f"{name}.html").write_text(to_html(pictured(name)), encoding="utf-8")
        (out / f"{name}.svg").write_text(to_svg(pictured(name)), encoding="utf-8")
    long = walk(Configuration(nodes=7, txns=3, timeouts=1, crashes=1, losses=1), 0, together=True)
    (out / "long.html").write_text(to_html(long), encoding="utf-8")
    return out


def shown(page: Browser) -> str:
    """Which step the panel shows."""
    return str(page.run("document.querySelector('.panel h4').textContent"))


WAITS = {
    "setTimeout(() => gone.there)": "gone is not defined",  # the page's script breaks
    "setTimeout(() => { window.come = null; })": "Cannot read properties of null",  # what is asked breaks
    "": "after 100 looks",
}


@needs_chromium
def test_a_wait_for_what_never_comes_ends(page: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.pictures.browser.MOST_LOOKS", 100)
    for script, said in WAITS.items():
        (tmp_path / "page.html").write_text(f"<script>window.come = {{}}; {script}</script>")
        page.open(tmp_path / "page.html")
        with pytest.raises(AssertionError, match=said):
            page.until("window.come.at === 1")


# --- keys, clicks, links ---------------------------------------------------------------------------


@needs_chromium
def test_keys_walk_through_the_steps(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html")
    assert shown(page) == "Step 21 of 21"  # a run that cannot be begins where it ends
    where = {"ArrowLeft": 20, "k": 19, "j": 20, "ArrowRight": 21, "p": 18, "n": 21, "Home": 1, "End": 21}
    for key, step in where.items():
        page.key(key)
        assert shown(page) == f"Step {step} of 21", key
        assert page.run("location.hash") == f"#step-{step}"
    page.key("ArrowRight")
    assert shown(page) == "Step 21 of 21"
    assert page.troubles() == []


@needs_chromium
def test_a_key_shows_the_run_full_screen_for_a_lecture(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html")
    page.key("f")
    page.until("document.fullscreenElement?.className === 'walk'")
    page.key("ArrowLeft")
    assert shown(page) == "Step 20 of 21"
    assert page.run("getComputedStyle(document.querySelector('.panel')).fontSize") == "24px"
    page.key("f")
    page.until("!document.fullscreenElement")
    page.open(folder / "join-commit-all.html", "#slides")
    assert shown(page) == "Step 1 of 21"
    assert page.run("document.querySelector('.walk').getBoundingClientRect().height === innerHeight")
    page.key("f")
    assert page.run("document.querySelector('.walk').className") == "walk"
    assert page.troubles() == []


@needs_chromium
def test_clicks_walk_through_the_steps(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html")
    for selector, step in {
        '.wide .labels span[data-step="14"]': 14,
        '.wide g.ground[data-step="13"] rect.hit': 13,
        'ol.steps > li[data-step="15"] .head': 15,
        ".events a": 14,
        '[data-go="on"]': 15,
        '[data-go="next"]': 18,
        '[data-go="first"]': 1,
    }.items():
        page.click(selector)
        assert shown(page) == f"Step {step} of 21", selector
        assert page.run("document.querySelectorAll('.wide .chosen').length") == 1
        assert page.run("document.querySelector('ol.steps .now').id") == f"step-{step}"
    assert page.troubles() == []


@needs_chromium
def test_a_link_opens_at_its_step(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html", "#step-18")
    assert shown(page) == "Step 18 of 21"
    box = "document.querySelector('.wide .ground[data-step=\"18\"]').getBoundingClientRect()"
    assert page.run(f"(r => r.top >= 0 && r.bottom <= innerHeight)({box})") is True
    page.run("location.hash = '#step-4'; new Promise(done => setTimeout(done, 30))")
    assert shown(page) == "Step 4 of 21"
    for wrong in ("#step-99", "#step-0", "#%", "#step-x", "#step-1e1"):
        page.open(folder / "join-commit-all.html", wrong)
        assert shown(page) == "Step 21 of 21", wrong
        assert page.troubles() == [], wrong


@needs_chromium
def test_back_returns_from_a_jump(page: Browser, folder: Path) -> None:
    """And not from one step to the next: those are many."""
    page.open(folder / "join-commit-all.html", "#step-12")
    page.click('.events a[data-step="18"]')
    page.key("j")
    page.key("j")
    assert shown(page) == "Step 20 of 21"
    page.click('ol.steps > li[data-step="14"] .head')
    for where in (20, 12):
        page.run("new Promise(done => { addEventListener('hashchange', done, {once: true}); history.back(); })")
        assert shown(page) == f"Step {where} of 21"
    assert page.troubles() == []


@needs_chromium
def test_a_stretch_is_folded_in_the_diagram_and_in_the_text(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html")
    opened = "[...document.querySelectorAll('details.steps-folded')].map(e => e.open)"
    assert page.run(opened) == [False, False]
    page.click(".texts details.steps-folded summary")
    page.run("new Promise(done => setTimeout(done, 30))")
    assert page.run(opened) == [True, True]
    page.click(".texts details.steps-folded summary")
    page.run("new Promise(done => setTimeout(done, 30))")
    assert page.run(opened) == [False, False]
    page.key("Home")  # to a step that is in it
    assert page.run(opened) == [True, True]
    assert page.run("document.querySelectorAll('.wide .chosen').length") == 1


@needs_chromium
def test_what_changed_is_shown_before_and_after(page: Browser, folder: Path) -> None:
    page.open(folder / "join-commit-all.html", "#step-18")
    pair = "[x.querySelector('del').textContent, x.querySelector('b').textContent]"
    cells = page.run(f"[...document.querySelectorAll('.state details[open] td.new')].map(x => {pair})")
    assert cells == [["0", "1"], ["[]", "[t1 <1,1>]"]]
    pair = "[d.firstChild.textContent, d.querySelectorAll('tr').length]"
    rows = page.run(f"[...document.querySelectorAll('.state details')].map(d => {pair})")
    assert dict(rows)["The whole state"] > 15
    page.key("Home")  # every state of the page is the trace's
    trace = pictured("join-commit-all")
    rows_of = "[...[...document.querySelectorAll('.state details')][1].querySelectorAll('tr')]"
    cells_of = "(r => [...r.children].map(x => (x.querySelector('b') ?? x).textContent))"
    for state in trace.states[1:]:
        row = f"{rows_of}.find(r => r.firstChild.textContent === 'promised_epoch')"
        said = page.run(f"{cells_of}({row})")[1:]
        assert said == [str(e) for e in state["promised_epoch"]]
        page.key("j")


# --- how it looks ----------------------------------------------------------------------------------


@needs_chromium
def test_sixty_steps_of_seven_processes_load_soon(page: Browser, folder: Path) -> None:
    """In CPU seconds of the whole browser: how long a load takes says how busy the machine is."""
    page.open(folder / "long.html")
    before = cpu_of(page.pid)
    page.open(folder / "long.html")
    spent = cpu_of(page.pid) - before
    assert spent < 1.5
    assert (folder / "long.html").stat().st_size < 1_000_000
    assert page.troubles() == []


@needs_chromium
def test_print_has_every_step_and_no_panel(page: Browser, folder: Path) -> None:
    page.open(folder / "equal-epoch.html")
    page("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.querySelector('.panel')).display") == "none"
    assert page.run("[...document.querySelectorAll('ol.steps > li')].filter(x => x.offsetHeight > 0).length") == 25
    assert page.run("(d => d.getBoundingClientRect().right <= innerWidth)(document.querySelector('.diagram'))") is True


@needs_chromium
def test_screen_readers_get_the_text(page: Browser, folder: Path) -> None:
    """What is drawn is hidden from them, and all of it is there as text."""
    page.open(folder / "equal-epoch.html")
    nodes = page("Accessibility.getFullAXTree")["nodes"]
    names = [str(n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]
    text = " ".join(names)
    assert "Epoch 1 has more than one established leader" in text
    assert "p1: l.2.2 on ACK_LD from p1" in text
    assert not any(n.get("role", {}).get("value") == "graphics-document" for n in nodes if not n.get("ignored"))


@needs_chromium
@pytest.mark.parametrize("name", PICTURED)
def test_the_svg_opens_by_itself(page: Browser, folder: Path, name: str) -> None:
    page.open(folder / f"{name}.svg")
    assert page.run("document.documentElement.tagName") == "svg"
    assert page.troubles() == []
