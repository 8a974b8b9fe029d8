"""Parse the packets of ZooKeeper's quorum protocol from a stream that comes in pieces.

A packet is jute's QuorumPacket: type, zxid, data, authinfo. Behind a SNAP the tree is streamed, up to the signature
that Learner.syncWithLeader looks for. Source: zookeeper.jute, Leader, LearnerHandler, Learner at release-3.4.10 to
3.9.5.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

PROPOSAL, ACK, COMMIT, NEWLEADER, FOLLOWERINFO, UPTODATE, DIFF, TRUNC, SNAP = 2, 3, 4, 10, 11, 12, 13, 14, 15
INFORM, OBSERVERINFO, LEADERINFO, ACKEPOCH = 8, 16, 17, 18
NAMES = {
    1: "REQUEST", PROPOSAL: "PROPOSAL", ACK: "ACK", COMMIT: "COMMIT", 5: "PING", 6: "REVALIDATE", 7: "SYNC",
    INFORM: "INFORM", 9: "COMMITANDACTIVATE", NEWLEADER: "NEWLEADER", FOLLOWERINFO: "FOLLOWERINFO",
    UPTODATE: "UPTODATE", DIFF: "DIFF", TRUNC: "TRUNC", SNAP: "SNAP", OBSERVERINFO: "OBSERVERINFO",
    LEADERINFO: "LEADERINFO", ACKEPOCH: "ACKEPOCH", 19: "INFORMANDACTIVATE",
}  # fmt: skip
INFOS = frozenset({FOLLOWERINFO, OBSERVERINFO, LEADERINFO})  # what is in them is an epoch
OUTSIDE = frozenset({1, 5, 6, 7})  # what the model has not: of clients, and what shows that a peer is there

SIGNATURE = b"\0\0\0\x0aBenWasHere"
LONGEST = 1 << 26  # the most bytes of data, or of a string, that are accepted
MOST_IDS = 1 << 10
MOST_TREE = 1 << 28


class Malformed(ValueError):
    """A stream is not of the expected protocol; the message says what it contains instead."""


@dataclass(frozen=True)
class Packet:
    """A packet of a quorum connection.

    Attributes:
        kind: its type.
        data: what it carries; None for jute's null.
        auth: scheme and id of the client from which it comes.
        raw: its bytes as they came; of a SNAP with the tree that follows.
    """

    kind: int
    zxid: int
    data: bytes | None
    auth: tuple[tuple[str, str], ...]
    raw: bytes

    @property
    def name(self) -> str:
        return NAMES.get(self.kind, f"type {self.kind}")

    @property
    def number(self) -> int | None:
        """Return the currentEpoch in an ACKEPOCH (-1 if it must not be counted), or None if it carries none."""
        return struct.unpack(">i", self.data)[0] if self.data is not None and len(self.data) == 4 else None

    def told(self) -> str:
        """Return the packet as a line of a list."""
        more = f" current={self.number}" if self.kind == ACKEPOCH else ""
        tree = f" and a tree, {len(self.raw)} bytes in all" if self.kind == SNAP else ""
        return f"{self.name} {self.zxid:#x}{more}{tree}"


class _Short(Exception):
    """The packet is incomplete so far."""


class _Cursor:
    """Reads values that jute wrote, from a position on."""

    def __init__(self, data: bytearray) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise _Short
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def length(self, most: int, what: str) -> int:
        """Return a length; -1 for null.

        Raises:
            Malformed: the length is negative or above `most`.
        """
        count = self.number()
        if not -1 <= count <= most:
            raise Malformed(f"{what} of {count}")
        return count

    def buffer(self, what: str) -> bytes | None:
        count = self.length(LONGEST, what)
        return None if count < 0 else self.take(count)


class PacketReader:
    """Cuts a stream into packets."""

    def __init__(self) -> None:
        self.rest = bytearray()
        self.searched = 0

    def feed(self, data: bytes) -> list[Packet]:
        """Return the packets that these bytes complete.

        Raises:
            Malformed: the stream is not of the quorum protocol.
        """
        self.rest += data
        out = []
        while self.rest:
            try:
                packet = self.one()
            except _Short:
                break
            del self.rest[: len(packet.raw)]
            self.searched = 0
            out.append(packet)
        return out

    def one(self) -> Packet:
        c = _Cursor(self.rest)
        kind = c.number()
        if kind not in NAMES:
            raise Malformed(f"a packet of type {kind}")
        zxid = int.from_bytes(c.take(8), "big", signed=True)
        data = c.buffer("data")
        auth = []
        for _ in range(c.length(MOST_IDS, "a list of ids")):
            pair = [(c.buffer("a text") or b"").decode(errors="replace") for _ in range(2)]
            auth.append((pair[0], pair[1]))
        end = c.at if kind != SNAP else self.end_of_tree(c.at)
        return Packet(kind, zxid, data, tuple(auth), bytes(self.rest[:end]))

    def end_of_tree(self, start: int) -> int:
        """Return the end of the tree's signature; a znode that contains the same bytes would be mistaken for it."""
        found = self.rest.find(SIGNATURE, max(start, self.searched - len(SIGNATURE)))
        if found >= 0:
            return found + len(SIGNATURE)
        if len(self.rest) > MOST_TREE:
            raise Malformed("a tree without an end")
        self.searched = len(self.rest)
        raise _Short
