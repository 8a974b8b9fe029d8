"""Compute the states of a trace as a table: for every cell, the steps after which it has another value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from traces.explain.names import process_name
from traces.record.trace import JsonState, Trace
from traces.record.values import state_json
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.notation import naming_processes, value_text
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.reference import StateView
from zabspec.roles import has

Cell = list[tuple[int, str]]  # pairs: after which step it has which text; the first after step 0


@dataclass(frozen=True)
class Kept:
    """A field of the state through a run.

    Attributes:
        name: its name.
        doc: its description.
        whose: `process` if it has a cell for each, else the whole state, with one cell.
        kept: who keeps it: `process`; `network`, for what is in flight; `checker`, for what no process reads.
        cells: its values.
    """

    name: str
    doc: str
    whose: str
    kept: str
    cells: tuple[Cell, ...]


@naming_processes
def table_of(trace: Trace) -> list[Kept]:
    """Return every field of the trace's states, without step annotations."""
    nothing = state_json(StateView(trace.model.program.layout))
    states, out = trace.states, []
    for f in trace.model.program.schema.fields:
        if f.role is Role.SCRATCH:
            continue
        own = f.axes[:1] == (NODE,)
        places: list[int | None] = list(range(trace.configuration.nodes)) if own else [None]
        roles = trace.configuration.played
        cells = tuple(cell(f, states, nothing, p) if p is None or has(roles, f, p) else [(0, "")] for p in places)
        doc = " ".join(f.doc.split())
        kept = {Role.NETWORK: "network", Role.GHOST: "checker", Role.BUDGET: "checker"}.get(f.role, "process")
        out.append(Kept(f.name, doc, "process" if own else "", kept, cells))
    return out


def cell(f: Field, states: list[JsonState], nothing: JsonState, p: int | None) -> Cell:
    """Return the successive values of a field, of one process if the field has one per process."""
    out: Cell = []
    for number, state in enumerate(states):
        value, empty = (s[f.name] if p is None else s[f.name][p] for s in (state, nothing))
        said = entries(f.kind, f.axes if p is None else f.axes[1:], value, empty)
        if not out or out[-1][1] != said:
            out.append((number, said))
    return out


def entries(kind: Kind, axes: tuple[str | int, ...], value: Any, empty: Any) -> str:
    """Return a value as text; of several values only the nonempty ones, each with its place."""
    if not axes:
        return value_text(kind, value)
    parts = []
    for k, (v, e) in enumerate(zip(value, empty, strict=True)):
        if v != e:
            place = process_name(k) if axes[0] == NODE else str(k)
            parts.append(f"{place}: {entries(kind, axes[1:], v, e)}")
    return "; ".join(parts) or "-"
