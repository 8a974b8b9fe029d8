"""Fixtures of the tests of compiled code and its cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from zabspec.language.native import jit

T = TypeVar("T")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own (which does not exist yet)."""
    path = tmp_path / "cache"
    monkeypatch.setenv("ZABCHECK_CACHE", str(path))
    return path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by the assembly of everything that is compiled."""
    return of_each_compilation(monkeypatch, lambda assembly, thorough: assembly)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Grows by each compilation: whether it was thorough."""
    return of_each_compilation(monkeypatch, lambda assembly, thorough: thorough)


def of_each_compilation(monkeypatch: pytest.MonkeyPatch, what: Callable[[str, bool], T]) -> list[T]:
    done: list[T] = []
    original = jit.compile_text

    def counted(assembly: str, thorough: bool = True) -> bytes:
        done.append(what(assembly, thorough))
        return original(assembly, thorough)

    monkeypatch.setattr(jit, "compile_text", counted)
    return done
