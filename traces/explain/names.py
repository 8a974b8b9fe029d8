"""Write processes, transactions, messages, values and steps in the paper's notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from traces.record.trace import Observation, Step, Transmission
from zabspec.language.layout.kinds import Int, Kind, NodeId, Record, Seq, SetOf
from zabspec.language.layout.notation import process_name, record_text, value_text
from zabspec.model import Model
from zabspec.worlds.steps import MASKS, PROCESSES

__all__ = [
    "NONE", "counted", "headline", "history_text", "joined", "message_text", "observation_text", "process_name",
    "process_names", "txn_text",
]  # fmt: skip

NONE = "-"  # the text of no transaction, and of a stage or phase that a process is not in


def process_names(members: Sequence[int]) -> str:
    """Return several processes as a phrase: `p0, p1 and p2`."""
    return joined([process_name(p) for p in members]) or "nobody"


def joined(parts: Sequence[str]) -> str:
    """Join words to a list in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def counted(count: int, what: str) -> str:
    """Return a count with its noun: `1 step`, `3 steps`."""
    if count == 1:
        return f"1 {what}"
    return f"{count} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count} {what}s"


def txn_text(t: Mapping[str, int]) -> str:
    """Return a transaction with its identity and its zxid, `t1 <1,1>`; `-` for no transaction."""
    return record_text(t)


def history_text(history: Sequence[Mapping[str, int]]) -> str:
    """Return a history as a list of transactions in brackets."""
    return f"[{', '.join(txn_text(t) for t in history)}]"


def message_text(m: Transmission, model: Model) -> str:
    """Return a message and its fields by the protocol's declaration: `ACK_E(current_epoch=0, history=[])`.

    A field that carries no transaction is left out.
    """
    kinds = model.parts.union.named(m.kind).fields
    said = ((name, _read(kinds[name], value) or _carried(value)) for name, value in m.fields.items())
    return f"{m.kind}({', '.join(f'{name}={text}' for name, text in said if text != NONE)})"


def _read(kind: Kind | None, value: Any) -> str:
    """Return a value of a process, set, record or named number as text; an empty string for other kinds."""
    if isinstance(kind, NodeId):
        return process_name(value)
    if isinstance(kind, SetOf) or (isinstance(kind, Seq) and isinstance(kind.element, NodeId)):
        return value_text(kind, value)
    if isinstance(kind, Record) and any(type(part) is not Int for part in kind.fields.values()):
        return value_text(kind, value)
    return kind.named(int(value)) if isinstance(kind, Int) and (kind.names or kind.members) else ""


def _kind_of(model: Model, name: str) -> Kind | None:
    """Return the kind of a state field, or None if there is no such field."""
    return next((f.kind for f in model.program.schema.fields if f.name == name), None)


def _carried(value: Any) -> str:
    if isinstance(value, dict):
        return record_text(value)
    if isinstance(value, list):
        return f"[{', '.join(_carried(v) for v in value)}]"
    return str(value)


def headline(step: Step) -> str:
    """Return the process that took a step, and the step's label."""
    row, label, m = step.word.row, step.label, step.message
    if m is not None and not row.loses:
        return f"{process_name(m.destination)}: {label} on {m.kind} from {process_name(m.source)}"
    if m is not None:
        return f"network: {label} {m.kind} from {process_name(m.source)} to {process_name(m.destination)}"
    if row.said:
        return row.said.format(label=label, more=label.removeprefix(row.called), **operand_texts(step))
    return f"{process_name(step.process if step.process is not None else -1)}: {label}"


def observation_text(model: Model, x: Observation) -> str:
    """Return an observation of the protocol as text: `decided(p0, commit=true)`."""
    shown = model.protocol.text.observations[x.name]
    said = [process_name(x.process)] if x.process is not None else []
    for name, value in x.fields.items():
        kind = shown.fields[name]
        word = process_name(value) if kind == "Node" else str(value).lower() if kind == "bool" else ""
        word = word or _read(_kind_of(model, shown.read_as.get(name, "")), value) or str(value)
        said.append(f"{name}={word}")
    return f"{x.name}({', '.join(said)})"


def operand_texts(step: Step) -> dict[str, str]:
    """Return the operands of a step as text, by name."""
    out = {name: process_name(v) if name in PROCESSES else str(v) for name, v in step.word.operands.items()}
    for name in MASKS & out.keys():
        mask = step.word.operands[name]
        out[name] = process_names([p for p in range(mask.bit_length()) if mask >> p & 1])
    return out
