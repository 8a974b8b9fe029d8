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
            return f"Annotated[int, OneOf({', '.join(repr(n) for n in self.names)})]"
        return f"Annotated[int, Range({self.low}, {self.high}{f', {self.widen!r}' if self.widen else ''})]"

    annotated = "int"


@dataclass(frozen=True)
class Flag:
    """A truth value."""

    declared = "bool"
    annotated = "bool"


@dataclass(frozen=True)
class Process:
    """A process, or nobody."""

    declared = "Node"
    annotated = "Node"


@dataclass(frozen=True)
class Members:
    """A set of processes."""

    declared = "set[Node]"


@dataclass(frozen=True)
class Numbers:
    """A set of the numbers 0..count-1."""

    count: int

    @property
    def declared(self) -> str:
        return f"set[Annotated[int, Range(0, {self.count - 1})]]"


@dataclass(frozen=True)
class Record:
    """A small immutable value with named parts."""

    name: str
    parts: tuple[tuple[str, Number], ...]
    ordered: bool

    @property
    def declared(self) -> str:
        return self.name

    @property
    def annotated(self) -> str:
        return self.name

    @property
    def definition(self) -> str:
        parts = "\n".join(f"    {name}: {kind.declared}" for name, kind in self.parts)
        return f"class {self.name}(RecordType{', ordered=True' if self.ordered else ''}):\n{parts}"


@dataclass(frozen=True)
class Row:
    """A sequence of at most `capacity` elements; `name`: as functions take one, empty: none does."""

    element: Number | Flag | Process | Record
    capacity: int
    name: str = ""

    @property
    def declared(self) -> str:
        return f"Annotated[SeqOf[{self.element.declared}], AtMost({self.capacity})]"

    @property
    def annotated(self) -> str:
        return self.name


Kind = Number | Flag | Process | Members | Numbers | Record | Row
FLAG, PROCESS, PROCESSES = Flag(), Process(), Members()


def key(axis: int | str) -> str:
    """What an axis is as an annotation: of processes, or of some numbers."""
    return f"Annotated[int, Range(0, {axis - 1})]" if isinstance(axis, int) else axis.replace("NODE", "Node")


def field_line(name: str, keys: list[str], kind: str, declared: str) -> str:
    """The line of a field in the class `State`."""
    return f"{name}: {''.join(f'Each[{k}, ' for k in keys)}{kind}{']' * len(keys)} = {declared}"


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
        keys = [*(["Node"] if self.of_process else []), *map(key, self.axes)]
        return field_line(self.name, keys, self.kind.declared, f'{self.role}("the {self.name}")')

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
