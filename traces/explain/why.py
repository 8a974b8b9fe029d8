"""Explain a violation: the sentence that the property gives with its False, and the steps where its events happened.

The property is evaluated on the last state, or the last step, of the trace. An event of the trace belongs to the
sentence if a field that it changes is read by the property, and if the sentence names its process, transaction or
epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from invariants import Property, known_properties, property_named
from invariants.binding import bound, full_namespace
from invariants.registry import STEP, keeps
from traces.explain.effects import Change, changed, changes
from traces.explain.names import headline
from traces.judging.observed import Transaction
from traces.record.trace import Trace, TraceError
from traces.record.values import state_of
from zabspec.language.layout.kinds import Record
from zabspec.language.layout.notation import naming_processes, with_names
from zabspec.language.python.reference import ERRORS, RecordValue, SeqView, SetView
from zabspec.language.python.sentences import ExplainedFalse, sentence_of
from zabspec.model import Model

A_PROCESS = re.compile(r"(?<![A-Za-z0-9_])p$")  # the text before a number that is a process
AN_EPOCH = re.compile(r"(?<![A-Za-z0-9_])epoch $", re.IGNORECASE)


def outcome(trace: Trace, prop: Property) -> Any:
    """Return the result of a property on the last state, or the last step, of a trace.

    Raises:
        TraceError: the property cannot be evaluated.
    """
    names, layout = _names(trace.model), trace.model.program.layout
    after = state_of(layout, trace.states[-1])
    try:
        if prop.of != STEP:
            return keeps(prop, names, after)
        if not trace.steps:
            raise TraceError(f"{prop.name} is a property of steps, but the run has no step")
        before = state_of(layout, trace.states[-2])
        again = trace.model.program.initial()  # what a step says of itself is no part of a state: the run says it again
        for step in trace.steps:
            names["apply"](again, step.word.word)
        after.buffer[layout.size :] = again.buffer[layout.size :]
        return keeps(prop, names, after, before)
    except ERRORS as error:
        raise TraceError(f"{prop.name} cannot be checked, as {error}") from error


@lru_cache(maxsize=8)
def _names(model: Model) -> dict[str, Any]:
    """Return the program and the properties of a model as CPython functions, by name."""
    return bound(model)


def _unsaid(trace: Trace, name: str) -> Reason:
    """Return the reason for a property that gives no sentence: what the last step did."""
    if not trace.steps:
        return Reason(f"The last state violates {name}.", (), NOTHING)
    did = "; ".join(changes(trace, len(trace.steps))) or "nothing that shows"
    return Reason(f"Step {len(trace.steps)} ({headline(trace.steps[-1])}) breaks {name}: {did}.", (), NOTHING)


# --- at which steps --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """The processes, transactions (as they are written) and epochs that a sentence names."""

    processes: frozenset[int]
    txns: frozenset[str]
    epochs: frozenset[int]

    def has(self, c: Change) -> bool:
        """Return whether a change matches the names; a category that the sentence does not name matches everything."""
        return (
            (not (c.processes and self.processes) or bool(c.processes & self.processes))
            and (not (c.txns and self.txns) or bool(c.txns & self.txns))
            and (c.epoch is None or not self.epochs or c.epoch in self.epochs)
        )


NOTHING = Named(frozenset(), frozenset(), frozenset())


@dataclass(frozen=True)
class Reason:
    """The reason why a trace violates its property.

    Attributes:
        sentence: the sentence that the property gives with its False.
        events: the matching events, each with the number of its step.
        named: what the sentence names.
    """

    sentence: str
    events: tuple[tuple[int, str], ...]
    named: Named

    @property
    def text(self) -> str:
        """Return the sentence, followed by one about the steps."""
        by_step: dict[int, list[str]] = {}
        for number, text in self.events:
            by_step.setdefault(number, []).append(text)
        when = "; ".join(f"step {number}: {', '.join(texts)}" for number, texts in by_step.items())
        return " ".join(filter(None, (self.sentence, f"{when[:1].upper()}{when[1:]}." if when else "")))


@naming_processes
def why(trace: Trace, name: str = "") -> str:
    """Return why the last state or step of a trace violates a property, in a sentence or two.

    Raises:
        TraceError: as `reason`.
    """
    found = reason(trace, name)
    return found.text if found is not None else ""


@naming_processes
def reason(trace: Trace, name: str = "") -> Reason | None:
    """Return why the last state or step of a trace violates a property, and the steps of the events involved.

    Args:
        trace: the trace.
        name: the property; by default the one that the trace violates.

    Returns:
        The reason; None for a trace without a property.

    Raises:
        TraceError: the last state or step does not violate the property, or it is a property of steps and the trace has
            no step.
    """
    name = name or trace.property_name
    if trace.failure is not None and name in ("", trace.property_name):
        return Reason(f"{trace.failure.text}.", (), NOTHING)
    if not name:
        return None
    try:
        prop = property_named(name, known_properties(trace.configuration.protocol))
    except KeyError:  # a clause of the inductive invariant, which is no property of its own
        return _unsaid(trace, name)
    result = outcome(trace, prop)
    if result:
        raise TraceError(f"nothing in the last {'step' if prop.of == STEP else 'state'} violates {name!r}")
    if not isinstance(result, ExplainedFalse):
        return _unsaid(trace, name)
    return Reason(with_names(sentence_of(result)), tuple(_when(trace, prop, result)), named(result))


def named(said: ExplainedFalse) -> Named:
    """Collect the processes, transactions and epochs among the values of a property's sentence."""
    processes: set[int] = set()
    txns: set[str] = set()
    epochs: set[int] = set()
    for before, value in zip(said.pieces, said.values, strict=False):
        if isinstance(value, (set, SetView)):
            processes |= set(value) if isinstance(value, set) or value.kind.nodes else set()
        elif isinstance(value, (RecordValue, Transaction)):
            txns.add(str(value))
        elif isinstance(value, SeqView) and isinstance(value.kind.element, Record):
            txns |= {str(t) for t in value}
        elif isinstance(value, list):
            txns |= {str(t) for t in value if isinstance(t, Transaction)}
        elif isinstance(value, int) and A_PROCESS.search(before):
            processes.add(int(value))
        elif isinstance(value, int) and AN_EPOCH.search(before):
            epochs.add(int(value))
    return Named(frozenset(processes), frozenset(txns), frozenset(epochs))


def _when(trace: Trace, prop: Property, said: ExplainedFalse) -> Iterator[tuple[int, str]]:
    """Return the events that a sentence names, with their steps; only the last step counts for a property of steps."""
    wanted, reads = named(said), _reads(trace.model, prop.holds.__name__)
    count = len(trace.steps)
    found = [
        (number, c)
        for number in ([count] if prop.of == STEP else range(1, count + 1))
        for c in changed(trace, number)
        if reads & set(c.fields) and wanted.has(c)
    ]
    if prop.of == STEP and not found:
        yield count, headline(trace.steps[-1])
    yield from _last_of_each(found)


def _last_of_each(found: list[tuple[int, Change]]) -> Iterator[tuple[int, str]]:
    """Yield the events; of several values of one place without a transaction, only the last."""
    last = {c.place: k for k, (_, c) in enumerate(found)}
    for k, (number, c) in enumerate(found):
        if not c.place or c.txns or last[c.place] == k:
            yield number, c.text


@lru_cache(maxsize=64)
def _reads(model: Model, name: str) -> frozenset[str]:
    """Return the fields that a property reads."""
    front = model.program.front_end(full_namespace(model))
    front.function(name)
    return front.program.reads[name]
