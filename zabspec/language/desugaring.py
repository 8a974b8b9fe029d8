"""Type membership in a sequence, a set or a few values, and assignment between sequences of other capacity.

Examples are `x in s.log[p]` and `for q in s.voted[p]`. The worlds need no support: each is written out in simpler
terms, so that it means the same in every one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Protocol

from zabspec.language import tree as t
from zabspec.language.kinds import Bool, Int, Seq
from zabspec.language.source import LanguageError

GIVE_A_NAME = "give it a name first"


class Typer(Protocol):
    """The typer of the function that uses membership."""

    name: str

    def fail(self, node: ast.AST, reason: str) -> LanguageError:
        """Return the error for a piece of the source."""

    def expr(self, node: ast.expr) -> t.Expr:
        """Return the typed expression."""

    def integer(self, node: ast.expr) -> t.Expr:
        """Return the typed expression, which must be an integer."""

    def comparison(self, op: str, left: t.Expr, right: t.Expr, node: ast.AST) -> t.Expr:
        """Return the comparison of two values."""

    def element(self, base: t.Expr, index: t.Expr, node: ast.AST) -> t.Expr:
        """Return the element of a sequence at an index."""

    def site(self, node: ast.AST, field: str, problem: str, widen: str = "") -> int:
        """Return the number of an error site."""


# --- asking for a member --------------------------------------------------------------------------


def no_call(typer: Typer, node: ast.expr, what: str) -> None:
    """Refuse a function call in what is written out several times, since it would be called as often.

    Raises:
        LanguageError: there is a call.
    """
    if any(isinstance(part, ast.Call) for part in ast.walk(node)):
        raise typer.fail(node, f"{what} cannot call a function here: {GIVE_A_NAME}")


def itself(value: t.Expr) -> t.Expr:
    """Return a test that is True and evaluates the value, so that its errors are met whatever is tested further."""
    return t.Compare(t.BOOL, "==", value, value)


def is_member(typer: Typer, item: ast.expr, container: ast.expr) -> t.Expr:
    """Return the test whether something is in a set, in a sequence, or one of a few values."""
    if isinstance(container, (ast.Tuple, ast.List)):
        return is_among(typer, item, container.elts, container)
    value = typer.expr(container)
    if isinstance(value.type, t.SetType):
        return t.SetHas(t.BOOL, value, typer.integer(item))
    if isinstance(value.type, t.SeqType):
        return is_in(typer, item, value, container)
    raise typer.fail(container, f"`in` takes a set, a sequence or (a, b), not a {value.type.name}")


def is_in(typer: Typer, item: ast.expr, container: t.Expr, node: ast.expr) -> t.Expr:
    """Return the test whether a sequence has an element."""
    assert isinstance(container.type, t.SeqType)
    kind = container.type.kind
    if not kind.element.scalar:
        raise typer.fail(node, "`in` takes a sequence of numbers, processes, truth values or records")
    no_call(typer, item, "the left of `in`")
    no_call(typer, node, "the right of `in`")
    value = typer.expr(item)
    parts: list[t.Expr] = []
    for k in range(kind.capacity):
        there = t.Compare(t.BOOL, "<", t.Const(t.INT, k), t.SeqLength(t.INT, container))
        equal = typer.comparison("==", value, of_any_order(typer.element(container, t.Const(t.INT, k), node)), node)
        parts.append(t.Logic(t.BOOL, "and", [there, equal]))
    length = t.Compare(t.BOOL, ">", t.SeqLength(t.INT, container), t.Const(t.INT, 0))
    known = [itself(value)] if not isinstance(value, t.Const) else []
    return t.Logic(t.BOOL, "and", [*known, length, t.Logic(t.BOOL, "or", [*parts, t.Const(t.BOOL, 0)])])


def of_any_order(element: t.Expr) -> t.Expr:
    """Return an element at a constant place for a test of every place, where the order of a bag does not matter."""
    place = element.place if isinstance(element, t.Load) else element
    assert isinstance(place, t.Memory)
    place.terms[-1].bag = None
    return element


def is_among(typer: Typer, item: ast.expr, given: list[ast.expr], node: ast.expr) -> t.Expr:
    """Return the test whether a value is one of a few."""
    for part in (item, *given):
        no_call(typer, part, "a side of `in`")
    value, others = typer.expr(item), [typer.expr(g) for g in given]
    equal = [typer.comparison("==", value, other, node) for other in others]
    known = [itself(v) for v in (value, *others) if not isinstance(v, t.Const) and not isinstance(v.type, t.SeqType)]
    return t.Logic(t.BOOL, "and", [*known, t.Logic(t.BOOL, "or", [*equal, t.Const(t.BOOL, 0)]), t.Const(t.BOOL, 1)])


def alike_sequences(typer: Typer, left: t.Expr, right: t.Expr, node: ast.AST) -> t.Expr:
    """Return the test whether two sequences of different capacities have the same elements."""
    assert isinstance(left.type, t.SeqType)
    assert isinstance(right.type, t.SeqType)
    lengths = [t.SeqLength(t.INT, left), t.SeqLength(t.INT, right)]
    parts: list[t.Expr] = [t.Compare(t.BOOL, "==", *lengths)]
    for k in range(min(left.type.kind.capacity, right.type.kind.capacity)):
        place = t.Const(t.INT, k)
        beyond = t.Compare(t.BOOL, ">=", place, lengths[0])
        pair = [typer.element(side, place, node) for side in (left, right)]
        parts.append(t.Logic(t.BOOL, "or", [beyond, typer.comparison("==", pair[0], pair[1], node)]))
    return t.Logic(t.BOOL, "and", [*parts, t.Const(t.BOOL, 1)])


# --- going through members ------------------------------------------------------------------------


def assigned_names(body: list[ast.stmt]) -> set[str]:
    """Return the local names that statements assign."""
    parts = (part for statement in body for part in ast.walk(statement))
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def must_stay(
    typer: Typer, node: ast.stmt, named: ast.expr, changed: Collection[str], constants: Collection[str]
) -> None:
    """Check that an expression that is evaluated repeatedly, where Python does so once, stays the same.

    Args:
        named: the expression.
        changed: the local names that are assigned meanwhile.
        constants: the attributes of the state that never change.

    Raises:
        LanguageError: it may change.
    """
    for part in ast.walk(named):
        if isinstance(part, ast.Call):
            raise typer.fail(node, f"{ast.unparse(named)} cannot call a function here: {GIVE_A_NAME}")
        if isinstance(part, ast.Name) and part.id in changed:
            raise typer.fail(node, f"{part.id} is assigned in the loop, but determines what {ast.unparse(named)} is")
        if isinstance(part, ast.Subscript):
            for inner in ast.walk(part.slice):
                if isinstance(inner, ast.Attribute) and inner.attr not in constants:
                    raise typer.fail(node, f"{ast.unparse(inner)} may change in the loop: {GIVE_A_NAME}")


def fill(typer: Typer, place: t.Memory, value: t.Expr, node: ast.stmt) -> list[t.Stmt]:
    """Return statements that assign a sequence to one that may have less room."""
    kind = place.kind
    assert isinstance(kind, Seq)
    name, line = f"at.{node.lineno}.{node.col_offset}", node.lineno
    element = typer.element(value, t.Var(t.INT, name), node)
    full = typer.site(node, place.field, f"would hold more than {kind.capacity}", kind.widen)
    outside = 0
    if isinstance(kind.element, Int) and not isinstance(kind.element, Bool):
        low, high = kind.element.lo, kind.element.hi
        outside = typer.site(node, place.field, f"would leave its range {low}..{high}", kind.element.widen)
    append = t.Append(line, place, element, full, outside)
    length = t.SeqLength(t.INT, value)
    return [t.Clear(line, place), t.For(line, name, t.Const(t.INT, 0), length, [append])]
