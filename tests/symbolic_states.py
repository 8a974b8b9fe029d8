"""What the tests of the symbolic world share: random states, and z3's terms as Python functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import z3

from zabspec.language import Layout, Role, Seq, SetOf
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Record
from zabspec.proofs.symbolic_terms import Term
from zabspec.proofs.z3_terms import Z3Terms

__all__ = ["Z3Text", "compile_z3", "floor_mod", "random_state", "signed", "towards_zero"]


def random_state(layout: Layout, source: random.Random) -> bytes:
    """Any state there is, reachable or not; without scratch."""
    data = bytearray(layout.total)
    for field in layout.schema.fields:
        if field.role is not Role.SCRATCH:
            for _, at in layout.elements(field.name):
                fill(field.kind, source, data, at)
    return bytes(data[: layout.size])


def fill(kind: Kind, source: random.Random, data: bytearray, at: int, least_tag: int = 0) -> None:
    if isinstance(kind, Seq):
        count = source.randint(0, kind.capacity)
        data[at : at + kind.header] = count.to_bytes(kind.header, "little")
        for k in range(count):
            fill(kind.element, source, data, at + kind.header + k * kind.element.size, 1)
    elif isinstance(kind, MessageUnion):
        data[at] = source.randint(least_tag, len(kind.messages))
        if data[at]:
            message = kind.messages[data[at] - 1]
            for name, part in kind.envelope.items():
                fill(part, source, data, at + kind.envelope_offsets[name])
            for name, inner in message.fields.items():
                fill(inner, source, data, at + kind.offsets(message.name)[name])
    elif isinstance(kind, Record):
        word = kind.pack({name: source.randint(k.lo, k.hi) for name, k in kind.fields.items()})
        data[at : at + kind.size] = word.to_bytes(kind.size, "little")
    elif isinstance(kind, SetOf):
        data[at : at + kind.size] = source.getrandbits(kind.count).to_bytes(kind.size, "little")
    else:
        assert isinstance(kind, (Int, Bool))
        data[at : at + kind.size] = source.randint(0, kind.hi - kind.lo).to_bytes(kind.size, "little")


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def towards_zero(a: int, b: int, width: int) -> int:
    x, y = signed(a, width), signed(b, width)
    quotient = abs(x) // abs(y) if y else -1  # by zero as SMT-LIB has it
    return (quotient if (x < 0) == (y < 0) else -quotient) & ((1 << width) - 1)


def floor_mod(a: int, b: int, width: int) -> int:
    y = signed(b, width)
    return signed(a, width) % y & ((1 << width) - 1) if y else a


JOINED = {
    z3.Z3_OP_AND: " and ", z3.Z3_OP_OR: " or ", z3.Z3_OP_EQ: " == ", z3.Z3_OP_ULT: " < ", z3.Z3_OP_BAND: " & ",
    z3.Z3_OP_BOR: " | ", z3.Z3_OP_BXOR: " ^ ", z3.Z3_OP_BLSHR: " >> ",
}  # fmt: skip
MASKED = {z3.Z3_OP_BADD: " + ", z3.Z3_OP_BSUB: " - ", z3.Z3_OP_BMUL: " * "}
CALLED = {z3.Z3_OP_BSDIV: "towards_zero", z3.Z3_OP_BSMOD: "floor_mod"}


class Plain:
    """z3's C functions without the check after each call: a term has tens of thousands of parts."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(z3, name).__defaults__[0].f
        setattr(self, name, found)
        return found


lib = Plain()


