"""The simulator under a script.

A script sets one thing up: it brings an entry of the heap forward, loses or repeats one, sets a
deadline or the oracle's answer, lets a client wait, or puts a fault on the schedule. Then the
simulator's own loop takes a tick. Nothing of the explorer's `enabled` and `apply` is used here.
"""

from __future__ import annotations

from typing import Any

from traces.abstraction import Abstraction, Entry, Stage
from traces.listener import Call, Listener
from traces.runner import describe_word, label_of
from traces.trace import Step, StepWord, TraceError, Transmission
from zabspec.language import reference
from zabspec.language.reference import ERRORS, StateView
from zabspec.model import NETWORKS, Model
from zabspec.simulator.connections import DOWN_WAY, NOTICE_DOWN, NOTICE_UP, UP
from zabspec.simulator.loop import FAULTS
from zabspec.worlds.steps import PROCESSES

__all__ = ["ScriptedStage"]


class ScriptedStage:
    """A model's stage on which a script says what happens.

    Attributes:
        state: the simulator's state.
        spent: by budget, how much of it the steps so far have used up.
        taken: steps so far.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.stage = Stage.of(model)
        self.program = self.stage.program
        program = self.program
        self.names: dict[str, Any] = reference.load(program.layout, program.namespace, program.types, program.steps)
        self.listener = Listener(self.names, self.stage)
        self.abstraction = Abstraction(model, self.stage)
        self.state = s = StateView(self.program.layout)
        self.spent: dict[str, int] = {}
        self.taken = 0
        s.scripted = True
        if model.protocol.connections:
            s.order = NETWORKS[model.configuration.network]
        self.names["start"](s, 0, 0, 0)
        self.abstract = self.abstraction.state(s, self.spent)

    def step(self, word: StepWord) -> Step:
        """Set a step up, let the simulator take its tick, and say what it did.

        Raises:
            TraceError: the simulator does not take the step, or ends in an error.
        """
        number, s = self.taken + 1, self.state
        place = f"step {number}, word: {describe_word(word)}"
        self.listener.clear()
        s.steps = s.accepts = s.accept_epoch = 0
        s.choice, s.choices = word.choice, 1
        self.spend(word, place)
        try:
            message, expected = self.set_up(word)
            self.names["tick"](s)
        except _Refused as refused:
            raise TraceError(f"{place} is not taken by the simulator: {refused}") from None
        except ERRORS as error:
            raise TraceError(f"{place} fails in the simulator, as {error}") from error
        s.client = -1
        self.check_calls(word, place, expected)
        if word.choice >= max(1, s.choices):
            raise TraceError(f"{place} takes alternative {word.choice}, and the simulator had {s.choices}")
        before, self.abstract = self.abstract, self.see(place)
        if word.kind in ("lose_connection", "partition") and self.abstract["link"] == before["link"]:
            raise TraceError(f"{place} is not taken by the simulator: there was no open connection to lose")
        self.taken = number
        notes = self.listener.notes
        return Step(
            number,
            word,
            label_of(self.program, word, s.steps),
            word.process,
            self.listener.received or message,
            notes.abcast,
            tuple(notes.sent),
            tuple(notes.delivered),
            tuple(notes.accepted),
            tuple(notes.established),
            self.abstract,
        )

    def spend(self, word: StepWord, place: str) -> None:
        """Count what the step costs."""
        budget = word.row.spends
        if budget:
            self.spent[budget] = self.spent.get(budget, 0) + 1
            most = getattr(self.model.configuration, budget)
            if self.spent[budget] > most:
                raise TraceError(f"{place} is not taken by the simulator: the question has {budget} {most}")

    def see(self, place: str) -> dict[str, Any]:
        """The state as the explorer would have it."""
        try:
            return self.abstraction.state(self.state, self.spent)
        except ValueError as error:
            raise TraceError(f"{place}: the simulator's state is none of the explorer's: {error}") from None

    # --- what a step sets up -----------------------------------------------------------------------

    def set_up(self, word: StepWord) -> tuple[Transmission | None, list[Call]]:
        """Set one thing up for the next tick; returns the message that is dropped, if one is, and
        which handlers must run."""
        s, o, kind, row = self.state, word.operands, word.kind, word.row
        nodes = range(self.model.configuration.nodes)
        for name in PROCESSES & o.keys():
            if o[name] not in nodes:
                raise _Refused(f"there is no process {o[name]}")
        if self.model.protocol.world not in row.worlds:
            raise _Refused(f"{self.model.configuration.protocol} has no such step")
        calls = [call_of(word)] if row.runs else []
        if row.message == "in_flight":
            self.datagram(o["process"], o["source"], o["place"])
            return None, calls
        if row.message:
            return self.mail(word, calls)
        p = o.get("process", 0)
        if kind in ("leader_learns", "follower_learns"):
            self.notice(o["follower"], o["leader"], kind == "leader_learns")
        elif kind == "oracle":
            s.oracle_due[p], s.client = s.now, o["leader"]
        elif kind == "abcast":
            s.waiting, s.client = 1, p
        elif kind in ("action", "environment"):
            s.doing, s.client = o["which"] + 1, o.get("process", -1)
        elif kind == "election_timeout":
            s.deadline[p] = s.now
        elif kind == "heartbeat":
            s.heartbeat_due[p] = s.now
        else:
            self.fault(word)
        return None, calls

    def mail(self, word: StepWord, calls: list[Call]) -> tuple[Transmission | None, list[Call]]:
        """A message over a connection arrives, once or twice, or is lost."""
        s, row = self.state, word.row
        f, l, place = word.operands["follower"], word.operands["leader"], word.operands.get("place", 0)
        queue = self.abstraction.over(s, f, l, UP if row.message == "to_leader" else DOWN_WAY)
        if place >= len(queue):
            raise _Refused("there is no such message in flight")
        entry = queue[place]
        if row.loses:
            message = self.listener.transmission(entry.message)
            self.names["lose_mail"](s, entry.place)
            return message, []
        self.names["repeat_mail" if row.keeps else "bring_forward"](s, entry.place)
        if "point" not in word.operands:
            return None, calls
        s.crash_at = word.operands["point"]
        return None, [*calls, ("on_crash", (f,))]

    def datagram(self, p: int, source: int, place: int) -> None:
        """A datagram arrives. On an ordered network those that it overtakes are lost first."""
        bag = self.abstraction.bag(self.state)
        if place >= len(bag):
            raise _Refused("there is no such message in flight")
        entry = bag[place]
        if (entry.message.source, entry.message.target) != (source, p):
            raise _Refused(f"the message there is from p{entry.message.source} to p{entry.message.target}")
        if self.model.configuration.network == "ordered":
            while overtaken := [
                e
                for e in self.abstraction.bag(self.state)
                if e.seq < entry.seq and (e.message.source, e.message.target) == (source, p)
            ]:
                self.names["lose_mail"](self.state, overtaken[0].place)
        self.names["bring_forward"](self.state, self.found(entry.seq).place)

    def found(self, seq: int) -> Entry:
        """The entry sent under a number."""
        return next(e for e in self.abstraction.bag(self.state) if e.seq == seq)

    def notice(self, f: int, l: int, at_leader: bool) -> None:
        """The notice of a loss arrives at one end."""
        s, way = self.state, NOTICE_UP if at_leader else NOTICE_DOWN
        for entry in self.abstraction.bag(s):
            m = entry.message
            if (m.follower, m.leader, m.way, m.connection) == (f, l, way, s.connection[f][l]):
                self.names["bring_forward"](s, entry.place)
                return
        raise _Refused("no notice of a loss is on its way")

    def fault(self, word: StepWord) -> None:
        """Put a fault on the schedule, for this tick. A partition cuts every way across and heals."""
        o, kind = word.operands, word.kind
        nodes = range(self.model.configuration.nodes)
        if kind == "partition":
            if o["side"] & 1 or o["side"] >> len(nodes):
                raise _Refused("a cut is named by its side without p0")
            across = [(a, b) for a in nodes for b in nodes if (o["side"] >> a & 1) != (o["side"] >> b & 1)]
            self.schedule([("cut", *way) for way in across] + [("heal", *way) for way in across])
        elif kind == "lose_connection":
            self.schedule([("lose", o["follower"], o["leader"])])
        elif kind in FAULTS:
            self.schedule([(kind, o["process"], -1)])
        else:
            raise _Refused("it has no such step")

    def schedule(self, faults: list[tuple[str, int, int]]) -> None:
        """The faults of this tick; those of earlier ticks have happened."""
        s = self.state
        s.faults, s.faults_done = len(faults), 0
        for k, (kind, a, b) in enumerate(faults):
            s.fault_at[k], s.fault_kind[k], s.fault_a[k], s.fault_b[k] = s.now, FAULTS[kind], a, b

    # --- what it did -------------------------------------------------------------------------------

    def check_calls(self, word: StepWord, place: str, expected: list[Call]) -> None:
        """
        Raises:
            TraceError: other handlers ran than the step says.
        """
        calls = self.listener.calls
        if "point" in word.operands and calls == expected and not self.listener.crashed_inside:
            raise TraceError(f"{place} is not taken by the simulator: its handler has no such point")
        if calls == expected:
            return
        if not calls:
            raise TraceError(f"{place} is not taken by the simulator: {word.row.refused}")
        raise TraceError(f"{place}: the simulator ran {called(calls)}, and not {called(expected) or 'nothing'}")


def call_of(word: StepWord) -> Call:
    """The handler that a step begins with, and what it is given."""
    row = word.row
    given = [word.operands[name] for name in row.given]
    return row.runs, (*given, *([] if row.timer is None else [row.timer]))


def called(calls: list[Call]) -> str:
    """Handlers with the processes they were given."""
    return ", ".join(f"{name}({', '.join(map(str, who))})" for name, who in calls)


class _Refused(Exception):
    """Why a step cannot be set up."""
