"""Collect what ZooKeeper's committers need for a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, NoVerdict
from checker.output_files import check_empty
from checker.report.answer import Answered
from checker.report.result import Part
from checker.requests.base.request import File, Option, Request, function
from checker.requests.base.watch import QUIET, Watch
from checker.zookeeper.requests.zookeeper import RowLimit, ZookeeperRequest

if TYPE_CHECKING:
    from checker.zookeeper.finding import Finding


@dataclass(frozen=True, repr=False)
class FindingFolder(Answered):
    """The folder of a finding.

    Attributes:
        folder: the folder.
        contents: its files, by their names.
    """

    folder: Path
    contents: Mapping[Path, bytes]

    kind = "zookeeper-finding"
    exit_code = HELD

    @property
    def sentence(self) -> str:
        return f"{self.folder}: {', '.join(map(str, self.contents))}"

    def parts(self) -> Sequence[Part]:
        return [self.sentence]

    def details(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "files": list(map(str, self.contents))}

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        return [(self.folder / name, data) for name, data in self.contents.items()]


@dataclass(frozen=True)
class ZookeeperFindingRequest(Request):
    """Write the folder of a finding in ZooKeeper: its run as a page, a repair, a JUnit test, its results by release."""

    kind: ClassVar[str] = "zookeeper-finding"
    mode: ClassVar[str | Option] = "output"

    run: Annotated[File, Option(argument=True)] = ""
    output: Annotated[File, Option("For a finding (ZK-trunc): the folder to write.", place="folder")] = ""
    time_limit: RowLimit = None

    def finding(self) -> Finding:
        """Return the finding.

        Raises:
            RequestError: there is no repair of it, or it is not the one that was run.
        """
        from checker.zookeeper.finding import finding_of

        finding = finding_of(fspath(self.run))
        finding.check()
        return finding

    def answer(self, watch: Watch = QUIET) -> FindingFolder:
        from checker.zookeeper.report.finding import folder_of

        finding, folder = self.finding(), Path(self.output)
        if self.output:
            check_empty(folder, "--output")
        row = next(ZookeeperRequest((finding.name,), self.time_limit).explored())
        if not row.as_recorded or row.without.trace is None:
            why = row.without.trouble or row.repaired.trouble or "it has changed"
            raise NoVerdict(f"ZK-{finding.name} is not reproduced as recorded: {why}")
        return FindingFolder(folder, folder_of(finding, row))


zookeeper_finding = function(ZookeeperFindingRequest)
