"""Verify a run in which a process starves, in CPython alone: no graph and no machine code takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from invariants.binding import full_namespace
from traces.record.lasso import Lasso
from traces.record.trace import Trace, TraceError
from zabspec.language.layout.derive import in_order
from zabspec.language.python import reference
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.live.phase import FairClass, StablePhase, class_of, is_strong, stable_phase
from zabspec.live.worlds import IN_WORLDS
from zabspec.model import ConfigError, Model
from zabspec.properties import ProgressProperty
from zabspec.worlds.steps import BUDGETS, HEARTBEAT, NUMBERED


class NotFair(TraceError):
    """A run does not have the claimed lasso; the message says why in one sentence."""


class StableWorld:
    """A model in CPython, with its stable phase."""

    def __init__(self, model: Model, phase: StablePhase) -> None:
        self.model, self.phase = model, phase
        program = model.program
        names = {**phase.constants, **full_namespace(model), **phase.functions}
        self.each = {f.name for f in IN_WORLDS[model.world.name].fair if f.each}
        self.names: dict[str, Any] = reference.load(program.layout, names, program.types, program.steps)

    @property
    def nodes(self) -> range:
        return range(self.model.configuration.nodes)

    def choices(self, s: StateView, named: int) -> dict[int, str]:
        """Return the step words that are possible in the stable phase, without their choices, and what takes each.

        Args:
            s: the state.
            named: the process that the oracle names; -1 for none.
        """
        names, bare, out = self.names, without_budgets(s), [0] * (self.model.most_steps + 1)
        names["enabled"](bare, out)
        words = {word: "apply" for word in out[1 : out[0] + 1] if names["stable_takes"](bare, word, named)}
        gives_up = IN_WORLDS[self.model.world.name].gives_up
        for p in self.nodes:
            if names["stable_gives_up"](bare, p, named):
                words[gives_up << 24 | p << 16] = "stable_give_up"
            if names["stable_beats"](bare, p):
                words[HEARTBEAT << 24 | p << 16] = "stable_beat"
        return words

    def possible(self, s: StateView, named: int) -> frozenset[FairClass]:
        """Return the classes of fair steps that are possible and change something, or are due and not possible yet."""
        names, bare = self.names, without_budgets(s)
        fair = ((word, take, self.class_in(s, word)) for word, take in self.choices(s, named).items())
        found = (c for word, take, c in fair if c is not None and self.changes(s, word, take))
        waits, gives_up, due, beats = (
            names[name] for name in ("stable_waits", "stable_gives_up", "stable_beat_due", "stable_beats")
        )
        later = {FairClass("own", p) for p in self.nodes if waits(bare, p, named) and not gives_up(bare, p, named)}
        later |= {FairClass("heartbeat", p) for p in self.nodes if due(bare, p) and not beats(bare, p)}
        return frozenset(found) | later

    def changes(self, s: StateView, word: int, take: str) -> bool:
        """Return whether some alternative of a step changes something."""
        choice, choices = 0, 1
        while choice < choices:
            after = s.copy()
            self.names[take](after, word | choice << 32)
            if not closes(s, after):
                return True
            choice, choices = choice + 1, max(choices, after.choices)
        return False

    def class_in(self, s: StateView, word: int) -> FairClass | None:
        """Return the class of a step that is possible in a state; for a receipt from a bag it includes the message."""
        found = class_of(self.model, word)
        if found is not None and found.kind in self.each:
            return replace(found, message=bytes(s.in_flight[word & 255].raw()))
        return found

    def begins(self, s: StateView, named: int) -> bool:
        return bool(self.names["stable_begins"](without_budgets(s), named))

    def lasts(self, s: StateView, named: int) -> bool:
        return bool(self.names["stable_lasts"](without_budgets(s), named))

    def waits(self, goal: ProgressProperty, s: StateView, process: int, named: int) -> bool:
        if process not in self.model.may_wait(goal):
            return False
        given: Sequence[int] = (process, named) if goal.names_one else (process,)
        return bool(self.names[goal.called](without_budgets(s), *given))


def without_budgets(s: StateView) -> StateView:
    """Return a copy of a state with all budgets of the world used up."""
    out = s.copy()
    for name in BUDGETS:
        if f"{name}_left" in out.layout.fields:
            setattr(out, f"{name}_left", 0)
    return out


def closes(first: StateView, last: StateView) -> bool:
    """Return whether two states are equal, apart from the world's budgets."""
    one, other = (in_order(s.layout, without_budgets(s).key()) for s in (first, last))
    return bool(one == other)


def certify(trace: Trace) -> None:
    """Check the lasso of a trace; a trace without a lasso passes.

    Raises:
        NotFair: the run does not have this lasso.
    """
    if trace.lasso is not None:
        try:
            hold_fair(trace.model, trace.schedule, trace.lasso)
        except (*ERRORS, ConfigError) as problem:
            raise NotFair(f"lasso: {problem}") from None


