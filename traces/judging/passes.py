"""Divide the deliveries of a process into passes where not all rows name their pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CUT, ONE, MAY = "cut", "one", "may"  # between two rows a pass ends, does not, or may


@dataclass
class Passes:
    """The deliveries and revisions of one process, and what lies between each and the one before.

    Attributes:
        rows: their rows, in order.
        txn: for each delivery the number of its transaction; -1 for a revision.
        between: for each row but the first, `CUT`, `ONE` or `MAY`.
        spans: for stretches between two rows whose passes are known and differ, the places of both, and the most passes
            that may end in between.
    """

    rows: list[int]
    txn: list[int]
    between: list[str]
    spans: list[tuple[int, int, int]]

    def had(self, row: int) -> list[list[int]]:
        """Return the possible deliveries of a process in its pass when it replaced its history in a row, as rows."""
        j = self.rows.index(row)
        out: list[list[int]] = []
        rows: list[int] = []
        while True:
            if self.between[j] != ONE or j == 0:
                out.append(list(rows))
            if self.between[j] == CUT or j == 0:
                return out
            j -= 1
            if self.txn[j] >= 0:
                rows.insert(0, self.rows[j])

    def cuts(self, most: bool) -> list[bool]:
        """Return before which rows a pass ends, so that the passes agree if they can; or disagree, with `most`.

        Passes agree if each delivers a beginning of one sequence. So there is one way to cut a process's deliveries
        into passes that do: before each delivery of the first transaction.
        """
        first = next((t for t in self.txn if t >= 0), -1)
        out, between, begun = [False] * len(self.rows), ONE, False
        for j, t in enumerate(self.txn):
            between = joined(between, self.between[j]) if j else CUT
            if t < 0:
                continue
            agrees = t == first
            out[j] = begun and (between == CUT or (between == MAY and agrees != most))
            between, begun = ONE, True
        for i, j, ends in self.spans:
            if min(self.txn[i : j + 1]) >= 0 and not 1 <= sum(out[i + 1 : j + 1]) <= ends:
                out[j] = self.txn[j] != first  # whichever way they are cut they do not agree
        return out


def passes_of(rows: Sequence[int], label: Sequence[int | None], txn: Sequence[int], crashes: Sequence[int]) -> Passes:
    """Return the passes of a process.

    Args:
        rows: the rows of its deliveries and revisions.
        label: the pass that each row names.
        txn: the number of each delivery's transaction; -1 for a revision.
        crashes: the rows in which the process crashes or recovers.
    """
    between = [MAY] * len(rows)
    for j in range(1, len(rows)):
        if any(rows[j - 1] < r < rows[j] for r in crashes):
            between[j] = CUT
    spans = []
    known = [j for j, x in enumerate(label) if x is not None]
    for i, j in pairwise(known):
        a, b = label[i] or 0, label[j] or 0
        if a == b:  # what the rows say of passes counts for more than a crash between them
            between[i + 1 : j + 1] = [ONE if x == MAY or j == i + 1 else MAY for x in between[i + 1 : j + 1]]
        elif j == i + 1:
            between[j] = CUT
        else:
            spans.append((i, j, b - a))
            if between[i + 1 : j + 1].count(CUT) >= b - a:
                between[i + 1 : j + 1] = [ONE if x == MAY else x for x in between[i + 1 : j + 1]]
    return Passes(list(rows), list(txn), between, spans)


def joined(one: str, other: str) -> str:
    """Return what lies between two rows with one in between."""
    if CUT in {one, other}:
        return CUT
    return MAY if MAY in {one, other} else ONE
