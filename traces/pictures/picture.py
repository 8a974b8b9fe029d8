"""Collect what to draw of a trace: lanes with roles and epochs, each step's effects, and every message with its fate.

It also marks what the explanation of the violation names.

Nothing is assumed of the protocol. The role is a process's first field whose values have names, the epoch the first
field with a name of an epoch; either may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from traces.explain.effects import changed, changes, in_words
from traces.explain.flights import Flight, flights
from traces.explain.names import headline, message_text, observation_text, process_name, txn_text
from traces.explain.text import configuration_text, parted, put_to_the_test
from traces.explain.why import reason
from traces.record.trace import JsonState, Step, Trace, Transmission
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq
from zabspec.language.layout.notation import naming_processes, value_text
from zabspec.language.layout.schema import NODE, Field
from zabspec.protocols.registry import PROTOCOLS

EPOCHS = ("current_epoch", "epoch", "term", "view", "ballot", "round")  # what a process's epoch is called
MOST_SAID = 3  # values of a message beside its name in the picture; the rest is in the list of steps


@dataclass(frozen=True)
class Cone:
    """What a step depends on.

    Attributes:
        step: its number.
        outside: the steps that it does not depend on, which are drawn faintly.
    """

    step: int
    outside: frozenset[int]


@dataclass(frozen=True)
class Stretch:
    """A part of a lane over which a process's role and epoch stay as they are.

    Attributes:
        process: the process whose lane it is.
        start, end: after which steps it begins and ends; 0 is the beginning of the run.
        role: the name of the role; empty if the protocol has no roles.
        epoch: the epoch; None if the protocol has no epochs.
        down: whether the process has crashed.
    """

    process: int
    start: int
    end: int
    role: str
    epoch: int | None
    down: bool


@dataclass(frozen=True)
class Arrow:
    """A message, drawn from where it is sent to where it is received or lost.

    Attributes:
        flight: the message, with the step that received or lost it.
        label: its name, and its fields as far as they are short.
        text: the message with all its fields.
        epoch: the epoch that it carries; None if it carries none.
        named: whether it carries a transaction that the explanation names.
    """

    flight: Flight
    label: str
    text: str
    epoch: int | None
    named: bool


@dataclass(frozen=True)
class Mark:
    """An event of a process in a step: `abcast`, `accept`, `deliver`, `establish`, `show` or `fault`.

    Attributes:
        what: which of these.
        process: the process on whose lane it is drawn.
        text: the words beside it.
        named: whether the explanation names it.
    """

    what: str
    process: int
    text: str
    named: bool


@dataclass(frozen=True)
class Row:
    """A step as it is drawn.

    Attributes:
        number: the number of the step.
        processes: who took it; for a fault of the network the processes between which it is; empty for everybody.
        headline: who took it, and which step it is.
        label: the words beside the process's lane.
        fault: whether it is a fault: a crash, a timeout, a loss.
        marks: the events in it.
        events: those of its events that the explanation names.
        last: whether a property breaks in it, or a process starves from there on.
        changes: everything that it changed, one line each.
    """

    number: int
    processes: tuple[int, ...]
    headline: str
    label: str
    fault: bool
    marks: tuple[Mark, ...]
    events: tuple[str, ...]
    last: bool
    changes: tuple[str, ...]

    @property
    def named(self) -> bool:
        """Return whether the explanation names the step, or the run ends here with the violation."""
        return bool(self.events) or self.last


@dataclass(frozen=True)
class Picture:
    """A trace, ready to be drawn.

    Attributes:
        title: the headline of the picture.
        why: the explanation: one sentence that says why the property is violated; empty if none is.
        statement, source: the property in the paper's words, and where the paper states it.
        configuration: what was run, in one line.
        changed: the release, the fixes in it, and each changed rule of the protocol, one line each.
        lanes: the names of the processes.
        stretches, rows, arrows: what is drawn.
        epoch_field, role_field: the fields of a process with its epoch and its role; empty if it has none.
        tool: the version of zabcheck that wrote the trace.
        cone: the step whose cone is drawn; None to draw everything alike.
        before: the remarks before the first step.
        loop: the number of steps before the loop of a lasso; None if there is no loop.
    """

    title: str
    why: str
    statement: str
    source: str
    configuration: str
    changed: tuple[str, ...]
    lanes: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    rows: tuple[Row, ...]
    arrows: tuple[Arrow, ...]
    epoch_field: str
    role_field: str
    tool: str
    cone: Cone | None = None
    before: tuple[str, ...] = ()
    loop: int | None = None


@naming_processes
def picture_of(trace: Trace, cone: Cone | None = None) -> Picture:
    """Collect what to draw of a trace.

    Args:
        trace: the trace.
        cone: the step whose causal cone is highlighted; None for no highlight.

    Raises:
        TraceError: the trace does not violate the property that it names.
    """
    why = reason(trace)
    events: dict[int, list[str]] = {}
    for number, text in why.events if why is not None else ():
        events.setdefault(number, []).append(text)
    txns = why.named.txns if why is not None else frozenset()
    count, lasso = len(trace.steps), trace.lasso
    for number, said in {} if lasso is None else lasso.marks(count).items():
        events.setdefault(number, []).extend(line.lstrip("- ") for line in said.splitlines())
    broken = lasso.progress_property if lasso is not None else trace.property_name
    title = f"{broken} is {'not reached' if lasso is not None else 'violated'}" if broken else "A run"
    if trace.premise_of:
        broken, title = trace.premise_of, f"the premise of {trace.premise_of} is first reached"
    steps = "1 step" if count == 1 else f"{count} steps"
    epochs, roles = epoch_field(trace), role_field(trace)
    return Picture(
        f"{title} after {steps}" if broken else f"A run of {steps}",
        why.sentence
        if why is not None
        else ""
        if lasso is None
        else f"{lasso.progress_property}: {lasso.sentence(count)}.",
        f"{put_to_the_test(trace)} {trace.statement}"
        if trace.premise_of
        else trace.statement
        if lasso is None
        else lasso.statement,
        trace.source if lasso is None else lasso.source,
        configuration_text(trace.configuration),
        tuple(rules_changed(trace)),
        tuple(process_name(p) for p in range(trace.configuration.nodes)),
        tuple(s for p in range(trace.configuration.nodes) for s in stretches(trace, p, roles, epochs)),
        tuple(row_of(trace, step, events.get(step.number, ())) for step in trace.steps),
        tuple(arrow_of(trace, f, txns) for f in flights(trace)),
        epochs.name if epochs is not None else "",
        roles.name if roles is not None else "",
        trace.tool,
        cone,
        tuple(events.get(0, ())),
        lasso.loop if lasso is not None else None,
    )


def rules_changed(trace: Trace) -> Iterator[str]:
    """Yield what the variant of a trace changes: its release, the fixes in it, and each changed rule."""
    known, parts = PROTOCOLS[trace.configuration.protocol].variants, parted(trace.configuration)
    if parts.release:
        of = known[parts.release].summary if parts.release in known else parts.release
        yield f"Release: {parts.release}" + (f" (as {of})" if of != parts.release else "")
    if parts.fixes:
        yield f"Fixes present: {', '.join(parts.fixes)}"
    if parts.merged:
        yield f"Steps merged by promise: {', '.join(parts.merged)}"
    for name in parts.rules:
        v = known[name]
        yield f"Rule changed in this protocol: {f'{v.rule}: ' if v.rule else ''}{' '.join(v.summary.split())}"


# --- lanes -----------------------------------------------------------------------------------------


def of_process(trace: Trace) -> list[Field]:
    """Return the fields that have one value per process."""
    return [f for f in trace.model.program.schema.fields if f.axes == (NODE,)]


def role_field(trace: Trace) -> Field | None:
    """Return the field that holds a process's role, or None."""
    named = [f for f in of_process(trace) if isinstance(f.kind, Int) and f.kind.names]
    return next((f for f in named if f.name == "role"), named[0] if named else None)


