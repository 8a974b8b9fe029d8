"""Which lines of a protocol ran on a walk, which would run in a step that was possible on it, and which in neither."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from traces.walk.compare import way_to
from traces.walk.walker import Place, Walker
from zabspec.language.reference import ERRORS, StateView
from zabspec.language.source import said_file

__all__ = ["NEVER", "POSSIBLE", "RAN", "CoveredFunction", "covered"]

RAN, POSSIBLE, NEVER = "ran", "possible", "never"


@dataclass(frozen=True)
class CoveredFunction:
    """A function of the protocol.

    Attributes:
        name, file: it, and where it is.
        lines: each with its number, its text, and `ran`, `possible` or `never`; empty where nothing can run.
    """

    name: str
    file: str
    lines: tuple[tuple[int, str, str], ...]

    def count(self, mark: str) -> int:
        """How many lines have a mark."""
        return sum(m == mark for _, _, m in self.lines)


def covered(whole: Place) -> list[CoveredFunction]:
    """Run the steps of a walk again, and those that were possible on it, and note which lines run."""
    walker = whole.walker
    functions = functions_of(walker)
    files = {f.__code__.co_filename for f in functions}
    ran: set[tuple[str, int]] = set()
    possible: set[tuple[str, int]] = set()
    names, size = walker.model.program.python, walker.layout.size
    places = [*reversed(list(way_to(whole)))]
    with noting(files, ran):
        names["initialize"](StateView(walker.layout))
        for place in places:
            names["enabled"](place.state, [0] * (walker.model.most_steps + 1))
    for k, place in enumerate(places):
        for p in place.possible:
            taken = k + 1 < len(places) and places[k + 1].path[-1] == p.index
            with noting(files, ran if taken else possible):
                try:
                    names["apply"](StateView(walker.layout, place.mark.state[:size]), p.step.word.word)
                except ERRORS:
                    continue
    return [marked(f, ran, possible) for f in functions]


def functions_of(walker: Walker) -> list[FunctionType]:
    """The functions of the protocol that steps may run, in the order of its text: its handlers, guards, and what these
    call."""
    program = walker.model.program
    own = {getattr(m, "__file__", None) for m in program.protocol}
    own |= {f.__code__.co_filename for f in program.overrides.values()}
    called = program.typed(("initialize", "enabled", "apply")).functions
    functions = (program.namespace.get(name) for name in called)
    found = {f.__code__: f for f in functions if isinstance(f, FunctionType) and f.__code__.co_filename in own}
    return sorted(found.values(), key=lambda f: (f.__code__.co_filename, f.__code__.co_firstlineno))


@contextmanager
def noting(files: set[str], into: set[tuple[str, int]]) -> Iterator[None]:
    """Note the lines of these files that run meanwhile in this thread."""

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        into.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def marked(f: FunctionType, ran: set[tuple[str, int]], possible: set[tuple[str, int]]) -> CoveredFunction:
    """A function with its lines marked."""
    file, first = f.__code__.co_filename, f.__code__.co_firstlineno
    runs = {n for n in executable(f.__code__) if n > first}
    last = max(runs, default=first)

    def mark(n: int) -> str:
        if n not in runs:
            return ""
        return RAN if (file, n) in ran else POSSIBLE if (file, n) in possible else NEVER

    lines = tuple((n, linecache.getline(file, n).rstrip("\n"), mark(n)) for n in range(first, last + 1))
    return CoveredFunction(f.__name__, said_file(file), lines)


def executable(code: CodeType) -> Iterator[int]:
    """The lines of a function that can run."""
    yield from (n for _, _, n in code.co_lines() if n is not None)
