"""Explain why a run of a table violates a property, by the rows involved and the property's own sentence.

The sentence is the one that the property gives with its False. It is evaluated on the observed history of a part of the
run: the rows of the transactions that the witness rows are about, up to the moment of the violation. What that part
violates the run violates, since nothing of these transactions is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import numbers
from traces.judging.numbers import NULL
from traces.judging.observed import TXN, WITH_TXN, Observed, Unknown, asked
from zabspec.language.python.sentences import sentence_of

if TYPE_CHECKING:
    import pyarrow as pa

    from invariants.registry import Property
    from traces.judging.runs import Batch

MOST_ROWS = 1 << 12  # rows of a part of a run for which the sentence is computed
NAMES_NO_PRIMARY = ("integrity", "total-order", "agreement")  # their sentences say who delivered, not who broadcast
OF_HISTORY = ("process", "primary_epoch", "attempt", "pass", "index", "epoch", "counter", "identity", "digest")
WORDS = {
    "abcast": "broadcast {txn}", "abdeliver": "delivered {txn}", "accept": "accepted {txn}",
    "establish": "was established as a leader", "initial": "had {txn} in its initial history",
    "revise": "replaced its history", "entry": "had {txn} in its history",
}  # fmt: skip


@dataclass(frozen=True)
class Happened:
    """An event of a run: one row.

    Attributes:
        row: its place in the run.
        process, position: as in the table, None where they are null.
        kind: the kind of event.
        txn: the transaction, as it is written.
        epoch, time, in_pass: as in the table.
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
    """A violation of a property by a run.

    Attributes:
        run: the number of the run.
        property: the name of the property.
        why: the explanation: one sentence.
        time: the time of the moment in which it broke; None if the run has no times.
        events: the rows that violate it, in the order of the sentence.
        command: the command that produces the run, if the table has it.
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
    """Return a row of a batch, of the run that starts at `start`, as an event."""
    values = {name: None if (x := int(column[row])) == NULL else x for name, column in batch.columns.items()}
    return Happened(
        row - start, values["process"], values["position"], kinds[row - start].as_py() or "", txn_text(values),
        values["epoch"], values["time"], values["pass"],
    )  # fmt: skip


def txn_text(values: dict[str, int | None]) -> str:
    """Return a transaction as `t1 <1,1>`, or as its zxid alone if it has no identity; empty without a zxid."""
    if values["epoch"] is None:
        return ""
    zxid = f"<{values['epoch']},{values['counter']}>"
    return zxid if values["identity"] is None else f"t{values['identity']} {zxid}"


def violation(
    batch: Batch, kinds: pa.ChunkedArray, run: int, start: int, prop: Property, rows: Sequence[int]
) -> Violation:
    """Return a violation, from the rows that the kernel names.

    Args:
        batch: the batch.
        kinds: the column `kind` of the run.
        run: the number of the run.
        start: its first row.
        prop: the property.
        rows: the row by which it is violated, and those that show it, filled up with -1.
    """
    by, *found = rows
    events = tuple(happened(batch, kinds, start, r) for r in found if r >= 0)
    time = happened(batch, kinds, start, by).time
    return Violation(run, prop.name, sentence(batch, start, prop, by, found, events), time, events)


def sentence(
    batch: Batch, start: int, prop: Property, by: int, found: Sequence[int], events: Sequence[Happened]
) -> str:
    """Return what the property says of the witness rows, and those of them that it does not mention."""
    said = ""
    for last in (max(by, *found), by):  # a row that shows a violation may repair it within the moment
        part = part_of(batch, start, last, found)
        if not said and part is not None:
            try:
                said = said_of(as_read(rows_of(batch, part), prop), used_in(batch, start), prop)
            except Unknown:
                break  # what the rows leave unknown the property cannot read
    left = [e for e in events if (e.txn or e.who) not in said]
    rest = "; ".join(f"{e.who} {row_text(e)}" for e in left)
    if not said:
        return f"No history that satisfies {prop.name} has these: {rest}."
    return f"{said} Of these rows: {rest}." if rest else said


def row_text(e: Happened) -> str:
    """Return what happened in a row, in words."""
    text = WORDS.get(e.kind, e.kind).format(txn=e.txn)
    return text if e.in_pass is None else f"{text} in pass {e.in_pass}"


def said_of(rows: Sequence[dict[str, int | None]], used: Sequence[str], prop: Property) -> str:
    """Return the sentence of a property about a history; empty if it holds there.

    Args:
        rows: the rows of the history.
        used: the columns that tell transactions apart.
        prop: the property.

    Raises:
        Unknown: the rows leave something unknown.
    """
    h = Observed(rows, used)
    for place, row in enumerate(rows):
        h.fold(row, behind(rows, place))
    return sentence_of(asked(prop.holds, h))


def used_in(batch: Batch, start: int) -> list[str]:
    """Return the columns that tell the transactions of a run apart."""
    end = int(batch.ends[np.searchsorted(batch.starts, start)])
    here = np.isin(batch.kind_of[batch.kinds[start:end]], WITH_TXN)
    return [c for c in TXN if (batch.columns[c][start:end][here] != NULL).any()]


def behind(rows: Sequence[dict[str, int | None]], place: int) -> list[dict[str, int | None]]:
    """Return the entries of the history that belongs to a row."""
    entry = {numbers.ESTABLISH: numbers.INITIAL, numbers.REVISE: numbers.ENTRY}.get(rows[place]["kind"] or 0)
    end = place + 1
    while entry is not None and end < len(rows) and rows[end]["kind"] == entry:
        end += 1
    return list(rows[place + 1 : end])


def rows_of(batch: Batch, places: Any) -> list[dict[str, int | None]]:
    """Return rows of a batch in the form that the observed history reads."""
    columns = {"kind": batch.kind_of[batch.kinds[places]].tolist()}
    columns |= {name: batch.columns[name][places].tolist() for name in OF_HISTORY}
    names = tuple(columns)
    return [
        {name: None if x == NULL else x for name, x in zip(names, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def as_read(rows: Sequence[dict[str, int | None]], prop: Property) -> list[dict[str, int | None]]:
    """Return rows of a violation as the kernel reads what they leave unknown and the verdict does not depend on.

    An abcast without an attempt is of the one instance of its process in its epoch. An acceptance or a leader without
    an epoch does not count. A delivery without a pass counts once.
    """
    out, seen = [], set()
    for row in rows:
        kind, delivered = row["kind"], tuple(row[c] for c in ("process", *TXN))
        if kind == numbers.ABCAST:
            row = row | {"attempt": row["attempt"] or 0}
            row["primary_epoch"] = row["epoch"] if row["primary_epoch"] is None else row["primary_epoch"]
            if row["process"] is None and prop.name in NAMES_NO_PRIMARY:
                row["process"] = 0
        elif kind in (numbers.ACCEPT, numbers.ESTABLISH) and row["primary_epoch"] is None:
            continue
        elif kind == numbers.ABDELIVER and row["pass"] is None:
            if delivered in seen:
                continue
            row = row | {"pass": 0}
        seen.add(delivered if kind == numbers.ABDELIVER else ())
        out.append(row)
    return out


def part_of(batch: Batch, start: int, last: int, found: Sequence[int]) -> Any:
    """Return the rows of a run that belong to the same matter as some of its rows; None if they are too many.

    They are the rows of the same transactions, of leaderships, and of deliveries of the processes concerned.

    Args:
        batch: the batch.
        start: the first row of the run.
        last: the row in whose moment the part ends.
        found: the given rows; those after the moment do not count.
    """
    end = moment_end(batch, start, last)
    of = {name: batch.columns[name][start:end] for name in ("process", "epoch", "counter", "identity")}
    kinds = batch.kind_of[batch.kinds[start:end]]
    here = np.array([r - start for r in found if start <= r < end], np.int64)
    own = np.zeros(end - start, bool)
    for r in here[of["epoch"][here] != NULL].tolist():
        own |= (of["epoch"] == of["epoch"][r]) & (of["counter"] == of["counter"][r])
        if of["identity"][r] != NULL:
            own |= of["identity"] == of["identity"][r]
    revises = here[kinds[here] == numbers.REVISE]
    if len(revises):  # its entries, and what it had delivered, whatever that is
        rows = np.arange(end - start)
        latest = np.maximum.accumulate(np.where(kinds == numbers.REVISE, rows, -1))
        own = np.where(kinds == numbers.ENTRY, np.isin(latest, revises), own)
        own |= (kinds == numbers.ABDELIVER) & np.isin(of["process"], of["process"][revises])
    else:
        own &= kinds != numbers.ENTRY
    who = np.union1d(of["process"][here], of["process"][own & (kinds == numbers.ABCAST)])
    own &= (kinds != numbers.ABDELIVER) | np.isin(of["process"], who)
    own |= (kinds == numbers.BEGIN) | (kinds == numbers.ESTABLISH)
    own &= ~again(batch, start, np.flatnonzero(own & (kinds == numbers.ABCAST)), here, end - start)
    own[here] = True
    places = np.flatnonzero(own)
    return None if len(places) > MOST_ROWS else places + start


def again(batch: Batch, start: int, abcasts: Any, found: Any, rows: int) -> Any:
    """Return a mask of the abcasts whose transaction is abcast several times, without one per transaction.

    The one left out is the abcast that was found, or the first.

    Args:
        batch: the batch.
        start: the first row of the run.
        abcasts: the abcasts.
        found: the witness rows.
        rows: the length of the mask.
    """
    first: dict[tuple[int, ...], int] = {}
    here = set(found.tolist())
    for r in sorted(abcasts.tolist(), key=lambda r: (r not in here, r)):
        first.setdefault(tuple(int(batch.columns[c][start + r]) for c in TXN), r)
    out = np.zeros(rows, bool)
    out[abcasts] = True
    out[list(first.values())] = False
    return out


def moment_end(batch: Batch, start: int, row: int) -> int:
    """Return the end of a row's moment."""
    end = int(batch.ends[np.searchsorted(batch.starts, start)])
    time = batch.columns["time"][start:end]
    known = np.flatnonzero(time != NULL)
    before = known[known <= row - start]
    if not len(before):
        return end
    later = known[time[known] > time[before[-1]]]
    return start + int(later[0]) if len(later) else end
