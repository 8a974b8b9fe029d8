"""Ample sets: fewer states, and the same verdicts; what they rest on (docs/explanation/reductions.md)."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore import growing
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce import narrowing as large_models
from checker.explore.reduce.ample import (
    AmpleExplorer,
    Narrowing,
    changed_text,
    conclusive,
    free_cases,
    looks_beyond,
)
from checker.explore.result import Exploration, Limits
from checker.requests.exploring.running import EngineTask
from invariants import properties_of
from tests.copies import copy_of
from tests.explore.staying_down import stay_down
from zabspec.language.analysis.footprints import Case, Touch
from zabspec.model import Configuration, Model
from zabspec.protocols import zab_variants
from zabspec.protocols.registry import PROTOCOLS
from zabspec.protocols.zab_variants import Variant
from zabspec.worlds.steps import ENVIRONMENT, FOLLOWER_LEARNS, RECOVER, TO_FOLLOWER

DEFAULT = [p for p in properties_of("zab") if p.default and p.judges("zab")]
SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
STEP_WORD = (1 << 32) - 1  # of a step and its choice
CRASHES = replace(SMALL, timeouts=0, crashes=1)


@cache
def narrowing(configuration: Configuration, symmetry: bool = True) -> Narrowing:
    return Narrowing(Model(configuration), DEFAULT, symmetry)


@cache
def unmerged(variant: str = "") -> Narrowing:
    """A model whose states are not merged: their classes take longer than all else, and say nothing of who is ample."""
    configuration = Configuration(nodes=3, txns=2, timeouts=2, crashes=1, losses=0, variant=variant)
    return Narrowing(Model(configuration), DEFAULT, False, merging=False)


@pytest.mark.slow(seconds=4)
def test_fewer_states_are_judged_alike() -> None:
    """Whether anything breaks is the same, and what the lesser one has seen is there to be seen. (What breaks is found
    broken in random protocols, tests/second, and below; each proviso has a test.)"""
    full = Explorer(Compiled(Model(CRASHES), DEFAULT, True), 1).run(Limits(), keep_going=True)
    less = AmpleExplorer(narrowing(CRASHES), 1).run(Limits(), keep_going=True)
    assert full.complete
    assert less.complete
    assert not (full.violations)
    assert not (full.error)
    assert not (less.violations)
    assert not (less.error)
    assert not (less.apart)
    assert less.witnessed.keys() <= full.witnessed.keys()
    assert all(full.witnessed[name] <= depth for name, depth in less.witnessed.items())
    assert 0 < less.terminal <= full.terminal
    assert conclusive(less) <= (len(full.witnessed) == len(DEFAULT))
    assert less.distinct < 0.9 * full.distinct
    assert less.narrowed
    assert not full.narrowed


class Bound(Narrowing):
    """As if the steps of some kind collided with those of others."""

    kind = -1

    def free(self) -> set[Case]:
        return {case for case in super().free() if case.kind != self.kind}

    def also_key(self) -> tuple[object, ...]:
        return (self.kind, *super().also_key())


class LearnsBound(Bound):
    kind = FOLLOWER_LEARNS


class ReceivesBound(Bound):
    kind = TO_FOLLOWER


def ample_steps(code: Narrowing, state: bytes, after: list[tuple[int, bytes]]) -> set[int]:
    """The steps of the first process in a state that is ample and has some, but not all of those that are possible;
    and all of whose steps are free."""
    bound = code.kind if isinstance(code, Bound) else -1
    steps = {word & STEP_WORD for word, _ in after}
    for p in own(code, state):
        mine = {word for word in steps if of(word) == p}
        if 0 < len(mine) < len(steps) and bound not in {word >> 24 & 255 for word in mine}:
            return mine
    return steps


def search_by_the_definition(code: Narrowing, depth: int | None, sizes: set[int], merges: bool = False) -> list[int]:
    """The new states of each level, of a search in CPython with ample sets and nothing else, or classes of what was
    observed besides; and how many steps the ample sets had that were enough."""
    size, left = code.layout.size, code.model.program.python["remaining_work"]
    code.typed_namespace()
    made: dict[str, Any] = {"as_bytes": lambda state: state, "State": bytes}
    text = changed_text(code.layout, "visible_changed", code.visible)
    exec("from __future__ import annotations\n" + text, made)
    level = [code.model.program.initial().key()]
    seen, levels = set(level), []
    while level:
        levels.append(len(level))
        if len(levels) - 1 == depth:
            break
        new: dict[bytes, None] = {}
        for state in level:
            after = code.next_states(state)
            ample = ample_steps(code, state, after)
            few = [data for word, data in after if word & STEP_WORD in ample]
            less = all(left(code.view(data[:size])) < left(code.view(state)) for data in few)
            if len(few) < len(after) and less and not all(made["visible_changed"](state, data) for data in few):
                sizes.add(len(ample))
                after = [(0, data) for data in few]
            for _, data in after:
                new[code.standing_for(data[:size]) if merges else data[:size]] = None
        level = [state for state in new if state not in seen]
        seen.update(level)
    return levels


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("merges", [False, True])
def test_the_states_visited_are_those_of_the_definition(merges: bool) -> None:
    """Level by level. A process that is ample may have several steps: all of them are taken."""
    sizes: set[int] = set()
    some: list[tuple[Configuration, int | None]] = [(replace(SMALL, nodes=2, txns=txns), None) for txns in (1, 2)]
    for configuration, depth in [*some, (CRASHES, 10)]:  # of three processes a later one may be ample
        code = narrowing(configuration, False)
        visited = AmpleExplorer(code, 1).run(Limits(depth=depth), keep_going=not merges)
        assert visited.levels == search_by_the_definition(code, depth, sizes, merges)
    assert sizes == {1, 2}


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("kind", [LearnsBound, ReceivesBound])
def test_a_process_one_of_whose_steps_is_not_free_is_not_ample(kind: type[Bound]) -> None:
    """Whichever of its steps it is. (In zab all steps of processes on their own are free.)"""
    two = replace(SMALL, nodes=2)
    code = kind(Model(two), DEFAULT, False)
    usual, bound = (AmpleExplorer(c, 1).run(Limits(), keep_going=True) for c in (narrowing(two, False), code))
    assert bound.levels == search_by_the_definition(code, None, set())
    assert bound.distinct > usual.distinct


# --- what processes on their own do is nobody's concern --------------------------------------------


def of(word: int) -> int:
    return word >> 16 & 255


def disturbed(code: Narrowing, state: bytes, p: int) -> list[str]:
    """What is wrong with leaving process p to itself in a state: a step of another that does not change places with one
    of p's, byte for byte, or that is judged otherwise behind it; or that makes p's steps others."""
    size = code.layout.size
    after = dict(code.next_states(state))
    mine = {w for w in after if of(w) == p}
    wrong = []
    for v in after.keys() - mine:
        beside = dict(code.next_states(after[v][:size]))
        if {w for w in beside if of(w) == p} != mine:
            wrong.append(f"{v:#x} changes what p{p} may do")
            continue
        for t in mine:
            behind = dict(code.next_states(after[t][:size]))
            if v not in behind or behind[v][:size] != beside[t][:size]:
                wrong.append(f"{t:#x} and {v:#x} do not change places")
                continue
            live = (1 << len(DEFAULT)) - 1
            if code.breaks(state, after[v], live) != code.breaks(after[t][:size], behind[v], live):
                wrong.append(f"{v:#x} is judged otherwise behind {t:#x}")
            if code.breaks(state, after[t], live) != code.breaks(after[v][:size], beside[t], live):
                wrong.append(f"{t:#x} is judged otherwise behind {v:#x}")
    return wrong


def walks(code: Narrowing, seed: int, number: int, length: int = 70) -> list[bytes]:
    """The distinct states on random walks, in the order in which they are met."""
    source, out = random.Random(seed), dict[bytes, None]()
    for _ in range(number):
        state = code.model.program.initial().key()
        for _ in range(length):
            out[state] = None
            after = code.next_states(state)
            if not after:
                break
            state = source.choice(after)[1][: code.layout.size]
    return list(out)


def own(code: Narrowing, state: bytes) -> list[int]:
    says = code.model.program.python["on_its_own"]
    view = code.view(state)
    return [p for p in range(code.layout.schema.nodes) if says(view, p)]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("variant", ["", "no-promise"])
def test_a_process_on_its_own_is_disturbed_by_nobody(variant: str) -> None:
    code = unmerged(variant)
    tried = 0
    for state in walks(code, 5, 15):
        for p in own(code, state):
            tried += 1
            assert not disturbed(code, state, p)
    assert tried > 50


@pytest.mark.slow(seconds=4)
def test_one_that_is_not_is_disturbed() -> None:
    """The same look at processes whose leader has not closed its end, and at those that ask their oracle, finds that
    they are."""
    code = unmerged()
    found = {1: 0, 0: 0}
    for state in walks(code, 6, 30):
        view = code.view(state)
        for p in range(3):
            if view.role[p] in found and p not in own(code, state):
                found[view.role[p]] += bool(disturbed(code, state, p))
    assert all(found.values()), found


@pytest.mark.slow(seconds=3)
def test_what_each_of_its_steps_leaves_to_do_is_less() -> None:
    """Else there might be a circle in which nobody else ever moves."""
    code = unmerged()
    left = code.model.program.python["remaining_work"]
    tried = 0
    for state in walks(code, 7, 15):
        for p in own(code, state):
            for word, after in code.next_states(state):
                if of(word) == p:
                    tried += 1
                    assert left(code.view(after[: code.layout.size])) < left(code.view(state))
    assert tried > 50


@pytest.mark.slow(seconds=1)
def test_a_step_that_leaves_as_much_to_do_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the step would be taken for ever, and nobody else would move: what they break would not be found."""
    two_rules = {**zab_variants.VARIANTS["equal-epoch"].overrides, "on_recovery": stay_down}
    made = Variant("circle", "a process stays down", two_rules)
    monkeypatch.setitem(PROTOCOLS["zab"].variants, "circle", made)  # type: ignore[arg-type]
    model, broken = Model(replace(CRASHES, variant="circle")), "one-leader-an-epoch"
    one = [p for p in DEFAULT if p.name == broken]  # the fewer are judged, the sooner it is compiled
    full = Explorer(Compiled(model, one, True), 1).run(Limits(), keep_going=True)
    less = AmpleExplorer(Narrowing(model, one, True), 1).run(Limits(), keep_going=True)
    assert full.violations.keys() == less.violations.keys() == {broken}
    assert less.narrowed
    assert less.distinct < full.distinct


