"""Run programs in CPython, as the Python that they are, over views of the bytes: the reference world.

A state is the same bytes as in every other world, so states pass between worlds unchanged. The views below read and
write those bytes, and raise `RangeError` where a compiled program would report an error site.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from types import FunctionType
from typing import Any, NoReturn

from zabspec.language.layout import wrapping
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.error_sites import BELOW_ZERO, NO_ENTRY, SHIFTED, TOO_WIDE, members_of, of_author, remedy
from zabspec.language.layout.kinds import MOST_MEMBERS, Bool, Int, Kind, MessageUnion, OptionalInt, Record, Seq, SetOf
from zabspec.language.layout.notation import value_text
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.schema import NODE, Field, Layout, Schema
from zabspec.language.layout.schema import Role as FieldRole
from zabspec.language.layout.source import LanguageError
from zabspec.language.python import lang
from zabspec.language.python.arithmetic import CHECKED, INSTEAD
from zabspec.language.python.beginnings import BEGIN, beginning
from zabspec.language.python.lang import NOBODY, MessageName
from zabspec.language.python.sentences import MARK, ExplainedFalse, explained_all, with_sentences
from zabspec.roles import Role

BY_ZERO = "would be divided by zero"


class RangeError(Exception):
    """A value would leave its range: the field, the step that did it, and the flag that widens it.

    Attributes:
        field: the field in which it was to be stored, or from which it was read.
        problem: the error, as every world reports it.
        widen: the flag that widens the range; empty if the author of the protocol declared it.
        told: the error with the value, if it is known.
        at: if the place lies in a state, its bytes, the offset, and by how many of its axes the field was indexed.
    """

    def __init__(
        self,
        field: str,
        problem: str,
        widen: str = "",
        told: str = "",
        at: tuple[bytearray, int, int | None] | None = None,
    ) -> None:
        super().__init__(f"{field} {problem}" + (f"; {remedy(widen)}" if widen else ""))
        self.field, self.problem, self.widen = field, problem, widen
        self.told, self.at = told, at

    def __reduce__(self) -> tuple[type[RangeError], tuple[object, ...]]:
        """Return how another process makes it, as for `LanguageError`."""
        return type(self), (self.field, self.problem, self.widen, self.told)

    @property
    def of_author(self) -> bool:
        """Return whether it is the author's error, rather than a capacity of the model that was too small."""
        return of_author(self.widen)


NO_PROCESS = RangeError("forget", "takes a process")
ERRORS = (RangeError, ZeroDivisionError)  # the exceptions that are error sites here


def range_error(problem: RangeError | ZeroDivisionError, where: str) -> RangeError:
    """Return an error as it is in every world, with the step or the property in which it was met."""
    if isinstance(problem, RangeError):
        return RangeError(problem.field, f"{problem.problem} in {where}", problem.widen)
    return RangeError("an integer", f"{BY_ZERO} in {where}")


class RecordValue:
    """A record: immutable, compared by value."""

    __slots__ = ("record", "word")

    def __init__(self, record: Record, word: int) -> None:
        set_record(self, record)
        set_word(self, word)

    record: Record
    word: int

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("records do not change")

    def __getattr__(self, name: str) -> Any:
        shift, mask, least = self.record.places[name]
        word = self.word >> shift & mask
        kind = self.record.fields[name]
        if isinstance(kind, SetOf):
            return SetView(bytearray(word.to_bytes(kind.size, "little")), 0, kind, f"{self.record.name}.{name}")
        if isinstance(kind, OptionalInt):
            return Named(kind, word + least)
        return bool(word) if isinstance(kind, Bool) else word + least

    def __eq__(self, other: object) -> bool:
        return self.word == other.word if isinstance(other, RecordValue) else NotImplemented

    def __lt__(self, other: RecordValue) -> bool:
        return self.word < other.word

    def __le__(self, other: RecordValue) -> bool:
        return self.word <= other.word

    def __hash__(self) -> int:
        return hash(self.word)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value_text(k, getattr(self, name))}" for name, k in self.record.fields.items())
        return f"{self.record.name}({inner})"

    def __str__(self) -> str:
        return value_text(self.record, self)


