"""The world without bounds: sorts are uninterpreted sets, formulas are z3's first-order logic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import z3

from checker.proofs.prove.meaning import meaning
from zabspec.proofs.abstract.logic import SORTS, Expression, Symbol, Variable


class Unbounded:
    """A world and, at once, an arbitrary state of it: every symbol is one of z3's."""

    def __init__(self) -> None:
        self.world = self
        self.sorts = {sort: z3.DeclareSort(sort.name) for sort in SORTS}
        self.symbols: dict[Symbol, z3.FuncDeclRef] = {}

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the symbol applied to terms."""
        declared = self.symbols.get(symbol)
        if declared is None:
            result = z3.BoolSort() if symbol.result is None else self.sorts[symbol.result]
            declared = z3.Function(symbol.name, *(self.sorts[s] for s in symbol.arguments), result)
            self.symbols[symbol] = declared
        return declared(*arguments)

    def formula(self, expression: Expression) -> z3.BoolRef:
        """Return a closed formula in z3's form, in the arbitrary state."""
        result: z3.BoolRef = meaning(expression, {}, self)
        return result

    def fresh(self, variable: Variable) -> z3.ExprRef:
        """Return an arbitrary element."""
        return z3.FreshConst(self.sorts[variable.sort], variable.name)

    def every(self, members: Iterable[Any]) -> Any:
        return z3.And(*members)

    def some(self, members: Iterable[Any]) -> Any:
        return z3.Or(*members)

    def neg(self, value: Any) -> Any:
        return z3.Not(value)

    def equal(self, left: Any, right: Any) -> Any:
        return left == right

    def choose(self, test: Any, then: Any, otherwise: Any) -> Any:
        return z3.If(test, then, otherwise)

    def quantified(self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Any]], Any]) -> Any:
        bound = [z3.Const(v.name, self.sorts[v.sort]) for v in variables]
        return (z3.ForAll if every else z3.Exists)(bound, body(bound))
