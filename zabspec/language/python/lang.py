"""Define the names of the language, as Python sees them.

These are the types in annotations (`State`, `Node`, `Txn`, ...) and the few operations that the language adds to
Python. `docs/reference/protocol-language.md` is the reference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NewType,
    NoReturn,
    Protocol,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

from zabspec.errors import ConfigError
from zabspec.language.layout.arrays import Bytes, Words
from zabspec.language.python.sentences import ExplainedFalse

__all__ = [
    "NOBODY", "NOTHING", "AnyMessage", "Bytes", "Each", "Fields", "History", "Members", "MessageName",
    "MessageType", "Node", "RecordName", "RecordType", "SeqOf", "State", "Txn", "Words", "Zxid", "any_of",
    "any_process", "broken", "forget", "inlined", "is_a", "is_quorum", "new_identity", "only", "processes",
    "provided", "step",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", bound=int)  # a process of a role
I = TypeVar("I", contravariant=True)  # what indexes a field
V = TypeVar("V")  # what it holds

State = Any  # the state of the whole system; `s.field[i]` reads and writes it
if TYPE_CHECKING:
    Node = int  # a process, 0..NODES-1
    History = Any  # a sequence of transactions
else:  # which annotations of fields tell apart from numbers
    Node, History = NewType("Node", int), NewType("History", object)
Members = Any  # a set of processes, passed to a function that writes nothing
AnyMessage = Any  # a message of any kind, which `m.kind` says

NOBODY = -1
NOTHING = -1


class Declared:
    """The name of what a class declares.

    Attributes:
        name: of the class; empty if it is not known here.
        body: what the class declares; None if no class does.
        names: the names of its module.
    """

    body: Mapping[str, Any] | None = None
    names: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, name: str = "", *inherited: object) -> None:
        if inherited:
            raise ConfigError(f"class {name} inherits from a message or record: list all its fields")
        self.name = name

    def __call__(self, /, **fields: Any) -> Any:
        raise TypeError(f"{self.name}(...) is made inside a program only: see Program.load")


class MessageName(Declared):
    """The name of a kind of message: compares with `m.kind`, and called makes a message.

    Attributes:
        to: which end of a connection receives it; empty for any.
    """

    to: str = ""

    def __repr__(self) -> str:
        return self.name


class RecordName(Declared):
    """The name of a record kind; a program binds it to the record of its schema.

    Attributes:
        ordered: two compare by their first field, then by the next.
    """

    ordered: bool = False


if TYPE_CHECKING:
    SeqOf = list
else:

    class SeqOf(Generic[V]):
        """A sequence: `log: Each[Node, SeqOf[Txn]]`. To tools that check types it is a list."""


class _Named(type):
    """Turns `class VOTE(MessageType): yes: bool` into a message name, and a subclass of `RecordType` into a record's.

    To tools it is a class with these fields.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **given: Any) -> Any:
        """Return the name; for the base class itself, the class."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        made: MessageName | RecordName = vars(bases[0])["made"](name)
        vars(made).update(given, body=body, names=sys._getframe(1).f_globals)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **given: Any) -> None:
        super().__init__(name, bases, body)


@dataclass_transform(kw_only_default=True)
class MessageType(metaclass=_Named):
    """A kind of message: `class VOTE(MessageType): yes: bool`. What annotates a field is its kind."""

    if TYPE_CHECKING:
        kind: ClassVar[Any]
        source: ClassVar[Any]
        target: ClassVar[Any]

        def __init_subclass__(cls, *, to: str = "") -> None: ...

    else:
        made = MessageName


@dataclass_transform(kw_only_default=True, order_default=True)
class RecordType(metaclass=_Named):
    """A record: `class Entry(RecordType): term: Term`. What annotates a field is its kind.

    With `class Ballot(RecordType, ordered=True)`, two compare by their first field, then by the next.
    """

    if TYPE_CHECKING:

        def __init_subclass__(cls, *, ordered: bool = False) -> None: ...

    else:
        made = RecordName


class Fields:
    """The state of a protocol, `class State(Fields)`: every field with its kind, and the constants that it reads.

    A program never makes one.
    """

    NODES: int
    MAJORITY: int
    in_flight: Sequence[Any]  # over datagrams

    if not TYPE_CHECKING:

        def __init_subclass__(cls) -> None:
            cls.__names__ = sys._getframe(1).f_globals


class Each(Protocol[I, V]):
    """A field of each process, or of each of a role: `mode: Each[Client, int]`."""

    def __getitem__(self, p: I, /) -> V: ...

    def __setitem__(self, p: I, value: V, /) -> None: ...


if TYPE_CHECKING:

    class Zxid(RecordType):
        """The identity of a transaction: ordered, by its epoch first."""

        epoch: int
        counter: int

    class Txn(RecordType):
        """A transaction <v, z>, with an identity that stands for v."""

        epoch: int
        counter: int
        value: int

else:
    Txn = RecordName("Txn")
    Zxid = RecordName("Zxid")


def step(name: str) -> Callable[[F], F]:
    """Mark a function as a step of the paper: entering it counts as taking that step.

    Raises:
        ConfigError: the name is missing.
    """
    if not isinstance(name, str):
        raise ConfigError('write @step("f.1.1"), with the name of a step; what a process does by itself is an @action')

    def mark(function: F) -> F:
        vars(function)["paper_step"] = name
        return function

    return mark


def new_identity(function: F) -> F:
    """Mark a function of the world that returns a new identity.

    A handler may keep its value although it comes from a ghost, since only equality is tested on it.
    """
    vars(function)["new_identity"] = True
    return function


def provided(acts: str = "") -> Callable[[F], F]:
    """Declare a function that a world provides to handlers.

    What a world defines under this name must match it (`Program.namespace`).

    Args:
        acts: the parameter with the acting process, which must be the handler's own; empty if no process acts.
    """

    def mark(function: F) -> F:
        vars(function)["acts"] = acts
        return function

    return mark


def inlined(function: F) -> F:
    """Mark a function whose code replaces every call in machine code, however large it is (kernel)."""
    vars(function)["inlined"] = True
    return function


def forget(s: State, p: Node) -> None:
    """Set every volatile field of process p to the low end of its range."""
    s.forget(p)


def is_quorum(s: State, members: Members, *of: Callable[[int], int] | Members) -> bool:
    """Return whether a set of processes is a quorum of the model (DSN'11 II.1): a majority, or as `--quorums` says.

    Args:
        members: a set of processes of the state, or `{q for q in range(s.NODES) if ...}`.
        of: of a protocol with roles, the one of whose processes it is a majority; or a set, such as a configuration, of
            which it has more than half.
    """
    return bool(s.is_quorum(members, *of))


def in_program(name: str) -> NoReturn:
    """Refuse a call outside a program, since roles are known only in a program.

    Raises:
        TypeError: always.
    """
    raise TypeError(f"{name}(...) is of a program only: see Program.load")


def processes(s: State, role: Callable[[int], P] = int) -> Iterable[P]:  # type: ignore[assignment]
    """Iterate over the processes of a role, or over all of them.

    A protocol writes `for q in processes(s, Server)`.
    """
    in_program("processes")


def is_a(s: State, p: Node, role: Callable[[int], int]) -> bool:
    """Return whether a process is of a role."""
    in_program("is_a")


def only(s: State, role: Callable[[int], P]) -> P:
    """Return the process of a role that has only one."""
    in_program("only")


@overload
def any_of(s: State, role: Callable[[int], P]) -> P: ...


@overload
def any_of(s: State, role: Collection[P]) -> P: ...


def any_of(s: State, role: object) -> object:
    """Choose one of the processes of a role, or of the members of a set or range.

    Every one is explored, and symmetry treats them alike.
    """
    in_program("any_of")


def any_process(s: State) -> Node:
    """Choose one of the processes; every one is explored, and symmetry treats them alike."""
    in_program("any_process")


def broken(sentence: str) -> bool:
    """Return False from a property, with the sentence that says why in CPython.

    The sentence is an f-string over the names that have a value there. Every other world drops it.
    """
    return cast(bool, ExplainedFalse(sentence))
