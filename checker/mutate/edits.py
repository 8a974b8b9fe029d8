"""The mutants of Python source: each is one small edit of it, found in its syntax tree and made in its characters.

Strings for people, annotations, docstrings, decorators, imports and `__all__` are not edited. Edits whose result has
the same syntax tree as the original, or as an earlier mutant, are left out.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"), ast.In: ("not in",), ast.NotIn: ("in",), ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One edit of a source.

    Attributes:
        path: the file, from the top of the tree.
        line, last: the lines of the statement, or of the head of a compound one, that contains the edit.
        at: the line in which the edit begins, from 1.
        kind: operator, comparison, constant, condition, boolean, statement or arguments.
        start, end: its range in the source's UTF-8 bytes.
        before, after: the old text and the new.
        inside: the function that contains it; empty for code that runs when the file is imported.
        line_words, column: the line in which the edit begins, and its offset there, without the indentation.
    """

    path: str
    line: int
    last: int
    at: int
    kind: str
    start: int
    end: int
    before: str
    after: str
    inside: str
    line_words: str
    column: int

    @property
    def key(self) -> tuple[object, ...]:
        """An identifier that stays the same when lines before it are added or removed."""
        return self.path, self.inside, self.line_words, self.column, self.kind, self.before, self.after

    def applied(self, text: str) -> str:
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    @cached_property
    def sentence(self) -> str:
        """What is changed, in one line."""
        before, after = (" ".join(part.split()) for part in (self.before, self.after))
        return f"{self.path}:{self.at}: {self.kind}: `{before}` becomes `{after}`"


