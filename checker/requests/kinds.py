"""Find a request by its kind: a module of this folder defines it, and has the kind's name.

Late, when a trace, a report or a command names the kind: a request that reads traces can be one that makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from checker.errors import RequestError
from checker.requests.request import Request


def modules() -> list[str]:
    """Return the modules of this folder, which contain all requests."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [f"{__package__}.{name}" for name in names if name != "kinds"]


def kind_named(name: str) -> type[Request] | None:
    """Return the request of a kind, or None if there is none."""
    module = f"{__package__}.{name.replace('-', '_')}"
    found = vars(import_module(module)).values() if module in modules() else ()
    return next((k for k in found if isinstance(k, type) and issubclass(k, Request) and k.kind == name), None)


def kinds_in(module: str) -> Iterator[type[Request]]:
    """Yield the classes of a module that have a kind."""
    for value in vars(import_module(module)).values():
        if isinstance(value, type) and issubclass(value, Request) and value.kind and value.__module__ == module:
            yield value


@cache
def all_kinds() -> dict[str, type[Request]]:
    """Return every request by its kind."""
    return {kind.kind: kind for module in modules() for kind in kinds_in(module)}


def from_json(given: object) -> Request:
    """Return a request that `as_json` wrote.

    Raises:
        RequestError: it is not one.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if not isinstance(kind, str) or kind not in all_kinds():
        raise RequestError(f"this is not a request: its kind must be one of {', '.join(all_kinds())}")
    return all_kinds()[kind].from_json(given)
