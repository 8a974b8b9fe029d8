"""Make loops of a protocol's source stop where their remaining iterations do nothing.

The source bounds a loop by the room of a queue (`for k in range(s.PROPOSALS + 8)`), and checks in each iteration
whether anything is left. Compiled code has room for five transactions, an unbounded state for thousands, so that
CPython would spend nearly all of its time in iterations that do nothing. `stopping` inserts `break` where an iteration
that does nothing implies that no later one does anything. It changes no result: only loops of the shapes below qualify.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from functools import cache
from types import CodeType, FunctionType

from zabspec.language.bytecode import global_names, recompiled
from zabspec.language.source import definition

PURE = (
    ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Name, ast.Constant,
    ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def is_pure(node: ast.expr) -> bool:
    """Return whether an expression only reads: no call but `len`."""
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id == "len" and not node.keywords
        return known and all(is_pure(arg) for arg in node.args)
    return isinstance(node, PURE) and all(
        is_pure(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)
    )


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {child.id for node in nodes for child in ast.walk(node) if isinstance(child, ast.Name)}


def stop_condition(loop: ast.For) -> tuple[int, ast.expr] | None:
    """Return where in the body of a loop to stop, and unless what; None if the loop has neither shape below.

    Shapes, with V the variable of `for V in range(N)`:

    - assignments, then one `if TEST:` without `else`; TEST and what is assigned only read, mention neither V nor
      anything assigned before its assignment. Where TEST is false, nothing has changed, so it stays false.
    - one `if V < len(X) and ...:` without `else`; X only reads and does not mention V. Where V is not below `len(X)`,
      nothing changes, so no later V is below it.
    """
    ranged = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "range"
    if not ranged or not isinstance(loop.iter, ast.Call) or len(loop.iter.args) != 1 or loop.orelse:
        return None
    *before, last = loop.body
    if not isinstance(loop.target, ast.Name) or not isinstance(last, ast.If) or last.orelse:
        return None
    variable, assigned = loop.target.id, set()
    for statement in before:
        if not isinstance(statement, ast.Assign) or not is_pure(statement.value):
            return None
        if not all(isinstance(target, ast.Name) for target in statement.targets):
            return None
        assigned |= names_in(statement.targets)
    values = [statement.value for statement in before if isinstance(statement, ast.Assign)]
    changed_below = {
        child.id
        for child in ast.walk(ast.Module(last.body, []))
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
    if variable in changed_below or any(isinstance(child, ast.Break) for child in ast.walk(loop)):
        return None
    if is_pure(last.test) and variable not in names_in([*values, last.test]) and not assigned & names_in(values):
        return len(before), last.test
    first = last.test.values[0] if isinstance(last.test, ast.BoolOp) and isinstance(last.test.op, ast.And) else None
    if before or not isinstance(first, ast.Compare) or len(first.ops) != 1 or not isinstance(first.ops[0], ast.Lt):
        return None
    length = first.comparators[0]
    counts = isinstance(length, ast.Call) and isinstance(length.func, ast.Name) and length.func.id == "len"
    if not counts or not is_pure(length) or variable in names_in([length]):
        return None
    if not isinstance(first.left, ast.Name) or first.left.id != variable or not is_pure(last.test):
        return None
    return 0, first


class Stopping(ast.NodeTransformer):
    """Inserts `break` into every loop that qualifies, unless its variable is read after the loop."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function, self.changed = function, False

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        found = stop_condition(node)
        if found is None or not isinstance(node.target, ast.Name):
            return node
        uses = [n for n in ast.walk(self.function) if isinstance(n, ast.Name) and n.id == node.target.id]
        if len(uses) != sum(1 for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == node.target.id):
            return node
        place, unless = found
        stop = ast.If(ast.UnaryOp(ast.Not(), copy.deepcopy(unless)), [ast.Break()], [])
        node.body.insert(place, ast.copy_location(stop, node.body[place]))
        self.changed = True
        return ast.fix_missing_locations(node)


@cache
def stopping(function: FunctionType) -> CodeType:
    """Return the code of a function whose loops stop where the rest does nothing; its own code if it has none such.

    Raises:
        LanguageError: the file no longer says what was loaded from it.
    """
    if "range" not in global_names(function.__code__) or function.__closure__:
        return function.__code__
    node = copy.deepcopy(definition(function))
    transformer = Stopping(node)
    node = transformer.visit(node)
    if not transformer.changed:
        return function.__code__
    return recompiled(node, function.__code__.co_filename)
