"""Compute what happens before what in a run: a trace or a simulated run."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import NoVerdict, RequestError
from zabspec.typed import near

if TYPE_CHECKING:
    import networkx as nx

    from checker.report.simulated import Simulated
    from traces.causality.graph import Events
    from traces.record.trace import Trace
    from zabspec.simulator.run import Run

    AnyRun = Trace | Simulated | Run | str | PathLike[str]


def causal_graph(run: AnyRun, relation: str = "broadcasts") -> nx.DiGraph[int]:
    """Return the events of a run and what happens before what, as a graph of `networkx`.

    There is a path from one event to another if and only if the first happens before the second.
    `graph.graph["incomplete"]` says of a run that begins elsewhere that the steps before are missing.
    docs/how-to/traces-and-pictures.md has an example.

    Args:
        run: a trace or its file, an answer of `simulate` or its run.
        relation: `broadcasts`, of DSN'11's Definition III.1: abcasts and deliveries of transactions; or `messages`, of
            all that processes do and the messages between them.

    Raises:
        RequestError: there is no such run or relation, or the protocol has no transactions.
        NoVerdict: the simulated run has no end.
    """
    from checker.report.simulated import Simulated
    from traces import TraceError
    from traces.causality.graph import graph_of
    from zabspec.files import Unreadable
    from zabspec.simulator.run import SimulationError

    check_relation(relation)
    try:
        return graph_of(events_in(run.run if isinstance(run, Simulated) else run, relation))
    except TraceError as problem:
        raise RequestError(str(problem)) from None
    except Unreadable as problem:
        named = f"{fspath(run)}: " if isinstance(run, (str, PathLike)) else ""
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


def events_in(run: object, relation: str) -> Events:
    """Return the events of a run in any of its forms.

    Raises:
        RequestError: the value is not a run in any form, or lacks what the relation needs.
        TraceError, Unreadable, SimulationError: the run cannot be read.
    """
    from checker.requests.base.carried import verified_trace
    from traces import Trace
    from traces.causality import sources
    from zabspec.simulator.run import Run

    if isinstance(run, (str, PathLike)):
        return sources.events_of_trace(verified_trace(Path(fspath(run))), relation)
    if isinstance(run, Trace):
        return sources.events_of_trace(run, relation)
    if isinstance(run, Run):
        return sources.events_of_run(run, relation)
    raise RequestError(f"a run is a trace or its file, or a simulated run, not {type(run).__name__}")
