"""The complete history of a run, kept naively, and the paper's properties written straight over it.

Nothing here looks at a ghost field. A history is the list of what happened, in order; a property
is its paper's sentence over that list, with Python's lists and sets. `test_history_abstraction.py`
holds the ghost fields and `invariants/` against this, so nothing here may be clever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, permutations
from typing import Any, ClassVar, NamedTuple

from invariants import PROPERTIES
from invariants.binding import bound
from invariants.registry import HISTORY, Property
from zabspec.language.reference import RangeError, RecordValue, StateView
from zabspec.model import Configuration, Model
from zabspec.worlds.datagrams import ELECTION_TIMEOUT, HEARTBEAT
from zabspec.worlds.steps import (
    ABCAST,
    CRASH,
    CRASH_IN_RECEIPT,
    DROP_TO_FOLLOWER,
    DROP_TO_LEADER,
    LOSE_CONNECTION,
    ORACLE,
    PARTITION,
    RECOVER,
    REPEAT_TO_FOLLOWER,
    REPEAT_TO_LEADER,
    TIMEOUT,
)

__all__ = [
    "JUDGED",
    "NAIVE",
    "NAIVE_OF_SOME",
    "Abcast",
    "Accept",
    "DatagramWalk",
    "Deliver",
    "Establish",
    "History",
    "Instance",
    "MadeUp",
    "Recorder",
    "Synthetic",
    "Txn",
    "Walk",
    "bound",
    "epochs_grow",
    "judged",
    "literally_precedes",
    "one_sequence",
    "passes_agree",
]


class Txn(NamedTuple):
    """<v, z>: the zxid z = <epoch, counter> and the identity that stands for v."""

    epoch: int
    counter: int
    value: int


class Instance(NamedTuple):
    """A primary instance."""

    epoch: int
    process: int
    attempt: int


@dataclass(frozen=True)
class Abcast:
    """A primary instance broadcasts a transaction."""

    instance: Instance
    txn: Txn

    @property
    def process(self) -> int:
        return self.instance.process


@dataclass(frozen=True)
class Deliver:
    """A process delivers a transaction in one of its passes."""

    process: int
    passing: int
    txn: Txn


@dataclass(frozen=True)
class Accept:
    """A follower accepts the proposal <epoch, txn>."""

    process: int
    epoch: int
    txn: Txn


@dataclass(frozen=True)
class Establish:
    """A leader is established in an epoch with this initial history (V.1)."""

    epoch: int
    initial: tuple[Txn, ...]


@dataclass(frozen=True)
class Replace:
    """A process puts another history in place of its own (db19)."""

    process: int
    passing: int
    history: tuple[Txn, ...]


Event = Abcast | Deliver | Accept | Establish | Replace


@dataclass(frozen=True)
class History:
    """All that happened, in the order in which it did."""

    nodes: int
    events: tuple[Event, ...] = ()

    @property
    def majority(self) -> int:
        return self.nodes // 2 + 1

    @cached_property
    def abcasts(self) -> list[Abcast]:
        return [e for e in self.events if isinstance(e, Abcast)]

    @cached_property
    def deliveries(self) -> list[Deliver]:
        return [e for e in self.events if isinstance(e, Deliver)]

    @cached_property
    def broadcast(self) -> dict[Txn, Abcast]:
        return {a.txn: a for a in self.abcasts}

    @cached_property
    def delta(self) -> list[list[Txn]]:
        """Definition VI.4: what each process delivered, each transaction once, in order of the first."""
        out: list[list[Txn]] = [[] for _ in range(self.nodes)]
        for d in self.deliveries:
            if d.txn not in out[d.process]:
                out[d.process].append(d.txn)
        return out

    @cached_property
    def passes(self) -> list[list[list[Txn]]]:
        """What each process delivered in each of its passes."""
        out: list[dict[int, list[Txn]]] = [{} for _ in range(self.nodes)]
        for d in self.deliveries:
            out[d.process].setdefault(d.passing, []).append(d.txn)
        return [list(p.values()) for p in out]

    def delivers_both(self) -> Iterator[tuple[Txn, Txn]]:
        """Every (t, u) of which some process delivers t before u."""
        for sequence in self.delta:
            yield from combinations(sequence, 2)

    def must_deliver_before(self, t: Txn, u: Txn) -> bool:
        """Whether every process that delivers u delivers t, before u."""
        return all(t in d[: d.index(u)] for d in self.delta if u in d)

    def delivered_before_abcast(self, t: Txn, u: Txn) -> bool:
        """Whether the process that broadcast u had delivered t when it did."""
        primary = self.broadcast[u].process
        at = self.events.index(self.broadcast[u])
        return any(isinstance(e, Deliver) and e.process == primary and e.txn == t for e in self.events[:at])

    @cached_property
    def po_pairs(self) -> set[tuple[Txn, Txn]]:
        """PO precedence of abcasts: by one instance in this order, or delivered by the primary
        before it broadcast, and every chain of these."""
        pairs = set()
        for first, second in combinations(self.abcasts, 2):
            if first.instance == second.instance or self.delivered_before_abcast(first.txn, second.txn):
                pairs.add((first.txn, second.txn))
        while True:
            longer = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
            if not longer:
                return pairs
            pairs |= longer


# --- DSN'11 III.A --------------------------------------------------------------------------------


def integrity(h: History) -> bool:
    """If some process delivers <v, z>, then some process has broadcast <v, z>."""
    broadcast = set()
    for e in h.events:
        if isinstance(e, Abcast):
            broadcast.add(e.txn)
        elif isinstance(e, Deliver) and e.txn not in broadcast:
            return False
    return True


def passes_agree(h: History) -> bool:
    """Redelivery in the same order is allowed: of two passes of one process, one begins the other,
    and no pass delivers a transaction twice."""
    for passes in h.passes:
        for one in passes:
            if len(set(one)) < len(one):
                return False
        for one, other in combinations(passes, 2):
            shorter = min(len(one), len(other))
            if one[:shorter] != other[:shorter]:
                return False
    return True


def total_order(h: History) -> bool:
    """If some process delivers t before u, then any process that delivers u must also deliver t,
    and deliver t before u."""
    return passes_agree(h) and all(h.must_deliver_before(t, u) for t, u in h.delivers_both())


def agreement(h: History) -> bool:
    """If p_i delivers t and p_j delivers u, then either p_i delivers u or p_j delivers t."""
    return passes_agree(h) and all(
        u in one or t in other for one, other in permutations(h.delta, 2) for t in one for u in other
    )


def local_primary_order(h: History) -> bool:
    """If a primary broadcasts t before u, then a process that delivers u must also deliver t,
    before u."""
    return all(h.must_deliver_before(a.txn, b.txn) for a, b in combinations(h.abcasts, 2) if a.instance == b.instance)


def global_primary_order(h: History) -> bool:
    """If primary rho_i broadcasts t, rho_j broadcasts u, rho_i precedes rho_j, and a process
    delivers both, it must deliver t before u."""
    return all(
        d.index(a.txn) < d.index(b.txn)
        for a, b in permutations(h.abcasts, 2)
        if a.instance.epoch < b.instance.epoch
        for d in h.delta
        if a.txn in d and b.txn in d
    )


def primary_integrity(h: History) -> bool:
    """If rho_e broadcasts u and some process delivers t that rho_e', e' < e, has broadcast, then
    rho_e must deliver t before it broadcasts u."""
    return all(
        h.delivered_before_abcast(a.txn, b.txn)
        for a, b in permutations(h.abcasts, 2)
        if a.instance.epoch < b.instance.epoch and any(a.txn in d for d in h.delta)
    )


# --- DSN'11 III.B --------------------------------------------------------------------------------


def po_causal_order(h: History) -> bool:
    """If t PO-precedes u and a process delivers u, it must also deliver t, before u."""
    return all(h.must_deliver_before(t, u) for t, u in h.po_pairs)


def strict_causality(h: History) -> bool:
    """If some process delivers t and u, then t PO-precedes u or u PO-precedes t."""
    return all(
        (t, u) in h.po_pairs or (u, t) in h.po_pairs
        for t, u in h.delivers_both()
        if t in h.broadcast and u in h.broadcast
    )


def literally_precedes(h: History) -> set[tuple[Txn, Txn]]:
    """PO precedence of abcasts with the paper's three rules to the letter, over events. Not what
    this project judges by: see docs/properties.md."""
    events = [e for e in h.events if isinstance(e, (Abcast, Deliver))]
    after: set[tuple[int, int]] = set()
    for (i, one), (j, other) in combinations(enumerate(events), 2):
        both_abcast = isinstance(one, Abcast) and isinstance(other, Abcast)
        if one.process == other.process and (not both_abcast or one.txn.epoch == other.txn.epoch):
            after.add((i, j))  # rule 1
        if isinstance(one, Abcast) and isinstance(other, Deliver) and one.txn == other.txn:
            after.add((i, j))  # rule 2
    for k in range(len(events)):  # rule 3
        before_k = {i for i, j in after if j == k}
        after_k = {j for i, j in after if i == k}
        after |= {(i, j) for i in before_k for j in after_k}
    return {
        (events[i].txn, events[j].txn)
        for i, j in after
        if isinstance(events[i], Abcast) and isinstance(events[j], Abcast)
    }


# --- LADIS'08 2 ----------------------------------------------------------------------------------


def prefix(h: History) -> bool:
    """If m is the last message delivered for a leader L, any message proposed before m by L must
    also be delivered."""
    for delivered in h.delta:
        for leader in {a.instance for a in h.abcasts}:
            proposed = [a.txn for a in h.abcasts if a.instance == leader]
            places = [k for k, t in enumerate(proposed) if t in delivered]
            if places and any(t not in delivered for t in proposed[: places[-1]]):
                return False
    return True


def causal_order(h: History) -> bool:
    """If a causally precedes b and both are delivered, a must be ordered before b. (1) Sent by the
    same server, a proposed before b; (2) a proposed by an earlier leader."""
    precedes = {(a.txn, b.txn) for a, b in combinations(h.abcasts, 2) if a.process == b.process}
    precedes |= {(a.txn, b.txn) for a, b in permutations(h.abcasts, 2) if a.instance.epoch < b.instance.epoch}
    return all(d.index(t) < d.index(u) for t, u in precedes for d in h.delta if t in d and u in d)


def ladis_total_order(h: History) -> bool:
    """If message a is delivered before message b by one server, then every server that delivers a and b delivers a
    before b."""
    before = {(t, u) for d in h.delta for t, u in combinations(d, 2)}
    return not any((u, t) in before for t, u in before)


# --- claims --------------------------------------------------------------------------------------


def one_primary_an_epoch(h: History) -> bool:
    """The value of e is unique for different primary instances."""
    instances = {a.instance for a in h.abcasts}
    return len({i.epoch for i in instances}) == len(instances)


def one_leader_an_epoch(h: History) -> bool:
    """No two become established leaders for the same epoch."""
    epochs = [e.epoch for e in h.events if isinstance(e, Establish)]
    return len(set(epochs)) == len(epochs)


def chosen(h: History) -> set[tuple[int, Txn]]:
    """Definition VI.2: (e, t) if each follower of some quorum accepted <e, t>."""
    accepts = {(e.process, e.epoch, e.txn) for e in h.events if isinstance(e, Accept)}
    pairs = {(e, t) for _, e, t in accepts}
    return {(e, t) for e, t in pairs if sum((p, e, t) in accepts for p in range(h.nodes)) >= h.majority}


def chosen_in_later_histories(h: History) -> bool:
    """A transaction chosen in e is in the initial history of every later established epoch."""
    return all(t in s.initial for e, t in chosen(h) for s in h.events if isinstance(s, Establish) and s.epoch > e)


def delivered_is_chosen(h: History) -> bool:
    """A process delivers chosen transactions only."""
    ever = {t for _, t in chosen(h)}
    return all(d.txn in ever for d in h.deliveries if d.txn in h.broadcast)


def unique_zxid(h: History) -> bool:
    """Zxids order the transactions that are broadcast: no two have the same."""
    return all((a.txn.epoch, a.txn.counter) != (b.txn.epoch, b.txn.counter) for a, b in combinations(h.abcasts, 2))


def delivered_stands(h: History) -> bool:
    """What a process has delivered since it last started stays how its history begins."""
    for k, e in enumerate(h.events):
        if isinstance(e, Replace):
            earlier = [d for d in h.events[:k] if isinstance(d, Deliver)]
            had = tuple(d.txn for d in earlier if d.process == e.process and d.passing == e.passing)
            if e.history[: len(had)] != had:
                return False
    return True


NAIVE: dict[str, Callable[[History], bool]] = {
    "integrity": integrity,
    "total-order": total_order,
    "agreement": agreement,
    "local-primary-order": local_primary_order,
    "global-primary-order": global_primary_order,
    "primary-integrity": primary_integrity,
    "po-causal-order": po_causal_order,
    "strict-causality": strict_causality,
    "prefix": prefix,
    "causal-order": causal_order,
    "one-primary-an-epoch": one_primary_an_epoch,
    "one-leader-an-epoch": one_leader_an_epoch,
    "chosen-in-later-histories": chosen_in_later_histories,
    "delivered-is-chosen": delivered_is_chosen,
    "unique-zxid": unique_zxid,
}
NAIVE_OF_SOME: dict[str, Callable[[History], bool]] = {
    "delivered-stands": delivered_stands,
    "ladis-total-order": ladis_total_order,
}

# --- conditions on histories that are no property of their own -----------------------------------


def one_sequence(h: History) -> bool:
    """Of what two processes delivered, one begins the other, and the passes of each agree."""
    return passes_agree(h) and all(one[: len(other)] == other[: len(one)] for one, other in combinations(h.delta, 2))


def epochs_grow(h: History) -> bool:
    """No process broadcasts in an epoch earlier than one it broadcast in before."""
    return all(a.instance.epoch <= b.instance.epoch for a, b in combinations(h.abcasts, 2) if a.process == b.process)


def judged(protocol: str) -> tuple[Property, ...]:
    """The properties of histories that a protocol's runs are judged by."""
    return tuple(p for p in PROPERTIES if p.of == HISTORY and p.judges(protocol))


