"""Warn of quorums that do not intersect: such a system is explored, and every report says so."""

from __future__ import annotations

from zabspec.configuration import Parameters
from zabspec.quorums import named, system_of
from zabspec.simulator.plan import Run


def disjoint_notes(asked: Parameters | Run) -> list[str]:
    """Return the warning of a quorum system whose quorums do not all intersect; empty for any other."""
    found = system_of(asked.quorums).disjoint if asked.quorums else None
    if found is None:
        return []
    one, other = map(named, found)
    said = f"warning: the quorums {one} and {other} do not intersect; DSN'11 II.1 requires that any two do"
    return [f"{said}: each may establish a leader of its own"]