FALLS = "after.promised_epoch[p] < before.promised_epoch[p]"
STEPS = '''
from zabcheck.language import safety


def a_step_is_there(before: State, event: State, after: State) -> bool:
    """Any step."""
    return True


@safety(witness=a_step_is_there, over="step")
def nobody_unpromises(before: State, event: State, after: State) -> bool:
    """Nobody promises less than before."""
    {every}
    return True
'''


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    ("every", "narrowed"),
    [
        (f"p = event.event_process\n    if {FALLS}:\n        return False", True),
        (f"for p in range(after.NODES):\n        if {FALLS}:\n            return False", False),
    ],
)
def test_a_search_is_called_narrowed_only_if_it_may_leave_out_states(
    every: str, narrowed: bool, tmp_path: Path
) -> None:
    """Where a property of steps looks at every process no step is free: all states are visited, and that is said, but
    where what was observed counts by its class."""
    copied = copy_of("zab", tmp_path, STEPS.format(every=every))
    model = Model(replace(SMALL, protocol=copied))
    judged = model.protocol.claims
    full = Explorer(Compiled.of(model, judged, True)[0], 1).run(Limits())
    code = Narrowing(model, judged, True)
    less, merged = (AmpleExplorer(code, 1).run(Limits(), keep_going) for keep_going in (True, False))
    assert merged.narrowed
    assert merged.distinct < less.distinct
    assert (less.reduced, less.narrowed) == (True, narrowed)
    reason = "nobody-unpromises reads other processes than the one that takes the step"
    assert less.ample_off == merged.ample_off == ("" if narrowed else reason)
    assert (less.distinct < full.distinct) == narrowed
    assert narrowed or less.levels == full.levels


