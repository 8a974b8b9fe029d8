"""What a formula of the abstract protocol means in a world.

A world says what truth values, elements and quantifiers are; a state gives every symbol its meaning. The
state after an action is the one before it, seen through the action's definitions: no symbol is doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from zabspec.abstract.logic import (
    Apply,
    Equal,
    Expression,
    IfThenElse,
    Many,
    Not,
    Quantified,
    Symbol,
    Variable,
)
from zabspec.abstract.protocol import Action

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


def meaning(expression: Expression, bound: Environment, state: State) -> Any:
    """The value of a term or formula, its free variables being bound."""
    world = state.world
    match expression:
        case Variable():
            return bound[expression]
        case Apply():
            return state.value(expression.symbol, [meaning(a, bound, state) for a in expression.arguments])
        case Many():
            members = (meaning(m, bound, state) for m in expression.members)
            return world.every(members) if expression.every else world.some(members)
        case Not():
            return world.neg(meaning(expression.body, bound, state))
        case Equal():
            return world.equal(meaning(expression.left, bound, state), meaning(expression.right, bound, state))
        case IfThenElse():
            test, then, otherwise = (meaning(part, bound, state) for part in expression.parts())
            return world.choose(test, then, otherwise)
        case Quantified():
            variables = expression.variables
            return world.quantified(
                expression.every,
                variables,
                lambda values: meaning(expression.body, {**bound, **dict(zip(variables, values, strict=True))}, state),
            )
    raise TypeError(f"not an expression: {expression!r}")


class After:
    """The state after an action with given parameters."""

    def __init__(self, before: State, action: Action, parameters: Sequence[Any]) -> None:
        self.before = before
        self.world = before.world
        self.action = action
        self.bound = dict(zip(action.parameters, parameters, strict=True))

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """The symbol's definition by the action, or what it was."""
        definition = self.action.updates.get(symbol)
        if definition is None:
            return self.before.value(symbol, arguments)
        values = dict(zip(definition.variables, arguments, strict=True))
        return meaning(definition.body, {**self.bound, **values}, self.before)
