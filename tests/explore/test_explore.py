"""The explorer itself: the same answer however the work is cut, limits, and what it says of itself."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from pathlib import Path
from types import FunctionType

import pytest

from checker.explore import breadth_first as explore
from checker.explore import compiled, kernel
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.explore.symmetry import Asymmetric, NotRenamings
from invariants import PROPERTIES, properties_of, property_named
from invariants.binding import bound, full_namespace
from invariants.registry import STATE, STEP, Property
from tests.models import CONFIGURATIONS
from tests.sources import never, some
from zabspec.language.python.lang import Node, State
from zabspec.model import Configuration, Model

DEFAULT = [p for p in PROPERTIES if p.default and p.judges("zab")]
SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
BROKEN = Configuration(nodes=3, txns=2, timeouts=0, crashes=0, losses=0, variant="propose-to-synced-only")

DUPLICATING = CONFIGURATIONS[7]  # breaks a property of steps


def answer(r: Exploration) -> dict[str, object]:
    """Everything an exploration found, what depends on the clock and the machine left out."""
    fields = dataclasses.asdict(r)
    for name in ("seconds", "cpu_seconds", "compile_seconds", "memory", "properties"):
        del fields[name]
    fields["violations"] = {name: found.schedule for name, found in r.violations.items()}
    return fields


def run(configuration: Configuration, symmetry: bool = True, threads: int = 1, **limits: int) -> Exploration:
    code = Compiled(Model(configuration), DEFAULT, symmetry)
    return Explorer(code, threads).run(Limits(**limits), keep_going=True)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("configuration", "symmetry"), [(SMALL, False), (BROKEN, True)], ids=["safe", "broken"])
def test_any_number_of_threads_gives_the_same_answer(configuration: Configuration, symmetry: bool) -> None:
    one = answer(run(configuration, symmetry, 1))
    assert answer(run(configuration, symmetry, 2)) == one
    assert answer(run(configuration, symmetry, 7)) == one


@pytest.fixture
def tiny_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of a few dozen states, three to a batch: every boundary is crossed many times."""
    monkeypatch.setattr(explore, "UNIT", 4096)
    monkeypatch.setattr(explore, "BATCH", 3)


@pytest.mark.slow(seconds=2)
@pytest.mark.usefixtures("tiny_units")
def test_the_size_of_units_and_batches_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = [answer(run(c, symmetry, 2)) for c, symmetry in ((SMALL, True), (BROKEN, False))]
    monkeypatch.undo()
    assert cut == [answer(run(c, symmetry, 2)) for c, symmetry in ((SMALL, True), (BROKEN, False))]


@pytest.mark.slow(seconds=2)
def test_a_full_buffer_is_emptied_before_the_next_state_is_expanded() -> None:
    """Room for the successors of one state and of a few more: every few states the next buffer is begun."""
    large = Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
    explorer = Explorer(Compiled(Model(large), DEFAULT, True), 1)
    for slot in explorer.slots:
        slot.section = explorer.code.numbers["MARGIN"] + 2048
    found = explorer.run(Limits(depth=29), keep_going=True)
    assert max(len(slot.outs) for slot in explorer.slots) > 1
    assert answer(found) == answer(run(large, depth=29))


