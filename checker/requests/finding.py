"""Collect what ZooKeeper's committers need for a finding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict
from checker.requests.request import Request, seconds

if TYPE_CHECKING:
    from checker.zookeeper.finding import Finding


@dataclass(frozen=True)
class FindingRequest(Request):
    """A finding.

    Attributes:
        issue: its row of the track record, with or without `ZK-`.
        time_limit: seconds for each exploration.
    """

    kind: ClassVar[str] = "zookeeper-finding"

    issue: str
    time_limit: float | None = None

    def validate(self) -> None:
        seconds(self, "time_limit")

    def check(self) -> Finding:
        """Return the finding.

        Raises:
            RequestError: there is no repair of it, or it is not the one that was run.
        """
        from checker.zookeeper.finding import finding_of

        finding = finding_of(self.issue)
        finding.check()
        return finding


def answer(request: FindingRequest) -> dict[Path, bytes]:
    """Explore the row, and return the files of the folder by their names.

    Raises:
        RequestError: there is no repair of it, or it is not the one that was run.
        NoVerdict: the row is not reproduced as recorded, so that the folder would be wrong.
    """
    from checker.report.finding import folder_of
    from checker.requests.zookeeper import ZookeeperRequest
    from checker.requests.zookeeper import answer as explored

    finding = request.check()
    row = next(explored(ZookeeperRequest((finding.name,), request.time_limit)))
    if not row.as_recorded or row.without.trace is None:
        why = row.without.trouble or row.repaired.trouble or "it has changed"
        raise NoVerdict(f"ZK-{finding.name} is not reproduced as recorded: {why}")
    return folder_of(finding, row)
