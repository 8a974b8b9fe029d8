"""Write states of engines as plain values (docs/reference/semantics.md, Plain states)."""

from __future__ import annotations

import json
from typing import Any

from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import Field, Layout, Role
from zabspec.language.python.reference import MessageView, StateView
from zabspec.model import Model
from zabspec.worlds.steps import NUMBERED

SECTIONS = {
    Role.PERSISTENT: "fields", Role.VOLATILE: "fields", Role.ENVIRONMENT: "fields", Role.SHARED: "fields",
    Role.NETWORK: "network", Role.BUDGET: "budgets", Role.GHOST: "ghosts",
}  # fmt: skip
SUFFIX = "_left"


def canonical(value: object) -> str:
    """Return the canonical JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def label_of(model: Model, word: int) -> str:
    """Return the label of a step, as the semantics page has it."""
    kind = NUMBERED[word >> 24 & 255]
    own = {"action": model.protocol.actions, "environment": model.protocol.changes}.get(kind.name)
    return kind.name if own is None else f"{kind.name}:{own[word & 255].replace('_', '-')}"


class Plain:
    """Maps states of one layout to plain states.

    Args:
        layout: of the model.
        disks: the fields on disks, of a model in which they have images.
    """

    def __init__(self, layout: Layout, disks: tuple[str, ...]) -> None:
        self.layout = layout
        images = {f"{name}_images" for name in disks} | ({"unforced"} if disks else set())
        self.fields: list[tuple[str, str, Field]] = []
        for f in layout.schema.fields:
            if f.role is Role.SCRATCH:
                continue
            shown = f.observed and f.role is Role.BUDGET  # the number of abcasts
            section = "disks" if f.name in images else "ghosts" if shown else SECTIONS[f.role]
            name = f.name.removesuffix(SUFFIX) if f.role is Role.BUDGET else f.name
            self.fields.append((section, name, f))
        self.sections = ("fields", "network", "budgets", "ghosts", "disks")
        self.known: dict[bytes, str] = {}

    @classmethod
    def of(cls, model: Model) -> Plain:
        """Return the map for the states of a model."""
        disks = tuple(f.name for f in model.parts.fields if f.disk) if model.fails else ()
        return cls(model.program.layout, disks)

    def text(self, data: bytes) -> str:
        """Return the canonical text of a state's plain form."""
        data = data[: self.layout.size]
        found = self.known.get(data)
        if found is None:
            found = self.known[data] = canonical(self.value(data))
        return found

    def value(self, data: bytes) -> dict[str, Any]:
        """Return a state's plain form."""
        view = StateView(self.layout, data)
        out: dict[str, Any] = {section: {} for section in self.sections}
        for section, name, f in self.fields:
            out[section][name] = self.nested(getattr(view, f.name), f.kind, len(f.axes))
        return out

    def nested(self, value: Any, kind: Kind, axes: int) -> Any:
        if axes:
            return [self.nested(value[k], kind, axes - 1) for k in range(len(value))]
        return plain_value(value, kind)


def plain_value(value: Any, kind: Kind) -> Any:
    """Return a value of a kind."""
    if isinstance(kind, Bool):
        return bool(value)
    if isinstance(kind, NodeId):
        return None if int(value) < 0 else int(value)
    if isinstance(kind, Int):
        return int(value)
    if isinstance(kind, SetOf):
        return sorted(value)
    if isinstance(kind, Record):
        return {name: plain_value(getattr(value, name), part) for name, part in kind.fields.items()}
    if isinstance(kind, Seq):
        return plain_sequence(value, kind)
    assert isinstance(kind, MessageUnion)
    return plain_message(value, kind)


def plain_sequence(value: Any, kind: Seq) -> Any:
    """Return a sequence, or a bag; cells beyond its length are there where they are not the low end."""
    elements = [plain_value(value[k], kind.element) for k in range(len(value))]
    if kind.bag:
        return sorted(elements, key=canonical)
    beyond = value.raw()[kind.header + len(value) * kind.element.size :]
    if any(beyond):
        return {"length": len(value), "cells": [plain_value(value[k], kind.element) for k in range(kind.capacity)]}
    return elements


def plain_message(value: MessageView, union: MessageUnion) -> Any:
    if not value.name:
        return None
    own = {name: plain_value(getattr(value, name), kind) for name, kind in union.named(value.name).fields.items()}
    envelope = {name: plain_value(getattr(value, name), kind) for name, kind in union.envelope.items()}
    return {"message": value.name, **envelope, **own}
