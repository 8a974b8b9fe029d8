"""Read and write the record of a free-running ensemble: a file of JSON lines, in the order of observation.

The first line identifies the record, the last counts the observations: a record without it is incomplete. Between them
are observations, each written before the observed packet or fault was passed on:

- `packet`: on a connection, from the side that opened it (`up`) or to it; `kind`, `zxid`, and `current` of an ACKEPOCH.
- `closed`: one side of a connection (`by`) has closed it; `lost`: the network has, neither side has noticed it yet.
- `kills`, `killed`: a server gets SIGKILL; its last packets have come. `starts`; `stops` and `continues` (SIGSTOP).
- `unread`: nothing more could be read of a connection.
- `disk`: the contents of a server's disk in the end. `answered`: a client's answer to a write. `served`: the paths that
  a server serves in the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zabspec.errors import RequestError

VERSION = 1
FORMAT = "zabcheck record"
MOST_SECONDS = 1e9
OUTCOMES = ("acknowledged", "refused", "unknown")
NEEDS: dict[str, dict[str, type]] = {
    "packet": {"connection": int, "follower": int, "leader": int, "up": bool, "kind": str, "zxid": int},
    "closed": {"connection": int, "follower": int, "leader": int, "by": int},
    "lost": {"connection": int, "follower": int, "leader": int},
    "kills": {"server": int},
    "killed": {"server": int},
    "starts": {"server": int},
    "stops": {"server": int},
    "continues": {"server": int},
    "disk": {"server": int, "log": list, "snapshots": list, "current": int, "accepted": int},
    "answered": {"path": str, "outcome": str},  # one of OUTCOMES
    "served": {"server": int, "paths": list},
    "note": {"message": str},
    "unread": {"connection": int, "message": str},
}


class BadRecord(RequestError):
    """The file is no record; the message says why in one sentence."""


@dataclass(frozen=True)
class Observation:
    """An observation: one line of the record.

    Attributes:
        number: the number of its line in the file, from 1; the head is line 1.
    """

    number: int
    what: str
    seconds: float
    fields: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def told(self) -> str:
        """Return the observation in words."""
        f = self.fields
        if self.what == "packet":
            ends = (f["follower"], f["leader"]) if f["up"] else (f["leader"], f["follower"])
            current = f" current={f['current']}" if "current" in f else ""
            said = f"{f['kind']} {f['zxid'] & (1 << 64) - 1:#x}{current}"
            return f"{said} from server {ends[0]} to {ends[1]}, connection {f['connection']}"
        if self.what == "closed":
            return f"server {f['by']} has closed connection {f['connection']} of {f['follower']} to {f['leader']}"
        if self.what == "lost":
            return f"connection {f['connection']} of {f['follower']} to {f['leader']} was cut"
        if self.what == "disk":
            return f"the disk of server {f['server']} at the end"
        return f"server {f['server']} {self.what}" if "server" in f else self.what


@dataclass(frozen=True)
class Record:
    """A record.

    Attributes:
        whole: its last line exists, and its count is right.
    """

    release: str
    servers: tuple[int, ...]
    observations: tuple[Observation, ...]
    whole: bool
    seed: int | None = None


def written(release: str, servers: Iterable[int], lines: Iterable[tuple[str, float, dict[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a complete record."""
    yield head(release, servers)
    count = 0
    for what, seconds, fields in lines:
        yield line(what, seconds, fields)
        count += 1
    yield last(count)


def head(
    release: str, servers: Iterable[int], seed: int | None = None, plan: Mapping[str, Any] | None = None
) -> str:  # fmt: skip
    """Return the first line of a record.

    Args:
        release: the ZooKeeper release.
        servers: the numbers of the servers.
        seed: the seed of the faults.
        plan: the planned faults and writes.
    """
    more: dict[str, Any] = {} if seed is None else {"seed": seed}
    if plan is not None:
        more["plan"] = dict(plan)
    return json.dumps({"format": FORMAT, "version": VERSION, "release": release, "servers": list(servers), **more})


def line(what: str, seconds: float, fields: dict[str, Any]) -> str:
    """Return the line of an observation; `seconds` since the start, rounded to 0.1 ms."""
    return json.dumps({"what": what, "s": round(seconds, 4), **fields})


