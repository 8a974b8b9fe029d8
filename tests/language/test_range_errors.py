"""A run-time error, in every world: the step has no successor and is judged by nothing, what other steps of its level
violate is reported beside it, and a property that reads past an end gives no verdict of its own: `no-runtime-error` is
violated."""

# ruff: noqa: PT018
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.proofs.symbolic import bmc
from checker.proofs.symbolic.bmc import Bounded
from checker.proofs.symbolic.transition import Transition
from checker.report.report import Explored
from invariants.binding import bound, full_namespace
from invariants.registry import STATE, STEP, Property
from zabspec.language.front import frontend
from zabspec.language.layout.source import LanguageError
from zabspec.language.native import llvm_text
from zabspec.language.python.lang import History, State, Words, forget
from zabspec.language.python.reference import RangeError
from zabspec.model import Configuration, Model
from zabspec.proofs.symbolic_memory import SLOTS, values_of

# Its step l.1.1 takes new_epoch to 2 out of a state at depth 5; others lead on to depth 6, where a stage is first 4.
ERRS = Configuration(nodes=1, txns=1, timeouts=1, crashes=1, losses=0, max_epoch=1)
DEPTH = 6


def always(s: State) -> bool:
    return s.steps >= 0


def stage_not_4(s: State) -> bool:
    return s.stage[0] != 4


def no_step_to_stage_4(before: State, event: State, after: State) -> bool:
    return not (before.stage[0] != 4 and after.stage[0] == 4)


def some_step(before: State, event: State, after: State) -> bool:
    return after.steps >= 0


def steps_keep_their_range(before: State, event: State, after: State) -> bool:
    return after.error == 0


def reads_past(s: State) -> bool:
    return s.stage[0] != 4 or s.stage[s.stage[0]] == 0


def premise_past(s: State) -> bool:
    return s.stage[0] == 4 and s.stage[s.stage[0]] == 0


def step_reads_past(before: State, event: State, after: State) -> bool:
    return after.stage[0] != 4 or before.stage[after.stage[0]] == 0


def entry(log: History, k: int) -> bool:
    return log[k].epoch == 0


def entry_of_entry(log: History, k: int) -> bool:
    return entry(log, k + 90)


def reads_past_without_a_state(s: State) -> bool:
    return s.stage[0] != 4 or entry_of_entry(s.history[0], s.stage[0])


def divides(s: State) -> bool:
    return 6 // (s.stage[0] - 4) != 9


def shifted(by: int) -> int:
    return 1 << by


def shifts_too_far(s: State) -> bool:
    return s.stage[0] != 4 or shifted(60 + s.stage[0]) != 0


def made(max_epoch: int = 1, **properties: Callable[..., bool]) -> tuple[Model, list[Property]]:
    """A model with properties of this file: by name, what must hold; the witness is met by every state or step."""
    model = Model(dataclasses.replace(ERRS, max_epoch=max_epoch))
    out = []
    for name, holds in properties.items():
        of = STEP if holds.__code__.co_argcount == 3 else STATE
        out.append(Property(name, of, "here", "always", holds, some_step if of == STEP else always))
    mine = (*properties.values(), some_step, always, entry, entry_of_entry, shifted)
    model.program.extra = {f.__name__: f for f in mine}
    return model, out


def explored(model: Model, judged: list[Property], symmetry: bool = False, **limits: Any) -> list[Exploration]:
    """What each engine finds, whose answers agree but for the words of the error."""
    runs = [Explorer(Compiled(model, judged, symmetry), threads).run(Limits(**limits)) for threads in (1, 2)]
    runs.append(Interpreter(model, judged, symmetry).run(Limits(**limits)))
    for r in runs:
        for what in ("levels", "generated", "terminal", "expanded_levels", "step_counts", "event_counts", "witnessed"):
            assert getattr(r, what) == getattr(runs[0], what), what
        assert {n: f.schedule for n, f in r.violations.items()} == {
            n: f.schedule for n, f in runs[0].violations.items()
        }
        assert bool(r.error) == bool(runs[0].error)
    assert runs[0].error == runs[1].error
    return runs


def report(model: Model, r: Exploration) -> Explored:
    return Explored(r, model.configuration, Limits(), model.epochs, model.channels)


def test_an_erring_step_has_no_successor_and_is_judged_by_nothing() -> None:
    model, judged = made(a=steps_keep_their_range)
    for r in explored(model, judged):
        assert "new_epoch would leave its range 0..1 in step" in r.error and "l.1.1" in r.error
        assert r.error.endswith("widen it with --max-epoch")
        assert not r.violations, "what a step that errs did is no violation"
        assert r.depth == DEPTH and r.expanded_levels == DEPTH - 1 and not r.complete
        told = report(model, r)
        assert told.exit_code == 3 and r.error in told.sentence
        assert f"explored all states to depth {DEPTH - 1} and part of depth {DEPTH}" in told.sentence


