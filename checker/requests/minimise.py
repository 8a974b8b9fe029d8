"""Shorten a counterexample, then explore its reduced configuration for a shortest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable
from checker.requests.carried import verified_trace
from checker.requests.saved import MinimiseRequest

if TYPE_CHECKING:
    from checker.explore.result import Limits
    from traces import Trace
    from traces.record.failure import Failure

__all__ = ["MinimiseRequest", "Shortened", "answer"]

MEMORY = 2 << 30  # bytes that the search for a shorter one may use in addition

# Called with the steps that are left, and the schedules tried; None: the explorer is looking for a shorter one.
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Shortened:
    """A shortened counterexample.

    Attributes:
        trace: the shorter one, verified, replayed and saved.
        before: the number of steps of the given one.
        schedules: the number of schedules tried.
        shortest: whether the explorer found none shorter in the trace's configuration.
    """

    trace: Trace
    before: int
    schedules: int
    shortest: bool


def answer(request: MinimiseRequest, progress: Progress | None = None) -> Shortened:
    """Shorten a counterexample and save the result.

    Raises:
        RequestError: there is no such trace, it violates nothing, or the shorter one cannot be saved there.
        NoVerdict: the shorter one does not replay, or could not be saved.
    """
    from traces import TraceError, verify, write_trace
    from traces.replay.replay import replay
    from traces.shorten.minimise import minimise

    check_writable(request.target, "--output", regular=True)
    given = verified_trace(Path(request.trace))
    try:
        found = minimise(given, progress)
    except TraceError as problem:
        raise RequestError(f"{request.trace}: {problem}") from None
    short, shortest = found.trace, False
    if given.lasso is None:
        if progress is not None:
            progress(len(short.steps), None)
        short, shortest = searched(short, request.search)
    short = replace(short, request=request.as_json())
    try:
        verify(short)
        replay(short)
        write_trace(short, request.target)
    except TraceError as problem:
        raise NoVerdict(str(problem)) from None
    return Shortened(short, len(given.steps), found.runs, shortest)


def searched(trace: Trace, limit: float) -> tuple[Trace, bool]:
    """Return the shortest counterexample of the trace's configuration if exploring finds it in time, else the trace.

    Return also whether it is known that none is shorter.
    """
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from invariants import properties_of, property_named
    from traces import build_trace

    if trace.failure is not None:
        return searched_failing(trace, trace.failure, limit)
    prop = property_named(trace.property_name, properties_of(trace.configuration.protocol))
    code, _ = Compiled.of(trace.model, [prop], True)
    depth = len(trace.steps) - 1
    found = Explorer(code, 0).run(limits(depth, limit))
    if found.violations:
        return build_trace(trace.model, prop, found.violations[prop.name].schedule), True
    whole = not found.stopped and not found.error and (found.complete or found.depth >= depth)
    return trace, whole


def searched_failing(trace: Trace, failure: Failure, limit: float) -> tuple[Trace, bool]:
    """Return as `searched` does a shortest run that ends in a run-time error: of the protocol, or of a capacity."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from invariants import NO_RUNTIME_ERROR, properties_of, property_named
    from traces.record.failure import ENABLED, START
    from traces.record.runner import failing_trace

    if failure.where == START:
        return trace, True
    known = properties_of(trace.configuration.protocol)
    judged = [property_named(failure.judged, known)] if failure.judged else []
    code, _ = Compiled.of(trace.model, judged, True)
    depth = len(trace.steps) - (failure.where != ENABLED)  # such an error is met when a state is expanded
    found = Explorer(code, 0).run(limits(depth, limit))
    run = found.error_run
    if not failure.widen:
        run = found.violations[NO_RUNTIME_ERROR.name].schedule if found.failed else None
    if run is not None and len(run) < len(trace.steps):
        return failing_trace(trace.model, run, not failure.widen, judged), True
    whole = not found.stopped and (found.complete or found.depth >= depth)
    return trace, whole and not (found.error and run is None)


def limits(depth: int, seconds: float) -> Limits:
    """Return the limits of a search for a shorter one."""
    from checker.explore.memory import resident_bytes
    from checker.explore.result import Limits

    return Limits(depth, seconds=seconds, memory=resident_bytes() + MEMORY)
