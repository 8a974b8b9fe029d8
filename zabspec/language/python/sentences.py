"""Support the sentence beside a property's False: `return broken(f"p{p} delivered {t}, which nobody broadcast")`.

The front end checks its places as it does every expression and drops it, so that machine code, the symbolic world and
the analysis of symmetry see False. In CPython the sentence goes with its False: what is returned is `ExplainedFalse`;
negating it, or returning another False, loses the sentence.

There the places are filled one by one, when the property returns and not before: an error in one of them, which no
other world would meet, is no error of the property.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.source import copied, definition, recompiled
from zabspec.language.python.arithmetic import Checked, may_overflow

MARK = "broken"  # what the function is called
NOBODY = re.compile(r"\bp-1\b")


class ExplainedFalse(int):
    """A False with its explanation. It is 0, and compared and stored as False is.

    Attributes:
        pieces: the words between the places, one more than there are places.
        values: the values in the places; None where a value could not be computed.
    """

    pieces: tuple[str, ...]
    values: tuple[Any, ...]
    text: str

    def __new__(
        cls, sentence: str | Sequence[str], names: Sequence[str] = (), places: Sequence[Callable[[], Any]] = ()
    ) -> ExplainedFalse:
        """Make a False with its sentence.

        Args:
            sentence: the whole of it; or the text between its places.
            names: the source of each place.
            places: for each place a function that returns its value.
        """
        self = super().__new__(cls, 0)
        self.pieces = (sentence,) if isinstance(sentence, str) else tuple(sentence)
        values, words = [], [self.pieces[0]]
        for name, place, piece in zip(names, places, self.pieces[1:], strict=True):
            try:
                value = place()
                words += [spoken(value), piece]
            except Exception:  # whatever it is, it is none of the property's
                value = None
                words += ["{", name, "}", piece]
            values.append(value)
        self.values = tuple(values)
        text = NOBODY.sub("nobody", "".join(words))
        self.text = text if text.endswith(".") else f"{text}."
        return self


def spoken(value: Any) -> str:
    """Return the text of a place: a set that a sentence makes is of processes, and a False gives its own sentence."""
    if isinstance(value, ExplainedFalse):
        return value.text.removesuffix(".")
    return "{" + ", ".join(f"p{p}" for p in sorted(value)) + "}" if isinstance(value, set) else str(value)


def sentence_of(result: object) -> str:
    """Return the sentence of a property's result in CPython; empty if it has none."""
    return result.text if isinstance(result, ExplainedFalse) else ""


def explained_all(values: Iterable[object]) -> object:
    """Return whether all values are true, as Python does; a False with a sentence keeps it."""
    for value in values:
        if not value:
            return value if isinstance(value, ExplainedFalse) else False
    return True


def pieces(sentence: ast.expr) -> tuple[list[str], list[ast.FormattedValue]] | None:
    """Return the text between the places of an f-string, and the places; None if it is no text."""
    if isinstance(sentence, ast.Constant) and isinstance(sentence.value, str):
        return [sentence.value], []
    if not isinstance(sentence, ast.JoinedStr):
        return None
    between, places = [""], []
    for part in sentence.values:
        if isinstance(part, ast.FormattedValue):
            places.append(part)
            between.append("")
        else:
            assert isinstance(part, ast.Constant)
            between[-1] += str(part.value)
    return between, places


class Deferred(ast.NodeTransformer):
    """Turns every sentence into the text between its places, and a function for each place's value."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        found = pieces(node.args[0]) if isinstance(node.func, ast.Name) and node.func.id == MARK and node.args else None
        if found is None:
            return node
        between, places = found
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        given: list[ast.expr] = [
            ast.Tuple([ast.Constant(piece) for piece in between], ast.Load()),
            ast.Tuple([ast.Constant(ast.unparse(place.value)) for place in places], ast.Load()),
            ast.Tuple([ast.Lambda(nothing, place.value) for place in places], ast.Load()),
        ]
        return ast.fix_missing_locations(ast.copy_location(ast.Call(node.func, given, []), node))


@cache
def with_sentences(function: FunctionType, sets: frozenset[str] = frozenset()) -> CodeType:
    """Return the code of a function with deferred sentences, and with what `Checked` replaces.

    Args:
        function: the function.
        sets: the names of fields that hold sets.

    Raises:
        LanguageError: the file no longer matches what was loaded from it, or it reads names of an enclosing function.
    """
    code = function.__code__
    says, checked = MARK in global_names(code), Checked(sets, may_overflow(function))
    if not says and not checked.numbers and is_own_file(code.co_filename):
        return code
    node = checked.visit(copied(definition(function)))
    if not says and not checked.numbers and not checked.changed:
        return code
    return recompiled(function, Deferred().visit(node) if says else node)
