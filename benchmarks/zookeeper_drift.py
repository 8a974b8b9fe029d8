"""Record the digests that `zabcheck zookeeper --drift` compares with, and try it on ZooKeeper's history.

    python benchmarks/zookeeper_drift.py record REPOSITORY
    python benchmarks/zookeeper_drift.py history REPOSITORY --since 2023-07-01
    python benchmarks/zookeeper_drift.py history REPOSITORY COMMIT ...

REPOSITORY is a git directory of apache/zookeeper. `record` writes `checker/zookeeper/digests.json`, for every known
release; run it when the model cites another method, or has another release. `history` prints each commit of master that
changes a file of a cited class, or each COMMIT, with the cited methods that it changes, and what they use (CSV).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checker.errors import NoVerdict
from checker.zookeeper.citations import cited_methods, releases
from checker.zookeeper.drift import CHANGED, DATA, MISSING, NEW, UNKNOWN, Entry, compare, guessed, read_side
from checker.zookeeper.java_normal import NORMALISER
from checker.zookeeper.source_tree import Blobs, CommitTree, SourceTree, commit_of, git

OTHER_TAGS = {"3.8.0": "release-3.8.0-1", "master": "53a78e36f99602162643303ab330377fc383b41f"}  # no tag of that name

FILE = Path(__file__).parent.parent / "checker" / "zookeeper" / DATA


def record(repository: Path) -> None:
    """Write the digests of every release."""
    trees, known = {}, Blobs()
    for release in releases():
        revision = OTHER_TAGS.get(release, f"release-{release}")
        trees[release] = CommitTree(repository, commit_of(repository, revision), known)
    content = record_all(trees)
    content["commits"] = {release: tree.commit for release, tree in trees.items()}
    FILE.write_text(json.dumps(content, indent=0) + "\n")
    print(f"{len(content['cited'])} methods, {len(content['used'])} that they use, of {len(trees)} releases")


def record_all(trees: Mapping[str, SourceTree]) -> dict[str, Any]:
    """Return the content of `digests.json`, but for the commits: every cited method, and what is used, by release.

    Args:
        trees: by release its sources, the newest first.

    Raises:
        NoVerdict: a file of a release could not be read.
    """
    sides = {release: read_side(tree) for release, tree in trees.items()}
    for release, side in sides.items():
        for method, entry in side.cited.items():
            if entry.why and not entry.why.startswith(MISSING):
                raise NoVerdict(f"{release}: {method}: {entry.why}")
    used = sorted({name for side in sides.values() for name in side.used})
    return {
        "normaliser": NORMALISER,
        "cited": {name: together({r: s.cited.get(name) for r, s in sides.items()}) for name in cited_methods()},
        "used": {name: together({r: s.used.get(name) for r, s in sides.items()}) for name in used},
    }


def together(entries: Mapping[str, Entry | None]) -> list[dict[str, Any]]:
    """Return the different entries of a name, each with the releases that have it."""
    sets: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for release, entry in entries.items():
        if entry is not None:
            one: dict[str, Any] = {"owner": entry.owner, "overloads": entry.overloads}
            one |= {k: v for k, v in (("by", entry.by), ("level", entry.level)) if v}
            sets.setdefault(json.dumps(one), (one, []))[1].append(release)
    return [{**one, "in": " ".join(of)} for one, of in sets.values()]


def history(repository: Path, since: str, until: str, commits: list[str]) -> None:
    """Print the commits of master since a day that change a file of a cited class, or some, with their parents."""
    known = Blobs()
    if not commits:
        commits = commits_of(CommitTree(repository, commit_of(repository, until), known), repository, since)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("commit", "day", "subject", "model", "kind", "state", "method", "functions", "steps"))
    for commit in commits:
        day, subject = (
            git(repository, "log", "-1", "--format=%cs%x09%s", commit).decode(errors="replace").split("\t", 1)
        )
        before = CommitTree(repository, commit_of(repository, f"{commit}^"), known)
        now = CommitTree(repository, commit_of(repository, commit), known)
        release = guessed(now.version())
        drift = compare(now, release, before)
        head = (commit[:9], day, subject.strip(), release)
        states = (CHANGED, NEW, UNKNOWN)
        rows = [("cited", m) for m in drift.of(*states)] + [("used", m) for m in drift.used_of(*states)]
        for kind, m in rows:
            functions = " ".join(f.name for f in m.functions)
            out.writerow((*head, kind, m.state, m.method, functions, "; ".join(m.steps)))
        if not rows:
            out.writerow((*head, "", "", "", "", ""))


def commits_of(head: CommitTree, repository: Path, since: str) -> list[str]:
    """Return the commits since a day that change a file of a cited class, the oldest first."""
    names = {method.split(".")[0] for method in cited_methods()}
    paths = sorted({path for name in names for path in head.paths.get(name, [])})
    listed = git(repository, "log", "--first-parent", f"--since={since}", "--format=%H", head.commit, "--", *paths)
    return listed.decode().split()[::-1]


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "history"))
    parser.add_argument("repository", type=Path)
    parser.add_argument("commits", nargs="*", help="the commits to compare with their parents, instead of a history")
    parser.add_argument("--since", default="2023-07-01", metavar="DAY")
    parser.add_argument("--until", default="HEAD", metavar="REVISION")
    given = parser.parse_args()
    if given.what == "record":
        record(given.repository)
    else:
        history(given.repository, given.since, given.until, given.commits)


if __name__ == "__main__":
    main()
