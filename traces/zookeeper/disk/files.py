"""Check whether a server's file still exists, and find its data; the holes of sparse files are skipped."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def has_gone(path: Path, problem: OSError) -> bool:
    """Return whether a listed file could not be opened because the server has removed it since.

    A dangling link was not removed: a server that starts finds its name and stops.
    """
    return problem.errno == errno.ENOENT and not path.is_symlink()


def stamp(s: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced."""
    return (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns)


def data_from(fd: int, at: int, size: int) -> int:
    """Return the first place with a nonzero byte from a place on; -1 if there is none. Holes are skipped."""
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
    """Return whether there is nothing but a hole from a place on."""
    try:
        os.lseek(fd, at, os.SEEK_DATA)
    except OSError as problem:
        return problem.errno == errno.ENXIO
    return False
