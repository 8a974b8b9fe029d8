"""The naive judge: the papers' properties written straight from their definitions.

A run is a list of rows, a row a dictionary of columns. A property is its sentence over the events, every
pair of them looked at. What a row leaves unknown is completed in every way: a property is violated if it
is in every completion, held if it is in every one, and open else. Nothing here is shared with the product, and
nothing may be clever.

`zabcheck judge` compares some runs with it. `tests/judging/test_judge_definitions.py` compares random tables,
`tests/histories.py` gives it complete histories, and `tests/protocols/test_history_abstraction.py` compares the ghosts
and `invariants/` with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any

Row = dict[str, Any]
HISTORY = ("abcast", "abdeliver", "accept", "establish", "initial", "revise", "entry")
READ = (*HISTORY, "run", "crash", "recover")  # the kinds of row that are read
OF_TXN = ("epoch", "counter", "identity", "digest")
WITH_TXN = ("abcast", "abdeliver", "accept", "initial", "entry")


class Story:
    """The events of a run, or of its beginning."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[str], nodes: int) -> None:
        self.rows = list(enumerate(rows))
        self.columns, self.nodes = columns, nodes
        self.abcasts = [(i, r) for i, r in self.rows if r["kind"] == "abcast"]
        self.deliveries = [(i, r) for i, r in self.rows if r["kind"] == "abdeliver"]

    def txn(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[c] for c in self.columns)

    @cached_property
    def delta(self) -> dict[int, list[Any]]:
        """What each process delivered, each transaction once."""
        out: dict[int, list[Any]] = {}
        for _, r in self.deliveries:
            own = out.setdefault(r["process"], [])
            if self.txn(r) not in own:
                own.append(self.txn(r))
        return out

    def delivered(self, p: int, t: Any, before: int) -> bool:
        return any(i < before and r["process"] == p and self.txn(r) == t for i, r in self.deliveries)

    @cached_property
    def passes(self) -> list[list[list[Any]]]:
        out: dict[int, dict[int, list[Any]]] = {}
        for _, r in self.deliveries:
            out.setdefault(r["process"], {}).setdefault(r["pass"], []).append(self.txn(r))
        return [list(of.values()) for of in out.values()]

    @cached_property
    def agree(self) -> bool:
        """Of two passes of a process one begins the other, and none has a transaction twice."""
        for passes in self.passes:
            if any(len(set(one)) < len(one) for one in passes):
                return False
            for one, other in combinations(passes, 2):
                n = min(len(one), len(other))
                if one[:n] != other[:n]:
                    return False
        return True

    def pairs(self, related: Callable[[int, Row, int, Row], bool]) -> list[tuple[Any, Any]]:
        """The transactions of every two broadcasts that are so related."""
        return [
            (self.txn(a), self.txn(b))
            for i, a in self.abcasts
            for j, b in self.abcasts
            if i != j and related(i, a, j, b)
        ]

    @cached_property
    def local(self) -> list[tuple[Any, Any]]:
        return self.pairs(lambda i, a, j, b: i < j and instance(a) == instance(b))

    @cached_property
    def direct(self) -> list[tuple[int, int]]:
        """Broadcasts of which the one PO-precedes the other directly, by their rows."""
        return [
            (i, j)
            for i, a in self.abcasts
            for j, b in self.abcasts
            if i < j and (instance(a) == instance(b) or self.delivered(b["process"], self.txn(a), j))
        ]

    @cached_property
    def causes(self) -> list[tuple[Any, Any]]:
        """PO precedence of transactions: of some broadcast of the one and some of the other."""
        pairs = set(self.direct)
        while True:
            longer = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
            if not longer:
                break
            pairs |= longer
        at = dict(self.abcasts)
        return [(self.txn(at[i]), self.txn(at[j])) for i, j in pairs]

    @cached_property
    def happened_before(self) -> list[tuple[Any, Any]]:
        """Definition III.1: broadcasts of which the one happens before the other, the events being broadcasts and
        deliveries: events of a process are in its order, and a broadcast comes before each delivery of what it is
        of."""
        events = [(i, r) for i, r in self.rows if r["kind"] in ("abcast", "abdeliver")]
        pairs = {(i, j) for i, a in events for j, b in events if i < j and a["process"] == b["process"]}
        pairs |= {(i, j) for i, a in self.abcasts for j, b in self.deliveries if self.txn(a) == self.txn(b)}
        for k, _ in events:
            into, out = [i for i, j in pairs if j == k], [j for i, j in pairs if i == k]
            pairs |= {(i, j) for i in into for j in out}
        at = dict(self.abcasts)
        return [(self.txn(at[i]), self.txn(at[j])) for i, j in pairs if i in at and j in at]

    @cached_property
    def global_pairs(self) -> list[tuple[Any, Any]]:
        return self.pairs(lambda i, a, j, b: a["primary_epoch"] < b["primary_epoch"])

    @cached_property
    def servers(self) -> list[tuple[Any, Any]]:
        """Causal precedence of LADIS'08."""
        return self.global_pairs + self.pairs(lambda i, a, j, b: i < j and a["process"] == b["process"])

    def must(self, pairs: Sequence[tuple[Any, Any]], both: bool = False) -> bool:
        """Who delivers the second delivers the first, and before it; `both`: only if it delivers both."""
        for t, u in pairs:
            for own in self.delta.values():
                if t != u and u in own and (t in own or not both) and t not in own[: own.index(u)]:
                    return False
        return True

    def second(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        return any(t != u and u in own for t, u in pairs for own in self.delta.values())

    def itself(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        """Whether something delivered is ordered before itself: the paper has transactions broadcast once."""
        return any(t == u and u in own for t, u in pairs for own in self.delta.values())

    def both(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        """Whether somebody delivers both transactions of a pair."""
        return any(t != u and t in own and u in own for t, u in pairs for own in self.delta.values())

    def accepted(self) -> dict[tuple[int, Any], set[int]]:
        """Of each proposal which processes of the run accepted it."""
        out: dict[tuple[int, Any], set[int]] = {}
        for _, r in self.rows:
            if r["kind"] == "accept" and 0 <= r["process"] < self.nodes:
                out.setdefault((r["primary_epoch"], self.txn(r)), set()).add(r["process"])
        return out

    @cached_property
    def chosen(self) -> set[tuple[int, Any]]:
        """Definition VI.2: (e, t) if each follower of some quorum accepted <e, t>."""
        return {key for key, who in self.accepted().items() if len(who) > self.nodes / 2}

    @cached_property
    def leaders(self) -> list[tuple[int, list[Any]]]:
        """The epochs of leaders, and their initial histories."""
        return [(r["primary_epoch"], self.behind(i, "initial")) for i, r in self.rows if r["kind"] == "establish"]

    def behind(self, i: int, kind: str) -> list[Any]:
        out = []
        for _, r in self.rows[i + 1 :]:
            if r["kind"] != kind:
                break
            out.append(self.txn(r))
        return out


def instance(row: Row) -> tuple[int, int, int]:
    return row["primary_epoch"], row["process"], row["attempt"]


# --- the properties: whether one holds, and whether its premise is reached ---------------------------


def integrity(s: Story) -> tuple[bool, bool]:
    """If some process delivers <v, z>, then some process has broadcast <v, z>."""
    sent = {s.txn(a) for _, a in s.abcasts}
    return all(s.txn(d) in sent for _, d in s.deliveries), bool(s.deliveries)


def total_order(s: Story) -> tuple[bool, bool]:
    """If some process delivers t before u, then any process that delivers u must also deliver t, and t before u."""
    pairs = [pair for own in s.delta.values() for pair in combinations(own, 2)]
    some = any(
        p != q and len(own) > 1 and own[1] in other for p, own in s.delta.items() for q, other in s.delta.items()
    )
    return s.agree and s.must(pairs), some


def agreement(s: Story) -> tuple[bool, bool]:
    """If p_i delivers t and p_j delivers u, then either p_i delivers u or p_j delivers t."""
    same = all(u in one or t in other for one, other in combinations(s.delta.values(), 2) for t in one for u in other)
    lag = any(p != q and set(other) - set(own) for p, own in s.delta.items() for q, other in s.delta.items())
    return s.agree and same, lag


def local_primary_order(s: Story) -> tuple[bool, bool]:
    """If a primary broadcasts t before u, then a process that delivers u must also deliver t, before u."""
    return s.must(s.local), s.second(s.local) and not s.itself(s.local)


def global_primary_order(s: Story) -> tuple[bool, bool]:
    """If rho_i broadcasts t, rho_j broadcasts u, rho_i precedes rho_j, and a process delivers both, it must deliver t
    before u."""
    return s.must(s.global_pairs, both=True), s.both(s.global_pairs) and not s.itself(s.global_pairs)


def primary_integrity(s: Story) -> tuple[bool, bool]:
    """If rho_e broadcasts u and some process delivers t that rho_e', e' < e, has broadcast, then rho_e must deliver t
    before it broadcasts u."""
    anyone = {t for own in s.delta.values() for t in own}
    holds = all(
        s.delivered(b["process"], s.txn(a), j)
        for _, a in s.abcasts
        for j, b in s.abcasts
        if a["primary_epoch"] < b["primary_epoch"] and s.txn(a) in anyone
    )
    return holds, any(t in anyone for t, _ in s.global_pairs)


def po_causal_order(s: Story) -> tuple[bool, bool]:
    """If t PO-precedes u and a process delivers u, it must also deliver t, before u."""
    at = dict(s.abcasts)
    near = [(s.txn(at[i]), s.txn(at[j])) for i, j in s.direct]
    return s.must(s.causes), s.second(near) and not s.itself(near)


def strict_causality(s: Story) -> tuple[bool, bool]:
    """If some process delivers t and u, then t PO-precedes u or u PO-precedes t."""
    sent, pairs = {s.txn(a) for _, a in s.abcasts}, set(s.causes)
    holds = all(
        (t, u) in pairs or (u, t) in pairs
        for own in s.delta.values()
        for t, u in combinations([t for t in own if t in sent], 2)
    )
    return holds, any(len([t for t in own if t in sent]) > 1 for own in s.delta.values())


def prefix(s: Story) -> tuple[bool, bool]:
    """LADIS'08: if m is the last message delivered for a leader L, any message proposed before m by L must also be
    delivered."""
    holds = all(t in own for t, u in s.local for own in s.delta.values() if u in own)
    return holds, s.second(s.local) and not s.itself(s.local)


def causal_order(s: Story) -> tuple[bool, bool]:
    """LADIS'08: if a causally precedes b and both are delivered, a must be ordered before b."""
    return s.must(s.servers, both=True), s.both(s.servers) and not s.itself(s.servers)


def one_primary_an_epoch(s: Story) -> tuple[bool, bool]:
    """The value of e is unique for different primary instances."""
    instances = {instance(a) for _, a in s.abcasts}
    return len({e for e, *_ in instances}) == len(instances), bool(instances)


def one_leader_an_epoch(s: Story) -> tuple[bool, bool]:
    """No two become established leaders for the same epoch."""
    epochs = [e for e, _ in s.leaders]
    return len(set(epochs)) == len(epochs), len(set(epochs)) > 1


def chosen_in_later_histories(s: Story) -> tuple[bool, bool]:
    """A transaction of the sequence C_e is in the initial history of every later established epoch, and none before it
    there has a later zxid."""
    zxid = {s.txn(r): (r["epoch"], r["counter"]) for _, r in s.rows if r["kind"] in WITH_TXN}
    pairs = [(t, initial) for c, t in s.chosen for e, initial in s.leaders if c < e]
    holds = all(t in h and all(zxid[u] <= zxid[t] for u in h[: h.index(t)]) for t, h in pairs)
    return holds, bool(pairs)


def delivered_is_chosen(s: Story) -> tuple[bool, bool]:
    """A process delivers chosen transactions only."""
    sent, ever = {s.txn(a) for _, a in s.abcasts}, {t for _, t in s.chosen}
    own = [s.txn(d) for _, d in s.deliveries if s.txn(d) in sent]
    return all(t in ever for t in own), bool(own)


def unique_zxid(s: Story) -> tuple[bool, bool]:
    """Zxids order the transactions that are broadcast: no two have the same."""
    zxids = [(a["epoch"], a["counter"]) for _, a in s.abcasts]
    return len(set(zxids)) == len(zxids), len({e for e, _ in zxids}) < len(zxids)


def delivered_stands(s: Story) -> tuple[bool, bool]:
    """What a process has delivered since it last started stays how its history begins."""
    holds, met = True, False
    for i, r in s.rows:
        if r["kind"] == "revise":
            had = [
                s.txn(d) for j, d in s.deliveries if j < i and d["process"] == r["process"] and d["pass"] == r["pass"]
            ]
            met |= bool(had)
            holds &= s.behind(i, "entry")[: len(had)] == had
    return holds, met


def ladis_total_order(s: Story) -> tuple[bool, bool]:
    """LADIS'08: if a is delivered before b by one server, every server that delivers a and b delivers a before b."""
    before = {pair for own in s.delta.values() for pair in combinations(own, 2)}
    return not any((u, t) in before for t, u in before), bool(before)


def dsn_causal_order(s: Story) -> tuple[bool, bool]:
    """III.1: if abcast(t) happens before abcast(u) and a process delivers u, it must also deliver t, before u."""
    return s.must(s.happened_before), s.second(s.happened_before)


DEFINITIONS: dict[str, Callable[[Story], tuple[bool, bool]]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        integrity, total_order, agreement, local_primary_order, global_primary_order, primary_integrity,
        po_causal_order, strict_causality, prefix, causal_order, one_primary_an_epoch, one_leader_an_epoch,
        chosen_in_later_histories, delivered_is_chosen, unique_zxid, delivered_stands,
    )
}  # fmt: skip
OF_HISTORIES = DEFINITIONS | {
    "ladis-total-order": ladis_total_order,  # which no table is judged by
    "dsn-causal-order": dsn_causal_order,  # which no kernel judges tables by
}
MENDED = ("integrity", "agreement", "prefix", "strict-causality", "delivered-is-chosen")  # others stay broken


Definitions = dict[str, Callable[[Story], tuple[bool, bool]]]


def judged_complete(rows: Sequence[Row], nodes: int, by: Definitions = DEFINITIONS) -> dict[str, str]:
    """What is said of rows that leave nothing unknown, at the end of every moment."""
    columns = [c for c in OF_TXN if any(r["kind"] in WITH_TXN and r[c] is not None for r in rows)]
    own = [r for r in rows if r["kind"] in HISTORY]
    ends = [k + 1 for k in range(len(own)) if k + 1 == len(own) or own[k]["time"] != own[k + 1]["time"]]
    broken: set[str] = set()
    met: set[str] = set()
    for end in ends or [0]:
        story = Story(own[:end], columns, nodes)
        for name in (n for n in by if n in MENDED or end == len(own)):
            holds, premise = by[name](story)
            broken |= set() if holds else {name}
            met |= {name} if premise and (name == "agreement" or end == len(own)) else set()
    return {n: "violated" if n in broken else "holds" if n in met else "premise not reached" for n in by}


# --- completions -------------------------------------------------------------------------------------


def unknowns(rows: Sequence[Row]) -> list[tuple[int, str]]:
    """The places at which a row does not say what it could."""
    out = []
    txns = [r for r in rows if r["kind"] in WITH_TXN]
    clock = any(r["time"] is not None for r in rows if r["kind"] != "run")
    for i, r in enumerate(rows):
        kind = r["kind"]
        nulls = [("abcast", "process"), ("abcast", "primary_epoch"), ("abcast", "attempt"), ("run", "index")]
        nulls += [
            ("accept", "primary_epoch"),
            ("establish", "primary_epoch"),
            ("abdeliver", "pass"),
            ("revise", "pass"),
        ]
        out += [(i, column) for of, column in nulls if of == kind and r[column] is None]
        for column in ("identity", "digest"):
            if kind in WITH_TXN and r[column] is None and any(t[column] is not None for t in txns):
                out.append((i, column))
        if kind in HISTORY and r["time"] is None and clock:
            out.append((i, "time"))
    return out


def domain(rows: Sequence[Row], i: int, column: str, count: int) -> list[Any]:
    """The values that are tried: those that there are, those next to them, and new ones for each unknown."""
    there = sorted(
        {r[column] for r in rows if r[column] is not None and not (column == "index" and r["kind"] != "run")}
    )
    if column == "index":
        return [1, 2, 3, 4, 5, 7, 12]
    if column == "process":
        seen = sorted({*there, *range(nodes_of(rows) or 3)})
        return seen + [seen[-1] + 1 + k for k in range(count)]  # anybody: also one of whom no other row tells
    if column == "time":
        before = [r["time"] for r in rows[:i] if r["time"] is not None]
        after = [r["time"] for r in rows[i + 1 :] if r["time"] is not None]
        low, high = (before or [after[0] - 2])[-1], (after or [before[-1] + 2])[0]
        return sorted({low + (high - low) * k / (count + 1) for k in range(count + 2)})
    if column == "primary_epoch":
        return list(range(min(there, default=1) - 1, max(there, default=1) + count + 1))
    if column == "pass":
        return list(range(min(there, default=0) - 3, max(there, default=0) + 4))
    return there + [max(there, default=0) + 1 + k for k in range(count)]


def nodes_of(rows: Sequence[Row]) -> int | None:
    return next((r["index"] for r in rows if r["kind"] == "run"), None)


def possible(rows: Sequence[Row], full: Sequence[Row]) -> bool:
    """Whether passes come one after another and end where their process crashes, and time does not go back."""
    last: dict[int, tuple[int, bool]] = {}
    crashed: set[int] = set()
    now = None
    for said, r in zip(rows, full, strict=True):
        if r["kind"] in ("crash", "recover"):
            crashed.add(r["process"])
        if r["kind"] in ("abdeliver", "revise"):
            p, known = r["process"], said["pass"] is not None
            if p in last:
                before, both = last[p]
                if r["pass"] < before or (p in crashed and r["pass"] == before and not (known and both)):
                    return False
            last[p] = (r["pass"], known)
            crashed.discard(p)
        if r["time"] is not None:
            if now is not None and r["time"] < now:
                return False
            now = r["time"]
    return True


def completed(rows: Sequence[Row], most: int) -> Iterator[list[Row]] | None:
    """The rows with what they leave unknown filled in, in every way; None: in more than so many."""
    places = unknowns(rows)
    counts = {column: sum(c == column for _, c in places) for _, column in places}
    domains = [domain(rows, i, column, counts[column]) for i, column in places]
    ways = 1
    for values in domains:
        ways *= len(values)
    if ways > most:
        return None
    return filled(rows, places, domains)


def filled(
    rows: Sequence[Row], places: Sequence[tuple[int, str]], domains: Sequence[Sequence[Any]]
) -> Iterator[list[Row]]:
    for values in product(*domains):
        full = [dict(r) for r in rows]
        for (i, column), value in zip(places, values, strict=True):
            full[i][column] = value
        if possible(rows, full):
            yield full


def judged_by_definition(
    rows: Sequence[Row], most: int = 400, by: Definitions = DEFINITIONS
) -> dict[str, set[str]] | None:
    """What is said of each property in the completions of a run; None: there are too many."""
    ways = completed(rows, most)
    if ways is None:
        return None
    out: dict[str, set[str]] = {name: set() for name in by}
    begun = any(r["kind"] == "run" for r in rows)
    for full in ways:
        for nodes in [nodes_of(full)] if begun else [1, 2, 3, 4, 5, 7, 12]:
            for name, word in judged_complete(full, nodes or 0, by).items():
                out[name].add(word)
    return out
