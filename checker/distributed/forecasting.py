"""Report the forecast of a long exploration on Spark while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from checker.distributed.costs import LARGE, Costs, Forecast
from checker.explore.result import Exploration, collision, enough

LONG = 2_000_000  # states from which on a forecast is reported
POWERS = (7, 8, 9, 10)  # powers of ten: the numbers of states to forecast if no limit is known

Progress = Callable[[Exploration, int, int], None]


@dataclass
class Forecasting:
    """Reports once what an exploration is forecast to take, and when fingerprints become too short.

    The forecast is reported at the start if the exploration is known to be long, or once it turns out to be. An
    instance is used as the callback for progress.

    Args:
        note: receives a sentence.
        states: the maximum number, by a limit of the request; None if there is no limit.
    """

    costs: Costs
    cores: int
    parts: int
    states: int | None
    note: Callable[[str], None]
    progress: Progress | None = None
    said: tuple[Forecast, ...] = field(default=(), init=False)
    warned: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Report the forecast at once if the limit of states allows a long exploration."""
        if self.states is not None and self.states >= LARGE:
            self.say()

    def __call__(self, result: Exploration, expanded: int, size: int) -> None:
        if not self.said and result.distinct >= LONG:
            self.say()
        if not self.warned and not enough(result.distinct, self.costs.bits):
            self.warned = True
            now, then = (f"{collision(result.distinct, bits):.1e}" for bits in (self.costs.bits, 128))
            again = f"with --fingerprint 128, restarted in another folder, it is {then}"
            self.note(f"the probability that a state was missed is at most {now} so far; {again}")
        if self.progress is not None:
            self.progress(result, expanded, size)

    def say(self) -> None:
        """Report the forecast for the maximum number of states, or for powers of ten."""
        known = self.states is not None
        numbers = [self.states] if self.states is not None else [10**power for power in POWERS]
        self.said = tuple(self.costs.forecast(n, self.cores, self.parts) for n in numbers)
        how = "at most" if known else "the total is unknown;"
        measured = f"measured on {self.costs.question} ({self.costs.day}); other models cost more or less"
        self.note(f"forecast: {how} {self.said[0].text}; {measured}")
