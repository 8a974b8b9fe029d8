"""Refuse what a user protocol may not contain, before anything is made of it.

This covers names that mean two things, and impossible kinds and budgets. Each is refused in one sentence, with file and
line where there is one.
"""

from __future__ import annotations

import ast
import keyword
import os
import re
from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from zabspec.authoring.declaration import Declaration, ProtocolError, Start
from zabspec.authoring.places import about, misdeclared
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.diagnostics import place_at
from zabspec.language.layout.kinds import Int, Kind, Message, NodeId, Record, Seq, SetOf
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.lang import MessageName, RecordName
from zabspec.language.python.meanings import constant, described, is_enumeration, is_number, is_value
from zabspec.language.python.reference import MessageView, RecordValue, StateView
from zabspec.roles import MOST_PROCESSES, type_name
from zabspec.worlds.actor import LEADING
from zabspec.worlds.steps import BUDGETS, CONNECTIONS, DATAGRAMS

WORLDS = (DATAGRAMS, CONNECTIONS)

OURS = frozenset({"zabspec", "zabcheck", "checker", "traces", "invariants"})

# The names of a configuration's constants other than its budgets: `s.NODES` and the like.
CONSTANTS = frozenset(
    {
        "nodes",
        "txns",
        "epochs",
        "majority",
        "network",
        "up",
        "down",
        "flight",
        "literal",
        "actions",
        "changes",
        "images",
        "elects",
    }
)
# What worlds call their own fields: traces, pictures and replay know these by their names, whatever the world.
OF_WORLDS = frozenset(
    {"link", "to_leader", "to_follower", "stale", "in_flight", "in_line", "crashed", *(f"{b}_left" for b in BUDGETS)}
)
SIMULATED = "sim_"  # how the names of fields of a simulated run begin, beside the protocol's
OTHER_FLAGS = frozenset({"--txns", "--max-epoch", "--channel", "--nodes"})  # that ranges follow from, too
TWICE = "it is declared twice"
MOST_OF_BUDGET, MOST_OF_WORLDS = 255, 15
MOST_BITS = 63
MOST_NODE_AXES = (2, 1)  # what blocks of a state are repeated by; of those of what was observed
INSTEAD = ("counting its own process: keep sets in it", "as it is a ghost: keep a set of processes for each")
OF_MODULES = ("__getattr__", "__dir__")  # functions that Python calls in a module
NO_ROLE = frozenset({"node", "p", "nobody"})  # names that say something of every process


def is_ours(function: FunctionType) -> bool:
    """Return whether a function is zabcheck's, and not a user protocol's, which may have any `__module__`."""
    return function.__module__.partition(".")[0] in OURS and is_own_file(function.__code__.co_filename)


# --- names ----------------------------------------------------------------------------------------


def check_texts(name: str, tree: ast.Module) -> None:
    """Check the names of a source's functions, classes, fields and parameters.

    Of two functions or classes with one name, or two fields of a class, only the second would exist.

    Raises:
        ProtocolError: two have one name, or a name is not of ASCII, or begins as Python's own do.
    """

    def fail(node: ast.stmt | ast.arg, problem: str) -> ProtocolError:
        return ProtocolError(f"{name}:{node.lineno}: {problem}", place_at(os.path.abspath(name), node))

    for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))):
        seen: dict[str, int] = {}
        for node in body:
            match node:
                case ast.FunctionDef(name=known) | ast.ClassDef(name=known) | ast.AnnAssign(target=ast.Name(id=known)):
                    if known in seen:
                        raise fail(node, f"{known} is defined in line {seen[known]} already")
                    own = isinstance(node, ast.AnnAssign) or (body is tree.body and known not in OF_MODULES)
                    if known.startswith("__") and own:
                        raise fail(node, f"{known} begins with __ as names of Python's own do: rename it")
                    seen[known] = node.lineno
    for part in ast.walk(tree):
        called = part.name if isinstance(part, ast.FunctionDef) else part.arg if isinstance(part, ast.arg) else ""
        if isinstance(part, (ast.FunctionDef, ast.arg)) and not called.isascii():
            raise fail(part, f"{called} has other letters than those of ASCII: rename it")


def meanings_of(module: ModuleType) -> dict[str, object]:
    """Return what functions can read in a module by a global name."""
    given = {name: value for name, value in vars(module).items() if not name.startswith("__")}
    return {name: value for name, value in given.items() if isinstance(value, FunctionType) or is_meant(value)}


