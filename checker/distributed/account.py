"""Report the resources that an exploration on Spark used, beside its forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checker.distributed.costs import Costs, Forecast, held, recorded
from checker.distributed.usage import Usage


@dataclass(frozen=True)
class Account:
    """The resources that an exploration used, and a forecast for as many states and levels.

    Attributes:
        usage: of its levels that were jobs.
        memory: bytes of the largest process of a task, or of the driver.
        levels: states of each level.
        cores: of the cluster; `parts`: of each level.
        said: the forecast that was reported beforehand; empty if the exploration was not expected to be long.
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
        """The forecast for the states that the jobs found, in as many jobs."""
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
        """Return the rows of a table for people; empty if no level was a job."""
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
