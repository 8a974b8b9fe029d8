"""A finite instance of the abstract protocol: so many processes, attempts, histories, epochs, counters.

It uses the same definitions; quantifiers are expanded. A truth value is Python's where it is known and a bit of a
circuit where it is not; an element is a number where it is known and a `Choice`, one condition for each number it may
be, where it is not. With everything known it is a world of plain truth values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from checker.proofs.prove.circuit import Bit, Circuit, Truth, neg
from zabspec.proofs.abstract.logic import (
    ATTEMPT,
    CONNECTION,
    COUNTER,
    EPOCH,
    HISTORY,
    PROCESS,
    QUORUM,
    Sort,
    Symbol,
    Variable,
)
from zabspec.proofs.abstract.vocabulary import at_most, le, member, origin, prefix, root, shorter


@dataclass(frozen=True)
class Choice:
    """An element that is not known: for each number of its sort, the condition under which it is that."""

    conditions: tuple[Truth, ...]


@dataclass(frozen=True)
class Instance:
    """The sizes of a finite instance. Quorums are sets of processes.

    Attempt 0 is the beginning, history 0 the empty one.
    """

    quorums: tuple[frozenset[int], ...] = (frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2}))
    processes: int = 3
    attempts: int = 4
    histories: int = 4
    epochs: int = 4
    counters: int = 2
    connections: int = 1

    def size(self, sort: Sort) -> int:
        """Return the number of elements of a sort."""
        return self.sizes[sort]

    @cached_property
    def sizes(self) -> dict[Sort, int]:
        """The number of elements of each sort."""
        return {
            PROCESS: self.processes,
            QUORUM: len(self.quorums),
            ATTEMPT: self.attempts,
            HISTORY: self.histories,
            EPOCH: self.epochs,
            COUNTER: self.counters,
            CONNECTION: self.connections,
        }

    def tuples(self, sorts: Sequence[Sort]) -> Iterator[tuple[int, ...]]:
        """Return all argument tuples of some sorts."""
        return itertools.product(*(range(self.size(s)) for s in sorts))

    def __str__(self) -> str:
        return (
            f"{self.processes} processes, {len(self.quorums)} quorums, {self.attempts - 1} attempts, "
            f"{self.histories - 1} transactions, {self.epochs - 1} epochs, {self.counters} counters"
        )


class Finite:
    """The world of a finite instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.circuit = Circuit()
        self.every, self.some, self.neg = self.circuit.every, self.circuit.some, neg

    def equal(self, left: Any, right: Any) -> Truth:
        if isinstance(left, Choice) or isinstance(right, Choice):
            size = max(width(left), width(right))
            return self.some([self.every([is_number(left, k), is_number(right, k)]) for k in range(size)])
        if isinstance(left, Bit) or isinstance(right, Bit):
            return self.choose(left, right, neg(right))
        return left == right

    def choose(self, test: Truth, then: Any, otherwise: Any) -> Any:
        if isinstance(test, bool):
            return then if test else otherwise
        if is_truth(then) and is_truth(otherwise):
            return self.some([self.every([test, then]), self.every([self.neg(test), otherwise])])
        size = max(width(then), width(otherwise))
        return Choice(tuple(self.choose(test, is_number(then, k), is_number(otherwise, k)) for k in range(size)))

    def quantified(self, every: bool, variables: Sequence[Variable], body: Callable[[Sequence[Any]], Any]) -> Truth:
        decisive, members = not every, []
        for values in self.instance.tuples([v.sort for v in variables]):
            member = body(values)
            if member is decisive:
                return decisive
            members.append(member)
        return self.every(members) if every else self.some(members)


def width(element: int | Choice) -> int:
    """Return an upper bound of the numbers that an element may be."""
    return len(element.conditions) if isinstance(element, Choice) else element + 1


def is_number(element: int | Choice, k: int) -> Truth:
    """Return the condition under which the element is number k."""
    if isinstance(element, Choice):
        return element.conditions[k] if k < len(element.conditions) else False
    return element == k


def is_truth(value: Any) -> bool:
    """Return whether a value is a truth value and not an element."""
    return isinstance(value, (bool, Bit))


@dataclass
class Table:
    """A state of a finite instance: a value for every symbol and arguments. Missing symbols are rigid and given."""

    world: Finite
    values: dict[Symbol, dict[tuple[int, ...], Any]] = field(default_factory=dict)

    def value(self, symbol: Symbol, arguments: Sequence[Any]) -> Any:
        """Return the symbol applied to elements, known or not."""
        if Choice not in map(type, arguments):
            known = self.values.get(symbol)
            return self.given(symbol, tuple(arguments)) if known is None else known[tuple(arguments)]
        options = [
            [(a, True)] if isinstance(a, int) else [(k, c) for k, c in enumerate(a.conditions) if c is not False]
            for a in arguments
        ]
        if symbol.result is None:
            return self.world.some(
                [
                    self.world.every([*(c for _, c in option), self.entry(symbol, tuple(k for k, _ in option))])
                    for option in itertools.product(*options)
                ]
            )
        found: list[list[Truth]] = [[] for _ in range(self.world.instance.size(symbol.result))]
        for option in itertools.product(*options):
            here = self.world.every([c for _, c in option])
            entry = self.entry(symbol, tuple(k for k, _ in option))
            for k, conditions in enumerate(found):
                conditions.append(self.world.every([here, is_number(entry, k)]))
        return Choice(tuple(self.world.some(conditions) for conditions in found))

    def entry(self, symbol: Symbol, arguments: tuple[int, ...]) -> Any:
        """Return the value at known arguments."""
        table = self.values.get(symbol)
        if table is not None:
            return table[arguments]
        return self.given(symbol, arguments)

    def given(self, symbol: Symbol, arguments: tuple[int, ...]) -> Any:
        """Return the value of a symbol that every instance fixes: quorums, orders, the beginning, history lengths."""
        if symbol is member:
            return arguments[0] in self.world.instance.quorums[arguments[1]]
        if symbol in (le, at_most):
            return arguments[0] <= arguments[1]
        if symbol in (root, origin):
            return 0
        if symbol is shorter:
            return self.no_longer(*arguments)
        raise KeyError(symbol.name)

    def no_longer(self, x: int, y: int) -> Truth:
        """Return the condition under which x has at most as many prefixes as y."""
        of_x, of_y = ([self.entry(prefix, (z, h)) for z in range(self.world.instance.histories)] for h in (x, y))
        counts = range(1, self.world.instance.histories + 1)
        return self.world.every(self.world.some([neg(self.at_least(of_x, k)), self.at_least(of_y, k)]) for k in counts)

    def at_least(self, members: Sequence[Truth], k: int) -> Truth:
        """Return the condition under which at least k of the values are true."""
        return self.world.some([self.world.every(some) for some in itertools.combinations(members, k)])
