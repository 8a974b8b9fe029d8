"""Find all mistakes of a protocol's file: check it, remove what contains the first mistake, and check the rest.

What is removed is replaced by something that cannot be wrong (`pass`, `return False`), on the same lines, in a copy
elsewhere. What is found in the copy is reported for the file. A mistake that names something removed is a consequence
and is not reported; the result then says that there may be more.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.errors import RequestError
from invariants import properties_of
from invariants.binding import full_namespace
from zabspec.authoring.reading import read_source
from zabspec.authoring.unused import unused
from zabspec.files import LARGEST_SOURCE, read_bytes
from zabspec.language.front.frontend import FrontEnd
from zabspec.model import Configuration, Model

MOST = 50  # the maximum number of mistakes to find
LOCATED = re.compile(r"^(?P<file>.+?\.py):(?P<line>\d+): (?P<reason>.*)", re.DOTALL)
LISTED = re.compile(r"^(?P<reason>.*) \((?P<file>[^()]+\.py):(?P<line>\d+)\)$")
UNSET = re.compile(r"nothing sets s\.(\w+)\[p\]")
NEUTRAL = {"bool": "return False", "None": "return", "int": "return 0", "Node": "return 0"}


@dataclass(frozen=True)
class Mistake:
    """A mistake in a file.

    Attributes:
        path: the file, as it was named, or that of a module that it imports.
        line: from 1; 0 if no line is known.
        column: from 1; 0 for the whole line.
        reason: what is wrong, and what to write.
        level: `error`; `note` for what has no effect.
    """

    path: str
    line: int
    column: int
    reason: str
    level: str = "error"


def mistakes_in(path: Path) -> tuple[Sequence[Mistake], bool]:
    """Return all mistakes of a protocol's file by line, and whether no more may show once these are corrected.

    Raises:
        RequestError: it cannot be read.
    """
    try:
        text = read_bytes(path, LARGEST_SOURCE)
    except OSError as problem:
        raise RequestError(f"cannot read {path}: {problem.strerror or problem}") from None
    folder = os.path.dirname(os.path.realpath(path))
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        with tempfile.TemporaryDirectory(prefix="zabcheck-lint-") as copies:
            return _Search(path, text, Path(copies)).run()
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(folder + os.sep) and "site-packages" not in file:
                del sys.modules[name]


class _Search:
    """The search for the mistakes of one file."""

    def __init__(self, path: Path, text: bytes, copies: Path) -> None:
        self.path, self.text, self.copies = path, text, copies
        self.found: list[Mistake] = []
        self.taken_out: set[str] = set()  # names that the removed parts would have defined
        self.unset: set[str] = set()  # fields that it would have assigned to
        self.repaired: set[tuple[int, str]] = set()
        self.complete = True

    def run(self) -> tuple[Sequence[Mistake], bool]:
        """Return the mistakes by line, and whether that is all of them."""
        current, text = self.path, self.text
        for number in range(MOST):
            mistake = self.first_of(current)
            if mistake is None:
                break
            self.note(mistake)
            before = unmet_in(text)
            own = mistake.path == str(self.path)
            found = self.without(text, mistake) if own else None
            if found is None:
                self.complete = False
                break
            try:
                ast.parse(found)
            except (SyntaxError, ValueError):  # not a mistake of the file: it results from what was removed
                self.complete = False
                break
            if unmet_in(found) - before:
                self.complete = False  # nothing calls it any more, so that mistakes in it are not detected
            text = found
            folder = self.copies / str(number)
            folder.mkdir()
            current = folder / self.path.name
            current.write_bytes(text)
        else:
            self.complete = False
        if not self.found:
            self.found = list(self.notes())
        return sorted(self.found, key=lambda m: (m.line, m.column)), self.complete

    def note(self, mistake: Mistake) -> None:
        """Record a mistake, unless it is a consequence of another."""
        unset = UNSET.match(mistake.reason)
        if unset and unset[1] in self.unset:
            self.complete = False
        elif any(re.search(rf"\b{re.escape(name)}\b", mistake.reason) for name in self.taken_out):
            self.complete = False
        elif mistake not in self.found:
            self.found.append(mistake)

    def first_of(self, path: Path) -> Mistake | None:
        """Return the first mistake of a file, the original or a copy."""
        try:
            check(str(path))
        except ValueError as problem:
            return self.told(problem, path)
        return None

    def told(self, problem: Exception, path: Path) -> Mistake:
        """Return a mistake as it is reported for the original."""
        place = getattr(problem, "place", None)
        located = LOCATED.match(str(problem))
        reason = located["reason"] if located else str(problem).removeprefix(f"{path} ")
        file = place.file if place is not None else located["file"] if located else ""
        line = place.line if place is not None else int(located["line"]) if located else 0
        column = place.column + 1 if place is not None and place.end > place.column else 0
        for name in (os.path.realpath(path), str(path)):
            reason = reason.replace(name, str(self.path))
        same = not file or os.path.realpath(file) == os.path.realpath(path)
        return Mistake(str(self.path) if same else file, line, column, " ".join(reason.split()))

    def notes(self) -> Iterator[Mistake]:
        """Yield what has no effect in a file without mistakes."""
        for said in unused(Model(Configuration(str(self.path)))):
            found = LISTED.match(said)
            yield Mistake(
                str(self.path), int(found["line"]) if found else 0, 0, found["reason"] if found else said, "note"
            )

    # --- what is taken out ------------------------------------------------------------------------

    def without(self, text: bytes, mistake: Mistake) -> bytes | None:
        """Return the source without what contains a mistake, or None if that cannot be removed."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return None
        key = (mistake.line, mistake.reason)
        again, line = key in self.repaired, mistake.line
        self.repaired.add(key)
        lines = text.splitlines(keepends=True)
        holder = next((x for x in tree.body if first_line(x) <= line <= (x.end_lineno or 0)), None)
        if holder is None or not line:
            return None
        if isinstance(holder, ast.FunctionDef) and takes_state(holder):
            statement = innermost(holder, mistake)
            if statement is None:
                return self.without_body(lines, holder) if not again else self.without_whole(lines, holder)
            return self.without_statement(lines, holder, statement) if not again else self.without_whole(lines, holder)
        if isinstance(holder, ast.ClassDef):
            return self.without_member(lines, holder, line)
        part = element(holder, mistake, again)
        if part is None:
            return None
        span, instead, names = part
        self.taken_out |= names
        blank(lines, span, instead)
        return b"".join(lines)

    def without_member(self, lines: list[bytes], holder: ast.ClassDef, line: int) -> bytes | None:
        """Return a file without what stands in a line of a class: a field of the state, of a message or of a record."""
        wrong = next((x for x in holder.body if first_line(x) <= line <= (x.end_lineno or 0)), None)
        if wrong is None:
            return None
        if isinstance(wrong, ast.AnnAssign) and isinstance(wrong.target, ast.Name):
            self.taken_out |= {wrong.target.id, f"{wrong.target.id}_left"}
        replace(lines, wrong, "pass")
        return b"".join(lines)

    def without_body(self, lines: list[bytes], holder: ast.FunctionDef) -> bytes | None:
        """Return the source with a function that does nothing: what is wrong concerns it as a whole."""
        documented = ast.get_docstring(holder) is not None
        body = holder.body[1:] if documented else holder.body
        if not body:
            return self.without_whole(lines, holder)
        self.complete = False  # further mistakes in it are not detected
        self.unset |= assigned_in(holder)
        replace(lines, body[0], neutral(holder), until=holder.end_lineno or 0)
        return b"".join(lines)

    def without_whole(self, lines: list[bytes], holder: ast.FunctionDef) -> bytes:
        """Return a file without a function, and so without its registration as the receiver of a message or a timer."""
        self.complete = False
        self.unset |= assigned_in(holder)
        self.taken_out |= {holder.name, *marked_for(holder)}
        for k in range(first_line(holder) - 1, holder.end_lineno or 0):
            lines[k] = b"\n"
        return b"".join(lines)

    def without_statement(self, lines: list[bytes], holder: ast.FunctionDef, statement: ast.stmt) -> bytes:
        """Return a function without a statement; a conditional loses only its test."""
        if isinstance(statement, ast.If):
            test = statement.test
            blank(lines, (test.lineno, test.col_offset, test.end_lineno or 0, test.end_col_offset or 0), b"True")
            return b"".join(lines)
        self.taken_out |= {
            x.id for x in ast.walk(statement) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
        self.unset |= assigned_in(statement)
        self.complete &= not any(isinstance(x, ast.stmt) for x in ast.walk(statement) if x is not statement)
        replace(lines, statement, neutral(holder) if isinstance(statement, ast.Return) else "pass")
        return b"".join(lines)


def check(name: str) -> None:
    """Check a protocol's source as an exploration of it does, and each of its variants.

    Raises:
        ConfigError, LanguageError, ValueError: it has a mistake.
    """
    source = read_source(name)
    properties = properties_of(name)
    for variant in ("", *source.variants):
        model = Model(Configuration(name, variant))
        program = model.program
        front = FrontEnd(program.layout, full_namespace(model), program.types, program.handlers)
        own = [f.__name__ for p in properties for f in (p.holds, p.witness)] if not variant else []
        goals = [source.apart.get(g.waits.__name__, g.waits.__name__) for g in source.goals] if not variant else []
        for function in ("initialize", "apply", "enabled", *own, *goals):
            front.function(function)
    for start in source.declared.starts:
        assert Model(Configuration(name, start=start.name)).program.beginning.functions


# --- pieces of a text -----------------------------------------------------------------------------

Span = tuple[int, int, int, int]  # line, column, last line, and the column after it, in bytes


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, its decorators included."""
    marks = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
    return min([node.lineno, *(d.lineno for d in marks)])


def takes_state(function: ast.FunctionDef) -> bool:
    """Return whether a function is of the language, and not a declaration."""
    first = next(iter(function.args.args), None)
    return first is not None and first.annotation is not None and ast.unparse(first.annotation).strip("'\"") == "State"


def innermost(function: ast.FunctionDef, mistake: Mistake) -> ast.stmt | None:
    """Return the innermost statement in a function that contains a mistake, or None if it is in the function's head."""
    found: ast.stmt | None = None
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or node is function:
            continue
        if node.lineno <= mistake.line <= (node.end_lineno or 0):
            if found is None or (node.lineno, is_before(node, mistake)) >= (found.lineno, is_before(found, mistake)):
                found = node
    return found


def is_before(node: ast.stmt, mistake: Mistake) -> bool:
    """Return whether a statement begins in the line of a mistake, at it or before it."""
    return not mistake.column or node.lineno < mistake.line or node.col_offset < mistake.column


def unmet_in(text: bytes) -> set[str]:
    """Return the functions of a file that nothing in it names; empty if it is not Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    named = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    return {x.name for x in tree.body if isinstance(x, ast.FunctionDef) and not x.decorator_list} - named


def marked_for(function: ast.FunctionDef) -> set[str]:
    """Return what a function is registered for: the message it receives, its timer, or members joining or leaving."""
    names: set[str] = set()
    for mark in function.decorator_list:
        called = mark.func if isinstance(mark, ast.Call) else mark
        if isinstance(called, ast.Name) and called.id == "receives" and function.args.args:
            names |= {ast.unparse(function.args.args[-1].annotation or ast.Constant("")).strip("'\"")}
        if isinstance(called, ast.Name) and called.id in ("joins", "leaves"):
            names.add(called.id)
        if isinstance(called, ast.Name) and called.id == "fires" and isinstance(mark, ast.Call):
            names |= {str(x.value) for x in mark.args if isinstance(x, ast.Constant)}
    return names - {""}


def assigned_in(node: ast.AST) -> set[str]:
    """Return the fields to whose entries a piece of source assigns: `s.wait[p] = 3`."""
    parts = (x for x in ast.walk(node) if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store))
    return {x.value.attr for x in parts if isinstance(x.value, ast.Attribute)}


def neutral(function: ast.FunctionDef) -> str:
    """Return a statement that is valid as a function's body: a harmless `return`, or `pass` if none is known."""
    returns = ast.unparse(function.returns).strip("'\"") if function.returns is not None else "None"
    return NEUTRAL.get(returns, "return 0")


def replace(lines: list[bytes], statement: ast.stmt, instead: str, until: int = 0) -> None:
    """Replace a statement by one line, and its other lines by empty ones.

    What else is in its first and last line (`a = 1; b = 2`) stays.

    Args:
        until: the last line to remove, if more is removed than the statement; nothing else stays in it.
    """
    at = statement.lineno - 1
    behind = b"" if until else lines[(statement.end_lineno or 0) - 1][statement.end_col_offset or 0 :].strip()
    lines[at] = lines[at][: statement.col_offset] + instead.encode() + behind + b"\n"
    for k in range(at + 1, until or statement.end_lineno or 0):
        lines[k] = b"\n"


def blank(lines: list[bytes], span: Span, instead: bytes = b"") -> None:
    """Replace a piece of the source by something, or by spaces."""
    line, column, last, end = span
    for k in range(line - 1, last):
        start = column if k == line - 1 else 0
        stop = end if k == last - 1 else len(lines[k].rstrip(b"\r\n"))
        lines[k] = lines[k][:start] + (instead if k == line - 1 else b"") + lines[k][stop:]
    if not instead and last == line and lines[line - 1][column:].lstrip().startswith(b","):
        rest = lines[line - 1][column:].lstrip()[1:]
        lines[line - 1] = lines[line - 1][:column] + rest
    elif not instead and last > line and lines[last - 1].lstrip().startswith(b","):
        lines[last - 1] = lines[last - 1].lstrip()[1:]


def element(holder: ast.stmt, mistake: Mistake, again: bool) -> tuple[Span, bytes, set[str]] | None:
    """Return the innermost list element, or dictionary value, of a declaration in a line, with its replacement.

    Return also the names that it declares; None if there is no such element.

    Args:
        again: whether the replacement of a value is wrong too: the whole entry is removed.
    """
    line = mistake.line
    best: tuple[int, Span, bytes, set[str]] | None = None
    for node in ast.walk(holder):
        made: list[tuple[ast.expr, ast.expr, bool]] = []
        if isinstance(node, ast.List):
            made = [(x, x, False) for x in node.elts if not isinstance(x, ast.Starred)]
        elif isinstance(node, ast.Dict):
            made = [(k, v, True) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        for first, last, entry in made:
            here = first.lineno <= line <= (last.end_lineno or 0)
            if here and first.lineno == line == last.end_lineno and mistake.column:
                here = first.col_offset < mistake.column <= (last.end_col_offset or 0)
            if here and (best is None or first.lineno >= best[0]):
                named = first.args[0] if isinstance(first, ast.Call) and first.args else first
                text = named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""
                valued = entry and not again and isinstance(last, ast.Constant)
                start = last if valued else first
                span = (start.lineno, start.col_offset, last.end_lineno or 0, last.end_col_offset or 0)
                best = (first.lineno, span, b"1" if valued else b"", set() if valued else {text} - {""})
    return best[1:] if best is not None else None