JUDGED = judged("zab")


# --- where histories come from -------------------------------------------------------------------


@cache
def model_of(configuration: Configuration) -> Model:
    """The model, made once for each configuration."""
    return Model(configuration)


def plain(t: RecordValue) -> Txn:
    return Txn(t.epoch, t.counter, t.value)


@dataclass
class Recorder:
    """Keeps the history of one run: wraps what the world provides to handlers."""

    model: Model
    names: dict[str, Any] = field(init=False)
    state: StateView = field(init=False)
    events: list[Event] = field(init=False, default_factory=list)
    attempt: list[int] = field(init=False)
    passing: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.names = bound(self.model)
        self.state = self.model.program.initial()
        self.attempt = [0] * self.nodes
        self.passing = [0] * self.nodes
        for name in ("abcast", "abdeliver", "accept", "establish"):
            self.names[name] = self.wrapped(self.names[name], getattr(self, f"on_{name}"))

    @property
    def nodes(self) -> int:
        return self.model.configuration.nodes

    @cached_property
    def judged(self) -> tuple[Property, ...]:
        return judged(self.model.configuration.protocol)

    @staticmethod
    def wrapped(original: Callable[..., Any], record: Callable[..., None]) -> Callable[..., Any]:
        def call(s: StateView, *arguments: Any) -> Any:
            result = original(s, *arguments)
            record(result, *arguments)
            return result

        return call

    def on_abcast(self, t: RecordValue, p: int, epoch: int, counter: int) -> None:
        self.events.append(Abcast(Instance(epoch, p, self.attempt[p]), plain(t)))

    def on_abdeliver(self, result: None, p: int, t: RecordValue) -> None:
        self.events.append(Deliver(p, self.passing[p], plain(t)))

    def on_accept(self, result: None, p: int, epoch: int, t: RecordValue) -> None:
        self.events.append(Accept(p, epoch, plain(t)))

    def on_establish(self, result: None, epoch: int, initial: Iterable[RecordValue]) -> None:
        self.events.append(Establish(epoch, tuple(plain(t) for t in initial)))

    @property
    def history(self) -> History:
        return History(self.nodes, tuple(self.events))

    def ghost_verdicts(self) -> dict[str, bool]:
        """What `invariants/` says."""
        return {p.name: bool(self.names[p.holds.__name__](self.state)) for p in self.judged}

    def naive_verdicts(self) -> dict[str, bool]:
        """What the paper says."""
        h, naive = self.history, NAIVE | NAIVE_OF_SOME
        return {p.name: naive[p.name](h) for p in self.judged}


