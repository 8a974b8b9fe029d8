"""Where a checkpoint lies: a folder that the driver and every task can reach.

A path of this machine, or anything pyarrow can open by a URI (hdfs://, s3://, gs://, file://). Files
are written once, under names that no other attempt uses, and only what a manifest names counts.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyarrow import fs as _fs

from checker.distributed.files import PADDING, PIECE, Damaged, File, StorageError
from zabspec.files import check_readable

pafs: Any = _fs

__all__ = ["Damaged", "File", "Storage", "StorageError"]


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
        """What was written, of so many."""
        return File(self.name, self.size, self.crc, count)


@dataclass(frozen=True)
class Storage:
    """A folder.

    Attributes:
        where: its path or URI.
        durable: whether files of this machine must outlive a power cut; elsewhere the file system decides.
    """

    where: str
    durable: bool = False

    @property
    def local(self) -> bool:
        """Whether it is a path of this machine."""
        return "://" not in self.where

    def anywhere(self) -> Storage:
        """The same folder, by a name that does not depend on where a process works."""
        return replace(self, where=os.path.abspath(self.where)) if self.local else self

    def opened(self) -> tuple[Any, str]:
        """The file system and the folder's path in it.

        Raises:
            StorageError: there is none such.
        """
        if self.local:
            return pafs.LocalFileSystem(), os.path.abspath(self.where)
        try:
            system, path = pafs.FileSystem.from_uri(self.where)
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise StorageError(f"--checkpoint {self.where}: {str(problem).splitlines()[0]}") from problem
        return system, path.rstrip("/")

    def create(self, folder: str = "") -> None:
        """
        Raises:
            StorageError: it cannot be made.
        """
        system, top = self.opened()
        try:
            system.create_dir(f"{top}/{folder}" if folder else top, recursive=True)
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.where}: {problem.strerror or problem}") from problem

    # --- what tasks do -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Writer]:
        """A new file, to be written piece by piece; `Writer.file` says what it is when it is whole.

        Raises:
            OSError: it cannot be written.
        """
        system, top = self.opened()
        with system.open_output_stream(f"{top}/{name}", compression=None) as out:
            writer = Writer(name, out)
            yield writer
            writer.write(bytes(PADDING))
        self.settle(name)

    def write(self, name: str, pieces: Iterable[Any], count: int) -> File:
        """A new file of these pieces of bytes.

        Raises:
            OSError: it cannot be written.
        """
        with self.writing(name) as writer:
            for piece in pieces:
                writer.write(piece)
        return writer.file(count)

    def read(self, file: File) -> Any:
        """All of a file, checked, as an Arrow buffer.

        Raises:
            Damaged: it is not what was written.
        """
        buffer = self.mapped(file)
        view, crc = memoryview(buffer), 0
        for at in range(0, len(view), PIECE):
            crc = zlib.crc32(view[at : at + PIECE], crc)
        if crc != file.crc:
            raise Damaged(f"{file.name} is damaged")
        return buffer

    def mapped(self, file: File) -> Any:
        """All of a file, as an Arrow buffer; on this machine only what is looked at is read.

        Raises:
            Damaged: it is missing, or too short.
        """
        system, top = self.opened()
        path = f"{top}/{file.name}"
        try:
            if self.local:
                with pa.memory_map(path) as source:
                    buffer = source.read_buffer()
            else:
                with system.open_input_file(path) as source:
                    buffer = source.read_buffer()
        except OSError as problem:
            raise Damaged(f"{file.name} cannot be read ({type(problem).__name__})") from problem
        if buffer.size != file.size:
            raise Damaged(f"{file.name} has {buffer.size} bytes, not {file.size}")
        return buffer

    def part(self, file: File, at: int, size: int) -> bytes:
        """Some bytes of a file, all of which is checked: a predecessor that is not what was written leads astray.

        Raises:
            Damaged: it is not what was written.
        """
        return bytes(memoryview(self.read(file))[at : at + size])

    # --- what the driver does ----------------------------------------------------------------------

    def replace(self, name: str, data: bytes) -> None:
        """A file that is there whole, or as it was before.

        Raises:
            OSError: it cannot be written.
        """
        system, top = self.opened()
        temporary = f"{top}/.{name}.new"
        with system.open_output_stream(temporary, compression=None) as out:
            out.write(data)
        self.settle(f".{name}.new")
        system.move(temporary, f"{top}/{name}")  # on this machine, rename
        self.settle("")

    def settle(self, name: str) -> None:
        """See that a file of this machine is on disk, not only on its way there."""
        if not (self.local and self.durable):
            return
        handle = os.open(os.path.join(self.where, name), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder, folders among them; none where there is no such folder.

        Raises:
            StorageError: it cannot be read.
        """
        system, top = self.opened()
        path = f"{top}/{folder}" if folder else top
        try:
            found = system.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.where}: {problem.strerror or problem}") from problem
        return sorted(info.base_name for info in found)

    def small(self, name: str) -> bytes:
        """A small file.

        Raises:
            OSError: it cannot be read.
        """
        system, top = self.opened()
        if self.local:
            check_readable(f"{top}/{name}")
        with system.open_input_file(f"{top}/{name}") as source:
            return bytes(source.read())

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, as far as they are there."""
        system, top = self.opened()
        for name in names:
            with contextlib.suppress(OSError):
                system.delete_file(f"{top}/{name}")
