"""Open the files that a user names, and write files whole (docs/decisions/0014-rooms.md).

Every command reads such a file through this module and no other. Opening never blocks and reading has a limit, whatever
stands under the name: a regular file is read, and so is an unnamed pipe (`<(zcat run.json.gz)`). A folder, a named
pipe, a socket and a device are refused.

A file that others read is written beside its place and moved there: it is whole or as it was, also where a signal or a
full disk ends the writing, and nothing is left beside it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import site
import stat
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from zabspec.errors import RequestError

SMALL = 1 << 16
LARGEST_SOURCE = 8 << 20  # bytes of a protocol's file: far more than anybody writes
NOT_REGULAR = "this is not a regular file"
NEW = ".new-"  # how files begin that are not whole yet: readers of folders pass over names that begin with a dot
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Unreadable(OSError, RequestError):
    """A file cannot be read; its text is the reason."""

    def __str__(self) -> str:
        return str(self.strerror)


def reason(problem: OSError | ValueError) -> str:
    """Return why a file cannot be read, without its name."""
    return getattr(problem, "strerror", None) or str(problem)


def place_of(name: str | os.PathLike[str]) -> Path:
    """Return the path that a name says, which may be a `file:` address of this machine.

    Raises:
        Unreadable: it is the address of a file that is elsewhere. As a path it would be a folder called `s3a:`.
    """
    text = os.fspath(name)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme is None:
        return Path(text)
    host, _, rest = text[scheme.end() :].partition("/")
    if scheme[1].lower() == "file" and host in ("", "localhost"):
        return Path(unquote("/" + rest))
    raise Unreadable(
        errno.EINVAL, "this is an address, but files are only read and written on this machine or on a mount"
    )


def without_secrets(said: str) -> str:
    """Remove user names, passwords and options from the addresses in a text."""
    return re.sub(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+", bare, said)


def bare(found: re.Match[str]) -> str:
    """Return an address without what may be secret in it."""
    scheme, _, rest = found[0].partition("://")
    rest = rest.partition("/;" if scheme == "sc" else "?")[0]  # a server of Spark Connect has its options there
    host, slash, path = rest.partition("/")
    if "@" in host:
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return f"{scheme}://{rest.rpartition('@')[2] if ':' in host else rest}"  # a key with a slash in it


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], pipes: bool = False) -> Iterator[int]:
    """Open a regular file for reading; its time of access stays as it is where that is possible.

    Args:
        path: as the user names it.
        pipes: accept an unnamed pipe as well.

    Yields:
        The descriptor.

    Raises:
        Unreadable: it cannot be opened, or is not such a file.
    """
    try:
        try:
            fd = os.open(path, FLAGS | getattr(os, "O_NOATIME", 0))
        except PermissionError:  # only the owner may keep the time of access
            fd = os.open(path, FLAGS)
    except (OSError, ValueError) as problem:
        raise Unreadable(getattr(problem, "errno", None) or errno.EINVAL, reason(problem)) from None
    try:
        refuse_kind(path, os.fstat(fd).st_mode, pipes)
        yield fd
    finally:
        os.close(fd)


def refuse_kind(path: str | os.PathLike[str], mode: int, pipes: bool) -> None:
    """Refuse a file of a kind that is not read, such as a folder, a named pipe, a socket or a device.

    Raises:
        Unreadable: the file is of such a kind.
    """
    if stat.S_ISDIR(mode):
        raise Unreadable(errno.EISDIR, os.strerror(errno.EISDIR))
    # a named pipe may have no writer now and another one later: what it holds is not a file
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode) and not os.path.exists(os.path.realpath(path))):
        return
    raise Unreadable(errno.EINVAL, NOT_REGULAR)


def check_readable(path: str | os.PathLike[str]) -> None:
    """Check that a file is regular and can be opened, for readers that open it themselves (Arrow, Python's imports).

    Raises:
        Unreadable: it cannot be.
    """
    with opened(path):
        pass


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Read a file, or an unnamed pipe, whole.

    Args:
        most: the limit in bytes; of a larger file no more is read.

    Raises:
        Unreadable: it cannot be read, is not regular, or is too large (`EFBIG`).
    """
    with opened(path, pipes=True) as fd:
        try:
            os.set_blocking(fd, True)
            with open(fd, "rb", closefd=False) as file:
                size = os.fstat(fd).st_size
                data = b"" if size > most else file.read(most + 1)
        except OSError as problem:
            raise Unreadable(problem.errno, reason(problem)) from None
    if max(size, len(data)) > most:
        raise Unreadable(errno.EFBIG, f"larger than {most:,} bytes")
    return data


def read_small(path: str | os.PathLike[str]) -> bytes:
    """Read a file of a few lines whole.

    Raises:
        Unreadable: it cannot be read, or is not small.
    """
    try:
        return read_bytes(path, SMALL)
    except Unreadable as problem:
        if problem.errno == errno.EFBIG:
            raise Unreadable(errno.EFBIG, f"it has more than {SMALL} bytes") from None
        raise


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Create a file beside a path that replaces it at the end; it is removed after any exception.

    Args:
        path: a regular file, or nothing yet.
        mode: of the file, less the process's mask.

    Raises:
        OSError: it cannot be made, or moved.
    """
    new = path.with_name(f"{NEW}{os.urandom(8).hex()}")
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        yield new
        os.replace(new, path)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def write_whole(path: Path, data: bytes, mode: int = 0o666, on_disk: bool = False) -> None:
    """Write a file; it has all of the data, or what it had before.

    Args:
        mode: of the file, less the process's mask.
        on_disk: also after a power cut.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(path, mode) as new, new.open("wb") as out:
        out.write(data)
        out.flush()
        if on_disk:
            os.fsync(out.fileno())


def folder_of(name: str, file: str, inside: str = "") -> Path | None:
    """Return a folder that belongs to the distribution: in the sources, or where the installation put it; or None.

    Args:
        name: its name in the sources.
        file: one that is in it.
        inside: its place below `share/doc/zabcheck`.
    """
    bases = [Path(sysconfig.get_path("data")), Path(site.getuserbase())]
    installed = (base / "share" / "doc" / "zabcheck" / inside for base in bases)
    return next((f for f in (Path(__file__).parents[1] / name, *installed) if (f / file).is_file()), None)


def is_cwd_gone() -> bool:
    """Return whether the working directory has been deleted: then no relative name stands for anything."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False
