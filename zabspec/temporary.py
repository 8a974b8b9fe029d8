"""Manage temporary files and folders: where they are, and that they are removed (docs/decisions/0014-rooms.md).

A folder goes when the work does, also after a signal. What a killed process has left is removed by the next one that
makes a folder: whoever is at work holds a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from zabspec.signals import Held

FOLDER = "zabcheck-"
LOCK = ".zabcheck-lock"
SETTLED = 60.0  # seconds after which a folder that is in use has a lock
DISK = "/var/tmp"  # for data that does not fit into memory: /tmp may be memory, too


def top() -> Path:
    """Return the folder for temporary files: TMPDIR, or the system's folder."""
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """Create an empty folder for exclusive use, with a lock, that is removed at the end.

    Args:
        what: the purpose, as a part of its name.

    Raises:
        OSError: there is no room for one.
    """
    remove_abandoned()
    folder, lock = None, -1
    try:
        with Held():
            folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{what}-"))
            lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        with Held():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if lock >= 0:
                os.close(lock)


def remove_abandoned() -> None:
    """Remove the folders of this user whose makers have ended.

    Their lock is free, or was never made and the folder is empty. A folder of that name without a lock belongs to
    another program.
    """
    for old in top().glob(f"{FOLDER}*"):
        with contextlib.suppress(OSError):  # it is another's, or gone, or in use
            if not old.is_dir() or old.stat().st_uid != os.getuid():
                continue
            if not (old / LOCK).exists():
                if time.time() - old.stat().st_mtime > SETTLED:
                    old.rmdir()
                continue
            handle = os.open(old / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(old, ignore_errors=True)
            finally:
                os.close(handle)


def unseen_file(what: str) -> IO[bytes]:
    """Create a file on disk without a name, which is removed when its last user closes it.

    Raises:
        OSError: there is no room for one.
    """
    where = os.environ.get("TMPDIR") or (DISK if os.path.isdir(DISK) else None)
    return tempfile.TemporaryFile(prefix=f"{FOLDER}{what}-", dir=where)
