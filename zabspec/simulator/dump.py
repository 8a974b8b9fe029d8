"""Write the canonical dump of a cluster (db-19), and its digest.

    file := magic[8] u32(nodes) node*
    node := u32 id, u8 role, u32 current_epoch, u32 accepted_epoch, last_zxid, last_committed,
            u32 history_len, txn*
    txn  := zxid, u32 payload_len, payload "zab-<i>"
    zxid := u32 epoch, u32 counter

Nodes are in ascending id; all numbers are little-endian. For `zab` the dump has the same shape:
the accepted epoch is f.p, the current epoch is f.a, and the last committed zxid is that of the last
transaction the process delivered in its iteration. A process that is down, which the lab does not
have, has role 3.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zabspec.language.layout.kinds import Record, Seq
from zabspec.language.layout.schema import NODE, Field, Layout
from zabspec.language.python.reference import RecordValue, StateView

MAGIC = b"DSEZAB01"
PROCESS = struct.Struct("<IBIIIIIII")
TXN = struct.Struct("<III")
WORDS = {1: "B", 2: "H", 4: "I", 8: "Q"}

Zxid = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Process:
    """A process as the dump shows it.

    Attributes:
        role: 0 looking (or in ELECTION), 1 following, 2 leading, 3 down.
        history: for each transaction its epoch, its counter and the number of its proposal, from 0.
    """

    role: int
    current_epoch: int
    accepted_epoch: int
    last_committed: Zxid
    history: tuple[tuple[int, int, int], ...]

    @property
    def last_zxid(self) -> Zxid:
        return self.history[-1][:2] if self.history else (0, 0)


class Dump:
    """Reads states of one layout for the dump.

    Histories are read whole, for speed: reading entry by entry takes longer than the compiled run.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.accepted = "promised_epoch" if "promised_epoch" in layout.fields else "accepted_epoch"
        log = layout.fields["history"].kind
        assert isinstance(log, Seq)
        assert isinstance(log.element, Record)
        self.header, self.size, self.word = log.header, log.element.size, WORDS[log.element.size]
        self.places = [layout.offset("history", p) for p in range(layout.schema.nodes)]
        txn = log.element
        self.shifts = [(txn.shift(name), (1 << txn.fields[name].bits) - 1) for name in ("epoch", "counter", "value")]

    def history(self, s: StateView, p: int) -> tuple[tuple[int, int, int], ...]:
        """Return the history of process p as (epoch, counter, proposal) triples; proposals count from 0."""
        at = self.places[p]
        count = int.from_bytes(s.buffer[at : at + self.header], "little")
        words = struct.unpack_from(f"<{count}{self.word}", s.buffer, at + self.header)
        (e, e_mask), (c, c_mask), (v, v_mask) = self.shifts
        return tuple([(w >> e & e_mask, w >> c & c_mask, (w >> v & v_mask) - 1) for w in words])

    def processes(self, s: StateView) -> list[Process]:
        """Return every process of a state, in ascending id."""
        accepted = getattr(s, self.accepted)
        return [
            Process(s.role[p], s.current_epoch[p], accepted[p], self.committed(s, p, history), history)
            for p in range(len(self.places))
            for history in (self.history(s, p),)
        ]

    def committed(self, s: StateView, p: int, history: tuple[tuple[int, int, int], ...]) -> Zxid:
        """Return the last zxid that process p knows to be committed."""
        if "last_committed" in self.layout.fields:
            zxid: Any = s.last_committed[p]
            return zxid.epoch, zxid.counter
        delivered = s.delivered_length[p]
        return history[delivered - 1][:2] if delivered else (0, 0)

    def canonical(self, s: StateView) -> bytes:
        """Return the dump of a state."""
        parts = [MAGIC, len(self.places).to_bytes(4, "little")]
        for p, x in enumerate(self.processes(s)):
            numbers = (x.current_epoch, x.accepted_epoch, *x.last_zxid, *x.last_committed, len(x.history))
            parts.append(PROCESS.pack(p, x.role, *numbers))
            for epoch, counter, proposal in x.history:
                payload = b"zab-%d" % proposal
                parts += (TXN.pack(epoch, counter, len(payload)), payload)
        return b"".join(parts)


