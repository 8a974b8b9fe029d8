"""Search on all cores: choose the walks and where they begin, and collect their results.

Walks are numbered. A block of consecutive ones is a thread's turn. A walk is determined by the seed and its number
alone.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from checker.opinion.outcome import NO_OPINION, SecondOpinion
from checker.search import kernel
from checker.search.code import SearchCode
from invariants.registry import NO_RUNTIME_ERROR, STEP, Property
from zabspec.language.layout.error_sites import OF_AUTHOR
from zabspec.limits import Deadline
from zabspec.starts import Schedule
from zabspec.worlds.steps import KINDS, NOBODYS, mask

BLOCK = 256  # walks of a thread's turn
MOST_STEPS = 400  # of a walk, by default
MOST_WORDS = 1 << 20
SPREAD = 0x9E3779B97F4A7C15  # so that the walks of two seeds are far apart

Words = Any
Tell = Callable[["Walked"], None]


@dataclass(frozen=True)
class WalkViolation:
    """A violation that a walk found.

    Attributes:
        walk: its number.
        schedule: its steps up to the violation.
    """

    property: Property
    walk: int
    schedule: tuple[int, ...]


@dataclass
class Walked:
    """The result of a search.

    Attributes:
        walks, steps: their numbers.
        ended: walks that reached a state without a step.
        longest: steps of the longest walk.
        errors: steps in which a value would have left its range; each ended its walk.
        error: which value, of the last of them.
        step_counts, event_counts: how often each of the paper's steps, and each kind of step, was taken.
        met: the properties whose premise was met.
        stopped: why it ended, if not because of what it found.
    """

    seed: int
    threads: int
    properties: tuple[Property, ...]
    walks: int = 0
    steps: int = 0
    ended: int = 0
    longest: int = 0
    errors: int = 0
    error: str = ""
    step_counts: dict[str, int] = field(default_factory=dict)
    event_counts: dict[int, int] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    broken: dict[str, WalkViolation] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    compile_seconds: float = 0.0
    stopped: str = ""
    second: SecondOpinion = NO_OPINION

    @property
    def so_far(self) -> str:
        """How far the search is, in a line."""
        met = f"{len(self.met)} of {len(self.properties)} premises reached"
        broken = f", {len(self.broken)} violated" if self.broken else ""
        rate = self.steps / max(self.seconds, 1e-9)
        return f"{self.walks:,} walks, {self.steps:,} steps, {rate:,.0f}/s, {met}{broken}"


@dataclass(frozen=True)
class Start:
    """An initial state: its bytes in the kernel's form, and the schedule without steps that begins in it."""

    state: Any
    schedule: Schedule


@dataclass(frozen=True)
class Block:
    """A thread's turn: a number of walks from an initial state, and the number of the first."""

    first: int
    walks: int
    start: Start


class Slot:
    """The memory that a thread works in."""

    def __init__(self, code: SearchCode, most: int) -> None:
        self.work = ctypes.create_string_buffer(code.work + 64)
        self.asked: Words = (ctypes.c_int64 * kernel.ASKED)()
        self.path: Words = (ctypes.c_int64 * (most + 1))()
        self.answer: Words = (ctypes.c_int64 * kernel.ANSWERED)()


