"""Collect the events of a run from a trace or a simulated run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traces.causality.graph import ABCAST, ABDELIVER, BROADCASTS, MESSAGES, Event, Events
from traces.explain.flights import Fate, flights
from traces.explain.names import headline, message_text, process_name, txn_text
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

VERBS = {ABCAST: "abcasts", ABDELIVER: "delivers"}
OF_TWO = {"send": "from", "deliver": "to"}  # the events of a simulated run with two processes, and which it is


class MissingData(RequestError):
    """A source lacks what a relation needs; the message says what is missing."""


def broadcast_event(node: int, process: int, kind: str, txn: str, time: int) -> Event:
    """Return the event of an abcast or a delivery."""
    return Event(node, process, kind, f"{process_name(process)} {VERBS[kind]} {txn}", time, txn)


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
        out.events.append(broadcast_event(len(out.events) + 1, int(p), what, txn, runner.taken + 1))

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
                out.events.append(broadcast_event(node, int(e["process"]), name, txn, int(e["tick"])))
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
