"""Read a protocol: from a file or a Python module to what it declares, checked on the way.

What the source declares (`zabspec/authoring/declaration.py`) is read here: which functions are handlers, which only
look, what each may write. Between them and the world stand a few functions that follow from the marks (`glue.py`):
which action is possible, what a message is given to, who is down.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any

from zabspec.authoring.alternatives import CHOICES, most_alternatives
from zabspec.authoring.annotated import Annotations, Misdeclared
from zabspec.authoring.checks import (
    OURS,
    check_amounts,
    check_declared_roles,
    check_fields,
    check_flags,
    check_kept,
    check_one_meaning,
    check_oracle,
    check_own_names,
    check_replicas,
    check_roles,
    check_world,
    is_ours,
    meanings_of,
)
from zabspec.authoring.clocks import (
    AHEAD,
    TICKS,
    ahead_field,
    check_clocks,
    check_drift,
    drift_of,
    refuse_unset,
    with_clocks,
)  # fmt: skip
from zabspec.authoring.declaration import ENDS, MARKED, Action, Declaration, ProtocolError, Size, Variant
from zabspec.authoring.files import failed, read_file
from zabspec.authoring.glue import (
    BY_ROLE,
    ELECTIONS,
    OF_EVERY_MESSAGE,
    Marked,
    asks_of_messages,
    every_message,
    name_of_every,
    no_deadlock,
    own_names,
    world_text,
)
from zabspec.authoring.membership import (
    begun_with,
    check_counts,
    check_membership,
    check_sizes,
    member_fields,
)  # fmt: skip
from zabspec.authoring.places import about, misdeclared, with_place
from zabspec.authoring.roles import RoleReader, RoleTypes
from zabspec.authoring.sources import Read, is_file, path_of
from zabspec.authoring.unreceived import ANY, FOLLOWER, LEADER, TAKES_ALL, Sending, sendings, taken, unreceived
from zabspec.language.front.expressions import KERNEL
from zabspec.language.layout.bytecode import global_names, names_in
from zabspec.language.layout.kinds import Int, Message, MessageUnion, Seq
from zabspec.language.layout.place import SourcePlace, is_own_file
from zabspec.language.layout.schema import Field, Role
from zabspec.language.layout.source import LanguageError, annotated, definition, from_lambda, register_source
from zabspec.language.program import OVERSEEING
from zabspec.language.python.choosing import name_of
from zabspec.language.python.lang import MessageName, RecordName
from zabspec.language.python.meanings import is_number, is_value
from zabspec.properties import BUILT_IN, DEADLOCK, TERMINAL, ProgressProperty, Property, first_paragraph
from zabspec.roles import type_name
from zabspec.worlds import actor, connections, datagrams, priority
from zabspec.worlds.actor import HOOKS
from zabspec.worlds.steps import BUDGETS, CONNECTIONS, DATAGRAMS

# What the language says itself: a function of that name would mean another thing in another world.
OWN_WORDS = frozenset({"len", "min", "max", "range", "forget", "is_quorum", "broken", "int", "bool", *KERNEL})
OWN = "__own"
MADE = (OWN, OF_EVERY_MESSAGE, name_of(""))  # the ends of names that are made of others
WORDS_OF_ROLES = frozenset({"any_of", "any_process", "is_a", "only", "processes"})  # the same, of a text with roles
NO_DOCSTRING = "no docstring" + (", as Python's -OO drops them" if sys.flags.optimize > 1 else "")
TEXTS: Mapping[str, tuple[ModuleType, ...]] = {CONNECTIONS: (connections, priority), DATAGRAMS: (datagrams,)}


@cache
def called_by(world: str) -> frozenset[str]:
    """Return the hooks that a protocol over a world may provide: not those that another world alone calls."""
    read = {
        name: {
            n
            for text in texts
            for f in vars(text).values()
            if isinstance(f, FunctionType)
            for n in names_in(f.__code__)
        }
        for name, texts in TEXTS.items()
    }
    return HOOKS - set().union(*read.values()) | HOOKS & read.get(world, HOOKS)


# Hooks that look, and write nothing.
LOOKING = frozenset(n for n in HOOKS if vars(actor)[n].__annotations__["return"] != "None")
NOT_ASKED = "starts_at_once is ignored if is_down is a function of the file: on_crash sets the state after a crash"
ACTING = HOOKS - OVERSEEING
SHARED = ("zabspec", "zabspec.protocols")  # packages with several protocols; another of this project is one's own
WORLD_OF = "world_of_"  # how the name of a generated module between a protocol and its world begins
MARKS = (
    "made_action", "made_change", "receives", "observes", "claim", "progress_property", "begins_runs", "ends_runs",
)  # fmt: skip
OF_ALL = ("no-runtime-error", DEADLOCK)  # the properties that every protocol has
# Arguments that a protocol of somebody's own has not, and what to do instead.
OF_OURS = {
    "shared_names": "omit it",
    "extends": "omit it",
    "progress": "mark functions of the file with @progress",
}
ONLY_END = {LEADER: "leader", FOLLOWER: "follower"}  # as a message says it
USUAL_FLIGHT = 32  # messages in flight


# --- reading it -----------------------------------------------------------------------------------


OBSERVED_KINDS = ("Node", "int", "bool")  # of what kind an observation's fields can be


@dataclass(frozen=True)
class ObservationKind:
    """A kind of observation that a protocol declares.

    Attributes:
        function: the function that writes it.
        acts: the field with the process that shows it; empty if it has none.
        fields: `Node`, `int` or `bool`, by name.
        read_as: for numbers the field of the state as whose values a person reads them, where there is one.
    """

    function: FunctionType
    acts: str
    fields: Mapping[str, str]
    read_as: Mapping[str, str] = field(default_factory=dict)

    def json(self, name: str, value: Any) -> int | bool:
        """Convert a field's value to JSON."""
        return bool(value) if self.fields[name] == "bool" else int(value)