@pytest.mark.parametrize("holds", [stage_not_4, no_step_to_stage_4])
def test_what_other_steps_of_the_level_break_is_told_beside_the_error(holds: Callable[..., bool]) -> None:
    model, judged = made(broken=holds)
    for r in explored(model, judged):
        assert r.error and r.violations["broken"].depth == DEPTH
        told = report(model, r)
        assert told.exit_code == 1
        assert told.sentence.startswith(f"VIOLATED: broken at depth {DEPTH}; cut short: a value would leave its range")


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("holds", "field"),
    [
        (reads_past, "stage has no entry outside 0..0"),
        (step_reads_past, "stage has no entry outside 0..0"),
        (reads_past_without_a_state, "has no place beyond"),
        (divides, "an integer would be divided by zero"),
        (shifts_too_far, "an integer would leave 64 bits"),
    ],
)
def test_a_property_that_reads_past_an_end_is_never_a_verdict(holds: Callable[..., bool], field: str) -> None:
    """Its own error: a violation of `no-runtime-error`; what another property says of the same state stands."""
    model, judged = made(max_epoch=0, reads=holds, broken=stage_not_4)
    built_in = {"no-runtime-error"}
    for r in explored(model, judged):
        assert field in r.error
        assert r.violations.keys() == {"broken", *built_in}
        assert all(found.depth == DEPTH for found in r.violations.values()) or holds is divides
        assert report(model, r).verdict(judged[0]) == "no verdict"
    alone = Explorer(Compiled(model, judged[:1], False), 1).run(Limits())
    assert report(model, alone).exit_code == 1 and alone.violations.keys() == built_in


def test_a_premise_that_reads_past_an_end_is_not_met() -> None:
    model, judged = made(max_epoch=0, a=always)
    model.program.extra = {**model.program.extra, "premise_past": premise_past}
    for r in explored(model, [dataclasses.replace(judged[0], witness=premise_past)]):
        assert "stage has no entry outside 0..0" in r.error and r.depth == DEPTH


def enabled(s: State, out: Words) -> None:
    out[0] = 0
    if s.stage[1 + s.role[0]] == 0:
        out[0] = 0


def enabled_that_forgets(s: State, out: Words) -> None:
    out[0] = 0
    forget(s, 1 + s.role[0])


@pytest.mark.parametrize(
    ("asking", "said"), [(enabled, "stage has no entry outside 0..0"), (enabled_that_forgets, "forget takes a process")]
)
def test_an_error_in_asking_for_the_steps_is_told(asking: Callable[..., None], said: str) -> None:
    """A state whose steps cannot be told has no successors, and is not taken for one without steps."""
    model, judged = made(a=always)
    model.program.extra = {**model.program.extra, "enabled": asking}
    for r in explored(model, judged):
        assert said in r.error
        assert (r.levels, r.terminal, r.expanded_levels) == ([1, 0], 0, 0)
        assert r.violations["no-runtime-error"].schedule == ()
        assert report(model, r).exit_code == 1


def test_the_symbolic_world_meets_the_same_errors() -> None:
    """Where a function without a state reads past an end, the error is noted in the state of its caller."""
    model, _ = made(a=reads_past_without_a_state)
    names = full_namespace(model)
    transition = Transition(model, names, made(a=reads_past_without_a_state)[1])
    s = model.program.initial()
    s.stage[0] = 4
    with pytest.raises(RangeError, match="has no place beyond"):
        bound(model)["reads_past_without_a_state"](s)
    values = cast("Any", values_of(transition.layout, s.key()))
    _, (after,) = transition.machine.on_states("reads_past_without_a_state", [values], [])
    site = after[transition.layout.offset("error") << SLOTS]
    assert "has no place beyond" in transition.typed.sites[cast("int", site) - 1].sentence()
    assert "in entry (" in transition.typed.sites[cast("int", site) - 1].sentence()


def no_state(a: int) -> int:
    return shifted(a)


def test_what_no_error_could_be_noted_of_is_refused() -> None:
    """A function that is called from outside without a state."""
    model, _ = made(a=always)
    program = model.program
    front = frontend.FrontEnd(program.layout, {"no_state": no_state, "shifted": shifted}, program.types, ())
    front.function("no_state")
    with pytest.raises(LanguageError, match="no_state is called from outside and has no state to note an error in"):
        llvm_text.emit_program(front.program, program.layout, {"no_state"})


def bounded(judged: dict[str, Callable[..., bool]], max_epoch: int = 1) -> Bounded:
    model, properties = made(max_epoch, **judged)
    names = full_namespace(model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bmc, "full_namespace", lambda _: names)
        return bmc.check(model, properties, bmc.Bounds(DEPTH, every=DEPTH))


@pytest.mark.slow(seconds=1)
def test_bounded_checking_meets_the_same_errors() -> None:
    """A run in which a step errs is told although it breaks nothing; another that breaks a property is told; and a
    property that reads past an end is not broken by that."""
    found = bounded({"a": steps_keep_their_range})
    assert not found.broken and "new_epoch would leave its range 0..1 in step l.1.1" in found.left_range
    for holds in (no_step_to_stage_4,):
        found = bounded({"broken": holds})
        assert [p.name for p in found.broken] == ["broken"] and len(found.schedule) == DEPTH
    for holds, field in (
        (reads_past, "stage has no entry outside 0..0"),
        (step_reads_past, "stage has no entry outside 0..0"),
    ):
        found = bounded({"reads": holds}, max_epoch=0)
        assert not found.broken and field in found.left_range
    assert not bounded({"a": always}, max_epoch=0).left_range
