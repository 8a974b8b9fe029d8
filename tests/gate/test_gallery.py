"""The gallery: it has an entry for all that the project speaks of, its pages say what the entries say, and it tells
when what is found differs. The short form of the run is here; `zabcheck gallery` is the whole."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from checker.ci import shipped, variants
from checker.ci.configuration import Check, MatrixError, read_matrix
from checker.ci.judging import expected
from checker.ci.running import asked_by
from checker.ci.shipped import gallery
from checker.ci.variants import shown
from checker.cli import main
from checker.manual import ManualPage
from invariants import PROPERTIES
from zabspec.authoring.declaration import Variant
from zabspec.authoring.sources import EXAMPLE, examples
from zabspec.protocols.registry import PROTOCOLS

TOP = Path(__file__).parents[2]
ENTRIES = {c.name: c for c in gallery().matrix.checks}
ORDER = [p.name for p in PROPERTIES]


@pytest.mark.parametrize("name", shipped.TITLES)
def test_a_shipped_file_is_what_the_schema_says(name: str) -> None:
    """It is read without the schema, which would take longer than a small exploration."""
    assert read_matrix(shipped.FOLDER / f"{name}.toml").checks == shipped.written()[name]


def of_variant(protocol: str, variant: str) -> Iterator[Check]:
    for c in ENTRIES.values():
        named = f"{c.values.get('variant', '')},{c.values.get('repair', '')}".strip(",")
        if c.values["protocol"] == protocol and variant in named.split(","):
            yield c


def test_every_entry_is_a_valid_request_with_a_claim_and_a_source() -> None:
    asked = asked_by(gallery().matrix, gallery().matrix.checks)
    assert len(asked) == len(ENTRIES) > 100
    for c in ENTRIES.values():
        assert c.claim.endswith("."), c.name
        assert (TOP / c.where).is_file(), c.name
        assert len(c.story) > 60, c.name
        assert c.expect.stated, c.name
        assert c.seconds > 0 or shipped.is_heavy(c), f"{c.name} was never measured"
        assert c.line > 0, c.name


@pytest.mark.parametrize("name", [*PROTOCOLS, *(f"{EXAMPLE}{name}" for name in examples())])
def test_every_protocol_and_every_variant_has_an_entry(name: str) -> None:
    for variant in ("", *PROTOCOLS[name].variants):
        assert list(of_variant(name, variant)), (name, variant)


def test_every_network_of_zab_that_breaks_it_has_entries_of_the_page() -> None:
    asked = {c.values.get("network") for c in ENTRIES.values() if c.values["protocol"] == "zab"}
    assert {"lossy", "unordered", "duplicating", "stale"} <= asked


RELEASED = [(protocol, v) for protocol in PROTOCOLS for v in PROTOCOLS[protocol].variants.values()]


@pytest.mark.parametrize(("protocol", "v"), RELEASED, ids=lambda x: x if isinstance(x, str) else x.name)
def test_a_variant_is_shown_in_one_entry_that_judges_everything(protocol: str, v: Variant) -> None:
    """And `safe` says what is expected there: all of it, or nothing as far as was looked."""
    there = shown(protocol)[v.name]
    asked, expect = there.check.values, there.check.expect
    assert asked.keys().isdisjoint({"properties", "network", "start", "engine"})
    assert there.configuration.variant == PROTOCOLS[protocol].combined(",".join((*there.beside, v.name)))
    assert set(there.within) >= {"nodes", "txns", "timeouts", "crashes"}
    assert not set(there.within) & {"variant", "repair", "depth"}
    assert there.breaks == expect.violated
    assert list(there.breaks) == sorted(there.breaks, key=lambda name: (expect.violated[name], ORDER.index(name)))
    if v.safe:
        assert (expect.verdict, expect.exhausted) == ("holds", True)
    else:
        assert there.breaks or "depth" in asked
    assert there.why or there.check.story


def test_variants_are_listed_with_what_is_expected() -> None:
    """Of a protocol of the project, however it is named; of a text of somebody's own nothing is."""
    head, zab, module, own = (
        " ".join(CliRunner().invoke(main, ["variants", *words]).stdout.split())
        for words in (
            [],
            ["--protocol", "zab"],
            ["--protocol", "zabspec.zab"],
            ["--protocol", str(TOP / "examples/paxos.py")],
        )
    )
    row = "small-quorum II.1 breaks: delivered-is-chosen, durability, one-leader-an-epoch shown within: --nodes 2"
    assert row in head
    assert row in zab
    assert row in module
    assert "never-truncate 4.2 breaks: total-order, primary-integrity" in head
    assert "shown within: --repair promise,none-ahead,current-epoch --nodes 3" in head
    assert "db19 repaired all of these breaks: nothing within it shown within: --nodes 3" in head
    assert "one-at-a-time phase 2a what is changed" in own


