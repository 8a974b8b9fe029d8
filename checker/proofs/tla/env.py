"""The environment of a translation: the meaning of names, the current name of each state, and the continuations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from checker.proofs.tla.syntax import Node
from checker.proofs.tla.values import named
from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Bool, Int
from zabspec.language.layout.schema import Field

ROOT = "state"  # the variable of a module: a record of all fields


class Untranslatable(Exception):
    """A protocol does something that a module cannot express; the message is one sentence."""


@dataclass(frozen=True)
class Word:
    """A step word whose kind is known: a, b, c are names of operands."""

    kind: int
    operands: tuple[str, str, str]


Value = Node | Word | int | bool | None  # of a name: an expression, or what is known while translating


@dataclass(frozen=True)
class Env:
    """The environment at a point of the translation.

    Attributes:
        names: the value of each local name.
        states: by the name of a parameter that is a state, its current name; `ROOT`: the variable.
        aside: scalar step annotations that no operator reads: kept here.
        pending: by the same name the changes that are still to be made to it: field, and its form in an EXCEPT.
    """

    names: Mapping[str, Value]
    states: Mapping[str, str]
    aside: Mapping[str, Value] = field(default_factory=dict)
    pending: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def named(self, name: str, value: Value) -> Env:
        return replace(self, names={**self.names, name: value})

    def at(self, state: str, now: str) -> Env:
        return replace(self, states={**self.states, state: now}, pending={**self.pending, state: ()})

    def changed(self, state: str, name: str, change: str) -> Env:
        return replace(self, pending={**self.pending, state: (*self.pending.get(state, ()), (name, change))})

    def forgetting(self, names: Collection[str]) -> Env:
        """Return an environment in which some step annotations are unknown."""
        if not names or not any(name in self.aside for name in names):
            return self
        return replace(self, aside={name: value for name, value in self.aside.items() if name not in names})

    def now(self, state: str) -> str:
        """Return the current state, with its pending changes."""
        base = self.states[state]
        changes = self.pending.get(state, ())
        return f"[{base} EXCEPT {', '.join(c for _, c in changes)}]" if changes else base


Next = Callable[[Env], Node]  # what comes after


@dataclass(frozen=True)
class Ways:
    """The continuations: return to the caller with a value, leave the loop, begin its next round."""

    back: Callable[[Env, Node | None], Node]
    out: Next | None = None
    again: Next | None = None


@dataclass
class Operator:
    """A translated function."""

    name: str
    params: list[str]
    body: Node
    function: t.Function | None = None
    recursive: list[str] = field(default_factory=list)


@dataclass
class Fresh:
    """The names that one operator has used."""

    used: set[str]

    def name(self, wanted: str) -> str:
        wanted = named(wanted) if wanted.strip("_") else "unused"
        found, k = wanted, 1
        while found in self.used:
            k += 1
            found = f"{wanted}{k}"
        self.used.add(found)
        return found


def walk(e: Any) -> Iterator[Any]:
    """Yield every expression and statement in one, itself first."""
    if isinstance(e, (t.Expr, t.Stmt)):
        yield e
        for value in vars(e).values():
            yield from walk(value)
    elif isinstance(e, t.Term):
        yield from walk(e.index)
    elif isinstance(e, (list, tuple)):
        for x in e:
            yield from walk(x)


def asserted(s: Any) -> t.Expr | None:
    """Return the test of an `assert`; None of any other statement."""
    given = s.value if isinstance(s, t.Evaluate) else None
    return given.right.test if isinstance(given, t.Binary) and isinstance(given.right, t.Choice) else None


def fixed(f: Field) -> bool:
    """Return whether a field can hold one value only: it is not a variable then."""
    return isinstance(f.kind, Int) and not isinstance(f.kind, Bool) and f.kind.lo == f.kind.hi
