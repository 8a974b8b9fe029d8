"""A model's program and the properties, under one namespace: what every world binds or compiles."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Protocol

from invariants import MODULES
from zabspec.language.program import Program, own_names
from zabspec.language.reference import load
from zabspec.model import Model

__all__ = ["bound", "full_namespace"]


class Programmed(Protocol):
    """Whatever has a program."""

    @property
    def program(self) -> Program:
        """The program."""


def full_namespace(model: Programmed) -> dict[str, Any]:
    """The program's names together with those of the properties, their constants included.

    Raises:
        ValueError: two of them define the same name.
    """
    names: dict[str, Any] = {}
    for module in MODULES:
        for name, value in own_names(module).items():
            if not isinstance(value, FunctionType) or value.__module__ == module.__name__:
                if names.get(name, value) != value:
                    raise ValueError(f"two properties define {name}")
                names[name] = value
    program = dict(model.program.namespace)
    clash = [n for n in names if n in program and program[n] != names[n]]
    if clash:
        raise ValueError(f"a property and the program both define {clash[0]}")
    return names | program


def bound(model: Model) -> dict[str, Any]:
    """The program and the properties in the CPython world, by name."""
    program = model.program
    return load(program.layout, full_namespace(model), program.types, program.steps)
