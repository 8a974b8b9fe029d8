"""Make kinds of annotations: what a class of a protocol declares its parts to be."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from zabspec.authoring.declaration import ConfigError, OneOf, Processes, Size
from zabspec.language.layout.kinds import Bool, Kind, Message, NodeId, Record, Seq
from zabspec.language.python.lang import MessageName
from zabspec.language.python.meanings import is_enumeration

EVALUATED = "begin the file with `from __future__ import annotations`: kinds are read as written"


@dataclass(frozen=True)
class Annotations:
    """What annotations mean at a size.

    Attributes:
        size: the size.
        roles: the roles, by the names of their types.
        types: further kinds by name.
    """

    size: Size
    roles: Mapping[str, str]
    types: Mapping[str, Record | Seq]

    def kind(self, said: object, names: Mapping[str, Any]) -> Kind | None:
        """Return the kind that an annotation means.

        Args:
            said: the annotation, as text.
            names: the names of its module.

        Returns:
            The kind; None if there is no such part at this size.

        Raises:
            ValueError: it means no kind.
        """
        if not isinstance(said, str):  # it was evaluated, where `Node` is a number like others
            raise ValueError(EVALUATED)
        size = self.size
        match ast.parse(said, mode="eval").body:
            case ast.Name(id="bool"):
                return Bool()
            case ast.Name(id="Node"):
                return NodeId.of(size.nodes)
            case ast.Name(id="Txn"):
                return size.txn
            case ast.Name(id="History"):
                return size.history
            case ast.Name(id=name) if name in self.roles:
                return NodeId.of(size.nodes, self.roles[name])
            case ast.Name(id=name) if name in self.types:
                return self.types[name]
            case ast.Subscript(value=ast.Name(id="set"), slice=ast.Name(id=of)) if of == "Node" or of in self.roles:
                return Processes(size.nodes, self.roles.get(of, ""))
        try:
            meant = eval(said, dict(names))
        except (NameError, AttributeError, TypeError, ConfigError) as problem:
            raise ValueError(f"{said} is no kind: {problem}") from None
        if is_enumeration(meant):
            return OneOf(meant)
        for given in getattr(meant, "__metadata__", ()):
            return given(size) if callable(given) else given  # type: ignore[no-any-return]
        more = "has no range: Annotated[int, Range(0, 3)]" if meant is int else "is no kind"
        raise ValueError(f"{said} {more}")


def messages_of(modules: Iterable[ModuleType], annotations: Annotations) -> list[Message]:
    """Return the messages that the classes of modules declare, in their order, each once.

    Raises:
        Misdeclared: a class declares something else.
    """
    found = {known.name: known for module in modules for known in vars(module).values() if is_declared(known)}
    return [message_of(known, annotations) for known in found.values()]


def is_declared(value: object) -> bool:
    """Return whether a value is the name of a message that has a class."""
    return isinstance(value, MessageName) and value.body is not None


class Misdeclared(ValueError):
    """A part of a class declares no kind.

    Attributes:
        message, part: the class, and the part; empty if it is the class itself.
    """

    def __init__(self, message: str, part: str, reason: str) -> None:
        super().__init__(reason)
        self.message, self.part = message, part


def message_of(known: MessageName, annotations: Annotations) -> Message:
    """Return the message that a class declares.

    Raises:
        Misdeclared: the class declares something else.
    """
    body: Mapping[str, Any] = known.body or {}
    parts: Mapping[str, str] = body.get("__annotations__", {})
    for name, value in body.items():
        if not name.startswith("__"):
            what = "a method" if callable(value) else "a value"
            raise Misdeclared(
                known.name, name, f"{known.name}.{name} is {what}: a message has fields, as `{name}: bool`"
            )
    kinds: dict[str, Kind] = {}
    for name, said in parts.items():
        try:
            kind = annotations.kind(said, known.names)
        except (Exception, SystemExit) as problem:
            what = "" if isinstance(problem, ValueError | ConfigError) else f"{type(problem).__name__}: "
            raise Misdeclared(known.name, name, f"{known.name}.{name}: {what}{problem}") from None
        if kind is not None:
            kinds[name] = kind
    return Message(known.name, kinds, known.to)
