"""Represent integers of the symbolic world: a term for the distance from a known low end, and a known high end.

A `Num` is never constant. Its range grows with each operation just as far as it must, so results are exact without
64-bit arithmetic; where a range would leave 64 bits, the result is taken modulo 2**64 as in machine code, and
`overflows` returns where it would differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from zabspec.proofs import symbolic_terms as b
from zabspec.proofs.symbolic_terms import Bits, Term, Truth

LEAST, MOST = -(1 << 63), (1 << 63) - 1
WORD = 64


class Num:
    """An integer in lo..hi: lo plus the term as an unsigned number."""

    __slots__ = ("hi", "lo", "term")

    def __init__(self, term: Term, lo: int, hi: int) -> None:
        self.term, self.lo, self.hi = term, lo, hi

    def __repr__(self) -> str:
        return f"{self.lo}+{self.term!r}"


Integer: TypeAlias = int | Num


def number(term: Bits, lo: int, hi: int) -> Integer:
    """Return lo plus a term, known to be at most hi."""
    if not isinstance(term, Term):
        return lo + term
    low, high = _reach(term)
    if low == high:
        return lo + low
    hi = min(hi, lo + high)
    width = max(1, (hi - lo).bit_length())
    narrow = b.extract(term, 0, width) if width < term.width else term
    return Num(narrow, lo, hi) if isinstance(narrow, Term) else lo + narrow


_reached: dict[Term, tuple[int, int]] = {}


def _reach(term: Bits, depth: int = 64) -> tuple[int, int]:
    """Return bounds of an unsigned term, as far as its shape shows them."""
    if not isinstance(term, Term):
        return term, term
    found = _reached.get(term)
    if found is None:
        if term.op == "ite" and depth:
            (a, c), (d, e) = (_reach(x, depth - 1) for x in term.args[1:])  # type: ignore[arg-type]
            found = min(a, d), max(c, e)
        elif term.op == "zext":
            found = _reach(term.args[0], depth)  # type: ignore[arg-type]
        else:
            found = 0, (1 << term.width) - 1
        _reached[term] = found
    return found


def span(a: Integer) -> tuple[int, int]:
    return (a.lo, a.hi) if isinstance(a, Num) else (a, a)


def raw(a: Integer, lo: int, width: int) -> Bits:
    """Return the low bits of a's distance from lo."""
    if not isinstance(a, Num):
        return b.bits_of(a - lo, width)
    wide = max(width, a.term.width)
    return b.extract(b.add(b.zero_extend(a.term, wide), b.bits_of(a.lo - lo, wide), wide), 0, width)


def _signed(a: Integer, width: int) -> Bits:
    """Return a in two's complement."""
    return raw(a, 0, width)


def _from_signed(term: Bits, width: int, lo: int, hi: int) -> Integer:
    """Return the integer of a two's complement term, known to be in lo..hi."""
    if not isinstance(term, Term):
        return term - (1 << width) if term >> (width - 1) else term
    bits = max(1, (hi - lo).bit_length())
    return number(b.extract(b.add(term, b.bits_of(-lo, width), width), 0, min(width, bits)), lo, hi)


def _width(*values: int) -> int:
    """Return how many two's complement bits hold all of these."""
    return max(v.bit_length() for v in values) + 1


def wrap(value: int) -> int:
    """Return a number as machine code holds it."""
    return b.bits_of(value + (1 << 63), WORD) - (1 << 63)


def _result(term: Callable[[int], Bits], need: int, lo: int, hi: int) -> Integer:
    """Return an operation in two's complement of as many bits as it needs; modulo 2**64 if that is more."""
    if lo >= LEAST and hi <= MOST:
        width = max(need, _width(lo, hi))
        return _from_signed(term(width), width, lo, hi)
    return _from_signed(b.extract(term(max(need, WORD)), 0, WORD), WORD, LEAST, MOST)


# --- arithmetic --------------------------------------------------------------------------------


def add(x: Integer, y: Integer) -> Integer:
    if not isinstance(x, Num):
        x, y = y, x
    if not isinstance(x, Num):
        return wrap(x + y)  # type: ignore[operator]
    (a, c), (d, e) = span(x), span(y)
    if a + d < LEAST or c + e > MOST:
        return _result(lambda w: b.add(_signed(x, w), _signed(y, w), w), WORD, a + d, c + e)
    if not isinstance(y, Num):
        return Num(x.term, x.lo + y, x.hi + y)
    width = max(1, (c + e - a - d).bit_length())
    return number(b.add(b.zero_extend(x.term, width), b.zero_extend(y.term, width), width), a + d, c + e)


