"""Determine which moves are enabled where the clauses hold, and which errors they may meet there.

A step that meets an error has no state after it, so it cannot violate a clause; and a move that no state allows
preserves every clause. An induction is vacuous for such steps. So each move is queried before its clauses are: whether
some state that satisfies them allows it without an error, which steps of the paper it enters from such states, and
which errors it may meet. An error that clauses do not exclude is assumed away only if a range is cut on purpose. A move
that is never enabled must be known as such, with the clauses that suffice to forbid it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import z3

from checker.proofs.symbolic.assumptions import EPOCHS
from checker.proofs.symbolic.induction import Induction, Move, describe, operand_values
from checker.proofs.symbolic.smt2 import about
from checker.proofs.symbolic.solver import Solver, SolverAnswer
from zabspec.language.analysis.tree import Site
from zabspec.proofs.symbolic_memory import SLOTS, at_its_end
from zabspec.proofs.symbolic_terms import Term, Truth, and_, bit, equal, not_, or_
from zabspec.worlds.steps import NUMBERED, PROCESSES

FEW = 4  # clauses that a query's name has room for
ERROR = 32  # bits of the number of an error's site


@dataclass(frozen=True)
class Taken:
    """The result about taking a move from the states that satisfy the assumptions.

    Attributes:
        move: its label; empty for the result about listing the enabled steps.
        answer: a counterexample if some state allows it without an error; proved if none does.
        seconds: the time of the queries.
        forbidden_by: if none does, the clauses that suffice to forbid it; empty if no state at all allows it.
        known: if none does, whether that is known of the protocol, with these clauses.
        entered: the paper's steps that it enters from such a state.
        excluded: those that it enters from none, which is known of the protocol.
        granted: the sites of errors that it may meet where a range is cut on purpose.
        errors: the sites of other errors that it may meet, as sentences.
        undecided: whether z3 did not decide all of this.
    """

    move: str
    answer: SolverAnswer
    seconds: float = 0.0
    forbidden_by: tuple[str, ...] = ()
    known: bool = False
    entered: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    granted: tuple[Site, ...] = ()
    errors: tuple[str, ...] = ()
    undecided: bool = False

    @property
    def impossible(self) -> bool:
        """No state allows it."""
        return self.answer is SolverAnswer.PROVED


class Possible:
    """Queries the enabledness of moves.

    Args:
        induction: its moves and assumptions are used.
        known: for moves and steps of the paper that are known to be impossible the clauses that forbid them; None if
            there is no such list: what clauses forbid never happens then.
        cut: the flags of ranges that are cut on purpose.
    """

    def __init__(self, induction: Induction, known: Mapping[str, Sequence[str]] | None, cut: Collection[str]) -> None:
        self.induction, self.known, self.cut = induction, known, cut
        self.transition = induction.transition
        self.steps = self.transition.typed.steps
        self.undecided = False

    # --- what is asked -------------------------------------------------------------------------

    @cached_property
    def whole(self) -> Solver:
        """A solver with all assumptions."""
        return self.induction.solver(self.induction.known)

    @cached_property
    def one_by_one(self) -> Solver:
        """A solver with each clause behind a switch of its name."""
        solver = self.induction.solver(())
        to_z3 = self.induction.z3.truth
        for name, terms in self.induction.known.items():
            solver.add(*(z3.Implies(z3.Bool(name), to_z3(t)) for t in terms))
        return solver

    @cached_property
    def at_end(self) -> Truth:
        """The condition that some epoch of the state is the last there is room for."""
        return at_its_end(self.transition.layout, self.transition.state, EPOCHS)

    def some(self, what: Truth, solver: Solver | None = None) -> z3.ModelRef | None:
        """Return a state in which something is true, or None if there is none, or z3 did not decide."""
        result = self.induction.refute(solver or self.whole, what)
        self.undecided = self.undecided or result.answer is SolverAnswer.UNDECIDED
        return result.model

    def forbidden(self, what: Truth, names: Iterable[str]) -> bool:
        """Return whether these clauses alone forbid something."""
        given = [n for n in names if n in self.induction.known]
        return self.core(what, given) is not None

    def core(self, what: Truth, names: Sequence[str]) -> list[str] | None:
        """Return those of the named clauses that suffice to forbid something, or None if they do not."""
        with about("forbidden by", *(names if len(names) < FEW else [f"{len(names)} clauses"])):
            result = self.one_by_one.whether(self.induction.z3.truth(what), *(z3.Bool(n) for n in names))
        return [n for n in names if n in result.core] if result.proved else None

    def least(self, what: Truth) -> tuple[str, ...]:
        """Return the clauses that forbid something: one if one suffices, else a set from which none can be removed."""
        if self.forbidden(what, ()):
            return ()
        for name in self.induction.known:
            if self.forbidden(what, [name]):
                return (name,)
        kept = self.core(what, every_name := list(self.induction.known)) or every_name
        for name in list(kept):
            if self.forbidden(what, [n for n in kept if n != name]):
                kept.remove(name)
        return tuple(kept)

    # --- of a move -----------------------------------------------------------------------------

    def enabled(self) -> Taken:
        """Return the result about listing the enabled steps: errors, and steps that have no word."""
        began, self.undecided = time.perf_counter(), False
        solver = self.induction.solver(self.induction.known, fine=False)
        wrong = not_(self.induction.fine)
        with about("which steps exist", "has an error"):
            errors = [s.sentence() for s in self.sites_of(wrong, self.transition.enabled[1], solver)]
            if self.some(self.transition.no_word, solver) is not None:
                errors.append("an operand of a step would not be a byte")
        spent = time.perf_counter() - began
        return Taken("", SolverAnswer.COUNTEREXAMPLE, spent, errors=tuple(errors), undecided=self.undecided)

    def of(self, move: Move) -> Taken:
        """Return the result about a move."""
        with about(move.label, "is possible"):
            return self.taking(move)

    def taking(self, move: Move) -> Taken:
        began, self.undecided = time.perf_counter(), False
        action = self.induction.action(move)
        fine = and_(action.guard, equal(action.error, 0, ERROR))
        model = self.some(fine)
        granted, errors = self.errors(action.guard, action.error)
        if model is None and not self.undecided:
            forbidden_by, known = self.why_never(move, action.guard, fine)
            found = Taken(move.label, SolverAnswer.PROVED, forbidden_by=forbidden_by, known=known)
        elif model is None:
            found = Taken(move.label, SolverAnswer.UNDECIDED)
        else:
            entered, excluded = self.paper_steps(fine, action.after[self.transition.layout.offset("steps") << SLOTS])
            found = Taken(move.label, SolverAnswer.COUNTEREXAMPLE, entered=entered, excluded=excluded)
        spent = time.perf_counter() - began
        return replace(found, granted=granted, errors=errors, undecided=self.undecided, seconds=spent)

    def why_never(self, move: Move, guard: Truth, fine: Truth) -> tuple[tuple[str, ...], bool]:
        """Return the clauses that forbid a move, and whether they are known to.

        Without a list of what is known, it counts as known if the clauses forbid the move by themselves, and not if it
        would always meet an error.
        """
        if self.known is None:
            free = self.some(guard) is None and not self.undecided
            return self.least(guard if free else fine), free
        clauses = self.known.get(pattern(move))
        if clauses is not None and self.forbidden(fine, clauses):
            return tuple(clauses), True
        return self.least(fine), False

    def paper_steps(self, fine: Truth, taken: Term | int | bool) -> tuple[frozenset[str], frozenset[str]]:
        """Return the paper's steps that a move enters without an error, and those that are known to be impossible.

        The second set has only steps that the move enters from no state.
        """
        entered, excluded = set(), set()
        for place, name in enumerate(self.steps):
            enters = and_(fine, bit(taken, place))
            if enters is not False and self.some(enters) is not None:
                entered.add(name)
            else:
                said = f"step {name}, {number_of(self.induction.model.configuration.nodes)}"
                known = (self.known or {}).get(said)
                if known is not None and (enters is False or self.forbidden(enters, known)):
                    excluded.add(name)
        return frozenset(entered), frozenset(excluded)

    def errors(self, guard: Truth, error: Term | int | bool) -> tuple[tuple[Site, ...], tuple[str, ...]]:
        """Return the sites of the errors that a step may meet: those where a range is cut on purpose, and others."""
        wrong = and_(guard, not_(equal(error, 0, ERROR)))
        if wrong is False or self.some(wrong) is None:
            return (), ()
        excused: Truth = False
        sites = self.transition.typed.sites
        for number, site in enumerate(sites, 1):
            if site.widen in self.cut:
                met = equal(error, number, ERROR)
                excused = or_(excused, and_(met, self.at_end) if site.widen == EPOCHS else met)
        others = self.sites_of(and_(wrong, not_(excused)), error)
        granted = self.sites_of(and_(wrong, excused), error)
        return tuple(granted), tuple(s.sentence() for s in others)

    def sites_of(self, wrong: Truth, error: Term | int | bool, solver: Solver | None = None) -> list[Site]:
        """Return every site of an error that is possible where something is true."""
        found: list[Site] = []
        while wrong is not False and (model := self.some(wrong, solver)) is not None:
            number = model.eval(self.induction.z3.bits(error, ERROR), model_completion=True).as_long()
            found.append(self.transition.typed.sites[number - 1])
            wrong = and_(wrong, not_(equal(error, number, ERROR)))
        return found


def number_of(processes: int) -> str:
    return "1 process" if processes == 1 else f"{processes} processes"


def pattern(move: Move) -> str:
    """Return the label of a move with its processes numbered in order of occurrence: that of all its renamings."""
    numbers: dict[int, int] = {}
    word = move.word
    for place, (name, value) in enumerate(zip(NUMBERED[word >> 24 & 255].operands, operand_values(word), strict=False)):
        if name in PROCESSES:
            word += (numbers.setdefault(value, len(numbers)) - value) << 8 * (2 - place)
    return f"{describe(word)} {move.name}" if move.message else describe(word)
