"""Parse the election messages between two servers from a stream that comes in pieces.

QuorumCnxManager's first message, of the side that opened the connection, then votes, each behind its length. Source:
QuorumCnxManager, FastLeaderElection at release-3.4.10 to 3.9.5.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from traces.zookeeper.reenact.wire.packets import Malformed

LOOKING, FOLLOWING, LEADING, OBSERVING = range(4)
STATES = ("LOOKING", "FOLLOWING", "LEADING", "OBSERVING")
VERSIONS = (-65536, -65535)
MOST_ADDRESS = 1 << 12
MOST_VOTE = 1 << 16
VOTE = struct.Struct(">iqqqq")


@dataclass(frozen=True)
class Greeting:
    """The first message of the server that opened an election connection.

    Attributes:
        version: of the protocol; 0 for that of 3.4, in which a server only says its id.
        address: where its election port is, as it says.
    """

    version: int
    server: int
    address: str
    raw: bytes


@dataclass(frozen=True)
class Vote:
    """A notification of the leader election: a vote.

    Attributes:
        state: the state of the sender.
        leader: the server for which it votes.
        zxid, epoch: that server's last zxid and currentEpoch, as the sender believes.
        round: the round of the election.
    """

    state: int
    leader: int
    zxid: int
    round: int
    epoch: int
    raw: bytes

    def told(self) -> str:
        return f"{STATES[self.state]}, for {self.leader}: zxid {self.zxid:#x}, epoch {self.epoch}, round {self.round}"


class NotificationReader:
    """Cuts a stream into messages.

    Args:
        opened: whether the stream comes from the server that opened the connection, which begins with its id.
    """

    def __init__(self, opened: bool) -> None:
        self.greets, self.rest = opened, b""

    def feed(self, data: bytes) -> list[Greeting | Vote]:
        """Return the messages that these bytes complete.

        Raises:
            Malformed: the stream is not of the election protocol.
        """
        self.rest += data
        out: list[Greeting | Vote] = []
        while (found := self.greeting() if self.greets else self.vote()) is not None:
            self.greets = False
            self.rest = self.rest[len(found.raw) :]
            out.append(found)
        return out

    def greeting(self) -> Greeting | None:
        if len(self.rest) < 8:
            return None
        (first,) = struct.unpack_from(">q", self.rest)
        if first >= 0:
            return Greeting(0, first, "", self.rest[:8])
        if first not in VERSIONS:
            raise Malformed(f"a greeting of version {first}")
        if len(self.rest) < 20:
            return None
        server, length = struct.unpack_from(">qi", self.rest, 8)
        if not 0 <= length <= MOST_ADDRESS:
            raise Malformed(f"an address of {length} bytes")
        if len(self.rest) < 20 + length:
            return None
        address = self.rest[20 : 20 + length].decode(errors="replace")
        return Greeting(first, server, address, self.rest[: 20 + length])

    def vote(self) -> Vote | None:
        if len(self.rest) < 4:
            return None
        (length,) = struct.unpack_from(">i", self.rest)
        if not 28 <= length <= MOST_VOTE:
            raise Malformed(f"a notification of {length} bytes")
        if len(self.rest) < 4 + length:
            return None
        raw = self.rest[: 4 + length]
        state, leader, zxid, turn, epoch = VOTE.unpack((raw[4:] + bytes(8))[: VOTE.size])
        if not 0 <= state < len(STATES):
            raise Malformed(f"a notification of state {state}")
        return Vote(state, leader, zxid, turn, epoch if length >= VOTE.size else zxid >> 32, raw)
