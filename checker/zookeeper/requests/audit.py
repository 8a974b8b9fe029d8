"""Audit the data directories of a ZooKeeper ensemble: whether it kept the guarantees of its broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.plain_text import one_line
from checker.requests.base.quorum_system import ServerOptions, check_release, options_given, release_option, zoo_cfg
from checker.requests.base.request import File, Files, Option, Request, function, names_in
from checker.requests.base.watch import QUIET, Watch
from zabspec.files import Unreadable, place_of, without_secrets

if TYPE_CHECKING:
    from checker.zookeeper.report.audit import Audited
    from traces.zookeeper.audit.audit import Audit
    from traces.zookeeper.disk.server import Directory
    from zabspec.zoo_cfg import ZooCfg

SERVERS = 64


@dataclass(frozen=True)
class AuditRequest(Request):
    """Audit the data directories of a ZooKeeper ensemble: did it keep ZAB's promises?

    A SERVER is a data directory (with version-2 in it or a little below), or data and log directory as
    DATA,LOGS. Nothing is written to them, and servers may be running.

    Exit codes: 0 OK, or warnings alone; 1 a violation, or data in danger; 2 the request is wrong; 3 something could
    not be read.

    Examples:
      zabcheck audit server1 server2 server3
      zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --html audit.html
      zabcheck audit server1 server2 server3 --config zoo.cfg --release 3.9.5 --forecast
      zabcheck audit /data/zk1,/datalog/zk1 /data/zk2,/datalog/zk2
      zabcheck audit --logs zk1.log zk2.log zk3.log
    """

    kind: ClassVar[str] = "audit"
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
        release_option(
            "Release of the servers, to determine which of them start (default: every release that can have written "
            "the files)."
        ),
    ] = ""
    server_options: ServerOptions = ()
    forecast: Annotated[
        bool, Option("Also forecast what can happen when they are started, by the release's model.")
    ] = False
    digests: Annotated[
        bool, Option("Do not replay the logs: faster, but cannot determine which server is wrong.", off=True)
    ] = True
    show_data: Annotated[bool, Option("Show the data of nodes, which reports otherwise leave out.")] = False

    def validate(self) -> None:
        if not self.servers:
            raise RequestError("name the directories of the servers")
        if (count := len(names_in(self.servers))) > SERVERS:
            raise RequestError(f"at most {SERVERS} servers, not {count}")

    def answer(self, watch: Watch = QUIET) -> Audited:
        from checker.zookeeper.report.audit import Audited

        found = self.audit()
        if found.forecast is None:
            return Audited(found, self)
        from checker.zookeeper.forecast_opinion import opinion_of, without_verdict

        second = opinion_of(found.forecast)
        found.forecast = without_verdict(found.forecast, second)
        return Audited(found, self, second)

    def audit(self) -> Audit:
        """Audit the servers.

        Raises:
            RequestError: a directory or the configuration cannot be used.
        """
        from traces.zookeeper.audit.audit import audit as audited

        check_release(self.release)
        options = options_given(self.server_options)
        config = zoo_cfg(Path(self.config), self.release, options) if self.config else None
        directories = directories_of(names_in(self.servers))
        check_numbers(directories, config)
        return audited(
            directories, config, self.show_data, self.digests, release=self.release, forecast=self.forecast,
            options=options,
        )  # fmt: skip


audit = function(AuditRequest)


def directories_of(words: Sequence[str]) -> list[Directory]:
    """Find the directories of each server.

    Raises:
        RequestError: a word is an address, or names no directory of a server, or two name one.
    """
    from traces.zookeeper.disk.server import NotOne, find_directory

    out: list[Directory] = []
    folders = [folders_of(word) for word in words]
    names = names_of([paths[0] for paths in folders])
    for word, paths, name in zip(words, folders, names, strict=True):
        try:
            one = find_directory(paths, name)
        except NotOne as problem:
            raise RequestError(str(problem)) from None
        for other in out:
            if {f.resolve() for f in one.folders} & {f.resolve() for f in other.folders}:
                raise RequestError(f"{word} and {other.name} are one directory")
        out.append(one)
    return out


def folders_of(word: str) -> list[Path]:
    """Return the folders that a word names: one, or two with a comma between.

    Raises:
        RequestError: one is an address, which is not on this machine.
    """
    if Path(word).exists():
        return [Path(word)]
    try:
        return [place_of(part) for part in word.split(",") if part] or [Path(word)]
    except Unreadable as problem:
        raise RequestError(f"{without_secrets(word)}: {problem}") from None


def names_of(paths: list[Path]) -> list[str]:
    """Return the names of servers: the shortest ends of their paths that distinguish them."""
    parts = [[p for p in path.absolute().parts if p not in ("/", "version-2", ".")] or ["/"] for path in paths]
    for depth in range(1, 8):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return [one_line(n) for n in names]
    return [f"{one_line(p[-1])}#{k}" for k, p in enumerate(parts, 1)]


def check_numbers(directories: list[Directory], config: ZooCfg | None) -> None:
    """Check that the configuration has the servers' numbers.

    Raises:
        RequestError: it has no such server.
    """
    from traces.zookeeper.audit.audit import numbers_of

    if config is None:
        return
    known = config.voters
    for d, number in zip(directories, numbers_of(directories), strict=True):
        if number not in (*known.participants, *known.observers):
            raise RequestError(f"{d.name} has number {number}, which the configuration does not have")
