"""Truth values that are not known yet, as a circuit in clauses: the input to z3 for the finite instance.

A `Bit` is a variable or its negation; conjunctions of bits become a new variable with the clauses that
define it, the same conjunction the same variable. Building formulas of z3 one by one would take most of
the time of a search; clauses over numbers are cheap, and can be shifted to serve for every step of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checker.proofs.symbolic.solver import Solver


class Bit(int):
    """A variable (from 1), or negative, its negation."""

    __slots__ = ()


Truth = Any  # bool or Bit


class Circuit:
    """Variables, and clauses over them."""

    def __init__(self) -> None:
        self.variables = 0
        self.clauses: list[tuple[int, ...]] = []
        self.gates: dict[frozenset[int], Bit] = {}

    def variable(self) -> Bit:
        """Return a new, unconstrained variable."""
        self.variables += 1
        return Bit(self.variables)

    def demand(self, value: Truth) -> None:
        """Require a bit to be true."""
        if value is not True:
            self.clauses.append(() if value is False else (int(value),))

    def demand_some(self, values: Iterable[Truth]) -> None:
        """Require one of the bits to be true."""
        members = list(values)
        if not any(m is True for m in members):
            self.clauses.append(tuple(int(m) for m in members if m is not False))

    def every(self, members: Iterable[Truth]) -> Truth:
        """Return the conjunction of values."""
        rest: set[int] = set()
        for member in members:
            if member is True:
                continue
            if member is False or -member in rest:
                return False
            rest.add(member)
        return self.gate(rest)

    def gate(self, rest: set[int]) -> Truth:
        """Return the conjunction of bits, none of which is another's negation."""
        if len(rest) < 2:
            return Bit(rest.pop()) if rest else True
        key = frozenset(rest)
        gate = self.gates.get(key)
        if gate is None:
            gate = self.gates[key] = self.variable()
            self.clauses.extend((-gate, m) for m in rest)
            self.clauses.append((gate, *(-m for m in rest)))
        return gate

    def some(self, members: Iterable[Truth]) -> Truth:
        """Return the disjunction of values."""
        rest: set[int] = set()
        for member in members:
            if member is False:
                continue
            if member is True or member in rest:
                return True
            rest.add(-member)
        return neg(self.gate(rest))

    def load(self, solver: Solver) -> None:
        """Assert all clauses in a solver."""
        solver.add_clauses(self.variables, self.clauses)


def neg(value: Truth) -> Truth:
    """Return the negation of a truth value."""
    return not value if isinstance(value, bool) else Bit(-value)
