"""Steps put together, or put in an order, show what the split ones show: every row of the track record, every mutant,
and at small budgets all that can be seen."""

from __future__ import annotations

import random

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.zookeeper.record import KNOWN, ask
from checker.zookeeper.rows import ROWS
from invariants import properties_of
from tests.zookeeper.protocols.merged_steps import compare
from traces import Runner, Step, Trace, state_json
from traces.record.trace import StepWord
from traces.replay.replay import replay
from zabspec.language.python.lang import AnyMessage, Node, State
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper.variants.coarse import COARSE, OVERRIDES

ONE_LOSS, ONE_CRASH, ONE_CUT = (
    {"crashes": a, "losses": b, "partitions": c} for a, b, c in ((0, 1, 0), (1, 0, 0), (0, 0, 1))
)


@pytest.mark.slow(seconds=6)
def test_a_row_is_found_where_each_step_is_by_itself() -> None:
    row = next(r for r in ROWS if r.issue == "1282")
    asked = ask(row, 120, split=True)
    assert asked.found
    assert asked.as_recorded
    assert row.merged <= row.depth  # a merged step is one
    assert asked.without.trace is not None


def test_each_merged_step_can_be_split() -> None:
    assert {v.name for v in COARSE} == {"coarse", *(f"coarse-{name}" for name in OVERRIDES)}


def of(variant: str, repair: str, start: str, own: str, budget: dict[str, int]) -> Configuration:
    name = PROTOCOLS["zookeeper"].combined(variant, repair)
    return Configuration("zookeeper", name, start=start, budgets=own, **budget)  # type: ignore[arg-type]


ALL = ",".join(KNOWN)
NONE, TWO = "elections=1,proposals=0", "elections=2,proposals=0"
ONE = "elections=1,proposals=1"
SMALL = [
    ("", ALL, "established", NONE, ONE_CRASH),
    ("3.9.1", "", "established", NONE, ONE_LOSS),
]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(("release", "repair", "start", "own", "budget"), SMALL)
def test_all_that_can_be_seen_is_seen_with_merged_steps(
    release: str, repair: str, start: str, own: str, budget: dict[str, int]
) -> None:
    merged = f"{release},coarse".strip(",")
    r = compare(of(release, repair, start, own, budget), of(merged, repair, start, own, budget))
    assert r.alike
    assert r.states[1] < r.states[0]


def anything(s: State, f: Node, m: AnyMessage) -> bool:
    """Every packet is taken first: a mutant."""
    return True


@pytest.mark.slow(seconds=3)
def test_an_order_that_hides_something_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PROPOSAL is not only noted: the end of a term logs it."""
    overrides = PROTOCOLS["zookeeper"].variants["coarse"].overrides
    monkeypatch.setitem(overrides, "takes_first", anything)  # type: ignore[arg-type]
    r = compare(of("", ALL, "established", NONE, ONE_LOSS), of("coarse", ALL, "established", NONE, ONE_LOSS))
    assert r.hidden
    assert not r.added


@pytest.mark.slow(seconds=1)
def test_random_runs_are_replayed() -> None:
    """Also a crash that starts again at once, and a loss that one end learns of first."""
    model = Model(of("coarse", ALL, "", "elections=3,proposals=1", {"crashes": 2, "losses": 3, "partitions": 1}))
    kinds: set[str] = set()
    for seed in range(7):
        chance, runner = random.Random(seed), Runner(model)
        initial, steps = state_json(runner.state), list[Step]()
        while len(steps) < 45 and (possible := runner.possible()):
            steps.append(runner.step(chance.choice(possible)))
        replay(Trace(model.configuration, "", "", "", initial, tuple(steps), ""))
        kinds |= {s.word.kind for s in steps}
    assert {"leader_loses", "follower_loses", "crash", "partition", "join"} <= kinds
    assert "lose_connection" not in kinds


@pytest.mark.slow(seconds=4)
def test_both_engines_count_the_same_in_order() -> None:
    model = Model(of("coarse", ALL, "", NONE, {"crashes": 0, "losses": 1, "partitions": 0}))
    judged = properties_of("zookeeper")
    code, reason = Compiled.of(model, judged, True)
    assert not reason
    limits = Limits(9, None, None, None)
    found, plain = Explorer(code, 1).run(limits, True), Interpreter(model, judged, True).run(limits, True)
    assert (plain.levels, plain.raw_levels, plain.generated) == (found.levels, found.raw_levels, found.generated)


def test_what_has_to_be_learned_of_a_step_is_in_its_word() -> None:
    """A loss that one end learns of first costs what any loss costs."""
    runner = Runner(Model(of("coarse", ALL, "established", NONE, ONE_LOSS)))
    word = next(w for w in runner.possible() if StepWord.of(w).kind == "follower_loses")
    runner.step(word)
    assert runner.state.losses_left == 0