@dataclass(frozen=True)
class ProtocolSource:
    """The source of a protocol, read and checked.

    Attributes:
        name: the name by which it is asked for.
        declared: the declaration.
        module: the module.
        digest: the digest of the source, and of the modules beside it that it imports.
        meanings: what functions read by its global names, as it was when it was read.
        handlers: the functions that act for a process, and the functions that they call.
        actions, changes: the steps of processes, and of the environment, that need no message, in the source's order.
        receipts: the function that receives each kind of message.
        observations: the observations, by name.
        claims: the properties.
        deadlock: the property that a run ends only where it may; empty if it is not known where.
        goals: the progress properties.
        unheard: the sentence about a message that is sent and that nothing receives; empty if there is none.
        apart: names that have a meaning in the source only, by the keys that they have in a program: it may call its
            own functions and constants as it likes, independently of its world's names.
        through: for each property of messages in flight the function that checks it for all of them: its name, and the
            name of the property.
        quantified: the module with these functions.
        elects_by_choice: where a handler of an election that is one step chooses; empty if nowhere.
        variants: the protocol with one rule changed, by name.
        keeps_down: whether it records by itself which processes are down (`is_down`); if not, a field is added where
            processes crash.
        oracle: the modules that replace its world's leader oracle.
        hooks, receivers: with roles, as of `Marked`.
        typed: with roles, the functions in which processes are distinguished by their roles.
        assigned: with clocks, the fields that functions of the source assign to.
        begins: the functions that run at the beginning, for every process.
        initial: the function with which every run begins.
        asks_ahead: with clocks, where a function asks how far clocks are ahead; None if nowhere.
        sent_to: over connections, for each kind of message the ends that it is sent to; empty for a released protocol,
            whose messages have it.
        released: whether it belongs to zabcheck and changes only with its releases: then tests have checked it, and it
            is not checked again at run time. A user's file cannot claim this.
    """

    name: str
    declared: Declaration
    module: ModuleType
    digest: str
    meanings: Mapping[str, object]
    handlers: frozenset[str]
    apart: Mapping[str, str]
    actions: tuple[Action, ...]
    changes: tuple[Action, ...]
    receipts: Mapping[str, FunctionType]
    observations: Mapping[str, ObservationKind]
    claims: tuple[Property, ...]
    through: Mapping[str, str]
    quantified: ModuleType
    elects_by_choice: str = ""
    goals: tuple[ProgressProperty, ...] = ()
    unheard: str = ""
    variants: Mapping[str, Variant] = field(default_factory=dict)
    keeps_down: bool = False
    sent_to: Mapping[str, frozenset[str]] = field(default_factory=dict)
    hooks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    receivers: Mapping[str, str] = field(default_factory=dict)
    typed: tuple[FunctionType, ...] = ()
    assigned: frozenset[str] = frozenset()
    asks_ahead: SourcePlace | None = None
    begins: tuple[FunctionType, ...] = ()
    oracle: tuple[ModuleType, ...] = ()
    released: bool = False
    initial: Any = None  # a function, or None
    deadlock: tuple[Property, ...] = ()

    @property
    def comes_with_zabcheck(self) -> bool:
        """Return whether it is part of the package, whose tests compile it: so it is in the language."""
        module = self.module
        return module.__name__.partition(".")[0] in OURS and is_own_file(str(module.__file__))

    @property
    def beside(self) -> tuple[ModuleType, ...]:
        """Return the modules that it extends.

        For a protocol of this project in several files, they are those of its package whose functions it has.
        """
        if self.declared.extends:
            return tuple(sys.modules[name] for name in self.declared.extends)
        package = self.module.__name__.rpartition(".")[0] + "."
        given = {v.__module__ for v in vars(self.module).values() if isinstance(v, FunctionType)}
        own = sorted(given - {self.module.__name__}) if of_its_own(package.removesuffix(".")) else []
        return tuple(sys.modules[name] for name in own if name.startswith(package))

    @property
    def title(self) -> str:
        """Return its title: the first paragraph of its module docstring."""
        return (first_paragraph(self.module.__doc__) or self.name).rstrip(".")

    @property
    def source(self) -> str:
        """Return where its properties are stated: the name of its file, or of its module."""
        return path_of(self.name).name if is_file(self.name) else self.name

    @property
    def shows(self) -> tuple[FunctionType, ...]:
        """Return the functions by which handlers publish observations."""
        return tuple(shown.function for shown in self.observations.values())

    @property
    def budgets(self) -> Mapping[str, int]:
        """Return every budget it uses, with the default amount."""
        return self.declared.budgets

    def parts(self, size: Size) -> tuple[tuple[Field, ...], tuple[Message, ...], dict[str, Any]]:
        """Return its fields, messages and further kinds at a size.

        Raises:
            ProtocolError: it fails, or makes something else.
        """
        modules = (*(sys.modules[name] for name in self.declared.extends), self.module)
        annotations = Annotations(size, {type_name(role): role for role in self.declared.roles})
        if self.declared.state is None:
            raise misdeclared(self.name, ("class", "State"), "class State(Fields), with the fields, is missing")
        try:
            fields = tuple(with_clocks(annotations.fields(self.declared.state)))
            messages, types = tuple(annotations.messages(modules)), annotations.types(modules)
        except Misdeclared as problem:
            raise misdeclared(self.name, problem.what, str(problem)) from None
        if not self.released:
            self._check_parts(size, fields, messages)
            messages = tuple(replace(m, to=self._only_end(m)) for m in messages)
        if self.unheard:
            raise with_place(self.name, self.unheard)
        if self.declared.members is not None:
            check_counts(self.name, self.declared, size)
            fields += member_fields(size.nodes)
        if drift := drift_of(self.name, self.declared, size):
            fields += (ahead_field(drift),)
        return fields, messages, types

    def _only_end(self, message: Message) -> str:
        """Return the only end that a message is sent to; empty if it may be sent to both.

        The source's own declaration changes no step, so nothing follows from it where the message is sent at all.
        """
        ends = self.sent_to.get(message.name, frozenset()) | self.sent_to.get("", frozenset())
        if not ends:
            return message.to
        return ONLY_END.get(next(iter(ends)), "") if len(ends) == 1 else ""

    def _check_parts(self, size: Size, fields: tuple[Field, ...], messages: tuple[Message, ...]) -> None:
        """Check the fields and messages of a size against what else the source says."""
        check_fields(self.name, fields, (), messages)
        check_flags(self.name, fields, messages, (*self.declared.budgets, *self.declared.parameters))
        if self.declared.world == CONNECTIONS:
            check_roles(self.name, fields, size.nodes, self.declared.elects)
        if self.declared.replicas:
            check_replicas(self.name, self.declared, fields)
        self._check_timers(fields)
        if self.declared.members is not None:
            check_sizes(self.name, fields, self.begins)
        check_clocks(self.name, self.declared, fields)
        refuse_unset(self.name, fields, self.assigned, self.asks_ahead)
        if self.declared.roles:
            roles, by_name = tuple(self.declared.roles), {f.__name__: f for f in self.typed}
            around = member_fields(size.nodes) if self.declared.members is not None else ()
            parts = {f.name: f for f in (*fields, *around)}, {m.name: m for m in messages}
            types = RoleTypes(self.name, roles, *parts, self.receipts, by_name)
            for function in self.typed:
                RoleReader(types, function).check()
        check_kept(self.name, self.module, self.meanings)
        for f in fields:
            self._check_names(f)
            self._check_reading(f)
            if f.disk and isinstance(f.kind, Seq) and f.kind.bag:
                said = f"{f.name} is a bag on a disk, where each write replaces the previous value: keep a sequence"
                raise misdeclared(self.name, ("field", f.name), said)
            if f.disk and self.elects_by_choice:
                raise ProtocolError(
                    f"{self.elects_by_choice}: a function within an election in which processes can fail cannot choose"
                )
        numbers = {f.name for f in fields if isinstance(f.kind, Int)}
        for shown in self.observations.values():
            for name in shown.read_as.values():
                if name not in numbers:
                    said = f"@observation: there is no field {name} of numbers"
                    raise misdeclared(self.name, ("function", shown.function.__name__), said)
        for name in self.declared.ignored:
            if name not in {m.name for m in messages}:
                said = f"{name!r} is declared ignored, but there is no such message"
                raise misdeclared(self.name, ("argument", "ignored"), said)
        for name, function in self.receipts.items():
            if name not in {m.name for m in messages}:
                said = f"{function.__name__} receives {name}, which is no message: class {name}(MessageType)"
                raise about(function, said, self.name)

    def _check_reading(self, f: Field) -> None:
        """Check that the words for an entry of a field contain each of its numbers."""
        numbers = [f"<{n}>" for n in range(len(f.axes))]
        try:
            said = f.reading.format(*numbers)
        except (IndexError, KeyError, ValueError, AttributeError):
            said = ""
        if f.reading and not all(number in said for number in numbers):
            wrong = f"reading={f.reading!r} of {f.name} needs {{}} for each of its numbers, which are {len(f.axes)}"
            raise misdeclared(self.name, ("field", f.name), wrong)

    def _check_timers(self, fields: Iterable[Field]) -> None:
        """Check that each timer fires, that nothing else does, and that it is of the processes that it fires for."""
        timers = {f.name: f for f in fields if f.timer}
        for a in self.actions:
            f = timers.get(a.timer)
            at = ("function", a.function.__name__)
            if a.timer and f is None:
                there = f"there are {', '.join(timers)}" if timers else 'timer("doc") declares one'
                raise misdeclared(self.name, at, f"{a.timer} is not a timer; {there}")
            if f is not None and f.of and type_name(f.of) != a.role:
                said = (
                    f"{f.name} is a timer of role {f.of}, but {a.function.__name__} is not: annotate its process "
                    f"with that role"
                )
                raise misdeclared(self.name, at, said)
        for name in timers.keys() - {a.timer for a in self.actions}:
            said = f'nothing is marked @fires("{name}"), so timer {name} never fires'
            raise misdeclared(self.name, ("field", name), said)

    def _check_names(self, f: Field) -> None:
        kinds = [f.kind, f.kind.element] if isinstance(f.kind, Seq) else [f.kind]
        for kind in kinds:
            for number, name in enumerate(kind.names, kind.lo) if isinstance(kind, Int) else ():
                known = vars(self.module).get(name, number)
                if known != number and not isinstance(known, FunctionType):  # a step may be named for its label
                    said = f"{name} is {known} in the file, and number {number} of {f.name}: make them the same"
                    raise misdeclared(self.name, ("constant", name), said)

    def epochs(self, size: Size) -> int:
        """Return the largest possible epoch."""
        return self._numbers("epochs", self.declared.epochs or (lambda size: size.nodes), size)[0]

    def flight(self, size: Size) -> tuple[int, int]:
        """Return the maximum number of messages in a channel to a leader and in one to a follower.

        Over datagrams both are the maximum number in flight at once.
        """
        found = self._numbers("flight", self.declared.flight or (lambda _: USUAL_FLIGHT), size, 1 + self.over_channels)
        return found[0], found[-1]

    @property
    def judged_by_event(self) -> bool:
        """Return whether a simulated run is checked after each event.

        What the papers say of replicas changes only where something is observed, or a history changes.
        """
        return not self.declared.replicas or bool(self.claims)

    @property
    def over_channels(self) -> bool:
        """Return whether it uses connections, whose channels have two ends."""
        return self.declared.world == CONNECTIONS

    def _numbers(self, what: str, make: Callable[[Size], object], size: Size, most: int = 1) -> tuple[int, ...]:
        """Return the value of a bound at a size: one number, or a tuple of several.

        Raises:
            ProtocolError: it is no such number.
        """
        try:
            value = make(size)
        except (Exception, SystemExit) as problem:
            raise failed(f"{self.name}: {what}", self.module.__file__ or "", problem) from None
        found = value if isinstance(value, tuple) and len(value) == most else (value,)
        for number in found:
            if not is_number(number) or not 1 <= number <= 200:
                raise misdeclared(self.name, ("argument", what), f"{what}(size) must be 1 to 200, not {value!r}")
        return found

    @cached_property
    def choosing(self) -> frozenset[str]:
        """Return the functions of steps that may choose of a set, in some variant: it has to have members."""
        steps = {a.function.__name__: [a.function] for a in (*self.actions, *self.changes)}
        for variant in self.variants.values():
            for name, f in variant.overrides.items():
                steps.setdefault(name, []).append(f)
        return frozenset(n for n, given in steps.items() if any("any_of" in global_names(f.__code__) for f in given))

    def alternatives(self, overrides: Mapping[str, FunctionType]) -> int:
        """Return the maximum number of alternatives of a step with a variant's functions; 1 if no step chooses."""
        modules = map(vars, (self.module, *self.beside, *self.oracle))
        return most_alternatives(modules, {name: [f] for name, f in overrides.items()})

    def check_apart(self, world: Iterable[ModuleType]) -> None:
        """Check that properties and observations, which are called by name, do not reuse names of the world's.

        Raises:
            ProtocolError: one does.
        """
        mine = {f.__name__: f for c in self.claims for f in (c.holds, c.witness)}
        mine |= {name: shown.function for name, shown in self.observations.items()}
        world = tuple(world)
        for oracle in self.oracle:
            check_oracle(self.name, oracle, world)
        steps = {f.__name__ for a in (*self.actions, *self.changes) for f in (a.function, a.when) if f is not None}
        for module in (*world, *self.oracle):
            own = [v for v in vars(module).values() if isinstance(v, FunctionType) and v.__module__ == module.__name__]
            theirs = steps if module.__name__.startswith(WORLD_OF) else set()  # which it calls on purpose
            known = {name for f in own for name in global_names(f.__code__)} - theirs | {f.__name__ for f in own}
            for name in sorted(known & mine.keys()):
                raise about(mine[name], f"the world has a {name} of its own: rename yours", self.name)

    @property
    def marked(self) -> Marked:
        """Return the marks from which the functions between it and its world follow."""
        return Marked(
            self.declared, self.actions, self.changes, self.receipts, self.hooks, self.receivers, self.choosing,
            self.initial, bool(self.deadlock) and "awaits_budget" in global_names(self.deadlock[0].holds.__code__),
        )  # fmt: skip

    def world(
        self,
        union: MessageUnion,
        down: bool,
        filled: tuple[str, ...] = (),
        start: str = "",
        fails: bool = True,
        fields: tuple[Field, ...] = (),
    ) -> ModuleType:
        """Return the module of generated functions between the protocol and its world.

        Args:
            union: its messages.
            down: whether the world tracks crashes.
            filled: the budgets to fill; by default those that the world does not know itself.
            start: the start state of runs; empty for the initial one.
            fails: whether processes with fields on disks fail; otherwise no step of the protocol spends a power loss.
            fields: its fields at the size of the model, from which clocks follow.
        """
        own = filled or tuple(name for name in self.budgets if name not in BUDGETS)
        marked = self.marked
        absent, members = () if fails else ("power_losses", "outages"), begun_with(self.declared)
        text = world_text(marked, union, down, own, start, absent, fields, members)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        file = f"<what {self.name} is to its world {digest}>"
        module = ModuleType(f"{WORLD_OF}{self.module.__name__}_{digest}")
        kept = own_names(marked, start, members)
        self.check_called(kept, union, start)
        apart = {name: key for name, key in self.apart.items() if name not in kept}
        for message in union.messages:
            vars(module)[apart.get(message.name, message.name)] = MessageName(message.name)
        exec(register_source(file, text).code, module.__dict__)
        for value in vars(module).values():
            if isinstance(value, FunctionType) and value.__globals__ is vars(module):  # not one that it imports
                vars(value)["apart"] = apart
        return module

    def check_called(self, kept: Collection[str], union: MessageUnion, start: str) -> None:
        """Check that the generated functions do not call the protocol's functions by names that they use themselves.

        Args:
            kept: the names that the generated functions use.
            union: the messages.
            start: the start state.

        Raises:
            ProtocolError: they would have to.
        """
        steps = (*self.actions, *self.changes)
        functions = [f for a in steps if a is not TICKS for f in (a.function, a.when) if f is not None]
        functions += [*self.receipts.values(), *self.marked.beginning(start)]
        hooks = {name for by_type in self.hooks.values() for name in by_type.values()}
        functions += [f for name, f in vars(self.module).items() if name in hooks]
        for f in functions:
            if f.__name__ in kept:
                raise about(f, f"the world has a {f.__name__} of its own: rename yours", self.name)
        for m in union.messages:
            if m.name in kept:
                raise ProtocolError(f"{self.name}: the world has a {m.name} of its own: rename your message")


