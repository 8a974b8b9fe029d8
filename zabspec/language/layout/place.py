"""Describe a place in a source file, and how messages write its path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TOP = str(Path(os.path.abspath(__file__)).parents[3]) + os.sep
_OURS = tuple(os.path.join(_TOP, name) + os.sep for name in ("zabspec", "zabcheck", "checker", "traces", "invariants"))


@dataclass(frozen=True)
class SourcePlace:
    """A piece of a source file.

    Attributes:
        file: its path, as Python has loaded it.
        line: from 1; 0 for the file as a whole.
        column, end: the columns of the piece in its line, from 0, the end excluded; if equal, the whole line.
    """

    file: str
    line: int
    column: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """Return `path:line`, the path relative to the working directory."""
        return f"{relative(self.file)}:{self.line}" if self.line else relative(self.file)


def relative(path: str) -> str:
    """Return a path as messages write it.

    It is relative to the working directory where it lies in it; one of this project is relative to its packages; any
    other is unchanged.
    """
    if not os.path.isabs(path):
        return path
    if path.startswith(_OURS):
        return path.removeprefix(_TOP)
    try:
        here = os.path.relpath(path)
    except (OSError, ValueError):  # the working directory is gone, or is on another drive
        return path
    return path if here.startswith(os.pardir) else here


def is_own_file(path: str) -> bool:
    """Return whether a file belongs to this project's packages, or is source that it generates."""
    return path.startswith("<") or path.startswith(_OURS)
