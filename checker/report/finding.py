"""The folder of a finding: what ZooKeeper's committers need to judge it and to merge its fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.zookeeper.finding import Finding
    from checker.zookeeper.record import RowOutcome

__all__ = ["folder_of"]

PAGE, README, REPAIR, TEST = "page.html", "README.md", "repair.patch", "test.patch"
PASSED = "passed"
APPLIED = """\
The patches were applied with `git apply`. The test was compiled with ZooKeeper's own test sources and run by JUnit's
console launcher, with the classes of {tag} and with the patched ones. Maven was not run."""
FREELY = """\
Servers of {release} as they are, which run freely: no packet is held for what it is. Processes are killed and started;
connections through proxies are reset, stalled or delayed as a whole; what a server forces to its disk may wait, as on
a slow disk. The moments are chosen by what the servers' disks, logs and `srvr` show."""
EACH = """\
Run, not read: the same test on each release as it is, compiled with (helpers) a few lines in the place of ZooKeeper's
test helpers (`stand-ins`), and with the calls that an earlier release has (`edited`)."""


def folder_of(finding: Finding, row: RowOutcome) -> dict[Path, bytes]:
    """Return the files of the folder by their names.

    Args:
        row: the row of the track record, explored: it has the shortest run without the fix.
    """
    from checker.zookeeper.story import story
    from traces.pictures.html import page

    run = row.without.trace
    assert run is not None
    return {
        Path(README): readme(finding, row).encode(),
        Path(PAGE): page(run, story=story(row)).encode(),
        Path(REPAIR): finding.repair.encode(),
        Path(TEST): finding.test_patch.encode(),
        Path(f"{finding.test_name}.java"): finding.test.encode(),
    }


def readme(finding: Finding, row: RowOutcome) -> str:
    """Return the instructions for the files, and their results where they were run."""
    from checker.zookeeper.story import CLIENTS
    from traces.reenact.rates import told_rate

    runs, ungated = finding.runs, finding.ungated
    before = runs["releases"][runs["tag"].removeprefix("release-")]["methods"]
    module = finding.test_path.split("/", 1)[0]
    lines = [
        f"# ZK-{finding.name}", "", row.row.says, "",
        f"What a client loses: {CLIENTS.get(row.row.breaks, row.row.breaks)}.", "",
        f"- `{PAGE}`: the shortest run that the model finds, step by step, with the Java method of each step.",
        f"- `{REPAIR}`: a repair, against {runs['tag']} ({runs['commit'][:9]}).",
        f"- `{TEST}`: a JUnit test (`{finding.test_name}.java`) that fails before the repair and passes after it.", "",
        f"    git checkout {runs['tag']}", f"    git apply {TEST}",
        f"    mvn -pl {module} -am test -DfailIfNoTests=false -Dtest={finding.test_name}      # fails",
        f"    git apply {REPAIR}                                                       # and again: passes", "",
        *APPLIED.format(tag=runs["tag"]).splitlines(),
        "", "| test | before | after |", "|---|---|---|",
        *(f"| `{name}` | {cell(before[name])} | {cell(runs['patched'][name])} |" for name in before),
        "", "## Without gates", "",
        *FREELY.format(release=ungated["release"]).splitlines(), "",
        *(f"{k}. {step}" for k, step in enumerate(ungated["steps"], 1)), "",
        f"{told_rate(ungated['hits'], ungated['times'])}: {ungated['harm']}. In zabcheck's sources:", "",
        f"    python -m benchmarks.ungated {finding.name} --times {ungated['times']} --release {ungated['release']}",
        "", "## Releases", "",
        *EACH.splitlines(), "",
        "| release | helpers | tests that fail | tests that pass |", "|---|---|---|---|",
        *(f"| {release} | {' | '.join(of_release(found))} |" for release, found in runs["releases"].items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def cell(printed: str) -> str:
    return printed if printed == PASSED else f"fails: {printed}".replace("|", "\\|")


def of_release(found: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the cells of a release: how the test was compiled, what fails and what passes."""
    if why := found.get("not_compiled"):
        return "not run", f"the test does not compile: {why}".replace("|", "\\|"), ""
    methods = found["methods"]
    fails = [f"`{name}`" for name, printed in methods.items() if printed != PASSED]
    passes = [f"`{name}`" for name, printed in methods.items() if printed == PASSED]
    return found["helpers"], ", ".join(fails) or "none", ", ".join(passes) or "none"
