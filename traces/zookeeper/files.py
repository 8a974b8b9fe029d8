"""Files of a server, opened for reading and nothing else: whatever stands under a name, opening it never blocks, and
what is read changes nothing, not even when it was last read where that can be helped."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Unreadable", "data_from", "opened", "read_small", "reason"]

SMALL = 1 << 16


class Unreadable(OSError):
    """A file cannot be read; says why in words."""

    def __str__(self) -> str:
        return str(self.strerror)


def reason(problem: OSError | ValueError) -> str:
    return getattr(problem, "strerror", None) or str(problem)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A regular file's descriptor.

    Raises:
        Unreadable: it is none, or cannot be opened.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        try:
            fd = os.open(path, flags | getattr(os, "O_NOATIME", 0))
        except PermissionError:  # the time of reading is kept from its owner alone
            fd = os.open(path, flags)
    except (OSError, ValueError) as problem:
        raise Unreadable(getattr(problem, "errno", None), reason(problem)) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unreadable(None, "it is no regular file")
        yield fd
    finally:
        os.close(fd)


def read_small(path: Path) -> bytes:
    """A small file whole.

    Raises:
        Unreadable: it cannot be read, or is not small.
    """
    with opened(path) as fd:
        try:
            data = os.pread(fd, SMALL + 1, 0)
        except OSError as problem:
            raise Unreadable(problem.errno, reason(problem)) from None
    if len(data) > SMALL:
        raise Unreadable(None, f"it has more than {SMALL} bytes")
    return data


def data_from(fd: int, at: int, size: int) -> int:
    """Where a file may have other bytes than zeros from a place on; -1: nowhere. Holes are passed over."""
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except (OSError, AttributeError):
            if past_data(fd, at):
                return -1
        chunk = os.pread(fd, 1 << 20, at)
        if not chunk:
            return -1
        rest = chunk.lstrip(b"\0")
        if rest:
            return at + len(chunk) - len(rest)
        at += len(chunk)
    return -1


def past_data(fd: int, at: int) -> bool:
    """Whether there is nothing but a hole from a place on."""
    import errno

    try:
        os.lseek(fd, at, os.SEEK_DATA)
    except OSError as problem:
        return problem.errno == errno.ENXIO
    return False
