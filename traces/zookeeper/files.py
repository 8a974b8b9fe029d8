"""Where a server's file has data: sparse files have holes, which are passed over."""

from __future__ import annotations

import os

__all__ = ["data_from"]


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