def epoch_field(trace: Trace) -> Field | None:
    """Return the field that holds a process's epoch, or None."""
    numbers = {
        f.name: f
        for f in of_process(trace)
        if isinstance(f.kind, Int) and not isinstance(f.kind, (Bool, NodeId)) and not f.kind.names
    }
    return next((numbers[name] for name in EPOCHS if name in numbers), None)


def stretches(trace: Trace, p: int, role: Field | None, epoch: Field | None) -> Iterator[Stretch]:
    """Yield the stretches of a process's lane with constant role and epoch."""

    def seen(state: JsonState) -> tuple[str, int | None, bool]:
        name = value_text(role.kind, state[role.name][p]) if role is not None else ""
        down = name == "DOWN" or bool(state["crashed"][p] if "crashed" in state else False)
        return name, int(state[epoch.name][p]) if epoch is not None else None, down

    start, now = 0, seen(trace.initial)
    for step in trace.steps:
        then = seen(step.state)
        if then != now:
            yield Stretch(p, start, step.number, *now)
            start, now = step.number, then
    yield Stretch(p, start, len(trace.steps) + 1, *now)


# --- messages --------------------------------------------------------------------------------------


def arrow_of(trace: Trace, f: Flight, txns: frozenset[str]) -> Arrow:
    """Return a message as an arrow to draw."""
    m = f.message
    kinds = union_of(trace).named(m.kind).fields
    carries = {text for name, value in m.fields.items() for text in txns_in(kinds[name], value)}
    epoch = next((int(v) for name, v in m.fields.items() if says_epoch(name, kinds[name])), None)
    if epoch is None:
        epoch = next((int(v["epoch"]) for name, v in m.fields.items() if is_txn(kinds[name]) and any(v.values())), None)
    return Arrow(f, short(m, kinds), message_text(m, trace.model), epoch, bool(carries & txns))


