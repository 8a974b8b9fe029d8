"""Verify a trace against a run of its schedule."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Mapping
from typing import Any

from invariants import Property, known_properties, property_named
from traces.record.fair import certify
from traces.record.runner import Runner, failing_trace
from traces.record.trace import Trace, TraceError
from traces.record.values import state_json
from zabspec.language.python.reference import ERRORS

RUN = "the run gives"


def verify(trace: Trace) -> None:
    """Run the schedule again, compare everything, and check the property, premise and lasso of the trace.

    The property must be violated, or its premise met, at the last step and not before.

    Raises:
        TraceError: the first difference, by step and field.
    """
    prop = claimed(trace)
    if trace.failure is not None:
        verify_failing(trace)
        return
    runner = Runner(trace.model)
    compare("initial state", trace.initial, state_json(runner.state), RUN)
    last, met = len(trace.steps), premise_of(trace)
    judge(runner.keeps, prop, 0, last)
    meet(runner.meets, met, 0, last)
    for step in trace.steps:
        again = runner.step(step.word.word)
        compare(f"step {again.number}", step.as_dict(), again.as_dict(), RUN)
        judge(runner.keeps, prop, runner.taken, last)
        meet(runner.meets, met, runner.taken, last)
    certify(trace)


def verify_failing(trace: Trace) -> None:
    """Run a schedule again that ends in a run-time error, and compare everything, the error included.

    Raises:
        TraceError: the first difference, by step and field.
    """
    assert trace.failure is not None
    judged = [property_of(trace, trace.failure.judged)] if trace.failure.judged else []
    again = failing_trace(trace.model, trace.schedule, not trace.failure.widen, judged)
    compare("initial state", trace.initial, again.initial, RUN)
    for mine, theirs in zip(trace.steps, again.steps, strict=True):
        compare(f"step {theirs.number}", mine.as_dict(), theirs.as_dict(), RUN)
    assert again.failure is not None
    compare("error", trace.failure.as_dict(), again.failure.as_dict(), RUN)


def property_of(trace: Trace, name: str) -> Property:
    """Return a property by name.

    Raises:
        TraceError: there is no such property.
    """
    try:
        return property_named(name, known_properties(trace.configuration.protocol))
    except KeyError:
        raise TraceError(f"there is no property {name!r}") from None


def claimed(trace: Trace) -> Property | None:
    """Return the property that a trace claims to violate, or None.

    Raises:
        TraceError: there is no such property, or its statement differs.
    """
    prop = property_of(trace, trace.property_name) if trace.property_name else None
    if prop is not None and not prop.judges(trace.configuration.protocol):
        raise TraceError(f"header, property: {prop.name} is not about {trace.configuration.protocol}")
    shown = prop or premise_of(trace)
    expected = ("", "") if shown is None else (shown.statement, shown.source)
    for name, said, true in zip(("statement", "source"), (trace.statement, trace.source), expected, strict=True):
        if said != true:
            raise TraceError(f"header, {name}: the trace says {said!r}, the property {true!r}")
    return prop


def premise_of(trace: Trace) -> Property | None:
    """Return the property whose premise a trace claims to meet, or None.

    Raises:
        TraceError: there is no such property.
    """
    return property_of(trace, trace.premise_of) if trace.premise_of else None


def said_of(function: Callable[[Property], bool], prop: Property, taken: int) -> bool:
    """Evaluate a function of a property after some number of steps.

    Raises:
        TraceError: the evaluation meets a run-time error.
    """
    try:
        return function(prop)
    except ERRORS as error:
        raise TraceError(f"step {taken}: {prop.name} cannot be checked, as {error}") from error


def meet(meets: Callable[[Property], bool], prop: Property | None, taken: int, last: int) -> None:
    """Check that the premise of a property is met at the last step and not before.

    Args:
        meets: whether the state, or the step just taken, meets it.
        prop: the property; None if there is nothing to check.
        taken, last: steps taken so far, and in all.

    Raises:
        TraceError: it does not.
    """
    if prop is None:
        return
    if said_of(meets, prop, taken) != (taken == last):
        said = "the last step does not reach" if taken == last else "a step before the last one reaches"
        raise TraceError(f"step {taken}, premise_of: {said} the premise of {prop.name}")


def judge(keeps: Callable[[Property], bool], prop: Property | None, taken: int, last: int) -> None:
    """Check that a property breaks at the last step and not before.

    Args:
        keeps: whether the state, or the step just taken, keeps it.
        prop: the property; None if there is nothing to check.
        taken, last: steps taken so far, and in all.

    Raises:
        TraceError: it does not.
    """
    if prop is None:
        return
    kept = said_of(keeps, prop, taken)
    if kept and taken == last:
        raise TraceError(f"step {last}, property: the last step does not violate {prop.name}")
    if not kept and taken < last:
        raise TraceError(f"step {taken}, property: {prop.name} is violated here, before the last step ({last})")


def compare(place: str, said: Mapping[str, Any], true: Mapping[str, Any], who: str) -> None:
    """Complain about the first difference between what a trace says and what a run gives.

    Raises:
        TraceError: there is one.
    """
    found = difference(said, true)
    if found is not None:
        path, a, b = found
        raise TraceError(f"{place}, {path}: the trace says {json.dumps(a)}, {who} {json.dumps(b)}")


def difference(a: Any, b: Any) -> tuple[str, Any, Any] | None:
    """Return where two JSON values first differ, with both values there, or None."""
    if plainly_alike(a, b):
        return None
    found = first_apart(a, b)
    return found and (found[0].removeprefix("."), *found[1:])


def plainly_alike(a: Any, b: Any) -> bool:
    """Return whether two values serialise to the same bytes: quick, and never true of different values.

    Equal values may serialise differently, for example with names in another order.
    """
    try:  # in version 2 of marshal equal values are equal bytes, whatever else refers to them
        return marshal.dumps(a, 2) == marshal.dumps(b, 2)
    except ValueError:  # something that is more than its value
        return False


def first_apart(a: Any, b: Any) -> tuple[str, Any, Any] | None:
    """Return where two values first differ, with both values there, or None; builds the path only on a difference."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            found = first_apart(x, y)
            if found is not None:
                return f"[{k}]{found[0]}", found[1], found[2]
        return None
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in (*b, *(k for k in a if k not in b)):
            if name not in a or name not in b:
                return f".{name}", a.get(name), b.get(name)
            found = first_apart(a[name], b[name])
            if found is not None:
                return f".{name}{found[0]}", found[1], found[2]
        return None
    # true equals 1 in Python, and is not the same in a file
    return None if type(a) is type(b) and a == b else ("", a, b)
