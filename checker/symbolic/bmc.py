"""Bounded model checking: whether some run of at most k steps breaks a property.

Runs are looked at in rounds (`unroll.py`), and a round may be empty; so a question about k rounds is
about every run of at most k steps, and about longer ones whose steps go together. What is known not to
happen in so many rounds is kept for the next question.

A value that would leave its range is not stored, and the run goes on: that is no run, and whether there is one is
asked together with what breaks a property, of steps and of the properties themselves. Once such an error is met it is
told, and from then on only of runs without one is asked whether they break a property.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import z3

from checker.symbolic.smt2 import about
from checker.symbolic.solver import Result, Solver, SolverAnswer, interruptibly
from checker.symbolic.transition import Transition
from checker.symbolic.unroll import ERROR_BITS, Round, Unrolling
from invariants.binding import full_namespace
from invariants.registry import STEP, Property
from zabspec.language.symbolic_memory import values_of
from zabspec.language.symbolic_terms import Truth, and_, equal, forget_terms, not_, or_
from zabspec.language.z3_terms import Z3Terms
from zabspec.model import Model

__all__ = ["Bounded", "Bounds", "check", "check_in_time"]

Progress = Callable[[int, float], None]  # the rounds that are being asked about, and the seconds so far


@dataclass(frozen=True)
class Bounds:
    """How far to look, and how long.

    Attributes:
        depth: steps.
        every: ask once in so many rounds, and at the end. 1: a run found has as few rounds as any.
        seconds: time limit of all of it.
        query_seconds: time limit of each query.
        seed: of z3's random choices.
        together: independent steps may share a round.
    """

    depth: int
    every: int = 1
    seconds: float | None = None
    query_seconds: float | None = None
    seed: int = 0
    together: bool = True


@dataclass
class Bounded:
    """What bounded checking found.

    Attributes:
        depth: steps within which nothing is broken.
        broken: the properties that the run breaks; none: there is no such run.
        schedule: the run's steps from where it started.
        rounds: in how many rounds they were found; 0 if they were not.
        reason: why it ended before the depth asked for; empty: it did not.
        left_range: where a value would leave its range in some run; empty: nowhere that was met.
        seconds: for each question the rounds it was about, and what it took with all that came before it.
    """

    depth: int = 0
    broken: tuple[Property, ...] = ()
    schedule: tuple[int, ...] = ()
    rounds: int = 0
    reason: str = ""
    left_range: str = ""
    seconds: list[tuple[int, float]] = field(default_factory=list)


def check(
    model: Model,
    properties: Sequence[Property],
    bounds: Bounds,
    start: bytes | None = None,
    progress: Progress | None = None,
    found: Bounded | None = None,
) -> Bounded:
    """Look for a run that breaks a property.

    Args:
        start: the state to start from; the initial one if not given.
        found: what is found is written here as it is.
    """
    began = time.perf_counter()
    found = Bounded() if found is None else found
    search = _Search(model, properties, start, bounds)

    def left() -> float:
        spent = time.perf_counter() - began
        limits = [bounds.query_seconds or 1e6, 1e6 if bounds.seconds is None else bounds.seconds - spent]
        return min(limits)

    for at in range(1, bounds.depth + 1):
        if progress is not None:
            progress(at, time.perf_counter() - began)
        if left() <= 0:
            found.reason = "out of time"
            return found
        search.deeper()
        if at % bounds.every and at != bounds.depth:
            continue
        result = search.ask(left())
        while result.model is not None and (sentence := search.leaves_range(result.model)):
            found.left_range = found.left_range or sentence
            search.stay_in_range()
            result = search.ask(left())
        found.seconds.append((at, time.perf_counter() - began))
        if result.answer is SolverAnswer.UNDECIDED:
            found.reason = result.reason
            return found
        if result.model is not None:
            found.broken, found.schedule = search.broken(result.model), search.schedule(result.model)
            found.rounds = at
            return found
        found.depth = at
    return found


def check_in_time(
    model: Model,
    properties: Sequence[Property],
    bounds: Bounds,
    start: bytes | None = None,
    progress: Progress | None = None,
) -> Bounded:
    """The same, left behind when its time is over, whatever it is doing: building terms takes time, too."""
    found = Bounded()
    seconds = math.inf if bounds.seconds is None else bounds.seconds
    try:
        interruptibly(partial(check, model, properties, bounds, start, progress, found), seconds)
    except TimeoutError:
        return replace(found, reason="out of time", broken=(), schedule=(), seconds=[*found.seconds])
    finally:
        forget_terms()
    return found


class _Search:
    """A growing run, with a question at its end."""

    def __init__(self, model: Model, properties: Sequence[Property], start: bytes | None, bounds: Bounds) -> None:
        self.transition = Transition(model, full_namespace(model), properties)
        values = self.transition.initial if start is None else values_of(self.transition.layout, start)
        self.run = Unrolling(self.transition, dict(values), bounds.together)
        self.properties = tuple(properties)
        state = self.transition.state
        self.of_states = [p for p in properties if p.of != STEP]
        self.of_steps = [p for p in properties if p.of == STEP]
        self.judged = [self.transition.verdict(p, state) for p in self.of_states]
        self.steps_judged = {
            p.name: {a.word: self.transition.verdict(p, state, a.after) for a in self.transition.actions}
            for p in self.of_steps
        }
        self.z3 = Z3Terms()
        self.solver = Solver(seed=bounds.seed, logic="QF_FD")
        self.at_end: dict[str, Truth] = {}
        self.in_range = False
        self.errors: list[tuple[Truth, Any]] = []  # of steps, not asked about yet: where one is met, and its site
        self.errors_at_end: list[tuple[Truth, Any]] = []  # of properties

    def add(self, conditions: Sequence[Truth]) -> None:
        self.solver.add(*(self.z3.truth(c) for c in conditions if c is not True))

    def deeper(self) -> None:
        """Add a round."""
        before = self.run.state
        last = self.run.extend()
        self.add(last.constraints)
        (asking,) = self.run.at([self.transition.enabled[1]], before)
        unknown = and_(some_of(last.taken), met(asking))
        self.errors += [(unknown, asking), *zip(last.wrong, last.errors, strict=True)]
        if self.in_range:
            self.stay_in_range()
        # the steps of the last round stay there: a property of steps speaks of one that comes last
        self.add(list(self.run.early(len(self.run.rounds) - 2)))
        (asking,) = self.run.at([self.transition.enabled[1]], self.run.state)
        self.errors_at_end = [(met(asking), asking)]
        verdicts = iter(self.run.at([part for verdict in self.judged for part in verdict], self.run.state))
        for p, kept, error in zip(self.of_states, verdicts, verdicts, strict=True):
            self.at_end[p.name] = self.broken_by(True, kept, error)
        alone = self.one_step(last)
        for p in self.of_steps:
            parts = [part for a in last.actions for part in self.steps_judged[p.name][a.word]]
            verdicts = iter(self.run.at(parts, before))
            bad: Truth = False
            for taken, kept, error in zip(last.taken, verdicts, verdicts, strict=True):
                bad = or_(bad, self.broken_by(and_(taken, alone), kept, error))
            self.at_end[p.name] = bad

    def broken_by(self, here: Truth, kept: Any, error: Any) -> Truth:
        """Where a property is broken, if what it speaks of is `here`; an error that judging it meets is noted."""
        wrong = met(error)
        self.errors_at_end.append((and_(here, wrong), error))
        return and_(here, and_(not_(kept), not_(wrong)))

    @staticmethod
    def one_step(last: Round) -> Truth:
        """Whether a round has one step at most."""
        some: Truth = False
        several: Truth = False
        for taken in last.taken:
            several = or_(several, and_(some, taken))
            some = or_(some, taken)
        return not_(several)

    def ask(self, seconds: float) -> Result:
        """Whether the run so far can end by breaking a property, or has met an error if none is known yet."""
        bad: Truth = False
        for value in self.at_end.values():
            bad = or_(bad, value)
        if not self.in_range:
            for wrong, _ in (*self.errors, *self.errors_at_end):
                bad = or_(bad, wrong)
        if seconds <= 0:
            return Result(SolverAnswer.UNDECIDED, 0.0, reason="out of time")
        question = z3.Bool(f"broken in {len(self.run.rounds)}")
        self.solver.add(question == self.z3.truth(bad))
        with about("broken within rounds", f"{len(self.run.rounds):02}"):
            result = self.solver.check(question, seconds=seconds)
        if result.proved:
            self.solver.add(z3.Not(question))
            self.errors = []
        return result

    def truth(self, model: z3.ModelRef, value: Truth) -> bool:
        return bool(z3.is_true(model.eval(self.z3.truth(value), model_completion=True)))

    def leaves_range(self, model: z3.ModelRef) -> str:
        """Where a value would first leave its range in the run that z3 found; empty: nowhere, or that is known."""
        for wrong, error in () if self.in_range else (*self.errors, *self.errors_at_end):
            if self.truth(model, wrong):
                site = model.eval(self.z3.bits(error, ERROR_BITS), model_completion=True).as_long()
                sentence: str = self.transition.typed.sites[site - 1].sentence()
                return sentence
        return ""

    def stay_in_range(self) -> None:
        """From now on no step meets an error."""
        self.in_range = True
        self.add([not_(wrong) for wrong, _ in self.errors])
        self.errors = []

    def broken(self, model: z3.ModelRef) -> tuple[Property, ...]:
        """The properties that the run z3 found breaks."""
        return tuple(p for p in self.properties if self.truth(model, self.at_end[p.name]))

    def schedule(self, model: z3.ModelRef) -> tuple[int, ...]:
        """Its steps."""
        return tuple(
            a.word
            for r in self.run.rounds
            for a, taken in zip(r.actions, r.taken, strict=True)
            if self.truth(model, taken)
        )


def met(error: Any) -> Truth:
    """Where the site of an error is one."""
    return not_(equal(error, 0, ERROR_BITS))


def some_of(conditions: Sequence[Truth]) -> Truth:
    out: Truth = False
    for condition in conditions:
        out = or_(out, condition)
    return out
