"""The tests as a package: what they may import, and that each folder says what it tests."""

from __future__ import annotations

import ast
from importlib.machinery import SourceFileLoader
from pathlib import Path

from zabspec import zab

TESTS = Path(__file__).parents[1]
FILES = sorted(path for path in TESTS.rglob("*.py") if "texts" not in path.parts)


def test_every_folder_says_what_it_tests() -> None:
    for folder in {path.parent for path in FILES}:
        init = folder / "__init__.py"
        assert init.is_file(), f"{init.relative_to(TESTS)} is missing: the tests are a package"
        assert ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))), init


def test_the_project_is_imported_as_it_is() -> None:
    """pytest's own finder, whose loader rewrites assertions, loads none of it; it does this test."""
    assert type(zab.__loader__) is SourceFileLoader
    assert type(__loader__) is not SourceFileLoader
