"""Represent states of the `zookeeper` protocol without bounds, on which the protocol's functions run in CPython.

A compiled state has room for five transactions an epoch; an ensemble that runs for a minute has a thousand. No handler
depends on that bound. So here a sequence is a tuple, a set of processes a mask, a set of transactions a number of any
length, and WIDTH is as large as the record needs. Nothing is renamed, and nothing has to be folded. A state is one flat
list of values that are never changed in place, so that a copy is cheap, and equal states have equal keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from invariants.binding import full_namespace
from zabspec.language.layout.kinds import Kind, MessageUnion, Seq, SetOf
from zabspec.language.layout.schema import Field, Role
from zabspec.language.python.lang import NOBODY, MessageName
from zabspec.language.python.reference import load
from zabspec.model import Configuration, Model

PLENTY = 1 << 60  # of a budget: what a record has is not counted
OUTSIDE_OF_KEY = frozenset({Role.SCRATCH, Role.BUDGET})


class NoSuchPart(AttributeError):
    """A message has no such part."""


ERRORS = (IndexError, ZeroDivisionError, NoSuchPart)  # in a step, which is then none; another error is zabcheck's own


class Named:
    """A kind of message, by the name that the protocol uses: `ACK(zxid=z)` makes one, `m.kind == ACK` tests for one."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, **fields: int) -> Msg:
        return Msg(self, tuple(sorted(fields.items())))

    def __repr__(self) -> str:
        return self.name


class Msg:
    """A message: its kind, and its fields as attributes."""

    __slots__ = ("fields", "hashed", "kind")

    def __init__(self, kind: Named, fields: tuple[tuple[str, int], ...]) -> None:
        self.kind, self.fields = kind, fields
        self.hashed = hash((kind.name, fields))  # once: it lies in many states

    def __getattr__(self, name: str) -> int:
        for own, value in self.fields:
            if own == name:
                return value
        raise NoSuchPart(f"{self.kind} carries no {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Msg) and self.kind is other.kind and self.fields == other.fields

    def __hash__(self) -> int:
        return self.hashed

    def get(self, name: str) -> int | None:
        """Return a field of the message, or None if it has no such field."""
        return dict(self.fields).get(name)


class SeqAt:
    """A view of a sequence in a slot of a state."""

    __slots__ = ("at", "slots")

    def __init__(self, slots: list[Any], at: int) -> None:
        self.slots, self.at = slots, at

    def __len__(self) -> int:
        return len(self.slots[self.at])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.slots[self.at])

    def __contains__(self, item: object) -> bool:
        return item in self.slots[self.at]

    def __getitem__(self, k: int) -> Any:
        if k < 0:
            raise IndexError(k)
        return self.slots[self.at][k]

    def __setitem__(self, k: int, value: Any) -> None:
        held = self.slots[self.at]
        if not 0 <= k < len(held):
            raise IndexError(k)
        self.slots[self.at] = (*held[:k], value, *held[k + 1 :])

    def append(self, value: Any) -> None:
        self.slots[self.at] = (*self.slots[self.at], value)

    def pop(self, *place: int) -> Any:
        held = self.slots[self.at]
        k = place[0] if place else len(held) - 1
        if not 0 <= k < len(held):
            raise IndexError(k)
        self.slots[self.at] = held[:k] + held[k + 1 :]
        return held[k]

    def clear(self) -> None:
        self.slots[self.at] = ()


class SetAt:
    """A view of a set of processes in a slot of a state, stored as a mask."""

    __slots__ = ("at", "slots")

    def __init__(self, slots: list[Any], at: int) -> None:
        self.slots, self.at = slots, at

    @property
    def mask(self) -> int:
        return int(self.slots[self.at])

    def __contains__(self, p: int) -> bool:
        return bool(self.slots[self.at] >> p & 1)

    def __iter__(self) -> Iterator[int]:
        mask = self.slots[self.at]
        return (p for p in range(mask.bit_length()) if mask >> p & 1)

    def __len__(self) -> int:
        return int(self.slots[self.at].bit_count())

    def add(self, p: int) -> None:
        self.slots[self.at] |= 1 << p

    def discard(self, p: int) -> None:
        self.slots[self.at] &= ~(1 << p)

    def clear(self) -> None:
        self.slots[self.at] = 0


