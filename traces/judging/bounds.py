"""Check a run with unknown values by the kernel, with masks over the ways of filling them in.

Which transactions the rows belong to is completed in every way, and so is the number of processes. A property is
violated if all of these ways violate it, held if none does, and open otherwise. For the other unknowns there are too
many ways. So the run is filled in a few times (a *view*), such that what one view violates every way violates, and what
no other view violates no way violates:

- fewer moments end, fewer proposals are accepted, fewer leaders are established, passes agree and unattributed abcasts
  are unrelated, as far as the rows allow; or as many as possible, and every two abcasts related that may be;
- a row is left out, or is there once for each value that it may have: every abcast counts, so that an abcast which is
  there twice is related to all that either is.

`docs/how-to/tables-and-spark.md` says which view decides what. Some ways are lost, so that a property is now and then
open though every way decides it; it is never the other way round."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.judging import numbers
from traces.judging.completions import Key, completions, united
from traces.judging.numbers import NULL
from traces.judging.passes import Passes, passes_of
from traces.judging.runs import BITS, BOUND, IN_KERNEL, KERNEL, Runs
from traces.judging.unknowns import BY_QUORUM

if TYPE_CHECKING:
    from traces.judging.runs import Batch

MOST_BROADCASTS = 512  # and rows: of a larger run what is affected is not decided
MOST_ROWS = 1 << 14
OF_TXN = ("epoch", "counter", "identity", "digest")
WITH_TXN = (numbers.ABCAST, numbers.ABDELIVER, numbers.ACCEPT, numbers.INITIAL, numbers.ENTRY)
INSTANCE = ("process", "primary_epoch", "attempt")
BELOW, ABOVE = -BOUND - (1 << 20), BOUND + (1 << 20)  # epochs and attempts that no row has, with room for one a row
UNTOLD = {numbers.ABCAST: INSTANCE, numbers.ACCEPT: ("primary_epoch",), numbers.ESTABLISH: ("primary_epoch",)}
ROWS_AT_ONCE = 1 << 14  # of runs, before they are filled in
NOT_REACHED = "premise not reached"

judged_partially = tuple(KERNEL)
PROPERTIES_OF_ANY = tuple(name for name in KERNEL if name not in BY_QUORUM)


@dataclass(frozen=True)
class Conclusion:
    """The verdict on a property.

    Attributes:
        word: one of `COUNTS`.
        rows: if it is violated, the row by which, and those that show it, filled up with -1.
    """

    word: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Filling:
    """The way in which a view fills in what rows leave unknown.

    Attributes:
        most: if true, as many moments end as may, and passes do not agree if they may; else as few, and they do.
        accepts, leaders: whether a proposal, or a leader, without an epoch counts in each epoch that it may have; if
            not, it is left out.
        abcasts: the treatment of an abcast of which something is unknown.
    """

    most: bool
    accepts: bool
    leaders: bool
    abcasts: Callable[[Partial, int], list[dict[str, int]]]


# Which view shows that a property is surely violated, and which that it may be.
LEAST, MOST, ABOVE_ALL, RELATED, CROSSED, SOMEONE = range(6)
SURE = {"delivered-is-chosen": CROSSED, "strict-causality": CROSSED, "primary-integrity": SOMEONE}
MAY: dict[str, tuple[int, ...]] = {
    "local-primary-order": (RELATED,), "prefix": (RELATED,), "po-causal-order": (RELATED,),
    "global-primary-order": (MOST, ABOVE_ALL), "primary-integrity": (MOST, ABOVE_ALL),
    "causal-order": (MOST, ABOVE_ALL, RELATED), "delivered-is-chosen": (ABOVE_ALL,),
}  # fmt: skip


def judge_partial(batch: Batch, place: int, names: Collection[str]) -> dict[str, Conclusion] | None:
    """Return the conclusions about some properties in a run of a batch that the kernel has accepted.

    Args:
        batch: the batch.
        place: the place of the run in the batch; rows of the answers are numbered in the batch.
        names: the properties, of `judged_partially`.

    Returns:
        The conclusions by name; None if the run is too large.
    """
    start, end = int(batch.starts[place]), int(batch.ends[place])
    kinds = batch.kind_of[batch.kinds[start:end]]
    if end - start > MOST_ROWS or np.count_nonzero(kinds == numbers.ABCAST) > MOST_BROADCASTS:
        return None
    columns = {name: values[start:end] for name, values in batch.columns.items()}
    crash = np.isin(batch.kinds[start:end], batch.crashes)
    if kinds[0] != numbers.BEGIN:  # a view says how many processes there are
        start -= 1
        kinds, crash = np.append(numbers.BEGIN, kinds), np.append(False, crash)
        columns = {name: np.append(NULL, values) for name, values in columns.items()}
    crashes = np.flatnonzero(crash).tolist()
    rows = np.flatnonzero(np.isin(kinds, WITH_TXN))
    used = [columns[c][rows] for c in OF_TXN if (columns[c][rows] != NULL).any()]
    keys: dict[int, Key] = {r: tuple(none_of(x) for x in key) for r, *key in zip(rows.tolist(), *used, strict=True)}
    ways = completions(keys)
    if ways is None:
        return None
    of = Rows(kinds, columns, crashes)
    out: dict[str, Conclusion] = {}
    for group, nodes in ((BY_QUORUM, numbers_of_processes(of)), (PROPERTIES_OF_ANY, [1])):
        asked = [n for n in names if n in group]
        if asked:
            every = list(judged(batch, [Partial(of, txn, n) for txn, n in product(ways, nodes)], asked))
            out |= {name: moved(one_of([answers[name] for answers in every]), start) for name in asked}
    return out


def none_of(value: Any) -> int | None:
    return None if value == NULL else int(value)


def one_of(answers: Sequence[Conclusion]) -> Conclusion:
    """Combine the conclusions of all completions."""
    words = {a.word for a in answers}
    if words == {"held", "premise not reached"}:
        return Conclusion("premise not reached")
    return answers[0] if len(words) == 1 else Conclusion("open")


def moved(found: Conclusion, start: int) -> Conclusion:
    """Return a conclusion with its rows numbered in the batch."""
    return Conclusion(found.word, tuple(r if r < 0 else r + start for r in found.rows))


class Rows:
    """The rows of a run, as far as they have values.

    Args:
        kinds: the kernel's code of each.
        columns: the columns of the table.
        crashes: the rows in which a process crashes or recovers.
    """

    def __init__(self, kinds: Any, columns: Mapping[str, Any], crashes: Sequence[int]) -> None:
        self.kinds, self.columns, self.crashes = kinds, columns, crashes
        self.count = len(kinds)
        self.of_kind = {kind: np.flatnonzero(kinds == kind).tolist() for kind in range(numbers.BEGIN + 1)}
        self.untold = {
            kind: any((columns[c][self.of_kind[kind]] == NULL).any() for c in names) for kind, names in UNTOLD.items()
        }
        self.moments = (self.ends(most=False), self.ends(most=True))

    @cached_property
    def times(self) -> tuple[Any, Any]:
        """Return the earliest and latest possible time of each row; without times a run is one moment."""
        time, n = self.columns["time"], self.count
        known = time != NULL
        if not (known & (self.kinds != numbers.BEGIN)).any():
            return np.zeros(n, np.int64), np.zeros(n, np.int64)
        at = np.maximum.accumulate(np.where(known, np.arange(n), -1))
        least = np.where(at >= 0, time[at], NULL)
        at = np.minimum.accumulate(np.where(known, np.arange(n), n)[::-1])[::-1]
        return least, np.where(at < n, time[np.minimum(at, n - 1)], numbers.NEVER)

    @cached_property
    def of_history(self) -> Any:
        """Return the rows by which moments end."""
        return np.flatnonzero((self.kinds != numbers.OTHER) & (self.kinds != numbers.BEGIN))

    def ends(self, most: bool) -> Any:
        """Return how many moments end before each row: certainly, or at most."""
        least, greatest = self.times
        out = np.zeros(self.count, np.int64)
        here, after = self.of_history[:-1], self.of_history[1:]
        out[here + 1] = greatest[after] > least[here] if most else least[after] > greatest[here]
        return np.cumsum(out)


def numbers_of_processes(of: Rows) -> list[int]:
    """Return the possible numbers of processes, as far as they matter for quorums."""
    if of.columns["index"][0] != NULL:
        return [int(of.columns["index"][0])]
    accepting = of.columns["process"][of.of_kind[numbers.ACCEPT]]
    return list(range(1, 2 * int(accepting.max()) + 3)) if len(accepting) else [1]


def judged(batch: Batch, ways: Sequence[Partial], names: Collection[str]) -> Iterator[dict[str, Conclusion]]:
    """Yield the conclusions about properties for each of some ways of filling a run in."""
    at_once = max(1, ROWS_AT_ONCE // ways[0].of.count)
    for begin in range(0, len(ways), at_once):
        some = [(way, *way.views(names)) for way in ways[begin : begin + at_once]]
        sources = [source for _, _, views in some for source, _ in views]
        columns = {
            c: np.concatenate([made[c] for _, _, views in some for _, made in views]) for c in IN_KERNEL if c != "run"
        }
        columns["run"] = np.repeat(np.arange(len(sources)), [len(source) for source in sources])
        kinds = ways[0].of.kinds[np.concatenate(sources)].astype(np.int32)
        runs = Runs(columns, kinds, np.arange(numbers.BEGIN + 1), "the run", batch.filled)
        batch.filled = runs
        masks = np.concatenate([found for _, found in runs.judged()])
        done = 0
        for way, places, views in some:
            show = partial(shown, runs, sources, done) if way is ways[0] else not_shown
            yield way.concluded(names, places, masks[done : done + len(views)], show)
            done += len(views)


def shown(runs: Runs, sources: Sequence[Any], done: int, view: int, name: str) -> tuple[int, ...]:
    """Return the rows by which a view of a run violates a property.

    Args:
        runs: the checked views.
        sources: for each view the row that each of its rows was made of.
        done: the number of views of earlier ways.
        view: the place of the view.
        name: the property.
    """
    begin, of = int(runs.starts[done + view]), sources[done + view]
    by, *found = (r if r < 0 else int(of[r - begin]) for r in runs.witness(done + view)[name])
    return by, *dict.fromkeys(found)  # two rows of a view may be one


def not_shown(view: int, name: str) -> tuple[int, ...]:
    """Return no rows, since those of the first way are shown."""
    return ()


class Partial:
    """A run, with the transaction of each row and the number of processes.

    Args:
        of: its rows.
        txn: a number for each row with a transaction.
        nodes: how many processes there are.
    """

    def __init__(self, of: Rows, txn: Mapping[int, int], nodes: int) -> None:
        self.of, self.txn = of, txn
        rows, known = list(txn), of.columns
        self.columns = dict(known)
        for name, value in (("identity", list(txn.values())), ("digest", 0)):
            self.columns[name] = np.array(known[name])
            self.columns[name][rows] = value
        self.columns["position"] = np.full(of.count, NULL)  # the kernel has seen that they grow
        self.columns["index"] = np.append(nodes, known["index"][1:])
        self.abcasts, self.deliveries = of.of_kind[numbers.ABCAST], of.of_kind[numbers.ABDELIVER]
        self.relations: dict[Key, list[dict[str, int]]] = {}  # of what an abcast says of its instance, all it may be
        self.deliverers = sorted({int(known["process"][r]) for r in self.deliveries})

    def known(self, column: str, rows: Sequence[int]) -> list[int]:
        """Return the distinct values that some rows have in a column, sorted."""
        return sorted({int(x) for x in self.columns[column][list(rows)] if x != NULL})

    # --- passes ----------------------------------------------------------------------------------

    @cached_property
    def passes(self) -> dict[int, Passes]:
        """Return the passes of each process."""
        out = {}
        process = self.columns["process"]
        every = sorted(self.deliveries + self.of.of_kind[numbers.REVISE])
        for p in sorted({int(process[r]) for r in every}):
            rows = [r for r in every if process[r] == p]
            label = [none_of(self.columns["pass"][r]) for r in rows]
            out[p] = passes_of(
                rows, label, [self.txn.get(r, -1) for r in rows], [r for r in self.of.crashes if process[r] == p]
            )
        return out

    # --- views -----------------------------------------------------------------------------------

    def fill(self, filling: Filling) -> tuple[Any, dict[str, Any]]:
        """Return a view: the row that each of its rows was made of, and the columns."""
        base = dict(self.columns)
        base["time"] = self.of.moments[filling.most]
        base["pass"] = np.array(base["pass"])
        for of in self.passes.values():
            base["pass"][of.rows] = np.cumsum(of.cuts(filling.most))
        made = dict(self.accepted(filling.accepts)) | self.established(filling.leaders)
        for r in self.abcasts:
            if any(self.columns[c][r] == NULL for c in INSTANCE):
                made[r] = [(r, values) for values in filling.abcasts(self, r)]
        if filling.abcasts is someone:
            made |= self.redelivered()
        source, columns = edited(base, made)
        columns["time"] = np.maximum.accumulate(columns["time"])  # a history that is there twice begins once more
        return source, columns

    def accepted(self, copied: bool) -> dict[int, list[tuple[int, dict[str, int]]]]:
        """Return the acceptances of proposals without an epoch.

        There is one copy per known epoch of its transaction, and one before all; if not `copied`, there is none.
        """
        out: dict[int, list[tuple[int, dict[str, int]]]] = {}
        accepts = self.of.of_kind[numbers.ACCEPT]
        for r in accepts:
            if self.columns["primary_epoch"][r] == NULL:
                epochs = self.known("primary_epoch", [x for x in accepts if self.txn[x] == self.txn[r]])
                out[r] = [(r, {"primary_epoch": e}) for e in (*epochs, BELOW)] if copied else []
        return out

    def established(self, copied: bool) -> dict[int, list[tuple[int, dict[str, int]]]]:
        """Return the leaders without an epoch, with their initial histories.

        There is one copy in the last known epoch, and one after all; if not `copied`, there is none.
        """
        out: dict[int, list[tuple[int, dict[str, int]]]] = {}
        leaders = self.of.of_kind[numbers.ESTABLISH]
        for r in leaders:
            if self.columns["primary_epoch"][r] == NULL:
                end = r + 1
                while end < len(self.of.kinds) and self.of.kinds[end] == numbers.INITIAL:
                    end += 1
                epochs = (*self.known("primary_epoch", leaders)[-1:], ABOVE) if copied else ()
                out |= {x: [] for x in range(r, end)}
                out[r] = [(x, {"primary_epoch": e}) for e in epochs for x in range(r, end)]
        return out

    def redelivered(self) -> dict[int, list[tuple[int, dict[str, int]]]]:
        """Return every first delivery, and one more delivery by a process that delivers everything."""
        first: dict[int, int] = {}
        for r in self.deliveries:
            first.setdefault(self.txn[r], r)
        return {r: [(r, {}), (r, {"process": self.nobody, "pass": 0})] for r in first.values()}

    @cached_property
    def nobody(self) -> int:
        """Return the number of a process that no row mentions."""
        return max(0, int(self.columns["process"].max(initial=0))) + 1

    @cached_property
    def instances(self) -> list[Key]:
        """Return the known values of the abcasting instances, and of every two of them united."""
        known = {self.instance(r) for r in self.abcasts}
        return sorted({both for a in known for b in known if (both := united(a, b)) is not None}, key=str)

    def instance(self, row: int) -> Key:
        return tuple(none_of(self.columns[c][row]) for c in INSTANCE)

    @cached_property
    def itself(self) -> set[str]:
        """Return the properties for whose relation some delivered transaction may precede itself."""
        out: set[str] = set()
        if len({self.txn[r] for r in self.abcasts}) == len(self.abcasts):
            return out
        delivered = {self.txn[r] for r in self.deliveries}
        for k, b in enumerate(self.abcasts):
            p, epoch, _ = self.instance(b)
            for a in self.abcasts[:k]:
                if self.txn[a] != self.txn[b] or self.txn[b] not in delivered:
                    continue
                own = (r for r in self.deliveries[: bisect(self.deliveries, b)] if self.txn[r] == self.txn[b])
                if united(self.instance(a), self.instance(b)) is not None:
                    out |= {"local-primary-order", "prefix", "po-causal-order"}
                if any(p is None or self.columns["process"][r] == p for r in own):
                    out.add("po-causal-order")
                if epoch is None or self.instance(a)[1] != epoch:
                    out |= {"global-primary-order", "causal-order"}
                if p is None or self.instance(a)[0] in (None, p):
                    out.add("causal-order")
        return out

    @cached_property
    def lags_surely(self) -> bool:
        """Return whether some moment must end while a process that delivers lacks what another has delivered.

        No view says so: that one of two moments ends before a row of unknown time, or behind it, is certain, and of
        neither end it is.
        """
        least, greatest = self.of.times
        delivered: dict[int, set[int]] = {}
        first = -1  # the row of those before this one that are all of its moment, if no moment may end in a lag
        for r in self.of.of_history.tolist():
            first = r if first < 0 else first
            if least[r] > greatest[first]:
                return True
            if self.of.kinds[r] == numbers.ABDELIVER:
                delivered.setdefault(int(self.columns["process"][r]), set()).add(self.txn[r])
            if len({frozenset(own) for own in delivered.values()}) <= 1:
                first = -1
        return first >= 0  # the last moment ends with the run

    # --- checking --------------------------------------------------------------------------------

    def views(self, names: Collection[str]) -> tuple[dict[int, list[int]], list[tuple[Any, dict[str, Any]]]]:
        """Return the views by which properties are checked, and the places of each kind of view among them."""
        wanted = {v for n in names for v in (LEAST, SURE.get(n, LEAST), *MAY.get(n, (MOST,)))}
        places: dict[int, list[int]] = {view: [] for view in wanted}
        different: dict[Filling, int] = {}
        for view, filling in self.fillings():
            if view in wanted:
                places[view].append(different.setdefault(self.needed(filling), len(different)))
        return places, [self.fill(filling) for filling in different]

    def needed(self, filling: Filling) -> Filling:
        """Return a filling without its choices about rows that leave nothing unknown."""
        untold = self.of.untold
        return replace(
            filling,
            accepts=filling.accepts and untold[numbers.ACCEPT],
            leaders=filling.leaders and untold[numbers.ESTABLISH],
            abcasts=filling.abcasts if untold[numbers.ABCAST] else apart,
        )

    def concluded(
        self,
        names: Collection[str],
        places: Mapping[int, Sequence[int]],
        masks: Any,
        rows: Callable[[int, str], tuple[int, ...]],
    ) -> dict[str, Conclusion]:
        """Return the conclusions about properties.

        Args:
            names: the properties.
            places: the places of the views by kind.
            masks: the kernel's result for each view.
            rows: returns the rows by which a view violates a property.
        """
        out = {}
        for name in names:
            if name in DIRECTLY:
                out[name] = DIRECTLY[name](self)
                continue
            sure, may = places[SURE.get(name, LEAST)], [k for v in MAY.get(name, (MOST,)) for k in places[v]]
            broken, met = masks[:, 1] >> BITS[name] & 1, masks[:, 2] >> BITS[name] & 1
            many = name == "strict-causality" and (masks[may, 3] >> numbers.G_MANY & 1).any()
            if sure and broken[sure].all():
                out[name] = Conclusion("violated", rows(sure[0], name))
            elif broken[may].any() or many:
                out[name] = Conclusion("open")
            else:
                reached = met[places[LEAST]].all() or (name == "agreement" and self.lags_surely)
                reached = reached and name not in self.itself
                out[name] = Conclusion("held" if reached else NOT_REACHED)
        return out

    def fillings(self) -> list[tuple[int, Filling]]:
        """Return the fillings, each with the kind of its view."""
        out = [
            (LEAST, Filling(False, False, False, apart)),
            (MOST, Filling(True, True, True, below)),
            (ABOVE_ALL, Filling(True, False, True, above)),
            (RELATED, Filling(True, False, False, related)),
            (CROSSED, Filling(False, True, False, related)),
        ]
        if self.nobody < numbers.MOST:
            out.append((SOMEONE, Filling(False, False, False, someone)))
        return out

    def one_primary_an_epoch(self) -> Conclusion:
        """Check that abcasts in one epoch are of one instance; a violation shows two whose instances differ."""
        sure: tuple[int, ...] = ()
        may = False
        for k, b in enumerate(self.abcasts):
            p, epoch, attempt = self.instance(b)
            for a in self.abcasts[:k]:
                q, other, before = self.instance(a)
                if epoch is not None and epoch == other and united((p, attempt), (q, before)) is None:
                    sure = sure or (b, a, b, -1, -1)
                same = None not in (p, attempt) and (p, attempt) == (q, before)
                may |= not same and (epoch is None or other in (None, epoch))
        met = bool(self.abcasts)
        return Conclusion("violated", sure) if sure else Conclusion("open" if may else "held" if met else NOT_REACHED)

    def delivered_stands(self) -> Conclusion:
        """Check that a history that replaces another begins with what was delivered in the current pass."""
        sure: tuple[int, ...] = ()
        may = met = False
        for r in self.of.of_kind[numbers.REVISE]:
            end = r + 1
            while end < len(self.of.kinds) and self.of.kinds[end] == numbers.ENTRY:
                end += 1
            ways = self.passes[int(self.columns["process"][r])].had(r)
            found = [self.stands(had, range(r + 1, end)) for had in ways]
            if all(found) and not sure:
                sure = (r, r, *found[0], -1)
            may |= any(found)
            met |= all(ways)
        return Conclusion("violated", sure) if sure else Conclusion("open" if may else "held" if met else NOT_REACHED)

    def stands(self, had: Sequence[int], entries: Sequence[int]) -> tuple[int, ...]:
        """Return no rows if a history begins with what was delivered, else the delivery and the entry in its place."""
        for place, row in enumerate(had):
            if place >= len(entries):
                return row, -1
            if self.txn[entries[place]] != self.txn[row]:
                return row, entries[place]
        return ()


def edited(base: Mapping[str, Any], made: Mapping[int, list[tuple[int, dict[str, int]]]]) -> tuple[Any, dict[str, Any]]:
    """Replace some rows by edited copies; return the original row of each row, and the columns."""
    source: list[Any] = []
    values: list[tuple[int, dict[str, int]]] = []
    done = count = 0
    for r in sorted(made):
        source += [np.arange(done, r), np.array([x for x, _ in made[r]], np.int64)]
        count += r - done
        values += [(count + k, of) for k, (_, of) in enumerate(made[r])]
        count, done = count + len(made[r]), r + 1
    rows = np.concatenate([*source, np.arange(done, len(base["run"]))])
    columns = {name: column[rows] for name, column in base.items()}
    for row, of in values:
        for name, value in of.items():
            columns[name][row] = value
    return rows, columns


# --- what is done with an abcast of which something is unknown ---------------------------------------


def apart(run: Partial, row: int) -> list[dict[str, int]]:
    """Fill in an instance different from all others, so that the unknowns relate it to nothing."""
    return [{"attempt": BELOW - row}]


def below(run: Partial, row: int) -> list[dict[str, int]]:
    """Fill in an epoch before all known ones, and after the unknown ones before it."""
    return [{"attempt": BELOW - row, **unless_known(run, row, BELOW + row)}]


def above(run: Partial, row: int) -> list[dict[str, int]]:
    """Fill in an epoch after all known ones, and before the unknown ones before it."""
    return [{"attempt": BELOW - row, **unless_known(run, row, ABOVE - row)}]


def unless_known(run: Partial, row: int, epoch: int) -> dict[str, int]:
    return {"primary_epoch": epoch} if run.columns["primary_epoch"][row] == NULL else {}


def related(run: Partial, row: int) -> list[dict[str, int]]:
    """Fill in every process that delivers, and every possible instance."""
    own = run.instance(row)
    if own not in run.relations:
        every = {x for x in run.instances if united(own, x) == x}
        every |= {(p, *own[1:]) for p in run.deliverers if own[0] is None}
        run.relations[own] = [
            {c: NULL if x is None else x for c, x in zip(INSTANCE, instance, strict=True)}
            for instance in sorted(every, key=str)
        ]
    return run.relations[own]


def someone(run: Partial, row: int) -> list[dict[str, int]]:
    """Fill in a process that had delivered whatever any process had."""
    return [{"process": run.nobody} if run.columns["process"][row] == NULL else {}]


# What is compared row by row: the view that breaks it would show rows of which that is not known.
DIRECTLY: dict[str, Callable[[Partial], Conclusion]] = {
    "one-primary-an-epoch": Partial.one_primary_an_epoch,
    "delivered-stands": Partial.delivered_stands,
}
