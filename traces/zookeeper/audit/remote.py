"""Copy the data directory of a server from an address to a folder of this machine, where an audit reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from traces.events.places import Address
from traces.events.remote import RemoteError, RemoteFolder
from traces.zookeeper.disk.server import DEEP, KNOWN, MOST_FILES, MYID, VERSION

OF_SERVER = ("log.", "snapshot.")


def parent_of(address: Address) -> Address | None:
    """Return the folder above an address, or None if the address names a bucket."""
    path, mark, options = address.text.partition("?")
    above, slash, last = path.rstrip("/").rpartition("/")
    return Address(f"{above}{mark}{options}") if slash and last and not above.endswith("/") else None


def copy_server(remote: RemoteFolder, above: RemoteFolder | None, target: Path, called: str) -> None:
    """Copy what an audit reads of a server: its folders version-2, whole, and its file myid.

    The files keep the times of their last changes, by which an audit sees whether a server may be running.

    Args:
        remote: the data directory of a server, or its folder version-2.
        above: the folder above that, which has myid if `remote` is version-2 itself.
        target: an empty folder, which becomes the copy.
        called: what errors call the address.

    Raises:
        RemoteError: it cannot be read, there is nothing, or there are too many files.
    """
    if remote.is_empty():
        raise RemoteError(f"{called}: there is no folder")
    files = 0
    for folder, whole in server_folders(remote, target.name):
        here = target / folder
        here.mkdir(parents=True, exist_ok=True)
        for name in sorted(remote.names(folder), key=turn):
            if whole or name == MYID:
                remote.get(f"{folder}/{name}".lstrip("/"), here / name)
                files += 1
                if files > MOST_FILES:
                    raise RemoteError(f"{called} has more than {MOST_FILES:,} files")
        if whole:
            for name in remote.folders(folder):  # an audit reports them as strays
                (here / name).mkdir()
        if whole and not folder and above is not None and MYID in above.names(""):
            above.get(MYID, here.parent / MYID)


def turn(name: str) -> tuple[int, int]:
    """Return when a file is copied: of a server that runs, what it writes later is copied later.

    Its epochs are copied in the order in which an audit reads them, and its logs after its snapshots.
    """
    if name in KNOWN:
        return 0, KNOWN.index(name)
    return (2 if name.startswith("log.") else 1), 0


def server_folders(remote: RemoteFolder, name: str) -> Iterator[tuple[str, bool]]:
    """Yield the folders of a server that an audit looks into, and whether each is a version-2.

    Args:
        name: of the folder that `remote` is.
    """
    if name == VERSION or any(file.startswith(OF_SERVER) for file in remote.names("")):
        yield "", True
        return
    ahead = [("", 0)]
    while ahead:
        folder, depth = ahead.pop(0)
        yield folder, False
        for inner in remote.folders(folder):
            path = f"{folder}/{inner}".lstrip("/")
            if inner == VERSION:
                yield path, True
            elif depth < DEEP:
                ahead.append((path, depth + 1))
