"""States and their values as JSON, and back.

A state is written with every field of the schema but scratch, by name: axes as nested lists,
records as objects, sets as sorted lists, sequences as lists, messages as objects with their `kind`
first, then what the world wrote on them, then what they carry. A bag is a list too, in an order of
its own (`in_order`), so that equal states are written alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from traces.record.trace import JsonState
from zabspec.language.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.reference import MessageView, StateView, read
from zabspec.language.schema import Layout, Role

__all__ = [
    "carried",
    "field_json",
    "in_order",
    "message_bytes",
    "message_json",
    "message_said",
    "state_json",
    "state_of",
    "value_json",
]


def value_json(kind: Kind, value: Any) -> Any:
    """A value of the CPython world as JSON."""
    if isinstance(kind, Bool):
        return bool(value)
    if isinstance(kind, Int):
        return int(value)
    if isinstance(kind, Record):
        return kind.unpack(value.word)
    if isinstance(kind, SetOf):
        return list(value)
    if isinstance(kind, Seq):
        out = [value_json(kind.element, v) for v in value]
        return in_order(out) if kind.bag else out
    assert isinstance(value, MessageView)
    return message_json(value)


def in_order(bag: Iterable[Any]) -> list[Any]:
    """The elements of a bag in the order in which they are written: that of their own texts."""
    return sorted(bag, key=json.dumps)


def message_json(m: MessageView) -> dict[str, Any]:
    """A message: its kind, its envelope and what it carries."""
    envelope = {name: value_json(kind, getattr(m, name)) for name, kind in m.union.envelope.items()}
    return {"kind": m.name, **envelope, **carried(m)}


def carried(m: MessageView) -> dict[str, Any]:
    """What a message carries, as JSON."""
    return {name: value_json(kind, getattr(m, name)) for name, kind in m.union.named(m.name).fields.items()}


def message_said(m: MessageView) -> dict[str, Any]:
    """A message without what the world wrote on it."""
    return {"kind": m.name, **carried(m)}


def state_json(s: StateView) -> JsonState:
    """Every field of a state but scratch, as JSON."""
    out: JsonState = {}
    for f in s.layout.schema.fields:
        if f.role is not Role.SCRATCH:
            out[f.name] = field_json(s, f.name)
    return out


def field_json(s: StateView, name: str) -> Any:
    """A field of a state as JSON, over all its axes."""
    field, base, sizes, strides = s.layout.places[name]
    kind, buffer, size = field.kind, s.buffer, field.kind.size

    def at(place: int, axis: int) -> Any:
        if axis < len(sizes):
            step = strides[axis]
            return [at(place + k * step, axis + 1) for k in range(sizes[axis])]
        if not isinstance(kind, (Int, Record)):
            return value_json(kind, read(buffer, place, kind, name))
        word = buffer[place] if size == 1 else int.from_bytes(buffer[place : place + size], "little")
        if isinstance(kind, Record):
            return kind.unpack(word)
        return bool(word) if isinstance(kind, Bool) else word + kind.lo

    return at(base, 0)


# --- back ----------------------------------------------------------------------------------------


def state_of(layout: Layout, raw: Mapping[str, Any]) -> StateView:
    """The state that JSON stands for; scratch is zero. It is of the schema (`check_state`)."""
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
    """A value from JSON, as it lies in a state."""
    if isinstance(kind, Int):
        return (int(value) - kind.lo).to_bytes(kind.size, "little")
    if isinstance(kind, Record):
        return kind.pack(value).to_bytes(kind.size, "little")
    if isinstance(kind, SetOf):
        mask: int = sum(1 << member for member in value)
        return mask.to_bytes(kind.size, "little")
    if isinstance(kind, Seq):
        held = b"".join(value_bytes(kind.element, v) for v in value)
        return len(value).to_bytes(kind.header, "little") + held.ljust(kind.capacity * kind.element.size, b"\0")
    assert isinstance(kind, MessageUnion)
    return message_bytes(kind, value)


def message_bytes(union: MessageUnion, value: Mapping[str, Any]) -> bytes:
    """A message from JSON, as it lies in a state; an envelope that is not given is nobody's."""
    name = value["kind"]
    out = bytearray(union.size)
    out[0] = union.tag(name)
    places: tuple[tuple[Mapping[str, Kind], Callable[[str], int]], ...] = (
        (union.envelope, union.envelope_offsets.__getitem__),
        (union.named(name).fields, union.offsets(name).__getitem__),
    )
    for kinds, place in places:
        for field, kind in kinds.items():
            if field in value:
                out[place(field) : place(field) + kind.size] = value_bytes(kind, value[field])
    return bytes(out)
