"""The folder of a finding: what ZooKeeper's committers need to judge it and to merge its fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader

if TYPE_CHECKING:
    from checker.zookeeper.finding import Finding
    from checker.zookeeper.record import RowOutcome

PAGE, README, REPAIR, APPLY, TEST = "page.html", "README.md", "repair.json", "apply_repair.py", "test.patch"
PASSED = "passed"


def folder_of(finding: Finding, row: RowOutcome) -> dict[Path, bytes]:
    """Return the files of the folder by their names.

    Args:
        row: the row of the track record, explored: it has the shortest run without the fix.
    """
    from checker.zookeeper import repair
    from checker.zookeeper.story import story
    from traces.pictures.html import page

    run = row.without.trace
    assert run is not None
    return {
        Path(README): readme(finding, row).encode(),
        Path(PAGE): page(run, story=story(row)).encode(),
        Path(REPAIR): finding.repair.encode(),
        Path(APPLY): Path(repair.__file__).read_bytes(),
        Path(TEST): finding.test_patch.encode(),
        Path(f"{finding.test_name}.java"): finding.test.encode(),
    }


def readme(finding: Finding, row: RowOutcome) -> str:
    """Return the instructions for the files, and their results where they were run."""
    from checker.zookeeper.rows import CLIENTS
    from traces.zookeeper.reenact.rates import told_rate

    runs, releases = finding.runs, finding.runs["releases"]
    tests = releases[runs["tag"].removeprefix("release-")]["methods"]
    harmed, same = left_over(releases)
    env = Environment(loader=PackageLoader("checker.report"), trim_blocks=True, lstrip_blocks=True)
    return env.get_template("finding.md.j2").render(
        finding=finding, says=row.row.says, loses=CLIENTS.get(row.row.breaks, row.row.breaks), runs=runs,
        ungated=finding.ungated, module=finding.test_path.split("/", 1)[0], harmed=harmed, same=same,
        tests=[(name, cell(before), cell(runs["repaired"][name])) for name, before in tests.items()],
        releases=[(release, " | ".join(of_release(found))) for release, found in releases.items()],
        rate=told_rate(finding.ungated["hits"], finding.ungated["times"]),
    )  # fmt: skip


def cell(printed: str) -> str:
    return printed if printed == PASSED else f"fails: {printed}".replace("|", "\\|")


def of_release(found: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return the cells of a release: how the test was compiled, what fails, what passes, what the repair changes."""
    if why := found.get("not_compiled"):
        return "not run", f"the test does not compile: {why}".replace("|", "\\|"), "", ""
    fails, passes = parted(found["methods"])
    repaired = found.get("not_repaired", "not run")
    if "repaired" in found:
        still, _ = parted(found["repaired"])
        repaired = f"fails: {', '.join(still)}" if still else "all pass"
    return found["test"], ", ".join(fails) or "none", ", ".join(passes) or "none", repaired.replace("|", "\\|")


def left_over(releases: Mapping[str, Any]) -> tuple[str, str]:
    """Return the releases that the repair fits and breaks a test of, and those whose tests it does not all mend."""
    both = {release: found for release, found in releases.items() if "repaired" in found}
    tried = {release: (found["methods"], found["repaired"]) for release, found in both.items()}
    harmed = [v for v, (old, new) in tried.items() if any(old[m] == PASSED != new[m] for m in new)]
    same = [v for v, (old, new) in tried.items() if any(PASSED not in (old[m], new[m]) for m in new)]
    return ", ".join(harmed), ", ".join(same)


def parted(methods: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the methods of a test that fail, and those that pass."""
    fails = [f"`{name}`" for name, printed in methods.items() if printed != PASSED]
    return fails, [f"`{name}`" for name, printed in methods.items() if printed == PASSED]