# what lets nobody change it is filled by its slots
set_record, set_word = (RecordValue.__dict__[name].__set__ for name in ("record", "word"))


class Named(int):
    """A value of an enumeration: a number that is written by its name."""

    def __new__(cls, kind: Int, value: int) -> Named:
        self = super().__new__(cls, value)
        self.kind = kind
        return self

    kind: Int

    def __str__(self) -> str:
        return self.kind.named(int(self))


def read(buffer: bytearray, at: int, kind: Kind, label: str) -> Any:
    """Return the value at a place, or a view of it."""
    if isinstance(kind, Int):
        size = kind.size
        word = buffer[at] if size == 1 else int.from_bytes(buffer[at : at + size], "little")
        if kind.worded:
            return Named(kind, word + kind.lo)
        return bool(word) if isinstance(kind, Bool) else word + kind.lo
    if isinstance(kind, Record):
        size = kind.size
        return RecordValue(kind, buffer[at] if size == 1 else int.from_bytes(buffer[at : at + size], "little"))
    if isinstance(kind, SetOf):
        return SetView(buffer, at, kind, label)
    if isinstance(kind, Seq):
        return SeqView(buffer, at, kind, label)
    assert isinstance(kind, MessageUnion)
    return MessageView(buffer, at, kind)


def outside(kind: Int, number: int) -> tuple[str, str, str]:
    """Return what is wrong with a number outside a range, what widens it, and the same with the number."""
    span = f"{kind.lo}..{kind.hi}"
    return f"would leave its range {span}", kind.widen, f"would be {number}, declared {span}"


def write(buffer: bytearray, at: int, kind: Kind, value: Any, label: str) -> None:
    """Store a value after checking its range."""
    if isinstance(kind, Int):
        number = int(value)
        if not kind.lo <= number <= kind.hi:
            raise RangeError(label, *outside(kind, number), (buffer, at, None))
        size = kind.size
        if size == 1:
            buffer[at] = number - kind.lo
        else:
            buffer[at : at + size] = (number - kind.lo).to_bytes(size, "little")
    elif isinstance(kind, Record):
        buffer[at : at + kind.size] = value.word.to_bytes(kind.size, "little")
    elif isinstance(kind, SetOf):
        mask = value.mask if isinstance(value, SetView) and value.kind == kind else mask_of(value, kind, label)
        buffer[at : at + kind.size] = mask.to_bytes(kind.size, "little")
    elif isinstance(kind, Seq) and (isinstance(value, list) or value.kind != kind):
        filled, elements = SeqView(buffer, at, kind, label), list(value)
        filled.clear()
        for element in elements:
            filled.append(element)
    else:
        buffer[at : at + kind.size] = value.raw()


def mask_of(members: Iterable[int], kind: SetOf, label: str) -> int:
    """Return the mask of a set, after checking that a place of a kind can have its members."""
    made = SetView(bytearray(kind.size), 0, kind, label)
    for member in members:
        made.add(member)
    return made.mask


def a_set(*members: int) -> frozenset[int]:
    """Return the set of a few members, `{a, b}`."""
    mask_of(members, SetOf(MOST_MEMBERS), "a set")
    return frozenset(members)


def kept(value: Any) -> Any:
    """Return a value as a local name keeps it: a set of the state as it is now."""
    if not isinstance(value, SetView):
        return value
    return SetView(bytearray(value.mask.to_bytes(8, "little")), 0, value.kind, value.label)


def hold(is_true: bool, field: str, problem: str) -> None:
    """Check an `assert`."""
    if not is_true:
        raise RangeError(field, problem)


