"""Run a real ensemble freely, disturb it by a seed, and record it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.conform import Conforming, ConformRequest
from checker.requests.conform import answer as conform
from checker.requests.reenact import new_folder
from checker.requests.request import at_least, seconds
from checker.requests.servers import ServersRequest

if TYPE_CHECKING:
    from traces.conform.explained import Conformed


@dataclass(frozen=True)
class ChaosRequest(ServersRequest):
    """A free run of an ensemble under faults.

    Attributes:
        seconds: how long clients write and faults happen.
        seed: of the faults.
        writes: the maximum number, by `clients`.
        faults: the kinds that happen, with commas; `none` for none.
        record_only: whether the record is not checked against the model.
        output: a new folder for the results; empty for one named by release and seed.
    """

    kind: ClassVar[str] = "chaos"

    seconds: float = 60.0
    seed: int = 1
    clients: int = 3
    writes: int = 1000
    faults: str = "kill,stop,cut,delay,tail,behind,stall"
    record_only: bool = False
    output: str = ""

    def validate(self) -> None:
        from traces.conform.chaos import FAULTS

        super().validate()
        seconds(self, "seconds")
        at_least(self, 0, "seed")
        at_least(self, 1, "clients", "writes")
        if not self.release:
            raise RequestError("--release NUMBER is missing: the release whose servers are run")
        wrong = [f for f in self.kinds if f not in FAULTS]
        if wrong:
            raise RequestError(f"there is no fault {wrong[0]!r}; there are {', '.join(FAULTS)}, and none")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of faults."""
        return () if self.faults == "none" else tuple(f for f in self.faults.split(",") if f)


def answer(
    request: ChaosRequest, say: Callable[[str], None] = lambda _: None, watch: Conforming | None = None
) -> tuple[Path, Conformed | None]:
    """Run the ensemble, and check its record against the model.

    Returns:
        The folder with the record, the servers' data and their logs; and the result of the check.

    Raises:
        NoVerdict: the servers cannot be run here, or did not begin to serve.
        RequestError: the folder cannot be made.
    """
    from traces.conform.chaos import Chaos, ChaosPlan
    from traces.reenact.distributions import Cannot

    real = request.found(request.release)
    try:
        name = request.output or f"chaos-{request.release}-{request.seed}"
        folder = new_folder(Path(name))
        plan = ChaosPlan(request.seconds, request.seed, request.clients, request.writes, request.kinds)
        ensemble = Chaos(folder, real, plan)
        try:
            ensemble.run(say)
        finally:
            ensemble.end()
    except Cannot as problem:
        raise NoVerdict(str(problem)) from None
    if request.record_only:
        return folder, None
    return folder, conform(ConformRequest(record=str(ensemble.record), release=request.release), watch)