def test_what_is_expected_is_what_the_first_entry_that_explores_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a later one, nor one that asks after goals; what breaks comes by depth, then as properties are listed."""
    first = replace(ENTRIES["small-quorum"], values=ENTRIES["small-quorum"].values | {"repair": "no-sync"})
    entries = (replace(first, values=first.values | {"engine": "live"}), first, replace(first, why="later"))
    monkeypatch.setattr(variants, "written", lambda: {"here": entries[:1], "there": entries[1:]})
    there = shown.__wrapped__("zab")
    assert {name: (s.check is first, s.beside) for name, s in there.items()} == {
        "small-quorum": (True, ("no-sync",)),
        "no-sync": (True, ("small-quorum",)),
    }
    assert list(there["no-sync"].breaks.items()) == [
        ("delivered-is-chosen", 11), ("durability", 11), ("one-leader-an-epoch", 12),
    ]  # fmt: skip


def test_a_story_is_made_of_what_the_variant_changes_and_why_that_matters() -> None:
    said = {name: ENTRIES[name].story for name in ENTRIES}
    broken, why = "half of the processes, rounded down, are a quorum", ENTRIES["small-quorum"].why
    assert said["small-quorum"] == f"The rule changed: {broken}. What goes wrong: {why}."
    assert f": {why}. In the larger budget" in said["small-quorum-and-on"]
    assert said["join-deliver-initial"].startswith("The rule read otherwise: to the letter of f.2.2: ")
    assert " Why it does no harm: the joiner lags" in said["join-deliver-initial"]
    assert said["db19-own-acks"].startswith("The rule repaired: an Ack counts for ")
    untold = replace(ENTRIES["small-quorum"], story="", why="")
    with pytest.raises(MatrixError, match="the gallery has no story of small-quorum"):
        shipped.told(untold, {})


def test_the_page_lists_every_entry_and_the_command_tells_its_story() -> None:
    page = ManualPage("reference/gallery", TOP / "docs/reference/gallery.md").text
    for c in ENTRIES.values():
        assert f"| `zabcheck gallery {c.name}` | {c.claim} | {expected(c.expect)} |" in page
    assert page.count("| `zabcheck gallery ") == len(ENTRIES)
    shown = " ".join(CliRunner().invoke(main, ["gallery", "--list", "db19-no-holes"]).stdout.split())
    c = ENTRIES["db19-no-holes"]
    assert f"{c.story} Violated: unique-zxid 11, " in shown
    assert f"[{c.where}; {c.expect.stated}]" in shown


def figures_of(file: str, *tables: str) -> list[list[Any]]:
    """The rows of tables of a file of figures."""
    kept = json.loads((TOP / f"benchmarks/results/{file}.json").read_text())
    return [row for table in tables for row in kept[table]["rows"]]


def test_what_is_measured_of_the_lab_agrees_with_the_entries() -> None:
    """Its figures are of more and deeper runs than the entries: where both speak of a run, they say the same."""
    explored = {row[0].strip("`"): row[1] for row in figures_of("db19", "one-repaired", "all-but-one")}
    variants = PROTOCOLS["db19"].variants.keys() - {"repaired"}
    assert explored.keys() == variants
    for name in variants:
        depths = dict(re.findall(r"([\w-]+) (\d+)", explored[name]))
        assert {p: depths.get(p) for p in shown("db19")[name].breaks} == {
            p: str(at) for p, at in shown("db19")[name].breaks.items()
        }
    classes = {c.claim: c for c in ENTRIES.values() if re.search(r"\(class \d+\)", c.claim)}
    assert len(classes) >= 11
    for claim, c in classes.items():
        number = int(re.findall(r"\(class (\d+)\)", claim)[0])
        (row,) = (row for row in figures_of("db19", "classes") if row[0] == number)
        assert row[3] == min(c.expect.violated.values()), claim
        assert set(c.expect.violated) <= set(row[2].split(", ")), claim
    whole = [(row[1], row[2].split()[0]) for row in figures_of("db19", "all-repaired") if row[-1] == "nothing"]
    for c in of_variant("db19", "repaired"):
        assert (c.values["depth"], f"{c.expect.states:,}") in whole, c.name


def test_what_is_counted_of_variants_agrees_with_the_entries() -> None:
    counted = {name: there.check.expect.states for name, there in shown("zab").items()}
    assert sum(n is not None for n in counted.values()) > 10
    rows = {row[0].strip("`"): row for row in figures_of("variants", "orbits")}
    for name, n in counted.items():
        assert n is None or n in rows[name] or f"{n:,}" in rows[name][-1], name


# --- the command -------------------------------------------------------------------------------

SHORT = ("small-quorum", "duplicating", "raft-election-generous", "db19-seed-1778")


@pytest.mark.slow(seconds=5)
def test_the_short_form_passes(tmp_path: Path) -> None:
    """An exploration of the project's own protocol, of another network, of a protocol of one file, a simulated run."""
    files = ("--junit", str(tmp_path / "j.xml"), "--html", str(tmp_path), "--traces", str(tmp_path))
    result = CliRunner().invoke(main, ["gallery", *SHORT, *files])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"as expected: {len(SHORT)} of {len(SHORT)} entries; ")
    for name in SHORT:
        row = next(k for k, line in enumerate(lines) if line.startswith(f"{name} "))
        assert lines[row] == f"{name}  as expected"
        assert " ".join(" ".join(lines[row + 1 : row + 3]).split()).startswith(ENTRIES[name].claim)
    for name in ("small-quorum-durability", "duplicating-agreement", "raft-election-generous-election-safety"):
        assert (tmp_path / f"{name}.trace.json").is_file()
        assert "<svg" in (tmp_path / f"{name}.html").read_text()
    index = (tmp_path / "gallery.html").read_text()
    assert f"As expected: {len(SHORT)} of {len(SHORT)} entries" in html.unescape(index)
    for name in SHORT:
        assert f'<th scope="row">{name}</th><td class="good">as expected</td>' in index
        assert ENTRIES[name].claim in html.unescape(index)
    linked = re.findall(r'<a href="([^"]*)">', index)
    assert "small-quorum-durability.html" in linked
    assert not [address for address in linked if not (tmp_path / address).is_file()]
    assert len(linked) == len(list(tmp_path.glob("*.html"))) - 1


