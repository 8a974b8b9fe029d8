"""What the interpreter says of a model: the steps of a state and their effects, properties, random runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checker.explore.interpret import Interpreter
from checker.opinion.outcome import BY_INTERPRETER, Differs, SecondOpinion
from invariants.registry import STEP, Property, keeps
from zabspec.language.python.reference import ERRORS, StateView, set_buffer
from zabspec.model import Model

LONGEST = 30  # steps of a random run


class Noted(bytearray):
    """The bytes of a state, with the places that are read."""

    def __init__(self, data: bytes | bytearray) -> None:
        super().__init__(data)
        self.places: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            self.places.update(range(*place.indices(len(self))))
        else:
            self.places.add(place)
        return super().__getitem__(place)


class Interpreted:
    """The interpreter's side of a comparison.

    Args:
        model: the model.
        properties: those it judges.
    """

    def __init__(self, model: Model, properties: Sequence[Property]) -> None:
        self.engine = Interpreter(model, properties, False, every_step=True)
        self.properties, self.layout = tuple(properties), model.program.layout
        self.starts = [*model.program.starts]
        self.states = self.steps = 0

    def opinion(self, compare: Callable[[], None]) -> SecondOpinion:
        """Return the opinion after a comparison, which ends at the first difference."""
        difference = ""
        try:
            compare()
        except Differs as problem:
            difference = str(problem)
        return SecondOpinion(BY_INTERPRETER, self.states, steps=self.steps, difference=difference)

    def holds(self, p: Property, after: StateView, before: StateView | None = None) -> bool | None:
        """Return whether a state, or the step to it, satisfies a property; None if judging it meets an error."""
        try:
            return bool(keeps(p, self.engine.names, after, before if p.of == STEP else None))
        except ERRORS:
            return None

    def read_by(self, p: Property, data: bytes) -> tuple[bool | None, set[int]]:
        """Return whether a state satisfies a property, and the bytes that this depends on."""
        view = StateView(self.layout, data)
        noted = Noted(view.buffer)
        set_buffer(view, noted)
        return self.holds(p, view), noted.places

    def walked(self, source: random.Random, count: int) -> Iterator[bytes]:
        """Yield an initial state and so many more states of random runs."""
        state, length = source.choice(self.starts), 0
        yield state
        for _ in range(count):
            ways = self.ways(state)
            length = length + 1 if ways and length < LONGEST else 0
            state = source.choice(ways).key() if length else source.choice(self.starts)
            yield state

    def ways(self, state: bytes) -> list[StateView]:
        """Return the states after each step of a state."""
        return [after for _, after in self.engine.successors(state)]
