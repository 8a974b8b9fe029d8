"""The matrix of bugs and releases: a run goes on where one was stopped, and equal texts are asked once."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import zookeeper_matrix as matrix
from benchmarks.lines import NotRead
from benchmarks.zookeeper_matrix import BUGS, RELEASES, SOURCES, Cell, read, same_text
from benchmarks.zookeeper_mechanisms import EXPLAINED, HAD, RULES
from checker.zookeeper.record import Exploring, repairs_of
from checker.zookeeper.rows import ROWS
from invariants import properties_of
from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import sources_digest

CELLS = len(BUGS) * len(RELEASES)
RECORDED = tomllib.loads((Path(__file__).parents[3] / "docs/explanation/zookeeper-releases.toml").read_text())


@pytest.mark.slow(seconds=1)
def test_a_run_goes_on_where_one_was_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def explored(c: Configuration, name: str, seconds: float | None) -> Exploring:
        asked.append(c.variant)
        return Exploring(len(asked), 1, 0.0, False, "", None)

    monkeypatch.setattr(matrix, "explored", explored)
    file, clock = tmp_path / "cells", iter(range(1000))
    first = list(matrix.run(file, None, 10, lambda: next(clock)))
    assert 0 < len(first) < CELLS
    before = len(asked)
    list(matrix.run(file, None, None))
    cells = read(file)
    assert len(cells) == CELLS
    assert all(cells[c.issue, c.release] == c for c in first)
    texts = {(r.issue, same_text(v, repairs_of(r), r.settings)) for r in BUGS for v in RELEASES}
    assert before < len(asked) == 2 * len(texts) < 2 * CELLS  # each text is asked once, of mechanism and property


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sources", "0" * 64, "cells:1 is of another version of the model; start a new file"),
        ("depth", "7", "cells:1 is not a valid cell of the matrix: depth must be a whole number, not '7'"),
        ("depth", None, "cells:1 is not a valid cell of the matrix: depth must be a whole number, not None"),
        ("more", 1, "cells:1 is not a valid cell of the matrix: there is no key 'more'; did you mean sources?"),
    ],
)
def test_answers_of_another_text_are_not_gone_on_from(tmp_path: Path, name: str, value: object, said: str) -> None:
    file = tmp_path / "cells"
    cell = Cell("4643", RELEASES[0], 0, 0, False, 1, 0.0, "", "", sources_digest(*SOURCES))
    file.write_text(json.dumps(asdict(cell)) + "\n")
    assert list(read(file).values()) == [cell]
    file.write_text(json.dumps(asdict(cell) | {name: value}) + "\n")
    with pytest.raises(NotRead) as refused:
        read(file)
    assert str(refused.value).endswith(said)


def test_with_every_fix_all_releases_are_one_text() -> None:
    """So there is one residue (benchmarks/results/zookeeper-residue.md). For 4837 the repair proposed here."""
    variants = PROTOCOLS["zookeeper"].variants
    fixes = tuple(name for name, v in variants.items() if v.repairs and not v.needs and name != "4837")
    assert len({same_text(release, fixes) for release in RELEASES}) == 1


def test_a_release_with_every_other_fix_keeps_the_bug_s_own_rule() -> None:
    """4394 contains 4646: it is in no question about that one."""
    by_issue = {r.issue: repairs_of(r) for r in BUGS}
    assert "4394" not in by_issue["4685"]
    assert "4882" not in by_issue["4712"]
    assert "4394" in by_issue["trunc"]
    assert same_text("3.9.1", by_issue["trunc"]) == same_text("3.5.3", by_issue["trunc"])
    assert same_text("3.9.1", by_issue["4643"]) != same_text("3.9.2", by_issue["4643"])


def test_each_row_has_a_rule_that_is_judged_only_where_it_is_named() -> None:
    known = {p.name: p for p in properties_of("zookeeper")}
    assert {*RULES} == {r.issue for r in ROWS}
    assert all(known[name].of == "step" and not known[name].default for name in RULES.values())


def test_the_recorded_matrix_differs_from_fix_versions_only_as_explained() -> None:
    assert RECORDED["releases"] == [*RELEASES]
    assert {*RECORDED["occurs"]} == {r.issue for r in BUGS}
    assert all({*versions} <= {*RELEASES} for versions in HAD.values())
    different = {
        (issue, release)
        for issue, versions in HAD.items()
        for release, occurs in zip(RELEASES, RECORDED["occurs"][issue], strict=True)
        if (occurs > 0) != (release in versions)
    }
    assert different == {*EXPLAINED}
    assert all(len(why) > 20 for why in EXPLAINED.values())


def test_where_it_is_by_it_the_mechanism_comes_before_the_harm() -> None:
    for issue, by_it in RECORDED["by_it"].items():
        for occurs, breaks, so in zip(RECORDED["occurs"][issue], RECORDED["breaks"][issue], by_it, strict=True):
            assert not so or 0 < occurs <= breaks


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("issue", "release", "said"),
    [
        ("4685", "3.9.1", "harm after 11"),
        ("4685", "3.9.2", "absent"),
        ("3911", "3.9.2", "absent; breaks by another bug after 25"),
    ],
)
def test_a_release_has_a_bug_where_its_mechanism_occurs(issue: str, release: str, said: str) -> None:
    """3911 on 3.9.2: it has that fix, and `acknowledged-survives` breaks there by 4541."""
    row = next(r for r in BUGS if r.issue == issue)
    assert matrix.ask(row, release, None).says == said


@pytest.mark.slow(seconds=2)
def test_a_snap_moves_last_processed_and_is_not_2355() -> None:
    """A learner with its leader's tree is sent a SNAP named <e,0>. 3.9.4 has the fix."""
    row = replace(
        next(r for r in BUGS if r.issue == "2355"),
        start="after-snap",
        budget={"crashes": 0, "losses": 1, "elections": 3, "proposals": 0},
    )
    assert matrix.ask(row, "3.9.4", None).occurs == 0
