"""Fixtures of the tests of user protocols."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checker.commands.init import START


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes the protocol that `init` writes, or another, with one piece of it replaced."""

    def write(old: str = "", new: str = "", text: str = START.read_text(encoding="utf-8")) -> Path:
        assert old in text
        path = tmp_path / "tpc.py"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return path

    return write
