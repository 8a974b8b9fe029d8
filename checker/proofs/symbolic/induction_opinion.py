"""Hold the formulas of an induction, and what is concluded from them, against the interpreter in random states.

States are drawn from both sides: z3 draws some that satisfy the assumptions, reachable or not, and the interpreter
walks to some and changes a few values of them, often to an end of their range. In each of them both judge every clause,
list the steps and take them. So a formula that is stronger than its clause shows as well as a weaker one.
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
from zabspec.language.layout.kinds import Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import RecordValue, SeqView, StateView, write
from zabspec.proofs.symbolic_memory import bytes_of, values_of
from zabspec.proofs.symbolic_terms import Term, Truth, and_, equal, evaluate

FEWEST, MOST = 12, 50  # states of z3, and of random runs; as many more have some values changed
CELLS = 3000  # a state with so many cells and more is dear: the fewest are drawn
CHANGED = 3  # the most values that are changed
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
        erring: the labels of the moves that may meet an error; empty for listing the steps.
        lasting: the clauses that so many steps preserve, the states before each satisfying every clause.
    """

    kept: frozenset[str]
    never: frozenset[str]
    erring: frozenset[str]
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
        self.safe = {m.word for m in induction.moves} - {m.word for m in induction.moves if m.label in claims.erring}

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
        runs = "a run violates a clause, and every clause is proved" if claimed.issuperset(self.induction.known) else ""
        by_z3 = "z3 takes a state for one that satisfies the assumptions, and it does not"
        for wrong, states in ((runs, self.walked(self.source, count)), (by_z3, self.drawn(self.source, count))):
            for data in states:
                if not self.agree(data) and wrong:
                    raise Differs(wrong)
                self.agree(self.altered(data))

    def agree(self, data: bytes) -> bool:
        """Compare everything about one state; return whether it satisfies the assumptions.

        Raises:
            Differs: they do not agree.
        """
        values = values_of(self.layout, data)
        known: Known = {v: values[key] for v, key in self.variables.items()}
        for made, term in self.induction.views.means.items():
            known[made] = evaluate(term, known)
        if not all(worth(t, known) for t in self.induction.ranges):
            raise Differs("a state whose values are in their ranges is none of those that z3 considers")
        self.states += 1
        reads = self.judged(data, known)
        after = self.stepped(data, known)
        if reads is None:
            return False
        before = StateView(self.layout, data)
        for word, view in after.items():
            if not isinstance(view, StateView):
                if word in self.safe or not (word or "" in self.claims.erring):
                    taken = describe(word) if word else "listing the steps"
                    raise Differs(f"{taken} has an error in a state that satisfies the assumptions")
                continue
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

    def stepped(self, data: bytes, known: Known) -> dict[int, Any]:
        """Compare the possible steps of a state, and the effects of those that are queried.

        Return by step the state after it, or its error; by 0 that the steps cannot be listed.

        Raises:
            Differs: a step is possible for one alone, or its effect is another.
        """
        t = self.transition
        taken = dict(self.engine.attempts(data))
        unlisted, refused = 0 in taken, worth(t.enabled[1], known) != 0
        if unlisted != refused:
            raise Differs("in some state listing the steps has an error, or its formula has, but not both")
        if unlisted or worth(t.no_word, known):  # or a step of what is no process: it has no number
            return {0: None}
        possible, right = {w for w, guard in t.guards.items() if worth(guard, known)}, {w & WORD for w in taken}
        for word in possible ^ right:
            raise Differs(f"in some state the step {describe(word)} is possible, or its formula says so, but not both")
        for word in possible & self.words:
            for action in self.induction.actions_of(word):
                self.effect(action, taken, known)
        return taken

    def effect(self, action: StepChoice, taken: Mapping[int, Any], known: Known) -> None:
        """Compare the effect of one step with one choice."""
        self.steps += 1
        right, name, possible = taken.get(action.word), describe(action.word), bool(worth(action.guard, known))
        first = taken.get(action.word & WORD)
        if possible and right is None and not isinstance(first, StateView):  # an error before the choice is of each
            right = first
        if possible != (right is not None):
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

    def altered(self, data: bytes) -> bytes:
        """Return a state with a few values changed, within their ranges."""
        view = StateView(self.layout, data)
        fields = [f for f in self.layout.schema.fields if f.role is not Role.SCRATCH and f.kind.size]
        for _ in range(self.source.randint(1, CHANGED)):
            f = self.source.choice(fields)
            if places := [at for _, at in self.layout.elements(f.name)]:
                change(view.buffer, self.source.choice(places), f.kind, self.source)
        return view.key()


def change(buffer: bytearray, at: int, kind: Kind, source: random.Random) -> None:
    """Change some part of a value as the interpreter writes it, within its range."""
    if isinstance(kind, Seq):
        held = SeqView(buffer, at, kind, "")
        k, way = source.randrange(max(1, len(held))), source.randrange(3)
        if not len(held):
            return
        if way == 0:
            held.pop(k)
        elif way == 1 and len(held) < kind.capacity:
            held.append(held[k])
        else:
            change(buffer, at + kind.header + k * kind.element.size, kind.element, source)
    elif isinstance(kind, MessageUnion):
        if buffer[at] and (parts := [*kind.places[buffer[at] - 1].values(), *kind.envelope_places.values()]):
            inner, part, _ = source.choice(parts)
            change(buffer, at + inner, part, source)
    elif isinstance(kind, Record):
        shift, mask, _ = kind.places[name := source.choice([*kind.fields])]
        field, word = kind.fields[name], int.from_bytes(buffer[at : at + kind.size], "little")
        most = mask if isinstance(field, SetOf) else field.hi - field.lo
        word = word & ~(mask << shift) | source.choice((0, most, source.randint(0, most))) << shift
        write(buffer, at, kind, RecordValue(kind, word), "")
    elif isinstance(kind, SetOf):
        write(buffer, at, kind, kind.members(source.getrandbits(kind.count)), "")
    elif isinstance(kind, Int):
        write(buffer, at, kind, source.choice((kind.lo, kind.hi, source.randint(kind.lo, kind.hi))), "")


def second_opinion(induction: Induction, claims: Claims) -> SecondOpinion:
    """Return how the interpreter's opinion compares with an induction's formulas and conclusions."""
    here = InductionOpinion(induction, claims)
    return here.opinion(here.compare)


def worth(value: Truth | Term | int, known: Known) -> int | bool:
    """Return the value of a term."""
    return evaluate(value, known) if isinstance(value, Term) else value
