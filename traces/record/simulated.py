"""Convert a simulated run to an ordinary trace.

The simulator runs by itself in CPython, with listeners. What happens is translated to the explorer's step words, one
for every handler that runs and every connection that is lost. The explorer takes each step at once, and its state must
equal the simulator's, abstracted. So a run of the simulator can be explained, minimised, exported and replayed like any
counterexample, and each such trace compares the two worlds.

A datagram that the simulator drops is, for the explorer, one that never arrives: it stays in flight, and on an ordered
network until a later one arrives.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib.metadata import version as package_version
from typing import Any

from invariants import Property
from traces.explain.names import counted
from traces.record.flight import Connections, Datagrams
from traces.record.listener import Listener
from traces.record.runner import Runner
from traces.record.trace import JsonState, Step, StepWord, Trace, TraceError, Transmission, model_of
from traces.record.values import message_json, state_json
from traces.record.verification import compare
from traces.record.worlds import watched_as
from traces.replay.abstraction import Abstraction, Datagram, TraceCluster
from zabspec.language.reference import MessageView, StateView
from zabspec.model import LIMITS, ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.connections import DUPLICATING, UP
from zabspec.simulator.run import Run, SimulationError, Simulator
from zabspec.worlds.datagrams import ORDERED
from zabspec.worlds.steps import BUDGETS, KINDS

SIMULATOR = "the simulator gives"
MOST_EPOCHS = 200

Happens = Callable[[StateView, StepWord], None]
Key = tuple[int, int, bool, int, int]  # a message: follower, leader, whether to the leader, connection, number


class TooLarge(TraceError):
    """A run is larger than any configuration allows; a shorter part of it may fit."""


class StepListener(Listener):
    """Translates what a simulator does into step words.

    Attributes:
        happens: a function called with the state and the word after each step.
        place: the place at which the explorer has a message that was received.
        lost: the datagrams that were dropped and would be in flight, each with its number.
        receipts: how often each message over a connection was received.
        again: the messages of which a copy is received later.
    """

    def __init__(self, names: dict[str, Any], cluster: TraceCluster, happens: Happens) -> None:
        super().__init__(names, cluster)
        self.happens = happens
        self.place: Callable[[bool, Transmission], int] = lambda up, m: 0
        self.receipts: Counter[Key] = Counter()
        self.again: set[Key] = set()
        self.lost: list[Datagram] = []
        self.word: StepWord | None = None
        self.voters = 0  # those that have yet to follow the leader that they elect, all in one step
        self.notes_down = not cluster.parts_of.text.keeps_down
        if self.notes_down:
            names["went_down"] = self.went_down(names["went_down"])
        self.watched.hear(self, names)

    def begins(self, s: StateView, name: str, p: int, rest: tuple[Any, ...]) -> None:
        super().begins(s, name, p, rest)
        if self.voters:
            self.voters -= 1
            return
        s.choices, s.steps, s.accepts, s.accept_epoch = 1, 0, 0, 0
        self.word = self.said(s, name, p, rest)

    def ends(self, s: StateView) -> None:
        if self.word is None or self.voters or (self.notes_down and self.word.kind == "crash"):
            return  # a crash ends when the world has noted that the process is down
        self.happens(s, replace(self.word, choice=s.choice if s.choices > 1 else 0))

    def went_down(self, inner: Callable[[StateView, int], None]) -> Callable[[StateView, int], None]:
        """Wrap `went_down`, which ends a crash in a user protocol; the process may restart in the same step."""

        def went(s: StateView, p: int) -> None:
            if self.process >= 0:  # within another step, which tells of it
                inner(s, p)
                return
            self.process = p
            try:
                inner(s, p)
            finally:
                self.process = -1
            assert self.word is not None
            self.happens(s, self.word)

        return went

    def said(self, s: StateView, name: str, p: int, rest: tuple[Any, ...]) -> StepWord | None:
        """Return the step word of a handler call without its choice, or None if the call is no step."""
        m = self.received
        if name in ("receive_as_leader", "receive_as_follower"):
            assert m is not None
            up = name == "receive_as_leader"
            f, l = (m.source, m.destination) if up else (m.destination, m.source)
            key = (f, l, up, m.connection, m.number)
            self.receipts[key] += 1
            kind = "repeat" if key in self.again and self.receipts[key] == 1 else ""
            if self.receipts[key] > 1:
                self.again.discard(key)
            ends = {"leader": l, "follower": f} if up else {"follower": f, "leader": l}
            kind = "_".join(filter(None, (kind, "to_leader" if up else "to_follower")))
            return StepWord(kind, {**ends, "place": self.place(up, m)})
        if name == "on_elected":
            self.voters = int(s.quorum).bit_count()
            return StepWord("elect", {"leader": p, "quorum": int(s.quorum)})
        if name == "on_message":
            assert m is not None
            if s.sim_order == ORDERED:
                self.lost[:] = [x for x in self.lost if not overtaken(x, m)]
            return StepWord("receive", {"process": p, "source": m.source, "place": self.place(True, m)})
        for row in KINDS.values():
            if row.runs == name and self.watched.world.name in row.worlds and row.timer in (None, *rest):
                operands = {key: int(value) for key, value in zip(row.given, (p, *rest), strict=False)}
                if name == "on_leader_lost":
                    operands["leader"] = int(s.leader[p])
                return StepWord(row.name, operands)
        return None


def played(
    run: Run, until: int, cluster: TraceCluster, happens: Happens, begun: Callable[[StepListener, StateView], None]
) -> None:
    """Play a run in the CPython world, and say what happens.

    Args:
        until: the tick before which it ends.
        begun: given the state before the first tick.

    Raises:
        TraceError: the run ends in an error.
    """
    simulator = Simulator(cluster, "interpret")
    words = StepListener(simulator.names, cluster, happens)
    try:
        simulator.begin(run)
        words.clear()
        begun(words, simulator.state)
        simulator.advance(until)
    except SimulationError as error:
        raise TraceError(f"the simulated run ends in an error: {error}") from None


def configuration_of(run: Run) -> Configuration:
    """Return a configuration large enough for a run.

    Raises:
        TraceError: no configuration is large enough.
    """
    return measured(run, run.rounds)[0]


def measured(run: Run, until: int) -> tuple[Configuration, set[Key]]:
    """Return a configuration large enough for a run up to a tick, and the messages of which a copy is received.

    If there are more proposals than a configuration allows, only those that are abcast count.
    """
    spent = dict.fromkeys(BUDGETS, 0)
    flight = abcasts = 0
    lost: list[Datagram] = []

    receipts: Counter[Key] = Counter()
    heard: list[StepListener] = []

    def happens(s: StateView, word: StepWord) -> None:
        nonlocal flight, abcasts
        abcasts = s.abcasts if protocol.transactions else 0
        spent["drops"] += len(heard[0].dropped)
        heard[0].clear()
        if word.row.spends:  # what the protocol declares itself is as the run has it
            spent[word.row.spends] += 1
        flight = max(flight, s.sim_queued + len(lost) + 1)

    def begun(words: StepListener, s: StateView) -> None:
        words.lost, words.receipts = lost, receipts
        heard.append(words)

    most = LIMITS["txns"][1]
    txns = max(1, min(run.proposals, most))

    protocol = PROTOCOLS[run.protocol]

    def sized(**more: Any) -> Configuration:
        given: dict[str, Any] = {"budgets": run.budgets, **({"txns": txns} if protocol.transactions else {}), **more}
        try:
            return Configuration(
                run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums, **given
            )
        except ConfigError as error:
            raise TooLarge(f"the run is larger than every configuration: {error}") from None

    try:
        room = {"max_epoch": MOST_EPOCHS} if protocol.declared.bounded_by_world else dict(run.table_budget)
        cluster = TraceCluster.of(model_of(sized(**room)), run.oracle, run.proposals)
        played(run, until, cluster, happens, begun)
    except TraceError:
        if run.proposals > most == abcasts:
            raise TooLarge(f"the run is larger than every configuration: it abcasts more than {most} times") from None
        raise
    if run.proposals > most:
        txns = max(1, abcasts)
    again = {key for key, count in receipts.items() if count > 1}
    spent["duplicates"] = len(again)
    usual = sized()
    there = {name: count for name, count in spent.items() if count or getattr(usual, name)}
    if not protocol.declared.bounded_by_world:  # the ranges of its fields follow from them
        there |= dict(run.table_budget)
    return sized(**there, **watched_as(protocol.world).room(flight)), again


class _Broken(Exception):
    """The property is violated, so that the trace ends."""


class Followed:
    """A run that the explorer's world follows step by step.

    Attributes:
        steps: the steps so far.
        late: messages lost in the simulator that the explorer still has in flight.
    """

    def __init__(self, model: Model, cluster: TraceCluster, again: set[Key], prop: Property | None) -> None:
        self.model, self.runner, self.prop, self.again = model, Runner(model), prop, again
        self.abstraction = Running(model, cluster, again)
        self.initial = state_json(self.runner.state)
        self.steps: list[Step] = []
        self.spent: dict[str, int] = {}
        self.late: list[tuple[bool, Transmission]] = []

    def seen(self, s: StateView) -> JsonState:
        """Return the simulator's state in the explorer's schema."""
        return self.abstraction.state(s, self.spent)

    def begun(self, words: StepListener, s: StateView) -> None:
        """Compare the initial states of the two worlds.

        Raises:
            TraceError: they differ.
        """
        self.words = self.abstraction.words = words
        words.again = self.again
        words.place = lambda up, m: place_of(self.runner, up, m)
        compare("initial state", self.initial, self.seen(s), SIMULATOR)

    def take(self, word: StepWord) -> Step:
        """Take a step.

        Raises:
            _Broken: the step violates the property.
        """
        if budget := self.model.spends(word.row, word.operands.get("which", 0)):
            self.spent[budget] = self.spent.get(budget, 0) + 1
        self.steps.append(self.runner.step(word.word))
        if self.prop is not None and not self.runner.keeps(self.prop):
            raise _Broken
        return self.steps[-1]

    def drop_late(self) -> JsonState:
        """Drop lost messages that the explorer can drop by now; return the state without those that it cannot."""
        for up, m in self.late[:]:
            word = drop_word(self.runner, up, m)
            if word is None or word.word in self.runner.possible():
                self.late.remove((up, m))
                if word is not None:
                    self.take(word)
        state = self.steps[-1].state
        if self.late:
            there = [name for name in ("to_leader", "to_follower") if name in state]
            state = {**state, **{name: copy.deepcopy(state[name]) for name in there}}
        for up, m in reversed(self.late):
            f, l = (m.source, m.destination) if up else (m.destination, m.source)
            del (state["to_leader"][f][l] if up else state["to_follower"][f])[place_of(self.runner, up, m)]
        return state

    def happens(self, s: StateView, word: StepWord) -> None:
        """Take the simulator's step in the explorer too, and compare the states.

        Raises:
            TraceError: the two worlds differ.
            _Broken: the step violates the property.
        """
        words, step = self.words, self.take(word)
        where = f"step {step.number} (tick {s.sim_moment})"
        compare(where, said_by_explorer(step), said_by(words), SIMULATOR)
        for f, l, up, number in words.dropped:
            ends = (f, l) if up else (l, f)
            self.late.append((up, Transmission("", {}, *ends, s.connection[f][l], number)))
        compare(where, {"state": self.drop_late()}, {"state": self.seen(s)}, SIMULATOR)
        words.clear()


def simulated_trace(run: Run, prop: Property | None = None, until: int | None = None) -> Trace:
    """Return a run as a trace; if a property is given, up to the step that violates it.

    Args:
        run: the run.
        prop: the property that the run violates.
        until: the tick before which the trace ends; by default the end of the run.

    Raises:
        TooLarge: the run is too large for any configuration.
        TraceError: the run does not violate the property, or the two worlds differ, by step and field.
    """
    end = run.rounds if until is None else until
    configuration, again = measured(run, end)
    model = model_of(configuration)
    cluster = TraceCluster.of(model, run.oracle, run.proposals)
    followed = Followed(model, cluster, again, prop)
    try:
        played(run, end, cluster, followed.happens, followed.begun)
        if prop is not None:
            raise TraceError(f"the run violates {prop.name} in none of its {counted(len(followed.steps), 'step')}")
    except _Broken:
        pass
    name, statement, source = ("", "", "") if prop is None else (prop.name, prop.statement, prop.source)
    steps, version = tuple(followed.steps), package_version("zabcheck")
    return Trace(model.configuration, name, statement, source, followed.initial, steps, version)


def drop_word(runner: Runner, up: bool, m: Transmission) -> StepWord | None:
    """Return the step word that drops a message, or None if it is no longer in flight.

    The explorer itself drops what is in transit to a process that begins to lead.
    """
    f, l = (m.source, m.destination) if up else (m.destination, m.source)
    flight = runner.flight
    assert isinstance(flight, Connections)
    here = flight.incarnation[f, l] == m.connection and m.number in flight.queue[f, l, "up" if up else "down"]
    if not here:
        return None
    ends = {"leader": l, "follower": f} if up else {"follower": f, "leader": l}
    return StepWord("drop_to_leader" if up else "drop_to_follower", {**ends, "place": place_of(runner, up, m)})


class Running(Abstraction):
    """Maps states of a run without a script to the explorer's schema.

    A copy that is never received does not count as in flight, and a datagram that was lost does.

    Attributes:
        again: the messages of which a copy is received later.
        words: the listener of the run.
    """

    words: StepListener

    def __init__(self, model: Model, cluster: TraceCluster, again: set[Key]) -> None:
        super().__init__(model, cluster)
        self.again = again

    def arrives(self, s: StateView, m: MessageView) -> bool:
        if s.sim_order != DUPLICATING:
            return super().arrives(s, m)
        up = m.way == UP
        taken = (s.taken_up if up else s.taken_down)[m.follower][m.leader]
        return m.number > taken or (m.follower, m.leader, up, m.connection, m.number) in self.again

    def datagrams_of(self, s: StateView) -> list[Datagram]:
        flying = [(self.words.numbers[e.slot], message_json(e.message)) for e in self.bag(s)]
        return sorted([*flying, *self.words.lost], key=lambda x: x[0])


def overtaken(lost: Datagram, m: Transmission) -> bool:
    """Return whether a datagram was sent between the same two processes as m, and before it."""
    number, x = lost
    return (x["source"], x["target"]) == (m.source, m.destination) and number < m.number


def place_of(runner: Runner, up: bool, m: Transmission) -> int:
    """Return the place at which the explorer has a message.

    Raises:
        TraceError: the explorer does not have it.
    """
    flight = runner.flight
    try:
        if isinstance(flight, Connections):
            ends = (m.source, m.destination) if up else (m.destination, m.source)
            return flight.queue[*ends, "up" if up else "down"].index(m.number)
        assert isinstance(flight, Datagrams)
        flying = [(x.source, x.target) for x in runner.state.in_flight]
        return list(zip(flying, flight.queue, strict=True)).index(((m.source, m.destination), m.number))
    except (KeyError, ValueError):
        what = f"{m.kind} number {m.number} from p{m.source} to p{m.destination}"
        raise TraceError(f"step {runner.taken + 1}, message: the explorer has no {what} in flight") from None


def said_by(words: StepListener) -> dict[str, Any]:
    """Return what the simulator's handlers did in an event; a datagram lost when it was sent counts as sent."""
    notes = words.notes
    sent = words.watched.as_sent(notes.sent)
    return {
        "message": None if words.received is None else asdict(words.received),
        "abcast": notes.abcast,
        "sent": [asdict(x) for x in sent],
        "delivered": [asdict(x) for x in notes.delivered],
        "accepted": [asdict(x) for x in notes.accepted],
        "established": [asdict(x) for x in notes.established],
        "observed": [asdict(x) for x in notes.observed],
    }


def said_by_explorer(step: Step) -> dict[str, Any]:
    """Return what the explorer's step did, in the form of `said_by`."""
    whole = step.as_dict()
    return {
        name: whole[name] for name in ("message", "abcast", "sent", "delivered", "accepted", "established", "observed")
    }