def check_oracle(name: str, oracle: ModuleType, world: Iterable[ModuleType]) -> None:
    """Check that an oracle module that overrides the world does not reuse a name of the world's.

    Raises:
        ProtocolError: it does, so that one of the two meanings would be lost.
    """
    if oracle.__name__.partition(".")[0] in OURS:
        return
    for module in world:
        for given, value in vars(oracle).items():
            there = vars(module).get(given, value)
            imported = isinstance(value, FunctionType) and is_ours(value)
            if given == "oracle_may_name" or given.startswith("__") or imported:
                continue
            if isinstance(value, (FunctionType, int)) and isinstance(there, (FunctionType, int)) and there != value:
                said = f"oracle: {oracle.__name__} has a {given}, and so has the world: rename it"
                raise misdeclared(name, ("argument", "oracle"), said)


def check_kept(name: str, module: ModuleType, read: Mapping[str, object]) -> None:
    """Check that the names of a protocol have kept their meanings since the source was read.

    Raises:
        ProtocolError: one has changed.
    """
    for known, value in read.items():
        now = vars(module).get(known)
        if now is not value and not is_alike(now, value):
            said = f"{known} was {described(value)} when the file was read, and is {described(now)} now"
            raise misdeclared(
                name, ("constant", known), f"{said}: a value that depends on a size must be a field or a parameter"
            )


def check_one_meaning(
    name: str, module: ModuleType, functions: Iterable[FunctionType], keys: Mapping[int, Mapping[str, str]]
) -> None:
    """Check that functions of other modules mean the same by their names as the protocol does.

    A program has one meaning for each name.

    Args:
        keys: by the id of a module's globals, the names that are kept apart.

    Raises:
        ProtocolError: a name has two meanings.
    """
    for function in functions:
        theirs = function.__globals__
        if theirs is vars(module):
            continue
        for read in sorted(global_names(function.__code__)):
            if read in keys.get(id(theirs), ()):
                continue
            here, there = vars(module).get(read), theirs.get(read)
            if here is None and isinstance(there, FunctionType) and not is_ours(there):
                said = f"{function.__name__} calls {read}, which {name} does not import: import it there too"
                raise about(function, said)
            if here is None or here is there or not (isinstance(there, FunctionType | RecordName) or is_meant(there)):
                continue
            if not is_alike(here, there):
                raise about(function, f"{function.__name__} means another {read} than {name} does: rename one")


def is_meant(value: object) -> bool:
    """Return whether functions can read a value by a global name, or its members."""
    return is_value(value) or is_enumeration(value)


def is_alike(here: object, there: object) -> bool:
    """Return whether two values of a name are the same to a program."""
    match here, there:
        case FunctionType(), FunctionType():  # of which one may be a copy that has the name it was imported by
            return (here.__code__, here.__closure__) == (there.__code__, None) and here.__globals__ is there.__globals__
        case MessageName() | RecordName() | type(), _:
            return False
        case range() | tuple(), range() | tuple():
            return [(type(v), v) for v in (type(here), *here)] == [(type(v), v) for v in (type(there), *there)]
    return constant(here) is not None and (type(here), here) == (type(there), there)


def check_own_names(functions: Iterable[FunctionType]) -> None:
    """Check that functions call what the language provides by its own name.

    By another name they would call the placeholders in zabcheck's files, which do nothing.

    Raises:
        ProtocolError: one does not.
    """
    for function in functions:
        for read in sorted(global_names(function.__code__)):
            value = function.__globals__.get(read)
            if isinstance(value, FunctionType) and is_ours(value) and value.__name__ != read:
                said = f"{function.__name__} calls {value.__name__} as {read}: import it by its own name"
                raise about(function, said)


# --- amounts, fields and messages -----------------------------------------------------------------


def check_amounts(name: str, declared: Declaration, worlds: Iterable[str]) -> None:
    """Check the budgets and parameters that a protocol declares.

    Raises:
        ProtocolError: the name or amount of one is invalid.
    """
    for what in ("nodes", "unforced"):
        if not is_number(given := getattr(declared, what)):
            raise misdeclared(name, ("argument", what), f"{what} is an integer, not {described(given)}")
    there = set(worlds)
    for budget in declared.budgets:
        at = ("budget", budget)
        if not isinstance(budget, str) or not budget.isidentifier() or budget != budget.lower():
            raise misdeclared(name, at, f"a budget is called by one word in small letters, not {budget!r}")
        if budget in CONSTANTS:
            said = f"s.{budget.upper()} is a constant already: call budget {budget} something else"
            raise misdeclared(name, at, said)
        if budget in BUDGETS and budget not in there:
            said = f"the world of this protocol has no {budget}: rename the budget"
            raise misdeclared(name, at, said)
    for known in {*CONSTANTS, *BUDGETS, *declared.budgets} & declared.parameters.keys():
        said = f"s.{known.upper()} is a constant already: call parameter {known.upper()} something else"
        raise misdeclared(name, ("parameter", known), said)
    for what, amounts in (("budget", declared.budgets), ("parameter", declared.parameters)):
        for known, amount in amounts.items():
            most = MOST_OF_WORLDS if known in BUDGETS else MOST_OF_BUDGET
            if not is_number(amount) or not 0 <= amount <= most:
                said = f"{what} {known} must be 0 to {most}, not {described(amount)}"
                raise misdeclared(name, (what, known), said)


