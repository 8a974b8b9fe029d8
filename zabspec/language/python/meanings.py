"""What a name in a user protocol means, by identity: Python's own builtin, the language's own word, or a constant.

The front end knows `min` or `choose` by its name, and CPython runs whatever the name is bound to. Both mean the same
only if that is the builtin, or the word, itself: in the function's globals and in its `__builtins__`.
"""

from __future__ import annotations

import ast
import builtins
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import EnumType, IntEnum
from types import FunctionType, WrapperDescriptorType
from typing import Any, TypeGuard

from zabspec.language.layout.bytecode import all_code, global_names
from zabspec.language.layout.kinds import Record
from zabspec.language.python import lang
from zabspec.language.python.lang import MessageName, RecordName
from zabspec.language.python.writes import WROTE

# what the language has of Python
OF_PYTHON = ("abs", "all", "any", "enumerate", "len", "max", "min", "range", "set", "sum")
PYTHON = {name: getattr(builtins, name) for name in OF_PYTHON}
WORDS = frozenset({"broken", "forget", "is_quorum"})  # what it knows by name
MISSING = object()
# What makes an int a number: a constant of a subclass that has one of these of its own is another kind of number.
NUMERIC = {n for n, v in vars(int).items() if isinstance(v, WrapperDescriptorType)} - {"__repr__", "__getattribute__"}


def unimported(name: str) -> str:
    """Return that a word of the language is not imported, as a clause of a sentence; empty if a name is none."""
    words = getattr(sys.modules.get("zabcheck.language"), "__all__", ())  # the source has imported it
    return f"{name} is not imported: from zabcheck.language import {name}" if name in words else ""


def constant(value: object) -> int | None:
    """Return the number or truth value of a constant: an int, a bool, or a member of an IntEnum; None if it is none."""
    kind = type(value)
    if isinstance(value, bool) or kind is int:
        return value  # type: ignore[return-value]
    if isinstance(value, IntEnum) and all(getattr(kind, n, None) is getattr(IntEnum, n, None) for n in NUMERIC):
        return int.__int__(value)
    return None


def is_value(value: object) -> bool:
    """Return whether functions can read a value by a global name: a constant, several, or the name of a message."""
    several = isinstance(value, range) or (type(value) is tuple and all(constant(v) is not None for v in value))
    return several or constant(value) is not None or isinstance(value, MessageName)


def is_enumeration(value: object) -> TypeGuard[type[IntEnum]]:
    """Return whether a value is an enumeration of constants, each of which its name in it means."""
    if type(value) is not EnumType or not issubclass(value, IntEnum):
        return False
    return all(constant(m) is not None and getattr(value, n, None) is m for n, m in value.__members__.items())


def is_number(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer that a source may declare: no truth value, and of no type of its own."""
    return constant(value) is not None and not isinstance(value, bool)


def misused_names(
    function: FunctionType, node: ast.FunctionDef, meant: Callable[[str], Any]
) -> Iterator[tuple[ast.expr, str]]:
    """Yield the names in a function that the front end takes for something else than CPython does, with the reason.

    Args:
        function: the function, with the globals and the builtins that CPython uses.
        node: its definition.
        meant: returns what the front end takes a global name for; None if it knows no such name.
    """
    own = [{*code.co_varnames, *code.co_cellvars} for code in all_code(function.__code__)]
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    read = global_names(function.__code__)
    for part in (x for statement in node.body for x in ast.walk(statement)):
        if not isinstance(part, ast.Name) or not isinstance(part.ctx, ast.Load):
            continue
        name = part.id
        if id(part) in called and any(name in names for names in own):
            yield part, f"{name} is a local name here, and cannot be called"
        elif name in own[0] or name not in read:
            continue
        elif reason := differs(function, name, meant(name)):
            yield part, reason


def differs(function: FunctionType, name: str, meant: Any) -> str:
    """Return why a global name of a function is not what is meant by it; empty if it is."""
    beyond: Mapping[str, Any] = getattr(function, "__builtins__")  # noqa: B009 (typeshed does not know it)
    given = function.__globals__.get(name, beyond.get(name, MISSING))
    if name in PYTHON:
        return "" if given is PYTHON[name] else f"{name} is {described(given)} here, not Python's own: rename it"
    if isinstance(given, int) and constant(given) is None:
        return f"{name} is {described(given)}: a constant is an int, a bool or a member of an IntEnum"
    if given is MISSING:
        if name == WROTE and "syntax" in vars(function):  # `writes.py` has put it there
            return ""
        by_types = meant is None or isinstance(meant, Record)  # a record is named by its class
        if by_types and name not in WORDS:
            return ""
        return unimported(name) or f"{name} is not imported"
    if name in WORDS:
        alike = given is vars(lang)[name]
        return "" if alike else f"{name} is {described(given)} here, not the language's own: rename it"
    if name == WROTE and "syntax" in vars(function):
        return f"{name} is the world's where fields are on disks: rename yours"
    match meant:
        case FunctionType():
            alike = isinstance(given, FunctionType)
        case MessageName():
            alike = type(given) is MessageName and given.name == meant.name
        case Record():
            alike = type(given) is RecordName
        case int():
            alike = (number := constant(given)) == meant and isinstance(number, bool) == isinstance(meant, bool)
        case _:
            return ""
    return "" if alike else f"{name} is {described(given)} here, and {described(meant)} elsewhere: rename it"


def described(value: object) -> str:
    """Return a value as a phrase, with its type unless it is a number."""
    if isinstance(value, FunctionType):
        return f"the function {value.__name__}"
    return reprlib.repr(value) if constant(value) is not None else f"{reprlib.repr(value)} ({type(value).__name__})"
