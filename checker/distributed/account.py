"""What a long exploration on Spark is forecast to take, said before, and held against what came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from checker.distributed.costs import LARGE, Costs, Forecast, held, recorded
from checker.distributed.usage import Usage
from checker.explore.result import Exploration, collision, enough

__all__ = ["LONG", "Account", "Forecasting"]

LONG = 2_000_000  # states from which on a forecast is said
POWERS = (7, 8, 9, 10)  # of ten: the numbers of states that are forecast where none is known

Progress = Callable[[Exploration, int, int], None]


@dataclass(frozen=True)
class Account:
    """What an exploration used, beside the forecast for as many states and levels as it had.

    Attributes:
        usage: of its levels that were jobs.
        memory: bytes of the largest process of a task, or of the driver.
        levels: states of each level.
        cores: of the cluster; `parts`: of each level.
        said: the forecast that was said beforehand; empty: it was not long.
    """

    usage: Usage
    memory: int
    levels: tuple[int, ...]
    cores: int
    parts: int
    bits: int
    said: tuple[Forecast, ...] = ()

    @property
    def costs(self) -> Costs:
        return recorded(self.bits)

    @property
    def forecast(self) -> Forecast:
        """For the states that the jobs have found, in as many jobs."""
        usage, most = self.usage, max(self.levels, default=0)
        return self.costs.forecast(usage.states, self.cores, self.parts, usage.jobs, most)

    def as_json(self) -> dict[str, Any]:
        costs = self.costs
        return {
            "cores": self.cores,
            "parts": self.parts,
            "fingerprint_bits": self.bits,
            "usage": self.usage.as_json(),
            "forecast": {
                "measured_on": f"{costs.question}; {costs.machine}; {costs.day}",
                "beforehand": [each.as_json() for each in self.said],
                "held": [each.as_json() for each in held(self.forecast, self.usage, self.memory)],
            },
        }

    def rows(self) -> list[tuple[str, str]]:
        """What a person reads of it, where levels were jobs."""
        used = self.usage
        if not used.jobs:
            return []
        per = max(1, used.states)
        shuffle = f"shuffle {used.shuffle / per:,.1f} bytes a state, spilled {used.spilled:,}"
        of_spark = f"Java {used.java_cpu:,.1f} CPU-s in {used.tasks:,} tasks, {shuffle}"
        of_spark = "not known" if used.unmetered else of_spark
        rows = [
            ("levels as jobs", f"{used.jobs}, {used.states:,} states in {used.seconds:,.1f} s on {self.cores} cores"),
            ("of their tasks", f"Python {used.python_cpu:,.1f} CPU-s, {used.written / per:,.1f} bytes written a state"),
            ("measured by Spark", of_spark),
        ]
        if self.said:
            rows.append(("forecast", ", ".join(each.text for each in held(self.forecast, used, self.memory))))
        return rows


@dataclass
class Forecasting:
    """Says when fingerprints become too short, and once what an exploration is forecast to take: at the start if it is
    known to be long, or when it turns out to be. It stands where the callback for progress does.

    Args:
        note: takes a sentence.
        states: the most there can be, by a limit of the request; None: nobody knows.
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
        """Say it at once where a limit lets an exploration be long."""
        if self.states is not None and self.states >= LARGE:
            self.say()

    def __call__(self, result: Exploration, expanded: int, size: int) -> None:
        if not self.said and result.distinct >= LONG:
            self.say()
        if not self.warned and not enough(result.distinct, self.costs.bits):
            self.warned = True
            now, then = (f"{collision(result.distinct, bits):.1e}" for bits in (self.costs.bits, 128))
            again = f"with --fingerprint 128, from the beginning in another folder, it is {then}"
            self.note(f"the probability that a state was missed is {now} by now, at most; {again}")
        if self.progress is not None:
            self.progress(result, expanded, size)

    def say(self) -> None:
        """Say what it takes, for the most states there can be, or for powers of ten."""
        known = self.states is not None
        numbers = [self.states] if self.states is not None else [10**power for power in POWERS]
        self.said = tuple(self.costs.forecast(n, self.cores, self.parts) for n in numbers)
        how = "at most" if known else "how many there are is not known;"
        measured = f"measured on {self.costs.question} ({self.costs.day}); other models cost more or less"
        self.note(f"forecast: {how} {self.said[0].text}; {measured}")
