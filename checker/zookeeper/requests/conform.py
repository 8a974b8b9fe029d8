"""Check the record of a free-running ensemble, or its servers' own logs at INFO, against its release's model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.quorum_system import release_option
from checker.requests.base.request import File, Option, Request, Seconds, function
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.zookeeper.report.conformed import Conformed
    from traces.zookeeper.conform.explained import Conformed as RecordOutcome
    from traces.zookeeper.conform.from_lines import FromLines

LOG = re.compile(r".*\.(?:log|txt|out|json)(?:\.\d+)?(?:\.gz)?")
NUMBERED = re.compile(r"log([1-9]\d{0,8})\.txt")


@dataclass(frozen=True)
class Conform(Request):
    """Search for a run of a release's model that explains the record of a free-running ensemble.

    It explains each packet between servers, in order, kills and starts, and the disks at the end. Election votes and
    the servers' logs are ignored.

    If RECORD is a folder, the servers' own logs at INFO (logN.txt) and their data directories (serverN) are explained
    instead; a record in it is not read.

    Exit codes: 0 a run explains the whole record, acknowledged writes are served, and the run violates nothing; 1 no
    run explains the record, an acknowledged write is lost, or the run violates a property; 2 the request is wrong;
    3 unknown: the record has no end, there are too many states, or the time is up.
    """

    kind: ClassVar[str] = "conform"
    group: ClassVar[str] = "Servers of ZooKeeper"

    record: Annotated[File, Option(place="read any", argument=True)] = ""
    release: Annotated[str, release_option("The release whose model is searched (default: as the record says).")] = ""
    variant: Annotated[
        str, Option("Search this variant of the model instead.", metavar="NAMES", complete="zookeeper/variants")
    ] = ""
    time_limit: Annotated[Seconds | None, Option("Stop after this time; the verdict is then UNKNOWN.")] = 300.0

    def validate(self) -> None:
        if not self.record:
            raise RequestError("name the record to explain")
        if self.release and self.variant:
            raise RequestError(f"--variant replaces --release; for both: --variant {self.release},{self.variant}")

    def variant_of(self, release: str, missing: str) -> str:
        """Return the variant of the protocol that the record or the logs are checked against.

        Args:
            release: the one that these name; empty if there is not one.
            missing: what is said if it is needed, and empty.

        Raises:
            RequestError: nothing determines it, or there is no model of that release.
        """
        from zabspec.protocols.registry import PROTOCOLS
        from zabspec.zookeeper.of_releases import variant_of, with_settings

        if self.variant:
            return with_settings(PROTOCOLS["zookeeper"], self.variant)
        if not self.release and not release:
            raise RequestError(f"{missing}: give --release NUMBER")
        return variant_of("zookeeper", self.release or release)

    def answer(self, watch: Watch = QUIET) -> Conformed:
        from checker.zookeeper.report.conformed import conformed_result, logs_conformed_result

        if Path(self.record).is_dir():
            return logs_conformed_result(self.as_json(), answer_logs(self))
        return conformed_result(self.as_json(), self.explained(watch))

    def explained(self, watch: Watch = QUIET) -> RecordOutcome:
        """Search for a run that explains a record.

        Raises:
            RequestError: this is not a record, or nothing determines the model.
        """
        from traces.zookeeper.conform.explained import conformed
        from traces.zookeeper.conform.record import read_record

        record = read_record(Path(self.record))
        with watch.working() as show:
            variant = self.variant_of(record.release, "the record has no release")
            return conformed(record, variant, self.time_limit or 0.0, told_by(show))


def told_by(show: Callable[[str], None]) -> Callable[[int, int], None]:
    """Return what shows how many observations are explained."""
    return lambda count, of: None if count % 50 else show(f"{count:,} of {of:,} observations are explained")


conform = function(Conform)


def answer_logs(request: Conform) -> FromLines:
    """Search for a run of the model that writes the servers' logs and ends with their disks.

    Args:
        request: its record is a folder with the servers' logs and the data directory `serverN` of each server N. The
            logs are `logN.txt`, or any files of one or several servers that name these in their lines (`[myid:N]`).

    Raises:
        RequestError: the folder lacks a file, a file cannot be read, or nothing determines the model.
    """
    from traces.zookeeper.conform.from_lines import explained_by_lines
    from traces.zookeeper.conform.server_lines import read_server_lines
    from traces.zookeeper.reenact.stores import read_disk
    from traces.zookeeper.server_logs.text_logs import first_time

    folder = Path(request.record)
    try:
        files = [path for path in folder.iterdir() if LOG.fullmatch(path.name) is not None and path.is_file()]
        if not files:
            raise RequestError(f"{folder} has no log1.txt: name a folder with logN.txt and serverN of each server N")
        named = {int(m[1]): path for path in files if (m := NUMBERED.fullmatch(path.name)) is not None}
        lines = read_server_lines(named if len(named) == len(files) else sorted(files, key=first_time))
        found = lines.servers
        missing = next((n for n in found if not (folder / f"server{n}").is_dir()), None)
        if missing is not None:
            raise RequestError(f"{folder} has a log of server {missing}, and no data directory server{missing}")
        release = next(iter(lines.releases)) if len(lines.releases) == 1 else ""
        variant = request.variant_of(release, f"the logs name {', '.join(sorted(lines.releases)) or 'no release'}")
        disks = {n: read_disk(folder / f"server{n}", request.release or release or "master") for n in found}
        done = explained_by_lines(lines, disks, variant, request.time_limit or 0.0)
        if request.release and not request.variant:
            done.named = tuple(sorted(lines.releases - {request.release}))
        return done
    except OSError as problem:
        raise RequestError(f"{folder} cannot be read: {problem.strerror}") from None