def sub(x: Integer, y: Integer) -> Integer:
    if not isinstance(y, Num):
        return add(x, -y) if y != LEAST else add(add(x, MOST), 1)
    (a, c), (d, e) = span(x), span(y)
    if a - e < LEAST or c - d > MOST:
        return _result(lambda w: b.sub(_signed(x, w), _signed(y, w), w), WORD, a - e, c - d)
    width = max(1, (c - d - a + e).bit_length())
    far = b.sub(e - d, b.zero_extend(y.term, width), width)  # how far y is below its high end
    near = b.zero_extend(x.term, width) if isinstance(x, Num) else 0
    return number(b.add(near, far, width), a - e, c - d)


def _corners(x: Integer, y: Integer, op: Callable[[int, int], int]) -> tuple[int, int]:
    found = [op(p, q) for p in span(x) for q in span(y)]
    return min(found), max(found)


def _product_width(x: Integer, y: Integer) -> int:
    return _width(*span(x)) + _width(*span(y))


def mul(x: Integer, y: Integer) -> Integer:
    if not isinstance(x, Num) and not isinstance(y, Num):
        return wrap(x * y)
    lo, hi = _corners(x, y, lambda p, q: p * q)
    return _result(lambda w: b.mul(_signed(x, w), _signed(y, w), w), _product_width(x, y), lo, hi)