@pytest.mark.usefixtures("tiny_units")
def test_the_first_violating_step_is_reported_however_the_work_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps that break invariant 2 are found in several units of a level."""
    cut = answer(run(DUPLICATING, False, 2, depth=17))
    monkeypatch.undo()
    assert cut["violations"].keys() == {"invariant-2"}
    assert cut == answer(run(DUPLICATING, False, 1, depth=17))


def test_tables_grow_without_losing_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer(run(SMALL))
    monkeypatch.setattr(explore, "FIRST_CAPACITY", 4)
    monkeypatch.setattr(explore, "GROWTH", 1.3)
    assert answer(run(SMALL)) == whole


@pytest.mark.slow(seconds=1)
def test_symmetry_counts_the_states_its_orbits_stand_for() -> None:
    with_, without = run(SMALL, True), run(SMALL, False)
    assert with_.raw_levels == without.levels == without.raw_levels
    assert with_.distinct < without.distinct / 5


@pytest.mark.slow(seconds=2)
def test_states_that_hundreds_of_renamings_leave_as_they_are_are_counted() -> None:
    """Of seven processes one leads, or follows nobody yet: 720 renamings of the other six leave that state as it is."""
    c = Configuration(nodes=7, txns=1, timeouts=0, crashes=0, losses=0)
    code = Compiled(Model(c), DEFAULT, True)
    found = Explorer(code, 1).run(Limits(depth=1))
    first = code.model.program.initial().key()
    there = {data[: code.layout.size] for _, data in code.next_states(first)}
    assert found.raw_levels == [1, len(there)]
    assert len(there) == 49


def test_a_depth_is_exhaustive_to_it() -> None:
    whole, part = run(SMALL), run(SMALL, depth=20)
    assert part.levels == whole.levels[:21]
    assert not part.complete
    assert not part.stopped
    assert part.expanded_levels == 20
    assert whole.complete


def test_a_limit_on_states_says_what_was_covered() -> None:
    r = run(SMALL, max_states=2000)
    assert "--max-states" in r.stopped
    assert not r.complete
    assert r.distinct >= 2000
    assert r.levels[: r.expanded_levels + 1] == run(SMALL).levels[: r.expanded_levels + 1]


def test_the_shortest_counterexample_is_found_first_and_replays() -> None:
    r = run(BROKEN)
    found = r.violations["local-primary-order"]
    assert found.depth == 29
    program = Model(BROKEN).program
    holds = bound(Model(BROKEN))["local_primary_order"]
    s = program.initial()
    for word in found.schedule:
        assert holds(s)
        out = [0] * 4096
        program.python["enabled"](s, out)
        assert word & 0xFFFFFFFF in out[1 : out[0] + 1]
        program.python["apply"](s, word)
    assert not holds(s)


def test_without_going_on_it_ends_with_the_level_of_the_first_violation() -> None:
    told: list[tuple[int, int]] = []
    r = Explorer(Compiled(Model(BROKEN), DEFAULT, True), 1).run(
        Limits(), progress=lambda r, expanded, size: told.append((expanded, size))
    )
    whole = run(BROKEN)
    assert r.depth == 29 < whole.depth
    assert r.levels == whole.levels[:30]
    assert r.violations.keys() == {name for name, found in whole.violations.items() if found.depth == 29}
    assert all(0 < expanded <= size for expanded, size in told)
    assert {size for _, size in told} == set(whole.levels[:29]), "of every level that is expanded it is told"


def begins_badly(s: State) -> bool:
    return 6 // s.abcasts > 1


def some_state(s: State) -> bool:
    return s.steps >= 0


def test_an_error_in_the_first_state_is_met_before_anything_is_expanded() -> None:
    model = Model(SMALL)
    model.program.extra = {f.__name__: f for f in (begins_badly, some_state)}
    badly = Property("badly", STATE, "", "", begins_badly, some_state)
    for engine in (Explorer(Compiled(model, [badly], False), 1), Interpreter(model, [badly], False)):
        r = engine.run(Limits())
        assert r.error.startswith("an integer would be divided by zero in ")
        assert (r.expanded_levels, r.levels) == (-1, [1])


def favours_p0(s: State, f: Node, epoch: int) -> bool:
    """f.1.2 as a process that is not like the others would have it."""
    return f != 0 and s.promised_epoch[f] <= epoch


def unlike(epochs: int) -> Model:
    """A model that is not symmetric; `epochs`: a key of its own in the cache."""
    model = Model(dataclasses.replace(SMALL, max_epoch=epochs))
    assert isinstance(favours_p0, FunctionType)
    model.program.overrides = {"promises": favours_p0}
    return model


@pytest.mark.slow(seconds=1)
def test_symmetry_is_left_out_where_it_is_not_sound() -> None:
    code, reason = Compiled.of(unlike(9), DEFAULT, symmetry=True)
    assert not code.symmetry
    line = favours_p0.__code__.co_firstlineno + 2
    assert reason == (
        "the protocol distinguishes processes: "
        + f"a process is compared with the number 0 (tests/explore/test_explore.py:{line})"
    )
    with pytest.raises(Asymmetric, match="compared with the number 0"):
        Compiled(unlike(9), DEFAULT, symmetry=True)
    with pytest.raises(Asymmetric, match="compared with the number 0"):
        Interpreter(unlike(9), DEFAULT, symmetry=True)


@pytest.mark.slow(seconds=1)
def test_the_second_line_finds_what_the_text_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random walks look for renamings that do not commute; and a way to a violation that no renamed state has ends
    with a sentence."""
    monkeypatch.setattr("checker.explore.compiled.asymmetry", lambda *_: "")
    code, reason = Compiled.of(unlike(8), DEFAULT, symmetry=True)
    assert reason == "the steps of a renamed state are not its renamed steps"
    assert not code.symmetry
    count = itertools.count()
    monkeypatch.setattr(code, "canonical", lambda data: (next(count), data))
    with pytest.raises(NotRenamings, match="step 1 of the path to a state is not enabled in a renamed state"):
        code.schedule_along([0])


def test_a_value_out_of_its_range_ends_the_exploration_with_a_sentence() -> None:
    r = run(dataclasses.replace(SMALL, max_epoch=1))
    assert "new_epoch would leave its range 0..1 in step l.1.1" in r.error
    assert "--max-epoch" in r.error
    assert not r.complete


