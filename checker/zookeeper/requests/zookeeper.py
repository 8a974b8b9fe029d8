"""Reproduce known bugs of ZooKeeper: each in a release with every other known fix, without its own and with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.quorum_system import release_option
from checker.requests.base.request import File, Option, Request, Seconds, Words, function, names_in
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.zookeeper.record import RowOutcome
    from checker.zookeeper.report.track_record import TrackRecord
    from checker.zookeeper.rows import Row


RowLimit = Annotated[Seconds | None, Option("Time limit of each exploration.")]


@dataclass(frozen=True)
class ZookeeperRequest(Request):
    """Reproduce known bugs of ZooKeeper: in a release with every other known fix, without and with the bug's own fix.

    For a named row the report has its story: what happens, what a client loses, the run with the Java method of each
    step, and what the fix changes. --release checks it on another release than the recorded one, without an
    expectation.

    With --drift: compare methods of ZooKeeper that the model cites, and what they use, with recorded digests.

    Exit codes: 0 every row, or method, is as recorded; 1 one has changed; 2 the request is wrong; 3 one has no verdict,
    and none has changed.
    """

    kind: ClassVar[str] = "zookeeper"
    group: ClassVar[str] = "Servers of ZooKeeper"
    others: ClassVar[tuple[str, ...]] = ("zookeeper-drift",)

    issues: Annotated[Words, Option(argument=True, metavar="[ZK-NNNN]...", complete="zookeeper/rows")] = ()
    time_limit: RowLimit = None
    split: Annotated[bool, Option("Do not merge steps: the same rows, with several times as many states.")] = False
    release: Annotated[str, release_option("Check the rows on this release instead of the recorded one.")] = ""
    trace: Annotated[
        File, Option("With one row: save the run that violates a property of the release.", place="write")
    ] = ""
    html: Annotated[File, Option("With one row: write its story and the run as a page.", place="write")] = ""

    def validate(self) -> None:
        if self.release and not self.issues:
            raise RequestError(
                f"name the rows to check on {self.release}: zabcheck zookeeper ZK-4643 --release {self.release}"
            )
        if (self.trace or self.html) and len(names_in(self.issues)) != 1:
            raise RequestError("--trace and --html are for one row: zabcheck zookeeper ZK-4643 --html FILE")

    def rows(self) -> list[Row]:
        """Return the rows.

        Raises:
            RequestError: an issue has none.
        """
        from checker.zookeeper.rows import NOT_FOUND, ROWS

        wanted = {i.upper().removeprefix("ZOOKEEPER-").removeprefix("ZK-").lower() for i in names_in(self.issues)}
        for name in sorted(wanted - {r.issue for r in ROWS}):
            if why := NOT_FOUND.get(name):
                raise RequestError(f"ZK-{name} has no row: {why}")
            raise RequestError(f"there is no row ZK-{name}; `zabcheck docs zookeeper-bugs` lists them")
        return [r for r in ROWS if not wanted or r.issue in wanted]

    def explored(self) -> Iterator[RowOutcome]:
        """Return an iterator that explores one row after another.

        Raises:
            RequestError: an issue has no row, or there is no such release.
        """
        from checker.zookeeper.record import ask, of_release

        rows = self.rows()
        asked = [of_release(row, self.release) if self.release else row for row in rows]
        return (ask(one, self.time_limit, self.split, one is row) for row, one in zip(rows, asked, strict=True))

    def answer(self, watch: Watch = QUIET) -> TrackRecord:
        from checker.zookeeper.report.track_record import TrackRecord

        found = []
        with watch.working() as show:
            for one in self.explored():
                found.append(one)
                show(f"ZK-{one.row.issue}: {len(found)} rows are checked")
        return TrackRecord(self, found, bool(self.issues), self.split).save()


zookeeper = function(ZookeeperRequest)