class RandomSearch:
    """A search of a model.

    Args:
        code: the model.
        seed: of all that is drawn.
        threads: their number; 0 for one on each core.
        most: the maximum number of steps of a walk.
    """

    def __init__(self, code: SearchCode, seed: int, threads: int = 0, most: int = MOST_STEPS) -> None:
        self.code, self.seed, self.most = code, seed, min(most, MOST_WORDS)
        self.threads = threads or len(os.sched_getaffinity(0))
        self.slots = [Slot(code, self.most) for _ in range(self.threads)]
        self.of_steps = sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP)
        self.all = (1 << len(code.properties)) - 1
        self.result = Walked(seed, self.threads, code.properties)
        starts = code.model.program.starts.items()
        self.starts = [Start(code.state(data), Schedule.of((), start)) for data, start in starts]
        self.next_walk = 0
        self.keep_going = False
        self.over = False
        self.trouble: BaseException | None = None
        self.lock = threading.Lock()

    def run(self, seconds: float | None, keep_going: bool = False, tell: Tell | None = None) -> Walked:
        """Walk until a property is violated, or `seconds` seconds have passed.

        Args:
            seconds: None to walk until it is interrupted.
            keep_going: whether to continue for the other properties.
            tell: called now and then with the results so far.
        """
        started, cpu = time.perf_counter(), time.process_time()
        counted = cpu
        self.deadline = Deadline(seconds)
        self.keep_going = keep_going
        r = self.result
        if not self.begins_well():
            r.seconds = time.perf_counter() - started
            return r
        threads = [threading.Thread(target=self.work, args=(slot,), daemon=True) for slot in self.slots]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                threads[0].join(0.02)
                for thread in threads[1:]:
                    thread.join(0)
                now = time.process_time()
                self.code.worked(now - counted, self.deadline.left())
                counted = now
                if tell is not None:
                    self.add_up(time.perf_counter() - started)
                    tell(r)
        except KeyboardInterrupt:
            r.stopped = "interrupted"
        finally:
            self.over = True
            for thread in threads:
                thread.join()
        if self.trouble is not None:
            raise self.trouble
        if not r.stopped and not self.done():
            r.stopped = f"--time-limit {seconds:g} s reached"
        self.add_up(time.perf_counter() - started)
        r.cpu_seconds = time.process_time() - cpu
        return r

    def begins_well(self) -> bool:
        """Judge the initial states; return whether a search from them makes sense."""
        live, r = self.all & ~self.of_steps, self.result
        for data, start in self.code.model.program.starts.items():
            schedule = Schedule.of((), start)
            broken, met, error = self.code.judged_state(data, live)
            live &= ~broken
            self.note_met(met)
            r.broken |= {
                p.name: WalkViolation(p, 0, schedule) for k, p in enumerate(self.code.properties) if broken >> k & 1
            }
            if error:
                r.error = self.code.said_of(error)
                if error & OF_AUTHOR:
                    r.broken[NO_RUNTIME_ERROR.name] = WalkViolation(NO_RUNTIME_ERROR, 0, schedule)
                return False
        return not r.broken or self.keep_going

    def done(self) -> bool:
        """Return whether nothing is left to search for."""
        broken = self.result.broken
        return bool(broken) and (
            not self.keep_going or len(broken.keys() - {NO_RUNTIME_ERROR.name}) == len(self.code.properties)
        )

    # --- what a thread does ----------------------------------------------------------------------

    def work(self, slot: Slot) -> None:
        """Take blocks until the search is over."""
        try:
            while True:
                with self.lock:
                    if self.over or self.done() or self.deadline.over():
                        return
                    block = self.next_block()
                self.walk(slot, block)
        except BaseException as problem:
            self.trouble = problem
            self.over = True

    def next_block(self) -> Block:
        """Return the next walks, and where they begin."""
        first = self.next_walk
        self.next_walk += BLOCK
        return Block(first, BLOCK, self.starts[first // BLOCK % len(self.starts)])

    def walk(self, slot: Slot, block: Block) -> None:
        """Make the walks of a block."""
        first, left = block.first, block.walks
        while left > 0:
            self.ask(slot, first, left)
            made = self.code.random_walks(block.start.state, slot.work, slot.asked, slot.path, slot.answer)
            with self.lock:
                self.found(slot, block.start, first + made - 1)
                if self.over or self.done() or self.deadline.over():
                    return
            first, left = first + made, left - made

    def ask(self, slot: Slot, first: int, walks: int) -> None:
        """Write the parameters of a call for the kernel."""
        live = self.all & ~sum(1 << k for k, p in enumerate(self.code.properties) if p.name in self.result.broken)
        said = {
            kernel.A_FIRST: signed(self.seed * SPREAD + first),
            kernel.A_WALKS: walks,
            kernel.A_STEPS: self.most,
            kernel.A_LIVE: live & ~self.of_steps,
            kernel.A_LIVE_STEPS: live & self.of_steps,
            kernel.A_WANT: self.all & ~self.of_steps,
            kernel.A_WANT_STEPS: self.of_steps,
            kernel.A_SPENDING: mask(k for k in KINDS.values() if k.spends),
            kernel.A_NOBODYS: NOBODYS,
        }
        for place, word in said.items():
            slot.asked[place] = word
        for place in (kernel.W_BROKEN, kernel.W_BROKEN_STEPS, kernel.W_LENGTH, kernel.W_FAILED):
            slot.answer[place] = 0

    def found(self, slot: Slot, start: Start, walk: int) -> None:
        """Record what the last walk of a call found.

        Of two walks that violate one property that of the lesser number is kept: the order of threads does not matter.
        """
        answer, broken = slot.answer, self.result.broken
        mask_of = answer[kernel.W_BROKEN] | answer[kernel.W_BROKEN_STEPS]
        schedule = start.schedule.then(*slot.path[: answer[kernel.W_LENGTH]])
        for k, p in enumerate(self.code.properties):
            if mask_of >> k & 1 and (p.name not in broken or walk < broken[p.name].walk):
                broken[p.name] = WalkViolation(p, walk, schedule)
        known = broken.get(NO_RUNTIME_ERROR.name)
        if answer[kernel.W_FAILED] and (known is None or walk < known.walk):
            broken[NO_RUNTIME_ERROR.name] = WalkViolation(NO_RUNTIME_ERROR, walk, schedule)

    # --- what it came to -------------------------------------------------------------------------

    def note_met(self, met: int) -> None:
        self.result.met |= {p.name for k, p in enumerate(self.code.properties) if met >> k & 1}

    def add_up(self, seconds: float) -> None:
        """Add up the counters of the threads."""
        r, answers = self.result, [slot.answer for slot in self.slots]
        r.seconds = seconds
        r.walks = sum(a[kernel.W_WALKS] for a in answers)
        r.steps = sum(a[kernel.W_TAKEN] for a in answers)
        r.ended = sum(a[kernel.W_ENDED] for a in answers)
        r.errors = sum(a[kernel.W_ERRORS] for a in answers)
        r.longest = max(a[kernel.W_LONGEST] for a in answers)
        for a in answers:
            self.note_met(a[kernel.W_MET] | a[kernel.W_MET_STEPS])
            if a[kernel.W_ERROR]:
                r.error = self.code.said_of(a[kernel.W_ERROR])
        counts = {name: sum(a[kernel.W_STEPS + k] for a in answers) for k, name in enumerate(self.code.steps)}
        r.step_counts = counts
        kinds = {k: sum(a[kernel.W_EVENTS + k] for a in answers) for k in range(64)}
        r.event_counts = {k: n for k, n in kinds.items() if n}


def signed(word: int) -> int:
    """Return a number as a signed 64-bit word."""
    word &= 2**64 - 1
    return word - (word >> 63 << 64)