class SetView(Set[int]):
    """A set of small numbers in a state. What operators make of it is a set of Python's."""

    __slots__ = ("at", "buffer", "kind", "label")

    def __init__(self, buffer: bytearray, at: int, kind: SetOf, label: str) -> None:
        self.buffer, self.at, self.kind, self.label = buffer, at, kind, label

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> frozenset[Any]:
        return frozenset(it)

    @property
    def mask(self) -> int:
        at, size = self.at, self.kind.size
        return self.buffer[at] if size == 1 else int.from_bytes(self.buffer[at : at + size], "little")

    def _put(self, mask: int) -> None:
        self.buffer[self.at : self.at + self.kind.size] = mask.to_bytes(self.kind.size, "little")

    def _check(self, item: int) -> None:
        if not 0 <= item < self.kind.count:
            last = self.kind.count - 1
            told = f"cannot have the member {int(item)}: its members are 0..{last}"
            raise RangeError(self.label, members_of(self.kind.count), "", told, (self.buffer, self.at, None))

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and 0 <= item < self.kind.count and bool(self.mask >> item & 1)

    def __iter__(self) -> Iterator[int]:
        return iter(self.kind.members(self.mask))

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __str__(self) -> str:
        return value_text(self.kind, self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (set, frozenset)):  # one that the function made
            return set(self) == other
        return self.mask == other.mask if isinstance(other, SetView) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def add(self, item: int) -> None:
        self._check(item)
        self._put(self.mask | 1 << item)

    def discard(self, item: int) -> None:
        self._check(item)
        self._put(self.mask & ~(1 << item))

    def clear(self) -> None:
        self._put(0)


class SeqView:
    """A sequence in a state or a message."""

    __slots__ = ("at", "buffer", "kind", "label")

    def __init__(self, buffer: bytearray, at: int, kind: Seq, label: str) -> None:
        self.buffer, self.at, self.kind, self.label = buffer, at, kind, label

    def raw(self) -> bytes:
        return bytes(self.buffer[self.at : self.at + self.kind.size])

    def __len__(self) -> int:
        at, size = self.at, self.kind.header
        return self.buffer[at] if size == 1 else int.from_bytes(self.buffer[at : at + size], "little")

    def _place(self, k: int) -> int:
        if not 0 <= k < self.kind.capacity:
            last = self.kind.capacity - 1
            told = f"has no place {k}: its places are 0..{last}"
            raise RangeError(self.label, f"has no place beyond {last}", "", told, (self.buffer, self.at, None))
        return self.at + self.kind.header + k * self.kind.element.size

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            low, up = 0 if k.start is None else k.start, len(self) if k.stop is None else k.stop
            hold(low >= 0 and up >= 0, self.label, BELOW_ZERO)
            return [self[at] for at in range(low, min(up, len(self)))]
        kind = self.kind
        element = kind.element
        at = self.at + kind.header + k * element.size if 0 <= k < kind.capacity else self._place(k)
        if isinstance(element, (SetOf, Seq)) and k >= len(self):
            unwritten = NoEntry(self.buffer)
            unwritten.error = self._no_entry(k)
            return read(unwritten, at, element, self.label)
        return read(self.buffer, at, element, self.label)

    def _no_entry(self, k: int) -> RangeError:
        """Return the error for writing an element that does not exist."""
        count = len(self)
        told = f"has {count} {'entry' if count == 1 else 'entries'}, none at {int(k)}"
        return RangeError(self.label, NO_ENTRY, "", told, (self.buffer, self.at, None))

    def __setitem__(self, k: int, value: Any) -> None:
        if not 0 <= k < len(self):
            raise self._no_entry(k)
        write(self.buffer, self._place(k), self.kind.element, value, self.label)

    def __iter__(self) -> Iterator[Any]:
        return (kept(self[k]) for k in range(len(self)))

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def __str__(self) -> str:
        return value_text(self.kind, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeqView):
            return NotImplemented
        return self.raw() == other.raw() if self.kind == other.kind else list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def _resize(self, count: int) -> None:
        self.buffer[self.at : self.at + self.kind.header] = count.to_bytes(self.kind.header, "little")

    def append(self, value: Any) -> None:
        count = len(self)
        if count >= self.kind.capacity:
            most = self.kind.capacity
            told = f"would hold {count + 1} elements, declared at most {most}"
            at = self.buffer, self.at, None
            raise RangeError(self.label, f"would hold more than {most}", self.kind.widen, told, at)
        write(self.buffer, self._place(count), self.kind.element, value, self.label)
        self._resize(count + 1)

    def pop(self, k: int | None = None) -> Any:
        """Remove an element, by default the last one, and return it; those behind it move up."""
        count = len(self)
        k = count - 1 if k is None else k
        if not 0 <= k < count:
            told = f"has no element {k} to remove: it holds {count}"
            raise RangeError(self.label, "has no such place", "", told, (self.buffer, self.at, None))
        value = kept(self[k])
        size = self.kind.element.size
        start = self.at + self.kind.header
        rest = bytes(self.buffer[start + (k + 1) * size : start + count * size])
        self.buffer[start + k * size : start + count * size] = rest + bytes(size)
        self._resize(count - 1)
        return value

    def clear(self) -> None:
        self.buffer[self.at : self.at + self.kind.size] = bytes(self.kind.size)


