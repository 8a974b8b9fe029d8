"""Processes renamed in plain states."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from typing import Any

from checker.opinion.plain import Plain, canonical
from zabspec.language.layout.kinds import Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import NODE
from zabspec.second.quorums import quorums_of


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
