"""Compute places in the state space of a model, with their possible steps, by interpretation.

A place is identified by the way to it: the steps from the initial state, each by its number among those possible where
it is taken. That order is fixed: steps that are no fault first, then faults; by process, then in the world's order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from types import FunctionType

from invariants.registry import NO_RUNTIME_ERROR, RUNTIME, Property, keeps, meets
from traces.explain.names import headline
from traces.explain.why import reason
from traces.record.failure import JUDGED, STEP, Failure, failure_of
from traces.record.runner import Known, Mark, NoAlternative, Runner, StepFailed
from traces.record.trace import JsonState, Step, StepWord, Trace, TraceError
from traces.record.values import state_json
from zabspec import __version__
from zabspec.errors import RequestError
from zabspec.language.layout.schema import Role
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.language.python.sentences import sentence_of
from zabspec.model import Configuration, Model

HOLDS, VIOLATED, UNDECIDED = "holds", "violated", "undecided"
MOST_KEPT = 1024  # places that are kept, so that going back or on costs nothing
LONGEST = 2000  # steps of a walk


class WalkError(RequestError):
    """There is no such place in the state space; the message says why in one sentence."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a property at a place.

    Attributes:
        property: the property.
        verdict: `holds`, `violated` or `undecided` (evaluating it meets a run-time error).
        because: the sentence why it is violated or undecided; empty if it holds, or gives none.
        premise_at: after how many steps of the walk its premise was first met; None if not yet.
        violated_at: after how many steps it was first violated; None if not yet.
    """

    property: Property
    verdict: str
    because: str
    premise_at: int | None
    violated_at: int | None


@dataclass(frozen=True)
class Possible:
    """A step that is possible at a place.

    Attributes:
        index: its number there, from 0.
        step: the step and its effect; nothing is kept of one that meets a run-time error.
        alternative: its number among its alternatives, from 1.
        choices: the number of these.
        spends: the budgets that it costs.
        failure: the run-time error that it meets, after which there is no state; None if it meets none.
        violates: the properties that it violates and the place does not.
    """

    index: int
    step: Step
    alternative: int
    choices: int
    spends: tuple[str, ...]
    failure: Failure | None
    violates: tuple[str, ...]

    @property
    def fault(self) -> bool:
        return is_fault(self.step.word)


def is_fault(word: StepWord) -> bool:
    """Return whether a step is a fault: a crash, a timeout, a loss."""
    return bool(word.row.spends) or word.row.runs == "on_crash"


@dataclass(frozen=True, repr=False)
class WalkTrace(Trace):
    """A trace of the model that is walked through, even if its source has changed since.

    Attributes:
        walked: that model.
    """

    walked: Model | None = field(default=None, compare=False)

    @property
    def model(self) -> Model:
        assert self.walked is not None
        return self.walked


class WalkPlace:
    """A state, with the steps that lead to it.

    Args:
        walker: the walker of the model.
        path: for each step its number among those possible where it is taken.
        steps: the steps.
        mark: the point of the run.
        parent: the place before the last step; None for the beginning.
    """

    def __init__(
        self, walker: Walker, path: tuple[int, ...], steps: tuple[Step, ...], mark: Mark, parent: WalkPlace | None
    ) -> None:
        self.walker, self.path, self.steps, self.mark, self.parent = walker, path, steps, mark, parent

    @property
    def configuration(self) -> Configuration:
        return self.walker.model.configuration

    @property
    def state(self) -> StateView:
        return StateView(self.walker.layout, self.mark.state)

    @property
    def json(self) -> JsonState:
        """Return the state as a trace contains it."""
        return self.steps[-1].state if self.steps else self.walker.initial

    @property
    def schedule(self) -> tuple[int, ...]:
        return tuple(step.word.word for step in self.steps)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdict on each property, and since when its premise is met or it is violated."""
        earlier = {v.property.name: v for v in self.parent.verdicts} if self.parent is not None else {}
        before = None if self.parent is None else StateView(self.walker.layout, self.mark.before)
        here = len(self.path)
        out = []
        for p in self.walker.judged:
            verdict, because, met = self.walker.judge(p, self.state, before)
            last = earlier.get(p.name)
            premise_at = last.premise_at if last is not None else None
            violated_at = last.violated_at if last is not None else None
            if met and premise_at is None:
                premise_at = here
            if verdict == VIOLATED and violated_at is None:
                violated_at = here
            out.append(Verdict(p, verdict, because, premise_at, violated_at))
        return tuple(out)

    @cached_property
    def possible(self) -> tuple[Possible, ...]:
        """Return the possible steps in their fixed order; empty if `failure` says why they cannot be listed."""
        return self.walker.possible(self)

    @cached_property
    def failure(self) -> Failure | None:
        """Return the run-time error met in listing the possible steps or in evaluating a property, or None."""
        runner, judged = self.walker.runner, self.walker.judged
        runner.go_to(self.mark)
        return runner.failure_here(True, judged) or runner.failure_here(False, judged)

    @property
    def violated_here(self) -> tuple[Property, ...]:
        """Return the properties that the last step is the first to violate."""
        return tuple(v.property for v in self.verdicts if v.violated_at == len(self.path) and v.verdict == VIOLATED)

    def trace(self, prop: Property | None = None, premise: Property | None = None) -> Trace:
        """Return the walk to this place as a trace.

        Args:
            prop: the property that its last step is the first to violate.
            premise: the property whose premise its last step is the first to meet.
        """
        shown = prop or premise
        name, statement, source = ("", "", "") if shown is None else (shown.name, shown.statement, shown.source)
        return WalkTrace(
            self.walker.model.configuration,
            name if prop is not None else "",
            statement,
            source,
            self.walker.initial,
            self.steps,
            self.walker.tool,
            premise_of=name if premise is not None and prop is None else "",
            walked=self.walker.model,
        )

    def events(self, p: Property) -> tuple[tuple[int, str], ...]:
        """Return the events of this walk that the explanation of a violated property names, each with its step."""
        try:
            found = reason(self.trace(), p.name)
        except TraceError:  # the sentence is complete without them
            return ()
        return found.events if found is not None else ()