# --- what is derived -------------------------------------------------------------------------------


def test_a_case_that_collides_with_another_process_is_not_free() -> None:
    world = narrowing(SMALL).conventions
    case, other = Case(RECOVER), Case(TO_FOLLOWER, 5)
    writes = frozenset({Touch("x", ("a",), True)})
    assert free_cases({case: writes}, {other: writes}, (), (), world) == {case}
    assert free_cases({case: writes}, {other: frozenset({Touch("x", ("b",), False)})}, (), (), world) == set()
    assert free_cases({case: writes}, {other: frozenset({Touch("x", (None,), False)})}, (), (), world) == set()
    written_of_another, nothing = frozenset({Touch("x", ("b",), True)}), frozenset[Touch]()
    for mine, theirs in ((written_of_another, nothing), (nothing, written_of_another)):
        assert free_cases({case: mine}, {other: theirs}, (), (), world) == {case}
        assert free_cases({case: mine}, {other: theirs}, [Touch("x", ("a",), False)], (), world) == set()
    budget = frozenset({Touch("crashes_left", (), True)})
    assert free_cases({case: budget}, {other: budget}, (), (), world) == set()
    unread, leads = (
        frozenset({Touch("role", ("b",), False, "disconnect")}),
        {other: frozenset({Touch("role", ("a",), True)})},
    )
    assert free_cases({other: unread}, leads, (), (), world) == {other}
    assert free_cases({case: unread}, leads, (), (), world) == set(), "one that is down may not have closed its end"
    anybody = frozenset({Touch("role", (None,), False, "disconnect")})
    assert free_cases({other: anybody}, leads, (), (), world) == set(), "another end may be open"


