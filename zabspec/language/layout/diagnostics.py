"""Build messages about a user's source: the place, the line with a caret under the column, and the remedy.

Every message about a protocol's source is made here, whether the front end refuses it, its declaration is wrong, or it
meets a run-time error: the path is relative to the working directory, the first line is `path:line: reason`, the line
of the source and the caret follow.
"""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.source import known_text, known_tree

_KEPT = (__file__, os.path.join(os.path.dirname(os.path.dirname(__file__)), "python", "reference.py"))
MOST_VALUES = 8  # values shown beside an expression
LONGEST = 160  # characters of a source line that are shown


def line_of(file: str, line: int) -> str:
    """Return one line of a file; empty if it cannot be read."""
    lines = known_text(file).splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def place_at(file: str, node: ast.AST) -> SourcePlace:
    """Return the place of a piece of syntax."""
    line, end_line = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    column = in_characters(file, line, getattr(node, "col_offset", 0))
    end = in_characters(file, line, getattr(node, "end_col_offset", 0)) if end_line == line else column
    return SourcePlace(file, line, column, end)


def in_characters(file: str, line: int, offset: int) -> int:
    """Convert a column that Python counts in bytes to characters."""
    return len(line_of(file, line).encode()[:offset].decode(errors="ignore"))


def pointed(place: SourcePlace) -> str:
    """Return the line of a place with a caret under its column; empty if there is no such line."""
    source = line_of(place.file, place.line).expandtabs(1)
    text = source.strip()
    if not text or len(text) > LONGEST:
        return ""
    indent = len(source) - len(source.lstrip())
    start, end = (place.column, place.end) if place.end > place.column else (indent, len(source.rstrip()))
    marks = " " * max(0, start - indent) + "^" * max(1, min(end, len(source.rstrip())) - max(start, indent))
    return f"{text}\n{marks}"


# --- where running code met an error --------------------------------------------------------------


@dataclass(frozen=True)
class Stop:
    """The place where a run-time error was met.

    Attributes:
        place: the innermost line of the author's source, or of any if none of the author's was running.
        values: what the names and places of its statement hold, by their texts.
    """

    place: SourcePlace
    values: tuple[tuple[str, str], ...]


def innermost(trouble: BaseException, author: Any) -> Stop | None:
    """Return where an exception was raised, as the author sees it: the innermost frame in a file of theirs.

    Args:
        trouble: the exception.
        author: says of a file whether it is of the author.
    """
    found: TracebackType | None = None
    last: TracebackType | None = None
    at = trouble.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if author(file):
            found = at
        if not file.startswith(_KEPT):
            last = at
        at = at.tb_next
    stop = found or last
    if stop is None:
        return None
    code = stop.tb_frame.f_code
    place = place_of(code, stop.tb_lasti, stop.tb_lineno)
    return Stop(place, values_in(stop, place))


def place_of(code: CodeType, instruction: int, line: int) -> SourcePlace:
    """Return the place of an instruction of a function in its source."""
    for k, (first, last, column, end) in enumerate(code.co_positions()):
        if 2 * k == instruction and first is not None and column is not None and end is not None:
            at = in_characters(code.co_filename, first, column)
            to = in_characters(code.co_filename, first, end) if last == first else at
            return SourcePlace(code.co_filename, first, at, to)
    return SourcePlace(code.co_filename, line)


def values_in(at: TracebackType, place: SourcePlace) -> tuple[tuple[str, str], ...]:
    """Return the values of the names and places in the statement of an error.

    Only numbers, and what is written as one value, are included. Nothing is called for it.
    """
    tree = known_tree(place.file)
    statement = statement_at(tree, place.line) if tree is not None else None
    if statement is None:
        return ()
    frame, out = at.tb_frame, dict[str, str]()
    for node in parts_of(statement):
        text = ast.unparse(node)
        if text in out or any(isinstance(x, ast.Call) for x in ast.walk(node)):
            continue
        load = ast.copy_location(ast.parse(text, mode="eval").body, node)
        try:
            value = eval(compile(ast.Expression(load), place.file, "eval"), frame.f_globals, frame.f_locals)
        except Exception:  # it has no value there, which may be what is wrong
            continue
        if isinstance(value, (int, str)) or type(value).__name__ in ("RecordValue", "SetView", "SeqView"):
            out[text] = "True" if value is True else "False" if value is False else str(value)
    return tuple(out.items())[:MOST_VALUES]


def statement_at(tree: ast.Module, line: int) -> ast.stmt | ast.expr | None:
    """Return the innermost statement at a line; for one with inner statements, what is evaluated for it."""
    found: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if found is None or node.lineno >= found.lineno:
                found = node
    match found:
        case ast.If() | ast.While():
            return found.test
        case ast.For():
            return found.iter
        case ast.FunctionDef() | ast.ClassDef():
            return None
    return found


def parts_of(statement: ast.AST) -> list[ast.expr]:
    """Return the names and places that a statement reads or writes, outer ones before inner ones."""
    functions = {id(x.func) for x in ast.walk(statement) if isinstance(x, ast.Call)}
    states = {id(x.value) for x in ast.walk(statement) if isinstance(x, ast.Attribute)}
    inner = {id(x.value) for x in ast.walk(statement) if isinstance(x, (ast.Subscript, ast.Attribute))}
    wanted = (ast.Name, ast.Subscript, ast.Attribute)
    found = [x for x in ast.walk(statement) if isinstance(x, wanted) and id(x) not in functions | states]
    return [x for x in found if not (isinstance(x, ast.Subscript) and id(x) in inner)]
