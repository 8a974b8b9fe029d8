"""Kinds of values (section 2): the range of each, its low end, how it is stored, read and written as JSON.

A stored value is an ordinary immutable Python value, so that a state is a tuple of them:

- an integer, truth value or process: an `int` (or `bool`);
- a set: an `int`, whose bit k says whether k is a member;
- a record: a named tuple;
- a sequence: the tuple `(length, element, element, ...)`;
- a message: the tuple `(name, value, value, ...)`; no message is `()`.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

NOBODY = -1
Wrote = Callable[[int], None] | None


class Fault(Exception):
    """A runtime error of section 15.

    Args:
        text: what happened.
        capacity: whether it is a capacity error (R4) instead of the author's (R3).
    """

    def __init__(self, text: str, capacity: bool = False) -> None:
        super().__init__(text)
        self.capacity = capacity


class Kind:
    """The base of all kinds. A *derived* kind has a range that zabcheck chose: leaving it is a capacity error (R4)."""

    low: Any
    derived = False

    def store(self, value: Any) -> Any:
        """Return `value` as it is stored, or raise a `Fault` if it is out of range (K2, E10)."""
        raise NotImplementedError

    def view(self, cells: Any, index: int, wrote: Wrote = None) -> Any:
        """Return what a protocol sees of the value at `cells[index]`: the value, or an alias of the place (E8)."""
        return cells[index]

    def plain(self, value: Any) -> Any:
        """Return a stored value as JSON (W2)."""
        return value

    def of_plain(self, plain: Any) -> Any:
        """Return the stored value that `plain` writes."""
        return plain

    def same(self, value: Any) -> Any:
        """Return a stored value in the form in which equal values are identical: bags are sorted (D2)."""
        return value

    def derive(self) -> Any:
        """Mark the kind as derived, and return it."""
        self.derived = True
        return self


class Int(Kind):
    """Integers `lo..hi`."""

    def __init__(
        self, lo: int, hi: int, widen: str = "", names: tuple[str, ...] = (), members: tuple[str, ...] = ()
    ) -> None:
        self.lo, self.hi, self.widen, self.names, self.members = lo, hi, widen, tuple(names), tuple(members)
        self.low = lo

    def store(self, value: Any) -> int:
        if self.lo <= value <= self.hi:
            return value
        raise Fault(f"{value} is outside {self.lo}..{self.hi}", self.derived)

    def plain(self, value: Any) -> Any:
        return int(value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self.lo, self.hi) == (other.lo, other.hi)

    __hash__ = None  # type: ignore[assignment]


class Bool(Int):
    """Truth values."""

    def __init__(self) -> None:
        super().__init__(0, 1)
        self.low = False

    def store(self, value: Any) -> bool:
        return bool(super().store(value))

    def plain(self, value: Any) -> bool:
        return bool(value)


class NodeId(Int):
    """A process, or `NOBODY`."""

    @classmethod
    def of(cls, n: int, role: str = "") -> NodeId:
        """Return the kind for n processes; of which role they are changes no step (A2)."""
        return cls(NOBODY, n - 1)

    def plain(self, value: Any) -> int | None:
        return None if value == NOBODY else value

    def of_plain(self, plain: int | None) -> int:
        return NOBODY if plain is None else plain


def OneOf(*names: Any) -> Int:
    """Return the kind of the integers that stand for `names`, or for those of an enumeration."""
    if not isinstance(names[0], str):
        names = tuple(member.name for member in names[0])
    return Int(0, len(names) - 1, "", names)


class SetOf(Kind):
    """Sets of the integers `0..count-1`."""

    low = 0

    def __init__(self, count: int, nodes: bool = False, role: str = "") -> None:
        self.count, self.nodes = count, nodes

    def part(self, value: Any) -> tuple[int, ...]:
        """Return a set as a record has it: its members in order, which do not change (K8)."""
        self.store(value)
        return tuple(sorted(value))

    def member(self, value: int) -> int:
        """Return the bit of a member, or raise a `Fault` (K2)."""
        if 0 <= value < self.count:
            return 1 << value
        raise Fault(f"{value} is no member a set of {self.count} can have", self.derived)

    def store(self, value: Any) -> int:
        bits = 0
        for member in value:
            bits |= self.member(member)
        return bits

    def view(self, cells: Any, index: int, wrote: Wrote = None) -> SetView:
        return SetView(cells, index, self, wrote)

    def plain(self, value: Any) -> list[int]:
        return [k for k in range(self.count) if value >> k & 1]

    def of_plain(self, plain: list[int]) -> int:
        return self.store(plain)


def Processes(n: int, role: str = "") -> SetOf:
    """Return the kind of sets of processes; of which role they are changes no step (A2)."""
    return SetOf(n, nodes=True)


class SetView(Set):
    """An alias of a set in some place (E6, E8)."""

    __slots__ = ("cells", "index", "kind", "wrote")

    def __init__(self, cells: Any, index: int, kind: SetOf, wrote: Wrote = None) -> None:
        self.cells, self.index, self.kind, self.wrote = cells, index, kind, wrote

    def _write(self, bits: int) -> None:
        self.cells[self.index] = bits
        if self.wrote:
            self.wrote(self.index)

    def add(self, value: int) -> None:
        """Add a member."""
        self._write(self.cells[self.index] | self.kind.member(value))

    def discard(self, value: int) -> None:
        """Remove a member, if it is one."""
        self._write(self.cells[self.index] & ~self.kind.member(value))

    def clear(self) -> None:
        """Remove all members."""
        self._write(0)

    def __contains__(self, value: Any) -> bool:
        return 0 <= value < self.kind.count and bool(self.cells[self.index] >> value & 1)

    def __len__(self) -> int:
        return self.cells[self.index].bit_count()

    def __iter__(self) -> Iterator[int]:
        held = self.cells[self.index]  # E6
        return iter([k for k in range(self.kind.count) if held >> k & 1])

    def __eq__(self, other: Any) -> bool:
        return set(self) == set(other)

    @classmethod
    def _from_iterable(cls, members: Any) -> frozenset:
        return frozenset(members)

    __hash__ = None  # type: ignore[assignment]


def kept(value: Any) -> Any:
    """Return a value as a name keeps it: a set as it is now (E8)."""
    return frozenset(value) if isinstance(value, SetView) else value


class Record(Kind):
    """An immutable record of integers (K8)."""

    def __init__(self, name: str, fields: Mapping[str, Int], ordered: bool = False) -> None:
        self.name, self.fields, self.ordered = name, dict(fields), ordered
        self.type = namedtuple(name, self.fields)
        self.low = self.type(*(() if isinstance(kind, SetOf) else kind.low for kind in self.fields.values()))

    @staticmethod
    def kept(kind: Kind, value: Any) -> Any:
        """Return what a field has, or raise a `Fault` if it is out of range."""
        return kind.part(value) if isinstance(kind, SetOf) else kind.store(value)

    def make(self, /, **values: Any) -> Any:
        """Make a record, or raise a `Fault` if a field is out of range."""
        return self.type(**{name: self.kept(kind, values.pop(name)) for name, kind in self.fields.items()}, **values)

    def store(self, value: Any) -> Any:
        for part, kind in zip(value, self.fields.values(), strict=True):
            kind.store(part)
        return value

    def plain(self, value: Any) -> dict[str, Any]:
        parts = zip(value, self.fields.items(), strict=True)
        return {n: list(part) if isinstance(kind, SetOf) else kind.plain(part) for part, (n, kind) in parts}

    def of_plain(self, plain: dict[str, Any]) -> Any:
        return self.type(
            **{n: tuple(plain[n]) if isinstance(k, SetOf) else k.of_plain(plain[n]) for n, k in self.fields.items()}
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and (self.name, self.fields) == (other.name, other.fields)

    __hash__ = None  # type: ignore[assignment]


class Seq(Kind):
    """Sequences of at most `capacity` elements (K3-K7)."""

    low = (0,)

    def __init__(self, element: Kind, capacity: int, widen: str = "", bag: bool = False) -> None:
        self.element, self.capacity, self.widen, self.bag = element, capacity, widen, bag

    def cell(self, row: tuple, k: int) -> Any:
        """Return cell k of a stored sequence, or raise a `Fault` (K3)."""
        if 0 <= k < self.capacity:
            return row[k + 1] if k + 1 < len(row) else self.element.low
        raise Fault(f"index {k} of a sequence of {self.capacity}", self.derived)

    def replaced(self, row: tuple, k: int, value: Any) -> tuple:
        """Return a stored sequence with another value in element k, or raise a `Fault` (K4)."""
        if not 0 <= k < row[0]:
            raise Fault(f"no element {k} to assign to")
        return (*row[: k + 1], value, *row[k + 2 :])

    def appended(self, row: tuple, value: Any) -> tuple:
        """Return a stored sequence with one more element, or raise a `Fault` (K5)."""
        if row[0] >= self.capacity:
            raise Fault(f"a sequence of {self.capacity} is full", self.derived)
        return (row[0] + 1, *row[1:], value)

    def removed(self, row: tuple, k: int) -> tuple:
        """Return a stored sequence without element k, or raise a `Fault` (K5)."""
        if not 0 <= k < row[0]:
            raise Fault(f"no element {k} to remove", self.derived)
        return (row[0] - 1, *row[1 : k + 1], *row[k + 2 :])

    def store(self, value: Any) -> tuple:
        if isinstance(value, SeqView) and value.kind == self:
            return value.stored()
        row: tuple = (0,)
        for element in value:  # K7
            row = self.appended(row, self.element.store(element))
        return row

    def view(self, cells: Any, index: int, wrote: Wrote = None) -> SeqView:
        return SeqView(cells, index, self, wrote)

    def plain(self, value: Any) -> Any:
        elements = [self.element.plain(v) for v in value[1:]]
        return sorted(elements, key=canonical) if self.bag else elements

    def of_plain(self, plain: list[Any]) -> tuple:
        return (len(plain), *map(self.element.of_plain, plain))

    def same(self, value: Any) -> Any:
        if not self.bag:
            return value
        return (value[0], *sorted(value[1:]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seq) and (self.capacity, self.element) == (other.capacity, other.element)

    __hash__ = None  # type: ignore[assignment]


class SeqView:
    """An alias of a sequence in some place (E5, E8)."""

    __slots__ = ("cells", "index", "kind", "wrote")

    def __init__(self, cells: Any, index: int, kind: Seq, wrote: Wrote = None) -> None:
        self.cells, self.index, self.kind, self.wrote = cells, index, kind, wrote

    def stored(self) -> tuple:
        """Return the stored sequence."""
        return self.cells[self.index]

    def _write(self, row: tuple) -> None:
        self.cells[self.index] = row
        if self.wrote:
            self.wrote(self.index)

    def __len__(self) -> int:
        return self.cells[self.index][0]

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):  # E15
            if (k.start or 0) < 0 or (k.stop or 0) < 0:
                raise Fault("a slice from below the first element")
            return [*self][k]
        value = self.kind.cell(self.cells[self.index], k)
        return value if isinstance(self.kind.element, Int | Record) else self.kind.element.view(_Elements(self), k)

    def __setitem__(self, k: int, value: Any) -> None:
        stored = self.kind.element.store(value)
        self._write(self.kind.replaced(self.cells[self.index], k, stored))

    def append(self, value: Any) -> None:
        """Append an element (K5)."""
        self._write(self.kind.appended(self.cells[self.index], self.kind.element.store(value)))

    def __add__(self, other: Any) -> list:
        return [*self, *other]

    def __radd__(self, other: Any) -> list:
        return [*other, *self]

    def pop(self, *place: int) -> Any:
        """Remove an element, the last one if no place is given, and return it (E15)."""
        k = place[0] if place else len(self) - 1
        left, value = self.kind.removed(self.cells[self.index], k), kept(self[k])
        self._write(left)
        return value

    def clear(self) -> None:
        """Remove all elements (K5)."""
        self._write((0,))

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self)):  # E5
            yield kept(self[k])

    def __contains__(self, value: Any) -> bool:
        return any(self[k] == value for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Compare as K6 defines it."""
        if not isinstance(other, SeqView):
            return NotImplemented
        if self.kind.capacity == other.kind.capacity:
            return self.stored() == other.stored()
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class _Elements:
    """The cells of a sequence as places: what a set or sequence within a sequence is an alias of."""

    __slots__ = ("parent",)

    def __init__(self, parent: SeqView) -> None:
        self.parent = parent

    def __getitem__(self, k: int) -> Any:
        return self.parent.kind.cell(self.parent.stored(), k)

    def __setitem__(self, k: int, value: Any) -> None:
        self.parent._write(self.parent.kind.replaced(self.parent.stored(), k, value))


