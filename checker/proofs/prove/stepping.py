"""Runs of a finite instance with plain truth values, which replay the result of a search, guard by guard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.proofs.prove.finite import Table
from checker.proofs.prove.meaning import After, meaning
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import Expression, Many, Quantified
from zabspec.proofs.abstract.protocol import AbstractAction
from zabspec.proofs.abstract.theory import Theory


class SearchError(Exception):
    """A run that z3 found does not replay: a bug of zabcheck."""


@dataclass(frozen=True)
class Step:
    """An action with its parameters, as numbers."""

    action: AbstractAction
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class ProofRun:
    """Steps from the beginning, the states they lead through, and the properties that fail in the last.

    There is one more state than steps.
    """

    steps: tuple[Step, ...]
    states: tuple[Table, ...]
    broken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Induction:
    """A counterexample to induction: a state with the whole invariant, a step, and how the clause fails after it.

    The state need not be reachable: this is not a violation. `where`: values of the clause's variables.
    """

    clause: Clause
    step: Step
    before: Table
    after: Table
    where: Mapping[str, int]


def truth(formula: Expression, table: Table) -> bool:
    """Return whether a closed formula holds in a state with everything known."""
    return meaning(formula, {}, table) is True


def may(table: Table, taken: Step) -> bool:
    """Return whether the step's guards hold."""
    return meaning(taken.action.guard, dict(zip(taken.action.parameters, taken.arguments, strict=True)), table) is True


def step(table: Table, taken: Step) -> Table:
    """Return the state after a step."""
    after = After(table, taken.action, taken.arguments)
    changed = {
        symbol: {place: after.value(symbol, place) for place in table.values[symbol]} for symbol in taken.action.updates
    }
    return Table(table.world, {**table.values, **changed})


def beginning(theory: Theory, rigid: Table) -> Table:
    """Return the initial state over the rigid symbols."""
    values = dict(rigid.values)
    for symbol, definition in theory.initial.items():
        values[symbol] = {
            place: meaning(definition.body, dict(zip(definition.variables, place, strict=True)), rigid)
            for place in rigid.world.instance.tuples(symbol.arguments)
        }
    return Table(rigid.world, values)


def through(first: Table, steps: Sequence[Step], goal: Expression) -> list[Table] | None:
    """Return the states that the steps lead through, or None if one is not enabled or the goal fails in the end."""
    states = [first]
    for s in steps:
        if not may(states[-1], s):
            return None
        states.append(step(states[-1], s))
    return states if truth(goal, states[-1]) else None


def shortened(theory: Theory, first: Table, steps: Sequence[Step], goal: Expression) -> ProofRun:
    """Return the run without superfluous steps.

    Raises:
        SearchError: it is not a run to the goal.
    """
    states = through(first, steps, goal)
    if states is None or not all(truth(f, first) for f in theory.axioms.values()):
        raise SearchError("the violating run cannot be executed step by step")
    kept, again = list(steps), True
    while again:
        again = False
        for k in reversed(range(len(kept))):
            fewer = through(first, kept[:k] + kept[k + 1 :], goal)
            if fewer is not None:
                kept, states, again = kept[:k] + kept[k + 1 :], fewer, True
    broken = tuple(p.name for p in theory.properties if not truth(p.formula, states[-1]))
    return ProofRun(tuple(kept), tuple(states), broken)


def falsified(formula: Expression, table: Table) -> dict[str, int] | None:
    """Return values of the outer variables for which a formula fails in a state, or None if it holds."""
    for part in conjuncts(formula):
        if isinstance(part, Quantified) and part.every:
            for values in table.world.instance.tuples([v.sort for v in part.variables]):
                if meaning(part.body, dict(zip(part.variables, values, strict=True)), table) is not True:
                    return {v.name: k for v, k in zip(part.variables, values, strict=True)}
        elif meaning(part, {}, table) is not True:
            return {}
    return None


def conjuncts(formula: Expression) -> list[Expression]:
    """Return the conjuncts of a formula."""
    if isinstance(formula, Many) and formula.every:
        return [part for m in formula.members for part in conjuncts(m)]
    return [formula]
