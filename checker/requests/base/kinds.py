"""Find a request by its kind: a module of the folder above, or one that an entry point names, has the kind's name.

An entry point of the group `zabcheck.requests` has the name of a command. The modules beside one of a wing's are found,
too: they have the kinds that a command makes if an option chooses its mode.

Late, when a trace, a report or a command names the kind: a request that reads traces can be one that makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from checker.errors import RequestError
from checker.requests.base.request import Request
from zabspec.joining import is_own, joined, load, source_of

FOLDER = Path(__file__).parents[1]
PACKAGE = "checker.requests"
EXPLORE = "explore"  # what `zabcheck` does without a command


def modules() -> list[str]:
    """Return the modules of the folder above, which contain the requests of the core."""
    return [f"{PACKAGE}.{path.stem}" for path in sorted(FOLDER.glob("[a-z]*.py"))]


def module_of(name: str) -> ModuleType | None:
    """Import the module that has the request of a kind, or return None.

    Raises:
        NotInstalled: it is part of what is not installed.
    """
    own = name.replace("-", "_")
    if (full := f"{PACKAGE}.{own}") in modules():
        return import_module(full)
    point = joined("requests").get(name)
    if point is None and own.isidentifier():
        beside = (f"{package}.{own}" for package in rooms())
        return next((import_module(module) for module in beside if find_spec(module)), None)
    found = load(point) if point is not None else None
    return found if isinstance(found, ModuleType) else None


@cache
def rooms() -> list[str]:
    """Return the packages of the wings that have requests, of those that are installed."""
    points = joined("requests").values()
    return sorted({point.module.rpartition(".")[0] for point in points if source_of(point) and is_own(point)})


def kind_named(name: str) -> type[Request] | None:
    """Return the request of a kind, or None if no module has it.

    Raises:
        NotInstalled: it is part of what is not installed.
    """
    module = module_of(name)
    found = vars(module).values() if module else ()
    return next((k for k in found if isinstance(k, type) and issubclass(k, Request) and k.kind == name), None)


def is_command(kind: type[Request]) -> bool:
    """Return whether `zabcheck KIND` makes a request: no option chooses it among the kinds of another command."""
    return not kind.mode and kind.kind != EXPLORE


def kinds_in(module: ModuleType) -> Iterator[type[Request]]:
    """Yield the classes of a module that have a kind."""
    for value in vars(module).values():
        if (
            isinstance(value, type)
            and issubclass(value, Request)
            and value.kind
            and value.__module__ == module.__name__
        ):
            yield value


@cache
def all_kinds() -> dict[str, type[Request]]:
    """Return every request that is installed, by its kind."""
    names = [*modules(), *(point.module for point in joined("requests").values() if source_of(point))]
    names += [f"{room}.{module.name}" for room in rooms() for module in iter_modules(import_module(room).__path__)]
    found = {kind.kind: kind for name in dict.fromkeys(names) for kind in kinds_in(import_module(name))}
    return dict(sorted(found.items()))


def from_json(given: object) -> Request:
    """Return a request that `as_json` wrote.

    Raises:
        RequestError: it is not one, or is of a kind that is not installed.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else None
    found = kind_named(kind) if isinstance(kind, str) else None
    if found is None:
        raise RequestError(f"this is not a request: its kind must be one of {', '.join(all_kinds())}")
    return found.from_json(given)