def hold_fair(model: Model, schedule: Sequence[int], lasso: Lasso, budget: Mapping[str, int] | None = None) -> None:
    """Check that a run has a fault phase and a fair stable phase, and that a process starves in its loop.

    Args:
        budget: the budgets of the fault phase; by default the model's.

    Raises:
        NotFair: the run is not of that form.
        ConfigError: the protocol declares no progress property.
    """
    model = model.begun_as(schedule)
    phase = stable_phase(model)
    goal = goal_of(phase, lasso)
    named = who_is_named(model, phase, lasso)
    begins = lasso.begins(len(schedule))
    if not 0 <= lasso.stabilization_time <= begins <= len(schedule) or begins == lasso.loop == len(schedule):
        raise NotFair("lasso: the loop begins before the stabilization time, or has no step")
    world, s = StableWorld(model, phase), model.program.initial()
    left = dict(model.configuration.budget if budget is None else budget)
    loop = Loop()
    for k, word in enumerate(schedule):
        if k == lasso.stabilization_time and not world.begins(s, named):
            raise NotFair(f"lasso: the stable phase cannot begin after {k} steps")
        if k >= lasso.stabilization_time:
            if word & 0xFFFFFFFF not in world.choices(s, named):
                raise NotFair(f"lasso: step {k + 1} is not possible in the stable phase")
        else:
            spend(model, word, left, k + 1)
        before, which = s.copy(), world.class_in(s, word) if k >= begins else None
        world.names["apply"](s, word)
        if k >= begins:
            loop.add(world, goal, before, lasso.process, named, k)
            loop.taken |= set() if closes(before, s) else {which}
        if k >= lasso.stabilization_time and not world.lasts(s, named):
            raise NotFair(f"lasso: after step {k + 1} the assumptions no longer hold")
    if lasso.stabilization_time == len(schedule) and not world.begins(s, named):
        raise NotFair("lasso: the stable phase cannot begin at the end of the run")
    loop.add(world, goal, s, lasso.process, named, len(schedule))
    loop.judge(model)


def goal_of(phase: StablePhase, lasso: Lasso) -> ProgressProperty:
    """Return the progress property that a lasso names.

    Raises:
        NotFair: there is no such property, or its statement differs.
    """
    goal = next((g for g in phase.goals if g.name == lasso.progress_property), None)
    if goal is None:
        there = ", ".join(g.name for g in phase.goals)
        raise NotFair(f"lasso: there is no progress property {lasso.progress_property!r}; there are {there}")
    said, true = (lasso.statement, lasso.source), (goal.statement, goal.source)
    for name, a, b in zip(("statement", "source"), said, true, strict=True):
        if a != b:
            raise NotFair(f"lasso, {name}: the trace says {a!r}, the progress property {b!r}")
    return goal


def who_is_named(model: Model, phase: StablePhase, lasso: Lasso) -> int:
    """Return the process that the oracle names in a lasso; -1 if the protocol has no oracle.

    Raises:
        NotFair: the lasso names a process where none may be, or none where one must be, or there is no such process.
    """
    if phase.names_one != (lasso.named is not None):
        raise NotFair(f"lasso, named: in this protocol {'a process' if phase.names_one else 'nobody'} is named")
    for name, p in (("named", lasso.named), ("process", lasso.process)):
        if p is not None and not 0 <= p < model.configuration.nodes:
            raise NotFair(f"lasso, {name}: there is no process {p}")
    return -1 if lasso.named is None else lasso.named


def spend(model: Model, word: int, left: dict[str, int], number: int) -> None:
    """Subtract what a step of the fault phase spends from the budgets.

    Raises:
        NotFair: the budget is used up.
    """
    if spent := model.spends(NUMBERED[word >> 24 & 255], word & 255):
        left[spent] -= 1
        if left[spent] < 0:
            raise NotFair(f"lasso: step {number} needs a budget that is used up")


@dataclass
class Loop:
    """The states and steps of a loop, or the one state at the end of a run."""

    possible: list[frozenset[FairClass]] = field(default_factory=list)
    taken: set[FairClass | None] = field(default_factory=set)
    states: list[StateView] = field(default_factory=list)
    waits: bool = False

    def add(self, world: StableWorld, goal: ProgressProperty, s: StateView, process: int, named: int, k: int) -> None:
        """Add a state of the loop, reached after some number of steps.

        Raises:
            NotFair: the process does not wait in it, and may wait again and again.
        """
        waits = world.waits(goal, s, process, named)
        if not waits and not goal.again:
            raise NotFair(f"lasso: p{process} does not wait after {k} steps")
        self.waits |= waits
        self.possible.append(world.possible(s, named))
        self.states.append(s.copy())

    def judge(self, model: Model) -> None:
        """Check that the loop closes and is fair.

        Raises:
            NotFair: nobody waits in it, it does not close, or is not fair.
        """
        if not self.waits:
            raise NotFair("lasso: the process waits nowhere in the loop")
        if not closes(self.states[0], self.states[-1]):
            raise NotFair("lasso: the last step of the loop does not lead back to its beginning")
        always = frozenset.intersection(*self.possible)
        strong = {c for c in frozenset.union(*self.possible) if is_strong(model, c)}
        for how, due in (("for ever", always), ("infinitely often", strong)):
            if missed := due - self.taken:
                said = "; ".join(sorted(c.said(model) for c in missed))
                raise NotFair(f"lasso: the run is not fair: {how} enabled and never taken: {said}")
