"""Define the kinds of value that a field of a state, a record or a message can hold.

A kind fixes the range of a field and how many bytes it takes in memory. Every world stores a value in the same bytes:
an integer as its distance from the lowest value of its range, so that all zero bytes are a legal value of every kind,
and the canonical one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar


def bits_for(span: int) -> int:
    """Return the number of bits that hold 0..span."""
    return max(span, 0).bit_length()


def bytes_for(bits: int) -> int:
    """Return the number of bytes of the smallest machine word (1, 2, 4 or 8) with that many bits."""
    for size in (1, 2, 4, 8):
        if bits <= 8 * size:
            return size
    raise ValueError(f"{bits} bits do not fit a 64-bit word")


@dataclass(frozen=True)
class Kind:
    """What a field can hold."""

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        raise NotImplementedError  # pragma: no cover - abstract

    @property
    def scalar(self) -> bool:
        """Return whether a value is one machine word; otherwise the field is read by reference."""
        return True

    @property
    def parts(self) -> Iterable[Kind]:
        """Return the kinds of what a value is made of: elements, fields, the fields of every message."""
        return ()

    def all_parts(self) -> Iterator[Kind]:
        """Yield the kind and those of all that it is made of, at any depth."""
        yield self
        for part in self.parts:
            yield from part.all_parts()


@dataclass(frozen=True)
class Int(Kind):
    """An integer in lo..hi (both included).

    `widen` names the option that widens the range; `names` are those of an enumeration's values, from lo on: a person
    reads them instead of the numbers. `members` are those of its bits, from the lowest: the value is a set, and a
    person reads its members.
    """

    lo: int
    hi: int
    widen: str = ""
    names: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    @property
    def worded(self) -> bool:
        """Return whether values are shown as words instead of numbers."""
        return bool(self.names)

    def held(self, value: int) -> list[str]:
        """Return the members of a value that is a set."""
        return [name for k, name in enumerate(self.members) if value >> k & 1]

    def named(self, value: int) -> str:
        """Return a value as a person reads it."""
        if self.members and 0 <= value < 1 << len(self.members):
            return "{" + ", ".join(self.held(value)) + "}"
        return self.names[value - self.lo] if 0 <= value - self.lo < len(self.names) else str(value)

    @cached_property
    def bits(self) -> int:
        return bits_for(self.hi - self.lo)

    @cached_property
    def size(self) -> int:
        return bytes_for(self.bits)


@dataclass(frozen=True)
class Bool(Int):
    """False or True."""

    lo: int = 0
    hi: int = 1


NOTHING = -1  # what an optional number is that has no value


@dataclass(frozen=True)
class OptionalInt(Int):
    """A number from 0 on, or `NOTHING`, which is what it begins with."""

    @property
    def worded(self) -> bool:
        return True

    def named(self, value: int) -> str:
        return "nothing" if value == NOTHING else super().named(value)


@dataclass(frozen=True)
class NodeId(Int):
    """A process, 0..nodes-1, or -1 for nobody; renamed when processes are permuted. `role` may restrict its role."""

    role: str = field(default="", compare=False)

    @staticmethod
    def of(nodes: int, role: str = "") -> NodeId:
        return NodeId(-1, nodes - 1, role=role)


MOST_MEMBERS = 63  # of a set of numbers


@dataclass(frozen=True)
class SetOf(Kind):
    """A set of the numbers 0..count-1, kept as a bit mask.

    With `nodes` its members are processes, of `role` if it names one.
    """

    count: int
    nodes: bool = False
    role: str = field(default="", compare=False)
    lo: ClassVar[int] = 0  # the mask of the empty set

    @property
    def bits(self) -> int:
        return self.count

    @property
    def hi(self) -> int:
        """Return the mask of the whole set."""
        return (1 << self.count) - 1

    def members(self, mask: int) -> list[int]:
        """Return the members in a mask, in order."""
        return [k for k in range(self.count) if mask >> k & 1]

    @cached_property
    def size(self) -> int:
        return bytes_for(self.count)


def names_a_process(kind: Kind) -> bool:
    """Return whether a value is a process, or a set of processes."""
    return isinstance(kind, NodeId) or (isinstance(kind, SetOf) and kind.nodes)


@dataclass(frozen=True)
class Record(Kind):
    """A small immutable value with named fields, packed into one word, first field highest.

    If `ordered`, two compare by their first field, then by the next, as zxids do.

    A process, or a set of processes, has bytes of its own in it, so that renaming reaches it as it does any other.
    """

    name: str
    fields: Mapping[str, Int | SetOf] = field(hash=False)
    ordered: bool = False

    def __post_init__(self) -> None:
        if self.ordered and self.bits > 63:
            raise ValueError(f"{self.name} is ordered, and needs {self.bits} bits: at most 63 compare")
        if self.ordered and any(isinstance(k, SetOf) for k in self.fields.values()):
            raise ValueError(f"{self.name} is ordered, and holds a set, which is in no order")

    @property
    def parts(self) -> Iterable[Kind]:
        return self.fields.values()

    @cached_property
    def _laid(self) -> tuple[int, dict[str, int]]:
        """Return how many bits it takes, and the shift of each field."""
        at, shifts = 0, {}
        for name, kind in reversed(list(self.fields.items())):
            whole = names_a_process(kind)
            if whole:
                at = -(-at // 8) * 8
            shifts[name] = at
            at += 8 * kind.size if whole else kind.bits
        return at, shifts

    @property
    def bits(self) -> int:
        return self._laid[0]

    @cached_property
    def used(self) -> int:
        """Return the bits that any of its values can have."""
        return sum(mask << shift for shift, mask, _ in self.places.values())

    @cached_property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """Return the gaps between its fields, which are always zero: shift and number of bits of each."""
        laid = sorted((self.shift(n), k.bits) for n, k in self.fields.items())
        ends = [0, *(shift + bits for shift, bits in laid)]
        starts = [*(shift for shift, _ in laid), self.bits]
        return tuple((end, start - end) for end, start in zip(ends, starts, strict=True) if start > end)

    @cached_property
    def size(self) -> int:
        return bytes_for(self.bits)

    @cached_property
    def places(self) -> dict[str, tuple[int, int, int]]:
        """Return for each field its shift, its mask after shifting, and its lowest value."""
        return {name: (self.shift(name), (1 << kind.bits) - 1, kind.lo) for name, kind in self.fields.items()}

    @cached_property
    def processes(self) -> tuple[tuple[int, Int | SetOf], ...]:
        """Return the places of processes, and sets of them, in bytes from its start."""
        return tuple((self.shift(n) // 8, k) for n, k in self.fields.items() if names_a_process(k))

    def shift(self, name: str) -> int:
        """Return the shift of a field."""
        return self._laid[1][name]

    def pack(self, values: Mapping[str, int]) -> int:
        """Return the word for the values of its fields; a set is given as its mask."""
        return sum((values[n] - k.lo) << self.shift(n) for n, k in self.fields.items())

    def unpack(self, word: int) -> dict[str, int]:
        """Return the values of its fields; a set as its mask."""
        return {name: (word >> shift & mask) + least for name, (shift, mask, least) in self.places.items()}


@dataclass(frozen=True)
class Seq(Kind):
    """A sequence of at most `capacity` elements: its length, then the elements, unused ones zero.

    With `bag` their order means nothing, so that no function may depend on it (`bag_order.py`); two states that differ
    in the order of a bag of messages alone have one fingerprint. With `blocks` others may wait for an element of a bag
    to be taken out, so that it may not as well stay.
    """

    element: Kind
    capacity: int
    widen: str = ""
    bag: bool = False
    blocks: bool = False

    @property
    def merged(self) -> bool:
        """Return whether states that differ only in the order of its elements have one fingerprint."""
        return self.bag and isinstance(self.element, MessageUnion)

    @property
    def parts(self) -> Iterable[Kind]:
        return (self.element,)

    @cached_property
    def header(self) -> int:
        return bytes_for(bits_for(self.capacity))

    @cached_property
    def size(self) -> int:
        return self.header + self.capacity * self.element.size

    @property
    def scalar(self) -> bool:
        return False


@dataclass(frozen=True)
class Message:
    """The fields of one kind of message; `to` says which end of a connection receives it."""

    name: str
    fields: Mapping[str, Kind] = field(hash=False)
    to: str = ""


@dataclass(frozen=True)
class MessageUnion(Kind):
    """Any one of several kinds of message: a tag byte (0 = none), the envelope, then that kind's fields.

    The world writes the envelope on every message.
    """

    messages: tuple[Message, ...]
    envelope: Mapping[str, Int] = field(default_factory=dict, hash=False)

    @property
    def parts(self) -> Iterable[Kind]:
        return (part for fields in (self.envelope, *(m.fields for m in self.messages)) for part in fields.values())

    @property
    def tag_bits(self) -> int:
        """Return the number of bits that hold a tag; a union without any message has one, which is zero."""
        return max(1, bits_for(len(self.messages)))

    def tag(self, name: str) -> int:
        """Return the tag byte of the named message.

        Raises:
            KeyError: there is no such message in this union.
        """
        for k, m in enumerate(self.messages):
            if m.name == name:
                return k + 1
        raise KeyError(name)

    def named(self, name: str) -> Message:
        return self.messages[self.tag(name) - 1]

    def offsets(self, name: str) -> dict[str, int]:
        """Return the place of each field of the named message, in bytes from the tag."""
        return {n: at for n, (at, _, _) in self.places[self.tag(name) - 1].items()}

    @cached_property
    def envelope_offsets(self) -> dict[str, int]:
        """Return the place of each field of the envelope, in bytes from the tag."""
        return {name: at for name, (at, _, _) in self.envelope_places.items()}

    @cached_property
    def body(self) -> int:
        """Return the place of a message's own fields, in bytes from the tag."""
        return 1 + sum(k.size for k in self.envelope.values())

    def _placed(self, fields: Mapping[str, Kind], at: int, label: str) -> dict[str, tuple[int, Kind, str]]:
        out = {}
        for name, kind in fields.items():
            out[name] = at, kind, f"{label}{name}"
            at += kind.size
        return out

    @cached_property
    def places(self) -> tuple[dict[str, tuple[int, Kind, str]], ...]:
        """Return for each kind of message, by its tag less one, the place, kind and label of each field.

        Places are in bytes from the tag.
        """
        return tuple(self._placed(m.fields, self.body, f"{m.name}.") for m in self.messages)

    @cached_property
    def envelope_places(self) -> dict[str, tuple[int, Kind, str]]:
        """Return the place, kind and label of each field of the envelope."""
        return self._placed(self.envelope, 1, "")

    @cached_property
    def size(self) -> int:
        return self.body + max((sum(k.size for k in m.fields.values()) for m in self.messages), default=0)

    @property
    def scalar(self) -> bool:
        return False
