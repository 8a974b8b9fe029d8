"""A quorum system by itself: its text, its quorums, its automorphisms, and what no model can have."""

from __future__ import annotations

from itertools import permutations

import pytest

from zabspec import zoo_cfg
from zabspec.ensemble import ConfigError, Ensemble
from zabspec.quorums import system_of, text_of

WEIGHTS, GROUPS = "weights 2,1,1,1,0", "groups {1,2},{3,4},{5}"


def parse(text: str) -> Ensemble:
    return zoo_cfg.parse(text.encode()).voters


def zoo(count: int, *more: str) -> str:
    return "\n".join([*(f"server.{k}=h{k}:2888:3888" for k in range(1, count + 1)), *more])


def sets(text: str) -> set[frozenset[int]]:
    """The quorums, by the numbers of servers."""
    found = system_of(text)
    return {frozenset(p + 1 for p in range(found.nodes) if mask >> p & 1) for mask in found.quorums}


def test_weights_are_counted_by_hand():
    weight = {1: 2, 2: 1, 3: 1, 4: 1, 5: 0}
    expected = {
        frozenset(k for k in weight if m >> k & 1)
        for m in range(0, 64, 2)
        if sum(w for k, w in weight.items() if m >> k & 1) >= 3
    }
    assert sets(WEIGHTS) == expected
    assert frozenset({1, 2}) in expected
    assert frozenset({2, 3, 5}) not in expected


def test_groups_are_counted_by_hand():
    found = sets(GROUPS)
    assert {q for q in found if not any(o < q for o in found)} == {
        frozenset({1, 2, 3, 4}), frozenset({1, 2, 5}), frozenset({3, 4, 5}),
    }  # fmt: skip


def test_automorphisms_keep_quorums_and_nothing_else_does():
    for text, count in (("weights 1,1,1", 6), ("weights 2,1,1", 2), (WEIGHTS, 6), (GROUPS, 8)):
        system = system_of(text)
        keeps = [
            p
            for p in permutations(range(system.nodes))
            if {frozenset(p[k - 1] + 1 for k in q) for q in sets(text)} == sets(text)
        ]
        assert list(system.renamings) == keeps
        assert len(keeps) == count
        assert keeps[0] == tuple(range(system.nodes))


def test_a_server_without_weight_is_like_no_other():
    assert all(p[4] == 4 and p[0] == 0 for p in system_of(WEIGHTS).renamings)


def test_a_zoo_cfg_gives_its_text():
    assert text_of(parse(zoo(3))) == ""
    assert text_of(parse(zoo(3, "group.1=1:2:3", "weight.1=2"))) == "weights 2,1,1"
    assert text_of(parse(zoo(5, "group.7=3:4", "group.2=2:1", "group.9=5"))) == GROUPS
    assert text_of(parse(zoo(3, "group.1=1:2", "group.2=3", "weight.3=0"))) == "groups {1,2},{3} weights 1,1,0"
    far = "server.30=c:1:2\nserver.10=a:1:2\nserver.20=b:1:2\ngroup.1=10:20:30\nweight.30=5"
    assert text_of(parse(far)) == "weights 1,1,5"


def test_two_quorums_that_do_not_intersect():
    system = system_of("weights 3,3,-3")
    assert system.disjoint == (0b001, 0b010)
    assert not system.grows
    assert system_of(WEIGHTS).disjoint is None
    assert system_of(WEIGHTS).grows
    assert (system.smallest, system_of(WEIGHTS).smallest, system_of(GROUPS).smallest) == (1, 2, 3)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (zoo(3, "group.1=1:2:3", "weight.1=0", "weight.2=0", "weight.3=0"), "has no quorum"),
        (zoo(3, "group.1=1:2:3", "weight.1=-1", "weight.2=-1", "weight.3=-1"), "has no quorum"),
        (zoo(2, f"group.1=1:2\nweight.1={2**62}\nweight.2={2**62}"), "more than 64 bits"),
        (zoo(2, "server.3=h:1:2:observer", "group.1=1:2"), "server 3 is an observer"),
        (zoo(8, "group.1=1:2:3:4:5:6:7:8"), "at most 7 processes"),
    ],
)
def test_systems_that_no_model_has(config: str, says: str):
    with pytest.raises(ConfigError, match=says):
        text_of(parse(config))


@pytest.mark.parametrize(
    "text",
    ["", "majority", "weights", "weights 2,,1", "weights 01,1", "groups {2,1},{3}", "groups {1,2,3}", "weights 1.5,1",
     "groups {1},{3}", "groups {0},{1}", "groups {1},{1}", "groups {1,2},{3} weights 1,1,1", "weights 1,1,1 "],
)  # fmt: skip
def test_a_text_is_refused_that_is_not_the_one_of_a_system(text: str):
    with pytest.raises(ConfigError):
        system_of(text)
