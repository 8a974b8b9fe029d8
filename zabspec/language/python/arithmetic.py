"""Check products and shifts in CPython, whose integers are unbounded, against 64 bits, as machine code does.

A function of a protocol is compiled again with a call in place of each product and shift that may overflow. The call
has the piece of the source that it stands for, so that an error is shown there.
"""

from __future__ import annotations

import ast
from types import FunctionType

from zabspec.language.layout.bytecode import global_names, instructions_in
from zabspec.language.layout.error_sites import asserted
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.wrapping import __all__ as ON_WORDS

# The functions that replace operators, by names that no protocol can use.
CHECKED: dict[type[ast.operator], str] = {ast.Mult: "int.times", ast.LShift: "int.left", ast.RShift: "int.right"}
INSTEAD = ("assert.holds", "set.made", "set.kept")  # what replaces an `assert`, `{a, b}`, and a set that gets a name
OPERATORS = frozenset({"*", "<<", ">>", "*=", "<<=", ">>="})


def may_overflow(function: FunctionType) -> bool:
    """Return whether a function has a product or a shift to check.

    The project's own functions, and kernels, which work on words, are not checked.
    """
    code = function.__code__
    if is_own_file(code.co_filename) or not set(ON_WORDS).isdisjoint(global_names(code)):
        return False
    return any(i.opname == "BINARY_OP" and i.argrepr in OPERATORS for i in instructions_in(code))


class Checked(ast.NodeTransformer):
    """Replaces products, shifts, `assert`, sets that are written out and names for sets by calls that check or copy.

    Args:
        sets: the names of fields that hold sets.
        numbers: whether products and shifts are checked.
    """

    def __init__(self, sets: frozenset[str], numbers: bool) -> None:
        self.sets, self.numbers, self.changed = sets, numbers, False

    def instead(self, which: int, given: list[ast.expr], node: ast.expr | ast.stmt) -> ast.Call:
        self.changed = True
        call = ast.copy_location(ast.Call(ast.Name(INSTEAD[which], ast.Load()), given, []), node)
        return ast.fix_missing_locations(call)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        said: list[ast.expr] = [ast.Constant(part) for part in asserted(node.test)]
        self.generic_visit(node)
        return ast.copy_location(ast.Expr(self.instead(0, [node.test, *said], node)), node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return self.instead(1, node.elts, node)

    def named(self, node: ast.Assign | ast.AnnAssign | ast.Return) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, (ast.Attribute, ast.Subscript, ast.IfExp)):  # a place, or one of two
            if any(isinstance(part, ast.Attribute) and part.attr in self.sets for part in ast.walk(node.value)):
                node.value = self.instead(2, [node.value], node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self.named(node) if isinstance(node.targets[0], ast.Name) else self.generic_visit(node)

    visit_AnnAssign = visit_Return = named

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = CHECKED.get(type(node.op)) if self.numbers else None
        if name is None or (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not self.numbers or type(node.op) not in CHECKED:
            return self.generic_visit(node)
        held = ast.parse(ast.unparse(node.target), mode="eval").body
        for part in ast.walk(held):
            ast.copy_location(part, node.target)
        value = ast.copy_location(ast.BinOp(held, node.op, node.value), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))  # type: ignore[no-any-return]
