"""The typed tree: what the front end makes of a program, and every back end starts from."""

from __future__ import annotations

from dataclasses import dataclass, field

from zabspec.language.kinds import Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.structs import Member, Struct

# --- types -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    """A type without parameters: int, bool, void, state, words, bytes."""

    name: str


INT, BOOL, VOID, STATE = Type("int"), Type("bool"), Type("void"), Type("state")
WORDS, BYTES = Type("words"), Type("bytes")


@dataclass(frozen=True)
class RecordType:
    record: Record
    name: str = "record"


@dataclass(frozen=True)
class SetType:
    kind: SetOf
    name: str = "set"


@dataclass(frozen=True)
class SeqType:
    kind: Seq
    name: str = "sequence"


@dataclass(frozen=True)
class MessageType:
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

# --- expressions -------------------------------------------------------------------------------


@dataclass
class Expr:
    type: AnyType


@dataclass
class Const(Expr):
    value: int


@dataclass
class Var(Expr):
    name: str


@dataclass
class Term:
    """One index into memory: `index` times `stride` bytes, checked against `bound`."""

    index: Expr
    stride: int
    bound: int
    site: int
    process: bool = False  # the axis is one of processes


@dataclass
class Memory(Expr):
    """A place in memory: base pointer, constant offset, index terms, and the kind that lies there."""

    base: Expr
    offset: int
    terms: list[Term]
    kind: Kind
    field: str
    state: Expr  # the state that an error is reported in


@dataclass
class Load(Expr):
    place: Memory


@dataclass
class Slot(Expr):
    """(kernel) A member of a struct: of an array the element at as many indices as it has axes."""

    struct: Expr
    member: Member
    indices: list[Expr]


@dataclass
class Binary(Expr):
    op: str  # + - * // % | & ^ << >>
    left: Expr
    right: Expr
    site: int = 0  # of a product or shift that leaves 64 bits, or a divisor that may be zero
    state: Expr | None = None  # where that is reported; none: it wraps (kernels)


@dataclass
class Compare(Expr):
    op: str  # == != < <= > >=
    left: Expr
    right: Expr


@dataclass
class SameSeq(Expr):
    left: Memory | Expr
    right: Memory | Expr


@dataclass
class Logic(Expr):
    op: str  # and or
    parts: list[Expr]


@dataclass
class Not(Expr):
    value: Expr


@dataclass
class Choice(Expr):
    test: Expr
    then: Expr
    other: Expr


@dataclass
class Call(Expr):
    function: str
    args: list[Expr]


@dataclass
class Builtin(Expr):
    """min, max, and the kernel's operations on words."""

    op: str
    args: list[Expr]


@dataclass
class RecordField(Expr):
    value: Expr
    shift: int
    bits: int
    lo: int


@dataclass
class MakeRecord(Expr):
    record: Record
    parts: list[tuple[str, Expr, int]]  # field, value, error site
    state: Expr


@dataclass
class MakeMessage(Expr):
    tag: int
    parts: list[tuple[int, Kind, Expr, int]]  # offset, kind, value, error site
    state: Expr


@dataclass
class SetHas(Expr):
    value: Expr
    item: Expr


@dataclass
class SetSize(Expr):
    value: Expr


@dataclass
class SeqLength(Expr):
    seq: Expr


@dataclass
class MessageKind(Expr):
    message: Expr


# --- statements --------------------------------------------------------------------------------


@dataclass
class Stmt:
    line: int


@dataclass
class Assign(Stmt):
    name: str
    value: Expr


@dataclass
class Store(Stmt):
    place: Memory
    value: Expr
    site: int


@dataclass
class Copy(Stmt):
    place: Memory
    value: Expr


@dataclass
class SetChange(Stmt):
    place: Memory
    item: Expr
    add: bool
    site: int


@dataclass
class Clear(Stmt):
    place: Memory


@dataclass
class Append(Stmt):
    place: Memory
    value: Expr
    site: int
    element_site: int = 0  # of a value outside the element's range


@dataclass
class Remove(Stmt):
    place: Memory
    index: Expr
    site: int


@dataclass
class PutWord(Stmt):
    """(kernel) array[index] = value"""

    array: Expr
    index: Expr
    value: Expr


@dataclass
class PutSlot(Stmt):
    """(kernel) struct.member[index]... = value"""

    slot: Slot
    value: Expr


@dataclass
class Evaluate(Stmt):
    value: Expr


@dataclass
class If(Stmt):
    test: Expr
    then: list[Stmt]
    other: list[Stmt]


@dataclass
class For(Stmt):
    name: str
    start: Expr
    stop: Expr
    body: list[Stmt]
    before: frozenset[str] = frozenset()  # the local names that have a value when it begins


@dataclass
class While(Stmt):
    test: Expr
    body: list[Stmt]


@dataclass
class Break(Stmt):
    pass


@dataclass
class Continue(Stmt):
    pass


@dataclass
class Return(Stmt):
    value: Expr | None


@dataclass
class Function:
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
        """What a user reads."""
        text = f"{self.field} {self.problem} in {self.function} ({self.file}:{self.line})"
        return f"{text}; widen it with {self.widen}" if self.widen else text


@dataclass
class TypedProgram:
    """All functions reachable from the roots, and the error sites they refer to by number."""

    functions: dict[str, Function] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    reads: dict[str, frozenset[str]] = field(default_factory=dict)