def check_declared_roles(name: str, declared: Declaration, functions: Mapping[str, FunctionType]) -> None:
    """Check the roles that a protocol declares.

    Raises:
        ProtocolError: a role's name or size is invalid, or the protocol cannot have roles.
    """
    for role, count in declared.roles.items():
        at = ("role", role)
        if not isinstance(role, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", role) or keyword.iskeyword(role):
            raise misdeclared(name, at, f"a role is called by one word in small letters, not {role!r}")
        if role in {*CONSTANTS, *BUDGETS, *declared.budgets, *declared.parameters} or role in NO_ROLE:
            raise misdeclared(name, at, f"s.{role.upper()} is a constant already: call role {role} something else")
        if not is_number(count) or not 1 <= count <= MOST_PROCESSES:
            raise misdeclared(name, at, f"role {role} has 1 to {MOST_PROCESSES} processes, not {described(count)}")
        known = vars(declared.text).get(kind := type_name(role))
        if known is not None and (getattr(known, "__name__", ""), hasattr(known, "__supertype__")) != (kind, True):
            said = f'{kind} is the type of role {role}: {kind} = NewType("{kind}", Node)'
            raise misdeclared(name, ("constant", kind), said)
    if not declared.roles:
        return
    if sum(declared.roles.values()) > MOST_PROCESSES:
        said = f"roles={{...}} are {sum(declared.roles.values())} processes: a model has at most {MOST_PROCESSES}"
        raise misdeclared(name, ("argument", "roles"), said)
    for argument, value in (("transactions", declared.transactions), ("replicas", declared.replicas)):
        if value:
            said = f"a protocol with {argument} has one kind of process: omit roles, or {argument}"
            raise misdeclared(name, ("argument", argument), said)
    if declared.world == CONNECTIONS:
        said = "over connections processes lead and follow: roles are only for protocols over datagrams"
        raise misdeclared(name, ("argument", "roles"), said)
    if "on_message" in functions:
        said = "with roles each message needs a function marked @receives, of the role that receives it"
        raise misdeclared(name, ("function", "on_message"), said)


def check_world(name: str, declared: Declaration, functions: Mapping[str, FunctionType]) -> None:
    """Check the world that a protocol declares.

    Raises:
        ProtocolError: there is no such world, or it lacks what the protocol needs.
    """
    over = declared.world
    if over not in WORLDS:
        raise misdeclared(name, ("argument", "world"), f"there is no world {over!r}; there are {' and '.join(WORLDS)}")
    if over == CONNECTIONS and "on_message" in functions:
        said = "over connections a message is received at one end: mark the receiving function with @receives"
        raise misdeclared(name, ("function", "on_message"), said)
    if declared.elects and over != CONNECTIONS:
        raise misdeclared(name, ("argument", "elects"), "elections in one step need connections")
    for hook in ("on_elected", "on_follow"):
        if declared.elects and hook not in functions:
            raise misdeclared(name, ("argument", "elects"), f"it elects, but has no {hook}: define it")
    if over == CONNECTIONS and not declared.elects and "on_oracle" not in functions:
        said = "over connections it declares how it elects (elects=...), or has an on_oracle"
        raise misdeclared(name, ("argument", "world"), said)
    names: set[str] = set()
    for start in declared.starts:
        if not isinstance(start, Start):
            raise misdeclared(name, ("argument", "starts"), f"starts must be Start(...), and {start!r} is not")
        if not isinstance(start.name, str) or not start.name.strip() or start.name in names:
            raise misdeclared(name, ("start", start.name), f"a start has a name of its own, not {start.name!r}")
        if functions.get(getattr(start.function, "__name__", "")) is not start.function:
            said = f"the function of start {start.name} is not defined in the file, or has another name there"
            raise misdeclared(name, ("start", start.name), said)
        if unknown := sorted(start.spends.keys() - {*declared.budgets, *BUDGETS}):
            raise misdeclared(
                name, ("start", start.name), f"start {start.name} spends {unknown[0]}, and no budget is called so"
            )
        names.add(start.name)


def check_roles(name: str, fields: Iterable[Field], nodes: int, elects: Iterable[str]) -> None:
    """Check the fields that a protocol over connections needs: `role` and `leader`.

    Raises:
        ProtocolError: one is missing, or of another kind.
    """
    there = {f.name: f for f in fields}
    role, leader = there.get("role"), there.get("leader")
    own = {Role.VOLATILE, Role.PERSISTENT}
    if role is None or role.axes != (NODE,) or role.role not in own or not isinstance(role.kind, Int) or role.kind.lo:
        said = "over connections a field role has the role of each process: 0, 1 or 2"
        raise misdeclared(name, ("field", "role"), said)
    if role.kind.hi < LEADING:
        raise misdeclared(name, ("field", "role"), f"role has no {LEADING}, the role of a leader")
    if leader is None or leader.axes != (NODE,) or leader.role not in own or not isinstance(leader.kind, NodeId):
        said = "over connections a field leader, Each[Node, Node], has the leader that a process follows"
        raise misdeclared(name, ("field", "leader"), said)
    for f in (role, leader):  # a connection is closed by what they say when its process fails
        if f.disk:
            said = f"{f.name} is on a disk: the current role of a process is volatile, or stored"
            raise misdeclared(name, ("field", f.name), said)
    for what in elects:
        vote = there.get(what)
        if vote is None or vote.axes != (NODE,) or not isinstance(vote.kind, Int) or isinstance(vote.kind, NodeId):
            raise misdeclared(
                name, ("argument", "elects"), f"it elects by {what}, which is not a number of each process"
            )


# What the fields of a replica are: of each several names, of which it has one.
OF_A_REPLICA = (
    ("role",), ("current_epoch",), ("promised_epoch", "accepted_epoch"), ("delivered_length", "last_committed"),
)  # fmt: skip


def check_replicas(name: str, declared: Declaration, fields: Iterable[Field]) -> None:
    """Check the fields of a protocol that declares its processes to be replicas.

    Raises:
        ProtocolError: a field that replicas need is missing.
    """
    there = {f.name: f for f in fields if f.axes == (NODE,)}
    at = ("argument", "replicas")
    if not declared.transactions:
        raise misdeclared(name, at, "replicas abcast and abdeliver: transactions=True")
    for names in OF_A_REPLICA:
        if not any(n in there for n in names):
            raise misdeclared(name, at, f"replicas have a field {' or '.join(names)}, one of each process")
    history = there.get("history")
    if history is None or not isinstance(history.kind, Seq) or not isinstance(history.kind.element, Record):
        raise misdeclared(name, at, "replicas have a field history: Each[Node, History]")
    if not {"epoch", "counter", "value"} <= history.kind.element.fields.keys():
        raise misdeclared(name, at, "replicas have a field history: Each[Node, History]")


def check_fields(name: str, fields: Iterable[Field], others: Iterable[str], messages: Iterable[Message]) -> None:
    """Check the names and kinds of fields and messages.

    Args:
        name: the protocol.
        fields: its fields.
        others: the fields and constants of the world.
        messages: its messages.

    Raises:
        ProtocolError: two have one name, one has a name that a state or a message already has, or a kind has no values,
            or too many.
    """
    taken = dict.fromkeys(OF_WORLDS, "a world has one") | dict.fromkeys(others, "the world has one")
    taken |= dict.fromkeys(own_names(StateView), "a state has one")
    fields = [*fields]
    for f in fields:
        at: tuple[str, ...] = ("field", f.name)
        if f.role is Role.SHARED and any(other.disk for other in fields):
            said = f"{f.name} is shared, and a process with a disk fails inside a step: no field is on_disk beside it"
            raise misdeclared(name, at, said)
        check_name(name, at, "field", f.name, taken)
        if f.name.startswith(SIMULATED):
            raise misdeclared(name, at, f"field {f.name}: the simulator's fields begin with {SIMULATED}: rename it")
        taken[f.name] = TWICE
        check_kind(name, at, f"field {f.name}", f.kind)
        for axis in f.axes:
            if axis != NODE and not (is_number(axis) and axis >= 1):
                said = f"keys are processes or 1 number or more, not {described(axis)}"
                raise misdeclared(name, at, f"field {f.name}: {said}")
        most = MOST_NODE_AXES[f.observed]
        if f.node_axes > most:
            said = f"field {f.name} has {f.node_axes} axes of processes in a row, and there may be {most}"
            raise misdeclared(name, at, f"{said}, {INSTEAD[f.observed]}")
    for m in messages:
        check_name(name, ("message", m.name), "message", m.name, {})
        parts = dict.fromkeys((*own_names(MessageView), "source", "target", "ahead"), "every message has one")
        for part, kind in m.fields.items():
            at = ("part", m.name, part)
            check_name(name, at, f"field of {m.name}", part, parts)
            if part.startswith(SIMULATED):
                raise misdeclared(
                    name, at, f"{m.name}.{part}: the simulator's fields begin with {SIMULATED}: rename it"
                )
            check_kind(name, at, f"{m.name}.{part}", kind)
            if any(isinstance(inner, Seq) and inner.bag for inner in kind.all_parts()):
                raise misdeclared(name, at, f"{m.name}.{part} is a bag, which only a field of the state can be")


def check_flags(name: str, fields: Iterable[Field], messages: Iterable[Message], amounts: Iterable[str]) -> None:
    """Check that ranges name only existing options as those that widen them.

    Raises:
        ProtocolError: there is no such option.
    """
    known = {f"--{amount.replace('_', '-')}" for amount in (*amounts, *BUDGETS)} | OTHER_FLAGS
    declared: list[tuple[tuple[str, ...], Kind]] = [(("field", f.name), f.kind) for f in fields]
    declared += [(("part", m.name, part), kind) for m in messages for part, kind in m.fields.items()]
    for at, kind in declared:
        for part in kind.all_parts():
            widen = getattr(part, "widen", "")
            if widen and widen not in known:
                said = f"there is no flag {widen} that could widen the range of {'.'.join(at[1:])}"
                raise misdeclared(name, at, f"{said}: name the flag of what it follows from, or none")


def own_names(view: type) -> set[str]:
    """Return the attribute names of a view of the CPython world, which would hide fields of the same name."""
    return {what for what in dir(view) if not what.startswith("__")}


def check_name(name: str, at: tuple[str, ...], what: str, given: object, taken: Mapping[str, str]) -> None:
    """Check that a declared name is valid and not taken.

    Args:
        name: the protocol.
        at: where it is declared (`misdeclared`).
        what: the kind of declaration, for messages.
        given: the name.
        taken: the names that are taken, each with the reason.

    Raises:
        ProtocolError: it is not.
    """
    if not isinstance(given, str) or not given.isidentifier() or not given.isascii():
        raise misdeclared(name, at, f"a {what} is called by a name of Python's, of ASCII letters, not {given!r}")
    if given in taken:
        twice = taken[given] == TWICE
        raise misdeclared(name, at, f"{what} {given}: {taken[given]}{'' if twice else ': rename it'}")


# What of a kind is a whole number.
WHOLE = (("lo", "the lowest value"), ("hi", "the highest value"), ("capacity", "the length of a sequence"))


def check_kind(name: str, at: tuple[str, ...], what: str, given: Any) -> None:
    if not isinstance(given, Kind):
        raise misdeclared(name, at, f"{what} is of {given!r}, which is not a kind: Range(0, 3), OneOf(...), ...")
    for kind in given.all_parts():  # which looks into a kind after it was checked here
        for argument, said in WHOLE:
            if not is_number(amount := getattr(kind, argument, 0)):
                raise misdeclared(name, at, f"{what}: {said} is a whole number, not {described(amount)}")
        if isinstance(kind, Int) and kind.hi < kind.lo:
            raise misdeclared(name, at, f"{what} has no values: {kind.lo}..{kind.hi}")
        if isinstance(kind, Seq) and any(isinstance(k, Seq) and k.bag for k in kind.element.all_parts()):
            raise misdeclared(name, at, f"{what} has bags as elements, but a bag must be a field")
        if isinstance(kind, Seq) and not 1 <= kind.capacity <= 255:
            raise misdeclared(name, at, f"{what} has room for {kind.capacity}: it must be 1 to 255")
        if isinstance(kind, Record):
            for part, inner in kind.fields.items():
                if not isinstance(inner, Int | SetOf) or (isinstance(inner, SetOf) and not inner.nodes):
                    said = "a number, a truth value, a process or a set of processes"
                    raise misdeclared(
                        name, at, f"{what}: {kind.name}.{part} is not allowed in a record, whose parts are {said}"
                    )
                check_name(
                    name,
                    at,
                    f"field of {kind.name}",
                    part,
                    dict.fromkeys(own_names(RecordValue), "every record has one"),
                )
    for kind in given.all_parts():
        if isinstance(kind, (Int, SetOf, Record)) and kind.bits > MOST_BITS:
            raise misdeclared(name, at, f"{what} needs {kind.bits} bits, and a kind has at most {MOST_BITS}")