@pytest.mark.slow(seconds=1)
def test_one_entry_tells_its_story_and_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(main, ["gallery", "small-quorum"])
    assert result.exit_code == 0, result.output
    c = ENTRIES["small-quorum"]
    said = " ".join(result.stdout.split())
    for part in (c.claim, c.story, c.where, c.expect.stated, "delivered-is-chosen is violated after 11 steps."):
        assert part in said
    other = replace(c, expect=replace(c.expect, violated={"agreement": 22}))
    there = gallery()
    changed = there.__class__(there.matrix.__class__(there.matrix.path, (other,)), {"variants": (c.name,)})
    monkeypatch.setattr(shipped, "gallery", lambda: changed)
    result = CliRunner().invoke(main, ["gallery", "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)["checks"][0]["differences"]
    assert {d["what"] for d in found} == {"violated", "vanished"}


def test_what_there_is_not_is_refused_and_what_there_is_is_listed() -> None:
    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, ["gallery", *words])
        return result.exit_code, result.stdout, result.stderr

    assert run("equal-epok") == (
        2,
        "",
        "zabcheck: the gallery has no entry 'equal-epok'; did you mean equal-epoch or equal-epoch-and-on?\n",
    )
    assert run("--source", "Nobody 1850")[0] == 2
    code, out, err = run("nothing", "--json")
    assert (code, json.loads(out)["exit_code"]) == (2, 2)
    assert err.startswith("zabcheck: the gallery has no entry 'nothing'")
    code, out, _ = run("--list", "examples")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "][1:] == list(gallery().groups["examples"])
    code, out, _ = run("--list")
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "][1:] == list(ENTRIES)


def test_the_heavy_ones_run_with_all_or_by_their_name() -> None:
    there = gallery()
    heavy = {c.name for c in ENTRIES.values() if shipped.is_heavy(c)}
    assert heavy
    assert {n for n, why in there.named([]).items() if "--all" in why} == heavy == set(there.named([]))
    assert not there.named([], heavy=True)
    one = next(iter(heavy))
    assert one not in there.named([one])
    light = next(n for n in ENTRIES if n not in heavy)
    assert set(there.named([light])) == set(ENTRIES) - {light}
    cited = there.named([], source="figure 1", heavy=True)
    assert {"paxos-figure-1"} <= set(ENTRIES) - set(cited) < set(ENTRIES)


def test_no_two_entries_ask_and_expect_the_same() -> None:
    asked = [(dict(c.values), c.expect) for c in ENTRIES.values()]
    assert not [a for a, b in itertools.combinations(asked, 2) if a == b]
