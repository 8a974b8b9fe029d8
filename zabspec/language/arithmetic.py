"""Check products and shifts in CPython, whose integers are unbounded, against 64 bits, as machine code does.

A function of a protocol is compiled again with a call in place of each product and shift that may overflow. The call
has the piece of the source that it stands for, so that an error is shown there.
"""

from __future__ import annotations

import ast
from types import FunctionType

from zabspec.language.bytecode import global_names, instructions_in
from zabspec.language.place import is_own_file
from zabspec.language.wrapping import __all__ as ON_WORDS

# The functions that replace operators, by names that no protocol can use.
CHECKED: dict[type[ast.operator], str] = {ast.Mult: "int.times", ast.LShift: "int.left", ast.RShift: "int.right"}
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
    """Replaces each product and shift by a call of a checked operation."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = CHECKED.get(type(node.op))
        if name is None or (isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)):
            return node
        return checked(name, node.left, node.right, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        name = CHECKED.get(type(node.op))
        if name is None:
            return node
        held = ast.parse(ast.unparse(node.target), mode="eval").body
        for part in ast.walk(held):
            ast.copy_location(part, node.target)
        return ast.copy_location(ast.Assign([node.target], checked(name, held, node.value, node)), node)


def checked(name: str, left: ast.expr, right: ast.expr, node: ast.AST) -> ast.expr:
    """Return the call that replaces an operation."""
    return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [left, right], []), node))