class Walk(Recorder):
    """A random walk in the CPython world.

    A process begins an iteration, and with it a pass and, if it leads, an attempt, when the oracle
    answers. A variant that remembers what it delivered begins a pass only when it recovers.
    """

    WEIGHTS: ClassVar = {
        CRASH: 0.02,
        TIMEOUT: 0.03,
        LOSE_CONNECTION: 0.03,
        PARTITION: 0.02,
        RECOVER: 0.5,
        CRASH_IN_RECEIPT: 0.3,
        DROP_TO_LEADER: 0.05,
        DROP_TO_FOLLOWER: 0.1,
        REPEAT_TO_LEADER: 0.1,
        REPEAT_TO_FOLLOWER: 0.2,
    }

    def __init__(self, model: Model, seed: int, faults: float = 1.0) -> None:
        super().__init__(model)
        self.random = random.Random(seed)
        self.faults = faults
        self.favourite = self.random.randrange(self.nodes)
        self.slow = self.random.randrange(self.nodes)
        self.begins_pass = RECOVER if model.configuration.variant == "keep-commit-index" else ORACLE

    def weight(self, word: int) -> float:
        """Processes mostly agree on the leader, and one of them is slow; now and then both change."""
        kind, p, named = word >> 24, word >> 16 & 255, word >> 8 & 255
        weight = self.WEIGHTS.get(kind, 1.0)
        if kind in (CRASH, TIMEOUT, LOSE_CONNECTION, PARTITION):
            return weight * self.faults
        if kind == ORACLE:
            weight = 0.5 if named == self.favourite else 0.02
        return weight * 0.03 if p == self.slow else weight

    def step(self) -> bool:
        """One random step; False when there is none, or a value would leave its range."""
        out = [0] * 512
        self.names["enabled"](self.state, out)
        words = out[1 : out[0] + 1]
        if not words:
            return False
        if self.random.random() < 0.02:
            self.favourite = self.random.randrange(self.nodes)
        if self.random.random() < 0.04:
            self.slow = self.random.randrange(self.nodes)
        word = self.random.choices(words, [self.weight(w) for w in words])[0]
        # take an alternative at random; the state says how many there are after the step only
        before, known = self.state.copy(), len(self.events)
        try:
            self.take(word)
            choice = self.random.randrange(self.state.choices)
            if choice:
                self.state = before
                del self.events[known:]
                self.names["apply"](self.state, word | choice << 32)
        except RangeError:
            return False
        return True

    def take(self, word: int) -> None:
        """The step of a word, with its choice."""
        kind, p, named = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255
        if kind == self.begins_pass:
            self.passing[p] += 1
        if kind == ORACLE and p == named:
            self.attempt[p] += 1
        self.names["apply"](self.state, word)


