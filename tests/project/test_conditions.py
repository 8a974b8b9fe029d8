"""No expression is multiplied by a condition: the other operand is evaluated all the same, and may fail."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

TOP = Path(__file__).parents[2]
PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec", "benchmarks", "docs")


def is_bool(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "bool"


def declared_bools(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that a module declares as a condition, and as nothing else: arguments, fields, functions."""
    declared: dict[str, list[bool]] = {}
    for node in nodes:
        if isinstance(node, ast.arg) and node.annotation is not None:
            declared.setdefault(node.arg, []).append(is_bool(node.annotation))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.setdefault(node.target.id, []).append(is_bool(node.annotation))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            declared.setdefault(node.name, []).append(is_bool(node.returns))
    return {name for name, kinds in declared.items() if all(kinds)}


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def is_condition(node: ast.expr, bools: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return is_condition(node.func, bools | {"bool", "any", "all", "isinstance"})
    if isinstance(node, ast.Attribute):
        return node.attr in bools
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negated or isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.Name) and node.id in bools)


def products_by_conditions(source: str) -> list[ast.BinOp]:
    nodes = list(ast.walk(ast.parse(source)))
    bools = declared_bools(nodes)
    products = [node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)]
    pairs = [pair for node in products for pair in ((node, node.left, node.right), (node, node.right, node.left))]
    return [node for node, one, other in pairs if is_condition(one, bools) and not is_number(other)]


def test_nothing_is_multiplied_by_a_condition() -> None:
    found = [
        f"{path.relative_to(TOP)}:{node.lineno}: {ast.unparse(node)}"
        for package in PACKAGES
        for path in sorted((TOP / package).rglob("*.py"))
        for node in products_by_conditions(path.read_text())
    ]
    assert found == [], "write `x if condition else nothing`"


def test_each_form_of_a_condition_is_found() -> None:
    forms = "[x] * c, [x] * (n > 0), 's' * (not n), [x[0]] * bool(x), how * f(c, 1), k[1] * (a and b), [0] * n"
    assert len(products_by_conditions(f"def f(c: bool, n: int) -> bool: ...\n{forms}")) == 6
