"""Listening to a simulator in the CPython world: which handlers run, and what they tell their world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traces.abstraction import Stage
from traces.notes import Notes
from traces.trace import Transmission
from traces.values import carried
from zabspec.language.reference import MessageView, StateView
from zabspec.simulator.connections import UP

__all__ = ["HANDLERS", "Call", "Listener"]

# What a protocol does when something happens to a process, which is the second parameter of each but the last: that
# is the environment's.
HANDLERS = (
    "on_start", "on_abcast", "on_crash", "on_recovery", "on_oracle", "receive_as_leader", "receive_as_follower",
    "on_follower_lost", "on_leader_lost", "on_timeout", "on_message", "on_timer", "on_act", "on_change",
)  # fmt: skip

Call = tuple[str, tuple[int, ...]]  # a handler and the processes it was given


class Listener:
    """Notes what a simulator in the CPython world does: which handlers run, and what they say.

    Attributes:
        notes: what the handlers told their world.
        calls: the handlers that ran, but for those called by others.
        received: the message that a handler was given last.
        dropped: what a lossy network lost when it was sent: follower, leader, whether to the leader,
            and its number.
        crashed_inside: a handler was told to crash at one of its durable points.
        numbers: of each datagram in flight, by slot, its place among all that was sent from its
            source to its target.
    """

    def __init__(self, names: dict[str, Any], stage: Stage) -> None:
        self.names = names
        self.connections = stage.parts_of.connections
        self.world = stage.parts_of.world
        self.notes = Notes()
        self.clear()
        self.numbers: dict[int, int] = {}
        self.count: dict[tuple[int, int], int] = {}
        self.process = -1  # whose handler runs
        self.posted = -1  # the slot of what was sent last
        layout = stage.program.layout
        self.base, (self.stride,) = layout.strides(layout.fields["flight"])
        self.notes.listen(names, stage.parts.txn, lambda _: self.process)
        for name in HANDLERS:
            names[name] = self.handler(name, names[name])
        names["post"] = self.poster(names["post"])
        names["durable"] = self.durable(names["durable"])
        if self.connections:
            names["send_to_leader"] = self.sender(names["send_to_leader"], True)
            names["send_to_follower"] = self.sender(names["send_to_follower"], False)
        else:
            names["send"] = self.datagram_sender(names["send"])

    def clear(self) -> None:
        """Begin to note anew."""
        self.notes.clear()
        self.calls: list[Call] = []
        self.received: Transmission | None = None
        self.crashed_inside: bool = False
        self.dropped: list[tuple[int, int, bool, int]] = []

    def handler(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        """A handler that is listened to."""

        def handle(s: StateView, p: int, *rest: Any) -> Any:
            if self.process >= 0:
                return inner(s, p, *rest)
            self.process = p
            self.begins(s, name, p, rest)
            try:
                result = inner(s, p, *rest)
            finally:
                self.process = -1
            self.ends(s)
            return result

        return handle

    def begins(self, s: StateView, name: str, p: int, rest: tuple[Any, ...]) -> None:
        """A handler begins."""
        self.calls.append((name, (int(p), *(int(x) for x in rest if isinstance(x, int)))))
        for m in rest:
            if isinstance(m, MessageView):
                self.received = self.transmission(m)

    def ends(self, s: StateView) -> None:
        """A handler has ended."""

    def transmission(self, m: MessageView) -> Transmission:
        """A message that lies in the simulator's memory, with its number."""
        if self.connections:
            up = m.way == UP
            source, target = (m.follower, m.leader) if up else (m.leader, m.follower)
            return Transmission(m.name, carried(m), source, target, m.connection, m.number)
        slot = (m.at - self.base) // self.stride
        return Transmission(m.name, carried(m), m.source, m.target, 0, self.numbers.get(slot, 0))

    def poster(self, inner: Callable[..., int]) -> Callable[..., int]:
        """`post`, listened to."""

        def post(s: StateView, *rest: Any) -> int:
            self.posted = inner(s, *rest)
            return self.posted

        return post

    def durable(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        """`durable`, listened to."""

        def durable(s: StateView, point: int) -> bool:
            crashes = inner(s, point)
            self.crashed_inside = self.crashed_inside or crashes
            return crashes

        return durable

    def sender(self, inner: Callable[..., None], up: bool) -> Callable[..., None]:
        """`send_to_leader` or `send_to_follower`, listened to."""

        def send(s: StateView, p: int, *rest: Any) -> None:
            f, l = (p, s.leader[p]) if up else (rest[0], p)
            self.posted = -1
            inner(s, p, *rest)
            if self.posted >= 0:
                self.notes.sends(self.transmission(s.flight[self.posted]))
                return
            m = rest[-1]
            source, target = (f, l) if up else (l, f)
            connection = s.connection[f][l] if l >= 0 else 0
            number = 0
            if l >= 0 and self.names["is_open"](s, f, l):  # lost by the network, when it had been sent
                number = (s.sent_up if up else s.sent_down)[f][l]
                self.dropped.append((f, l, up, number))
            self.notes.sends(Transmission(m.name, carried(m), source, target, connection, number, number == 0))

        return send

    def datagram_sender(self, inner: Callable[..., None]) -> Callable[..., None]:
        """`send`, listened to."""

        def send(s: StateView, p: int, q: int, m: MessageView) -> None:
            self.posted = -1
            inner(s, p, q, m)
            number = self.count[p, q] = self.count.get((p, q), 0) + 1
            lost = self.posted < 0
            if not lost:
                self.numbers[self.posted] = number
            self.notes.sends(Transmission(m.name, carried(m), p, q, 0, number, lost))

        return send
