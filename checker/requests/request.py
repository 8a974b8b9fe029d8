"""The common part of all requests: checked field types, limits on numbers, and a JSON form."""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from checker.errors import RequestError
from zabspec.files import without_secrets

# Fields whose flag has another name.
FLAGS = {
    "properties": "property", "progress_properties": "progress-property", "symmetry": "no-symmetry", "how": "search",
    "number": "mutate", "runs": "random",
}  # fmt: skip
UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
PLACES = ("master", "folder", "servers")  # it may be an address, with a key or a token in it
WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def flag(name: str) -> str:
    """Return the flag of a field, as messages name it."""
    return f"--{FLAGS.get(name, name.replace('_', '-'))}"


@dataclass(frozen=True)
class Request:
    """A request: a frozen dataclass. Its fields are numbers, text, booleans, tuples and mappings of these, or requests.

    Creating one checks the types of its fields, then what `validate` checks. Nothing is read or loaded then: names of
    protocols, properties and variants are looked up when the request is answered.

    Raises:
        RequestError: a value has the wrong type or is out of range, or two values contradict each other.
    """

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, wanted in field_types(type(self)).items():
            value = checked(getattr(self, name), wanted, name)
            object.__setattr__(self, name, value)
        self.validate()

    def validate(self) -> None:
        """Check values and combinations of values.

        Raises:
            RequestError: one is not possible.
        """

    def as_json(self) -> dict[str, Any]:
        """Return the request as JSON values, with its kind. Values that are the default are left out."""
        out: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Request):
                value = value.as_json()
            elif f.default == value or (not value and f.default_factory is dict):
                continue
            if isinstance(value, tuple):
                value = [without_secrets(v) if f.name in PLACES and isinstance(v, str) else v for v in value]
            if f.name in PLACES and isinstance(value, str):
                value = without_secrets(value)
            out[f.name] = dict(value) if isinstance(value, Mapping) else value
        return out

    @classmethod
    def from_json(cls, given: object) -> Self:
        """Return the request that `as_json` wrote.

        Raises:
            RequestError: it is not a request of this kind.
        """
        if not isinstance(given, Mapping):
            raise RequestError(f"a request of kind {cls.kind or cls.__name__} is a JSON object, not {given!r:.60}")
        values = dict(given)
        if cls.kind and values.pop("kind", cls.kind) != cls.kind:
            raise RequestError(f"this is a request of kind {given['kind']!r:.60}, not {cls.kind}")
        wanted = field_types(cls)
        for name, value in values.items():
            if name not in wanted:
                raise RequestError(f"a request of kind {cls.kind or cls.__name__} has no {name!r:.60}")
            if isinstance(wanted[name], type) and issubclass(wanted[name], Request):
                values[name] = wanted[name].from_json(value)
            elif isinstance(value, list):
                values[name] = tuple(value)
        return cls(**values)


_TYPES: dict[type[Request], dict[str, Any]] = {}


def field_types(kind: type[Request]) -> dict[str, Any]:
    """Return the declared type of each field of a request."""
    if kind not in _TYPES:
        hints = typing.get_type_hints(kind)
        _TYPES[kind] = {f.name: hints[f.name] for f in fields(kind)}
    return _TYPES[kind]


def checked(value: object, wanted: Any, name: str) -> object:
    """Return a value of the type that a field has.

    Raises:
        RequestError: it has another type.
    """
    if isinstance(wanted, types.UnionType):
        options = typing.get_args(wanted)
        if value is None and types.NoneType in options:
            return None
        (wanted,) = (option for option in options if option is not types.NoneType)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is tuple and isinstance(value, tuple):
        return tuple(checked(one, inner[0], name) for one in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {str(key): checked(one, inner[1], str(key)) for key, one in value.items()}
    if wanted is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if wanted is int and isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if wanted in (bool, str) and isinstance(value, wanted):
        return value
    if isinstance(wanted, type) and issubclass(wanted, Request) and isinstance(value, wanted):
        return value
    raise RequestError(f"{flag(name)} must be {WANTED.get(wanted, 'a list of names')}, not {value!r:.60}")


def at_least(request: Request, least: int, *names: str) -> None:
    """Check that the named numbers of a request, where they are given, are not below a limit.

    Raises:
        RequestError: one of them is.
    """
    for name in names:
        value = getattr(request, name)
        if value is not None and value < least:
            raise RequestError(f"{flag(name)} must be {least} or more, not {value}")


def no_address(request: Request, *names: str) -> None:
    """Check that output places, where given, are paths: an address would become a folder called `s3a:`.

    Raises:
        RequestError: one is an address.
    """
    for name in names:
        value = getattr(request, name)
        if "://" in (value or ""):
            said = "this is an address, and not a path of this machine or of a mount"
            raise RequestError(f"{flag(name)} {without_secrets(value)}: {said}")


def no_user(request: Request, *names: str) -> None:
    """Check that addresses, where given, contain no user or password: these would appear in reports and messages.

    Raises:
        RequestError: one does.
    """
    for name in names:
        value = getattr(request, name) or ""
        if "://" in value and without_secrets(value) != value.partition("?")[0]:
            said = "an address with a user or a password is refused, since reports would show it; set them in the "
            "environment"
            raise RequestError(f"{flag(name)} {without_secrets(value)}: {said}")


def seconds(request: Request, *names: str) -> None:
    """Check that times, where given, are finite and positive.

    Raises:
        RequestError: one is not.
    """
    for name in names:
        value = getattr(request, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise RequestError(f"{flag(name)} must be a number of seconds above 0, not {value:g}")


def solver_seed(*seeds: int) -> None:
    """Check that z3 accepts these seeds.

    Raises:
        RequestError: one is out of range.
    """
    if any(not 0 <= seed < 2**32 for seed in seeds):
        raise RequestError("--seed must be 0 to 4294967295")


def bytes_of(text: str, name: str) -> int:
    """Return an amount of memory in bytes, from text such as 4G, 512M, or a number of bytes.

    Raises:
        RequestError: it is not such an amount.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    amount = int(float(found[1]) * (1 << UNITS[found[2].upper()])) if found and len(text) < 30 else 0
    if amount < 1:
        raise RequestError(f"{name} must be a size like 512M or 4G, not {text!r}")
    return amount