def last(count: int) -> str:
    """Return the last line of a complete record."""
    return json.dumps({"what": "end", "observations": count})


def read_record(path: Path) -> Record:
    """Read a record; one that only lacks its end is read up to there.

    Raises:
        BadRecord: the file cannot be read, or is no record of this version.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadRecord(f"{path} cannot be read: {getattr(problem, 'strerror', None) or 'it is not text'}") from None
    first = parsed(lines[0], path, 1)
    if not isinstance(first, dict) or first.get("format") != FORMAT:
        raise BadRecord(f"{path} is not a record of `zabcheck chaos`: its first line is not that of a record")
    if first.get("version") != VERSION:
        raise BadRecord(f"{path} is a record of version {first.get('version')!r:.20}, and this reads {VERSION}")
    servers = first.get("servers")
    if not isinstance(servers, list) or not servers or not all(type(n) is int for n in servers):
        raise BadRecord(f"{path}: its first line does not list the servers")
    if len(set(servers)) != len(servers):
        raise BadRecord(f"{path}: its first line names a server twice")
    out: list[Observation] = []
    ended: object = None
    seen: set[tuple[object, ...]] = set()  # what is observed once
    for number, text in enumerate(lines[1:], 2):
        if not text:
            continue
        if ended is not None:
            raise BadRecord(f"{path}, line {number}: there is more after its end")
        try:
            made = parsed(text, path, number)
        except BadRecord:
            if any(lines[number:]):
                raise
            break  # the last line, written in half
        what = made.pop("what", None) if isinstance(made, dict) else None
        if what == "end":
            ended = made.get("observations")
            continue
        out.append(o := checked(what, made, set(servers), path, number))
        if len(out) > 1 and out[-2].seconds > o.seconds:
            raise BadRecord(f"{path}, line {number}: it was seen before the line above it")
        if what in ("served", "closed"):
            if (once := (what, made.get("connection"), made.get("by", made.get("server")))) in seen:
                raise BadRecord(f"{path}, line {number}: {o.told()}, for the second time")
            seen.add(once)
    seed = first.get("seed")
    return Record(
        str(first.get("release", "")), tuple(servers), tuple(out), ended == len(out),
        seed if isinstance(seed, int) else None,
    )  # fmt: skip


def checked(what: object, made: Any, servers: set[int], path: Path, number: int) -> Observation:
    """Check the fields of a line, and return it as an observation.

    Raises:
        BadRecord: it is no observation.
    """
    if not isinstance(what, str) or what not in NEEDS:
        raise BadRecord(f"{path}, line {number}: there is no observation {what!r:.40}")
    for name, kind in NEEDS[what].items():
        if type(made.get(name)) is not kind:
            raise BadRecord(f"{path}, line {number}: {what} needs {name}")
    for name in ("server", "follower", "leader", "by"):
        if name in NEEDS[what] and made[name] not in servers:
            raise BadRecord(f"{path}, line {number}: there is no server {made[name]}")
    if what == "disk":
        log = made["log"]
        if not all(isinstance(r, list) and len(r) == 2 and all(type(z) is int for z in r) for r in log):
            raise BadRecord(f"{path}, line {number}: a log is a list of ranges")
        if not all(type(z) is int for z in made["snapshots"]):
            raise BadRecord(f"{path}, line {number}: snapshots are named by numbers")
    seconds = made.pop("s", 0.0)
    if type(seconds) not in (int, float) or not 0 <= seconds < MOST_SECONDS:
        raise BadRecord(f"{path}, line {number}: s is not a number of seconds")
    if what == "answered" and made["outcome"] not in OUTCOMES:
        raise BadRecord(f"{path}, line {number}: an outcome is one of {', '.join(OUTCOMES)}")
    if what == "served" and not all(isinstance(p, str) for p in made["paths"]):
        raise BadRecord(f"{path}, line {number}: paths are strings")
    return Observation(number, what, float(seconds), made)


def parsed(text: str, path: Path, number: int) -> Any:
    """Parse a line as JSON.

    Raises:
        BadRecord: it is no JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadRecord(f"{path}, line {number}: this is not JSON") from None