class Message:
    """The declaration of one kind of message (K9)."""

    def __init__(self, name: str, fields: Mapping[str, Kind], to: str = "") -> None:
        self.name, self.fields, self.to = str(name), dict(fields), to
        self.kinds = tuple(self.fields.values())
        self.place = {field: k + 1 for k, field in enumerate(self.fields)}

    def make(self, /, **values: Any) -> Letter:
        """Make a message, or raise a `Fault` if a field is out of range."""
        parts = [kind.store(values.pop(name)) for name, kind in self.fields.items()]
        if values:
            raise TypeError(f"{self.name} has no {sorted(values)}")
        return Letter(self, (self.name, *parts))

    def plain(self, raw: tuple) -> dict[str, Any]:
        """Return a stored message of this kind as JSON."""
        parts = {name: kind.plain(v) for v, (name, kind) in zip(raw[1:], self.fields.items(), strict=True)}
        return {"message": self.name, **parts}


class Letter:
    """A message as a protocol sees it: `kind`, its fields, and over datagrams `source`, `target` and `ahead`."""

    __slots__ = ("__declared__", "ahead", "raw", "source", "target")

    def __init__(
        self, declared: Message | None, raw: tuple, source: int = NOBODY, target: int = NOBODY, ahead: int = 0
    ) -> None:
        self.__declared__, self.raw, self.source, self.target, self.ahead = declared, raw, source, target, ahead

    @property
    def kind(self) -> str | None:
        """Return the name of the message's kind; no message has none."""
        return self.raw[0] if self.raw else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__declared__ is None or name not in self.__declared__.place:
            raise AttributeError(name)
        place = self.__declared__.place[name]
        return self.__declared__.kinds[place - 1].view(self.raw, place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Letter) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment]


NO_MESSAGE = Letter(None, ())


class MessageUnion(Kind):
    """A message of any of some kinds, or no message."""

    low = ()

    def __init__(self, messages: Any, envelope: Mapping[str, Kind] | None = None) -> None:
        self.messages = tuple(messages)
        self.by_name = {m.name: m for m in self.messages}

    def store(self, value: Letter) -> tuple:
        if not value.raw:
            return ()
        mine = self.by_name[value.raw[0]]
        if mine is value.__declared__:
            return value.raw
        return mine.make(**{name: getattr(value, name) for name in mine.fields}).raw

    def view(self, cells: Any, index: int, wrote: Wrote = None) -> Letter:
        raw = cells[index]
        return Letter(self.by_name[raw[0]], raw) if raw else NO_MESSAGE

    def plain(self, value: tuple) -> Any:
        return self.by_name[value[0]].plain(value) if value else None

    def of_plain(self, plain: dict[str, Any] | None) -> tuple:
        if plain is None:
            return ()
        kind = self.by_name[plain["message"]]
        return (kind.name, *(k.of_plain(plain[name]) for name, k in kind.fields.items()))


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a plain value (W2)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
