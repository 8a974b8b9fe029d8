"""Define what a world provides for traces: listening, losses of the network, and steps under a script."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from traces.record.flight import Flight
from traces.record.notes import Notes
from traces.record.trace import StepWord, Transmission
from traces.replay.abstraction import Abstraction
from zabspec.language.program import Program
from zabspec.language.python.reference import MessageView, StateView
from zabspec.model import Model
from zabspec.worlds.world import World

# --- define the interfaces through which an instrumented world uses its listeners and the script that drives it ---
#
# The classes that fill these roles find their world by `traces/record/worlds.py`; a world knows the roles alone.

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


class Refused(Exception):
    """The reason why a step cannot be prepared."""


def up(scripted: Scripted) -> list[int]:
    """Return the processes that are up."""
    nodes = range(scripted.model.configuration.nodes)
    return [p for p in nodes if not scripted.names["is_down"](scripted.state, p)]


class InstrumentedWorld(ABC):
    """An instrumented world; `watched_as` in `traces/record/worlds.py` finds it.

    Attributes:
        world: the world.
        handlers: the handlers of its protocols that are recorded; the process is the second parameter of each.
    """

    world: ClassVar[World]
    handlers: ClassVar[tuple[str, ...]]

    @abstractmethod
    def flight(self) -> Flight:
        """Return the object that numbers this world's messages in the explorer."""

    # --- the simulator, listened to ----------------------------------------------------------------

    @abstractmethod
    def listen(self, to: Notes, names: dict[str, Any]) -> None:
        """Record every message that a simulator sends, by wrapping its functions."""

    @abstractmethod
    def transmission(self, m: MessageView) -> Transmission:
        """Return a message in the simulator's memory, with its number."""

    # --- the simulator's events --------------------------------------------------------------------

    @abstractmethod
    def events(self, to: ListensToEvents) -> None:
        """Record when the world's handlers run and why."""

    @abstractmethod
    def sent(self, s: StateView, m: MessageView) -> Event | None:
        """Return the event of a message that was put into the heap; None for a notice of the network."""

    @abstractmethod
    def why_dropped(self, to: ListensToEvents, s: StateView, p: int, q: int) -> str:
        """Return why a message from p to q was lost when it was sent."""

    def room(self, flight: int) -> dict[str, int]:
        """Return the configuration options that allow `flight` messages in flight; empty if none is needed."""
        return {}

    # --- a script ----------------------------------------------------------------------------------

    def source(self, scripted: Scripted, word: StepWord) -> int:
        """Return the sender of the message of a step whose word does not name it."""
        raise Refused("it is about no message")

    def set_up(self, scripted: Scripted, word: StepWord) -> Transmission | None:
        """Prepare one step for the simulator's next tick; return the message that is dropped, if any.

        Raises:
            Refused: the step is not possible.
        """
        s, o = scripted.state, word.operands
        if word.kind == "abcast":
            s.sim_waiting, s.sim_client = 1, o["process"]
        elif "which" in o:
            s.sim_doing, s.sim_client = o["which"] + 1, o.get("process", -1)
        elif word.kind == "power_loss":
            p, kept = o["process"], o["kept"]
            if "unforced" not in scripted.program.layout.fields or kept > s.unforced[p]:
                raise Refused(f"p{p} has fewer unforced writes")
            scripted.names["lose_power"](s, p, kept)
            scripted.schedule([("crash", p, -1)])
        elif word.kind == "outage":
            scripted.names["black_out"](s)
            scripted.schedule([("crash", p, -1) for p in up(scripted)])
        else:
            scripted.schedule([(word.kind, o["process"], -1)])
        return None
