"""Premises that random walks meet: each by a run, and at the depth that is told of it."""

from __future__ import annotations

import pytest

from checker.explore import compiled
from checker.explore.breadth_first import Explorer
from checker.explore.reduce import narrowing
from checker.explore.result import Limits
from checker.requests.base.model import ModelRequest
from checker.requests.explore import Explore
from checker.search import premises
from checker.search.code import SearchCode
from checker.search.premises import Walks, depths_by_walks
from invariants import properties_of
from invariants.binding import bound
from invariants.registry import Property, meets
from zabspec.model import Configuration, Model

ASKED = Configuration(nodes=2, txns=2, timeouts=1, crashes=0, losses=0)


def judged() -> tuple[Property, ...]:
    return tuple(p for p in properties_of("zab") if p.default and p.judges("zab"))


def test_each_depth_is_where_the_walk_first_meets_it() -> None:
    """Told in CPython: every step of the walk is taken there, and judged."""
    model = Model(ASKED)
    names, code = bound(model), SearchCode(model, judged())
    walks, told = Walks(code, list(code.properties)), 0
    for number in range(premises.WALKS):
        if not walks.unmet:
            break
        before = dict(walks.depths)
        walks.walk(number)
        new = walks.depths.keys() - before.keys()
        if not new:
            continue
        again = Walks(code, [p for p in code.properties if p.name in new])
        again.met(number, 400)
        length = max(walks.depths[name] for name in new)
        path, s = again.slot.path[:length], model.program.initial()
        first: dict[str, int] = {}
        for depth, word in enumerate(path, 1):
            earlier = s.copy()
            names["apply"](s, word)
            for p in code.properties:
                if p.name in new and meets(p, names, s, earlier):
                    first.setdefault(p.name, depth)
        assert first == {name: walks.depths[name] for name in new}
        told += len(new)
    assert told == len(code.properties)


def test_walks_meet_nothing_that_a_full_search_does_not() -> None:
    """With one transaction some premises are out of reach."""
    model = Model(Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0))
    code, _ = compiled.Compiled.of(model, judged(), False)
    full = Explorer(code).run(Limits()).witnessed
    found = depths_by_walks(model, judged(), {p.name for p in judged()}, walks=500)
    assert found.keys() == full.keys()
    assert len(found) < len(judged())
    assert all(found[name] >= depth for name, depth in full.items())


def test_only_what_is_wanted_is_looked_for() -> None:
    assert depths_by_walks(Model(ASKED), judged(), {"prefix"}).keys() == {"prefix"}
    assert depths_by_walks(Model(ASKED), judged(), {"prefix"}, walks=0) == {}


@pytest.mark.slow(seconds=2)
def test_a_premise_that_a_walk_met_is_not_kept_by_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that fewer states are visited, and every premise has its depth all the same."""
    monkeypatch.setattr(narrowing, "SMALL", 300)
    model = ModelRequest(nodes=2, txns=2, budgets={"timeouts": 1, "crashes": 0, "losses": 0})
    walked = Explore(**vars(model), trace="").answer().exploration
    assert walked.distinct == 1_413, "as where every premise was met before"
    assert walked.witnessed.keys() == {p.name for p in judged()}
    monkeypatch.setattr(premises.depths_by_walks, "__defaults__", (0,))
    kept = Explore(**vars(model), trace="").answer().exploration
    assert kept.distinct > walked.distinct
    assert all(depth >= kept.witnessed[name] for name, depth in walked.witnessed.items())
