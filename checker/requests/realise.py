"""Search for a plain seeded run that violates the property that a counterexample violates."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.carried import verified_trace
from checker.requests.request import at_least, seconds
from checker.requests.saved import TraceRequest

if TYPE_CHECKING:
    from traces import Trace
    from traces.shorten.realise import Realised


@dataclass(frozen=True)
class RealiseRequest(TraceRequest):
    """A search for a seed and flags of the simulator.

    Attributes:
        attempts: the maximum number of runs to try.
        time_limit: seconds in all.
        threads: None for all cores.
    """

    kind: ClassVar[str] = "realise"

    attempts: int = 200_000
    time_limit: float = 60.0
    threads: int | None = None

    def validate(self) -> None:
        super().validate()
        at_least(self, 1, "attempts", "threads")
        seconds(self, "time_limit")


def answer(request: RealiseRequest, begin: Callable[[Trace], None] | None = None) -> tuple[Trace, Realised | int]:
    """Return the counterexample, and the run that was found or the number of runs tried in vain.

    Args:
        begin: called with the counterexample before runs are tried.

    Raises:
        RequestError: there is no such trace, or simulated runs are not checked against the property that it violates.
    """
    from traces.judging.simulated import why_not_judged
    from traces.shorten.realise import realise, wanted_of

    given = verified_trace(Path(request.trace))
    name = given.property_name
    if not name:
        raise RequestError(f"{request.trace} violates no property")
    wanted = wanted_of(name, given.configuration)
    if begin is not None:
        begin(given)
    try:
        return given, realise(wanted, request.attempts, request.time_limit, request.threads or os.cpu_count() or 1)
    except KeyError:
        why = why_not_judged(given.configuration.protocol, name)
        raise RequestError(f"simulated runs are not checked against {name}: {why}") from None