class SparseSetAt:
    """A view of one set among many that are mostly empty; the slot holds (index, mask) pairs of the others."""

    __slots__ = ("at", "slots", "which")

    def __init__(self, slots: list[Any], at: int, which: int) -> None:
        self.slots, self.at, self.which = slots, at, which

    @property
    def mask(self) -> int:
        return next((mask for which, mask in self.slots[self.at] if which == self.which), 0)

    def __contains__(self, p: int) -> bool:
        return bool(self.mask >> p & 1)

    def __iter__(self) -> Iterator[int]:
        mask = self.mask
        return (p for p in range(mask.bit_length()) if mask >> p & 1)

    def __len__(self) -> int:
        return self.mask.bit_count()

    def put(self, mask: int) -> None:
        rest = tuple(pair for pair in self.slots[self.at] if pair[0] != self.which)
        self.slots[self.at] = tuple(sorted((*rest, (self.which, mask)))) if mask else rest

    def add(self, p: int) -> None:
        self.put(self.mask | 1 << p)

    def discard(self, p: int) -> None:
        self.put(self.mask & ~(1 << p))

    def clear(self) -> None:
        if self.slots[self.at]:
            self.put(0)


class SparseRow:
    """The sets of one process, by their indices."""

    __slots__ = ("at", "slots")

    def __init__(self, slots: list[Any], at: int) -> None:
        self.slots, self.at = slots, at

    def __getitem__(self, which: int) -> SparseSetAt:
        return SparseSetAt(self.slots, self.at, which)


class Axis:
    """A view of a field over axes, from a slot on."""

    __slots__ = ("base", "sizes", "slots", "view")

    def __init__(self, slots: list[Any], base: int, sizes: tuple[int, ...], view: Any) -> None:
        self.slots, self.base, self.sizes, self.view = slots, base, sizes, view

    def __getitem__(self, k: int) -> Any:
        sizes = self.sizes
        if not 0 <= k < sizes[0]:
            raise IndexError(k)
        if len(sizes) > 1:
            return Axis(self.slots, self.base + k * sizes[1], sizes[1:], self.view)
        return self.slots[self.base + k] if self.view is None else self.view(self.slots, self.base + k)

    def __setitem__(self, k: int, value: Any) -> None:
        if not 0 <= k < self.sizes[0]:
            raise IndexError(k)
        self.slots[self.base + k] = value

    def __len__(self) -> int:
        return self.sizes[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.sizes[0]))


@dataclass(frozen=True)
class SlotPlace:
    """Where a field lies: in the list of slots of a state, or among the step annotations."""

    base: int
    sizes: tuple[int, ...]
    view: Any
    kept: bool


class Unbounded:
    """A state: `s.field[i]` reads and writes, as the reference's view does."""

    __slots__ = ("slots", "text")

    slots: list[Any]
    text: ReleaseProtocol

    def __init__(self, text: ReleaseProtocol, slots: list[Any]) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "slots", slots)

    def __getattr__(self, name: str) -> Any:
        text = self.text
        place = text.places.get(name)
        if place is None:
            return text.constants[name]
        slots = self.slots if place.kept else text.scratch
        if place.sizes:
            return Axis(slots, place.base, place.sizes, place.view)
        return slots[place.base]

    def __setattr__(self, name: str, value: Any) -> None:
        place = self.text.places[name]
        (self.slots if place.kept else self.text.scratch)[place.base] = value

    def copy(self) -> Unbounded:
        return Unbounded(self.text, self.slots.copy())

    def key(self) -> tuple[Any, ...]:
        """Return the key by which states are compared; it leaves out the ghosts."""
        return tuple(self.slots[self.text.ghosts :])

    def forget(self, p: int) -> None:
        """Reset every volatile field of process p to the lowest value of its range."""
        for base, length, empty in self.text.volatile:
            for k in range(length):
                self.slots[base + p * length + k] = empty

    def is_quorum(self, members: Iterable[int] | int, *_: object) -> bool:
        if not isinstance(members, int):
            mask = getattr(members, "mask", None)
            members = mask if isinstance(mask, int) else sum(1 << p for p in set(members))
        return members.bit_count() >= int(self.text.constants["MAJORITY"])


