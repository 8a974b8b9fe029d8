"""Convert terms of the symbolic world to z3's: truth values to Bool, the rest to bit-vectors.

z3's plain interface takes some twenty microseconds a term; here its C functions are called directly, each term once. No
query is made here: `checker/proofs/symbolic/solver.py` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3

from zabspec.proofs.symbolic_terms import Term, in_order, operand_width

Ast = Any  # z3's handle of a term


def _extract(c: Any, t: Term, a: Sequence[Ast]) -> Ast:
    low = t.args[1]
    assert isinstance(low, int)
    return z3.Z3_mk_extract(c, low + t.width - 1, low, a[0])


def _zero_extend(c: Any, t: Term, a: Sequence[Ast]) -> Ast:
    inner = t.args[0]
    assert isinstance(inner, Term)
    return z3.Z3_mk_zero_ext(c, t.width - inner.width, a[0])


def _nary(make: Callable[..., Ast]) -> Callable[[Any, Term, Sequence[Ast]], Ast]:
    def build(c: Any, t: Term, a: Sequence[Ast]) -> Ast:
        return make(c, len(a), (z3.Ast * len(a))(*a))

    return build


def _binary(make: Callable[[Any, Ast, Ast], Ast]) -> Callable[[Any, Term, Sequence[Ast]], Ast]:
    return lambda c, t, a: make(c, a[0], a[1])


# Those of two arguments.
BINARY = {
    "=": z3.Z3_mk_eq,
    "<": z3.Z3_mk_bvult,
    "+": z3.Z3_mk_bvadd,
    "-": z3.Z3_mk_bvsub,
    "*": z3.Z3_mk_bvmul,
    "sdiv": z3.Z3_mk_bvsdiv,
    "smod": z3.Z3_mk_bvsmod,
    "&": z3.Z3_mk_bvand,
    "|": z3.Z3_mk_bvor,
    "^": z3.Z3_mk_bvxor,
    "<<": z3.Z3_mk_bvshl,
    ">>": z3.Z3_mk_bvlshr,
    "sar": z3.Z3_mk_bvashr,
    "concat": z3.Z3_mk_concat,
}
# What each operator of a term is in z3: context, term, arguments -> z3's term.
OPERATORS: dict[str, Callable[[Any, Term, Sequence[Ast]], Ast]] = {
    "not": lambda c, t, a: z3.Z3_mk_not(c, a[0]),
    "and": _nary(z3.Z3_mk_and),
    "or": _nary(z3.Z3_mk_or),
    "ite": lambda c, t, a: z3.Z3_mk_ite(c, a[0], a[1], a[2]),
    "extract": _extract,
    "zext": _zero_extend,
    **{op: _binary(make) for op, make in BINARY.items()},
}


class Z3Terms:
    """Converts terms to z3's, each once."""

    def __init__(self) -> None:
        self.context = z3.main_ctx()
        self.c = self.context.ref()
        self.made: dict[Term, Ast] = {}
        self.constants: dict[tuple[int, int], Ast] = {}
        self.sorts: dict[int, Ast] = {}

    def __del__(self) -> None:
        if z3 is not None and getattr(self.context, "ctx", None) is not None:  # not while Python ends
            for ast in (*self.made.values(), *self.constants.values()):
                z3.Z3_dec_ref(self.c, ast)

    def sort(self, width: int) -> Ast:
        if width not in self.sorts:
            self.sorts[width] = z3.Z3_mk_bv_sort(self.c, width) if width else z3.Z3_mk_bool_sort(self.c)
            z3.Z3_inc_ref(self.c, self.sorts[width])
        return self.sorts[width]

    def constant(self, value: int | bool, width: int) -> Ast:
        key = (int(value), width)
        if key not in self.constants:
            if width:
                ast = z3.Z3_mk_numeral(self.c, str(int(value)), self.sort(width))
            else:
                ast = z3.Z3_mk_true(self.c) if value else z3.Z3_mk_false(self.c)
            z3.Z3_inc_ref(self.c, ast)
            self.constants[key] = ast
        return self.constants[key]

    def value(self, model: z3.ModelRef, term: Term | int | bool, width: int) -> int | bool:
        """Return the value of a term of so many bits in a model, or of a condition (0 bits)."""
        found = model.eval(self.bits(term, width), model_completion=True)
        return bool(z3.is_true(found)) if width == 0 else int(found.as_long())

    def build(self, roots: Sequence[Term | int | bool]) -> None:
        """Convert every term under the roots that is not converted yet."""
        made = self.made
        for t in in_order(roots):
            if t not in made:
                ast = self.make(t)
                z3.Z3_inc_ref(self.c, ast)
                made[t] = ast

    def make(self, t: Term) -> Ast:
        if t.op == "var":
            symbol = z3.Z3_mk_string_symbol(self.c, str(t.args[0]))
            return z3.Z3_mk_const(self.c, symbol, self.sort(t.width))
        return OPERATORS[t.op](self.c, t, [self.argument(t, k) for k in range(self.arity(t))])

    @staticmethod
    def arity(t: Term) -> int:
        """Return how many of the arguments are terms or constants; the rest are the operator's numbers."""
        return {"extract": 1, "concat": 2}.get(t.op, len(t.args))

    def argument(self, t: Term, k: int) -> Ast:
        a = t.args[k]
        if isinstance(a, Term):
            return self.made[a]
        assert isinstance(a, (int, bool))
        return self.constant(a, self.argument_width(t, k))

    @staticmethod
    def argument_width(t: Term, k: int) -> int:
        if t.op in ("=", "<"):
            return operand_width(t)
        if t.op == "concat":
            low = t.args[2]
            assert isinstance(low, int)
            return t.width - low if k == 0 else low
        return 0 if t.op in ("and", "or", "not") or (t.op == "ite" and k == 0) else t.width

    def truth(self, t: Term | bool | int) -> z3.BoolRef:
        """Return a truth value as one of z3's."""
        if not isinstance(t, Term):
            return z3.BoolVal(bool(t), self.context)
        self.build([t])
        return z3.BoolRef(self.made[t], self.context)

    def bits(self, t: Term | int, width: int) -> z3.ExprRef:
        """Return a value of a width (0: a truth value) as one of z3's."""
        if width == 0:
            return self.truth(t)
        if not isinstance(t, Term):
            return z3.BitVecNumRef(self.constant(t, width), self.context)
        self.build([t])
        return z3.BitVecRef(self.made[t], self.context)
