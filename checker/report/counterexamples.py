"""Counterexamples that a command has found: held against the other worlds, and saved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checker.explore.result import Exploration
    from checker.report.report import Counterexample
    from invariants.registry import Property
    from traces import Trace
    from zabspec.model import Model

__all__ = ["counterexample", "counterexample_of", "held_and_saved", "run_to_error", "trace_path"]


def trace_path(options: Mapping[str, Any], found: Iterable[str], name: str) -> Path | None:
    """Where a property's counterexample is saved. A file named with --trace takes the first one;
    with --keep-going, and for others of the same level, the property is put into its name."""
    if options["no_trace"]:
        return None
    given: Path | None = options["trace"]
    if given is None:
        changed = ",".join(filter(None, (options["variant"], options.get("repair", ""))))
        called = changed.replace(",", "+").replace(" ", "") or Path(options["protocol"]).stem
        return Path(f"zabcheck-{called}-{name}.trace.json")
    if not options["keep_going"] and name == next(iter(found)):
        return given
    stem, suffix = given.name, ""
    for ending in (".trace.json", given.suffix):
        if ending and stem.endswith(ending):
            stem, suffix = stem.removesuffix(ending), ending
            break
    return given.with_name(f"{stem}-{name}{suffix}")


def run_to_error(model: Model, exploration: Exploration, options: Mapping[str, Any]) -> Counterexample | None:
    """The run to the run-time error that ended an exploration without a verdict, held against the other worlds and
    saved; None: there is none, or none is known (what CPython's integers have room for, machine words may not)."""
    if exploration.failed or exploration.error_run is None:
        return None
    from traces import TraceError
    from traces.record.runner import failing_trace

    try:
        trace = failing_trace(model, exploration.error_run, False, exploration.properties)
    except TraceError:
        return None
    return held_and_saved(trace, "no-room", trace_path(options, ["no-room"], "no-room"))


def counterexample(model: Model, exploration: Exploration, name: str, path: Path | None) -> Counterexample:
    """A violation's trace, held against the other worlds and saved."""
    found = exploration.violations[name]
    return counterexample_of(model, found.property, found.schedule, path)


def counterexample_of(model: Model, prop: Property, schedule: Sequence[int], path: Path | None) -> Counterexample:
    """Build the trace of a schedule that breaks a property, hold it against the interpreted world, replay it in the
    simulator, and save it."""
    from checker.report.report import Counterexample
    from traces import TraceError, build_trace

    try:
        trace = build_trace(model, prop, schedule)
    except TraceError as problem:
        words = " ".join(f"{word:#x}" for word in schedule)
        trouble = (
            f"the counterexample to {prop.name} does not replay in the interpreted world ({problem}; steps {words})"
        )
        return Counterexample(trouble=f"{trouble}: a bug of zabcheck, please report it", replayed=False)
    return held_and_saved(trace, prop.name, path)


def held_and_saved(trace: Trace, name: str, path: Path | None) -> Counterexample:
    """Hold a trace against the interpreted world, replay it in the simulator, and save it."""
    from checker.report.report import Counterexample
    from traces import TraceError, to_text, verify, why, write_trace
    from traces.replay.replay import replay

    try:
        verify(trace)
    except TraceError as problem:
        words = " ".join(f"{word:#x}" for word in trace.schedule)
        trouble = f"the counterexample to {name} does not replay in the interpreted world ({problem}; steps {words})"
        return Counterexample(trouble=f"{trouble}: a bug of zabcheck, please report it", replayed=False)
    text, reason = to_text(trace), why(trace)
    try:
        digest = replay(trace).sha256
    except TraceError as problem:
        trouble = f"the counterexample to {name} does not replay in the simulator ({problem})"
        if path is not None:
            with contextlib.suppress(TraceError):
                write_trace(trace, path)
                trouble += f"; it is in {path}"
        trouble += ": a bug of zabcheck, please report it"
        return Counterexample(text, reason, trouble=trouble, replayed=False, trace=trace)
    if path is None:
        return Counterexample(text, reason, digest=digest, trace=trace)
    try:
        write_trace(trace, path)
    except TraceError as problem:
        return Counterexample(text, reason, trouble=str(problem), digest=digest, trace=trace)
    return Counterexample(text, reason, str(path), digest=digest, trace=trace)
