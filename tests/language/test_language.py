"""The language: what the front end takes and what it rejects, and that every operator means in machine code what it
means in CPython. CPython is the reference: a program's functions run there as the Python they are."""

# ruff: noqa: E501, PT018
from __future__ import annotations

import ast
import ctypes
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from tests.models import import_text
from zabspec.language import (
    NODE,
    Bool,
    Field,
    Int,
    LanguageError,
    Message,
    MessageUnion,
    NodeId,
    RangeError,
    Record,
    Role,
    Schema,
    Seq,
    SetOf,
    StateView,
)
from zabspec.language.layout.error_sites import site_number
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import MachineCode, compile_text, has_bit_gather
from zabspec.language.program import Program
from zabspec.model import Configuration, Model
from zabspec.quorums import system_of

NODES = 3
EPOCH = Int(0, 9, "--max-epoch")
TXN = Record("Txn", {"epoch": EPOCH, "counter": Int(-2, 5, "--txns"), "value": Int(0, 1)})
LOG = Seq(TXN, 3, "--txns")
UNION = MessageUnion(
    (
        Message("PING", {"epoch": EPOCH, "low": Int(-4, 4)}, to="leader"),
        Message("PONG", {"txn": TXN, "epoch": EPOCH, "history": LOG}, to="follower"),
    )
)
BIG = 1 << 62


def per_node(name: str, kind: Any, role: Role, *axes: int) -> Field:
    return Field(name, kind, role, (NODE, *axes))


SCHEMA = Schema(
    NODES,
    (
        per_node("x", Int(0, 100, "--wide"), Role.VOLATILE),
        per_node("y", Int(-5, 10), Role.PERSISTENT),
        per_node("many", Int(100, 100_000), Role.VOLATILE, 2),
        per_node("wide", Int(-BIG, BIG), Role.VOLATILE),
        per_node("flag", Bool(), Role.VOLATILE),
        per_node("who", NodeId.of(NODES), Role.VOLATILE),
        per_node("log", LOG, Role.PERSISTENT),
        per_node("spare", LOG, Role.VOLATILE),
        per_node("few", Seq(Int(-1, 7), 3, "--few"), Role.VOLATILE),
        per_node("short", Seq(Int(-1, 5), 2, "--short"), Role.VOLATILE),
        per_node("group", SetOf(NODES, nodes=True), Role.VOLATILE),
        per_node("other", SetOf(NODES, nodes=True), Role.VOLATILE),
        per_node("acks", SetOf(12), Role.VOLATILE, 3),
        per_node("box", Seq(UNION, 2, "--channel"), Role.NETWORK),
        Field("link", Int(0, 4), Role.NETWORK, (NODE, NODE)),
        Field("seen", Int(0, 9), Role.GHOST, (NODE,), observed=True),
        Field("left", Int(0, 3), Role.BUDGET),
        Field("steps", Int(0, 2**63 - 1), Role.SCRATCH),
        Field("error", Int(0, 2**32 - 1), Role.SCRATCH),
    ),
    {"NODES": NODES, "LIMIT": 7},
    system_of("weights 3,3,-3"),
)
TYPES = {"Txn": TXN, "History": LOG, "AnyMessage": UNION}

HEADER = '''"""A text of the language, written for a test."""
from __future__ import annotations
from zabspec.language.python.lang import AnyMessage, Bytes, History, Members, MessageName, NOBODY, Node, State, Txn, Words, forget, is_quorum, step
PING = MessageName("PING")
PONG = MessageName("PONG")
FIVE = 5
'''


def program(folder: Path, world: str = "", protocol: str = "") -> Program:
    """The program of a world's text and a protocol's."""
    count = next(_numbers)
    worlds = import_text(folder, f"world_{count}", HEADER + world)
    protocols = import_text(folder, f"protocol_{count}", HEADER + protocol)
    vars(protocols).update(
        {k: v for k, v in vars(worlds).items() if callable(v) and getattr(v, "__module__", "") == worlds.__name__}
    )
    return Program(SCHEMA, TYPES, world=(worlds,), protocol=(protocols,))


_numbers = itertools.count()


@dataclass
class Outcome:
    """What a call did: its result and the state after, or the error and nothing else."""

    error: str
    result: int
    state: bytes

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Outcome)
        return self.error == other.error and (
            bool(self.error) or (self.result, self.state) == (other.result, other.state)
        )


class Worlds:
    """One program in both worlds."""

    def __init__(self, made: Program, roots: dict[str, int]) -> None:
        """`roots`: the functions that can be called (state and integers, giving an integer), and how many integers."""
        self.program, self.roots, self.layout = made, roots, made.layout
        typed = made.typed(list(roots))
        self.sites = typed.sites
        self.code = MachineCode(
            compile_text(llvm_text.emit_program(typed, made.layout, set(roots), has_bit_gather())), {}
        )

    def state(self) -> StateView:
        s = StateView(self.layout)
        for p in range(NODES):
            s.y[p], s.x[p], s.wide[p] = p, 10 * p, -p
        return s

    def compiled(self, name: str, s: StateView, *numbers: int) -> Outcome:
        function = self.code.function(name, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * len(numbers))
        buffer = ctypes.create_string_buffer(bytes(s.buffer), self.layout.total)
        result = function(buffer, *numbers)
        after = StateView(self.layout, buffer.raw)
        site = self.sites[site_number(after.error) - 1] if after.error else None
        return Outcome(f"{site.field} {site.problem} {site.widen}" if site else "", result, after.key())

    def python(self, name: str, s: StateView, *numbers: int) -> Outcome:
        s = s.copy()
        try:
            result = self.program.python[name](s, *numbers)
        except RangeError as problem:
            return Outcome(f"{problem.field} {problem.problem} {problem.widen}", 0, b"")
        return Outcome("", int(result), s.key())

    def agree(self, name: str, *numbers: int, start: StateView | None = None) -> Outcome:
        """Both worlds' outcome of a call, which must be the same."""
        s = start or self.state()
        expected = self.python(name, s, *numbers)
        assert self.compiled(name, s, *numbers) == expected, f"{name}{numbers}"
        return expected


