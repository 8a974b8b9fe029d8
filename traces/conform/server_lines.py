"""Read the lines of servers' own logs at INFO that concern the protocol, in the order of the thread that wrote them.

Proposals, acknowledgements and commits are not logged at INFO. A line tells what one thread of one server did; nothing
is taken from the order of lines of two threads or two servers, but as a hint of where to search first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from traces.zookeeper.text_logs import TIME, ZXID, lines_of, number_of
from zabspec.files import Unreadable

__all__ = ["ServerLine", "ServerLines", "read_server_lines"]

# What is told, by the text of its line: kind, pattern. The first that is found counts.
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("syncs", re.compile(
        rf"Synchronizing with (?:Learner|Follower) sid: ?(\d+) maxCommittedLog={ZXID} minCommittedLog={ZXID} "
        rf"lastProcessedZxid={ZXID} peerLastZxid={ZXID}"
    )),
    ("sends DIFF", re.compile(rf"Sending DIFF zxid={ZXID}")),
    ("sends TRUNC", re.compile(rf"Sending TRUNC (?:to follower )?zxid(?:ToSend)?={ZXID}")),
    ("sends SNAP", re.compile(rf"Sending snapshot last zxid of peer is .*?sen[dt] zxid of db as {ZXID}")),
    ("starts", re.compile(r"- Starting quorum peer")),
    ("loaded", re.compile(rf"Snapshot loaded in .*?highest zxid is {ZXID}")),
    ("looks", re.compile(rf"New election\. My id = +\d+, proposed zxid={ZXID}")),
    ("leads", re.compile(r"\bLEADING - LEADER ELECTION TOOK")),
    ("follows", re.compile(r"\bFOLLOWING - LEADER ELECTION TOOK")),
    ("got DIFF", re.compile(rf"Getting a diff from the leader {ZXID}")),
    ("got SNAP", re.compile(rf"Getting a snapshot from (?:the )?leader {ZXID}")),
    ("got TRUNC", re.compile(rf"Truncating log to get in sync with the leader {ZXID}")),
    ("got NEWLEADER", re.compile(r"Learner received NEWLEADER message")),
    ("got UPTODATE", re.compile(r"Learner received UPTODATE message")),
    ("snapshot", re.compile(rf"Snapshotting: {ZXID} to ")),
    ("epoch", re.compile(r"Set the current epoch to (\d{1,9})\b")),
    ("acknowledged", re.compile(r"Sent NEWLEADER ack to leader with zxid ([0-9a-fA-F]{1,16})\b")),
    ("serves", re.compile(rf"Have quorum of supporters, sids: \[(.*?)\]; starting up.*?processed zxid: {ZXID}")),
)  # fmt: skip
HINTS = (
    "Synchronizing with", "Sending ", "Starting quorum", "Snapshot", "New election", "ELECTION TOOK", "Getting a ",
    "Truncating log", "Learner received", "Set the current", "Sent NEWLEADER", "Have quorum",
    "zookeeper.version",
)  # fmt: skip
VERSION = re.compile(r"Server environment:zookeeper\.version=(\d+\.\d+\.\d+)")
FORCED = "Forcing snapshot sync"  # zookeeper.forceSnapshotSync, at WARN
HANDLER = re.compile(r"\[LearnerHandler-(\S+?:\d+)[:\]]")
MAIN = re.compile(r"\[(main|QuorumPeer\[)")
AT_START = ("starts", "loaded")


@dataclass
class ServerLine:
    """A line that tells something.

    Attributes:
        life: of which process of its server it is, from 0.
        values: numbers of the line: zxids as servers write them, or an epoch.
        learner: of `syncs`: the server that is synchronized. sends: the kind and zxid sent to it; None: not logged.
        members: of `serves`: whose acknowledgements of NEWLEADER were counted.
    """

    server: int
    number: int
    file: str
    time: str
    kind: str
    life: int = 0
    values: tuple[int, ...] = ()
    learner: int = 0
    sends: tuple[str, int] | None = None
    members: frozenset[int] = frozenset()

    @property
    def zxid(self) -> int:
        """Return the only number of the line."""
        return self.values[0]

    @property
    def place(self) -> str:
        """Return file and line."""
        return f"{self.file}:{self.number}"

    def told(self) -> str:
        """Return the line in words."""
        if self.kind == "syncs":
            high, low, last, peer = self.values
            sent = f", sends {self.sends[0]} {self.sends[1]:#x}" if self.sends else ""
            return (
                f"server {self.server} synchronizes server {self.learner}: committed log {low:#x}..{high:#x}, last "
                f"{last:#x}, the learner's last {peer:#x}{sent}"
            )
        number = f" {self.zxid}" if self.kind == "epoch" else f" {self.zxid:#x}" if self.values else ""
        return f"server {self.server}: {self.kind}{number}"


@dataclass
class ServerLines:
    """The lines of all servers.

    Attributes:
        main: by server, the lines of its main threads, in order. handled: by server, those of its LearnerHandlers.
        problems: why nothing can be said of these logs, first things first.
        releases: that servers say they are of, at their starts.
    """

    main: dict[int, list[ServerLine]] = field(default_factory=dict)
    handled: dict[int, list[ServerLine]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    releases: set[str] = field(default_factory=set)

    @property
    def servers(self) -> tuple[int, ...]:
        """Return the numbers of the servers."""
        return tuple(sorted(self.main))

    def all_of(self) -> list[ServerLine]:
        """Return all lines, by time; of one time, by server and line."""
        both = [line for lines in (*self.main.values(), *self.handled.values()) for line in lines]
        return sorted(both, key=lambda line: (line.time, line.server, line.number))


def read_server_lines(paths: Mapping[int, Path]) -> ServerLines:
    """Read the log of each server.

    Raises:
        Unreadable: one cannot be read, or is another server's; names it.
    """
    out = ServerLines()
    for number, path in sorted(paths.items()):
        try:
            if (said := number_of(path, number)) != number:
                raise Unreadable(None, f"it is the log of server {said}, not {number}")
            read_one(path, number, out)
        except Unreadable as problem:
            raise Unreadable(None, f"{path}: {problem}") from None
    return out


def read_one(path: Path, number: int, out: ServerLines) -> None:
    """Read the log of one server."""
    main = out.main.setdefault(number, [])
    handled = out.handled.setdefault(number, [])
    at_hand: dict[str, ServerLine] = {}
    life, last = -1, ""
    for place, text in lines_of(path):
        if FORCED in text:
            out.problems.append(f"{path.name}:{place}: a leader that always sends a SNAP, which the model's does not")
        if not any(hint in text for hint in HINTS):
            continue
        if (version := VERSION.search(text)) is not None:
            out.releases.add(version[1])
        kind, found = next(((k, m) for k, p in PATTERNS if (m := p.search(text)) is not None), ("", None))
        if found is None:
            continue
        said = TIME.search(text[:80])
        if said is not None:
            last = max(last, f"{said[1]} {said[2]}.{(said[3] or '0').ljust(6, '0')}")
        line = ServerLine(number, place, path.name, last, kind, max(life, 0))
        handler, thread = HANDLER.search(text), MAIN.search(text)
        if kind == "starts":
            life += 1
            line.life = life
            at_hand.clear()
        elif life < 0:
            out.problems.append(f"{path.name} does not begin with a server's start: its first lines are missing")
            life = 0
        if handler is not None:
            handled_line(kind, found, line, handler[1], at_hand, handled)
        elif thread is None:
            if kind == "snapshot":
                out.problems.append(f"{line.place}: a snapshot that another thread takes, which the model does not")
        elif (thread[1] == "main") == (kind in AT_START):  # the same text is written where a TRUNC loads the disk again
            read_values(line, found)
            main.append(line)
    if not any(line.kind == "looks" for line in main):
        out.problems.append(f"{path.name} has no election: it is not a log at INFO of a server of an ensemble")


def handled_line(
    kind: str, found: re.Match[str], line: ServerLine, thread: str, at_hand: dict[str, ServerLine],
    handled: list[ServerLine],
) -> None:  # fmt: skip
    """Take a line of a LearnerHandler: what it decides, or what it then sends."""
    if kind == "syncs":
        line.learner = int(found[1])
        line.values = tuple(int(z, 16) for z in found.groups()[1:])
        handled.append(line)
        at_hand[thread] = line
    elif kind.startswith("sends ") and thread in at_hand:
        at_hand.pop(thread).sends = kind.removeprefix("sends "), int(found[1], 16)


def read_values(line: ServerLine, found: re.Match[str]) -> None:
    if line.kind == "serves":
        line.members = frozenset(int(n) for n in re.findall(r"\d+", found[1].partition("]")[0]))
        line.values = (int(found[2], 16),)
    elif line.kind == "epoch":
        line.values = (int(found[1]),)
    elif found.groups():
        line.values = (int(found[1], 16),)
