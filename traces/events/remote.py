"""Read the files of a remote folder, through pyarrow's file systems or Hadoop's in a Spark session's Java."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from traces.events.places import Address, cleaned, file_systems
from traces.spark.connect import is_connect
from traces.spark.trouble import reason
from zabspec.errors import RequestError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RemoteError(RequestError):
    """A remote folder cannot be read; the message contains no secret of its address."""


class RemoteFolder(Protocol):
    """Files below an address, by names with `/` between their parts."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; empty if the folder does not exist.

        Raises:
            RemoteError: it cannot be looked into.
        """

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder, sorted; empty if the folder does not exist.

        Raises:
            RemoteError: it cannot be looked into.
        """

    def is_empty(self) -> bool:
        """Return whether nothing is stored at the address.

        Raises:
            RemoteError: it cannot be looked into.
        """

    def get(self, name: str, path: Path) -> None:
        """Copy a remote file to this machine, with its modification time.

        Raises:
            RemoteError: it is not there, or cannot be read.
        """


def remote_folder(address: Address, spark: SparkSession) -> RemoteFolder:
    """Return the folder at an address.

    Args:
        spark: its Java reads what pyarrow has no file system for.

    Raises:
        RemoteError: there is no file system for it.
    """
    if address.by_arrow:
        return ArrowFolder(address)
    if is_connect(spark):
        raise RemoteError(f"{address}: reading this needs Java, which a session of Spark Connect does not have here")
    return HadoopFolder(address, spark)


@contextmanager
def said_of(address: Address) -> Iterator[None]:
    """Turn the exceptions of a file system into a `RemoteError` with a clean message.

    Raises:
        RemoteError: it did.
    """
    try:
        yield
    except RemoteError:
        raise
    except (OSError, ValueError) as problem:
        raise RemoteError(f"{address}: {cleaned(str(problem), address)}") from None
    except Exception as problem:
        if not (said := reason(problem)):
            raise
        raise RemoteError(f"{address}: {cleaned(said, address)}") from None


class ArrowFolder:
    """A folder of an object store.

    Raises:
        RemoteError: pyarrow has no such file system.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        with said_of(address):
            self.system, self.inner = address.system()

    def place(self, name: str) -> str:
        """Return the path of a file in the file system."""
        return f"{self.inner.rstrip('/')}/{name}"

    def names(self, folder: str) -> list[str]:
        fs = file_systems()
        with said_of(self.address):
            found = self.system.get_file_info(fs.FileSelector(self.place(folder), allow_not_found=True))
        return sorted(str(f.base_name) for f in found if f.type == fs.FileType.File)

    def folders(self, folder: str) -> list[str]:
        fs = file_systems()
        with said_of(self.address):
            found = self.system.get_file_info(fs.FileSelector(self.place(folder), allow_not_found=True))
        return sorted(str(f.base_name) for f in found if f.type == fs.FileType.Directory)

    def is_empty(self) -> bool:
        selector = file_systems().FileSelector(self.inner, allow_not_found=True)
        with said_of(self.address):
            return not self.system.get_file_info(selector)

    def get(self, name: str, path: Path) -> None:
        with said_of(self.address), self.system.open_input_stream(self.place(name)) as source, path.open("wb") as out:
            while piece := source.read(1 << 22):
                out.write(piece)
        with said_of(self.address):
            changed = self.system.get_file_info(self.place(name)).mtime_ns
        if changed is not None:
            os.utime(path, ns=(changed, changed))


class HadoopFolder:
    """A folder in one of Hadoop's file systems.

    Raises:
        RemoteError: Hadoop has no such file system, or it is not set up.
    """

    def __init__(self, address: Address, spark: SparkSession) -> None:
        self.address = address
        java: Any = spark
        self.java = java._jvm.org.apache.hadoop.fs
        with said_of(address):
            self.system = self.path("").getFileSystem(java._jsparkSession.sessionState().newHadoopConf())

    def path(self, name: str) -> Any:
        """Return a path as a Hadoop object."""
        return self.java.Path(f"{self.address.text.rstrip('/')}/{name}" if name else self.address.text)

    def names(self, folder: str) -> list[str]:
        with said_of(self.address):
            if not self.system.exists(self.path(folder)):
                return []
            found = self.system.listStatus(self.path(folder))
            return sorted(str(f.getPath().getName()) for f in found if f.isFile())

    def folders(self, folder: str) -> list[str]:
        with said_of(self.address):
            if not self.system.exists(self.path(folder)):
                return []
            found = self.system.listStatus(self.path(folder))
            return sorted(str(f.getPath().getName()) for f in found if f.isDirectory())

    def is_empty(self) -> bool:
        with said_of(self.address):
            return not self.system.exists(self.path("")) or not list(self.system.listStatus(self.path("")))

    def get(self, name: str, path: Path) -> None:
        with said_of(self.address):
            self.system.copyToLocalFile(False, self.path(name), self.java.Path(f"file://{path}"), True)
            changed = int(self.system.getFileStatus(self.path(name)).getModificationTime()) * 1_000_000
        os.utime(path, ns=(changed, changed))
