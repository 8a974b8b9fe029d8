"""Write values: transactions, zxids and messages in the paper's notation, processes as `p0`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.roles import Roles

A = ParamSpec("A")
R = TypeVar("R")
T = TypeVar("T", bound="OfModel")


PROCESS = re.compile(r"\bp([0-6])\b")  # a process in a sentence
_roles: ContextVar[Roles | None] = ContextVar("roles", default=None)  # by which processes are named meanwhile


class WithRoles(Protocol):
    """The parameters of a model."""

    @property
    def played(self) -> Roles | None: ...


class OfModel(Protocol):
    """A run of a model, about which a message is written."""

    @property
    def configuration(self) -> WithRoles: ...


@contextmanager
def named_by(roles: Roles | None) -> Iterator[None]:
    """Name processes by their roles within a block, `client1`; None for their numbers, `p0`."""
    before = _roles.set(roles)
    try:
        yield
    finally:
        _roles.reset(before)


def naming_processes(tells: Callable[Concatenate[T, A], R]) -> Callable[Concatenate[T, A], R]:
    """Make a function that describes a run name processes as the run's model does; it must not be a generator."""

    @wraps(tells)
    def told(run: T, /, *args: A.args, **more: A.kwargs) -> R:
        with named_by(run.configuration.played):
            return tells(run, *args, **more)

    return told


def process_name(p: int) -> str:
    """Return the name of a process."""
    roles = _roles.get()
    if p < 0:
        return "nobody"
    return roles.name_of(p) if roles and p < roles.nodes else f"p{p}"


def with_names(sentence: str) -> str:
    """Return a property's sentence, in which the author writes `p{p}`, with the names of processes."""
    return PROCESS.sub(lambda found: process_name(int(found[1])), sentence)


def record_text(fields: Mapping[str, int]) -> str:
    """Return a record as text.

    A transaction is its identity and its zxid, `t1 <1,1>`, and `-` for none; a zxid is `<1,1>`; any other record is
    written by the names of its fields.
    """
    if fields.keys() == {"epoch", "counter", "value"}:
        return f"t{fields['value']} <{fields['epoch']},{fields['counter']}>" if any(fields.values()) else "-"
    if fields.keys() == {"epoch", "counter"}:
        return f"<{fields['epoch']},{fields['counter']}>"
    return f"<{', '.join(f'{name}={value}' for name, value in fields.items())}>"


def value_text(kind: Kind, value: Any) -> str:
    """Return a value of a kind as text; the value is of the CPython world or JSON."""
    if isinstance(kind, Bool):
        return "true" if value else "false"
    if isinstance(kind, NodeId):
        return process_name(value)
    if isinstance(kind, Int):
        return kind.named(int(value))
    if isinstance(kind, Record):
        fields = value if isinstance(value, Mapping) else {name: getattr(value, name) for name in kind.fields}
        if kind.name in ("Txn", "Zxid"):
            return record_text(fields)
        return f"{kind.name}({', '.join(f'{n}={value_text(k, fields[n])}' for n, k in kind.fields.items())})"
    if isinstance(kind, SetOf):
        return "{" + ", ".join(process_name(k) if kind.nodes else str(k) for k in value) + "}"
    if isinstance(kind, Seq):
        return f"[{', '.join(value_text(kind.element, v) for v in value)}]"
    assert isinstance(kind, MessageUnion)
    name = value["kind"] if isinstance(value, Mapping) else value.name
    if not name:
        return "no message"
    carried = (
        f"{field}={value_text(k, value[field] if isinstance(value, Mapping) else getattr(value, field))}"
        for field, k in kind.named(name).fields.items()
    )
    return f"{name}({', '.join(carried)})"
