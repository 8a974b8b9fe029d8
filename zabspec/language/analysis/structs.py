"""Provide structs of arrays: the memory of kernels, declared once and as large as a run needs.

    class Run(Struct):
        processes = size()
        capacity = size()
        txns = word()
        place = words(processes, capacity)

    run = Run(processes=3, capacity=1024)

`run.place[p][t]` is one text with two readings. In CPython it is an element behind a check: an index outside its
axis, or a value wider than the element, is a `RangeError`. In machine code (`kernels.py`) it is a load or a store
with no check at all, so what is to be trusted there has to have run here.

A struct has a header of 64-bit words, one for each member: a size, a word, or the address of an array or of
another struct. Arrays that nobody gives lie in one anonymous map, zero to begin with, each from a cache line on.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast, overload

from zabspec.language.python.reference import RangeError

T = TypeVar("T")
S = TypeVar("S", bound="Struct")

# how memory is seen, by the width of an element in bytes: a whole word is signed, less is not
FORMATS: dict[int, Literal["q", "I", "H", "B"]] = {8: "q", 4: "I", 2: "H", 1: "B"}
LINE = 64  # bytes of a cache line
HUGE = 4 << 20  # bytes from which on large pages are requested


# --- what is declared --------------------------------------------------------------------------


@dataclass(eq=False)
class Member:
    """One member of a struct.

    Attributes:
        name: its own.
        place: which word of the header it is.
    """

    name: str = field(default="", init=False)
    place: int = field(default=-1, init=False)

    def __set_name__(self, _: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: Struct | None, _: type) -> Any:
        return self if struct is None else struct.views[self.name]

    def __set__(self, struct: Struct, value: object) -> None:
        raise AttributeError(f"{self.name} of {type(struct).__name__} cannot change")


@dataclass(eq=False)
class Size(Member):
    """The number of entries of axes, fixed for the lifetime of the struct."""


@dataclass(eq=False)
class Word(Member):
    """A number of 64 bits."""

    def __get__(self, struct: Struct | None, _: type) -> Any:
        return self if struct is None else struct.header[self.place]

    def __set__(self, struct: Struct, value: Any) -> None:
        struct.header[self.place] = held(f"{type(struct).__name__}.{self.name}", value, 8)


@dataclass(eq=False)
class Array(Member):
    """An array of numbers of `width` bytes over axes."""

    axes: tuple[Size | int, ...]
    width: int

    def __post_init__(self) -> None:
        if self.width not in FORMATS:
            raise TypeError(f"an element has 1, 2, 4 or 8 bytes, not {self.width}")
        if not self.axes:
            raise TypeError("an array has an axis; a number without one is a word")

    def counts(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """Return the number of entries of each axis."""
        return tuple(sizes[a.name] if isinstance(a, Size) else a for a in self.axes)


@dataclass(eq=False)
class Column(Array):
    """An array that the maker of the struct provides and no kernel writes."""


@dataclass(eq=False)
class StructMember(Member):
    """Another struct."""

    struct: type[Struct]


# What a class's body says, with the types that an instance's members have.


def size() -> int:
    """Declare the number of entries of axes."""
    return cast(int, Size())


def word() -> int:
    """Declare a number of 64 bits, initially 0."""
    return cast(int, Word())


@overload
def words(axis: int, /, *, width: int = 8) -> Cells: ...
@overload
def words(axis: int, other: int, /, *, width: int = 8) -> Axis[Cells]: ...
@overload
def words(axis: int, other: int, third: int, /, *, width: int = 8) -> Axis[Axis[Cells]]: ...
def words(*axes: int, width: int = 8) -> Any:
    """Declare an array of numbers of `width` bytes (8: signed; 4, 2, 1: not) over sizes or constants."""
    return Array(axes, width)


def column(axis: int, /, *, width: int = 8) -> Axis[int]:
    """Declare an array of numbers of `width` bytes that the maker of the struct provides, and no kernel writes."""
    return cast("Axis[int]", Column((axis,), width))


def part(struct: type[S]) -> S:
    """Declare another struct that the maker of this one provides."""
    return cast(S, StructMember(struct))


# --- what CPython sees -------------------------------------------------------------------------


def held(label: str, value: Any, width: int) -> int:
    """Return a value as an element of some bytes holds it.

    Raises:
        RangeError: it does not fit.
    """
    number = int(value)
    low, high = (-(1 << 63), 1 << 63) if width == 8 else (0, 1 << (8 * width))
    if not low <= number < high:
        raise RangeError(label, f"would leave its {width} bytes: {number}")
    return number


class Axis(Generic[T]):
    """An array, or a part of one: an index gives an element, or what lies along the next axis."""

    __slots__ = ("base", "counts", "label", "memory")

    def __init__(self, memory: memoryview, counts: tuple[int, ...], label: str, base: int = 0) -> None:
        self.memory, self.counts, self.label, self.base = memory, counts, label, base

    def place(self, index: int) -> int:
        """Return the place of an entry.

        Raises:
            RangeError: there is none.
        """
        if not 0 <= index < self.counts[0]:
            raise RangeError(self.label, f"has {self.counts[0]} entries, and none is {index}")
        return self.base + index * math.prod(self.counts[1:])

    def __getitem__(self, index: int) -> T:
        at, rest = self.place(index), self.counts[1:]
        if not rest:
            return cast(T, self.memory[at])
        inner: type[Axis[Any]] = Cells if len(rest) == 1 and not self.memory.readonly else Axis
        return cast(T, inner(self.memory, rest, f"{self.label}[{index}]", at))

    def __len__(self) -> int:
        return self.counts[0]

    def __iter__(self) -> Iterator[T]:
        return (self[k] for k in range(self.counts[0]))


class Cells(Axis[int]):
    """The elements along the last axis, which can be written."""

    __slots__ = ()

    def __setitem__(self, index: int, value: int) -> None:
        self.memory[self.place(index)] = held(f"{self.label}[{index}]", value, self.memory.itemsize)


class Struct:
    """What kernels work on; see above. Declared by members in the order in which they lie in its header.

    Raises:
        TypeError: a size, a column or a part is not given; a name is given that it does not declare.
        ValueError: a buffer that is given has other elements than declared, or another number of them.
    """

    members: ClassVar[dict[str, Member]] = {}
    header: memoryview
    views: dict[str, Any]
    address: int

    def __init_subclass__(cls) -> None:
        cls.members = {name: m for name, m in vars(cls).items() if isinstance(m, Member)}
        for place, (name, m) in enumerate(cls.members.items()):
            if name in ("address", "header", "members", "views"):
                raise TypeError(f"a struct's {name} is its own")
            m.place = place

    def __init__(self, **given: Any) -> None:
        cls = type(self)
        unknown = sorted(set(given) - set(cls.members))
        wanted = [n for n, m in cls.members.items() if isinstance(m, (Size, Column, StructMember)) and n not in given]
        if unknown or wanted:
            raise TypeError(f"{cls.__name__} takes no {unknown[0]}" if unknown else f"{cls.__name__} needs {wanted[0]}")
        buffer = (ctypes.c_int64 * len(cls.members))()
        self.header, self.address = memoryview(buffer).cast("B").cast("q"), ctypes.addressof(buffer)
        sizes = {n: held(n, given[n], 8) for n, m in cls.members.items() if isinstance(m, Size)}
        if any(count < 0 for count in sizes.values()):
            raise ValueError(f"{cls.__name__}: a size is negative")
        self.views = dict(sizes)
        made = {n: m for n, m in cls.members.items() if isinstance(m, Array) and n not in given}
        room = zeros(sum(padded(m.width * math.prod(m.counts(sizes))) for m in made.values()))
        start = 0
        for name, m in cls.members.items():
            if isinstance(m, Array):
                counts = m.counts(sizes)
                whole = m.width * math.prod(counts)
                if name in made:
                    data = room[start : start + whole]
                    start += padded(whole)
                else:
                    data = checked(given[name], m, math.prod(counts), f"{cls.__name__}.{name}")
                self.show(m, data, counts, given.get(name))
            elif isinstance(m, StructMember):
                if not isinstance(given[name], m.struct):
                    raise TypeError(f"{cls.__name__}.{name} is a {m.struct.__name__}")
                self.views[name], self.header[m.place] = given[name], given[name].address
            else:
                self.header[m.place] = held(name, given.get(name, 0), 8)

    def show(self, m: Array, data: memoryview, counts: tuple[int, ...], owner: Any) -> None:
        """Record where an array lies."""
        view = data.cast("B").cast(FORMATS[m.width]) if data.nbytes else data
        kind: type[Axis[Any]] = Cells if len(counts) == 1 and not isinstance(m, Column) else Axis
        self.views[m.name] = kind(view.toreadonly() if isinstance(m, Column) else view, counts, m.name)
        self.header[m.place] = address_of(data, owner)


def checked(given: Any, m: Array, count: int, label: str) -> memoryview:
    """Return the memory of a provided array.

    Raises:
        ValueError: its elements are of another size or number than declared, or it is not writable, and is no column
            that exposes its address.
    """
    data = memoryview(given)
    if not data.c_contiguous or data.itemsize != m.width or data.nbytes != m.width * count:
        raise ValueError(f"{label} takes {count} elements of {m.width} bytes in a row")
    if data.readonly and not (isinstance(m, Column) and hasattr(given, "__array_interface__")):
        raise ValueError(f"{label}: the argument is not writable, and has no address")
    return data


def is_struct(value: object) -> bool:
    """Return whether a value is a declared struct."""
    return isinstance(value, type) and issubclass(value, Struct) and value is not Struct


def padded(count: int) -> int:
    """Return a number of bytes rounded up to the next cache line."""
    return -(-count // LINE) * LINE


def zeros(count: int) -> memoryview:
    """Return zeroed memory of some bytes, which is allocated as it is touched."""
    if not count:
        return memoryview(bytearray())
    block = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if count >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(block)


def address_of(data: memoryview, owner: Any) -> int:
    """Return the address of memory; 0 if it has no bytes."""
    if not data.nbytes:
        return 0
    if data.readonly:  # which ctypes does not point at
        return int(owner.__array_interface__["data"][0])
    return ctypes.addressof(ctypes.c_char.from_buffer(data))
