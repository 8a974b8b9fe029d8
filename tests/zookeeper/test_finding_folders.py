"""`zabcheck report ZK-trunc --output DIR`: what ZooKeeper's committers need of a finding."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.smallest_repair import RULES
from benchmarks.ungated import ATTEMPTS
from checker.zookeeper import repair as repair_module
from checker.zookeeper.finding import TESTS, finding_of, findings
from checker.zookeeper.record import Exploring, RowOutcome
from checker.zookeeper.repair import (
    DoesNotFit,
    Place,
    apply_repair,
    digest_around,
    read_repair,
    repair_text,
    repaired,
)
from checker.zookeeper.report.finding import PASSED, left_over, of_release, readme
from checker.zookeeper.requests import zookeeper
from checker.zookeeper.rows import ROWS
from tests.commands.running import assert_refused, run
from tests.servers import sources_of
from traces.zookeeper.reenact.rates import told_rate

HOLDS = Exploring(0, 1, 0.0, True, "", None)
TRACE: Any = object()  # what `page` is asked to draw


def row_of(name: str) -> RowOutcome:
    """The row of a finding as it is recorded."""
    row = next(r for r in ROWS if r.issue == name)
    return RowOutcome(row, replace(HOLDS, depth=row.merged, trace=TRACE), HOLDS)


@pytest.fixture
def explored(monkeypatch: pytest.MonkeyPatch) -> list[RowOutcome]:
    """What exploring a row comes to; the picture of its run is left out."""
    outcomes: list[RowOutcome] = []
    monkeypatch.setattr(zookeeper.ZookeeperRequest, "explored", lambda _: iter(outcomes))
    monkeypatch.setattr("traces.pictures.html.page", lambda run, story: f"{run is TRACE} {story[0][1]}")
    monkeypatch.setattr("checker.zookeeper.story.story", lambda row: [("what happens", row.row.says)])
    return outcomes


@pytest.mark.parametrize("name", findings())
def test_what_is_shipped_failed_before_and_passed_after(name: str) -> None:
    """And it is what was run: `python benchmarks/zookeeper_findings.py` runs it again."""
    finding = finding_of(name)
    finding.check()
    tests = set(re.findall(r"@Test\n\s+public void (\w+)\(", finding.test))
    before = finding.runs["releases"][finding.runs["tag"].removeprefix("release-")]["methods"]
    assert set(before) == set(finding.runs["repaired"]) == tests
    assert any(printed != PASSED for printed in before.values())
    assert all(printed == PASSED for printed in finding.runs["repaired"].values())
    assert "mockito" not in finding.test.lower()


@pytest.mark.parametrize("name", findings())
def test_what_happened_without_gates_is_shipped(name: str) -> None:
    """And it is what `python -m benchmarks.ungated` does now."""
    ungated = finding_of(name).ungated
    assert ungated["times"] >= 20
    assert 0 <= ungated["hits"] <= ungated["times"]
    assert (tuple(ungated["steps"]), ungated["harm"]) == (ATTEMPTS[name].steps, ATTEMPTS[name].harm)


@pytest.mark.parametrize("name", findings())
def test_the_test_s_patch_adds_the_very_file(name: str, tmp_path: Path) -> None:
    finding = finding_of(name)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=finding.test_patch.encode(), check=True)
    assert (tmp_path / finding.test_path).read_text() == finding.test
    assert finding.test_path.startswith(f"{TESTS}/org/apache/zookeeper/server/")


@pytest.mark.parametrize("name", findings())
def test_a_repair_fits_its_release_and_holds_no_line_of_it(name: str) -> None:
    """What is removed, and what is around it, are digests. A line of two words may be in both."""
    jar = sources_of("3.9.5")
    for file, places in read_repair(finding_of(name).repair).items():
        text = jar.read(file).decode()
        changed = repaired(text, places, file)
        adds = [line for place in places for line in place.adds]
        assert len(changed.splitlines()) == len(text.splitlines()) + len(adds) - sum(p.removes for p in places)
        assert all(place.line == 1 or digest_around(text.split("\n"), place.line - 1, place.removes) == place.digest
                   for place in places)  # fmt: skip
        theirs = {line.strip() for line in text.splitlines()}
        shared = [line.strip() for line in adds if line.strip() in theirs and len(line.strip()) > 2]
        assert all(len(re.findall(r"\w+", line)) <= 5 for line in shared), shared


FILE = "org/apache/zookeeper/A.java"
LINES = [f"line {n};" for n in range(1, 21)]


def of_lines(*places: tuple[int, int, list[str]]) -> dict[str, list[Place]]:
    """A repair of LINES: the number of a line, how many go, what comes."""
    return {FILE: [Place(n, k, digest_around(LINES, n - 1, k), tuple(adds)) for n, k, adds in places]}


@pytest.mark.parametrize("below", ["", "zookeeper-server/src/main/java"])
def test_a_repair_is_applied_where_its_lines_are(below: str, tmp_path: Path) -> None:
    """By the program that the folder has, also where the lines lie elsewhere; else nothing is changed."""
    repair = of_lines((8, 2, ["ours"]), (15, 0, ["a", "b"]))
    program, path = tmp_path / "out" / "apply_repair.py", tmp_path / below / FILE
    for one in (program, path):
        one.parent.mkdir(parents=True)
    program.write_bytes(Path(repair_module.__file__).read_bytes())
    program.with_name("repair.json").write_text(repair_text(repair))
    assert read_repair(repair_text(repair)) == repair
    command = [sys.executable, str(program), str(tmp_path)]
    wanted = [*LINES[:7], "ours", *LINES[9:14], "a", "b", *LINES[14:]]
    for above in ([], ["import x;"] * 9):
        path.write_text("\n".join([*above, *LINES]))
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, f"changed {path}\n")
        assert path.read_text() == "\n".join([*above, *wanted])
    path.write_text("\n".join([*LINES[:13], "another", *LINES[14:]]))
    before = path.read_text()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1, f"the repair does not fit: {FILE} has no lines like those around line 15\n",
    )  # fmt: skip
    assert path.read_text() == before
    path.unlink()
    with pytest.raises(DoesNotFit, match="cannot be read"):
        apply_repair(repair, tmp_path)


def test_a_folder_has_all_of_it(tmp_path: Path, explored: list[RowOutcome]) -> None:
    explored.append(row_of("trunc"))
    folder = tmp_path / "out"
    done = run("report", "ZK-trunc", "--output", str(folder))
    assert done.exit_code == 0, done.output
    finding = finding_of("trunc")
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "page.html", "repair.json", "apply_repair.py", "test.patch", "TruncAcknowledgedProposalTest.java",
    }  # fmt: skip
    assert (folder / "repair.json").read_text() == finding.repair
    assert (folder / "page.html").read_text() == f"True {explored[0].row.says}"
    text = (folder / "README.md").read_text()
    for name in finding.runs["repaired"]:
        assert f"| `{name}` | fails: " in text
    ungated = finding.ungated
    assert f"\n{told_rate(ungated['hits'], ungated['times'])}: {ungated['harm']}." in text
    assert all(f"\n{k}. {step}\n" in text for k, step in enumerate(ungated["steps"], 1))
    refused = run("report", "ZK-trunc", "--output", str(folder))
    assert_refused(refused, "the folder is not empty")
    assert refused.stderr.count("--output") == 1


def test_the_table_says_what_was_not_run() -> None:
    finding = finding_of("cut")
    known = {"3.4.10": {"not_compiled": "a | b"}, "3.9.5": finding.runs["releases"]["3.9.5"]}
    text = readme(replace(finding, runs=finding.runs | {"releases": known}), row_of("cut"))
    assert "| 3.4.10 | not run | the test does not compile: a \\| b |  |" in text
    assert "| 3.9.5 | as it is | `testTruncateBetweenFiles`, " in text
    assert text.count(" | passed | passed |") == 1


def test_a_row_of_another_repair_has_its_patch_and_says_so() -> None:
    shared, own = finding_of("ZK-trunc-snap"), finding_of("ZK-trunc-epoch")
    assert (shared.repair, shared.test, shared.runs) == (own.repair, own.test, own.runs)
    assert shared.ungated["steps"] != own.ungated["steps"]
    text = readme(shared, row_of("trunc-snap"))
    assert "It is that of ZK-trunc-epoch, and so is the test" in text
    assert "It is that of" not in readme(own, row_of("trunc-epoch"))
    assert own.smaller in text
    assert own.smaller in readme(own, row_of("trunc-epoch"))


def test_every_folder_says_whether_a_smaller_repair_was_found() -> None:
    """What was searched is of the same findings: `python -m benchmarks.smallest_repair`."""
    assert {found.shared or found.name for found in map(finding_of, findings()) if found.smaller} == RULES.keys()


def test_a_patch_that_needs_another_begins_with_it() -> None:
    needs, needed = finding_of("trunc-epoch"), finding_of("snap-tail")
    parts = read_repair(needed.repair)
    assert {file: read_repair(needs.repair)[file] for file in parts} == parts
    assert len(read_repair(needs.repair)) > len(parts)
    assert "begins with that of ZK-snap-tail, which it needs" in readme(needs, row_of("trunc-epoch"))
    assert "begins with" not in readme(needed, row_of("snap-tail"))


def test_for_which_releases_a_patch_is_not_is_said() -> None:
    """The semaphore of late-snapshot's shutdown is held by a thread that waits for the shutdown's own monitor."""
    text = readme(finding_of("late-snapshot"), row_of("late-snapshot"))
    assert "**The repair is not for 3.9.1, 3.9.2, 3.9.3**" in text
    assert "On 3.6.0, 3.7.0, 3.8.0, 3.8.5, 3.8.6 the repair fits, and does not mend" in text
    known = {"methods": {"a": PASSED, "b": "x"}, "test": "as it is"}
    assert left_over({"1": known | {"repaired": {"a": PASSED, "b": PASSED}}, "2": known}) == ("", "")
    assert of_release(known | {"not_repaired": "a | b"})[-1] == "a \\| b"
    assert of_release(known)[-1] == "not run"
    assert of_release(known | {"repaired": {"a": "x", "b": PASSED}})[-1] == "fails: `a`"


def test_a_finding_that_the_model_does_not_have_is_not_told(tmp_path: Path, explored: list[RowOutcome]) -> None:
    row = row_of("trunc")
    for changed in (
        replace(row, without=HOLDS),
        replace(row, repaired=replace(HOLDS, depth=3)),
        replace(row, without=replace(row.without, depth=2)),
        replace(row, without=replace(row.without, trace=None)),
    ):
        explored[:] = [changed]
        folder = tmp_path / str(id(changed))
        done = run("report", "ZK-trunc", "--output", str(folder))
        assert done.exit_code == 3
        assert "ZK-trunc is not reproduced as recorded" in done.stderr
        assert not list(folder.iterdir())


def test_a_patch_that_was_not_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = replace(finding_of("trunc"), repair="")
    monkeypatch.setattr("checker.zookeeper.finding.finding_of", lambda _: finding)
    assert_refused(run("report", "ZK-trunc", "--output", str(tmp_path / "x")), "is not the one that was run")
    assert not (tmp_path / "x").exists()


def test_what_has_no_patch_is_refused(tmp_path: Path) -> None:
    for name in ("ZK-4643", "run.json", "ZK-../trunc"):
        done = run("report", name, "--output", str(tmp_path / "x"))
        assert_refused(done, "those are ZK-cut, ZK-late-snapshot, ZK-snap-tail, ZK-trunc, ")
        assert done.stderr.count("\n") == 1
    assert_refused(
        run("report", "ZK-trunc", "--output", str(tmp_path / "x"), "--rerun"), "--rerun does not go with --output"
    )
