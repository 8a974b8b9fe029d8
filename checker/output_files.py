"""Files that zabcheck reads and writes: checked before the work, and written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
from collections.abc import Callable
from pathlib import Path

from checker.errors import NoVerdict, RequestError
from zabspec.files import Unreadable, opened, write_whole

PAUSE = 0.1  # seconds between two checks for a signal while waiting for a reader


def check_writable(path: Path, option: str, regular: bool = False) -> None:
    """Check that a file can be written, as far as that can be known without writing it.

    Args:
        regular: whether it is written to a temporary file and then moved, which would replace a device.

    Raises:
        RequestError: it cannot be written.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        folder = path.parent
        if not folder.is_dir():
            raise RequestError(f"{option} {path}: there is no folder {folder}") from None
        if not os.access(folder, os.W_OK):
            raise RequestError(f"{option} {path}: the folder {folder} cannot be written") from None
        return
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise RequestError(f"{option} {path}: {reason}") from None
    if stat.S_ISDIR(mode):
        raise RequestError(f"{option} {path}: this is a folder")
    if path.suffix == ".py":  # a protocol, most likely the one that is being checked
        raise RequestError(f"{option} {path}: this is a program, and is not overwritten")
    if stat.S_ISSOCK(mode) or (regular and not stat.S_ISREG(mode)):
        raise RequestError(f"{option} {path}: this is not a regular file")
    if not os.access(path, os.W_OK):
        raise RequestError(f"{option} {path}: permission denied")
    if stat.S_ISFIFO(mode):  # opened without a reader, it would be waited for
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            raise RequestError(f"{option} {path}: no process reads from this pipe") from None


def check_input(path: Path, folder: bool) -> None:
    """Check that a file can be read, before anything waits for it; what is missing the request itself reports.

    Args:
        folder: whether it may be a folder.

    Raises:
        RequestError: it cannot be read.
    """
    try:
        if not (folder and path.is_dir()):
            with opened(path, pipes=True):
                pass
    except Unreadable as problem:
        if problem.errno != errno.ENOENT:
            raise RequestError(f"cannot read {path}: {problem}") from None


def is_one_file(one: Path, other: Path) -> bool:
    """Return whether two paths name the same file, whether or not it exists.

    What is written to the one would be lost, or replaced, by what is written to the other.
    """
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, RuntimeError, ValueError):  # one does not exist, links form a cycle, or it is not a valid name
        return one == other


def never() -> bool:
    return False


def write_all(fd: int, data: bytes, given_up: Callable[[], bool] = never) -> None:
    """Write bytes to a descriptor, at the pace of its reader.

    Args:
        given_up: returns whether to stop waiting for a reader that takes nothing; called only then.

    Raises:
        KeyboardInterrupt: the wait was given up, and the reader has not taken all.
    """
    left = memoryview(data)
    while left:
        while not select.select([], [fd], [], PAUSE)[1]:
            if given_up():
                raise KeyboardInterrupt
        with contextlib.suppress(BlockingIOError):
            left = left[os.write(fd, left[: select.PIPE_BUF]) :]  # this much never blocks while the reader accepts data


def write_file(path: Path, data: bytes, given_up: Callable[[], bool] = never) -> str:
    """Write a file; a regular one is written whole or not at all. Return what failed.

    Args:
        given_up: see `write_all`; for a pipe or a device.
    """
    try:
        if not path.exists() or path.is_file():
            write_whole(path, data)
        else:
            with path.open("wb", buffering=0) as out:
                write_all(out.fileno(), data, given_up)
    except OSError as problem:
        return f"cannot write {path}: {problem.strerror}"
    return ""


def save_file(path: Path, data: bytes) -> None:
    """Write a file as `write_file` does.

    Raises:
        NoVerdict: it could not be written.
    """
    trouble = write_file(path, data)
    if trouble:
        raise NoVerdict(trouble)


def check_empty(folder: Path, option: str) -> None:
    """Make a folder, unless it exists and is empty.

    Args:
        option: the one that names it.

    Raises:
        RequestError: it cannot be used.
    """
    try:
        folder.mkdir(exist_ok=True)
        empty = not any(folder.iterdir())
        if empty:
            probe = folder / ".zabcheck"
            probe.touch()
            probe.unlink()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise RequestError(f"{option} {folder}: {reason}") from None
    if not empty:
        raise RequestError(f"{option} {folder}: the folder is not empty")