NUMBERS = (
    ("id", 4), ("role", 1), ("current_epoch", 4), ("accepted_epoch", 4), ("last_zxid.epoch", 4),
    ("last_zxid.counter", 4), ("last_committed.epoch", 4), ("last_committed.counter", 4), ("history_len", 4),
)  # fmt: skip
ZXID = (("zxid.epoch", 4), ("zxid.counter", 4), ("payload_len", 4))


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of a foreign dump.

    Attributes:
        byte: as `cmp` counts it, from 1.
        node: the node, or None in front of them all, or behind.
        field: the field; empty behind the end of this dump.
        here, there: its value in this dump and in the foreign one; None if that ends in it or before.
    """

    byte: int
    node: int | None
    field: str
    here: int | str | None
    there: int | str | None


def difference(dump: bytes, foreign: bytes) -> Difference | None:
    """Return the first difference of a foreign dump from a whole one; None if they are equal.

    Up to there they are equal, so the fields of the whole one say what stands there in the foreign one.
    """
    if dump == foreign:
        return None
    at = next((k for k, (a, b) in enumerate(zip(dump, foreign, strict=False)) if a != b), min(len(dump), len(foreign)))
    for start, size, node, field in places(dump):
        if at < start + size:
            here, there = (value_of(field, data[start : start + size], size) for data in (dump, foreign))
            return Difference(at + 1, node, field, here, there)
    return Difference(at + 1, None, "", None, None)


def places(dump: bytes) -> Iterator[tuple[int, int, int | None, str]]:
    """Yield where each field of a dump begins, its size, its node and its name."""
    yield from ((0, len(MAGIC), None, "magic"), (len(MAGIC), 4, None, "node_count"))
    at = len(MAGIC) + 4
    for node in range(number(dump, at - 4)):
        for name, size in NUMBERS:
            yield at, size, node, name
            at += size
        for k in range(number(dump, at - 4)):
            for name, size in ZXID:
                yield at, size, node, f"history[{k}].{name}"
                at += size
            length = number(dump, at - 4)
            yield at, length, node, f"history[{k}].payload"
            at += length


def number(dump: bytes, at: int) -> int:
    return int.from_bytes(dump[at : at + 4], "little")


def value_of(field: str, data: bytes, size: int) -> int | str | None:
    """Return the value of a field; None if its bytes are not all there."""
    if len(data) < size:
        return None
    return repr(data)[1:] if field.endswith(("magic", "payload")) else int.from_bytes(data, "little")


class FieldDump:
    """Writes the dump of a user protocol: its fields as JSON, by name."""

    def __init__(self, fields: Sequence[Field], nodes: int) -> None:
        self.nodes = nodes
        self.of_processes = [f for f in fields if f.axes[:1] == (NODE,)]
        self.others = [f for f in fields if f.axes[:1] != (NODE,)]

    def processes(self, s: StateView) -> list[dict[str, Any]]:
        """Return every process, in ascending id."""
        return [{f.name: plain(getattr(s, f.name)[p]) for f in self.of_processes} for p in range(self.nodes)]

    def canonical(self, s: StateView) -> bytes:
        """Return the dump of a state."""
        whole = {f.name: plain(getattr(s, f.name)) for f in self.others} | {"processes": self.processes(s)}
        return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """Convert a value of the CPython world to JSON."""
    if isinstance(value, RecordValue):
        return {name: plain(getattr(value, name)) for name in value.record.fields}
    return value if isinstance(value, (int, str)) else [plain(v) for v in value]


def digest(dump: bytes) -> str:
    """Return the digest that the lab prints: the SHA-256 in lowercase hexadecimal."""
    return hashlib.sha256(dump).hexdigest()
