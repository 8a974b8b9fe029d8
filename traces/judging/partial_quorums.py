"""The properties of leaders and quorums, of a run that leaves something unknown."""

from __future__ import annotations

from dataclasses import dataclass, field

from traces.judging import numbers
from traces.judging.known_facts import Conclusion, KnownFacts, answer

__all__ = ["chosen_in_later_histories", "delivered_is_chosen", "one_leader_an_epoch"]

FAR = 1 << 62


def one_leader_an_epoch(f: KnownFacts) -> Conclusion:
    """No two leaders are established in one epoch."""
    rows = f.columns.rows(numbers.ESTABLISH)
    first: dict[int, int] = {}
    sure: tuple[int, ...] | None = None
    for r in rows:
        e = f.of["primary_epoch"][r]
        if e is not None and first.setdefault(e, r) != r and sure is None:
            sure = (r, first[e], r, -1, -1)
    unknown = any(f.of["primary_epoch"][r] is None for r in rows)
    return answer(sure, unknown and len(rows) > 1, len(first) > 1)


@dataclass
class Accepted:
    """Who accepted a transaction, and by which row a quorum had.

    Attributes:
        surely: of each epoch the row by which a quorum surely had.
        perhaps: of each epoch that is said the row by which one may have.
        anywhere: the row by which a quorum may have in any epoch; FAR: none.
    """

    surely: dict[int, int] = field(default_factory=dict)
    perhaps: dict[int, int] = field(default_factory=dict)
    anywhere: int = FAR

    @property
    def first(self) -> tuple[int, int]:
        """The row by which it was surely chosen, and the row by which it may have been."""
        return min(self.surely.values(), default=FAR), min([*self.perhaps.values(), self.anywhere])

    def before(self, epoch: int) -> tuple[int, bool]:
        """The row by which it was surely chosen in an epoch before this one, and whether it may have been."""
        sure = min((r for e, r in self.surely.items() if e < epoch), default=FAR)
        return sure, self.anywhere < FAR or any(e < epoch for e in self.perhaps)


def accepted(f: KnownFacts) -> dict[int, Accepted]:
    """Of each transaction what its acceptances come to. What is none of the run's processes is in no quorum."""
    out: dict[int, Accepted] = {}
    known: dict[int, dict[int, set[int]]] = {}
    unknown: dict[int, set[int]] = {}
    for r in f.columns.rows(numbers.ACCEPT):
        p, t, e = f.process(r), f.txn[r], f.of["primary_epoch"][r]
        if f.nodes is not None and p >= f.nodes:
            continue
        made = out.setdefault(t, Accepted())
        of, loose = known.setdefault(t, {}), unknown.setdefault(t, set())
        if e is None:
            loose.add(p)
        else:
            of.setdefault(e, set()).add(p)
            if quorum(f, of[e], surely=True):
                made.surely.setdefault(e, r)
        for epoch, who in of.items():
            if quorum(f, who | loose):
                made.perhaps.setdefault(epoch, r)
        if quorum(f, loose):
            made.anywhere = min(made.anywhere, r)
    return out


def quorum(f: KnownFacts, who: set[int], surely: bool = False) -> bool:
    """Whether these are a quorum; where it is not said of how many, none surely is, and one may be that is
    of some number."""
    if f.nodes is None:
        return not surely and any(2 * sum(p < n for p in who) > n for n in range(1, max(who, default=0) + 2))
    return 2 * len(who) > f.nodes


def delivered_is_chosen(f: KnownFacts) -> Conclusion:
    """What is delivered was chosen at the end of the moment, if it was abcast by then."""
    found = accepted(f)
    sure: tuple[int, ...] | None = None
    may = False
    for t, row in f.first.items():
        by = f.broadcast.get(t)
        if by is None:
            continue
        surely, perhaps = found[t].first if t in found else (FAR, FAR)
        begin, end = max(row, by), len(f.columns.kinds)
        may |= f.ended(begin, min(surely, end))[1]
        if f.ended(begin, min(perhaps, end))[0] and (sure is None or begin < sure[0]):
            sure = (begin, row, surely if surely < FAR else -1, -1, -1)
    return answer(sure, may, any(t in f.broadcast for t in f.first))


def chosen_in_later_histories(f: KnownFacts) -> Conclusion:
    """What was chosen in an epoch is in the initial history of every later one that is established."""
    found = accepted(f)
    kinds = f.columns.kinds
    sure: tuple[int, ...] | None = None
    may = met = False
    for r in f.columns.rows(numbers.ESTABLISH):
        epoch = f.of["primary_epoch"][r]
        initial = set()
        at = r + 1
        while at < len(kinds) and kinds[at] == numbers.INITIAL:
            initial.add(f.txn[at])
            at += 1
        for t, made in found.items():
            if epoch is None:
                surely, perhaps = FAR, made.first[1] < FAR
            else:
                surely, perhaps = made.before(epoch)
            met |= surely < FAR
            if t not in initial:
                may |= perhaps
                by = max(r, surely)
                if surely < FAR and (sure is None or by < sure[0]):
                    sure = (by, surely, r, f.broadcast.get(t, -1), -1)
    return answer(sure, may, met)