class NoEntry(bytearray):
    """The bytes of an element that a sequence does not have, as a set or sequence; nothing is written there."""

    error: RangeError

    def __setitem__(self, at: Any, value: Any) -> None:
        raise self.error


class MessageView:
    """A message, in a state or made by a program."""

    __slots__ = ("at", "buffer", "union")

    def __init__(self, buffer: bytearray, at: int, union: MessageUnion) -> None:
        set_message_buffer(self, buffer)
        set_at(self, at)
        set_union(self, union)

    buffer: bytearray
    at: int
    union: MessageUnion

    def raw(self) -> bytes:
        return bytes(self.buffer[self.at : self.at + self.union.size])

    def __str__(self) -> str:
        return value_text(self.union, self)

    @property
    def kind(self) -> _Tag:
        tag = _Tag(self.buffer[self.at])
        tag.name = self.name
        return tag

    @property
    def name(self) -> str:
        """Return the kind's name; empty for no message."""
        tag = self.buffer[self.at]
        return self.union.messages[tag - 1].name if tag else ""

    def __getattr__(self, name: str) -> Any:
        union = self.union
        found = union.envelope_places.get(name)
        if found is None:
            tag = self.buffer[self.at] - 1
            found = union.places[tag].get(name)
            if found is None:
                raise AttributeError(f"{union.messages[tag].name} has no field {name}")
        offset, kind, label = found
        return read(self.buffer, self.at + offset, kind, label)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.union.envelope:
            raise AttributeError("a message does not change, its envelope excepted")
        at, kind, _ = self.union.envelope_places[name]
        write(self.buffer, self.at + at, kind, value, f"the envelope's {name}")


set_message_buffer, set_at, set_union = (MessageView.__dict__[name].__set__ for name in ("buffer", "at", "union"))


class _Tag(int):
    """The tag of a message: equal to the name of its kind."""

    name = ""

    def __str__(self) -> str:
        return self.name or "no message"

    def __eq__(self, other: object) -> bool:
        tag = other.tag if isinstance(other, _BoundName) else other
        return isinstance(tag, int) and int(self) == int(tag)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


class _BoundName:
    """The name of a kind of message, in one program: makes messages of that kind."""

    def __init__(self, union: MessageUnion, name: str) -> None:
        self.union, self.name, self.tag = union, name, union.tag(name)
        self.fields = union.named(name).fields
        self.offsets = union.offsets(name)

    def __str__(self) -> str:
        return self.name

    def __call__(self, /, **given: Any) -> MessageView:
        if set(given) != set(self.fields):
            raise TypeError(f"{self.name} takes exactly the fields {', '.join(self.fields)}")
        buffer = bytearray(self.union.size)
        buffer[0] = self.tag
        for name, value in given.items():
            write(buffer, self.offsets[name], self.fields[name], value, f"{self.name}.{name}")
        return MessageView(buffer, 0, self.union)


def _record_maker(record: Record) -> Any:
    def make(**given: Any) -> RecordValue:
        if set(given) != set(record.fields):
            raise TypeError(f"{record.name} takes exactly the fields {', '.join(record.fields)}")
        for name, kind in record.fields.items():
            if isinstance(kind, SetOf):
                given[name] = mask_of(given[name], kind, f"{record.name}.{name}")
            elif not kind.lo <= given[name] <= kind.hi:
                raise RangeError(f"{record.name}.{name}", *outside(kind, int(given[name])))
        return RecordValue(record, record.pack(given))

    return make


