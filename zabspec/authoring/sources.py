"""Keep the sources of user protocols that have been read: what each declares, and its files."""

from __future__ import annotations

import difflib
import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from zabspec.authoring.declaration import Declaration, ProtocolError
from zabspec.files import LARGEST_SOURCE, folder_of, read_bytes

EXAMPLE = "example:"  # how the name of an example begins: example:paxos


def is_file(name: str) -> bool:
    """Return whether a protocol's name is a path to a file, or an example, and not a module of a package."""
    return name.endswith(".py") or os.sep in name or name.startswith(EXAMPLE)


def examples() -> dict[str, Path]:
    """Return the files of the protocols that come with zabcheck as examples, by name; empty if none are installed."""
    folder = folder_of("examples", "paxos.py", "examples")
    return {path.stem: path for path in sorted(folder.glob("*.py"))} if folder else {}


def path_of(name: str) -> Path:
    """Return the path that a protocol's name is, or that of an example.

    Raises:
        ProtocolError: there is no such example.
    """
    if not name.startswith(EXAMPLE):
        return Path(name)
    there, called = examples(), name.removeprefix(EXAMPLE)
    if called not in there:
        near = difflib.get_close_matches(called, there, 1)
        hint = f"did you mean {EXAMPLE}{near[0]}?" if near else f"there are {', '.join(there) or 'none installed'}"
        raise ProtocolError(f"there is no example {called!r}; {hint}")
    return there[called]


def is_elsewhere(name: str) -> bool:
    """Return whether a protocol's name says where its source is: a file, or a module of a package."""
    return is_file(name) or "." in name


@dataclass(frozen=True)
class Read:
    """The source of a protocol, after its file was read.

    Attributes:
        declared: the declaration.
        module: the module.
        files: the files of which it consists, itself first, each with the digest of its contents.
        released: whether it changes only with releases of zabcheck, so that its digest is empty.
        named: the modules that it names and does not import, by name, or why one could not be imported.
        parts: the other modules that were made of these files; none of a released one.
    """

    declared: Declaration
    module: ModuleType
    files: tuple[tuple[str, str], ...]
    released: bool = False
    named: Mapping[str, ModuleType | BaseException] = field(default_factory=dict)
    parts: tuple[ModuleType, ...] = ()

    @property
    def digest(self) -> str:
        """Return the digest of all that it is made of: that of its file, if there is no other."""
        if len(self.files) == 1:
            return self.files[0][1]
        said = [(os.path.relpath(f, os.path.dirname(self.files[0][0])), digest) for f, digest in self.files]
        return hashlib.sha256(repr(said).encode()).hexdigest()

    @property
    def is_current(self) -> bool:
        """Return whether its files are unchanged since they were read."""
        return all(digest_of(file) == digest for file, digest in self.files)


SETTLED = 2 * 10**9  # nanoseconds after which no file system gives another write the same times
_digests: dict[str, tuple[tuple[int, ...], str]] = {}  # of files that have settled, with what identified their content


def digest_of(file: str) -> str:
    """Return the digest of a file's content; empty if it cannot be read.

    It is read again only if it may have changed: a protocol of many files is looked up hundreds of times in a request.
    """
    try:
        found = os.stat(file)
        times = found.st_mtime_ns, found.st_ctime_ns
        content = found.st_dev, found.st_ino, found.st_size, *times
        known = _digests.get(file)
        if known is not None and known[0] == content:
            return known[1]
        digest = hashlib.sha256(read_bytes(Path(file), LARGEST_SOURCE)).hexdigest()
        if time.time_ns() - max(times) > SETTLED:
            _digests[file] = content, digest
        return digest
    except OSError:
        return ""


_read: dict[str, Read] = {}  # by `key_of` their names, as last read


def key_of(name: str) -> str:
    """Return the key that a protocol's name has now: a path means another file in another working directory."""
    return os.path.realpath(path_of(name)) if is_file(name) else name


def keep(key: str, read: Read) -> Read:
    """Record a source under the key that its name had before it was read, and return it."""
    _read[key] = read
    _current.add(key)
    return read


_current: set[str] = set()  # the keys that the present request has read


def begin_request() -> None:
    """Let each protocol's source be executed again: it may read what has changed since the last request."""
    _current.clear()


def current(name: str) -> Read | None:
    """Return what the present request has read under a name, unless it has not, or a file has changed."""
    known = last_read(name)
    return known if known is not None and key_of(name) in _current and known.is_current else None


def last_read(name: str) -> Read | None:
    """Return what a protocol's name was last read as, or None; its files may have changed since."""
    return _read.get(key_of(name))
