"""Hold the formulas of an induction, and what is concluded from them, against the interpreter in random states.

States are drawn from both sides: z3 draws some that satisfy the assumptions, reachable or not, and the interpreter
walks to some and changes a few cells of them. In each of them both judge every clause, list the steps and take them. So
a formula that is stronger than its clause shows as well as a weaker one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.opinion.interpreted import Interpreted
from checker.opinion.outcome import Differs, SecondOpinion
from checker.proofs.symbolic.induction import Induction, describe
from checker.proofs.symbolic.transition import StepChoice
from invariants.registry import STEP
from zabspec.language.python.reference import StateView
from zabspec.proofs.symbolic_memory import bytes_of, values_of
from zabspec.proofs.symbolic_terms import Term, Truth, and_, equal, evaluate

FEWEST, MOST = 12, 50  # states of z3, and of random runs; as many more have some cells changed
CELLS = 3000  # a state with so many cells and more is dear: the fewest are drawn
CHANGED = 3  # the most cells that are changed
FIXED = 6  # cells whose content is drawn before z3 completes the state
WORD = (1 << 32) - 1  # the bits of a step word without its choice
QUERY = 5.0  # seconds to draw a state

Known = dict[Term, int | bool]  # the value of every variable in a state, and of every term computed so far


@dataclass(frozen=True)
class Claims:
    """What an induction concluded, of every state that satisfies its assumptions.

    Attributes:
        kept: the clauses and properties that every step preserves, or that follow.
        never: the labels of the moves that are never possible.
        lasting: the clauses that so many steps preserve, the states before each satisfying every clause.
    """

    kept: frozenset[str]
    never: frozenset[str]
    lasting: Mapping[str, int] = field(default_factory=dict)


class InductionOpinion(Interpreted):
    """Compares the formulas and conclusions of an induction with the interpreter, in one state at a time."""

    def __init__(self, induction: Induction, claims: Claims) -> None:
        self.induction, self.claims, self.transition = induction, claims, induction.transition
        self.source = random.Random(induction.seed)
        super().__init__(self.transition.model, (*induction.every, *induction.targets))
        self.variables = {v: key for key, v in self.transition.state.items() if isinstance(v, Term)}
        self.message = self.layout.offset("event_message")
        self.kept = [p for p in self.properties if p.name in claims.kept]
        self.words = {move.word & WORD for move in induction.moves}
        self.never = {(m.word, m.message) for m in induction.moves if m.label in claims.never}

    def compare(self) -> None:
        """Compare the initial states, and states that either side draws.

        Raises:
            Differs: they do not agree.
        """
        claimed = self.claims.kept.union(self.claims.lasting)
        count = max(FEWEST, min(MOST, CELLS // len(self.variables)))
        for clause in self.induction.clauses:
            starts = (StateView(self.layout, data) for data in self.starts)
            if clause.name in claimed and not all(self.holds(clause, s) for s in starts):
                raise Differs(f"an initial state violates {clause.name}")
        for by_z3, states in ((False, self.walked(self.source, count)), (True, self.drawn(self.source, count))):
            for data in states:
                if not self.agree(data, True) and by_z3:
                    raise Differs("z3 takes a state for one that satisfies the assumptions, and it does not")
                self.agree(self.altered(data, self.source), False)

    def agree(self, data: bytes, is_legal: bool) -> bool:
        """Compare everything about one state; return whether it satisfies the assumptions.

        Args:
            data: the state.
            is_legal: whether z3 must consider it; otherwise it is passed over if z3 does not.

        Raises:
            Differs: they do not agree.
        """
        values = values_of(self.layout, data)
        known: Known = {v: values[key] for v, key in self.variables.items()}
        for made, term in self.induction.views.means.items():
            known[made] = evaluate(term, known)
        if not all(worth(t, known) for t in self.induction.ranges):
            if is_legal:
                raise Differs("a state that a run reaches is none of those that z3 considers")
            return False
        self.states += 1
        reads = self.judged(data, known)
        after = self.stepped(data, known)
        if reads is None:
            return False
        before = StateView(self.layout, data)
        for word, view in after.items():
            if self.never & {(word, 0), (word, view.buffer[self.message])}:
                raise Differs(f"{describe(word)} can be taken from a state that satisfies the assumptions")
            changed = {k for k, (x, y) in enumerate(zip(before.buffer, view.buffer, strict=True)) if x != y}
            for p in self.kept:  # a property that reads nothing that changed is as true as before
                if (p.of == STEP or reads[p.name] & changed) and not self.holds(p, view, before):
                    raise Differs(f"{describe(word)} violates {p.name} from a state that satisfies the assumptions")
        for name, k in self.claims.lasting.items():
            self.after_several(data, name, k)
        return True

    def after_several(self, data: bytes, name: str, k: int) -> None:
        """Take so many random steps from a state, and check that a clause holds after the last.

        Raises:
            Differs: it does not.
        """
        for left in reversed(range(k)):
            ways = self.ways(data)
            if not left and any(not self.holds(p, after) for p in self.properties if p.name == name for after in ways):
                raise Differs(f"{k} steps violate {name}, each from a state that satisfies the assumptions")
            ways = [w for w in ways if all(self.holds(p, w) for p in self.induction.every)]
            if not ways:
                return
            data = self.source.choice(ways).key()

    def judged(self, data: bytes, known: Known) -> dict[str, set[int]] | None:
        """Compare each clause with its formula; return the bytes that each property reads.

        Return None if the state does not satisfy all clauses.

        Raises:
            Differs: a formula differs from its clause, or what follows from the clauses is violated.
        """
        reads: dict[str, set[int]] = {}
        every, violated = True, ""
        for p in self.properties:
            if p.of == STEP:
                continue
            held, reads[p.name] = self.read_by(p, data)
            if p.name in self.induction.known:
                said, right = all(worth(t, known) for t in self.induction.known[p.name]), bool(held)
                if said != right:
                    raise Differs(f"in some state the formula of {p.name} is {said}, and {p.name} is {right}")
                every = every and right
            elif p.name in self.claims.kept and not held:
                violated = p.name
        if every and violated:
            raise Differs(f"in some state every clause holds, and {violated} does not")
        return reads if every else None

    def stepped(self, data: bytes, known: Known) -> dict[int, StateView]:
        """Compare the possible steps of a state, and the effects of those that are queried; return the states after.

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
        for word in possible & self.words:
            for action in self.induction.actions_of(word):
                self.effect(action, taken, known)
        return {w: after for w, after in taken.items() if isinstance(after, StateView)}

    def effect(self, action: StepChoice, taken: Mapping[int, Any], known: Known) -> None:
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

    def drawn(self, source: random.Random, states: int) -> Iterator[bytes]:
        """Yield states that satisfy the assumptions, completed by z3 from a few random cells."""
        solver = self.induction.solver(self.induction.known)
        cells = [(v, v.width) for v in self.transition.state.values() if isinstance(v, Term)]
        for _ in range(states):
            count, model = FIXED, None
            while model is None and count:
                given: Truth = True
                for v, width in source.sample(cells, min(count, len(cells))):
                    given = and_(given, equal(v, source.getrandbits(max(1, width)), width))
                model = self.induction.refute(solver, given, QUERY).model
                count //= 2
            model = model or self.induction.refute(solver, True, QUERY).model
            if model is not None:
                yield self.induction.bytes_in(model, self.transition.state)

    def altered(self, data: bytes, source: random.Random) -> bytes:
        """Return a state with a few cells changed; it may not be a legal one."""
        values = values_of(self.layout, data)
        for key in source.sample([*self.variables.values()], min(len(self.variables), source.randint(1, CHANGED))):
            width = self.transition.cells.all[key].width
            values[key] = source.getrandbits(width) if width else bool(source.getrandbits(1))
        try:
            return bytes_of(self.layout, values)[: self.layout.size]
        except (IndexError, OverflowError):  # no message has this number
            return data


def second_opinion(induction: Induction, claims: Claims) -> SecondOpinion:
    """Return how the interpreter's opinion compares with an induction's formulas and conclusions."""
    here = InductionOpinion(induction, claims)
    return here.opinion(here.compare)


def worth(value: Truth | Term | int, known: Known) -> int | bool:
    """Return the value of a term."""
    return evaluate(value, known) if isinstance(value, Term) else value
