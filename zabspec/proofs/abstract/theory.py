"""Combine abstract ZAB to one object: what is to be proved, and what a mutant changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zabspec.proofs.abstract.invariant import CLAUSES, Clause
from zabspec.proofs.abstract.logic import Expression, Quantified, Symbol
from zabspec.proofs.abstract.properties import PROPERTIES
from zabspec.proofs.abstract.protocol import ACTIONS, INITIAL, AbstractAction, Definition
from zabspec.proofs.abstract.vocabulary import AXIOMS


@dataclass(frozen=True)
class Theory:
    """Axioms, initial states, actions, the clauses of the invariant, and the properties that it must imply.

    A theory that refines another has everything of that one, and actions of the same names that do the same and more.
    Some of them lack guards that they have there: `derived` has these guards, by name for each action, and they are to
    be proved from the clauses.
    """

    axioms: Mapping[str, Expression]
    initial: Mapping[Symbol, Definition]
    actions: tuple[AbstractAction, ...]
    clauses: tuple[Clause, ...]
    properties: tuple[Clause, ...]
    rigid: tuple[Symbol, ...] = ()  # beside those of the vocabulary
    over: Theory | None = None  # what it is to be a refinement of
    derived: Mapping[str, Mapping[str, Expression]] = field(default_factory=dict)

    @property
    def state(self) -> tuple[Symbol, ...]:
        """Return the symbols that actions change."""
        return tuple(self.initial)

    @property
    def new(self) -> tuple[Clause, ...]:
        """Return the clauses that it adds to the theory below."""
        known = () if self.over is None else self.over.clauses
        return tuple(c for c in self.clauses if c not in known)

    @property
    def beginning(self) -> Mapping[Symbol, Expression]:
        """Return the initial conditions, one formula for each symbol."""
        return {s: Quantified(True, d.variables, s(*d.variables) == d.body) for s, d in self.initial.items()}


ZAB = Theory(AXIOMS, INITIAL, ACTIONS, CLAUSES, PROPERTIES)
