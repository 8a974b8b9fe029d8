"""Lay out values in the symbolic world: the cells of a state or a message.

A cell is the smallest piece of memory that the language reads or writes: an integer, a set, a record, the length of a
sequence, the tag of a message. It has as many bits as its kind needs, in the same form as in every world: an integer as
its distance from the lowest value of its range. The messages of a union share their cells as they share their bytes:
two fields of one width may be one cell when no message has both.

A place is named by its byte, as in the typed tree, so that a tree's address finds its cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf, bits_for
from zabspec.language.layout.schema import Layout
from zabspec.proofs.symbolic_terms import Bits, Truth, and_, equal, extract, less, not_, or_, variable

REGION = 1 << 20  # bytes between the places of two things in memory
SLOTS = 8  # bits of a cell's number that tell apart what shares a byte

Values = dict[int, Bits | Truth]  # what each cell holds, by number


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        key: its number: the byte it begins at, and which of those that share it.
        width: in bits; 0 for a truth value.
        label: what it is called, as `to_leader[0][1][2].epoch`.
    """

    key: int
    width: int
    label: str


def cell_width(kind: Kind) -> int:
    """Return the width of a cell for a value of a kind, in bits; -1 if there is nothing to hold."""
    if isinstance(kind, Bool):
        return 0
    assert isinstance(kind, (Int, SetOf, Record))
    return kind.bits or -1


class Cells:
    """The cells of something in memory, from byte 0 up."""

    def __init__(self) -> None:
        self.all: dict[int, Cell] = {}
        self.shared: dict[tuple[int, int], int] = {}  # (byte, width) inside a message -> the cell there

    def key(self, at: int, width: int) -> int:
        """Return the cell with a width at a byte."""
        return self.shared.get((at, width), at << SLOTS)

    def put(self, at: int, width: int, label: str) -> None:
        if width >= 0:
            key = self.key(at, width)
            if key not in self.all:
                self.all[key] = Cell(key, width, label)

    def place(self, kind: Kind, at: int, label: str) -> None:
        """Add the cells of a value of a kind."""
        if isinstance(kind, Seq):
            self.put(at, bits_for(kind.capacity) or -1, f"len({label})")
            for k in range(kind.capacity):
                self.place(kind.element, at + kind.header + k * kind.element.size, f"{label}[{k}]")
        elif isinstance(kind, MessageUnion):
            self.put(at, kind.tag_bits, f"{label}.kind")
            slots = union_slots(kind)
            for (inner, width), slot in slots.items():
                self.shared[at + inner, width] = at << SLOTS | slot
            for name, part in kind.envelope.items():
                self.place(part, at + kind.envelope_offsets[name], f"{label}.{name}")
            for message in kind.messages:
                for name, held in message.fields.items():
                    self.place(held, at + kind.offsets(message.name)[name], f"{label}.{name}")
        else:
            self.put(at, cell_width(kind), label)


def leaves(kind: Kind, at: int) -> Iterator[tuple[int, int]]:
    """Yield the byte and width of every cell of a value."""
    if isinstance(kind, Seq):
        if kind.capacity:
            yield at, bits_for(kind.capacity)
        for k in range(kind.capacity):
            yield from leaves(kind.element, at + kind.header + k * kind.element.size)
    elif cell_width(kind) >= 0:
        yield at, cell_width(kind)


@cache
def union_slots(union: MessageUnion) -> Mapping[tuple[int, int], int]:
    """Return the cell of the union for each byte and width of a message's field, from 1 (0 is the tag)."""
    together: dict[tuple[int, int], set[tuple[int, int]]] = {}
    envelope = [leaf for name, kind in union.envelope.items() for leaf in leaves(kind, union.envelope_offsets[name])]
    of_messages = [
        [leaf for name, kind in m.fields.items() for leaf in leaves(kind, union.offsets(m.name)[name])]
        for m in union.messages
    ]
    for own in of_messages or [[]]:  # without any message, an envelope is all there is
        for leaf in (mine := envelope + own):
            together.setdefault(leaf, set()).update(mine)
    out: dict[tuple[int, int], int] = {}
    widths: list[int] = []
    for leaf in together:
        taken = {out[other] for other in together[leaf] if other in out}
        free = [k + 1 for k, width in enumerate(widths) if width == leaf[1] and k + 1 not in taken]
        if not free:
            widths.append(leaf[1])
            free = [len(widths)]
        out[leaf] = free[0]
    assert len(widths) < 1 << SLOTS
    return out


@cache
def message_cells(union: MessageUnion) -> Cells:
    """Return the cells of a message by itself."""
    out = Cells()
    out.place(union, 0, "message")
    return out


