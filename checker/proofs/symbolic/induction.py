"""Decide whether clauses are inductive: preserved by every step from every state that satisfies the assumptions.

There is one query for each clause and action. An action is a step with its operands and, if it receives a message, that
message's kind; of actions that are renamings of each other only one is queried, if renaming commutes with stepping and
with the clauses. A query is simplified first: the definitions that the clauses use, and that the step leaves unchanged
(`views.py`), are determined, and a clause that is then literally among the assumptions is preserved without a query.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import z3

from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Result, Solver, SolverAnswer
from checker.proofs.symbolic.transition import StepChoice, Transition
from checker.proofs.symbolic.views import View, Views
from invariants.binding import full_namespace
from invariants.proofs import datagrams
from invariants.registry import STEP, Property
from zabspec.language.layout.kinds import MessageUnion, Seq
from zabspec.model import Model
from zabspec.proofs.symbolic_memory import SLOTS, Values, bytes_of, values_of, well_formed
from zabspec.proofs.symbolic_terms import Term, Truth, all_of, and_, conjuncts, equal, not_, variables_of
from zabspec.proofs.z3_terms import Z3Terms
from zabspec.protocols.registry import Protocol
from zabspec.worlds.steps import ACTION, ENVIRONMENT, MASKS, NUMBERED, PROCESSES

# A solver here runs a hundred queries, most of them easy, and z3 would simplify all assertions at each: so not at once.
LATER: Mapping[str, bool | int | float | str] = {"simplify.delay": 3000, "gc": "glue"}
SWEEP = 5.0  # seconds for the query whether one definition is unchanged
ALIKE = frozenset(c.holds.__name__ for c in datagrams.CLAUSES)  # they check the same for each message in flight


@dataclass(frozen=True)
class Move:
    """An action of a query: a step, and the message it receives.

    Attributes:
        word: the step.
        label: both, as text.
        message: the message's number, from 1; 0 if it receives none.
        name: the message's name, or the step's.
    """

    word: int
    label: str
    message: int
    name: str


@dataclass(frozen=True)
class InductionFinding:
    """The result for one clause and one action.

    Attributes:
        clause: the clause's name.
        move: the action's label; empty if the clause has to follow from the others, or to hold initially.
        answer: proved, a counterexample to induction, or undecided.
        seconds: the time of the query.
        word: the step, of a counterexample.
        before: the state before it.
        after: the state after it.
    """

    clause: str
    move: str
    answer: SolverAnswer
    seconds: float
    word: int = 0
    before: bytes = b""
    after: bytes = b""


class Induction:
    """Queries whether clauses are inductive.

    Args:
        model: the model whose steps are taken.
        clauses: assumed before a step and queried after it.
        assumed: assumed of the state before a step, and not queried.
        targets: properties that have to follow from the clauses.
        first: the clauses that suffice to show what a step leaves unchanged; the rest is large.
        cases: for a message or a kind of step, the fields of the acting process whose values are queried one by one.
        symmetric: whether actions that are renamings of each other are alike.
        seconds: time limit of each query.
    """

    def __init__(
        self,
        model: Model,
        clauses: Sequence[Property],
        assumed: Sequence[Property] = (),
        targets: Sequence[Property] = (),
        first: Iterable[str] = (),
        cases: Mapping[str, Sequence[str]] | None = None,
        symmetric: bool = False,
        seconds: float = 20.0,
        seed: int = 0,
    ) -> None:
        self.model, self.clauses, self.targets = model, tuple(clauses), tuple(targets)
        self.cases, self.symmetric, self.seconds, self.seed = dict(cases or {}), symmetric, seconds, seed
        names = full_namespace(model)
        self.transition = Transition(model, names, (*clauses, *assumed, *targets))
        self.z3 = Z3Terms()
        self.views = Views(self.transition, names)
        # a clause is a conjunction; each conjunct is a hypothesis by itself
        self.every = (*clauses, *assumed)
        said = self.views.of_state([*self.every])
        self.known = dict(zip((c.name for c in self.every), said, strict=True))
        self.shape = [c.name for c in self.every if c.name in set(first)]
        self.made: dict[int, list[StepChoice]] = {}

    @cached_property
    def plain(self) -> list[Truth]:
        """The formula of every clause in the state before a step, in its fields alone."""
        return [self.transition.holds(c, self.transition.state) for c in self.every]

    # --- what is asked about -------------------------------------------------------------------

    @cached_property
    def moves(self) -> list[Move]:
        """Every action, one of those that are alike."""
        words = [word for word in self.transition.guards if self.stands_for_all(word)]
        return [move for word in words for a in self.actions_of(word) for move in self.by_message(a)]

    def actions_of(self, word: int) -> list[StepChoice]:
        """Return a step word with each of its choices, computed once."""
        if word not in self.made:
            self.made[word] = self.transition.actions_of(word)
        return self.made[word]

    def stands_for_all(self, word: int) -> bool:
        """Return whether a word represents its renamings: its processes are 0, 1, ... in order of occurrence.

        The message must also be the first of a bag, if the order of that means nothing to any clause.
        """
        operands = NUMBERED[word >> 24 & 255].operands
        if "place" in operands and self.unordered and operand_values(word)[operands.index("place")]:
            return False
        if not self.symmetric or MASKS & {*operands}:
            return True
        roles = self.model.configuration.played
        seen: list[int] = []
        for name, value in zip(operands, operand_values(word), strict=False):
            if name in PROCESSES and value not in seen:
                alike = roles.of_process(value).members if roles else range(self.model.configuration.nodes)
                if value != alike.start + sum(p in alike for p in seen):
                    return False
                seen.append(value)
        return True

    def by_message(self, action: StepChoice) -> Iterator[Move]:
        """Yield the action for each kind of message that it may receive."""
        label, kind = describe(action.word, self.model.protocol), NUMBERED[action.word >> 24 & 255].name
        tag = action.after[self.transition.layout.offset("event_message") << SLOTS]
        if not isinstance(tag, Term):
            yield Move(action.word, label, 0, kind)
            return
        union = self.transition.layout.fields["event_message"].kind
        assert isinstance(union, MessageUnion)
        for number, message in enumerate(union.messages, 1):
            yield Move(action.word, f"{label} {message.name}", number, message.name)

    @cached_property
    def unordered(self) -> bool:
        """Whether what is in flight is a bag, and every clause is independent of its order.

        The clauses that read it go through all of it (`zabspec/authoring/reading.py`), and read one message at a time.
        """
        layout, text = self.transition.layout, self.model.protocol.text
        bags = {n for n, f in layout.fields.items() if isinstance(f.kind, Seq) and f.kind.bag}
        looks = [c.holds.__name__ for c in (*self.every, *self.targets)]
        through = text.through
        changes = (f.__name__ for a in text.changes for f in (a.function, a.when) if f is not None)
        looks += [text.apart.get(name, name) for name in changes]
        reads = self.transition.typed.reads
        return bool(bags) and not any(bags & reads[through.get(n, n)] for n in looks if n not in ALIKE)

    def by_word(self, word: int) -> StepChoice:
        """Return the action of a step word with its choice."""
        return next(
            a for a in self.actions_of(word & (1 << 32) - 1) if a.word == word
        )  # impossible choices are left out

    def action(self, move: Move) -> StepChoice:
        """Return the action of a move, which its message's kind simplifies."""
        action = self.by_word(move.word)
        if not move.message:
            return action
        tag = action.after[self.transition.layout.offset("event_message") << SLOTS]
        assert isinstance(tag, Term)
        return self.transition.action(move.word, and_(action.guard, equal(tag, move.message, tag.width)))

    # --- solvers -------------------------------------------------------------------------------

    @cached_property
    def legal(self) -> list[z3.BoolRef]:
        """Formulas that are true of every legal state, and the clauses' definitions."""
        return [self.z3.truth(t) for t in (*self.ranges, *self.views.definitions)]

    @cached_property
    def ranges(self) -> list[Truth]:
        """The conditions that are true of every legal state."""
        return well_formed(self.transition.layout, self.transition.state)

    @property
    def fine(self) -> Truth:
        """The condition that listing the enabled steps meets no error."""
        return equal(self.transition.enabled[1], 0, 32)

    def solver(self, names: Iterable[str], *more: Truth, fine: bool = True) -> Solver:
        """Return a solver that knows some of the clauses of the state before a step, and more.

        Unless `fine` is false, it also knows that listing the enabled steps meets no error.
        """
        solver = Solver(seconds=self.seconds, seed=self.seed, logic="QF_FD", parameters=LATER)
        if fine:
            solver.add(self.z3.truth(self.fine))
        solver.add(*self.legal, *(self.z3.truth(t) for name in names for t in self.known[name]))
        solver.add(*(self.z3.truth(t) for t in more))
        return solver

    def refute(self, solver: Solver, what: Truth, seconds: float | None = None) -> Result:
        """Check whether a solver's assertions have a model in which something is true."""
        return solver.whether(self.z3.truth(what), seconds=seconds)

    def bytes_in(self, model: z3.ModelRef, values: Values) -> bytes:
        """Return the state of a model of z3's."""
        cells = self.transition.cells.all.items()
        found = {key: self.z3.value(model, values[key], cell.width) for key, cell in cells}
        return bytes_of(self.transition.layout, found)

    # --- the queries ---------------------------------------------------------------------------

    def initially(self) -> list[InductionFinding]:
        """Check whether every initial state satisfies each clause."""
        starts: dict[bytes, Values] = {s: {**values_of(self.transition.layout, s)} for s in self.model.program.starts}
        out = []
        for c in self.clauses:
            data = next((s for s, values in starts.items() if self.transition.holds(c, values) is not True), b"")
            answer = SolverAnswer.COUNTEREXAMPLE if data else SolverAnswer.PROVED
            out.append(InductionFinding(c.name, "", answer, 0.0, 0, data, data))
        return out

    def implied(self) -> list[InductionFinding]:
        """Check whether each target that is not about steps follows from the clauses."""
        solver = self.solver(self.known)
        out = []
        for p in self.targets:
            if p.of != STEP:
                with about("implied", p.name):
                    result = self.refute(solver, not_(self.transition.holds(p, self.transition.state)))
                data = b"" if result.model is None else self.bytes_in(result.model, self.transition.state)
                out.append(InductionFinding(p.name, "", result.answer, result.seconds, 0, data, data))
        return out

    def ask(self, move: Move, only: Iterable[str] = ()) -> list[InductionFinding]:
        """Check whether an action preserves each clause, or each of those named.

        Return one finding for each clause that it may violate.
        """
        found: dict[str, InductionFinding] = {}
        names = set(only) or {p.name for p in (*self.clauses, *self.targets)}
        with about(move.label):
            for action in self.split(move, self.action(move), self.cases.get(move.name, ())):
                names -= {n for n, f in found.items() if f.answer is not SolverAnswer.PROVED}
                for f in self.ask_case(move, action, names):
                    spent = found[f.clause].seconds if f.clause in found else 0.0
                    found[f.clause] = replace(f, seconds=f.seconds + spent)
        return list(found.values())

    def split(self, move: Move, action: StepChoice, fields: Sequence[str]) -> Iterator[StepChoice]:
        """Yield the cases of an action: these fields of the acting process have each of their possible values."""
        if not fields:
            yield action
            return
        process = operand_values(move.word)[0]
        at = dict(self.transition.layout.elements(fields[0]))[process,] << SLOTS
        cell = self.transition.state[at]
        reads = variables_of([action.guard, *(action.after[k] for k in action.changes)])
        if not isinstance(cell, Term) or cell not in reads or at in action.facts:
            yield from self.split(move, action, fields[1:])
            return
        solver = self.solver(self.shape, action.guard)
        for value in range(1 << cell.width):
            case = equal(cell, value, cell.width)
            with about("case", fields[0], value):
                none = self.refute(solver, case).proved
            if not none:
                smaller = self.transition.action(move.word, and_(action.guard, case))
                yield from self.split(move, smaller, fields[1:])

    def ask_case(self, move: Move, action: StepChoice, names: set[str]) -> Iterator[InductionFinding]:
        """Yield the findings of one case of an action, for the clauses named."""
        takes = and_(action.guard, equal(action.error, 0, 32))
        if takes is False:
            return
        shape = self.solver(self.shape, takes)
        with about("can be taken"):
            never = shape.check().proved
        if never:
            return
        state = {**action.after, **{key: self.transition.state[key] for key in self.transition.scratch}}
        looked_at = [c for c in self.clauses if c.name in names and self.may_break(action, c)]
        kept, same = self.unchanged(shape, state, looked_at)
        for p in self.targets:
            if p.of == STEP and p.name in names:
                kept[p.name] = self.transition.holds(p, self.transition.state, action.after)
        whole: Solver | None = None
        for name, after in kept.items():
            open_ = self.open(name, after)
            if not open_:
                continue
            began = time.perf_counter()
            whole = whole or self.solver(self.known, takes, *same)
            with about("keeps", name):
                result = self.refute(whole, not_(all_of(open_)))
            before = after_ = b""
            if result.model is not None:
                before = self.bytes_in(result.model, self.transition.state)
                after_ = self.bytes_in(result.model, action.after)
            spent = time.perf_counter() - began
            yield InductionFinding(name, move.label, result.answer, spent, move.word, before, after_)

    def may_break(self, action: StepChoice, clause: Property) -> bool:
        """Return whether a clause reads a field that an action may change; if not, it is preserved."""
        reads = self.transition.typed.reads[clause.holds.__name__]
        return any(self.field_at(key) in reads for key in action.changes)

    @cached_property
    def places(self) -> tuple[list[int], list[str]]:
        """The offset of each entry of each field, in order, and the fields' names: they lie process by process."""
        layout = self.transition.layout
        begins = sorted(
            (at, name) for name, f in layout.fields.items() if f.kind.size for _, at in layout.elements(name)
        )
        return [at for at, _ in begins], [name for _, name in begins]

    def field_at(self, key: int) -> str:
        """Return the field that a cell belongs to."""
        begins, names = self.places
        return names[bisect_right(begins, key >> SLOTS) - 1]

    def unchanged(
        self, solver: Solver, state: Values, clauses: Sequence[Property]
    ) -> tuple[dict[str, Truth], list[Truth]]:
        """Return the formulas of some clauses after a step, and equations with the definitions they used before.

        The equations are those definitions that the step leaves unchanged.
        """
        shown: dict[tuple[View, Truth], None] = {}
        kept: dict[str, Truth] = {}
        self.views.begin_after()
        unread = list(clauses)
        while unread:
            kept |= {c.name: self.views.holds(c, state) for c in unread}
            supposed = self.views.supposed
            changed: set[View] = set()
            for view, equation in supposed.items():
                if view in changed or (view, equation) in shown:
                    continue
                with about("leaves as it was", view[0], *view[1]):
                    result = self.refute(solver, not_(equation), min(SWEEP, self.seconds))
                if result.proved:
                    solver.add(self.z3.truth(equation))
                    shown[view, equation] = None
                    continue
                changed.add(view)
                if (model := result.model) is not None:
                    changed |= {w for w, e in supposed.items() if not self.z3.value(model, e, 0)}
            self.views.suppose_changed(changed)
            unread = [c for c in clauses if self.views.uses[c.name] & changed]
        return kept, [equation for _, equation in shown]

    def open(self, name: str, after: Truth) -> list[Truth]:
        """Return the conjuncts of a clause after a step that are not among those before it."""
        if after is True:
            return []
        if after is False:
            return [False]
        known = set(self.known.get(name, ()))
        out: list[Truth] = []
        for t in conjuncts(after):
            means = self.views.means.get(t)
            if t not in known and (means is None or any(u not in known for u in conjuncts(means))):
                out.append(t)
        return out


def operand_values(word: int) -> tuple[int, int, int]:
    """Return the operands of a step word."""
    return word >> 16 & 255, word >> 8 & 255, word & 255


def describe(word: int, protocol: Protocol | None = None) -> str:
    """Return a step word in a phrase; with a protocol, its own steps by their names."""
    kind = NUMBERED[word >> 24 & 255]
    values = dict(zip(kind.operands, operand_values(word), strict=False))
    own = {ACTION: protocol.actions, ENVIRONMENT: protocol.changes}.get(kind.number, ()) if protocol else ()
    name = own[values.pop("which")] if own else kind.name
    said = (f"{n}={value}" for n, value in values.items() if n and (n != "place" or value))
    text = f"{name}({', '.join(said)})"
    return text + (f" choice {word >> 32}" if word >> 32 else "")
