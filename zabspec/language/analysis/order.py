"""Refuse statements in which a call changes what another part of the same statement reads, or changes too.

    s.a[p][s.x[p]] = bump(s, p)        x = bump(s, p)
                                       s.a[p][s.x[p]] = x

Python evaluates from left to right. A back end may read a part of a statement elsewhere: an index behind the value, a
set where it is used, the fields of a message as they are declared. If nothing that a call changes is touched beside it,
every order comes to the same. In order everywhere are conditions, arithmetic and comparisons of numbers, the arguments
of a call that are numbers, and the call behind its arguments. Two choices may stand in one statement: all combinations
of them are explored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from typing import NamedTuple

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.effects import UNKNOWN, Effects
from zabspec.language.layout.schema import Field, Role

NUMBERS = {t.INT, t.BOOL}


class Touched(NamedTuple):
    """The fields that a part of a statement touches, and those that calls in it change, each with its function."""

    touches: frozenset[str]
    changes: Mapping[str, str]


class Order:
    """Finds the calls of one statement whose place in the order of evaluation matters.

    Args:
        effects: of the functions.
        fields: of the state; another place may be any of them.

    Attributes:
        found: the function of such a call.
    """

    def __init__(self, effects: Mapping[str, Effects], fields: Mapping[str, Field]) -> None:
        self.effects, self.fields, self.found = effects, fields, ""

    def statement(self, s: t.Stmt) -> Touched:
        """Return what a statement touches, without the statements in it."""
        if isinstance(s, (t.Store, t.Copy)):  # the place itself is written last
            return self.beside([*self.pieces(s.place), self.part(s.value)])
        return self.beside(self.pieces(s))

    def part(self, e: t.Node) -> Touched:
        """Return what an expression touches."""
        inside = list(self.pieces(e))
        if in_order(e):
            inside = [joined(inside)]
        out = self.beside(inside)
        if isinstance(e, t.Memory):
            return joined([out, Touched(frozenset({self.field(e.field)}), {})])
        if isinstance(e, t.Call):
            does = self.effects[e.function]
            changes = {self.field(w.at.field): e.function for w in does.writes if not self.reported(w.at.field)}
            reads = (self.field(a.field) for a in does.reads if not self.reported(a.field) and a.field[0] != "@")
            return joined([out, Touched(frozenset({*changes, *reads}), changes)])
        return out

    def field(self, name: str) -> str:
        return name if name in self.fields else UNKNOWN

    def reported(self, name: str) -> bool:
        """Return whether a field is what a step says about itself, as which of its alternatives it is."""
        return name in self.fields and self.fields[name].role is Role.SCRATCH

    def pieces(self, e: t.Node) -> Iterator[Touched]:
        """Return what each part of an expression or a statement touches."""
        return map(self.part, t.inside(e))

    def beside(self, pieces: Iterable[Touched]) -> Touched:
        """Return what parts touch whose order may be any, and note a call for which it matters."""
        known = [piece for piece in pieces if piece.touches]
        for one, other in permutations(known, 2):
            for field, function in one.changes.items():
                if field in other.touches or UNKNOWN in other.touches or (field == UNKNOWN and other.touches):
                    self.found = self.found or function
        return joined(known)


def in_order(e: t.Node) -> bool:
    """Return whether every back end evaluates the parts of an expression from left to right."""
    match e:
        case t.Logic() | t.Choice():
            return True
        case t.Binary(left=one, right=other) | t.Compare(left=one, right=other):
            return {one.type, other.type} <= NUMBERS
        case t.Call(args=args):
            return {value.type for value in args} <= {*NUMBERS, t.STATE}
    return False


def joined(pieces: Iterable[Touched]) -> Touched:
    known = list(pieces)
    changes = {field: function for piece in known for field, function in piece.changes.items()}
    return Touched(frozenset().union(*(piece.touches for piece in known)), changes)
