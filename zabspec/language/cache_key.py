"""What compiled code is made from, as a digest of what Python has loaded.

A function is known by its code and by the text of its file: the code is what the CPython world runs, the text is what
the front end reads, and `source.py` refuses a text that is not the code's. So a text that is edited, wherever it lies,
gives another digest, and none that was edited while it was in use is compiled. A value is known by all it holds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import marshal
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from zabspec.language.kinds import Kind
from zabspec.language.schema import Layout
from zabspec.language.source import said_file, text_digest

__all__ = ["compiler_digest", "digest_of", "program_digest"]

LANGUAGE = "zabspec.language"
MARSHAL = 2  # the format that says nothing of how often an object is used

PLAIN = (int, str, bytes, float, complex, type(None), type(...))
ALONE = frozenset({*PLAIN, bool})  # what says all of itself


def digest_of(*values: object) -> str:
    """A digest of values: functions, modules, classes, and whatever holds them."""
    return hashlib.sha256(repr([_Known().of(v) for v in values]).encode()).hexdigest()


def program_digest(
    layout: Layout,
    namespace: Mapping[str, Any],
    types: Mapping[str, Kind],
    handlers: Iterable[str],
    steps: Sequence[str],
) -> str:
    """A digest of all that a program's typed tree follows from, the compiler excepted."""
    return digest_of(layout.schema, dict(namespace), dict(types), sorted(handlers), list(steps))


@cache
def compiler_digest(*roots: str) -> str:
    """A digest of the modules named and of what they import: of the compiler, and of the packages they are in."""
    inside = {LANGUAGE, *(name.rpartition(".")[0] for name in roots)} - {""}  # what is in no package stands alone
    found: dict[str, ModuleType] = {}
    ahead = [f"{LANGUAGE}.frontend", f"{LANGUAGE}.llvm_text", f"{LANGUAGE}.jit", *roots]
    while ahead:
        name = ahead.pop()
        own = name in roots or name.rpartition(".")[0] in inside
        if own and name not in found and name in sys.modules:
            found[name] = sys.modules[name]
            for value in vars(found[name]).values():
                ahead.append(
                    value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") or ""
                )
    return digest_of(*(module_digest(name) for name in sorted(found)))


@cache
def module_digest(name: str) -> str:
    """A digest of a module of ours, which several kinds of machine code are made by."""
    return digest_of(sys.modules[name])


class _Known:
    """Values as text that says all they hold, whatever their addresses and the order of their sets."""

    def __init__(self) -> None:
        self.open: set[int] = set()  # what is being said, which may hold itself
        self.texts: dict[str, str] = {}  # of each file that was asked for, what it says now

    def of(self, value: object) -> object:
        if type(value) in ALONE:  # nearly everything is
            return value
        if type(value) is FunctionType:  # and of the rest nearly half
            return self.function(value)
        if isinstance(value, PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, CodeType):
            return code_digest(value)
        if id(value) in self.open:
            return "itself"
        self.open.add(id(value))
        try:
            return self.inside(value)
        finally:
            self.open.discard(id(value))

    def inside(self, value: Any) -> object:
        if isinstance(value, (list, tuple)):
            return type(value).__name__, [v if type(v) in ALONE else self.of(v) for v in value]
        if isinstance(value, (dict, Mapping)):
            return "map", [(self.of(k), v if type(v) in ALONE else self.of(v)) for k, v in value.items()]
        if isinstance(value, (set, frozenset)):
            return "set", sorted(repr(self.of(v)) for v in value)
        if isinstance(value, ModuleType):
            return "module", self.of({k: v for k, v in vars(value).items() if belongs(k, v, value.__name__)})
        name = getattr(value, "__qualname__", type(value).__qualname__)
        if isinstance(value, type):
            return "class", name, self.of({k: v for k, v in vars(value).items() if not follows(k, v)})
        if isinstance(value, (staticmethod, classmethod)):
            return type(value).__name__, self.of(value.__func__)
        if isinstance(value, property):
            return "property", self.of([value.fget, value.fset])
        if isinstance(value, cached_property):
            return "property", self.of(value.func)
        if isinstance(value, Enum):
            return name, value.name
        if dataclasses.is_dataclass(value):
            return name, [(f.name, self.of(getattr(value, f.name))) for f in dataclasses.fields(value)]
        if hasattr(value, "__wrapped__"):
            return "wrapped", self.of(value.__wrapped__)
        said_by_itself = repr(value)
        return name, said_by_itself if " at 0x" not in said_by_itself else type(value).__module__

    def function(self, f: FunctionType) -> object:
        if id(f) in self.open:
            return "itself"
        self.open.add(id(f))
        held = [v and self.of(v) for v in (f.__defaults__, f.__kwdefaults__, f.__annotations__, vars(f))]
        cells = [self.of(cell.cell_contents) for cell in f.__closure__ or ()]
        self.open.discard(id(f))
        file = f.__code__.co_filename
        text = self.texts.get(file)
        if text is None:
            text = self.texts[file] = text_digest(f)
        return f.__qualname__, code_digest(f.__code__), text, held, cells


_codes: dict[int, tuple[CodeType, str]] = {}  # by its address, as long as it lives: so it is kept


def code_digest(code: CodeType) -> str:
    """A digest of a function's code, which never changes. Of where its file is, it has what is said of that: no more
    gets into what is compiled, so the same texts in another folder are the same."""
    known = _codes.get(id(code))
    if known is None:
        file = code.co_filename
        held = marshal.dumps(code, MARSHAL).replace(
            marshal.dumps(file, MARSHAL), marshal.dumps(said_file(file), MARSHAL)
        )
        known = _codes[id(code)] = code, hashlib.sha256(held).hexdigest()
    return known[1]


def belongs(name: str, value: object, module: str) -> bool:
    """Whether a name of a module is of what it says: its functions and classes, those that it imports excepted, and
    its constants; what is private and no function is what it remembers."""
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, (FunctionType, type)) or hasattr(value, "__wrapped__"):
        return value.__module__ == module
    return not name.startswith("_")


def follows(name: str, value: object) -> bool:
    """Whether a name of a class follows from what else it says: what `dataclass` and Python add."""
    generated = isinstance(value, FunctionType) and value.__code__.co_filename == "<string>"
    return generated or name.startswith(("__dataclass_", "__dict__", "__weakref__", "__module__", "__match_args__"))