def functions_of(text: str) -> dict[str, int]:
    """The functions a text defines that take a state and integers and give an integer."""
    found = re.findall(r"^def (\w+)\(s: State((?:, \w+: (?:int|Node))*)\) -> int:", text, re.M)
    return {name: rest.count(",") for name, rest in found}


# --- what is rejected ----------------------------------------------------------------------------


def rejected(folder: Path, text: str) -> LanguageError:
    made = program(folder, protocol=text)
    with pytest.raises(LanguageError) as caught:
        made.typed(["h"])
    return caught.value


# the classes of statements, values and operators of Python's parser; those that the language has
KINDS = (ast.stmt, ast.expr, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
CLASSES = {c.__name__ for kind in KINDS for c in vars(ast).values() if isinstance(c, type) and issubclass(c, kind)}
OLDER = {"Bytes", "Ellipsis", "ExtSlice", "Index", "NameConstant", "Num", "Str", "TemplateStr", "Interpolation"}
HAS = """
Add And Assert Attribute AugAssign BinOp BitAnd BitOr BitXor BoolOp Break Call Compare Continue Eq FloorDiv For
FormattedValue Gt GtE If IfExp In LShift Lt LtE Mod Mult Name Not NotEq NotIn Or Pass Pow RShift Set SetComp Sub
Subscript USub UnaryOp While
"""


def test_every_class_of_the_parser_that_the_language_does_not_have_is_rejected() -> None:
    texts = re.findall(r"((?:^\|.*\n)+)", (Path(__file__).with_name("rejected.txt")).read_text(), re.MULTILINE)
    code = ("".join(f"{line[2:]}\n" for line in text.splitlines()) for text in texts)
    met = {type(node).__name__ for text in code for node in ast.walk(ast.parse(text))}
    assert CLASSES - OLDER - {k.__name__ for k in KINDS} - {"TypeAlias"} - set(HAS.split()) <= met


def recorded(text: str, folder: Path) -> str:
    """Return `rejected.txt` with the line and the reason of each of its texts as they are now."""
    out = ""
    for head, code in re.findall(r"((?:^(?:[#=].*)?\n)*)((?:^\|.*\n)+)(?:^    .*\n?)*", text, re.MULTILINE):
        error = rejected(folder, "".join(f"{line[2:]}\n" for line in code.splitlines()))
        assert re.search(r"protocol_\d+\.py$", error.file)
        assert str(error) == f"{error.file}:{error.line}: {error.reason}"
        assert not re.search(rf"\b({'|'.join(CLASSES)})\b", error.reason), error.reason
        out += f"{head}{code}    {error.line - HEADER.count(chr(10))}: {error.reason}\n"
    return out


@pytest.mark.filterwarnings('ignore:"is" with:SyntaxWarning')  # Python's own word on one of these texts
def test_outside_the_subset_is_rejected_with_line_and_reason(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Among them texts that the front end once took, and that mean different things in different worlds."""
    path = Path(__file__).with_name("rejected.txt")
    now = recorded(path.read_text(encoding="utf-8"), tmp_path)
    if request.config.getoption("--rewrite"):
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now


def test_a_function_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    """A root that no module defines is refused by name."""
    with pytest.raises(LanguageError, match="no function 'h'"):
        program(tmp_path).typed(["h"])


GHOST_BY_WORLD = """
def peek(s: State, p: Node) -> int:
    return s.seen[p]


def note(s: State, p: Node) -> None:
    s.seen[p] = min(s.seen[p] + 1, 9)
"""


def test_a_handler_may_cause_a_ghost_to_change(tmp_path: Path) -> None:
    """A call of the world that writes a ghost and gives nothing back is what a handler is meant to do."""
    program(tmp_path, GHOST_BY_WORLD, "def h(s: State, p: Node) -> None:\n    note(s, p)\n").typed(["h"])


def test_a_handler_may_not_read_a_ghost_through_the_world(tmp_path: Path) -> None:
    """`s.seen[p]` is refused in a handler, and so must be a call that returns it."""
    made = program(tmp_path, GHOST_BY_WORLD, "def h(s: State, p: Node) -> None:\n    s.x[p] = peek(s, p)\n")
    with pytest.raises(LanguageError, match="ghost"):
        made.typed(["h"])


def test_a_helper_of_a_variant_is_a_handler(tmp_path: Path) -> None:
    """A function that a variant's override calls, of the variant's own module, may not read a ghost either."""
    base = program(tmp_path, protocol="def h(s: State, p: Node) -> None:\n    s.x[p] = 1\n")
    variant = import_text(
        tmp_path,
        "variant",
        HEADER + "def h(s: State, p: Node) -> None:\n    s.x[p] = helper(s, p)\n\n\n"
        "def helper(s: State, p: Node) -> int:\n    return s.seen[p]\n",
    )
    made = Program(SCHEMA, TYPES, base.world, base.protocol, overrides={"h": variant.h})
    with pytest.raises(LanguageError, match="may not read ghost field seen"):
        made.typed(["h"])


# --- what every operator means -------------------------------------------------------------------

# Functions of a state and integers, giving an integer, called in both worlds with every combination
# of the numbers of VALUES. The first parameter is the handler's own process where it is named p.
OPERATORS = """
def held_quorum(s: State, p: Node) -> int:
    return 1 if is_quorum(s, s.group[p]) else 0


def gathered_quorum(s: State, p: Node, a: int) -> int:
    found = is_quorum(s, {q for q in range(s.NODES) if q in s.group[p] or (q == p and a > 0) if q != 1 or a != 2})
    return 2 if found else 3


def gathered_set(s: State, p: Node, a: int) -> int:
    q = a
    if not decides(s, {q for q in range(s.NODES) if q in s.group[p] and a > 0}) and q == a:
        s.x[p] = 5
    return q + s.x[p]


def decides(s: State, members: Members) -> bool:
    return is_quorum(s, members) and len(members) > 1


def add(s: State, p: Node, a: int, b: int) -> int:
    return a + b


def subtract(s: State, p: Node, a: int, b: int) -> int:
    return a - b


def multiply(s: State, p: Node, a: int, b: int) -> int:
    return a * b


def bit_or(s: State, p: Node, a: int, b: int) -> int:
    return a | b


def bit_and(s: State, p: Node, a: int, b: int) -> int:
    return a & b


def bit_xor(s: State, p: Node, a: int, b: int) -> int:
    return a ^ b


def left(s: State, p: Node, a: int, b: int) -> int:
    return a << (b & 15)


def right(s: State, p: Node, a: int, b: int) -> int:
    return a >> (b & 15)


def negate(s: State, p: Node, a: int) -> int:
    return -a


def power(s: State, p: Node, a: int) -> int:
    return a + 2**5 + FIVE + s.LIMIT


def smallest(s: State, p: Node, a: int, b: int) -> int:
    return min(a, b)


def largest(s: State, p: Node, a: int, b: int) -> int:
    return max(a, b)


def equal(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a == b else 0


def unequal(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a != b else 0


def less(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a < b else 0


def at_most(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a <= b else 0


def greater(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a > b else 0


def at_least(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a >= b else 0


def between(s: State, p: Node, a: int, b: int) -> int:
    return 1 if 0 <= a < b else 0


def negation(s: State, p: Node, a: int, b: int) -> int:
    return 1 if not a < b else 0


def both(s: State, p: Node, a: int, b: int) -> int:
    return 1 if noted(s, p, a > 0) and noted(s, p, b > 0) and noted(s, p, a != b) else 0


def either(s: State, p: Node, a: int, b: int) -> int:
    return 1 if noted(s, p, a > 0) or noted(s, p, b > 0) or noted(s, p, a != b) else 0


def noted(s: State, p: Node, value: bool) -> bool:
    s.x[p] = s.x[p] + 1
    return value


def truths(s: State, p: Node, a: int, b: int) -> int:
    x = a > 0
    y = b > 0
    s.flag[p] = x == y
    if x != y:
        return 2
    return 1 if s.flag[p] else 0


def chosen(s: State, p: Node, a: int, b: int) -> int:
    return a if b > a else noted_number(s, p, b)


def noted_number(s: State, p: Node, value: int) -> int:
    s.x[p] += 3
    return value


def within(s: State, p: Node, a: int, b: int) -> int:
    s.few[p].append(a & 7)
    s.few[p].append((b & 7) - 1)
    t = Txn(epoch=a & 7, counter=0, value=1)
    s.log[p].append(Txn(epoch=b & 7, counter=0, value=1))
    return (1 if a in s.few[p] else 0) + (2 if b not in s.few[p] else 0) + (4 if t in s.log[p] else 0)


def within_nothing(s: State, p: Node, a: int) -> int:
    return 1 if s.many[p][a] in s.few[p] else 0


def one_of(s: State, p: Node, a: int, b: int) -> int:
    t = Txn(epoch=a & 7, counter=0, value=1)
    s.log[p].append(Txn(epoch=b & 7, counter=0, value=1))
    return (1 if a in (b, 3, s.y[p]) else 0) + (2 if b not in [a, 5] else 0) + (4 if t in (s.log[p][0],) else 0)


def one_of_places(s: State, p: Node, a: int, b: int) -> int:
    return 1 if a in (a, s.many[p][b & 3]) else 0


def went_through(s: State, p: Node, a: int, b: int) -> int:
    s.few[p].append(a & 7)
    s.few[p].append((b & 7) - 1)
    s.few[p].append(3)
    n = 0
    for v in s.few[p]:
        if v == 5:
            continue
        n = 10 * n + v
        if v == 6:
            s.few[p].pop(1)
        if v == 2:
            break
        for w in s.few[p]:
            n += w
    for t in s.log[p]:
        n += t.epoch
    return n


def went_through_set(s: State, p: Node, a: int, b: int) -> int:
    n = 0
    s.acks[p][1].add(a & 7)
    s.acks[p][1].add(b & 7)
    for k in s.acks[p][1]:
        n = 20 * n + k
        if k == 3:
            s.acks[p][1].discard(b & 7)
            s.acks[p][1].add(a & 11)
        if k == 9:
            break
    for q in s.group[p]:
        n += q + 1
    return n


def refilled(s: State, p: Node, a: int, b: int) -> int:
    s.short[p].append(1)
    for k in range(a & 3):
        s.few[p].append((b & 7) - 1)
    s.short[p] = s.few[p]
    same = s.short[p] == s.few[p]
    s.few[p].clear()
    s.few[p] = s.short[p]
    s.few[p].append(0)
    return len(s.short[p]) + (10 if same else 0) + (20 if s.few[p] != s.short[p] else 0)

def branches(s: State, p: Node, a: int, b: int) -> int:
    if a > b:
        if b > 0:
            return 1
    elif a == b:
        return 2
    else:
        a_local = 3
        return a_local + a
    return 4


def loops(s: State, p: Node, a: int, b: int) -> int:
    total = 0
    for k in range(4):
        total = total * 3 + k
        for j in range(k, b & 3):
            if j == 2:
                continue
            if j > a:
                break
            total += 1
            k = 7
        if total > 900:
            return -total
    return total


def added_to(s: State, p: Node, a: int, b: int) -> int:
    n: int = a
    n += b
    n -= 3
    n *= 2
    n |= 1
    n &= 4095
    n ^= b & 7
    n <<= 2
    n >>= 1
    n //= 3
    n %= 50
    s.wide[p] += n
    return n


def in_range(s: State, p: Node, a: int) -> int:
    s.y[p] = a
    s.who[p] = s.y[p] - 1 if a == 3 else s.who[p]
    return s.y[p]


def narrow(s: State, p: Node, a: int) -> int:
    s.x[p] = a
    return s.x[p]


def offset(s: State, p: Node, a: int, b: int) -> int:
    s.many[p][a & 1] = 100 + b
    return s.many[p][0] + s.many[p][1]


def nobody(s: State, p: Node, a: int) -> int:
    s.who[p] = a
    return 1 if s.who[p] == NOBODY else s.who[p]


def indexed(s: State, p: Node, a: int) -> int:
    s.many[p][a] = 200
    return s.many[p][a]


def made(s: State, p: Node, a: int, b: int) -> int:
    t = Txn(epoch=a, counter=b, value=1)
    s.log[p].append(t)
    return t.epoch * 100 + t.counter * 10 + s.log[p][0].value


def same_record(s: State, p: Node, a: int, b: int) -> int:
    t = Txn(epoch=a & 3, counter=(b & 3) - 2, value=1)
    u = Txn(epoch=b & 3, counter=(a & 3) - 2, value=1)
    return (1 if t == u else 0) + (2 if t != u else 0)


def members(s: State, p: Node, a: int, b: int) -> int:
    s.group[p].add(1)
    s.group[p].add(a)
    s.group[p].discard(b)
    s.acks[p][2].add(11)
    return (1 if a in s.group[p] else 0) + (2 if b not in s.group[p] else 0) + 4 * len(s.group[p]) + len(s.acks[p][2])


def same_set(s: State, p: Node, a: int, b: int) -> int:
    s.group[p].add(a & 1)
    s.other[p].add(b & 1)
    same = s.group[p] == s.other[p]
    s.other[p] = s.group[p]
    s.group[p].clear()
    if s.group[p] != s.other[p]:
        return 1 if same else 0
    return 2


def discarded(s: State, p: Node, a: int) -> int:
    s.group[p].discard(a)
    return len(s.group[p])


def sequence(s: State, p: Node, a: int, b: int) -> int:
    s.few[p].append(a & 7)
    s.few[p].append(b & 7)
    s.few[p].append(3)
    s.few[p].pop(a & 1)
    n = len(s.few[p])
    s.few[p][0] = (b & 3) - 1
    s.few[p].pop(1)
    return 10 * n + s.few[p][0] + s.few[p][2]


def removed(s: State, p: Node, a: int) -> int:
    s.few[p].append(5)
    s.few[p].append(6)
    s.few[p].pop(a)
    return s.few[p][0]


def appended(s: State, p: Node, a: int, b: int) -> int:
    for k in range(b & 7):
        s.few[p].append((a & 3) - 1 + k)
    return len(s.few[p])


def read_beyond(s: State, p: Node, a: int) -> int:
    s.few[p].append(7)
    return s.few[p][0] + len(s.few[p])


def cleared(s: State, p: Node, a: int) -> int:
    s.few[p].append(4)
    s.few[p].append(4)
    if a > 0:
        s.few[p].clear()
    return len(s.few[p])


def copied(s: State, p: Node, a: int, b: int) -> int:
    s.log[p].append(Txn(epoch=a & 7, counter=1, value=1))
    same = s.log[p] == s.spare[p]
    s.spare[p] = s.log[p]
    if s.log[p] != s.spare[p]:
        return 100
    s.spare[p].append(Txn(epoch=b & 7, counter=0, value=0))
    alias = s.spare[p]
    return count(s, p, s.spare[p]) + len(alias) + (20 if same else 0) + (40 if alias == s.log[p] else 0)


def count(s: State, p: Node, h: History) -> int:
    n = 0
    for k in range(len(h)):
        n = n * 10 + h[k].epoch
    return n


def forgotten(s: State, p: Node, a: int) -> int:
    s.few[p].append(3)
    s.acks[p][1].add(3)
    s.log[p].append(Txn(epoch=1, counter=1, value=1))
    s.flag[p] = True
    s.who[p] = 2
    forget(s, p)
    return len(s.log[p]) + s.y[p]


@step("f.9.1")
def first_step(s: State, p: Node) -> None:
    s.x[p] = 1


@step("f.9.2")
def second_step(s: State, p: Node) -> int:
    return 4


def stepped(s: State, p: Node, a: int) -> int:
    if a > 0:
        first_step(s, p)
    if a > 2:
        return second_step(s, p)
    return 0


@step("f.9.3")
def widened_in_step(s: State, p: Node, a: int) -> int:
    s.x[p] = a
    return 0
"""

# The same, as a world's functions, which may write the network's fields and use `while`.
WORLD = """
def posted(s: State, p: Node, a: int, b: int) -> int:
    s.box[p].append(PING(epoch=a & 7, low=(b & 7) - 3))
    t = Txn(epoch=a & 7, counter=0, value=1)
    s.log[p].append(t)
    s.box[p].append(PONG(txn=t, epoch=b & 7, history=s.log[p]))
    m = s.box[p][0]
    n = received(s, m)
    s.box[p].pop(0)
    return 100 * n + received(s, s.box[p][0])


def received(s: State, m: AnyMessage) -> int:
    if m.kind == PING:
        return ping(s, m)
    if m.kind == PONG:
        return pong(s, m)
    return -1


def ping(s: State, m: PING) -> int:
    return m.epoch * 10 + m.low


def pong(s: State, m: PONG) -> int:
    return m.epoch + m.txn.epoch + len(m.history) + m.history[0].value


def none_there(s: State, p: Node, a: int) -> int:
    return received(s, s.box[p][0])


def overfull(s: State, p: Node, a: int) -> int:
    for k in range(a & 3):
        s.box[p].append(PING(epoch=k, low=0))
    return len(s.box[p])


def message_range(s: State, p: Node, a: int, b: int) -> int:
    s.box[p].append(PING(epoch=a, low=b))
    return 1


def replaced(s: State, p: Node, a: int) -> int:
    s.box[p].append(PING(epoch=1, low=0))
    s.box[p][0] = PING(epoch=2, low=a & 3)
    return received(s, s.box[p][0])


def linked(s: State, p: Node, q: Node) -> int:
    s.link[p][q] = p + 1
    return s.link[p][q] * 10 + s.link[q][p]


def counted_down(s: State, a: int) -> int:
    n = 0
    while a > 0:
        a = a >> 1
        if n == 5:
            break
        if a == 3:
            continue
        n += 1
    while True:
        n += 2
        if n > 3:
            return n


def spent(s: State, p: Node) -> int:
    s.left = s.left - p
    return s.left


def divided(s: State, a: int, b: int) -> int:
    return (a & 1023) // ((b & 15) + 1) * 100 + (a & 1023) % ((b & 15) + 1)


def divided_anyhow(s: State, a: int, b: int) -> int:
    return a // (2 * b + 1) * 1000 + a % (2 * b + 1)


def high(s: State, a: int, b: int) -> int:
    return mulhi(a * 987654321987, b * 123456789123)


def shifted(s: State, a: int, b: int) -> int:
    return shr(a, b & 63)


def product(s: State, a: int, b: int) -> int:
    return wrap_mul(a * 987654321987, b * 123456789123 + 1)


def total(s: State, a: int, b: int) -> int:
    return wrap_add(wrap_mul(a, 4611686018427387905), wrap_mul(b, 4611686018427387905))


def unsigned(s: State, a: int, b: int) -> int:
    return 1 if unsigned_less(a, b) else 0


def left_over(s: State, a: int, b: int) -> int:
    return unsigned_rem(wrap_mul(a, 7777777777777777777), (b & 1023) + 1)


def ones(s: State, a: int) -> int:
    return count_bits(a)


def gathered(s: State, a: int, b: int) -> int:
    return extract(a * 77777777777777, -9187201950435737472) * 4096 + extract(wrap_mul(b, 7777777777777), 64424513550)


def scattered(s: State, a: int, b: int) -> int:
    return deposit(a, -9187201950435737471) ^ deposit(b, 64424513550)
"""

VALUES = (
    -130,
    -6,
    -5,
    -2,
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    63,
    100,
    101,
    255,
    256,
    100_000,
    2**31,
    -(2**31) - 1,
)
SOME = (-6, -5, -1, 0, 1, 2, 3, 4, 5, 6, 9, 10, 101)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    made = program(tmp_path_factory.mktemp("operators"), WORLD, OPERATORS)
    return Worlds(made, functions_of(OPERATORS) | functions_of(WORLD))


def arguments(name: str, count: int, text: str) -> list[tuple[int, ...]]:
    """Every combination of the values; a process where the parameter is one."""
    nodes = len(re.findall(r": Node", re.search(rf"^def {name}\(.*", text, re.M)[0]))  # type: ignore[index]
    values = VALUES if count - nodes < 2 else SOME
    return list(itertools.product(*[range(NODES)] * nodes, *[values] * (count - nodes)))


def calls() -> list[tuple[str, tuple[int, ...]]]:
    return [
        (name, args)
        for text in (OPERATORS, WORLD)
        for name, count in functions_of(text).items()
        for args in arguments(name, count, text)
    ]


@pytest.mark.parametrize("name", [*functions_of(OPERATORS), *functions_of(WORLD)])
def test_every_operator_means_the_same_in_both_worlds(name: str, worlds: Worlds) -> None:
    """Result and state, or the error, of every function on every combination of values."""
    outcomes = [worlds.agree(name, *args) for called, args in calls() if called == name]
    assert any(not o.error for o in outcomes)


RANGES = (
    "in_range", "narrow", "offset", "nobody", "indexed", "made", "members", "discarded", "removed", "appended",
    "overfull", "message_range", "spent", "widened_in_step",
)  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_leaving_a_range_is_an_error_and_nothing_wraps(name: str, worlds: Worlds) -> None:
    """Among the values are some outside the range: each is an error in both worlds, and only those are."""
    outcomes = [worlds.agree(name, *args) for called, args in calls() if called == name]
    assert any(o.error for o in outcomes) and any(not o.error for o in outcomes)


@pytest.mark.parametrize(
    ("name", "args", "field", "problem", "widen", "label"),
    [
        ("narrow", (1, 101), "x", "would leave its range 0..100", "--wide", "narrow"),
        ("narrow", (1, -1), "x", "would leave its range 0..100", "--wide", "narrow"),
        ("in_range", (1, -6), "y", "would leave its range -5..10", "", "in_range"),
        ("made", (1, 10, 0), "Txn.epoch", "would leave its range 0..9", "--max-epoch", "made"),
        ("made", (1, 9, 6), "Txn.counter", "would leave its range -2..5", "--txns", "made"),
        ("message_range", (1, 0, -5), "PING.low", "would leave its range -4..4", "", "message_range"),
        ("message_range", (1, 10, 0), "PING.epoch", "would leave its range 0..9", "--max-epoch", "message_range"),
        ("appended", (1, 1, 4), "few", "would hold more than 3", "--few", "appended"),
        ("overfull", (1, 3), "box", "would hold more than 2", "--channel", "overfull"),
        ("indexed", (1, 2), "many", "has no entry outside 0..1", "", "indexed"),
        ("members", (1, 3, 0), "group", "takes members 0..2 only", "", "members"),
        ("removed", (1, 2), "few", "has no such place", "", "removed"),
        ("spent", (1,), "left", "would leave its range 0..3", "", "spent"),
        ("widened_in_step", (1, 101), "x", "would leave its range 0..100", "--wide", "step f.9.3"),
    ],
)  # fmt: skip
def test_an_error_names_field_step_and_flag(
    name: str, args: tuple[int, ...], field: str, problem: str, widen: str, label: str, worlds: Worlds
) -> None:
    """Both worlds name the field and the flag; the compiled one the step (or function), file and line too, and the
    field keeps its value."""
    s = worlds.state()
    with pytest.raises(RangeError) as caught:
        worlds.program.python[name](s.copy(), *args)
    assert (caught.value.field, caught.value.problem, caught.value.widen) == (field, problem, widen)
    buffer = ctypes.create_string_buffer(bytes(s.buffer), worlds.layout.total)
    worlds.code.function(name, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * len(args))(buffer, *args)
    after = StateView(worlds.layout, buffer.raw)
    site = worlds.sites[site_number(after.error) - 1]
    assert re.fullmatch(
        re.escape(f"{field} {problem} in {label} (")
        + r"[^)]*\.py:\d+\)"
        + (f"; widen it with {widen}" if widen else ""),
        site.sentence(),
    )
    if name in ("narrow", "in_range", "message_range", "spent", "widened_in_step"):
        assert after.key() == s.key() or name == "message_range"


def test_the_first_error_is_kept(worlds: Worlds) -> None:
    """A second error does not hide the first, which is the one CPython stops at."""
    s = worlds.state()
    s.error = 1
    buffer = ctypes.create_string_buffer(bytes(s.buffer), worlds.layout.total)
    worlds.code.function("narrow", ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(buffer, 1, 101)
    assert StateView(worlds.layout, buffer.raw).error == 1


def test_steps_are_counted_in_both_worlds(worlds: Worlds) -> None:
    """Entering a function marked as a step sets its bit, and only then."""
    steps = worlds.program.steps
    for a, expected in ((0, set()), (1, {"f.9.1"}), (3, {"f.9.1", "f.9.2"})):
        s = worlds.state()
        worlds.program.python["stepped"](s, 0, a)
        buffer = ctypes.create_string_buffer(bytes(worlds.state().buffer), worlds.layout.total)
        worlds.code.function("stepped", ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(buffer, 0, a)
        for found in (s.steps, StateView(worlds.layout, buffer.raw).steps):
            assert {name for k, name in enumerate(steps) if found >> k & 1} == expected


MEMORY = """
def words(w: Words, b: Bytes) -> int:
    w[0] = load_word(b, 3)
    w[1] = load_half(b, 1)
    w[2] = load_short(b, 5)
    w[3] = b[6]
    store_word(b, 16, -2)
    store_half(b, 25, w[1] + 4294967296)
    store_short(b, 29, 65535 + 65536)
    b[31] = w[3] + 256
    copy_bytes(as_bytes(state_at(b, 40)), b, 8)
    zero_bytes(as_bytes(state_at(b, 44)), 2)
    prefetch(w, 0)
    v = words_at(b, 48)
    v[1] = w[0] + 1
    u = bytes_at(w, 4)
    u[0] = 9
    return v[1] - w[0]
"""


def test_the_kernel_reads_and_writes_memory(tmp_path: Path) -> None:
    """Loads and stores of words, halves, shorts and bytes at any address; they have no CPython world."""
    typed = program(tmp_path, MEMORY).typed(["words"])
    code = MachineCode(
        compile_text(llvm_text.emit_program(typed, program(tmp_path).layout, {"words"}, has_bit_gather())), {}
    )
    given_bytes = bytes(range(200, 216)) + bytes(48)
    b, w = ctypes.create_string_buffer(given_bytes, 64), ctypes.create_string_buffer(48)
    assert code.function("words", ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(w, b) == 1
    words = [int.from_bytes(w.raw[8 * k : 8 * k + 8], "little") for k in range(5)]
    word, half = int.from_bytes(given_bytes[3:11], "little"), int.from_bytes(given_bytes[1:5], "little")
    assert words == [word, half, int.from_bytes(given_bytes[5:7], "little"), given_bytes[6], 9]
    expected = bytearray(given_bytes)
    expected[16:24] = (2**64 - 2).to_bytes(8, "little")
    expected[25:29] = half.to_bytes(4, "little")
    expected[29:31] = b"\xff\xff"
    expected[31] = given_bytes[6]
    expected[40:48] = given_bytes[:4] + b"\0\0" + given_bytes[6:8]
    expected[56:64] = ((word + 1) % 2**64).to_bytes(8, "little")
    assert b.raw == bytes(expected)


def test_bits_are_gathered_without_the_instruction(tmp_path: Path, worlds: Worlds) -> None:
    """Where the processor has no instruction for it, shifts and masks gather and scatter the same bits."""
    names = {"gathered": 2, "scattered": 2}
    typed = worlds.program.typed(list(names))
    code = MachineCode(compile_text(llvm_text.emit_program(typed, worlds.layout, set(names), False)), {})
    for name, args in calls():
        if name in names:
            function = code.function(name, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 2)
            assert (
                function(ctypes.create_string_buffer(bytes(worlds.state().buffer)), *args)
                == worlds.python(name, worlds.state(), *args).result
            )


# --- where the worlds once differed ----------------------------------------------------------

ONCE_DIFFERENT: dict[str, tuple[str, str, list[tuple[int, ...]]]] = {
    "division": (
        "def h(s: State, p: Node, a: int) -> int:\n    return a // 4\n",
        "division of a negative number rounds towards zero in machine code",
        [(0, -1), (0, -6)],
    ),
    "remainder": (
        "def h(s: State, p: Node, a: int) -> int:\n    return a % 4\n",
        "the remainder of a negative number is negative in machine code",
        [(0, -1), (0, -6)],
    ),
    "set kept": (
        "def h(s: State, p: Node, a: int) -> int:\n    old = s.group[p]\n    s.group[p].add(a)\n    return len(old)\n",
        "a set given a name is a copy in machine code and a view in CPython",
        [(0, 1)],
    ),
    "middle of a chain": (
        "def g(s: State, p: Node) -> int:\n    s.x[p] += 1\n    return s.x[p]\n\n\n"
        "def h(s: State, p: Node, a: int) -> int:\n    return 1 if 0 < g(s, p) < 90 else 0\n",
        "the middle of a chained comparison is evaluated twice in machine code",
        [(0, 1)],
    ),
    "index of an augmented assignment": (
        "def g(s: State, p: Node) -> int:\n    s.x[p] += 1\n    return s.x[p] & 1\n\n\n"
        "def h(s: State, p: Node, a: int) -> int:\n    s.many[p][g(s, p)] += 1\n    return s.x[p]\n",
        "the index of an augmented assignment is evaluated twice in machine code",
        [(0, 1)],
    ),
    "name of an indexed sequence": (
        "def h(s: State, p: Node, a: int) -> int:\n    return s.few[p][a]\n",
        "an index past the end of a sequence is told of `a sequence`, not of the field",
        [(0, 3)],
    ),
    "appended element": (
        "def h(s: State, p: Node, a: int) -> int:\n    s.few[p].append(a)\n    return 0\n",
        "an appended element outside its range is told of as a sequence that is full, and widened by the wrong flag",
        [(0, 8)],
    ),
    "another message": (
        "def g(s: State, p: Node, m: AnyMessage) -> int:\n    return 1 if m.kind != PING else 0\n\n\n"
        "def h(s: State, p: Node, a: int) -> int:\n    return g(s, p, PING(epoch=1, low=0))\n",
        "`m.kind != NAME` is always true in CPython: _Tag has no __ne__",
        [(0, 0)],
    ),
    "message made twice": (
        "def h(s: State, p: Node, a: int) -> int:\n    m = PING(epoch=0, low=0)\n    old = PING(epoch=0, low=0)\n"
        "    for k in range(3):\n        old = m\n        m = PING(epoch=k + 1, low=0)\n    return old.epoch\n",
        "a message made in a loop overwrites the one made before at the same place",
        [(0, 1)],
    ),
}


@pytest.mark.parametrize("name", ONCE_DIFFERENT)
def test_what_once_differed_agrees(name: str, tmp_path: Path) -> None:
    """Texts that meant one thing in CPython and another in machine code, as the reason given beside each says: they are
    refused now, or agree."""
    text, _, given_args = ONCE_DIFFERENT[name]
    try:
        both = Worlds(program(tmp_path, "", text), {"h": 2})
    except LanguageError:
        return
    for args in given_args:
        both.agree("h", *args)


# An index is held against its bound once, wherever control has to have come by: not where it may have come another way.
BY_ANOTHER_WAY = """
def one_arm(s: State, p: Node, a: int, b: int) -> int:
    v = 0
    if b > 0:
        v = s.many[p][a]
    return v + s.many[p][a]


def ended_arm(s: State, p: Node, a: int, b: int) -> int:
    if b > 0:
        return s.many[p][a] + 1
    return s.many[p][a]


def both_arms(s: State, p: Node, a: int, b: int) -> int:
    if b > 0:
        v = s.many[p][a]
    else:
        v = s.many[p][a] + 1
    return v + s.many[p][a]


def second_part(s: State, p: Node, a: int, b: int) -> int:
    if b > 0 and s.many[p][a] > 100:
        return 7
    return s.many[p][a]


def either_part(s: State, p: Node, a: int, b: int) -> int:
    if (b > 0 and s.many[p][a] > 100) or b < -1:
        return s.many[p][a] + 1
    return 5


def neither_part(s: State, p: Node, a: int, b: int) -> int:
    if not (b > 0 or s.many[p][a] > 100):
        return s.many[p][a] + 1
    return 5 + s.many[p][a]


def value(s: State, p: Node, a: int, b: int) -> int:
    known = b > 0 and s.many[p][a] > 100
    return s.many[p][a] + (1 if known else 2)


def chosen(s: State, p: Node, a: int, b: int) -> int:
    v = s.many[p][a] if b > 0 else b
    return v + s.many[p][a]


def rounds(s: State, p: Node, a: int, b: int) -> int:
    v = 0
    for k in range(min(max(b, 0), 3)):
        v = v + s.many[p][a]
    return v + s.many[p][a]


def given_again(s: State, p: Node, a: int, b: int) -> int:
    at = 0
    v = s.many[p][at]
    if b > 0:
        at = a
    return v + s.many[p][at]


def beyond(s: State, p: Node, a: int, b: int) -> int:
    v = 0
    for k in range(3):
        if k < b:
            v = v + s.many[p][k]
    return v


def chosen_by_two(s: State, p: Node, a: int, b: int) -> int:
    v = b + s.x[p] if b > 0 and s.many[p][a] > 100 else b
    return v + s.many[p][a]


def given_inside(s: State, p: Node, a: int, b: int) -> int:
    v = 0
    for k in range(2):
        if b > 0:
            k = a
        v = v + s.many[p][k]
    return v


def after_the_loop(s: State, p: Node, a: int, b: int) -> int:
    k = a
    for k in range(min(max(b, 0), 3)):
        s.x[p] = k
    return s.many[p][k]
"""


def test_an_index_is_checked_whichever_way_control_came(tmp_path: Path) -> None:
    """Texts that use one index in several places give the same first error in both worlds."""
    names = list(functions_of(BY_ANOTHER_WAY))
    both = Worlds(program(tmp_path, BY_ANOTHER_WAY), dict.fromkeys(names, 3))
    erred = set()
    for name, a, b in itertools.product(names, (-1, 0, 1, 2), (-2, -1, 0, 1, 3)):
        both.agree(name, 1, a, b)
        if both.compiled(name, both.state(), 1, a, b).error:
            erred.add(name)
    assert erred == set(names), "each of them errs for some input"


TAKEN_BACK = """
def again(s: State, p: Node, a: int) -> int:
    v = s.many[p][a]
    first = s.error
    s.error = 0
    v = s.many[p][a]
    return 1 if first != 0 and s.error != 0 else v


def forgive(s: State) -> None:
    s.error = 0


def through_a_call(s: State, p: Node, a: int) -> int:
    v = s.many[p][a]
    forgive(s)
    return s.many[p][a]


def wipe(s: State) -> None:
    zero_bytes(bytes_at(words_at(as_bytes(s), ERROR_AT), 0), 4)


def through_a_call_over_bytes(s: State, p: Node, a: int) -> int:
    v = s.many[p][a]
    wipe(s)
    return s.many[p][a]


def over_bytes(s: State, p: Node, a: int) -> int:
    v = s.many[p][a]
    copy_bytes(as_bytes(s), as_bytes(state_at(as_bytes(s), 0)), 0)
    zero_bytes(bytes_at(words_at(as_bytes(s), ERROR_AT), 0), 4)
    return s.many[p][a]
"""


def test_an_error_that_was_taken_back_is_noted_again(tmp_path: Path) -> None:
    """A kernel takes errors back: an index that was wrong before is told of when it is used again."""
    at = program(tmp_path).layout.offset("error")
    names = functions_of(TAKEN_BACK.replace("ERROR_AT", str(at))).keys() - {"forgive"}
    both = Worlds(program(tmp_path, TAKEN_BACK.replace("ERROR_AT", str(at))), dict.fromkeys(sorted(names), 2))
    for name in names:
        assert both.compiled(name, both.state(), 1, 5).error, name
        assert not both.compiled(name, both.state(), 1, 1).error, name


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("a * a > 0", (1 << 32,)),
        ("(1 << a) & 255 == 0", (64,)),
        ("(1 << a) & 255 == 0", (-1,)),
        ("(a << 40) > 0", (1 << 30,)),
    ],
)
def test_what_does_not_fit_64_bits_is_an_error(text: str, args: tuple[int, ...], tmp_path: Path) -> None:
    """CPython's integers have no end; in machine code a product or a shift that loses bits is an error, never wraps."""
    made = f"def h(s: State, p: Node, a: int) -> int:\n    s.flag[p] = {text}\n    return 0\n"
    both = Worlds(program(tmp_path, "", made), {"h": 2})
    assert both.compiled("h", both.state(), 0, *args).error
    assert not both.compiled("h", both.state(), 0, 3).error


# --- a whole protocol out of its ranges --------------------------------------------------------------


@pytest.mark.parametrize(
    ("configuration", "field", "flag"),
    [
        (Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0, max_epoch=1), "new_epoch", "--max-epoch"),
        (Configuration(nodes=2, txns=1, timeouts=0, crashes=0, losses=0, channel=1), "to_follower", "--channel"),
    ],
)
def test_a_protocol_out_of_its_ranges_stops_the_exploration(
    configuration: Configuration, field: str, flag: str
) -> None:
    """Both engines stop with an error that names the field, the step and the flag that widens it, claim neither
    completeness nor a verdict they did not reach, and find it at the same depth."""
    made = Model(configuration)
    fast = Explorer(Compiled(made, (), False), 1).run(Limits())
    slow = Interpreter(made, (), False).run(Limits())
    for result in (fast, slow):
        assert result.error.startswith(f"{field} would ") and result.error.endswith(f"widen it with {flag}")
        assert re.search(r"step .*[lf]\.\d\.\d|in \w+ \(", result.error)
        assert not result.complete
    assert fast.expanded_levels == slow.expanded_levels


# --- what a crash forgets ----------------------------------------------------------------------------


def test_all_of_a_volatile_field_is_forgotten_whatever_its_axes(tmp_path: Path) -> None:
    """One number, several, records, and all of these for each other process; of the same process, and of no other."""
    kinds = {"n": Int(0, 9), "r": Record("Pair", {"a": Int(0, 9), "b": Bool()}), "q": Seq(Int(0, 9), 2)}
    axes: dict[str, tuple[str | int, ...]] = {
        "one": (NODE,), "some": (NODE, 2), "two": (NODE, 2, 3), "pair": (NODE, NODE), "pairs": (NODE, NODE, 2),
    }  # fmt: skip
    fields = [
        Field(f"{role.value}_{k}_{a}", kind, role, axes[a])
        for role in (Role.VOLATILE, Role.PERSISTENT)
        for k, kind in kinds.items()
        for a in axes
    ]
    scratch = (Field("steps", Int(0, 2**63 - 1), Role.SCRATCH), Field("error", Int(0, 2**32 - 1), Role.SCRATCH))
    schema = Schema(NODES, (*fields, *scratch), {"NODES": NODES, "LIMIT": 7})
    text = "def lose(s: State, p: Node) -> int:\n    forget(s, p)\n    return 0\n"
    module = import_text(tmp_path, "forgetting", HEADER + text)
    both = Worlds(Program(schema, {}, world=(module,), protocol=()), {"lose": 1})
    full = bytearray(b"\1" * both.layout.size + bytes(both.layout.total - both.layout.size))
    for p in range(NODES):
        after = both.agree("lose", p, start=StateView(both.layout, bytes(full))).state
        for f in fields:
            for index, at in both.layout.elements(f.name):
                lost = f.role is Role.VOLATILE and index[0] == p
                assert after[at : at + f.kind.size] == (bytes(f.kind.size) if lost else b"\1" * f.kind.size), f.name
