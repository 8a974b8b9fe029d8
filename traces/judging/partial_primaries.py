"""The properties of primaries and what they broadcast, of a run that leaves something unknown.

Every broadcast counts, also where a transaction is broadcast again. Each relation of two broadcasts is
two matrices: where it is sure, and where it may be. Where a relation orders a transaction before
itself, and nothing breaks the property, the paper's premise (a transaction is broadcast once) is not reached.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from traces.judging.known_facts import Conclusion, KnownFacts, answer

__all__ = ["Primaries"]

FAR = 1 << 62
Matrix = Any  # of booleans: a row and a column for each broadcast
Both = tuple[Matrix, Matrix]  # where it is sure, and where it may be


class Primaries:
    """The broadcasts of a run, in order, and how they are related."""

    def __init__(self, f: KnownFacts) -> None:
        self.f = f
        self.row = np.array(f.abcasts, np.int64)
        self.txn = np.array([f.txn[r] for r in f.abcasts], np.int64)
        self.same_txn = self.txn[:, None] == self.txn[None, :]
        n = len(self.row)
        self.earlier = np.triu(np.ones((n, n), bool), 1)
        self.process, self.who = self.column("process")
        self.epoch, self.epoch_known = self.column("primary_epoch")
        self.attempt, self.attempt_known = self.column("attempt")

    def column(self, name: str) -> tuple[Any, Any]:
        """What the broadcasts say in a column, and whether they say it."""
        values = [self.f.of[name][r] for r in self.f.abcasts]
        return np.array([x or 0 for x in values], np.int64), np.array([x is not None for x in values], bool)

    @staticmethod
    def equal(values: Any, known: Any) -> Both:
        both = known[:, None] & known[None, :]
        same = values[:, None] == values[None, :]
        return both & same, same | ~both

    @cached_property
    def one_process(self) -> Both:
        return self.equal(self.process, self.who)

    @cached_property
    def one_instance(self) -> Both:
        """Broadcasts of one instance: epoch, process and attempt."""
        parts = [
            self.one_process,
            self.equal(self.epoch, self.epoch_known),
            self.equal(self.attempt, self.attempt_known),
        ]
        return np.logical_and.reduce([s for s, _ in parts]), np.logical_and.reduce([m for _, m in parts])

    @cached_property
    def follows(self) -> Both:
        """The one of an earlier instance's epoch than the other: no broadcast is so before itself."""
        both = self.epoch_known[:, None] & self.epoch_known[None, :]
        less = self.epoch[:, None] < self.epoch[None, :]
        return both & less, (less | ~both) & ~np.eye(len(self.row), dtype=bool)

    @cached_property
    def local(self) -> Both:
        """The one by the instance of the other, and before it."""
        sure, may = self.one_instance
        return sure & self.earlier, may & self.earlier

    @cached_property
    def known_to(self) -> Both:
        """What the one broadcasts, the primary of the other had delivered before it broadcast."""
        n = len(self.row)
        sure, may = np.zeros((n, n), bool), np.zeros((n, n), bool)
        anyone = np.array([self.f.first.get(int(t), FAR) for t in self.txn], np.int64)
        for b in range(n):
            if self.who[b]:
                own = self.f.delivered.get(int(self.process[b]), {})
                rows = np.array([own.get(int(t), FAR) for t in self.txn], np.int64)
                sure[:, b] = may[:, b] = rows < self.row[b]
            else:
                may[:, b] = anyone < self.row[b]
        return sure, may

    @cached_property
    def directly(self) -> Both:
        """PO precedence without anything in between."""
        return self.local[0] | self.known_to[0] & self.earlier, self.local[1] | self.known_to[1] & self.earlier

    @cached_property
    def firsts(self) -> dict[int, Any]:
        """Of each process the rows of its first deliveries of what is broadcast; FAR: none."""
        return {p: np.array([own.get(int(t), FAR) for t in self.txn], np.int64) for p, own in self.f.delivered.items()}

    # --- properties ------------------------------------------------------------------------------

    def judged(self, relation: Both, both_delivered: bool, met: object) -> Conclusion:
        """Who delivers the second of two broadcasts so related delivers the first, and before it.

        Args:
            both_delivered: only who delivers both.
            met: whether the premise is surely met.
        """
        sure, may = (m & ~self.same_txn for m in relation)
        worst: tuple[int, ...] | None = None
        perhaps = False
        itself = False
        for own in self.firsts.values():
            wrong = (own[None, :] < FAR) & (own[:, None] > own[None, :])
            if both_delivered:
                wrong &= (own < FAR)[:, None]
            perhaps |= bool((may & wrong).any())
            itself |= bool((relation[1] & self.same_txn & (own < FAR)).any())
            # without the first it is the delivery of the second that breaks it
            found = self.worst(sure & wrong, own, own[:, None] if both_delivered else own[None, :])
            if found is not None and (worst is None or found[0] < worst[0]):
                worst = found
        return answer(worst, perhaps, met and not itself)

    def worst(self, wrong: Matrix, own: Any, breaking: Any) -> tuple[int, ...] | None:
        """Of the pairs that are wrong at one process the first to be so: by which row; both broadcasts, and the
        deliveries of the second and the first.

        Args:
            own: the rows of the process's deliveries.
            breaking: those of the deliveries that break a pair.
        """
        if not wrong.any():
            return None
        row = np.maximum(self.row[:, None], self.row[None, :])
        by = np.where(wrong, np.maximum(row, breaking), FAR)
        a, b = np.unravel_index(int(by.argmin()), by.shape)
        late = int(own[a])
        return int(by[a, b]), int(self.row[a]), int(self.row[b]), int(own[b]), late if late < FAR else -1

    def second_delivered(self, relation: Both) -> bool:
        """Whether a process delivers the second of two broadcasts that are surely so related."""
        second = (relation[0] & ~self.same_txn).any(axis=0)
        return any(bool((second & (own < FAR)).any()) for own in self.firsts.values())

    def both_delivered(self, relation: Both) -> bool:
        """Whether a process delivers both of two broadcasts that are surely so related."""
        sure = relation[0] & ~self.same_txn
        return any(bool((sure & (own < FAR)[:, None] & (own < FAR)).any()) for own in self.firsts.values())

    def local_primary_order(self) -> Conclusion:
        return self.judged(self.local, False, self.second_delivered(self.local))

    def po_causal_order(self) -> Conclusion:
        return self.judged(self.directly, False, self.second_delivered(self.directly))

    def global_primary_order(self) -> Conclusion:
        found = self.judged(self.follows, True, self.both_delivered(self.follows))
        return self.in_words(found, lambda by, a, b, u, t: (by, u, t, a, -1))

    def causal_order(self) -> Conclusion:
        sure, may = (one & self.earlier for one in self.one_process)
        relation = (sure | self.follows[0], may | self.follows[1])
        found = self.judged(relation, True, self.both_delivered(relation))
        return self.in_words(found, lambda by, a, b, u, t: (by, u, t, a, -1))

    @staticmethod
    def in_words(found: Conclusion, rows: Any) -> Conclusion:
        """An answer with its rows in the order of the property's sentence."""
        return Conclusion(found.word, rows(*found.rows)) if found.rows else found

    def prefix(self) -> Conclusion:
        """At the end of no moment has a process delivered of an instance without what it broadcast before."""
        f = self.f
        worst: tuple[int, ...] | None = None
        perhaps = False
        itself = False
        for p, own in self.firsts.items():
            begin = np.maximum(self.row[None, :], own[None, :])
            wrong = self.local[1] & ~self.same_txn & (own[None, :] < FAR) & (own[:, None] > begin)
            itself |= bool((self.local[1] & self.same_txn & (own < FAR)).any())
            for a, b in np.argwhere(wrong).tolist():
                end = min(int(own[a]), len(f.columns.kinds))
                surely, may = f.ended(int(begin[0, b]), end)
                perhaps |= may
                if surely and self.local[0][a, b] and (worst is None or begin[0, b] < worst[0]):
                    by = int(begin[0, b])
                    worst = (by, int(self.row[a]), int(self.row[b]), f.delivered[p][int(self.txn[b])], -1)
        return answer(worst, perhaps, self.second_delivered(self.local) and not itself)

    def primary_integrity(self) -> Conclusion:
        """What anyone delivers of an earlier primary, a later one had delivered before it broadcast."""
        f = self.f
        anyone = np.array([f.first.get(int(t), FAR) for t in self.txn], np.int64)
        there = (anyone < FAR)[:, None]
        sure = self.follows[0] & there & ~self.known_to[1]
        may = self.follows[1] & there & ~self.known_to[0]
        worst: tuple[int, ...] | None = None
        if sure.any():
            by = np.maximum(np.maximum(self.row, anyone)[:, None], self.row[None, :])
            by = np.where(sure, by, FAR)
            a, b = np.unravel_index(int(by.argmin()), by.shape)
            own = f.delivered.get(int(self.process[b]), {}) if self.who[b] else {}
            later = own.get(int(self.txn[a]), -1)
            worst = (int(by[a, b]), int(self.row[a]), int(anyone[a]), int(self.row[b]), later)
        return answer(worst, may.any(), (self.follows[0] & there).any())

    def one_primary_an_epoch(self) -> Conclusion:
        """Broadcasts in one epoch are of one instance."""
        sure_epoch, may_epoch = self.equal(self.epoch, self.epoch_known)
        sure_same, may_same = (
            one & other
            for one, other in zip(self.one_process, self.equal(self.attempt, self.attempt_known), strict=True)
        )
        sure = sure_epoch & ~may_same & self.earlier
        worst = None
        if sure.any():
            a, b = min(np.argwhere(sure).tolist(), key=lambda pair: (pair[1], pair[0]))
            worst = (int(self.row[b]), int(self.row[a]), int(self.row[b]), -1, -1)
        return answer(worst, (may_epoch & ~sure_same & self.earlier).any(), len(self.row))

    def strict_causality(self) -> Conclusion:
        """Of two transactions that a process has delivered one PO-precedes the other, at the end of every moment:
        one that is broadcast again may come to do so later."""
        f = self.f
        sure, may = (self.chained(m) for m in self.directly)
        worst: tuple[int, ...] | None = None
        perhaps = False
        for own in f.delivered.values():
            some = [t for t in own if t in f.broadcast]
            for j, u in enumerate(some):
                for t in some[:j]:
                    at, bt = f.broadcast[t], f.broadcast[u]
                    begin = max(own[t], own[u], at, bt)
                    if sure[u].get(t, FAR) <= begin or sure[t].get(u, FAR) <= begin:
                        continue
                    perhaps |= f.ended(begin, self.related(sure, t, u))[1]
                    if (worst is None or begin < worst[0]) and f.ended(begin, self.related(may, t, u))[0]:
                        worst = (begin, own[t], own[u], at, bt)
        met = any(sum(t in f.broadcast for t in own) > 1 for own in f.delivered.values())
        return answer(worst, perhaps, met)

    def related(self, chained: dict[int, dict[int, int]], t: int, u: int) -> int:
        """The row by which one of two transactions PO-precedes the other, or that behind the last."""
        end = len(self.f.columns.kinds)
        return min(chained.get(t, {}).get(u, end), chained.get(u, {}).get(t, end))

    def chained(self, direct: Matrix) -> dict[int, dict[int, int]]:
        """Of each transaction those that PO-precede it through a chain of broadcasts, and by which row."""
        before: list[int] = []
        out: dict[int, dict[int, int]] = {int(t): {} for t in self.txn}
        for b in range(len(self.row)):
            mask = 0
            for a in np.flatnonzero(direct[:, b]).tolist():
                mask |= before[a] | 1 << a
            before.append(mask)
            for a in range(b):
                if mask >> a & 1:
                    out[int(self.txn[b])].setdefault(int(self.txn[a]), int(self.row[b]))
        return out

    def unique_zxid(self) -> Conclusion:
        """No two broadcasts have the same zxid."""
        f = self.f
        seen: dict[tuple[int | None, int | None], int] = {}
        worst: tuple[int, ...] | None = None
        for r in f.abcasts:
            first = seen.setdefault((f.of["epoch"][r], f.of["counter"][r]), r)
            if first != r and worst is None:
                worst = (r, first, r, -1, -1)
        epochs = [f.of["epoch"][r] for r in f.abcasts]
        return answer(worst, False, len(set(epochs)) < len(epochs))
