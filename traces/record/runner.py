"""Run a schedule in the explorer's world, in CPython, and record what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from invariants import known_properties
from invariants.binding import bound
from invariants.registry import NO_RUNTIME_ERROR, RUNTIME, Property, keeps, meets
from traces.explain.names import counted
from traces.record.failure import START, STEP, Failure, failure_of, met_here
from traces.record.flight import FlightNumbers
from traces.record.notes import Notes
from traces.record.trace import JsonState, Step, StepWord, Trace, TraceError, Transmission
from traces.record.values import state_json
from traces.record.worlds import watched_as
from zabspec import __version__
from zabspec.language.program import Program
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Model


class StepFailed(TraceError):
    """A step meets a run-time error, so that it has no successor.

    Attributes:
        step: the step; the state after it is the one before it.
        failure: the error.
    """

    def __init__(self, sentence: str, step: Step, failure: Failure) -> None:
        super().__init__(sentence)
        self.step, self.failure = step, failure


class NoAlternative(TraceError):
    """A step has fewer alternatives than its word says."""


@dataclass(frozen=True)
class Mark:
    """A point of a run from which it can be continued again.

    Attributes:
        state, before: the bytes of the states after and before the last step, scratch fields included.
        taken: the number of steps taken.
        flight: the numbers of the messages in flight.
    """

    state: bytes
    before: bytes
    taken: int
    flight: FlightNumbers


@dataclass(frozen=True)
class Known:
    """Facts about the point that a run has reached, shared by the several steps that are taken from there.

    Attributes:
        possible: the steps possible there, as from `Runner.possible`.
        state: the state, as JSON.
    """

    possible: Sequence[int]
    state: JsonState


class Runner:
    """A run in the explorer's world that records what each step does."""

    def __init__(self, model: Model) -> None:
        program = model.program
        self.model = model
        self.layout = program.layout
        self.names: dict[str, Any] = bound(model)
        self.notes = Notes()
        self.flight = watched_as(model.world).flight()
        self.notes.listen(self.names, model.txn, lambda s: int(s.event_process))
        self.notes.listen_to(self.names, model.protocol.text)
        self.flight.listen(self.names, self.notes.sends)
        self.state = StateView(self.layout)
        self.names["initialize"](self.state)
        self.before = self.state.copy()
        self.taken = 0

    def mark(self) -> Mark:
        """Return a mark of the current point of the run."""
        return Mark(bytes(self.state.buffer), bytes(self.before.buffer), self.taken, self.flight.saved())

    def go_to(self, mark: Mark) -> None:
        """Return to the point at which this run, or another of the same model, made a mark."""
        self.state, self.before = (StateView(self.layout, data) for data in (mark.state, mark.before))
        self.taken = mark.taken
        self.notes.clear()
        self.flight.restore(mark.flight)

    def possible(self) -> list[int]:
        """Return the step words that are possible now, without their choices."""
        out = [0] * (self.model.most_steps + 1)
        self.names["enabled"](self.state, out)
        return out[1 : out[0] + 1]

    def step(self, word: int, known: Known | None = None) -> Step:
        """Take a step.

        Args:
            word: it, with its choice.
            known: what is known of the state before the step, which saves work; None for nothing.

        Raises:
            StepFailed: it meets a run-time error.
            TraceError: the step is not possible here.
        """
        number = self.taken + 1
        parts = StepWord.of(word)
        try:
            possible = self.possible() if known is None else known.possible
        except ERRORS as error:
            raise TraceError(f"step {number}: its enabled steps cannot be determined, as {error}") from error
        if word >> 40 or parts.word & 0xFFFFFFFF not in possible:
            raise TraceError(f"step {number}, word: {describe_word(parts)} is not possible there")
        self.notes.clear()
        self.before = self.state.copy()
        message = self.flight.take_out(self.before, parts)
        try:
            self.names["apply"](self.state, word)
        except ERRORS as error:
            label = label_of(self.model.program, parts, self.state.steps)
            self.state = self.before
            raise failed_step(self.model, number, parts, label, message, state_json(self.state), error) from error
        s = self.state
        if parts.choice >= max(1, s.choices):
            raise NoAlternative(
                f"step {number}, word: {describe_word(parts)} takes alternative {parts.choice}, "
                f"and has {counted(s.choices, 'alternative')}"
            )
        self.flight.settle(s)
        self.taken = number
        label = label_of(self.model.program, parts, s.steps)
        written = state_json(s) if known is None else state_json(s, self.before, known.state)
        return self.notes.step(number, parts, label, message, written)

    def failure_here(self, by_author: bool, judged: Sequence[Property] | None = None) -> Failure | None:
        """Return a run-time error that is met where the run ends, without those of further steps, or None.

        Args:
            by_author: True for errors of the author, False for capacities.
            judged: the properties to evaluate; None for all.
        """
        before = self.before if self.taken else None
        asked = evaluated(self.model) if judged is None else judged
        return met_here(self.model, self.names, self.state, before, asked, by_author)

    def keeps(self, p: Property) -> bool:
        """Return whether the state, or the step just taken, satisfies a property."""
        return bool(keeps(p, self.names, self.state, self.before if self.taken else None))

    def meets(self, p: Property) -> bool:
        """Return whether the state, or the step just taken, meets the premise of a property."""
        return bool(meets(p, self.names, self.state, self.before if self.taken else None))


