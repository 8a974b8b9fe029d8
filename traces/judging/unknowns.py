"""List what the rows of a run may leave unknown, and what they may contain that the kernel does not compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traces.judging import numbers
from traces.judging.runs import BY_MOMENT, KERNEL, KIND_CODES

if TYPE_CHECKING:
    from traces.judging.runs import Batch

BY_ABCAST = (
    "local-primary-order", "global-primary-order", "primary-integrity", "po-causal-order", "strict-causality", "prefix",
    "causal-order", "one-primary-an-epoch",
)  # fmt: skip
BY_INSTANCE = ("local-primary-order", "po-causal-order", "strict-causality", "prefix", "one-primary-an-epoch")
BY_PRIMARY = tuple(name for name in BY_ABCAST if name != "global-primary-order")
BY_QUORUM = ("chosen-in-later-histories", "delivered-is-chosen")
BY_TRANSACTION = (
    "integrity", "total-order", "agreement", *(name for name in BY_ABCAST if name != "one-primary-an-epoch"),
    *BY_QUORUM, "delivered-stands",
)  # fmt: skip


@dataclass(frozen=True)
class Unknown:
    """A kind of unknown value in the rows of a table.

    Attributes:
        bit: its bit in the kernel's mask.
        column: the column of the table.
        kinds: the kinds of event whose rows have it.
        affects: the properties that it may leave open.
        sure: of these, those that a run violates for certain if the kernel says so: it reads the unknown in the way in
            which they are violated least.
        null: whether the column is null there; otherwise its value is not compared in full.
        why: the part of a sentence that says what is unknown there.
    """

    bit: int
    column: str
    kinds: tuple[str, ...]
    affects: tuple[str, ...]
    why: str
    null: bool = True
    sure: tuple[str, ...] = ()


TRANSACTIONS = ("abcast", "abdeliver", "accept", "initial", "entry")

GAPS: tuple[Unknown, ...] = (
    Unknown(numbers.G_WHO, "process", ("abcast",), BY_PRIMARY, "the broadcasting process is unknown"),
    Unknown(numbers.G_QUORUM, "index", ("run",), BY_QUORUM, "the number of processes is unknown"),
    Unknown(numbers.G_PRIMARY, "primary_epoch", ("abcast",), BY_ABCAST, "the epoch of the primary is unknown"),
    # one instance for each process and epoch relates as many broadcasts as may be related
    Unknown(
        numbers.G_ATTEMPT, "attempt", ("abcast",), BY_INSTANCE, "the instance of the primary is unknown",
        sure=("strict-causality", "one-primary-an-epoch"),
    ),
    Unknown(
        numbers.G_SOME_ATTEMPTS, "attempt", ("abcast",), BY_INSTANCE,
        "other broadcasts have an instance, and this has none",
    ),
    # what is left out chooses nothing, and obliges no leader
    Unknown(
        numbers.G_PROPOSED, "primary_epoch", ("accept",), BY_QUORUM, "the epoch of the proposal is unknown",
        sure=("chosen-in-later-histories",),
    ),
    Unknown(
        numbers.G_LEADS, "primary_epoch", ("establish",), ("one-leader-an-epoch", "chosen-in-later-histories"),
        "the epoch of the leader is unknown", sure=("one-leader-an-epoch", "chosen-in-later-histories"),
    ),
    # the kernel compares what processes deliver first, and not the passes of a process with each other
    Unknown(
        numbers.G_PASS, "pass", ("abdeliver", "revise"), ("total-order", "agreement", "delivered-stands"),
        "the pass is unknown", sure=("total-order", "agreement"),
    ),
    Unknown(
        numbers.G_IDENTITY, "identity", TRANSACTIONS, BY_TRANSACTION, "other rows have an identity, and this has none"
    ),
    Unknown(numbers.G_DIGEST, "digest", TRANSACTIONS, BY_TRANSACTION, "other rows have a digest, and this has none"),
    Unknown(
        numbers.G_TIME, "time", (), BY_MOMENT, "other rows have a time, and this has none",
    ),
    Unknown(
        numbers.G_OTHER_EPOCH, "primary_epoch", ("abcast",), (),
        "the primary's epoch is not that of the zxid: primaries are checked by the one, transactions by the "
        "other", null=False,
    ),
    Unknown(
        numbers.G_OUTSIDER, "process", (), (),
        "this is not a process of the run: it is treated as one, outside every quorum", null=False,
    ),
    Unknown(
        numbers.G_MANY, "kind", ("abcast",), ("strict-causality",),
        "a transaction is broadcast twice, and comparing all pairs takes too long", null=False,
    ),
    Unknown(
        numbers.G_MENDED, "time", (), ("strict-causality",),
        "a transaction is broadcast twice, and this row has no time",
    ),
    Unknown(
        numbers.G_KIND, "kind", (), tuple(KERNEL),
        "this row may be an event of the history, and its kind is not that of one", null=False,
    ),
    # what is left out chooses nothing
    Unknown(
        numbers.G_ABSENT, "process", (), BY_QUORUM,
        "this is not a process of the run, and one that is has no row: processes are numbered from 0", null=False,
        sure=("chosen-in-later-histories",),
    ),
    Unknown(
        numbers.G_MOMENTS, "time", (), BY_MOMENT, "no row has a time, and within the run a property is violated",
        sure=BY_MOMENT,
    ),
)  # fmt: skip

ALWAYS_SAID = (numbers.G_OTHER_EPOCH, numbers.G_OUTSIDER)  # reported whatever the verdicts are


@dataclass(frozen=True, order=True)
class Where:
    """Rows with a gap: the first of them, and how many runs have some.

    Attributes:
        run: the number of the first run.
        row: the place of the first row in it; -1 if the run has no such row at all.
        runs: how many.
    """

    run: int
    row: int
    runs: int = 1


def among(mask: int) -> Iterator[Unknown]:
    """Yield the gaps of a mask."""
    return (gap for gap in GAPS if mask >> gap.bit & 1)


def affected(mask: int) -> dict[str, tuple[Unknown, ...]]:
    """Return the properties that the gaps of a mask leave open, each with these gaps."""
    out: dict[str, tuple[Unknown, ...]] = {}
    for gap in among(mask):
        for name in gap.affects:
            out[name] = (*out.get(name, ()), gap)
    return out


def first_row(batch: Batch, place: int, gap: Unknown) -> Where:
    """Return the first row of a run that has a gap."""
    start, end = int(batch.starts[place]), int(batch.ends[place])
    kinds = batch.kind_of[batch.kinds[start:end]]
    codes = [KIND_CODES[word] for word in gap.kinds]
    here = np.isin(kinds, codes) if codes else (kinds > numbers.OTHER) & (kinds < numbers.BEGIN)
    column = batch.columns[gap.column][start:end] if gap.column in batch.columns else None
    if gap.null:
        assert column is not None
        here &= column == numbers.NULL
    elif gap.bit == numbers.G_OTHER_EPOCH:
        here &= batch.columns["primary_epoch"][start:end] != batch.columns["epoch"][start:end]
    elif gap.bit == numbers.G_KIND:
        named = (batch.columns[c][start:end] != numbers.NULL for c in ("epoch", "counter", "identity"))
        led = (kinds == numbers.UNKNOWN) & (batch.columns["primary_epoch"][start:end] != numbers.NULL)
        other = (kinds == numbers.OTHER) | (kinds == numbers.UNKNOWN)
        here = (kinds == numbers.MISSPELT) | led | (other & np.logical_or.reduce([*named]))
    elif gap.bit in (numbers.G_OUTSIDER, numbers.G_ABSENT):
        assert column is not None
        here &= column >= max(1, int(batch.columns["index"][start]))
    rows = np.flatnonzero(here)
    return Where(int(batch.runs[place]), int(rows[0]) if len(rows) else -1)


def merged(one: Where | None, other: Where) -> Where:
    """Return the combination of two occurrences of the same gap."""
    if one is None:
        return other
    first = min(one, other)
    return Where(first.run, first.row, one.runs + other.runs)


def sentence(gap: Unknown, where: Where) -> str:
    """Return what a gap is and where, as the end of a sentence: `since attempt is null (run 0, row 2: ...)`."""
    place = f"run {where.run}" if where.row < 0 else f"run {where.run}, row {where.row}"
    more = "" if where.runs == 1 else f", and so in {where.runs - 1:,} more runs"
    return f"{gap.column} is null ({place}: {gap.why}{more})" if gap.null else f"{place}: {gap.why}{more}"
