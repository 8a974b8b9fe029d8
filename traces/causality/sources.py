"""Collect the events of a run from a trace, a simulated run, an event table or text logs.

| source | `broadcasts` | `messages` |
|---|---|---|
| a trace | yes | yes: which step received what was sent is in it |
| a simulated run | yes | yes: every message has a number |
| an event table | yes | no: a row of a receipt does not say which of the messages sent it is of |
| text logs of servers | proposals and commits | no: they tell of no message |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from traces.causality.graph import ABCAST, ABDELIVER, BROADCASTS, MESSAGES, Event, Events
from traces.events.table import Rows, TableError, parts_of, printable, read_part
from traces.explain.flights import Fate, flights
from traces.explain.names import counted, headline, message_text, process_name, txn_text
from traces.explain.text import configuration_text
from traces.record.events import events_of
from traces.record.runner import Runner, StepFailed
from traces.record.trace import Trace
from traces.record.values import value_json
from zabspec.errors import RequestError
from zabspec.language.layout.notation import naming_processes
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import Run
from zabspec.worlds.disks import done

TXN = ("epoch", "counter", "identity", "digest")
COLUMNS = ("run", "process", "position", "kind", *TXN, "time")
MOST = 200_000  # events of a run that a graph has: networkx takes about a kilobyte for each
NO_MESSAGES = "it does not say which message each receipt is for"
VERBS = {ABCAST: "abcasts", ABDELIVER: "delivers"}
OF_TWO = {"send": "from", "deliver": "to"}  # the events of a simulated run with two processes, and which it is


class MissingData(RequestError):
    """A source lacks what a relation needs; the message says what is missing."""


def broadcast_event(node: int, process: int | None, kind: str, txn: str, time: int | None, assumed: bool) -> Event:
    """Return the event of an abcast or a delivery."""
    who = process_name(process) if process is not None else "somebody"
    return Event(node, process, kind, f"{who} {VERBS[kind]} {txn}", time, txn, assumed)


# --- a trace ---------------------------------------------------------------------------------------


@naming_processes
def events_of_trace(trace: Trace, relation: str) -> Events:
    """Return the events of a trace: its steps, by number, or their broadcasts and deliveries, counted from 1.

    Raises:
        MissingData: broadcasts are asked for of a protocol that has no transactions.
        TraceError: the schedule is not the explorer's.
    """
    out = Events(relation, configuration_text(trace.configuration), incomplete=begun_in(trace.configuration.start))
    if relation == BROADCASTS:
        require_transactions(trace.configuration.protocol)
        broadcasts_in(trace, out)
        return out
    for step in trace.steps:
        out.events.append(Event(step.number, step.process, step.word.kind, headline(step), step.number))
    for f in flights(trace):
        if f.sent and f.ended is not None and f.fate in (Fate.RECEIVED, Fate.COPIED):
            out.sent.append((f.sent, f.ended, message_text(f.message, trace.model)))
    return out


def begun_in(start: str) -> list[str]:
    """Return a sentence about what is missing of a run that does not begin in the first state."""
    return [f"the run begins in the state {start!r}: the steps before it are missing"] if start else []


def require_transactions(protocol: str) -> None:
    """Check that a protocol has transactions.

    Raises:
        MissingData: it abcasts nothing.
    """
    if not PROTOCOLS[protocol].transactions:
        raise MissingData(f"{protocol} has no transactions to broadcast; its relation is {MESSAGES}")


def broadcasts_in(trace: Trace, out: Events) -> None:
    """Rerun the schedule, and record what is broadcast and delivered.

    The steps of a trace do not say in which order a handler did both."""
    runner = Runner(trace.model)
    names, kind = runner.names, trace.model.txn
    abcast_key, deliver_key = done(names, ABCAST), done(names, ABDELIVER)
    abcast, abdeliver = names[abcast_key], names[deliver_key]

    def note(what: str, p: int, t: Any) -> None:
        txn = txn_text(value_json(kind, t))
        out.events.append(broadcast_event(len(out.events) + 1, int(p), what, txn, runner.taken + 1, False))

    def on_abcast(s: Any, p: int, epoch: int, counter: int) -> Any:
        t = abcast(s, p, epoch, counter)
        note(ABCAST, p, t)
        return t

    def on_abdeliver(s: Any, p: int, t: Any) -> None:
        abdeliver(s, p, t)
        note(ABDELIVER, p, t)

    names[abcast_key], names[deliver_key] = on_abcast, on_abdeliver
    for step in trace.steps:
        before = len(out.events)
        try:
            runner.step(step.word.word)
        except StepFailed:  # it has a run-time error: nothing that it did is kept
            del out.events[before:]


# --- a simulated run -------------------------------------------------------------------------------


def events_of_run(run: Run, relation: str) -> Events:
    """Rerun a simulated run in the CPython world, and return its events, counted from 1.

    Raises:
        MissingData: broadcasts are asked for of a protocol that has no transactions.
        SimulationError: a value would leave its range.
    """
    if relation == BROADCASTS:
        require_transactions(run.protocol)
    _, happened = events_of(run)
    said = f"a simulated run of {run.protocol}, {run.nodes} nodes, seed {run.seed}"
    out = Events(relation, said, incomplete=begun_in(run.start))
    sent: dict[int, int] = {}
    for e in happened:
        name = e["event"]
        if relation == BROADCASTS:
            if name in VERBS:
                node, txn = len(out.events) + 1, txn_text(e["txn"])
                out.events.append(broadcast_event(node, int(e["process"]), name, txn, int(e["tick"]), False))
            continue
        process = e.get(OF_TWO.get(name, "process"))
        if process is None or name == "role":  # what the network does, and what follows from another event
            continue
        node = len(out.events) + 1
        out.events.append(Event(node, int(process), name, f"{process_name(int(process))}: {told(e)}", int(e["tick"])))
        if name == "send":
            sent[e["seq"]] = node
        elif name == "deliver" and e["seq"] in sent:
            out.sent.append((sent[e["seq"]], node, told_message(e["message"])))
    return out


def told(e: Mapping[str, Any]) -> str:
    """Describe an event of a simulated run in a line."""
    name = str(e["event"])
    if name in OF_TWO:
        other = e["to"] if name == "send" else e["from"]
        return f"{name} {told_message(e['message'])} {'to' if name == 'send' else 'from'} {process_name(int(other))}"
    return f"{name} {txn_text(e['txn'])}" if "txn" in e else name


def told_message(m: Mapping[str, Any]) -> str:
    """Return the name of a message."""
    return str(m["kind"])


# --- rows: an event table, text logs ---------------------------------------------------------------


def events_of_rows(columns: Mapping[str, Sequence[Any]], source: str, assumed: frozenset[tuple[int, int]]) -> Events:
    """Return the broadcasts and deliveries in the rows of a run.

    Args:
        columns: those of `COLUMNS`.
        source: what they are of.
        assumed: the rows, by process and position, that the source does not say.

    Raises:
        TableError: there are too many.
    """
    out = Events(BROADCASTS, source)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    told = [r for r in rows if r["kind"] in VERBS]
    if len(told) > MOST:
        raise TableError(
            f"{source} has {len(told):,} broadcasts and deliveries, and a graph has at most {MOST:,} events"
        )
    used = [c for c in TXN if any(r[c] is not None for r in told)]
    unknown = 0
    for r in told:
        key = (r["process"], r["position"])
        node, txn = len(out.events) + 1, txn_of(r, used)
        if any(r[c] is None for c in used):
            txn += f" of event {node}"  # it may be any, so it is taken for none of the others
        event = broadcast_event(node, r["process"], r["kind"], txn, r["time"], key in assumed and None not in key)
        unknown += r["kind"] == ABCAST and r["process"] is None
        out.events.append(event)
    if unknown:
        out.incomplete.append(
            f"{counted(unknown, 'broadcast')} of an unknown process: its earlier deliveries are missing"
        )
    partly = [c for c in used if any(r[c] is None for r in told)]
    if partly:
        out.incomplete.append(f"some rows have no {' and '.join(partly)}: their transactions cannot be identified")
    return out


def txn_of(row: Mapping[str, Any], used: Sequence[str]) -> str:
    """Return the transaction of a row as reports write it."""
    zxid = f"<{row['epoch']},{row['counter']}>"
    identity = f"t{row['identity']} " if "identity" in used else ""
    return f"{identity}{zxid}" + (f" of digest {row['digest']}" if "digest" in used else "")


def events_of_table(path: Path, relation: str, number: int | None) -> Events:
    """Return the broadcasts and deliveries of a run in an event table.

    Args:
        number: of the run; None if the table has only one.

    Raises:
        TableError: it is no event table, or has no such run.
        MissingData: messages are asked for, or the table does not note what is broadcast or delivered.
    """
    parts = parts_of(path)
    if relation == MESSAGES:
        raise MissingData(f"{path} is an event table: {NO_MESSAGES}; use the relation {BROADCASTS}")
    for kind in VERBS:
        if parts and not all(kind in p.observes for p in parts):
            raise MissingData(f"{path} does not record which process {VERBS[kind]} what ({kind})")
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    numbers: set[int] = set()
    for part in parts:
        if part.least is not None and part.least == part.most and number not in (None, part.least):
            numbers.add(int(part.least))
            continue
        table = read_part(part, COLUMNS)
        runs = table.column("run").to_pylist()
        numbers |= set(runs)
        if number is None and len(numbers) > 1:
            break
        at = [k for k, run in enumerate(runs) if number in (None, run)]
        for name in COLUMNS:
            values = table.column(name).to_pylist()
            columns[name] += [printable(values[k]) if name == "kind" else values[k] for k in at]
    if number is None and len(numbers) > 1:
        raise TableError(f"{path} has several runs: give the number of one")
    if number is not None and number not in numbers:
        raise TableError(f"{path} has no run {number}")
    if not columns["run"]:
        raise TableError(f"{path}: there is no run in this table")
    return events_of_rows(columns, f"run {columns['run'][0]} of {path}", frozenset())


def events_of_logs(
    rows: Rows | None, relation: str, names: Mapping[int, str], silent: frozenset[tuple[int, int]]
) -> Events:
    """Return the proposals and commits in text logs of servers.

    Args:
        rows: the rows of the history; None if the logs have no proposal and no commit.
        names: of the servers, by their numbers.
        silent: the rows, by process and position, that no line says.

    Raises:
        MissingData: messages are asked for, or there is no proposal or commit.
    """
    if relation == MESSAGES:
        raise MissingData(f"text logs of servers have no messages; use the relation {BROADCASTS}")
    if rows is None:
        raise MissingData(
            "these logs have no proposal and no commit: DEBUG of org.apache.zookeeper.server.quorum has them"
        )
    columns = {name: rows.columns[name] for name in COLUMNS}
    servers = ", ".join(f"p{k} is server {n}" for k, n in enumerate(sorted(names)))
    out = events_of_rows(columns, f"text logs of {counted(len(names), 'server')}: {servers}", silent)
    if silent:
        out.incomplete.append(
            f"{counted(len(silent), 'event')} in no line (`assumed`): what a server has after a synchronization, in "
            f"the order of zxids"
        )
    return out
