"""Holding a trace against the run of its schedule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from invariants import PROPERTIES, Property, property_named
from traces.runner import Runner, state_json
from traces.trace import Trace, TraceError
from zabspec.language.reference import RangeError

__all__ = ["verify"]


def verify(trace: Trace) -> None:
    """Run the schedule again and compare everything; check that the property breaks at the last
    step and not before.

    Raises:
        TraceError: the first difference, by step and field.
    """
    prop: Property | None = None
    if trace.property_name:
        try:
            prop = property_named(trace.property_name, PROPERTIES)
        except KeyError as error:
            raise TraceError(f"there is no property {trace.property_name!r}") from error
    expected = ("", "") if prop is None else (prop.statement, prop.source)
    for name, said, true in zip(("statement", "source"), (trace.statement, trace.source), expected, strict=True):
        if said != true:
            raise TraceError(f"header, {name}: the trace says {said!r}, the property {true!r}")
    runner = Runner(trace.model)
    _compare("initial state", trace.initial, state_json(runner.state))
    last = len(trace.steps)
    _judge(runner, prop, last)
    for step in trace.steps:
        again = runner.step(step.word.word)
        _compare(f"step {again.number}", step.as_dict(), again.as_dict())
        _judge(runner, prop, last)


def _judge(runner: Runner, prop: Property | None, last: int) -> None:
    if prop is None:
        return
    try:
        kept = runner.keeps(prop)
    except RangeError as error:
        raise TraceError(f"step {runner.taken}: {prop.name} cannot be judged, as {error}") from error
    if kept and runner.taken == last:
        raise TraceError(f"step {last}, property: the last step does not break {prop.name}")
    if not kept and runner.taken < last:
        raise TraceError(f"step {runner.taken}, property: {prop.name} breaks here, before the last step ({last})")


def _compare(place: str, said: Mapping[str, Any], true: Mapping[str, Any]) -> None:
    """Complain about the first difference between what a trace says and what the run gives."""
    found = _difference(said, true, "")
    if found is not None:
        path, a, b = found
        raise TraceError(f"{place}, {path}: the trace says {json.dumps(a)}, the run gives {json.dumps(b)}")


def _difference(a: Any, b: Any, path: str) -> tuple[str, Any, Any] | None:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in (*b, *(k for k in a if k not in b)):
            inner = f"{path}.{name}" if path else str(name)
            if name not in a or name not in b:
                return inner, a.get(name), b.get(name)
            found = _difference(a[name], b[name], inner)
            if found is not None:
                return found
        return None
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            found = _difference(x, y, f"{path}[{k}]")
            if found is not None:
                return found
        return None
    # true equals 1 in Python, and is not the same in a file
    return None if type(a) is type(b) and a == b else (path, a, b)
