"""Find out which functions of the protocol a change of ZooKeeper's sources affects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.quorum_system import release_option
from checker.requests.base.request import Option, Request, function
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.report.answer import StatedAnswer
    from checker.zookeeper.source_tree import SourceTree


@dataclass(frozen=True)
class ZookeeperDriftRequest(Request):
    """Report which methods that the model cites a source tree of ZooKeeper changes: none, some, or unknown.

    The tree may be a git repository without a work tree. `since` takes a revision in place of the recorded digests,
    `A..B` for what has changed from one to another, or `A...B` for what has changed since the commit that both have in
    common.
    """

    kind: ClassVar[str] = "zookeeper-drift"
    mode: ClassVar[str | Option] = "tree"

    tree: Annotated[
        str,
        Option(
            "Report instead which methods that the model cites a source tree of ZooKeeper changes.",
            flag="drift",
            metavar="DIR",
        ),
    ] = ""
    against: Annotated[str, release_option("With --drift: the release to compare with (default: the tree's).")] = ""
    since: Annotated[
        str, Option("With --drift: changes since a git revision or a fork (A...), or in A..B.", metavar="REV")
    ] = ""

    def validate(self) -> None:
        if not self.tree or "\0" in self.tree + self.since:
            raise RequestError("--drift takes the folder of a source tree of ZooKeeper")

    def answer(self, watch: Watch = QUIET) -> StatedAnswer:
        from checker.zookeeper.citations import releases
        from checker.zookeeper.drift import compare, guessed
        from checker.zookeeper.java_syntax import parser
        from checker.zookeeper.report.drift import stated

        parser()
        known = ", ".join(releases())
        if self.against and self.against not in releases():
            raise RequestError(f"there is no release {self.against!r} in this model; there are {known}")
        tree, base = trees(self)
        version = tree.version()
        release = self.against or guessed(version)
        if not release:
            said = f"has version {version!r}, to which no release is close" if version else "has no version"
            raise RequestError(f"the build file of {tree.words} {said}: --against takes one of {known}")
        return stated(self, compare(tree, release, base), version, guessed=not self.against)


zookeeper_drift = function(ZookeeperDriftRequest)


def trees(request: ZookeeperDriftRequest) -> tuple[SourceTree, SourceTree | None]:
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
