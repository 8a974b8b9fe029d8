"""States are merged by the automorphisms of a quorum system alone: orbits are counted by brute force."""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import permutations

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.explore.symmetry import NotRenamings, why_not_symmetric
from invariants import PROPERTIES
from invariants.registry import Property
from zabspec.language.layout import derive
from zabspec.language.python import reference
from zabspec.model import Configuration, Model
from zabspec.quorums import system_of

JUDGED: tuple[Property, ...] = tuple(p for p in PROPERTIES if p.name in ("integrity", "one-leader-an-epoch"))
SMALL = {"txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}
FIVE = 3  # levels of five processes
CASES = {
    "zab, weights 2,1,1": (Configuration(quorums="weights 2,1,1", **SMALL), None),
    "zab, 5, groups, a weight of 0": (
        Configuration(quorums="groups {1,2,3},{4},{5} weights 1,1,0,1,1", **SMALL), FIVE,
    ),
}  # fmt: skip


def explored(c: Configuration, symmetry: bool, depth: int | None) -> Exploration:
    code, why = Compiled.of(Model(c), JUDGED, symmetry, every_step=True)
    assert not why
    return Explorer(code, 1).run(Limits(depth=depth), keep_going=True)


def levels_of_states(c: Configuration, depth: int | None) -> list[set[bytes]]:
    """The states of every level, by the plain Python of the model: no engine, no symmetry."""
    model = Model(c)
    layout = model.program.layout
    interpreter = Interpreter(model, (), symmetry=False, every_step=True)
    seen = {model.program.initial().key()}
    levels, ahead = [set(seen)], deque(seen)
    while ahead and (depth is None or len(levels) <= depth):
        new: set[bytes] = set()
        for data in ahead:
            for _, after in interpreter.successors(data):
                key = after.key()[: layout.size]
                if key not in seen:
                    seen.add(key)
                    new.add(key)
        ahead = deque(new)
        if new:
            levels.append(new)
    return levels


def orbits(c: Configuration, states: set[bytes]) -> int:
    """How many orbits states have under the renamings that keep the quorums, each of which is checked here."""
    system = system_of(c.quorums)
    quorums = {frozenset(p for p in range(c.nodes) if m >> p & 1) for m in system.quorums}
    keeps = [p for p in permutations(range(c.nodes)) if {frozenset(p[k] for k in q) for q in quorums} == quorums]
    layout = Model(c).program.layout
    return len({min(derive.permuted(layout, data, p) for p in keeps) for data in states})


@cache
def counted(name: str) -> tuple[list[int], list[int]]:
    """Of every level of a case, by brute force: its states, and its orbits."""
    c, depth = CASES[name]
    levels = levels_of_states(c, depth)
    return [len(level) for level in levels], [orbits(c, level) for level in levels]


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", CASES)
def test_orbits_are_those_of_the_automorphisms(name: str) -> None:
    c, depth = CASES[name]
    states, merged = counted(name)
    with_symmetry, without = explored(c, True, depth), explored(c, False, depth)
    assert list(without.levels) == states
    assert list(with_symmetry.levels) == merged
    assert with_symmetry.raw == sum(states)


def test_all_permutations_would_merge_too_much() -> None:
    """The counts above tell the automorphisms from all permutations, which merge more."""
    c, depth = Configuration(quorums="weights 2,1,1", **SMALL), 8
    levels = levels_of_states(c, depth)
    layout = Model(c).program.layout
    every = [
        len({min(derive.permuted(layout, s, p) for p in permutations(range(3))) for s in level}) for level in levels
    ]
    merged = list(explored(c, True, depth).levels)
    assert merged == [orbits(c, level) for level in levels]
    assert sum(every) < sum(merged)


def test_all_permutations_are_found_out_by_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were all permutations used, the trial of the compiled model, or the way back, would say so."""
    from zabspec.quorums import QuorumSystem

    monkeypatch.setattr(QuorumSystem, "renamings", property(lambda self: tuple(permutations(range(self.nodes)))))
    c = Configuration(quorums="weights 5,1,1", **SMALL)
    try:
        code = Compiled(Model(c), JUDGED, True, every_step=True)
    except NotRenamings:
        return
    assert code.asymmetry or why_not_symmetric(code, walks=64)


def test_the_interpreter_has_the_same_orbits() -> None:
    c = Configuration(quorums="weights 2,1,1", **SMALL)
    found = Interpreter(Model(c), JUDGED, symmetry=True, every_step=True).run(Limits(depth=9))
    compiled = explored(c, True, 9)
    assert (list(found.levels), found.raw) == (list(compiled.levels), compiled.raw)


def test_a_state_asks_the_table() -> None:
    s = Model(Configuration(quorums="weights 2,1,1", **SMALL)).program.initial()
    assert isinstance(s, reference.StateView)
    asked = {m: s.is_quorum({p for p in range(3) if m >> p & 1}) for m in range(8)}
    assert [m for m, yes in asked.items() if yes] == [0b011, 0b101, 0b111]
    with pytest.raises(AttributeError):
        _ = s.MAJORITY
