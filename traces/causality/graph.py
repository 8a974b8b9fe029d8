"""The events of a run and what happens before what: one graph, of one of two relations.

`broadcasts` is the relation of DSN'11, Definition III.1: its events are abcasts and deliveries of transactions, and an
abcast comes before each delivery of its transaction. `messages` is Lamport's: its events are all that a process does,
and what sends a message comes before what receives it. In both, the events of a process are in its order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

RELATIONS = BROADCASTS, MESSAGES = ("broadcasts", "messages")
ABCAST, ABDELIVER = "abcast", "abdeliver"
PROCESS = "process"  # an edge from an event to the next of the same process


@dataclass(frozen=True)
class Event:
    """An event of a run, a node of the graph.

    Attributes:
        node: the name of the node.
        process: the process of the event; None if it is of no process.
        kind: the kind of event.
        text: one line about it.
        time: the step or tick.
        txn: the transaction of an abcast or a delivery; two are equal where the transactions are.
    """

    node: int
    process: int | None
    kind: str
    text: str
    time: int
    txn: Hashable = None


@dataclass
class Events:
    """The events of a run, in an order that agrees with every process's own.

    Attributes:
        relation: one of `RELATIONS`.
        source: one line that names the run.
        events: the events.
        sent: for each message that arrived the event that sent it, the event that received it, and its name.
        incomplete: what the source leaves out, one sentence each.
    """

    relation: str
    source: str
    events: list[Event] = field(default_factory=list)
    sent: list[tuple[int, int, str]] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)


def graph_of(run: Events) -> nx.DiGraph[int]:
    """Build the graph of a run: an edge from each event to the next of its process, and to each receipt of its message.

    Nodes have `process` (if it is of one), `kind`, `text`, `time` and `txn`; edges have `why`, which is
    `process`, `broadcast`, or the message. The graph has `relation`, `source` and `incomplete`, which says what its
    source leaves out, a line each. An event happens before another if there is a path from the one to the other.

    Returns:
        A graph of its own, that the caller may change. Of a run in which something is delivered before it is broadcast
        it may have circles.
    """
    import networkx as nx

    out: nx.DiGraph[int] = nx.DiGraph(
        relation=run.relation, source=run.source, incomplete="\n".join(run.incomplete), name="what happens before what"
    )
    last: dict[int, int] = {}
    abcasts: dict[Hashable, list[int]] = {}
    for e in run.events:
        known: Mapping[str, Any] = {"process": e.process, "txn": e.txn}
        said = {name: value for name, value in known.items() if value is not None}
        out.add_node(e.node, kind=e.kind, text=e.text, time=e.time, **said)
        if e.process is not None:
            if e.process in last:
                out.add_edge(last[e.process], e.node, why=PROCESS)
            last[e.process] = e.node
        if e.kind == ABCAST:
            abcasts.setdefault(e.txn, []).append(e.node)
    if run.relation == BROADCASTS:
        for e in run.events:
            for sent in abcasts.get(e.txn, ()) if e.kind == ABDELIVER else ():
                connect(out, sent, e.node, "broadcast")
    for source, target, message in run.sent:
        connect(out, source, target, message)
    return out


def connect(graph: nx.DiGraph[int], source: int, target: int, why: str) -> None:
    """Add an edge; what a process sends itself, and does next, is both."""
    if graph.has_edge(source, target):
        why = f"{graph.edges[source, target]['why']}, {why}"
    graph.add_edge(source, target, why=why)


def cone(graph: nx.DiGraph[int], event: int, future: bool = False) -> set[int]:
    """Return what an event depends on, or, with `future`, what depends on it, the event included.

    Raises:
        KeyError: the graph has no such event.
    """
    import networkx as nx

    if event not in graph:
        raise KeyError(event)
    others: set[int] = nx.descendants(graph, event) if future else nx.ancestors(graph, event)
    return {event} | others


def precedence(graph: nx.DiGraph[int]) -> set[tuple[Hashable, Hashable]]:
    """Return the pairs of transactions of which an abcast of the first happens before one of the second (III.1).

    Args:
        graph: the graph of the relation `broadcasts`.

    Raises:
        ValueError: it is the graph of the other relation.
    """
    import networkx as nx

    if graph.graph["relation"] != BROADCASTS:
        raise ValueError(f"transactions are ordered by the relation {BROADCASTS}, and this graph is of {MESSAGES}")
    sent = {node: data["txn"] for node, data in graph.nodes(data=True) if data["kind"] == ABCAST}
    return {(t, sent[k]) for j, t in sent.items() for k in nx.descendants(graph, j) & sent.keys() if t != sent[k]}