class DatagramWalk(Recorder):
    """A random walk of db19. A process begins a pass when it recovers, and an attempt whenever it
    begins to lead."""

    WEIGHTS: ClassVar = {CRASH: 0.01, ELECTION_TIMEOUT: 0.02, HEARTBEAT: 0.1, ABCAST: 0.1}

    def __init__(self, model: Model, seed: int) -> None:
        super().__init__(model)
        self.random = random.Random(seed)
        self.names["revise"] = self.wrapped(self.names["revise"], self.on_revise)
        self.names["end_pass"] = self.wrapped(self.names["end_pass"], self.on_end_pass)
        leads = self.names["stop_leading"]
        self.names["stop_leading"] = self.wrapped(leads, self.on_stop_leading)

    def on_revise(self, result: None, p: int, history: Iterable[RecordValue]) -> None:
        self.events.append(Replace(p, self.passing[p], tuple(plain(t) for t in history)))

    def on_end_pass(self, result: None, p: int) -> None:
        self.passing[p] += 1
        self.attempt[p] += 1

    def on_stop_leading(self, result: None, p: int) -> None:
        self.attempt[p] += 1

    def step(self) -> bool:
        """One random step; False when there is none, or a value would leave its range."""
        out: dict[int, int] = {}
        self.names["enabled"](self.state, out)
        words = [out[k] for k in range(1, out[0] + 1)]
        if not words:
            return False
        word = self.random.choices(words, [self.WEIGHTS.get(w >> 24, 1.0) for w in words])[0]
        try:
            self.names["apply"](self.state, word)
        except RangeError:
            return False
        return True