def test_what_others_may_let_a_process_do_is_waited_for() -> None:
    """Where the environment changes what an action looks at, no receipt is free; a recovery is, since who is down acts
    on nothing else. Nor is any step where others say whom a process follows."""
    world = narrowing(SMALL).conventions
    down, up, around = Case(RECOVER), Case(TO_FOLLOWER, 5), Case(ENVIRONMENT)
    own = {down: frozenset({Touch("x", ("a",), True)}), up: frozenset({Touch("y", ("a",), True)})}
    changes = {around: frozenset({Touch("season", (), True)})}
    waits = {Touch("season", (), False), Touch("z", ("a",), False)}
    assert free_cases(own, changes, (), (), world) == {down, up}
    assert free_cases(own, changes, (), waits, world) == {down}
    assert free_cases(own, {around: frozenset({Touch("z", ("a",), True)})}, (), waits, world) == {down, up}
    assert free_cases(own, {around: frozenset({Touch("z", (None,), True)})}, (), waits, world) == {down}
    assert free_cases(own, {around: frozenset({Touch("leader", (None,), True)})}, (), (), world) == set()


@pytest.mark.slow(seconds=1)
def test_every_receipt_of_a_process_on_its_own_is_free_in_zab() -> None:
    code = Narrowing(Model(SMALL), DEFAULT, False)
    code.typed_namespace()
    free = {(case.kind, case.tag) for case in code.free()}
    assert {(RECOVER, 0), (FOLLOWER_LEARNS, 0)} < free
    assert sum(kind == TO_FOLLOWER for kind, _ in free) == 5
    assert "pass_length" in code.read_of_states  # so that a pass that has delivered is not ended unseen
    assert "role" not in code.read_of_states


def test_a_property_of_steps_that_looks_at_others_is_seen() -> None:
    code = Narrowing(Model(SMALL), DEFAULT, False)
    code.typed_namespace()
    program, world = code.front.program, code.conventions
    assert not looks_beyond(program, code.layout, world, "invariant_4")[0]  # its own, and what is sent
    step = program.functions["invariant_1"]
    program.functions["invariant_1"] = replace(step, body=program.functions["durability"].body)
    assert looks_beyond(program, code.layout, world, "invariant_1")[0]


