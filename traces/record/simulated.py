"""Convert a simulated run to an ordinary trace.

The simulator runs by itself in CPython and writes the word of each of the explorer's steps that it takes
(`step_taken`). The explorer takes each step at once, and its state must equal the simulator's, abstracted. So a run of
the simulator can be explained, minimised, exported and replayed like any counterexample, and each such trace compares
the two worlds.

A datagram that the simulator drops is, for the explorer, one that never arrives: it stays in flight, and on an ordered
network until a later one arrives.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from invariants import Property
from traces.explain.names import counted
from traces.record.flight import Connections, Datagrams
from traces.record.runner import Runner, trace_of
from traces.record.trace import JsonState, Step, StepWord, Trace, TraceError, model_of
from traces.record.values import message_json, message_said, state_json
from traces.record.verification import compare
from traces.record.worlds import watched_as
from traces.replay.abstraction import Abstraction, Datagram, TraceCluster
from zabspec.language.python.reference import MessageView, StateView
from zabspec.model import LIMITS, ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.connections import DUPLICATING, UP
from zabspec.simulator.run import Run, SimulationError, Simulator
from zabspec.starts import Schedule
from zabspec.worlds.datagrams import ORDERED
from zabspec.worlds.steps import BUDGETS, DATAGRAMS, KINDS, NUMBERED

SIMULATOR = "the simulator gives"
MOST_EPOCHS = 200

Ends = tuple[int, int, bool]  # follower, leader, whether to the leader; of a datagram source, target, True
Key = tuple[Ends, int, int]  # a message: its ends, its connection (0 for a datagram) and its number


class TooLarge(TraceError):
    """A run is larger than any configuration allows; a shorter part of it may fit."""


class StepWords:
    """Passes on the step words that a simulator in the CPython world writes.

    Attributes:
        happens: a function called after each step with the state, the word, whose place is to be filled in, and the
            message that is received, if any.
        dropped: what the network has lost in the step, with the kind of step that loses it.
        lost: the datagrams that were dropped and would be in flight, each with its number.
    """

    def __init__(self, simulator: Simulator, happens: Callable[[StateView, StepWord, Key | None], None]) -> None:
        self.happens = happens
        self.dropped: list[tuple[str, Key]] = []
        self.lost: list[Datagram] = []
        simulator.names["step_taken"] = self.step_taken
        if simulator.cluster.parts_of.world.name == DATAGRAMS:
            simulator.names["drop"] = self.drop

    def drop(self, s: StateView, p: int, q: int, m: MessageView) -> None:
        """Keep a datagram that is dropped as it is sent, when it has no number yet, or as it arrives."""
        self.lost.append((m.sim_number or s.sim_sent[p][q], {**message_said(m), "source": p, "target": q}))

    def step_taken(self, s: StateView, kind: int, a: int, b: int, c: int) -> None:
        """Pass on a step, or keep the loss of a message until the step that sends it has ended."""
        row = NUMBERED[kind]
        word = StepWord(row.name, {name: x for name, x in zip(row.operands, (a, b, c), strict=False) if name})
        ends: Ends = (b, a, True) if row.operands[0] != "follower" else (a, b, False)
        if row.loses:
            self.dropped.append((row.name, (ends, s.connection[ends[0]][ends[1]], c)))
            return
        message: Key | None = None
        if row.message:
            m = s.sim_flight[c]
            message = ends, *((0, m.sim_number) if row.name == "receive" else (m.connection, m.number))
            if row.name == "receive" and s.sim_order == ORDERED:  # what was sent before it is overtaken
                self.lost = [x for x in self.lost if (x[1]["source"], x[1]["target"]) != (b, a) or x[0] >= message[2]]
        self.happens(s, replace(word, choice=s.choice if s.choices > 1 else 0), message)
        self.begin(s)

    def begin(self, s: StateView) -> None:
        """Begin a step."""
        s.choices, s.steps, s.accepts, s.accept_epoch = 1, 0, 0, 0
        self.dropped.clear()


def played(words: StepWords, simulator: Simulator, run: Run, until: int, begun: Callable[[StateView], None]) -> None:
    """Play a run in the CPython world, and pass on its steps.

    Args:
        until: the tick before which it ends.
        begun: given the state before the first tick.

    Raises:
        TraceError: the run ends in an error.
    """
    try:
        simulator.begin(run)
        words.begin(simulator.state)
        begun(simulator.state)
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
    receipts: Counter[Key] = Counter()

    def happens(s: StateView, word: StepWord, message: Key | None) -> None:
        nonlocal flight, abcasts
        abcasts = s.abcasts if protocol.transactions else 0
        spent["drops"] += len(words.dropped)
        if message is not None:
            receipts[message] += 1
        if word.row.spends:  # what the protocol declares itself is as the run has it
            spent[word.row.spends] += 1
        flight = max(flight, s.sim_queued + len(words.lost) + 1)

    most = LIMITS["txns"][1]
    txns = max(1, min(run.proposals, most))

    protocol = PROTOCOLS[run.protocol]

    def sized(**more: Any) -> Configuration:
        given = {**({"txns": txns} if protocol.transactions else {}), **more}
        try:
            return Configuration(
                run.protocol, run.variant, run.nodes, network=run.network, start=run.start, quorums=run.quorums,
                budgets=run.budgets, parameters=run.parameters, **given,
            )  # fmt: skip
        except ConfigError as error:
            raise TooLarge(f"the run is larger than every configuration: {error}") from None

    try:
        room = {"max_epoch": MOST_EPOCHS} if protocol.declared.bounded_by_world else dict(run.table_budget)
        simulator = Simulator(TraceCluster.of(model_of(sized(**room)), run.oracle, run.proposals), "interpret")
        words = StepWords(simulator, happens)
        played(words, simulator, run, until, lambda _: None)
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


class Followed(Abstraction):
    """A run that the explorer's world follows step by step; maps states of the run to the explorer's schema.

    A copy that is never received does not count as in flight, and a datagram that was lost does.

    Attributes:
        again: the messages of which a copy is received later.
        steps: the steps so far.
        late: messages lost in the simulator that the explorer still has in flight.
    """

    def __init__(self, model: Model, simulator: Simulator, again: set[Key], prop: Property | None) -> None:
        super().__init__(model, simulator.cluster)
        self.runner, self.prop, self.again = Runner(model), prop, again
        self.words = StepWords(simulator, self.happens)
        self.initial = state_json(self.runner.state)
        self.steps: list[Step] = []
        self.spent: dict[str, int] = {}
        self.received: set[Key] = set()
        self.late: list[tuple[str, Key]] = []

    def arrives(self, s: StateView, m: MessageView) -> bool:
        if s.sim_order != DUPLICATING:
            return super().arrives(s, m)
        up = m.way == UP
        taken = (s.taken_up if up else s.taken_down)[m.follower][m.leader]
        return m.number > taken or ((m.follower, m.leader, up), m.connection, m.number) in self.again

    def datagrams_of(self, s: StateView) -> list[Datagram]:
        flying = [(e.message.sim_number, message_json(e.message)) for e in self.bag(s)]
        return sorted([*flying, *self.words.lost], key=lambda x: x[0])

    def begun(self, s: StateView) -> None:
        """Compare the initial states of the two worlds.

        Raises:
            TraceError: they differ.
            _Broken: the initial state violates the property.
        """
        compare("initial state", self.initial, self.state(s, self.spent), SIMULATOR)
        self.judge()

    def take(self, word: StepWord) -> None:
        """Take a step.

        Raises:
            _Broken: the step violates the property.
        """
        if budget := self.model.spends(word.row, word.operands.get("which", 0)):
            self.spent[budget] = self.spent.get(budget, 0) + 1
        self.steps.append(self.runner.step(word.word))
        self.judge()

    def judge(self) -> None:
        """Judge the state that the run has come to.

        Raises:
            _Broken: it, or the step to it, violates the property.
        """
        if self.prop is not None and not self.runner.keeps(self.prop):
            raise _Broken

    def placed(self, kind: str, message: Key) -> StepWord:
        """Return the word of a step with a message, at the place where the explorer has it.

        Raises:
            TraceError: the explorer does not have it.
        """
        (a, b, up), connection, number = message
        names = [name for name in KINDS[kind].operands if name != "place"]
        operands = dict(zip(names, (b, a) if up else (a, b), strict=True))
        flight = self.runner.flight
        try:
            if isinstance(flight, Connections):
                place = flight.queue[a, b, "up" if up else "down"].index((connection, number))
            else:
                assert isinstance(flight, Datagrams)
                flying = [(x.source, x.target) for x in self.runner.state.in_flight]
                place = list(zip(flying, flight.queue, strict=True)).index(((a, b), number))
        except (KeyError, ValueError):
            source, target = (a, b) if up else (b, a)
            what = f"message number {number} from p{source} to p{target}"
            raise TraceError(f"step {self.runner.taken + 1}: the explorer has no {what} in flight") from None
        return StepWord(kind, {**operands, "place": place})

    def is_in_flight(self, message: Key) -> bool:
        """Return whether the explorer, which drops what is in transit to one that begins to lead, has a message."""
        (f, l, up), connection, number = message
        flight = self.runner.flight
        assert isinstance(flight, Connections)
        return (connection, number) in flight.queue[f, l, "up" if up else "down"]

    def drop_late(self) -> JsonState:
        """Drop lost messages that the explorer can drop by now; return the state without those that it cannot."""
        for kind, message in self.late[:]:
            word = self.placed(kind, message) if self.is_in_flight(message) else None
            if word is None or word.word in self.runner.possible():
                self.late.remove((kind, message))
                if word is not None:
                    self.take(word)
        state = self.steps[-1].state
        if self.late:
            there = [name for name in ("to_leader", "to_follower") if name in state]
            state = {**state, **{name: copy.deepcopy(state[name]) for name in there}}
        for kind, message in reversed(self.late):
            (f, l, up), _, _ = message
            place = self.placed(kind, message).operands["place"]
            del (state["to_leader"][f][l] if up else state["to_follower"][f])[place]
        return state

    def happens(self, s: StateView, word: StepWord, message: Key | None) -> None:
        """Take the simulator's step in the explorer too, and compare the states.

        Raises:
            TraceError: the two worlds differ.
            _Broken: the step violates the property.
        """
        if message is not None:
            repeats = message in self.again and message not in self.received
            if message in self.received:
                self.again.discard(message)  # its last copy
            self.received.add(message)
            placed = self.placed(f"repeat_{word.kind}" if repeats else word.kind, message)
            word = replace(placed, choice=word.choice)
        self.take(word)
        self.late += self.words.dropped
        where = f"step {self.steps[-1].number} (tick {s.sim_moment})"
        compare(where, {"state": self.drop_late()}, {"state": self.state(s, self.spent)}, SIMULATOR)


def begun_like(model: Model, simulator: Simulator, run: Run) -> Model:
    """Return the model of runs from the state in which a simulated run begins.

    Raises:
        TraceError: no run of the model begins in it.
    """
    starts = model.program.starts
    if len(starts) == 1:
        return model
    simulator.begin(run)
    begun, layout = Abstraction(model, simulator.cluster).state(simulator.state, {}), model.program.layout
    for data, number in starts.items():
        if state_json(StateView(layout, data)) == begun:
            return model.begun_as(Schedule.of((), number))
    raise TraceError("the simulated run begins in a state that is not among the initial states of the explorer")


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
    simulator = Simulator(TraceCluster.of(model, run.oracle, run.proposals), "interpret")
    model = begun_like(model, simulator, run)
    followed = Followed(model, simulator, again, prop)
    try:
        played(followed.words, simulator, run, end, followed.begun)
        if prop is not None:
            raise TraceError(f"the run violates {prop.name} in none of its {counted(len(followed.steps), 'step')}")
    except _Broken:
        pass
    return trace_of(model, prop, followed.initial, followed.steps)
