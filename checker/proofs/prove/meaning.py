"""The meaning of a formula of the abstract protocol in a world.

A world defines truth values, elements and quantifiers; a state gives every symbol its meaning. The state after an
action is the one before it, seen through the action's definitions: no symbol is doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Protocol

from zabspec.proofs.abstract.logic import Apply, Equal, Expression, IfThenElse, Many, Not, Quantified, Symbol, Variable
from zabspec.proofs.abstract.protocol import AbstractAction

Environment = Mapping[Variable, Any]


class World(Protocol):
    """The operations on truth values and elements. Values are the world's own."""

    def every(self, members: Iterable[Any]) -> Any:
        """Return the conjunction of values; those after one that is plainly false need not be evaluated."""

    def some(self, members: Iterable[Any]) -> Any:
        """Return the disjunction of values, likewise."""

    def neg(self, value: Any) -> Any:
        """Return the negation of a truth value."""

    def equal(self, left: Any, right: Any) -> Any:
        """Return whether two elements, or two truth values, are the same."""

    def choose(self, test: Any, then: Any, otherwise: Any) -> Any:
        """Return one of two elements, or truth values, by a test."""

    def quantified(self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Any]], Any]) -> Any:
        """Return whether the body holds for all, or for some, elements of the variables' sorts."""


class State(Protocol):
    """A meaning of the symbols."""

    @property
    def world(self) -> World:
        """The world of its values."""

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the symbol applied to elements."""


Reader = Callable[[tuple[Any, ...], State], Any]


def meaning(expression: Expression, bound: Environment, state: State) -> Any:
    """Return the value of a term or formula with its free variables bound."""
    return reader(expression, tuple(bound))(tuple(bound.values()), state)


@lru_cache(maxsize=1 << 14)
def reader(expression: Expression, scope: tuple[Variable, ...]) -> Reader:
    """Return a function that evaluates an expression, given the values of the variables in scope, and a state.

    The values are in the order of `scope`. A formula is evaluated many thousands of times, in each state of a run for
    all values of its variables: so the kind of each part, and the index of each variable, are determined once.
    """
    match expression:
        case Variable():
            place = _place(expression, scope)
            return lambda values, state: values[place]
        case Apply():
            if all(isinstance(a, Variable) for a in expression.arguments):
                return _apply_to_variables(expression.symbol, [_place(a, scope) for a in expression.arguments])
            return _apply(expression.symbol, [reader(a, scope) for a in expression.arguments])
        case Many():
            return _many(expression.every, [reader(m, scope) for m in expression.members])
        case Not():
            body = reader(expression.body, scope)
            return lambda values, state: state.world.neg(body(values, state))
        case Equal():
            left, right = reader(expression.left, scope), reader(expression.right, scope)
            return lambda values, state: state.world.equal(left(values, state), right(values, state))
        case IfThenElse():
            parts = [reader(part, scope) for part in expression.parts()]
            return lambda values, state: state.world.choose(*(part(values, state) for part in parts))
        case Quantified():
            every, variables = expression.every, expression.variables
            inner = reader(expression.body, scope + variables)
            return lambda values, state: state.world.quantified(
                every, variables, lambda more: inner((*values, *more), state)
            )
    raise TypeError(f"not an expression: {expression!r}")


def _place(variable: Expression, scope: tuple[Variable, ...]) -> int:
    """Return the index of a variable: that of its last binding."""
    return max(k for k, v in enumerate(scope) if v is variable)


def _apply(symbol: Symbol, arguments: Sequence[Reader]) -> Reader:
    return lambda values, state: state.value(symbol, tuple([a(values, state) for a in arguments]))


def _apply_to_variables(symbol: Symbol, places: Sequence[int]) -> Reader:
    """Return a reader of a symbol applied to variables: the most common case, for which lookup dominates."""
    if len(places) < 2:
        return lambda values, state: state.value(symbol, tuple([values[k] for k in places]))
    pick = itemgetter(*places)
    return lambda values, state: state.value(symbol, pick(values))


def _many(every: bool, members: Sequence[Reader]) -> Reader:
    if every:
        return lambda values, state: state.world.every(m(values, state) for m in members)
    return lambda values, state: state.world.some(m(values, state) for m in members)


class After:
    """The state after an action with given parameters."""

    def __init__(self, before: State, action: AbstractAction, parameters: Sequence[Any]) -> None:
        self.before = before
        self.world = before.world
        self.action = action
        if len(parameters) != len(action.parameters):
            raise ValueError(f"{action.name} takes {len(action.parameters)} parameters, not {len(parameters)}")
        self.parameters = tuple(parameters)

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the value of the symbol's definition by the action, or else its value before."""
        definition = self.action.updates.get(symbol)
        if definition is None:
            return self.before.value(symbol, arguments)
        read = reader(definition.body, self.action.parameters + definition.variables)
        return read((*self.parameters, *arguments), self.before)