class Walker:
    """A model in the interpreted world, for walks through its states. It is not thread-safe.

    Args:
        model: the model.
        judged: the properties that are checked at each place.

    Raises:
        WalkError: the initial state has a run-time error.
    """

    def __init__(self, model: Model, judged: Sequence[Property]) -> None:
        self.model, self.judged = model, tuple(p for p in judged if p.of != RUNTIME)
        self.layout = model.program.layout
        self.tool = __version__
        try:
            self.runner = Runner(model)
        except ERRORS as error:
            raise WalkError(
                f"the initial state has a run-time error: {failure_of(model, error, STEP).sentence}"
            ) from None
        self.initial = state_json(self.runner.state)
        self.kept: OrderedDict[tuple[int, ...], WalkPlace] = OrderedDict()
        self.start = WalkPlace(self, (), (), self.runner.mark(), None)

    @property
    def configuration(self) -> Configuration:
        return self.model.configuration

    # --- places ------------------------------------------------------------------------------------

    def place(self, path: Sequence[int]) -> WalkPlace:
        """Return the place at the end of a way.

        Args:
            path: for each step its number among those possible where it is taken.

        Raises:
            WalkError: a step is not possible where it is to be taken.
        """
        if len(path) > LONGEST:
            raise WalkError(f"a walk has at most {LONGEST} steps, not {len(path)}")
        whole = tuple(path)
        known = len(whole)
        while known and whole[:known] not in self.kept:
            known -= 1
        found = self.kept[whole[:known]] if known else self.start
        for index in whole[known:]:
            found = self.after(found, index)
        return found

    def after(self, place: WalkPlace, index: int) -> WalkPlace:
        """Return the place after one more step.

        Args:
            place: the current place.
            index: the number of the step among those possible there.

        Raises:
            WalkError: there is no such step.
        """
        number = len(place.path) + 1
        if not 0 <= index < len(place.possible):
            count = len(place.possible)
            raise WalkError(f"step {number} of the walk is number {index + 1}, but {count} steps are possible there")
        chosen = place.possible[index]
        if chosen.failure is not None:
            raise WalkError(f"step {number} of the walk has a run-time error: {chosen.failure.text}")
        path = (*place.path, index)
        if path in self.kept:
            self.kept.move_to_end(path)
            return self.kept[path]
        self.runner.go_to(place.mark)
        step = self.runner.step(chosen.step.word.word)
        return self.keep(WalkPlace(self, path, (*place.steps, step), self.runner.mark(), place))

    def keep(self, place: WalkPlace) -> WalkPlace:
        self.kept[place.path] = place
        if len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return place

    def along(self, words: Sequence[int]) -> WalkPlace:
        """Return the place at the end of a schedule of step words.

        Raises:
            WalkError: a step is not possible where it is to be taken.
        """
        found = self.start
        for number, word in enumerate(words, 1):
            index = next((p.index for p in found.possible if p.step.word.word == word), None)
            if index is None:
                raise WalkError(f"step {number} of the schedule ({StepWord.of(word).kind}) is not possible there")
            found = self.after(found, index)
        return found

    def retaken(self, whole: WalkPlace) -> tuple[WalkPlace, str]:
        """Take the steps to a place of another version of the model, as far as they are possible.

        Returns:
            The place, and the name of the first step that is not possible; empty if all are.
        """
        found = self.start
        for step in whole.steps:
            wanted = whole.walker.key(step.word)
            same = (p.index for p in found.possible if self.key(p.step.word) == wanted and p.failure is None)
            index = next(same, None)
            if index is None:
                return found, headline(step)
            found = self.after(found, index)
        return found, ""

    def key(self, word: StepWord) -> tuple[object, ...]:
        """Return a key of a step that holds in another version: an action is identified by its name, not its number."""
        program, operands = self.model.program, dict(word.operands)
        own = {"action": program.actions, "environment": program.changes}.get(word.kind)
        named = () if own is None or "which" not in operands else (own[operands.pop("which")],)
        return word.kind, word.choice, *named, *sorted(operands.items())

    # --- steps -------------------------------------------------------------------------------------

    def words(self, mark: Mark) -> list[int]:
        """Return the step words that are possible at a mark of a run, without their choices, in the world's order.

        Raises:
            RangeError, ZeroDivisionError: listing them meets a run-time error.
        """
        self.runner.go_to(mark)
        return self.runner.possible()

    def possible(self, place: WalkPlace) -> tuple[Possible, ...]:
        """Return the steps possible at a place, in their fixed order, each with its effects."""
        try:
            listed = self.words(place.mark)
        except ERRORS:
            return ()
        nobody = self.model.configuration.nodes

        def rank(word: int) -> tuple[bool, int]:
            said = StepWord.of(word)
            return is_fault(said), nobody if said.process is None else said.process

        out: list[Possible] = []
        known = Known(listed, place.json)
        for word in sorted(listed, key=rank):
            out += self.alternatives(place, word, known, len(out))
        return tuple(out)

    def alternatives(self, place: WalkPlace, word: int, known: Known, first: int) -> list[Possible]:
        """Return the alternatives of a step that is possible at a place, each with its effects.

        Args:
            place: the place.
            word: the step word, without a choice.
            known: what is known of the place.
            first: the number of the first alternative among all steps.
        """
        broken = {v.property.name for v in place.verdicts if v.verdict == VIOLATED}
        before_budgets = dict(self.budgets(place.json))
        out: list[Possible] = []
        choices = 1
        for choice in count():
            if choice >= choices:
                break
            chosen = word | choice << 32
            self.runner.go_to(place.mark)
            failure = None
            violates: tuple[str, ...] = ()
            try:
                step = self.runner.step(chosen, known)
            except NoAlternative:  # an earlier choice leaves fewer
                continue
            except StepFailed as failed:
                step, failure = failed.step, failed.failure
                alternatives = self.choices_of(place.mark, chosen)
                choices = max(choices, alternatives)
                if choice > 0 and choice >= alternatives:  # listed before
                    continue
                if not failure.widen:
                    violates = (NO_RUNTIME_ERROR.name,)
            else:
                state, before = self.runner.state, self.runner.before
                choices = max(choices, state.choices)
                here = {p.name: self.judge(p, state, before, premise=False)[0] for p in self.judged}
                violates = tuple(name for name, said in here.items() if said == VIOLATED and name not in broken)
                if UNDECIDED in here.values() and self.runner.failure_here(True, self.judged):
                    violates += (NO_RUNTIME_ERROR.name,)
            spends = tuple(n for n, left in self.budgets(step.state) if left != before_budgets[n])
            out.append(Possible(first + len(out), step, len(out) + 1, choices, spends, failure, violates))
        return [replace(p, choices=len(out)) for p in out]

    def choices_of(self, mark: Mark, word: int) -> int:
        """Return how many alternatives a step that meets a run-time error has, as far as it ran."""
        after = StateView(self.layout, mark.state[: self.layout.size])
        with suppress(*ERRORS):
            self.model.program.python["apply"](after, word)
        return int(after.choices)

    def judge(
        self, p: Property, state: StateView, before: StateView | None, premise: bool = True
    ) -> tuple[str, str, bool]:
        """Check a property on a state, or on the step to it.

        Args:
            p: the property.
            state: the state.
            before: the state before the step, for a property of steps.
            premise: whether to check the premise too.

        Returns:
            The verdict, its explanation, and whether the premise is met.
        """
        names, met = self.runner.names, False
        with suppress(*ERRORS):  # the place reports it
            met = premise and bool(meets(p, names, state, before))
        try:
            result = keeps(p, names, state, before)
        except ERRORS as error:
            return UNDECIDED, failure_of(self.model, error, JUDGED, p.name).text, met
        return (HOLDS, "", met) if result else (VIOLATED, sentence_of(result), met)

    def budgets(self, state: JsonState) -> Iterator[tuple[str, int]]:
        """Yield the remainder of each budget in a state."""
        for f in self.layout.schema.fields:
            if f.role is Role.BUDGET:
                yield f.name.removesuffix("_left"), int(state[f.name])

    # --- what it is made of ------------------------------------------------------------------------

    @cached_property
    def texts(self) -> Mapping[str, FunctionType]:
        """Return one function for every file that the model and its properties are made of."""
        found: dict[str, FunctionType] = {}
        for f in (*self.runner.names.values(), *(f for p in self.judged for f in (p.holds, p.witness))):
            if isinstance(f, FunctionType):
                found.setdefault(f.__code__.co_filename, f)
        return found
