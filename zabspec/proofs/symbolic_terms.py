"""Build terms of the symbolic world: truth values and bit-vectors as a shared graph, simplified as they are made.

A constant is a plain Python value, `bool` or `int`; a `Term` is never constant. The sort of a term is its width: 0 for
a truth value, else a number of bits, read as an unsigned number. Equal terms are one object, so `is` compares them.
`z3_terms.py` passes them to z3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias


class Term:
    """A node of the graph. `args` are terms, constants, and the numbers an operator carries."""

    __slots__ = ("args", "op", "serial", "width")

    def __init__(self, op: str, args: tuple[Term | int | bool | str, ...], width: int, serial: int) -> None:
        self.op, self.args, self.width, self.serial = op, args, width, serial

    def __repr__(self) -> str:
        return str(self.args[0]) if self.op == "var" else f"({self.op} {' '.join(map(repr, self.args))})"


LIST = 12  # the most constants that an operator is worked out on one by one

Truth: TypeAlias = Term | bool
Bits: TypeAlias = Term | int

_known: dict[tuple[object, ...], Term] = {}
_serials = count()  # no two terms have the same, also behind `forget_terms`


def _make(op: str, args: tuple[Term | int | bool | str, ...], width: int) -> Term:
    key = (op, width, args)
    found = _known.get(key)
    if found is None:
        found = _known[key] = Term(op, args, width, next(_serials))
    return found


def forget_terms() -> None:
    """Stop sharing new terms with earlier ones, so that earlier ones that are no longer used are freed.

    A process that asks about one model after the other calls it in between: hundreds of megabytes are a model's. A term
    that is kept stays what it is, but one like it that is made later is another object.
    """
    _known.clear()


def variable(name: str, width: int) -> Term:
    """Return the variable of that name; its width is part of it."""
    return _make("var", (name,), width)


# --- truth values ------------------------------------------------------------------------------


def not_(a: Truth) -> Truth:
    """Return the negation."""
    if not isinstance(a, Term):
        return not a
    if a.op == "not":
        inner = a.args[0]
        assert isinstance(inner, Term)
        return inner
    return _make("not", (a,), 0)


def and_(a: Truth, b: Truth) -> Truth:
    """Return the conjunction."""
    if not isinstance(a, Term):
        return b if a else False
    if not isinstance(b, Term):
        return a if b else False
    if a is b:
        return a
    if _negated(a, b):
        return False
    if a.op == "not" and b.op == "not":  # one form for both, so that `conjuncts` finds them
        return not_(or_(a.args[0], b.args[0]))  # type: ignore[arg-type]
    for x, y in ((a, b), (b, a)):
        if y.op == "and" and x in y.args:
            return y
        if y.op == "or":
            if x in y.args:
                return x
            for k in (0, 1):
                if _negated(x, y.args[k]):
                    return and_(x, y.args[1 - k])  # type: ignore[arg-type]
        if x.op == "=" and y.op == "=" and x.args[0] is y.args[0] and _two_values(x.args[1], y.args[1]):
            return False
    return _make("and", (a, b) if a.serial < b.serial else (b, a), 0)


def or_(a: Truth, b: Truth) -> Truth:
    """Return the disjunction."""
    if not isinstance(a, Term):
        return True if a else b
    if not isinstance(b, Term):
        return True if b else a
    if a is b:
        return a
    if _negated(a, b):
        return True
    for x, y in ((a, b), (b, a)):
        if y.op == "or" and x in y.args:
            return y
        if y.op == "and":
            if x in y.args:
                return x
            for k in (0, 1):
                if _negated(x, y.args[k]):
                    return or_(x, y.args[1 - k])  # type: ignore[arg-type]
    return _make("or", (a, b) if a.serial < b.serial else (b, a), 0)


def all_of(conditions: Iterable[Truth]) -> Truth:
    """Return the conjunction of conditions."""
    out: Truth = True
    for condition in conditions:
        out = and_(out, condition)
    return out


def some_of(conditions: Iterable[Truth]) -> Truth:
    """Return the disjunction of conditions."""
    out: Truth = False
    for condition in conditions:
        out = or_(out, condition)
    return out


def _negated(a: object, b: object) -> bool:
    return (isinstance(a, Term) and a.op == "not" and a.args[0] is b) or (
        isinstance(b, Term) and b.op == "not" and b.args[0] is a
    )


def _two_values(a: object, b: object) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


# --- either sort -------------------------------------------------------------------------------


def ite(test: Truth, then: Term | int, other: Term | int, width: int) -> Term | int:
    """Return `then` where the test is true, else `other`; both of that width (0 for truth values)."""
    if not isinstance(test, Term):
        return then if test else other
    if then is other or (not isinstance(then, Term) and not isinstance(other, Term) and then == other):
        return then
    if test.op == "not":
        inner = test.args[0]
        assert isinstance(inner, Term)
        return ite(inner, other, then, width)
    if isinstance(then, Term) and then.op == "ite" and then.args[0] is test:
        return ite(test, then.args[1], other, width)  # type: ignore[arg-type]
    if isinstance(other, Term) and other.op == "ite":
        if other.args[0] is test:
            return ite(test, then, other.args[2], width)  # type: ignore[arg-type]
        if other.args[1] is then or (not isinstance(then, Term) and other.args[1] == then):
            return ite(or_(test, other.args[0]), then, other.args[2], width)  # type: ignore[arg-type]
    if width == 0:
        if not isinstance(then, Term):
            return or_(test, other) if then else and_(not_(test), other)  # type: ignore[arg-type]
        if not isinstance(other, Term):
            return or_(not_(test), then) if other else and_(test, then)
        if then is test:
            return or_(test, other)
        if other is test:
            return and_(test, then)
    return _make("ite", (test, then, other), width)


def equal(a: Term | int, b: Term | int, width: int) -> Truth:
    """Return whether two values of one width are equal (0 for truth values)."""
    if not isinstance(a, Term):
        a, b = b, a
    if not isinstance(a, Term):
        return a == b
    if a is b:
        return True
    if not isinstance(b, Term):
        if width == 0:
            return a if b else not_(a)
        if b < 0 or b >> width:
            return False
        if a.op == "ite" and _has_constant(a):
            test, then, other = a.args
            return ite(test, equal(then, b, width), equal(other, b, width), 0)  # type: ignore[arg-type, return-value]
        if a.op == "zext":
            inner = a.args[0]
            assert isinstance(inner, Term)
            return equal(inner, b, inner.width)
        return _make("=", (a, b), 0)
    return _make("=", (a, b) if a.serial < b.serial else (b, a), 0)


# --- bit-vectors -------------------------------------------------------------------------------


def bits_of(value: int, width: int) -> int:
    """Return a number as that many bits, two's complement."""
    return value & ((1 << width) - 1)


