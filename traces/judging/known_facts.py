"""What the rows of one run say, as far as they say it: for the runs that are judged with care.

A fact that a row leaves unknown is None, or lies between two bounds. Of a relation there are always
two: where it is sure, and where it may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from traces.judging import numbers

__all__ = ["COMPLETIONS", "Columns", "Conclusion", "KnownFacts", "answer", "completions"]

COMPLETIONS = 128  # ways to complete the transactions of a run that are gone through
Key = tuple[int | None, ...]


@dataclass(frozen=True)
class Conclusion:
    """What is said of a property.

    Attributes:
        word: of `COUNTS`.
        rows: if it is violated, the row by which, and those that show it (-1: none).
    """

    word: str
    rows: tuple[int, ...] = ()


def answer(sure: tuple[int, ...] | None, may: object, met: object) -> Conclusion:
    """The answer from what is surely broken, whether something may be, and whether the premise is surely met."""
    if sure is not None:
        return Conclusion("violated", sure)
    if may:
        return Conclusion("open")
    return Conclusion("held" if met else "premise not reached")


@dataclass(frozen=True)
class Columns:
    """The rows of one run, numbered from 0.

    Attributes:
        kinds: the kernel's code of each.
        crash: whether a process crashes or recovers in it.
        of: its columns, None where they say nothing.
    """

    kinds: Sequence[int]
    crash: Sequence[bool]
    of: Mapping[str, Sequence[int | None]]

    def rows(self, *kinds: int) -> list[int]:
        return [r for r, kind in enumerate(self.kinds) if kind in kinds]

    @cached_property
    def transactions(self) -> dict[int, Key]:
        """What each row with a transaction says of it; a column that no such row has does not count."""
        rows = self.rows(numbers.ABCAST, numbers.ABDELIVER, numbers.ACCEPT, numbers.INITIAL, numbers.ENTRY)
        columns = [self.of[c] for c in ("epoch", "counter", "identity", "digest")]
        used = [c for c in columns if any(c[r] is not None for r in rows)]
        return {r: tuple(c[r] for c in used) for r in rows}


def completions(keys: Mapping[int, Key], most: int = COMPLETIONS) -> list[dict[int, int]] | None:
    """Every way in which the rows of a run may be of transactions: a number for each row, the same for the
    same transaction. None: there are more than so many."""
    numbered: dict[Key, int] = {}
    known = {r: numbered.setdefault(key, len(numbered)) for r, key in keys.items() if None not in key}
    # classes of rows with the same transaction, each with what is known of it
    ways: list[tuple[dict[int, int], list[Key]]] = [(known, list(numbered))]
    for row, key in keys.items():
        if row in known:
            continue
        longer = []
        for of, classes in ways:
            for number, other in enumerate(classes):
                both = united(key, other)
                if both is not None:
                    longer.append((of | {row: number}, [*classes[:number], both, *classes[number + 1 :]]))
            longer.append((of | {row: len(classes)}, [*classes, key]))
        if len(longer) > most:
            return None
        ways = longer
    return [of for of, classes in ways if told_apart(classes)]


def united(one: Key, other: Key) -> Key | None:
    """What two rows say of one transaction; None if they cannot be of one."""
    if any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)):
        return None
    return tuple(b if a is None else a for a, b in zip(one, other, strict=True))


def told_apart(classes: Sequence[Key]) -> bool:
    """Whether no two classes are known to be one."""
    full = [key for key in classes if None not in key]
    return len(set(full)) == len(full)


class KnownFacts:
    """A run, with the transaction of each row.

    Args:
        columns: its rows.
        txn: a number for each row with a transaction.
    """

    def __init__(self, columns: Columns, txn: Mapping[int, int]) -> None:
        self.columns, self.txn, self.of = columns, txn, columns.of
        begin = columns.rows(numbers.BEGIN)
        self.nodes: int | None = self.of["index"][begin[0]] if begin else None
        self.abcasts = columns.rows(numbers.ABCAST)
        self.deliveries = columns.rows(numbers.ABDELIVER)
        self.broadcast: dict[int, int] = {}  # of each transaction the first row that abcasts it
        for r in self.abcasts:
            self.broadcast.setdefault(txn[r], r)
        self.delivered: dict[int, dict[int, int]] = {}  # of each process: transactions, and the first row of each
        for r in self.deliveries:
            self.delivered.setdefault(self.process(r), {}).setdefault(txn[r], r)
        self.first: dict[int, int] = {}  # of each transaction its first delivery by anyone
        for r in self.deliveries:
            self.first.setdefault(txn[r], r)

    def process(self, row: int) -> int:
        p = self.of["process"][row]
        assert p is not None  # the kernel has refused such a run
        return p

    def order(self, p: int) -> list[int]:
        """The transactions that a process delivered, in order of the first delivery."""
        return list(self.delivered.get(p, ()))

    # --- moments ---------------------------------------------------------------------------------

    @cached_property
    def times(self) -> tuple[list[float], list[float]]:
        """Of each row the least and the greatest time it may have."""
        time, kinds = self.of["time"], self.columns.kinds
        n = len(kinds)
        if all(x is None or kinds[r] == numbers.BEGIN for r, x in enumerate(time)):
            return [0.0] * n, [0.0] * n  # without times a run is one moment
        least, most = [float("-inf")] * n, [float("inf")] * n
        now = float("-inf")
        for r in range(n):
            now = now if (x := time[r]) is None else x
            least[r] = now
        now = float("inf")
        for r in reversed(range(n)):
            now = now if (x := time[r]) is None else x
            most[r] = now
        return least, most

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """How many moments surely, and perhaps, end before each row: behind a row of the history."""
        least, most = self.times
        kinds = self.columns.kinds
        rows = [r for r, kind in enumerate(kinds) if kind not in (numbers.OTHER, numbers.BEGIN)]
        sure, may = np.zeros(len(kinds) + 1, np.int64), np.zeros(len(kinds) + 1, np.int64)
        for r, after in zip(rows, [*rows[1:], -1], strict=True):
            sure[r + 1] = after < 0 or least[after] > most[r]
            may[r + 1] = after < 0 or most[after] > least[r]
        return np.cumsum(sure), np.cumsum(may)

    def ended(self, begin: int, end: int) -> tuple[bool, bool]:
        """Whether a moment surely ends behind row `begin` or a later one before `end`, and whether one may."""
        if end <= begin:
            return False, False
        sure, may = self.ends
        return bool(sure[end] > sure[begin]), bool(may[end] > may[begin])

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Every two processes that deliver something."""
        who = sorted(self.delivered)
        return ((p, q) for p in who for q in who if p != q)
