"""Where both engines stop, and that they count alike; random protocols: `tests/second`."""

from __future__ import annotations

from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from invariants import PROPERTIES
from tests.models import assert_same_figures
from zabspec.model import Configuration, Model

NONE: dict[str, Any] = {"timeouts": 0, "crashes": 0, "losses": 0}
JUDGED = tuple(p for p in PROPERTIES if p.default and p.judges("zab"))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("symmetry", [False, True])
def test_without_keep_going_both_stop_after_the_violating_level(symmetry: bool) -> None:
    """Until then they count the same states, steps and events."""
    model = Model(Configuration(nodes=2, txns=1, variant="small-quorum", **NONE))
    compiled = Explorer(Compiled(model, JUDGED, symmetry), 1).run(Limits(), keep_going=False)
    interpreted = Interpreter(model, JUDGED, symmetry).run(Limits(), keep_going=False)
    assert_same_figures(compiled, interpreted)
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
