"""Reproduce known bugs of ZooKeeper: each in a release with every other known fix, without its own and with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, seconds
from zabspec.authoring.declaration import ConfigError

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome
    from checker.zookeeper.rows import Row


@dataclass(frozen=True)
class ZookeeperRequest(Request):
    """Rows of the track record.

    Attributes:
        issues: their numbers, with or without `ZK-` or `ZOOKEEPER-`; empty for all rows.
        time_limit: seconds for each exploration.
        split: whether steps that are otherwise merged are explored separately.
        release: run the rows on this one; empty for the release that each is recorded for.
    """

    kind: ClassVar[str] = "zookeeper"

    issues: tuple[str, ...] = ()
    time_limit: float | None = None
    split: bool = False
    release: str = ""

    def validate(self) -> None:
        seconds(self, "time_limit")
        if self.release and not self.issues:
            raise RequestError(
                f"name the rows to check on {self.release}: zabcheck zookeeper ZK-4643 --release {self.release}; "
                f"--matrix checks every row on every release, --residue the remaining faults of one"
            )

    def rows(self) -> list[Row]:
        """Return the rows.

        Raises:
            RequestError: an issue has none.
        """
        from checker.zookeeper.rows import NOT_FOUND, ROWS

        wanted = {i.upper().removeprefix("ZOOKEEPER-").removeprefix("ZK-").lower() for i in self.issues}
        for name in sorted(wanted - {r.issue for r in ROWS}):
            why = NOT_FOUND.get(name)
            raise RequestError(f"ZK-{name} has no row: {why}" if why else f"there is no row ZK-{name}")
        return [r for r in ROWS if not wanted or r.issue in wanted]


def answer(request: ZookeeperRequest) -> Iterator[RowOutcome]:
    """Return an iterator that explores one row after another.

    Raises:
        RequestError: an issue has no row, or there is no such release.
    """
    from checker.zookeeper.matrix import of_release
    from checker.zookeeper.record import ask

    rows = request.rows()
    try:
        asked = [of_release(row, request.release) if request.release else row for row in rows]
    except ConfigError as problem:
        raise RequestError(str(problem)) from None
    return (ask(one, request.time_limit, request.split, one is row) for row, one in zip(rows, asked, strict=True))
