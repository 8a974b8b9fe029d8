"""Breadth-first exploration in the CPython world: slow, and obviously right.

The visited set is a plain Python set of whole states, so no fingerprint can merge two of them; with symmetry the
state that represents an orbit is the least of all its renamings, tried one by one. Every count means what it means in
`checker/explore/breadth_first.py`, which tests compare with this.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence

from checker.explore.memory import Budget, peak_bytes
from checker.explore.result import Exploration, Limits, Violation
from checker.explore.stuttering import EVERY_STEP, stutters, why_every_receipt
from checker.explore.symmetry import Asymmetric, asymmetry, check_language
from invariants.binding import bound, full_namespace
from invariants.registry import STEP, Property, keeps, meets
from zabspec.language.layout import derive
from zabspec.language.python.lang import NOBODY
from zabspec.language.python.reference import ERRORS, RangeError, StateView, range_error
from zabspec.model import Model
from zabspec.starts import Schedule
from zabspec.worlds.steps import NUMBERED

Progress = Callable[[Exploration, int, int], None]  # result so far, expanded of the level, its size

CHOICE = 32  # a step word's bits from here up say which alternative `choose` takes
PULSE = 64  # states expanded between two reads of the clock
GROWS = 4  # a set or dictionary takes so many times its size to grow

MOST_RENAMINGS = 5040  # of seven processes


class Interpreter:
    """Explores a model breadth-first in the CPython world.

    Args:
        model: what is explored.
        properties: what is judged.
        symmetry: whether states that are renamings of each other count once.
        every_step: whether stuttering receipts are steps like others.

    Raises:
        Asymmetric: symmetry is requested, and the source distinguishes processes, or there are too many of them.
    """

    def __init__(self, model: Model, properties: Sequence[Property], symmetry: bool, every_step: bool = False) -> None:
        front = model.program.front_end(full_namespace(model))
        why = asymmetry(model, properties, front) if symmetry else ""  # first, as it checks all that is typed
        if symmetry and not why and model.configuration.renamings > MOST_RENAMINGS:
            why = f"the interpreter tries every renaming, here {model.configuration.renamings:,} for each state"
        if why:
            raise Asymmetric(why)
        check_language(model, properties, front)
        self.model = model
        self.properties = tuple(properties)
        self.symmetry = symmetry
        program = model.program
        self.layout = program.layout
        self.steps = program.steps
        self.names = bound(model, front)
        self.bags = bool(derive.bags(self.layout))
        why = why_every_receipt(model, self.properties, front)
        self.stuttering_off = EVERY_STEP if every_step and not why else why
        self.permutations = model.program.schema.renamings if symmetry else ()

    # --- one exploration -------------------------------------------------------------------------

    def run(self, limits: Limits, keep_going: bool = False, progress: Progress | None = None) -> Exploration:
        """Explore from the initial states.

        Args:
            limits: a depth, and limits of states, time and memory.
            keep_going: whether to continue past violations, for the shortest run to each property.
            progress: called every few states.
        """
        self.started, cpu = time.perf_counter(), time.process_time()
        self.limits, self.progress = limits, progress
        self.budget = Budget(limits.memory)
        r = Exploration(self.properties, self.symmetry, engine="interpret", stuttering_off=self.stuttering_off)
        r.step_counts = dict.fromkeys(self.steps, 0)
        self.result = r
        self.seen: set[bytes] = set()
        self.errors: dict[bool, tuple[tuple[bool, int], str, bool]] = {}  # of the author?: place, step, message
        self.orbits: dict[bytes, tuple[bytes, int]] = {}  # the orbits computed so far
        self.parents: list[list[tuple[int, int]]] = []  # of each state of each level: its parent, the step
        try:
            level = self.first_level()
            while not self.finished(level, keep_going):
                level = self.next_level(level)
        except KeyboardInterrupt:
            r.stopped = "interrupted"
        except MemoryError:
            r.stopped = "out of memory"
        r.seconds = time.perf_counter() - self.started
        r.cpu_seconds = time.process_time() - cpu
        r.memory = peak_bytes()
        return r

    def finished(self, level: list[bytes], keep_going: bool) -> bool:
        return self.result.finished(bool(level), keep_going, self.limits.depth)

    def first_level(self) -> list[bytes]:
        """Return the level of the initial states, judged and entered in the set."""
        self.starts: dict[bytes, bytes] = {}  # by the state that represents it
        for data in self.model.program.starts:
            self.starts.setdefault(self.representative(data), data)
        level, r = [*self.starts], self.result
        self.seen.update(level)
        self.parents.append([])
        r.levels.append(len(level))
        r.raw_levels.append(sum(self.orbit(state)[1] for state in level))
        for index, state in enumerate(level):
            self.parents[0].append((index, 0))
            self.judge_state(state, -1)
        self.tell_errors()
        r.expanded_levels = -1 if r.error else 0
        return level

    def next_level(self, level: list[bytes]) -> list[bytes]:
        """Expand every state of a level; return the level of their new successors."""
        r = self.result
        new: list[bytes] = []
        parents: list[tuple[int, int]] = []
        self.parents.append(parents)
        r.levels.append(0)
        r.raw_levels.append(0)
        for index, state in enumerate(level):
            if index % PULSE == 0 and self.cut_short(index, len(level)):
                self.tell_errors()
                return new
            before = StateView(self.layout, state)
            steps = 0
            for word, after in self.attempts(state):
                if isinstance(after, RangeError):
                    steps += 1
                    self.note(after, index, word)
                    continue
                key = after.key()
                self.judge_step(before, word, after, index)
                self.count(after)
                if not self.stuttering_off and stutters(self.layout, before, after):
                    continue  # the message may as well take longer
                steps += 1
                r.generated += 1
                child, size = self.orbit(key)
                if child not in self.seen:
                    self.seen.add(child)
                    new.append(child)
                    parents.append((index, word))
                    r.levels[-1] += 1
                    r.raw_levels[-1] += size
                    self.judge_state(child, index)
                    if self.limits.max_states is not None and r.distinct >= self.limits.max_states:
                        r.stopped = f"--max-states {self.limits.max_states} reached"
                        self.tell_errors()
                        return new
            if steps == 0:
                r.terminal += 1
        self.tell_errors()
        r.expanded_levels += 0 if r.error else 1
        return new

    def cut_short(self, expanded: int, size: int) -> bool:
        """Return whether the time limit or the memory limit ends the exploration here."""
        r, limits = self.result, self.limits
        r.seconds = time.perf_counter() - self.started
        if self.progress is not None:
            self.progress(r, expanded, size)
        if limits.seconds is not None and r.seconds > limits.seconds - limits.spent:
            r.stopped = f"--time-limit {limits.seconds:g} s reached"
        elif self.budget.exceeded(GROWS * (sys.getsizeof(self.seen) + sys.getsizeof(self.orbits))):
            r.stopped = self.budget.reason
        return bool(r.stopped)

    # --- the program -----------------------------------------------------------------------------

    def note(self, error: RangeError, index: int, word: int = 1) -> None:
        """Record the first run-time error of a level, of the author and of a capacity; the level is finished first.

        Args:
            index: the number of the state in whose steps it was met, in the level that is being expanded.
            word: the step; 0 if it was met in listing them; -1 if in a property of the initial state.
        """
        place = (word != 0, index)
        known = self.errors.get(error.of_author)
        if known is None or place < known[0]:
            self.errors[error.of_author] = place, str(error), word == -1

    def tell_errors(self) -> None:
        """Copy the run-time errors of a level to the result."""
        if not self.errors:
            return
        from checker.explore.failing import note_failure

        for by_author, ((_, index), sentence, here) in sorted(self.errors.items()):
            schedule = self.schedule_to(*((0, index) if here else (self.result.depth - 1, index)))
            note_failure(self.result, self.model, schedule, sentence, by_author, here)

    def successors(self, state: bytes) -> Iterator[tuple[int, StateView]]:
        """Yield the steps possible in a state (word with choice), each with the state after it."""
        for word, after in self.attempts(state):
            if isinstance(after, StateView):
                yield word, after

    def attempts(self, state: bytes) -> Iterator[tuple[int, StateView | RangeError]]:
        """Yield the steps possible in a state, each with the state after it or the error of a value out of range.

        The error names the step. If listing the possible steps meets an error, only that is yielded.
        """
        out: dict[int, int] = {}
        try:
            self.names["enabled"](StateView(self.layout, state), out)
        except ERRORS as problem:
            yield 0, range_error(problem, "determining the enabled steps")
            return
        for k in range(1, out[0] + 1):
            choice, choices = 0, 1
            while choice < choices:
                word = out[k] | choice << CHOICE
                after = StateView(self.layout, state)
                try:
                    self.names["apply"](after, word)
                except ERRORS as problem:
                    yield word, range_error(problem, self.step_named(after))
                else:
                    if choice < after.choices:
                        yield word, after
                choices = max(choices, after.choices)
                choice += 1

    def step_named(self, s: StateView) -> str:
        """Return a description of the step under way in s: its kind, its process, the paper's steps in it."""
        entered = [name for k, name in enumerate(self.steps) if s.steps >> k & 1]
        inside = f" ({', '.join(entered)})" if entered else ""
        roles, p = self.model.configuration.played, s.event_process
        who = f"process {p}" if roles is None else roles.name_of(max(0, p))
        where = f" at {who}" if p != NOBODY else ""
        kind = NUMBERED.get(s.event)  # none where the error comes first, which no run reaches
        return f"step {kind.called if kind else ''!r}{inside}{where}"

    def orbit(self, data: bytes) -> tuple[bytes, int]:
        """Return the state that represents a state's orbit, and the number of states in the orbit.

        It is the least of the images under every permutation of the processes, with their bags in order.
        """
        if not self.symmetry:
            return (derive.in_order(self.layout, data) if self.bags else data), 1
        if data not in self.orbits:
            images = {derive.permuted(self.layout, data, p) for p in self.permutations}
            if self.bags:
                images = {derive.in_order(self.layout, image) for image in images}
            self.orbits[data] = min(images), len(images)
        return self.orbits[data]

    def representative(self, data: bytes) -> bytes:
        return self.orbit(data)[0]

    # --- counting and judging --------------------------------------------------------------------

    def count(self, after: StateView) -> None:
        r = self.result
        event, steps = after.event, after.steps
        r.event_counts[event] = r.event_counts.get(event, 0) + 1
        while steps:
            k = steps.bit_length() - 1
            r.step_counts[self.steps[k]] += 1
            steps ^= 1 << k

    def judge_state(self, state: bytes, parent: int) -> None:
        """Judge the state just found, the last of the last level; `parent`: the state that led to it, or -1."""
        r, view = self.result, StateView(self.layout, state)
        for p in self.properties:
            if p.of != STEP and self.judge(p, view, None, parent):
                r.violations[p.name] = Violation(p, self.schedule_to(r.depth, len(self.parents[-1]) - 1))

    def judge_step(self, before: StateView, word: int, after: StateView, index: int) -> None:
        """Judge a step out of state `index` of the level that is being expanded."""
        r = self.result
        for p in self.properties:
            if p.of == STEP and self.judge(p, after, before, index):
                r.violations[p.name] = Violation(p, self.schedule_to(r.depth - 1, index, word, p))

    def judge(self, p: Property, after: StateView, before: StateView | None, parent: int) -> bool:
        """Return whether a state, or a step, is the first to violate a property; record a premise that it meets first.

        A property that reads past an end decides nothing: that is recorded as an error of its own.
        """
        r = self.result
        broken = False
        try:
            broken = p.name not in r.violations and not keeps(p, self.names, after, before)
        except ERRORS as problem:
            self.note_judging(problem, p, parent)
        try:
            if p.name not in r.witnessed and meets(p, self.names, after, before):
                r.witnessed[p.name] = r.depth
        except ERRORS as problem:
            self.note_judging(problem, p, parent)
        return broken

    def note_judging(self, problem: RangeError | ZeroDivisionError, p: Property, parent: int) -> None:
        """Record an error that evaluating a property met; `parent`: as for `judge_state`."""
        here = parent < 0
        self.note(range_error(problem, p.name), len(self.parents[0]) - 1 if here else parent, -1 if here else 1)

    # --- the way back ----------------------------------------------------------------------------

    def schedule_to(self, depth: int, index: int, last: int | None = None, breaks: Property | None = None) -> Schedule:
        """Return the steps from an initial state to a state of a level, and on by the step `last`.

        That step violates `breaks`. The steps start from the initial state itself, not from the state that represents
        its orbit.
        """
        words: list[int] = [] if last is None else [last]
        for level in range(depth, 0, -1):
            index, word = self.parents[level][index]
            words.insert(0, word)
        start = [*self.starts.values()][index]
        found = self.unrenamed(start, words, breaks) if self.symmetry or self.bags else words
        return Schedule.of(found, self.model.program.starts[start])

    def unrenamed(self, concrete: bytes, words: list[int], breaks: Property | None) -> list[int]:
        """Return steps from an initial state itself that pass through the same orbits as the given steps.

        The given ones are steps of the states that represent their orbits. If the last must violate a step property, so
        does the last of those returned.
        """
        image = self.representative(concrete)
        out: list[int] = []
        for k, word in enumerate(words):
            image = self.representative(self.after(image, word))
            before = StateView(self.layout, concrete)
            for candidate, after in self.successors(concrete):
                if self.representative(after.key()) != image:
                    continue
                if breaks and k == len(words) - 1 and keeps(breaks, self.names, after, before):
                    continue
                out.append(candidate)
                concrete = after.key()
                break
            else:
                raise AssertionError("permuting the processes does not commute with stepping")
        return out

    def after(self, state: bytes, word: int) -> bytes:
        s = StateView(self.layout, state)
        self.names["apply"](s, word)
        return s.key()
