"""Sentences of every report: quorums that do not intersect, and the properties that it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from checker.report.result import Named, plural
from zabspec.quorums import named, system_of

if TYPE_CHECKING:
    from zabspec.configuration import Parameters
    from zabspec.simulator.plan import Run

MOST = 16  # properties that are named; more are counted


def disjoint_notes(asked: Parameters | Run) -> list[str]:
    """Return the warning of a quorum system whose quorums do not all intersect; empty for any other."""
    found = system_of(asked.quorums).disjoint if asked.quorums else None
    if found is None:
        return []
    one, other = map(named, found)
    said = f"warning: the quorums {one} and {other} do not intersect; DSN'11 II.1 requires that any two do"
    return [f"{said}: each may establish a leader of its own"]


def left_out(protocol: str, judged: Iterable[Named]) -> list[str]:
    """Return the names of the properties of a protocol that a request does not check."""
    from invariants import properties_of
    from zabspec.model import ConfigError

    with suppress(KeyError, ConfigError):  # the protocol's source may have changed
        names = {p.name for p in judged}
        return [p.name for p in properties_of(protocol) if p.judges(protocol) and p.name not in names]
    return []


def left_out_notes(names: Iterable[str], flag: str = "--property") -> list[str]:
    """Return the sentence on the properties that are not checked; empty if there are none."""
    every = list(names)
    many = f"{plural(len(every), 'property')}, listed by `zabcheck properties`"
    said = ", ".join(every) if len(every) <= MOST else many
    return [f"not checked: {said}; {flag} checks what it names"] if every else []
