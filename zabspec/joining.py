"""Find what wings, and packages of others, join to the core by entry points.

An entry point names a module, or an object in one. It is read when it is needed, not at each start. One whose package
is not installed is known by its name, and says what it needs.
"""

from __future__ import annotations

from functools import cache
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
    """Return the entry points of a group of zabcheck's, by name.

    Args:
        group: `requests`, `properties`, `protocols`, `formats`, `engines` or `evidence`.
    """
    from importlib.metadata import entry_points  # it costs as much as the rest of a short command

    return {point.name: point for point in sorted(entry_points(group=f"zabcheck.{group}"), key=lambda p: p.name)}


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
    """
    if not is_there(point.module):
        raise NotInstalled(missing(point))
    return point.load()


def is_installed(group: str, name: str) -> bool:
    """Return whether what an entry point of a group names is installed."""
    point = joined(group).get(name)
    return point is not None and is_there(point.module)


def joined_as(group: str, name: str) -> Any:
    """Import what an entry point of a group names.

    Raises:
        KeyError: there is no such entry point.
        NotInstalled: its package is not installed.
    """
    return load(joined(group)[name])


def source_of(point: EntryPoint) -> Path | None:
    """Return the file of the module that an entry point names, importing its parents alone; None if missing."""
    found = find_spec(point.module) if is_there(point.module) else None
    return Path(found.origin) if found and found.origin else None