class Z3Text:
    """What z3 was given, part by part as Python expressions: each part is read once."""

    def __init__(self, terms: Z3Terms) -> None:
        self.terms, self.c = terms, terms.c
        self.parts: dict[int, tuple[str, list[int]]] = {}  # by z3's number of it: its text, what it is made of
        self.kept: list[Any] = []  # what was read, or z3 gives its numbers to others

    def number(self, e: Any) -> int:
        return int(lib.Z3_get_ast_id(self.c, e))

    def width(self, e: Any) -> int:
        sort = lib.Z3_get_sort(self.c, e)
        bits = lib.Z3_get_sort_kind(self.c, sort) == z3.Z3_BV_SORT
        return int(lib.Z3_get_bv_sort_size(self.c, sort)) if bits else 0

    def read(self, e: Any) -> int:
        """Read a term and all that it is made of; returns its number."""
        stack = [e]
        while stack:
            at = stack.pop()
            number = self.number(at)
            if number not in self.parts:
                inner = self.inner(at)
                self.parts[number] = self.text(at, inner), [self.number(x) for x in inner]
                stack += inner
        return self.number(e)

    def inner(self, e: Any) -> list[Any]:
        if lib.Z3_get_ast_kind(self.c, e) == z3.Z3_NUMERAL_AST:
            return []
        app = lib.Z3_to_app(self.c, e)
        return [lib.Z3_get_app_arg(self.c, app, k) for k in range(lib.Z3_get_app_num_args(self.c, app))]

    def text(self, e: Any, inner: list[Any]) -> str:
        if lib.Z3_get_ast_kind(self.c, e) == z3.Z3_NUMERAL_AST:
            return str(z3.Z3_get_numeral_string(self.c, e))
        decl = lib.Z3_get_app_decl(self.c, lib.Z3_to_app(self.c, e))
        kind = lib.Z3_get_decl_kind(self.c, decl)
        names = [f"t{self.number(x)}" for x in inner]
        width = self.width(e)
        mask = (1 << width) - 1
        if kind in JOINED:
            return JOINED[kind].join(names)
        if kind in MASKED:
            return f"({MASKED[kind].join(names)}) & {mask}"
        if kind in CALLED:
            return f"{CALLED[kind]}({', '.join(names)}, {width})"
        if kind == z3.Z3_OP_UNINTERPRETED:
            return "$" + str(z3.Z3_get_symbol_string(self.c, lib.Z3_get_decl_name(self.c, decl)))
        if kind == z3.Z3_OP_EXTRACT:
            low = lib.Z3_get_decl_int_parameter(self.c, decl, 1)
            return f"{names[0]} >> {low} & {mask}"
        if kind == z3.Z3_OP_CONCAT:
            return f"{names[0]} << {self.width(inner[1])} | {names[1]}"
        others: dict[int, Callable[[], str]] = {
            z3.Z3_OP_TRUE: lambda: "True",
            z3.Z3_OP_FALSE: lambda: "False",
            z3.Z3_OP_NOT: lambda: f"not {names[0]}",
            z3.Z3_OP_BNOT: lambda: f"{names[0]} ^ {mask}",
            z3.Z3_OP_ITE: lambda: f"{names[1]} if {names[0]} else {names[2]}",
            z3.Z3_OP_ZERO_EXT: lambda: names[0],
            z3.Z3_OP_BSHL: lambda: f"({names[0]} << {names[1]}) & {mask} if {names[1]} < {width} else 0",
            z3.Z3_OP_BASHR: lambda: f"signed({names[0]}, {width}) >> {names[1]} & {mask}",
        }
        return others[kind]()

    def compiled(
        self, roots: Sequence[tuple[Term | int | bool, int]], variables: Sequence[Term]
    ) -> Callable[[Sequence[int | bool]], list[Any]]:
        """Terms as a function of the variables' values: z3's terms are read, not ours, so that what is
        handed to z3 is what is tested. `test_symbolic_world.py` holds it against z3 itself.

        Args:
            roots: terms with their widths (0: truth values).
            variables: in the order in which the function takes their values.
        """
        place = {str(v.args[0]): k for k, v in enumerate(variables)}
        kept = [self.terms.bits(t, width) for t, width in roots]
        made = [self.read(e.as_ast()) for e in kept]
        lines: dict[int, str] = {}
        for root in made:
            stack = [(root, False)]
            while stack:
                number, ready = stack.pop()
                text, inner = self.parts[number]
                if ready:
                    said = f"v[{place.get(text[1:], -1)}]" if text[0] == "$" else text
                    lines[number] = f"t{number} = {said}"
                elif number not in lines:
                    stack.append((number, True))
                    stack += [(x, False) for x in inner if x not in lines]
        result = ", ".join(f"t{number}" for number in made)
        text = "def f(v):\n    " + "\n    ".join([*lines.values(), f"return [{result}]"])
        env: dict[str, Any] = {"signed": signed, "towards_zero": towards_zero, "floor_mod": floor_mod}
        exec(compile(text, "<z3>", "exec"), env)
        function: Callable[[Sequence[int | bool]], list[Any]] = env["f"]
        self.kept += kept
        return function


def compile_z3(
    terms: Z3Terms, roots: Sequence[tuple[Term | int | bool, int]], variables: Sequence[Term]
) -> Callable[[Sequence[int | bool]], list[Any]]:
    """The same, of terms that nothing more is asked of."""
    return Z3Text(terms).compiled(roots, variables)