def union_of(trace: Trace) -> MessageUnion:
    """Return the messages of the trace's protocol."""
    return trace.model.parts.union


def says_epoch(name: str, kind: Kind) -> bool:
    """Return whether a field of a message is the epoch that the message is about."""
    return isinstance(kind, Int) and not isinstance(kind, (Bool, NodeId)) and name in ("new_epoch", *EPOCHS)


def is_txn(kind: Kind) -> bool:
    return isinstance(kind, Record) and "epoch" in kind.fields and "value" in kind.fields


def txns_in(kind: Kind, value: Any) -> list[str]:
    """Return the transactions in a value, as they are written."""
    if isinstance(kind, Seq):
        return [text for v in value for text in txns_in(kind.element, v)]
    return [txn_text(value)] if isinstance(kind, Record) and isinstance(value, dict) else []


def short(m: Transmission, kinds: Mapping[str, Kind]) -> str:
    """Return a message's name and its short fields: `NEWLEADER 1 [t1]`."""
    values = [brief(name, kinds[name], value) for name, value in m.fields.items()]
    values = [v for v in values if v]
    return " ".join([m.kind, *values]) if len(values) <= MOST_SAID else m.kind


def brief(name: str, kind: Kind, value: Any) -> str:
    """Return a value in a word; empty for a value that carries no information."""
    if isinstance(kind, Bool):
        return name if value else f"not-{name}"
    if isinstance(kind, Seq):
        return f"[{', '.join(brief(name, kind.element, v) for v in value)}]"
    if is_txn(kind):
        return f"t{value['value']}" if any(value.values()) else ""
    return value_text(kind, value)


# --- steps -----------------------------------------------------------------------------------------


def row_of(trace: Trace, step: Step, events: tuple[str, ...] | list[str]) -> Row:
    """Return a step as a row to draw."""
    row, m = step.word.row, step.message
    faulty = bool(row.spends) or row.runs == "on_crash"
    if m is not None and row.receives:
        label = short(m, union_of(trace).named(m.kind).fields)
    else:
        label = headline(step)
        for whose in (f"{process_name(step.process)}: " if step.process is not None else "", "network: "):
            label = label.removeprefix(whose)
    violated = bool(trace.property_name or trace.lasso or trace.failure) and step.number == len(trace.steps)
    return Row(
        step.number,
        who(step),
        headline(step),
        label,
        faulty,
        tuple(marks(trace, step, events)),
        tuple(events),
        violated,
        tuple(changes(trace, step.number)),
    )


def who(step: Step) -> tuple[int, ...]:
    """Return the processes on whose lanes a step is drawn."""
    o = step.word.operands
    if step.message is not None and step.word.row.by:
        return (step.message.source, step.message.destination)
    if step.process is not None:
        return (step.process,)
    return tuple(o[name] for name in ("follower", "leader") if name in o)


def marks(trace: Trace, step: Step, events: tuple[str, ...] | list[str]) -> Iterator[Mark]:
    """Yield the events of a step that are marked beside a lane."""

    def mark(what: str, process: int, text: str) -> Mark:
        whole = f"{process_name(process)} {text}"
        return Mark(what, process, text, any(whole in e for e in events))

    if step.abcast is not None and step.process is not None:
        yield mark("abcast", step.process, f"abcasts {txn_text(step.abcast)}")
    for a in step.accepted:
        yield mark("accept", a.process, f"accepts {txn_text(a.txn)}")
    for e in step.established:
        yield mark("establish", e.process, f"is the established leader of epoch {e.epoch}")
    for d in step.delivered:
        yield mark("deliver", d.process, f"delivers {txn_text(d.txn)}")
    for x in step.observed:
        whose = x.process if x.process is not None else step.process
        if whose is not None:
            told = in_words(trace.model, x)
            texts = [c.text for c in changed(trace, step.number) if set(c.fields) & set(told)]
            for text in texts if told else [observation_text(trace.model, x)]:
                yield Mark("show", whose, text, any(text in e for e in events))
    for c in changed(trace, step.number):
        if c.fields == ("revised",) or c.fields == ("diverged",):
            for p in c.processes:
                yield Mark("fault", p, c.text.removeprefix(f"{process_name(p)} "), c.text in events)
