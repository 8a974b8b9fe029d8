"""Convert the keywords of a Python function, or the keys of a check in `zabcheck.toml`, to a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from os import PathLike, fspath
from typing import Any, TypeVar

from checker.errors import RequestError
from checker.requests.kinds import all_kinds
from checker.requests.model import ModelRequest
from checker.requests.quorum_system import quorums_given
from checker.requests.request import Request, bytes_of, flag, near

# Fields with several values.
MANY = (
    "properties", "progress_properties", "require_witness", "clauses", "assume", "without", "cut", "heal", "crash",
    "recover", "lose", "timeout",
)  # fmt: skip
R = TypeVar("R", bound=Request)

# Of a model, what else may be given: budgets each by its name.
MODEL = tuple(f.name for f in fields(ModelRequest))


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
    has_model = "model" in {f.name for f in fields(kind)}
    of_model: dict[str, Any] = {"protocol": protocol}
    budgets: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "budgets" and isinstance(value, Mapping):
            budgets |= value
        elif name in BUDGETS and name not in known:
            budgets[name] = value
        elif has_model and name in MODEL:
            of_model[name] = plain(name, value)
        elif name in known:
            values[name] = plain(name, value)
        else:
            if has_model and any(name in {f.name for f in fields(other)} for other in all_kinds().values()):
                raise RequestError(f"{flag(name)} does not go with --{kind.kind}")
            raise RequestError(f"there is no option {name!r}{near(name, [*known, *MODEL, *BUDGETS])}")
    if has_model:
        return kind(model=ModelRequest(**of_model, budgets=budgets), **values)  # type: ignore[call-arg]
    return kind(protocol=protocol, budgets=budgets, **values)  # type: ignore[call-arg]


def fields_of(kind: type[Request], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for the fields of a request that has no model.

    Raises:
        RequestError: there is no such field.
    """
    known = [f.name for f in fields(kind)]
    for name in given:
        if name not in known:
            raise RequestError(f"there is no option {name!r}{near(name, known)}")
    return {name: plain(name, value) for name, value in given.items() if value is not None}


def plain(name: str, value: Any) -> Any:
    """Return a value in the form that fields have."""
    if name == "memory_limit" and isinstance(value, str):
        return bytes_of(value, "--memory-limit")
    if name in MANY:
        if isinstance(value, bool):
            return ("all",) if value else ()
        return tuple(one_name(v) for v in ([value] if isinstance(value, str) or not is_many(value) else value))
    if name == "quorums" and isinstance(value, str | PathLike):
        return quorums_given(str(fspath(value)))
    return fspath(value) if isinstance(value, PathLike) else value


def is_many(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def one_name(value: Any) -> Any:
    """Return the name of a property, or a name itself."""
    return value if isinstance(value, str) else getattr(value, "name", value)
