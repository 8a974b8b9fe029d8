"""Each operator of the language in the symbolic world against machine code, on the texts that hold
machine code against CPython; and a wrong translation of any one of them is caught."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import z3

from tests.language.test_language import OPERATORS, WORLD, Worlds, arguments, functions_of, program
from tests.symbolic_states import compile_z3, floor_mod, random_state, signed, towards_zero
from zabspec.language import StateView
from zabspec.language.analysis import tree
from zabspec.language.layout.error_sites import site_number
from zabspec.proofs import symbolic_numbers as numbers
from zabspec.proofs import symbolic_terms as terms
from zabspec.proofs import z3_terms
from zabspec.proofs.symbolic import Untranslatable
from zabspec.proofs.symbolic_memory import SLOTS, bytes_of, state_cells, values_of, variables
from zabspec.proofs.symbolic_statements import SymbolicProgram
from zabspec.proofs.symbolic_terms import Term, variable

# Operations on the kernel's words, which protocols and worlds of steps do not use.
OF_KERNELS = {"high", "shifted", "product", "total", "unsigned", "left_over", "ones", "gathered", "scattered"}
NAMES = [n for n in (*functions_of(OPERATORS), *functions_of(WORLD)) if n not in OF_KERNELS]
WIDTH = 34  # bits of an argument: more than any of the values takes
LEAST, MOST = -(1 << (WIDTH - 1)), (1 << (WIDTH - 1)) - 1
# Products that leave 64 bits, and the last that do not.
EXTREME = {
    "multiply": [(0, MOST, MOST), (1, LEAST, MOST), (2, LEAST, LEAST), (0, LEAST, 1 << 30), (0, LEAST, -(1 << 30))]
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    made = program(tmp_path_factory.mktemp("symbolic"), WORLD, OPERATORS)
    return Worlds(made, functions_of(OPERATORS) | functions_of(WORLD))


class Translated:
    """One function in the symbolic world, of any state and any arguments."""

    def __init__(self, worlds: Worlds, name: str, text: str = OPERATORS + WORLD) -> None:
        self.worlds, self.name, self.layout = worlds, name, worlds.layout
        self.typed = worlds.program.typed([name])
        count = len(self.typed.functions[name].params) - 1
        inputs = [variable(f"argument {k}", WIDTH) for k in range(count)]
        self.nodes = text[text.index(f"def {name}(") :].split(")")[0].count(": Node")
        self.args: list[Any] = [
            numbers.number(terms.extract(v, 0, 2), 0, 2) if k < self.nodes else numbers.Num(v, LEAST, MOST)
            for k, v in enumerate(inputs)
        ]
        state = variables(self.layout, "s")
        value, (after,) = SymbolicProgram(self.typed, self.layout).on_states(name, [state], self.args)
        self.keys = [key for key, v in state.items() if isinstance(v, Term)]
        self.cells = state_cells(self.layout).all
        self.written = [key for key in self.cells if after[key] is not state[key]]
        self.roots = [(after[key], self.cells[key].width) for key in self.written]
        self.roots.append((numbers.raw(value, numbers.LEAST, 64), 64))
        self.variables = [*(v for v in state.values() if isinstance(v, Term)), *inputs]
        self.translate()

    def translate(self) -> None:
        """Hand the terms to z3."""
        self.function = compile_z3(z3_terms.Z3Terms(), self.roots, self.variables)

    @property
    def of_z3(self) -> set[str]:
        """The operators that are handed to z3."""
        return {f"z3 {t.op}" for t in terms.in_order(root for root, _ in self.roots)}

    def agrees(self, s: StateView, args: tuple[int, ...]) -> bool:
        """Whether it does to a state what machine code does: result, every field, steps and error."""
        values = values_of(self.layout, s.key())
        given = [a if k < self.nodes else a - LEAST for k, a in enumerate(args)]
        *cells, value = self.function([*(values[key] for key in self.keys), *given])
        after = StateView(self.layout, bytes_of(self.layout, {**values, **dict(zip(self.written, cells, strict=True))}))
        result, expected = self.compiled(s, args)
        if self.error(self.typed, after) != self.error(self.worlds, expected):
            return False
        same = after.key() == expected.key() and value + numbers.LEAST == result
        return same and (after.error > 0 or after.steps == expected.steps)

    def compiled(self, s: StateView, args: tuple[int, ...]) -> tuple[int, StateView]:
        """What machine code does."""
        function = self.worlds.code.function(self.name, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * len(args))
        buffer = ctypes.create_string_buffer(bytes(s.buffer), self.layout.total)
        return function(buffer, *args), StateView(self.layout, buffer.raw)

    @staticmethod
    def error(owner: Any, after: StateView) -> str:
        return str(owner.sites[site_number(after.error) - 1].sentence()) if after.error else ""


@cache
def states(worlds: Worlds) -> list[StateView]:
    source = random.Random(1)
    return [worlds.state(), *(StateView(worlds.layout, random_state(worlds.layout, source)) for _ in range(3))]


@cache
def true_translation(worlds: Worlds, name: str) -> Translated:
    return Translated(worlds, name)


def runs(worlds: Worlds, name: str, most: int) -> Iterator[tuple[StateView, tuple[int, ...]]]:
    """States and arguments: every combination of the values, or so many of them."""
    source = random.Random(name)
    text = OPERATORS if f"def {name}(" in OPERATORS else WORLD
    every = arguments(name, functions_of(text)[name], text)
    for args in (every if len(every) <= most else source.sample(every, most)) + EXTREME.get(name, []):
        for s in states(worlds):
            yield s, args


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", NAMES)
def test_every_operator_means_the_same_in_the_symbolic_world(name: str, worlds: Worlds) -> None:
    """Result, state and error of every function, in machine code and as z3's terms."""
    translated = true_translation(worlds, name)
    for s, args in runs(worlds, name, 24):
        assert translated.agrees(s, args), (args, s.key())