class _Axis:
    """A field over one or more axes, some of them already indexed."""

    __slots__ = ("base", "buffer", "field", "sizes", "strides")

    def __init__(
        self, buffer: bytearray, field: Field, base: int, sizes: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.buffer, self.field, self.base, self.sizes, self.strides = buffer, field, base, sizes, strides

    def _at(self, index: int) -> int:
        if not 0 <= index < self.sizes[0]:
            last, given = self.sizes[0] - 1, len(self.field.axes) - len(self.sizes)
            told = f"has no entry {int(index)}: its entries are 0..{last}"
            if index == NOBODY and self.field.axes[given] == NODE:
                told = f"has no entry of NOBODY: its entries are those of processes, 0..{last}"
            at = self.buffer, self.base, given
            raise RangeError(self.field.name, f"has no entry outside 0..{last}", "", told, at)
        return self.base + index * self.strides[0]

    def __getitem__(self, index: int) -> Any:
        sizes, strides = self.sizes, self.strides
        at = self.base + index * strides[0] if 0 <= index < sizes[0] else self._at(index)
        if len(sizes) == 1:
            return read(self.buffer, at, self.field.kind, self.field.name)
        return _over(self.buffer, self.field, at, sizes[1:], strides[1:])

    def __setitem__(self, index: int, value: Any) -> None:
        write(self.buffer, self._at(index), self.field.kind, value, self.field.name)

    def __len__(self) -> int:
        return self.sizes[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.sizes[0]))


class _Bytes(_Axis):
    """A field over one axis whose values are single bytes without names, as most fields that are read often."""

    __slots__ = ("lo", "size", "stride", "truth")

    def __init__(
        self, buffer: bytearray, field: Field, base: int, sizes: tuple[int, ...], strides: tuple[int, ...], kind: Int
    ) -> None:
        self.buffer, self.field, self.base, self.sizes, self.strides = buffer, field, base, sizes, strides
        self.size, self.stride, self.lo, self.truth = sizes[0], strides[0], kind.lo, isinstance(kind, Bool)

    def __getitem__(self, index: int) -> Any:
        word = self.buffer[self.base + index * self.stride if 0 <= index < self.size else self._at(index)]
        return bool(word) if self.truth else word + self.lo


