"""The kinds of value that generated protocols have, and how each is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Number:
    """An integer in low..high; `size` is the text of the upper end where it follows from a size, `names` those of an
    enumeration."""

    low: int
    high: int
    names: tuple[str, ...] = ()
    widen: str = ""

    @property
    def declared(self) -> str:
        if self.names:
            return f"OneOf({', '.join(repr(n) for n in self.names)})"
        return f"Int({self.low}, {self.high}{f', {self.widen!r}' if self.widen else ''})"

    annotated = "int"


@dataclass(frozen=True)
class Flag:
    """A truth value."""

    declared = "Bool()"
    annotated = "bool"


@dataclass(frozen=True)
class Process:
    """A process, or nobody."""

    declared = "NodeId.of(size.nodes)"
    annotated = "Node"


@dataclass(frozen=True)
class Members:
    """A set of processes."""

    declared = "Processes(size.nodes)"


@dataclass(frozen=True)
class Numbers:
    """A set of the numbers 0..count-1."""

    count: int

    @property
    def declared(self) -> str:
        return f"SetOf({self.count})"


@dataclass(frozen=True)
class Record:
    """A small immutable value with named parts."""

    name: str
    parts: tuple[tuple[str, Number], ...]
    ordered: bool

    @property
    def declared(self) -> str:
        return self.name.upper()

    @property
    def annotated(self) -> str:
        return self.name

    @property
    def definition(self) -> str:
        parts = ", ".join(f'"{name}": {kind.declared}' for name, kind in self.parts)
        return f'{self.declared} = Record("{self.name}", {{{parts}}}{", ordered=True" if self.ordered else ""})'


@dataclass(frozen=True)
class Row:
    """A sequence of at most `capacity` elements; `name`: as functions take one, empty: none does."""

    element: Number | Flag | Process | Record
    capacity: int
    name: str = ""

    @property
    def declared(self) -> str:
        return f"Seq({self.element.declared}, {self.capacity})"

    @property
    def annotated(self) -> str:
        return self.name


Kind = Number | Flag | Process | Members | Numbers | Record | Row
FLAG, PROCESS, PROCESSES = Flag(), Process(), Members()


@dataclass(frozen=True)
class Cell:
    """A field of the state. `role` is the function that declares it; its axes follow the process, if it has one."""

    name: str
    kind: Kind
    role: str
    axes: tuple[int | str, ...] = ()

    @property
    def of_process(self) -> bool:
        return self.role in ("stored", "on_disk", "volatile")

    @property
    def declared(self) -> str:
        axes = "".join(f", {axis}" for axis in self.axes)
        return f'{self.role}("{self.name}", {self.kind.declared}, "the {self.name}"{axes})'

    @property
    def indices(self) -> tuple[int | str, ...]:
        return ("NODE", *self.axes) if self.of_process else self.axes


@dataclass(frozen=True)
class Mail:
    """A kind of message. Over connections `up`: to a leader."""

    name: str
    parts: Mapping[str, Kind] = field(hash=False)
    up: bool = False

    @property
    def handler(self) -> str:
        return f"on_{self.name.lower()}"


@dataclass(frozen=True)
class Function:
    """A helper: its parameters after the state and, if `own`, the process; what it returns (None: nothing)."""

    name: str
    own: bool
    stateful: bool
    parameters: tuple[tuple[str, Kind], ...]
    returns: Kind | None


@dataclass(frozen=True)
class Value:
    """The text of a number, and where it lies."""

    text: str
    low: int
    high: int
