"""Fold the rows of a run into its observed history, which the properties of `invariants/` read, in plain Python.

The rows are folded by the very functions that write the ghosts of an explored run (`zabspec/history.py`), and the
properties are evaluated unchanged. So a sentence about a table is the property's own, and a property without a kernel
can be checked where a run is small.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from traces.judging import numbers
from zabspec import history
from zabspec.language.layout.bytecode import functions_that_run, global_names, names_in
from zabspec.language.python.meanings import is_value
from zabspec.language.python.reference import OPERATIONS
from zabspec.language.python.sentences import MARK, ExplainedFalse, explained_all, with_sentences

Row = Mapping[str, int | None]  # the columns of a row, and `kind`: which of the kernel's it is
TXN = ("epoch", "counter", "identity", "digest")
WITH_TXN = (
    numbers.ABCAST,
    numbers.ABDELIVER,
    numbers.ACCEPT,
    numbers.INITIAL,
    numbers.ENTRY,
)  # the kinds of row that a transaction is of


class Unknown(Exception):
    """A row leaves something unknown, or contains what the observed history does not hold."""


class Epoch(int):
    """An epoch: its place among those of a run, from 1, and its number as written."""

    text: str

    def __new__(cls, place: int, text: object) -> Epoch:
        self = super().__new__(cls, place)
        self.text = str(text)
        return self

    def __str__(self) -> str:
        return self.text


class Epochs(int):
    """The largest epoch of a run; `range` of its successor covers all."""

    every: tuple[int, ...]

    def __add__(self, other: int) -> Epochs:
        more = Epochs(int(self) + other)
        more.every = self.every
        return more


def through(*bounds: Any) -> Iterable[int]:
    """Return a `range` that supports epochs."""
    return bounds[-1].every if isinstance(bounds[-1], Epochs) else builtins.range(*bounds)


class Transaction:
    """A transaction of a run: what the properties read of it, and its text."""

    __slots__ = ("counter", "epoch", "text", "value")

    def __init__(self, epoch: int, counter: int, value: int, text: str) -> None:
        self.epoch, self.counter, self.value, self.text = epoch, counter, value, text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transaction) and self.value == other.value

    def __hash__(self) -> int:
        return self.value


NONE = Transaction(0, 0, 0, "-")


class Delivered(list[Transaction]):
    """The deliveries of a process; past their end an index gives no transaction, as in a program."""

    def __getitem__(self, k: Any) -> Any:
        return super().__getitem__(k) if k < len(self) else NONE


class Observed:
    """The observed history of a run, after a part of its rows: the fields of `zabspec/history.py`.

    Args:
        rows: all rows of the run that will be added.
        used: the columns that distinguish transactions, in any row of the run.

    Raises:
        Unknown: the rows leave something unknown.
    """

    def __init__(self, rows: Sequence[Row], used: Sequence[str]) -> None:
        self.used = used
        begun = next((r["index"] for r in rows if r["kind"] == numbers.BEGIN), None)
        seen = [p for r in rows if (p := r["process"]) is not None]
        self.NODES = max([*seen, (begun or 1) - 1, 0]) + 1
        self.members = begun  # the processes that the run has; the others are in no quorum
        self.MAJORITY = (begun or 0) // 2 + 1
        self.name_epochs(rows)
        self.name_transactions(rows)
        n = self.TXNS = len(self.transactions)
        self.abcasts = self.accepts = self.accept_epoch = 0
        self.abcast_txn: list[Transaction] = [NONE] * n
        self.abcast_by, self.abcast_attempt = [0] * n, [0] * n
        self.abcast_after: list[set[int]] = [set() for _ in builtins.range(n)]
        self.chosen_epoch: list[int] = [0] * n
        self.missing_epoch: list[int] = [0] * n
        self.established = [0] * (len(self.EPOCHS.every))
        self.accepted: list[defaultdict[int, set[int]]] = [defaultdict(set) for _ in self.EPOCHS.every]
        self.delivered = [Delivered() for _ in builtins.range(self.NODES)]
        self.pass_length, self.revised = [0] * self.NODES, [0] * self.NODES
        self.diverged, self.abcast_in_pass = [False] * self.NODES, [False] * self.NODES
        self.LITERAL = 0
        self.passing: dict[int, int | None] = {}
        self.instances: dict[int, list[tuple[int, int | None]]] = {}  # of each epoch, in order of the first abcast

    def is_quorum(self, members: Collection[int]) -> bool:
        """Return whether a set of processes is a quorum: event tables are checked with majorities."""
        return len(members) >= self.MAJORITY

    def name_epochs(self, rows: Sequence[Row]) -> None:
        known = sorted({e for r in rows for c in ("epoch", "primary_epoch") if (e := r[c]) is not None})
        self.epochs = {e: Epoch(place, e) for place, e in enumerate(known, 1)}
        self.EPOCHS = Epochs(len(known))
        self.EPOCHS.every = (0, *self.epochs.values())

    def name_transactions(self, rows: Sequence[Row]) -> None:
        """Assign numbers to the transactions: first to those abcast, in that order, then to the others."""
        self.transactions: dict[tuple[int | None, ...], Transaction] = {}
        with_txn = [r for r in rows if r["kind"] in WITH_TXN]
        written: set[str] = set()
        for r in sorted(with_txn, key=lambda r: r["kind"] != numbers.ABCAST):
            key = self.key_of(r)
            if None in key:
                raise Unknown
            if key in self.transactions:
                if r["kind"] == numbers.ABCAST:
                    raise Unknown  # it is broadcast again
                continue
            zxid = f"<{r['epoch']},{r['counter']}>"
            text = zxid if r["identity"] is None else f"t{r['identity']} {zxid}"
            if r["digest"] is not None and text in written:
                text = f"{text} of digest {r['digest']}"  # it is another one, and reads like one before
            written.add(text)
            epoch, counter = r["epoch"], r["counter"]
            if epoch is None or counter is None:
                raise Unknown
            self.transactions[key] = Transaction(self.epochs[epoch], counter, len(self.transactions) + 1, text)

    def key_of(self, row: Row) -> tuple[int | None, ...]:
        """Return the key that tells a row's transaction from others."""
        return tuple(row[c] for c in self.used)

    def fold(self, row: Row, behind: Sequence[Row]) -> None:
        """Fold a row into the history.

        Args:
            row: the row.
            behind: the entries of the history that belongs to it.

        Raises:
            Unknown: the row leaves something unknown.
        """
        kind, p = row["kind"], row["process"]
        epoch = self.epochs.get(row["primary_epoch"]) if row["primary_epoch"] is not None else None
        if kind in (numbers.OTHER, numbers.BEGIN, numbers.INITIAL, numbers.ENTRY):
            return
        if (p is None and kind != numbers.ESTABLISH) or (
            epoch is None and kind in (numbers.ABCAST, numbers.ACCEPT, numbers.ESTABLISH)
        ):
            raise Unknown
        names = writers()
        if kind == numbers.ESTABLISH:
            names["establish"](self, epoch, [self.transactions[self.key_of(r)] for r in behind])
            return
        assert p is not None
        if kind == numbers.ABCAST:
            self.abcast(row, p, epoch)
        elif kind == numbers.ACCEPT:
            if self.members is None:
                raise Unknown
            if p < self.members:
                names["accept"](self, p, epoch, self.transactions[self.key_of(row)])
        else:
            if row["pass"] is None:
                raise Unknown
            if self.passing.setdefault(p, row["pass"]) != row["pass"]:
                self.passing[p] = row["pass"]
                names["end_pass"](self, p)
            if kind == numbers.ABDELIVER:
                names["abdeliver"](self, p, self.transactions[self.key_of(row)])
            elif self.diverged[p]:
                raise Unknown  # of passes that do not agree the observed history has no place of what was delivered
            else:
                names["revise"](self, p, [self.transactions[self.key_of(r)] for r in behind])

    def abcast(self, row: Row, p: int, epoch: int | None) -> None:
        """Fold the abcast of a primary; its instance is the one that the row names."""
        if epoch is None or row["primary_epoch"] != row["epoch"] or row["attempt"] is None:
            raise Unknown
        t, at = self.transactions[self.key_of(row)], self.abcasts
        if t.value != at + 1:
            raise Unknown
        writers()["abcast"](self, p, epoch, t.counter)
        self.abcast_txn[at] = t
        own = self.instances.setdefault(epoch, [])
        if (p, row["attempt"]) not in own:
            own.append((p, row["attempt"]))
        self.abcast_attempt[at] = own.index((p, row["attempt"]))


