"""Compute which lines of a protocol ran, were possible, or never ran.

This covers the steps of a walk, the steps that were possible on it, or a whole exploration from the initial state.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from traces.record.trace import StepWord
from traces.walk.compare import way_to
from traces.walk.walker import Walker, WalkPlace
from zabspec.language.layout.bytecode import all_code
from zabspec.language.layout.kinds import Seq
from zabspec.language.layout.schema import Role
from zabspec.language.layout.source import said_file
from zabspec.language.python.reference import ERRORS, StateView

RAN, POSSIBLE, NEVER = "ran", "possible", "never"
WALKS, LONGEST_WALK = 100, 60  # random ones, which come deeper than all states level by level do in that time
NONE: frozenset[int] = frozenset()
OFTEN = 50  # states between two reports of progress


@dataclass(frozen=True)
class CoveredFunction:
    """A function of the protocol, with the coverage of its lines.

    Attributes:
        name, file: its name, and the file that it is in.
        lines: each with its number, its text, and `ran`, `possible` or `never`; empty where there is nothing to run.
    """

    name: str
    file: str
    lines: tuple[tuple[int, str, str], ...]

    def count(self, mark: str) -> int:
        """Return how many lines have a mark."""
        return sum(m == mark for _, _, m in self.lines)


def covered(whole: WalkPlace) -> list[CoveredFunction]:
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


@dataclass(frozen=True)
class Looked:
    """The coverage of all that was visited from the initial state.

    Attributes:
        functions: the functions of the protocol, their lines marked `ran` or `never`.
        never: the steps that never ran, by their names in the source.
        states: the number of states visited, each with all its steps.
        walks: the number of random walks taken.
        complete: whether these are all reachable states.
    """

    functions: tuple[CoveredFunction, ...]
    never: tuple[str, ...]
    states: int
    walks: int
    complete: bool


class Coverage:
    """Runs of a model, and which of its lines and steps ran in them.

    Args:
        walker: of the model. Nothing of it changes.
    """

    def __init__(self, walker: Walker) -> None:
        self.walker, self.program = walker, walker.model.program
        self.functions = functions_of(walker)
        self.entered = 0  # the named steps, a bit each
        self.taken: set[str] = set()
        layout = walker.layout
        self.bags = [  # the places and kinds of bags: two states that differ only in the order of a bag are one
            (at, f.kind.header, f.kind.element.size)
            for f in layout.schema.fields
            if f.role is not Role.SCRATCH and isinstance(f.kind, Seq) and f.kind.bag
            for _, at in layout.elements(f.name)
        ]
        self.open: dict[str, set[int]] = {}  # of each file the lines that have not run yet
        for f in self.functions:
            self.open.setdefault(f.__code__.co_filename, set()).update(lines_of(f))
        self.waiting: dict[CodeType, set[int]] = {}  # of what runs, which is not always the code as it was written

    def key(self, state: StateView) -> bytes:
        """Return the key of a state, with its bags sorted."""
        if not self.bags:
            return state.key()
        data = bytearray(state.key())
        for at, header, size in self.bags:
            first, count = at + header, int.from_bytes(data[at : at + header], "little")
            held = sorted(bytes(data[k : k + size]) for k in range(first, first + count * size, size))
            data[first : first + count * size] = b"".join(held)
        return bytes(data)

    def initial(self) -> bytes:
        """Return the key of the initial state."""
        with self.noting():
            state = StateView(self.walker.layout)
            self.program.python["initialize"](state)
        return self.key(state)

    def after(self, data: bytes, chosen: random.Random | None = None) -> list[bytes]:
        """Return the keys of a state's successors.

        Args:
            data: the key of the state.
            chosen: picks one step with one of its alternatives; None for all steps.
        """
        names, layout, out = self.program.python, self.walker.layout, [0] * (self.walker.model.most_steps + 1)
        found = []
        with self.noting():
            try:
                names["enabled"](StateView(layout, data), out)
            except ERRORS:
                return []
            words = out[1 : out[0] + 1]
            for word in words if chosen is None or not words else [chosen.choice(words)]:
                choice, choices = 0, 1
                while choice < choices:
                    state = StateView(layout, data)
                    try:
                        names["apply"](state, word | choice << 32)
                    except ERRORS:
                        pass
                    else:
                        if choice < state.choices:
                            self.note(word, state)
                            found.append(self.key(state))
                    choices = max(choices, state.choices)
                    choice += 1
        return found if chosen is None or not found else [chosen.choice(found)]

    def note(self, word: int, after: StateView) -> None:
        """Record the label of a step."""
        self.entered |= after.steps
        said = StepWord.of(word)
        own = self.program.changes if said.row.by else self.program.actions
        if "which" in said.operands and said.base is said:
            self.taken.add(own[said.operands["which"]])

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Record the lines that run meanwhile in this thread; functions whose lines have all run are skipped."""
        files, waiting = self.open, self.waiting

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            files[frame.f_code.co_filename].discard(frame.f_lineno)
            return line

        def call(frame: FrameType, event: str, argument: Any) -> Any:
            code = frame.f_code
            mine = waiting.get(code)
            if mine is None:
                mine = waiting[code] = {n for _, _, n in code.co_lines() if n is not None}
            mine &= files.get(code.co_filename, NONE)
            return line if mine else None

        before = sys.gettrace()
        sys.settrace(call)
        try:
            yield
        finally:
            sys.settrace(before)

    @property
    def full(self) -> bool:
        """Return whether every line and every step ran."""
        return not any(self.open.values()) and not self.never

    @property
    def never(self) -> tuple[str, ...]:
        """Return the labels of the steps that did not run."""
        program = self.program
        entered = {name for k, name in enumerate(program.steps) if self.entered >> k & 1}
        known = dict.fromkeys((*program.steps, *program.actions, *program.changes))
        return tuple(name for name in known if name not in entered | self.taken)

    def told(self, states: int, walks: int, complete: bool) -> Looked:
        """Return the coverage so far."""
        files = [(f.__code__.co_filename, lines_of(f)) for f in self.functions]
        ran = {(file, n) for file, lines in files for n in lines - self.open[file]}
        return Looked(tuple(marked(f, ran, set()) for f in self.functions), self.never, states, walks, complete)


