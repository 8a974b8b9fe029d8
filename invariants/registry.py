"""Evaluate properties of one state, or of one step, in CPython, and define the property that is built in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zabspec.properties import BUILT_IN, DEADLOCK, HISTORY, RUNTIME, STATE, STEP, TERMINAL, Property

__all__ = [
    "HISTORY",
    "NO_RUNTIME_ERROR",
    "RUNTIME",
    "STATE",
    "STEP",
    "TERMINAL",
    "Property",
    "keeps",
    "meets",
    "property_named",
]


def no_runtime_error() -> bool:
    """No run-time error: no value leaves a range that its author declared, no index is past an end, no set is given a
    member that it cannot have, nothing is divided by zero."""
    return True


def a_step_is_taken() -> bool:
    """A step is taken."""
    return True


# Built in, and always checked. The engines find what violates it where they take a step or evaluate a property, so its
# functions are never called; it does not count as a property that was put to the test.
NO_RUNTIME_ERROR = Property(
    "no-runtime-error", RUNTIME, BUILT_IN, "a step is taken", no_runtime_error, a_step_is_taken, default=False
)


def no_step_is_possible(names: Mapping[str, Any], s: Any) -> bool:
    """Return whether a state is terminal, in CPython."""
    steps: dict[int, int] = {}
    names["enabled"](s, steps)
    return steps[0] == 0


def keeps(p: Property, names: Mapping[str, Any], after: Any, before: Any = None) -> Any:
    """Return a property's result for a state, or for the step to it, in CPython: true where it does not apply.

    Args:
        p: the property.
        names: a program and the properties, bound.
        after: the state.
        before: the state before the step; None if there was none.
    """
    if p.of == RUNTIME:
        return True
    holds = names[p.holds.__name__]
    if p.of == STEP:
        return before is None or holds(before, after, after)
    if p.of == TERMINAL and not no_step_is_possible(names, after):
        return True
    return holds(after)


def meets(p: Property, names: Mapping[str, Any], after: Any, before: Any = None) -> bool:
    """Return whether a state, or the step to it, meets the premise of a property."""
    if p.of == RUNTIME:
        return before is not None
    if p.name == DEADLOCK:
        return True
    witness = names[p.witness.__name__]
    if p.of == STEP:
        return before is not None and bool(witness(before, after, after))
    return (p.of != TERMINAL or no_step_is_possible(names, after)) and bool(witness(after))


def property_named(name: str, properties: Iterable[Property]) -> Property:
    """Return the property of a given name.

    Raises:
        KeyError: there is none.
    """
    for p in (*properties, NO_RUNTIME_ERROR):
        if p.name == name:
            return p
    raise KeyError(name)
