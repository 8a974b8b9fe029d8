"""Counterexamples: the trace of a schedule, checked in the other worlds, and saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.report.result import Counterexample
    from checker.requests.base.model import ModelRequest
    from checker.requests.base.request import File, Request
    from invariants.registry import Property
    from traces import Trace
    from zabspec.model import Model


class Saves(Protocol):
    """A request whose traces are saved."""

    @property
    def model(self) -> ModelRequest:
        """The model of the request."""

    @property
    def trace(self) -> File | None:
        """The file for the first trace; empty for a file here, named for what it shows; None to save nothing."""


def trace_path(request: Saves, violated: Iterable[str], name: str, keep_going: bool = False) -> Path | None:
    """Return the file for the trace of a property, or None to save nothing.

    The first trace gets the file that the request names. If there are several, the others have the property in their
    name; with `keep_going` all have.
    """
    if request.trace is None:
        return None
    if not request.trace:
        model = request.model
        changed = ",".join(filter(None, (model.variant, model.repair)))
        from zabspec.authoring.sources import path_of

        called = changed.replace(",", "+").replace(" ", "") or path_of(model.name).stem
        return Path(f"zabcheck-{called}-{name}.trace.json")
    given = Path(request.trace)
    if not keep_going and name == next(iter(violated)):
        return given
    stem, suffix = given.name, ""
    for ending in (".trace.json", given.suffix):
        if ending and stem.endswith(ending):
            stem, suffix = stem.removesuffix(ending), ending
            break
    return given.with_name(f"{stem}-{name}{suffix}")


def run_to_error(
    model: Model, exploration: Exploration, path: Path | None, request: Request | None = None
) -> Counterexample | None:
    """Return the run to the run-time error that ended an exploration without a verdict, or None.

    None is returned if there is no such error, or if CPython, whose integers are unbounded, does not reproduce it.
    """
    if exploration.failed or exploration.error_run is None:
        return None
    from traces import TraceError
    from traces.record.runner import failing_trace

    try:
        trace = failing_trace(model, exploration.error_run, False, exploration.properties)
    except TraceError:
        return None
    return verified_and_saved(trace, "no-room", path, request)


def counterexample(
    model: Model, exploration: Exploration, name: str, path: Path | None, request: Request | None = None
) -> Counterexample:
    """Return the trace of a violation, verified and saved."""
    found = exploration.violations[name]
    return counterexample_of(model, found.property, found.schedule, path, request)


def counterexample_of(
    model: Model, prop: Property, schedule: Sequence[int], path: Path | None, request: Request | None = None
) -> Counterexample:
    """Return the trace of a schedule that violates a property, verified and saved as `verified_and_saved` does."""
    from traces import TraceError, build_trace

    try:
        trace = build_trace(model, prop, schedule)
    except TraceError as problem:
        return not_replayed(f"the counterexample to {prop.name}", problem, schedule)
    return verified_and_saved(trace, prop.name, path, request)


def verified_and_saved(trace: Trace, name: str, path: Path | None, request: Request | None = None) -> Counterexample:
    """Compare a trace with the interpreter, replay it in the simulator, and save it.

    Args:
        name: of the property that it violates.
        path: the file to save it in; None to save nothing.
        request: the one that it answers, which the trace carries.
    """
    from checker.report.result import Counterexample
    from traces import TraceError, to_text, verify, why
    from traces.replay.replay import replay

    if request is not None:
        trace = replace(trace, request=request.as_json())
    try:
        verify(trace)
    except TraceError as problem:
        return not_replayed(f"the counterexample to {name}", problem, trace.schedule)
    text, reason = to_text(trace), why(trace)
    try:
        digest = replay(trace).sha256
    except TraceError as problem:
        trouble = f"the counterexample to {name} does not replay in the simulator ({problem})"
        kept = saved(Counterexample(text, reason, replayed=False, trace=trace), path)
        trouble += f"; it is in {kept.path}" if kept.path else ""
        return replace(kept, path="", trouble=f"{trouble}: this is a bug of zabcheck, please report it")
    return saved(Counterexample(text, reason, digest=digest, trace=trace), path)


def not_replayed(what: str, problem: Exception, schedule: Sequence[int]) -> Counterexample:
    """Return what is reported of a schedule that the interpreter does not follow."""
    from checker.report.result import Counterexample

    words = " ".join(f"{word:#x}" for word in schedule)
    trouble = f"{what} does not replay in the interpreted world ({problem}; steps {words})"
    return Counterexample(trouble=f"{trouble}: this is a bug of zabcheck, please report it", replayed=False)


def saved(found: Counterexample, path: str | Path | None) -> Counterexample:
    """Return a counterexample with the file that it is saved in, or with what failed; without a path, unchanged."""
    from traces import TraceError, write_trace

    if not path or found.trace is None:
        return found
    try:
        write_trace(found.trace, path)
    except TraceError as problem:
        return replace(found, trouble=str(problem))
    return replace(found, path=str(Path(path)))
