"""Define the typed tree: what the front end makes of a program, and every back end starts from."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

from zabspec.language.analysis.structs import Member, Struct
from zabspec.language.layout.error_sites import OF_AUTHOR, of_author, remedy
from zabspec.language.layout.kinds import Kind, MessageUnion, Record, Seq, SetOf

# --- types -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Type:
    """A type without parameters: int, bool, void, state, words, bytes.

    There is one object of each, so that asking for a type compares addresses; a copy of it is itself.
    """

    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        return simple_type, (self.name,)


INT, BOOL, VOID, STATE = Type("number"), Type("truth value"), Type("void"), Type("state")
WORDS, BYTES = Type("words"), Type("bytes")
SIMPLE = {kind.name: kind for kind in (INT, BOOL, VOID, STATE, WORDS, BYTES)}


def simple_type(name: str) -> Type:
    """Return the one type of a name."""
    return SIMPLE[name]


@dataclass(frozen=True)
class RecordType:
    """A record."""

    record: Record
    name: str = "record"


@dataclass(frozen=True)
class SetType:
    """A set."""

    kind: SetOf
    name: str = "set"


@dataclass(frozen=True)
class SeqType:
    """A sequence."""

    kind: Seq
    name: str = "sequence"


@dataclass(frozen=True)
class MessageType:
    """A message."""

    union: MessageUnion
    only: str | None = None  # the one kind it is known to be
    name: str = "message"


@dataclass(frozen=True)
class NameType:
    """The type of a message's name: compares with `m.kind`."""

    name: str = "message name"


@dataclass(frozen=True)
class StructType:
    """(kernel) A struct of arrays, by where its header is."""

    struct: type[Struct]
    name: str = "struct"


AnyType = Type | RecordType | SetType | SeqType | MessageType | NameType | StructType


PLAIN = frozenset({"int", "str", "bool", "AnyType", "Kind", "Record", "Member"})  # annotations of what holds no node


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class Node:
    """A part of a tree.

    A subclass is a dataclass; two are equal if all their fields are, which is defined once here rather than generated
    for each.

    Attributes:
        nesting: the names of the fields that may hold nodes, in order.
    """

    nesting: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)
        cls.nesting = tuple(f.name for f in fields(cls) if f.type not in PLAIN)  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]

    def values_held(self) -> list[object]:
        return [getattr(self, f.name) for f in fields(self)]  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and type(self) is type(other) and self.values_held() == other.values_held()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values_held()))})"


def nodes(value: Any) -> Iterator[Node]:
    """Yield the nodes in a value that may be a list of them, of several each; statements are none of these."""
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from nodes(one)
    elif isinstance(value, Node) and not isinstance(value, Stmt):
        yield value


def inside(e: Node) -> Iterator[Any]:
    """Yield what is directly in an expression or a statement: neither the bag of a term, nor where errors are noted."""
    return (part for name in e.nesting if name not in ("bag", "state") for part in nodes(getattr(e, name)))


WITHOUT = frozenset({int, str, bool, type(None)})  # most of what is no part


def parts(e: Any) -> Iterator[Any]:
    """Yield every expression and statement in one, itself first; the bag of a term is not a part of it."""
    ahead = [e]  # the next one last
    while ahead:
        e = ahead.pop()
        if isinstance(e, Node):
            yield e
            for name in reversed(e.nesting):
                value = getattr(e, name)
                if value is not None and name != "bag":
                    ahead.append(value)
        elif isinstance(e, (list, tuple)):
            ahead += [x for x in reversed(e) if type(x) not in WITHOUT]


def own_parts(s: Stmt) -> Iterator[Any]:
    """Yield every expression of a statement, without the statements in it."""
    return (part for name in s.nesting if not isinstance(held := getattr(s, name), list) for part in parts(held))


