"""Where the answer to a request goes besides stdout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SimulationOutputs"]


@dataclass(frozen=True)
class SimulationOutputs:
    """What a simulated run is written to.

    Attributes:
        dump: the canonical dump. events: everything that happens, as JSON lines; table: as an event table.
        trace: the first violation, as a trace; page: drawn.
        show: stdout has the cluster as it is at the end.
        as_json: stdout has JSON.
    """

    dump: Path | None = None
    events: Path | None = None
    table: Path | None = None
    trace: Path | None = None
    page: Path | None = None
    show: bool = False
    as_json: bool = False
