"""Locations in memory as TLA+ names them: a field, its indices, and parts inside its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Kind, MessageUnion, Seq
from zabspec.language.layout.schema import Field, Layout


@dataclass(frozen=True)
class AccessPart:
    """One access into a value: an index of an axis, a position in a sequence, or a named part of a message."""

    how: str  # axis, place, part
    index: t.Expr | None = None
    name: str = ""
    process: bool = False


@dataclass(frozen=True)
class TlaPlace:
    """A location in a state or in a value.

    Attributes:
        field: of the state; None if the location is inside a value.
        base: that value.
        parts: the accesses from there.
    """

    field: Field | None
    base: t.Expr
    parts: tuple[AccessPart, ...]

    @property
    def field_name(self) -> str:
        """The field's name; empty if it is inside a value."""
        return self.field.name if self.field is not None else ""


def field_at(layout: Layout, offset: int) -> tuple[Field, int]:
    """Return the field at an offset among the first entries of all axes, and the offset inside it."""
    for f in layout.schema.fields:
        at = layout.strides(f)[0]
        if at <= offset < at + f.kind.size:
            return f, offset - at
    raise AssertionError(f"no field lies at {offset}")


def place_of(place: t.Memory, layout: Layout) -> TlaPlace:
    """Return the location that an offset and its terms describe."""
    terms = list(place.terms)
    parts: list[AccessPart] = []
    if place.base.type == t.STATE:
        f, offset = field_at(layout, place.offset)
        kind: Kind = f.kind
        parts += [AccessPart("axis", term.index, process=term.process) for term in terms[: len(f.axes)]]
        del terms[: len(f.axes)]
        return TlaPlace(f, place.base, (*parts, *inside(kind, offset, terms, place)))
    assert isinstance(place.base.type, (t.SeqType, t.MessageType))
    kind = place.base.type.kind if isinstance(place.base.type, t.SeqType) else place.base.type.union
    return TlaPlace(None, place.base, tuple(inside(kind, place.offset, terms, place)))


def inside(kind: Kind, offset: int, terms: list[Any], place: t.Memory) -> list[AccessPart]:
    parts: list[AccessPart] = []
    while terms or offset:
        if isinstance(kind, Seq):
            offset -= kind.header
            parts.append(AccessPart("place", terms.pop(0).index))
            kind = kind.element
        else:
            assert isinstance(kind, MessageUnion)
            name = place.field.rpartition("'s ")[2] if place.field.startswith("the envelope") else place.field
            message, dot, name = name.rpartition(".")
            if dot:
                offset -= kind.offsets(message)[name]
                kind = kind.named(message).fields[name]
            else:
                offset -= kind.envelope_offsets[name]
                kind = kind.envelope[name]
            parts.append(AccessPart("part", name=name))
    return parts
