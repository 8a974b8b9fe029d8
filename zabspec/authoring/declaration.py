"""Provide what the author of a protocol writes with: fields, steps, observations and properties.

A protocol is one file (`docs/reference/protocol-language.md`). It declares the fields of its processes and its
messages, marks its functions with what they are (`receives`, `action`, `environment_step`, `observation`, `safety`),
and ends with one line that names the whole: `PROTOCOL = declare(__name__, ...)`. Nothing is explored while it is
read:
`zabspec/authoring/reading.py` makes a protocol of what is declared here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import IntEnum
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Annotated, Any, Generic, TypedDict, TypeVar, Unpack, overload

from zabspec.errors import ConfigError as ConfigError
from zabspec.language.layout.kinds import NOTHING, Int, NodeId, OptionalInt, Record, Seq
from zabspec.language.layout.place import SourcePlace, relative
from zabspec.language.layout.schema import Role
from zabspec.language.python.lang import Fields
from zabspec.properties import HISTORY, STATE, STEP, TERMINAL, ProgressProperty, Property, first_paragraph, unwrapped
from zabspec.typed import near
from zabspec.worlds.steps import BUDGETS

MOST_TICKS = 255  # that a clock is set to

# What marks take, as tools see it: what acts for a process of some kind, what the environment does, and what looks.
Step = TypeVar("Step", bound=Callable[[Any, Any], None])
Change = TypeVar("Change", bound=Callable[[Any], None])
Does = TypeVar("Does", bound=Callable[..., None])
Looks = TypeVar("Looks", bound=Callable[..., bool])
_Test = TypeVar("_Test")
When = Callable[[Any, Any], bool]  # whether a process can take a step


class ProtocolError(ConfigError):
    """A protocol's source cannot be used: one sentence, with file and line where there is one.

    Attributes:
        place: the piece of the source that it is about; None if it is not known.
    """

    def __init__(self, sentence: str, place: SourcePlace | None = None) -> None:
        super().__init__(sentence)
        self.place = place


def said_at(function: Any) -> str:
    """Return where a function is defined, for an error message."""
    code = getattr(function, "__code__", None)
    return f"{relative(code.co_filename)}:{code.co_firstlineno}: " if code is not None else ""


# --- how large, and of what kind ------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """The sizes of a model, from which the ranges of a protocol's fields follow.

    Attributes:
        nodes: the number of processes, at least 1.
        txns: the number of transactions that may be abcast; 0 for a protocol that has none.
        epochs: the largest epoch, for a protocol that abcasts.
        log: the maximum length of a history, for such a protocol.
        envelope: the fields that the world adds to every message.
        budgets: how often each budgeted step may be taken, by the budget's name, what each parameter is, and how many
            processes each role has; `size.crashes` is short for `size.budgets["crashes"]`.
        variant: the variant; empty for the protocol itself.
        least: the size of the smallest quorum of the model's quorum system; 0 if majorities are counted.
    """

    nodes: int
    txns: int = 0
    epochs: int = 0
    log: int = 0
    envelope: Mapping[str, Int] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    variant: str = ""
    least: int = 0

    def __getattr__(self, name: str) -> int:
        budgets: Mapping[str, int] = self.__dict__.get("budgets", {})
        if name in budgets:
            return budgets[name]
        there = f"; there are {', '.join(budgets) or 'none'}"
        raise AttributeError(f"there is no budget or parameter {name!r}{near(name.lower(), budgets) or there}")

    @property
    def majority(self) -> int:
        """Return the size of a smallest majority.

        Raises:
            ConfigError: the model counts no majorities.
        """
        if self.least:
            raise ConfigError("--quorums: size.majority is only for majorities; use size.smallest_quorum")
        return self.nodes // 2 + 1

    @property
    def smallest_quorum(self) -> int:
        """Return the size of a smallest quorum: of a majority, or of the system that the model is given."""
        return self.least or self.nodes // 2 + 1

    @property
    def epoch(self) -> Int:
        """Return the kind of an epoch."""
        return Int(0, self.epochs, "--max-epoch")

    @property
    def count(self) -> Int:
        """Return the kind of a number of transactions, or of the identity of one."""
        return Int(0, self.txns, "--txns")

    @cached_property
    def txn(self) -> Record:
        """Return the kind of a transaction <v, z>: zxid z = <epoch, counter>, and an identity for v (DSN'11 III)."""
        return Record("Txn", {"epoch": self.epoch, "counter": self.count, "value": self.count})

    @property
    def history(self) -> Seq:
        """Return the kind of a history: a sequence of transactions."""
        return Seq(self.txn, self.log, "--txns")

    @property
    def faults(self) -> int:
        """Return how many faults can make a process begin another iteration: the sum of the worlds' budgets."""
        return sum(self.budgets.get(name, 0) for name in BUDGETS)

    @property
    def loses_power(self) -> bool:
        """Return whether power may be lost, so that it matters what is forced to a disk."""
        return self.budgets.get("power_losses", 0) + self.budgets.get("outages", 0) > 0


def OneOf(*names: str | type[IntEnum]) -> Int:
    """Declare a kind with several named values, the first being the initial one.

    The source refers to them by constants: `IDLE, BUSY = range(2)`, which must agree; or they are an IntEnum's.

    Raises:
        ProtocolError: there are no names, or one twice; or the values of the IntEnum are not 0, 1, ...
    """
    if len(names) == 1 and not isinstance(names[0], str):
        if [int(member) for member in names[0]] != [*range(len(names[0]))]:
            raise ProtocolError(f"OneOf({names[0].__name__}) needs the values 0, 1, ... in order")
        names = tuple(member.name for member in names[0])
    if not names or len(set(names)) < len(names):
        raise ProtocolError(f"OneOf{names!r} needs distinct names")
    return Int(0, len(names) - 1, names=tuple(map(str, names)))


Epoch = Annotated[int, lambda size: size.epoch]  # the number of an epoch, as an annotation says it


def Range(lo: int, hi: int | Callable[[Size], int], widen: str = "") -> Callable[[Size], Int]:
    """Declare the numbers from one to another, for an annotation.

    Args:
        lo: the lowest.
        hi: the highest, or a function of a size.
        widen: the option of the budget from which it follows.
    """
    return lambda size: Int(lo, hi(size) if callable(hi) else hi, widen)


def Maybe(of: Int | Callable[[Size], Int]) -> Callable[[Size], OptionalInt]:
    """Declare an optional number, `Maybe(Range(0, 3))`: a number from 0 on, or `NOTHING`, the initial value.

    Raises:
        ProtocolError: a value of that kind cannot be optional (when the size is known).
    """
    return lambda size: optional(of(size) if callable(of) else of)


def optional(kind: Int) -> OptionalInt:
    """Return the kind of optional numbers."""
    if type(kind) is not Int or kind.lo != 0 or kind.members:
        more = ": a process is already optional, by NOBODY" if isinstance(kind, NodeId) else ""
        given = type(kind).__name__ + (f"({kind.lo}, {kind.hi})" if type(kind) is Int else "")
        raise ProtocolError(f"Maybe takes numbers from 0 on, as Range(0, 3) or OneOf(...), not {given}{more}")
    return OptionalInt(NOTHING, kind.hi, kind.widen, ("NOTHING", *kind.names) if kind.names else ())


@dataclass(frozen=True)
class AtMost:
    """The length of a sequence, for an annotation: `Annotated[SeqOf[Txn], AtMost(3)]`.

    Attributes:
        most: the largest number of elements, or a function of the size.
        widen: the option of the budget from which it follows.
        bag: their order means nothing.
    """

    most: int | Callable[[Size], int]
    widen: str = ""
    bag: bool = False


# --- fields ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a class says of a field beside its name and its kind.

    Attributes:
        role: the kind of a field.
        doc: what it holds.
        most: of a clock, or of a lease, the largest number of ticks; a function of the size, if it depends on that.
        widen: the option of the budget from which that follows.
        reading: how an entry is shown.
        disk, timer, clock: whether it is on a disk, a timer, a clock.
    """

    role: Role
    doc: str
    most: int | Callable[[Size], int] | None = None
    widen: str = ""
    reading: str = ""
    disk: bool | Callable[[Size], bool] = False
    timer: bool = False
    clock: bool = False

    def __call__(self, *_: object, **__: object) -> Any:
        """Refuse a declaration by a word that is the name of a field above it.

        Raises:
            ProtocolError: always.
        """
        raise ProtocolError("a field above has the name of this declaration: rename that field, or declare it last")


@dataclass(frozen=True)
class Parameter:
    """A number that sizes the model: what it is, and how much unless a request gives another."""

    doc: str
    amount: int


def stored(doc: str) -> Any:
    """Declare a field of each process, or of each of a role, that survives a crash.

    `phase: Each[Client, Phase] = stored("where it stands")`.
    """
    return Held(Role.PERSISTENT, doc)


def on_disk(doc: str, where: bool | Callable[[Size], bool] = True) -> Any:
    """Declare a field of each process, or of each of a role, on its disk.

    A crash keeps what the process wrote; loss of power keeps what it forced (`force(s, p)`), and any prefix of what it
    wrote since, in the order of the statements that wrote.

    Args:
        where: at which sizes it is on a disk; at others it is stored.
    """
    return Held(Role.PERSISTENT, doc, disk=where)


def volatile(doc: str) -> Any:
    """Declare a field of each process, or of each of a role, that a crash resets to its lowest value."""
    return Held(Role.VOLATILE, doc)


def timer(doc: str) -> Any:
    """Declare a timer of each process, or of each of a role, as `late: Each[Client, bool]`.

    It is True while the timer is armed, so that `s.lease[p] = True` arms it. Once armed it may fire at any time: what
    it does is marked `@fires("lease")`. A crash disarms it.
    """
    return Held(Role.VOLATILE, doc, timer=True)


def clock(doc: str, most: int | Callable[[Size], int], kept: bool = False, widen: str = "") -> Any:
    """Declare a clock of each process, or of each of a role, that counts down, as `wait: Each[Node, int]`.

    `s.wait[p] = 3` sets it to three ticks, at most `most`, and it has run out at 0. A crash resets it, unless it is
    `kept`; then it continues while the process is down.

    Args:
        widen: the option of the budget from which `most` follows.
    """
    return Held(Role.PERSISTENT if kept else Role.VOLATILE, doc, most, widen, clock=True)


def lease(doc: str, most: int | Callable[[Size], int], kept: bool = False, widen: str = "") -> Any:
    """Declare a lease: a field of each process, or of each of a role, with a clock beside it.

    `s.holder[p] = q` grants it, and `s.holder_left[p] = 3` for three ticks, at most `most`. With the last of them it
    returns to its initial value.

    Args:
        kept, widen: as for a clock.
    """
    return Held(Role.PERSISTENT if kept else Role.VOLATILE, doc, most, widen)


def ghost(doc: str, reading: str = "") -> Any:
    """Declare a ghost: observations write it and properties read it, and no handler may.

    `led: Each[Term, set[Node]] = ghost("who has led in a term")`.

    Args:
        reading: how an entry is shown, with `{}` for its number: `epoch {} served`.
    """
    return Held(Role.GHOST, doc, reading=reading)


def environment(doc: str) -> Any:
    """Declare a field of the environment (a clock, a resource).

    Any handler may read it, and only steps of the environment write it.
    """
    return Held(Role.ENVIRONMENT, doc)


def shared(doc: str) -> Any:
    """Declare a field that all processes share, as the memory of one machine: their actions read and write it.

    With an entry for each process, the others may read and write each too.
    """
    return Held(Role.SHARED, doc)


def parameter(doc: str, amount: int) -> Any:
    """Declare a number that sizes the model, and that no step uses up.

    `JOBS: int = parameter("how many jobs there are", 1)`: `s.JOBS` and `size.jobs` are the number, and `--jobs 2` sets
    it.


    Args:
        amount: the number unless a request gives another, 0 to 255.
    """
    return Parameter(doc, amount)


# --- what a function is ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Action:
    """A step that is possible without a message.

    Attributes:
        name: the name of the step.
        function: its effect, of a process (s, p), or of the environment (s).
        when: whether it is possible, with the same parameters; None if it always is.
        budget: the budget that it spends; empty if it is free.
        every: in the simulator, the mean number of ticks between two of them.
        everywhere: of the environment: whether it writes fields of processes too.
        fair: of a process, without a budget: whether it is taken eventually if from some moment on it always can be.
        strong: whether it is fair also if it can be taken again and again.
        together: whether only the step of some process is fair, and not that of each.
        timer: the field of the timer whose firing it is; empty if it is no timer's.
        role: the type of the role whose processes take it; empty if all do.
        joins, leaves: whether a process becomes a member by it, or stops being one.
    """

    name: str
    function: FunctionType
    when: FunctionType | None
    budget: str
    every: int
    everywhere: bool = False
    fair: bool = True
    strong: bool = False
    together: bool = False
    timer: str = ""
    role: str = ""
    joins: bool = False
    leaves: bool = False


MARKED = "__marked__"  # where a file keeps its functions with a mark, which are all to be found by their names


def as_function(function: object, what: str = "what is marked") -> FunctionType:
    """Return a function: for a tool it is a callable, and Python made it of `def`.

    Raises:
        ProtocolError: it is something else.
    """
    if not isinstance(function, FunctionType):
        raise ProtocolError(f"{what} is a function, not of type {type(function).__name__}")
    return function


def put_mark(function: Callable[..., Any], mark: str, made: object) -> None:
    """Mark a function."""
    vars(as_function(function))[mark] = made
    as_function(function).__globals__.setdefault(MARKED, []).append(function)


def mark_step(function: Callable[..., Any], mark: str, made: object) -> None:
    """Mark a function as a step.

    Raises:
        ProtocolError: the function is a step already; only one of the marks would count.
    """
    if not vars(function).keys().isdisjoint(("made_action", "made_change")):
        said = f"{function.__name__} is marked as a step twice: mark two functions"
        raise ProtocolError(f"{said}, which may share a third")
    put_mark(function, mark, made)


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name as people read it."""
    return as_function(function).__name__.replace("_", "-")


WEAK, STRONG = "weak", "strong"
ENDS = "mark with @final where a run may end"


def check_fairness(fair: object, fair_to: object, budget: str) -> None:
    """Check the declared fairness of an action.

    Raises:
        ProtocolError: it is invalid.
    """
    if fair not in (True, False, WEAK, STRONG) or not isinstance(fair, bool | str):
        raise ProtocolError(f'fair is "weak", "strong" or False (it may never be taken), not {fair!r}')
    if fair_to not in ("process", "action"):
        raise ProtocolError(
            f'fair_to is "process" (each process takes it) or "action" (some process takes it), not {fair_to!r}'
        )
    if budget and (isinstance(fair, str) or fair_to == "action"):
        raise ProtocolError(f"a step that costs a budget need not be taken: without {budget} it could be fair")
    if not fair and fair_to == "action":
        raise ProtocolError('fair=False contradicts fair_to="action": the first means that no process need take it')


class Optional(TypedDict, Generic[_Test], total=False):
    """What every step may have: when it is possible, the budget that it spends, its pace, its name, its fairness."""

    when: _Test | None
    budget: str
    every: int
    name: str
    fair: bool | str


def marking(mark: str, given: Optional[Any], fair: bool = True, **more: Any) -> Callable[[Does], Does]:
    """Return the decorator that marks a step."""
    fairness, budget = given.get("fair", fair), given.get("budget", "")
    asked = given.get("when")
    when = None if asked is None else as_function(asked, "when=")
    check_fairness(fairness, "process", budget)

    def made(function: Does) -> Does:
        step = Action(
            given.get("name") or name_of(function), as_function(function), when, budget, given.get("every", 40),
            fair=bool(fairness), strong=fairness == STRONG, **more,
        )  # fmt: skip
        mark_step(function, mark, step)
        return function

    return made


@overload
def action(bare: Step, /) -> Step: ...


@overload
def action(*, fair_to: str = "process", **given: Unpack[Optional[When]]) -> Callable[[Step], Step]: ...


def action(
    bare: Step | None = None, /, *, fair_to: str = "process", **given: Unpack[Optional[When]]
) -> Step | Callable[[Step], Step]:
    """Mark what a process p does by itself, `(s, p)`, whenever `when(s, p)` holds.

    It is as free as a receipt, or costs one of a budget that `declare` names.

    Where progress properties are checked, each process that can take it for ever from some time on does so eventually
    (`fair="weak"`, the default), or each that can infinitely often (`fair="strong"`). With `fair_to="action"` some
    process does so eventually, if always, or infinitely often, one can. `fair=False` is for what need not happen (a
    request); what costs a budget never needs to happen.
    """
    check_fairness(given.get("fair", True), fair_to, given.get("budget", ""))
    mark = marking("made_action", given, together=fair_to == "action")
    return mark if bare is None else mark(bare)


def fires(timer: str, /, **given: Unpack[Optional[When]]) -> Callable[[Step], Step]:
    """Mark what a process does when a timer of it fires, `(s, p)`.

    It is possible while that timer is armed, which it then no longer is. Everything else is as for an `action`.
    """
    if not isinstance(timer, str):
        raise ProtocolError('write @fires("lease"), with the name of a timer')
    return marking("made_action", given, timer=timer)


@overload
def joins(bare: Step, /) -> Step: ...


@overload
def joins(**given: Unpack[Optional[When]]) -> Callable[[Step], Step]: ...


def joins(bare: Step | None = None, /, **given: Unpack[Optional[When]]) -> Step | Callable[[Step], Step]:
    """Mark what a process does when it becomes a member, `(s, p)`.

    It is possible for a process that never was a member. It need not happen, unless it is `fair`. Everything else is as
    for an `action`.
    """
    mark = marking("made_action", given, fair=False, joins=True)
    return mark if bare is None else mark(bare)


@overload
def leaves(bare: Step, /) -> Step: ...


@overload
def leaves(**given: Unpack[Optional[When]]) -> Callable[[Step], Step]: ...


def leaves(bare: Step | None = None, /, **given: Unpack[Optional[When]]) -> Step | Callable[[Step], Step]:
    """Mark what a member does as the last thing before it leaves for good, `(s, p)`.

    It need not happen, unless it is `fair`. Everything else is as for an `action`.
    """
    mark = marking("made_action", given, fair=False, leaves=True)
    return mark if bare is None else mark(bare)


@overload
def environment_step(bare: Change, /) -> Change: ...


@overload
def environment_step(
    *, everywhere: bool = False, **given: Unpack[Optional[Callable[[Any], bool]]]
) -> Callable[[Change], Change]: ...


def environment_step(
    bare: Change | None = None, /, *, everywhere: bool = False, **given: Unpack[Optional[Callable[[Any], bool]]]
) -> Change | Callable[[Change], Change]:
    """Mark what the environment does, `(s)`, whenever `when(s)` holds.

    It writes fields of the environment only. With `everywhere` it may write those of processes too, at once, as an
    election does that is not modelled, or the initial values of processes. No fair run has to take it, but with
    `fair="weak"` or `fair="strong"`, as of an action.
    """
    mark = marking("made_change", given, fair=False, everywhere=everywhere, together=True)
    return mark if bare is None else mark(bare)


def initial(function: Change) -> Change:
    """Mark what every run begins with, `(s)`: it writes initial values, of all processes, ghosts included.

    It may choose, `s.turn = any_of(s, processes(s))`: then runs begin in several states, all of which are explored.
    """
    put_mark(function, "begins_runs", True)
    return function


def final(function: Looks) -> Looks:
    """Mark where a run may end: `(s)` is true, or `(s, p)` of every process, or `(s, p: Client)` of every client.

    A state without a step in which a marked function is false is a deadlock.
    """
    put_mark(function, "ends_runs", True)
    return function


def receives(function: Does) -> Does:
    """Mark what a process does on receipt of the kind of message with which its last parameter is annotated.

    Its parameters are `(s, p, source, m: VOTE)`, or the same without the source.
    """
    put_mark(function, "receives", True)
    return function


@overload
def observation(bare: Does, /) -> Does: ...
@overload
def observation(bare: None = None, /, **read_as: str) -> Callable[[Does], Does]: ...
def observation(bare: Does | None = None, /, **read_as: str) -> Does | Callable[[Does], Does]:
    """Mark an observation that handlers publish: `(s, p, ...)`.

    Its body writes ghosts; it is a row of event tables. `@observation(tree="exposed")` shows its number `tree` as
    values of the field `exposed` are shown.
    """

    def mark(function: Does) -> Does:
        put_mark(function, "observes", True)
        function.acts = ""  # type: ignore[attr-defined]  # set by the reader of the file
        function.read_as = read_as  # type: ignore[attr-defined]
        return function

    return mark if bare is None else mark(bare)


@overload
def safety(bare: Looks, /) -> Looks: ...


@overload
def safety(
    *,
    witness: Callable[..., bool] | None = None,
    over: str = "state",
    premise: str = "",
    name: str = "",
    default: bool = True,
) -> Callable[[Looks], Looks]: ...


def safety(
    bare: Looks | None = None,
    /,
    *,
    witness: Callable[..., bool] | None = None,
    over: str = "state",
    premise: str = "",
    name: str = "",
    default: bool = True,
) -> Looks | Callable[[Looks], Looks]:
    """Mark a safety property.

    It is true in every state (`over="state"`), of every observed history (`"history"`), or of every step (`"step"`, of
    `(before, event, after)`). Its docstring is its statement; `witness`, of the same parameters, returns whether the
    property is checked non-vacuously, and its docstring says when.

    A property of states may take messages beside the state, `(s, m: VOTE)`: it is then true of every message in flight
    of that kind, and with two messages of every two (`m.source` sent it, and it is for `m.target`); its witness takes
    the state alone. Without a witness there is no further premise.
    """

    def mark(function: Looks) -> Looks:
        if over not in (STATE, HISTORY, STEP):
            ends = f": {ENDS}" if over == TERMINAL else ""
            raise ProtocolError(f"a property is over state, history or step, not {over!r}{ends}")
        if witness is None and over != STEP and as_function(function).__code__.co_argcount > 1:
            raise ProtocolError("a property of messages needs a witness, of the state alone: @safety(witness=...)")
        premise_of = None if witness is None else as_function(witness, "witness=")
        shown = f"any {over}" if premise_of is None else first_paragraph(premise_of.__doc__) or name_of(premise_of)
        words = unwrapped(premise) or shown.rstrip(".")
        made = Property(name or name_of(function), over, "", words, function, witness or function, default=default)
        put_mark(function, "claim", made)
        return function

    return mark if bare is None else mark(bare)


def invariant(function: Looks) -> Looks:
    """Mark a clause of an inductive invariant.

    It is true in every state, and kept by every step from any state in which all clauses are true. `induct` checks
    that; an exploration checks it where it is named. It may take messages beside the state, as a property of states
    may.
    """
    made = Property(name_of(function), STATE, "", "any state", function, function, default=False)
    put_mark(function, "claim", made)
    return function


@overload
def progress(bare: Looks, /) -> Looks: ...
@overload
def progress(*, again: bool = False) -> Callable[[Looks], Looks]: ...
def progress(bare: Looks | None = None, /, *, again: bool = False) -> Looks | Callable[[Looks], Looks]:
    """Mark a progress property, `(s, p)`: True while p waits; no process may wait for ever.

    With `again=True` none may wait again and again, either: eventually it never does. Over connections it may take the
    process that the oracle names, `(s, p, named)`. Its docstring states what p waits for; `--live` checks it
    (docs/explanation/liveness.md).
    """

    def mark(function: Looks) -> Looks:
        made = ProgressProperty(name_of(function), "", function, again=again)
        put_mark(function, "progress_property", made)
        return function

    return mark if bare is None else mark(bare)


# --- the whole ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A protocol with one rule changed.

    Attributes:
        name: the name on the command line.
        summary: the difference, in a phrase.
        overrides: the replacements of functions, by the name of the function that they replace.
        rule: the rule that it changes: the paper's step or section.
        safe: whether every property is expected to hold.
        over: the variants over which it takes precedence where both change one function, if they are asked for
            together.
        repairs: whether it mends a rule, so that `--repair` takes it.
        gives_up: from the number of transactions to how often its rules end an iteration without a fault; each may
            begin one more epoch. None if they never do.
        needs: variants of which one has to be asked for too: without any, it would change nothing, or leave out what
            they do in its place.
    """

    name: str
    summary: str
    overrides: Mapping[str, Any]  # functions; what `def` makes is to tools another type
    rule: str = ""
    safe: bool = False
    over: tuple[str, ...] = ()
    repairs: bool = False
    gives_up: Callable[[int], int] | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """A state that a run may begin in besides the initial one; if its function chooses, several states.

    Attributes:
        name: the name on the command line.
        summary: a description of the state, in a phrase.
        function: `(s)`, which writes what differs from the initial state, at once and everywhere; it may open
            connections and send.
        nodes: where a run reaches it only if majorities decide, the numbers of processes that vote of which one does;
            empty if the quorums make no difference.
        spends: what it has spent of budgets, by their names.
    """

    name: str
    summary: str
    function: Any  # a function: what `def` makes is to tools another type
    nodes: Sequence[int] = ()
    spends: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Declaration:
    """What a file declares.

    Attributes:
        module: its name among Python's modules.
        roles: the roles of processes, and how many there are of each unless a question says otherwise; empty if all
            processes are alike.
        nodes: how many processes unless a question says otherwise.
        network: which network unless a question says otherwise.
        drift: by how many ticks the clocks of processes may differ, or the name of a parameter; None if there are no
            clocks.
        members: how many processes are members at the beginning, with roles by their names; None if all are, for ever.
        variants: the protocol with one rule changed; or the name of the module whose `VARIANTS` has them.
        transactions: it abcasts and abdelivers, and is judged by the properties of atomic broadcast.
        epochs: of such a protocol, from a size to the largest epoch; None for as many as there are processes.
        flight: from a size to how many messages can be in flight at once: in a channel, over connections, or as two
            numbers in a channel to a leader and in one to a follower; None for 32.
        unforced: how many writes to its disk a process may have made since it forced them.
        world: what it speaks over: `datagrams`, or `connections`, in which a field `role` says where each process
            stands (0: it looks for a leader, 1: it follows `leader`, 2: it leads).
        elects: over connections, the fields that processes vote with, the first counting most: an election is one step,
            and costs one of the budget `elections`, if there is one; None if a leader oracle names anybody
            (`on_oracle`).
        starts: further states that a run may begin in; a question names one.
        ignored: messages that are sent and that nothing receives, on purpose.
        bounded_by_world: it has every budget of its world, as much of each as is usual there, and from these follow
            the largest epoch and the room in channels, where `epochs` and `flight` do not say.
        deadlock: deadlock is checked by default.
        revises: a process may replace what it has delivered.
        replicas: every process has the fields of a replica (`role`, `history`, `current_epoch`, ...): simulated runs
            and tables show these, a change of `role` is an event, and properties of states read `history`.
        shared_names: functions in other modules (properties, variants, progress properties) call its functions and
            constants by their names.
        released: its rules change with a release of zabcheck only: it is read once, and a trace does not say which
            text it is of.
        oracle: the name of a module that stands in the world's place: whom a leader oracle may name.
        progress: the name of a module with its progress properties (`GOALS`), and with the rules of its stable phase
            where they differ from its world's (`RULES`).
        lab_oracle: the name of the module that declares it with the db-19 lab's election as its leader oracle.
        releases: of a protocol that follows somebody's releases, their numbers by variant, the newest first; the empty
            variant is the protocol itself.
        settings: the name of a module whose `with_settings` adds to a variant what its release does differently.
        extends: the names of modules whose functions are its own too; its own functions stand over theirs.
        leaders_weigh: why no process without weight leads in the implementation that it follows, where it does not say
            so itself: quorum systems with such a process are refused. If empty, they are not.
        observers: the variant in which processes without weight are learners that do not vote: quorum systems with
            such processes, behind all others, go with it.
    """

    module: str = ""
    _: KW_ONLY
    budgets: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, int] = field(default_factory=dict)
    nodes: int = 3
    network: str = ""
    drift: int | str | None = None
    members: int | Mapping[str, int] | None = None
    variants: Sequence[Variant] | str = ()
    transactions: bool = False
    epochs: Callable[[Size], int] | None = None
    flight: Callable[[Size], int | tuple[int, int]] | None = None
    unforced: int = 4
    world: str = "datagrams"
    elects: Sequence[str] = ()
    starts: Sequence[Start] = ()
    ignored: Sequence[str] = ()
    bounded_by_world: bool = False
    deadlock: bool = False
    revises: bool = False
    replicas: bool = False
    shared_names: bool = False
    released: bool = False
    oracle: str = ""
    progress: str = ""
    lab_oracle: str = ""
    releases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: str = ""
    extends: Sequence[str] = ()
    leaders_weigh: str = ""
    observers: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "budgets", dict(self.budgets or {}))
        object.__setattr__(self, "roles", dict(self.roles or {}))
        for name in ("variants", "elects", "starts", "ignored", "extends"):
            given = getattr(self, name)
            object.__setattr__(self, name, given if isinstance(given, str) else tuple(given))

    @property
    def state(self) -> type[Fields] | None:
        """Return the class with the fields; None if there is none."""
        found = vars(self.text).get("State")
        return found if isinstance(found, type) and issubclass(found, Fields) else None

    @cached_property
    def parameters(self) -> Mapping[str, int]:
        """Return its parameters by the names that options have, with their usual amounts."""
        known = [part for c in reversed(self.state.__mro__) for part in vars(c).items()] if self.state else []
        return {name.lower(): given.amount for name, given in known if isinstance(given, Parameter)}

    @property
    def text(self) -> ModuleType:
        """Return the module."""
        return sys.modules[self.module]


declare = Declaration  # the last line of a protocol's file: `PROTOCOL = declare(__name__, ...)`
