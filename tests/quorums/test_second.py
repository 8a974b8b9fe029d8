"""The second explorer, written from docs/reference/semantics.md alone, gives the same under all quorum systems."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.requests.properties import chosen_properties
from tests.second.reference import explore
from zabspec.model import Configuration, Model

HERE = Path(__file__).parent
BALLOTS, ELECTED = str(HERE / "ballots.py"), str(HERE.parent / "own" / "texts" / "one_value.py")
SYSTEMS = ("", "weights 2,1,1", "weights 1,1,0", "groups {1,2},{3}", "weights 3,3,-3")
NONE = {"timeouts": 0, "crashes": 0, "losses": 0}
CASES: list[tuple[str, dict[str, int], dict[str, int], int]] = [
    (BALLOTS, {"asks": 2}, {}, 40),
    ("zab", NONE, {"txns": 1}, 9),
    ("ladis", NONE, {"txns": 1}, 8),
    ("db19", {"timeouts": 2}, {"txns": 1}, 5),
    ("zookeeper", {"elections": 1, "crashes": 0, "losses": 0}, {}, 9),
]

# Those that are asked with few systems: together with most that there are.
SOME = {
    "zab": ("weights 2,1,1", "weights 3,3,-3"),
    "ladis": ("groups {1,2},{3}",),
    "db19": ("weights 2,1,1",),
    "zookeeper": ("weights 2,1,1",),
}


def asked() -> list[Any]:
    """Every case with the systems that it is asked with."""
    return [
        pytest.param(*case, quorums, id=f"{Path(case[0]).stem}-{quorums}")
        for case in CASES
        for quorums in SOME.get(case[0], SYSTEMS)
    ]


def theirs(protocol: str, quorums: str, budgets: dict[str, int], sizes: dict[str, int], depth: int) -> Any:
    request = {"protocol": protocol, "nodes": 3, "quorums": quorums, "budgets": budgets, "sizes": sizes}
    found = explore(request | {"max_depth": depth})
    levels = Counter(found["depth"])
    broken = {name: v["depth"] if v["result"] == "violated" else None for name, v in found["verdicts"].items()}
    return [levels[d] for d in sorted(levels)], len(found["edges"]), len(found["terminal"]), broken


def ours(protocol: str, quorums: str, budgets: dict[str, int], sizes: dict[str, int], depth: int) -> Any:
    own = {name: n for name, n in budgets.items() if name in ("asks", "elections")}
    plain = {name: n for name, n in budgets.items() if name not in own}
    said = ",".join(f"{name}={n}" for name, n in own.items())
    c = Configuration(protocol, nodes=3, quorums=quorums, budgets=said, promises=False, **plain, **sizes)
    judged = chosen_properties((), protocol)
    code, _ = Compiled.of(Model(c), judged, False, every_step=True)
    r = Explorer(code, 1).run(Limits(depth=depth), keep_going=True)
    assert not r.error
    return list(r.levels), r.generated, r.terminal, {name: v.depth for name, v in r.violations.items()}


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(("protocol", "budgets", "sizes", "depth", "quorums"), asked())
def test_both_find_the_same(
    protocol: str, budgets: dict[str, int], sizes: dict[str, int], depth: int, quorums: str
) -> None:
    their_levels, edges, terminal, judged = theirs(protocol, quorums, budgets, sizes, depth)
    levels, generated, ends, broken = ours(protocol, quorums, budgets, sizes, depth)
    assert levels == their_levels
    their_broken = {name: d for name, d in judged.items() if d is not None}
    assert their_broken == {name: d for name, d in broken.items() if name in judged}  # it does not know them all
    if protocol != "db19":  # there one transition leads to a state for each of several equal messages
        assert generated == edges
    if len(levels) <= depth:  # else the last level is not expanded
        assert ends == terminal
