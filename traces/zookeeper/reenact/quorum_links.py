"""Hold the packets of the quorum protocol one by one, and of election messages only the newest vote."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

from traces.zookeeper.reenact.links import Connection, Proxy, Stream, Unit
from traces.zookeeper.reenact.notifications import Greeting, NotificationReader
from traces.zookeeper.reenact.packets import ACK, OUTSIDE, UPTODATE, Packet, PacketReader
from traces.zookeeper.reenact.recording import Recording

COUNTER = (1 << 32) - 1


def counts(packet: Unit, said_uptodate: bool) -> bool:
    """Return whether a packet is one of the model's.

    Pings, packets about clients, and the second ACK(<e,0>), behind UPTODATE, which Leader.processAck ignores, are not.
    """
    assert isinstance(packet, Packet)
    if packet.kind in OUTSIDE:
        return False
    return not (packet.kind == ACK and packet.zxid & COUNTER == 0 and said_uptodate)


class FlushedProxy(Proxy):
    """Connections that let units through when something arrives or they are connected."""

    def on_unit(self, stream: Stream) -> None:
        self.flush(stream)

    def on_connected(self, connection: Connection) -> None:
        with self.recording.changed:
            self.flush(connection.up)

    def flush(self, stream: Stream) -> None:
        """Pass on what may pass, once there is a connection to send it on."""
        if stream.destination is not None:
            self.let_through(stream)

    def let_through(self, stream: Stream) -> None:
        raise NotImplementedError


class QuorumProxy(FlushedProxy):
    """The connections that a follower opens to a leader.

    Attributes:
        held: whether packets that are messages of the model wait to be let through; if not, all pass.
    """

    def __init__(self, source: int, target: int, port_behind: int, recording: Recording) -> None:
        self.held = False
        super().__init__("quorum", source, target, port_behind, recording, packets)

    def let_through(self, stream: Stream) -> None:
        """Pass on what need not wait, from the front."""
        while stream.waiting and (not self.held or not counts(stream.waiting[0], uptodate_passed(stream))):
            self.note_uptodate(stream)
            stream.let()

    def note_uptodate(self, stream: Stream) -> None:
        if isinstance(u := stream.waiting[0], Packet) and u.kind == UPTODATE:
            stream.connection.told_uptodate = True

    def model_packets(self, stream: Stream) -> list[Packet]:
        """Return the waiting packets that belong to the model."""
        with self.recording.changed:
            return [u for u in stream.waiting if isinstance(u, Packet) and counts(u, uptodate_passed(stream))]

    def let_one(self, stream: Stream) -> int:
        """Pass on the first packet of the model, with what need not wait before and after it.

        Returns:
            How many bytes were passed on up to the end of that packet.
        """
        with self.recording.changed:
            self.flush(stream)
            self.note_uptodate(stream)
            stream.let()
            sent = stream.sent
            self.flush(stream)
            return sent

    def on_end(self, stream: Stream) -> None:
        if not self.held:
            stream.connection.close()


def uptodate_passed(stream: Stream) -> bool:
    return stream.connection.told_uptodate


def packets(opened: bool) -> Callable[[bytes], list[Unit]]:
    reader = PacketReader()
    return lambda data: list(reader.feed(data))


class ElectionProxy(FlushedProxy):
    """The connections between two servers' election ports."""

    impatient = True

    def __init__(
        self, source: int, target: int, port_behind: int, recording: Recording, passes: Callable[[int, int], bool]
    ) -> None:
        self.passes = passes
        super().__init__("election", source, target, port_behind, recording, notifications)

    def let_through(self, stream: Stream) -> None:
        """Pass on what may pass; of votes that may not, keep the newest, as QuorumCnxManager does."""
        open_now = self.passes(self.source, self.target)
        while stream.waiting and (open_now or isinstance(stream.waiting[0], Greeting)):
            stream.let()
        del stream.waiting[:-1]

    def flush_all(self) -> None:
        with self.recording.changed:
            for c in self.connections:
                self.flush(c.up)
                self.flush(c.down)

    def on_connected(self, connection: Connection) -> None:
        super().on_connected(connection)
        with self.recording.changed:
            connection.connected = True
            if connection.up.ended and connection.far is not None:
                with contextlib.suppress(OSError):
                    connection.far.shutdown(socket.SHUT_WR)

    def on_end(self, stream: Stream) -> None:
        """Close both halves.

        A server with the smaller id says who it is and hangs up at once, to be called back: if the other half does not
        exist yet, what it said still has to pass.
        """
        c = stream.connection
        with self.recording.changed:
            if stream is c.up and not c.connected:
                return
        c.close()


def notifications(opened: bool) -> Callable[[bytes], list[Unit]]:
    reader = NotificationReader(opened)
    return lambda data: list(reader.feed(data))
