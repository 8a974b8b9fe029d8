"""Define the interfaces through which an instrumented world uses its listeners and the script that drives it.

The classes that fill these roles find their world by `traces/record/worlds.py`; a world knows the roles alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from traces.replay.abstraction import Abstraction
from zabspec.language.program import Program
from zabspec.language.python.reference import MessageView, StateView
from zabspec.model import Model

Event = dict[str, Any]


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

    def schedule(self, faults: list[tuple[str, int, int]]) -> None:
        """Set the faults of this tick."""
