"""A part of one long history summed up: digests of its blocks, and what is drilled out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import blocks_kernel as k
from traces.judging.compiled import function
from traces.judging.planes import MOST
from traces.judging.runs import COLUMNS, ERRORS, KIND_CODES, at, kinds_of, words_of
from traces.pipeline.table import Part, TableError, read_part

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SHIFT", "Chosen", "Summary", "drilled", "summary_of"]

SHIFT = 12  # a block is the transactions of an epoch with counters within 4096 of each other
READ = ("process", "position", "kind", "attempt", "pass", "epoch", "counter", "identity", "digest", "time")
IN_KERNEL = ("process", "position", "pass", "attempt", "epoch", "counter", "identity", "digest", "time")
MOST_EPOCHS = 1 << 12


@dataclass(frozen=True)
class Summary:
    """What a part comes to.

    Attributes:
        entries: a row for each instance or pass and block (`blocks_kernel`).
        epochs: a row for each epoch.
        positions: of each process the first position here and the last.
        times: the first time here and the last.
        kinds: which kinds of event there are.
        name: what errors call the part.
    """

    entries: Any
    epochs: Any
    positions: Any
    times: tuple[int, int]
    kinds: frozenset[str]
    name: str


def summary_of(part: Part, base: int, shift: int = SHIFT) -> Summary:
    """Sum up a part.

    Args:
        base: the number of its first row in the run.

    Raises:
        TableError: its rows are no event table's.
    """
    table = read_part(part, READ)
    name = f"{part.path}, row group {part.groups[0]}"
    columns = {c: words_of(table, c, name) for c in IN_KERNEL}
    kinds, codes = kinds_of(table)
    kind_of = np.array(codes or [0], np.int64)
    most = 1 << 12
    seen = np.empty(5 * MOST + 1, np.int64)
    report = np.zeros(k.REPORT, np.int64)
    epochs = np.empty((MOST_EPOCHS, k.EPOCH), np.int64)
    while True:
        entries = np.empty((most, k.ENTRY), np.int64)
        slots = np.zeros(4 * most, np.int64)
        full = function("sum_blocks")(
            at(kinds), at(kind_of), *(at(columns[c]) for c in IN_KERNEL), table.num_rows, base, shift, at(entries),
            most, at(slots), len(slots) - 1, at(epochs), len(epochs), at(seen), at(report),
        )  # fmt: skip
        if full == 0:
            break
        if report[k.EPOCHS] == len(epochs):
            epochs = np.empty((4 * len(epochs), k.EPOCH), np.int64)
        most *= 4
    if report[k.ERROR]:
        raise TableError(f"{name}, row {int(report[k.ERROR_ROW])}: {ERRORS[int(report[k.ERROR])]}")
    there = np.unique(kinds)
    names = {code: word for word, code in KIND_CODES.items()}
    return Summary(
        entries[: report[k.ENTRIES]].copy(), epochs[: report[k.EPOCHS]].copy(), seen[: 2 * MOST].reshape(2, MOST),
        (int(columns["time"][0]), int(columns["time"][-1])),
        frozenset(names[codes[i]] for i in there if codes[i] in names), name,
    )  # fmt: skip


@dataclass(frozen=True)
class Chosen:
    """The transactions that are looked at one by one.

    Attributes:
        blocks: (epoch, block) of those of which all are.
        zxids: (epoch, counter) of others.
        shift: what a block is.
    """

    blocks: frozenset[tuple[int, int]]
    zxids: frozenset[tuple[int, int]]
    shift: int


def one_word(epoch: Any, number: Any) -> Any:
    """Two numbers as one, for comparing; different pairs that are given one are the hash's bad luck, and
    then a row too many is looked at."""
    return np.asarray(epoch, np.int64) * np.int64(-7046029254386353131) + np.asarray(number, np.int64)


def drilled(part: Part, base: int, chosen: Chosen) -> tuple[pa.Table, Any]:
    """The rows of a part that tell the history of the chosen transactions, and their numbers in the run.

    Raises:
        TableError: the part is damaged.
    """
    import pyarrow as pa

    table = read_part(part, COLUMNS)
    kinds, codes = kinds_of(table)
    name = f"{part.path}, row group {part.groups[0]}"
    epoch, counter = (words_of(table, c, name) for c in ("epoch", "counter"))
    code = np.array(codes or [0], np.int64)[kinds]
    about = np.isin(code, [KIND_CODES["abcast"], KIND_CODES["abdeliver"]])
    keep = np.isin(code, [KIND_CODES["run"], KIND_CODES["establish"]])
    with np.errstate(over="ignore"):
        for pairs, number in ((chosen.blocks, counter >> chosen.shift), (chosen.zxids, counter)):
            if pairs:
                wanted = one_word(*np.array(sorted(pairs), np.int64).T)
                keep |= about & np.isin(one_word(epoch, number), wanted)
    rows = np.flatnonzero(keep)
    return table.take(pa.array(rows)), rows + base
