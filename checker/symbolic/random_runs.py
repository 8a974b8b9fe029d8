"""Hold the formula of all runs against the interpreter: runs drawn from it replay, and random runs satisfy it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from z3 import ModelRef

from checker.explore.interpret import Interpreter
from checker.symbolic.smt2 import about
from checker.symbolic.solver import Solver
from checker.symbolic.transition import Transition
from checker.symbolic.unroll import Unrolling
from invariants.registry import STEP, Property, keeps
from zabspec.language.reference import ERRORS, StateView
from zabspec.language.symbolic_memory import bytes_of, values_of
from zabspec.language.symbolic_terms import Term, Truth, and_, equal
from zabspec.language.z3_terms import Z3Terms

RUNS = 25  # of each kind
TOGETHER = 3  # steps that a drawn run must take, at random
QUERY = 2.0  # seconds to draw a run, or to find one


class Search(Protocol):
    """The formula of all runs of some rounds."""

    transition: Transition
    run: Unrolling
    properties: tuple[Property, ...]
    z3: Z3Terms
    solver: Solver

    def schedule(self, model: ModelRef) -> tuple[int, ...]: ...
    def value(self, model: ModelRef, term: Term | int | bool, width: int) -> int | bool: ...


def compare(search: Search, start: bytes, left: Callable[[], float]) -> tuple[int, str]:
    """Compare random runs, as long as there is time.

    Args:
        search: a search that found nothing; every run within its rounds is in its formula.
        start: the state that runs start from.
        left: returns the seconds that are left.

    Returns:
        The number of runs of each kind, and a sentence on the first that the formula and the interpreter do not share;
        empty if there is none.
    """
    engine = Interpreter(search.transition.model, search.properties, False, every_step=True)
    source = random.Random(len(search.run.rounds))
    for count in range(RUNS):
        for kind in (drawn, walked):
            if left() <= 0:
                return count, ""
            if said := kind(search, engine, start, source, min(QUERY, left())):
                return count, f"the interpreter contradicts z3: {said}; this is a bug of zabcheck"
    return RUNS, ""


def drawn(search: Search, engine: Interpreter, start: bytes, source: random.Random, seconds: float) -> str:
    """Draw a run from the formula, and take it in the interpreter."""
    rounds = [r for r in search.run.rounds if r.taken]
    given = [source.choice(source.choice(rounds).taken) for _ in range(TOGETHER if rounds else 0)]
    for count in range(len(given), -1, -1):
        with about("a run of", f"{len(search.run.rounds):02}"):
            result = search.solver.check(*(search.z3.truth(t) for t in given[:count]), seconds=seconds)
        if result.model is not None:
            break
    else:
        return "" if not result.proved else "the formula has no run at all"
    state = start
    for k, word in enumerate(search.schedule(result.model), 1):
        after = dict(engine.attempts(state)).get(word)
        if not isinstance(after, StateView):
            return f"step {k} of a run of the formula is not possible"
        broken = [p.name for p in search.properties if violates(engine, p, after, StateView(engine.layout, state))]
        if broken:
            return f"step {k} of a run of the formula violates {', '.join(broken)}, which no run does"
        state = after.key()
    layout = search.transition.layout
    ends = {
        key: search.value(result.model, value, search.transition.cells.all[key].width)
        for key, value in search.run.state.items()
    }
    zeros = dict.fromkeys(search.transition.scratch, 0)
    same = bytes_of(layout, {**zeros, **ends})[: layout.size] == state
    return "" if same else "a run of the formula ends in another state"


def walked(search: Search, engine: Interpreter, start: bytes, source: random.Random, seconds: float) -> str:
    """Take a random run in the interpreter, and ask the formula for one that ends as it does."""
    state = start
    for _ in range(source.randint(0, len(search.run.rounds))):
        ways = [after for _, after in engine.successors(state)]
        if not ways:
            break
        after = source.choice(ways)
        broken = [p.name for p in search.properties if violates(engine, p, after, StateView(engine.layout, state))]
        if broken:
            return f"a run violates {', '.join(broken)}"
        state = after.key()
    values = values_of(search.transition.layout, state)
    ends: Truth = True
    for key, value in search.run.state.items():
        width = search.transition.cells.all[key].width
        ends = and_(ends, equal(value, int(values[key]) if width else bool(values[key]), width))
    if not isinstance(ends, Term):
        return "" if ends else "a run ends in a state that is in no run of the formula"
    with about("a run that ends", f"within {len(search.run.rounds):02}"):
        result = search.solver.whether(search.z3.truth(ends), seconds=seconds)
    return "a run ends in a state that is in no run of the formula" if result.proved else ""


def violates(engine: Interpreter, p: Property, after: StateView, before: StateView) -> bool:
    """Return whether a step, or the state after it, violates a property; one that cannot be judged does not."""
    try:
        return not keeps(p, engine.names, after, before if p.of == STEP else None)
    except ERRORS:
        return False