def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Yield every statement, at any depth, outer ones before inner ones."""
    for s in body:
        yield s
        for name in s.nesting:
            if isinstance(held := getattr(s, name), list):  # no other field of a statement is one
                yield from statements(held)


# --- expressions -------------------------------------------------------------------------------

# What operators of two numbers make of them in Python, whose numbers are not bounded.
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "//": operator.floordiv, "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip


class Expr(Node):
    """A value, or a place in memory."""

    type: AnyType


class Const(Expr):
    """A number; of a truth value 0 or 1."""

    value: int


class Var(Expr):
    """What a local name holds."""

    name: str


class Term(Node):
    """One index into memory: `index` times `stride` bytes, checked against `bound`."""

    index: Expr
    stride: int
    bound: int
    site: int
    process: bool = False  # the axis is one of processes
    bag: Expr | None = None  # the bag that it is a place in
    length: Expr | None = None  # the sequence whose length it must be below, for an assignment to an element


class Memory(Expr):
    """A place in memory: base pointer, constant offset, index terms, and the kind that lies there."""

    base: Expr
    offset: int
    terms: list[Term]
    kind: Kind
    field: str
    state: Expr  # the state that an error is reported in


class Load(Expr):
    """The scalar that lies at a place."""

    place: Memory


@dataclass(eq=False, repr=False)  # in words, since mypy takes a field that is a descriptor for one otherwise
class Slot(Expr):
    """(kernel) A member of a struct: of an array the element at as many indices as it has axes."""

    struct: Expr
    member: Member
    indices: list[Expr]


class Binary(Expr):
    """Arithmetic on two integers."""

    op: str  # + - * // % | & ^ << >>
    left: Expr
    right: Expr
    site: int = 0  # of a product or shift that leaves 64 bits, or a divisor that may be zero
    state: Expr | None = None  # where that is reported; none: it wraps (kernels)


class Compare(Expr):
    """Whether two values compare so."""

    op: str  # == != < <= > >=
    left: Expr
    right: Expr


class SameSeq(Expr):
    """Whether two sequences hold the same."""

    left: Memory | Expr
    right: Memory | Expr


class Logic(Expr):
    """All of its parts, or any; those behind the first that decides are not asked."""

    op: str  # and or
    parts: list[Expr]


class InRole(Logic):
    """The test whether a process is of a role.

    Its parts test by number, as every back end can; the analysis of symmetry knows by this class that the result is the
    same for all processes of a role.
    """

    process: Expr


class OneOfRole(Binary):
    """A process of a role: the first, plus a choice among them. It is no number, whatever it is made of."""


class Not(Expr):
    """The opposite."""

    value: Expr


class Choice(Expr):
    """One of two values, by a test."""

    test: Expr
    then: Expr
    other: Expr


class OneOfSet(Choice):
    """A member of a set of processes: the one with a given number of members before it.

    Its parts find it by number, as every back end can; the analysis of symmetry knows that this is the same for all
    members, where the member is chosen.
    """

    members: Expr
    which: Expr


class Call(Expr):
    """What a function of the program returns."""

    function: str
    args: list[Expr]


class Builtin(Expr):
    """min, max, and the kernel's operations on words."""

    op: str
    args: list[Expr]


class RecordField(Expr):
    """A field of a record, which lies in some of its bits."""

    value: Expr
    name: str
    shift: int
    bits: int
    lo: int


class MakeRecord(Expr):
    """A record of its fields' values."""

    record: Record
    parts: list[tuple[str, Expr, int]]  # field, value, error site
    state: Expr


class MakeMessage(Expr):
    """A message of its fields' values."""

    tag: int
    parts: list[tuple[int, Kind, Expr, int]]  # offset, kind, value, error site
    state: Expr


class SetHas(Expr):
    """Whether a set has a member."""

    value: Expr
    item: Expr


class SetSize(Expr):
    """How many members a set has."""

    value: Expr


class SetWith(Expr):
    """A set with one member more. The empty set is a constant of its type."""

    value: Expr
    item: Expr


class IsQuorum(Expr):
    """The test whether a set of processes, or a mask of them, is a quorum of the schema's system.

    It does not occur where majorities are counted: a size is compared.
    """

    value: Expr