# --- where control ends ----------------------------------------------------------------------------

ENDS = 30  # random functions
LEAVES = 10  # the first of them, which others call
MARKS = 12  # bits of `acks`


class Ends:
    """Random functions that return, break and continue at any depth, some before what would be an error."""

    def __init__(self, source: random.Random) -> None:
        self.source, self.made, self.marks = source, 0, 0

    def function(self) -> str:
        self.marks = 0
        body = self.block(1, 3, False)
        self.made += 1
        return (
            f"def ends{self.made - 1}(s: State, p: Node, a: int, b: int) -> int:\n"
            f"    v0 = a\n    v1 = b\n{body}    return v0 * 3 + v1\n\n"
        )

    def block(self, indent: int, depth: int, looped: bool) -> str:
        statements = (self.statement(indent, depth, looped) for _ in range(self.source.randint(1, 4)))
        return "".join(statements)

    def statement(self, indent: int, depth: int, looped: bool) -> str:
        pick, tab = self.source, "    " * indent
        kind = pick.choice(["if"] * 4 + ["for", "for", "end", "end", "split", "mark", "field", "local", "call"])
        if kind == "if" and depth:
            other = f"{tab}else:\n{self.block(indent + 1, depth - 1, looped)}" if pick.random() < 0.4 else ""
            return f"{tab}if {self.condition()}:\n{self.block(indent + 1, depth - 1, looped)}{other}"
        if kind == "for" and depth:
            count = pick.choice(["2", "3", "(a & 3)", "len(s.few[p])"])
            return f"{tab}for k{depth} in range({count}):\n{self.block(indent + 1, depth - 1, True)}"
        if kind == "split" and looped:
            left = f"{tab}    if {self.condition()}:\n{tab}        {pick.choice(['break', 'continue'])}\n"
            return f"{tab}if {self.condition()}:\n{tab}    return v1\n{tab}else:\n{left}"
        if kind == "end":
            ends = ["break", "continue"] if looped else []
            end = pick.choice([*ends, f"return v{pick.randint(0, 1)} + {pick.randint(0, 9)}"])
            return f"{tab}if {self.condition()}:\n{tab}    {end}\n" if pick.random() < 0.6 else f"{tab}{end}\n"
        if kind == "field":
            return f"{tab}s.x[p] += {pick.randint(1, 60)}\n"
        if kind == "call" and self.made >= LEAVES:
            return f"{tab}v0 = ends{pick.randrange(LEAVES)}(s, p, v1 & 7, v0 & 7) & 15\n"
        if kind == "local":
            return f"{tab}v{pick.randint(0, 1)} = (v0 + v1 + {pick.randint(0, 5)}) & 15\n"
        self.marks += 1
        return f"{tab}mark(s, {self.marks % MARKS})\n"

    def condition(self) -> str:
        names = ["v0", "v1", "a", "b", "s.y[p]", "s.x[p]", "s.few[p][0]", "s.few[p][v1]"]
        return f"{self.source.choice(names)} {self.source.choice(['<', '==', '>'])} {self.source.randint(-1, 9)}"


