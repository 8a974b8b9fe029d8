"""Convert a message of one configuration to another whose kinds have other sizes."""

from __future__ import annotations

from collections.abc import Callable

from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.python.reference import MessageView, RangeError, RecordValue, read, write

Renamed = Callable[[int], int | None]


def remade(raw: bytes, source: MessageUnion, target: MessageUnion, process: Renamed) -> bytes | None:
    """Return a message's bytes in the encoding of another union with the same messages.

    Args:
        process: maps a process to its new number, or to None if it has none.

    Returns:
        The bytes; None if a process in the message has no new number, or a value is out of range there.
    """
    m = MessageView(bytearray(raw), 0, source)
    buffer = bytearray(target.size)
    buffer[0] = target.tag(m.name)
    places: list[tuple[int, Kind, int, Kind]] = [
        (source.envelope_offsets[n], source.envelope[n], target.envelope_offsets[n], target.envelope[n])
        for n in source.envelope
    ]
    fields, others = source.named(m.name).fields, target.named(m.name).fields
    for name, kind in fields.items():
        places.append((source.offsets(m.name)[name], kind, target.offsets(m.name)[name], others[name]))
    try:
        return bytes(buffer) if all(_move(m.buffer, buffer, *place, process) for place in places) else None
    except RangeError:
        return None


def _part(kind: Int | SetOf, value: int, process: Renamed) -> int | None:
    """Return a number, process or set mask in the target's numbering; None if it cannot be expressed there."""
    if isinstance(kind, NodeId):
        return value if value < 0 else process(value)
    if not isinstance(kind, SetOf) or not kind.nodes:
        return value
    members = [process(p) for p in kind.members(value)]
    return None if None in members else sum(1 << p for p in members if p is not None)


def _move(old: bytearray, new: bytearray, at: int, kind: Kind, to: int, other: Kind, process: Renamed) -> bool:
    """Write a value to its place in the target message; return whether it can be expressed there."""
    if isinstance(kind, NodeId):
        p = int(read(old, at, kind, ""))
        renamed = p if p < 0 else process(p)
        if renamed is not None:
            write(new, to, other, renamed, "process")
        return renamed is not None
    if isinstance(kind, (Int, Bool)):
        write(new, to, other, read(old, at, kind, ""), "value")
    elif isinstance(kind, Record):
        assert isinstance(other, Record)
        values = kind.unpack(int(read(old, at, kind, "").word))
        for name, value in values.items():
            moved = _part(kind.fields[name], value, process)
            if moved is None or not other.fields[name].lo <= moved <= other.fields[name].hi:
                return False
            values[name] = moved
        write(new, to, other, RecordValue(other, other.pack(values)), "record")
    elif isinstance(kind, SetOf):
        mask = _part(kind, read(old, at, kind, "").mask, process)
        if mask is None:
            return False
        new[to : to + other.size] = mask.to_bytes(other.size, "little")
    else:
        assert isinstance(kind, Seq)
        assert isinstance(other, Seq)
        count = len(read(old, at, kind, ""))
        if count > other.capacity:
            return False
        new[to : to + other.header] = count.to_bytes(other.header, "little")
        for k in range(count):
            first, second = at + kind.header + k * kind.element.size, to + other.header + k * other.element.size
            if not _move(old, new, first, kind.element, second, other.element, process):
                return False
    return True
