"""Read the JSON lines that a long run has written, so that a later run can resume it."""

from __future__ import annotations

import errno
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

from zabspec.files import read_bytes

LARGEST = 256 << 20  # bytes

T = TypeVar("T")


class NotRead(ValueError):
    """The file is not of such a run; the message says why in one sentence."""


def read_lines(kind: type[T], file: Path, what: str) -> list[T]:
    """Return the lines of a file as objects; empty if the file does not exist.

    Args:
        kind: a dataclass of plain values, one object per line.
        file: the file.
        what: what a line is, for error messages.

    Raises:
        NotRead: the file cannot be read, or a line is no such object; the message names it.
    """
    try:
        lines = read_bytes(file, LARGEST).decode().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        if isinstance(problem, OSError) and problem.errno == errno.ENOENT:
            return []
        raise NotRead(f"cannot read {file}: {problem}") from None
    hints, out = get_type_hints(kind), []
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    for number, line in enumerate(lines, 1):
        try:
            given: Any = json.loads(line)
        except ValueError as problem:
            raise NotRead(f"{file}:{number} is not a valid {what}: {problem}") from None
        if not isinstance(given, dict) or given.keys() != names:
            raise NotRead(f"{file}:{number} is not a valid {what}: it has other fields")
        for name, value in given.items():
            wanted = get_origin(hints[name]) or hints[name]
            if type(value) is not wanted and not (wanted is float and type(value) is int):
                raise NotRead(f"{file}:{number} is not a valid {what}: its {name} is {value!r}")
        out.append(kind(**given))
    return out
