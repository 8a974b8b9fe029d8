"""State what each release reads of a server's directories: the one table of rules for names, places and limits.

Each row names the class that decides, read at the releases' tags and held against the official servers
(`benchmarks/directories.py`). A start follows these rules in `starting.py`; nothing else repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from zabspec.zoo_cfg import SAME

KNOWN = tuple(number for numbers in SAME.values() for number in numbers)
MOST = 0x7FFFFFFF
TRIED = 100  # snapshots (FileSnap.deserialize)
TRUST_EMPTY = "zookeeper.snapshot.trust.empty"
CREATE_TREE = "zookeeper.db.autocreate"
DIGESTS, LAST_ZXID = "zookeeper.digest.enabled", "zookeeper.serializeLastProcessedZxid.enabled"
# The properties of a JVM that decide here what a start reads.
OPTIONS = ("jute.maxbuffer", "zookeeper.jute.maxbuffer.extrasize", TRUST_EMPTY, CREATE_TREE, DIGESTS, LAST_ZXID)


def version(release: str) -> tuple[int, ...]:
    """Return a release as numbers that compare; `master` is later than all."""
    return tuple(int(part) for part in release.split(".")) if release[0].isdigit() else (99,)


def parse_long(text: str, base: int = 10) -> int | None:
    """Return the number that Java's Long.parseLong reads; None if it refuses the text."""
    digits = "[0-9a-fA-F]+" if base == 16 else "[0-9]+"
    if re.fullmatch(rf"[+-]?{digits}", text, re.ASCII) is None:
        return None
    value = int(text, base)
    return value if -(1 << 63) <= value < 1 << 63 else None


def first_line(data: bytes | None) -> str:
    """Return the first line of a small file, as BufferedReader.readLine reads it."""
    return (data or b"").decode("latin-1").replace("\r\n", "\n").replace("\r", "\n").split("\n")[0]


def java_parts(name: str) -> list[str]:
    """Return the parts of a name as Java's String.split does, which drops empty ones at the end."""
    parts = name.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def zxid_in(name: str, prefix: str, most: int | None = None) -> int:
    """Return the zxid in a file's name (Util.getZxidFromName); -1 if it has none.

    Args:
        most: the number of parts that a name may have; None for any.
    """
    parts = java_parts(name)
    if len(parts) < 2 or parts[0] != prefix or len(parts) > (most or len(parts)):
        return -1
    value = parse_long(parts[1], 16)
    return -1 if value is None or value < 0 else value


def needed(names: Iterable[int], zxid: int) -> int:
    """Return the name of the first log that a start with a snapshot reads (FileTxnLog.getLogFiles)."""
    return max((name for name in names if name <= zxid), default=0)


def packing(name: str) -> str:
    """Return how a snapshot is compressed, by the last part of its name (SnapStream.getStreamMode); empty if not."""
    last = java_parts(name)[-1].lower()
    return last if last in ("gz", "snappy") else ""


