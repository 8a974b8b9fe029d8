"""The world of datagrams (section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zabspec.second.kinds import Fault, Int, Kind, Letter, canonical
from zabspec.second.state import NODE, Field, Role, part
from zabspec.second.world import Step, World

NETWORKS = ("datagrams", "ordered", "fifo")
UNORDERED, ORDERED, FIFO = range(3)


class Flight(Kind):
    """The bag of messages in flight: a sorted tuple of `(source, target, ahead, message)` (D2)."""

    low = ()
    bag = True

    def __init__(self, messages: Any) -> None:
        self.messages = messages

    def same(self, value: tuple) -> tuple:
        return tuple(sorted(value))

    def view(self, cells: Any, index: int, wrote: Any = None) -> list[Letter]:
        return [self.letter(entry) for entry in cells[index]]

    def letter(self, entry: tuple) -> Letter:
        """Return a message in flight as protocols see it."""
        source, target, ahead, raw = entry
        return Letter(self.messages.by_name[raw[0]], raw, source, target, ahead)

    def plain(self, value: tuple) -> list[dict[str, Any]]:
        flight = [
            {**self.messages.plain(raw), "source": source, "target": target, "ahead": ahead}
            for source, target, ahead, raw in value
        ]
        return sorted(flight, key=canonical)


class Datagrams(World):
    """A model over datagrams."""

    BUDGETS = ("timeouts", "heartbeats", "crashes", "drops", "duplicates")

    def network_fields(self) -> list[Field]:
        self.flight = Flight(self.model.messages)
        fields = [part("in_flight", self.flight, Role.NETWORK, "network")]
        if self.model.network != UNORDERED:
            fields.append(part("in_line", Int(0, self.model.up).derive(), Role.NETWORK, "network", NODE, NODE))
        return fields

    def in_flight(self, s: Any) -> Iterator[Letter]:
        return iter(s.in_flight)

    def do_send(self, p: int, q: int, m: Letter) -> None:
        """Send m from p to q (D1)."""
        self.process(p)
        self.process(q)
        place = self.layout.offset["in_flight"]
        flight = self.cells[place]
        if len(flight) >= self.model.up:
            raise Fault(f"more than {self.model.up} messages in flight", capacity=True)
        ahead = 0
        if self.model.network != UNORDERED:
            ahead = self.s.in_line[p][q]
            self.s.in_line[p][q] = ahead + 1
        self.cells[place] = (*flight, (p, q, ahead, self.model.messages.store(m)))
        self.point()

    def network_steps(self) -> Iterator[Step]:
        up = [self.up(p) for p in range(self.n)]
        flight = self.cells[self.layout.offset["in_flight"]]
        for entry in dict.fromkeys(flight):
            source, target, ahead, _ = entry
            letter = self.flight.letter(entry)
            first = self.model.network != FIFO or ahead == 0
            if up[target] and first and self.ask("receivable", True, target, source, letter):
                receive = lambda e=entry, m=letter: self.receive(e, m)  # noqa: E731
                yield Step("receive", 17, receive, target, source, letter, fails=True)
                if self.has_left("duplicates"):
                    repeat = lambda e=entry, m=letter: self.repeat(e, m)  # noqa: E731
                    yield Step("repeat", 23, repeat, target, source, letter, fails=True)
            if self.has_left("drops"):
                yield Step("drop", 22, lambda e=entry: (self.spend("drops"), self.take(e)), target, source)
        timers = ((0, "timeouts", "election_timeout", 18), (1, "heartbeats", "heartbeat", 19))
        for timer, budget, label, number in timers:
            for p in range(self.n):
                if up[p] and self.has_left(budget) and self.ask("timer_armed", False, p, timer):
                    fire = lambda p=p, t=timer, b=budget: (self.spend(b), self.handle("on_timer", p, t))  # noqa: E731
                    yield Step(label, number, fire, p, fails=True)

    def change_line(self, entry: tuple, lost: int, reduce: int, keep: Any) -> None:
        """Remove one occurrence of `entry`, those of its line that `keep` refuses, and reduce the rest's `ahead`."""
        source, target, ahead, _ = entry
        place = self.layout.offset["in_flight"]
        rest = list(self.cells[place])
        rest.remove(entry)
        if self.model.network != UNORDERED:
            self.s.in_line[source][target] -= lost
            rest = [
                (source, target, e[2] - (reduce if e[2] > ahead else 0), e[3]) if e[:2] == (source, target) else e
                for e in rest
                if e[:2] != (source, target) or keep(e[2])
            ]
        self.cells[place] = tuple(rest)

    def take(self, entry: tuple) -> None:
        """Take a message without overtaking (D4)."""
        self.change_line(entry, 1, 1, lambda ahead: True)

    def receive(self, entry: tuple, letter: Letter) -> None:
        """Take a message, on `ordered` lose those before it, and handle it (D4, D5, D7)."""
        place = entry[2]
        if self.model.network == ORDERED:
            self.change_line(entry, place + 1, place + 1, lambda ahead: ahead > place)
        else:
            self.take(entry)
        self.deliver(entry, letter)

    def repeat(self, entry: tuple, letter: Letter) -> None:
        """Handle a message that stays in flight (D6)."""
        self.spend("duplicates")
        source, target, place, raw = entry
        if self.model.network == ORDERED:
            self.change_line(entry, place, place, lambda ahead: ahead > place)
            self.cells[self.layout.offset["in_flight"]] += ((source, target, 0, raw),)
        self.deliver(entry, letter)

    def deliver(self, entry: tuple, m: Letter) -> None:
        """Run the handler of a message."""
        source, p = entry[0], entry[1]
        if self.has("on_message"):
            self.handle("on_message", p, source, m)
            return
        self.point()
        takes = self.receivers.get((4, m.kind)) or self.receivers.get((3, m.kind))
        if takes is not None and p not in self.takes(takes):
            return
        if (4, m.kind) in self.receivers:
            self.receivers[4, m.kind](self.s, p, source, m)
        elif (3, m.kind) in self.receivers:
            self.receivers[3, m.kind](self.s, p, m)
