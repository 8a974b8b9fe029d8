"""Read the JSON lines that a long run has written, so that a later run can resume it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TypeVar

from traces.record.reading import strict_json
from zabspec.errors import RequestError
from zabspec.files import read_bytes
from zabspec.typed import WrongValue, hints_of, object_type, read

LARGEST = 256 << 20  # bytes

T = TypeVar("T")


class NotRead(RequestError):
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
    line_type, out = object_type("Line", hints_of(kind)), []
    for number, line in enumerate(lines, 1):
        try:
            given = strict_json(line.encode())
            read(given, line_type)
        except WrongValue as problem:
            raise NotRead(
                f"{file}:{number} is not a valid {what}: {problem.at(', '.join(map(str, problem.path)))}"
            ) from None
        except ValueError as problem:
            raise NotRead(f"{file}:{number} is not a valid {what}: {problem}") from None
        out.append(kind(**given))
    return out
