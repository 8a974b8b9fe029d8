"""The lines of servers' own logs that concern the protocol: one table, with the releases that write each line.

The texts and the releases are those of ZooKeeper's sources, 3.4.0 to 3.9.5. A line is recognized by its message alone,
whatever the pattern of the log; `level` is the level at which servers write it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[,.](\d{1,6}))?")
MYID = re.compile(r"\[?myid[:=](\d{1,9})\b")
HEX = r"[0-9a-fA-F]{1,16}"
ZXID = rf"0x(?P<zxid>{HEX})"
STATES = "LOOKING|FOLLOWING|LEADING|OBSERVING"
INFO, DEBUG = "INFO", "DEBUG"
ALWAYS = (("3.4.0", ""),)
SINCE_35 = (("3.5.0", ""),)
SINCE_36 = (("3.6.0", ""),)
OF_4785 = (("3.8.5", "3.9.0"), ("3.9.2", ""))  # the releases with ZOOKEEPER-4785


@dataclass(frozen=True)
class LoggedLine:
    """A line that servers write.

    Attributes:
        kind: what it tells.
        hint: a text that each such line has: lines with no hint of any kind are not searched.
        pattern: of the message; its named groups are the line's numbers.
        releases: that write it: pairs of the first one, and of the first that no longer does (empty: none).
        level: at which it is written.
    """

    kind: str
    hint: str
    pattern: re.Pattern[str]
    releases: tuple[tuple[str, str], ...] = ALWAYS
    level: str = INFO


@dataclass
class ServerLine:
    """A line of a server's log that the table has.

    Attributes:
        time: its own; if it has none, that of the line before. number: in its file, from 1.
        life: of which process of its server it is, from 0.
        values: numbers of the line: zxids as servers write them, or an epoch.
        learner: of `syncs`, `sends DIFF` and `sends TRUNC`: the server that is synchronized.
        sends: of `syncs`: the kind and zxid sent to it; None: not logged.
        members: of `serves`: whose acknowledgements of NEWLEADER were counted.
        took: of `leads` and `follows`: milliseconds since the vote; -1: not logged.
        phase: of `phase`: its name.
        is_timed: whether its time is its own, finer than seconds, and not before that of a line above it.
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
    took: int = -1
    phase: str = ""
    is_timed: bool = True

    @property
    def zxid(self) -> int:
        """Return the only number of the line."""
        return self.values[0]

    @property
    def value(self) -> int:
        """Return the first number of the line; -1 if it has none."""
        return self.values[0] if self.values else -1

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


def line(
    kind: str, hint: str, pattern: str, releases: tuple[tuple[str, str], ...] = ALWAYS, level: str = INFO
) -> LoggedLine:  # fmt: skip
    """Return a row of the table."""
    return LoggedLine(kind, hint, re.compile(pattern), releases, level)


