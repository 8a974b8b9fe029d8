"""The gallery: it has an entry for all that the project speaks of, its pages say what the entries say, and it tells
when what is found differs. The short form of the run is here; `zabcheck gallery` is the whole."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.gate import shipped
from checker.gate.configuration import Check
from checker.gate.running import asked_by
from checker.gate.shipped import gallery
from zabspec.own.open import open_text
from zabspec.protocols.registry import PROTOCOLS

TOP = Path(__file__).parents[2]
ENTRIES = {c.name: c for c in gallery().matrix.checks}


def of_variant(protocol: str, variant: str) -> Iterator[Check]:
    for c in ENTRIES.values():
        named = f"{c.values.get('variant', '')},{c.values.get('repair', '')}".strip(",")
        if Path(str(c.values["protocol"])).name == Path(protocol).name and variant in named.split(","):
            yield c


def test_every_entry_is_a_valid_request_with_a_claim_and_a_source() -> None:
    asked = asked_by(gallery().matrix, gallery().matrix.checks)
    assert len(asked) == len(ENTRIES) > 100
    for c in ENTRIES.values():
        assert c.claim.endswith("."), c.name
        assert (TOP / c.where).is_file(), c.name
        assert len(c.story) > 60, c.name
        assert c.expect.source, c.name
        assert c.seconds > 0 or shipped.is_heavy(c), f"{c.name} was never measured"
        assert c.line > 0, c.name


@pytest.mark.parametrize("name", [*PROTOCOLS, *sorted(path.name for path in (TOP / "examples").glob("*.py"))])
def test_every_protocol_and_every_variant_has_an_entry(name: str) -> None:
    own = name.endswith(".py")
    variants = (
        [v.name for v in open_text(str(TOP / "examples" / name)).declared.variants] if own else PROTOCOLS[name].variants
    )
    for variant in ("", *variants):
        assert list(of_variant(name, variant)), (name, variant)


def test_every_protocol_of_the_project_has_entries() -> None:
    assert set(PROTOCOLS) <= {str(c.values["protocol"]) for c in ENTRIES.values()}


def test_every_network_of_zab_that_breaks_it_has_entries_of_the_page() -> None:
    asked = {c.values.get("network") for c in ENTRIES.values() if c.values["protocol"] == "zab"}
    assert {"lossy", "unordered", "duplicating"} <= asked


@pytest.mark.parametrize("protocol", ["zab", "db19"])
def test_what_is_expected_of_a_variant_is_what_its_own_row_says(protocol: str) -> None:
    """Two places that no one writes from the other: the table beside the variant, and the entry."""
    for v in PROTOCOLS[protocol].variants.values():
        mine = [
            c
            for c in of_variant(protocol, v.name)
            if "network" not in c.values and not c.name.endswith("-and-on") and not c.live
        ]
        for c in mine:
            assert bool(v.breaks) == (c.expect.verdict == "violated"), c.name
        if v.breaks:
            c = mine[0]
            assert min(c.expect.violated.values()) == v.depth
            assert (set(v.breaks) if c.values.get("keep_going") else {v.breaks[0]}) <= set(c.expect.violated)


def test_the_page_says_what_the_entries_say() -> None:
    page = (TOP / "docs/gallery.md").read_text()
    tables = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| [`")]
    rows = {row[0]: row for row in tables if len(row) == 8}
    for c in ENTRIES.values():
        row = [cell.strip() for cell in rows[f" [`{c.name}`](#{c.name}) "]]
        assert row[1] == c.claim
        assert row[3] == regenerator().expected(c.expect)
        assert f"### {c.name}\n\n{c.story}" in page
    assert len(rows) == len(tables) == len(ENTRIES), "no row is of something else"


def test_the_tables_of_the_variants_come_from_the_entries() -> None:
    text = (TOP / "docs/variants.md").read_text()
    assert regenerator().variants_page(text) == text
    assert text.count("<!-- gallery: ") == 2


def regenerator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_page", TOP / "docs/gallery.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.slow(seconds=1)
def test_one_entry_tells_its_story_and_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(main, ["gallery", "small-quorum"])
    assert result.exit_code == 0, result.output
    c = ENTRIES["small-quorum"]
    said = " ".join(result.stdout.split())
    for part in (c.claim, c.story, c.where, c.expect.source, "delivered-is-chosen is violated after 11 steps."):
        assert part in said
    wrong = c.expect.__class__(**{**vars(c.expect), "violated": {"agreement": 22}})
    other = c.__class__(**{**vars(c), "expect": wrong})
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


def test_the_examples_are_found_where_an_installation_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "share/doc/zabcheck/examples"
    there.mkdir(parents=True)
    (there / "paxos.py").touch()
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "lib/checker/gate/shipped.py"))
    monkeypatch.setattr(shipped.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.chdir("/")
    assert Path(os.path.abspath(shipped.examples())) == there
    (there / "paxos.py").unlink()
    with pytest.raises(ValueError, match="the examples are not installed"):
        shipped.examples()


def test_no_two_entries_ask_and_expect_the_same() -> None:
    asked = [(dict(c.values), c.expect) for c in ENTRIES.values()]
    assert not [a for a, b in itertools.combinations(asked, 2) if a == b]
