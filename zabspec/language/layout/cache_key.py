"""Compute cache keys: what compiled code is made from, as a digest of what Python has loaded.

A function is identified by its code and by the text of its file: CPython runs the code, the front end reads the text,
and `source.py` refuses a text that does not match the code. So an edited text, wherever it lies, gives another digest,
and no text that was edited while in use is compiled. A value is identified by all it holds.
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

from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.source import said_file, text_digest

LANGUAGE = "zabspec.language"
MARSHAL = 2  # the format that says nothing of how often an object is used

FOLLOWS = ("__dataclass_", "__dict__", "__weakref__", "__module__", "__match_args__", "__names__")
PLAIN = (int, str, bytes, float, complex, type(None), type(...))
ALONE = frozenset({*PLAIN, bool})  # what says all of itself
MADE = 1 << 9  # the flag of classes that were made by a program; others are Python's, the same by the same name
LONG = 16  # entries of a map of such values from which on a digest stands for it


def digest_of(*values: object) -> str:
    """Return a digest of values: functions, modules, classes, and whatever holds them."""
    return hashlib.sha256(repr([_Known().of(v) for v in values]).encode()).hexdigest()


def program_digest(
    layout: Layout,
    namespace: Mapping[str, Any],
    types: Mapping[str, Kind],
    handlers: Iterable[str],
    steps: Sequence[str],
) -> str:
    """Return a digest of all that a program's typed tree depends on, except the compiler."""
    return digest_of(layout.schema, dict(namespace), dict(types), sorted(handlers), list(steps))


@cache
def compiler_digest(*roots: str) -> str:
    """Return a digest of the named modules, the compiler, and what they import from their packages."""
    inside = {name.rpartition(".")[0] for name in roots} - {""}  # a module in no package is alone
    found: dict[str, ModuleType] = {}
    ahead = [f"{LANGUAGE}.front.frontend", f"{LANGUAGE}.native.llvm_text", f"{LANGUAGE}.native.jit", *roots]
    while ahead:
        name = ahead.pop()
        own = name in roots or name.rpartition(".")[0] in inside or name.startswith(f"{LANGUAGE}.")
        if own and name not in found and name in sys.modules:
            found[name] = sys.modules[name]
            for value in vars(found[name]).values():
                ahead.append(
                    value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") or ""
                )
    return digest_of(*(module_digest(name) for name in sorted(found)))


@cache
def module_digest(name: str) -> str:
    """Return a digest of a module of this project that several kinds of machine code depend on."""
    return digest_of(sys.modules[name])


class _Known:
    """Writes values as text with all they hold, independent of addresses and of the order of sets."""

    def __init__(self) -> None:
        self.open: set[int] = set()  # the values being written, which may contain themselves
        self.texts: dict[str, str] = {}  # the current contents of each file that was read
        # by its address: what a long map says; every function of a protocol holds the same one
        self.maps: dict[int, tuple[Mapping[Any, Any], object]] = {}

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
        if type(value) is dict and len(value) >= LONG:
            return self.long_map(value)
        if isinstance(value, (dict, Mapping)):
            return "map", [(self.of(k), v if type(v) in ALONE else self.of(v)) for k, v in value.items()]
        if isinstance(value, (set, frozenset)):
            return "set", sorted(repr(self.of(v)) for v in value)
        if isinstance(value, ModuleType):
            return "module", self.of({k: v for k, v in vars(value).items() if belongs(k, v, value.__name__)})
        name = getattr(value, "__qualname__", type(value).__qualname__)
        if isinstance(value, type) and not value.__flags__ & MADE:
            return "class of Python", value.__module__, name
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

    def long_map(self, value: dict[Any, Any]) -> object:
        """Return what a long map says: a digest if its keys and values say all of themselves.

        The digest stands for it however often it occurs, so that the result depends on equality alone. What else a map
        may hold is written out: it may refer to a value that is being written.
        """
        known = self.maps.get(id(value))
        if known is not None:
            return known[1]
        if not all(type(k) in ALONE and type(v) in ALONE for k, v in value.items()):
            return "map", [(self.of(k), v if type(v) in ALONE else self.of(v)) for k, v in value.items()]
        said = "long map", hashlib.sha256(repr(list(value.items())).encode()).hexdigest()
        self.maps[id(value)] = value, said  # kept, as it is known by its address
        return said

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
    """Return a digest of a function's code, which never changes.

    Of its file's location only the displayed part enters, so the same sources in another folder have the same digest.
    """
    known = _codes.get(id(code))
    if known is None:
        file = code.co_filename
        held = marshal.dumps(code, MARSHAL).replace(
            marshal.dumps(file, MARSHAL), marshal.dumps(said_file(file), MARSHAL)
        )
        known = _codes[id(code)] = code, hashlib.sha256(held).hexdigest()
    return known[1]


def belongs(name: str, value: object, module: str) -> bool:
    """Return whether a name of a module is part of its content.

    This holds for its functions and classes, except imported ones, and its constants; private names that are no
    functions are caches.
    """
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, (FunctionType, type)) or hasattr(value, "__wrapped__"):
        return value.__module__ == module
    return not name.startswith("_")


def follows(name: str, value: object) -> bool:
    """Return whether a name of a class follows from its other names: what `dataclass`, `Fields` and Python add.

    `Fields` keeps all names of a module, to read annotations by: what those mean is in the schema.
    """
    generated = isinstance(value, FunctionType) and value.__code__.co_filename == "<string>"
    return generated or name.startswith(FOLLOWS)
