"""The storage of a checkpoint: a folder that the driver and every task can reach.

It is a path on this machine, or anything that pyarrow can open by a URI (hdfs://, s3://, gs://, file://). Files are
written once, under names that no other attempt uses, and those that no manifest names are ignored.
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

from checker.explore.checkpoints.files import PADDING, PIECE, Damaged, File, StorageError, Writer
from zabspec.files import check_readable

pafs: Any = _fs

__all__ = ["Damaged", "File", "Storage", "StorageError", "Writer"]


@dataclass(frozen=True)
class Storage:
    """A folder on this machine or elsewhere.

    Attributes:
        where: its path or URI.
        durable: whether files on this machine must survive a power cut; elsewhere the file system decides.
    """

    where: str
    durable: bool = False

    @property
    def local(self) -> bool:
        """Whether it is a path on this machine."""
        return "://" not in self.where

    def anywhere(self) -> Storage:
        """Return the same folder under a name that does not depend on a process's current folder."""
        return replace(self, where=os.path.abspath(self.where)) if self.local else self

    def opened(self) -> tuple[Any, str]:
        """Return the file system, and the folder's path in it.

        Raises:
            StorageError: there is no such file system.
        """
        if self.local:
            return pafs.LocalFileSystem(), os.path.abspath(self.where)
        try:
            system, path = pafs.FileSystem.from_uri(self.where)
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise StorageError(f"--checkpoint {self.where}: {str(problem).splitlines()[0]}") from problem
        return system, path.rstrip("/")

    def create(self, folder: str = "") -> None:
        """Create the folder, or one below it.

        Raises:
            StorageError: it cannot be created.
        """
        system, top = self.opened()
        try:
            system.create_dir(f"{top}/{folder}" if folder else top, recursive=True)
        except OSError as problem:
            raise StorageError(f"--checkpoint {self.where}: {problem.strerror or problem}") from problem

    # --- what tasks do -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Writer]:
        """Yield a writer of a new file; once the file is complete, `Writer.file` describes it.

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
        """Write pieces of bytes to a new file, and return its description.

        Raises:
            OSError: it cannot be written.
        """
        with self.writing(name) as writer:
            for piece in pieces:
                writer.write(piece)
        return writer.file(count)

    def read(self, file: File) -> Any:
        """Return the whole content of a file as an Arrow buffer, after checking it.

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
        """Return a file as an Arrow buffer; on this machine it is mapped, and only the pages that are used are read.

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
        """Return some bytes of a file, all of which is checked: a damaged predecessor would lead to a wrong run.

        Raises:
            Damaged: it is not what was written.
        """
        return bytes(memoryview(self.read(file))[at : at + size])

    # --- what the driver does ----------------------------------------------------------------------

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file atomically: it has the new content whole, or the old.

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
        """Flush a file on this machine to disk."""
        if not (self.local and self.durable):
            return
        handle = os.open(os.path.join(self.where, name), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, subfolders included; empty if there is no such folder.

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
        """Return the content of a small file.

        Raises:
            OSError: it cannot be read.
        """
        system, top = self.opened()
        if self.local:
            check_readable(f"{top}/{name}")
        with system.open_input_file(f"{top}/{name}") as source:
            return bytes(source.read())

    def remove(self, names: Iterable[str]) -> None:
        """Remove the named files; skip those that do not exist."""
        system, top = self.opened()
        for name in names:
            with contextlib.suppress(OSError):
                system.delete_file(f"{top}/{name}")