@dataclass(frozen=True)
class Rules:
    """What a release reads, with certain properties of its JVM."""

    release: str
    options: tuple[tuple[str, str], ...] = ()

    @cached_property
    def version(self) -> tuple[int, ...]:
        return version(self.release)

    def option(self, name: str) -> str:
        return dict(self.options).get(name, "")

    def is_on(self, name: str) -> bool:
        return dict(self.options).get(name, "true").lower() == "true"

    @property
    def parts(self) -> int | None:
        """Return how many parts a file's name may have: `log.5.bak` is a log from 3.6.0 on (Util.getZxidFromName)."""
        return None if self.version >= (3, 6) else 2

    @property
    def reads_packed(self) -> bool:
        """Return whether snapshots may be compressed (SnapStream, 3.6.0)."""
        return self.version >= (3, 6)

    @property
    def sections(self) -> list[str]:
        """Return what a start reads of a snapshot behind its tree, each with a seal (FileSnap.deserialize)."""
        since = {DIGESTS: (3, 6), LAST_ZXID: (3, 9)}
        return [name for name, v in since.items() if self.version >= v and self.is_on(name)]

    @property
    def checks_places(self) -> bool:
        """Return whether a start refuses snapshots in the log directory and logs in the data directory.

        FileTxnSnapLog.checkLogDir, ZOOKEEPER-2967: 3.4.12 and 3.5.4.
        """
        return self.version >= (3, 5, 4) or (3, 4, 12) <= self.version < (3, 5)

    @property
    def needs_snapshot(self) -> bool:
        """Return whether logs without a snapshot are refused (FileTxnSnapLog.restore, 3.5.3)."""
        return self.version >= (3, 5, 3)

    @property
    def can_trust_empty(self) -> bool:
        """Return whether `snapshot.trust.empty` makes it replay such logs (3.5.7; 3.5.6 drops them)."""
        return self.version >= (3, 5, 7)

    @property
    def trusts_empty(self) -> bool:
        return self.version >= (3, 5, 6) and self.option(TRUST_EMPTY).lower() == "true"

    @property
    def creates_tree(self) -> bool:
        """Return whether a server without files votes, with an empty tree (FileTxnSnapLog.restore, 3.6.0)."""
        return self.version < (3, 6) or self.is_on(CREATE_TREE)

    @property
    def knows_recent(self) -> bool:
        """Return whether it reads create2, reconfig, containers and times to live (SerializeUtils.deserializeTxn)."""
        return self.version >= (3, 5)

    @property
    def deletes_empty_tail(self) -> bool:
        """Return whether a last log file of no bytes is deleted (FileTxnIterator.goToNextLog, 3.9.3)."""
        return self.version >= (3, 9, 3)

    @property
    def refuses_gaps(self) -> bool:
        """Return whether a gap inside an epoch stops a start (ZKDatabase.addCommittedProposal, 3.9.4)."""
        return self.version >= (3, 9, 4)

    @property
    def walks_log(self) -> bool:
        """Return whether a leader may send a learner what its log has for a whole tree (syncFollower, 3.5.0)."""
        return self.version >= (3, 5)

    @property
    def finishes_epoch(self) -> bool:
        """Return whether currentEpoch.tmp is taken for currentEpoch (ZOOKEEPER-4269, QuorumPeer.loadDataBase)."""
        v = self.version
        return (3, 5, 10) <= v < (3, 6) or (3, 6, 3) <= v < (3, 7) or v >= (3, 7, 1)

    @cached_property
    def longest(self) -> int:
        """Return the most bytes of a record, a path or a node's data (BinaryInputArchive.checkLength).

        `jute.maxbuffer` is 0xfffff unless set; from 3.5.7 on as much again is allowed above it, before 1,024 bytes.
        """
        most = self.integer("jute.maxbuffer", 0xFFFFF)
        if self.version < (3, 5, 7):
            return wrapped(most + 1024)
        total = most + max(1024, self.integer("zookeeper.jute.maxbuffer.extrasize", most))
        guarded = self.version >= (3, 9, 3) or (3, 8, 5) <= self.version < (3, 9)
        return min(total, MOST) if guarded else wrapped(total)

    def integer(self, name: str, default: int) -> int:
        """Return an int as Integer.getInteger reads it: decimal, hexadecimal, or octal behind a 0; else the default."""
        found = re.fullmatch(r"([+-]?)(0[xX]|#|0(?=.))?([0-9a-fA-F]+)", self.option(name))
        try:
            sign, prefix, digits = found.groups() if found is not None else ("", "", "")
            value = int(sign + digits, {None: 10, "0": 8}.get(prefix, 16))
        except ValueError:
            return default
        return value if -MOST - 1 <= value <= MOST else default


def wrapped(value: int) -> int:
    """Return a number as Java's int holds it."""
    return (value + MOST + 1) % (2 * MOST + 2) - MOST - 1


def rules_for(release: str, options: Mapping[str, str] | None = None) -> Rules:
    """Return the rules of a release, with properties of the servers' JVM."""
    return Rules(release, tuple(sorted((options or {}).items())))
