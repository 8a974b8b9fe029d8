"""What a long run has written, a JSON line each, read again by the run that goes on from it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

__all__ = ["NotRead", "read_lines"]

T = TypeVar("T")


class NotRead(ValueError):
    """The file is not of such a run: one sentence says why."""


def read_lines(kind: type[T], file: Path, what: str) -> list[T]:
    """The lines of a file; none where there is none.

    Args:
        kind: a dataclass of plain values, which a line is an object of.
        what: a line is, as a sentence says it.

    Raises:
        NotRead: it cannot be read, or a line is none; names it.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as problem:
        raise NotRead(f"cannot read {file}: {problem}") from None
    hints, out = get_type_hints(kind), []
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    for number, line in enumerate(lines, 1):
        try:
            given: Any = json.loads(line)
        except ValueError as problem:
            raise NotRead(f"{file}:{number} is no {what}: {problem}") from None
        if not isinstance(given, dict) or given.keys() != names:
            raise NotRead(f"{file}:{number} is no {what}: it has other fields")
        for name, value in given.items():
            wanted = get_origin(hints[name]) or hints[name]
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise NotRead(f"{file}:{number} is no {what}: its {name} is {value!r}")
        out.append(kind(**given))
    return out