def _binary(op: str, a: Bits, b: Bits, width: int) -> Term:
    return _make(op, (a, b), width)


def add(a: Bits, b: Bits, width: int) -> Bits:
    """Return the sum modulo 2**width."""
    if not isinstance(a, Term):
        a, b = b, a
    if not isinstance(a, Term):
        return bits_of(a + b, width)  # type: ignore[operator]
    if not isinstance(b, Term) and bits_of(b, width) == 0:
        return a
    if not isinstance(b, Term) and a.op == "ite" and _has_constant(a):
        return ite(a.args[0], add(a.args[1], b, width), add(a.args[2], b, width), width)  # type: ignore[arg-type]
    return _binary("+", a, b if isinstance(b, Term) else bits_of(b, width), width)


def sub(a: Bits, b: Bits, width: int) -> Bits:
    """Return the difference modulo 2**width."""
    if not isinstance(b, Term):
        return add(a, bits_of(-b, width), width)
    if a is b:
        return 0
    return _binary("-", a, b, width)


def mul(a: Bits, b: Bits, width: int) -> Bits:
    """Return the product modulo 2**width."""
    if not isinstance(a, Term) and not isinstance(b, Term):
        return bits_of(a * b, width)
    return _binary("*", a, b, width)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def signed_div(a: Bits, b: Bits, width: int) -> Bits:
    """Return the quotient of two's complement numbers rounded towards zero; by zero, what SMT-LIB says."""
    if not isinstance(a, Term) and not isinstance(b, Term):
        x, y = _signed(a, width), _signed(b, width)
        quotient = abs(x) // abs(y) if y else -1
        return bits_of(quotient if (x < 0) == (y < 0) else -quotient, width)
    return _binary("sdiv", a, b, width)


