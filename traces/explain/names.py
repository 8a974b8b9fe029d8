"""How processes, transactions, messages, values and steps are written: in the paper's notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from traces.record.trace import Observation, Step, Transmission
from zabspec.language.kinds import Int, Kind, NodeId, Record, Seq, SetOf
from zabspec.language.notation import process_name, record_text, value_text
from zabspec.model import Model
from zabspec.worlds.steps import MASKS, PROCESSES

__all__ = [
    "counted", "headline", "history_text", "joined", "message_text", "observation_text", "process_name",
    "process_names", "txn_text", "zxid_text",
]  # fmt: skip


def process_names(members: Sequence[int]) -> str:
    """Several processes: `p0, p1 and p2`."""
    return joined([process_name(p) for p in members]) or "nobody"


def joined(parts: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def counted(count: int, what: str) -> str:
    """A number of things."""
    if count == 1:
        return f"1 {what}"
    return f"{count} {what.removesuffix('y')}ies" if what.endswith("y") else f"{count} {what}s"


def txn_text(t: Mapping[str, int]) -> str:
    """A transaction with its identity and its zxid: `t1 <1,1>`; `-` for none."""
    return record_text(t)


def zxid_text(z: Mapping[str, int]) -> str:
    """A zxid: `<1,1>`."""
    return record_text(z)


def history_text(history: Sequence[Mapping[str, int]]) -> str:
    """A sequence of transactions."""
    return f"[{', '.join(txn_text(t) for t in history)}]"


def message_text(m: Transmission, model: Model) -> str:
    """A message and what it carries, read as its protocol declares it: `ACK_E(current_epoch=0, history=[])`."""
    kinds = model.parts.union.named(m.kind).fields
    said = (f"{name}={_read(kinds[name], value) or _carried(value)}" for name, value in m.fields.items())
    return f"{m.kind}({', '.join(said)})"


def _read(kind: Kind | None, value: Any) -> str:
    """A value as a person reads it, where its kind is a process, a set, or names values or bits; empty: it does not."""
    if isinstance(kind, NodeId):
        return process_name(value)
    if isinstance(kind, SetOf) or (isinstance(kind, Seq) and isinstance(kind.element, NodeId)):
        return value_text(kind, value)
    if isinstance(kind, Record) and any(type(part) is not Int for part in kind.fields.values()):
        return value_text(kind, value)
    return kind.named(int(value)) if isinstance(kind, Int) and (kind.names or kind.members) else ""


def _kind_of(model: Model, name: str) -> Kind | None:
    """The kind of a field of the state; of none: none."""
    return next((f.kind for f in model.program.schema.fields if f.name == name), None)


def _carried(value: Any) -> str:
    if isinstance(value, dict):
        return txn_text(value) if "value" in value else zxid_text(value)
    if isinstance(value, list):
        return f"[{', '.join(_carried(v) for v in value)}]"
    return str(value)


def headline(step: Step) -> str:
    """Who took a step, and which."""
    row, label, m = step.word.row, step.label, step.message
    if m is not None and not row.loses:
        return f"{process_name(m.destination)}: {label} on {m.kind} from {process_name(m.source)}"
    if m is not None:
        return f"network: {label} {m.kind} from {process_name(m.source)} to {process_name(m.destination)}"
    if row.said:
        return row.said.format(label=label, more=label.removeprefix(row.called), **operand_texts(step))
    return f"{process_name(step.process if step.process is not None else -1)}: {label}"


def observation_text(model: Model, x: Observation) -> str:
    """What a process showed the outside: `decided(p0, commit=true)`."""
    shown = model.protocol.text.observations[x.name]
    said = [process_name(x.process)] if x.process is not None else []
    for name, value in x.fields.items():
        kind = shown.fields[name]
        word = process_name(value) if kind == "Node" else str(value).lower() if kind == "bool" else ""
        word = word or _read(_kind_of(model, shown.read_as.get(name, "")), value) or str(value)
        said.append(f"{name}={word}")
    return f"{x.name}({', '.join(said)})"


def operand_texts(step: Step) -> dict[str, str]:
    """The operands of a step, as they are written."""
    out = {name: process_name(v) if name in PROCESSES else str(v) for name, v in step.word.operands.items()}
    for name in MASKS & out.keys():
        out[name] = process_names([p for p in range(8) if step.word.operands[name] >> p & 1])
    return out
