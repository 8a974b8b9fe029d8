"""All of abstract ZAB in one hand: what is asked of, and what a mutant changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zabspec.abstract.invariant import CLAUSES, Clause
from zabspec.abstract.logic import Expression, Quantified, Symbol
from zabspec.abstract.properties import PROPERTIES
from zabspec.abstract.protocol import ACTIONS, INITIAL, Action, Definition
from zabspec.abstract.vocabulary import AXIOMS

__all__ = ["ZAB", "Theory"]


@dataclass(frozen=True)
class Theory:
    """Axioms, how it begins, actions, the invariant's clauses, and the properties it must imply."""

    axioms: Mapping[str, Expression]
    initial: Mapping[Symbol, Definition]
    actions: tuple[Action, ...]
    clauses: tuple[Clause, ...]
    properties: tuple[Clause, ...]

    @property
    def beginning(self) -> Mapping[Symbol, Expression]:
        """How it begins, one formula for each symbol."""
        return {s: Quantified(True, d.variables, s(*d.variables) == d.body) for s, d in self.initial.items()}


ZAB = Theory(AXIOMS, INITIAL, ACTIONS, CLAUSES, PROPERTIES)