def failed_step(
    model: Model, number: int, word: StepWord, label: str, message: Transmission | None, state: JsonState,
    error: Exception, where: str = "",
) -> StepFailed:  # fmt: skip
    """Return the exception for a step that meets a run-time error; the step keeps no effects."""
    sentence = f"step {number}, word: {describe_word(word)} fails{where}, as {error}"
    return StepFailed(sentence, Notes().step(number, word, label, message, state), failure_of(model, error, STEP))


def evaluated(model: Model) -> list[Property]:
    """Return the properties whose evaluation may meet an error in a run, those checked by default first."""
    c = model.configuration
    known = [p for p in known_properties(c.protocol) if p.judges(c.protocol) and (c.passes or not p.passes)]
    return sorted(known, key=lambda p: not p.default)


def label_of(program: Program, word: StepWord, entered: int) -> str:
    """Return the label of a step: the paper's steps that it entered, and what else it is.

    Args:
        entered: the steps entered, one bit each.
    """
    named = [name for k, name in enumerate(program.steps) if entered >> k & 1]
    if named and word.row.receives:
        return ", ".join(named)
    return ", ".join(dict.fromkeys([called(program, word), *named]))


def called(program: Program, word: StepWord) -> str:
    """Return the name of a step apart from the paper's steps."""
    if word.base is not word:
        return f"{word.row.called} ({called(program, word.base)})"
    own = program.changes if word.row.by else program.actions
    return own[word.operands["which"]] if "which" in word.operands else word.row.called


def describe_word(word: StepWord) -> str:
    """Return a step word as a phrase with named operands."""
    return f"{word.kind}({', '.join(f'{k}={v}' for k, v in word.operands.items())})"


def failing_trace(
    model: Model, words: Sequence[int], by_author: bool, judged: Sequence[Property] | None = None
) -> Trace:
    """Run a schedule that ends in a run-time error, and record its events.

    Args:
        model: the model to run.
        words: the steps, each with its choice; the last may be the one that meets the error.
        by_author: whether the error is of the author, or a capacity is too small.
        judged: the properties in evaluating which it may be met; None for all that there are.

    Raises:
        TraceError: a step is not possible where it stands, or there is no such error at the end.
    """
    prop, model = NO_RUNTIME_ERROR if by_author else None, model.begun_as(words)
    steps: list[Step] = []
    failure: Failure | None = None
    try:
        runner = Runner(model)
    except ERRORS as error:
        initial = state_json(StateView(model.program.layout))
        failure = failure_of(model, error, START) if not words else None
    else:
        initial = state_json(runner.state)
        for k, word in enumerate(words):
            try:
                steps.append(runner.step(word))
            except StepFailed as found:
                if k < len(words) - 1:
                    raise
                steps.append(found.step)
                failure = found.failure
        failure = failure or runner.failure_here(by_author, judged)
    if failure is None or bool(failure.widen) == by_author:
        raise TraceError(f"the run of {counted(len(words), 'step')} ends in no such run-time error")
    return trace_of(model, prop, initial, steps, failure)


def trace_of(
    model: Model, prop: Property | None, initial: JsonState, steps: Sequence[Step], failure: Failure | None = None
) -> Trace:
    """Return a run that was recorded as a trace.

    Args:
        prop: the property that it violates, or None.
    """
    name, statement, source = ("", "", "") if prop is None else (prop.name, prop.statement, prop.source)
    return Trace(model.configuration, name, statement, source, initial, tuple(steps), __version__, None, failure)


def build_trace(model: Model, prop: Property | None, words: Sequence[int]) -> Trace:
    """Run a schedule from the initial state and record its events.

    Args:
        model: the model to run.
        prop: the property that its last step is claimed to violate (`verify` checks that it does); None for any other
            run.
        words: the steps, each with its choice.

    Raises:
        TraceError: a step is not possible where it stands.
    """
    if prop is not None and prop.of == RUNTIME:
        return failing_trace(model, words, True)
    model = model.begun_as(words)
    runner = Runner(model)
    initial = state_json(runner.state)
    return trace_of(model, prop, initial, [runner.step(word) for word in words])
