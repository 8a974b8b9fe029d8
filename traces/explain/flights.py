"""Find the fate of every message that a run sent: received or lost by which step, or still in flight.

A trace says what each step sent and received, and its states what is in flight after it. A message that is in flight
no longer and was not received was lost by that step: with its connection, in a fault, or overtaken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from traces.record.trace import JsonState, Step, Trace, Transmission


class Fate(Enum):
    """The fate of a message; the values appear in reports."""

    RECEIVED = "received"
    COPIED = "received, and a copy of it stays in flight"
    IN_FLIGHT = "still in flight when the run ends"
    OVERTAKEN = "overtaken by a later message, and so lost"
    DROPPED = "dropped by the network"
    LOST = "lost in flight"
    REFUSED = "lost: the connection is not open"


@dataclass(frozen=True)
class Flight:
    """A message and its fate.

    Attributes:
        message: the message.
        sent: the step that sent it; 0 if it was in flight before the first step.
        ended: the step that received or lost it; None if it is in flight when the run ends.
        fate: its fate.
    """

    message: Transmission
    sent: int
    ended: int | None
    fate: Fate


def flights(trace: Trace) -> list[Flight]:
    """Return every message of a run in the order of sending; a message received twice appears twice."""
    out: list[tuple[int, Flight]] = []
    waiting: list[tuple[int, int, Transmission]] = []  # which of all it is, the step that sent it, and it
    count = 0

    def ends(at: int, number: int | None, fate: Fate, stays: bool = False) -> None:
        place, sent, m = waiting[at] if stays else waiting.pop(at)
        out.append((place, Flight(m, sent, number, fate)))

    for step in trace.steps:
        m, row = step.message, step.word.row
        if m is not None:
            at = next((k for k, (_, _, x) in enumerate(waiting) if same(x, m)), -1)
            if at < 0:  # a start state had it in flight
                waiting.insert(0, (-1, 0, m))
                at = 0
            ends(at, step.number, Fate.DROPPED if row.loses else Fate.COPIED if row.keeps else Fate.RECEIVED, row.keeps)
        for sent in step.sent:
            count += 1
            if sent.lost:
                out.append((count, Flight(sent, step.number, step.number, Fate.REFUSED)))
            else:
                waiting.append((count, step.number, sent))
        for at in reversed(list(gone(waiting, step.state))):
            ends(at, step.number, Fate.OVERTAKEN if overtakes(step, waiting[at][2]) else Fate.LOST)
    for place, sent_by, m in waiting:
        out.append((place, Flight(m, sent_by, None, Fate.IN_FLIGHT)))
    return [flight for _, flight in sorted(out, key=lambda x: x[0])]


def leading_to(trace: Trace, number: int) -> frozenset[int]:
    """Return the steps from which a chain leads to a step, itself included.

    A link of a chain is a message, or the next step of the same process.
    """
    before: dict[int, set[int]] = {step.number: set() for step in trace.steps}
    last: dict[int | None, int] = {}
    for step in trace.steps:
        if step.process in last:
            before[step.number].add(last[step.process])
        if step.process is not None:
            last[step.process] = step.number
    for f in flights(trace):
        if f.sent and f.ended is not None and f.fate in (Fate.RECEIVED, Fate.COPIED):
            before[f.ended].add(f.sent)
    found = {number}
    for at in range(number, 0, -1):
        found |= before[at] if at in found else set()
    return frozenset(found)


def same(a: Transmission, b: Transmission) -> bool:
    """Return whether two transmissions are one message; the two channels of a leader with itself are told apart."""
    ends = (a.source, a.destination, a.connection, a.number, a.kind) == (
        b.source, b.destination, b.connection, b.number, b.kind,
    )  # fmt: skip
    return ends and a.fields == b.fields


def overtakes(step: Step, m: Transmission) -> bool:
    """Return whether a step received a datagram sent after m between the same two processes."""
    by = step.message
    return by is not None and m.connection == 0 and (by.source, by.destination) == (m.source, m.destination)


def gone(waiting: list[tuple[int, int, Transmission]], state: JsonState) -> Iterator[int]:
    """Yield the indices in `waiting` of the messages that a state no longer has in flight.

    Of equal messages the first sent counts as gone, since channels are cleared from the front.
    """
    there = [*in_flight(state)]
    kept = set()
    for at in reversed(range(len(waiting))):
        m = waiting[at][2]
        for k, (source, target, x) in enumerate(there):
            if (source, target, x["kind"]) == (m.source, m.destination, m.kind) and carries(x, m):
                del there[k]
                kept.add(at)
                break
    return (at for at in range(len(waiting)) if at not in kept)


def carries(x: Mapping[str, Any], m: Transmission) -> bool:
    """Return whether a message of a state has the same contents as a transmission."""
    return all(x.get(name) == value for name, value in m.fields.items())


def in_flight(state: JsonState) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Yield every message that a state has in flight, as source, target and message."""
    for x in state.get("in_flight", ()):
        yield x["source"], x["target"], x
    for f, row in enumerate(state.get("to_leader", ())):
        for l, channel in enumerate(row):
            yield from ((f, l, x) for x in channel)
    for f, channel in enumerate(state.get("to_follower", ())):
        yield from ((state["leader"][f], f, x) for x in channel)
    for f, row in enumerate(state.get("stale", ())):
        for l, channel in enumerate(row):
            yield from ((l, f, x) for x in channel)
