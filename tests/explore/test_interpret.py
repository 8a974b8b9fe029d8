"""The interpreted engine and the compiled one agree on every count and verdict."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from invariants import PROPERTIES
from invariants.binding import bound
from invariants.registry import STEP, Property
from zabspec.language.reference import StateView
from zabspec.model import Configuration, Model

NONE: dict[str, Any] = {"timeouts": 0, "crashes": 0, "losses": 0}
JUDGED = tuple(p for p in PROPERTIES if p.default and p.judges("zab"))

# name -> configuration, depth, symmetry
CASES: dict[str, tuple[dict[str, Any], int | None, bool]] = {
    "two, exhausted": ({"nodes": 2, "txns": 1} | NONE, None, False),
    "two, exhausted, orbits": ({"nodes": 2, "txns": 1} | NONE, None, True),
    "two, two transactions": ({"nodes": 2, "txns": 2} | NONE, 30, False),
    "two, timeout and crash": ({"nodes": 2, "txns": 1} | NONE | {"timeouts": 1, "crashes": 1}, 9, False),
    "two, crash and loss, orbits": ({"nodes": 2, "txns": 1} | NONE | {"crashes": 1, "losses": 1}, 7, True),
    "two, partition": ({"nodes": 2, "txns": 1} | NONE | {"partitions": 1}, 12, False),
    "three": ({"nodes": 3, "txns": 1} | NONE, 9, False),
    "three, orbits": ({"nodes": 3, "txns": 1} | NONE, 7, True),
    "three, timeout, orbits": ({"nodes": 3, "txns": 1} | NONE | {"timeouts": 1}, 4, True),
    "three, loss": ({"nodes": 3, "txns": 1} | NONE | {"losses": 1}, 5, False),
    "small quorum": ({"nodes": 2, "txns": 1, "variant": "small-quorum"} | NONE, 12, False),
    "small quorum, orbits": ({"nodes": 2, "txns": 1, "variant": "small-quorum"} | NONE, 12, True),
    "unordered": ({"nodes": 2, "txns": 1, "network": "unordered"} | NONE, 14, False),
    "lossy": ({"nodes": 2, "txns": 1, "network": "lossy", "drops": 1} | NONE, 12, False),
    "duplicating": ({"nodes": 2, "txns": 1, "network": "duplicating", "duplicates": 1} | NONE, 8, False),
}

# these in code that was compiled thoroughly, as long runs have it; the others in quick code
THOROUGH = ("two, exhausted, orbits", "two, timeout and crash", "small quorum", "unordered", "duplicating")


@cache
def both(name: str, keep_going: bool = True) -> tuple[Exploration, Exploration]:
    given, depth, symmetry = CASES[name]
    model = Model(Configuration(**given))
    code = Compiled(model, JUDGED, symmetry)
    if name in THOROUGH:
        code.worked(math.inf, math.inf)
        assert code.code.thorough
    compiled = Explorer(code, 1).run(Limits(depth=depth), keep_going)
    return compiled, Interpreter(model, JUDGED, symmetry).run(Limits(depth=depth), keep_going)


def breaks(model: Model, p: Property, words: tuple[int, ...]) -> bool:
    """Whether a property holds until the last step of a schedule, and not after it."""
    program, names = model.program, bound(model)

    def kept(before: StateView, after: StateView) -> bool:
        holds = names[p.holds.__name__]
        return bool(holds(before, after, after) if p.of == STEP else holds(after))

    state = program.initial()
    verdicts = [p.of == STEP or kept(state, state)]
    for word in words:
        out: dict[int, int] = {}
        names["enabled"](state, out)
        assert word & 0xFFFFFFFF in [out[k] for k in range(1, out[0] + 1)]
        after = StateView(program.layout, state.key())
        names["apply"](after, word)
        verdicts.append(kept(state, after))
        state = StateView(program.layout, after.key())
    return all(verdicts[:-1]) and not verdicts[-1] if p.of != STEP else not verdicts[-1]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", CASES)
def test_both_engines_agree(name: str) -> None:
    compiled, interpreted = both(name)
    assert not compiled.error
    assert not interpreted.error
    for what in ("levels", "raw_levels", "generated", "terminal", "witnessed", "complete", "expanded_levels"):
        assert getattr(compiled, what) == getattr(interpreted, what), what
    assert compiled.step_counts == interpreted.step_counts
    assert compiled.event_counts == interpreted.event_counts
    depths = [{name: found.depth for name, found in r.violations.items()} for r in (compiled, interpreted)]
    assert depths[0] == depths[1]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", ["small quorum", "small quorum, orbits"])
def test_both_engines_find_runs_that_break_the_property(name: str) -> None:
    model = Model(Configuration(**CASES[name][0]))
    for result in both(name):
        assert result.violations
        for found in result.violations.values():
            assert breaks(model, found.property, found.schedule), found.property.name


@pytest.mark.slow(seconds=1)
def test_without_keep_going_both_stop_after_the_violating_level() -> None:
    compiled, interpreted = both("small quorum", keep_going=False)
    assert compiled.levels == interpreted.levels
    assert set(compiled.violations) == set(interpreted.violations)
    assert {f.depth for f in interpreted.violations.values()} == {interpreted.depth}


@pytest.mark.slow(seconds=1)
def test_a_value_out_of_range_ends_both_at_the_same_level() -> None:
    model = Model(Configuration(nodes=2, txns=1, channel=1, **NONE))
    results = [
        Explorer(Compiled(model, JUDGED, False), 1).run(Limits(depth=16)),
        Interpreter(model, JUDGED, False).run(Limits(depth=16)),
    ]
    assert results[0].expanded_levels == results[1].expanded_levels
    for result in results:
        assert "to_follower would hold more than 1" in result.error
        assert "--channel" in result.error
        assert not result.complete
    assert "step" in results[1].error


def test_the_interpreter_stops_at_a_limit_and_says_which() -> None:
    model = Model(Configuration(nodes=3, txns=1, **NONE))
    result = Interpreter(model, JUDGED, False).run(Limits(max_states=50))
    assert result.stopped == "--max-states 50 reached"
    assert 50 <= result.distinct < 80
    assert result.expanded_levels < len(result.levels)
    result = Interpreter(model, JUDGED, False).run(Limits(seconds=0.05))
    assert result.stopped == "--time-limit 0.05 s reached"
    result = Interpreter(model, JUDGED, False).run(Limits(memory=1 << 20))
    assert result.stopped == "--memory-limit 1 MiB reached"
