"""Combine a model's program and the properties under one namespace, which every world binds or compiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from invariants import JOINED, MODULES
from invariants.registry import STEP, Property
from zabspec.authoring.declaration import ConfigError, said_at
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.schema import Role, Schema
from zabspec.language.program import Program, own_names
from zabspec.language.python.reference import load
from zabspec.model import Configuration, Model

if TYPE_CHECKING:
    from zabspec.authoring.reading import ProtocolSource


class Programmed(Protocol):
    """The interface of an object that has a program."""

    @property
    def program(self) -> Program:
        """Return the program."""


def full_namespace(model: Programmed) -> dict[str, Any]:
    """Return the program's names together with those of the properties, with their constants.

    Raises:
        ValueError: two of them define the same name.
    """
    names: dict[str, Any] = {}
    for module in judging_modules(model):
        for name, value in own_names(module).items():
            if not isinstance(value, FunctionType) or value.__module__ == module.__name__:
                if names.get(name, value) != value:
                    raise ValueError(f"two properties define {name}")
                names[name] = value
    program = dict(model.program.namespace)
    clash = [n for n in names if n in program and program[n] != names[n]]
    if clash:
        raise ConfigError(f"a property and the program both define {clash[0]}: rename it")
    return names | program


def judging_modules(model: Programmed) -> tuple[ModuleType, ...]:
    """Return the modules with properties of a model; those of a user protocol are in its own source.

    A joined module may have further ones for a protocol, in `modules_for`.
    """
    protocol = getattr(model, "parts_of", None) or getattr(model, "protocol", None)
    if protocol is None:
        return MODULES
    more = [module for each in JOINED if hasattr(each, "modules_for") for module in each.modules_for(protocol)]
    if protocol.declared.replicas:
        return (*(m for m in MODULES if speaks_of(m, protocol.name)), *more)
    return (*MODULES, *more) if protocol.transactions else tuple(more)


def speaks_of(module: ModuleType, protocol: str) -> bool:
    """Return whether a module has properties of a protocol."""
    properties: tuple[Property, ...] = getattr(module, "PROPERTIES", ())
    return not properties or any(p.judges(protocol) for p in properties)


def bound(model: Model, front: FrontEnd | None = None) -> dict[str, Any]:
    """Return the program and the properties as CPython functions, by name.

    Args:
        model: the model.
        front: a front end of its full namespace: what it has typed is not typed again.

    Raises:
        LanguageError: a user protocol is outside the language, though Python would run it.
    """
    program, names = model.program, full_namespace(model)
    if not model.protocol.text.comes_with_zabcheck:
        asked = type(model), model.extension, model.configuration
        made = Written(model.protocol.text, program.schema, program.types, program.handlers, texts_of(names))
        if _in_language.get(asked) != made:  # as it is but for the first of many traces of a text
            check_language(model, front or program.front_end(names))
            _in_language[asked] = made
    return load(program.layout, names, program.types, program.steps)


class Written(NamedTuple):
    """All that determines whether a user protocol is in the language."""

    text: ProtocolSource  # equal if it is the same
    schema: Schema
    types: Mapping[str, Kind]
    handlers: frozenset[str]
    codes: dict[str, CodeType | int]


def texts_of(names: Mapping[str, Any]) -> dict[str, CodeType | int]:
    """Return the code of every function, and every number, by name."""
    out: dict[str, CodeType | int] = {name: value for name, value in names.items() if isinstance(value, int)}
    return out | {name: value.__code__ for name, value in names.items() if isinstance(value, FunctionType)}


_in_language: dict[tuple[type, str, Configuration], Written] = {}


def check_language(model: Model, front: FrontEnd) -> None:
    """Refuse a user protocol that is outside the language.

    Raises:
        LanguageError: it is.
        ConfigError: a property of it reads step annotations.
    """
    judging = (f.__name__ for c in model.protocol.claims for f in (c.holds, c.witness))
    for root in ("initialize", "enabled", "apply", *judging):
        front.function(root)
    refuse_scratch(model, model.protocol.claims, front.program.reads)


def refuse_scratch(model: Model, properties: Iterable[Property], reads: Mapping[str, frozenset[str]]) -> None:
    """Refuse properties of states that read step annotations, since a state is checked once for all steps to it.

    Args:
        model: the model.
        properties: its properties.
        reads: by a function's name, the fields that it and those that it calls read.

    Raises:
        ConfigError: a property of a user protocol does so.
    """
    if model.protocol.text.released:
        return
    of_a_step = {f.name for f in model.program.schema.fields if f.role is Role.SCRATCH}
    for p in properties:
        touched = {name for f in (p.holds, p.witness) for name in reads.get(f.__name__, ())}
        if p.of != STEP and touched & of_a_step:
            what = ", ".join(sorted(touched & of_a_step))
            raise ConfigError(
                f"{said_at(p.holds)}{p.name} reads {what}, a step annotation: let it take (before, event, after)"
            )


def vacuous(model: Model, judged: Sequence[Property]) -> dict[str, str]:
    """Return the properties that can never be False, each with its line; only those of user protocols are examined."""
    from zabspec.authoring.vacuous import never_false

    if model.protocol.text.released:
        return {}
    front = model.program.front_end(full_namespace(model))
    found = never_false(model, [p.holds.__name__ for p in judged], front)
    return {p.name: found[p.holds.__name__] for p in judged if p.holds.__name__ in found}
