"""Export traces to other formats: JSON, the Informal Trace Format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from traces.explain.names import counted, headline
from traces.explain.text import to_text
from traces.explain.why import why
from traces.record.file import trace_text
from traces.record.trace import JsonState, Trace
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, Record, Seq, SetOf
from zabspec.language.layout.notation import naming_processes
from zabspec.language.layout.schema import Role


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


EXPORTS: dict[str, Callable[[Trace], str]] = {"text": to_text, "json": to_json, "itf": to_itf}
