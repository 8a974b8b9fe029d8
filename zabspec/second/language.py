"""What a protocol imports (section 3.1): all names, bound to this explorer. What acts on a state asks `s.__world__`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin

from zabspec.second.kinds import (
    NOBODY,
    Bool,
    Int,
    Kind,
    Letter,
    Message,
    MessageUnion,
    NodeId,
    OneOf,
    Processes,
    Record,
    Seq,
    SetOf,
)
from zabspec.second.quorums import quorums_of, smallest
from zabspec.second.state import NODE, Field, Role

__all__ = ["NOBODY", "Kind", "MessageUnion", "SetOf"]

ELECTION_TIMER, HEARTBEAT_TIMER = 0, 1
State = AnyMessage = Members = object


class Node:
    """A process, in annotations."""


class History:
    """A sequence of transactions, in annotations."""


RECORDS: dict[str, Record] = {}  # of the model that runs
MESSAGES: dict[str, Message] = {}


class ProtocolError(Exception):
    """A size that there cannot be (O1)."""


class MessageName(str):
    """The constant by which a source calls a kind of message; calling it makes one."""

    parts: dict[str, str]  # its annotations
    names: dict[str, Any]  # of its module
    to: str

    def __call__(self, /, **values: Any) -> Letter:
        return MESSAGES[self].make(**values)


class _Named(type):
    def __new__(cls, name: str, bases: Any, body: Any, to: str = "") -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        message = MessageName(name)
        message.parts, message.to = body.get("__annotations__", {}), to
        message.names = sys._getframe(1).f_globals
        return message

    def __init__(cls, name: str, bases: Any, body: Any, to: str = "") -> None:
        super().__init__(name, bases, body)


class MessageType(metaclass=_Named):
    """Declare a kind of message as a class (section 3.1)."""


class Fields:
    """What the class with the fields is of."""

    __names__: ClassVar[dict[str, Any]]  # of its module

    def __init_subclass__(cls) -> None:
        cls.__names__ = sys._getframe(1).f_globals


K, V = TypeVar("K"), TypeVar("V")


class Each(Generic[K, V]):
    """Entries of a field, in annotations."""


class SeqOf(Generic[V]):
    """A sequence, in annotations."""


@dataclass(frozen=True)
class AtMost:
    """How long a sequence may be (K12)."""

    most: Any
    widen: str = ""
    bag: bool = False


class RecordName:
    """The constant by which a source calls a kind of record; calling it makes one."""

    parts: dict[str, str]  # its annotations
    names: dict[str, Any]  # of its module
    ordered: bool

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, /, **values: int) -> Any:
        return RECORDS[self.name].make(**values)


class _NamedRecord(type):
    def __new__(cls, name: str, bases: Any, body: Any, ordered: bool = False) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        record = RecordName(name)
        record.parts, record.ordered = body.get("__annotations__", {}), ordered
        record.names = sys._getframe(1).f_globals
        return record

    def __init__(cls, name: str, bases: Any, body: Any, ordered: bool = False) -> None:
        super().__init__(name, bases, body)


class RecordType(metaclass=_NamedRecord):
    """Declare a kind of record as a class (section 3.1)."""


Txn, Zxid = RecordName("Txn"), RecordName("Zxid")


class Size:
    """The sizes of a model, as `declare`'s functions read them (B1)."""

    def __init__(self, nodes: int, budgets: dict[str, int], txns: int, quorums: str = "") -> None:
        self.nodes, self.budgets, self.txns = nodes, budgets, txns
        self.system, self.is_quorum = quorums, quorums_of(quorums, nodes)
        self.smallest_quorum = smallest(self.is_quorum, nodes)
        if not quorums:
            self.majority = nodes // 2 + 1
        self.log = 0
        self.variant, self.given_up = "", 0
        self.with_epochs(0)

    def with_epochs(self, epochs: int) -> None:
        """Set the largest epoch, and the kinds that depend on it."""
        self.epochs = epochs
        self.epoch, self.count = Int(0, epochs).derive(), Int(0, self.txns).derive()
        self.txn = Record("Txn", {"epoch": self.epoch, "counter": self.count, "value": self.count})

    @property
    def history(self) -> Seq:
        """A sequence of transactions."""
        return Seq(self.txn, self.log).derive()

    @property
    def loses_power(self) -> bool:
        """Whether power may be lost (O3)."""
        return any(self.budgets.get(b) for b in ("power_losses", "outages"))

    def __getattr__(self, name: str) -> int:
        if name.startswith("__") or name not in self.__dict__.get("budgets", {}):
            raise AttributeError(name)
        return self.budgets[name]


NOTHING = -1  # an optional number that has no value (K10)


