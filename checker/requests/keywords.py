"""From the keywords of a Python function, or the keys of a check in `zabcheck.toml`, to a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike, fspath
from typing import Any, TypeVar

from checker.errors import RequestError
from checker.requests.kinds import KINDS
from checker.requests.model import ModelRequest, near
from checker.requests.request import Request, bytes_of, flag

__all__ = ["request_of"]

R = TypeVar("R", bound=Request)

# Of a model, what else may be given: budgets each by its name.
MODEL = tuple(f.name for f in fields(ModelRequest))
ALL_FIELDS = {f.name for kind in KINDS.values() for f in fields(kind)}


def request_of(kind: type[R], protocol: str, given: Mapping[str, Any]) -> R:
    """Return a request of a kind.

    Args:
        protocol: as `--protocol` names it.
        given: values of the fields of the request and of its model. Budgets may be given by their names. None is the
            same as not given. Sizes may be text (`4G`), names may be properties, paths may be path objects.

    Raises:
        RequestError: there is no such field, or a value is wrong.
    """
    from zabspec.worlds.steps import BUDGETS

    known = {f.name for f in fields(kind)} - {"model"}
    of_model: dict[str, Any] = {"protocol": protocol}
    budgets: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "budgets" and isinstance(value, Mapping):
            budgets |= value
        elif name in BUDGETS:
            budgets[name] = value
        elif name in MODEL:
            of_model[name] = plain(name, value)
        elif name in known:
            values[name] = plain(name, value)
        else:
            if name in ALL_FIELDS:
                raise RequestError(f"{flag(name)} does not go with --{kind.kind}")
            raise RequestError(f"there is no option {name!r}{near(name, [*known, *MODEL, *BUDGETS])}")
    return kind(model=ModelRequest(**of_model, budgets=budgets), **values)  # type: ignore[call-arg]


def plain(name: str, value: Any) -> Any:
    """Return a value as fields have it."""
    if name == "memory_limit" and isinstance(value, str):
        return bytes_of(value, "--memory-limit")
    if name in ("properties", "goals", "require_witness", "clauses", "assume", "without"):
        if isinstance(value, bool):
            return ("all",) if value else ()
        return tuple(one_name(v) for v in ([value] if isinstance(value, str) or not is_many(value) else value))
    return fspath(value) if isinstance(value, PathLike) else value


def is_many(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def one_name(value: Any) -> Any:
    """Return the name of a property, or of what is named by its own name."""
    return value if isinstance(value, str) else getattr(value, "name", value)
