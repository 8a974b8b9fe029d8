"""Why a run of a table cannot be: the rows that break a property, and one sentence of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from traces.judging.planes import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from traces.judging.runs import Batch

__all__ = ["Happened", "Violation", "violation"]


@dataclass(frozen=True)
class Happened:
    """A row of a run.

    Attributes:
        row: its place in the run.
        process, position: of the table, None where they are null.
        kind: what happened.
        txn: the transaction, as it is written.
        epoch, time, in_pass: of the table.
    """

    row: int
    process: int | None
    position: int | None
    kind: str
    txn: str
    epoch: int | None
    time: int | None
    in_pass: int | None

    @property
    def who(self) -> str:
        return "a process" if self.process is None else f"p{self.process}"


@dataclass(frozen=True)
class Violation:
    """A property that a run breaks.

    Attributes:
        run: which run.
        property: the property's name.
        why: the sentence.
        time: of the moment in which it broke; None: the run has no times.
        events: the rows that break it, in the order of the sentence.
        command: what makes the run, if the table says so.
    """

    run: int
    property: str
    why: str
    time: int | None
    events: tuple[Happened, ...]
    command: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def happened(batch: Batch, kinds: pa.ChunkedArray, start: int, row: int) -> Happened:
    """A row of a batch, of the run that starts at `start`."""
    values = {name: None if (x := int(column[row])) == NULL else x for name, column in batch.columns.items()}
    return Happened(
        row - start, values["process"], values["position"], kinds[row - start].as_py() or "", txn_text(values),
        values["epoch"], values["time"], values["pass"],
    )  # fmt: skip


def txn_text(values: dict[str, int | None]) -> str:
    """A transaction: `t1 <1,1>`, or its zxid alone where it has no identity of its own."""
    if values["epoch"] is None:
        return ""
    zxid = f"<{values['epoch']},{values['counter']}>"
    return zxid if values["identity"] is None else f"t{values['identity']} {zxid}"


def violation(batch: Batch, kinds: pa.ChunkedArray, run: int, start: int, name: str, rows: Sequence[int]) -> Violation:
    """A violation, from the rows that the kernel names.

    Args:
        kinds: the column `kind` of the run.
        rows: the one by which it is broken, and those that show it.
    """
    by, *shown = rows
    told = [happened(batch, kinds, start, r) if r >= 0 else None for r in shown]
    events = tuple(e for e in told if e is not None)
    return Violation(run, name, SENTENCES[name](told), happened(batch, kinds, start, by).time, events)


Told = Sequence[Happened | None]


def there(event: Happened | None) -> Happened:
    assert event is not None
    return event


def wronged(first: Happened, second: Happened, delivery: Happened, later: Happened | None) -> str:
    how = "without" if later is None else "before"
    return f"{delivery.who} delivered {second.txn} {how} {first.txn}"


def divergence(earlier: Happened, later: Happened) -> str:
    if earlier.txn == later.txn:
        same = "twice in one pass" if earlier.in_pass == later.in_pass else "at two places of its passes"
        return f"{later.who} delivered {later.txn} {same}."
    return f"{later.who} delivered {later.txn} where it had delivered {earlier.txn} in an earlier pass."


def integrity(e: Told) -> str:
    late = "which no process broadcast" if e[1] is None else f"which {e[1].who} broadcast later only"
    return f"{there(e[0]).who} delivered {there(e[0]).txn}, {late}."


def total_order(e: Told) -> str:
    if e[2] is None:
        return divergence(there(e[0]), there(e[1]))
    a, b = there(e[0]), there(e[1])
    return f"{a.who} delivered {a.txn} before {b.txn}, but {wronged(a, b, e[2], e[3])}."


def agreement(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    if a.process == b.process:
        return divergence(a, b)
    return f"{a.who} delivered {a.txn} but not {b.txn}, and {b.who} delivered {b.txn} but not {a.txn}."


def local_primary_order(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"Primary {a.who} broadcast {a.txn} before {b.txn}, but {wronged(a, b, there(e[2]), e[3])}."


def global_primary_order(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"{a.who} delivered {a.txn} of epoch {a.epoch} before {b.txn} of epoch {b.epoch}."


def primary_integrity(e: Told) -> str:
    t, first, u = there(e[0]), there(e[1]), there(e[2])
    how = "without having delivered" if e[3] is None else "before it delivered"
    return (
        f"Primary {u.who} broadcast {u.txn} of epoch {u.epoch} {how} {t.txn} of epoch {t.epoch}, which {first.who} "
        "delivered."
    )


def po_causal_order(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"{a.txn} PO-precedes {b.txn}, which {b.who} broadcast, but {wronged(a, b, there(e[2]), e[3])}."


def strict_causality(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"{a.who} delivered {a.txn} and {b.txn}, and neither PO-precedes the other."


def prefix(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"Leader {a.who} of epoch {a.epoch} proposed {a.txn} before {b.txn}, but {wronged(a, b, there(e[2]), None)}."


def causal_order(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"{a.who} delivered {a.txn} before {b.txn}, which causally precedes it."


def one_primary(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    who = f"Two instances of {a.who}" if a.process == b.process else f"{a.who} and {b.who}"
    return f"{who} broadcast in epoch {a.epoch}: {a.txn} and {b.txn}."


def one_leader(e: Told) -> str:
    return f"{there(e[0]).who} and {there(e[1]).who} are established leaders of one epoch."


def chosen_later(e: Told) -> str:
    return f"{there(e[0]).txn} is chosen, and the initial history of a later epoch, of {there(e[1]).who}, lacks it."


def delivered_chosen(e: Told) -> str:
    when = "which no quorum accepted" if e[1] is None else "which a quorum accepted later only"
    return f"{there(e[0]).who} delivered {there(e[0]).txn}, {when}."


def unique_zxid(e: Told) -> str:
    a, b = there(e[0]), there(e[1])
    return f"{a.who} broadcast {a.txn}, and {b.who} {b.txn}, under one zxid."


def delivered_stands(e: Told) -> str:
    a, b = there(e[0]), e[1]
    what = "what it had delivered" if b is None else b.txn
    return f"{a.who} replaced its history by one in which {what} does not stand where it was delivered."


SENTENCES: dict[str, Callable[[Told], str]] = {
    "integrity": integrity,
    "total-order": total_order,
    "agreement": agreement,
    "local-primary-order": local_primary_order,
    "global-primary-order": global_primary_order,
    "primary-integrity": primary_integrity,
    "po-causal-order": po_causal_order,
    "strict-causality": strict_causality,
    "prefix": prefix,
    "causal-order": causal_order,
    "one-primary-an-epoch": one_primary,
    "one-leader-an-epoch": one_leader,
    "chosen-in-later-histories": chosen_later,
    "delivered-is-chosen": delivered_chosen,
    "unique-zxid": unique_zxid,
    "delivered-stands": delivered_stands,
}
