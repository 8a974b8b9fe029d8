"""Typing members of structs of arrays: `run.place[p][t]`, and `run.txns.count` of a struct within another."""

from __future__ import annotations

import ast
from typing import Protocol

from zabspec.language import tree as t
from zabspec.language.source import LanguageError
from zabspec.language.structs import Array, Column, Part, Size

__all__ = ["slot_at", "writable"]


class Typer(Protocol):
    """What types the function that a member is named in."""

    locals: dict[str, t.AnyType]

    def fail(self, node: ast.AST, reason: str) -> LanguageError:
        """What is wrong with a piece of the text."""

    def name_value(self, name: str, node: ast.expr) -> t.Expr:
        """The value of a name."""

    def integer(self, node: ast.expr) -> t.Expr:
        """The value of an expression that is an integer."""


def slot_at(typer: Typer, node: ast.expr) -> t.Slot | None:
    """The member of a struct that an expression names; None: it names none.

    Raises:
        LanguageError: the struct has no such member, or it takes another number of indices.
    """
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    if not isinstance(node, ast.Attribute):
        return None
    struct = struct_at(typer, node.value)
    if struct is None:
        return None
    assert isinstance(struct.type, t.StructType)
    declared = struct.type.struct
    member = declared.members.get(node.attr)
    if member is None:
        raise typer.fail(node, f"{declared.__name__} has no {node.attr}")
    axes = len(member.axes) if isinstance(member, Array) else 0
    if len(indices) != axes:
        raise typer.fail(node, f"{node.attr} of {declared.__name__} takes {axes} indices, and {len(indices)} are given")
    kind = t.StructType(member.struct) if isinstance(member, Part) else t.INT
    return t.Slot(kind, struct, member, [typer.integer(i) for i in indices])


def struct_at(typer: Typer, node: ast.expr) -> t.Expr | None:
    """The struct that an expression names: a parameter, a local name, or a part of another; None: it names none."""
    if isinstance(node, ast.Name) and isinstance(typer.locals.get(node.id), t.StructType):
        return typer.name_value(node.id, node)
    if isinstance(node, ast.Attribute) and struct_at(typer, node.value) is not None:
        slot = slot_at(typer, node)
        return slot if slot is not None and isinstance(slot.type, t.StructType) else None
    return None


def writable(typer: Typer, slot: t.Slot, node: ast.AST) -> t.Slot:
    """A slot that may be written.

    Raises:
        LanguageError: it may not.
    """
    if isinstance(slot.member, (Size, Part, Column)):
        raise typer.fail(node, f"{slot.member.name} cannot be written: it keeps its initial value")
    return slot