class ReleaseProtocol:
    """The model of a release, with room for what a record contains.

    Args:
        variant: the release, as the protocol calls it, and other variants with commas.
        epochs, width: the number of epochs, and of transactions in one epoch, that there is room for.
        more: sizes of further fields of the state, by name; they are numbers, at first 0.
    """

    def __init__(
        self, variant: str, nodes: int, epochs: int, width: int, more: Mapping[str, tuple[int, ...]]
    ) -> None:  # fmt: skip
        configuration = Configuration(
            "zookeeper", variant, nodes, timeouts=1, crashes=1, losses=1,
            budgets="elections=3,proposals=2,write_errors=0",
        )  # fmt: skip
        model = Model(configuration)
        program = model.program
        self.model, self.nodes, self.epochs, self.width = model, nodes, epochs, width
        self.actions = list(program.actions)
        self.constants: dict[str, Any] = {
            **program.schema.constants, "ELECTIONS": epochs, "PROPOSALS": width * (epochs + 2),
        }  # fmt: skip
        self.places: dict[str, SlotPlace] = {}
        self.volatile: list[tuple[int, int, Any]] = []
        self.initial: list[Any] = []
        self.scratch: list[Any] = []
        fields = sorted(program.schema.fields, key=lambda f: f.role is not Role.GHOST)
        for f in fields:
            if f.role is not Role.GHOST and not hasattr(self, "ghosts"):
                self.ghosts = len(self.initial)
            self.place(f)
        for name, sizes in more.items():
            self.places[name] = SlotPlace(len(self.initial), sizes, None, True)
            self.initial += [0] * count_of(sizes)
        namespace = full_namespace(model)
        self.names = load(program.layout, namespace, program.types, program.steps)
        self.keys = model.protocol.text.apart
        self.names[self.key("WIDTH")] = width
        self.kinds: dict[str, Named] = {}
        for name, value in namespace.items():
            if isinstance(value, MessageName):
                self.names[name] = self.kinds.setdefault(value.name, Named(value.name))
        self.most_steps = model.most_steps

    def key(self, name: str) -> str:
        """Return the name that a function of the protocol has in its program."""
        return self.keys.get(name, name)

    def __getitem__(self, name: str) -> Any:
        """Return a function of the protocol, or of its world, by name."""
        return self.names[self.key(name)]

    def place(self, f: Field) -> None:
        sizes = tuple(self.size(axis, f) for axis in f.axes)
        sparse = f.name == "acks"
        if f.name in ("exposed", "founded"):
            sizes = (self.epochs + 2,)
        kept = f.role not in OUTSIDE_OF_KEY
        where = self.initial if kept else self.scratch
        empty, view = made_of(f.kind)
        if sparse:
            sizes, empty, view = sizes[:1], (), SparseRow
        if f.role is Role.BUDGET:
            empty = PLENTY if f.name != "write_errors_left" else 0
        self.places[f.name] = SlotPlace(len(where), sizes, view, kept)
        if f.role is Role.VOLATILE:
            self.volatile.append((len(where), count_of(sizes[1:]), empty))
        where += [empty] * count_of(sizes)

    def size(self, axis: object, f: Field) -> int:
        return axis if isinstance(axis, int) else self.nodes

    def begin(self) -> Unbounded:
        """Return the initial state."""
        s = Unbounded(self, self.initial.copy())
        budgets = {name: place for name, place in self.places.items() if name.endswith("_left")}
        self.names["initialize"](s)
        for name, place in budgets.items():
            self.scratch[place.base] = 0 if name == "write_errors_left" else PLENTY
        return s


def count_of(sizes: tuple[int, ...]) -> int:
    out = 1
    for n in sizes:
        out *= n
    return out


def made_of(kind: Kind) -> tuple[Any, Any]:
    """Return the initial value of a slot of a kind, and the class of its view (None for a plain value)."""
    if isinstance(kind, Seq):
        return (), SeqAt
    if isinstance(kind, SetOf):
        return 0, SetAt
    if isinstance(kind, MessageUnion):
        return None, None
    low = getattr(kind, "lo", 0)
    return (NOBODY if low == NOBODY else int(low)), None
