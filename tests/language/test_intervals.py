"""The analysis of ranges sees every expression of a program, whatever construct it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.intervals import Intervals
from zabspec.language.analysis.structs import Member
from zabspec.language.layout.kinds import Int, Kind, Record, Seq, SetOf

MOST = (1 << 63) - 1
PAIR = Record("Pair", {"one": Int(5, 5), "other": Int(0, 9), "two": Int(7, 7)})
VALUES = {int: 1, bool: False, str: "+", Kind: Int(0, 9), Record: PAIR, Member: None, SetOf: SetOf(3), Seq: None}
NAMES = {"name": "one", "function": "helper", "op": "+"}


def classes(of: type[t.Node]) -> Iterator[type[t.Node]]:
    for each in of.__subclasses__():
        yield each
        yield from classes(each)


def number(value: int) -> t.Const:
    return t.Const(t.INT, value)


def beyond() -> t.Expr:
    """Return a sum that leaves 64 bits."""
    return t.Binary(t.INT, "+", number(MOST), number(1))


def made(kind: Any, name: str, leaves: bool) -> Any:
    """Return a value of a field of the tree: with a sum that leaves 64 bits inside, or without one."""
    origin, within = get_origin(kind), get_args(kind)
    if kind is t.AnyType:
        return t.RecordType(PAIR) if name == "record" else t.INT
    if origin is list:
        return [made(within[0], name, leaves)]
    if origin is tuple:
        return tuple(made(each, name, leaves) for each in within)
    if within and origin is not dict:  # a union
        return made(next(each for each in within if each in (t.Expr, t.Memory)), name, leaves)
    if kind is t.Expr:
        return beyond() if leaves else number(1)
    if kind is t.Stmt:
        return t.Evaluate(1, beyond() if leaves else number(1))
    if isinstance(kind, type) and issubclass(kind, t.Node):
        return node(kind, next(iter(held(kind))) if leaves else "")
    return NAMES.get(name, VALUES.get(kind))


def held(kind: type[t.Node]) -> list[str]:
    """Return the fields of a class in which there may be an expression."""
    hints = get_type_hints(kind)
    return [f.name for f in fields(kind) if expressions_in(hints[f.name])]  # type: ignore[arg-type]


def expressions_in(kind: Any) -> bool:
    if isinstance(kind, type) and get_origin(kind) is None:
        return issubclass(kind, t.Node)
    return kind != t.AnyType and any(map(expressions_in, get_args(kind)))


def node(kind: type[t.Node], where: str) -> t.Node:
    """Return an object of a class of the tree with a sum that leaves 64 bits in one of its fields."""
    hints = get_type_hints(kind)
    values = {f.name: made(hints[f.name], f.name, f.name == where) for f in fields(kind)}  # type: ignore[arg-type]
    if kind is t.For and where == "body":
        values["stop"] = number(2)
    if issubclass(kind, t.Choice) and where != "test":
        values["test"] = t.Var(t.BOOL, "undecided")
    if kind is t.Compare:
        values["op"] = "=="
    if kind is t.If and where == "other":
        values["test"] = t.Const(t.BOOL, 0)
    return kind(**values)


PLACES = [
    pytest.param(kind, where, id=f"{kind.__name__}.{where}")
    for base in (t.Expr, t.Term, t.Stmt)
    for kind in (base, *classes(base))
    if kind not in (t.Expr, t.Stmt)
    for where in held(kind)
]


@pytest.mark.parametrize(("kind", "where"), PLACES)
def test_a_sum_is_seen_wherever_it_stands(kind: type[t.Node], where: str) -> None:
    helper = t.Function("helper", "f", 1, [("a", t.INT)], t.INT, {}, [t.Return(1, number(1))])
    intervals = Intervals({"helper": helper}, ["helper", "own"])
    intervals.block([t.Evaluate(1, node(kind, ""))] if issubclass(kind, t.Expr) else [], {}, [])
    assert not intervals.leaving
    made_here = node(kind, where)
    if issubclass(kind, t.Expr):
        intervals.statement(t.Evaluate(1, made_here), {}, [])  # type: ignore[arg-type]
    elif issubclass(kind, t.Stmt):
        intervals.statement(made_here, {}, [])  # type: ignore[arg-type]
    else:
        intervals.inside(made_here, {})
    assert intervals.leaving


def test_there_are_places_of_every_shape() -> None:
    assert {"Load.place", "Term.index", "MakeMessage.parts", "MakeRecord.parts", "Memory.terms", "Call.args"} <= {
        str(place.id) for place in PLACES
    }


def test_a_field_of_one_value_has_that_value() -> None:
    """It takes no bits, so it lies where its neighbour lies."""
    word = t.Var(t.RecordType(PAIR), "pair")
    found = {
        name: Intervals({}).of(t.RecordField(t.INT, word, name, PAIR.shift(name), kind.bits, kind.lo), {})  # type: ignore[attr-defined]
        for name, kind in PAIR.fields.items()
    }
    assert found == {"one": (5, 5), "other": (0, 9), "two": (7, 7)}