@pytest.mark.slow(seconds=1)
def test_a_report_names_the_property_that_looks_at_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    every = f"for p in range(after.NODES):\n        if {FALLS}:\n            return False"
    text = copy_of("zab", tmp_path, STEPS.format(every=every))
    monkeypatch.setattr(large_models, "SMALL", 50)
    asked = ["--protocol", text, "--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0"]
    said = CliRunner().invoke(main, [*asked, "--property", "nobody-unpromises", "--no-trace", "--json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.output)["engine"]["ample_sets_off"].startswith("nobody-unpromises reads other processes")


def test_a_change_of_any_process_is_seen() -> None:
    """Every byte of the fields, of every process, and no other: the fields of two processes lie apart."""
    layout = narrowing(SMALL).layout
    names = {"pass_length", "delivered", "link", "chosen_epoch", "abcasts"}
    made: dict[str, Any] = {"as_bytes": lambda state: state, "State": bytes}
    exec("from __future__ import annotations\n" + changed_text(layout, "seen_changed", names), made)
    inside = {
        at
        for name in names
        for _, start in layout.elements(name)
        for at in range(start, start + layout.fields[name].kind.size)
    }
    assert layout.offset("pass_length", 2) in inside
    before = bytes(layout.size)
    for at in range(layout.size):
        after = before[:at] + b"\1" + before[at + 1 :]
        assert made["seen_changed"](before, after) == (at in inside), at


@pytest.mark.slow(seconds=3)
def test_a_step_that_a_property_would_see_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = AmpleExplorer(narrowing(replace(SMALL, txns=1))).run(Limits())
    monkeypatch.setattr(Narrowing, "read_of_states", set())
    monkeypatch.setattr(Narrowing, "also_key", lambda self: ("blind", self.conventions))
    assert AmpleExplorer(Narrowing(Model(SMALL), DEFAULT, True)).run(Limits()).distinct < usual.distinct


# --- the command -----------------------------------------------------------------------------------

REPAIRED = "promise,later-epoch,none-ahead,current-epoch"
QUESTION = ["--nodes", "3", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--no-trace"]


@pytest.mark.slow(seconds=3)
def test_where_no_process_is_on_its_own_states_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """In `ladis` steps are found that may not change places: a search with ample sets ends where that is known. States
    with one future are one all the same."""
    ends: list[Exploration] = []
    run = EngineTask.run
    monkeypatch.setattr(large_models, "SMALL", 1000)
    monkeypatch.setattr(EngineTask, "run", lambda *how: ends.append(run(*how)) or ends[-1])
    question = [*QUESTION, "--txns", "1", "--protocol", "ladis", "--repair", REPAIRED, "--json"]
    question += [
        "--property",
        "delivered-is-chosen",
        "--property",
        "durability",
    ]  # which one transaction puts to the test
    found = json.loads(CliRunner().invoke(main, question).stdout)
    full = json.loads(CliRunner().invoke(main, [*question, "--reduction", "none"]).stdout)
    _, less, merged, every = ends  # in full up to where it is large, reduced in two ways, and in full
    assert (less.apart, less.narrowed, less.complete, every.narrowed) == (True, True, False, False)
    assert (merged.apart, merged.complete, bool(merged.merged)) == (False, True, True)
    assert len(less.levels) < len(merged.levels)
    assert found["verdict"] == full["verdict"]
    assert found["states"]["distinct"] == merged.distinct < every.distinct
    assert found["engine"]["ample_sets_off"] == "a process may be connected to another than the one that it follows"
    assert [p["verdict"] for p in found["properties"]] == [p["verdict"] for p in full["properties"]]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("small", "kinds", "distinct"),
    [(10_000, "early narrowed", 14_157), (10**6, "early narrowed full", 38_773)],
)
def test_a_model_that_grows_steeply_is_reduced_early(
    small: int, kinds: str, distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found is the answer where the model is large. If it is small, or might be, it is explored in full, and no
    reduced search is made twice."""
    ends: list[Exploration] = []
    run = EngineTask.run
    monkeypatch.setattr(growing, "EARLY", 1000)
    monkeypatch.setattr(growing, "STEEPLY", 1.1)
    monkeypatch.setattr(large_models, "SMALL", small)
    monkeypatch.setattr(EngineTask, "run", lambda *how: ends.append(run(*how)) or ends[-1])
    names = ["--property", "delivered-is-chosen", "--property", "durability"]
    found = json.loads(CliRunner().invoke(main, [*QUESTION, "--txns", "1", *names, "--json"]).stdout)

    def kind(r: Exploration) -> str:
        return "early" if r.stopped == growing.GROWS else "narrowed" if r.narrowed else "full"

    assert " ".join(map(kind, ends)) == kinds
    assert found["states"]["distinct"] == distinct
    assert [p["verdict"] for p in found["properties"]] == ["holds", "holds"]
    assert found["engine"]["ample_sets"] == (distinct < 38_773)
    assert not found["coverage"]["stopped"]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("more", "wanted"),
    [(["--property", "agreement"], [False, False]), (["--time-limit", "600"], [False])],
    ids=["a-premise-to-be-met", "a-time-limit"],
)
def test_what_is_not_reduced_early(more: list[str], wanted: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """A premise that is still to be met, here of two transactions, would be kept in every label: a longer search in
    full may meet it. And where time may be over, how deep all states are known is told."""
    kinds: list[bool] = []
    run = EngineTask.run
    monkeypatch.setattr(growing, "EARLY", 1000)
    monkeypatch.setattr(growing, "STEEPLY", 1.1)
    monkeypatch.setattr(large_models, "SMALL", 10**6)
    monkeypatch.setattr(EngineTask, "run", lambda *how: kinds.append((r := run(*how)).narrowed) or r)
    question = [*QUESTION, "--txns", "1", "--property", "durability", *more, "--json"]
    found = json.loads(CliRunner().invoke(main, question).stdout)
    assert kinds == wanted
    assert found["states"]["distinct"] == 38_773
