"""Lose the power of a server: its files become what it had forced of them.

What was forced is observed, not read from the code: the library in the server's process (`shim.c`) copies a file when
the server forces it (`fsync`, `fdatasync`), before the call returns. What the model takes as given is done to the
copies: a file that is renamed has its new name at once, a deletion and a cut are not forced by themselves, and a
snapshot that is written over is gone until it is forced.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from traces.zookeeper.reenact.servers import Server


def loses_power(variant: str) -> bool:
    """Return whether a crash is a loss of power in a variant of the protocol."""
    return "power" in variant.split(",")


def keep_forced(server: Server) -> None:
    """Keep a copy of what a server forces from its next start on."""
    server.forced = server.folder / f"forced{server.number}"
    server.forced.mkdir(exist_ok=True)


def database(server: Server) -> Path:
    """Return the folder of a server's logs, snapshots and epochs."""
    return server.data / "version-2"


def written_back(server: Server) -> None:
    """Count all that is in the files of a server as forced, and files that are not there as gone.

    Its threads must not write at the same time.
    """
    assert server.forced is not None
    become(server.forced, database(server))


def lose_power(server: Server) -> list[str]:
    """Leave of the files of a server that has ended what was forced; return the names of those that change."""
    assert server.forced is not None
    return become(database(server), server.forced)


def become(folder: Path, other: Path) -> list[str]:
    """Make a folder's files those of another, and return the names of those that change."""
    there, wanted = files(folder), files(other)
    changed = [n for n in sorted(there | wanted) if n not in there or n not in wanted or differ(there[n], wanted[n])]
    for name in changed:
        if name in wanted:
            shutil.copyfile(wanted[name], folder / name)
        else:
            there[name].unlink()
    return changed


def files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by name, without copies that are being made."""
    return {path.name: path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}


def differ(one: Path, other: Path) -> bool:
    return one.read_bytes() != other.read_bytes()
