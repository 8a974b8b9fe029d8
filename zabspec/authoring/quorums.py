"""Decide whether a protocol supports quorum systems: it calls `is_quorum`, and counts no majorities by hand.

What counts by hand would go on counting majorities under another system, and nothing would say so. So what looks like
counting is refused there, also where it is not: `s.MAJORITY`, arithmetic with `s.NODES`, how large a set of processes
is, and a number that grows in a loop over processes. With majorities a protocol may count as it likes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import TypeGuard

from zabspec.authoring.checks import is_ours
from zabspec.authoring.declaration import ConfigError, ProtocolError
from zabspec.ensemble import ConfigError as NoSystem
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.kinds import Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.layout.place import SourcePlace, relative
from zabspec.language.layout.schema import Field
from zabspec.language.layout.source import annotated, calls_of, definition, indexed
from zabspec.quorums import MAJORITY, system_of

NOT_COUNTED = ((ast.Gt, 0), (ast.Eq, 0), (ast.NotEq, 0), (ast.GtE, 1), (ast.Lt, 1))  # a set is empty, or is not


def system_for(text: str, nodes: int | None) -> tuple[str, int | None]:
    """Return the text of a quorum system, empty for majorities, and how many processes there are.

    Args:
        text: of the system; empty, or `majority`, for majorities.
        nodes: processes; None for as many as the system has servers.

    Raises:
        ConfigError: there is no such system, or it is not of so many.
    """
    if text in ("", MAJORITY):
        return "", nodes
    try:
        servers = system_of(text).nodes
    except NoSystem as problem:
        raise ConfigError(f"--quorums: {problem}") from None
    if nodes is not None and nodes != servers:
        raise ConfigError(f"--quorums is a system of {servers} servers, but --nodes is {nodes}")
    return text, servers


def check_quorums(
    name: str,
    modules: Collection[ModuleType],
    overrides: Iterable[FunctionType],
    others: Collection[FunctionType],
    fields: Iterable[Field],
    messages: MessageUnion,
    elects: bool,
) -> None:
    """Check that nothing in a protocol counts a majority by hand.

    Args:
        name: the name of the protocol in messages.
        modules: its source. zabcheck's own modules count nothing by hand, but a variant of them may.
        overrides: the functions of its variant.
        others: the functions of all its variants, which are in the source and need not be part of the protocol.
        elects: whether its elections are one step, so that the world asks for quorums.

    Raises:
        ProtocolError: something counts by hand, or nothing asks for a quorum; with file and line where there is one.
    """
    stand_in = list(overrides)
    theirs = in_use(modules, stand_in, [f for f in others if f not in stand_in])
    named = [*((f.name, f.kind) for f in fields), *(field for m in messages.messages for field in m.fields.items())]
    inner = [kind.element if isinstance(kind, Seq) else kind for _, kind in named]
    named += [part for kind in inner if isinstance(kind, Record) for part in kind.fields.items()]
    sets = {name for name, kind in named if holds_processes(kind)}
    for function in (f for f in theirs if f in stand_in or not is_ours(f)):
        for line, what in counted(function, sets):
            place = SourcePlace(function.__code__.co_filename, line)
            raise ProtocolError(
                f"--quorums: {relative(place.file)}:{line}: {function.__name__} {what}, and may count majorities by "
                f"hand: call is_quorum(s, members), which uses the quorum system",
                place,
            )
    if not elects and not any("is_quorum" in global_names(f.__code__) for f in theirs):
        raise ProtocolError(f"--quorums is not for {name}, which never calls is_quorum")


def in_use(
    modules: Collection[ModuleType], overrides: Iterable[FunctionType], others: Collection[FunctionType]
) -> list[FunctionType]:
    """Return the functions of a source, and those of other modules that it imports, without those of other variants."""
    names = {module.__name__ for module in modules}

    def of_protocol(f: object) -> TypeGuard[FunctionType]:
        return isinstance(f, FunctionType) and (f.__module__ in names or not is_ours(f))

    found = [f for module in modules for f in vars(module).values() if of_protocol(f) and f not in others]
    found += [f for f in overrides if f not in found]
    for f in found:  # it grows: what a function reads is of the protocol too
        read = (f.__globals__.get(name) for name in sorted(global_names(f.__code__)))
        found += [g for g in read if of_protocol(g) and g not in found]
    return found


def holds_processes(kind: Kind) -> bool:
    """Return whether a kind is a set of processes, or has such sets as elements."""
    return holds_processes(kind.element) if isinstance(kind, Seq) else isinstance(kind, SetOf) and kind.nodes


def counted(function: FunctionType, sets: set[str]) -> Iterator[tuple[int, str]]:
    """Yield what in a function may count processes: the line, and what it does there."""
    node = definition(function)
    members = {a.arg for a in node.args.args if annotated(a.annotation) == "Members"}
    bounds = {id(part) for call in calls_of(node, "range") for part in call.args} | set(scales(node))
    tests = {
        id(test.left)
        for test in ast.walk(node)
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_emptiness(test.ops[0], test.comparators[0])
    }
    for part in ast.walk(node):
        match part:
            case ast.Attribute(attr="MAJORITY"):
                yield part.lineno, "reads s.MAJORITY"
            case ast.Attribute(attr="NODES") if id(part) not in bounds:
                yield part.lineno, "calculates with s.NODES"
            case ast.Call(func=ast.Name(id="len"), args=[of]) if id(part) not in tests and (
                isinstance(of, ast.SetComp)
                or root(of) in (sets if isinstance(indexed(of)[0], ast.Attribute) else members)
            ):
                yield part.lineno, "uses the size of a set of processes"
            case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp(generators=loops)]) if any(
                over_processes(loop, sets | members) for loop in loops
            ):
                yield part.lineno, "counts processes"
            case ast.For() if over_processes(part, sets | members):
                for line in growing(part):
                    yield line, "counts in a loop over processes"


def scales(node: ast.AST) -> Iterator[int]:
    """Yield the ids of expressions that are a modulus, or a factor of a nonconstant: these count no majority."""
    for part in ast.walk(node):
        match part:
            case ast.BinOp(op=ast.Mod(), right=right):
                yield id(right)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                yield from (id(a) for a, b in ((left, right), (right, left)) if not isinstance(b, ast.Constant))


def is_emptiness(op: ast.cmpop, other: ast.expr) -> bool:
    """Return whether a comparison of a size only tests for emptiness."""
    return isinstance(other, ast.Constant) and any(isinstance(op, o) and other.value == n for o, n in NOT_COUNTED)


def root(node: ast.expr) -> str:
    """Return the name of the field, or of the parameter, that a place is in."""
    found, _ = indexed(node)
    return found.attr if isinstance(found, ast.Attribute) else found.id if isinstance(found, ast.Name) else ""


def over_processes(loop: ast.For | ast.comprehension, sets: Collection[str]) -> bool:
    """Return whether a loop goes through processes: `range(s.NODES)`, or a set of them."""
    named = [part for call in calls_of(loop.iter, "range") for part in ast.walk(call)]
    if any(calls_of(loop.iter, "processes")):
        return True
    return any(isinstance(p, ast.Attribute) and p.attr == "NODES" for p in named) or root(loop.iter) in sets


def growing(loop: ast.For) -> Iterator[int]:
    """Yield the lines in which a loop adds something to a local name."""
    for part in ast.walk(loop):
        match part:
            case ast.AugAssign(target=ast.Name(), op=ast.Add()):
                yield part.lineno
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=left, op=ast.Add(), right=right)) if any(
                isinstance(side, ast.Name) and side.id == name for side in (left, right)
            ):
                yield part.lineno
