"""Read the lines of servers' own logs at INFO that concern the protocol, in the order of the thread that wrote them.

Proposals, acknowledgements and commits are not logged at INFO. A line tells what one thread of one server did; nothing
is taken from the order of lines of two threads or two servers, but as a hint of where to search first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from traces.zookeeper.server_logs.log_lines import ServerLine, read_values, recognized
from traces.zookeeper.server_logs.text_logs import is_fine, is_txn, number_of, numbered_lines, time_of
from zabspec.files import Unreadable

MAIN_LINES = (
    "starts", "loaded", "looks", "leads", "follows", "got DIFF", "got SNAP", "got TRUNC", "got NEWLEADER",
    "got UPTODATE", "snapshot", "epoch", "acknowledged", "serves",
)  # fmt: skip
VERSION = re.compile(r"Server environment:zookeeper\.version=(\d+\.\d+\.\d+)")
FORCED = "Forcing snapshot sync"  # zookeeper.forceSnapshotSync, at WARN
NAMES_RELEASE = "zookeeper.version"
HANDLER_LINES = ("syncs", "sends DIFF", "sends TRUNC", "sends SNAP")
AT_DEBUG = ("proposes", "commits")
READ = {*MAIN_LINES, *HANDLER_LINES, "notified", "joined", "observes", *AT_DEBUG}
HANDLER = re.compile(r"\[LearnerHandler-(\S+?:\d+)[:\]]")
MAIN = re.compile(r"\[(main(?=[:\]])|QuorumPeer\[)")
AT_START = ("starts", "loaded")
ONCE = {*MAIN_LINES, *HANDLER_LINES, "proposes"}  # what a thread does not write twice in a moment


@dataclass(frozen=True)
class Vote:
    """A notification that a server has received.

    Attributes:
        life: of which process of the server it is, from 0.
        sender: whose notification it is; `state`: that it has told. leader, round, epoch, zxid: its vote.
    """

    server: int
    number: int
    file: str
    time: str
    life: int
    sender: int
    state: str
    leader: int
    round: int
    epoch: int
    zxid: int

    @property
    def place(self) -> str:
        """Return file and line."""
        return f"{self.file}:{self.number}"

    def as_line(self) -> ServerLine:
        """Return it as a line of a log."""
        return ServerLine(self.server, self.number, self.file, self.time, f"vote of {self.sender}", self.life,
                          (self.zxid,))  # fmt: skip

    def told(self) -> str:
        """Return it in words."""
        return f"server {self.sender} votes for server {self.leader} with epoch {self.epoch}, {self.zxid:#x}"


@dataclass
class ServerLines:
    """The lines of all servers.

    Attributes:
        main: by server, the lines of its main threads, in order. handled: by server, those of its LearnerHandlers.
        problems: why nothing can be said of these logs, first things first.
        releases: that servers say they are of, at their starts.
        votes: the notifications that servers have received.
        transactions: what leaders propose, and servers commit: lines at DEBUG, in the order of each log.
        addresses: by server, the addresses that its leaders have of it, each with a line.
        configs: the versions of the ensemble's configuration that votes have, each with a line.
    """

    main: dict[int, list[ServerLine]] = field(default_factory=dict)
    handled: dict[int, list[ServerLine]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    releases: set[str] = field(default_factory=set)
    votes: list[Vote] = field(default_factory=list)
    transactions: list[ServerLine] = field(default_factory=list)
    addresses: dict[int, dict[str, str]] = field(default_factory=dict)
    configs: dict[int, str] = field(default_factory=dict)

    @property
    def servers(self) -> tuple[int, ...]:
        """Return the numbers of the servers."""
        return tuple(sorted(self.main))

    def all_of(self) -> list[ServerLine]:
        """Return all lines, by time; of one time, by server and line."""
        both = [line for lines in (*self.main.values(), *self.handled.values()) for line in lines]
        return sorted(both, key=lambda line: (line.time, line.server, line.number))


def read_server_lines(paths: Mapping[int, Path] | Sequence[Path]) -> ServerLines:
    """Read the logs of servers: a file can be of several servers, and a server can have several files.

    Args:
        paths: files in the order in which they were written, or the only file of each server by its number.

    Raises:
        Unreadable: one cannot be read, or is another server's; names it.
    """
    out = ServerLines()
    readers: dict[int, OneLog] = {}
    named: dict[int, Path] = dict(paths) if isinstance(paths, Mapping) else {}
    files = [] if isinstance(paths, Mapping) else list(enumerate(paths, 1))
    for place, path in files or sorted(named.items()):
        try:
            if named and (said := number_of(path, place)) != place:
                raise Unreadable(None, f"it is the log of server {said}, not {place}")
            for number, line, text in numbered_lines(path, place):
                number = place if named else number
                readers.setdefault(number, OneLog(number, out)).take(path.name, line, text)
        except Unreadable as problem:
            raise Unreadable(None, f"{path}: {problem}") from None
    for number in named:
        readers.setdefault(number, OneLog(number, out))
    for number, reader in sorted(readers.items()):
        if not any(line.kind == "looks" for line in reader.main):
            file = f"{named[number].name}" if named else f"what server {number} logged"
            out.problems.append(f"{file} has no election: it is not a log at INFO of a server of an ensemble")
    if len(out.configs) > 1:
        places = " and ".join(f"{version:#x} ({place})" for version, place in sorted(out.configs.items())[:2])
        out.problems.append(f"there are votes of the configurations {places}: the model has no reconfiguration")
    return out


class OneLog:
    """Reads the lines of one server, which may be in several files."""

    def __init__(self, number: int, out: ServerLines) -> None:
        self.number, self.out = number, out
        self.main = out.main.setdefault(number, [])
        self.handled = out.handled.setdefault(number, [])
        self.at_hand: dict[str, ServerLine] = {}
        self.seen: dict[int, str] = {}
        self.life, self.last = -1, ""

    def take(self, file: str, place: int, text: str) -> None:
        """Take the next line."""
        out, number = self.out, self.number
        if FORCED in text:
            out.problems.append(f"{file}:{place}: a leader that always sends a SNAP, which the model's does not")
        if NAMES_RELEASE in text and (version := VERSION.search(text)) is not None:
            out.releases.add(version[1])
        told = recognized(text)
        if told is None or told[0].kind not in READ:
            return
        kind, found = told[0].kind, told[1].groupdict()
        if (said := time_of(text)) is not None:
            self.last = max(self.last, said)
        timed = said == self.last and is_fine(text)
        line = ServerLine(number, place, file, self.last, kind, max(self.life, 0), is_timed=timed)
        if kind in ONCE and is_fine(text) and (first := self.seen.setdefault(hash(text), line.place)) != line.place:
            out.problems.append(f"{line.place} is line {first.rpartition(':')[2]} again: the file has lines twice")
        if kind == "notified":
            out.votes.append(vote_of(line, found))
            if found["config"]:
                out.configs.setdefault(int(found["config"], 16), line.place)
        elif kind == "observes":
            out.problems.append(f"{line.place}: server {number} is an observer, which conform does not support")
        elif kind == "joined":
            out.addresses.setdefault(int(found["sid"] or 0), {}).setdefault(found["address"] or "", line.place)
        elif kind in AT_DEBUG:
            read_values(line, found)
            if is_txn(line.zxid):
                out.transactions.append(line)
        else:
            self.threaded(line, found, text)

    def threaded(self, line: ServerLine, found: Mapping[str, str | None], text: str) -> None:
        """Take a line of the main thread, or of a LearnerHandler."""
        handler, thread, kind = HANDLER.search(text), MAIN.search(text), line.kind
        if kind == "starts" and (thread is None or thread[1] != "main"):
            return  # the same text at DEBUG, by the thread that is started
        if kind == "starts":
            self.life += 1
            line.life = self.life
            self.at_hand.clear()
        elif self.life < 0:
            self.out.problems.append(f"{line.file} does not begin with a server's start: its first lines are missing")
            self.life = 0
        if handler is not None:
            handled_line(kind, found, line, handler[1], self.at_hand, self.handled)
        elif thread is None:
            if kind == "snapshot":
                self.out.problems.append(f"{line.place}: a snapshot by another thread, which the model does not take")
        elif (thread[1] == "main") == (kind in AT_START):  # the same text is written where a TRUNC loads the disk again
            if read_values(line, found):
                if kind == "looks" and self.main and self.main[-1].kind == "starts":
                    # 3.5 does not log what it has loaded, but votes for it
                    self.main.append(replace(line, kind="loaded"))
                self.main.append(line)


def handled_line(
    kind: str, found: Mapping[str, str | None], line: ServerLine, thread: str, at_hand: dict[str, ServerLine],
    handled: list[ServerLine],
) -> None:  # fmt: skip
    """Take a line of a LearnerHandler: what it decides, or what it then sends."""
    if kind == "syncs":
        line.learner = int(found["sid"] or 0)
        line.values = tuple(int(found[name] or "0", 16) for name in ("high", "low", "last", "peer"))
        handled.append(line)
        at_hand[thread] = line
    elif kind.startswith("sends ") and thread in at_hand and found["zxid"]:
        if found.get("sid") and int(found["sid"] or 0) != at_hand[thread].learner:
            return  # of another handler, whose first line is missing
        syncs, sent = at_hand.pop(thread), kind.removeprefix("sends ")
        if sent == "TRUNC" and not syncs.values[3] & 0xFFFFFFFF:
            # Up to 3.8, queueCommittedProposals writes TRUNC where it sends DIFF, to a learner at <epoch, 0>. There
            # it never sends TRUNC.
            sent = "DIFF"
        syncs.sends = sent, int(found["zxid"], 16)


def vote_of(line: ServerLine, found: Mapping[str, str | None]) -> Vote:
    """Return the notification in a line."""
    sender, state, leader = int(found["sid"] or 0), found["state"] or "", int(found["leader"] or 0)
    round_, epoch, zxid = (int(found[name] or "0", 16) for name in ("round", "epoch", "zxid"))
    return Vote(line.server, line.number, line.file, line.time, line.life, sender, state, leader, round_, epoch, zxid)
