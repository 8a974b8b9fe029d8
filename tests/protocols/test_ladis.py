"""ZAB as LADIS'08 describes it: what breaks, at which depth, and which rules of DSN'11 mend it.

The figures are those of docs/reference/variants.md and benchmarks/results/ladis.md.
"""

from __future__ import annotations

from functools import cache

import pytest

from checker.ci.variants import shown
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from invariants.registry import TERMINAL, Property, keeps, meets, no_step_is_possible
from tests.models import judged
from traces import Runner, build_trace
from traces.replay.replay import replay
from traces.shorten.minimise import World
from zabspec.language.python.lang import State, broken
from zabspec.language.python.reference import StateView
from zabspec.model import ConfigError, Configuration, Model
from zabspec.protocols.ladis_variants import VARIANTS
from zabspec.simulator.run import Run

JUDGED = judged("ladis")
RULES = ",".join(v.name for v in VARIANTS.values() if v.repairs)  # of DSN'11


def asked(variant: str = "", nodes: int = 3, txns: int = 2, timeouts: int = 0) -> Configuration:
    return Configuration("ladis", variant, nodes=nodes, txns=txns, timeouts=timeouts, crashes=0, losses=0)


@cache
def explored(c: Configuration) -> Exploration:
    code, why = Compiled.of(Model(c), JUDGED, True)
    assert why == ""
    return Explorer(code, 1).run(Limits(), keep_going=True)


def depths(r: Exploration) -> dict[str, int]:
    return {name: found.depth for name, found in r.violations.items()}


# --- the protocol --------------------------------------------------------------------------------

WITH_A_TIMEOUT = {
    "one-leader-an-epoch": 11, "one-primary-an-epoch": 13, "unique-zxid": 13, "agreement": 19,
    "delivered-is-chosen": 19, "durability": 19, "chosen-in-later-histories": 20, "reliable-delivery": 22,
}  # fmt: skip


@pytest.mark.slow(seconds=5)
def test_two_leaders_own_an_epoch_and_what_comes_of_it() -> None:
    c = asked(timeouts=1)
    r = explored(c)
    assert r.complete
    assert depths(r) == WITH_A_TIMEOUT
    assert set(r.witnessed) == {p.name for p in JUDGED}
    for found in r.violations.values():
        assert len(replay(build_trace(Model(c), found.property, found.schedule)).steps) == found.depth


@pytest.mark.slow(seconds=3)
def test_a_rule_that_is_left_out_is_needed() -> None:
    """With one timeout; the entries `ladis-all-but-...` of the gallery have the others."""
    rules = ",".join(r for r in RULES.split(",") if r != "none-ahead")
    assert min((at, name) for name, at in depths(explored(asked(rules, timeouts=1))).items()) == (
        24, "chosen-in-later-histories",
    )  # fmt: skip


@pytest.mark.slow(seconds=3)
def test_with_all_four_everything_holds() -> None:
    r = explored(asked(RULES, timeouts=1))
    assert r.complete
    assert not r.violations
    assert set(r.witnessed) == {p.name for p in JUDGED}


@pytest.mark.slow(seconds=9)
def test_with_the_promise_alone_nobody_leads_again() -> None:
    """From the end of tests/scenarios/ladis-promise.txt, with two more timeouts: all that can happen."""
    model = Model(Configuration("ladis", "promise", nodes=3, txns=1, timeouts=3, crashes=1, losses=0))
    runner = Runner(model)
    names = runner.names
    for p in (0, 1):  # both have promised epoch 1, and nothing was proposed in it
        runner.state.promised_epoch[p] = 1
    seen, todo = {runner.state.key()}, [runner.state.key()]
    code = Compiled(model, (), False)
    while todo:
        for _, raw in code.next_states(todo.pop()):
            key = raw[: code.layout.size]
            if key not in seen:
                assert not any(names["may_abcast"](StateView(code.layout, key), p) for p in range(3))
                seen.add(key)
                todo.append(key)
    assert len(seen) > 1000


# --- its variants --------------------------------------------------------------------------------

READINGS = [v for name, v in shown("ladis").items() if not VARIANTS[name].repairs]


@pytest.mark.slow(seconds=2)
def test_a_reading_breaks_what_it_says() -> None:
    v = shown("ladis")["counter-zero"]
    r = explored(v.configuration)
    assert r.complete
    assert depths(r) == v.breaks


def test_rules_of_dsn_are_named_in_their_order() -> None:
    assert RULES == "promise,later-epoch,none-ahead,current-epoch"
    assert {v.beside for v in READINGS} == {(), tuple(RULES.split(","))}
    assert Model(asked(RULES)).program.layout.schema.nodes == 3


# --- properties of terminal states ---------------------------------------------------------------


def never_terminal(s: State) -> bool:
    """A violated property wherever it is asked."""
    return broken("nothing more can happen")


def anything(s: State) -> bool:
    """Wherever it is asked."""
    return True


ALWAYS_ASKED = Property("never-terminal", TERMINAL, "here", "a terminal state", never_terminal, anything)


@pytest.mark.slow(seconds=3)
def test_a_property_of_terminal_states_is_asked_there_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both engines find the first state in which nothing is possible, and so does replay."""
    import invariants.ladis as home

    monkeypatch.setattr(home, "never_terminal", never_terminal, raising=False)
    monkeypatch.setattr(home, "anything", anything, raising=False)
    for function in (never_terminal, anything):
        monkeypatch.setattr(function, "__module__", home.__name__)
    c = asked(nodes=2, txns=1)
    model = Model(c)
    asking = (ALWAYS_ASKED, *(p for p in JUDGED if p.of == TERMINAL))
    code, _ = Compiled.of(model, asking, True)
    quick = Explorer(code, 1).run(Limits(), keep_going=True)
    slow = Interpreter(model, asking, True).run(Limits(), keep_going=True)
    assert quick.terminal == slow.terminal > 0
    assert depths(quick) == depths(slow)
    assert quick.witnessed == slow.witnessed
    assert set(quick.witnessed) == {"never-terminal", "reliable-delivery"}
    runner = Runner(model)
    kept = [keeps(ALWAYS_ASKED, runner.names, runner.state)]
    for word in quick.violations["never-terminal"].schedule:
        assert not no_step_is_possible(runner.names, runner.state)
        runner.step(word)
        kept.append(bool(keeps(ALWAYS_ASKED, runner.names, runner.state)))
    assert kept == [True] * (len(kept) - 1) + [False]
    assert meets(ALWAYS_ASKED, runner.names, runner.state)


@pytest.mark.slow(seconds=2)
def test_a_counterexample_in_a_terminal_state_is_shortened_and_stays_one() -> None:
    c = asked(timeouts=1)
    found = explored(c).violations["reliable-delivery"]
    world = World(c, found.property)
    runner = Runner(Model(c))
    for word in found.schedule[:-1]:
        runner.step(word)
    before = runner.state.copy()
    runner.step(found.schedule[-1])
    assert world.breaks(before, runner.state)
    assert not world.breaks(before, before)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ConfigError, match="ladis restricts its oracle itself"):
        Run(seed=1, protocol="ladis", oracle="lab")
