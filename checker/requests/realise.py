"""Search for a plain seeded run that violates the property that a counterexample violates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, NO_VERDICT, RequestError
from checker.report.answer import TraceAnswer
from checker.report.result import Part
from checker.requests.base.carried import TraceRequest, verified_trace
from checker.requests.base.request import Count, Option, Seconds, function, name_of
from checker.requests.base.watch import QUIET, Watch
from zabspec.worlds.disks import OF_DISKS

if TYPE_CHECKING:
    from traces import Trace
    from traces.shorten.realise import Realised as PlainRun


@dataclass(frozen=True, repr=False)
class Realised(TraceAnswer):
    """A plain seeded simulator run that violates the same property as a counterexample.

    Attributes:
        request: the request.
        trace: the counterexample.
        found: the run, or None if no tried run violates the property.
        attempts: the number of runs tried.
    """

    request: Realise
    trace: Trace
    found: PlainRun | None
    attempts: int

    kind = "realise"
    indent = None

    @property
    def sentence(self) -> str:
        name, command = self.trace.property_name, self.command
        if self.found is not None:
            return f"{name} is violated at tick {self.found.tick} by: {command}"
        lost = any(step.word.row.spends in OF_DISKS for step in self.trace.steps)
        more = "; a plain run loses no power, as the counterexample does" if lost else ""
        return f"none of {self.attempts:,} runs violated {name}; --attempts and --time-limit allow more{more}"

    @property
    def exit_code(self) -> int:
        return NO_VERDICT if self.found is None else HELD

    @property
    def troubles(self) -> Sequence[str]:
        return [self.sentence] if self.found is None else []

    @property
    def command(self) -> str:
        """The command that shows the run; empty without one."""
        from traces.shorten.realise import command_line

        return "" if self.found is None else command_line(self.found.run)

    def parts(self) -> Sequence[Part]:
        if self.found is None:
            return []
        ends = f"violates {self.trace.property_name} at tick {self.found.tick}; {self.attempts:,} runs tried"
        return [f"{self.command}\n{ends}"]

    def details(self) -> dict[str, Any]:
        found = {} if self.found is None else {"command": self.command, "tick": self.found.tick}
        name = self.trace.property_name
        return {"property": name, "reproduced": self.found is not None, "attempts": self.attempts, **found}


@dataclass(frozen=True)
class Realise(TraceRequest):
    """Search for a seed and flags of the simulator that violate the same property without a script.

    Print the command that shows it. Exit code 3: none of the runs violated it.
    """

    kind: ClassVar[str] = "realise"

    attempts: Annotated[Count, Option("Largest number of runs to try.")] = 200_000
    time_limit: Annotated[Seconds, Option("Stop after this time.")] = 60.0
    threads: Annotated[Count | None, Option("Cores to use; all if not given.")] = None

    def answer(self, watch: Watch = QUIET) -> Realised:
        from traces.judging.simulated import why_not_judged
        from traces.shorten.realise import realise, wanted_of

        given = verified_trace(self.trace)
        name = given.property_name
        if not name:
            raise RequestError(f"{name_of(self.trace)} violates no property")
        wanted = wanted_of(name, given.configuration)
        try:
            with watch.working() as show:
                show(f"searching for a run of {given.configuration.protocol} that violates {name}")
                found = realise(wanted, self.attempts, self.time_limit, self.threads or os.cpu_count() or 1)
        except KeyError:
            why = why_not_judged(given.configuration.protocol, name)
            raise RequestError(f"simulated runs are not checked against {name}: {why}") from None
        if isinstance(found, int):
            return Realised(self, given, None, found)
        return Realised(self, given, found, found.attempts)


realise = function(Realise)