def signed_mod(a: Bits, b: Bits, width: int) -> Bits:
    """Return the remainder of two's complement numbers, with the divisor's sign; by zero, the dividend."""
    if not isinstance(a, Term) and not isinstance(b, Term):
        return bits_of(_signed(a, width) % _signed(b, width), width) if b else a
    return _binary("smod", a, b, width)


def bit_and(a: Bits, b: Bits, width: int) -> Bits:
    """Return the bitwise conjunction."""
    if not isinstance(a, Term):
        a, b = b, a
    if not isinstance(a, Term):
        return a & b  # type: ignore[operator]
    if not isinstance(b, Term):
        if b == 0:
            return 0
        if b == (1 << width) - 1:
            return a
    return a if a is b else _binary("&", a, b, width)


def bit_or(a: Bits, b: Bits, width: int) -> Bits:
    """Return the bitwise disjunction."""
    if not isinstance(a, Term):
        a, b = b, a
    if not isinstance(a, Term):
        return a | b  # type: ignore[operator]
    if not isinstance(b, Term):
        if b == 0:
            return a
        if b == (1 << width) - 1:
            return b
    return a if a is b else _binary("|", a, b, width)


def bit_xor(a: Bits, b: Bits, width: int) -> Bits:
    """Return the bitwise exclusive disjunction."""
    if not isinstance(a, Term) and not isinstance(b, Term):
        return a ^ b
    return 0 if a is b else _binary("^", a, b, width)


def bit_not(a: Bits, width: int) -> Bits:
    """Return the bitwise negation."""
    return bit_xor(a, (1 << width) - 1, width)


def xor_sign(a: Bits, width: int) -> Bits:
    """Flip the top bit, so that two's complement order becomes unsigned order."""
    return bit_xor(a, 1 << (width - 1), width)


def shift_left(a: Bits, by: Bits, width: int) -> Bits:
    """Return a shifted left, modulo 2**width."""
    if not isinstance(by, Term):
        if by == 0:
            return a
        if by >= width:
            return 0  # and no number of as many bits is made first
        if not isinstance(a, Term):
            return bits_of(a << by, width)
    return _binary("<<", a, by, width)


def shift_right(a: Bits, by: Bits, width: int) -> Bits:
    """Return a shifted right; zeros come in from the left."""
    if not isinstance(by, Term):
        if by == 0:
            return a
        if not isinstance(a, Term):
            return a >> by
        if by >= width:
            return 0
    return _binary(">>", a, by, width)


def shift_right_signed(a: Bits, by: Bits, width: int) -> Bits:
    """Return a shifted right; copies of the top bit come in from the left."""
    if not isinstance(by, Term) and not isinstance(a, Term):
        return bits_of(_signed(a, width) >> by, width)
    if not isinstance(by, Term) and by == 0:
        return a
    return _binary("sar", a, by, width)


def less(a: Bits, b: Bits, width: int) -> Truth:
    """Return a < b as unsigned numbers."""
    if not isinstance(a, Term) and not isinstance(b, Term):
        return a < b
    if a is b:
        return False
    if not isinstance(b, Term):
        assert isinstance(a, Term)
        if b <= 0:
            return False
        if b >> width:
            return True
        if b == 1:
            return equal(a, 0, width)
        if a.op == "ite" and _has_constant(a):
            return ite(a.args[0], less(a.args[1], b, width), less(a.args[2], b, width), 0)  # type: ignore[arg-type, return-value]
    elif not isinstance(a, Term):
        if a < 0:
            return True
        if a >= (1 << width) - 1:
            return False
        return not_(less(b, a + 1, width))
    return _make("<", (a, b), 0)