def of_its_own(package: str) -> bool:
    """Return whether a package of this project has the text of one protocol, in several files."""
    return package.startswith("zabspec.") and package not in SHARED


def read_source(name: str) -> ProtocolSource:
    """Read the protocol with a name.

    Raises:
        ProtocolError: there is none, or its source is invalid.
    """
    read = read_file(name)
    known = _open.get(read.module.__name__)
    if known is None or known.module is not read.module:
        known = _Reader(name, read).text()
    if known.name != name:  # one file may be asked for by two names
        known = replace(known, name=name)
    _open[read.module.__name__] = known
    return known


_open: dict[str, ProtocolSource] = {}  # by the names of modules


def check_released(name: str) -> ProtocolSource:
    """Read the source of a released protocol and check it as every other one is.

    Tests do that with each release, so that no run has to.

    Raises:
        ProtocolError: its source is invalid.
    """
    found = _Reader(name, read_file(name), checked=True).text()
    usual = dict.fromkeys(BUDGETS, 1)
    replace(found, released=False).parts(Size(3, 2, 2, 4, budgets=usual))
    return found


class _Reader:
    """Reads the source of one protocol.

    Args:
        checked: check a released protocol too.
    """

    def __init__(self, name: str, read: Read, checked: bool = False) -> None:
        self.name, self.declared, self.module, self.read = name, read.declared, read.module, read
        self.checked = checked or not read.released
        self.called = called_by(self.declared.world)  # the hooks of its world
        self.check_named_modules()
        self.functions: dict[str, FunctionType] = {}
        for module in (*(sys.modules[n] for n in self.declared.extends), self.module):
            given = vars(module).items()
            self.functions |= {n: v for n, v in given if isinstance(v, FunctionType) and self.own(v)}
        if self.checked:
            self.check_marked()
        if not self.declared.shared_names:
            for n, function in self.functions.items():
                renamed = is_renamed(n, function)
                if renamed or vars(function).get("apart") is not None:  # of another protocol too: marked by use
                    self.functions[n] = vars(self.module)[n] = copied(function)
                if renamed:
                    self.functions[n].__name__ = n
        self.name_lambdas()
        self.elsewhere: dict[int, dict[str, Any]] = {}  # by the names of a module, these with copies of its functions
        self.keys: dict[int, dict[str, str]] = {}  # of these, by what they are called, their keys in a program
        self.instead: dict[str, list[FunctionType]] = {}  # what stands in, in some variant, for a function
        self.variants = self.declared_variants()
        self.sent: Sequence[Sending] = ()  # the messages that are sent, once it is checked
        self.check_variants()

    def check_marked(self) -> None:
        """Check that every function that the source marks, and every hook, is found by a name: no other would be asked.

        A module that the file imports may offer more than the file takes from it by its name.

        Raises:
            ProtocolError: one is not.
        """
        parts = [vars(part) for part in (self.module, *self.read.parts)]
        named = {id(value) for part in parts for value in part.values()} | set(map(id, self.functions.values()))
        for function in (function for part in parts for function in part.get(MARKED, ())):
            if id(function) not in named:
                said = f"{function.__name__} is marked, but at the end of the file no name means it"
                raise self.fail(function, f"{said}: mark what a `def` of the file makes, last")
        for name in self.called & vars(self.module).keys():
            if not isinstance(given := vars(self.module)[name], FunctionType):
                what = ("function" if callable(given) else "constant", name)
                raise misdeclared(self.name, what, f"{name} is a function, not of type {type(given).__name__}")

    def name_lambdas(self) -> None:
        """Make a function of the file of each lambda that says when a step is possible, or what a witness shows."""
        for function in [*self.functions.values()]:
            claim: Property | None = vars(function).get("claim")
            if claim is not None and claim.witness.__name__ == "<lambda>":
                witness = self.named_lambda(function, claim.witness, f"{function.__name__}_is_met")
                shows = ast.unparse(self.node(witness).body[0].value)  # type: ignore[attr-defined]
                vars(function)["claim"] = replace(
                    claim, witness=witness, premise=claim.premise.replace("<lambda>", shows)
                )
            for mark in ("made_action", "made_change"):
                made: Action | None = vars(function).get(mark)
                if made is None or made.when is None or made.when.__name__ != "<lambda>":
                    continue
                when = self.named_lambda(function, made.when, f"{function.__name__}_is_possible")
                vars(function)[mark] = replace(made, when=when)

    def named_lambda(self, function: FunctionType, given: FunctionType, name: str) -> FunctionType:
        """Return the function of the file that a lambda in a mark of another becomes."""
        if name in vars(self.module):
            raise self.fail(function, f"{name} is the name of its lambda: rename yours")
        self.functions[name] = vars(self.module)[name] = made = from_lambda(given, name, self.node(function))
        return made

    def check_named_modules(self) -> None:
        """Import the modules that are named, and check that they have what is taken from them."""
        declared = self.declared
        if self.module.__name__.partition(".")[0] not in OURS:  # a function could take the place of the world's
            for argument, instead in OF_OURS.items():
                if getattr(declared, argument):
                    said = f"{argument} is for protocols that come with zabcheck: {instead}"
                    raise misdeclared(self.name, ("argument", argument), said)
        variants = (declared.variants,) if isinstance(declared.variants, str) else ()
        for argument, names, has in (
            ("extends", declared.extends, ""), ("variants", variants, "VARIANTS"), ("oracle", (declared.oracle,), ""),
            ("progress", (declared.progress,), "GOALS"), ("lab_oracle", (declared.lab_oracle,), "PROTOCOL"),
        ):  # fmt: skip
            if argument in ("progress", "lab_oracle") and not self.checked:
                continue  # imported where they are wanted
            for name in filter(None, names):
                self.check_named(argument, name, has)

    def check_named(self, argument: str, name: str, has: str) -> None:
        try:
            module = self.named(name)
        except (Exception, SystemExit) as problem:
            said = f"{argument}: cannot import {name}: {type(problem).__name__}: {problem}"
            raise misdeclared(self.name, ("argument", argument), said) from None
        if has and not hasattr(module, has):
            raise misdeclared(self.name, ("argument", argument), f"{argument}: {name} has no {has}")

    def named(self, name: str) -> ModuleType:
        """Return a module that the declaration names."""
        found = self.read.named.get(name) or importlib.import_module(name)
        if isinstance(found, BaseException):
            raise found
        return found

    def own(self, function: FunctionType) -> bool:
        """Return whether a function belongs to the protocol: to its file, or one that it imports, or is marked."""
        return (
            not is_ours(function)
            or self.beside(function)
            or function.__module__ in (self.module.__name__, *self.declared.extends)
            or any(hasattr(function, mark) for mark in MARKS)
        )

    def beside(self, function: FunctionType) -> bool:
        """Return whether a function is of a module beside the source, in this project's package for the protocol."""
        package = self.module.__name__.rpartition(".")[0]
        return of_its_own(package) and function.__module__.startswith(f"{package}.")

    def fail(self, function: FunctionType, problem: str) -> ProtocolError:
        own = function.__code__.co_filename == (self.module.__file__ or "")
        return about(function, problem, self.name if own else "")

    def declared_variants(self) -> Mapping[str, Variant]:
        """Return the variants by name; for a named module, those of its list or mapping."""
        given = self.declared.variants
        if isinstance(given, str):
            named, place = self.named(given).VARIANTS, ("argument", "variants")
            if not isinstance(named, (Mapping, list, tuple)):
                raise misdeclared(self.name, place, f"variants: VARIANTS of {given} must be a list of Variant(...)")
            given = tuple(named.values() if isinstance(named, Mapping) else named)
        for variant in given:
            at: tuple[str, ...] = ("argument", "variants")
            if not isinstance(variant, Variant):
                raise misdeclared(self.name, at, f"variants must be Variant(...), and {variant!r} is not")
            if not isinstance(variant.name, str) or not re.fullmatch(r"[\w.+-]+", variant.name):
                raise misdeclared(self.name, at, f"a variant's name is a word, and {variant.name!r} is not")
            if not isinstance(overrides := vars(variant)["overrides"], Mapping):
                said = f'variant {variant.name}: overrides is {{"function": its replacement}}, not {overrides!r}'
                raise misdeclared(self.name, ("variant", variant.name), said)
        self.stood = {stood for v in given for stood in v.overrides}
        out: dict[str, Variant] = {}
        for variant in given:
            if variant.name in out:
                said = f"two variants are called {variant.name}"
                raise misdeclared(self.name, ("variant", variant.name), said)
            stand_in = {stood: self.apart_here(f) for stood, f in variant.overrides.items()}
            out[variant.name] = variant if self.declared.shared_names else replace(variant, overrides=stand_in)
        return out

    def apart_here(self, function: Any) -> Any:
        """Return an overriding function as this source means it.

        A function of a module that others may name too is copied, with copies of the functions there that it may call.
        All these keep their own names, whatever the source, or its world, calls its functions.
        """
        if not isinstance(function, FunctionType) or function.__globals__ is vars(self.module):
            return function
        if self.beside(function):  # of the same text: another variant may stand in for what it calls
            return function
        given = function.__globals__
        if id(given) not in self.elsewhere:
            made = dict(given)
            keys = {}
            for name, value in given.items():
                helper = isinstance(value, FunctionType) and value.__module__ == function.__module__
                if name.startswith("__") or not (helper or is_value(value)):
                    continue
                if name in self.stood:  # some variant stands in for it, wherever it is called
                    continue
                keys[name] = f"{name}__elsewhere_{len(self.elsewhere)}"
                made[name] = copied(value, made) if helper else value
            self.elsewhere[id(given)] = made
            self.keys[id(made)] = keys
        made = self.elsewhere[id(given)]
        found = made.get(function.__name__)
        if not isinstance(found, FunctionType) or found.__code__ is not function.__code__:
            return copied(function, made)
        return found

    def check_variants(self) -> None:
        for variant in self.variants.values():
            for stood, function in variant.overrides.items():
                self.instead.setdefault(stood, []).append(function)
                if not self.checked:
                    continue
                what = f"variant {variant.name}"
                if not isinstance(function, FunctionType):
                    raise misdeclared(
                        self.name, ("variant", variant.name), f"{what}: the replacement of {stood} is not a function"
                    )
                if stood not in self.functions and stood not in self.called:
                    raise self.fail(function, f"{what}: there is no function {stood} to replace")
                claim = getattr(self.functions.get(stood), "claim", None)
                if stood == "starts_at_once" and "is_down" in self.functions:
                    raise self.fail(function, f"{what}: {NOT_ASKED}")
                if stood == "is_down" and stood not in self.functions:
                    raise self.fail(function, f"{what}: there is no function is_down: the world keeps who is down")
                if claim is not None:
                    raise self.fail(
                        function, f"{what} changes the property {claim.name}, not the protocol that it checks"
                    )
                self.check_signature(what, stood, function)

    def check_signature(self, what: str, stood: str, function: FunctionType) -> None:
        """Check that a variant's function has the parameters and the result of the one that it overrides.

        Raises:
            ProtocolError: it has not.
        """
        original = self.functions.get(stood) or vars(actor)[stood]
        signatures = [(self.annotations(f), self.returned(f) or "None") for f in (original, function)]
        if signatures[0] != signatures[1]:
            wanted, given = (f"({', '.join(kinds)}) -> {returns}" for kinds, returns in signatures)
            said = f"{function.__name__} is {given}, but {stood}, which it replaces, is {wanted}"
            raise self.fail(function, f"{what}: {said}: make them alike")

    def text(self) -> ProtocolSource:
        if self.checked:
            check_declared_roles(self.name, self.declared, self.functions)
        given = self.functions.values()
        actions = tuple(replace(f.made_action, role=self.role_of(f)) for f in given if hasattr(f, "made_action"))
        changes = tuple(f.made_change for f in given if hasattr(f, "made_change"))
        source = path_of(self.name).name if is_file(self.name) else self.name
        claims = tuple(replace(f.claim, source=source) for f in given if hasattr(f, "claim"))
        goals = tuple(
            replace(f.progress_property, source=source, role=self.role_of(f))
            for f in given
            if hasattr(f, "progress_property")
        )
        observations = tuple(f for f in given if hasattr(f, "observes"))
        receipts = self.receipts()
        initial = self.initial()
        marked = Marked(self.declared, actions, changes, receipts, initial=initial)
        unheard = self.check(marked, claims, goals, observations) if self.checked else ""
        kinds = {s.kind for s in self.sent}
        apart = self.apart(claims, observations)
        self.mark_apart(apart)
        handlers = self.handlers(marked, observations)
        names = frozenset(vars(f).get("apart", apart).get(f.__name__, f.__name__) for f in handlers)
        names |= {n for n in self.instead if n in ACTING & self.called}  # hooks that a variant alone says
        for a in (*actions, *changes):
            vars(a.function).setdefault("paper_step", a.name)
        if self.declared.drift is not None:
            actions += (TICKS,)
        shown = {f.__name__: self.observation(f) for f in observations}
        claims, through, quantified, deadlock = self.made_claims(claims, apart)
        return ProtocolSource(
            self.name, self.declared, self.module, self.read.digest, meanings_of(self.module), names, apart, actions,
            changes, receipts, shown, claims, through, quantified, self.elects_by_choice(), goals, unheard,
            self.variants, "is_down" in self.functions,
            {kind: frozenset(s.to for s in self.sent if s.kind == kind) for kind in kinds},
            self.hooks, {kind: role for kind, f in receipts.items() if (role := self.role_of(f))},
            self.all_functions if self.roles else (), *self.asked_of_clocks(),
            tuple(self.reached(f for n, f in self.functions.items() if n in self.starting)),
            tuple(self.named(name) for name in (self.declared.oracle,) if name), self.read.released, initial,
            deadlock,
        )  # fmt: skip

    def mark_apart(self, apart: Mapping[str, str]) -> None:
        """Mark every function with the names that have a meaning of their own in its source."""
        for function in self.all_functions:
            keys = self.keys.get(id(function.__globals__))
            vars(function)["apart"] = apart if keys is None else {**apart, **keys}
            if keys is not None:
                there = {keys[name]: function.__globals__[name] for name in keys}
                for value in there.values():
                    if isinstance(value, FunctionType):
                        vars(value)["apart"] = vars(function)["apart"]
                vars(function)["beside"] = there

    def role_of(self, function: FunctionType) -> str:
        """Return the type of the role whose processes a function is for; empty if it is for all."""
        kinds = self.annotations(function) if self.roles else []
        return kinds[1] if len(kinds) > 1 and kinds[1] in self.roles else ""

    @property
    def all_functions(self) -> tuple[FunctionType, ...]:
        """Return the functions of the source and of variants."""
        return tuple(dict.fromkeys((*self.functions.values(), *chain.from_iterable(self.instead.values()))))

    def asked_of_clocks(self) -> tuple[frozenset[str], SourcePlace | None]:
        """Return the fields that functions assign to, and where one reads how far clocks are ahead.

        Without clocks both are empty.
        """
        if self.declared.drift is None:
            return frozenset(), None
        assigned: set[str] = set()
        asks: SourcePlace | None = None
        for f in self.all_functions:
            for part in ast.walk(self.node(f)):
                match part:
                    case ast.Subscript(value=ast.Attribute(attr=name), ctx=ast.Store()):
                        assigned.add(name)
                    case ast.Attribute(attr=name) if name == AHEAD and asks is None:
                        asks = SourcePlace(f.__code__.co_filename, part.lineno)
        return frozenset(assigned), asks

    @property
    def starting(self) -> frozenset[str]:
        """Return the names of the functions that run for every process initially."""
        return frozenset({"on_start", *self.hooks.get("on_start", {}).values()})

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """Return the roles by the names of their types."""
        return {type_name(role): role for role in self.declared.roles}

    @cached_property
    def hooks(self) -> Mapping[str, Mapping[str, str]]:
        """Return the hooks of the world for which roles have functions, each with these functions by role type."""
        out: dict[str, dict[str, str]] = {}
        for hook, (more, _) in BY_ROLE.items():
            for kind, role in self.roles.items():
                function = self.functions.get(f"{hook}_{role}")
                if function is None:
                    continue
                if self.annotations(function) != ["State", kind, *(["int"] if more else [])]:
                    raise self.fail(
                        function, f"{function.__name__} takes (s: State, p: {kind}{', timer: int' if more else ''})"
                    )
                if hook in self.functions:
                    raise self.fail(
                        self.functions[hook], f"{hook} is for all processes, but {function.__name__} only for some"
                    )
                out.setdefault(hook, {})[kind] = function.__name__
        return out

    def doing(self, names: Iterable[str]) -> list[FunctionType]:
        """Return the functions of some names, with those that stand in for them in some variant."""
        given = ((self.functions.get(name), *self.instead.get(name, ())) for name in names)
        return [f for of_name in given for f in of_name if f is not None]

    def acting(self, marked: Marked) -> list[FunctionType]:
        """Return the functions that the world calls for a process that acts."""
        by_role = [name for functions in self.hooks.values() for name in functions.values()]
        roots = self.doing([*sorted(ACTING & self.called), *by_role])
        return [*roots, *marked.receipts.values(), *(a.function for a in marked.actions)]

    def handlers(self, marked: Marked, observations: Iterable[FunctionType]) -> list[FunctionType]:
        """Return the functions that act for a process, and what they call."""
        if self.declared.shared_names:  # modules of its world may call any of them
            return [*self.functions.values(), *self.helpers.values()]
        only_shown = set(self.reached(observations))
        found = self.reached([*self.acting(marked), *(a.when for a in marked.actions if a.when is not None)])
        return [f for f in found if f not in only_shown]

    def check(
        self,
        marked: Marked,
        claims: Sequence[Property],
        goals: Sequence[ProgressProperty],
        observations: Sequence[FunctionType],
    ) -> str:
        """Check what functions are marked as, and mark each with what it may write.

        Returns:
            The sentence about a message that nothing receives; empty if there is none.
        """
        actions, changes = marked.actions, marked.changes
        starts = [*filter(None, [marked.initial]), *(s.function for s in self.declared.starts)]
        self.check_own_words()
        self.check_hooks()
        check_world(self.name, self.declared, self.functions)
        check_amounts(self.name, self.declared, (name for name, b in BUDGETS.items() if self.declared.world in b.usual))
        self.check_actions(actions, changes)
        check_drift(self.name, self.declared, actions)
        check_membership(self.name, self.declared, actions, self.functions)
        self.check_claims(claims)
        self.check_goals(goals)
        for f in starts:
            if self.annotations(f) != ["State"]:
                raise self.fail(f, "what a run begins with takes (s: State)")
        if {"is_down", "starts_at_once"} <= self.functions.keys():
            raise self.fail(self.functions["starts_at_once"], NOT_ASKED)
        steps = (f for a in (*actions, *changes) for f in (a.function, a.when) if f is not None)
        judging = [*(f for c in claims for f in (c.holds, c.witness)), *(g.waits for g in goals), *self.finals]
        for f in (*marked.receipts.values(), *steps, *judging, *observations, *starts):
            self.check_itself(f)
        roots = self.acting(marked)
        looks = [a.when for a in (*actions, *changes) if a.when is not None]
        looks += self.doing([*sorted(LOOKING & self.called), *self.hooks.get("timer_armed", {}).values()])
        may_write = {Role.PERSISTENT, Role.VOLATILE, Role.SHARED}
        for functions, roles in (
            (self.reached(roots), may_write),
            (self.reached(a.function for a in changes if not a.everywhere), {Role.ENVIRONMENT, Role.SHARED}),
            (self.reached(a.function for a in changes if a.everywhere), {Role.ENVIRONMENT, *may_write}),
            (self.reached(observations), {Role.GHOST}),
            (self.reached(starts), {Role.ENVIRONMENT, Role.GHOST, *may_write}),
            (self.reached([*looks, *judging]), set()),
        ):
            here = [f for f in functions if f.__module__ not in self.declared.extends]
            check_own_names(here)
            check_one_meaning(self.name, self.module, here, self.keys)
            for f in functions:
                vars(f)["writes"] = frozenset(roles) & vars(f).get("writes", frozenset(roles))
        for f in self.reached(f for a in changes for f in (a.function, a.when) if f is not None):
            vars(f)["surroundings"] = True
        for f in self.reached(starts):
            vars(f)["begins"] = True
        return self.unheard([*roots, *(a.function for a in changes), *starts], marked.receipts)

    def initial(self) -> FunctionType | None:
        """Return the function with which every run begins; None if there is none."""
        found = [f for f in self.functions.values() if hasattr(f, "begins_runs")]
        if len(found) > 1:
            raise self.fail(found[1], f"runs begin with {found[0].__name__} already: write one function @initial")
        return found[0] if found else None

    @cached_property
    def finals(self) -> Mapping[FunctionType, str]:
        """Return the functions that say where runs may end: of a role or `Node`, or of a state (nothing).

        Raises:
            ProtocolError: one has other parameters.
        """
        out: dict[FunctionType, str] = {}
        for f in self.functions.values():
            if hasattr(f, "ends_runs"):
                given = self.annotations(f)
                known = (["State"], *(["State", kind] for kind in ("Node", *self.roles)))
                if given not in known or self.returned(f) != "bool":
                    raise self.fail(f, "where a run may end is (s: State) -> bool, or (s: State, p: Node) -> bool")
                out[f] = "".join(given[1:])
        return out

    @cached_property
    def helpers(self) -> dict[str, FunctionType]:
        """Return the functions beside those of variants, in modules of their own."""
        out: dict[str, FunctionType] = {}
        for function in chain.from_iterable(self.instead.values()):
            for name, value in function.__globals__.items():
                if isinstance(value, FunctionType) and value.__module__ == function.__module__:
                    out.setdefault(name, value)
        return out

    def elects_by_choice(self) -> str:
        """Return where a handler of an election chooses; empty if none does.

        In such a step the other processes continue when one has failed, and their choices then would not be told apart.
        """
        parts = ("on_elected", "on_follow") if self.declared.elects else ()
        for f in self.reached(self.doing(parts)):
            if not CHOICES.isdisjoint(global_names(f.__code__)):
                return f"{self.name}:{f.__code__.co_firstlineno}: {f.__name__}"
        return ""

    def apart(self, claims: Iterable[Property], observations: Iterable[FunctionType]) -> dict[str, str]:
        """Return the names with a meaning of their own in the source.

        They are its constants, its messages, and its functions except those that are called by name from elsewhere.
        """
        if self.declared.shared_names:
            return {}
        called = {f.__name__ for f in observations} | {f.__name__ for c in claims for f in (c.holds, c.witness)}
        out = {}
        for name, value in vars(self.module).items():
            function = isinstance(value, FunctionType) and self.own(value)
            if (function and name not in called | self.called) or is_value(value):
                out[name] = f"{name}{OWN}"
        return out

    def made_claims(
        self, claims: Iterable[Property], apart: Mapping[str, str]
    ) -> tuple[tuple[Property, ...], dict[str, str], ModuleType, tuple[Property, ...]]:
        """Return the properties with messages in a form that quantifies over all messages in flight, and deadlock.

        Returns:
            The properties; the generated functions, each with the property that it evaluates; their module; and the
            property that no run ends in a deadlock, if it is known where a run may end.
        """
        texts = {
            c.holds: every_message(c.holds, self.annotations(c.holds)[1:]) for c in claims if asks_of_messages(c.holds)
        }
        ends = {f.__name__: whose for f, whose in self.finals.items()}
        asked = bool(ends) or (self.declared.world != CONNECTIONS and not self.declared.transactions)
        if self.declared.deadlock and not asked:
            raise misdeclared(self.name, ("argument", "deadlock"), f"deadlock=True: {ENDS}")
        head = [
            "from __future__ import annotations",
        ]
        head += ["from zabspec.language.python.lang import processes"] if asked else []
        text = "\n\n\n".join([*head, *texts.values(), *([no_deadlock(ends)] if asked else [])]) + "\n"
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        file = f"<what {self.name} claims of messages {digest}>"
        module = ModuleType(f"claims_of_{self.module.__name__}_{digest}")
        exec(register_source(file, text).code, module.__dict__)
        made = {f: vars(module)[name_of_every(f)] for f in texts}
        for function, every in made.items():
            every.__doc__ = function.__doc__
            vars(every)["apart"] = apart
        out = [replace(c, holds=made.get(c.holds, c.holds), witness=made.get(c.witness, c.witness)) for c in claims]
        through = {e.__name__: apart.get(f.__name__, f.__name__) for f, e in made.items()}
        if not asked:
            return tuple(out), through, module, ()
        deadlock = vars(module)[DEADLOCK]
        where = " and ".join(ends) if ends else "a step waits for its budget alone"
        deadlock.__doc__ = f"No step is possible only where {where}."
        vars(deadlock)["apart"] = apart
        default = self.declared.deadlock
        found = Property(DEADLOCK, TERMINAL, BUILT_IN, "any state", deadlock, deadlock, default=default)
        return tuple(out), through, module, (found,)

    # --- what it may not say ----------------------------------------------------------------------

    def check_own_words(self) -> None:
        for name, value in vars(self.module).items():
            base = next((name.removesuffix(end) for end in MADE if name.endswith(end)), "")
            if base in vars(self.module):
                at = value if isinstance(value, FunctionType) else self.functions.get(base)
                said = f"{name} is the name of what is made of {base}: rename it"
                raise self.fail(at, said) if at is not None else misdeclared(self.name, ("constant", name), said)
            if isinstance(value, RecordName) and not name[0].isupper():  # such names have our and Python's functions
                said = f"a record has a name with a capital letter first: rename {name}"
                raise misdeclared(self.name, ("class", name), said)
            ours = isinstance(value, FunctionType) and value.__module__ == "zabspec.language.python.lang"
            words = OWN_WORDS | WORDS_OF_ROLES if self.declared.roles else OWN_WORDS
            if isinstance(value, (FunctionType, int)) and name in words and not ours:
                said = f"{name} is a word of the language: rename it"
                if isinstance(value, FunctionType):
                    raise self.fail(value, said)
                raise misdeclared(self.name, ("constant", name), said)

    def check_itself(self, function: FunctionType) -> None:
        """Check that a marked function is found under its name, by which it is called.

        Raises:
            ProtocolError: it is not.
        """
        name = function.__name__
        if self.functions.get(name) is not function:
            said = f"{name} is another function at the end of the file: redefined, wrapped, or renamed"
            if name not in vars(self.module) and function.__module__ != self.module.__name__:
                said = f"{name} is not imported into {self.name}, which uses what names it: import it there too"
            raise self.fail(function, said)

    def check_actions(self, actions: Sequence[Action], changes: Sequence[Action]) -> None:
        for kind, every, wanted in (
            ("an action takes (s: State, p: Node)", actions, ["State", "Node"]),
            ("a step of the environment takes (s: State)", changes, ["State"]),
        ):
            names: set[str] = set()
            for a in every:
                for function in (a.function, a.when):
                    if function is None or (given := self.without_role(function, a.role)) == wanted:
                        continue
                    chosen = ": to choose another process, use q = any_of(s, {q for q in ... if ...})"
                    more = chosen if given[:2] == wanted else ""
                    raise self.fail(function, f"{kind}, and so does its `when`{more}")
                if a.budget and a.budget not in self.declared.budgets:
                    said = f"declare(..., budgets={{{a.budget!r}: 1}}) sets its amount"
                    raise self.fail(a.function, f"{a.name} spends {a.budget!r}, which is not a budget: {said}")
                if a.name in names:
                    raise self.fail(a.function, f"two steps are called {a.name}")
                names.add(a.name)
        spent = {*BUDGETS, *(a.budget for a in (*actions, *changes)), *([ELECTIONS] if self.declared.elects else [])}
        for budget in self.declared.budgets.keys() - spent:
            said = f"no step spends {budget}; what sizes a model is a parameter of State"
            raise misdeclared(self.name, ("budget", budget), f'{said}: {budget.upper()}: int = parameter("...", 1)')

    def without_role(self, function: FunctionType, role: str) -> list[str]:
        """Return the types of a function's parameters, with `Node` for an acting process of the given role."""
        kinds = self.annotations(function)
        return [*kinds[:1], "Node", *kinds[2:]] if kinds[1:2] == [role] else kinds

    def check_hooks(self) -> None:
        """Check that the hooks that the world calls for every process, or message, accept every one."""
        for name in self.called & self.functions.keys():
            takes = {k: kind for k, kind in vars(actor)[name].__annotations__.items() if k != "return"}
            asked, every = self.annotations(self.functions[name]), "AnyMessage"
            if len(asked) != len(takes) or (every in takes.values() and asked[-1] != every):
                wanted = ", ".join(f"{k}: {kind}" for k, kind in takes.items())
                raise self.fail(self.functions[name], f"{name} takes ({wanted})")
            if role := self.roles.get(self.role_of(self.functions[name])):
                instead = f": call it {name}_{role}" if name in BY_ROLE else ""
                raise self.fail(self.functions[name], f"{name} is of all processes, (s: State, p: Node){instead}")

    def check_claims(self, claims: Iterable[Property]) -> None:
        names: set[str] = set()
        for c in claims:
            wanted = ["State"] * (3 if c.of == "step" else 1)
            for function in dict.fromkeys((c.holds, c.witness)):
                asked = self.annotations(function)
                if function is c.holds and c.of == "state" and len(asked) > 1 and self.are_messages(asked[1:]):
                    asked = asked[:1]
                over = self.declared.world
                if function is c.holds and over == CONNECTIONS and asks_of_messages(function):
                    raise self.fail(function, f"a property can only read messages in flight over datagrams, not {over}")
                if asked != wanted or self.returned(function) != "bool":
                    said = "(before: State, event: State, after: State)" if len(wanted) == 3 else "(s: State)"
                    messages = f" (or {said[:-1]}, m: MESSAGE, ...) of those in flight)" if c.of == "state" else ""
                    said = f"a property over {c.of} is {said} -> bool{messages}, and so is its witness"
                    raise self.fail(function, said)
            if not (c.holds.__doc__ or "").strip():
                raise self.fail(c.holds, f"{c.name} has {NO_DOCSTRING}: it must state the property in words")
            if c.name in names:
                raise self.fail(c.holds, f"two properties are called {c.name}")
            if c.name in OF_ALL or c.holds.__name__ == DEADLOCK:
                raise self.fail(c.holds, f"{c.name} is built in: rename yours")
            names.add(c.name)

    def check_goals(self, goals: Iterable[ProgressProperty]) -> None:
        for g in goals:
            asked, over = self.annotations(g.waits), self.declared.world == CONNECTIONS
            taken = [["State", kind] for kind in ("Node", *self.roles)] + ([["State", "Node", "Node"]] if over else [])
            if asked not in taken or self.returned(g.waits) != "bool":
                more = ", or (s: State, p: Node, named: Node) -> bool" if over else ""
                more = f", or p: {', p: '.join(self.roles)}" if self.roles else more
                raise self.fail(g.waits, f"a progress property is (s: State, p: Node) -> bool{more}")
            if not (g.waits.__doc__ or "").strip():
                raise self.fail(g.waits, f"{g.name} has {NO_DOCSTRING}: it must state in words what is awaited")

    def are_messages(self, names: Iterable[str]) -> bool:
        """Return whether these are kinds of message."""
        known = vars(self.module)
        return all(name == "AnyMessage" or isinstance(known.get(name), MessageName) for name in names)

    def receipts(self) -> dict[str, FunctionType]:
        """Return the function that receives each kind of message."""
        out: dict[str, FunctionType] = {}
        for function in self.functions.values():
            if not hasattr(function, "receives"):
                continue
            kinds = self.annotations(function)
            of = ("Node", *self.roles)
            ours = kinds[:1] == ["State"] and kinds[1:2] and kinds[1] in of
            if not ours or len(kinds) not in (3, 4) or (len(kinds) == 4 and kinds[2] not in of):
                raise self.fail(function, "a receiving function takes (s: State, p: Node, source: Node, m: MESSAGE)")
            if not kinds[-1]:
                raise self.fail(
                    function, "the last parameter of a receiving function, the message, has no type: m: MESSAGE"
                )
            if kinds[-1] in out:
                raise self.fail(function, f"{kinds[-1]} is already received by {out[kinds[-1]].__name__}")
            out[kinds[-1]] = function
        if out and self.declared.world != CONNECTIONS and "on_message" in self.functions:
            raise self.fail(
                self.functions["on_message"], "on_message receives all messages, so no other function may receive one"
            )
        return out

    def unheard(self, roots: Sequence[FunctionType], receipts: Mapping[str, FunctionType]) -> str:
        """Return the sentence about a message that is sent and never received; empty if there is none.

        Raises:
            ProtocolError: a message is declared ignored but received.
        """
        ignored = self.declared.ignored
        for name in ignored:
            if name in receipts:
                raise self.fail(receipts[name], f"{name} is received here, but declared ignored")
        acting = self.reached(roots)
        hooks = {name: [taken(self.node(f)) for f in self.doing([name])] for name in TAKES_ALL.values()}
        self.sent = sendings(acting, self.node, self.instead, roots)
        for sent in unreceived(self.sent, self.declared.world, receipts, hooks):
            if sent.kind in ignored:
                continue
            says = f'write @receives for it, or declare(..., ignored=("{sent.kind}",))'
            where = self.fail(sent.function, "").args[0].rpartition(":")[0].rpartition(":")[0]
            nobody = f"no{sent.to.removeprefix('a')}" if sent.to != ANY else "nothing"
            return f"{where}:{sent.line}: {sent.function.__name__} sends {sent.kind}, which {nobody} receives: {says}"
        return ""

    def observation(self, function: FunctionType) -> ObservationKind:
        """Return the description of an observation.

        Raises:
            ProtocolError: its signature is invalid.
        """
        kinds = ["Node" if kind in self.roles else kind for kind in self.annotations(function)]
        given = [a.arg for a in self.node(function).args.args]
        if kinds[:1] != ["State"] or not set(kinds[1:]) <= set(OBSERVED_KINDS) or self.returned(function) != "None":
            said = "(s: State, ...) -> None, of processes (Node), numbers (int) and truth values (bool)"
            raise self.fail(function, f"an observation is {said}")
        acts = given[1] if kinds[1:2] == ["Node"] else ""
        vars(function)["acts"] = acts
        shown, read_as = dict(zip(given[1:], kinds[1:], strict=True)), vars(function)["read_as"]
        for name in read_as:
            if shown.get(name) != "int":
                raise self.fail(
                    function,
                    f"@observation({name}=...) declares how a number is read, but there is no number of that name",
                )
        return ObservationKind(function, acts, shown, read_as)

    # --- its syntax -------------------------------------------------------------------------------

    def node(self, function: FunctionType) -> ast.FunctionDef:
        try:
            return definition(function)
        except LanguageError as problem:
            raise ProtocolError(str(problem)) from None

    def annotations(self, function: FunctionType) -> list[str]:
        """Return the types of a function's parameters, as written."""
        return [annotated(a.annotation) for a in self.node(function).args.args]

    def returned(self, function: FunctionType) -> str:
        return annotated(self.node(function).returns)

    def reached(self, roots: Iterable[FunctionType]) -> list[FunctionType]:
        """Return functions of the source, with those that they call."""
        found: list[FunctionType] = []
        ahead = list(roots)
        while ahead:
            function = ahead.pop()
            if function in found:
                continue
            found.append(function)
            ahead += self.instead.get(function.__name__, [])
            elsewhere = self.keys.get(id(function.__globals__), {})
            for name in global_names(function.__code__):
                called = self.functions.get(name, self.helpers.get(name))
                if name in elsewhere:
                    called = value if isinstance(value := function.__globals__[name], FunctionType) else None
                if called is not None and not hasattr(called, "observes"):
                    ahead.append(called)
        return found


def is_renamed(name: str, function: FunctionType) -> bool:
    """Return whether a name means a function that is defined under another one (`from helper import f as name`).

    A program calls functions by their names. A function that a wrapper returned does not count: the names that it
    closes over have no keys.
    """
    return function.__name__ not in (name, "<lambda>") and function.__closure__ is None


def copied(function: FunctionType, names: dict[str, Any] | None = None) -> FunctionType:
    """Copy a function, with only the marks of its own file.

    Args:
        function: the function.
        names: its global names; by default the function's own.
    """
    known = function.__globals__ if names is None else names
    made = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    made.__module__, made.__annotations__ = function.__module__, function.__annotations__
    found = ("apart", "writes", "surroundings", "begins")
    vars(made).update({k: v for k, v in vars(function).items() if k not in found})
    return made
