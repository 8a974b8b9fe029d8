"""Refuse calculating with an optional number where it may be NOTHING.

NOTHING is a number as NOBODY is, below every value that an optional number can have. It may be compared for equality,
kept and passed on. A sum with it, or its order among numbers, is a mistake: `s.seen[p][q] < m.round` where nothing was
seen yet. So a number that is calculated with must be known to be there, by a test before it.

This goes through functions: a parameter that a function of the file calculates with, and does not test, takes nothing
that may be NOTHING; and a function's result may be NOTHING if what it returns may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Kind, OptionalInt
from zabspec.language.layout.source import LanguageError

DECLARED = ""  # where what may be NOTHING is from: a declared kind, and no parameter
NONE: frozenset[str] = frozenset()

Functions = Mapping[str, t.Function]
Origins = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Calculated:
    """A use of a number in a calculation, although it may be NOTHING.

    Attributes:
        number: the number.
        origins: its origins.
        function: the function that calculates with it, to which it is passed; empty for the function itself.
        parameter: the parameter as which it is passed.
    """

    number: t.Expr
    origins: frozenset[str]
    function: str = ""
    parameter: str = ""


def origins(e: t.Expr, names: Origins, functions: Functions) -> frozenset[str]:
    """Return the origins of a number that may be NOTHING: parameters, and `DECLARED`; empty if it cannot be.

    Args:
        names: of local names.
        functions: that are typed already.
    """
    match e:
        case t.Load():
            return frozenset({DECLARED}) if isinstance(e.place.kind, OptionalInt) else NONE
        case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
            kind = record.fields[e.name]
            return frozenset({DECLARED}) if isinstance(kind, OptionalInt) else NONE
        case t.Choice():
            return origins(e.then, names, functions) | origins(e.other, names, functions)
        case t.Var():
            return names.get(e.name, NONE)
        case t.Call() if gives := functions[e.function].gives:
            given = {name: value for (name, _), value in zip(functions[e.function].params, e.args, strict=True)}
            passed = (origins(given[name], names, functions) for name in gives - {DECLARED})
            return (gives & {DECLARED}).union(*passed)
    return NONE


def has_optional(kinds: Iterable[Kind]) -> bool:
    """Return whether any of some kinds has optional numbers in it."""
    return any(isinstance(part, OptionalInt) for kind in kinds for part in kind.all_parts())


def check_optional(
    function: t.Function, functions: Functions, found: Iterable[tuple[int, Calculated]], gives: frozenset[str]
) -> None:
    """Check one function that calculates with optional numbers, and note which of its parameters are to be there.

    Args:
        functions: that it calls.
        found: where, by line, it calculates with numbers of which no test before has shown that they are there.
        gives: where what it gives back is from, that may be NOTHING.

    Raises:
        LanguageError: a number may be NOTHING where it is calculated with; with its line.
    """
    wants: dict[str, int] = {}
    for line, c in sorted(found, key=lambda one: one[0]):
        if DECLARED in c.origins:
            raise LanguageError(function.file, line, sentence(c, functions))
        for parameter in c.origins:
            wants.setdefault(parameter, line)
    function.wants, function.gives = wants, gives


def sentence(c: Calculated, functions: Functions) -> str:
    """Return the message about such a calculation."""
    if not c.function or "." in c.parameter:  # of an expression that the front end wrote out
        said = "may be NOTHING in arithmetic or an order comparison: check `!= NOTHING` first"
        return f"{called(c.number, functions)} {said}"
    does = calculates(functions[c.function], c.parameter)
    return f"{called(c.number, functions)} may be NOTHING, and {does}: check `!= NOTHING` first, here or there"


def passes_nothing(callee: t.Function, parameter: str) -> str:
    """Return the message about NOTHING itself passed to a function that calculates with it."""
    return f"NOTHING is passed, but {calculates(callee, parameter)}, which needs a value"


def calculates(callee: t.Function, parameter: str) -> str:
    """Return what a function does with a parameter, in words."""
    return f"{callee.called} calculates with its {parameter} (line {callee.wants[parameter]})"


def called(e: t.Expr, functions: Functions) -> str:
    """Return how the source names a number."""
    match e:
        case t.Load():
            return e.place.field
        case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
            return f"{record.name}.{e.name}"
        case t.Choice():
            return called(e.then if origins(e.then, {}, functions) else e.other, functions)
        case t.Call():
            return f"what {functions[e.function].called} returns"
        case t.Var():
            return e.name
    return "a number"
