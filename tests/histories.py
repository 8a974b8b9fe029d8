"""The complete history of a run, and what the naive judge (`zabspec/second/definitions.py`) says of it.

Nothing here looks at a ghost field. A history is the list of what happened, in order. `test_history_abstraction.py`
holds the ghost fields and `invariants/` against this, so nothing here may be clever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

from invariants import PROPERTIES
from invariants.binding import bound
from invariants.registry import HISTORY, Property
from tests.models import possible
from zabspec.language.python.reference import RangeError, RecordValue, StateView
from zabspec.model import Configuration, Model
from zabspec.second.definitions import OF_HISTORIES, Row, Story
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

    @cached_property
    def abcasts(self) -> list[Abcast]:
        return [e for e in self.events if isinstance(e, Abcast)]

    @cached_property
    def deliveries(self) -> list[Deliver]:
        return [e for e in self.events if isinstance(e, Deliver)]

    @cached_property
    def story(self) -> Story:
        """The same as the rows that the naive judge reads."""
        return self.begun(len(self.events))

    def begun(self, events: int) -> Story:
        """The first so many events, as rows."""
        return Story([row for e in self.events[:events] for row in rows_of(e)], Txn._fields, self.nodes)

    def must_deliver_before(self, t: Txn, u: Txn) -> bool:
        """Return whether every process that delivers u delivers t, before u."""
        return all(t in own[: own.index(u)] for own in self.story.delta.values() if u in own)


def rows_of(e: Event) -> list[Row]:
    """Return an event as the rows that a table has of it."""
    if isinstance(e, Abcast):
        return [{"kind": "abcast", "process": e.process, "primary_epoch": e.instance.epoch,
                 "attempt": e.instance.attempt, **e.txn._asdict()}]  # fmt: skip
    if isinstance(e, Deliver):
        return [{"kind": "abdeliver", "process": e.process, "pass": e.passing, **e.txn._asdict()}]
    if isinstance(e, Accept):
        return [{"kind": "accept", "process": e.process, "primary_epoch": e.epoch, **e.txn._asdict()}]
    if isinstance(e, Establish):
        first: Row = {"kind": "establish", "primary_epoch": e.epoch}
        return [first, *({"kind": "initial", **t._asdict()} for t in e.initial)]
    first = {"kind": "revise", "process": e.process, "pass": e.passing}
    return [first, *({"kind": "entry", "process": e.process, **t._asdict()} for t in e.history)]


def holds_in(name: str, h: History) -> bool:
    """Return whether a history keeps a property; integrity at all times: a later broadcast does not mend it."""
    definition = OF_HISTORIES[name]
    if name == "integrity":
        return all(definition(h.begun(k + 1))[0] for k, e in enumerate(h.events) if isinstance(e, Deliver))
    return definition(h.story)[0]


def naive(*names: str) -> dict[str, Callable[[History], bool]]:
    return {name: partial(holds_in, name) for name in names}


NAIVE_OF_SOME = naive("delivered-stands", "ladis-total-order")
NAIVE = naive(*(name for name in OF_HISTORIES if name not in NAIVE_OF_SOME))


# --- conditions on histories that are no property of their own -----------------------------------


def passes_agree(h: History) -> bool:
    """Of two passes of one process, one begins the other, and no pass delivers a transaction twice."""
    return h.story.agree


def literally_precedes(h: History) -> set[tuple[Txn, Txn]]:
    """PO precedence of abcasts with the paper's three rules to the letter, over events. Not what
    this project judges by: see docs/explanation/readings.md."""
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


def one_sequence(h: History) -> bool:
    """Of what two processes delivered, one begins the other, and the passes of each agree."""
    return passes_agree(h) and all(
        one[: len(other)] == other[: len(one)] for one, other in combinations(h.story.delta.values(), 2)
    )


def epochs_grow(h: History) -> bool:
    """No process broadcasts in an epoch earlier than one it broadcast in before."""
    return all(a.instance.epoch <= b.instance.epoch for a, b in combinations(h.abcasts, 2) if a.process == b.process)


def judged(protocol: str) -> tuple[Property, ...]:
    """The properties of histories that a protocol's runs, and their tables, are judged by."""
    return tuple(p for p in PROPERTIES if p.of == HISTORY and p.tables and p.judges(protocol))


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
        words = possible(self.names, self.state)
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
        if self.astray(self.disorder / 2):
            self.random.shuffle(initial)
        taken = {e.epoch for e in self.events if isinstance(e, Establish)}
        free = [e for e in range(1, self.epochs + 1) if e not in taken or self.astray(self.rivals)]
        if free:
            self.events.append(Establish(self.random.choice(free), tuple(initial)))

    def restart(self) -> None:
        self.iteration[self.random.randrange(self.nodes)] += 1
