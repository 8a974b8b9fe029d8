"""Define the interfaces through which an instrumented world uses its listeners and the script that drives it.

The classes that fill these roles find their world by `traces/record/worlds.py`; a world knows the roles alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from traces.record.notes import Notes
from traces.record.trace import StepWord, Transmission
from traces.replay.abstraction import Abstraction, Datagram
from zabspec.language.program import Program
from zabspec.language.reference import MessageView, StateView
from zabspec.model import Model

Event = dict[str, Any]


class ListensToHandlers(Protocol):
    """Records which handlers run and what they send (`traces/record/listener.py`).

    Attributes:
        names: the simulator's functions.
        notes: the events that the handlers reported.
        posted: the slot of the message that was sent last; -1 if none was.
        numbers: for each datagram in flight, by slot, its place among all that was sent from its source to its target.
        count: the number of datagrams sent so far, by source and target.
        dropped: what a lossy network lost when it was sent: follower, leader, whether to the leader, and its number.
        base, stride: where the slots of messages begin in a state, in bytes, and how far apart they are.
    """

    names: dict[str, Any]
    notes: Notes
    posted: int
    numbers: dict[int, int]
    count: dict[tuple[int, int], int]
    dropped: list[tuple[int, int, bool, int]]
    base: int
    stride: int

    def transmission(self, m: MessageView) -> Transmission:
        """Return a message in the simulator's memory, with its number."""


class ListensToSteps(ListensToHandlers, Protocol):
    """Translates what a simulator does into step words (`traces/record/simulated.py`).

    Attributes:
        happens: a function called with the state and the word after each step.
        lost: the datagrams that were dropped and would be in flight, each with its number.
    """

    happens: Callable[[StateView, StepWord], None]
    lost: list[Datagram]


class ListensToEvents(Protocol):
    """Notes everything that happens in a simulator (`traces/record/events.py`).

    Attributes:
        names: the simulator's functions.
    """

    names: dict[str, Any]

    def note(self, s: StateView, event: str, **what: Any) -> None:
        """Record an event."""

    def handler(self, name: str, begins: Callable[..., None]) -> None:
        """Wrap one handler; `begins` records its arguments."""

    def delivered(self, s: StateView, m: MessageView) -> None:
        """Record that a handler receives a message that was in flight."""


class Scripted(Protocol):
    """The simulator under a script (`traces/replay/scripted.py`).

    Attributes:
        model: the model whose steps the script takes.
        program: the simulator's program, and `names` its functions.
        state: the simulator's state.
        abstraction: the translation of that state into the explorer's.
    """

    model: Model
    program: Program
    names: dict[str, Any]
    state: StateView
    abstraction: Abstraction

    @property
    def listener(self) -> ListensToHandlers:
        """Return the listener of the simulator."""

    def schedule(self, faults: list[tuple[str, int, int]]) -> None:
        """Set the faults of this tick."""