class EditedSource:
    """A source, its syntax tree, and the byte range of each node."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = ast.parse(text)
        self.lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def words(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.place(node)
        return self.text.encode()[start:end].decode()


def mutants_of(path: str, text: str) -> list[Mutant]:
    """Return every mutant of a source, in the order of its lines."""
    whole, data = EditedSource(path, text), text.encode()
    out = []
    for statement in whole.tree.body:
        start = whole.lines[min(d.lineno for d in (*getattr(statement, "decorator_list", ()), statement)) - 1]
        end = whole.place(statement)[1]
        seen = {ast.dump(ast.parse(data[start:end]))}
        edits = sorted(Edits(whole).of_statement(statement), key=lambda m: (m.start, m.end, m.kind, m.after))
        for m in edits:
            try:
                tree = ast.dump(ast.parse(data[start : m.start] + m.after.encode() + data[m.end : end]))
            except SyntaxError:
                continue
            if tree not in seen:
                seen.add(tree)
                out.append(m)
    return out


def sampled(mutants: list[Mutant], least: int, seed: int) -> list[Mutant]:
    """Return at least `least` of a file's mutants, or all: the same for the same seed, in the file's order."""
    if len(mutants) <= least:
        return mutants
    source = random.Random(f"{seed} {mutants[0].path}")
    return sorted(source.sample(mutants, least), key=lambda m: (m.start, m.end, m.kind, m.after))


class Edits:
    """Walks a syntax tree and makes edits of its nodes."""

    def __init__(self, text: EditedSource) -> None:
        self.text = text
        self.statement: ast.stmt | None = None
        self.function: ast.FunctionDef | None = None

    def edit(self, kind: str, node: ast.expr | ast.stmt, after: str) -> Mutant:
        start, end = self.text.place(node)
        whole = self.statement
        assert whole is not None
        body = getattr(whole, "body", None)
        last = body[0].lineno - 1 if body else whole.end_lineno
        before = self.text.words(node)
        line, inside = whole.lineno, self.function.name if self.function is not None else ""
        words = self.text.text.splitlines()[node.lineno - 1]
        column = node.col_offset - (len(words) - len(words.lstrip()))
        return Mutant(
            self.text.path, line, max(line, last or line), node.lineno, kind, start, end, before, after, inside,
            words.strip(), column,
        )  # fmt: skip

    # --- statements ------------------------------------------------------------------------------

    def of_statement(self, node: ast.stmt) -> Iterator[Mutant]:
        """Yield edits of a statement and of its parts."""
        if isinstance(node, (ast.Import, ast.ImportFrom)) or names_all(node) or is_words(node) or of_types(node):
            return
        outer, self.statement = self.statement, node
        function = self.function
        if isinstance(node, ast.FunctionDef):
            self.function = node
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield from self.of_expression(default)
        yield from self.deleted(node)
        for name, value in ast.iter_fields(node):
            if name in ("decorator_list", "annotation", "returns", "args", "bases", "keywords"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    self.statement = node
                    yield from self.of_statement(child)
                elif isinstance(child, ast.ExceptHandler):
                    for inner in child.body:
                        yield from self.of_statement(inner)
                elif isinstance(child, ast.withitem):
                    yield from self.of_expression(child.context_expr)
                elif isinstance(child, ast.expr):
                    self.statement = node
                    yield from self.conditioned(node, name, child)
                    yield from self.of_expression(child)
        self.statement, self.function = outer, function

    def conditioned(self, node: ast.stmt, name: str, test: ast.expr) -> Iterator[Mutant]:
        """Yield a statement with its condition made true, made false, and negated."""
        if name == "test" and isinstance(node, (ast.If, ast.While)):
            yield from self.turned(test, always=isinstance(node, ast.If))
        elif isinstance(node, ast.Return) and self.function is not None and gives_truth(self.function):
            yield from self.turned(test, always=True)

    def turned(self, test: ast.expr, always: bool) -> Iterator[Mutant]:
        if isinstance(test, ast.Constant):
            return
        if always:  # a loop that never ends shows nothing
            yield self.edit("condition", test, "True")
        yield self.edit("condition", test, "False")
        single = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn))
        if not single and not isinstance(test, ast.UnaryOp):
            yield self.edit("condition", test, f"not ({self.text.words(test)})")

    def deleted(self, node: ast.stmt) -> Iterator[Mutant]:
        """Yield a function without a statement, unless that leaves a name without any value."""
        if isinstance(node, ast.Return) and node.value is not None:
            return
        if isinstance(node, (ast.Expr, ast.Raise, ast.Break, ast.Continue, ast.Return, ast.AugAssign, ast.Delete)):
            yield self.edit("statement", node, "pass")
        elif isinstance(node, ast.Assign) and self.function is not None:
            names = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name) and is_stored(n)}
            if all(assigned(self.function, name) > 1 for name in names):
                yield self.edit("statement", node, "pass")

    # --- expressions -----------------------------------------------------------------------------

    def of_expression(self, node: ast.expr) -> Iterator[Mutant]:
        """Yield edits of an expression and of its parts."""
        if isinstance(node, ast.JoinedStr):
            return
        yield from self.here(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                for test in child.ifs:
                    yield from self.turned(test, always=True)
                for inner in (child.iter, *child.ifs):
                    yield from self.of_expression(inner)
            elif isinstance(child, ast.keyword):
                yield from self.of_expression(child.value)
            elif isinstance(child, ast.expr):
                yield from self.of_expression(child)

    def here(self, node: ast.expr) -> Iterator[Mutant]:
        """Yield edits of an expression itself."""
        words = self.text.words
        if isinstance(node, ast.BinOp) and not (isinstance(node.left, ast.Constant) and is_text(node.left)):
            after = f"({grouped(words(node.left))} {OPERATORS.get(type(node.op), '-')} {grouped(words(node.right))})"
            yield self.edit("operator", node, after)
        elif isinstance(node, ast.Compare):
            yield from self.compared(node)
        elif isinstance(node, ast.BoolOp):
            joined, other = (" and ", " or ") if isinstance(node.op, ast.And) else (" or ", " and ")
            parts = [grouped(words(v)) for v in node.values]
            yield self.edit("boolean", node, f"({other.join(parts)})")
            for k in range(len(parts)):
                yield self.edit("boolean", node, f"({joined.join(parts[:k] + parts[k + 1 :])})")
        elif isinstance(node, ast.UnaryOp):
            yield self.edit("operator", node, grouped(words(node.operand)))
        elif isinstance(node, ast.IfExp):
            yield from self.turned(node.test, always=True)
        elif isinstance(node, ast.Constant):
            yield from self.constant(node)
        elif isinstance(node, ast.Call):
            yield from self.called(node)

    def compared(self, node: ast.Compare) -> Iterator[Mutant]:
        sides = [grouped(self.text.words(side)) for side in (node.left, *node.comparators)]
        said = [SAID[type(op)] for op in node.ops]
        for k, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                signs = [*said[:k], other, *said[k + 1 :]]
                tail = " ".join(f"{sign} {side}" for sign, side in zip(signs, sides[1:], strict=True))
                yield self.edit("comparison", node, f"({sides[0]} {tail})")

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        if node.value is True or node.value is False:
            yield self.edit("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            yield self.edit("constant", node, str(node.value + 1))
            if node.value > 0:
                yield self.edit("constant", node, str(node.value - 1))

    def called(self, node: ast.Call) -> Iterator[Mutant]:
        """Yield a call with two adjacent arguments swapped, or with min for max."""
        if isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
            yield self.edit("operator", node.func, OPPOSITES[node.func.id])
        for one, two in zip(node.args, node.args[1:], strict=False):
            if is_text(one) or is_text(two) or isinstance(one, ast.Starred) or isinstance(two, ast.Starred):
                continue
            if self.is_state(one) != self.is_state(two):
                continue  # a state in place of a process: no world accepts that
            (start, mid), (again, end) = self.text.place(one), self.text.place(two)
            data = self.text.text.encode()
            a, between, b = (data[x:y].decode() for x, y in ((start, mid), (mid, again), (again, end)))
            first = self.edit("arguments", one, "")
            yield Mutant(
                first.path, first.line, first.last, first.at, first.kind, start, end,
                f"{a}{between}{b}", f"{b}{between}{a}", first.inside, first.line_words, first.column,
            )  # fmt: skip

    def is_state(self, node: ast.expr) -> bool:
        """Return whether an expression is a parameter of the function that is a whole state."""
        given = [] if self.function is None else self.function.args.args
        kinds = {a.arg: a.annotation.id for a in given if isinstance(a.annotation, ast.Name)}
        return isinstance(node, ast.Name) and kinds.get(node.id) == "State"


SAID: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def grouped(words: str) -> str:
    return words if words.replace(".", "").isidentifier() or words.isdigit() else f"({words})"


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_words(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or `...`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


def of_types(node: ast.stmt) -> bool:
    """Return whether only the type checker reads a statement."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def assigned(function: ast.FunctionDef, name: str) -> int:
    """Return how often a function assigns each name."""
    return sum(isinstance(n, ast.Name) and n.id == name and is_stored(n) for n in ast.walk(function))


def gives_truth(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "bool"
