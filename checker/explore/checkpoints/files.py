"""Files of a checkpoint, in a folder on this machine.

Only Python's standard library is needed here: the local engine keeps its checkpoints this way. The distributed engine
uses `storage.py`, which reaches other machines too; the content is the same (`checkpoint.py`).
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from zabspec.files import read_bytes, write_whole

PADDING = 64  # the kernel reads whole words past the end of what it unpacks
PIECE = 8 << 20
LARGEST_SMALL = 64 << 20  # bytes of a manifest


class StorageError(Exception):
    """The storage cannot be used; the message is a sentence."""


class Damaged(Exception):
    """A file is missing, short, or not what was written; the message is a sentence."""


@dataclass(frozen=True)
class File:
    """A file that a manifest names.

    Attributes:
        name: relative to the checkpoint's folder.
        size: bytes, padding included.
        crc: CRC-32 of its bytes.
        count: the number of items that it holds.
    """

    name: str
    size: int
    crc: int
    count: int


NOTHING = File("", 0, 0, 0)


class Writer:
    """A file that is being written.

    Attributes:
        size: bytes so far; `crc`: CRC-32 of them.
    """

    def __init__(self, name: str, out: Any) -> None:
        self.name, self.out = name, out
        self.size = self.crc = 0

    def write(self, piece: Any) -> None:
        view = memoryview(piece)
        if view.nbytes:
            view = view.cast("B")
            self.out.write(view)
            self.crc = zlib.crc32(view, self.crc)
            self.size += len(view)

    def file(self, count: int) -> File:
        """Return the description of the written file, which holds `count` items."""
        return File(self.name, self.size, self.crc, count)


class Folder:
    """A folder on this machine.

    Attributes:
        where: its path.
    """

    local = True

    def __init__(self, where: Path) -> None:
        self.where = os.path.abspath(where)

    def path(self, name: str = "") -> Path:
        return Path(self.where) / name

    def create(self, folder: str = "") -> None:
        """Create the folder, or one below it.

        Raises:
            StorageError: it cannot be created.
        """
        try:
            self.path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.where}: {problem.strerror or problem}") from problem

    def write(self, name: str, pieces: Iterable[Any], count: int) -> File:
        """Write pieces of bytes to a new file, and return its description.

        Args:
            count: the number of items in it.

        Raises:
            OSError: it cannot be written.
        """
        with self.path(name).open("wb") as out:
            writer = Writer(name, out)
            for piece in chain(pieces, [bytes(PADDING)]):
                writer.write(piece)
        return writer.file(count)

    def read(self, file: File) -> bytes:
        """Return the whole content of a file, after checking it.

        Raises:
            Damaged: it is not what was written.
        """
        try:
            data = read_bytes(self.path(file.name), file.size)
        except OSError as problem:
            raise Damaged(f"{file.name} cannot be read ({type(problem).__name__})") from problem
        if len(data) != file.size or zlib.crc32(data) != file.crc:
            raise Damaged(f"{file.name} is damaged")
        return data

    def part(self, file: File, at: int, size: int) -> bytes:
        """Return some bytes of a file."""
        return self.read(file)[at : at + size]

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file atomically: it has the new content whole, or the old.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(self.path(name), data)

    def settle(self, name: str) -> None:
        """Do nothing: the system keeps what a killed process wrote, and reading detects damage by a power cut."""

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, subfolders included; empty if there is no such folder.

        Raises:
            StorageError: it cannot be read.
        """
        try:
            return sorted(os.listdir(self.path(folder)))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.where}: {problem.strerror or problem}") from problem

    def small(self, name: str) -> bytes:
        """Return the content of a small file.

        Raises:
            OSError: it cannot be read.
        """
        return read_bytes(self.path(name), LARGEST_SMALL)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the named files; skip those that do not exist."""
        for name in names:
            with contextlib.suppress(OSError):
                self.path(name).unlink()