@cache
def state_cells(layout: Layout) -> Cells:
    """Return the cells of a state, in the order of its schema."""
    out = Cells()
    for field in layout.schema.fields:
        for index, at in layout.elements(field.name):
            out.place(field.kind, at, field.name + "".join(f"[{i}]" for i in index))
    return out


@cache
def scratch_keys(layout: Layout) -> frozenset[int]:
    """Return the cells of step annotations, which are not part of the state."""
    return frozenset(key for key in state_cells(layout).all if key >> SLOTS >= layout.size)


def cells_of(kind: Kind, cells: Cells, at: int) -> list[tuple[int, int]]:
    """Return the number and width of every cell of a value at a byte, in an order that depends on the kind alone."""
    if isinstance(kind, MessageUnion):
        found: dict[int, int] = {at << SLOTS: kind.tag_bits}
        for (inner, width), slot in union_slots(kind).items():
            found[cells.key(at + inner, width)] = width
            assert cells.key(at + inner, width) & ((1 << SLOTS) - 1) == slot
        return list(found.items())
    if isinstance(kind, Seq):
        out: list[tuple[int, int]] = []
        if kind.capacity:
            width = bits_for(kind.capacity)
            out.append((cells.key(at, width), width))
        for k in range(kind.capacity):
            out += cells_of(kind.element, cells, at + kind.header + k * kind.element.size)
        return out
    width = cell_width(kind)
    return [] if width < 0 else [(cells.key(at, width), width)]


# --- states as variables -----------------------------------------------------------------------


def variables(layout: Layout, name: str) -> Values:
    """Return an unknown state: a variable for every cell, with annotations at their lowest values."""
    scratch = scratch_keys(layout)
    out: Values = {}
    for key, cell in state_cells(layout).all.items():
        zero: int | bool = 0 if cell.width else False
        out[key] = zero if key in scratch else variable(f"{name}.{cell.label}@{key:x}", cell.width)
    return out


def well_formed(layout: Layout, values: Values) -> list[Truth]:
    """Return what is true of every well-formed state.

    Numbers are in their ranges, nothing is beyond the length of a sequence, and nothing is in a message that its kind
    does not have.
    """
    cells = state_cells(layout)
    out: list[Truth] = []
    for field in layout.schema.fields:
        for _, at in layout.elements(field.name):
            if at < layout.size:
                out += _legal(field.kind, cells, at, values)
    return [condition for condition in out if condition is not True]


def _empty(keys: list[tuple[int, int]], values: Values) -> Truth:
    result: Truth = True
    for key, width in keys:
        result = and_(result, equal(values[key], 0 if width else False, width))
    return result


def _legal(kind: Kind, cells: Cells, at: int, values: Values) -> Iterator[Truth]:
    """Yield what is true of every well-formed value of a kind."""
    mine = cells_of(kind, cells, at)
    if not mine:
        return
    first, width = mine[0]
    value = values[first]
    if isinstance(kind, Seq):
        yield less(value, kind.capacity + 1, width)
        for k in range(kind.capacity):
            element_at = at + kind.header + k * kind.element.size
            element = cells_of(kind.element, cells, element_at)
            held = less(k, value, width)
            yield or_(held, _empty(element, values))
            if isinstance(kind.element, MessageUnion):
                yield or_(not_(held), not_(_empty(element[:1], values)))
            yield from _legal(kind.element, cells, element_at, values)
    elif isinstance(kind, MessageUnion):
        yield less(value, len(kind.messages) + 1, width)
        for number, fields in enumerate(_fields_of(kind)):
            has = {key for part, inner in fields for key, _ in cells_of(part, cells, at + inner)}
            legal = _empty([(key, w) for key, w in mine[1:] if key not in has], values)
            for part, inner in fields:
                for condition in _legal(part, cells, at + inner, values):
                    legal = and_(legal, condition)
            yield or_(not_(equal(value, number, width)), legal)
    elif isinstance(kind, Record):
        for name, part in kind.fields.items():
            if part.bits:
                yield less(extract(value, kind.shift(name), part.bits), part.hi - part.lo + 1, part.bits)
        for at_bit, bits in kind.gaps:
            yield equal(extract(value, at_bit, bits), 0, bits)
    elif isinstance(kind, Int) and width:
        yield less(value, kind.hi - kind.lo + 1, width)


def at_its_end(layout: Layout, values: Values, widen: str) -> Truth:
    """Return whether some number of a state is at the end of a range that this option widens."""
    cells = state_cells(layout)
    result: Truth = False
    for field in layout.schema.fields:
        for _, at in layout.elements(field.name):
            if at < layout.size:
                for condition in _ends(field.kind, cells, at, values, widen):
                    result = or_(result, condition)
    return result


