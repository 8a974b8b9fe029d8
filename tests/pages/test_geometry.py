"""How every page looks, in a real browser: on a phone and on a screen, light and dark; and that it loads nothing.

Without Chromium this is skipped, and says so: `apt install chromium`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image, ImageChops, ImageStat
from PIL.PngImagePlugin import PngInfo

from checker.ci.configuration import Check
from checker.ci.judging import AS_EXPECTED, DIFFERS, CheckOutcome, left_out
from checker.ci.keys import Expectation
from checker.cli import main
from checker.report.answer import StatedAnswer
from checker.report.checks_page import index_of
from checker.report.formats.html import page_of_parts
from checker.report.page import page_of as page_of_report
from checker.report.page import read_report
from checker.report.result import CheckFindings, Counterexample, Words
from checker.report.witnessed import Witnessed
from checker.requests.base.model import ModelRequest
from checker.requests.exploring.walked import WalkRequest
from checker.walk.page import saved_page
from checker.walk.served import Serving, address_of
from invariants import properties_of
from tests.pages.test_shell import HOSTILE
from tests.pictures.browser import CHROMIUM, Browser, browser
from tests.pictures.pictured import pictured, walk
from tests.zookeeper.written import Txn, create, digested, ensemble, server, zxid
from traces import read_trace
from traces.pages.shell import environment
from traces.pictures import to_html
from traces.pictures.html import page as page_of
from traces.tables.sweep.grid import Grid
from traces.tables.sweep.report import facts_of, inline
from traces.tables.sweep.summary import Group, Summary, Together, VerdictTotals
from traces.walk.address import Address
from zabspec.model import Configuration

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt install chromium")

TOP = Path(__file__).parents[2]
DATA = TOP / "tests" / "data" / "saved"
MEASURE = Path(__file__).with_name("geometry.js").read_text(encoding="utf-8")
START = "2026-11-21 07:21:31,600 [myid:{n}] - INFO  [main:Learner@1] - "
ESTABLISHED = "Have quorum of supporters, sids: [[1, 2]]; starting up and setting last processed zxid: 0x500000000"
SIZES = {"phone": (390, 844), "screen": (1280, 800), "large": (1920, 1080)}
# Markup, quotes, a mark that turns what follows around, and a word that no line has room for.
NASTY = f"{HOSTILE}\"'\u202e{'x' * 300}"
WIDTHS = """['', 'pre, code'].map(which => {
    const pen = document.createElement('canvas').getContext('2d');
    pen.font = '100px ' + getComputedStyle(document.querySelector(which || 'body') || document.body).fontFamily;
    return Math.round(pen.measureText('Sphinx of black quartz, 0123').width);
}).join()"""
COARSE, MOST_APART = 12, 2.0  # pixels that are seen as one, and how far such may be apart on average, of 255
UNFOLD = "for (const e of document.querySelectorAll('details')) e.open = true"


# --- a page of each kind -----------------------------------------------------------------------------


def run_page(folder: Path) -> str:
    """A counterexample with a story, as of a row of the track record."""
    return page_of(
        replace(pictured("join-commit-all"), tool=NASTY), story=[("what a client loses", NASTY), (NASTY, "x")]
    )


def long_page(folder: Path) -> str:
    """A run of seven processes, which no screen is wide enough for."""
    large = Configuration(nodes=7, txns=3, timeouts=1, crashes=1, losses=1)
    return to_html(replace(walk(large, 0, length=40, together=True), tool=NASTY))


def loop_page(folder: Path) -> str:
    """A run in which somebody waits for ever."""
    trace = read_trace(DATA / "joins.trace.json")
    assert trace.lasso is not None
    return to_html(replace(trace, tool=NASTY, lasso=replace(trace.lasso, loop=1, stabilization_time=0)))


def report_page(folder: Path) -> str:
    """An exploration that found two violations."""
    return page_of_report(read_report(DATA / "report.json") | {"sentence": f"VIOLATED: {NASTY}"})


def audit_page(folder: Path) -> str:
    """Servers that differ, with names that would be markup."""
    txns = [Txn(zxid(1, n), *create(f"/n{n}")) for n in range(1, 4)]
    evil = f"/{NASTY.replace('/', '|')}"
    good = digested([*txns, Txn(zxid(3, 7), *create(evil))])
    other = [*good[:-1], replace(good[-1], body=create(evil, b"other")[1])]
    page, folders = folder / "audited.html", ensemble(folder, server(good), server(good), server(other))
    assert CliRunner().invoke(main, ["audit", *map(str, folders), "--html", str(page)]).exit_code == 1
    return page.read_text(encoding="utf-8")


def logs_page(folder: Path) -> str:
    """Text logs of two leaders of one epoch."""
    logs = [folder / f"zk{n}.log" for n in (1, 2)]
    for n, log in enumerate(logs, 1):
        log.write_text("".join(f"{START.format(n=n)}{said}\n" for said in ("LOOKING", ESTABLISHED, NASTY)))
    page = folder / "told.html"
    assert CliRunner().invoke(main, ["audit", "--logs", *map(str, logs), "--html", str(page)]).exit_code == 1
    return page.read_text(encoding="utf-8")


def sweep_page(folder: Path) -> str:
    """A sweep, its figures made up and its plot one of ours."""
    tallies = {"agreement": VerdictTotals(90, 3, 7, 12), "prefix": VerdictTotals(100, 0, 0, -1)}
    sums = {"elections": 120, "commits": 900, "messages": 90_000, "abcasts": 1000}
    group = Group(100, 7, 0, sums, tallies)
    axes = {"variant": {"none": group, NASTY: group}}
    together = (Together(("db19", NASTY, "-", "-"), ("agreement",), 7, 12),)
    facts = facts_of(Grid(seeds=("1:101",)), Summary(group, axes, together=together), ())
    plot = inline(
        '<?xml version="1.0"?><svg width="576pt" height="90pt" viewBox="0 0 576 90"><rect width="576" height="90" '
        'style="fill: #ffffff"/><text x="9" y="30" style="font: 9px sans-serif">agreement</text></svg>'
    )
    page = environment("traces.tables.sweep").get_template("report.html.j2")
    return page.render(facts, again="", plots={"rates": plot, "variant": plot})


def witness_page(folder: Path) -> str:
    """Runs that put properties to the test, of which one was not found."""
    trace = pictured("join-commit-all")
    judged = properties_of("zab")[:2]
    met = replace(trace, property_name="", premise_of=judged[0].name, tool=NASTY)
    found = {judged[0].name: Counterexample(trace=met)}
    return Witnessed(trace.configuration, judged, found, []).drawing()


def gallery_page(folder: Path) -> str:
    """Checks, of which one differs and has a run."""
    wanted = Expectation(verdict="violated", violated={"durability": 11}, source=NASTY)
    known, other = (Check(name=n, expect=wanted, claim="A quorum is a majority.", values={}) for n in ("known", NASTY))
    made = CheckFindings("", (), {"durability": 11}, {}, 11, True, states=1_234_567)
    outcomes = [CheckOutcome(known, AS_EXPECTED, found=made), CheckOutcome(other, DIFFERS, found=made)]
    runs: dict[str, list[str]] = {known.name: [], NASTY: [NASTY, f"{NASTY}-b"]}
    return index_of("DIFFERS: 1 of 2", "check", [*outcomes, left_out(known, "")], runs, [[NASTY]])


def parts_page(folder: Path) -> str:
    """A result that has no drawing of its own."""
    return page_of_parts(StatedAnswer(f"it is {NASTY}", body=[Words([f"it is {NASTY} " * 20])]))


def walk_page(folder: Path) -> str:
    """A walk to a violation, saved as one file."""
    none = {"timeouts": 0, "crashes": 0, "losses": 0}
    request = WalkRequest(ModelRequest(variant="small-quorum", nodes=2, txns=1, budgets=none))
    start = address_of(request).text
    with Serving((request,)).at(Address.read(f"{start}&way={'0' * 11}")) as (found, _, whole):
        return saved_page(found, found.address(whole.path), whole, 0).text


def evil_walk(folder: Path) -> str:
    """A saved walk of a protocol whose sentences would be markup."""
    text = (TOP / "examples" / "raft_election.py").read_text(encoding="utf-8")
    said = NASTY.replace('"', "'").replace("\\", "").replace("\0", "")
    path = folder / "evil.py"
    path.write_text(text.replace("At most one leader can", f"{said} At most one leader can"), encoding="utf-8")
    request = WalkRequest(ModelRequest(str(path)))
    with Serving((request,)).at(Address.read(f"{address_of(request).text}?way=000")) as (found, _, whole):
        return saved_page(found, found.address(whole.path), whole, 0).text


KINDS: tuple[Callable[[Path], str], ...] = (
    run_page, long_page, loop_page, report_page, audit_page, logs_page, sweep_page, witness_page, gallery_page,
    parts_page, walk_page,
)  # fmt: skip


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


# --- what is wrong with them -------------------------------------------------------------------------


def looked_at(page: Browser, size: tuple[int, int], dark: bool) -> list[str]:
    """What is wrong with the page that is open, on such a screen."""
    page("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page("Emulation.setEmulatedMedia", media="", features=[scheme])
    found: list[str] = page.run(MEASURE)
    return found


def unlike(page: Browser, kept: Path, rewrite: bool) -> list[str]:
    """Compare the screen with the one that somebody looked at; `--rewrite` keeps the new one.

    Where letters are of other widths, lines break elsewhere, and nothing is compared.
    """
    now, widths = page.screen(), str(page.run(WIDTHS))
    if rewrite:
        kept.parent.mkdir(exist_ok=True)
        said = PngInfo()
        said.add_text("widths", widths)
        now.resize((now.width // 2, now.height // 2)).quantize(16).save(kept, optimize=True, pnginfo=said)
    with Image.open(kept) as image:
        then, theirs = image.convert("L"), image.info["widths"]
    few = (now.width // COARSE, now.height // COARSE)
    apart = ImageStat.Stat(ImageChops.difference(now.resize(few), then.resize(few))).mean[0]
    return [f"{kept.name}: it differs by {apart:.1f}"] if apart > MOST_APART and widths == theirs else []


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_page_is_legible_on_every_screen(
    page: Browser, tmp_path: Path, kind: Callable[[Path], str], request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "page.html"
    path.write_text(kind(tmp_path).replace(str(tmp_path), "/data"), encoding="utf-8")
    page.open(path)
    page.until("!document.querySelector('#saved') || document.querySelector('#steps .inside').childElementCount")
    assert page.troubles() == []  # nor did it ask a network for anything, nor was anything refused to it
    changed: list[str] = []
    for name, size in SIZES.items():
        looked_at(page, size, False)
        kept = TOP / "tests" / "data" / "pages" / f"{kind.__name__.removesuffix('_page')}-{name}.png"
        changed += unlike(page, kept, request.config.getoption("--rewrite"))
    assert changed == []
    page.run(UNFOLD)
    for name, size in SIZES.items():
        for dark in (False, True):
            assert looked_at(page, size, dark) == [], (name, dark)
    assert page.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    if kind not in (logs_page, walk_page):  # the one has only lines that it understands, the other stands below
        assert "alert(1)" in page.run("document.body.innerText")  # it is said, and is no script
    scripts = page.run("[...document.scripts].filter(s => !s.type.startsWith('application/')).length")
    assert scripts == (2 if page.run("!!document.querySelector('section.run')") else 1)


@pytest.mark.slow(seconds=1)
def test_sentences_of_a_protocol_are_data_in_its_walk(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(evil_walk(tmp_path), encoding="utf-8")
    page.open(path)
    page.until("document.querySelector('#steps .inside').childElementCount")
    assert page.troubles() == []
    page.run(UNFOLD)
    assert "alert(1)" in page.run("document.documentElement.textContent")
    assert "</script></style><script>alert(1)" not in path.read_text(encoding="utf-8")


def test_every_template_is_a_page_that_is_looked_at() -> None:
    """A new kind of page has its function above."""
    of_kinds = {"trace", "report", "audit", "logs", "witness", "check", "parts"}  # and the sweep's `report`
    found = [path for path in TOP.rglob("*.html.j2") if not {".venv", "build"} & set(path.parts)]
    extends = [path for path in found if "extends" in path.read_text(encoding="utf-8").partition("\n")[0]]
    assert {path.name.partition(".")[0] for path in extends} | {"logs"} == of_kinds
    assert len(extends) == len(of_kinds)
    assert {path.name for path in found} - {path.name for path in extends} == {"shell.html.j2", "run.html.j2"}


FAULTS = {
    "sideways": "<div style='width: 3000px'>wide</div>",
    "small": "<p style='font-size: 10px'>small</p>",
    "pale": "<p style='color: #ccc; background: #fff'>pale</p>",
    "over": "<p style='height: 0'>under this line</p><p>lies another one</p>",
    "nameless": "<button></button>",
    "bare": "<div class='slice'><div class='labels'><span>on an arrow</span></div></div>",
    "lane": "<div class='slice'><svg aria-hidden='true' width='15' height='20' style='position: absolute'>"
    "<rect class='t0' width='15' height='20'/></svg><div class='labels'><span style='background: #fff'>on a lane</span>"
    "</div></div>",
}


@pytest.mark.slow(seconds=1)
def test_what_is_wrong_with_a_page_is_found(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(parts_page(tmp_path), encoding="utf-8")
    page.open(path)
    for fault, markup in FAULTS.items():
        page.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', {markup!r})")
        found = looked_at(page, SIZES["phone"], False)
        assert {said.partition(":")[0] for said in found} == {fault}, fault
        page.run("while (document.querySelector('.lines ~ *')) document.querySelector('.lines ~ *').remove()")
    page.run("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert page.troubles(), "the policy of a page refuses to load anything"
