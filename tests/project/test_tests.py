"""The tests as a package: what they may import, and that each folder says what it tests."""

from __future__ import annotations

import ast
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from zabspec import zab

TESTS = Path(__file__).parents[1]
FILES = sorted(path for path in TESTS.rglob("*.py") if "texts" not in path.parts)


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that import, each with the module in full."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(TESTS.parent).parts[: -node.level] if node.level else ()
            found.append((node.lineno, ".".join((*package, *([node.module] if node.module else [])))))
    return found


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(TESTS)}:{line}"


def test_every_folder_says_what_it_tests() -> None:
    for folder in {path.parent for path in FILES}:
        init = folder / "__init__.py"
        assert init.is_file(), f"{init.relative_to(TESTS)} is missing: the tests are a package"
        assert ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))), init


@pytest.mark.slow(seconds=1)
def test_helpers_are_imported_by_their_full_names() -> None:
    """A bare name is found only where `sys.path` leads into a folder of the tests."""
    ours = {path.stem for path in FILES} | {path.parent.name for path in FILES if path.parent != TESTS}
    bare = ours - {path.parent.name for path in TESTS.parent.glob("*/__init__.py")}
    found = [
        f"{place(path, line)}: {module}"
        for path in FILES
        for line, module in imports(path)
        if module.split(".")[0] in bare
    ]
    assert not found


@pytest.mark.slow(seconds=1)
def test_no_test_module_imports_one_of_another_folder() -> None:
    """What several folders use is in a module that is no test."""
    found = [
        f"{place(path, line)}: {module}"
        for path in FILES
        for line, module in imports(path)
        if module.rpartition(".")[2].startswith("test_")
        and module.rpartition(".")[0] != ".".join(path.parent.relative_to(TESTS.parent).parts)
    ]
    assert not found


def test_the_project_is_imported_as_it_is() -> None:
    """pytest's own finder, whose loader rewrites assertions, loads none of it; it does this test."""
    assert type(zab.__loader__) is SourceFileLoader
    assert type(__loader__) is not SourceFileLoader
