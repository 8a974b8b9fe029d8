"""What every reader of somebody's file does: it reads so much and no more, and takes JSON in one meaning only."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["read_bytes", "strict_json"]


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a file, or of a pipe that somebody writes to.

    Args:
        most: bytes that it may have; of a larger one no more is read.

    Raises:
        OSError: it cannot be read, or is no file; a file that is too large is EFBIG.
        ValueError: there is no such name.
    """
    # a pipe that nobody writes to would be waited for without end
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
            raise OSError(errno.EINVAL, "this is not a regular file")
        os.set_blocking(file.fileno(), True)
        data = b"" if found.st_size > most else file.read(most + 1)
    if max(found.st_size, len(data)) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes")
    return data


def strict_json(data: bytes) -> Any:
    """The value that a JSON text stands for, if it stands for one only: UTF-8, no name twice in an object, no
    NaN or infinity, no half of a character.

    Raises:
        ValueError: it does not; a JSONDecodeError, which knows the line, where it is not JSON at all.
    """
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=without_repeats, parse_constant=refused)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has half a character (a lone surrogate)") from None
    return value


def without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON.

    Raises:
        ValueError: a name is there twice, and two readers would take different ones of its values.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"it has {name!a} twice in one object")
    return value


def refused(constant: str) -> Any:
    """
    Raises:
        ValueError: always: these are Python's, and not JSON's.
    """
    raise ValueError(f"it has {constant}, which is not JSON")
