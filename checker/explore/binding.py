"""Bind the names that kernels import from `checker/explore/interface.py` to what a model has for them.

Every kernel of a compilation is checked: each imported declaration is bound, nothing is bound that is not declared, and
each binding has the declared type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from zabspec.language.layout.source import annotated, definition
from zabspec.language.program import own_names

INTERFACE = "checker.explore.interface"
# operations that the front end emits itself
LANGUAGE = ("zabspec.language.python.memory", "zabspec.language.layout.wrapping")


class NotBound(TypeError):
    """A declared name was used in CPython, where nothing is bound to it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is bound when a model is compiled: CPython has only its declaration")


class WrongBinding(Exception):
    """A kernel and its bindings do not agree on a name; the message is a sentence that begins with the name."""


class Constant:
    """A declared constant before it is bound. It is not a number, so that no program can use it as one.

    Attributes:
        doc: what it is bound to.
    """

    def __init__(self, doc: str) -> None:
        self.doc = doc

    def not_bound(self, *_: object) -> NoReturn:
        raise NotBound(f"a constant ({self.doc})")

    __bool__ = __index__ = __int__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = not_bound
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __or__ = not_bound
    __hash__ = object.__hash__


def declared(doc: str) -> Any:
    """Declare a constant; its annotation is its type, `int` or `bool`."""
    return Constant(doc)


def is_declared(value: object) -> bool:
    """Return whether a name of a kernel's module is a declaration of the interface."""
    return isinstance(value, Constant) or (isinstance(value, FunctionType) and value.__module__ == INTERFACE)


def signature(function: FunctionType) -> str:
    """Return the types of a function's parameters and result, in the language's terms: a process is an integer."""
    node = definition(function)
    types = [a.annotation for a in node.args.args] + [node.returns]
    said = ["None" if kind is None else annotated(kind) for kind in types]
    *given, result = ("int" if kind == "Node" else kind for kind in said)
    return f"({', '.join(given)}) -> {result}"


def functions_of(modules: Iterable[ModuleType]) -> dict[str, Any]:
    """Return the functions, structs and constants that kernels define or import, except declarations.

    Raises:
        WrongBinding: two kernels define one name, and the later one does not declare that it replaces the earlier
            (`REPLACES`).
    """
    out: dict[str, Any] = {}
    for module in modules:
        replaces = getattr(module, "REPLACES", ())
        for name, value in own_names(module).items():
            if name.startswith("_") or is_declared(value) or getattr(value, "__module__", "") in LANGUAGE:
                continue
            if name not in replaces and out.get(name, value) != value:
                raise WrongBinding(f"{name} is defined by two kernels, the later of which is {module.__name__}")
            out[name] = value
    return out


def check_bindings(
    interface: ModuleType, kernels: Iterable[ModuleType], names: Mapping[str, Any], made: Iterable[str]
) -> None:
    """Check the bindings of a compilation against the interface.

    Args:
        interface: the module of declarations.
        kernels: the modules that import some of them.
        names: every name as it is bound; hooks are among them.
        made: those of the names that were generated for the kernels.

    Raises:
        WrongBinding: an imported declaration is not bound, a name is bound and not declared, or one is bound with
            another type than it is declared with.
    """
    there = {name: value for name, value in vars(interface).items() if is_declared(value)}
    for name in made:
        if name not in there:
            raise WrongBinding(f"{name} is bound for the kernels, and {interface.__name__} does not declare it")
        check_type(interface, name, names[name])
    for hook in interface.HOOKS:
        check_type(interface, hook.__name__, names[hook.__name__])
    for kernel in kernels:
        for name, value in vars(kernel).items():
            if is_declared(value):
                if there.get(name) is not value:
                    raise WrongBinding(f"{name} of {kernel.__name__} is declared under another name")
                needed = names.get(interface.ONLY_WITH.get(name, ""), True)
                if needed and (name not in names or is_unbound(names[name], interface)):
                    raise WrongBinding(f"{name} is imported by {kernel.__name__}, and nothing is bound to it")
                if name in names:
                    check_type(interface, name, names[name])


def is_unbound(value: object, interface: ModuleType) -> bool:
    """Return whether a value is a declaration that must be bound: all are except the hooks."""
    return is_declared(value) and not any(value is hook for hook in interface.HOOKS)


def check_type(interface: ModuleType, name: str, value: object) -> None:
    """Check that what is bound to a name has the declared type.

    Raises:
        WrongBinding: it has another type.
    """
    declaration = vars(interface)[name]
    if isinstance(declaration, Constant):
        wanted, found = interface.__annotations__[name], type(value).__name__
    else:
        wanted = signature(declaration)
        found = signature(value) if isinstance(value, FunctionType) else type(value).__name__
    if found != wanted:
        raise WrongBinding(f"{name} is declared as {wanted}, and bound to {found}")
