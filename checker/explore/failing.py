"""Find the run to a run-time error, from the state in whose steps an engine met one, in the CPython world.

An engine knows the state, and whether the error is of the author or of a capacity. Which step meets it, or which
property, is found by trying them in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.explore.result import Exploration, Violation
from invariants.binding import bound
from invariants.registry import NO_RUNTIME_ERROR, STEP, Property, keeps, meets
from traces.record.failure import of_author
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Model
from zabspec.starts import Schedule

CHOICE = 32  # a step word's bits from here up say which alternative `choose` takes


def note_failure(
    r: Exploration, model: Model, schedule: Schedule, sentence: str, by_author: bool, here: bool = False
) -> None:
    """Record the first run-time error of a level: of the author, as a violation; of a capacity, as no verdict.

    Args:
        schedule: the steps to the state in whose steps it was met; `here`: whether it was met in a property of the
            state.
        sentence: the message of machine code, or of the interpreter.
    """
    run = failing_run(model, r.properties, schedule, by_author, here)
    if not by_author:
        r.error, r.error_run = r.error or sentence, run
        return
    r.error = sentence
    r.violations[NO_RUNTIME_ERROR.name] = Violation(NO_RUNTIME_ERROR, schedule if run is None else run)


def failing_run(
    model: Model, judged: Sequence[Property], schedule: Schedule, by_author: bool, here: bool = False
) -> Schedule | None:
    """Return the steps to a state, and the step after them that meets a run-time error; None if none of its steps does.

    None is possible because the integers of the CPython world are unbounded.

    Args:
        judged: the properties that are evaluated on each step, and on the state after it.
        by_author: which errors to find: those of the author, or those of a capacity.
        here: whether it was met in a property of the state itself, and in no step from it.
    """
    model = model.begun_as(schedule)
    names, layout = bound(model), model.program.layout
    try:
        state = model.program.initial()
    except ERRORS as problem:
        return schedule if of_author(problem) == by_author and not schedule else None
    before: StateView | None = None
    for word in schedule:
        before = StateView(layout, state.key())
        names["apply"](state, word)
    if here:
        return schedule if evaluates(judged, names, state, before, by_author, states=True) else None
    try:
        out = [0] * (model.most_steps + 1)
        names["enabled"](StateView(layout, state.key()), out)
    except ERRORS as problem:
        return schedule if of_author(problem) == by_author else None
    for word, after, trouble in attempts(names, state, out[1 : out[0] + 1]):
        if trouble is not None and of_author(trouble) == by_author:
            return schedule.then(word)
        if trouble is None and evaluates(judged, names, after, StateView(layout, state.key()), by_author):
            return schedule.then(word)
    return None


def attempts(
    names: Mapping[str, Any], state: StateView, steps: Sequence[int]
) -> Iterator[tuple[int, StateView, Exception | None]]:
    """Yield every step with every choice: its word, the state after it, and the run-time error that it meets."""
    for step in steps:
        choice, choices = 0, 1
        while choice < choices:
            word = step | choice << CHOICE
            after = StateView(state.layout, state.key())
            try:
                names["apply"](after, word)
            except ERRORS as problem:
                yield word, after, problem
            else:
                if choice < after.choices:
                    yield word, after, None
            choices = max(choices, after.choices)
            choice += 1


def evaluates(
    judged: Sequence[Property],
    names: Mapping[str, Any],
    state: StateView,
    before: StateView | None,
    by_author: bool,
    states: bool = False,
) -> bool:
    """Return whether evaluating one of the properties, or its premise, meets a run-time error.

    Args:
        states: whether to evaluate only state properties.
    """
    for p in judged:
        if states and p.of == STEP:
            continue
        for asks in (keeps, meets):
            try:
                asks(p, names, state, before)
            except ERRORS as problem:
                if of_author(problem) == by_author:
                    return True
    return False
