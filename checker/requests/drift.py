"""Find out which functions of the protocol a change of ZooKeeper's sources affects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request

if TYPE_CHECKING:
    from checker.zookeeper.drift import Drift
    from checker.zookeeper.source_tree import SourceTree


@dataclass(frozen=True)
class DriftRequest(Request):
    """A source tree to compare with the model of a release.

    Attributes:
        tree: the folder of the sources; with `since`, of a git repository, which may have no work tree.
        against: the release whose model is compared; empty for the one nearest to the version in the tree's build file.
        since: a git revision in place of the recorded digests: what has changed since; or `A..B`, what has changed from
            one to another; or `A...` or `A...B`, since the commit that both have in common. Empty for the recorded
            digests of the release.
    """

    kind: ClassVar[str] = "zookeeper-drift"

    tree: str
    against: str = ""
    since: str = ""

    def validate(self) -> None:
        if not self.tree or "\0" in self.tree + self.since:
            raise RequestError("--drift takes the folder of a source tree of ZooKeeper")


def answer(request: DriftRequest) -> tuple[Drift, str]:
    """Return the comparison of every method that the model cites, and the version in the tree's build file.

    Raises:
        RequestError: there is no such tree, release or revision, or no parser of Java.
        NoVerdict: the recorded digests do not match this version of zabcheck.
    """
    from checker.zookeeper.citations import releases
    from checker.zookeeper.drift import compare, guessed
    from checker.zookeeper.java_syntax import parser

    parser()
    known = ", ".join(releases())
    if request.against and request.against not in releases():
        raise RequestError(f"there is no release {request.against!r} in this model; there are {known}")
    tree, base = trees(request)
    version = tree.version()
    release = request.against or guessed(version)
    if not release:
        said = f"has version {version!r}, to which no release is close" if version else "has no version"
        raise RequestError(f"the build file of {tree.words} {said}: --against takes one of {known}")
    return compare(tree, release, base), version


def trees(request: DriftRequest) -> tuple[SourceTree, SourceTree | None]:
    """Return the sources, and those before the change or None for the recorded digests.

    Raises:
        RequestError: there are none.
    """
    from checker.zookeeper.source_tree import Blobs, CommitTree, FolderTree, commit_of, common, is_bare

    folder = Path(request.tree)
    if not request.since:
        return FolderTree(folder), None
    if not folder.is_dir():
        raise RequestError(f"{folder} is not a folder")
    first, dots, last = request.since.partition("..")
    forked, last = last.startswith("."), last.removeprefix(".")
    base = commit_of(folder, first)
    if forked:
        base = common(folder, base, commit_of(folder, last or "HEAD"))
    known = Blobs()
    if last or (dots and not forked) or is_bare(folder):
        return CommitTree(folder, commit_of(folder, last or "HEAD"), known), CommitTree(folder, base, known)
    return FolderTree(folder), CommitTree(folder, base, known)