def _over(buffer: bytearray, field: Field, base: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> _Axis:
    """Return a field over the remaining axes."""
    kind = field.kind
    if len(sizes) == 1 and isinstance(kind, Int) and kind.size == 1 and not kind.worded:
        return _Bytes(buffer, field, base, sizes, strides, kind)
    return _Axis(buffer, field, base, sizes, strides)


class StateView:
    """A state, seen through its schema: `s.field[i]` reads and writes its bytes.

    A field over axes becomes an attribute at its first use, which Python then finds by itself.
    """

    __slots__ = ("__dict__", "buffer", "layout")

    def __init__(self, layout: Layout, data: bytes | None = None) -> None:
        set_layout(self, layout)
        buffer = bytearray(layout.total)
        if data is not None:
            buffer[: len(data)] = data
        set_buffer(self, buffer)

    layout: Layout
    buffer: bytearray

    def __getattr__(self, name: str) -> Any:
        found = self.layout.places.get(name)
        if found is None:  # no field is called as a constant is
            constant = self.layout.schema.constants.get(name)
            if constant is None:
                raise AttributeError(f"the state has no field {name}")
            return constant
        field, base, sizes, strides = found
        if not strides:
            return read(self.buffer, base, field.kind, name)
        axis = self.__dict__[name] = _over(self.buffer, field, base, sizes, strides)
        return axis

    def __setattr__(self, name: str, value: Any) -> None:
        found = self.layout.places.get(name)
        if found is None or found[3]:
            raise AttributeError(f"{name} is not a plain field of the state")
        write(self.buffer, found[1], found[0].kind, value, name)

    def forget(self, p: int) -> None:
        """Reset every volatile field of process p to the lowest value of its range."""
        if not 0 <= p < self.layout.schema.nodes:
            told = f"takes a process, 0..{self.layout.schema.nodes - 1}, not {int(p)}"
            raise RangeError(NO_PROCESS.field, NO_PROCESS.problem, "", told)
        for field in self.layout.schema.fields:
            if field.role is FieldRole.VOLATILE:
                stride, pieces, size = self.layout.of_process(field)
                for at in pieces:
                    self.buffer[at + p * stride : at + p * stride + size] = bytes(size)

    def is_quorum(self, members: Iterable[int] | int, of: Role | Iterable[int] | None = None) -> bool:
        """Return whether a set of processes, or a mask of them, is a quorum; of a role or a set, if one is named."""
        mask = members if isinstance(members, int) else sum(1 << p for p in set(members))
        if isinstance(of, Role):
            return mask.bit_count() >= of.majority
        if of is not None:
            whole = sum(1 << p for p in set(of))
            return 2 * (mask & whole).bit_count() > whole.bit_count()
        system = self.layout.schema.quorums
        return bool(mask.bit_count() >= self.MAJORITY if system is None else system.has(mask))

    def key(self) -> bytes:
        """Return the state without step annotations, by which states are compared."""
        return bytes(self.buffer[: self.layout.size])

    def copy(self) -> StateView:
        return StateView(self.layout, bytes(self.buffer))


set_layout, set_buffer = (StateView.__dict__[name].__set__ for name in ("layout", "buffer"))


def load(layout: Layout, namespace: Mapping[str, Any], types: Mapping[str, Kind], steps: list[str]) -> dict[str, Any]:
    """Return the program in CPython: every function bound to the program's own names.

    Entering a function marked as a step of the paper sets that step's bit in `s.steps`. If a process may fail within a
    handler, the program has a function `lasts`, which names the handlers: a run-time error met in one of them where
    nothing lasts any more does not happen.
    """
    out: dict[str, Any] = {name: getattr(wrapping, name) for name in wrapping.__all__}
    union = types.get("AnyMessage")
    sets = frozenset(name for name, kind in named_kinds(layout.schema, types) if isinstance(kind, SetOf))
    for name, value in namespace.items():
        if isinstance(value, MessageName) and isinstance(union, MessageUnion):
            if any(m.name == value.name for m in union.messages):
                out[name] = _BoundName(union, value.name)
        elif not isinstance(value, FunctionType):
            out[name] = value
    for name, kind in types.items():
        if isinstance(kind, Record):
            out[name] = _record_maker(kind)
    out["__builtins__"] = __builtins__
    for name, value in namespace.items():
        if isinstance(value, FunctionType) and name not in wrapping.__all__:
            apart = getattr(value, "apart", None)
            seen = out if apart is None else Apart(out, apart)
            try:
                code = with_sentences(value, sets)
            except LanguageError as problem:
                if MARK in global_names(value.__code__):
                    raise
                # It is in the module and need not be part of the program: an error only where something calls it.
                out[name] = _unreadable(problem)
                continue
            bound = FunctionType(code, seen, name, value.__defaults__, value.__closure__)
            paper_step = getattr(value, "paper_step", None)
            out[name] = bound if paper_step is None else _counted(bound, 1 << steps.index(paper_step))
    for name in BEGIN:
        if isinstance(value := namespace.get(name), FunctionType) and is_own_file(value.__code__.co_filename):
            out[name] = beginning(out[name], out)
    for name in out.keys() & set(getattr(namespace.get("lasts"), "handlers", ())):
        out[name] = _until_failed(out[name], out["lasts"])
    out |= OPERATIONS
    out["forget"] = lambda s, p: s.forget(p)
    for name, word in about_roles(layout.schema, out).items():
        given = namespace.get(name)
        if given is None or (isinstance(given, FunctionType) and given.__module__ == lang.__name__):
            out[name] = word  # a protocol without roles may have a function of its own with this name
    out[MARK] = ExplainedFalse
    out.setdefault("all", explained_all)
    return out


def named_kinds(schema: Schema, types: Mapping[str, Kind]) -> Iterator[tuple[str, Kind]]:
    """Yield what fields of states, messages and records hold, by the names of the fields."""
    for f in schema.fields:
        yield f.name, f.kind.element if isinstance(f.kind, Seq) else f.kind
    for kind in types.values():
        for held in (kind, *kind.messages) if isinstance(kind, MessageUnion) else (kind,):
            yield from getattr(held, "fields", {}).items()


def about_roles(schema: Schema, program: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a program knows of roles: each by the name of its type, and the operations of the language on them.

    Args:
        schema: the schema.
        program: its names, of which the world's `choose` is called.
    """
    everyone = Role("", 0, schema.nodes)

    def one_of(s: StateView, role: Role | Collection[int]) -> int:
        if isinstance(role, Role):
            return role.first + (int(program["choose"](s, role.count)) if role.count > 1 else 0)
        if isinstance(role, range):
            return role.start + int(program["choose"](s, role.stop - role.start))
        members = sorted(role)
        if not members:
            raise RangeError("any_of", "is of an empty set")
        return members[int(program["choose"](s, len(members)))]

    return {
        **(schema.roles.by_type if schema.roles else {}),
        "processes": lambda s, role=everyone: role.members,
        "is_a": lambda s, p, role: p in role.members,
        "only": lambda s, role: role.first,
        "any_of": one_of,
        "any_process": lambda s: one_of(s, everyone),
    }


def _unreadable(problem: LanguageError) -> Callable[..., NoReturn]:
    """Return a function that raises what went wrong when it was read."""

    def unreadable(*_: object) -> NoReturn:
        raise problem

    return unreadable


class Apart(dict[str, Any]):
    """The names that a user protocol reads: its own by their keys in the program, then those of the program.

    They are looked up when they are read.
    """

    def __init__(self, program: dict[str, Any], keys: Mapping[str, str]) -> None:
        super().__init__(__builtins__=__builtins__)
        self.program, self.keys_of = program, keys

    def __missing__(self, name: str) -> Any:
        return self.program[self.keys_of.get(name, name)]


def _counted(function: Any, bit: int) -> Any:
    def entered(s: StateView, *args: Any) -> Any:
        s.steps = s.steps | bit
        return function(s, *args)

    return entered


def _until_failed(function: Any, lasts: Any) -> Any:
    def handled(s: StateView, *args: Any) -> None:
        try:
            function(s, *args)
        except ERRORS:
            if lasts(s):
                raise

    return handled


LEAST, MOST = -(1 << 63), (1 << 63) - 1  # of 64 bits


def _times(x: int, y: int) -> int:
    """Return the product of two integers.

    Raises:
        RangeError: it does not fit 64 bits.
    """
    product = x * y
    if not LEAST <= product <= MOST:
        raise RangeError("an integer", TOO_WIDE, "", f"{TOO_WIDE}: it would be {x} * {y}")
    return product


def _shift_amount(x: int, sign: str, by: int) -> int:
    if not 0 <= by <= 63:
        raise RangeError("an integer", SHIFTED, "", f"would be {x} {sign} {by}: a shift takes 0..63 on its right")
    return by


def _left(x: int, by: int) -> int:
    """Return an integer shifted left.

    Raises:
        RangeError: the result does not fit 64 bits, or the amount is invalid.
    """
    moved = x << _shift_amount(x, "<<", by)
    if not LEAST <= moved <= MOST:
        raise RangeError("an integer", SHIFTED, "", f"{TOO_WIDE}: it would be {x} << {by}")
    return moved


def _right(x: int, by: int) -> int:
    """Return an integer shifted right.

    Raises:
        RangeError: the amount is invalid.
    """
    return x >> _shift_amount(x, ">>", by)


# what `with_sentences` puts in place of operators, assertions and sets
OPERATIONS = dict(zip((*CHECKED.values(), *INSTEAD), (_times, _left, _right, hold, a_set, kept), strict=True))
