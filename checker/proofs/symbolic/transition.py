"""The transition relation of a model as terms: the guard and the effect of every step word.

A step word is a constant here, so that the operands of a step are constants in everything it does; what its guard fixes
(whom a follower follows, that a leader leads) is substituted before it runs. Nothing here knows a protocol or a world:
the words are those that `enabled` can emit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

from invariants.registry import Property
from zabspec.model import Model
from zabspec.proofs import symbolic_numbers as n
from zabspec.proofs.symbolic import Env
from zabspec.proofs.symbolic_memory import SLOTS, Values, scratch_keys, state_cells, values_of, variables
from zabspec.proofs.symbolic_statements import SymbolicProgram
from zabspec.proofs.symbolic_terms import Term, Truth, and_, conjuncts, equal, ite, not_, or_, substitute

BYTE = 255  # the largest operand of a step word
CHOICE = 32  # a step word's bits from here up say which alternative `choose` takes


Emitted: TypeAlias = tuple[Truth, int, n.Integer, n.Integer, n.Integer]  # when a step is possible; its kind, operands


@dataclass(frozen=True)
class StepChoice:
    """One step word with its choice.

    Attributes:
        word: the argument of `apply`.
        guard: when the step is possible.
        after: the content of every cell after it, annotations included; it is valid only where the guard is true.
        error: the site of the first error it meets, 32 bits; 0 where it meets none.
        reads: the variables that guard and effect depend on.
        changes: the cells of the state that it may change.
    """

    word: int
    guard: Truth
    after: Values
    error: Term | int
    facts: Mapping[int, int | bool]
    changes: frozenset[int]


class Transition:
    """The steps of a model over a state of variables.

    Args:
        model: what is translated.
        names: every name its source and the properties refer to.
        properties: those evaluated on its states and steps.
    """

    def __init__(self, model: Model, names: Mapping[str, Any], properties: Sequence[Property] = ()) -> None:
        self.model = model
        self.properties = tuple(properties)
        self.layout = model.program.layout
        self.cells = state_cells(self.layout)
        self.scratch = scratch_keys(self.layout)
        program = model.program
        front = program.front_end(names)
        for root in ("initialize", "enabled", "apply"):
            front.function(root)
        for p in properties:
            front.function(p.holds.__name__)
        self.typed = front.program
        self.emitted: list[Emitted] = []
        self.machine = SymbolicProgram(self.typed, self.layout, {"emit": self.emit})
        self.state: Values = variables(self.layout, "s")
        self.keys = {v: key for key, v in self.state.items() if isinstance(v, Term)}  # of each variable, its cell

    def emit(self, env: Env, out: Any, kind: int, a: n.Integer, b: n.Integer, c: n.Integer) -> None:
        self.emitted.append((env.here, kind, a, b, c))

    @cached_property
    def initial(self) -> dict[int, int | bool]:
        """The state before any step."""
        return values_of(self.layout, self.model.program.initial().key())

    @cached_property
    def enabled(self) -> tuple[list[Emitted], Term | int | bool]:
        """The enabled steps, and the site of the first error that listing them meets."""
        self.emitted = []
        _, (after,) = self.machine.on_states("enabled", [self.state], [[]])
        return self.emitted, after[self.layout.offset("error") << SLOTS]

    @cached_property
    def no_word(self) -> Truth:
        """The condition that an enabled step has no word: an operand of it is not a byte."""
        found: Truth = False
        for here, _, *operands in self.enabled[0]:
            for x in operands:
                found = or_(found, and_(here, or_(n.less(x, 0), n.less(BYTE, x))))
        return found

    @cached_property
    def guards(self) -> dict[int, Truth]:
        """For every step word that some state allows, the condition under which it is enabled."""
        found: dict[int, Truth] = {}
        for here, kind, *operands in self.enabled[0]:
            assert isinstance(kind, int)
            for values in product(*(self.values(x) for x in operands)):
                test = here
                for x, value in zip(operands, values, strict=True):
                    test = and_(test, n.same(x, value))
                if test is not False:
                    a, b, c = values
                    word = kind << 24 | a << 16 | b << 8 | c
                    found[word] = or_(found.get(word, False), test)
        return dict(sorted(found.items()))

    @staticmethod
    def values(x: n.Integer) -> range:
        """Return the possible values of an operand; a value that is not a byte is excluded (`no_word`)."""
        lo, hi = n.span(x)
        return range(max(lo, 0), min(hi, BYTE) + 1)

    @cached_property
    def actions(self) -> list[StepChoice]:
        """Every step word and choice, with its effect."""
        return [action for word in self.guards for action in self.actions_of(word)]

    def actions_of(self, word: int) -> list[StepChoice]:
        """Return a step word with each of its choices."""
        guard = self.guards[word]
        out: list[StepChoice] = []
        choice, most = 0, 1
        while choice < most:
            action = self.action(word | choice << CHOICE, guard)
            choices = self.scalar(action.after, "choices")
            most = max(most, n.span(choices)[1])
            taken = and_(guard, n.less(choice, choices)) if choice else guard
            if taken is not False:  # else earlier choices leave no alternative with this number
                out.append(self.action(word | choice << CHOICE, taken) if choice else action)
            choice += 1
        return out

    def action(self, word: int, guard: Truth, more: Mapping[int, int | bool] | None = None) -> StepChoice:
        """Return a step from the states that satisfy a guard; `more`: cells known to hold a value as well."""
        facts = facts_of(guard, self.keys) | dict(more or {})
        before = {**self.state, **facts}
        _, (after,) = self.machine.on_states("apply", [before], [word])
        error = after[self.layout.offset("error") << SLOTS]
        changed = (k for k, v in after.items() if v is not before[k] and v != before[k])
        return StepChoice(word, guard, after, error, facts, frozenset(changed) - self.scratch)

    def scalar(self, values: Values, field: str) -> n.Integer:
        """Return the content of a plain integer field."""
        kind = self.layout.fields[field].kind
        return n.number(values[self.layout.offset(field) << SLOTS], kind.lo, kind.hi)  # type: ignore[attr-defined]

    def holds(self, p: Property, state: Values, after: Values | None = None) -> Truth:
        """Return whether a state, or the step to `after`, satisfies a property; reading past an end violates it."""
        return without_error(*self.verdict(p, state, after))

    def verdict(self, p: Property, state: Values, after: Values | None = None) -> tuple[Truth, Term | int]:
        """Return whether a state satisfies a property, and the site of the first error in judging it.

        For a step property it is the step to `after`. If the site is not 0, the other value is meaningless.
        """
        key = self.layout.offset("error") << SLOTS
        states = [state] if after is None else [state, {**after, key: 0}, {**after, key: 0}]
        value, judged = self.machine.on_states(p.holds.__name__, states, [])
        error: Any = 0
        for one in reversed(judged):
            error = ite(equal(one[key], 0, 32), error, one[key], 32)
        return value, error


def without_error(value: Truth, error: Term | int) -> Truth:
    """Return whether a value is true and no error is met; what the value excludes is left out of the error."""
    if isinstance(value, Term) and isinstance(error, Term):
        true = conjuncts(value)
        known: dict[Any, Any] = dict.fromkeys(true, True) | dict.fromkeys(map(not_, true), False)
        error = substitute([error], known)[0]
    return and_(value, equal(error, 0, 32))


def facts_of(guard: Truth, where: Mapping[Any, int]) -> dict[int, int | bool]:
    """Return the cells whose content the guard determines; `where`: the cell of each variable."""
    found: dict[int, int | bool] = {}
    for g in conjuncts(guard):
        if g.op == "=" and g.args[0] in where and isinstance(g.args[1], int):
            found[where[g.args[0]]] = g.args[1]
        elif g in where:
            found[where[g]] = True
        elif g.op == "not" and g.args[0] in where:
            found[where[g.args[0]]] = False
    return found
