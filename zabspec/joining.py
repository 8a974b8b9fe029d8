"""Find what wings, and packages of others, join to the core by entry points.

An entry point names a module, or an object in one. It is read when it is needed, not at each start. One whose package
is not installed is known by its name, and says what it needs.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zabspec.errors import RequestError
from zabspec.extras import is_there

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

WINGS = ("zookeeper", "proofs", "tables")


class NotInstalled(RequestError):
    """What an entry point names is in a package that is not installed."""


@cache
def joined(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group, by name; of two with one name zabcheck's own, which another cannot replace.

    Args:
        group: `requests`, `properties`, `protocols`, `formats`, `engines` or `evidence`.
    """
    found: dict[str, EntryPoint] = {}
    if not may_have(f"[zabcheck.{group}]".encode()):
        return found
    from importlib.metadata import entry_points  # a tenth of a short command

    for point in entry_points(group=f"zabcheck.{group}"):
        if point.name not in found or is_own(point):
            found[point.name] = point
    return dict(sorted(found.items()))


def may_have(section: bytes) -> bool:
    """Return whether a distribution may have a section of entry points.

    True as well where not only files in folders may say so, or one of these cannot be read.
    """
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    try:
        places = [place for place in map(Path, sys.path) if place.exists()]
        found = (file for place in places for file in place.glob("*[iI][nN][fF][oO]/entry_points.txt"))
        return not all(place.is_dir() for place in places) or any(section in file.read_bytes() for file in found)
    except OSError:
        return True


def is_own(point: EntryPoint) -> bool:
    """Return whether an entry point is zabcheck's, and not another package's."""
    return point.dist is not None and point.dist.name == "zabcheck"


def missing(point: EntryPoint) -> str:
    """Return the sentence that says what an entry point needs, whose module is not installed."""
    names = point.module.split(".")
    packages = (".".join(names[:length]) for length in range(1, len(names) + 1))
    package = next((name for name in packages if not is_there(name)), point.module)
    name = package.rpartition(".")[2]
    needed = f"the wing {name}" if name in WINGS else f"the package {package}"
    return f"`{point.name}` needs {needed}, which is not installed"


def load(point: EntryPoint) -> Any:
    """Import what an entry point names.

    Raises:
        NotInstalled: its package is not installed; the sentence says what it needs.
        RequestError: another's package cannot be imported. It is not left out: what it adds would not be checked.
    """
    if not is_there(point.module):
        raise NotInstalled(missing(point))
    try:
        return point.load()
    except Exception as problem:
        if is_own(point):
            raise
        whose = point.dist.name if point.dist is not None else "another package"
        said = f"{type(problem).__name__}: {problem}"
        raise RequestError(f"{point.value}, by which {whose} joins zabcheck, cannot be imported: {said}") from problem


def is_installed(group: str, name: str) -> bool:
    """Return whether what an entry point of a group names is installed."""
    point = joined(group).get(name)
    return point is not None and is_there(point.module)


def joined_as(group: str, name: str) -> Any:
    """Import what an entry point of a group names.

    Raises:
        NotInstalled: its package is not installed, or nothing that is installed has such an entry point.
    """
    point = joined(group).get(name)
    if point is None:
        raise NotInstalled(f"`{name}` is an entry point of zabcheck, which is not installed here as a package")
    return load(point)


def source_of(point: EntryPoint) -> Path | None:
    """Return the file of the module that an entry point names, importing its parents alone; None if missing."""
    found = find_spec(point.module) if is_there(point.module) else None
    return Path(found.origin) if found and found.origin else None
