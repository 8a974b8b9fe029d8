"""Runs of a model as formulas: rounds of steps from a start, the steps of a round independent of each other.

Independent steps (neither reads or writes what the other writes) can be taken in any order with the same result, so
they may share one round. A run has one form in rounds in which every step is as early as possible (its Foata normal
form), and only that form is considered: no two runs that differ only in the order of independent steps. It has at most
as many rounds as the run has steps, and often half: formulas are that much shorter.

Every round has a variable for each step that may be possible there, and one for each cell that such a step may change;
what cannot have changed yet is still the initial constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from checker.proofs.symbolic.transition import StepChoice, Transition
from zabspec.proofs.symbolic_memory import Values
from zabspec.proofs.symbolic_terms import (
    Bits,
    Term,
    Truth,
    and_,
    equal,
    ite,
    not_,
    or_,
    some_of,
    substitute,
    variable,
    variables_of,
)

ERROR_BITS = 32


@dataclass
class Round:
    """Some independent steps of a run; it may be empty.

    Attributes:
        actions: the steps that may be possible here.
        taken: for each of them the variable for whether it is taken.
        errors: for each of them, the site of the first error that it meets; 0 if it meets none.
        constraints: what must be true of the variables.
    """

    actions: list[StepChoice]
    taken: list[Term]
    errors: list[Term | int | bool]
    constraints: list[Truth]

    @property
    def wrong(self) -> list[Truth]:
        """For each step, the condition that it is taken and meets an error."""
        return [and_(t, not_(equal(e, 0, ERROR_BITS))) for t, e in zip(self.taken, self.errors, strict=True)]


class Unrolling:
    """A growing run.

    Args:
        transition: the steps of the model.
        start: the content of every cell before the first step; constants or variables.
        together: whether steps may share a round; otherwise each has one of its own.
    """

    def __init__(self, transition: Transition, start: Mapping[int, Bits | Truth], together: bool = True) -> None:
        self.transition = transition
        self.together = together
        self.state: Values = {key: value for key, value in start.items() if key not in transition.scratch}
        self.rounds: list[Round] = []

    def at(self, roots: Sequence[Term | int | bool], state: Values) -> list[Term | int | bool]:
        """Return terms over the transition's state, evaluated in one state of the run."""
        known = {v: state[key] for v, key in self.transition.keys.items()}
        return substitute(roots, known)

    def extend(self) -> Round:
        """Add a round to the end."""
        depth = len(self.rounds) + 1
        every = self.transition.actions
        guards = self.at([a.guard for a in every], self.state)
        live = [(a, g) for a, g in zip(every, guards, strict=True) if g is not False]
        roots: list[Term | int | bool] = [a.error for a, _ in live]
        roots += [a.after[key] for a, _ in live for key in sorted(a.changes)]
        values = iter(self.at(roots, self.state))
        errors = [next(values) for _ in live]
        actions = [a for a, _ in live]
        taken = [variable(f"round {depth}.{a.word:x}", 0) for a in actions]
        constraints = [or_(not_(t), guard) for t, (_, guard) in zip(taken, live, strict=True)]  # type: ignore[arg-type]
        changed: dict[int, dict[Term | int | bool, Truth]] = {}
        for action, chosen in zip(actions, taken, strict=True):
            for key in sorted(action.changes):
                ways = changed.setdefault(key, {})
                new = next(values)
                ways[new] = or_(ways.get(new, False), chosen)
        self.state = self.after(changed, depth, constraints)
        constraints += self.apart(actions, taken)
        made = Round(actions, taken, errors, constraints)
        self.rounds.append(made)
        return made

    def after(self, changed: dict[int, dict[Term | int | bool, Truth]], depth: int, constraints: list[Truth]) -> Values:
        """Return the state after a round: at most one of the steps taken writes a cell."""
        state = dict(self.state)
        for key, ways in changed.items():
            cell = self.transition.cells.all[key]
            value = state[key]
            for new, when in ways.items():
                value = ite(when, new, value, cell.width)
            if isinstance(value, Term) and value.op != "var":
                fresh = variable(f"round {depth}.{cell.label}@{key:x}", cell.width)
                constraints.append(equal(fresh, value, cell.width))
                value = fresh
            state[key] = value
        return state

    def apart(self, actions: Sequence[StepChoice], taken: Sequence[Term]) -> Iterable[Truth]:
        """Require that one round has at most one of two steps that depend on each other."""
        for i, a in enumerate(actions):
            for j in range(i):
                if not self.together or self.dependent(a, actions[j]):
                    yield or_(not_(taken[i]), not_(taken[j]))

    def early(self, which: int) -> Iterable[Truth]:
        """Require that every step of a round (from 0) depends on one of the round before; else it would be earlier."""
        if which < 1:
            return
        before, here = self.rounds[which - 1], self.rounds[which]
        for b, chosen in zip(here.actions, here.taken, strict=True):
            ways = zip(before.actions, before.taken, strict=True)
            cause = some_of(t for a, t in ways if not self.together or self.dependent(a, b))
            yield or_(not_(chosen), cause)

    def dependent(self, a: StepChoice, b: StepChoice) -> bool:
        return not self.independent[a.word] >> self.places[b.word] & 1

    @cached_property
    def places(self) -> dict[int, int]:
        return {a.word: k for k, a in enumerate(self.transition.actions)}

    @cached_property
    def independent(self) -> dict[int, int]:
        """Return for each step word a mask of those independent of it.

        Neither of two independent steps reads or writes what the other writes.
        """
        where = self.transition.keys
        every = self.transition.actions
        touches = []
        for a in every:
            reads = {where[v] for v in variables_of([a.guard, a.error, *(a.after[k] for k in a.changes)])}
            touches.append((reads | a.changes, a.changes))
        return {
            a.word: sum(
                1 << j for j, (other, writes) in enumerate(touches) if not (mine & writes) and not (other & changes)
            )
            for a, (mine, changes) in zip(every, touches, strict=True)
        }
