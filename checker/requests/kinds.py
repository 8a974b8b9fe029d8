"""List every kind of request, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from checker.errors import RequestError
from checker.requests.request import Request

FIRST = ("explore", "live", "search", "mutate", "simulate")  # in sentences
ABOVE = ("keywords", "kinds")  # which know every kind


def modules() -> list[str]:
    """Return the modules of this folder, which contain all requests."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [f"{__package__}.{name}" for name in names if name not in ABOVE]


def requests() -> Iterator[type[Request]]:
    """Yield the classes of this folder that have a kind."""
    for name in modules():
        for value in vars(import_module(name)).values():
            if isinstance(value, type) and issubclass(value, Request) and value.kind and value.__module__ == name:
                yield value


def rank(kind: type[Request]) -> tuple[int, str]:
    """Return the rank of a kind in the order of kinds."""
    return FIRST.index(kind.kind) if kind.kind in FIRST else len(FIRST), kind.kind


KINDS: Mapping[str, type[Request]] = {each.kind: each for each in sorted(requests(), key=rank)}


def from_json(given: object) -> Request:
    """Return a request that `as_json` wrote.

    Raises:
        RequestError: it is not one.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise RequestError(f"this is not a request: its kind must be one of {', '.join(KINDS)}")
    return KINDS[kind].from_json(given)
