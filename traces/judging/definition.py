"""Check a property that has no kernel by its own source.

A small run is folded into its observed history, and the property evaluated at the end of each moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traces.explain.why import named
from traces.judging import numbers
from traces.judging.numbers import NULL
from traces.judging.observed import Observed, Unknown, asked
from traces.judging.runs import KIND_CODES, needs
from traces.judging.sentence import Happened, Violation, behind, happened, moment_end, rows_of, used_in
from zabspec.language.python.sentences import ExplainedFalse, sentence_of

if TYPE_CHECKING:
    import pyarrow as pa

    from invariants.registry import Property
    from traces.judging.runs import Batch

MOST_ROWS = 128  # of a run's rows that it reads: larger runs stay open, since definitions are slow
MOST_EVENTS = 4  # that a violation shows


@dataclass(frozen=True)
class Judged:
    """The result of a property's source for a run.

    Attributes:
        word: the verdict (`totals.COUNTS`).
        by: the row in whose moment it was first violated; -1 if it was not.
        said: the property's result there.
    """

    word: str
    by: int = -1
    said: object = None


def judged_by_definition(batch: Batch, place: int, prop: Property) -> Judged:
    """Check a run of a batch by the source of a property.

    Args:
        place: of the run in the batch.
    """
    start, end = int(batch.starts[place]), int(batch.ends[place])
    kinds = batch.kind_of[batch.kinds[start:end]]
    places = start + np.flatnonzero(np.isin(kinds, codes(prop)))
    if len(places) > MOST_ROWS:
        return Judged("not judged")
    time = batch.columns["time"][start:end][(kinds > numbers.OTHER) & (kinds < numbers.BEGIN)]
    untimed = not (time != NULL).any()
    if (time == NULL).any() and not untimed:
        return Judged("open")  # where a moment ends is not known
    rows = rows_of(batch, places)
    met = doubted = False  # doubted: violated within a run without any time, where a moment may end
    try:
        h = Observed(rows, used_in(batch, start))
        for at, row in enumerate(rows):
            h.fold(row, behind(rows, at))
            here = int(places[at])
            within = at + 1 < len(rows) and int(places[at + 1]) < moment_end(batch, start, here)
            if within and not untimed:
                continue  # the same moment continues
            said = asked(prop.holds, h)
            if within:
                doubted = doubted or not said
                continue
            if not said:
                return Judged("violated", here, said)
            met = met or bool(asked(prop.witness, h))
    except Unknown:
        return Judged("open")
    except (ArithmeticError, LookupError, AttributeError):  # it reads what is not of the observed history, or past it
        return Judged("undecided")
    return Judged("open" if doubted else "holds" if met else "premise not reached")


def read_by(prop: Property) -> set[str]:
    """Return the kinds of row on which a property and its premise depend."""
    kinds = {"run", *(needs(prop.holds) or ()), *(needs(prop.witness) or ())}
    return kinds | {entry for of, entry in (("establish", "initial"), ("revise", "entry")) if of in kinds}


def codes(prop: Property) -> list[int]:
    """Return the kernel's codes of these kinds."""
    return [KIND_CODES[kind] for kind in sorted(read_by(prop))]


def violation_of(batch: Batch, kinds: pa.ChunkedArray, place: int, prop: Property, judged: Judged) -> Violation:
    """Return a violation with the last rows of what its sentence names.

    Args:
        batch: the batch.
        kinds: the column `kind` of the run.
        place: the place of the run in the batch.
        prop: the property.
        judged: its result.
    """
    start = int(batch.starts[place])
    time = happened(batch, kinds, start, judged.by).time
    events = tuple(rows_named(batch, kinds, start, prop, judged))
    why = sentence_of(judged.said) or f"The run violates {prop.name} in row {judged.by - start}."
    return Violation(int(batch.runs[place]), prop.name, why, time, events)


def rows_named(batch: Batch, kinds: pa.ChunkedArray, start: int, prop: Property, judged: Judged) -> Sequence[Happened]:
    """Return the last rows of what a sentence names, and the one by which it became true."""
    found: list[int] = []
    if isinstance(judged.said, ExplainedFalse):
        wanted, read = named(judged.said), set(codes(prop)) - {numbers.BEGIN}
        for r in range(judged.by, start - 1, -1):
            if int(batch.kind_of[batch.kinds[r]]) not in read:
                continue
            e = happened(batch, kinds, start, r)
            of_them = e.process is None or not wanted.processes or e.process in wanted.processes
            if of_them and (not wanted.txns or e.txn in wanted.txns):
                found.append(r)
    return [happened(batch, kinds, start, r) for r in sorted({judged.by, *found[:MOST_EVENTS]})]