def Maybe(of: Any) -> Callable[[Size], Int]:
    """Return the function from a size to the kind of optional numbers (K10)."""

    def made(size: Size) -> Int:
        kind = of(size) if callable(of) else of
        return Int(NOTHING, kind.hi, kind.widen)

    return made


Epoch = Annotated[int, lambda size: size.epoch]


def Range(lo: int, hi: Any, widen: str = "") -> Callable[[Size], Int]:
    """Return the function from a size to the kind of a range (K12)."""
    return lambda size: Int(lo, hi(size) if callable(hi) else hi, widen)


def annotated(meant: Any, size: Size) -> Any:
    """Return the kind that an annotation means; None if there is no such part at a size (K12)."""
    if meant is bool:
        return Bool()
    if is_process(meant):
        return NodeId.of(size.nodes)
    if get_origin(meant) is set:
        (of,) = get_args(meant)
        members = None if is_process(of) else annotated(of, size)
        return Processes(size.nodes) if is_process(of) else members and SetOf(members.hi + 1)
    if isinstance(meant, RecordName):
        return size.txn if meant is Txn else record_of(meant, size)
    if meant is History:
        return size.history
    if isinstance(meant, type) and issubclass(meant, IntEnum):
        return OneOf(meant)
    kind = meant.__metadata__[0]
    kind = kind(size) if callable(kind) else kind
    if isinstance(kind, AtMost):
        most = kind.most(size) if callable(kind.most) else kind.most
        return Seq(annotated(get_args(meant.__origin__)[0], size), most, kind.widen, kind.bag)
    return kind


def is_process(meant: Any) -> bool:
    """Return whether an annotation is of a process."""
    return meant is Node or hasattr(meant, "__supertype__")


def parts_of(known: Any, size: Size) -> dict[str, Any]:
    """Return the parts of a message or record."""
    parts = {part: annotated(eval(text, dict(known.names)), size) for part, text in known.parts.items()}
    return {part: kind for part, kind in parts.items() if kind is not None}


def record_of(known: RecordName, size: Size) -> Record:
    """Return the record of a class."""
    return Record(known.name, parts_of(known, size), known.ordered)


def messages_of(module: Any, size: Size) -> list[Message]:
    """Return the messages of a module, in its order."""
    found = dict.fromkeys(v for v in vars(module).values() if isinstance(v, MessageName))
    return [Message(known, parts_of(known, size), known.to) for known in found]


def records_of(module: Any, size: Size) -> dict[str, Record]:
    """Return the records of a module by name."""
    found = [v for v in vars(module).values() if isinstance(v, RecordName) and hasattr(v, "parts")]
    return {known.name: record_of(known, size) for known in found}


def fields_of(state: Any, size: Size) -> list[Field]:
    """Return the fields of a class, those that it inherits behind its own (L7)."""
    out: list[Field] = []
    for cls in state.__mro__[: state.__mro__.index(Fields)]:
        above = {f.name for f in out}
        for name, held in vars(cls).items():
            if not isinstance(held, Held) or name in above:
                continue
            meant, of = eval(cls.__annotations__[name], dict(vars(cls)["__names__"])), ""
            axes: list[Any] = []
            while get_origin(meant) is Each:
                key, meant = get_args(meant)
                if not axes and key is not Node and is_process(key):
                    of = re.sub(r"(?<!^)(?=[A-Z])", "_", key.__name__).lower()
                axes.append(NODE if is_process(key) else annotated(key, size).hi + 1)
            kind = Bool() if held.clock else annotated(meant, size)
            if kind is not None:
                out.append(held.field(name, kind, tuple(axes), of, size))
    return out


@dataclass
class Held:
    """What a field is declared with beside its name and annotation."""

    role: Any
    most: Any = None
    disk: Any = False
    clock: bool = False

    def field(self, name: str, kind: Any, axes: tuple, of: str, size: Size) -> Field:
        """Return the field; with that of its clock, if it is a lease (T1)."""
        most = self.most(size) if callable(self.most) else self.most
        more = {"disk": self.disk(size) if callable(self.disk) else self.disk}
        made = Field(name, Int(0, most) if self.clock else kind, self.role, axes, "", **more)
        if self.clock:
            made.clock_of = of
        elif most is not None:
            made.ended_by = Field(f"{name}_left", Int(0, most), self.role, axes, "")
            made.ended_by.clock_of = of
        return made


def stored(doc: str) -> Any:
    """Declare a persistent field of each process."""
    return Held(Role.PERSISTENT)


def on_disk(doc: str, where: Any = True) -> Any:
    """Declare a persistent field of each process that is on its disk, at some sizes."""
    return Held(Role.PERSISTENT, disk=where)


def volatile(doc: str) -> Any:
    """Declare a volatile field of each process."""
    return Held(Role.VOLATILE)


def timer(doc: str) -> Any:
    """Declare a timer of each process (B6)."""
    return Held(Role.VOLATILE)


