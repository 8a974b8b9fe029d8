"""Record the events of a sweep's runs as rows of an event table; runs have the numbers of configurations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from traces.events.recorded import ready_field, refuse_quorums, rows_of_run
from traces.events.table import TableError
from traces.tables.sweep.grid import Grid
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import SimulationError

if TYPE_CHECKING:
    import pyarrow as pa


def events_of(question: Grid, number: int, every: bool = False) -> Iterator[pa.Table]:
    """Play a configuration and yield its rows; none if it does not come to its end: `error` of its row says why.

    Args:
        every: also record events that no property uses (messages, timers, faults).
    """
    try:
        yield rows_of_run(question.run(number), number, every=every).as_table()
    except SimulationError:
        return


def check_events(question: Grid) -> None:
    """Check that the events of a grid's runs can be recorded.

    Raises:
        TableError: a protocol has no events of replicas, or its quorums are not majorities.
    """
    refuse_quorums(question.quorums)
    for protocol in question.protocol:
        if not PROTOCOLS[protocol].declared.replicas:
            raise TableError(f"the events of a sweep are those of replicas, and {protocol} declares no replicas")
        ready_field(protocol)
