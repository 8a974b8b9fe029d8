"""Running a schedule in the explorer's world, in CPython, and writing down what happened."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as package_version
from typing import Any

from invariants.binding import bound
from invariants.registry import Property, keeps
from traces.explain.names import counted
from traces.record.notes import Notes
from traces.record.trace import Step, StepWord, Trace, TraceError
from traces.record.values import state_json
from traces.record.worlds import watched_as
from zabspec.language.program import Program
from zabspec.language.reference import ERRORS, StateView
from zabspec.model import Model

__all__ = ["Runner", "build_trace", "describe_word", "label_of"]


class Runner:
    """A run in the explorer's world that notes what each step does."""

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

    def possible(self) -> list[int]:
        """The steps possible now, without their choices."""
        out = [0] * (self.model.most_steps + 1)
        self.names["enabled"](self.state, out)
        return out[1 : out[0] + 1]

    def step(self, word: int) -> Step:
        """Take a step.

        Raises:
            TraceError: the step is not possible here, or a value would leave its range.
        """
        number = self.taken + 1
        parts = StepWord.of(word)
        if word >> 40 or parts.word & 0xFFFFFFFF not in self.possible():
            raise TraceError(f"step {number}, word: {describe_word(parts)} is not possible there")
        self.notes.clear()
        self.before = self.state.copy()
        message = self.flight.take_out(self.before, parts)
        try:
            self.names["apply"](self.state, word)
        except ERRORS as error:
            raise TraceError(f"step {number}, word: {describe_word(parts)} fails, as {error}") from error
        s = self.state
        if parts.choice >= max(1, s.choices):
            raise TraceError(
                f"step {number}, word: {describe_word(parts)} takes alternative {parts.choice}, "
                f"and has {counted(s.choices, 'alternative')}"
            )
        self.flight.settle(s)
        self.taken = number
        notes = self.notes
        return Step(
            number,
            parts,
            label_of(self.model.program, parts, s.steps),
            parts.process,
            message,
            notes.abcast,
            tuple(notes.sent),
            tuple(notes.delivered),
            tuple(notes.accepted),
            tuple(notes.established),
            tuple(notes.observed),
            state_json(s),
        )

    def keeps(self, p: Property) -> bool:
        """Whether the state, or the step just taken, keeps a property."""
        return bool(keeps(p, self.names, self.state, self.before if self.taken else None))


def label_of(program: Program, word: StepWord, entered: int) -> str:
    """What a step is called: those of the paper's steps that it entered, a bit each, or what else it is."""
    named = [name for k, name in enumerate(program.steps) if entered >> k & 1]
    if named and word.row.receives:
        return ", ".join(named)
    return ", ".join(dict.fromkeys([called(program, word), *named]))


def called(program: Program, word: StepWord) -> str:
    """What a step is called where the paper's steps do not say."""
    if word.base is not word:
        return f"{word.row.called} ({called(program, word.base)})"
    own = program.changes if word.row.by else program.actions
    return own[word.operands["which"]] if "which" in word.operands else word.row.called


def describe_word(word: StepWord) -> str:
    """A step word in one phrase, its operands named."""
    return f"{word.kind}({', '.join(f'{k}={v}' for k, v in word.operands.items())})"


def build_trace(model: Model, prop: Property | None, words: Sequence[int]) -> Trace:
    """Run a schedule from the initial state and note what happens.

    Args:
        model: what to run.
        prop: the property that its last step is said to break (`verify` checks that it does);
            None for any other run.
        words: the steps, each with its choice.

    Raises:
        TraceError: a step is not possible where it stands.
    """
    runner = Runner(model)
    initial = state_json(runner.state)
    steps = tuple(runner.step(word) for word in words)
    name, statement, source = ("", "", "") if prop is None else (prop.name, prop.statement, prop.source)
    return Trace(model.configuration, name, statement, source, initial, steps, package_version("zabcheck"))
