"""Readers and writers, in the order of their requests.

Courtois, Heymans and Parnas, *Concurrent control with "readers" and "writers"*, 1971, with N processes and one queue.

- A process is idle, waits to read, waits to write, reads or writes; `queue` has those that wait.
- **request to read**, **request to write**: an idle process waits, at the queue's end.
- **admit**: the queue's head leaves it and reads, if nobody writes; or writes, if nobody reads or writes.
- **leave**: a process that reads or writes becomes idle.

Nobody reads while another writes; at most one writes. N = 3: 167 states; 7: 2,285,411.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, Node, OneOf, SeqOf, any_of, declare, environment, environment_step, safety,
)  # fmt: skip

IDLE, WAITS_TO_READ, WAITS_TO_WRITE, READING, WRITING = range(5)

Phase = Annotated[int, OneOf("IDLE", "WAITS_TO_READ", "WAITS_TO_WRITE", "READING", "WRITING")]
Queue = Annotated[SeqOf[Node], AtMost(lambda size: size.nodes)]


class State(Fields):
    phase: Each[Node, Phase] = environment("what a process does")
    queue: Queue = environment("who waits, in the order of their requests")


@environment_step
def request_to_read(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == IDLE})
    s.phase[p] = WAITS_TO_READ
    s.queue.append(p)


@environment_step
def request_to_write(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == IDLE})
    s.phase[p] = WAITS_TO_WRITE
    s.queue.append(p)


def some(s: State, phase: int) -> bool:
    return any(s.phase[p] == phase for p in range(s.NODES))


def may_admit(s: State) -> bool:
    if len(s.queue) == 0 or some(s, WRITING):
        return False
    return s.phase[s.queue[0]] == WAITS_TO_READ or not some(s, READING)


@environment_step(when=may_admit)
def admit(s: State) -> None:
    p = s.queue.pop(0)
    s.phase[p] = READING if s.phase[p] == WAITS_TO_READ else WRITING


@environment_step
def leave(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] in (READING, WRITING)})
    s.phase[p] = IDLE


@safety(witness=lambda s: some(s, WRITING))
def exclusive(s: State) -> bool:
    """Nobody reads while another writes, and at most one process writes."""
    writers = len({p for p in range(s.NODES) if s.phase[p] == WRITING})
    return writers == 0 or (writers == 1 and not some(s, READING))


PROTOCOL = declare(__name__, nodes=3)