def clock(doc: str, most: Any, kept: bool = False, widen: str = "") -> Any:
    """Declare a clock of each process (T1)."""
    return Held(Role.PERSISTENT if kept else Role.VOLATILE, most, clock=True)


def lease(doc: str, most: Any, kept: bool = False, widen: str = "") -> Any:
    """Declare a field that a clock beside it ends (T1)."""
    return Held(Role.PERSISTENT if kept else Role.VOLATILE, most)


def ghost(doc: str, reading: str = "") -> Any:
    """Declare a ghost; how a person reads it says nothing of it."""
    return Held(Role.GHOST)


def environment(doc: str) -> Any:
    """Declare a field of the environment."""
    return Held(Role.ENVIRONMENT)


def shared(doc: str) -> Any:
    """Declare a field that all processes read and write (L5)."""
    return Held(Role.SHARED)


@dataclass
class Parameter:
    """A constant of the model (B2)."""

    doc: str
    amount: int


def parameter(doc: str, amount: int) -> Parameter:
    """Declare a parameter (B2)."""
    return Parameter(doc, amount)


def parameters_of(main: Any) -> dict[str, int]:
    """Return the usual amounts of the parameters of a source."""
    known = {name: part for c in reversed(main.State.__mro__) for name, part in vars(c).items()}
    return {name.lower(): part.amount for name, part in known.items() if isinstance(part, Parameter)}


@dataclass
class Variant:
    """Functions replaced (N3)."""

    name: str
    summary: str = ""
    overrides: dict[str, Callable] = field(default_factory=dict)
    rule: str = ""
    safe: bool = False
    over: Any = ()
    repairs: bool = False
    budget: Any = None
    breaks: Any = ()
    depth: int = 0
    why: str = ""
    beside: str = ""
    gives_up: Callable[[int], int] | None = None
    needs: tuple[str, ...] = ()


@dataclass
class Start:
    """Another initial state (M10)."""

    name: str
    summary: str
    function: Callable
    nodes: Any = ()
    spends: Any = ()


@dataclass
class Declaration:
    """What `declare` was called with (L1)."""

    module: str
    budgets: dict[str, int] = field(default_factory=dict)
    roles: dict[str, int] = field(default_factory=dict)
    nodes: int = 3
    network: str = ""
    variants: Any = ()
    transactions: bool = False
    epochs: Callable | None = None
    flight: Callable | None = None
    unforced: int = 4
    drift: Any = None
    members: Any = None
    world: str = "datagrams"
    elects: Any = ()
    starts: Any = ()
    ignored: Any = ()
    bounded_by_world: bool = False
    deadlock: bool = False
    revises: bool = False
    replicas: bool = False
    shared_names: bool = False
    released: bool = False
    oracle: str = ""
    progress: str = ""
    lab_oracle: str = ""
    releases: Any = ()
    extends: Any = ()
    leaders_weigh: str = ""
    observers: str = ""
    settings: str = ""


def declare(module: str, **named: Any) -> Declaration:
    """Declare a protocol (L1)."""
    return Declaration(module, **{name: value for name, value in named.items() if value is not None})


@dataclass
class Mark:
    """What a decorator says of a function."""

    sort: str  # action, environment, receives, observation, safety, named (`default=False`), invariant, progress, final
    name: str = ""
    when: Callable | None = None
    budget: str = ""
    fair: Any = True
    fair_to: str = "process"
    timer: str = ""
    moves: str = ""  # `joins` or `leaves` (U3)
    over: str = "state"
    witness: Callable | None = None
    again: bool = False  # of a progress property (G4)


def _marker(mark: Mark) -> Callable:
    def decorate(function: Callable) -> Callable:
        vars(function)["mark"] = mark
        return function

    return decorate


def _or_bare(mark: Callable) -> Callable:
    """Let a mark be written without parentheses, too."""

    def either(function: Callable | None = None, /, **given: Any) -> Any:
        return mark(**given) if function is None else mark(**given)(function)

    return either


@_or_bare
def action(
    when: Any = None, budget: str = "", every: int = 40, name: str = "", fair: Any = True, fair_to: str = "process"
) -> Callable:
    """Mark an internal step of a process."""
    return _marker(Mark("action", name, when, budget, fair, fair_to))


def fires(
    timer: str, when: Any = None, budget: str = "", every: int = 40, name: str = "", fair: Any = True
) -> Callable:
    """Mark what a process does as its timer fires (B6)."""
    return _marker(Mark("action", name, when, budget, fair, timer=timer))


@_or_bare
def joins(when: Any = None, budget: str = "", every: int = 40, name: str = "", fair: Any = False) -> Callable:
    """Mark what a process does as it joins (U3)."""
    return _marker(Mark("action", name, when, budget, fair, moves="joins"))


