"""Audit the data directories of a ZooKeeper ensemble: whether it kept the guarantees of its broadcast."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from checker.errors import NoVerdict, RequestError
from checker.plain_text import one_line
from checker.requests.base.quorum_system import ServerOptions, check_release, options_given, zoo_cfg
from checker.requests.base.request import File, Files, Option, Request, Seconds, function, names_in
from checker.requests.base.watch import QUIET, Watch
from traces.events.places import Address, Place
from traces.spark.connect import is_connect
from zabspec.files import Unreadable, place_of, without_secrets
from zabspec.temporary import temporary_folder

if TYPE_CHECKING:
    from checker.zookeeper.report.audit import Audited, AuditRound
    from traces.zookeeper.audit.audit import Audit
    from traces.zookeeper.disk.server import Directory
    from zabspec.zoo_cfg import ZooCfg

SERVERS = 64
ANEW = 100  # rounds, one of which reads everything again


@dataclass(frozen=True)
class AuditRequest(Request):
    """Audit the data directories of a ZooKeeper ensemble: did it keep ZAB's promises?

    A SERVER is a data directory (with version-2 in it or a little below), or data and log directory as
    DATA,LOGS; a path, or an address (s3://, viewfs://, ...), which is copied first. Nothing is written to them, and
    servers may be running.

    Exit codes: 0 OK, or warnings alone; 1 a violation, or data in danger; 2 the request is wrong; 3 something could
    not be read.

    Examples:
      zabcheck audit server1 server2 server3
      zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --html audit.html
      zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --forecast
      zabcheck audit /data/zk1,/datalog/zk1 /data/zk2,/datalog/zk2
      zabcheck audit s3://backups/zk1 s3://backups/zk2 s3://backups/zk3
      zabcheck audit server1 server2 server3 --watch 60 --json
      zabcheck audit --logs zk1.log zk2.log zk3.log
    """

    kind: ClassVar[str] = "audit"
    command: ClassVar[bool] = True
    group: ClassVar[str] = "Servers of ZooKeeper"
    others: ClassVar[tuple[str, ...]] = ("audit-logs",)

    servers: Annotated[Files, Option(argument=True, metavar="SERVER...")] = ()
    config: Annotated[
        File,
        Option(
            "The zoo.cfg of the ensemble, with the voting servers and their quorums (default: majorities).",
            metavar="ZOO.CFG",
            place="read",
        ),
    ] = ""
    release: Annotated[
        str,
        Option(
            "Release of the servers, to determine which of them start (default: every release that can have written "
            "the files).",
            metavar="NUMBER",
            complete="zookeeper_releases",
        ),
    ] = ""
    server_options: ServerOptions = ()
    forecast: Annotated[
        bool, Option("Also forecast what can happen when they are started, by the release's model.")
    ] = False
    digests: Annotated[
        bool, Option("Do not replay the logs: faster, but cannot determine which server is wrong.", off=True)
    ] = True
    watch: Annotated[
        Seconds | None,
        Option("Repeat the audit after this time; only new records are read. With --json one line for each audit."),
    ] = None
    engine: Annotated[Literal["local", "spark"], Option("Audit on this machine, or on Spark.")] = "local"
    master: Annotated[
        str | None, Option("With --engine spark, or for an address: the Spark master (local[*]).", metavar="URL")
    ] = None
    show_data: Annotated[bool, Option("Show the data of nodes, which reports otherwise leave out.")] = False

    def validate(self) -> None:
        if not self.servers:
            raise RequestError("name the directories of the servers")
        count, remote = len(names_in(self.servers)), any("://" in server for server in names_in(self.servers))
        if count > SERVERS:
            raise RequestError(f"at most {SERVERS} servers, not {count}")
        if self.master is not None and self.engine != "spark" and not remote:
            raise RequestError("--master is for --engine spark, or for a server at an address")
        if self.watch is not None:
            if self.forecast:
                raise RequestError("--forecast is for stopped servers: it does not go with --watch")
            if self.engine == "spark":
                raise RequestError("--engine spark does not go with --watch")
            if remote:
                raise RequestError("--watch reads directories of this machine or of a mount, not at an address")

    def answer(self, watch: Watch = QUIET) -> Audited:
        from checker.zookeeper.report.audit import Audited

        if self.watch is not None:
            return self.round(watch)
        found = self.audit()
        if found.forecast is None:
            return Audited(found, self)
        from checker.zookeeper.forecast_opinion import opinion_of, without_verdict

        second = opinion_of(found.forecast)
        found.forecast = without_verdict(found.forecast, second)
        return Audited(found, self, second)

    def audit(self, before: Audit | None = None, keep: bool = False) -> Audit:
        """Audit the servers.

        Args:
            before: an earlier audit that kept what it read, which is not read again.
            keep: whether to keep what is read, for a later audit.

        Raises:
            RequestError: a directory or the configuration cannot be used.
            NoVerdict: Spark failed.
        """
        check_release(self.release)
        options = options_given(self.server_options)
        config = zoo_cfg(Path(self.config), self.release, options) if self.config else None
        with copied(self) as servers:
            return answer_here(self, servers, config, before, keep)

    def round(self, watch: Watch, before: Audit | None = None, number: int = 1) -> AuditRound:
        """Return one of many audits; all but every hundredth, which detects damage to old bytes, read what is new.

        Args:
            before: the round before.
            number: of the round.

        Raises:
            RequestError: as for `audit`, in the first round; later a directory may be missing for a while.
        """
        from checker.zookeeper.report.audit import AuditRound

        while True:
            try:
                found = self.audit(None if number % ANEW == 0 else before, keep=True)
                break
            except RequestError:
                if before is None:
                    raise
                watch.note("a directory is missing, or is being replaced: retrying")
                time.sleep(self.watch or 0)

        def following() -> AuditRound:
            time.sleep(self.watch or 0)
            return self.round(watch, found, number + 1)

        return AuditRound(found, self, before=before, following=following)


audit = function(AuditRequest)


def answer_here(
    request: AuditRequest, servers: Sequence[Sources], config: ZooCfg | None, before: Audit | None, keep: bool
) -> Audit:
    """Audit servers whose directories are on this machine.

    Raises:
        RequestError, NoVerdict: as for `AuditRequest.audit`.
    """
    from traces.zookeeper.audit.audit import audit as audited

    directories = directories_of(servers)
    check_numbers(directories, config)
    if request.engine != "spark":
        return audited(
            directories, config, request.show_data, request.digests, before, keep=keep, release=request.release,
            forecast=request.forecast, options=options_given(request.server_options),
        )  # fmt: skip
    from traces.zookeeper.audit.spark import audit_on_spark

    return audit_on_spark(
        directories, config, request.show_data, request.digests, request.master, request.release, request.forecast,
        options_given(request.server_options),
    )  # fmt: skip


@dataclass(frozen=True)
class Sources:
    """The directories of a server.

    Attributes:
        word: their name as given by the user, without secrets.
        paths: where they are on this machine.
        origins: of copies, the addresses of the originals.
    """

    word: str
    paths: tuple[Path, ...]
    origins: tuple[str, ...] = ()

    @property
    def named(self) -> Path:
        """The path that names the server: of the data directory, or of the original's at its address."""
        return Path("/" + self.origins[0].partition("://")[2]) if "://" in "".join(self.origins[:1]) else self.paths[0]

    def plainly(self, said: str) -> str:
        """Return a sentence with the addresses of the originals instead of the paths of their copies."""
        for path, origin in zip(self.paths, self.origins, strict=False):
            said = said.replace(str(path), origin)
        return said


@contextmanager
def copied(request: AuditRequest) -> Iterator[list[Sources]]:
    """Yield the directories of all servers on this machine; those at an address are copied first.

    The copies are in a folder that is removed at the end.

    Raises:
        RequestError: an address cannot be read, or a cluster's tasks would not see the copies.
        NoVerdict: Spark failed.
    """
    words = names_in(request.servers)
    named = [places_of(word) for word in words]
    if not any(isinstance(place, Address) for places in named for place in places):
        yield [Sources(w, tuple(Path(str(p)) for p in places)) for w, places in zip(words, named, strict=True)]
        return
    from traces.spark import SparkFailed

    try:
        with temporary_folder("audit") as top, session_for(request, named) as spark:
            out = []
            for k, places in enumerate(named):
                paths = [copy_of(p, top / f"{k}-{n}", spark) if isinstance(p, Address) else p
                         for n, p in enumerate(places)]  # fmt: skip
                origins = tuple(str(place).rstrip("/") for place in places)
                out.append(Sources(",".join(origins), tuple(paths), origins))
            yield out
    except SparkFailed as problem:
        raise NoVerdict(without_secrets(str(problem))) from None


def places_of(word: str) -> list[Place]:
    """Return the places that a word names: a folder, an address, or two of them with a comma between.

    Raises:
        RequestError: it is the address of a file on another machine.
    """
    if Path(word).exists():
        return [Path(word)]
    words = re.split(r",(?=[A-Za-z][A-Za-z0-9+.-]+://|/)", word) if "://" in word else word.split(",")
    try:
        found = [Address(w) if "://" in w and not w.startswith("file:") else place_of(w) for w in words if w]
    except Unreadable as problem:
        raise RequestError(f"{without_secrets(word)}: {problem}") from None
    return found or [Path(word)]


@contextmanager
def session_for(request: AuditRequest, named: Sequence[Sequence[Place]]) -> Iterator[Any]:
    """Start a Spark session if Java reads an address, or if Spark audits; otherwise return None.

    Raises:
        RequestError: the tasks of a cluster do not see copies on this machine.
        NoSpark, SparkFailed: as for a session.
    """
    by_java = any(isinstance(p, Address) and not p.by_arrow for places in named for p in places)
    if request.engine != "spark" and not by_java:
        yield None
        return
    from traces.spark.session import is_local, session

    with session(request.master or "", brief=True) as spark:
        if request.engine == "spark" and (is_connect(spark) or not is_local(str(spark.sparkContext.master))):
            raise RequestError(
                "servers at an address are copied to this machine, where tasks of a cluster cannot read them: omit "
                "--engine spark"
            )
        yield spark


def copy_of(address: Address, folder: Path, spark: Any) -> Path:
    """Copy the directory of a server.

    Args:
        folder: an empty place for it.
        spark: a session, for addresses that Java reads.

    Returns:
        The copy, with the names of the last folders of the address.

    Raises:
        RemoteError: it cannot be read.
    """
    from traces.events.remote import remote_folder
    from traces.zookeeper.audit.remote import copy_server, parent_of

    path = str(address).partition("://")[2].strip("/")
    target = folder.joinpath(*[part for part in path.split("/") if part not in ("", ".", "..")])
    target.mkdir(parents=True)
    above = parent_of(address)
    remote = remote_folder(address, spark)
    copy_server(remote, remote_folder(above, spark) if above else None, target, str(address))
    return target


def directories_of(servers: Sequence[Sources]) -> list[Directory]:
    """Find the directories of each server.

    Raises:
        RequestError: one is not a server's directory, or is named twice.
    """
    from traces.zookeeper.disk.server import NotOne, find_directory

    out: list[Directory] = []
    names = names_of([s.named for s in servers])
    for source, name in zip(servers, names, strict=True):
        word = source.word
        try:
            one = find_directory(list(source.paths), name)
        except NotOne as problem:
            raise RequestError(source.plainly(str(problem))) from None
        one.origins.update({f: said for f in one.folders if (said := source.plainly(str(f))) != str(f)})
        for other in out:
            if originals(one) & originals(other):
                raise RequestError(f"{word} and {other.name} are one directory")
        out.append(one)
    return out


def originals(directory: Directory) -> set[str]:
    """Return the real paths of a server's folders: with links resolved, and for copies the addresses."""
    return {directory.origins.get(f) or str(f.resolve()) for f in directory.folders}


def names_of(paths: list[Path]) -> list[str]:
    """Return the names of servers: the shortest ends of their paths that distinguish them."""
    parts = [[p for p in path.absolute().parts if p not in ("/", "version-2", ".")] or ["/"] for path in paths]
    for depth in range(1, 8):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return [one_line(n) for n in names]
    return [f"{one_line(p[-1])}#{k}" for k, p in enumerate(parts, 1)]


def check_numbers(directories: list[Directory], config: ZooCfg | None) -> None:
    """Check that servers have distinct numbers, which the configuration has too.

    Raises:
        RequestError: two servers have one number, or the configuration has no such server.
    """
    from traces.zookeeper.audit.audit import number_of

    if config is None:
        return
    known = config.voters
    numbers: dict[int, str] = {}
    for place, d in enumerate(directories, 1):
        number = number_of(d, place)
        if number in numbers:
            raise RequestError(f"{numbers[number]} and {d.name} both have number {number} (myid)")
        if number not in (*known.participants, *known.observers):
            raise RequestError(f"{d.name} has number {number}, which the configuration does not have")
        numbers[number] = d.name
