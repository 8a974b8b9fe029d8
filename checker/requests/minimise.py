"""Shorten a counterexample, then explore its reduced configuration for a shortest one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, NoVerdict, RequestError
from checker.output_files import check_writable
from checker.report.answer import TraceAnswer
from checker.report.result import Part
from checker.requests.base.carried import TraceRequest, verified_trace
from checker.requests.base.request import File, Option, Seconds, function, name_of
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.explore.result import Limits
    from traces import Trace

MEMORY = 2 << 30  # bytes that the search for a shorter one may use in addition


@dataclass(frozen=True, repr=False)
class Minimised(TraceAnswer):
    """A shortened counterexample.

    Attributes:
        request: the request.
        trace: the shorter trace, verified and replayed.
        steps_before: the number of steps of the given one.
        schedules: the number of schedules tried.
        shortest: whether the explorer found none shorter in the trace's configuration.
    """

    request: Minimise
    trace: Trace
    steps_before: int
    schedules: int
    shortest: bool

    kind = "minimise"
    exit_code = HELD

    @property
    def sentence(self) -> str:
        short, saved = self.trace, self.request.target
        told = "no run is shorter in this configuration" if self.shortest else "a shorter one may exist"
        still = f"violate {short.property_name}"
        if short.lasso is not None:
            still = f"leave {short.lasso.progress_property} unreached"
        if short.failure is not None and short.failure.widen:
            still = f"need more room than there is ({short.failure.widen})"
        where = f". Saved as {saved}" if saved else ""
        return f"{self.steps_before} steps are {len(short.steps)} now, and still {still}; {told}{where}"

    def parts(self) -> Sequence[Part]:
        from traces import to_text
        from traces.explain.folding import folded

        return [folded(self.sentence), to_text(self.trace).rstrip()]

    def details(self) -> dict[str, Any]:
        short, saved = self.trace, self.request.target
        return {
            "property": short.property_name or None,
            "progress_property": None if short.lasso is None else short.lasso.progress_property,
            "steps_before": self.steps_before,
            "steps": len(short.steps),
            "schedules_tried": self.schedules,
            "shortest": self.shortest,
            "configuration": short.configuration.as_dict(),
            "trace": str(saved) if saved else None,
        }


@dataclass(frozen=True)
class Minimise(TraceRequest):
    """Shorten a counterexample: fewer steps, faults, messages, transactions and processes.

    The shortened run still violates the same property. Then the explorer searches the reduced configuration for a
    shorter run; if it finishes, no shorter run exists there. A run of --live in which a process starves is shortened
    while it stays fair and a process still starves.
    """

    kind: ClassVar[str] = "minimise"
    draws: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...] | None] = ()

    output: Annotated[
        File | None,
        Option(
            "Where to save the shortened trace (default: beside the trace, as .min.trace.json).",
            place="write",
            unset="",
        ),
    ] = None
    search: Annotated[Seconds, Option("How long to explore the reduced configuration for a shorter one.")] = 20.0

    def validate(self) -> None:
        super().validate()
        if not Path(name_of(self.trace)).name:
            raise RequestError(f"{self.trace}: this is a folder")

    @property
    def target(self) -> Path | None:
        """The file for the shorter trace; None to save nothing."""
        given = Path(name_of(self.trace))
        if self.output == "":
            return given.with_name(given.name.removesuffix(".json").removesuffix(".trace") + ".min.trace.json")
        return None if self.output is None else Path(self.output)

    @property
    def places(self) -> Iterable[Path]:
        return [*super().places, *filter(None, [self.target])]

    def answer(self, watch: Watch = QUIET) -> Minimised:
        from traces import TraceError, verify, write_trace
        from traces.replay.replay import replay
        from traces.shorten.minimise import minimise

        if self.target is not None:
            check_writable(self.target, "--output", regular=True)
        given = verified_trace(self.trace)
        with watch.working() as show:
            try:
                found = minimise(
                    given, lambda steps, schedules: show(f"{steps} steps left, {schedules:,} schedules tried")
                )
            except TraceError as problem:
                raise RequestError(f"{name_of(self.trace)}: {problem}") from None
            short, shortest = found.trace, False
            if given.lasso is None:
                show(f"{len(short.steps)} steps left; exploring for a shorter run")
                short, shortest = searched(short, self.search)
        short = replace(short, request=self.as_json())
        try:
            verify(short)
            replay(short)
            if self.target is not None:
                write_trace(short, self.target)
        except TraceError as problem:
            raise NoVerdict(str(problem)) from None
        return Minimised(self, short, len(given.steps), found.runs, shortest)


minimise = function(Minimise)


def searched(trace: Trace, limit: float) -> tuple[Trace, bool]:
    """Return the shortest counterexample of the trace's configuration if exploring finds it in time, else the trace.

    Return also whether it is known that none is shorter.
    """
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from invariants import NO_RUNTIME_ERROR, known_properties, property_named
    from traces import build_trace
    from traces.record.failure import ENABLED, START
    from traces.record.runner import failing_trace

    failure = trace.failure
    if failure is not None and failure.where == START:
        return trace, True
    name = trace.property_name if failure is None else failure.judged
    judged = [property_named(name, known_properties(trace.configuration.protocol))] if name else []
    code, _ = Compiled.of(trace.model, judged, True)
    # an error in determining the enabled steps is met when a state is expanded
    depth = len(trace.steps) - (failure is None or failure.where != ENABLED)
    found = Explorer(code, 0).run(limits(depth, limit))
    broken = found.violations.get(name if failure is None else NO_RUNTIME_ERROR.name)
    run = broken.schedule if broken is not None else None
    if failure is not None and failure.widen:
        run = found.error_run
    if run is not None and len(run) < len(trace.steps):
        if failure is None:
            return build_trace(trace.model, judged[0], run), True
        return failing_trace(trace.model, run, not failure.widen, judged), True
    whole = not found.stopped and (found.complete or found.depth >= depth)
    return trace, whole and not (found.error and run is None)


def limits(depth: int, seconds: float) -> Limits:
    """Return the limits of a search for a shorter one."""
    from checker.explore.memory import resident_bytes
    from checker.explore.result import Limits

    return Limits(depth, seconds=seconds, memory=resident_bytes() + MEMORY)
