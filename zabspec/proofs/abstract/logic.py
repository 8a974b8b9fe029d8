"""Provide many-sorted first-order logic with equality, as small as the abstract protocol needs.

A formula is a tree independent of any world; `checker/proofs/prove/` turns it into z3 over unbounded sorts, into z3
over a finite instance, and into truth values in one state. Quantifiers are written as functions, and the first letter
of a bound name gives its sort: `forall(lambda p, c, x: ...)` (see `SORT_OF`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast, dataclass_transform


@dataclass(frozen=True)
class Sort:
    """A sort: any non-empty set, of whatever size."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)


PROCESS = Sort("process")
QUORUM = Sort("quorum")
ATTEMPT = Sort("attempt")
HISTORY = Sort("history")
EPOCH = Sort("epoch")
COUNTER = Sort("counter")
CONNECTION = Sort("connection")
SORTS = (PROCESS, QUORUM, ATTEMPT, HISTORY, EPOCH, COUNTER, CONNECTION)

# What the first letter of a name says of its sort.
SORT_OF = {
    **dict.fromkeys("pfgl", PROCESS),
    **dict.fromkeys("qr", QUORUM),
    **dict.fromkeys("abcd", ATTEMPT),
    **dict.fromkeys("xyzh", HISTORY),
    **dict.fromkeys("e", EPOCH),
    **dict.fromkeys("kn", COUNTER),
    **dict.fromkeys("ij", CONNECTION),
}


@dataclass_transform(eq_default=False, frozen_default=True)
class Expression:
    """A term or a formula; `&`, `|`, `~`, `==` and `!=` build formulas. Each of its subclasses is a dataclass."""

    sort: Sort | None  # None: a formula

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)

    def __and__(self, other: Expression) -> Expression:
        return conj(self, other)

    def __or__(self, other: Expression) -> Expression:
        return disj(self, other)

    def __invert__(self) -> Expression:
        return neg(self)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return Equal(self, cast(Expression, other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return neg(Equal(self, cast(Expression, other)))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value outside a world; use & and |, not `and` and `or`")

    def parts(self) -> tuple[Expression, ...]:
        """Return the direct subexpressions."""
        return ()


class Variable(Expression):
    """A bound variable, or a parameter of an action."""

    name: str
    sort: Sort


class Apply(Expression):
    """A symbol applied to terms."""

    symbol: Symbol
    arguments: tuple[Expression, ...]

    @property
    def sort(self) -> Sort | None:  # type: ignore[override]
        return self.symbol.result

    def parts(self) -> tuple[Expression, ...]:
        return self.arguments


class Many(Expression):
    """A conjunction (`every`) or a disjunction of any number of formulas."""

    every: bool
    members: tuple[Expression, ...]
    sort = None

    def parts(self) -> tuple[Expression, ...]:
        return self.members


class Not(Expression):
    """A negation."""

    body: Expression
    sort = None

    def parts(self) -> tuple[Expression, ...]:
        return (self.body,)


class Equal(Expression):
    """Two terms, or the truth values of two formulas, are the same."""

    left: Expression
    right: Expression
    sort = None

    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)


class IfThenElse(Expression):
    """A term by cases."""

    test: Expression
    then: Expression
    otherwise: Expression

    @property
    def sort(self) -> Sort | None:  # type: ignore[override]
        return self.then.sort

    def parts(self) -> tuple[Expression, ...]:
        return (self.test, self.then, self.otherwise)


class Quantified(Expression):
    """For all (`every`) or for some values of the variables."""

    every: bool
    variables: tuple[Variable, ...]
    body: Expression
    sort = None

    def parts(self) -> tuple[Expression, ...]:
        return (self.body,)


@dataclass(frozen=True)
class Symbol:
    """A relation (`result` is None), a function or a constant. `rigid`: no action changes it.

    `doc` says what it is in the paper.
    """

    name: str
    arguments: tuple[Sort, ...]
    result: Sort | None
    rigid: bool
    doc: str

    def __hash__(self) -> int:
        """Hash the name alone, since a state looks its symbols up all the time."""
        return hash(self.name)

    def __call__(self, *arguments: Expression) -> Apply:
        if tuple(a.sort for a in arguments) != self.arguments:
            wanted = ", ".join(sort.name for sort in self.arguments)
            raise TypeError(f"{self.name} takes ({wanted}), not {[a.sort and a.sort.name for a in arguments]}")
        return Apply(self, arguments)


def relation(name: str, *arguments: Sort, doc: str, rigid: bool = False) -> Symbol:
    """Declare a relation."""
    return Symbol(name, arguments, None, rigid, doc)


def function(name: str, *signature: Sort, doc: str, rigid: bool = False) -> Symbol:
    """Declare a function; the last sort is that of its value."""
    return Symbol(name, signature[:-1], signature[-1], rigid, doc)


def constant(name: str, sort: Sort, doc: str) -> Symbol:
    """Declare a constant, which no action changes."""
    return Symbol(name, (), sort, True, doc)


def flat(every: bool, formulas: tuple[Expression, ...]) -> Expression:
    members: list[Expression] = []
    for formula in formulas:
        members.extend(formula.members if isinstance(formula, Many) and formula.every == every else (formula,))
    return members[0] if len(members) == 1 else Many(every, tuple(members))


def conj(*formulas: Expression) -> Expression:
    """Return the conjunction of formulas."""
    return flat(True, formulas)


def disj(*formulas: Expression) -> Expression:
    """Return the disjunction of formulas."""
    return flat(False, formulas)


TRUE, FALSE = conj(), disj()


def neg(formula: Expression) -> Expression:
    """Return the negation of a formula."""
    return formula.body if isinstance(formula, Not) else Not(formula)


def implies(*formulas: Expression) -> Expression:
    """Return the implication of the last formula by the conjunction of the others."""
    return disj(neg(conj(*formulas[:-1])), formulas[-1])


def ite(test: Expression, then: Expression, otherwise: Expression) -> Expression:
    """Return a term that is `then` where the test holds, `otherwise` elsewhere; both are of one sort."""
    return IfThenElse(test, then, otherwise)


def parameters_of(body: Callable[..., Any]) -> tuple[Variable, ...]:
    """Return the parameters of a function as variables; the first letter of a name gives its sort."""
    return tuple(Variable(name, SORT_OF[name[0]]) for name in inspect.signature(body).parameters)


def forall(body: Callable[..., Expression]) -> Expression:
    """Return the formula quantified universally over the function's parameters."""
    variables = parameters_of(body)
    return Quantified(True, variables, body(*variables))


def exists(body: Callable[..., Expression]) -> Expression:
    """Return the formula quantified existentially over the function's parameters."""
    variables = parameters_of(body)
    return Quantified(False, variables, body(*variables))


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all its subexpressions."""
    yield expression
    for part in expression.parts():
        yield from walk(part)


def mentions(expression: Expression) -> frozenset[Symbol]:
    """Return the symbols in an expression."""
    return frozenset(e.symbol for e in walk(expression) if isinstance(e, Apply))
