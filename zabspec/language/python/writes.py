"""Insert a call to the world after each statement that writes a lasting field, for processes with disks.

The world has to record each write to a field on a disk, in order, and any write of a field that survives a crash, since
the crash may fall between two writes (`zabspec/worlds/storage.py`). So a statement of a handler that changes such a
field, as `s.log[p].append(e)`, is followed by a call of `wrote`, in the same line, before the front end types the
handler and before CPython runs it.
"""

from __future__ import annotations

import ast
import copy
from types import FunctionType

from zabspec.language.layout.bytecode import names_in, recompiled
from zabspec.language.layout.source import definition

CHANGES = ("add", "append", "clear", "discard", "remove")

WROTE = "wrote"  # the world's function that notes a write


class Telling(ast.NodeTransformer):
    """Puts a call of `wrote` behind every statement that writes one of some fields.

    Attributes:
        found: whether there was one.
    """

    def __init__(self, state: str, process: str, fields: frozenset[str]) -> None:
        self.state, self.process, self.fields = state, process, fields
        self.found = False

    def writes(self, place: ast.expr) -> bool:
        """Return whether a place is in one of the fields."""
        while isinstance(place, (ast.Subscript, ast.Attribute)):
            if isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
                return place.value.id == self.state and place.attr in self.fields
            place = place.value
        return False

    def noted_write(self, node: ast.stmt, place: ast.expr) -> ast.stmt | list[ast.stmt]:
        if not self.writes(place):
            return node
        self.found = True
        names = [ast.Name(name, ast.Load()) for name in (WROTE, self.state, self.process)]
        call = ast.Expr(ast.Call(names[0], [*names[1:]], []))
        return [node, ast.fix_missing_locations(ast.copy_location(call, node))]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        return self.noted_write(node, node.targets[0])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        return self.noted_write(node, node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        return self.noted_write(node, node.target)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        match node.value:
            case ast.Call(func=ast.Attribute(value=place, attr=method)) if method in CHANGES:
                return self.noted_write(node, place)
        return node


def telling_writes(function: FunctionType, fields: frozenset[str]) -> FunctionType:
    """Return a handler that reports every write of some fields to its world; the same one if it writes none.

    Raises:
        LanguageError: its file no longer matches what was loaded from it.
    """
    code = function.__code__
    if not fields & names_in(code):
        return function
    node = copy.deepcopy(definition(function))
    given = [a.arg for a in node.args.args]
    if len(given) < 2:
        return function
    telling = Telling(given[0], given[1], fields)
    telling.visit(node)
    if not telling.found:
        return function
    made = recompiled(copy.deepcopy(node), code.co_filename)
    out = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    out.__dict__.update(vars(function), syntax=node)
    out.__module__, out.__doc__ = function.__module__, function.__doc__
    return out
