"""Reductions, and the explorer on several machines, under a quorum system."""

from __future__ import annotations

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce.ample import AmpleExplorer, Narrowing
from checker.explore.reduce.reducible import why_not_narrowed
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.model import Configuration, Model

DEFAULT = [p for p in properties_of("zab") if p.default and p.judges("zab")]
SMALL = {"txns": 1, "timeouts": 0, "crashes": 1, "losses": 0}
SYSTEMS = ["weights 2,1,1", "groups {1,2},{3}", "weights 1,1,0"]


def run(engine: Explorer) -> Exploration:
    return engine.run(Limits(), keep_going=True)


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("quorums", ["groups {1,2},{3}"])
def test_ample_sets_judge_alike(quorums: str) -> None:
    model = Model(Configuration(quorums=quorums, **SMALL))
    full = run(Explorer(Compiled(model, DEFAULT, True), 1))
    less = run(AmpleExplorer(Narrowing(model, DEFAULT, True), 1))
    assert less.distinct < full.distinct
    assert bool(less.violations) == bool(full.violations)
    assert less.violations.keys() == full.violations.keys()
    assert less.witnessed.keys() <= full.witnessed.keys()


def test_where_who_accepts_first_decides_nothing_is_left_out() -> None:
    """Accepting changes places only where what a quorum accepts stays accepted by a quorum: `weights 2,1,-1` has {p0},
    and not {p0, p2}, so that p2 accepting first leaves undone what p0 alone would have chosen."""
    without = Model(Configuration(quorums="weights 2,1,-1", **SMALL))
    assert "a weight below zero" in why_not_narrowed(without)
    for quorums in ("", *SYSTEMS):
        assert not why_not_narrowed(Model(Configuration(quorums=quorums, **SMALL)))
