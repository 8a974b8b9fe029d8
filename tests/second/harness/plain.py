"""The states of our engines as plain values (docs/reference/semantics.md, Plain states)."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from typing import Any

from zabspec.language.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.reference import MessageView, StateView
from zabspec.language.schema import NODE, Field, Layout, Role
from zabspec.second.quorums import quorums_of

SECTIONS = {
    Role.PERSISTENT: "fields", Role.VOLATILE: "fields", Role.ENVIRONMENT: "fields", Role.SHARED: "fields",
    Role.NETWORK: "network",     Role.BUDGET: "budgets", Role.GHOST: "ghosts",
}  # fmt: skip
SUFFIX = "_left"


def canonical(value: object) -> str:
    """The canonical JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


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

    def text(self, data: bytes) -> str:
        """The canonical text of a state's plain form."""
        data = data[: self.layout.size]
        found = self.known.get(data)
        if found is None:
            found = self.known[data] = canonical(self.value(data))
        return found

    def value(self, data: bytes) -> dict[str, Any]:
        """A state's plain form."""
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
    """A value of a kind."""
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
    """A sequence, or a bag; cells beyond its length are there where they are not the low end."""
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


class Renamer:
    """Renames processes in plain states by their kinds alone (Y1), and finds the least of all renamings.

    Args:
        plain: how a state is written.
        quorums: the quorum system: a renaming takes quorums to quorums, and other sets to others; empty: majorities.
        roles: "client=2,server=3": a renaming takes each process to one of its role; empty: all are alike.
    """

    def __init__(self, plain: Plain, quorums: str = "", roles: str = "") -> None:
        self.plain = plain
        self.nodes = plain.layout.schema.nodes
        everybody = range(self.nodes)
        sets = [c for k in range(self.nodes + 1) for c in combinations(everybody, k)]
        is_quorum = quorums_of(quorums, self.nodes)
        self.orders = [
            order
            for order in permutations(everybody)
            if all(is_quorum(some) == is_quorum([order[p] for p in some]) for some in sets)
        ]
        plays = [
            role for role, _, n in (part.partition("=") for part in roles.split(",") if part) for _ in range(int(n))
        ]
        if plays:
            self.orders = [o for o in self.orders if all(plays[p] == plays[o[p]] for p in everybody)]
        self.known: dict[str, tuple[str, int]] = {}

    def orbit(self, text: str) -> tuple[str, int]:
        """The least renaming of a state, and how many there are."""
        found = self.known.get(text)
        if found is None:
            value = json.loads(text)
            images = {canonical(self.renamed(value, order)) for order in self.orders}
            found = self.known[text] = min(images), len(images)
        return found

    def renamed(self, value: dict[str, Any], order: tuple[int, ...]) -> dict[str, Any]:
        """A plain state, or a part of one, in which process p is called order[p]."""
        out: dict[str, Any] = {section: {} for section in value}
        for section, name, f in self.plain.fields:
            if name in value[section]:
                out[section][name] = self.axes(value[section][name], f.axes, f.kind, order)
        return out

    def axes(self, value: Any, axes: tuple[str | int, ...], kind: Kind, order: tuple[int, ...]) -> Any:
        if not axes:
            return self.inner(value, kind, order)
        made = [self.axes(v, axes[1:], kind, order) for v in value]
        if axes[0] != NODE:
            return made
        moved: list[Any] = [None] * len(made)
        for p, v in enumerate(made):
            moved[order[p]] = v
        return moved

    def inner(self, value: Any, kind: Kind, order: tuple[int, ...]) -> Any:
        if isinstance(kind, NodeId):
            return None if value is None else order[value]
        if isinstance(kind, SetOf) and kind.nodes:
            return sorted(order[p] for p in value)
        if isinstance(kind, Record):
            return {name: self.inner(value[name], part, order) for name, part in kind.fields.items()}
        if isinstance(kind, Seq):
            if isinstance(value, dict):
                cells = [self.inner(v, kind.element, order) for v in value["cells"]]
                return {"length": value["length"], "cells": cells}
            made = [self.inner(v, kind.element, order) for v in value]
            return sorted(made, key=canonical) if kind.bag else made
        if isinstance(kind, MessageUnion) and value is not None:
            kinds = {**kind.envelope, **kind.named(value["message"]).fields}
            return {n: v if n == "message" else self.inner(v, kinds[n], order) for n, v in value.items()}
        return value
