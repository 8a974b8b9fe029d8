"""Engines that step: the interpreter, and machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from tests.second.harness.question import Question
from zabspec.language.python.reference import RangeError, StateView

ROOM = 4096  # successors of a state for which there is room, before the most that there can be is asked for
Steps = tuple[list[tuple[str, bytes]], list[str]]  # successors with labels; the labels of steps that err


class Recording(Interpreter):
    """The interpreter, which keeps the steps that its search has taken."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.model, question.properties, False, every_step=True)
        self.taken: dict[bytes, Steps] = {}
        self.label = question.label

    def attempts(self, state: bytes) -> Iterator[tuple[int, StateView | RangeError]]:
        moves: list[tuple[str, bytes]] = []
        errors: list[str] = []
        for word, after in super().attempts(state):
            if isinstance(after, RangeError):
                errors.append(self.label(word) if word else "guard")
            else:
                moves.append((self.label(word), bytes(after.key())))
            yield word, after
        self.taken[state] = moves, errors


class Interpreted:
    """Every step as CPython takes it."""

    name = "interpreted"
    knows_errors = True

    def __init__(self, question: Question) -> None:
        self.question = question
        self.engine = Recording(question)

    def search(self, limits: Limits) -> Exploration:
        """Its search, which goes on past violations."""
        return self.engine.run(limits, keep_going=True)

    def steps(self, state: bytes) -> Steps:
        state = self.engine.representative(state)
        if state not in self.engine.taken:
            for _ in self.engine.attempts(state):
                pass
        return self.engine.taken[state]


class InMachineCode:
    """Every step as the compiled program takes it, which lists none that err."""

    name = "compiled"
    knows_errors = False

    def __init__(self, question: Question, code: Compiled) -> None:
        self.question, self.code = question, code
        self.each = code.layout.total + 8
        self.most = min(code.model.most_steps, ROOM)
        self.out = ctypes.create_string_buffer((self.most + 1) * self.each)
        self.work = ctypes.create_string_buffer(code.work + 64)

    def steps(self, state: bytes) -> Steps:
        code, size = self.code, self.code.layout.size
        n = code.successors(code.state(state), self.out, self.most, self.work)
        if n < 0:
            return [(self.question.label(word), after[:size]) for word, after in code.next_states(state)], []
        raw = ctypes.string_at(self.out, n * self.each)
        moves = []
        for at in range(0, len(raw), self.each):
            word = int.from_bytes(raw[at : at + 8], "little")
            moves.append((self.question.label(word), raw[at + 8 : at + 8 + size]))
        return moves, []
