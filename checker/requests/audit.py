"""Audit the data directories of a ZooKeeper ensemble: did it keep the guarantees of its broadcast?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.plain_text import one_line
from checker.requests.request import Request

if TYPE_CHECKING:
    from traces.zookeeper.audit import Audit
    from traces.zookeeper.difference import Difference
    from traces.zookeeper.server import Directory

__all__ = ["SERVERS", "AuditRequest", "answer", "compare", "config_text"]

LARGEST = 1 << 20  # bytes of a configuration
SERVERS = 64
ENGINES = ("local", "spark")


@dataclass(frozen=True)
class AuditRequest(Request):
    """An audit of servers.

    Attributes:
        servers: each a data directory, or data and log directory as `DATA,LOGS`.
        config: a `zoo.cfg`, which says who votes; empty: majorities.
        digests: replay the logs, which says whose tree is wrong.
        engine: `local` or `spark`. master: of Spark.
        show_data: show what nodes hold.
        release: of the servers, for what starts; empty: all that can have written the files.
        forecast: also say what starting them can come to.
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

    def validate(self) -> None:
        if not self.servers:
            raise RequestError("name the directories of the servers")
        if len(self.servers) > SERVERS:
            raise RequestError(f"at most {SERVERS} servers, not {len(self.servers)}")
        if self.engine not in ENGINES:
            raise RequestError(f"there is no engine {self.engine!r}; there are {' and '.join(ENGINES)}")
        if self.master is not None and self.engine != "spark":
            raise RequestError("--master is for --engine spark")

    def check_release(self) -> None:
        """
        Raises:
            RequestError: there is no such release in the text.
        """
        from traces.zookeeper.starting import KNOWN

        if self.release and self.release not in KNOWN:
            raise RequestError(f"there is no release {self.release!r} in the text; there are {', '.join(KNOWN)}")


def answer(request: AuditRequest, before: Audit | None = None, keep: bool = False) -> Audit:
    """Audit the servers.

    Args:
        before: an earlier audit that kept what it read, which is not read again.
        keep: keep what is read, for a later audit.

    Raises:
        RequestError: a directory or the configuration cannot be used.
        NoVerdict: Spark failed.
    """
    from traces.zookeeper.audit import audit

    request.check_release()
    config = config_text(Path(request.config)) if request.config else None
    directories = directories_of(request.servers)
    check_numbers(directories, config)
    if request.engine != "spark":
        return audit(
            directories, config, request.show_data, request.digests, before, keep=keep, release=request.release,
            forecast=request.forecast,
        )  # fmt: skip
    from traces.spark import NoSpark, SparkFailed
    from traces.zookeeper.spark import audit_on_spark

    try:
        return audit_on_spark(
            directories, config, request.show_data, request.digests, request.master, request.release, request.forecast
        )
    except NoSpark as problem:
        raise RequestError(str(problem)) from None
    except SparkFailed as problem:
        raise NoVerdict(str(problem)) from None


def compare(request: AuditRequest) -> Difference:
    """Find the first transaction in which two servers part.

    Raises:
        RequestError: there are not two, or a directory cannot be used.
    """
    from traces.zookeeper.difference import first_difference

    directories = directories_of(request.servers)
    if len(directories) != 2:
        raise RequestError("--diff takes two servers")
    return first_difference(directories, request.show_data)


def directories_of(servers: Sequence[str]) -> list[Directory]:
    """The directories of each server.

    Raises:
        RequestError: one is none, or is named twice.
    """
    from traces.zookeeper.server import NotOne, find_directory

    out: list[Directory] = []
    names = names_of([Path(word.split(",")[0] if not Path(word).exists() else word) for word in servers])
    for word, name in zip(servers, names, strict=True):
        paths = [Path(word)] if Path(word).exists() or "," not in word else [Path(p) for p in word.split(",") if p]
        try:
            one = find_directory(paths, name)
        except NotOne as problem:
            raise RequestError(str(problem)) from None
        mine = {str(f.resolve()) for f in one.folders}
        for other in out:
            if mine & {str(f.resolve()) for f in other.folders}:
                raise RequestError(f"{word} and {other.name} are one directory")
        out.append(one)
    return out


def names_of(paths: list[Path]) -> list[str]:
    """What servers are called: the last part of their paths that tells them apart."""
    parts = [[p for p in path.absolute().parts if p not in ("/", "version-2", ".")] or ["/"] for path in paths]
    for depth in range(1, 8):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names):
            return [one_line(n) for n in names]
    return [f"{one_line(p[-1])}#{k}" for k, p in enumerate(parts, 1)]


def config_text(path: Path) -> str:
    """Return the text of a configuration.

    Raises:
        RequestError: the configuration cannot be read, or is none.
    """
    from zabspec.ensemble import ConfigError, parse
    from zabspec.files import read_bytes

    try:
        text = read_bytes(path, LARGEST).decode()
        parse(text)
    except OSError as problem:
        raise RequestError(f"{path}: {problem.strerror}") from None
    except (UnicodeDecodeError, ValueError):
        raise RequestError(f"{path} is not text") from None
    except ConfigError as problem:
        raise RequestError(f"{path}: {problem}") from None
    return text


def check_numbers(directories: list[Directory], config: str | None) -> None:
    """
    Raises:
        RequestError: two servers have one number, or the configuration has no such server.
    """
    from traces.zookeeper.audit import number_of
    from zabspec.ensemble import parse

    if config is None:
        return
    known = parse(config)
    numbers: dict[int, str] = {}
    for place, d in enumerate(directories, 1):
        number = number_of(d, place)
        if number in numbers:
            raise RequestError(f"{numbers[number]} and {d.name} both have number {number} (myid)")
        if number not in (*known.participants, *known.observers):
            raise RequestError(f"{d.name} has number {number}, which the configuration does not have")
        numbers[number] = d.name