@cache
def writers() -> dict[str, Any]:
    """Return the functions that write the observed history, over plain values."""
    h = history
    return own_world(h.abcast, h.abdeliver, h.accept, h.establish, h.revise, h.end_pass)


def asked(function: Any, h: Observed) -> Any:
    """Return the result of a property, or of its witness, for a history."""
    return own_world(function)[function.__name__](h)


@cache
def own_world(*functions: FunctionType) -> dict[str, Any]:
    """Return functions of the language, and all that they call, over plain values."""
    out: dict[str, Any] = {name: value for f in functions for name, value in reached(f).items()}
    for name, value in out.items():
        if isinstance(value, FunctionType):
            out[name] = FunctionType(with_sentences(value), out, name)
    out |= {**OPERATIONS, "__builtins__": builtins, "range": through, "all": explained_all, MARK: ExplainedFalse}
    out["Txn"] = lambda epoch, counter, value: Transaction(epoch, counter, value, "-")
    return out


def reached(function: FunctionType) -> dict[str, Any]:
    """Return a function, all that it calls, and their constants, by name."""
    out: dict[str, Any] = {}
    for f in functions_that_run([function]):
        read = {name: f.__globals__.get(name) for name in global_names(f.__code__)}
        out |= {f.__name__: f, **{name: value for name, value in read.items() if is_value(value)}}
    return out


def names_of(function: FunctionType) -> frozenset[str]:
    """Return every name in a function and in what it calls, which includes those of state fields."""
    return frozenset(name for f in functions_that_run([function]) for name in names_in(f.__code__))