def floor_div(x: Integer, y: Integer) -> Integer:
    """Return the quotient rounded down, as in Python; the divisor is not zero."""
    if not isinstance(x, Num) and not isinstance(y, Num):
        return wrap(x // y) if y else 0
    most = max(abs(v) for v in span(x)) + 1
    width = _width(most, *span(y)) + 1

    def divided(w: int) -> Bits:
        n, d = _signed(x, w), _signed(y, w)
        return b.signed_div(b.sub(n, b.signed_mod(n, d, w), w), d, w)

    return _result(divided, width, -most, most)


def modulo(x: Integer, y: Integer) -> Integer:
    """Return the remainder with the divisor's sign, as in Python; the divisor is not zero."""
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x % y if y else 0
    lo, hi = span(y)
    width = _width(*span(x), lo, hi)
    return _result(lambda w: b.signed_mod(_signed(x, w), _signed(y, w), w), width, min(0, lo + 1), max(0, hi - 1))


def _bitwise(op: Callable[[Bits, Bits, int], Bits], x: Integer, y: Integer) -> Integer:
    (a, c), (d, e) = span(x), span(y)
    width = _width(a, c, d, e)
    lo = 0 if a >= 0 and d >= 0 else -(1 << (width - 1))
    return _result(lambda w: op(_signed(x, w), _signed(y, w), w), width, lo, (1 << (width - 1)) - 1)


def bit_and(x: Integer, y: Integer) -> Integer:
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x & y
    ends = [hi for lo, hi in (span(x), span(y)) if lo >= 0]
    if not ends:
        return _bitwise(b.bit_and, x, y)
    # what has no sign bit bounds the result: a loop may end there
    width = _width(*span(x), *span(y))
    return _result(lambda w: b.bit_and(_signed(x, w), _signed(y, w), w), width, 0, min(ends))


def bit_or(x: Integer, y: Integer) -> Integer:
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x | y
    return _bitwise(b.bit_or, x, y)


def bit_xor(x: Integer, y: Integer) -> Integer:
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x ^ y
    return _bitwise(b.bit_xor, x, y)


def _amount(y: Integer) -> Integer:
    """Return a shift's amount if valid, else 0, as machine code does."""
    if not isinstance(y, Num):
        return y if 0 <= y <= 63 else 0
    if y.lo >= 0 and y.hi <= 63:
        return y
    return number(b.ite(_in_word(y), raw(y, 0, 6), 0, 6), 0, 63) if y.hi >= 0 and y.lo <= 63 else 0


def _in_word(y: Integer) -> Truth:
    return b.and_(less_equal(0, y), less_equal(y, 63))


def left(x: Integer, y: Integer) -> Integer:
    y = _amount(y)
    if not isinstance(x, Num) and not isinstance(y, Num):
        return wrap(x << y)
    lo, hi = _corners(x, y, lambda p, q: p << q)
    width = max(_width(lo, hi), _width(*span(y)))
    return _result(lambda w: b.shift_left(_signed(x, w), _signed(y, w), w), width, lo, hi)


def right(x: Integer, y: Integer) -> Integer:
    """Return x shifted right; the sign comes in from the left."""
    y = _amount(y)
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x >> y
    lo, hi = _corners(x, y, lambda p, q: p >> q)
    width = _width(*span(x), *span(y))
    return _result(lambda w: b.shift_right_signed(_signed(x, w), _signed(y, w), w), width, lo, hi)


BINARY: dict[str, Callable[[Integer, Integer], Integer]] = {
    "+": add, "-": sub, "*": mul, "//": floor_div, "%": modulo,
    "&": bit_and, "|": bit_or, "^": bit_xor, "<<": left, ">>": right,
}  # fmt: skip


def overflows(op: str, x: Integer, y: Integer) -> Truth:
    """Return where a product or a shift does not fit 64 bits, a shift's amount is invalid, or a divisor is zero."""
    if op in ("//", "%"):
        return same(y, 0)
    if op == "*":
        lo, hi = _corners(x, y, lambda p, q: p * q)
        if lo >= LEAST and hi <= MOST:
            return False
        width = _product_width(x, y)
        product = b.mul(_signed(x, width), _signed(y, width), width)
    else:
        bad = b.not_(_in_word(y))
        y = _amount(y)
        lo, hi = _corners(x, y, lambda p, q: p << q)
        if op == ">>" or (lo >= LEAST and hi <= MOST):
            return bad
        width = _width(lo, hi)
        product = b.shift_left(_signed(x, width), _signed(y, width), width)
        return b.or_(bad, _leaves_word(product, width))
    return _leaves_word(product, width)


def _leaves_word(term: Bits, width: int) -> Truth:
    low = b.less_signed(term, b.bits_of(LEAST, width), width)
    return b.or_(low, b.less_signed(MOST, term, width))


# --- comparison and choice ---------------------------------------------------------------------


def _based(x: Integer, y: Integer) -> tuple[Bits, Bits, int]:
    """Return both as unsigned distances from the lower of their low ends."""
    (a, c), (d, e) = span(x), span(y)
    lo = min(a, d)
    width = max(1, (max(c, e) - lo).bit_length())
    return raw(x, lo, width), raw(y, lo, width), width


def same(x: Integer, y: Integer) -> Truth:
    """Return whether two integers are equal."""
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x == y
    (a, c), (d, e) = span(x), span(y)
    if c < d or e < a:
        return False
    if isinstance(x, Num) and not isinstance(y, Num):
        return b.equal(x.term, y - x.lo, x.term.width)
    if isinstance(y, Num) and not isinstance(x, Num):
        return b.equal(y.term, x - y.lo, y.term.width)
    return b.equal(*_based(x, y))


def less(x: Integer, y: Integer) -> Truth:
    if not isinstance(x, Num) and not isinstance(y, Num):
        return x < y
    (a, c), (d, e) = span(x), span(y)
    if c < d:
        return True
    if a >= e:
        return False
    if isinstance(x, Num) and not isinstance(y, Num):
        return b.less(x.term, y - x.lo, x.term.width)
    if isinstance(y, Num) and not isinstance(x, Num):
        return b.less(x - y.lo, y.term, y.term.width)
    return b.less(*_based(x, y))


def less_equal(x: Integer, y: Integer) -> Truth:
    return b.not_(less(y, x))


COMPARE: dict[str, Callable[[Integer, Integer], Truth]] = {
    "==": same,
    "!=": lambda x, y: b.not_(same(x, y)),
    "<": less,
    "<=": less_equal,
    ">": lambda x, y: less(y, x),
    ">=": lambda x, y: less_equal(y, x),
}


def choose(test: Truth, x: Integer, y: Integer) -> Integer:
    """Return x where the test is true, else y."""
    if not isinstance(test, Term):
        return x if test else y
    if x is y or (not isinstance(x, Num) and not isinstance(y, Num) and x == y):
        return x
    lo = min(span(x)[0], span(y)[0])
    p, q, width = _based(x, y)
    return number(b.ite(test, p, q, width), lo, max(span(x)[1], span(y)[1]))


def minimum(x: Integer, y: Integer) -> Integer:
    """Return the smaller of two integers."""
    return choose(less(y, x), y, x)


def maximum(x: Integer, y: Integer) -> Integer:
    """Return the greater of two integers."""
    return choose(less(x, y), y, x)
