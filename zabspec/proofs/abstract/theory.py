"""Combine abstract ZAB to one object: what is to be proved, and what a mutant changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zabspec.proofs.abstract.invariant import CLAUSES, Clause
from zabspec.proofs.abstract.logic import Expression, Quantified, Symbol
from zabspec.proofs.abstract.protocol import ACTIONS, INITIAL, AbstractAction, Definition
from zabspec.proofs.abstract.vocabulary import AXIOMS
from zabspec.proofs.abstract.logic import disj, exists, forall, implies
from zabspec.proofs.abstract.vocabulary import (
    abcast, born, commit, delivered, ep, epoch, established, heard, hist, lt, member, order, root, sooner,
)  # fmt: skip

# --- state what the invariant must imply: the core properties of DSN'11 III.A, and claims of sections V and VI ---

PROPERTIES = (
    Clause(
        "integrity",
        forall(lambda p, x: implies(delivered(p, x), born(x))),
        "If some process delivers a transaction, some process has broadcast it.",
    ),
    Clause(
        "total-order",
        forall(
            lambda p, g, x, y: (
                implies(order(p, x, y), delivered(g, y), order(g, x, y)) & ~(order(p, x, y) & order(g, y, x))
            )
        ),
        "If some process delivers a before b, any process that delivers b also delivers a, before b, in every pass.",
    ),
    Clause(
        "agreement",
        forall(lambda p, g, x, y: implies(delivered(p, x), delivered(g, y), disj(delivered(p, y), delivered(g, x)))),
        "If p delivers a and q delivers b, then p delivers b or q delivers a.",
    ),
    Clause(
        "local-primary-order",
        forall(lambda p, x, y: implies(sooner(x, y), delivered(p, y), order(p, x, y))),
        "If a primary broadcasts a before b, a process that delivers b delivers a before b.",
    ),
    Clause(
        "global-primary-order",
        forall(
            lambda p, x, y: implies(
                delivered(p, x), delivered(p, y), lt(epoch(x), epoch(y)), x != root(), order(p, x, y) & ~order(p, y, x)
            )
        ),
        "If a process delivers transactions of two primaries, it delivers the earlier primary's first.",
    ),
    Clause(
        "primary-integrity",
        forall(lambda p, c, x, y: implies(abcast(c, y), delivered(p, x), lt(epoch(x), ep(c)), heard(y, x))),
        "If a process delivers a transaction of an earlier primary, a primary delivered it before it broadcasts.",
    ),
    Clause(
        "one-leader-an-epoch",
        forall(lambda c, d: implies(established(c), established(d), ep(c) == ep(d), c == d)),
        "No two leaders are established for one epoch (V.C), so no two primary instances broadcast in one.",
    ),
    Clause(
        "delivered-is-chosen",
        forall(lambda p, x: implies(delivered(p, x), exists(lambda c: commit(c, x)))),
        "A process delivers chosen transactions only.",
    ),
    Clause(
        "durability",
        forall(
            lambda p, x: implies(delivered(p, x), exists(lambda q: forall(lambda g: implies(member(g, q), hist(g, x)))))
        ),
        "What a process has delivered is, from then on, in the histories of all members of some quorum.",
    ),
)


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
