"""What is written besides sentences: hints at names, files, tables."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from checker.ending import HELD, say

__all__ = ["near", "table", "write_file"]


def near(name: str, names: Iterable[str]) -> str:
    """What a wrong name may have meant, as the end of a sentence."""
    found = difflib.get_close_matches(name, list(names), 3, 0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def write_file(path: Path, data: bytes) -> str:
    """Write a file, whole or not at all where it is a regular one; returns what went wrong."""
    regular = not path.exists() or path.is_file()
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if regular else path
    try:
        target.write_bytes(data)
        if regular:
            os.replace(target, path)
    except OSError as problem:
        if regular:
            with contextlib.suppress(OSError):
                target.unlink(missing_ok=True)
        return f"cannot write {path}: {problem.strerror}"
    return ""


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> int:
    """Print rows: as a table on a terminal, aligned otherwise."""
    if not sys.stdout.isatty():
        from traces.explain.folding import aligned

        return say(aligned([head, *rows], head=True), HELD)
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Table(*head, box=SIMPLE_HEAD)
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    Console().print(out)
    return HELD
