"""Properties and their verdicts (section 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from zabspec.second.core_properties import core, durability
from zabspec.second.kinds import NO_MESSAGE, Fault
from zabspec.second.paper_invariants import OF_STEPS, invariant_5
from zabspec.second.world import Step, World

MET = "no-runtime-error"


@dataclass
class Property:
    """A property under judgement: over `state`, `history`, `step` or `terminal`, and what was seen of it so far."""

    name: str
    over: str
    holds: Callable
    witness: Callable | None
    kinds: tuple[str, ...] = ()  # of messages, one for each parameter (P3)
    needs_witness: bool = True
    violated: int | None = None
    witnessed: int | None = None

    def verdict(self) -> dict[str, Any]:
        """Return the verdict (P6)."""
        if self.violated is not None:
            return {"result": "violated", "depth": self.violated}
        if self.witnessed is not None or not self.needs_witness:
            return {"result": "held", "depth": self.witnessed}
        return {"result": "premise not reached", "depth": None}


def declared(world: World, names: list[str]) -> list[Property]:
    """Return the properties with these names, or without names every `@safety`."""
    program, found = world.program, []
    for name, mark, function in program.marked("safety", "named", "invariant"):
        called = mark.name or function.__name__.replace("_", "-")
        if called in names or (not names and mark.sort == "safety"):
            witness = program.current(mark.witness) if mark.witness else None
            parameters = program.messages_of(function, name)[1:] if mark.over == "state" else ()
            found.append(Property(called, mark.over, function, witness, tuple(parameters)))
    if "deadlock" in names:
        found.append(Property("deadlock", "terminal", world.may_end, None, needs_witness=False))
    if world.model.transactions:
        has = world.layout.by_name.keys()
        own: dict[str, Sequence[Callable]] = {
            "history": core(world.model.revises),
            "state": [durability] if "history" in has else [],
        }
        if not world.model.user and {"phase", "promised_epoch", "stage"} <= has:
            own |= {"step": OF_STEPS, "state": [durability, invariant_5]}
        for over, functions in own.items():
            for function in functions:
                called = function.__name__.replace("_", "-")
                if called in names or not names:
                    found.append(Property(called, over, function, None, needs_witness=False))
    return found


class Judge:
    """Judges states and steps, in the order of their depths.

    Args:
        world: the model.
        properties: what to judge.
    """

    def __init__(self, world: World, properties: list[Property]) -> None:
        self.world = world
        self.properties = properties
        self.steps = [p for p in properties if p.over == "step"]
        self.before, self.event, self.after = (world.layout.object() for _ in range(3))
        for s in (self.before, self.event, self.after):
            s.__world__ = world
        self.errors: list[str] = []
        self.of_history = [p for p in properties if p.over == "history" and not p.needs_witness]
        offset = world.layout.offset
        self.history = slice(offset.get("abcasts", 0), offset.get("abcast_in_pass", -1) + world.n)
        self.known: dict[tuple, set[str]] = {}  # of a history, which of these it violates

    def _ask(self, function: Callable, *args: Any) -> bool | None:
        """Return what a property or witness says, or None if it meets an error (P7)."""
        try:
            return bool(function(*args))
        except (Fault, ZeroDivisionError) as error:
            self.errors.append(f"{function.__name__}: {error}")
            return None

    def _letters(self, kinds: tuple[str, ...]) -> Iterator[tuple]:
        flight = list(self.world.in_flight(self.after)) if kinds else []
        return product(*([m for m in flight if kind in ("AnyMessage", m.kind)] for kind in kinds))

    def violates(self, prop: Property) -> bool:
        """Return whether the state that `after` shows violates a property of states (P2, P3)."""
        return any(self._ask(prop.holds, self.after, *m) is False for m in self._letters(prop.kinds))

    def violated(self, terminal: bool) -> set[str]:
        """Return the properties of states that the state that `after` shows violates, in a terminal one all of them."""
        asked = self.of_states(False) + (self.of_states(True) if terminal else [])
        key = tuple(self.after.__cells__[self.history])
        if key not in self.known:
            self.known[key] = {p.name for p in self.of_history if self.violates(p)}
        rest = [p for p in asked if p.over != "history" or p.needs_witness]
        return self.known[key] | {p.name for p in rest if self.violates(p)}

    def meets(self, prop: Property) -> bool:
        """Return whether the state that `after` shows meets the premise of a property of states."""
        witness = prop.witness or (prop.holds if prop.needs_witness and not prop.kinds else None)
        return bool(witness and self._ask(witness, self.after))

    def of_states(self, terminal: bool) -> list[Property]:
        """Return the properties of states, or of terminal ones (P5)."""
        return [p for p in self.properties if p.over != "step" and (p.over == "terminal") == terminal]

    def state(self, state: tuple, depth: int, terminal: bool = False) -> None:
        """Judge the properties of states, or the terminal ones."""
        self.after.__load__(state)
        for prop in self.of_states(terminal):
            if prop.violated is None and self.violates(prop):
                prop.violated = depth
            if prop.witnessed is None and self.meets(prop):
                prop.witnessed = depth

    def load_step(self, state: tuple, step: Step, result: tuple) -> None:
        """Show a step from now on: the state before it, its annotations, and the state after it (P4)."""
        before, event, after = self.before, self.event, self.after
        for s, values in ((before, state), (event, result), (after, result)):
            s.__load__(values)
        event.event, event.event_process, event.event_peer = step.number, step.process, step.peer
        event.event_message = step.message or NO_MESSAGE
        event.accepts, event.accept_epoch = self.world.accepts, self.world.accept_epoch

    def step_violates(self, prop: Property) -> bool:
        """Return whether the step violates a property of steps (P4)."""
        return self._ask(prop.holds, self.before, self.event, self.after) is False

    def step_meets(self, prop: Property) -> bool:
        """Return whether the step meets the premise of a property of steps."""
        return bool(prop.witness and self._ask(prop.witness, self.before, self.event, self.after))

    def step(self, state: tuple, step: Step, result: tuple, depth: int) -> None:
        """Judge the properties of steps."""
        self.load_step(state, step, result)
        for prop in self.steps:
            if prop.violated is None and self.step_violates(prop):
                prop.violated = depth
            if prop.witnessed is None and self.step_meets(prop):
                prop.witnessed = depth