@pytest.mark.slow(seconds=3)
def test_what_follows_a_return_happens_in_no_run_that_returned(tmp_path: Any) -> None:
    """Results, states and errors of random functions; and when control is at a call, which a hook sees."""
    source = random.Random(7)
    ends = Ends(source)
    text = "def mark(s: State, k: int) -> int:\n    s.acks[0][0].add(k)\n    return 0\n\n\n"
    text += "\n".join(ends.function() for _ in range(ENDS))
    made = program(tmp_path, text)
    names = [f"ends{k}" for k in range(ENDS)]
    both = Worlds(made, dict.fromkeys(names, 3))
    layout, state = both.layout, variables(both.layout, "s")
    erring = 0
    for name in names:
        one = Translated(both, name, text)
        for _ in range(6):
            raw = random_state(layout, source)
            s = StateView(layout, raw)
            args = (source.randrange(3), source.randint(-1, 9), source.randint(-1, 9))
            assert one.agrees(s, args), (text, name, args, raw)
            erring += one.compiled(s, args)[1].error > 0
        here: dict[int, Any] = {}
        acks = dict(layout.elements("acks"))[0, 0] << SLOTS
        machine = SymbolicProgram(made.typed([name]), layout)

        def mark(env: Any, base: int, k: int, here: dict[int, Any] = here) -> int:
            here[k] = terms.or_(here.get(k, False), env.here)
            return 0

        blind = {**state, acks: 0}
        _, (after,) = machine.on_states(name, [blind], one.args)
        machine.hooks["mark"] = mark
        machine.on_states(name, [blind], one.args)
        solver = z3.Solver()
        to_z3 = z3_terms.Z3Terms()
        solver.add(
            z3.Or(*(to_z3.truth(terms.bit(after[acks], k)) != to_z3.truth(here.get(k, False)) for k in range(MARKS)))
        )
        assert solver.check() == z3.unsat, (text, name)
    assert erring > ENDS // 2


# --- a wrong translation ---------------------------------------------------------------------------


def other_value(value: Any) -> Any:
    """Any value but this one, of its type; of several places, another."""
    if isinstance(value, bool) or (isinstance(value, Term) and value.width == 0):
        return terms.not_(value)
    if isinstance(value, Term):
        return terms.bit_xor(value, 1, value.width)
    if isinstance(value, tuple):
        (first, at), *rest = value
        return ((first, rest[0][1]), (rest[0][0], at), *rest[1:]) if rest else value
    return value ^ 1 if isinstance(value, int) else numbers.add(value, 1)


def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: other_value(function(*args))


@pytest.mark.parametrize("name", sorted(OF_KERNELS))
def test_what_is_not_translated_is_said(name: str, worlds: Worlds) -> None:
    """The kernel's operations on words are refused with a sentence; nothing is left out in silence."""
    with pytest.raises(Untranslatable, match="no operations on the kernel's memory"):
        Translated(worlds, name)


def test_only_emptying_a_list_of_steps_is_translated(worlds: Worlds) -> None:
    """The one form of a write to an array that `enabled` has."""
    machine = SymbolicProgram(worlds.program.typed(["add"]), worlds.layout)
    array = tree.Var(tree.WORDS, "out")
    for index, value in ((0, 0), (1, 0), (0, 1)):
        out = [7]
        env = type("Env", (), {"here": True, "local": {"out": out}})()
        statement = tree.PutWord(1, array, tree.Const(tree.INT, index), tree.Const(tree.INT, value))
        if index == value == 0:
            machine.do_PutWord(statement, env, None)  # type: ignore[arg-type]
            assert out == []
        else:
            with pytest.raises(Untranslatable):
                machine.do_PutWord(statement, env, None)  # type: ignore[arg-type]


# --- terms -----------------------------------------------------------------------------------------


# What each maker of terms means, on numbers; w: the width of the operands.
MEANING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "+": (terms.add, lambda a, b, w: (a + b) % (1 << w)),
    "-": (terms.sub, lambda a, b, w: (a - b) % (1 << w)),
    "*": (terms.mul, lambda a, b, w: a * b % (1 << w)),
    "&": (terms.bit_and, lambda a, b, w: a & b),
    "|": (terms.bit_or, lambda a, b, w: a | b),
    "^": (terms.bit_xor, lambda a, b, w: a ^ b),
    "<<": (terms.shift_left, lambda a, b, w: (a << b) % (1 << w)),
    ">>": (terms.shift_right, lambda a, b, w: a >> b),
    "sar": (terms.shift_right_signed, lambda a, b, w: (signed(a, w) >> b) % (1 << w)),
    "sdiv": (terms.signed_div, towards_zero),
    "smod": (terms.signed_mod, floor_mod),
}
TRUTHS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "=": (terms.equal, lambda a, b, w: a == b),
    "<": (terms.less, lambda a, b, w: a < b),
    "signed <": (terms.less_signed, lambda a, b, w: signed(a, w) < signed(b, w)),
}
W = 4
BITS = [variable(f"bits {k}", W) for k in range(3)]
FLAGS = [variable(f"flag {k}", 0) for k in range(3)]


