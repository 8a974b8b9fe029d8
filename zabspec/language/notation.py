"""How values are written: transactions, zxids and messages in the paper's notation, processes as `p0`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zabspec.language.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf

__all__ = ["process_name", "record_text", "value_text"]


def process_name(p: int) -> str:
    """A process."""
    return f"p{p}" if p >= 0 else "nobody"


def record_text(fields: Mapping[str, int]) -> str:
    """A record: a transaction with its identity and its zxid, `t1 <1,1>`, and `-` for none; a zxid, `<1,1>`; any
    other by the names of its fields."""
    if fields.keys() == {"epoch", "counter", "value"}:
        return f"t{fields['value']} <{fields['epoch']},{fields['counter']}>" if any(fields.values()) else "-"
    if fields.keys() == {"epoch", "counter"}:
        return f"<{fields['epoch']},{fields['counter']}>"
    return f"<{', '.join(f'{name}={value}' for name, value in fields.items())}>"


def value_text(kind: Kind, value: Any) -> str:
    """A value of a kind, of the CPython world or as JSON."""
    if isinstance(kind, Bool):
        return "true" if value else "false"
    if isinstance(kind, NodeId):
        return process_name(value)
    if isinstance(kind, Int):
        return kind.named(int(value))
    if isinstance(kind, Record):
        fields = value if isinstance(value, Mapping) else kind.unpack(value.word)
        if kind.name in ("Txn", "Zxid"):
            return record_text(fields)
        return f"{kind.name}({', '.join(f'{n}={value_text(k, fields[n])}' for n, k in kind.fields.items())})"
    if isinstance(kind, SetOf):
        return "{" + ", ".join(process_name(k) if kind.nodes else str(k) for k in value) + "}"
    if isinstance(kind, Seq):
        return f"[{', '.join(value_text(kind.element, v) for v in value)}]"
    assert isinstance(kind, MessageUnion)
    name = value["kind"] if isinstance(value, Mapping) else value.name
    if not name:
        return "no message"
    carried = (
        f"{field}={value_text(k, value[field] if isinstance(value, Mapping) else getattr(value, field))}"
        for field, k in kind.named(name).fields.items()
    )
    return f"{name}({', '.join(carried)})"
