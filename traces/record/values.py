"""Convert states and their values to JSON and back.

A state is written with every field of the schema but step annotations, by name: axes as nested lists, records as
objects, sets as sorted lists, sequences as lists, messages as objects with their `kind` first, then the world's fields,
then their own. A bag is a list too, in an order of its own (`in_order`), so that equal states are written alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from traces.record.trace import JsonState
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import Layout, Role
from zabspec.language.python.reference import MessageView, StateView, read

Writer = Callable[[bytearray, int], Any]  # a value that lies in these bytes at this place, as JSON


def value_json(kind: Kind, value: Any) -> Any:
    """Convert a value of the CPython world to JSON."""
    if isinstance(kind, Bool):
        return bool(value)
    if isinstance(kind, Int):
        return int(value)
    if isinstance(kind, Record):
        return {name: value_json(k, getattr(value, name)) for name, k in kind.fields.items()}
    if isinstance(kind, SetOf):
        return list(value)
    if isinstance(kind, Seq):
        out = [value_json(kind.element, v) for v in value]
        return in_order(out) if kind.bag else out
    assert isinstance(value, MessageView)
    return message_json(value)


def in_order(bag: Iterable[Any]) -> list[Any]:
    """Return the elements of a bag in the order in which they are written: that of their JSON texts."""
    held = list(bag)
    return sorted(held, key=json.dumps) if len(held) > 1 else held


def message_json(m: MessageView) -> dict[str, Any]:
    """Return a message as JSON: its kind, its envelope and its fields."""
    envelope = {name: value_json(kind, getattr(m, name)) for name, kind in m.union.envelope.items()}
    return {"kind": m.name, **envelope, **carried(m)}


def carried(m: MessageView) -> dict[str, Any]:
    """Return the fields of a message as JSON."""
    return {name: value_json(kind, getattr(m, name)) for name, kind in m.union.named(m.name).fields.items()}


def message_said(m: MessageView) -> dict[str, Any]:
    """Return a message as JSON without its envelope."""
    return {"kind": m.name, **carried(m)}


def state_json(s: StateView, other: StateView | None = None, known: JsonState | None = None) -> JsonState:
    """Return the fields of a state as JSON, except scratch fields.

    Args:
        other, known: another state of the model, and the result of this function for it. Values that both states share
            are not converted again: the result has the same objects, which must not be changed.
    """
    buffer = s.buffer
    if other is None or known is None:
        return {name: written(buffer) for name, (written, _) in writers(s.layout).items()}
    before, out = other.buffer, {}
    for name, (written, place) in writers(s.layout).items():
        old = known[name]
        now = old if buffer[place] == before[place] else written(buffer)
        out[name] = old if now == old else now
    return out


# --- how a state is written ------------------------------------------------------------------------
# What a field holds is looked at once for each layout, and not once for each value: a run is written after every step.

WRITERS: WeakKeyDictionary[Layout, dict[str, tuple[Callable[[bytearray], Any], slice]]] = WeakKeyDictionary()


def writers(layout: Layout) -> dict[str, tuple[Callable[[bytearray], Any], slice]]:
    """Return, by name, the writer of each field but step annotations, and the slice of its bytes."""
    found = WRITERS.get(layout)
    if found is None:
        found = WRITERS[layout] = {
            name: (field_writer(layout, name), place_of(layout, name))
            for name, (field, _, _, _) in layout.places.items()
            if field.role is not Role.SCRATCH
        }
    return found


def field_writer(layout: Layout, name: str) -> Callable[[bytearray], Any]:
    """Return the function that writes a field of a state as JSON, over all its axes."""
    field, base, sizes, strides = layout.places[name]
    return over_axes(base, sizes, strides, field.kind, name)


def place_of(layout: Layout, name: str) -> slice:
    """Return the slice of bytes that contains a field over all its axes, and perhaps bytes of others in between."""
    field, base, sizes, strides = layout.places[name]
    if 0 in sizes:
        return slice(base, base)
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return slice(base, base + last + field.kind.size)


def over_axes(
    base: int, sizes: tuple[int, ...], strides: tuple[int, ...], kind: Kind, label: str
) -> Callable[[bytearray], Any]:
    """Return the function that writes a field over its axes."""
    one = writer(kind, label)
    if not sizes:
        return lambda buffer: one(buffer, base)
    if not sizes[0]:
        return lambda buffer: []
    places = range(base, base + sizes[0] * strides[0], strides[0])
    if len(sizes) == 1:
        if isinstance(kind, Seq) and kind.header == 1:  # most channels and queues are empty
            return lambda buffer: [one(buffer, at) if buffer[at] else [] for at in places]
        return row_of_bytes(places, kind) or (lambda buffer: [one(buffer, at) for at in places])
    inner = [over_axes(at, sizes[1:], strides[1:], kind, label) for at in places]
    return lambda buffer: [written(buffer) for written in inner]


def row_of_bytes(places: range, kind: Kind) -> Callable[[bytearray], Any] | None:
    """Return the function that writes a row of values of one byte each at once; None for larger values."""
    if not isinstance(kind, Int) or kind.size != 1:
        return None
    least, row = kind.lo, slice(places.start, places.stop, places.step)
    if isinstance(kind, Bool):
        return lambda buffer: [word != 0 for word in buffer[row]]
    return lambda buffer: [word + least for word in buffer[row]] if least else list(buffer[row])


def writer(kind: Kind, label: str) -> Writer:
    """Return the function that writes a value of a kind.

    Args:
        kind: the kind.
        label: the name used in the error for a sequence longer than its bound.
    """
    if isinstance(kind, Int):
        return partial(write_int, kind.size, kind.lo, isinstance(kind, Bool))
    if isinstance(kind, Record):
        if not all(type(k) in (Int, NodeId) for k in kind.fields.values()):
            return lambda buffer, at: value_json(kind, read(buffer, at, kind, label))
        return partial(write_record, kind.size, [(name, *place) for name, place in kind.places.items()])
    if isinstance(kind, SetOf):
        return partial(write_set, kind.size, range(kind.count))
    if isinstance(kind, Seq):
        element = writer(kind.element, label)
        return partial(write_seq, kind, kind.header, kind.capacity, kind.element.size, element, label)
    if isinstance(kind, MessageUnion):
        envelope = [(name, at, writer(k, label)) for name, (at, k, label) in kind.envelope_places.items()]
        said = [
            (m.name, [*envelope, *((name, at, writer(k, label)) for name, (at, k, label) in places.items())])
            for m, places in zip(kind.messages, kind.places, strict=True)
        ]
        return partial(write_message, kind, said)
    return lambda buffer, at: value_json(kind, read(buffer, at, kind, label))


def write_int(size: int, lo: int, truth: bool, buffer: bytearray, at: int) -> int:
    word = buffer[at] if size == 1 else int.from_bytes(buffer[at : at + size], "little")
    return bool(word) if truth else word + lo


def write_record(size: int, places: list[tuple[str, int, int, int]], buffer: bytearray, at: int) -> dict[str, int]:
    word = buffer[at] if size == 1 else int.from_bytes(buffer[at : at + size], "little")
    return {name: (word >> shift & mask) + least for name, shift, mask, least in places}


def write_set(size: int, members: range, buffer: bytearray, at: int) -> list[int]:
    mask = buffer[at] if size == 1 else int.from_bytes(buffer[at : at + size], "little")
    return [k for k in members if mask >> k & 1] if mask else []


def write_seq(
    kind: Seq, header: int, capacity: int, size: int, element: Writer, label: str, buffer: bytearray, at: int
) -> list[Any]:
    count = buffer[at] if header == 1 else int.from_bytes(buffer[at : at + header], "little")
    if not count:
        return []
    if count > capacity:
        return [value_json(kind.element, v) for v in read(buffer, at, kind, label)]  # which says what is wrong
    first = at + header
    out = [element(buffer, place) for place in range(first, first + count * size, size)]
    return in_order(out) if kind.bag else out


def write_message(
    union: MessageUnion, said: list[tuple[str, list[tuple[str, int, Writer]]]], buffer: bytearray, at: int
) -> dict[str, Any]:
    tag = buffer[at]
    if not 0 < tag <= len(said):
        return message_json(MessageView(buffer, at, union))  # which says what is wrong
    name, fields = said[tag - 1]
    out: dict[str, Any] = {"kind": name}
    for field, offset, written in fields:
        out[field] = written(buffer, at + offset)
    return out


# --- back ----------------------------------------------------------------------------------------


def state_of(layout: Layout, raw: Mapping[str, Any]) -> StateView:
    """Return the state of a JSON object that `check_state` has accepted; step annotations are zero."""
    s = StateView(layout)
    for name, value in raw.items():
        for index, at in layout.elements(name):
            inner = value
            for k in index:
                inner = inner[k]
            kind = layout.fields[name].kind
            s.buffer[at : at + kind.size] = value_bytes(kind, inner)
    return s


def value_bytes(kind: Kind, value: Any) -> bytes:
    """Encode a JSON value as bytes of a state."""
    if isinstance(kind, Int):
        return (int(value) - kind.lo).to_bytes(kind.size, "little")
    if isinstance(kind, Record):
        words = {n: sum(1 << m for m in value[n]) if isinstance(k, SetOf) else value[n] for n, k in kind.fields.items()}
        return kind.pack(words).to_bytes(kind.size, "little")
    if isinstance(kind, SetOf):
        mask: int = sum(1 << member for member in value)
        return mask.to_bytes(kind.size, "little")
    if isinstance(kind, Seq):
        held = b"".join(value_bytes(kind.element, v) for v in value)
        return len(value).to_bytes(kind.header, "little") + held.ljust(kind.capacity * kind.element.size, b"\0")
    assert isinstance(kind, MessageUnion)
    return message_bytes(kind, value)


def message_bytes(union: MessageUnion, value: Mapping[str, Any]) -> bytes:
    """Encode a JSON message as bytes of a state; a missing envelope field is nobody's."""
    name = value["kind"]
    out = bytearray(union.size)
    out[0] = union.tag(name)
    for field, (at, kind, _) in (union.envelope_places | union.places[out[0] - 1]).items():
        if field in value:
            out[at : at + kind.size] = value_bytes(kind, value[field])
    return bytes(out)
