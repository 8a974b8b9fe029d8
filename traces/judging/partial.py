"""A run that leaves something unknown, or has what the kernel does not compare, judged with care.

Of what a row does not say every completion is thought of. A property is violated if all of them break
it, held if none does, and open else. Only the transactions of rows are completed one by one
(`facts.completions`); of the rest each relation is kept with two bounds, so that now and then a property is called
open which all completions would decide, but never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from traces.judging import numbers
from traces.judging import partial_deliveries as of_deliveries
from traces.judging import partial_quorums as of_quorums
from traces.judging.known_facts import Columns, Conclusion, KnownFacts, completions
from traces.judging.partial_primaries import Primaries
from traces.judging.runs import KIND_CODES
from traces.judging.unknowns import Unknown, Where

if TYPE_CHECKING:
    from traces.judging.runs import Batch

__all__ = ["first_row", "judge_carefully", "judged_by_care"]

MOST_BROADCASTS = 512  # and rows: of a larger run what is affected is not decided
MOST_ROWS = 1 << 14

OF_FACTS: dict[str, Callable[[KnownFacts], Conclusion]] = {
    "integrity": of_deliveries.integrity,
    "total-order": of_deliveries.total_order,
    "agreement": of_deliveries.agreement,
    "one-leader-an-epoch": of_quorums.one_leader_an_epoch,
    "chosen-in-later-histories": of_quorums.chosen_in_later_histories,
    "delivered-is-chosen": of_quorums.delivered_is_chosen,
    "delivered-stands": of_deliveries.delivered_stands,
}
OF_PRIMARIES: dict[str, Callable[[Primaries], Conclusion]] = {
    "local-primary-order": Primaries.local_primary_order,
    "global-primary-order": Primaries.global_primary_order,
    "primary-integrity": Primaries.primary_integrity,
    "po-causal-order": Primaries.po_causal_order,
    "strict-causality": Primaries.strict_causality,
    "prefix": Primaries.prefix,
    "causal-order": Primaries.causal_order,
    "one-primary-an-epoch": Primaries.one_primary_an_epoch,
    "unique-zxid": Primaries.unique_zxid,
}
judged_by_care = (*OF_FACTS, *OF_PRIMARIES)


def judge_carefully(batch: Batch, place: int, names: Collection[str]) -> dict[str, Conclusion] | None:
    """What is said of these properties in a run of a batch, which the kernel has found no fault with. None: it
    is too large.

    Args:
        place: of the run in the batch. Rows of the answers are numbered in the batch.
        names: of `judged_by_care`.
    """
    start, end = int(batch.starts[place]), int(batch.ends[place])
    kinds = batch.kind_of[batch.kinds[start:end]]
    if end - start > MOST_ROWS or np.count_nonzero(kinds == numbers.ABCAST) > MOST_BROADCASTS:
        return None
    columns = Columns(
        kinds.tolist(),
        np.isin(batch.kinds[start:end], batch.crashes).tolist(),
        {
            name: [None if x == numbers.NULL else x for x in values[start:end].tolist()]
            for name, values in batch.columns.items()
        },
    )
    ways = completions(columns.transactions)
    if ways is None:
        return None
    every = [judged(KnownFacts(columns, txn), names) for txn in ways]
    return {name: moved(one_of([answers[name] for answers in every]), start) for name in names}


def judged(f: KnownFacts, names: Collection[str]) -> dict[str, Conclusion]:
    """What is said where the transactions of all rows are known."""
    of = Primaries(f)
    return {n: OF_FACTS[n](f) if n in OF_FACTS else OF_PRIMARIES[n](of) for n in names}


def one_of(answers: list[Conclusion]) -> Conclusion:
    """What all completions say."""
    words = {a.word for a in answers}
    if words == {"held", "premise not reached"}:
        return Conclusion("premise not reached")
    return answers[0] if len(words) == 1 else Conclusion("open")


def moved(found: Conclusion, start: int) -> Conclusion:
    """An answer with its rows numbered in the batch."""
    return Conclusion(found.word, tuple(r if r < 0 else r + start for r in found.rows))


def first_row(batch: Batch, place: int, gap: Unknown) -> Where:
    """The first row of a run that has a gap."""
    start, end = int(batch.starts[place]), int(batch.ends[place])
    kinds = batch.kind_of[batch.kinds[start:end]]
    codes = [KIND_CODES[word] for word in gap.kinds]
    here = np.isin(kinds, codes) if codes else (kinds != numbers.OTHER) & (kinds != numbers.BEGIN)
    column = batch.columns[gap.column][start:end] if gap.column in batch.columns else None
    if gap.null:
        assert column is not None
        here &= column == numbers.NULL
    elif gap.bit == numbers.G_OTHER_EPOCH:
        here &= batch.columns["primary_epoch"][start:end] != batch.columns["epoch"][start:end]
    elif gap.bit == numbers.G_OUTSIDER:
        assert column is not None
        here &= column >= max(1, int(batch.columns["index"][start]))
    elif gap.bit == numbers.G_AGAIN:
        here &= again(batch, start, end, here)
    rows = np.flatnonzero(here)
    return Where(int(batch.runs[place]), int(rows[0]) if len(rows) else -1)


def again(batch: Batch, start: int, end: int, abcasts: np.ndarray) -> np.ndarray:
    """Which of these rows abcast what one before them did."""
    seen: set[tuple[int, ...]] = set()
    out = np.zeros(end - start, bool)
    for r in np.flatnonzero(abcasts).tolist():
        txn = tuple(int(batch.columns[c][start + r]) for c in ("epoch", "counter", "identity", "digest"))
        out[r] = txn in seen
        seen.add(txn)
    return out
