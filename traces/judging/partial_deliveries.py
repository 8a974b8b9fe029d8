"""The properties of what is delivered, of a run that leaves something unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from traces.judging import numbers
from traces.judging.known_facts import Conclusion, KnownFacts, answer

__all__ = ["agreement", "delivered_stands", "integrity", "total_order"]

CUT, ONE, MAY = "cut", "one", "may"  # between two rows a pass ends, does not, or may
Rows = tuple[int, ...]


def integrity(f: KnownFacts) -> Conclusion:
    """What is delivered was abcast, before or in the same moment."""
    least, most = f.times
    sure: Rows | None = None
    may = False
    for t, row in f.first.items():
        by = f.broadcast.get(t, -1)
        if by < 0 or least[by] > most[row]:
            sure = sure or (row, row, by, -1, -1)
        elif by > row and most[by] > least[row]:
            may = True
    return answer(sure, may, f.first)


def earliest(one: Rows | None, other: Rows) -> Rows:
    """Of two violations the one that is broken by the earlier row."""
    return other if one is None or other[0] < one[0] else one


def total_order(f: KnownFacts) -> Conclusion:
    """What two processes had delivered before a transaction that both delivered is the same."""
    sure, may = divergence(f)
    before: dict[int, dict[int, int]] = {}  # of each process and transaction: a mask of what it delivered before
    for p, delivered in f.delivered.items():
        mask = 0
        before[p] = {}
        for t in delivered:
            before[p][t] = mask
            mask |= 1 << t
    met = False
    for p, q in f.pairs():
        own, other = f.delivered[p], f.delivered[q]
        met |= len(own) > 1 and list(own)[1] in other
        for t, row in own.items():
            extra = before[p][t] & ~before[q].get(t, -1)
            if extra:
                x = (extra & -extra).bit_length() - 1
                sure = earliest(sure, (max(row, other[t]), own[x], row, other[t], other.get(x, -1)))
    return answer(sure, may, met)


def agreement(f: KnownFacts) -> Conclusion:
    """At the end of no moment do two processes each lack something that the other delivered."""
    sure, may = divergence(f)
    met = False
    seen: dict[int, set[int]] = {p: set() for p in f.delivered}
    more = dict.fromkeys(f.pairs(), 0)  # how much the first delivered that the second did not
    for at, r in enumerate(f.deliveries):
        p, t = f.process(r), f.txn[r]
        for q in f.delivered if t not in seen[p] else ():
            if q != p:
                more[p, q] += t not in seen[q]
                more[q, p] -= t in seen[q]
        seen[p].add(t)
        surely, perhaps = f.ended(r, f.deliveries[at + 1] if at + 1 < len(f.deliveries) else len(f.columns.kinds))
        for (x, y), count in more.items() if perhaps else ():
            met |= surely and count > 0 and bool(seen[y])
            if x < y and count and more[y, x]:
                may = True
                if surely and (sure is None or r < sure[0]):
                    a = next(row for u, row in f.delivered[x].items() if u in seen[x] - seen[y])
                    b = next(row for u, row in f.delivered[y].items() if u in seen[y] - seen[x])
                    sure = (r, a, b, -1, -1)
    return answer(sure, may, met)


def delivered_stands(f: KnownFacts) -> Conclusion:
    """A history that replaces another begins with what was delivered in the pass under way."""
    sure: Rows | None = None
    may = met = False
    for r in f.columns.rows(numbers.REVISE):
        entries = []
        end = r + 1
        while end < len(f.columns.kinds) and f.columns.kinds[end] == numbers.ENTRY:
            entries.append(end)
            end += 1
        found = [stands(f, had, entries) for had in in_pass(f, r)]
        if all(broken is not None for broken in found):
            which, entry = next(broken for broken in found if broken is not None)
            sure = earliest(sure, (r, r, which, entry, -1))
        may |= any(broken is not None for broken in found)
        met |= all(in_pass(f, r))
    return answer(sure, may, met)


def stands(f: KnownFacts, had: Sequence[int], entries: Sequence[int]) -> tuple[int, int] | None:
    """Whether a history begins with what these rows delivered: if not, the delivery and the entry in its place."""
    for place, row in enumerate(had):
        if place >= len(entries):
            return row, -1
        if f.txn[entries[place]] != f.txn[row]:
            return row, entries[place]
    return None


# --- passes ----------------------------------------------------------------------------------------


@dataclass
class Passes:
    """The deliveries and revisions of one process, and what lies between each and the one before.

    Attributes:
        rows: in order.
        between: for each row but the first, `CUT`, `ONE` or `MAY`.
        spans: of stretches between two rows whose passes are known and differ: the places of both, and how
            many passes at most end in between.
    """

    rows: list[int]
    between: list[str]
    spans: list[tuple[int, int, int]]


def passes_of(f: KnownFacts, p: int) -> Passes:
    rows = [r for r in f.columns.rows(numbers.ABDELIVER, numbers.REVISE) if f.of["process"][r] == p]
    label = [f.of["pass"][r] for r in rows]
    between = [MAY] * len(rows)
    for j in range(1, len(rows)):
        crashed = any(f.columns.crash[r] and f.of["process"][r] == p for r in range(rows[j - 1], rows[j]))
        if crashed:
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
    return Passes(rows, between, spans)


def in_pass(f: KnownFacts, row: int) -> list[list[int]]:
    """Everything that a process may have delivered in its pass when it replaced its history in this row."""
    of = passes_of(f, f.process(row))
    j = of.rows.index(row)
    out = []
    had: list[int] = []
    while True:
        if of.between[j] != ONE or j == 0:
            out.append(list(had))
        if of.between[j] == CUT or j == 0:
            return out
        j -= 1
        if f.columns.kinds[of.rows[j]] == numbers.ABDELIVER:
            had.insert(0, of.rows[j])


def divergence(f: KnownFacts) -> tuple[Rows | None, bool]:
    """A delivery by which the passes of a process surely do not agree, and whether some may not.

    Passes agree if each delivers a beginning of one sequence. So there is one way to cut a process's
    deliveries into passes that do: before each delivery of the first transaction.
    """
    sure: Rows | None = None
    may = False
    for p in f.delivered:
        of = passes_of(f, p)
        broken, perhaps = diverges(f, p, of)
        if broken is not None:
            sure = earliest(sure, broken)
        may |= perhaps
    return sure, may


def diverges(f: KnownFacts, p: int, of: Passes) -> tuple[Rows | None, bool]:
    """The same of one process."""
    order = f.order(p)
    index = {t: i for i, t in enumerate(order)}
    last, perhaps = -1, False  # the place of the delivery before, and whether another way to cut is possible
    between = ONE
    cuts = [0] * (len(of.rows) + 1)  # how many passes end before each row
    for j, r in enumerate(of.rows):
        between = joined(between, of.between[j]) if j else CUT
        cuts[j] = cuts[max(0, j - 1)]
        if f.columns.kinds[r] != numbers.ABDELIVER:
            continue
        place = index[f.txn[r]]
        fits = between != ONE if place == 0 else between != CUT and place == last + 1
        if last < 0:
            fits = True
        if not fits:
            at = 0 if between == CUT else last + 1
            known = [t for t in order if f.delivered[p][t] < r]
            earlier = f.delivered[p][known[at] if at < len(known) else f.txn[r]]
            return (r, earlier, r, -1, -1), True
        cuts[j] += place == 0 and last >= 0
        perhaps |= between == MAY and last >= 0
        last, between = place, ONE
    for i, j, most in of.spans:
        if all(f.columns.kinds[of.rows[x]] == numbers.ABDELIVER for x in range(i, j + 1)):
            if not 1 <= cuts[j] - cuts[i] <= most:
                r = of.rows[j]
                return (r, f.delivered[p][order[0]], r, -1, -1), True
        else:
            perhaps = True
    return None, perhaps


def joined(one: str, other: str) -> str:
    """What lies between two rows with one in between."""
    if CUT in {one, other}:
        return CUT
    return MAY if MAY in {one, other} else ONE
