"""Find the syntax of functions, from their files or from generated source."""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE
from types import CodeType, FunctionType
from typing import Any, TypeVar

from zabspec.errors import RequestError
from zabspec.language.layout.bytecode import all_code
from zabspec.language.layout.place import SourcePlace, relative

S = TypeVar("S", bound=ast.AST)


class LanguageError(RequestError):
    """A source is outside the language: file, line and reason."""

    def __init__(self, file: str, line: int, reason: str, place: SourcePlace | None = None) -> None:
        where = SourcePlace(_real.get(file, file), line) if place is None else place
        self.file, self.line, self.reason, self.place = relative(where.file), line, reason, where
        super().__init__(f"{self.file}:{line}: {reason}")

    def __reduce__(self) -> tuple[type[LanguageError], tuple[object, ...]]:
        """Return how another process makes it: a pool waits for ever for an error that it cannot unpickle."""
        return type(self), (self.place.file, self.line, self.reason, self.place)


_TOP = os.path.abspath(__file__).removesuffix(os.path.join("zabspec", "language", "layout", "source.py"))
HOLD_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields of the nodes of statements


@dataclass(frozen=True)
class SourceText:
    """The content of a file: its digest and, on demand, its functions by name and line."""

    file: str
    text: bytes
    stamp: tuple[int, ...]  # of the file when it was read; empty: generated

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.file)

    @cached_property
    def code(self) -> CodeType:
        return compile(self.tree, self.file, "exec", dont_inherit=True)

    @cached_property
    def functions(self) -> dict[str, tuple[ast.FunctionDef, CodeType | None]]:
        codes = {f"{held.co_name}:{held.co_firstlineno}": held for held in all_code(self.code)}
        found = {}
        for node in functions_in(self.tree):
            for line in (node.lineno, *(d.lineno for d in node.decorator_list)):
                key = f"{node.name}:{line}"
                found[key] = node, codes.get(key)
            in_turn(node)
        return found


def in_turn(node: ast.AST) -> None:
    """Write statements under a node in the parts that Python takes in turn, so that every pass sees each.

    `a, b = x, y` is several assignments, and an index of `+=` that calls a function, as in `s.log[f(p)] += 1`, gets a
    name, since `+=` reads and writes.
    """
    for name in HOLD_STATEMENTS:
        held: list[Any] = getattr(node, name, [])
        for k in reversed(range(len(held))):
            in_turn(held[k])
            match held[k]:
                case ast.Assign([ast.Tuple(elts=to)], ast.Tuple(elts=values)) if len(to) == len(values):
                    held[k : k + 1] = separated(held[k], to, values)
                case ast.AugAssign(target=ast.Subscript()):
                    held[k : k + 1] = [*named_indices(held[k]), held[k]]


def named_indices(node: ast.AugAssign) -> list[ast.stmt]:
    """Give each index that calls a function a name, which no source can have; return the assignments, in order."""
    made: list[ast.stmt] = []
    part: ast.expr = node.target
    while isinstance(part, ast.Attribute | ast.Subscript):
        calls = isinstance(part, ast.Subscript) and any(isinstance(of, ast.Call) for of in ast.walk(part.slice))
        if isinstance(part, ast.Subscript) and calls and not isinstance(part.slice, ast.Slice):
            name = f"at.{part.slice.lineno}.{part.slice.col_offset}"
            made.insert(0, ast.Assign([ast.Name(name, ast.Store())], part.slice))
            part.slice = ast.Name(name, ast.Load())
        part = part.value
    for one in (*made, node):
        ast.fix_missing_locations(ast.copy_location(one, node))
    return made


def separated(node: ast.Assign, places: list[ast.expr], values: list[ast.expr]) -> list[ast.stmt]:
    """Return the assignments of an assignment of several values to as many places; the values are evaluated first."""
    changed = {place.id for place in places if isinstance(place, ast.Name)}
    first, last = list[ast.stmt](), list[ast.stmt]()
    for k, (place, value) in enumerate(zip(places, values, strict=True)):
        kept = value
        if not isinstance(value, ast.Constant) and not (isinstance(value, ast.Name) and value.id not in changed):
            name = f"x{k}.{node.lineno}.{node.col_offset}"  # which no source can have
            first.append(ast.Assign([ast.Name(name, ast.Store())], value))
            kept = ast.Name(name, ast.Load())
        last.append(ast.Assign([place], kept))
    return [ast.fix_missing_locations(ast.copy_location(one, node)) for one in (*first, *last)]


_texts: dict[str, SourceText] = {}
PLACE = re.compile(r"\(([^()\n]+):(\d+)\)")  # a place in a file, in a sentence
_real: dict[str, str] = {}  # the real paths of files, by the paths that Python has


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the functions defined under a node, outer ones before inner ones; only statements contain any."""
    for part in (part for name in HOLD_STATEMENTS for part in getattr(node, name, ())):
        if isinstance(part, ast.FunctionDef):
            yield part
        yield from functions_in(part)


def calls_of(node: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Yield the calls of some functions under a node, by their plain names or as attributes."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            called = part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")
            if called in names:
                yield part


def indexed(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """Return what a place is indexed from, and its indices: `s.votes` and `p` of `s.votes[p]`."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices


def register_source(name: str, text: str) -> SourceText:
    """Register generated source under a file name of its own; return its content."""
    known, said = _texts.get(name), text.encode()
    if known is None or known.stamp or known.text != said:
        known = _texts[name] = SourceText(name, said, ())
    return known


def text_of(function: FunctionType) -> SourceText:
    """Return the content of the file that a function is in.

    Raises:
        OSError: there is no such file.
    """
    file = function.__code__.co_filename
    known = _texts.get(file)
    if known is not None and not known.stamp:
        return known
    found = os.stat(file)
    stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
    if known is None or known.stamp != stamp:
        with open(file, "rb") as handle:
            known = _texts[file] = SourceText(file, handle.read(), stamp)
    return known


