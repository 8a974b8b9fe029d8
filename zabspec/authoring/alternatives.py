"""Bound how many alternatives a step of a protocol can have, from the calls of `choose` in its source.

The bound is more than the truth wherever the source does not show it: in a loop, with a computed number, in what is no
receipt of a message. It says how much room the steps of a state take, so it may never be too small.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.source import definition
from zabspec.language.python import lang
from zabspec.roles import MOST_PROCESSES
from zabspec.worlds import actor

MOST = 256  # more than a step may have
RECEIPTS = frozenset({"receive_as_leader", "receive_as_follower", "on_message"})  # a world calls one, once in a step
MARKS = ("made_action", "made_change", "observes", "claim", "progress_property")
CHOICES = frozenset({"choose", "any_of", "any_process"})
OF_A_NETWORK = ("zabspec.worlds.connections", "take_stale")  # chooses on one alone, which has room (`Model.most_steps`)
LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.Lambda)


def most_alternatives(namespaces: Iterable[Mapping[str, Any]], overrides: Mapping[str, Sequence[FunctionType]]) -> int:
    """Return the most alternatives that a step can have; 1 if nothing chooses.

    Args:
        namespaces: of the modules of the source.
        overrides: the functions that variants may override with, by the name of the original.
    """
    return Alternatives(overrides).most(
        f for names in namespaces for f in names.values() if isinstance(f, FunctionType)
    )


class Alternatives:
    def __init__(self, overrides: Mapping[str, Sequence[FunctionType]]) -> None:
        self.overrides = overrides
        self.known: dict[FunctionType, int] = {}

    def most(self, first: Iterable[FunctionType]) -> int:
        """Return the most alternatives of a step that enters the source by any function."""
        reached = self.reached([*first, *(f for given in self.overrides.values() for f in given)])
        choosing = [f for f in reached if f.__name__ not in CHOICES and self.ways(f) > 1]
        if any(not self.enters_once(f, reached) for f in choosing):
            return MOST
        return max(map(self.ways, choosing), default=1)

    def reached(self, first: Iterable[FunctionType]) -> list[FunctionType]:
        """Return these functions and all that they call, in any module."""
        found = list(dict.fromkeys(first))
        for f in found:  # it grows
            found += dict.fromkeys(g for g in self.called(f) if g not in found)
        return found

    def enters_once(self, f: FunctionType, reached: Iterable[FunctionType]) -> bool:
        """Return whether a world calls a function in a receipt alone, or not at all."""
        stands_for = {f.__name__, *(name for name, given in self.overrides.items() if f in given)}
        if any(mark in vars(f) for mark in MARKS):
            return False
        if "receives" in vars(f) or stands_for & RECEIPTS:
            return not stands_for & (vars(actor).keys() - RECEIPTS)
        return not stands_for & vars(actor).keys() and any(f in self.called(g) for g in reached if g is not f)

    def called(self, f: FunctionType) -> Iterator[FunctionType]:
        """Yield the functions that a function's global names may mean."""
        for name in global_names(f.__code__):
            yield from self.meant(f, name)

    def meant(self, f: FunctionType, name: str) -> Iterator[FunctionType]:
        given = f.__globals__.get(name)
        if isinstance(given, FunctionType):
            yield given
            yield from self.overrides.get(given.__name__, ())
        yield from self.overrides.get(name, ())

    def ways(self, f: FunctionType) -> int:
        """Return in how many ways a call of a function can end, at most."""
        if f not in self.known:
            self.known[f] = MOST  # while it is looked at: one that calls itself
            names = global_names(f.__code__)
            chooses = (f.__module__, f.__name__) != OF_A_NETWORK and (
                any(is_choose(f, name) for name in names) or any(self.ways(g) > 1 for g in self.called(f))
            )
            self.known[f] = min(MOST, self.below(f, definition(f), False)) if chooses else 1
        return self.known[f]

    def below(self, f: FunctionType, node: ast.AST, looping: bool) -> int:
        """Return the product over all calls in a piece of a function, whichever branch they are in."""
        if isinstance(node, ast.Name):
            if is_choose(f, node.id):
                return MOST
            ways = max((self.ways(g) for g in self.meant(f, node.id)), default=1)
            return MOST if looping and ways > 1 else ways
        parts: Sequence[ast.AST] = [*ast.iter_child_nodes(node)]
        ways = 1
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_choose(f, node.func.id):
            of_processes = f.__globals__.get(node.func.id) in (lang.any_of, lang.any_process)  # and of nothing else
            ways = MOST if looping else MOST_PROCESSES if of_processes else number_in(node)
            parts = node.args
        looping = looping or isinstance(node, LOOPS)
        return min(MOST, ways * math.prod(self.below(f, part, looping) for part in parts))


def is_choose(f: FunctionType, name: str) -> bool:
    """Return whether a name in a function may mean `choose`, or a function that chooses a process.

    Such a function may have been imported under any name.
    """
    given = f.__globals__.get(name)
    return name in CHOICES or (isinstance(given, FunctionType) and given.__name__ in CHOICES)


def number_in(call: ast.Call) -> int:
    """Return the constant number of alternatives that a call of `choose` gives; `MOST`: it is computed."""
    match call:
        case ast.Call(args=[_, ast.Constant(value=int(number))], keywords=[]) if 1 <= number < MOST:
            return number
    return MOST
