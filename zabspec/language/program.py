"""Combine the functions of a world, a protocol and a variant to a program, under one namespace.

A variant is a set of functions that override functions of the same name; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType, ModuleType
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.structs import is_struct
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.schema import Layout, Role, Schema
from zabspec.language.python import reference
from zabspec.language.python.beginnings import starts_of
from zabspec.language.python.choosing import MARKS, may_choose, name_of
from zabspec.language.python.meanings import constant, is_enumeration, is_value
from zabspec.language.python.writes import telling_writes
from zabspec.starts import NUMBER

DECLARING = "zabspec.authoring.declaration"  # whose functions declare, and are no part of a program


def own_names(module: ModuleType) -> dict[str, Any]:
    """Return the functions, integer constants, message names and structs that a module defines or imports."""
    given = {n: v if (number := constant(v)) is None else number for n, v in vars(module).items()}
    enumerations = {n: v for n, v in given.items() if is_enumeration(v)}
    members = {f"{n}.{name}": int(member) for n, v in enumerations.items() for name, member in v.__members__.items()}
    own = {
        name: value
        for name, value in given.items()
        if not name.startswith("__") and getattr(value, "__module__", "") != DECLARING
        if isinstance(value, FunctionType) or is_value(value) or is_struct(value)
    }
    return own | enumerations | members


@cache
def marked(function: FunctionType, step: str) -> FunctionType:
    """Return a function with the mark of the paper's step that it stands for; itself, if it has that.

    A copy: in other programs the same function may stand for nothing, or for another step.
    """
    if getattr(function, "paper_step", None) == step:
        return function
    code, name = function.__code__, function.__name__
    out = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    vars(out).update(vars(function), paper_step=step)
    out.__kwdefaults__, out.__annotations__ = function.__kwdefaults__, function.__annotations__
    out.__qualname__, out.__doc__ = function.__qualname__, function.__doc__
    return out


# Hooks that are of the world, whoever writes them: they may look at every process, as no handler does.
OVERSEEING = frozenset({"oracle_may_name"})


@dataclass
class Program:
    """What a schema, the world's modules, the protocol's module and its overrides make together."""

    schema: Schema
    types: Mapping[str, Kind]
    world: Sequence[ModuleType]
    protocol: Sequence[ModuleType]
    overrides: Mapping[str, FunctionType] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    actions: Sequence[str] = ()  # what internal steps are called, by their numbers
    changes: Sequence[str] = ()  # what steps of the environment are called
    apart: Mapping[str, str] = field(default_factory=dict)  # names of the protocol's own, by which key each is meant
    acting: frozenset[str] | None = None  # the names of its handlers, if they are not all functions of the protocol

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.schema)

    @cached_property
    def namespace(self) -> dict[str, Any]:
        """Return every name: the protocol's hide the world's, and overrides hide both."""
        out: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for module in (*self.world, *self.protocol):
            keys = self.apart if module in self.protocol else {}
            for plain, value in own_names(module).items():
                name = keys.get(plain, plain)
                if isinstance(value, FunctionType) and value.__module__ != module.__name__:
                    out.setdefault(name, value)
                else:
                    if module in self.world and hasattr(own.get(name), "acts"):
                        value.acts = own[name].acts
                    own[name] = value
        out.update(own)
        for stood, function in self.overrides.items():
            name = self.apart.get(stood, stood)
            if name not in out:
                raise KeyError(f"the protocol has no function {name} to replace")
            step = getattr(out[name], "paper_step", None)
            out[name] = function if step is None else marked(function, step)
        for name, value in self.helpers.items():
            out.setdefault(name, value)
        for module in self.protocol:
            for plain, value in own_names(module).items():
                if any(mark in vars(value) for mark in MARKS if isinstance(value, FunctionType)):
                    out[name_of(plain)] = may_choose(out[self.apart.get(plain, plain)], plain, out)
        if any(f.disk for f in self.schema.fields):
            lasting = frozenset(f.name for f in self.schema.fields if f.role is Role.PERSISTENT)
            for name in self.handlers & out.keys():
                out[name] = telling_writes(out[name], lasting)
        out.update(self.extra)
        return out

    @cached_property
    def helpers(self) -> dict[str, Any]:
        """Return the names in the modules of overrides that these may use, by key where names are kept apart."""
        found: dict[str, Any] = {}
        if self.apart:
            return {k: v for f in self.overrides.values() for k, v in getattr(f, "beside", {}).items()}
        for function in self.overrides.values():
            for name, value in function.__globals__.items():
                if isinstance(value, FunctionType) and value.__module__ == function.__module__:
                    found[name] = value
        return found

    @cached_property
    def handlers(self) -> frozenset[str]:
        """Return the protocol's functions that act for a process."""
        if self.acting is not None:
            return self.acting
        names = {
            name
            for module in self.protocol
            for name, value in own_names(module).items()
            if isinstance(value, FunctionType) and value.__module__ == module.__name__
        }
        return frozenset(names | set(self.overrides) | set(self.helpers)) - OVERSEEING

    @cached_property
    def steps(self) -> list[str]:
        """Return the paper's steps with which the program's functions are marked, in source order."""
        found: list[str] = []
        for value in self.namespace.values():
            name = getattr(value, "paper_step", None)
            if name is not None and name not in found:
                found.append(name)
        return found

    def typed(self, roots: Sequence[str], names: Mapping[str, Any] | None = None) -> t.TypedProgram:
        """Return the typed tree of the roots and of all they call.

        Args:
            roots: the names of functions.
            names: as for `front_end`.

        Raises:
            LanguageError: something is outside the language.
        """
        front = self.front_end(names)
        for root in roots:
            front.function(root)
        return front.program

    def front_end(self, names: Mapping[str, Any] | None = None) -> FrontEnd:
        """Return a front end that types functions of the program.

        Args:
            names: all that they may refer to, if that is more than the program.
        """
        front = FrontEnd(self.layout, self.namespace if names is None else names, self.types, self.handlers)
        front.program.steps = self.steps
        return front

    @cached_property
    def python(self) -> dict[str, Any]:
        """Return the program in CPython."""
        return reference.load(self.layout, self.namespace, self.types, self.steps)

    @cached_property
    def beginning(self) -> t.TypedProgram:
        """Return the typed function that makes the initial state.

        Raises:
            LanguageError: it is outside the language.
        """
        return self.typed(["initialize"])

    @cached_property
    def starts(self) -> Mapping[bytes, int | None]:
        """Return the states that a run may begin in: what `initialize` makes of all zero bytes.

        Returns:
            The number of each; None if there is only one.

        Raises:
            LanguageError: `initialize` is outside the language. It runs in CPython alone, which would accept anything.
            RangeError, ZeroDivisionError: one meets a run-time error; its attribute `start` is the number of that one.
        """
        assert self.beginning.functions
        begin = self.python["initialize"]
        return starts_of(begin, reference.StateView(self.layout), NUMBER in self.namespace)

    def initial(self) -> reference.StateView:
        """Return the initial state, if there is only one.

        Raises:
            ConfigError: a run may begin in several states.
            LanguageError, RangeError, ZeroDivisionError: as for `starts`.
        """
        assert self.beginning.functions
        s = reference.StateView(self.layout)
        self.python["initialize"](s)
        return s
