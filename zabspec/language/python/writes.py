"""Insert a call to the world after each statement that writes a lasting field, for processes with disks.

The world has to record each write to a field on a disk, in order, and any write of a field that survives a crash, since
the crash may fall between two writes (`zabspec/worlds/storage.py`). So a statement of a handler that changes such a
field, as `s.log[p].append(e)`, is followed by a call of `wrote`, in the same line, before the front end types the
handler and before CPython runs it.
"""

from __future__ import annotations

import ast
from types import FunctionType

from zabspec.language.layout.bytecode import names_in
from zabspec.language.layout.source import copied, definition, recompiled

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

    def noted(self, node: ast.stmt, *places: ast.expr) -> list[ast.stmt]:
        """Return a statement; behind it the call, if it writes one of these places, or calls a method of any place."""
        calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
        methods = [called.value for called in calls if isinstance(called, ast.Attribute)]
        if not any(map(self.writes, (*places, *methods))):
            return [node]
        self.found = True
        names = [ast.Name(name, ast.Load()) for name in (WROTE, self.state, self.process)]
        call = ast.Expr(ast.Call(names[0], [*names[1:]], []))
        return [node, ast.fix_missing_locations(ast.copy_location(call, node))]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return self.noted(node, *node.targets)

    def visit_AugAssign(self, node: ast.AugAssign | ast.AnnAssign) -> list[ast.stmt]:
        return self.noted(node, node.target)

    visit_AnnAssign = visit_AugAssign

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        return self.noted(node)


def telling_writes(function: FunctionType, fields: frozenset[str]) -> FunctionType:
    """Return a handler that reports every write of some fields to its world; the same one if it writes none.

    Raises:
        LanguageError: its file no longer matches what was loaded from it.
    """
    code = function.__code__
    if not fields & names_in(code):
        return function
    node = copied(definition(function))
    given = [a.arg for a in node.args.args]
    if len(given) < 2:
        return function
    telling = Telling(given[0], given[1], fields)
    telling.visit(node)
    if not telling.found:
        return function
    made = recompiled(function, copied(node))
    out = FunctionType(made, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    out.__dict__.update(vars(function), syntax=node)
    out.__module__, out.__doc__ = function.__module__, function.__doc__
    return out