class Synthetic(Recorder):
    """A history made up by the test, through the same functions that the protocol calls."""

    @classmethod
    def of(cls, nodes: int = 3, txns: int = 4, epochs: int = 3) -> Synthetic:
        return cls(model_of(Configuration(nodes=nodes, txns=txns, max_epoch=epochs)))

    def txn(self, t: Txn) -> RecordValue:
        made: RecordValue = self.names["Txn"](epoch=t.epoch, counter=t.counter, value=t.value)
        return made

    def abcast(self, p: int, epoch: int, counter: int | None = None) -> Txn:
        """Process p broadcasts the next transaction of the epoch."""
        if counter is None:
            counter = 1 + sum(isinstance(e, Abcast) and e.txn.epoch == epoch for e in self.events)
        return plain(self.names["abcast"](self.state, p, epoch, counter))

    def deliver(self, p: int, *txns: Txn) -> None:
        for t in txns:
            self.names["abdeliver"](self.state, p, self.txn(t))

    def accept(self, p: int, epoch: int, t: Txn) -> None:
        self.names["accept"](self.state, p, epoch, self.txn(t))

    def choose(self, epoch: int, *txns: Txn) -> None:
        """Every process accepts the transactions."""
        for t in txns:
            for p in range(self.nodes):
                self.accept(p, epoch, t)

    def establish(self, epoch: int, *initial: Txn) -> None:
        self.names["establish"](self.state, epoch, [self.txn(t) for t in initial])

    def end_pass(self, p: int) -> None:
        self.names["end_pass"](self.state, p)
        self.passing[p] += 1
        self.attempt[p] += 1

    def replay(self, event: Event) -> None:
        """Make an event of a history happen; a later iteration of its process ends the pass before."""
        if isinstance(event, Abcast):
            p, iteration = event.process, event.instance.attempt
        elif isinstance(event, Deliver):
            p, iteration = event.process, event.passing
        else:
            p, iteration = 0, 0
        while self.passing[p] < iteration:
            self.end_pass(p)
        if isinstance(event, Abcast):
            self.abcast(p, event.txn.epoch, event.txn.counter)
        elif isinstance(event, Deliver):
            self.deliver(p, event.txn)
        elif isinstance(event, Accept):
            self.accept(event.process, event.epoch, event.txn)
        elif isinstance(event, Establish):
            self.establish(event.epoch, *event.initial)
        else:
            raise TypeError("no history made up replaces a process's own")


