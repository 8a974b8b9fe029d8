"""Hold machine code against the interpreter: the same steps, effects and judgements in the states of random runs."""

from __future__ import annotations

import random

from checker.explore.compiled import Compiled
from checker.opinion.interpreted import Interpreted
from checker.opinion.outcome import Differs, SecondOpinion
from invariants.registry import STEP
from zabspec.language.python.reference import StateView

STATES = 100  # of random runs


class CompiledOpinion(Interpreted):
    """Compares machine code with the interpreter, in one state at a time."""

    def __init__(self, code: Compiled) -> None:
        super().__init__(code.model, code.properties)
        self.code, self.every = code, (1 << len(code.properties)) - 1

    def agree(self, data: bytes) -> None:
        """Compare everything about one state.

        Raises:
            Differs: they do not agree.
        """
        self.states += 1
        before = StateView(self.layout, data)
        self.judged(data, before)
        compiled = {word: after[: self.layout.size] for word, after in self.code.next_states(data)}
        attempts = dict(self.engine.attempts(data))
        if any(not isinstance(after, StateView) for after in attempts.values()):
            return  # what machine code does beyond an error is no step
        if compiled != {word: after.key() for word, after in attempts.items() if isinstance(after, StateView)}:
            raise Differs("some state of a random run has other steps, or one has another effect, in machine code")
        for after in attempts.values():
            self.steps += 1
            assert isinstance(after, StateView)
            steps = [p for p in self.properties if p.of == STEP and self.holds(p, after, before) is False]
            if steps:
                raise Differs(f"a step of a random run violates {', '.join(p.name for p in steps)}")

    def judged(self, data: bytes, view: StateView) -> None:
        """Compare the judgements of a state; one that violates a property is no verdict, as none was found.

        Raises:
            Differs: a property is violated, or machine code judges otherwise.
        """
        broken, _, error = self.code.judged_state(data, self.every)
        if error:
            return
        said = {p.name for k, p in enumerate(self.properties) if broken >> k & 1 and p.of != STEP}
        right = {p.name for p in self.properties if p.of != STEP and self.holds(p, view) is False}
        if right or said:
            raise Differs(f"a state of a random run violates {', '.join(sorted(right | said))}")

    def walk(self, source: random.Random, count: int) -> None:
        """Compare so many states of random runs.

        Raises:
            Differs: they do not agree in one.
        """
        for data in self.walked(source, count):
            self.agree(data)


def second_opinion(code: Compiled, seed: int = 0) -> SecondOpinion:
    """Compare machine code that found no violation with the interpreter, along random runs."""
    here = CompiledOpinion(code)
    return here.opinion(lambda: here.walk(random.Random(seed), STATES))
