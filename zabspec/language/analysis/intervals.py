"""Compute an interval of the values that an expression may have, from declared ranges alone.

A function is evaluated over intervals: a field has its declared range, a parameter what it is called with; a loop is
run until its names hold no more, or it ends. A test that is decided so has one branch. The result contains every
possible value, and perhaps more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import given
from zabspec.language.layout.kinds import Int

Interval = tuple[int, int]
Names = dict[str, Interval]
ANY: Interval = (-(1 << 63), (1 << 63) - 1)
TRUTH: Interval = (0, 1)
TRUE, FALSE = (1, 1), (0, 0)
LEAVING = {"+": "sum", "-": "sum", "//": "quotient"}  # what no engine checks while it runs, in words
MANY = 1 << 12  # iterations of a loop that are followed one by one
MOST_ROUNDS = 1 << 15  # iterations of all loops, which are


def of_type(kind: t.AnyType) -> Interval:
    return TRUTH if kind == t.BOOL else ANY


def joined(values: Sequence[Interval]) -> Interval:
    return min(v[0] for v in values), max(v[1] for v in values)


def either(all_names: Iterable[Names]) -> Names:
    """Return what the names hold on one of several ways.

    A name without a value on one of them is not read behind them.
    """
    out: Names = {}
    for names in all_names:
        for name, value in names.items():
            out[name] = joined([out.get(name, value), value])
    return out


def calculated(op: str, left: Interval, right: Interval) -> Interval:
    """Return the interval of an operation's results, which may leave 64 bits."""
    (a, b), (c, d) = left, right
    match op:
        case "+":
            return a + c, b + d
        case "-":
            return a - d, b - c
        case "*":
            return extremes([x * y for x in left for y in right])
        case "//":  # by zero is an error
            divisors = [y for y in (c, min(d, -1), max(c, 1), d) if y and c <= y <= d]
            return extremes([x // y for x in left for y in divisors or [1]])
        case "%":
            return left if 0 <= a <= b < c else (min(0, c + 1), max(0, d - 1))
        case "&" if a >= 0 or c >= 0:
            return 0, min(high for low, high in (left, right) if low >= 0)
        case "|" | "^" if a >= 0 and c >= 0:
            return 0, (1 << max(b, d).bit_length()) - 1
        case "&" | "|" | "^":  # a result needs no more bits than the wider of the two
            bits = max(max(x, ~x).bit_length() for x in (a, b, c, d))
            return -1 << bits, (1 << bits) - 1
        case "<<" if 0 <= c <= d < 64:
            return extremes([x << y for x in left for y in right])
        case ">>" if 0 <= c <= d < 64:
            return extremes([x >> y for x in left for y in right])
    return ANY


def extremes(values: Sequence[int]) -> Interval:
    return min(values), max(values)


def clipped(low: int, high: int) -> Interval:
    """Return an interval within 64-bit words; ANY if a bound is outside."""
    return (low, high) if ANY[0] <= low and high <= ANY[1] else ANY


class Intervals:
    """Evaluates functions of a program, by their names.

    Args:
        functions: the program's, typed.
        followed: the functions whose loops are followed round by round; in others, what a loop assigns is any number.

    Attributes:
        leaving: by function and line, what a sum or a quotient there can be that does not fit 64 bits, in words.
    """

    def __init__(self, functions: Mapping[str, t.Function], followed: Collection[str] = ()) -> None:
        self.functions, self.followed = functions, followed
        self.known: dict[str, dict[tuple[tuple[str, Interval], ...], Interval]] = {}  # by name and arguments
        self.leaving: dict[tuple[str, int], str] = {}
        self.at = ("", 0)  # the function and the line that are evaluated
        self.ends: list[list[Names]] = []  # for each loop around what the names hold where an iteration ends
        self.rounds = 0  # of all loops

    def result(self, name: str, values: Mapping[str, Interval]) -> Interval:
        """Return the interval of a function's results for such arguments."""
        function = self.functions[name]
        known, key = self.known.setdefault(name, {}), tuple(sorted(values.items()))
        if key not in known:
            names = {p: values.get(p, of_type(kind)) for p, kind in function.params}
            returns: list[Interval] = []
            here, self.at = self.at, (name, function.line)
            around, self.ends = self.ends, []
            self.block(function.body, names, returns)
            self.at, self.ends = here, around
            known[key] = joined(returns) if returns else of_type(function.returns)
        return known[key]

    # --- statements ---------------------------------------------------------------------------

    def block(self, body: Iterable[t.Stmt], names: Names, returns: list[Interval]) -> bool:
        """Run statements; return whether what follows them may be reached."""
        return all(self.statement(s, names, returns) for s in body)

    def statement(self, s: t.Stmt, names: Names, returns: list[Interval]) -> bool:
        self.at = self.at[0], s.line
        match s:
            case t.Assign():
                names[s.name] = self.of(s.value, names)
            case t.Return():
                returns.append(self.of(s.value, names) if s.value is not None else ANY)
                return False
            case t.Break() | t.Continue():
                self.ends[-1].append(names)
                return False
            case t.If():
                return self.branch(s, names, returns)
            case t.For():
                start, stop = self.of(s.start, names), self.of(s.stop, names)
                if stop[1] > start[0]:
                    self.loop(s, stop[1] - start[0], names, returns, {s.name: (start[0], stop[1] - 1)})
            case t.While():
                names.update(dict.fromkeys(given(s.body), ANY))
                self.loop(s, 1, names, returns, {})
            case _:
                self.inside(s, names)
        return True

    def branch(self, s: t.If, names: Names, returns: list[Interval]) -> bool:
        test = self.of(s.test, names)
        if test in (TRUE, FALSE):
            return self.block(s.then if test == TRUE else s.other, names, returns)
        sides = [(side, dict(names)) for side in (s.then, s.other)]
        left = [own for side, own in sides if self.block(side, own, returns)]
        names.update(either(left))
        return bool(left)

    def loop(
        self, s: t.For | t.While, most: int, names: Names, returns: list[Interval], through: Mapping[str, Interval]
    ) -> None:
        """Run a loop's body until another iteration changes nothing, or there is none.

        Args:
            s: the loop.
            most: how many iterations there may be.
            names: what the names hold before it; afterwards, what they may hold behind it.
            returns: what the function may return.
            through: what the loop's own name may hold.
        """
        done = 0
        while done < most:
            if done == MANY or self.rounds > MOST_ROUNDS or self.at[0] not in self.followed:
                names.update(dict.fromkeys(given(s.body), ANY))
                most = done + 1
            done += 1
            self.rounds += 1
            inner = {**names, **through}
            if isinstance(s, t.While) and self.of(s.test, inner) == FALSE:
                return
            self.ends.append([names])
            if self.block(s.body, inner, returns):
                self.ends[-1].append(inner)
            after = either(self.ends.pop())
            if after == names:
                return
            names.update(after)

    def inside(self, e: Any, names: Names) -> Any:
        """Evaluate all expressions within a statement, an expression or a list of them, whatever it is.

        Returns:
            the interval of an expression, and for a list that of each.
        """
        if isinstance(e, t.Expr):
            return self.of(e, names)
        if isinstance(e, (list, tuple)):
            return [self.inside(x, names) for x in e]
        return self.parts(e, names) if isinstance(e, t.Node) else None

    def parts(self, e: t.Node, names: Names) -> dict[str, Any]:
        """Evaluate what a statement or an expression has in its fields; of a choice, the sides that there can be."""
        found: dict[str, Any] = {}
        for name in e.nesting:
            decided = {"then": FALSE, "other": TRUE}.get(name) if isinstance(e, t.Choice) else None
            if decided is None or found["test"] != decided:
                found[name] = self.inside(getattr(e, name), names)
        return found

    # --- expressions --------------------------------------------------------------------------

    def of(self, e: t.Expr, names: Names) -> Interval:
        """Return the interval of an expression."""
        match e:
            case t.Const():
                return e.value, e.value
            case t.Var():
                return names.get(e.name, of_type(e.type))
        return self.made_of(e, self.parts(e, names))

    def made_of(self, e: t.Expr, found: Mapping[str, Any]) -> Interval:
        """Return the interval of an expression.

        Args:
            e: the expression.
            found: the intervals of what it has in its fields.
        """
        match e:
            case t.Load(place=t.Memory(kind=Int() as kind)):
                return kind.lo, kind.hi
            case t.Compare():
                return compared_as(e, found["left"], found["right"])
            case t.SameSeq():
                return TRUE if alike(e.left, e.right) else TRUTH
            case t.Logic(op=op):
                ends = zip(*found["parts"], strict=True)
                low, high = map(min if op == "and" else max, ends)
                return low, high
            case t.Not():
                low, high = found["value"]
                return 1 - high, 1 - low
            case t.Choice():
                return joined([found[side] for side in ("then", "other") if side in found])
            case t.Call():
                params = zip(self.functions[e.function].params, found["args"], strict=True)
                return self.result(e.function, {name: v for (name, kind), v in params if kind in (t.INT, t.BOOL)})
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return 0, kind.capacity
            case t.SetSize(value=t.Expr(type=t.SetType(kind=members))):
                return 0, members.count
            case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
                held = record.fields[e.name]
                return held.lo, held.hi
            case t.Binary(op=op):
                low, high = calculated(op, found["left"], found["right"])
                if op in LEAVING and (low, high) != clipped(low, high) and not isinstance(e, t.OneOfRole):
                    said = f"a {LEAVING[op]} here can be {high if high > ANY[1] else low}"
                    self.leaving.setdefault(self.at, said)
                return clipped(low, high)
            case t.Builtin(op="unsigned_rem", args=[_, _]):
                low, high = found["args"][1]
                return (0, max(0, high - 1)) if low >= 0 else ANY
            case t.Builtin(op="min" | "max" as which, args=[_, _]):
                low, high = map(min if which == "min" else max, *found["args"])
                return low, high
        return of_type(e.type)


def compared_as(e: t.Compare, left: Interval, right: Interval) -> Interval:
    """Return the interval of a comparison's result."""
    if alike(e.left, e.right) and not calls(e.left):
        return TRUE if e.op in ("==", "<=", ">=") else FALSE
    if e.left.type not in (t.INT, t.BOOL):
        return TRUTH
    (a, b), (c, d) = left, right
    same, apart = a == b == c == d, b < c or d < a
    decided = {
        "==": (same, apart),
        "!=": (apart, same),
        "<": (b < c, a >= d),
        "<=": (b <= c, a > d),
        ">": (a > d, b <= c),
        ">=": (a >= d, b < c),
    }[e.op]
    return TRUE if decided[0] else FALSE if decided[1] else TRUTH


def alike(a: object, b: object) -> bool:
    """Return whether two expressions are the same, wherever they stand."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b) or not isinstance(a, (t.Expr, t.Term)):
        return a == b
    kind: Any = type(a)
    for name in compared(kind):
        if not alike(getattr(a, name), getattr(b, name)):
            return False
    return True


@cache
def compared(kind: Any) -> tuple[str, ...]:
    """Return the names of what two expressions, or terms, of a kind must agree in to be the same."""
    return tuple(f.name for f in fields(kind) if f.name != "site")


def calls(e: Any) -> bool:
    """Return whether an expression calls a function."""
    return any(isinstance(part, t.Call) for part in t.parts(e))