@_or_bare
def leaves(when: Any = None, budget: str = "", every: int = 40, name: str = "", fair: Any = False) -> Callable:
    """Mark what a member does before it leaves (U3)."""
    return _marker(Mark("action", name, when, budget, fair, moves="leaves"))


@_or_bare
def environment_step(
    when: Any = None, budget: str = "", every: int = 40, name: str = "", everywhere: bool = False, fair: Any = False
) -> Callable:
    """Mark a step of the environment."""
    return _marker(Mark("environment", name, when, budget, fair, "action"))


def receives(function: Callable) -> Callable:
    """Mark what a process does with one kind of message."""
    return _marker(Mark("receives"))(function)


def observation(function: Callable | None = None, **_: str) -> Callable:
    """Mark a function that writes ghosts; how a person reads its numbers changes no step."""
    return _marker(Mark("observation"))(function) if function else _marker(Mark("observation"))


@_or_bare
def safety(
    *,
    witness: Callable | None = None,
    over: str = "state",
    premise: str = "",
    name: str = "",
    default: bool = True,
) -> Callable:
    """Mark a property, which is checked only when it is named unless it is a default."""
    return _marker(Mark("safety" if default else "named", name, over=over, witness=witness))


def invariant(function: Any = None, **named: Any) -> Callable:
    """Mark a property of states that is checked when it is named."""
    mark = _marker(Mark("invariant", named.get("name", "")))
    return mark if function is None else mark(function)


def progress(function: Any = None, **named: Any) -> Callable:
    """Mark a progress property."""
    mark = _marker(Mark("progress", named.get("name", ""), again=named.get("again", False)))
    return mark if function is None else mark(function)


def step(*_: Any, **__: Any) -> Callable:
    """Annotate a function; no effect."""
    return lambda function: function


provided = step


def broken(text: str = "") -> bool:
    """Return False."""
    return False


def _acting(name: str) -> Callable:
    """Return the function of the language that the world of the model carries out."""

    def call(s: Any, *args: Any, **named: Any) -> Any:
        return getattr(s.__world__, "do_" + name)(*args, **named)

    call.__name__ = name
    return call


def arm_timer(s: Any, p: int, timer: int = 0) -> None:
    """Do nothing (M9)."""


def members_of(s: Any, role: Any = None) -> range:
    """Return the processes of a role, or all (A1)."""
    return range(s.__world__.n) if role is None else s.__world__.model.ranges[role.__name__]


processes = members_of


def is_a(s: Any, p: int, role: Any) -> bool:
    """Whether p is of a role (A4)."""
    return p in members_of(s, role)


def only(s: Any, role: Any) -> int:
    """Return the process of a role with one (A4)."""
    (p,) = members_of(s, role)
    return p


def initial(function: Callable) -> Callable:
    """Mark what every run begins with (M10)."""
    function.begins_runs = True  # type: ignore[attr-defined]
    return function


def final(function: Callable) -> Callable:
    """Mark where a run may end (P5)."""
    return _marker(Mark("final"))(function)


def any_of(s: Any, role: Any) -> int:
    """Choose a process of a role, or of a set (A5)."""
    if role is not None and not hasattr(role, "__name__"):
        there = sorted(role)
        if not there:
            s.__world__.nothing_to_choose(sys._getframe(1).f_code)
        return there[choose(s, len(there))]
    everybody = members_of(s, role)
    return everybody[choose(s, len(everybody)) if len(everybody) > 1 else 0]


def any_process(s: Any) -> int:
    """Choose a process (A5)."""
    return any_of(s, None)


def is_quorum(s: Any, members: Any, of: Any = None) -> bool:
    """Whether a set of processes is a quorum (Q2), or a majority of a role (A4) or a set (U4)."""
    if of is not None and hasattr(of, "__supertype__"):
        return 2 * len(set(members)) > len(members_of(s, of))
    if of is not None:
        return 2 * len(set(members) & set(of)) > len(set(of))
    return s.__world__.model.size.is_quorum(list(members))


def is_down(s: Any, p: int) -> bool:
    """Whether p has crashed and not recovered, in the state that s shows (F1)."""
    return s.__world__.down(s, p)


def spend_election(s: Any) -> None:
    """Spend one of the elections, if the protocol counts them: a start has it behind it (J3)."""
    s.__world__.spend_election()


forget, choose = _acting("forget"), _acting("choose")
send, force, durable = _acting("send"), _acting("force"), _acting("durable")
connect, disconnect = _acting("connect"), _acting("disconnect")
send_to_leader, send_to_follower = _acting("send_to_leader"), _acting("send_to_follower")
abcast, abdeliver, accept, establish = (_acting(n) for n in ("abcast", "abdeliver", "accept", "establish"))
revise, end_pass, end_leadership = (_acting(n) for n in ("revise", "end_pass", "end_leadership"))
end_synchronization = _acting("end_synchronization")