class MadeUp:
    """A history made up at random, more or less orderly: how much is drawn for each."""

    def __init__(self, source: random.Random, nodes: int = 3, txns: int = 4, epochs: int = 3) -> None:
        self.random, self.nodes, self.txns, self.epochs = source, nodes, txns, epochs
        self.disorder = source.choice((0.0, 0.05, 0.2, 0.6))
        self.rivals = source.choice((0.0, 0.0, 0.3))  # how readily a second instance broadcasts in an epoch
        self.events: list[Event] = []
        self.iteration = [0] * nodes
        self.primary: dict[int, Instance] = {}  # of each epoch, the last to broadcast

    @property
    def known(self) -> list[Txn]:
        return [e.txn for e in self.events if isinstance(e, Abcast)]

    def in_pass(self, p: int) -> list[Txn]:
        return [
            e.txn for e in self.events if isinstance(e, Deliver) and e.process == p and e.passing == self.iteration[p]
        ]

    def astray(self, probability: float) -> bool:
        return self.random.random() < probability

    def history(self, length: int) -> History:
        steps = (self.abcast, self.deliver, self.deliver, self.deliver, self.accept, self.establish, self.restart)
        for step in self.random.choices(steps, (3, 3, 3, 3, 3, 1, 1), k=length):
            step()
        return History(self.nodes, tuple(self.events))

    def abcast(self) -> None:
        if len(self.known) >= self.txns:
            return
        latest = max(self.primary, default=0)
        p = self.random.randrange(self.nodes)
        instance = self.primary.get(latest)
        if instance is not None and self.astray(0.6) and instance.attempt == self.iteration[instance.process]:
            pass  # the primary of the latest epoch goes on
        elif latest and self.astray(self.rivals):
            instance = Instance(self.random.randint(1, latest), p, self.iteration[p])
        elif latest < self.epochs:
            self.iteration[p] += 1
            instance = Instance(latest + 1, p, self.iteration[p])
            if not self.astray(self.disorder):  # it delivers what there is before it is ready
                for t in sorted(self.known):
                    self.events.append(Deliver(p, self.iteration[p], t))
        else:
            return
        mine = {e.instance.epoch for e in self.events if isinstance(e, Abcast) and e.instance[1:] == instance[1:]}
        if mine - {instance.epoch}:
            return  # one attempt broadcasts in one epoch
        self.primary[instance.epoch] = instance
        counter = 1 + sum(t.epoch == instance.epoch for t in self.known)
        if self.astray(self.rivals / 3) and counter > 1:
            counter -= 1  # two under one zxid
        self.events.append(Abcast(instance, Txn(instance.epoch, counter, len(self.known) + 1)))

    def deliver(self) -> None:
        p = self.random.randrange(self.nodes)
        done = self.in_pass(p)
        left = sorted(t for t in self.known if t not in done)
        if self.astray(self.disorder) and self.known:
            self.events.append(Deliver(p, self.iteration[p], self.random.choice(self.known)))
        elif left:
            self.events.append(Deliver(p, self.iteration[p], left[0]))

    def accept(self) -> None:
        if self.known:
            t = self.random.choice(self.known)
            epoch = self.random.randint(1, self.epochs) if self.astray(0.3) else t.epoch
            who = range(self.nodes) if self.astray(0.5) else (self.random.randrange(self.nodes),)
            self.events.extend(Accept(p, epoch, t) for p in who)

    def establish(self) -> None:
        initial = sorted(self.known)
        if self.astray(self.disorder + 0.1) and initial:
            initial.remove(self.random.choice(initial))
        taken = {e.epoch for e in self.events if isinstance(e, Establish)}
        free = [e for e in range(1, self.epochs + 1) if e not in taken or self.astray(self.rivals)]
        if free:
            self.events.append(Establish(self.random.choice(free), tuple(initial)))

    def restart(self) -> None:
        self.iteration[self.random.randrange(self.nodes)] += 1