def read_again(file: str, text: bytes) -> None:
    """Forget the content of a file that is read once more with this one: its lines are quoted from now on."""
    known = _texts.get(file)
    if known is not None and known.text != text:
        del _texts[file]


def known_text(file: str) -> str:
    """Return the content of a file, as it is or was read; empty if it is unavailable."""
    known = _texts.get(file)
    if known is None:
        try:
            with open(file, "rb") as handle:
                return handle.read().decode(errors="replace")
        except OSError:
            return ""
    return known.text.decode(errors="replace")


def known_tree(file: str) -> ast.Module | None:
    """Return the syntax of a file, or None if it cannot be read, or is not Python."""
    try:
        known = _texts.get(file)
        return known.tree if known is not None else ast.parse(known_text(file), file)
    except (SyntaxError, ValueError):
        return None


def text_digest(function: FunctionType) -> str:
    """Return a digest of the file that a function is in; empty if there is none."""
    try:
        return text_of(function).digest
    except OSError:
        return ""


def said_file(path: str) -> str:
    """Return the displayed path of a file.

    For a file of this project it is relative to its packages; for any other it is the folder's name and its own.
    """
    if path.startswith(_TOP):
        return path.removeprefix(_TOP)
    said = os.path.join(*path.split(os.sep)[-2:]) if os.sep in path else path
    _real[said] = path
    return said


def from_here(sentence: str) -> str:
    """Return a sentence with the places in it relative to the working directory.

    Places are in the form in which machine code keeps them, `(folder/mine.py:12)`.
    """

    def place(found: re.Match[str]) -> str:
        file, line = found.groups()
        return f"({relative(_real[file])}:{line})" if file in _real else found[0]

    return PLACE.sub(place, sentence)


def annotated(node: ast.expr | None) -> str:
    """Return the text of an annotation, in quotes or without; an empty string if there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node) if node is not None else ""


def check_open(function: FunctionType, line: int) -> None:
    """Check that a function reads no names of an enclosing one.

    Raises:
        LanguageError: it does.
    """
    code = function.__code__
    if names := ", ".join(code.co_freevars):
        said = f"{function.__name__} reads names of an enclosing function, which the language does not support: {names}"
        raise LanguageError(code.co_filename, line, said)


def recompiled(function: FunctionType, node: ast.FunctionDef) -> CodeType:
    """Compile a function's definition, without its decorators, annotations and defaults, which it loses.

    Args:
        function: the function.
        node: the definition, a copy of what is in the file.

    Raises:
        LanguageError: the function reads names of an enclosing one, which it would lose, too.
    """
    check_open(function, node.lineno)
    given = node.args
    node.decorator_list, node.returns = [], None
    given.defaults, given.kw_defaults = [], [None for _ in given.kwonlyargs]
    for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if parameter is not None:
            parameter.annotation = None
    made = compile(ast.Module([node], []), function.__code__.co_filename, "exec", dont_inherit=True)
    return next(held for held in made.co_consts if isinstance(held, CodeType))


def from_lambda(function: FunctionType, name: str, like: ast.FunctionDef) -> FunctionType:
    """Return a function of a name that does what a lambda does, with the annotations of another's parameters."""
    places, line = {*function.__code__.co_positions()}, function.__code__.co_firstlineno
    for part in ast.walk(text_of(function).tree):
        if isinstance(part, ast.Lambda) and part.lineno == line and not function.__closure__:
            alone = compile(ast.Expression(part), "", "eval", dont_inherit=True).co_consts
            if any(isinstance(code, CodeType) and {*code.co_positions()} == places for code in alone):
                made = ast.FunctionDef(name, copied(part.args), [ast.Return(part.body)], [], ast.Name("bool"))
                vars(made).setdefault("type_params", [])
                for given, known in zip(made.args.args, like.args.args, strict=False):
                    given.annotation = known.annotation
                code = recompiled(function, copied(placed(made, part)))
                out = FunctionType(code, function.__globals__, name)
                out.__module__ = function.__module__
                vars(out)["syntax"] = made
                return out
    return function


def placed(syntax: S, at: ast.AST) -> S:
    """Return syntax, of which what is made here has the place of a piece of the source."""
    for part in ast.walk(syntax):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, at)
    return syntax


def copied(syntax: S) -> S:
    """Return a copy of syntax, in a third of the time that `copy.deepcopy` takes."""
    return pickle.loads(pickle.dumps(syntax))  # type: ignore[no-any-return]


def definition(function: FunctionType) -> ast.FunctionDef:
    """Return the syntax of a function, from its file.

    Raises:
        LanguageError: there is none, or the file no longer matches what was loaded from it.
    """
    made = vars(function).get("syntax")  # of one that was made from another (`writes.py`)
    if isinstance(made, ast.FunctionDef):
        return made
    code = function.__code__
    file, line = code.co_filename, code.co_firstlineno
    try:
        found = text_of(function).functions.get(f"{code.co_name}:{line}")
    except OSError as problem:
        raise LanguageError(file, line, f"the source of {code.co_name} cannot be read: {problem.strerror}") from None
    except (SyntaxError, ValueError):
        raise LanguageError(file, line, f"the source of {code.co_name} was changed after it was loaded") from None
    if code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        raise LanguageError(file, line, "async is not in the language: a step is atomic, write def")
    if code.co_name == "<lambda>":
        raise LanguageError(file, line, "a lambda cannot be compiled")
    if found is None or (found[1] is not code and found[1] != code):
        raise LanguageError(file, line, f"the source of {code.co_name} was changed after it was loaded")
    return found[0]
