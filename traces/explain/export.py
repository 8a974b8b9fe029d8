"""Export traces to other formats: JSON, the Informal Trace Format, Mermaid."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from traces.explain.flights import Fate, Flight, flights
from traces.explain.names import counted, headline, message_text, process_name, txn_text
from traces.explain.text import to_text
from traces.explain.why import why
from traces.record.file import trace_text
from traces.record.trace import JsonState, Step, Trace
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.layout.notation import naming_processes
from zabspec.language.layout.schema import Role
from zabspec.model import Model


def to_json(trace: Trace) -> str:
    """Return the trace as JSON text, as `write_trace` writes it."""
    return trace_text(trace)


# --- the Informal Trace Format -------------------------------------------------------------------


@naming_processes
def to_itf(trace: Trace) -> str:
    """Return the trace in the Informal Trace Format of Apalache and Quint (Apalache's ADR-015).

    A variable is a field of the state; an axis is a map from index to entry; a message is a tagged
    union, as Quint writes its sum types. `action` says which step led to the state.
    """
    fields = [f for f in trace.model.program.schema.fields if f.role is not Role.SCRATCH]

    def state(index: int, values: JsonState, action: str) -> dict[str, Any]:
        out: dict[str, Any] = {"#meta": {"index": index}, "action": action}
        for f in fields:
            out[f.name] = _axes(f.kind, values[f.name], len(f.axes))
        return out

    states = [state(0, trace.initial, "init")]
    states += [state(step.number, step.state, headline(step)) for step in trace.steps]
    meta = {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": f"zabcheck {trace.tool}",
        "description": _verdict(trace),
        "configuration": trace.configuration.as_dict(),
    }
    content: dict[str, Any] = {
        "#meta": meta,
        "params": [],
        "vars": ["action", *(f.name for f in fields)],
        "states": states,
    }
    if trace.lasso is not None and trace.lasso.loop is not None:
        content["loop"] = trace.lasso.loop  # the state that the last one leads back to, its budgets aside
    return json.dumps(content, indent=1) + "\n"


def _axes(kind: Kind, value: Any, axes: int) -> Any:
    if axes:
        return {"#map": [[_bigint(k), _axes(kind, v, axes - 1)] for k, v in enumerate(value)]}
    return _itf(kind, value)


def _bigint(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


def _itf(kind: Kind, value: Any) -> Any:
    if isinstance(kind, Bool):
        return value
    if isinstance(kind, Int):
        return {"#set": kind.held(value)} if kind.members else _bigint(value)
    if isinstance(kind, Record):
        return {name: _itf(inner, value[name]) for name, inner in kind.fields.items()}
    if isinstance(kind, SetOf):
        return {"#set": [_bigint(member) for member in value]}
    if isinstance(kind, Seq):
        return [_itf(kind.element, v) for v in value]
    assert isinstance(kind, MessageUnion)
    carried = {**kind.envelope, **kind.named(value["kind"]).fields}
    return {"tag": value["kind"], "value": {name: _itf(inner, value[name]) for name, inner in carried.items()}}


def _verdict(trace: Trace) -> str:
    if trace.lasso is not None:
        said = trace.lasso.sentence(len(trace.steps))
        return f"{trace.lasso.progress_property} ({trace.lasso.source}) is not reached: {said}"
    if trace.failure is not None:
        said = f"{trace.property_name} is violated" if trace.property_name else "a capacity is too small"
        return f"{said}: {trace.failure.text}"
    if not trace.property_name:
        return f"a run of {counted(len(trace.steps), 'step')}"
    return f"{trace.property_name} ({trace.source}) is violated: {why(trace)}"


# --- Mermaid -------------------------------------------------------------------------------------

# Characters that end a statement, begin an entity or are markup in Mermaid.
ESCAPES = str.maketrans({"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " ", "%": "#37;"})


@naming_processes
def to_mermaid(trace: Trace) -> str:
    """Return the trace as a Mermaid sequence diagram.

    A message received is an arrow at the step that receives it, crossed where the step drops it. A message that is
    never received is a broken arrow at the step that sends it: crossed where it is lost, open where it is in flight
    when the run ends. Everything else is a note. The last note names the violated property, or the starving process of
    a lasso.
    """
    nodes = trace.configuration.nodes
    everybody = ",".join(dict.fromkeys(map(process_name, (0, nodes - 1))))
    lines = ["sequenceDiagram"]
    lines += [f"    participant {process_name(p)}" for p in range(nodes)]
    unreceived: dict[int, list[Flight]] = {}
    for f in flights(trace):
        if f.fate in SAID:
            unreceived.setdefault(f.sent, []).append(f)
    lasso = trace.lasso
    marks = {} if lasso is None else lasso.marks(len(trace.steps))
    for number, step in enumerate((None, *trace.steps)):
        if step is not None:
            lines.append("    " + _drawn(step, everybody, trace.model))
            lines += _notes(step)
            lines += [f"    {_sent(f, trace.model)}" for f in unreceived.get(step.number, ())]
        notes = marks.get(number, "").splitlines()
        lines += [f"    Note over {everybody}: {_escaped(said.lstrip('- '))}" for said in notes]
        if lasso is not None and lasso.loop == number:
            lines.append("    loop forever")
    if lasso is not None and lasso.loop is not None:
        lines.append("    end")
    if trace.property_name or lasso is not None or trace.failure is not None:
        lines.append(f"    Note over {everybody}: {_escaped(_verdict(trace))}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.translate(ESCAPES)


def _drawn(step: Step, everybody: str, model: Model) -> str:
    """Return the line of a sequence diagram for the step itself: an arrow for a message, else a note."""
    m = step.message
    if m is not None:
        arrow = "-x" if step.word.row.loses else "->>"
        ends = f"{process_name(m.source)}{arrow}{process_name(m.destination)}"
        return f"{ends}: {_escaped(f'{step.number}. {step.label}: {message_text(m, model)}')}"
    what = headline(step)
    o = step.word.operands
    if step.process is not None:
        over = process_name(step.process)
        what = what.removeprefix(f"{over}: ")
    elif step.word.kind == "lose_connection":
        over = ",".join(process_name(p) for p in sorted((o["follower"], o["leader"])))
    else:
        over = everybody
    return f"Note over {over}: {_escaped(f'{step.number}. {what}')}"


# What became of messages that are never received; one that is dropped has its arrow where it is.
SAID = {
    Fate.IN_FLIGHT: "is in flight when the run ends",
    Fate.OVERTAKEN: "is overtaken in step {}, and so lost",
    Fate.LOST: "is lost in step {}",
    Fate.REFUSED: "is lost: the connection is not open",
}


def _sent(f: Flight, model: Model) -> str:
    """Return the arrow of a message that is never received, for the step that sends it."""
    m = f.message
    arrow = "--)" if f.fate is Fate.IN_FLIGHT else "--x"
    ends = f"{process_name(m.source)}{arrow}{process_name(m.destination)}"
    return f"{ends}: {_escaped(f'{f.sent}. {message_text(m, model)} {SAID[f.fate].format(f.ended)}')}"


def _notes(step: Step) -> list[str]:
    """Return the notes of a step that show its abcast, established leaders and deliveries."""
    notes = []
    if step.abcast is not None and step.process is not None:
        notes.append((step.process, f"abcasts {txn_text(step.abcast)}"))
    notes += [(e.process, f"established leader of epoch {e.epoch}") for e in step.established]
    notes += [(d.process, f"delivers {txn_text(d.txn)}") for d in step.delivered]
    return [f"    Note over {process_name(p)}: {_escaped(text)}" for p, text in notes]


EXPORTS: dict[str, Callable[[Trace], str]] = {"text": to_text, "json": to_json, "itf": to_itf, "mermaid": to_mermaid}