def looked_at(walker: Walker, most: int, so_far: Callable[[int, int], bool]) -> Looked:
    """Run a model from its initial state, and record which lines and which steps run.

    Some random walks come first, then the states level by level with all their steps, until no state is left or every
    line ran.

    Args:
        walker: the walker of the model.
        most: the maximum number of states, not counting those of random walks.
        so_far: receives the number of states and of lines that have not run; returns whether to continue.
    """
    coverage, source = Coverage(walker), random.Random(0)
    first = coverage.initial()
    walks = states = 0

    def goes_on() -> bool:
        return not coverage.full and so_far(states, sum(map(len, coverage.open.values())))

    while walks < WALKS and goes_on():
        walks += 1
        at, steps = [first], 0
        while at and steps < LONGEST_WALK:
            at, steps = coverage.after(at[0], source), steps + 1
    known, waiting = {first}, deque([first])
    while waiting and states < most and (states % OFTEN or goes_on()):
        states += 1
        for data in coverage.after(waiting.popleft()):
            if data not in known:
                known.add(data)
                waiting.append(data)
    return coverage.told(states, walks, not waiting)


def functions_of(walker: Walker) -> list[FunctionType]:
    """Return the functions of the protocol that steps may run, in source order.

    These are its handlers, guards, and the functions that they call.
    """
    program = walker.model.program
    own = {getattr(m, "__file__", None) for m in program.protocol}
    own |= {f.__code__.co_filename for f in program.overrides.values()}
    called = program.typed(("initialize", "enabled", "apply")).functions
    functions = (program.namespace.get(name) for name in called)
    found = {f.__code__: f for f in functions if isinstance(f, FunctionType) and f.__code__.co_filename in own}
    return sorted(found.values(), key=lambda f: (f.__code__.co_filename, f.__code__.co_firstlineno))


@contextmanager
def noting(files: set[str], into: set[tuple[str, int]]) -> Iterator[None]:
    """Record the lines of some files that run meanwhile in this thread."""

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
    """Return a function with its lines marked."""
    file, first = f.__code__.co_filename, f.__code__.co_firstlineno
    runs = lines_of(f)
    last = max(runs, default=first)

    def mark(n: int) -> str:
        if n not in runs:
            return ""
        return RAN if (file, n) in ran else POSSIBLE if (file, n) in possible else NEVER

    lines = tuple((n, linecache.getline(file, n).rstrip("\n"), mark(n)) for n in range(first, last + 1))
    return CoveredFunction(f.__name__, said_file(file), lines)


def lines_of(f: FunctionType) -> set[int]:
    """Return the line numbers of a function that can run."""
    first = f.__code__.co_firstlineno
    return {n for code in all_code(f.__code__) for _, _, n in code.co_lines() if n is not None and n > first}