def errs_for_p2(s: State, f: Node) -> None:
    """f.1.1, in which process 2 takes a field out of its range when it follows process 0."""
    if f == 2 and s.leader[f] == 0:
        s.new_epoch[f] = s.EPOCHS + 1


def divides_for_p2(before: State, event: State, after: State) -> bool:
    """By zero, when process 2 is its own leader: two steps later."""
    return event.event_process != 2 or event.event_peer != 2 or 6 // before.stage[0] > 1


def some_step(before: State, event: State, after: State) -> bool:
    return after.steps >= 0


@pytest.mark.parametrize("overrides", [{"f_1_1": errs_for_p2}, {}], ids=["beside a capacity's", "alone"])
def test_an_error_of_a_property_is_a_violation_beside_one_of_a_capacity(overrides: dict[str, FunctionType]) -> None:
    """Of the steps of one state, one needs more room, and before or after it one cannot be judged: in both worlds."""
    model = Model(dataclasses.replace(SMALL, max_epoch=7))
    # by themselves: what stands beside them here is no part of the protocol
    model.program.overrides = {name: FunctionType(f.__code__, {}, f.__name__) for name, f in overrides.items()}
    model.program.extra = {f.__name__: f for f in (divides_for_p2, some_step)}
    divides = Property("divides", STEP, "", "", divides_for_p2, some_step)
    for engine in (Explorer(Compiled(model, [divides], False), 1), Interpreter(model, [divides], False)):
        r = engine.run(Limits(depth=1))
        assert r.error.startswith("an integer would be divided by zero in divides")
        assert r.violations.keys() == {"no-runtime-error"}
        assert (r.error_run is not None) == bool(overrides)


def test_a_property_that_is_named_as_a_function_of_the_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def expand(s: State) -> bool:
        return s.steps >= 0

    monkeypatch.setattr(compiled, "full_namespace", lambda model: full_namespace(model) | {"expand": expand})
    with pytest.raises(ValueError, match=r"test_explore.py:\d+: expand is a name of the explorer"):
        Compiled(Model(SMALL), DEFAULT, False).typed_namespace()


@pytest.mark.slow(seconds=1)
def test_the_last_property_with_a_bit_is_judged_and_one_more_refused() -> None:
    """The mask of violated properties of a candidate has 56 bits, of a word that holds its renamings too."""
    broken = property_named("local-primary-order", PROPERTIES)
    sound = property_named("integrity", PROPERTIES)
    many = [dataclasses.replace(sound, name=f"integrity {k}") for k in range(kernel.MOST_PROPERTIES - 1)]
    model = Model(BROKEN)
    r = Explorer(Compiled(model, [*many, broken], True), 1).run(Limits(), keep_going=True)
    assert {name: found.depth for name, found in r.violations.items()} == {"local-primary-order": 29}
    assert r.raw_levels == run(BROKEN).raw_levels
    assert set(r.witnessed) == {p.name for p in (*many, broken)}
    with pytest.raises(ValueError, match="64 properties; the kernel can judge 63 at once"):
        Compiled(model, [*many, sound, broken], True)


UPS = (
    '''"""Processes go up."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, safety, stored


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 3)]] = stored("how far")


def may(s: State, p: Node) -> bool:
    return s.level[p] < 3


@action(when=may)
def up(s: State, p: Node) -> None:
    s.level[p] += 1


@action(when=may)
def rest(s: State, p: Node) -> None:
    pass


'''
    + some("somebody", "s.level[p] > 0", "Somebody is up.")
    + never("low", "s.level[p] == 2", "Nobody is at 2.", "somebody")
    + """PROTOCOL = declare(__name__, nodes=2)
"""
)


class Knowing(Model):
    """A model that knows after which steps which properties may change."""

    known: Mapping[str, Collection[str]] = {}

    @property
    def judged_after(self) -> Mapping[str, Collection[str]]:
        return self.known


@pytest.mark.slow(seconds=2)
def test_a_property_is_judged_after_the_steps_that_may_change_it(tmp_path: Path) -> None:
    """Its violation and its premise are met where they are met if it is judged after every step. If the model is wrong
    about the steps, they are not: what it says is relied on."""
    path = tmp_path / "ups.py"
    path.write_text(UPS, encoding="utf-8")
    found = []
    for known in ({}, {"rest": (), "up": ("low",)}, {"up": (), "rest": ("low",)}):
        model = Knowing(Configuration(str(path)))
        model.known = known
        r = Explorer(Compiled(model, properties_of(str(path)), False), 1).run(Limits(depth=3), keep_going=True)
        found.append(({name: v.depth for name, v in r.violations.items()}, r.witnessed))
    assert found[0] == found[1] == ({"low": 2}, {"low": 1})
    assert found[2] == ({}, {})
