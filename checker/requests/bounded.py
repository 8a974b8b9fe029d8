"""Requests that explore states, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.requests.model import ModelRequest
from checker.requests.request import Request, at_least, seconds

if TYPE_CHECKING:
    from checker.explore.result import Limits
    from zabspec.model import Configuration


@dataclass(frozen=True)
class BoundedRequest(Request):
    """A request that explores the states of a model.

    Attributes:
        model: what is explored.
        depth: the number of steps; None for exhaustion.
        threads: None for all cores.
        max_states, time_limit (seconds), memory_limit (bytes): limits of the exploration.
    """

    model: ModelRequest = field(default_factory=ModelRequest)
    depth: int | None = None
    threads: int | None = None
    max_states: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None

    def validate(self) -> None:
        at_least(self, 0, "depth")
        at_least(self, 1, "threads", "max_states", "memory_limit")
        seconds(self, "time_limit")

    def traced(self) -> Configuration | None:
        return self.model.configuration()

    @property
    def limits(self) -> Limits:
        """The limits of the exploration."""
        from checker.explore.result import Limits

        return Limits(self.depth, self.max_states, self.time_limit, self.memory_limit)
