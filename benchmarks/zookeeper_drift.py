"""Record the digests that `zabcheck zookeeper --drift` compares with, and try it on ZooKeeper's history.

    python benchmarks/zookeeper_drift.py record REPOSITORY
    python benchmarks/zookeeper_drift.py history REPOSITORY --since 2023-07-01

REPOSITORY is a git directory of apache/zookeeper. `record` writes `checker/zookeeper/digests.json`, for every known
release; run it when the model cites another method, or has another release. `history` prints each commit of master that
changes a file of a cited class, with the cited methods that it changes (CSV).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path

from checker.zookeeper.citations import cited_methods, releases
from checker.zookeeper.drift import CHANGED, DATA, NEW, UNKNOWN, compare, record_all
from checker.zookeeper.java_syntax import JavaClass
from checker.zookeeper.source_tree import CommitTree, commit_of, git

OTHER_TAGS = {"3.8.0": "release-3.8.0-1", "master": "53a78e36f99602162643303ab330377fc383b41f"}  # no tag of that name

FILE = Path(__file__).parent.parent / "checker" / "zookeeper" / DATA


def record(repository: Path) -> None:
    """Write the digests of every release."""
    trees = {}
    for release in releases():
        revision = OTHER_TAGS.get(release, f"release-{release}")
        trees[release] = CommitTree(repository, commit_of(repository, revision))
    content = record_all(trees)
    content["commits"] = {release: tree.commit for release, tree in trees.items()}
    FILE.write_text(json.dumps(content, indent=1) + "\n")
    print(f"{len(content['methods'])} methods of {len(trees)} releases")


def history(repository: Path, since: str, until: str) -> None:
    """Print the commits of master since a day that change a file of a cited class, compared with their parents."""
    known: dict[str, dict[str, JavaClass] | str] = {}
    head = CommitTree(repository, commit_of(repository, until), known)
    names = {method.split(".")[0] for method in cited_methods()}
    paths = sorted({path for name in names for path in head.paths.get(name, [])})
    listed = git(
        repository, "log", "--first-parent", f"--since={since}", "--format=%H%x09%cs%x09%s", head.commit, "--", *paths
    )
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("commit", "day", "subject", "state", "method", "functions", "steps"))
    for line in reversed(listed.decode(errors="replace").splitlines()):
        commit, day, subject = line.split("\t", 2)
        before = CommitTree(repository, commit_of(repository, f"{commit}^"), known)
        drift = compare(CommitTree(repository, commit, known), "master", before)
        touched = drift.of(CHANGED, NEW, UNKNOWN)
        for m in touched:
            functions = " ".join(f.name for f in m.functions)
            out.writerow((commit[:9], day, subject, m.state, m.method, functions, "; ".join(m.steps)))
        if not touched:
            out.writerow((commit[:9], day, subject, "", "", "", ""))


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "history"))
    parser.add_argument("repository", type=Path)
    parser.add_argument("--since", default="2023-07-01", metavar="DAY")
    parser.add_argument("--until", default="HEAD", metavar="REVISION")
    given = parser.parse_args()
    if given.what == "record":
        record(given.repository)
    else:
        history(given.repository, given.since, given.until)


if __name__ == "__main__":
    main()
