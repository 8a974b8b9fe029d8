"""The page of a walk in a real browser: by keys alone, by address, at the width of a phone, and without a server.

Without Chromium, or without what serves, these tests are skipped, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="pip install 'zabcheck[explore]'")

from checker.requests.exploring.walked import walker_of
from checker.walk.continuing import Bounds
from checker.walk.served import Serving, address_of
from checker.walk.service import Service
from checker.walk.serving import WalkServer
from tests.pictures.browser import CHROMIUM, Browser, browser
from tests.walk.asking import BROKEN, OWN, SIX
from tests.walk.random_walks import walk_alike
from traces import read_trace, verify
from traces.replay.replay import replay

pytestmark = [
    pytest.mark.slow(seconds=2),  # each alone: Chromium begins, and opens a page
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium"),
]
DESK, PHONE = (1280, 800), (390, 844)
VIOLATED = "document.querySelectorAll('.verdict.broken').length"


@dataclass
class Walked:
    """A page of a walk in a browser."""

    page: Browser
    server: WalkServer

    def forget(self) -> None:
        """Forget all that was kept of earlier visits."""
        self.page.visit(f"http://127.0.0.1:{self.server.port}/assets/icon.svg")
        self.page.run("sessionStorage.clear()")

    def visit(self, walk: str = "", size: tuple[int, int] = DESK, dark: bool = False) -> None:
        """Open the page at an address."""
        self.page.visit(f"{self.server.url}{f'&{walk}' if walk else ''}", size, dark)
        self.page.until(
            "document.querySelector('#steps .inside').childElementCount && !location.hash.includes('token')"
        )

    @property
    def depth(self) -> int:
        """After how many steps one stands."""
        return int(self.page.run("document.title.match(/step (\\d+)/)[1]"))

    @property
    def address(self) -> str:
        return str(self.page.run("location.hash.slice(1)"))

    @property
    def state(self) -> str:
        """All that is said of the state."""
        return str(
            self.page.run("document.querySelector('#state').textContent + document.querySelector('#bar').textContent")
        )

    def arrive(self, depth: int) -> None:
        """Wait until one stands there."""
        self.page.until(f"document.title.includes('step {depth} ')")

    def troubles(self) -> list[Any]:
        """Errors of the page, and what it asked others for."""
        own = f"http://127.0.0.1:{self.server.port}/"
        return [t for t in self.page.troubles() if not (isinstance(t, str) and t.startswith(own))]


@pytest.fixture(scope="module")
def walked() -> Iterator[Walked]:
    server = WalkServer(Service(Serving((BROKEN, OWN)), address_of(BROKEN).text, (), Bounds(threads=1)))
    server.start()
    try:
        with browser() as page:
            yield Walked(page, server)
    finally:
        server.stop()


def test_the_page_shows_the_interpreters_states(walked: Walked) -> None:
    """Clicked at random: the fields, budgets and steps that the page shows are those of the interpreter."""
    assert walk_alike(walked.visit, walked.page, SIX["zab"], walker_of(SIX["zab"]), 1, 3) == 3
    one_is_followed(walked)


def one_is_followed(walked: Walked) -> None:
    """Of a process that is followed its column, its steps and what happened to it are shown; the rest is folded."""
    page = walked.page

    def follow(process: str) -> None:
        page.run("document.querySelector('#follow').focus()")
        page.run(f"document.querySelector('#follow').value = {process!r}")
        page.run("document.querySelector('#follow').dispatchEvent(new Event('change'))")

    columns = "[...document.querySelectorAll('#state thead th')].map(e => e.textContent)"
    steps = "[...document.querySelectorAll('#steps .inside > ol .head')].map(e => e.textContent)"
    told = "[...document.querySelectorAll('#lanes .way button')].map(e => e.textContent)"
    every, way = page.run(steps), page.run(told)
    who = way[1].split()[1].removesuffix(":")
    follow(who)
    assert set(page.run(columns)) == {who}
    assert page.run(steps) == [said for said in every if said.startswith(f"{who}:")] != every
    assert way[0] in page.run(told)
    assert way[1] in page.run(told)
    assert f"{who}.role ELECTION -> " in page.run("document.querySelector('#lanes .way').textContent")
    page.key("1")
    walked.arrive(4)
    assert set(page.run(columns)) == {who}
    follow("")
    assert len(set(page.run(columns))) == 3
    assert walked.troubles() == []


def test_to_the_violation_by_keys_only(walked: Walked, tmp_path: Path) -> None:
    """Number keys lead to the shortest violation, which is marked before it is taken and then says why; the walk, saved
    by a key, replays."""
    page = walked.page
    walked.visit()
    page.run("URL.createObjectURL = blob => { window.saved = blob.text(); return 'blob:none'; }")
    page.run("HTMLAnchorElement.prototype.click = () => {}")
    for k in range(11):
        bad = page.run("[...document.querySelectorAll('.choice')].findIndex(s => s.classList.contains('bad-step'))")
        assert bad == (0 if k == 10 else -1)
        page.key("1")
        walked.arrive(k + 1)
    assert page.run(VIOLATED) == 2
    assert "violated here, because: p0 delivered t1 <1,1>, but no quorum had accepted it" in walked.state
    page.key("s")
    page.until("window.saved")
    file = tmp_path / "walk.trace.json"
    file.write_text(page.run("window.saved"), "utf-8")
    trace = read_trace(file)
    verify(trace)
    replay(trace)
    assert (trace.property_name, len(trace.steps)) == ("delivered-is-chosen", 11)
    assert walked.troubles() == []


def test_an_address_opens_the_same_state(walked: Walked) -> None:
    """What the address line says, opened by somebody who was never here, shows the same; the token is not in it."""
    walked.visit()
    for k in range(6):
        walked.page.key("1")
        walked.arrive(k + 1)
    address, state = walked.address, walked.state
    assert "token" not in walked.page.run("location.href")
    walked.forget()
    walked.visit(address)
    assert walked.depth == 6
    assert (walked.address, walked.state) == (address, state)


def test_back_undo_and_redo(walked: Walked) -> None:
    """Back of the browser and `u` undo, Forward and `r` redo, Backspace is a step back, which keeps the way ahead."""
    page = walked.page
    walked.visit()
    for k in range(3):
        page.key("1")
        walked.arrive(k + 1)
    third = walked.state
    page.run("history.back()")
    walked.arrive(2)
    page.key("u")
    walked.arrive(1)
    page.key("r")
    walked.arrive(2)
    page.run("history.forward()")
    walked.arrive(3)
    assert walked.state == third
    page.key("Backspace")
    walked.arrive(2)
    assert "at=2&way=000" in walked.address
    page.key("ArrowRight")
    walked.arrive(3)
    assert walked.state == third
    page.key("Home")
    walked.arrive(0)
    page.key("Backspace")
    assert walked.depth == 0


WRONG = Path(__file__).with_name("wrong.js").read_text("utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_everything_can_be_read_and_touched(walked: Walked, size: tuple[int, int], dark: bool) -> None:
    """No sideways scroll, text of 11 px and more that stands out, targets of 44 px, each with a name: where nothing has
    happened, at a violation with all that can be unfolded, and in the dialogs."""
    page, start = walked.page, address_of(BROKEN).text
    walked.visit(f"{start}&at=11&way={'0' * 11}", size, dark)
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.run(WRONG) == []
    for key in {(PHONE, False): "v", (DESK, True): "?"}.get((size, dark), ""):
        page.key(key)
        page.until("document.querySelector('#dialog').open")
        assert page.run(WRONG) == []
        page.run("document.querySelector('#dialog').close()")
    page.key("Home")
    walked.arrive(0)
    assert page.run(WRONG) == []


def test_a_page_in_one_file_walks_alike(walked: Walked, tmp_path: Path) -> None:
    """Opened from a folder, a saved page shows what the server showed within its level, and beyond it the command that
    goes on."""
    page, start = walked.page, address_of(BROKEN).text
    walked.visit(f"{start}&at=2&way=00")
    body = json.dumps(json.dumps({"address": f"{start}&at=2&way=00", "levels": 1}))
    token = "sessionStorage.getItem('zabcheck-walk-token')"
    headers = f"{{'content-type': 'application/json', 'x-walk-token': {token}}}"
    asked = f"fetch('/api/page', {{method: 'POST', headers: {headers}, body: {body}}})"
    saved = page.run(f"{asked}.then(answer => answer.json())")
    page.key("2")
    walked.arrive(3)
    there, lanes = walked.state, page.run("document.querySelector('#lanes').textContent")
    file = tmp_path / "walk.html"
    file.write_text(saved["text"], "utf-8")
    page.open(file, size=DESK)
    walked.arrive(2)
    assert page.run("[...document.querySelectorAll('#tools button')].map(b => b.dataset.tool)") == [
        "Back", "On", "Undo", "Redo", "Copy command", "Help",
    ]  # fmt: skip
    page.key("2")
    walked.arrive(3)
    assert (walked.state, page.run("document.querySelector('#lanes').textContent")) == (there, lanes)
    page.key("1")
    page.until("document.querySelector('#status.bad')")
    assert "zabcheck walk 'zab?variant=small-quorum" in page.run("document.querySelector('#status').textContent")
    assert walked.depth == 3
    assert page.troubles() == []


def test_without_its_token_the_page_says_what_to_do(walked: Walked) -> None:
    """Opened without the token, the page shows nothing of the model, and says how to open it."""
    page = walked.page
    walked.forget()
    page.visit(f"http://127.0.0.1:{walked.server.port}/#zab?way=0")
    page.until("document.querySelector('#status.bad')")
    assert "zabcheck walk 'zab?way=0'" in page.run("document.querySelector('#status').textContent")
    assert page.run("document.querySelector('#state .inside').childElementCount") == 0