class SeqLength(Expr):
    """How many elements a sequence has."""

    seq: Expr


class MessageKind(Expr):
    """Which message it is."""

    message: Expr


# --- statements --------------------------------------------------------------------------------


class Stmt(Node):
    """A statement, by the line that it stands in."""

    line: int


class Assign(Stmt):
    """A local name is given a value."""

    name: str
    value: Expr


class Store(Stmt):
    """A scalar is written to a place."""

    place: Memory
    value: Expr
    site: int


class Copy(Stmt):
    """A sequence, or a message, is written to a place."""

    place: Memory
    value: Expr


class SetChange(Stmt):
    """A member is added to a set, or taken out."""

    place: Memory
    item: Expr
    add: bool
    site: int


class Clear(Stmt):
    """A set, or a sequence, is emptied."""

    place: Memory


class Append(Stmt):
    """A sequence gets an element."""

    place: Memory
    value: Expr
    site: int
    element_site: int = 0  # of a value outside the element's range


class Remove(Stmt):
    """A sequence loses one."""

    place: Memory
    index: Expr
    site: int


class PutWord(Stmt):
    """(kernel) The statement array[index] = value."""

    array: Expr
    index: Expr
    value: Expr


class PutSlot(Stmt):
    """(kernel) The statement struct.member[index]... = value."""

    slot: Slot
    value: Expr


class Evaluate(Stmt):
    """A function is called for what it does."""

    value: Expr


class If(Stmt):
    """One of two blocks, by a test."""

    test: Expr
    then: list[Stmt]
    other: list[Stmt]


class For(Stmt):
    """A block for each number of a range."""

    name: str
    start: Expr
    stop: Expr
    body: list[Stmt]


class While(Stmt):
    """A block as long as a test holds."""

    test: Expr
    body: list[Stmt]


class Break(Stmt):
    """The loop ends."""


class Continue(Stmt):
    """The next round begins."""


class Return(Stmt):
    """The function ends."""

    value: Expr | None


class Function(Node):
    """One function of a program, typed."""

    name: str
    file: str
    line: int
    params: list[tuple[str, AnyType]]
    returns: AnyType
    locals: dict[str, AnyType]
    body: list[Stmt]
    paper_step: str | None = None
    processes: frozenset[str] = frozenset()  # parameters annotated as processes, and "return" if the result is
    places: dict[str, Expr] = field(default_factory=dict)  # parameters that are places in a bag, and which
    # local names that may be NOTHING, with where that is from (`optional.py`); None: it calculates with no such number
    optional: Mapping[str, frozenset[str]] | None = None
    wants: Mapping[str, int] = field(default_factory=dict)  # parameters that have to be there, with a line
    gives: frozenset[str] = frozenset()  # where its result is from, if that may be NOTHING
    inlined: bool = False  # machine code has it in place of every call
    written: str = ""  # its name in the source; `name` is its key in the program, and may be kept apart from others
    within: str = ""  # the function with the comprehension that it stands for; empty for one of the source
    acts: bool = True  # it may touch what is its process's alone, if it has one

    @property
    def called(self) -> str:
        """Return the function's name for messages."""
        return self.written or self.name


@dataclass(frozen=True)
class Site:
    """A place in the text where a value may leave its range."""

    file: str
    line: int
    function: str
    field: str
    problem: str
    widen: str = ""

    def sentence(self) -> str:
        """Return the message for a user."""
        text = f"{self.field} {self.problem} in {self.function} ({self.file}:{self.line})"
        return f"{text}; {remedy(self.widen)}" if self.widen else text

    @property
    def of_author(self) -> bool:
        """Return whether it is the author's error, rather than a capacity of the model that was too small."""
        return of_author(self.widen)

    @property
    def mark(self) -> int:
        """Return what machine code adds to the number of this site."""
        return OF_AUTHOR if self.of_author else 0


class TypedProgram(Node):
    """All functions reachable from the roots, and the error sites they refer to by number."""

    functions: dict[str, Function] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    reads: dict[str, frozenset[str]] = field(default_factory=dict)
