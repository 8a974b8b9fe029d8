"""Find where a protocol's source declares something, for messages about the declaration."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from types import FunctionType

from zabspec.authoring.declaration import ProtocolError
from zabspec.authoring.sources import last_read
from zabspec.language.layout.diagnostics import place_at
from zabspec.language.layout.place import SourcePlace, relative
from zabspec.language.layout.source import calls_of, known_tree


def misdeclared(name: str, what: tuple[str, ...], reason: str) -> ProtocolError:
    """Return the error for an invalid declaration, with its line.

    Args:
        name: the protocol's, as it was given.
        what: what is declared: `("field", "level")`, `("message", "VOTE")`, `("part", "VOTE", "yes")`, `("budget",
            "ticks")`, `("parameter", "jobs")`, `("role", "client")`, `("argument", "nodes")` of `declare`, `("variant",
            "hasty")`, `("start", "led")`, `("function", "state")`, `("constant", "IDLE")`, `("class", "Entry")`.
        reason: what is wrong, and what to do.
    """
    place = place_of(name, what)
    where = f"{name}:{place.line}" if place is not None else name
    return ProtocolError(f"{where}: {reason}", place)


def about(function: FunctionType, reason: str, name: str = "") -> ProtocolError:
    """Return the error about a function, with its place; it begins with the name of the protocol, or with the file."""
    place = SourcePlace(function.__code__.co_filename, function.__code__.co_firstlineno)
    return ProtocolError(f"{name or relative(place.file)}:{place.line}: {reason}", place)


def with_place(name: str, sentence: str) -> ProtocolError:
    """Return a sentence that begins with a line of a protocol's file as an error with that place."""
    found = re.match(rf"{re.escape(name)}:(\d+): ", sentence)
    file = file_of(name)
    return ProtocolError(sentence, SourcePlace(file, int(found[1])) if found and file else None)


def place_of(name: str, what: tuple[str, ...]) -> SourcePlace | None:
    """Return the place where a protocol's source declares something, or None if it is not visible there."""
    file = file_of(name)
    tree = known_tree(file) if file else None
    if tree is None:
        return None
    found = list(declared(tree, what))
    if not found and what[0] in ("budget", "argument", "variant", "start"):
        found += calls(tree, "declare")
    if not found:
        return None
    node = found[-1]  # of what is declared twice the second time
    place = place_at(file, node)
    return SourcePlace(file, node.lineno) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else place


def file_of(name: str) -> str:
    """Return the source file of a protocol; an empty string if no protocol of this name was read."""
    known = last_read(name)
    return (getattr(sys.modules.get(known.module.__name__), "__file__", None) or "") if known is not None else ""


def calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    """Return the calls of some functions in source order."""
    return sorted(calls_of(tree, *names), key=lambda x: (x.lineno, x.col_offset))


def names_it(node: ast.Call, name: str) -> bool:
    """Return whether a call's first argument, or its `name=`, is a name."""
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
    return any(isinstance(x, ast.Constant) and x.value == name for x in given)


def declared(tree: ast.Module, what: tuple[str, ...]) -> Iterator[ast.expr | ast.stmt]:
    """Yield the syntax that declares something, in source order."""
    kind, name = what[0], what[1]
    if kind == "function":
        yield from (x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name == name)
    elif kind == "class":
        yield from (x for x in tree.body if isinstance(x, ast.ClassDef) and x.name == name)
    elif kind in ("field", "parameter"):
        yield from declared(tree, ("part", "State", name if kind == "field" else name.upper()))
    elif kind == "message":
        yield from declared(tree, ("class", name))
    elif kind == "part":
        for part in (x for of in declared(tree, ("class", name)) for x in ast.walk(of)):
            match part:
                case ast.AnnAssign(target=ast.Name(id=known) as at) | (ast.FunctionDef(name=known) as at):
                    yield from [at] if known == what[2] else []
                case ast.Assign(targets=[ast.Name(id=known) as at]):
                    yield from [at] if known == what[2] else []
    elif kind in ("budget", "role"):
        for call in calls(tree, "declare"):
            yield from keys_of(next((k.value for k in call.keywords if k.arg == f"{kind}s"), call), name)
    elif kind == "argument":
        for call in calls(tree, "declare"):
            yield from (k.value for k in call.keywords if k.arg == name)
    elif kind in ("variant", "start"):
        yield from (x for x in calls(tree, kind.capitalize()) if names_it(x, name))
    elif kind == "constant":
        for x in tree.body:
            if isinstance(x, ast.Assign):
                yield from (t for t in ast.walk(x) if isinstance(t, ast.Name) and t.id == name)


def keys_of(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the dictionary keys, and the keywords of calls, that are equal to a name."""
    for x in ast.walk(node):
        if isinstance(x, ast.Dict):
            yield from (k for k in x.keys if isinstance(k, ast.Constant) and k.value == name)
        if isinstance(x, ast.keyword) and x.arg == name:
            yield x.value
