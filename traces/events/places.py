"""Locate a table: a local path, or an address.

An address whose scheme pyarrow supports is read with pyarrow; any other is left to Spark. No message contains the
secrets of an address (user, key, and the options after a question mark), and messages of file systems are cleaned of
them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from zabspec.files import Unreadable, place_of, without_secrets

BY_ARROW = (
    "s3",
    "gs",
    "gcs",
)  # the object stores whose file systems pyarrow has, and that say a file by bucket and key
TABLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2}", re.ASCII)
SECRET = "***"
MAGIC = b"PAR1"  # with which a Parquet file begins
INCOMPLETE = {
    "_temporary": "a job is writing this table, or was killed while it did",
    "_delta_log": "this is a Delta table, in whose folder files of old versions are; read it with Spark or deltalake",
}  # what a folder may have in it whose files are not those of a table


@dataclass(frozen=True, repr=False)
class Address:
    """The address of a table, or of one of its files.

    Attributes:
        text: as it was given, with what is secret in it.
    """

    text: str

    def __str__(self) -> str:
        """Return the address without its secrets."""
        return without_secrets(self.text)

    __repr__ = __str__

    @property
    def scheme(self) -> str:
        """Return the scheme; empty for a table of a catalog."""
        return self.text.partition("://")[0].lower() if "://" in self.text else ""

    @property
    def by_arrow(self) -> bool:
        """Return whether pyarrow has a file system for the address."""
        return self.scheme in BY_ARROW

    def system(self) -> tuple[Any, str]:
        """Return the file system, and the path of the address in it.

        Raises:
            OSError, ValueError: pyarrow has no such file system.
        """
        system, inner = file_systems().FileSystem.from_uri(self.text)
        return system, str(inner)

    def below(self, inner: str) -> Address:
        """Return the address of a file, from its path in the file system."""
        scheme, _, rest = self.text.partition("://")
        path, mark, options = rest.partition("?")
        who, at, _ = path.rpartition("@")
        return Address(f"{scheme}://{who}{at}{inner}{mark}{options}")

    def open(self) -> IO[bytes]:
        """Open the file for reading.

        Raises:
            OSError, ValueError: it cannot be opened.
        """
        system, inner = self.system()
        opened: IO[bytes] = system.open_input_file(inner)
        return opened

    def files(self) -> list[Address]:
        """Return the address itself if it is a file, else every visible Parquet file below it, sorted.

        Raises:
            OSError, ValueError: the address cannot be listed, or has files that are not of the table.
        """
        fs = file_systems()
        system, inner = self.system()
        if system.get_file_info(inner).type == fs.FileType.File:
            return [self]
        found = system.get_file_info(fs.FileSelector(inner, recursive=True, allow_not_found=True))
        under = len(inner.rstrip("/")) + 1
        every = {f.path: f.path[under:].split("/") for f in found if f.type == fs.FileType.File}
        if why := incomplete(every.values()):
            raise ValueError(why)
        seen = [n for n in sorted(every) if not any(part[:1] in "._" for part in every[n] if part)]
        return [self.below(n) for n in seen if n.endswith(".parquet") or begins(system.open_input_stream(n))]


Place = Path | Address


def incomplete(paths: Iterable[Sequence[str]]) -> str:
    """Return why files below a folder are not those of a table, by their paths; empty if they may be."""
    return next((INCOMPLETE[part] for path in paths for part in path if part in INCOMPLETE), "")


def begins(file: IO[bytes]) -> bool:
    """Return whether a file begins as Parquet does, and close it."""
    with file:
        return file.read(len(MAGIC)) == MAGIC


def file_systems() -> Any:
    """Return the module `pyarrow.fs`; its stubs do not list what it exports."""
    return import_module("pyarrow.fs")


def address_of(name: str) -> Address | None:
    """Return the address that a name is, or None for a local path."""
    try:
        path = place_of(name)
    except Unreadable:
        return Address(name)
    return Address(name) if TABLE.fullmatch(name) and not name.endswith(".parquet") and not path.exists() else None


def cleaned(said: str, address: Address) -> str:
    """Return a message about an address without the address's secrets."""
    _, _, rest = address.text.partition("://")
    path, _, options = rest.partition("?")
    who = path.rpartition("@")[0]
    secrets = [address.text, rest, options, who, *who.split(":"), *(o.partition("=")[2] for o in options.split("&"))]
    said = said.replace(address.text, str(address))
    for secret in sorted((s for s in secrets if len(s) > 2), key=len, reverse=True):
        said = said.replace(secret, SECRET)
    return said