def less_signed(a: Bits, b: Bits, width: int) -> Truth:
    """Return a < b as two's complement numbers."""
    return less(xor_sign(a, width), xor_sign(b, width), width)


def _has_constant(a: Term) -> bool:
    """Return whether an `ite` is a short list of constants, to each of which an operator is applied."""
    for _ in range(LIST):
        then, other = a.args[1], a.args[2]
        if isinstance(then, Term):
            then, other = other, then
        if isinstance(then, Term):
            return False
        if not isinstance(other, Term) or other.op != "ite":
            return True
        a = other
    return False


def extract(a: Bits, low: int, width: int) -> Bits:
    """Return `width` bits from bit `low` up."""
    if not isinstance(a, Term):
        return bits_of(a >> low, width)
    if low == 0 and width == a.width:
        return a
    if a.op == "ite" and _has_constant(a):
        return ite(a.args[0], extract(a.args[1], low, width), extract(a.args[2], low, width), width)  # type: ignore[arg-type]
    if a.op == "concat":
        high, rest, at = a.args
        assert isinstance(at, int)
        if low >= at:
            return extract(high, low - at, width)  # type: ignore[arg-type]
        if low + width <= at:
            return extract(rest, low, width)  # type: ignore[arg-type]
    if a.op == "zext":
        inner = a.args[0]
        assert isinstance(inner, Term)
        if low + width <= inner.width:
            return extract(inner, low, width)
        if low >= inner.width:
            return 0
    return _make("extract", (a, low), width)


def bit(a: Bits, k: int) -> Truth:
    """Return whether bit k is set."""
    if not isinstance(a, Term):
        return bool(a >> k & 1)
    if a.op == "ite" and _has_constant(a):
        return ite(a.args[0], bit(a.args[1], k), bit(a.args[2], k), 0)  # type: ignore[arg-type, return-value]
    if a.op in ("&", "|") and not isinstance(a.args[1], Term):
        mask = bool(a.args[1] >> k & 1)  # type: ignore[operator]
        if mask == (a.op == "|"):
            return mask
        return bit(a.args[0], k)  # type: ignore[arg-type]
    return equal(extract(a, k, 1), 1, 1)


def concat(high: Bits, low: Bits, low_width: int, width: int) -> Bits:
    """Return `high` above the `low_width` bits of `low`; `width` bits in all."""
    if low_width == 0:
        return high
    if low_width == width:
        return low
    if not isinstance(high, Term):
        if not isinstance(low, Term):
            return high << low_width | low
        if high == 0:
            return zero_extend(low, width)
    elif isinstance(low, Term) and high.op == "extract" and low.op == "extract" and high.args[0] is low.args[0]:
        if high.args[1] == low.args[1] + low.width:  # type: ignore[operator]
            return extract(high.args[0], low.args[1], width)  # type: ignore[arg-type]
    return _make("concat", (high, low, low_width), width)


def zero_extend(a: Bits, width: int) -> Bits:
    """Return the same number in more bits (or as many)."""
    if not isinstance(a, Term) or a.width == width:
        return a
    if a.op == "zext":
        return zero_extend(a.args[0], width)  # type: ignore[arg-type]
    if a.op == "ite" and _has_constant(a):
        return ite(a.args[0], zero_extend(a.args[1], width), zero_extend(a.args[2], width), width)  # type: ignore[arg-type]
    return _make("zext", (a,), width)


# --- whole graphs ------------------------------------------------------------------------------


def in_order(roots: Iterable[object]) -> Iterator[Term]:
    """Return every term under the roots once, each after its arguments."""
    done: set[Term] = set()
    for root in roots:
        if not isinstance(root, Term) or root in done:
            continue
        stack: list[tuple[Term, bool]] = [(root, False)]
        while stack:
            t, ready = stack.pop()
            if ready:
                if t not in done:
                    done.add(t)
                    yield t
            elif t not in done:
                stack.append((t, True))
                stack.extend((a, False) for a in t.args if isinstance(a, Term) and a not in done)


