"""Number the messages in flight in the explorer's worlds, whose states do not hold the numbers."""

from __future__ import annotations

import marshal
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from traces.record.trace import StepWord, Transmission
from traces.record.values import carried
from zabspec.language.python.reference import MessageView, StateView
from zabspec.worlds.connections import STALE
from zabspec.worlds.datagrams import ORDERED
from zabspec.worlds.disks import done

FlightNumbers = bytes  # the attributes of a `Flight`, which are numbers, text and collections of these


class Flight(ABC):
    """Numbers messages that are sent, and identifies the message of a step."""

    @abstractmethod
    def listen(self, names: dict[str, Any], note: Callable[[Transmission], None]) -> None:
        """Record every message that a program sends, by wrapping its functions."""

    @abstractmethod
    def take_out(self, s: StateView, word: StepWord) -> Transmission | None:
        """Return the message of a step before the step is taken, and remove it from flight unless a copy stays."""

    @abstractmethod
    def settle(self, s: StateView) -> None:
        """Forget what a step lost, after it was taken."""

    def saved(self) -> FlightNumbers:
        """Return the current numbers, for `restore`."""
        return marshal.dumps(vars(self))

    def restore(self, saved: FlightNumbers) -> None:
        """Restore saved numbers."""
        vars(self).update(marshal.loads(saved))


class Connections(Flight):
    """Numbers messages over connections, in each direction of each connection."""

    def __init__(self) -> None:
        self.opened: dict[frozenset[int], int] = {}  # connections between two processes so far
        self.incarnation: dict[tuple[int, int], int] = {}  # the latest of a follower to a leader
        self.count: dict[tuple[int, int, str], int] = {}  # sent over the open connection so far
        self.queue: dict[tuple[int, int, str], list[tuple[int, int]]] = {}  # what is in flight: connection, number
        self.over: dict[int, int] = {}  # the process to which a follower opened its connection

    def listen(self, names: dict[str, Any], note: Callable[[Transmission], None]) -> None:
        keys = [done(names, name) for name in ("connect", "send_to_leader", "send_to_follower")]
        connect, send_up, send_down = (names[key] for key in keys)

        def on_connect(s: StateView, f: int, l: int) -> None:
            connect(s, f, l)
            pair = frozenset((f, l))
            self.over[f] = l
            self.incarnation[f, l] = self.opened[pair] = self.opened.get(pair, 0) + 1
            kept = {"up": len(s.to_leader[f][l]), "down": len(s.to_follower[f])}  # none, but on a stale network
            for way, length in kept.items():
                queue = self.queue.setdefault((f, l, way), [])
                numbered = self.count.get((f, l, way), 0) if s.NETWORK == STALE and f != l else 0
                self.count[f, l, way] = max(0, numbered - (len(queue) - length))
                del queue[length:]

        def on_send_up(s: StateView, f: int, m: MessageView) -> None:
            l = s.leader[f]
            length = len(s.to_leader[f][l])
            send_up(s, f, m)
            note(self._sent(f, l, "up", m, len(s.to_leader[f][l]) > length))

        def on_send_down(s: StateView, l: int, f: int, m: MessageView) -> None:
            length = len(s.to_follower[f])
            send_down(s, l, f, m)
            note(self._sent(f, l, "down", m, len(s.to_follower[f]) > length))

        names.update(zip(keys, (on_connect, on_send_up, on_send_down), strict=True))

    def _sent(self, f: int, l: int, way: str, m: MessageView, in_flight: bool) -> Transmission:
        number = 0
        if in_flight:
            number = self.count[f, l, way] = self.count[f, l, way] + 1
            self.queue[f, l, way].append((self.incarnation[f, l], number))
        source, destination = (f, l) if way == "up" else (l, f)
        connection = self.incarnation.get((f, l), 0)
        return Transmission(m.name, carried(m), source, destination, connection, number, not in_flight)

    def take_out(self, s: StateView, word: StepWord) -> Transmission | None:
        word = word.base
        row = word.row
        if not row.message:
            return None
        f, l, place = word.operands["follower"], word.operands["leader"], word.operands.get("place", 0)
        if row.message == "to_leader":
            way, m, source, destination = "up", s.to_leader[f][l][place], f, l
        else:
            way, m, source, destination = "down", s.to_follower[f][place], l, f
        queue = self.queue[f, l, way]
        connection, number = queue[place] if row.keeps else queue.pop(place)
        return Transmission(m.name, carried(m), source, destination, connection, number)

    def settle(self, s: StateView) -> None:
        """Forget what a step cleared out of a channel, which it always clears from the front."""
        for (f, l, way), queue in self.queue.items():
            left = len(s.to_leader[f][l]) if way == "up" else len(s.to_follower[f]) if self.over.get(f) == l else 0
            left += len(s.stale[f][l]) if way == "down" and s.NETWORK == STALE else 0
            del queue[: len(queue) - left]


class Datagrams(Flight):
    """Numbers datagrams, for each source and target."""

    def __init__(self) -> None:
        self.count: dict[tuple[int, int], int] = {}  # sent from one to the other so far
        self.queue: list[int] = []  # the numbers of what is in flight, place for place

    def listen(self, names: dict[str, Any], note: Callable[[Transmission], None]) -> None:
        key = done(names, "send")
        send = names[key]

        def on_send(s: StateView, p: int, q: int, m: MessageView) -> None:
            send(s, p, q, m)
            number = self.count[p, q] = self.count.get((p, q), 0) + 1
            self.queue.append(number)
            note(Transmission(m.name, carried(m), p, q, 0, number))

        names[key] = on_send

    def take_out(self, s: StateView, word: StepWord) -> Transmission | None:
        word = word.base
        if not word.row.message:
            return None
        place = word.operands["place"]
        m = s.in_flight[place]
        number = self.queue[place]
        gone = [] if word.row.keeps else [place]
        if s.NETWORK == ORDERED and not word.row.loses:
            same = [(k, x) for k, x in enumerate(s.in_flight) if (x.source, x.target) == (m.source, m.target)]
            gone += [k for k, x in same if x.ahead < m.ahead]
        self.queue = [n for k, n in enumerate(self.queue) if k not in gone]
        return Transmission(m.name, carried(m), m.source, m.target, 0, number)

    def settle(self, s: StateView) -> None:
        """Forget the datagrams that a received one overtook; others are only lost by never arriving."""