class Grown:
    """Terms grown at random, each with what it means for some values of the variables."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        rows = [
            [self.source.randrange(1 << W) for _ in BITS] + [self.source.random() < 0.5 for _ in FLAGS]
            for _ in range(24)
        ]
        self.known = [dict(zip([*BITS, *FLAGS], row, strict=True)) for row in rows]
        self.bits: list[tuple[Any, list[int]]] = [(v, [k[v] for k in self.known]) for v in BITS]
        self.truths: list[tuple[Any, list[bool]]] = [(v, [bool(k[v]) for k in self.known]) for v in FLAGS]
        self.bits += [(c, [c] * len(rows)) for c in (0, 1, 2, 7, 8, 15)]

    def pick(self, of: list[Any]) -> Any:
        """One of them, the later the rather."""
        return of[max(self.source.randrange(len(of)), self.source.randrange(len(of)))]

    def grow(self) -> tuple[Any, list[Any]]:
        """Another term and its meaning."""
        kind = self.source.choice(
            [*MEANING, *TRUTHS, "ite", "ite", "ite", "choice", "and", "or", "not", "cut", "join", "bit"]
        )
        (a, x), (b, y) = self.pick(self.bits), self.pick(self.bits)
        (p, u), (q, v) = self.pick(self.truths), self.pick(self.truths)
        if kind in MEANING:
            make, means = MEANING[kind]
            made: tuple[Any, list[Any]] = make(a, b, W), [means(i, j, W) for i, j in zip(x, y, strict=True)]
        elif kind in TRUTHS:
            make, means = TRUTHS[kind]
            made = make(a, b, W), [means(i, j, W) for i, j in zip(x, y, strict=True)]
        elif kind == "ite":
            made = terms.ite(p, a, b, W), [i if t else j for t, i, j in zip(u, x, y, strict=True)]
        elif kind == "choice":
            r, w = self.pick(self.truths)
            made = terms.ite(p, q, r, 0), [i if t else j for t, i, j in zip(u, v, w, strict=True)]
        elif kind == "and":
            made = terms.and_(p, q), [i and j for i, j in zip(u, v, strict=True)]
        elif kind == "or":
            made = terms.or_(p, q), [i or j for i, j in zip(u, v, strict=True)]
        elif kind == "not":
            made = terms.not_(p), [not i for i in u]
        elif kind == "cut":
            low = self.source.randrange(W)
            width = self.source.randint(1, W - low)
            made = terms.zero_extend(terms.extract(a, low, width), W), [i >> low & ((1 << width) - 1) for i in x]
        elif kind == "join":
            whole = terms.concat(a, terms.extract(b, 0, 3), 3, W + 3)
            low = self.source.randrange(4)
            made = terms.extract(whole, low, W), [(i << 3 | j & 7) >> low & 15 for i, j in zip(x, y, strict=True)]
        else:
            k = self.source.randrange(W)
            made = terms.bit(a, k), [bool(i >> k & 1) for i in x]
        truth = isinstance(made[1][0], bool)
        (self.truths if truth else self.bits).append(made)
        return made


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("seed", range(25))
def test_terms_mean_what_they_say_however_they_are_simplified(seed: int) -> None:
    """Every maker of terms simplifies as it makes; so does putting values in, all at once or one by one."""
    grown = Grown(seed)
    for _ in range(60):
        made, expected = grown.grow()
        for known, value in zip(grown.known, expected, strict=True):
            if isinstance(made, Term):
                assert terms.evaluate(made, dict(known)) == value, made
                assert terms.substitute([made], known) == [value], made
                some = {v: known[v] for v in grown.source.sample(list(known), 3)}
                (partly,) = terms.substitute([made], some)
                assert terms.substitute([partly], known) == [value], made
            else:
                assert made == value


def test_every_operator_of_terms_has_a_meaning_here() -> None:
    """So that none is made that is neither grown above nor handed to z3."""
    assert set(MEANING) | set(TRUTHS) - {"signed <"} <= set(z3_terms.OPERATORS)
    assert set(terms._RULES) | {"=", "<"} == set(z3_terms.OPERATORS)


def test_a_shift_beyond_the_width_is_zero_at_once() -> None:
    """A run that a formula draws may shift by any number: Python would make one of that many bits first."""
    by = variable("by", 64)
    assert terms.evaluate(terms.shift_left(variable("one", 64), by, 64), {variable("one", 64): 1, by: 1 << 62}) == 0
