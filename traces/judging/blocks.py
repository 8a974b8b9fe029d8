"""Summarise a part of one long history by digests of its blocks, and extract chosen transactions from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import blocks_kernel
from traces.judging.memory import Table
from traces.judging.numbers import G_DIGEST, G_IDENTITY, G_OTHER_EPOCH, G_TIME, NULL, OTHER
from traces.judging.runs import COLUMNS, ERRORS, IN_KERNEL, KIND_CODES, codes_of, kinds_of, table_of, words_of
from traces.judging.unknowns import GAPS
from traces.tables.table import TableError, TablePart, read_part
from zabspec.language.kernels import machine

if TYPE_CHECKING:
    import pyarrow as pa

SHIFT = 12  # a block is the transactions of an epoch with counters within 4096 of each other
READ = (
    "run", "process", "position", "kind", "attempt", "pass", "epoch", "counter", "identity", "digest", "time",
    "primary_epoch", "index",
)  # fmt: skip
HALF_KNOWN = (G_IDENTITY, G_DIGEST, G_TIME)  # gaps only where other rows of the run are not null
MOST_EPOCHS = 1 << 12


@dataclass(frozen=True)
class Seen:
    """The unknown values in the rows of a part.

    Attributes:
        gaps: for each kind of gap (`unknowns.py`) in the part the number of its first row in the run.
        says: the columns of `HALF_KNOWN` in which some row has a value.
        nodes: the number of processes of the run, if a row of the part has it, else 0.
        highest: the process with the highest number, and its first row.
    """

    gaps: dict[int, int]
    says: frozenset[int]
    nodes: int
    highest: tuple[int, int]


@dataclass(frozen=True)
class Summary:
    """The summary of a part of a run.

    Attributes:
        entries: a row for each instance or pass and block (`blocks_kernel`).
        epochs: a row for each epoch.
        positions: the first and the last position of each process in the part.
        times: the first and the last time in the part; None if the rows have no times.
        seen: the unknown values in its rows.
        run: the number of the run.
        name: the name of the part in errors.
    """

    entries: Any
    epochs: Any
    positions: Any
    times: tuple[int, int] | None
    seen: Seen
    run: int
    name: str


def summary_of(part: TablePart, base: int, shift: int = SHIFT) -> Summary:
    """Sum up a part.

    Args:
        base: the number of its first row in the run.

    Raises:
        TableError: its rows are no event table's.
    """
    table = read_part(part, READ)
    name = f"{part.path}, row group {part.groups[0]}"
    run = words_of(table, "run", name)
    if (run != run[0]).any():
        raise TableError(f"{name}: its rows are of more runs than its metadata says")
    columns = {c: words_of(table, c, name) for c in IN_KERNEL}
    kinds, words = kinds_of(table, name)
    kind_of = codes_of(words)
    sums = summed(table_of(columns, kinds, kind_of), base, shift)
    if sums.error:
        raise TableError(f"{name}, row {sums.error_row}: {ERRORS[sums.error]}")
    known_times = columns["time"][columns["time"] != NULL]
    return Summary(
        np.frombuffer(sums.entry.memory, np.int64).reshape(-1, blocks_kernel.ENTRY)[: sums.entries].copy(),
        np.frombuffer(sums.epoch.memory, np.int64).reshape(-1, blocks_kernel.EPOCH)[: sums.epochs].copy(),
        np.array([list(sums.first_position), list(sums.last_position)], np.int64),
        (int(known_times[0]), int(known_times[-1])) if len(known_times) else None,
        looked_at(columns, kind_of.astype(np.int8)[kinds], base), int(run[0]), name,
    )  # fmt: skip


def summed(table: Table, base: int, shift: int) -> blocks_kernel.Sums:
    """Summarise the rows of a part, with buffers that grow as needed."""
    most, epochs = 1 << 12, MOST_EPOCHS
    while True:
        sums = blocks_kernel.Sums(most=most, slots=4 * most, most_epochs=epochs)
        machine(blocks_kernel.sum_blocks)(table, sums, base, shift)
        if not sums.full:
            return sums
        if sums.epochs == epochs:
            epochs *= 4
        most *= 4


def looked_at(columns: dict[str, Any], kinds: Any, base: int) -> Seen:
    """Return what the rows of a part leave unknown.

    Args:
        columns: the columns of the part.
        kinds: the kernel's code of each row.
        base: the number of the first row in the run.
    """
    gaps: dict[int, int] = {}
    says = set()
    of_kind = {word: kinds == code for word, code in KIND_CODES.items()}
    null = {gap.column: columns[gap.column] == NULL for gap in GAPS if gap.null}
    of_history = (kinds != OTHER) & ~of_kind["run"]
    for gap in GAPS:
        here = np.logical_or.reduce([of_kind[word] for word in gap.kinds]) if gap.kinds else of_history
        if gap.bit == G_OTHER_EPOCH:
            rows = here & ~null["primary_epoch"] & (columns["primary_epoch"] != columns["epoch"])
        elif gap.null:
            rows = here & null[gap.column]
            there = ~of_kind["run"] if gap.bit == G_TIME else here
            if gap.bit in HALF_KNOWN and (there & ~null[gap.column]).any():
                says.add(gap.bit)
        else:
            continue
        if rows.any():
            gaps[gap.bit] = int(rows.argmax()) + base
    begins = of_kind["run"]
    nodes = max(0, int(columns["index"][begins.argmax()])) if begins.any() else 0
    who = np.where(of_history, columns["process"], NULL)
    last = int(who.argmax()) if len(who) else 0
    return Seen(gaps, frozenset(says), nodes, (int(who[last]), last + base) if len(who) else (NULL, base))


@dataclass(frozen=True)
class Chosen:
    """The transactions that are checked one by one.

    Attributes:
        blocks: (epoch, block) of each block that is checked in full.
        zxids: (epoch, counter) of each further transaction.
        shift: the logarithm of a block's size.
    """

    blocks: frozenset[tuple[int, int]]
    zxids: frozenset[tuple[int, int]]
    shift: int


def one_word(epoch: Any, number: Any) -> Any:
    """Hash two numbers into one for comparison; a collision only makes the check look at a row too many."""
    return np.asarray(epoch, np.int64) * np.int64(-7046029254386353131) + np.asarray(number, np.int64)


def drilled(part: TablePart, base: int, chosen: Chosen) -> tuple[pa.Table, Any]:
    """Return the rows of a part that tell the history of the chosen transactions, and their numbers in the run.

    Raises:
        TableError: the part is damaged.
    """
    import pyarrow as pa

    table = read_part(part, COLUMNS)
    name = f"{part.path}, row group {part.groups[0]}"
    epoch, counter = (words_of(table, c, name) for c in ("epoch", "counter"))
    kinds, words = kinds_of(table, name)
    code = codes_of(words)[kinds]
    about = np.isin(code, [KIND_CODES["abcast"], KIND_CODES["abdeliver"]])
    keep = np.isin(code, [KIND_CODES["run"], KIND_CODES["establish"]])
    with np.errstate(over="ignore"):
        for pairs, number in ((chosen.blocks, counter >> chosen.shift), (chosen.zxids, counter)):
            if pairs:
                wanted = one_word(*np.array(sorted(pairs), np.int64).T)
                keep |= about & np.isin(one_word(epoch, number), wanted)
    rows = np.flatnonzero(keep)
    return table.take(pa.array(rows)), rows + base
