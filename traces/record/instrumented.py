"""What traces ask of a world: how it is listened to, what it loses by itself, and how a script sets a step up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from traces.record.flight import Flight
from traces.record.instrumentation import Event, ListensToEvents, ListensToHandlers, ListensToSteps, Scripted
from traces.record.trace import StepWord, Transmission
from zabspec.language.reference import MessageView, StateView
from zabspec.worlds.world import World

__all__ = ["InstrumentedWorld", "Refused"]


class Refused(Exception):
    """Why a step cannot be set up."""


class InstrumentedWorld(ABC):
    """A world under observation; `watched_as` in `traces/record/worlds.py` finds it.

    Attributes:
        world: which one.
        handlers: those of its protocols that are listened to; the process is the second parameter of each.
    """

    world: ClassVar[World]
    handlers: ClassVar[tuple[str, ...]]

    @abstractmethod
    def flight(self) -> Flight:
        """What numbers its messages in the explorer."""

    # --- the simulator, listened to ----------------------------------------------------------------

    @abstractmethod
    def listen(self, to: ListensToHandlers, names: dict[str, Any]) -> None:
        """Note every message that a simulator sends; its functions are replaced."""

    @abstractmethod
    def transmission(self, to: ListensToHandlers, m: MessageView) -> Transmission:
        """A message that lies in the simulator's memory, with its number."""

    # --- the simulator's events --------------------------------------------------------------------

    @abstractmethod
    def events(self, to: ListensToEvents) -> None:
        """Note when its handlers run and why."""

    @abstractmethod
    def sent(self, s: StateView, m: MessageView) -> Event | None:
        """What is said of a message that has been put into the heap; None: it is a notice of the network."""

    @abstractmethod
    def why_dropped(self, to: ListensToEvents, s: StateView, p: int, q: int) -> str:
        """Why a message of p to q was lost when it was sent."""

    # --- a run that no script holds ----------------------------------------------------------------

    @abstractmethod
    def hear(self, to: ListensToSteps, names: dict[str, Any]) -> None:
        """Note what the network loses by itself."""

    def room(self, flight: int) -> dict[str, int]:
        """What a configuration has to say so that so many messages can be in flight; empty: nothing."""
        return {}

    def as_sent(self, sent: Sequence[Transmission]) -> list[Transmission]:
        """What was sent, as the explorer has it."""
        return list(sent)

    # --- a script ----------------------------------------------------------------------------------

    def source(self, scripted: Scripted, word: StepWord) -> int:
        """Who sent the message that a step is about, whose word does not say."""
        raise Refused("it is about no message")

    def set_up(self, scripted: Scripted, word: StepWord) -> Transmission | None:
        """Set one thing up for the simulator's next tick; returns the message that is dropped, if one is.

        Raises:
            Refused: it cannot be.
        """
        s, o = scripted.state, word.operands
        if word.kind == "abcast":
            s.waiting, s.client = 1, o["process"]
        elif "which" in o:
            s.doing, s.client = o["which"] + 1, o.get("process", -1)
        elif word.kind == "power_loss":
            p, kept = o["process"], o["kept"]
            if "unforced" not in scripted.program.layout.fields or kept > s.unforced[p]:
                raise Refused(f"p{p} has fewer unforced writes")
            scripted.names["lose_power"](s, p, kept)
            scripted.schedule([("crash", p, -1)])
        else:
            scripted.schedule([(word.kind, o["process"], -1)])
        return None
