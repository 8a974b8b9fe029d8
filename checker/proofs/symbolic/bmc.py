"""Bounded model checking: whether some run of at most k steps violates a property.

Runs are considered in rounds (`unroll.py`), and a round may be empty; so a query about k rounds is about every run of
at most k steps, and about longer ones whose steps can share rounds. What is proved impossible within so many rounds is
kept for the next query.

A value that would leave its range is not stored, and the formula's run continues: that is not a run. Whether there is
such an error, in steps or in the properties themselves, is queried together with the violations. Once one is found it
is reported, and from then on only runs without one are searched for violations.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import z3
from z3 import ModelRef

from checker.opinion.interpreted import Interpreted
from checker.opinion.outcome import NO_OPINION, Differs, SecondOpinion, joined_opinions
from checker.opinion.searched import opinion_of_runs
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Result, Solver, SolverAnswer, interruptibly
from checker.proofs.symbolic.transition import Transition
from checker.proofs.symbolic.unroll import ERROR_BITS, Round, Unrolling
from invariants.binding import full_namespace
from invariants.registry import STEP, Property
from zabspec.language.python.reference import StateView
from zabspec.model import Model
from zabspec.proofs.symbolic_memory import bytes_of, values_of
from zabspec.proofs.symbolic_terms import Term, Truth, and_, equal, forget_terms, not_, or_, some_of
from zabspec.proofs.z3_terms import Z3Terms

# --- hold the formula of all runs against the interpreter: runs drawn from it replay, and random runs satisfy it ---

RUNS = 25  # of each kind
WALKS = 400  # random runs, and the CPU seconds for them, of which only what they meet is compared
SECONDS = 0.5
TOGETHER = 3  # steps that a drawn run must take, at random
QUERY = 2.0  # seconds to draw a run, or to find one


class BoundedSearch(Protocol):
    """The formula of all runs of some rounds."""

    transition: Transition
    run: Unrolling
    properties: tuple[Property, ...]
    z3: Z3Terms
    solver: Solver
    in_range: bool

    def schedule(self, model: ModelRef) -> tuple[int, ...]: ...


class BoundedOpinion(Interpreted):
    """Compares the formula of all runs of some rounds with the interpreter, one run at a time.

    Args:
        search: a search that found nothing; every run within its rounds is in its formula.
        start: the state that runs start from.
        left: returns the seconds that are left.
    """

    def __init__(self, search: BoundedSearch, start: bytes, left: Callable[[], float]) -> None:
        super().__init__(search.transition.model, search.properties)
        self.search, self.start, self.left = search, start, left
        self.runs: list[tuple[int, ...]] = []  # drawn from the formula
        self.source = random.Random(search.solver.seed)
        self.widths = {key: search.transition.cells.all[key].width for key in search.run.state}

    @property
    def limit(self) -> float:
        """The time limit of a query."""
        return max(0.001, min(QUERY, self.left()))

    def after(self, state: bytes, view: StateView, run: str) -> bytes:
        """Return the state after a step of a run.

        Raises:
            Differs: the step violates a property, or judging one meets an error, which no run does by the formula.
        """
        self.steps += 1
        before = StateView(self.layout, state)
        for p in self.properties:
            held = self.holds(p, view, before)
            if held is False or (held is None and not self.search.in_range):
                raise Differs(f"a {run} violates {p.name}" + (", or meets an error in it" if held is None else ""))
        return view.key()

    def draw(self) -> None:
        """Draw a run from the formula, and take it in the interpreter.

        Raises:
            Differs: it is no run, or ends in another state, or violates a property.
        """
        search, source = self.search, self.source
        rounds = [r for r in search.run.rounds if r.taken]
        given = [source.choice(source.choice(rounds).taken) for _ in range(TOGETHER if rounds else 0)]
        for count in range(len(given), -1, -1):
            with about("a run of", f"{len(search.run.rounds):02}"):
                result = search.solver.check(*(search.z3.truth(t) for t in given[:count]), seconds=self.limit)
            if result.model is not None:
                break
        if result.model is None:
            if result.proved:
                raise Differs("the formula has no run at all")
            return
        state = self.start
        self.runs.append(search.schedule(result.model))
        for k, word in enumerate(self.runs[-1], 1):
            view = dict(self.engine.attempts(state)).get(word)
            if not isinstance(view, StateView):
                raise Differs(f"step {k} of a run of the formula is not possible")
            state = self.after(state, view, "run of the formula")
        ends = {key: search.z3.value(result.model, value, self.widths[key]) for key, value in search.run.state.items()}
        zeros = dict.fromkeys(search.transition.scratch, 0)
        if bytes_of(self.layout, {**zeros, **ends})[: self.layout.size] != state:
            raise Differs("a run of the formula ends in another state")

    def walk(self, length: int) -> bytes:
        """Return the state after a random run of the interpreter.

        Raises:
            Differs: the run violates a property, or meets an error.
        """
        state = self.start
        for _ in range(length):
            attempts = dict(self.engine.attempts(state))
            ways = [view for view in attempts.values() if isinstance(view, StateView)]
            if len(ways) < len(attempts) and not self.search.in_range:
                raise Differs("a step of a random run meets an error")
            if not ways:
                break
            state = self.after(state, self.source.choice(ways), "random run")
        return state

    def seek(self, state: bytes) -> None:
        """Search the formula for a run that ends in a state.

        Raises:
            Differs: there is none.
        """
        search = self.search
        values = values_of(self.layout, state)
        same: Truth = True
        for key, value in search.run.state.items():
            width = self.widths[key]
            same = and_(same, equal(value, int(values[key]) if width else bool(values[key]), width))
        proved = not same
        if isinstance(same, Term):
            with about("a run that ends", f"within {len(search.run.rounds):02}"):
                proved = search.solver.whether(search.z3.truth(same), seconds=self.limit).proved
        if proved:
            raise Differs("a random run ends in a state that is in no run of the formula")

    def compare(self) -> None:
        """Compare random runs of each kind, as long as there is time; `states` counts the runs of each kind.

        Raises:
            Differs: they do not agree.
        """
        rounds = len(self.search.run.rounds)
        while self.states < RUNS and self.left() > 0:
            self.draw()
            self.seek(self.walk(self.source.randint(0, rounds)))
            self.states += 1
        end = time.process_time() + SECONDS
        for _ in range(WALKS):
            if time.process_time() > end:
                break
            self.walk(rounds)


def second_opinion(search: BoundedSearch, start: bytes, left: Callable[[], float]) -> SecondOpinion:
    """Return how the opinions of the interpreter, and of the second semantics, of the formula of all runs compare."""
    here = BoundedOpinion(search, start, left)
    opinion = here.opinion(here.compare)
    if opinion.difference or start not in here.starts:
        return opinion
    return joined_opinions([opinion, opinion_of_runs(here.engine.model, here.engine, here.properties, here.runs)])


STATE = 0  # where a property is about states, in place of a step's word
Terms: TypeAlias = Mapping[int, tuple[Truth, Any]]  # a property's value, and the error in judging it
Judged: TypeAlias = tuple[Truth, Any, Any]  # when a property is judged at the end of a run; its value, and the error

Progress = Callable[[int, float], None]  # the rounds being queried, and the seconds so far


@dataclass(frozen=True)
class Bounds:
    """The depth and the time limits of a search.

    Attributes:
        depth: steps.
        every: query once in so many rounds, and at the end. With 1, a run found has the fewest rounds.
        seconds: time limit of all of it.
        query_seconds: time limit of each query.
        seed: of z3's random choices.
        together: whether independent steps may share a round.
    """

    depth: int
    every: int = 1
    seconds: float | None = None
    query_seconds: float | None = None
    seed: int = 0
    together: bool = True


@dataclass
class Bounded:
    """The result of bounded checking.

    Attributes:
        depth: steps within which nothing is violated.
        broken: the properties that the run violates; empty if there is no such run.
        schedule: the run's steps from where it started.
        rounds: the number of rounds in which they were found; 0 if they were not.
        reason: why it ended before the requested depth; empty if it did not.
        left_range: where a value would leave its range in some run; empty if none was found.
        premises: by property whether some run meets its premise; without those that z3 did not decide.
        second: how the interpreter's opinion compares; if it differs, nothing is concluded.
        seconds: for each query the number of rounds, and the time of it with all that came before it.
    """

    depth: int = 0
    broken: tuple[Property, ...] = ()
    schedule: tuple[int, ...] = ()
    rounds: int = 0
    reason: str = ""
    left_range: str = ""
    premises: dict[str, bool] = field(default_factory=dict)
    second: SecondOpinion = NO_OPINION
    seconds: list[tuple[int, float]] = field(default_factory=list)


def check(
    model: Model,
    properties: Sequence[Property],
    bounds: Bounds,
    start: bytes | None = None,
    progress: Progress | None = None,
    found: Bounded | None = None,
) -> Bounded:
    """Search for a run that violates a property.

    Args:
        start: the state to start from; the initial one if not given.
        found: receives the results as they are found.
    """
    began = time.perf_counter()
    found = Bounded() if found is None else found
    search = Search(model, properties, start, bounds)

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
    found.second = second_opinion(search, start or model.program.initial().key(), left)
    if found.second.difference:
        found.reason, found.depth = found.second.trouble, 0
        return found
    search.meet_premises(found.premises, left)
    return found


def check_in_time(
    model: Model,
    properties: Sequence[Property],
    bounds: Bounds,
    start: bytes | None = None,
    progress: Progress | None = None,
) -> Bounded:
    """Search as `check` does, and abandon the search when its time is over: building terms takes time, too."""
    found = Bounded()
    seconds = math.inf if bounds.seconds is None else bounds.seconds
    try:
        interruptibly(partial(check, model, properties, bounds, start, progress, found), seconds)
    except TimeoutError:
        return replace(found, reason="out of time", broken=(), schedule=(), seconds=[*found.seconds])
    finally:
        forget_terms()
    return found


class Search:
    """A growing run, with a query at its end."""

    def __init__(self, model: Model, properties: Sequence[Property], start: bytes | None, bounds: Bounds) -> None:
        self.premises = [replace(p, holds=p.witness) for p in properties]
        self.transition = Transition(model, full_namespace(model), (*properties, *self.premises))
        values = self.transition.initial if start is None else values_of(self.transition.layout, start)
        self.run = Unrolling(self.transition, dict(values), bounds.together)
        self.properties = tuple(properties)
        self.before = self.run.state  # before the last round
        self.terms = self.terms_of(properties)
        self.z3 = Z3Terms()
        self.solver = Solver(seed=bounds.seed, logic="QF_FD")
        self.at_end: dict[str, Truth] = {}
        self.in_range = False
        self.errors: list[tuple[Truth, Any]] = []  # of steps, not queried yet: where one is met, and its site
        self.errors_at_end: list[tuple[Truth, Any]] = []  # of properties

    def add(self, conditions: Sequence[Truth]) -> None:
        self.solver.add(*(self.z3.truth(c) for c in conditions if c is not True))

    def terms_of(self, properties: Sequence[Property]) -> dict[str, Terms]:
        """Return for each property its value and the error in judging it: in a state, or by the word of a step."""
        t = self.transition
        return {
            p.name: {a.word: t.verdict(p, t.state, a.after) for a in t.actions}
            if p.of == STEP
            else {STATE: t.verdict(p, t.state)}
            for p in properties
        }

    def deeper(self) -> None:
        """Add a round."""
        self.before = self.run.state
        last = self.run.extend()
        self.add(last.constraints)
        (asking,) = self.run.at([self.transition.enabled[1]], self.before)
        unknown = and_(some_of(last.taken), met(asking))
        self.errors += [(unknown, asking), *zip(last.wrong, last.errors, strict=True)]
        if self.in_range:
            self.stay_in_range()
        # the steps of the last round stay there: a step property is about the last step
        self.add(list(self.run.early(len(self.run.rounds) - 2)))
        (asking,) = self.run.at([self.transition.enabled[1]], self.run.state)
        self.errors_at_end = [(met(asking), asking)]
        for name, judged in self.judged_at_end(self.terms).items():
            self.errors_at_end += [(and_(here, met(error)), error) for here, _, error in judged]
            self.at_end[name] = some_of([and_(here, and_(not_(kept), not_(met(e)))) for here, kept, e in judged])

    def judged_at_end(self, terms: Mapping[str, Terms]) -> dict[str, list[Judged]]:
        """Return where each property is judged at the end of the run: the condition, its value, and the error."""
        last = self.run.rounds[-1]
        of_states = {name: parts[STATE] for name, parts in terms.items() if STATE in parts}
        values = iter(self.run.at([part for parts in of_states.values() for part in parts], self.run.state))
        out: dict[str, list[tuple[Truth, Any, Any]]] = {
            name: [(True, next(values), next(values))] for name in of_states
        }
        for name in terms.keys() - of_states.keys():
            values = iter(self.run.at([part for a in last.actions for part in terms[name][a.word]], self.before))
            alone = self.one_step(last)
            out[name] = [(and_(taken, alone), next(values), next(values)) for taken in last.taken]
        return out

    def meet_premises(self, found: dict[str, bool], left: Callable[[], float]) -> None:
        """Find which premises some run so far meets at its end, as far as time allows."""
        judged = self.judged_at_end(self.terms_of(self.premises))
        met_by = {
            name: some_of([and_(here, and_(value, not_(met(error)))) for here, value, error in places])
            for name, places in judged.items()
        }
        while unknown := [name for name in met_by if name not in found]:
            if (seconds := left()) <= 0:
                return
            with about("premise met within rounds", f"{len(self.run.rounds):02}"):
                result = self.solver.whether(
                    self.z3.truth(some_of([met_by[name] for name in unknown])), seconds=seconds
                )
            if result.proved:
                found |= dict.fromkeys(unknown, False)
            elif result.model is None:
                return
            else:
                found |= {name: True for name in unknown if self.z3.value(result.model, met_by[name], 0)}

    @staticmethod
    def one_step(last: Round) -> Truth:
        """Return the condition that a round has at most one step."""
        some: Truth = False
        several: Truth = False
        for taken in last.taken:
            several = or_(several, and_(some, taken))
            some = or_(some, taken)
        return not_(several)

    def ask(self, seconds: float) -> Result:
        """Return whether the run so far can end by violating a property, or with an error if none is known yet."""
        errors = [] if self.in_range else [wrong for wrong, _ in (*self.errors, *self.errors_at_end)]
        bad = some_of([*self.at_end.values(), *errors])
        if seconds <= 0:
            return Result(SolverAnswer.UNDECIDED, 0.0, reason="out of time")
        # another name once runs stay in range: the question has then another meaning
        question = z3.Bool(f"broken in {len(self.run.rounds)}{' and in range' if self.in_range else ''}")
        self.solver.add(question == self.z3.truth(bad))
        with about("broken within rounds", f"{len(self.run.rounds):02}"):
            result = self.solver.check(question, seconds=seconds)
        if result.proved:
            self.solver.add(z3.Not(question))
            self.errors = []
        return result

    def leaves_range(self, model: z3.ModelRef) -> str:
        """Return where a value would first leave its range in the run that z3 found.

        Empty if nowhere, or if it is known.
        """
        for wrong, error in () if self.in_range else (*self.errors, *self.errors_at_end):
            if self.z3.value(model, wrong, 0):
                site = self.z3.value(model, error, ERROR_BITS)
                sentence: str = self.transition.typed.sites[site - 1].sentence()
                return sentence
        return ""

    def stay_in_range(self) -> None:
        """Require that no step meets an error from now on."""
        self.in_range = True
        self.add([not_(wrong) for wrong, _ in self.errors])
        self.errors = []

    def broken(self, model: z3.ModelRef) -> tuple[Property, ...]:
        """Return the properties that the run z3 found violates."""
        return tuple(p for p in self.properties if self.z3.value(model, self.at_end[p.name], 0))

    def schedule(self, model: z3.ModelRef) -> tuple[int, ...]:
        """Return the steps of the run that z3 found."""
        return tuple(
            a.word
            for r in self.run.rounds
            for a, taken in zip(r.actions, r.taken, strict=True)
            if self.z3.value(model, taken, 0)
        )


def met(error: Any) -> Truth:
    """Return the condition that an error's site is a certain one."""
    return not_(equal(error, 0, ERROR_BITS))
