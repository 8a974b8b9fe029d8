"""Check many runs separately, with the kernel over the columns of a batch of whole runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from invariants import PROPERTIES
from invariants.registry import HISTORY, STATE, Property, property_named
from traces.events.table import KINDS, TableError
from traces.judging import numbers
from traces.judging.kernel import judge_runs
from traces.judging.memory import FirstRows, JudgedRun, RunReport, Table, room_for
from traces.judging.observed import names_of
from zabspec.language.native.kernels import machine

if TYPE_CHECKING:
    import pyarrow as pa


def number_of(p: Property) -> int | None:
    """Return the number by which a kernel checks a property, or None if none does."""
    return getattr(numbers, p.name.replace("-", "_").upper(), None)


JUDGED: tuple[Property, ...] = tuple(
    p
    for p in PROPERTIES
    if p.tables
    and ((p.of == HISTORY and (not p.protocols or number_of(p) is not None)) or (p.of == STATE and not p.protocols))
)
"""The properties of what every protocol has, in the order of `PROPERTIES`: of histories, and of each process's stable
one, which rows do not tell. What one protocol alone is asked is not among them unless a kernel judges it: a table does
not say of which protocol it is."""

# Those that a kernel checks, each by the number of its name.
KERNEL: dict[str, int] = {p.name: n for p in JUDGED if (n := number_of(p)) is not None}
# Those without a kernel have a bit too, by their places behind the others.
BITS = KERNEL | {name: len(KERNEL) + i for i, name in enumerate(p.name for p in JUDGED if p.name not in KERNEL)}

# What each field of the observed history follows from: kinds of event.
FOLLOWS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("abcasts", "abcast_txn", "abcast_by", "abcast_attempt"), ("abcast",)),
    "abcast_after": ("abcast", "abdeliver"),
    **dict.fromkeys(("delivered", "pass_length", "diverged"), ("abdeliver",)),
    **dict.fromkeys(("chosen_epoch", "accepted"), ("abcast", "accept")),
    "established": ("establish",),
    "missing_epoch": ("abcast", "establish"),
    "revised": ("abdeliver", "revise"),
}
UNTOLD = frozenset({"synced_length", "abcast_in_pass"})  # of the observed history what no kind of event says

BY_MOMENT = ("integrity", "agreement", "prefix", "delivered-is-chosen")  # what a moment violates a later one may repair

COLUMNS = (
    "run", "process", "position", "kind", "primary_epoch", "attempt", "pass", "index", "epoch", "counter", "identity",
    "digest", "time",
)  # fmt: skip
IN_KERNEL = (
    "run", "process", "position", "pass", "primary_epoch", "attempt", "epoch", "counter", "identity", "digest",
    "index", "time",
)  # fmt: skip

KIND_CODES = {
    "abcast": numbers.ABCAST, "abdeliver": numbers.ABDELIVER, "accept": numbers.ACCEPT, "establish": numbers.ESTABLISH,
    "initial": numbers.INITIAL, "revise": numbers.REVISE, "entry": numbers.ENTRY, "run": numbers.BEGIN,
}  # fmt: skip

ERRORS = {
    numbers.NO_PROCESS: "it does not name the process of this event",
    numbers.MANY_PROCESSES: f"processes are numbered 0 to {numbers.MOST - 1}",
    numbers.NO_ZXID: "a transaction has an epoch and a counter",
    numbers.OUT_OF_ORDER: "the rows of a process come in the order of their positions",
    numbers.PASS_BACK: "the passes of a process come one after another",
    numbers.TIME_BACK: "time never goes back within a run",
    numbers.TWO_BEGINS: "a run begins once",
    numbers.LATE_BEGIN: "a run begins with its row of kind run",
    numbers.NO_PROCESSES: "a run has at least one process",
    numbers.ASTRAY_ENTRY: "the entries of a history come directly behind the row of whose history they are",
}
BOUND = 1 << 62  # no number but a hash is as large
HASHES = ("identity", "digest")
CRASHES = ("crash", "recover")
AT_ONCE = 1 << 12  # runs in one call of the kernel, between which Ctrl-C is heard
SMALL = 1 << 10


def mask_of(names: Sequence[str]) -> int:
    """Return the mask of some properties."""
    return sum(1 << BITS[name] for name in {*names})


@cache
def needs(*functions: FunctionType) -> frozenset[str] | None:
    """Return the kinds of event that must be recorded to decide a property; None if it reads what no event contains.

    They are those from which the fields that it reads follow.
    """
    named = {name for f in functions for name in names_of(f)}
    fields = named & FOLLOWS.keys()
    return None if named & UNTOLD or not fields else frozenset(kind for f in fields for kind in FOLLOWS[f])


def judgeable(observes: Sequence[str]) -> int:
    """Return the mask of the properties that a table with these kinds of event decides."""
    return mask_of([p.name for p in JUDGED if p.of == HISTORY and (needs(p.holds) or {""}) <= set(observes)])


def of_name(name: str) -> Property:
    """Return a checked property by name."""
    return property_named(name, JUDGED)


class Runs:
    """Rows of whole runs in memory, as the kernel reads them.

    Args:
        columns: those of `IN_KERNEL`, by their names.
        kinds: a number for each row.
        kind_of: the kind of event of each number.
        name: the name of the runs in errors.
    """

    run: JudgedRun
    report: RunReport

    def __init__(self, columns: Mapping[str, Any], kinds: Any, kind_of: Any, name: str) -> None:
        self.name, self.rows = name, len(kinds)
        self.columns, self.kinds, self.kind_of = columns, kinds, kind_of
        self.processes = max(1, min(numbers.MOST, int(self.columns["process"].max(initial=0)) + 1))
        run = self.columns["run"]
        self.starts = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1]))) if self.rows else np.zeros(0, int)
        self.runs = run[self.starts]
        self.ends = np.append(self.starts[1:], self.rows)
        self.table = table_of(self.columns, self.kinds, self.kind_of)
        self.cap = self.first_cap()
        self.room()

    def first_cap(self) -> int:
        """Return a guess at the number of transactions of the largest run."""
        if not self.rows:
            return SMALL
        abcast = np.flatnonzero(self.kind_of == numbers.ABCAST)
        if not len(abcast):
            return SMALL
        counts = np.add.reduceat(np.isin(self.kinds, abcast).astype(np.int64), self.starts)
        return max(SMALL, int(counts.max()) + 64)

    def room(self) -> None:
        """Allocate memory for runs of `cap` transactions."""
        self.run, self.report = room_for(self.processes, self.cap), RunReport()

    def call(self, start: int, end: int, found: Any) -> int:
        """Check the runs in some rows, as many as `found` has columns; return how many were checked.

        The result of each goes to its column, in the order of `FirstRows`.
        """
        names = [name for name in FirstRows.members if name != "most"]
        said = FirstRows(most=found.shape[1], **dict(zip(names, found, strict=True)))
        return machine(judge_runs)(self.table, self.run, self.report, said, start, end)

    def judged(self) -> Iterator[tuple[int, Any]]:
        """Check every run, some at a time.

        Yields:
            The place of the first of these runs, and for each its first row and the masks of what is violated, met and
                unknown.

        Raises:
            TableError: a run cannot be checked, since its rows are invalid.
        """
        done = 0
        while done < len(self.starts):
            found = np.zeros((6, min(AT_ONCE, len(self.starts) - done)), np.int64)
            count = self.call(int(self.starts[done]), self.rows, found)
            if found[4, count - 1] == -1:
                self.cap *= 4
                self.room()
                count -= 1
            found = found[:, :count]
            wrong = np.flatnonzero(found[4])
            if len(wrong):
                error, row = found[4:6, wrong[0]]
                raise TableError(f"{self.name}, run {self.columns['run'][row]}, row {row}: {ERRORS[int(error)]}")
            if count:
                yield done, found[:4].T
            done += count

    def witness(self, place: int) -> dict[str, tuple[int, ...]]:
        """Return the witnesses of the properties that a run violates, by name.

        A witness is the row by which the property is violated, and up to four that show it (-1 for none).

        Args:
            place: the place of the run in the batch.
        """
        found = np.zeros((6, 1), np.int64)
        while True:
            self.call(int(self.starts[place]), int(self.ends[place]), found)
            if found[4, 0] != -1:
                break
            self.cap *= 4
            self.room()
        out = {}
        for name, bit in BITS.items():
            if self.report.broken >> bit & 1:
                out[name] = (self.report.by[bit], *self.report.witness[bit])
        return out


class Batch(Runs):
    """Runs of an event table.

    Args:
        table: the columns `COLUMNS`.
        name: the name of the runs in errors.

    Raises:
        TableError: the rows are not those of an event table.
    """

    def __init__(self, table: pa.Table, name: str) -> None:
        kinds, words = kinds_of(table, name)
        super().__init__({c: words_of(table, c, name) for c in IN_KERNEL}, kinds, codes_of(words), name)
        counts = np.bincount(kinds, minlength=len(words)) if len(words) else ()
        self.unused = Counter(
            {word or "": int(n) for word, n in zip(words, counts, strict=False) if n and word not in KINDS}
        )

    def judged(self) -> Iterator[tuple[int, Any]]:
        """Check every run, as `Runs.judged`.

        A run without any time is one moment. What it violates if each row is a moment of its own, and not as one, is
        unknown.
        """
        time = self.columns["time"]
        timed = (time != numbers.NULL) & (self.kind_of[self.kinds] != numbers.BEGIN)
        untimed = np.add.reduceat(timed.astype(np.int64), self.starts) == 0 if self.rows else np.zeros(0, bool)
        if not untimed.any():
            yield from super().judged()
            return
        each = np.where(np.repeat(untimed, self.ends - self.starts), np.arange(self.rows), time)
        strict = Runs({**self.columns, "time": each}, self.kinds, self.kind_of, self.name)
        within = np.concatenate([found[:, 1] for _, found in strict.judged()]) & mask_of(BY_MOMENT)
        for place, found in super().judged():
            doubted = (within[place : place + len(found)] & ~found[:, 1]) != 0
            found[:, 3] |= np.where(doubted, 1 << numbers.G_MOMENTS, 0)
            yield place, found


def table_of(columns: Mapping[str, Any], kinds: Any, kind_of: Any) -> Table:
    """Return columns as the kernels read them.

    Args:
        columns: those of `IN_KERNEL`, by their names.
        kinds: a number for each row; `kind_of` says which kind of event each number is.
    """
    named = {"passing" if c == "pass" else c: columns[c] for c in IN_KERNEL}
    return Table(rows=len(kinds), meanings=len(kind_of), kind=kinds, meaning=kind_of, **named)


def words_of(table: pa.Table, name: str, where: str) -> Any:
    """Return a column as 64-bit words, with NULL for nulls.

    Raises:
        TableError: a number in it is out of range.
    """
    import pyarrow.compute as pc

    column = table.column(name)
    nulls = column.null_count
    if nulls:
        if name == "run":
            raise TableError(f"{where}: a row has no run number")
        column = pc.fill_null(column, numbers.NULL)
    values = (
        column.combine_chunks().to_numpy(zero_copy_only=False)
        if column.num_chunks != 1
        else column.chunk(0).to_numpy(zero_copy_only=False)
    )
    values = np.ascontiguousarray(values, np.int64)
    bound = numbers.NEVER if name in HASHES else BOUND
    beyond = values < -bound if nulls == 0 else (values < -bound) & (values != numbers.NULL)
    if len(values) and (values.max() > bound or beyond.any() or nulls != np.count_nonzero(values == numbers.NULL)):
        raise TableError(f"{where}: column {name!r} has a number that is out of range")
    return values


def kinds_of(table: pa.Table, where: str) -> tuple[Any, list[str]]:
    """Return the column of kinds as numbers of 4 bytes, and the word of each number.

    Raises:
        TableError: a row has no kind, or one that is no text.
    """
    import pyarrow as pa

    column = table.column("kind")
    if column.null_count:
        raise TableError(f"{where}: a row has no kind")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    if column.null_count:
        raise TableError(f"{where}: a row has no kind")
    try:
        words = column.dictionary.to_pylist()
    except UnicodeDecodeError:
        raise TableError(f"{where}: column 'kind' has a value that is not text") from None
    return np.ascontiguousarray(column.indices.to_numpy(zero_copy_only=False), np.int32), words


def codes_of(words: Sequence[str | None]) -> Any:
    """Return the kind of event of each word."""
    return np.array([code_of(word or "") for word in words] or [0], np.int64)


def code_of(word: str) -> int:
    """Return the kind of event of a word; `MISSPELT` if it is spelt otherwise than one of them, as `ABCAST`."""
    if word in KINDS:
        return KIND_CODES.get(word, numbers.OTHER)
    return numbers.MISSPELT if re.sub(r"[^a-z]", "", word.casefold()) in KIND_CODES else numbers.UNKNOWN


def misnumbered(column: pa.ChunkedArray, starts: Any) -> dict[int, str]:
    """Return why runs do not have every row exactly once, by their places.

    Args:
        starts: of the runs.
    """
    there = column.is_valid().to_numpy()
    found = column.fill_null(0).combine_chunks().to_numpy(zero_copy_only=False)
    wanted = np.arange(len(found)) - np.repeat(starts, np.diff(np.append(starts, len(found))))
    wrong = np.flatnonzero((found != wanted) | ~there)
    of_run = np.searchsorted(starts, wrong, side="right") - 1
    out: dict[int, str] = {}
    for k, at in zip(of_run.tolist(), wrong.tolist(), strict=True):
        if k not in out:
            out[k] = numbered_why(int(found[at]) if there[at] else None, int(wanted[at]))
    return out


def numbered_why(found: int | None, wanted: int) -> str:
    """Return why a row is not the next of its run."""
    if found is None:
        return "column 'row' is null in a row of it"
    if found < wanted:
        return f"its row {found:,} occurs more than once, or numbers in column 'row' are below 0"
    return f"its row {wanted:,} is missing: column 'row' continues with {found:,}"
