"""What a formula of the abstract protocol means in a world.

A world says what truth values, elements and quantifiers are; a state gives every symbol its meaning. The
state after an action is the one before it, seen through the action's definitions: no symbol is doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Protocol

from zabspec.abstract.logic import Apply, Equal, Expression, IfThenElse, Many, Not, Quantified, Symbol, Variable
from zabspec.abstract.protocol import AbstractAction

__all__ = ["After", "State", "World", "meaning"]

Environment = Mapping[Variable, Any]


class World(Protocol):
    """How truth values and elements are combined. Values are the world's own."""

    def every(self, members: Iterable[Any]) -> Any:
        """All of them are true; those after one that is plainly false need not be looked at."""

    def some(self, members: Iterable[Any]) -> Any:
        """One of them is true; likewise."""

    def neg(self, value: Any) -> Any:
        """It is false."""

    def equal(self, left: Any, right: Any) -> Any:
        """Two elements, or two truth values, are the same."""

    def choose(self, test: Any, then: Any, otherwise: Any) -> Any:
        """An element, or a truth value, by cases."""

    def quantified(self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Any]], Any]) -> Any:
        """The body for all, or for some, elements of the variables' sorts."""


class State(Protocol):
    """What the symbols mean."""

    @property
    def world(self) -> World:
        """What its values are values of."""

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """The symbol applied to elements."""


Reader = Callable[[tuple[Any, ...], State], Any]


def meaning(expression: Expression, bound: Environment, state: State) -> Any:
    """The value of a term or formula, its free variables being bound."""
    return reader(expression, tuple(bound))(tuple(bound.values()), state)


@lru_cache(maxsize=1 << 14)
def reader(expression: Expression, scope: tuple[Variable, ...]) -> Reader:
    """What reads an expression, given the values of the variables in scope, in their order, and a state.

    A formula is read many thousands of times, of each state of a run for all values of its variables: so what
    each part of it is, and where each variable stands, is found once.
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
    """Where a variable stands: as it was bound last."""
    return max(k for k, v in enumerate(scope) if v is variable)


def _apply(symbol: Symbol, arguments: Sequence[Reader]) -> Reader:
    return lambda values, state: state.value(symbol, tuple([a(values, state) for a in arguments]))


def _apply_to_variables(symbol: Symbol, places: Sequence[int]) -> Reader:
    """Most are, and picking them out is much of what reading takes."""
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
        """The symbol's definition by the action, or what it was."""
        definition = self.action.updates.get(symbol)
        if definition is None:
            return self.before.value(symbol, arguments)
        read = reader(definition.body, self.action.parameters + definition.variables)
        return read((*self.parameters, *arguments), self.before)
