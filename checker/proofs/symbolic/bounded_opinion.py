"""Hold the formula of all runs against the interpreter: runs drawn from it replay, and random runs satisfy it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from z3 import ModelRef

from checker.opinion.interpreted import Differs, Interpreted, SecondOpinion
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Solver
from checker.proofs.symbolic.transition import Transition
from checker.proofs.symbolic.unroll import Unrolling
from invariants.registry import Property
from zabspec.language.python.reference import StateView
from zabspec.proofs.symbolic_memory import bytes_of, values_of
from zabspec.proofs.symbolic_terms import Term, Truth, and_, equal
from zabspec.proofs.z3_terms import Z3Terms

RUNS = 25  # of each kind
TOGETHER = 3  # steps that a drawn run must take, at random
QUERY = 2.0  # seconds to draw a run, or to find one


class BoundedSearch(Protocol):
    """The formula of all runs of some rounds."""

    transition: Transition
    run: Unrolling
    properties: tuple[Property, ...]
    z3: Z3Terms
    solver: Solver

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
        self.source = random.Random(len(search.run.rounds))
        self.widths = {key: search.transition.cells.all[key].width for key in search.run.state}

    @property
    def limit(self) -> float:
        """The time limit of a query."""
        return max(0.001, min(QUERY, self.left()))

    def after(self, state: bytes, view: StateView, run: str) -> bytes:
        """Return the state after a step of a run.

        Raises:
            Differs: the step violates a property, which no run does by the formula.
        """
        self.steps += 1
        if broken := self.broken(view, StateView(self.layout, state)):
            raise Differs(f"a {run} violates {', '.join(broken)}")
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
        for k, word in enumerate(search.schedule(result.model), 1):
            view = dict(self.engine.attempts(state)).get(word)
            if not isinstance(view, StateView):
                raise Differs(f"step {k} of a run of the formula is not possible")
            state = self.after(state, view, "run of the formula")
        ends = {key: search.z3.value(result.model, value, self.widths[key]) for key, value in search.run.state.items()}
        zeros = dict.fromkeys(search.transition.scratch, 0)
        if bytes_of(self.layout, {**zeros, **ends})[: self.layout.size] != state:
            raise Differs("a run of the formula ends in another state")

    def walk(self) -> None:
        """Take a random run in the interpreter, and search the formula for one that ends as it does.

        Raises:
            Differs: there is none, or the run violates a property.
        """
        search, state = self.search, self.start
        for _ in range(self.source.randint(0, len(search.run.rounds))):
            if not (ways := self.ways(state)):
                break
            state = self.after(state, self.source.choice(ways), "random run")
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


def second_opinion(search: BoundedSearch, start: bytes, left: Callable[[], float]) -> SecondOpinion:
    """Compare random runs of each kind, as long as there is time; `states` counts the runs of each kind."""
    here = BoundedOpinion(search, start, left)
    try:
        while here.states < RUNS and left() > 0:
            here.draw()
            here.walk()
            here.states += 1
    except Differs as difference:
        return SecondOpinion(here.states, here.steps, str(difference))
    return SecondOpinion(here.states, here.steps)
