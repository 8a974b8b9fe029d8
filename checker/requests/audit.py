"""Audit the data directories of a ZooKeeper ensemble: whether it kept the guarantees of its broadcast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.plain_text import one_line
from checker.requests.quorum_system import check_release, options_given, zoo_cfg
from checker.requests.request import Request
from traces.spark.connect import is_connect
from traces.tables.places import Address, Place
from zabspec.files import Unreadable, place_of, without_secrets
from zabspec.temporary import temporary_folder

if TYPE_CHECKING:
    from traces.zookeeper.audit import Audit
    from traces.zookeeper.server import Directory
    from zabspec.zoo_cfg import ZooCfg

SERVERS = 64
ENGINES = ("local", "spark")


@dataclass(frozen=True)
class AuditRequest(Request):
    """An audit of servers.

    Attributes:
        servers: each a data directory, or data and log directory as `DATA,LOGS`; a path, or an address.
        config: a `zoo.cfg`, which determines the voters; empty for majorities.
        digests: whether to replay the logs, which shows whose tree is wrong.
        engine: `local` or `spark`. master: of Spark, which also reads addresses that pyarrow has no file system for.
        show_data: whether to show the data of nodes.
        release: of the servers, to determine what each starts with; empty for all that can have written the files.
        forecast: whether to report the possible outcomes of starting them.
        server_options: properties of the servers' JVM as `NAME=VALUE`, or files like java.env with `-D` flags.
    """

    kind: ClassVar[str] = "audit"

    servers: tuple[str, ...] = ()
    config: str = ""
    digests: bool = True
    engine: str = "local"
    master: str | None = None
    show_data: bool = False
    release: str = ""
    forecast: bool = False
    server_options: tuple[str, ...] = ()

    def validate(self) -> None:
        if not self.servers:
            raise RequestError("name the directories of the servers")
        if len(self.servers) > SERVERS:
            raise RequestError(f"at most {SERVERS} servers, not {len(self.servers)}")
        if self.engine not in ENGINES:
            raise RequestError(f"there is no engine {self.engine!r}; there are {' and '.join(ENGINES)}")
        if self.master is not None and self.engine != "spark" and not any("://" in server for server in self.servers):
            raise RequestError("--master is for --engine spark, or for a server at an address")


def answer(request: AuditRequest, before: Audit | None = None, keep: bool = False) -> Audit:
    """Audit the servers.

    Args:
        before: an earlier audit that kept what it read, which is not read again.
        keep: whether to keep what is read, for a later audit.

    Raises:
        RequestError: a directory or the configuration cannot be used.
        NoVerdict: Spark failed.
    """
    check_release(request.release)
    options = options_given(request.server_options)
    config = zoo_cfg(Path(request.config), request.release, options) if request.config else None
    with copied(request) as servers:
        return answer_here(request, servers, config, before, keep)


def answer_here(
    request: AuditRequest, servers: Sequence[Sources], config: ZooCfg | None, before: Audit | None, keep: bool
) -> Audit:
    """Audit servers whose directories are on this machine.

    Raises:
        RequestError, NoVerdict: as for `answer`.
    """
    from traces.zookeeper.audit import audit

    directories = directories_of(servers)
    check_numbers(directories, config)
    if request.engine != "spark":
        return audit(
            directories, config, request.show_data, request.digests, before, keep=keep, release=request.release,
            forecast=request.forecast, options=options_given(request.server_options),
        )  # fmt: skip
    from traces.spark import NoSpark, SparkFailed
    from traces.zookeeper.spark import audit_on_spark

    try:
        return audit_on_spark(
            directories, config, request.show_data, request.digests, request.master, request.release, request.forecast,
            options_given(request.server_options),
        )  # fmt: skip
    except NoSpark as problem:
        raise RequestError(str(problem)) from None
    except SparkFailed as problem:
        raise NoVerdict(str(problem)) from None


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
    named = [places_of(word) for word in request.servers]
    if not any(isinstance(place, Address) for places in named for place in places):
        yield [
            Sources(w, tuple(Path(str(p)) for p in places)) for w, places in zip(request.servers, named, strict=True)
        ]
        return
    from traces.spark import NoSpark, SparkFailed
    from traces.tables.remote import RemoteError

    try:
        with temporary_folder("audit") as top, session_for(request, named) as spark:
            out = []
            for k, places in enumerate(named):
                paths = [copy_of(p, top / f"{k}-{n}", spark) if isinstance(p, Address) else p
                         for n, p in enumerate(places)]  # fmt: skip
                origins = tuple(str(place).rstrip("/") for place in places)
                out.append(Sources(",".join(origins), tuple(paths), origins))
            yield out
    except (NoSpark, RemoteError) as problem:
        raise RequestError(str(problem)) from None
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
    from traces.tables.remote import remote_folder
    from traces.zookeeper.remote import copy_server, parent_of

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
    from traces.zookeeper.server import NotOne, find_directory

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
    from traces.zookeeper.audit import number_of

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
