"""A request for bounded model checking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.model import BOUNDS, ModelRequest
from checker.requests.request import Request, at_least, seconds, solver_seed

if TYPE_CHECKING:
    from zabspec.model import Configuration

DEEPEST = 1000


@dataclass(frozen=True)
class BmcRequest(Request):
    """Bounded model checking.

    Attributes:
        model: the model; with `source` the trace determines it.
        depth: all runs of so many steps are checked, and some longer ones.
        source: `TRACE[:STEP]`, the state of a saved trace from which runs start; empty for the initial state.
        properties: names; empty for all that are checked by default.
        every: steps between two queries; one more query follows at the end.
        time_limit: seconds in all; query_limit: of each query.
        seed: of the solver.
        trace: the file for the counterexample; empty for a file named for it; None to save nothing.
    """

    kind: ClassVar[str] = "bmc"
    shares: ClassVar[tuple[str, ...] | None] = BOUNDS

    model: ModelRequest = field(default_factory=ModelRequest)
    depth: int = 1
    source: str = ""
    properties: tuple[str, ...] = ()
    every: int = 4
    time_limit: float = 600.0
    query_limit: float | None = None
    seed: int = 0
    trace: str | None = None

    def validate(self) -> None:
        at_least(self, 1, "depth", "every")
        seconds(self, "time_limit", "query_limit")
        if self.depth > DEEPEST:
            raise RequestError(f"--depth must be 1 to {DEEPEST}, not {self.depth}, the limit for z3")
        solver_seed(self.seed)

    def traced(self) -> Configuration | None:
        return None if self.source else self.model.configuration()
