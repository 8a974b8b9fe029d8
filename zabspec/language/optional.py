"""Refuse calculating with an optional number where it may be NOTHING.

NOTHING is a number as NOBODY is, below every value that an optional number can have. To compare it for equality, to
keep it and to pass it on is what it is for. A sum with it, or its order among numbers, is a slip: `s.seen[p][q] <
m.round` where nothing was seen yet. So what is calculated with has to be known to be there, by a test before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from zabspec.language import tree as t
from zabspec.language.kinds import OptionalInt
from zabspec.language.source import LanguageError

__all__ = ["check_optional", "is_optional"]


def is_optional(e: t.Expr, names: Collection[str]) -> bool:
    """Whether a value may be NOTHING by its declaration.

    Args:
        names: local names of such values.
    """
    match e:
        case t.Load():
            return isinstance(e.place.kind, OptionalInt)
        case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
            return isinstance(record.fields[record.part(e.shift, e.bits)], OptionalInt)
        case t.Choice():
            return is_optional(e.then, names) or is_optional(e.other, names)
        case t.Var():
            return e.name in names
    return False


def check_optional(function: t.Function, nothing: Mapping[int, t.Expr]) -> None:
    """Check one function that calculates with optional numbers.

    Args:
        nothing: by their lines, those of which no test before has shown that they are there.

    Raises:
        LanguageError: a number may be NOTHING where it is calculated with; with its line.
    """
    for line, e in sorted(nothing.items()):
        said = f"{called(e)} may be NOTHING where it is calculated with, or asked for its order: ask `!= NOTHING` first"
        raise LanguageError(function.file, line, said)


def called(e: t.Expr) -> str:
    """What a number is called in the text."""
    match e:
        case t.Load():
            return e.place.field
        case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
            return f"{record.name}.{record.part(e.shift, e.bits)}"
        case t.Choice():
            return called(e.then if is_optional(e.then, ()) else e.other)
        case t.Var():
            return e.name
    return "a number"
