"""The folder of a finding: what ZooKeeper's committers need to judge it and to merge its fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.zookeeper.finding import Finding
    from checker.zookeeper.record import RowOutcome

PAGE, README, REPAIR, APPLY, TEST = "page.html", "README.md", "repair.json", "apply_repair.py", "test.patch"
PASSED = "passed"
APPLIED = """\
The test was compiled with ZooKeeper's own test classes, as Maven has them, and run by JUnit's console launcher, with
the classes of {tag} and with those of the repaired sources. ZooKeeper's own build was not run."""
FREELY = """\
Servers of {release} as they are, which run freely: no packet is held for what it is. Processes are killed and started;
connections through proxies are reset, stalled or delayed as a whole; what a server forces to its disk may wait, as on
a slow disk. The moments are chosen by what the servers' disks, logs and `srvr` show."""
EACH = """\
Run, not read: the same test on each release, compiled with the release's test classes, as it is or with the calls that
an earlier release has (`edited`). The last column is of the same test on the release with the repair, where it fits."""
# What `benchmarks/smallest_repair.py` found (benchmarks/results/zookeeper-repairs.md), by the finding of the repair.
SMALLER = {
    "trunc": """\
None that was tried: of 190 smaller edits of the rules at fault none holds. Of the repair itself the condition `known`
may be left out; it is kept.""",
    "cut": """\
None that was tried: of 44 edits in one place of the rule at fault none holds, nor a part of it left out.""",
    "snap-tail": """\
For the row's own budgets, yes: of 149 edits in one place of the rules at fault 25 hold, the smallest of which cut the
log in one line. The repair deletes later snapshots besides, without which a larger budget breaks another property.""",
    "trunc-epoch": """\
None that was tried: of 27 edits in one place of the rules at fault none holds. To send SNAP to every learner that is
ahead, without a look at epochs, breaks another property: it takes back what one has logged in the running epoch.\
""",
    "late-snapshot": """\
None that was tried: of 53 edits in one place of the rules at fault three hold, and each is the wait for the snapshot
before the tree is brought up to the log, as in the repair.""",
}


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
    from checker.zookeeper.story import CLIENTS
    from traces.reenact.rates import told_rate

    runs, ungated = finding.runs, finding.ungated
    before = runs["releases"][runs["tag"].removeprefix("release-")]["methods"]
    module = finding.test_path.split("/", 1)[0]
    lines = [
        f"# ZK-{finding.name}", "", row.row.says, "",
        f"What a client loses: {CLIENTS.get(row.row.breaks, row.row.breaks)}.", "",
        f"- `{PAGE}`: the shortest run that the model finds, step by step, with the Java method of each step.",
        f"- `{REPAIR}`: a repair of {runs['tag']}: new lines, and by number and digest where.{beside(finding)}",
        f"- `{APPLY}`: applies it to a checkout, or says where it does not fit, and then changes nothing.",
        f"- `{TEST}`: a JUnit test (`{finding.test_name}.java`) that fails before the repair and passes after it.", "",
        f"    git checkout {runs['tag']}", f"    git apply {TEST}",
        f"    mvn -pl {module} -am test -DfailIfNoTests=false -Dtest={finding.test_name}      # fails",
        f"    python {APPLY} .                                                # and again: passes", "",
        *APPLIED.format(tag=runs["tag"]).splitlines(),
        "", "| test | before | after |", "|---|---|---|",
        *(f"| `{name}` | {cell(before[name])} | {cell(runs['repaired'][name])} |" for name in before),
        "", "## Is there a smaller repair?", "", SMALLER[finding.repaired_by],
        "", "## Without gates", "",
        *FREELY.format(release=ungated["release"]).splitlines(), "",
        *(f"{k}. {step}" for k, step in enumerate(ungated["steps"], 1)), "",
        f"{told_rate(ungated['hits'], ungated['times'])}: {ungated['harm']}. In zabcheck's sources:", "",
        f"    python -m benchmarks.ungated {finding.name} --times {ungated['times']} --release {ungated['release']}",
        "", "## Releases", "",
        *EACH.splitlines(), "",
        "| release | test | tests that fail | tests that pass | with the repair |", "|---|---|---|---|---|",
        *(f"| {release} | {' | '.join(of_release(found))} |" for release, found in runs["releases"].items()),
        *warnings(runs["releases"]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def cell(printed: str) -> str:
    return printed if printed == PASSED else f"fails: {printed}".replace("|", "\\|")


def beside(finding: Finding) -> str:
    """Say which other findings the repair is of."""
    text = ""
    if finding.behind:
        names = ", ".join(f"ZK-{name}" for name in finding.behind)
        text += f" It begins with that of {names}, which it needs."
    if finding.shared:
        text += f" It is that of ZK-{finding.shared}, and so is the test: the repair of this row alone leaves that one."
    return text


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


def warnings(releases: Mapping[str, Any]) -> Iterator[str]:
    """Yield for which releases the repair is not, though it fits."""
    both = {release: found for release, found in releases.items() if "repaired" in found}
    tried = {release: (found["methods"], found["repaired"]) for release, found in both.items()}
    harmed = [v for v, (old, new) in tried.items() if any(old[m] == PASSED != new[m] for m in new)]
    same = [v for v, (old, new) in tried.items() if any(PASSED not in (old[m], new[m]) for m in new)]
    if harmed:
        names = ", ".join(harmed)
        yield from (
            "",
            f"**The repair is not for {names}**: it fits, and a test that passes without it fails with it.",
        )
    if same:
        yield from ("", f"On {', '.join(same)} the repair fits, and does not mend all that the test shows.")


def parted(methods: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the methods of a test that fail, and those that pass."""
    fails = [f"`{name}`" for name, printed in methods.items() if printed != PASSED]
    return fails, [f"`{name}`" for name, printed in methods.items() if printed == PASSED]
