"""Compute what happens before what in a run: a trace, a simulated run, an event table, or text logs of real servers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import NoVerdict, RequestError
from zabspec.joining import joined_as
from zabspec.typed import near

if TYPE_CHECKING:
    import networkx as nx

    from checker.report.simulated import Simulated
    from traces.causality.graph import Events
    from traces.record.trace import Trace
    from zabspec.simulator.run import Run

    AnyRun = Trace | Simulated | Run | str | PathLike[str] | Sequence[str | PathLike[str]]

PARQUET = b"PAR1"


def causal_graph(run: AnyRun, relation: str = "broadcasts", number: int | None = None) -> nx.DiGraph[int]:
    """Return the events of a run and what happens before what, as a graph of `networkx`.

    There is a path from one event to another if and only if the first happens before the second. A trace and a
    simulated run have both relations. An event table has `broadcasts`, up to 200,000 broadcasts and deliveries: a
    receipt does not say which message it is of. Text logs have proposals and commits, and no messages; `assumed` marks
    the commits that no line states: those a server has from a synchronization. `graph["incomplete"]` lists what the
    source leaves out: a broadcast of an unknown process has no edge from earlier events of that process.
    docs/how-to/traces-and-pictures.md has an example.

    Args:
        run: a trace or its file, an answer of `simulate` or its run, an event table, or the paths of text logs of
            ZooKeeper servers.
        relation: `broadcasts`, of DSN'11's Definition III.1: abcasts and deliveries of transactions; or `messages`, of
            all that processes do and the messages between them, which a table and a log do not have.
        number: of a run in an event table; None: the table has one alone.

    Raises:
        RequestError: there is no such run or relation, or the run does not have what the relation needs.
        NoVerdict: the simulated run has no end.
    """
    from checker.report.simulated import Simulated
    from traces import TraceError
    from traces.causality.graph import graph_of
    from zabspec.files import Unreadable
    from zabspec.simulator.run import SimulationError

    check_relation(relation)
    try:
        return graph_of(events_in(run.run if isinstance(run, Simulated) else run, relation, number))
    except TraceError as problem:
        raise RequestError(str(problem)) from None
    except Unreadable as problem:
        named = f"{fspath(run)}: " if isinstance(run, (str, PathLike)) else ""  # of several files the reason names one
        raise RequestError(f"cannot read {named}{problem}") from None
    except SimulationError as problem:
        raise NoVerdict(f"the run does not end: {problem}") from None


def check_relation(relation: str) -> None:
    """Check that a relation exists.

    Raises:
        RequestError: there is no such relation.
    """
    from traces.causality.graph import RELATIONS

    if relation not in RELATIONS:
        listed = " and ".join(RELATIONS)
        raise RequestError(f"there is no relation {relation!r}; there are {listed}{near(relation, RELATIONS)}")


def events_in(run: object, relation: str, number: int | None) -> Events:
    """Return the events of a run in any of its forms.

    Raises:
        RequestError: the value is not a run in any form.
        MissingData, TableError, TraceError, Unreadable, SimulationError: the run cannot be read.
    """
    from checker.requests.base.carried import verified_trace
    from traces import Trace
    from traces.causality import sources
    from zabspec.simulator.run import Run

    path = Path(fspath(run)) if isinstance(run, (str, PathLike)) else None
    if path is not None and is_table(path):
        return sources.events_of_table(path, relation, number)
    if number is not None:
        raise RequestError("number is only for a run in an event table")
    if path is not None:
        return sources.events_of_trace(verified_trace(path), relation)
    if isinstance(run, Trace):
        return sources.events_of_trace(run, relation)
    if isinstance(run, Run):
        return sources.events_of_run(run, relation)
    if isinstance(run, Sequence) and run and all(isinstance(x, (str, PathLike)) for x in run):
        history = joined_as("formats", "server-logs")([Path(fspath(x)) for x in run])
        silent = frozenset(key for key, line in history.lines.items() if line is None)
        return sources.events_of_logs(history.rows, relation, history.servers, silent)
    raise RequestError(f"a run is a trace, a simulated run, or a file or files of one, not {type(run).__name__}")


def is_table(path: Path) -> bool:
    """Return whether a path is an event table: a folder, or a file that begins as Parquet does.

    Raises:
        Unreadable: it cannot be read.
    """
    from zabspec.files import opened

    if path.is_dir():
        return True
    with opened(path, pipes=True) as fd:
        try:
            return os.pread(fd, len(PARQUET), 0) == PARQUET
        except OSError:  # a pipe has no offsets
            return False
