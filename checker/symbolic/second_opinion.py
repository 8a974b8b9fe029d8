"""Hold the formulas of z3, and what is concluded from them, against the interpreter, in random states and runs.

The interpreter runs the protocol and its clauses as the Python that they are; it shares no line with the translation
into terms and with z3. States are drawn from both sides: z3 draws some that satisfy the assumptions, reachable or not,
and the interpreter walks to some and changes a few cells of them. In each of them both say which clauses hold, which
steps are possible, and what these do. So a formula that is stronger than its clause shows as well as a weaker one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checker.explore.interpret import Interpreter
from checker.symbolic.induction import Induction, Move, describe
from checker.symbolic.transition import StepChoice, Transition
from invariants.registry import STEP, Property, keeps
from zabspec.language.reference import ERRORS, StateView
from zabspec.language.symbolic_memory import bytes_of, values_of
from zabspec.language.symbolic_terms import Term, Truth, and_, equal, evaluate

FEWEST, MOST = 12, 50  # states of z3, and of random runs; as many more have some cells changed
CELLS = 3000  # a state with so many cells and more is dear: the fewest are drawn
LONGEST = 30  # steps of a random run
CHANGED = 3  # the most cells that are changed
FIXED = 6  # cells whose content is drawn before z3 completes the state
WORD = (1 << 32) - 1  # the bits of a step word without its choice
QUERY = 5.0  # seconds to draw a state


@dataclass(frozen=True)
class Claims:
    """What an induction concluded, of every state that satisfies its assumptions.

    Attributes:
        kept: the clauses and properties that every step preserves, or that follow.
        never: the labels of the moves that are never possible.
    """

    kept: frozenset[str]
    never: frozenset[str]


@dataclass(frozen=True)
class SecondOpinion:
    """How the interpreter's opinion compares.

    Attributes:
        states: the number of states in which both were compared.
        steps: the number of steps.
        difference: a sentence on the first difference; empty if there is none.
    """

    states: int = 0
    steps: int = 0
    difference: str = ""


class Differs(Exception):
    """The two differ; the message is one sentence."""


class Interpreted:
    """Compares the terms of a transition with the interpreter, in one state at a time.

    Args:
        transition: the terms.
        formulas: of each clause, its conjuncts.
        clauses: all that are judged.
        actions: returns a step word with each of its choices.
    """

    def __init__(
        self,
        transition: Transition,
        formulas: Mapping[str, Sequence[Truth]],
        clauses: Sequence[Property],
        actions: Callable[[int], list[StepChoice]],
    ) -> None:
        self.transition, self.formulas, self.clauses, self.actions = transition, formulas, clauses, actions
        self.engine = Interpreter(transition.model, clauses, False, every_step=True)
        self.layout = transition.layout
        self.variables = {v: key for key, v in transition.state.items() if isinstance(v, Term)}
        self.message = self.layout.offset("event_message")
        self.states = self.steps = 0

    def known(self, data: bytes) -> dict[Term, int | bool]:
        """Return the value of every variable in a state."""
        values = values_of(self.layout, data)
        return {v: values[key] for v, key in self.variables.items()}

    def holds(self, p: Property, after: StateView, before: StateView | None = None) -> bool:
        """Return whether a state, or a step, satisfies a property; an error counts as violating it."""
        try:
            return bool(keeps(p, self.engine.names, after, before))
        except ERRORS:
            return False

    def judged(self, data: bytes, known: dict[Term, int | bool]) -> bool:
        """Compare each clause with its formula in a state; return whether it satisfies all of them.

        Raises:
            Differs: a formula differs from its clause.
        """
        view, every = StateView(self.layout, data), True
        for p in self.clauses:
            if p.name in self.formulas:
                said, right = (all(worth(t, known) for t in self.formulas[p.name]), self.holds(p, view))
                if said != right:
                    raise Differs(f"in some state the formula of {p.name} is {said}, and {p.name} is {right}")
                every = every and right
        return every

    def compared(self, data: bytes, known: dict[Term, int | bool], words: Iterable[int]) -> dict[int, StateView]:
        """Compare the possible steps of a state, and the effects of those with some words; return the states after.

        Raises:
            Differs: a step is possible for one alone, or its effect is another.
        """
        t = self.transition
        taken = dict(self.engine.attempts(data))
        unlisted, refused = 0 in taken, worth(t.enabled[1], known) != 0
        if unlisted != refused:
            raise Differs("in some state listing the steps has an error, or its formula has, but not both")
        if unlisted or worth(t.no_word, known):  # or a step of what is no process: it has no number
            return {}
        possible, right = {w for w, guard in t.guards.items() if worth(guard, known)}, {w & WORD for w in taken}
        for word in possible ^ right:
            raise Differs(f"in some state the step {describe(word)} is possible, or its formula says so, but not both")
        for word in possible & {*words}:
            for action in self.actions(word):
                self.effect(action, taken, known)
        return {w: after for w, after in taken.items() if isinstance(after, StateView)}

    def effect(self, action: StepChoice, taken: Mapping[int, Any], known: dict[Term, int | bool]) -> None:
        """Compare the effect of one step with one choice."""
        self.steps += 1
        right, name = taken.get(action.word), describe(action.word)
        if bool(worth(action.guard, known)) != (right is not None):
            raise Differs(f"in some state the step {name} has another number of alternatives than its formula")
        if right is None:
            return
        if (worth(action.error, known) != 0) == isinstance(right, StateView):
            raise Differs(f"in some state the step {name} has an error, or its formula has, but not both")
        if isinstance(right, StateView):
            cells = {key: worth(value, known) for key, value in action.after.items()}
            if bytes_of(self.layout, cells)[: self.layout.size] != right.key():
                raise Differs(f"in some state the step {name} has another effect than its formula")

    def agree(self, data: bytes, known: dict[Term, int | bool], claims: Claims, moves: Sequence[Move]) -> bool:
        """Compare everything about one state; return whether it satisfies the clauses.

        Args:
            data: the state.
            known: the value of every variable in it.
            claims: what is claimed of every state that satisfies the clauses.
            moves: those whose effects are compared.

        Raises:
            Differs: they do not agree.
        """
        self.states += 1
        satisfied = self.judged(data, known)
        after = self.compared(data, known, {move.word & WORD for move in moves})
        if not satisfied:
            return False
        before = StateView(self.layout, data)
        never = {(m.word, m.message) for m in moves if m.label in claims.never}
        for word, view in after.items():
            if never & {(word, 0), (word, view.buffer[self.message])}:
                raise Differs(f"{describe(word)} can be taken from a state that satisfies the assumptions")
            for p in self.clauses:
                if p.name in claims.kept and not self.holds(p, view, before if p.of == STEP else None):
                    raise Differs(f"{describe(word)} violates {p.name} from a state that satisfies the assumptions")
        return True


def second_opinion(induction: Induction, claims: Claims) -> SecondOpinion:
    """Return how the interpreter's opinion compares with an induction's formulas and conclusions."""
    transition, means = induction.transition, induction.views.means
    every = (*induction.every, *induction.targets)
    here = Interpreted(transition, induction.known, every, induction.actions_of)
    source = random.Random(induction.seed)
    count = max(FEWEST, min(MOST, CELLS // len(here.variables)))
    initial = transition.model.program.initial().key()

    def hear(data: bytes, is_legal: bool) -> bool:
        """Compare everything about one state; return whether it satisfies the assumptions."""
        known = here.known(data)
        for made, term in means.items():
            known[made] = evaluate(term, known)
        if all(worth(t, known) for t in induction.ranges):
            return here.agree(data, known, claims, induction.moves)
        if is_legal:
            raise Differs("a state that a run reaches is none of those that z3 considers")
        return False

    try:
        for clause in induction.clauses:
            if clause.name in claims.kept and not here.holds(clause, StateView(here.layout, initial)):
                raise Differs(f"the initial state violates {clause.name}")
        for data in walked(here, source, count):
            hear(data, True)
            hear(changed(here, data, source), False)
        for data in drawn(induction, source, count):
            if not hear(data, True):
                raise Differs("z3 takes a state for one that satisfies the assumptions, and it does not")
            hear(changed(here, data, source), False)
    except Differs as difference:
        return SecondOpinion(here.states, here.steps, str(difference))
    return SecondOpinion(here.states, here.steps)


def walked(here: Interpreted, source: random.Random, count: int) -> Iterator[bytes]:
    """Yield states of random runs."""
    initial = here.transition.model.program.initial().key()
    yield initial
    state, length = initial, 0
    for _ in range(count):
        ways = [after for _, after in here.engine.successors(state)]
        length = length + 1 if ways and length < LONGEST else 0
        state = source.choice(ways).key() if length else initial
        yield state


def drawn(induction: Induction, source: random.Random, states: int) -> Iterator[bytes]:
    """Yield states that satisfy the assumptions, completed by z3 from a few random cells."""
    solver = induction.solver(induction.known)
    cells = [(v, v.width) for v in induction.transition.state.values() if isinstance(v, Term)]
    for _ in range(states):
        count = FIXED
        while True:
            given: Truth = True
            for v, width in source.sample(cells, min(count, len(cells))):
                given = and_(given, equal(v, source.getrandbits(max(1, width)), width))
            found = induction.refute(solver, given, QUERY)
            if found.model is not None:
                yield induction.bytes_in(found.model, induction.transition.state)
            if found.model is not None or not count:
                break
            count //= 2


def changed(here: Interpreted, data: bytes, source: random.Random) -> bytes:
    """Return a state with a few cells changed; it may not be a legal one."""
    values = values_of(here.layout, data)
    for key in source.sample([*here.variables.values()], min(len(here.variables), source.randint(1, CHANGED))):
        width = here.transition.cells.all[key].width
        values[key] = source.getrandbits(width) if width else bool(source.getrandbits(1))
    try:
        return bytes_of(here.layout, values)[: here.layout.size]
    except (IndexError, OverflowError):  # no message has this number
        return data


def worth(value: Truth | Term | int, known: dict[Term, int | bool]) -> int | bool:
    """Return the value of a term."""
    return evaluate(value, known) if isinstance(value, Term) else value
