"""Run the simulator under a script.

A script prepares one event: it brings an entry of the heap forward, loses or repeats one, sets a deadline or the
oracle's answer, queues a client's proposal, or schedules a fault. Then the simulator's own loop takes a tick. The
explorer's `enabled` and `apply` are not used here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from traces.record.instrumented import Refused, up
from traces.record.listener import Call, Listener
from traces.record.runner import describe_word, failed_step, label_of
from traces.record.trace import Step, StepWord, TraceError, Transmission
from traces.record.worlds import watched_as
from traces.replay.abstraction import Abstraction, TraceCluster
from zabspec.authoring.glue import FAILING
from zabspec.language.python import reference
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Model
from zabspec.simulator.loop import FAULTS
from zabspec.worlds.steps import PROCESSES


class ScriptedSimulator:
    """A simulator of a model whose events a script chooses.

    Attributes:
        state: the simulator's state.
        spent: by budget, how much of it the steps so far have used up.
        taken: steps so far.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.watched = watched_as(model.world)
        self.cluster = TraceCluster.of(model)
        self.program = self.cluster.program
        program = self.program
        self.names: dict[str, Any] = reference.load(program.layout, program.namespace, program.types, program.steps)
        self.listener = Listener(self.names, self.cluster)
        self.abstraction = Abstraction(model, self.cluster)
        self.state = s = StateView(self.program.layout)
        self.taken = 0
        s.sim_scripted = True
        s.sim_order = model.world.networks[model.configuration.network]
        self.names["start"](s, 0, 0, 0)
        self.spent = self.spent_before()
        self.abstract = self.abstraction.state(s, self.spent)

    def spent_before(self) -> dict[str, int]:
        """Return what the start state has already used of each budget that the simulator has."""
        given, fields = self.model.configuration.budget, self.program.layout.fields
        left = {name: getattr(self.state, f"{name}_left") for name in given if f"{name}_left" in fields}
        return {name: given[name] - n for name, n in left.items() if n != given[name]}

    def step(self, word: StepWord) -> Step:
        """Prepare a step, let the simulator take its tick, and return what it did.

        Raises:
            TraceError: the simulator does not take the step, or ends in an error.
        """
        number, s = self.taken + 1, self.state
        place = f"step {number}, word: {describe_word(word)}"
        self.listener.clear()
        s.steps = s.accepts = s.accept_epoch = 0
        s.choice, s.choices = word.choice, 1
        self.spend(word, place)
        message: Transmission | None = None
        try:
            message, expected = self.set_up(word)
            self.names["tick"](s)
            if word.row.breaks_off:
                self.names["end_inside"](s, word.operands["process"])
                self.names["crash"](s, word.operands["process"])
        except Refused as refused:
            raise TraceError(f"{place} is not taken by the simulator: {refused}") from None
        except ERRORS as error:
            label, message = label_of(self.program, word, s.steps), self.listener.received or message
            where = " in the simulator"
            raise failed_step(self.model, number, word, label, message, self.abstract, error, where) from error
        s.sim_client = -1
        self.check_calls(word, place, expected)
        if word.choice >= max(1, s.choices):
            raise TraceError(f"{place} takes alternative {word.choice}, and the simulator had {s.choices}")
        before, self.abstract = self.abstract, self.see(place)
        if word.kind in ("lose_connection", "partition") and self.abstract["link"] == before["link"]:
            raise TraceError(f"{place} is not taken by the simulator: there was no open connection to lose")
        self.taken = number
        label = label_of(self.program, word, s.steps)
        return self.listener.notes.step(number, word, label, self.listener.received or message, self.abstract)

    def spend(self, word: StepWord, place: str) -> None:
        """Count what the step costs against its budgets."""
        steps = [word, *([word.base] if word.base is not word else [])]
        for budget in filter(None, (self.model.spends(x.row, x.operands.get("which", 0)) for x in steps)):
            self.spent[budget] = self.spent.get(budget, 0) + 1
            most = self.model.configuration.budget[budget]
            if self.spent[budget] > most:
                raise TraceError(f"{place} is not taken by the simulator: the configuration has {budget} {most}")

    def see(self, place: str) -> dict[str, Any]:
        """Return the state in the explorer's schema.

        Raises:
            TraceError: the state does not fit it; the message names `place`.
        """
        try:
            return self.abstraction.state(self.state, self.spent)
        except ValueError as error:
            raise TraceError(f"{place}: the simulator's state is not a state of the explorer: {error}") from None

    # --- what a step sets up -----------------------------------------------------------------------

    def set_up(self, word: StepWord) -> tuple[Transmission | None, list[Call]]:
        """Prepare one event for the next tick.

        Returns:
            The message that is dropped, if any, and the handlers that must run.

        Raises:
            Refused: the step is not possible here.
        """
        o, row = word.operands, word.row
        for name in PROCESSES & o.keys():
            if o[name] >= self.model.configuration.nodes:
                raise Refused(f"there is no process {o[name]}")
        if self.watched.world.name not in row.worlds:
            raise Refused(f"{self.model.configuration.protocol} has no such step")
        if row.breaks_off:
            return self.set_up_inside(word)
        calls = [call_of(word)] if row.runs else []
        if word.kind == "outage":
            calls = [("on_crash", (p,)) for p in up(self)]
        if "quorum" in o:  # who elects also follows
            calls += [("on_follow", (f, o["leader"])) for f in range(8) if o["quorum"] >> f & 1]
        if "point" in o and word.process is not None:
            self.state.crash_at = o["point"]
            calls.append(("on_crash", (word.process,)))
        return self.watched.set_up(self, word), calls

    def set_up_inside(self, word: StepWord) -> tuple[Transmission | None, list[Call]]:
        """Prepare a step that breaks off: a base step during which its process fails.

        Returns:
            The message that is dropped, if any, and the handlers that must run.

        Raises:
            Refused: the step cannot break off.
        """
        p, base = word.operands["process"], word.base
        if "unforced" not in self.program.layout.fields or base is word:
            raise Refused("no process has anything on a disk, or the step cannot break off")
        if base.row.by or base.row.spends in FAILING:
            raise Refused("no process can fail inside that step")
        if base.row.message == "in_flight":
            source = self.watched.source(self, base)
            base = replace(base, operands={**base.operands, "source": source})
        dropped, calls = self.set_up(base)
        self.names["begin_inside"](self.state, word.row.number, p)
        others = [q for q in up(self) if q != p] if word.row.spends == "outages" else []
        return dropped, [*calls, *((word.row.runs, (q,)) for q in (*others, p))]

    def schedule(self, faults: list[tuple[str, int, int]]) -> None:
        """Schedule the faults of this tick; those of earlier ticks have happened."""
        s = self.state
        s.sim_faults, s.sim_faults_done = len(faults), 0
        for k, (kind, a, b) in enumerate(faults):
            s.sim_fault_at[k], s.sim_fault_kind[k], s.sim_fault_a[k], s.sim_fault_b[k] = (
                s.sim_moment,
                FAULTS[kind],
                a,
                b,
            )

    # --- what it did -------------------------------------------------------------------------------

    def check_calls(self, word: StepWord, place: str, expected: list[Call]) -> None:
        """Check that the simulator ran exactly the expected handlers.

        Raises:
            TraceError: it ran others.
        """
        ran = self.listener.calls  # a recovery right behind a crash belongs to it (`starts_at_once`)
        calls = [c for k, c in enumerate(ran) if c[0] != "on_recovery" or ran[:k][-1:] != [("on_crash", c[1])]]
        if "point" in word.operands and calls == expected and not self.listener.crashed_inside:
            raise TraceError(f"{place} is not taken by the simulator: its handler has no such point")
        if calls == expected:
            return
        if not calls:
            raise TraceError(f"{place} is not taken by the simulator: {word.row.refused}")
        raise TraceError(f"{place}: the simulator ran {called(calls)}, and not {called(expected) or 'nothing'}")


def call_of(word: StepWord) -> Call:
    """Return the first handler that a step runs, with its arguments."""
    row = word.row
    given = [word.operands[name] for name in row.given]
    return row.runs, (*given, *([] if row.timer is None else [row.timer]))


def called(calls: list[Call]) -> str:
    """Describe handler calls, with their process arguments."""
    return ", ".join(f"{name}({', '.join(map(str, who))})" for name, who in calls)