# The first row that matches counts.
TABLE: tuple[LoggedLine, ...] = (
    line("proposes", "Proposing::", rf"Proposing:: ?.*?\bzxid:{ZXID}", level=DEBUG),
    line("commits", "Committing request", rf"Committing request:: ?.*?\bzxid:{ZXID}", level=DEBUG),
    line("notified", "Notification: ",
         rf"Notification: my state:(?P<mine>{STATES}); n\.sid:(?P<sid>\d+), n\.state:(?P<state>{STATES}), "
         rf"n\.leader:(?P<leader>-?\d+), n\.round:0x(?P<round>{HEX}), n\.peerEpoch:0x(?P<epoch>{HEX}), "
         rf"n\.zxid:{ZXID}(?:.*?\bn\.config version:0x(?P<config>{HEX}))?", SINCE_36),
    line("notified", "Notification: ",
         rf"Notification: [0-9a-f]+ \(message format version\), (?P<leader>-?\d+) \(n\.leader\), {ZXID} \(n\.zxid\), "
         rf"0x(?P<round>{HEX}) \(n\.round\), (?P<state>{STATES}) \(n\.state\), (?P<sid>\d+) \(n\.sid\), "
         rf"0x(?P<epoch>{HEX}) \(n\.peerEPoch\), (?P<mine>{STATES}) \(my state\)"
         rf"(?:(?P<config>{HEX}) \(n\.config version\))?",
         (("3.5.0", "3.6.0"),)),
    line("serves", "Have quorum",
         rf"Have quorum of supporters(?:, sids: \[(?P<sids>[^\]]*).*?\]; starting up)?"
         rf".*?setting last processed zxid: {ZXID}"),
    line("is looking", "LOOKING", r"(?:-|INFO) +LOOKING\b(?!.*Notification)"),
    line("looks", "New election", rf"New election\. My id = +\d+, proposed zxid={ZXID}"),
    line("leads", "ELECTION TOOK", r"\bLEADING - LEADER ELECTION TOOK(?: - (?P<took>\d{1,9}))?"),
    line("follows", "ELECTION TOOK", r"\bFOLLOWING - LEADER ELECTION TOOK(?: - (?P<took>\d{1,9}))?"),
    line("phase", "Peer state", r"Peer state changed: (?P<phase>\w[\w -]*\w)", (("3.5.10", "3.6.0"), ("3.6.0", ""))),
    line("syncs", "Synchronizing with",
         rf"Synchronizing with (?:Learner|Follower) sid: ?(?P<sid>\d+) maxCommittedLog=0x(?P<high>{HEX}) "
         rf"minCommittedLog=0x(?P<low>{HEX}) lastProcessedZxid=0x(?P<last>{HEX}) peerLastZxid=0x(?P<peer>{HEX})",
         SINCE_35),
    line("joined", "Follower sid", r"Follower sid: ?(?P<sid>\d+) : info : (?P<address>\S+)"),
    line("got DIFF", "Getting a", rf"Getting a diff from the leader {ZXID}"),
    line("got SNAP", "Getting a", rf"Getting a snapshot from (?:the )?leader(?: {ZXID})?"),
    line("got TRUNC", "Truncating", rf"Truncating log to get in sync with the leader {ZXID}"),
    line("sends DIFF", "Sending", rf"Sending DIFF zxid={ZXID} +for peer sid: ?(?P<sid>\d+)", SINCE_35),
    line("sends TRUNC", "Sending", rf"Sending TRUNC zxid={ZXID} +for peer sid: ?(?P<sid>\d+)", SINCE_35),
    line("sends TRUNC", "Sending", rf"Sending TRUNC to follower zxidToSend={ZXID} +for peer sid: ?(?P<sid>\d+)",
         SINCE_35, DEBUG),
    line("sends SNAP", "Sending",
         rf"Sending snapshot last zxid of peer is 0x{HEX}(?:.*?sen[dt] zxid of db as {ZXID})?"),
    line("got NEWLEADER", "Learner received", r"Learner received NEWLEADER message", SINCE_35),
    line("persisted", "persist", r"txns have been persisted and it took", (("3.8.5", "3.9.0"), ("3.9.2", "3.9.3"))),
    line("persisted", "persist", r"ms to persist and commit txns", (("3.9.3", ""),)),
    line("epoch", "Set the current", r"Set the current epoch to (?P<epoch>\d{1,18})", OF_4785),
    line("acknowledged", "Sent NEWLEADER", r"Sent NEWLEADER ack to leader(?: with zxid (?P<zxid>[0-9a-fA-F]{1,16})\b)?",
         OF_4785),
    line("got UPTODATE", "Learner received", r"Learner received UPTODATE message", SINCE_35),
    line("snapshot", "Snapshotting", rf"Snapshotting: {ZXID} to "),
    line("loaded", "Snapshot loaded", rf"Snapshot loaded in .*?highest zxid is {ZXID}", SINCE_36),
    line("observes", "OBSERVING", r"(?:-|INFO) +OBSERVING\b"),
    line("starts", "Starting quorum", r"Starting quorum peer"),
    line("starts up", "QuorumPeerMain", r"QuorumPeerMain.*Starting"),
    line("binds", "binding to", r"binding to port"),
)  # fmt: skip
HINTS = tuple(dict.fromkeys(row.hint for row in TABLE))


def recognized(text: str) -> tuple[LoggedLine, re.Match[str]] | None:
    """Return the row of a log's line, with the numbers found in it, or None."""
    if not any(hint in text for hint in HINTS):
        return None
    for row in TABLE:
        if row.hint in text and (found := row.pattern.search(text)) is not None:
            return row, found
    return None


def read_values(line: ServerLine, found: Mapping[str, str | None]) -> bool:
    """Read what a line names; return whether it names all that releases write in it.

    Args:
        found: the groups of its pattern.
    """
    line.members = frozenset(int(n) for n in re.findall(r"\d+", found.get("sids") or ""))
    line.took, line.phase = int(found.get("took") or -1), found.get("phase") or ""
    if line.kind.startswith("sends "):
        line.learner = int(found.get("sid") or 0)
    number = int(found["epoch"] or "0") if line.kind == "epoch" else int(found.get("zxid") or "-1", 16)
    line.values = (number,) if number >= 0 else ()
    return all(found.get(name, "") is not None for name in ("sids", "zxid"))


def written_by(release: str, kind: str) -> bool:
    """Return whether a release writes lines of a kind at INFO."""
    return any(is_in(release, row) for row in TABLE if row.kind == kind and row.level == INFO)


def is_in(release: str, row: LoggedLine) -> bool:
    """Return whether a release writes a row's lines."""
    number = numbers_of(release)
    return any(numbers_of(a) <= number and (not b or number < numbers_of(b)) for a, b in row.releases)


def numbers_of(release: str) -> tuple[int, ...]:
    """Return a release's number so that it can be compared."""
    return tuple(int(part) for part in re.findall(r"\d+", release))
