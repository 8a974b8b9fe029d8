"""Type members of structs of arrays: `run.place[p][t]`, and `run.txns.count` of a struct within another."""

from __future__ import annotations

import ast
from typing import Protocol

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.structs import Array, Column, Size, StructMember
from zabspec.language.layout.source import LanguageError


class Typer(Protocol):
    """The typer of the function that names a member."""

    locals: dict[str, t.AnyType]

    def fail(self, node: ast.AST, reason: str) -> LanguageError:
        """Return the error for a piece of the source."""

    def name_value(self, name: str, node: ast.expr) -> t.Expr:
        """Return the value of a name."""

    def integer(self, node: ast.expr) -> t.Expr:
        """Return the typed expression, which must be an integer."""


def slot_at(typer: Typer, node: ast.expr) -> t.Slot | None:
    """Return the member of a struct that an expression names, or None.

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
    kind = t.StructType(member.struct) if isinstance(member, StructMember) else t.INT
    return t.Slot(kind, struct, member, [typer.integer(i) for i in indices])


def struct_at(typer: Typer, node: ast.expr) -> t.Expr | None:
    """Return the struct that an expression names (a parameter, a local name, or a part of another), or None."""
    if isinstance(node, ast.Name) and isinstance(typer.locals.get(node.id), t.StructType):
        return typer.name_value(node.id, node)
    if isinstance(node, ast.Attribute) and struct_at(typer, node.value) is not None:
        slot = slot_at(typer, node)
        return slot if slot is not None and isinstance(slot.type, t.StructType) else None
    return None


def writable(typer: Typer, slot: t.Slot, node: ast.AST) -> t.Slot:
    """Return a slot after checking that it may be written.

    Raises:
        LanguageError: it may not.
    """
    if isinstance(slot.member, (Size, StructMember, Column)):
        raise typer.fail(node, f"{slot.member.name} cannot be written: it keeps its initial value")
    return slot