def conjuncts(t: Truth) -> list[Term]:
    """Return the terms that must all be true for t to be true; [] for True.

    Raises:
        ValueError: t is False.
    """
    out: dict[Term, None] = {}
    stack: list[Truth] = [t]
    while stack:
        x = stack.pop()
        if not isinstance(x, Term):
            if not x:
                raise ValueError("False is not a conjunction of terms")
        elif x.op == "and":
            stack += x.args  # type: ignore[arg-type]
        elif x.op == "not" and isinstance(x.args[0], Term) and x.args[0].op == "or":
            stack += [not_(a) for a in x.args[0].args]  # type: ignore[arg-type]
        else:
            out[x] = None
    return list(out)


def variables_of(roots: Iterable[object]) -> set[Term]:
    """Return the variables under the roots."""
    return {t for t in in_order(roots) if t.op == "var"}


_RULES = {
    "not": lambda a, w: not_(a[0]),
    "and": lambda a, w: and_(a[0], a[1]),
    "or": lambda a, w: or_(a[0], a[1]),
    "ite": lambda a, w: ite(a[0], a[1], a[2], w),
    "+": lambda a, w: add(a[0], a[1], w),
    "-": lambda a, w: sub(a[0], a[1], w),
    "*": lambda a, w: mul(a[0], a[1], w),
    "sdiv": lambda a, w: signed_div(a[0], a[1], w),
    "smod": lambda a, w: signed_mod(a[0], a[1], w),
    "&": lambda a, w: bit_and(a[0], a[1], w),
    "|": lambda a, w: bit_or(a[0], a[1], w),
    "^": lambda a, w: bit_xor(a[0], a[1], w),
    "<<": lambda a, w: shift_left(a[0], a[1], w),
    ">>": lambda a, w: shift_right(a[0], a[1], w),
    "sar": lambda a, w: shift_right_signed(a[0], a[1], w),
    "extract": lambda a, w: extract(a[0], a[1], w),
    "concat": lambda a, w: concat(a[0], a[1], a[2], w),
    "zext": lambda a, w: zero_extend(a[0], w),
}


def operand_width(t: Term) -> int:
    """Return the width of what `=` and `<` compare."""
    for a in t.args:
        if isinstance(a, Term):
            return a.width
    raise AssertionError("a comparison of constants is a constant")


def substitute(roots: Sequence[Term | int | bool], known: Mapping[Term, Term | int | bool]) -> list[Term | int | bool]:
    """Return the roots with variables replaced, simplified again."""
    new: dict[Term, Term | int | bool] = dict(known)
    for t in in_order(roots):
        if t in new:
            continue
        if t.op == "var":
            new[t] = t
            continue
        args = [new[a] if isinstance(a, Term) else a for a in t.args]
        if all(x is y for x, y in zip(args, t.args, strict=True)):
            new[t] = t
        elif t.op == "=":
            new[t] = equal(args[0], args[1], operand_width(t))  # type: ignore[arg-type]
        elif t.op == "<":
            new[t] = less(args[0], args[1], operand_width(t))  # type: ignore[arg-type]
        else:
            new[t] = _RULES[t.op](args, t.width)  # type: ignore[no-untyped-call]
    return [new[r] if isinstance(r, Term) else r for r in roots]


def evaluate(root: Term, known: dict[Term, int | bool]) -> int | bool:
    """Return the value of a term; `known` has those of its variables, and receives every computed value."""
    stack = [root]
    while stack:
        t = stack[-1]
        if t in known:
            stack.pop()
            continue
        missing = [a for a in t.args if isinstance(a, Term) and a not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        args = [known[a] if isinstance(a, Term) else a for a in t.args]
        if t.op == "=":
            known[t] = args[0] == args[1]
        elif t.op == "<":
            known[t] = args[0] < args[1]  # type: ignore[operator]
        else:
            known[t] = _RULES[t.op](args, t.width)  # type: ignore[no-untyped-call, assignment]
    return known[root]
