"""Evaluate a property in every case: for each value that what it reads may have, by the declared ranges.

A value is chosen when it is read first, and kept for the rest of the evaluation, so that `x or not x` is seen to be
true although x is not known. That is repeated until every choice has been made each way. What this module does not
evaluate, and what takes too many cases, is not decided.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Int, Record, Seq, SetOf

MOST_WORK = 60_000  # nodes of the tree
DRAWN = 64  # cases that are drawn at random first: most properties are False in one of them
MOST_VALUES = 64
HOPELESS = 16  # times that work, by what the drawn cases say (Knuth, *Estimating the efficiency of backtrack programs*)


class Undecided(Exception):
    """The property cannot be evaluated here, or takes too long."""


class Errs(Exception):
    """Evaluating the property meets a run-time error, so that it is neither True nor False."""


class Returned(Exception):
    """A function returns."""

    def __init__(self, value: Any) -> None:
        self.value = value


class LoopBroken(Exception):
    """A loop ends by `break`."""


class Continued(Exception):
    """An iteration ends by `continue`."""


@dataclass(frozen=True)
class At:
    """A place: in which state, and where."""

    state: str
    offset: int


Names = dict[str, Any]


def never_false_in_any_case(functions: Mapping[str, t.Function], name: str) -> bool:
    """Return whether a property is False in no case, all of them having been evaluated."""
    cases = _Cases(functions)
    try:
        if any(cases.drawn(name) for _ in range(DRAWN)) or cases.expected_work > HOPELESS * MOST_WORK:
            return False
        return not cases.is_false_in_some(name)
    except Undecided:
        return False


class _Cases:
    """Evaluates functions in one case after another."""

    def __init__(self, functions: Mapping[str, t.Function]) -> None:
        self.functions = functions
        self.work = 0
        self.chance: random.Random | None = random.Random(0)
        self.cells: dict[Any, int] = {}
        self.ways: list[list[int]] = []  # for each choice the way that it goes, and how many ways there are
        self.at = 0
        self.likely = 1  # in a random case: as many cases as there are, were all as deep as it
        self.expected_work = 0.0  # of all cases, by those that were drawn

    def drawn(self, name: str) -> bool:
        """Return whether the property is False in a random case."""
        self.chance, self.likely, before = random.Random(self.work), 1, self.work
        false = self.is_false(name)
        self.expected_work += self.likely * (self.work - before) / DRAWN
        return false

    def is_false_in_some(self, name: str) -> bool:
        """Return whether the property is False in any case, evaluating each."""
        self.chance, self.ways = None, []
        while True:
            if self.is_false(name):
                return True
            while self.ways and self.ways[-1][0] + 1 == self.ways[-1][1]:
                self.ways.pop()
            if not self.ways:
                return False
            self.ways[-1][0] += 1

    def is_false(self, name: str) -> bool:
        self.cells, self.at = {}, 0
        function = self.functions[name]
        given: Names = {}
        for param, kind in function.params:
            if kind != t.STATE and not isinstance(kind, t.MessageType):
                raise Undecided
            given[param] = param if kind == t.STATE else At(param, 0)
        try:
            return not self.call(function, given)
        except Errs:
            return False

    def cell(self, key: Any, low: int, high: int) -> int:
        """Return the value of a part of the state, chosen where it is not known yet."""
        if (found := self.cells.get((key, low, high))) is not None:
            return found
        if high - low >= MOST_VALUES:
            raise Undecided
        if self.chance is not None:
            way = self.chance.randrange(high - low + 1)
            self.likely *= high - low + 1
        else:
            if self.at == len(self.ways):
                self.ways.append([0, high - low + 1])
            way = self.ways[self.at][0]
            self.at += 1
        self.cells[key, low, high] = low + way
        return low + way

    # --- statements ---------------------------------------------------------------------------

    def call(self, function: t.Function, names: Names) -> Any:
        try:
            self.block(function.body, names)
        except Returned as ended:
            return ended.value
        return None

    def block(self, body: list[t.Stmt], names: Names) -> None:
        for s in body:
            self.statement(s, names)

    def statement(self, s: t.Stmt, names: Names) -> None:
        match s:
            case t.Assign():
                names[s.name] = self.of(s.value, names)
            case t.Evaluate():
                self.of(s.value, names)
            case t.Return():
                raise Returned(None if s.value is None else self.of(s.value, names))
            case t.Break():
                raise LoopBroken
            case t.Continue():
                raise Continued
            case t.If():
                self.block(s.then if self.of(s.test, names) else s.other, names)
            case t.For():
                self.loop(s, names)
            case _:
                raise Undecided

    def loop(self, s: t.For, names: Names) -> None:
        for k in range(self.of(s.start, names), self.of(s.stop, names)):
            names[s.name] = k
            try:
                self.block(s.body, names)
            except LoopBroken:
                break
            except Continued:
                pass

    # --- expressions --------------------------------------------------------------------------

    def of(self, e: t.Expr, names: Names) -> Any:
        self.work += 1
        if self.work > MOST_WORK:
            raise Undecided
        match e:
            case t.Const():
                return e.value
            case t.Var():
                return names[e.name]
            case t.Memory():
                return self.place(e, names)
            case t.Load():
                return self.load(e.place, names)
            case t.Not():
                return not self.of(e.value, names)
            case t.Logic(op="and"):
                return all(self.of(part, names) for part in e.parts)
            case t.Logic():
                return any(self.of(part, names) for part in e.parts)
            case t.Choice():
                return self.of(e.then if self.of(e.test, names) else e.other, names)
            case t.Call():
                target = self.functions[e.function]
                given = [self.of(value, names) for value in e.args]
                return self.call(target, {name: v for (name, _), v in zip(target.params, given, strict=True)})
            case t.Compare():
                return t.OPERATORS[e.op](self.whole(e.left, names), self.whole(e.right, names))
            case t.Binary():
                return self.binary(e, names)
            case t.Builtin(op="min" | "max" as which):
                return (min if which == "min" else max)(self.of(value, names) for value in e.args)
            case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
                return self.field(self.of(e.value, names), record, e.name)
            case t.MakeRecord():
                return {name: self.of(value, names) for name, value, _ in e.parts}
            case t.SetHas(value=t.Expr(type=t.SetType(kind=kind))):
                return self.has(self.of(e.value, names), self.of(e.item, names), kind)
            case t.SetSize(value=t.Expr(type=t.SetType(kind=kind))):
                members = self.of(e.value, names)
                return sum(self.has(members, k, kind) for k in range(kind.count))
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return self.cell((self.of(e.seq, names), "length"), 0, kind.capacity)
            case t.MessageKind(message=t.Expr(type=t.MessageType(union=union))):
                return self.cell((self.of(e.message, names), "kind"), 0, len(union.messages))
        raise Undecided

    def binary(self, e: t.Binary, names: Names) -> int:
        left, right = self.of(e.left, names), self.of(e.right, names)
        if (e.op in ("//", "%") and right == 0) or (e.op in ("<<", ">>") and not 0 <= right < 64):
            raise Errs
        value = int(t.OPERATORS[e.op](left, right))
        if not -(1 << 63) <= value < 1 << 63:
            raise Errs
        return value

    def whole(self, e: t.Expr, names: Names) -> Any:
        """Return a value in a form that can be compared."""
        value = self.of(e, names)
        match e.type:
            case t.RecordType(record=record):
                return tuple(self.field(value, record, name) for name in record.fields)
            case t.SetType(kind=kind):
                return [self.has(value, k, kind) for k in range(kind.count)]
            case t.INT | t.BOOL | t.NameType():
                return value
        raise Undecided

    # --- memory -------------------------------------------------------------------------------

    def place(self, place: t.Memory, names: Names) -> At:
        base = self.of(place.base, names)
        state, offset = (base, 0) if isinstance(base, str) else (base.state, base.offset)
        offset += place.offset
        for term in place.terms:
            index = self.of(term.index, names)
            if not 0 <= index < term.bound:
                raise Errs
            offset += index * term.stride
        return At(state, offset)

    def load(self, place: t.Memory, names: Names) -> Any:
        at = self.place(place, names)
        match place.kind:
            case Int(lo=low, hi=high):
                return self.cell(at, low, high)
            case Record() | SetOf() | Seq():
                return at
        raise Undecided

    def field(self, value: Any, record: Record, name: str) -> int:
        kind = record.fields[name]
        if isinstance(kind, SetOf):
            raise Undecided
        return int(value[name]) if isinstance(value, dict) else self.cell((value, name), kind.lo, kind.hi)

    def has(self, value: Any, item: int, kind: SetOf) -> bool:
        if not isinstance(value, At):
            raise Undecided
        return 0 <= item < kind.count and self.cell((value, "member", item), 0, 1) == 1