def _ends(kind: Kind, cells: Cells, at: int, values: Values, widen: str) -> Iterator[Truth]:
    """Yield for each number of a value that the option widens whether it is at its end; missing elements are zero."""
    if isinstance(kind, Seq):
        for k in range(kind.capacity):
            yield from _ends(kind.element, cells, at + kind.header + k * kind.element.size, values, widen)
    elif isinstance(kind, MessageUnion):
        tag, width = cells_of(kind, cells, at)[0]
        for number, fields in enumerate(_fields_of(kind)):
            for part, inner in fields:
                for condition in _ends(part, cells, at + inner, values, widen):
                    yield and_(equal(values[tag], number, width), condition)
    elif isinstance(kind, Record):
        for name, part in kind.fields.items():
            if isinstance(part, Int) and part.bits and part.widen == widen:
                word = values[cells.key(at, kind.bits)]
                yield equal(extract(word, kind.shift(name), part.bits), part.hi - part.lo, part.bits)
    elif isinstance(kind, Int) and kind.bits and kind.widen == widen:
        yield equal(values[cells.key(at, kind.bits)], kind.hi - kind.lo, kind.bits)


@cache
def _fields_of(union: MessageUnion) -> list[list[tuple[Kind, int]]]:
    """Return for each tag the kinds and bytes of the message's fields; tag 0 is no message."""
    shared: list[tuple[Kind, int]] = [(kind, union.envelope_offsets[name]) for name, kind in union.envelope.items()]
    return [
        [],
        *(
            shared + [(kind, union.offsets(message.name)[name]) for name, kind in message.fields.items()]
            for message in union.messages
        ),
    ]


# --- from bytes and back -----------------------------------------------------------------------


def values_of(layout: Layout, data: bytes) -> dict[int, int | bool]:
    """Return the value of each cell of a state, from its bytes; annotations may be left out, and are then zero."""
    cells = state_cells(layout)
    data = data + bytes(layout.total - len(data))
    out: dict[int, int | bool] = {key: 0 if cell.width else False for key, cell in cells.all.items()}
    for field in layout.schema.fields:
        for _, at in layout.elements(field.name):
            for place, size, key, width in _words(field.kind, cells, at, data):
                number = int.from_bytes(data[place : place + size], "little")
                out[key] = number if width else bool(number)
    return out


@cache
def _entries(layout: Layout) -> Mapping[int, tuple[int, Kind]]:
    """Return for each cell the byte and the kind of the field entry that it is part of."""
    cells = state_cells(layout)
    out: dict[int, tuple[int, Kind]] = {}
    for field in layout.schema.fields:
        for _, at in layout.elements(field.name):
            out.update((key, (at, field.kind)) for key, _ in cells_of(field.kind, cells, at))
    return out


def bytes_of(
    layout: Layout, values: Mapping[int, int | bool], before: bytes = b"", changed: Iterable[int] | None = None
) -> bytes:
    """Return the state with these cell values, with its annotations.

    Args:
        layout: the layout.
        values: by cell.
        before: a state that differs only in the cells `changed`; then only those are looked at.
        changed: these cells.
    """
    cells = state_cells(layout)
    data = bytearray(before + bytes(layout.total - len(before)))
    of = _entries(layout)
    entries = dict(of[key] for key in (cells.all if changed is None else changed))

    def fill(kind: Kind, at: int) -> None:
        if isinstance(kind, MessageUnion):
            tag = values[at << SLOTS]
            data[at] = int(tag)
            for part, inner in _fields_of(kind)[int(tag)]:
                fill(part, at + inner)
        elif isinstance(kind, Seq):
            if kind.capacity:
                count = values[cells.key(at, bits_for(kind.capacity))]
                data[at : at + kind.header] = int(count).to_bytes(kind.header, "little")
            for k in range(kind.capacity):
                fill(kind.element, at + kind.header + k * kind.element.size)
        elif cell_width(kind) >= 0:
            number = int(values[cells.key(at, cell_width(kind))])
            data[at : at + kind.size] = number.to_bytes(kind.size, "little")

    for at, kind in entries.items():
        data[at : at + kind.size] = bytes(kind.size)
        fill(kind, at)
    return bytes(data)


def _words(kind: Kind, cells: Cells, at: int, data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the byte, the size in bytes, the cell and its width of everything that a value holds."""
    if isinstance(kind, MessageUnion):
        yield at, 1, at << SLOTS, kind.tag_bits
        for part, inner in _fields_of(kind)[data[at]]:
            yield from _words(part, cells, at + inner, data)
    elif isinstance(kind, Seq):
        if kind.capacity:
            width = bits_for(kind.capacity)
            yield at, kind.header, cells.key(at, width), width
        for k in range(kind.capacity):
            yield from _words(kind.element, cells, at + kind.header + k * kind.element.size, data)
    elif cell_width(kind) >= 0:
        yield at, kind.size, cells.key(at, cell_width(kind)), cell_width(kind)
