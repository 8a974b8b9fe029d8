"""The language: what the front end takes and what it rejects, and that every operator means in machine code what it
means in CPython. CPython is the reference: a program's functions run there as the Python they are."""

# ruff: noqa: E501, PT018
from __future__ import annotations

import ast
import ctypes
import itertools
import re
from collections import Counter
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

    def run(self, name: str, s: StateView, *numbers: int) -> tuple[int, StateView]:
        """The result of a call in machine code, and the state after."""
        function = self.code.function(name, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * len(numbers))
        buffer = ctypes.create_string_buffer(bytes(s.buffer), self.layout.total)
        return function(buffer, *numbers), StateView(self.layout, buffer.raw)

    def sentence(self, name: str, *numbers: int) -> str:
        """The error of a call as it is reported: field, step or function, file, line, and the flag that widens it."""
        return str(self.sites[site_number(self.run(name, self.state(), *numbers)[1].error) - 1].sentence())

    def compiled(self, name: str, s: StateView, *numbers: int) -> Outcome:
        result, after = self.run(name, s, *numbers)
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

# Functions of a state and integers, giving an integer, called in both worlds with every combination of the numbers of
# VALUES. The first parameter is the handler's own process where it is named p.
MEANINGS = Path(__file__).with_name("meanings.txt")


def sections(group: str) -> str:
    """Return the functions of a group of `meanings.txt`: a protocol's (""), a world's, which may write the network's
    fields and use `while`, or those that use one index in several places."""
    texts = re.findall(r"^== (?:(\w+): )?\w+\n((?:\|.*\n)+)", MEANINGS.read_text(encoding="utf-8"), re.MULTILINE)
    code = ["".join(f"{line[2:]}\n" for line in text.splitlines()) for found, text in texts if found == group]
    return "\n\n".join(code)


OPERATORS, WORLD, INDEX = map(sections, ("", "world", "index"))

VALUES = (
    -130, -6, -5, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 63, 100, 101, 255, 256, 100_000, 2**31, -(2**31) - 1,
)  # fmt: skip
SOME = (-6, -5, -1, 0, 1, 2, 3, 4, 5, 6, 9, 10, 101)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    made = program(tmp_path_factory.mktemp("operators"), WORLD + INDEX, OPERATORS)
    return Worlds(made, functions_of(OPERATORS) | functions_of(WORLD + INDEX))


def arguments(name: str, count: int, text: str) -> list[tuple[int, ...]]:
    """Every combination of the values; a process where the parameter is one."""
    nodes = len(re.findall(r": Node", re.search(rf"^def {name}\(.*", text, re.M)[0]))  # type: ignore[index]
    values = VALUES if count - nodes < 2 else SOME
    return list(itertools.product(*[range(NODES)] * nodes, *[values] * (count - nodes)))


def calls(name: str) -> list[tuple[int, ...]]:
    text = OPERATORS + WORLD + INDEX
    return arguments(name, functions_of(text)[name], text)


def test_every_operator_means_the_same_in_both_worlds(worlds: Worlds, request: pytest.FixtureRequest) -> None:
    """Result and state, or the error, of every function on every combination of values; and which errors these are."""
    recorded = MEANINGS.read_text(encoding="utf-8")
    now = recorded.partition("\n== ")[0]
    for title, text in re.findall(r"^== (.*)\n((?:\|.*\n)+)", recorded, re.MULTILINE):
        name = title.rpartition(": ")[2]
        outcomes = [worlds.agree(name, *args) for args in calls(name)]
        assert any(not o.error for o in outcomes), name
        now += f"\n== {title}\n{text}    {len(outcomes)} calls\n"
        for error, count in Counter(o.error for o in outcomes if o.error).items():
            args = next(a for a, o in zip(calls(name), outcomes, strict=True) if o.error == error)
            now += f"    {count}: {re.sub(' [(][^ ]*[.]py:[0-9]+[)]', '', worlds.sentence(name, *args))}\n"
    if request.config.getoption("--rewrite"):
        MEANINGS.write_text(now, encoding="utf-8")
    assert MEANINGS.read_text(encoding="utf-8") == now


@pytest.mark.parametrize(
    ("name", "args"),
    [("narrow", (1, 101)), ("in_range", (1, -6)), ("spent", (1,)), ("widened_in_step", (1, 101))],
)
def test_a_field_keeps_its_value_where_another_would_leave_its_range(
    name: str, args: tuple[int, ...], worlds: Worlds
) -> None:
    assert worlds.run(name, worlds.state(), *args)[1].key() == worlds.state().key()


def test_the_first_error_is_kept(worlds: Worlds) -> None:
    """A second error does not hide the first, which is the one CPython stops at."""
    s = worlds.state()
    s.error = 1
    assert worlds.run("narrow", s, 1, 101)[1].error == 1


def test_steps_are_counted_in_both_worlds(worlds: Worlds) -> None:
    """Entering a function marked as a step sets its bit, and only then."""
    steps = worlds.program.steps
    for a, expected in ((0, set()), (1, {"f.9.1"}), (3, {"f.9.1", "f.9.2"})):
        s = worlds.state()
        worlds.program.python["stepped"](s, 0, a)
        for found in (s.steps, worlds.run("stepped", worlds.state(), 0, a)[1].steps):
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
    for name in names:
        for args in calls(name):
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


OF_ONE_KIND = """
def low_of(m: PING) -> int:
    return m.low


def either(s: State, p: Node, m: AnyMessage) -> int:
    if m.kind != PING:
        return m.epoch if m.kind == PONG and m.epoch > 2 else 7
    assert s.x[p] >= 0
    return low_of(m) + m.low


def h(s: State, p: Node, a: int) -> int:
    one = PING(epoch=1, low=-2)
    two = PONG(txn=Txn(epoch=1, counter=2, value=0), epoch=a, history=s.log[p])
    if a == 1:
        one = PING(epoch=2, low=3)
    return either(s, p, one) * 100 + either(s, p, two) * 10 + one.low
"""


def test_a_tested_message_is_of_its_kind(tmp_path: Path) -> None:
    """Behind a test of its kind, in each side of it, and where all branches make the same."""
    both = Worlds(program(tmp_path, "", OF_ONE_KIND), {"h": 2})
    assert [both.agree("h", 0, a).result for a in range(4)] == [-332, 673, -332, -372]


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
