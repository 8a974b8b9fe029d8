"""A function fits a screen: at most 70 lines and 10 parameters, in every file but the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LINES, PARAMETERS = 70, 10
ROOT = Path(__file__).parents[2]
OUTSIDE = ("tests", "build", "dist")

# The explorer's innermost loop, and what takes its successors: what they work on stays in registers.
ALLOWED = {"checker/explore/kernel.py: expand"}


def too_large(text: str, file: str) -> Iterator[str]:
    """The functions of a text that are larger than they may be, docstrings counted and decorators not."""
    for node in ast.walk(ast.parse(text, file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            a = node.args
            parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
            if (node.end_lineno or node.lineno) - node.lineno >= LINES or len(parameters) > PARAMETERS:
                yield f"{file}: {node.name}"


@pytest.mark.slow(seconds=4)
def test_a_function_fits_a_screen() -> None:
    found: set[str] = set()
    files = 0
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT)
        if name.parts[0] not in OUTSIDE and not name.parts[0].startswith("."):
            files += 1
            found.update(too_large(path.read_text(encoding="utf-8"), name.as_posix()))
    assert files > 200
    assert found == ALLOWED


def test_what_is_too_large_is_seen() -> None:
    long = "def f():\n" + "    pass\n" * LINES
    many = f"async def g({', '.join(f'a{k}' for k in range(8))}, *rest, b, **more): pass\n"
    assert list(too_large(long + many, "x.py")) == ["x.py: f", "x.py: g"]
    assert not list(too_large("def f():\n" + "    pass\n" * (LINES - 1), "x.py"))
