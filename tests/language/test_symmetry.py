"""Symmetry: renaming the processes is a group action, stepping and judging commute with it, and the explorer merges
exactly the states of one orbit. Brute force is every one of the n! renamings."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.symmetry import why_not_symmetric
from invariants import properties_of
from invariants.registry import STATE, STEP
from tests.models import (
    CONFIGURATIONS,
    DEFAULT,
    SMALL,
    USUAL,
    VARIANTS,
    compiled,
    model,
    python_names,
    python_successors,
    python_walked,
    renamings,
    walked,
)
from zabspec.language import Schema, StateView, derive
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import PARTITION

FIVE = Configuration(nodes=5, txns=1, timeouts=0, crashes=1, losses=0)
FOUR = CONFIGURATIONS[4]
ALL_SIZES = (CONFIGURATIONS[1], USUAL, FOUR, FIVE)


def name(c: Configuration) -> str:
    return f"n{c.nodes}-{c.network}-{c.variant}"


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("configuration", ALL_SIZES, ids=name)
def test_renaming_is_a_group_action(configuration: Configuration) -> None:
    """Nothing renamed is the state itself; one renaming after another is their product; the inverse undoes."""
    layout, n = model(configuration).program.layout, configuration.nodes
    source = random.Random(3)
    everything = list(itertools.permutations(range(n)))
    for data in walked(configuration, 200)[::5]:
        p, q = source.choice(everything), source.choice(everything)
        assert derive.permuted(layout, data, tuple(range(n))) == data
        once = derive.permuted(layout, data, p)
        assert derive.permuted(layout, once, q) == derive.permuted(layout, data, tuple(q[p[i]] for i in range(n)))
        assert derive.permuted(layout, once, tuple(p.index(i) for i in range(n))) == data


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", ALL_SIZES, ids=name)
def test_the_quick_renaming_is_the_plain_one(configuration: Configuration) -> None:
    """The helper that the tests use where speed counts says what `derive.permuted` says."""
    layout = model(configuration).program.layout
    source = random.Random(4)
    for data in walked(configuration, 200)[::5]:
        for rename in source.sample(renamings(configuration), min(6, len(renamings(configuration)))):
            assert rename(data) == derive.permuted(layout, data, rename.p)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", [*ALL_SIZES, *CONFIGURATIONS[5:]], ids=name)
def test_canonical_is_one_state_for_each_orbit(configuration: Configuration) -> None:
    """Every renaming of a state has the same fingerprint and the same image, which is one of its renamings; states of
    different orbits (by the least of all renamings) have different ones."""
    code = compiled(configuration, True)
    source = random.Random(5)
    by_fingerprint: dict[int, bytes] = {}
    orbits: set[bytes] = set()
    for data in walked(configuration, 200):
        orbit = {rename(data) for rename in renamings(configuration)}
        fingerprint, image = code.canonical(data)
        assert image in orbit
        least = min(orbit)
        orbits.add(least)
        assert by_fingerprint.setdefault(fingerprint, least) == least
        for other in source.sample(sorted(orbit), min(len(orbit), 8)):
            assert code.canonical(other) == (fingerprint, image)
    assert len(by_fingerprint) == len(orbits) > 50


def renamed_word(word: int, p: tuple[int, ...]) -> int:
    """A step's word with the processes in its operands renamed."""
    kind, a, b, rest = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255, word & ~0xFFFF00
    n = len(p)
    if kind == PARTITION:
        side = sum(1 << p[i] for i in range(n) if a >> i & 1)
        return rest | (side ^ ((1 << n) - 1) if side & 1 else side) << 16 | b << 8
    two = kind in TWO_OPERANDS
    return rest | p[a] << 16 | (p[b] if two else b) << 8


TWO_OPERANDS = {1, 2, 3, 4, 5, 10, 12, 13, 14, 15, 16}


def commutes(configuration: Configuration, data: bytes, p: tuple[int, ...]) -> None:
    """The successors of the renamed state are the renamed successors: the step, the state after it, and what it says
    of itself."""
    layout = model(configuration).program.layout
    plain = {r.p: r for r in renamings(configuration)}[p]

    def seen(word: int, raw: bytes, renamed: bool) -> tuple[object, ...]:
        s = StateView(layout, raw)
        state = plain(raw[: layout.size]) if renamed else raw[: layout.size]
        step = renamed_word(word, p) if renamed else word
        return step, state, s.steps, s.accepts, s.accept_epoch, s.choices, s.event_message.raw()

    there = Counter(seen(w, raw, True) for w, raw in python_successors(configuration, data))
    here = Counter(seen(w, raw, False) for w, raw in python_successors(configuration, plain(data)))
    assert there == here


def same_verdicts(configuration: Configuration, data: bytes, p: tuple[int, ...]) -> None:
    """Every property and witness, of states and of steps, says the same of the renamed state."""
    layout, names = model(configuration).program.layout, python_names(configuration)
    plain = {r.p: r for r in renamings(configuration)}[p]
    s, r = StateView(layout, data), StateView(layout, plain(data))
    for q in DEFAULT:
        if q.of != STEP:
            for function in (q.holds, q.witness):
                assert bool(names[function.__name__](s)) == bool(names[function.__name__](r)), q.name
    after = dict(python_successors(configuration, r.key()))
    for word, raw in python_successors(configuration, data):
        one, two = StateView(layout, raw), StateView(layout, after[renamed_word(word, p)])
        for q in DEFAULT:
            if q.of == STEP:
                for function in (q.holds, q.witness):
                    f = names[function.__name__]
                    assert bool(f(s, one, one)) == bool(f(r, two, two)), q.name


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", [*ALL_SIZES, *CONFIGURATIONS[3:4], *CONFIGURATIONS[5:]], ids=name)
def test_permuting_commutes_with_stepping_and_judging(configuration: Configuration) -> None:
    """On random states of the protocol, for every network."""
    source = random.Random(6)
    for data in python_walked(configuration, 60, 11):
        p = source.choice(renamings(configuration)).p
        commutes(configuration, data, p)
        same_verdicts(configuration, data, p)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_permuting_commutes_for_every_variant(variant: str) -> None:
    """On random states of every variant; one that fails must be explored without symmetry."""
    configuration = Configuration(variant=variant, nodes=3, txns=2, timeouts=1, crashes=1, losses=0)
    source = random.Random(8)
    for data in python_walked(configuration, 25, 12):
        p = source.choice(renamings(configuration)).p
        commutes(configuration, data, p)
        same_verdicts(configuration, data, p)


# Configuration and depth (None: to exhaustion): at most some ten thousand raw states.
COUNTED: tuple[tuple[Configuration, int | None], ...] = (
    (Configuration(nodes=2, txns=1, timeouts=0, crashes=0, losses=0), None),
    (SMALL, None),
    (CONFIGURATIONS[1], 10),
    (CONFIGURATIONS[7], 12),
    (USUAL, 7),
    (Configuration(nodes=3, txns=1, timeouts=0, crashes=0, losses=0), None),
    (CONFIGURATIONS[3], 7),
    (CONFIGURATIONS[5], 7),
    (CONFIGURATIONS[6], 8),
    (FOUR, 4),
    (FIVE, 3),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("configuration", "depth"), COUNTED, ids=lambda x: name(x) if isinstance(x, Configuration) else str(x)
)
def test_symmetry_counts_the_orbits(configuration: Configuration, depth: int | None) -> None:
    """All states are enumerated without symmetry and sorted into orbits by trying every renaming; the explorer with
    symmetry finds as many at each depth. A renaming of a reachable state is reachable, at the same depth."""
    code = compiled(configuration)
    size, rename_all = code.layout.size, renamings(configuration)
    level = {code.model.program.initial().key()}
    seen, orbits, raw = set(level), [], []
    while level and (depth is None or len(orbits) <= depth):
        raw.append(len(level))
        left, count = set(level), 0
        while left:
            orbit = {rename(next(iter(left))) for rename in rename_all}
            assert orbit <= left
            left -= orbit
            count += 1
        orbits.append(count)
        level = {after[:size] for data in level for _, after in code.next_states(data)} - seen
        seen |= level
    result = Explorer(compiled(configuration, True), 2).run(Limits(depth=depth), keep_going=True)
    assert result.levels == orbits
    assert result.raw_levels == raw
    assert sum(orbits) < len(seen)


# --- the second line: random walks that look for what does not commute ----------------------------------


class Toy:
    """A counter of steps beside the process that took the last one, of three, in the place of a compiled model."""

    def __init__(self, end: int = 10**9, wrong: str = "") -> None:
        self.end, self.wrong = end, wrong
        self.layout = SimpleNamespace(size=3, schema=Schema(3, (), {}))
        self.model = SimpleNamespace(program=SimpleNamespace(initial=lambda: SimpleNamespace(key=lambda: bytes(3))))
        self.properties = tuple(SimpleNamespace(of=of) for of in (STATE, STEP, STATE))
        self.asked: list[bytes] = []
        self.renamings: list[tuple[int, ...]] = []
        self.masks: set[int] = set()

    def next_states(self, data: bytes) -> list[tuple[int, bytes]]:
        count = int.from_bytes(data[:2])
        last = 1 if self.wrong == "steps" and data[2] == 1 else 2  # process 1 has fewer
        after = [(p, (count + 1).to_bytes(2) + bytes([p, 7])) for p in range(last + 1)]
        return after if count < self.end else []

    def canonical(self, data: bytes) -> tuple[int, bytes]:
        assert len(data) == 3, "what a step says of itself is no part of a state"
        return int.from_bytes(data[:2]) + (1000 * data[2] if self.wrong == "hash" else 0), data[:2] + b"\0"

    def rename(self, data: bytes, p: tuple[int, ...]) -> bytes:
        self.asked.append(data)
        self.renamings.append(p)
        return data[:2] + bytes([p.index(data[2]) if data[2] < len(p) else data[2]])

    def state(self, data: bytes) -> bytes:
        return data

    def judge_state(self, s: bytes, live: int) -> int:
        self.masks.add(live)
        return int(self.wrong == "holds" and s[2] == 2)

    def witness_state(self, s: bytes, want: int) -> int:
        self.masks.add(want)
        return int(self.wrong == "premise" and s[2] == 2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("hash", "a renamed state is not recognised as the same"),
        ("steps", "the steps of a renamed state are not its renamed steps"),
        ("holds", "a property distinguishes a state from its renaming"),
        ("premise", "a property distinguishes a state from its renaming"),
        ("", ""),
    ],
)
def test_random_walks_say_what_does_not_commute(wrong: str, said: str) -> None:
    toy = Toy(wrong=wrong)
    assert why_not_symmetric(cast(Any, toy)) == said
    assert toy.masks <= {0b101}, "a property of steps is asked of no state"
    if not wrong:  # so many walks of so many states, each from the beginning, with every renaming but the first
        assert [int.from_bytes(data[:2]) for data in toy.asked] == 16 * list(range(40))
        assert set(toy.renamings) == {*itertools.permutations(range(3))} - {(0, 1, 2)}
        assert len({data[2] for data in toy.asked}) == 3


def test_a_walk_ends_without_steps_and_one_process_takes_none() -> None:
    toy = Toy(end=3)
    assert why_not_symmetric(cast(Any, toy), walks=2) == ""
    assert len(toy.asked) == 6
    two = Toy()
    two.layout.schema = Schema(2, (), {})
    assert why_not_symmetric(cast(Any, two)) == ""
    assert set(two.renamings) == {(1, 0)}
    alone = Toy()
    alone.layout.schema = Schema(1, (), {})
    assert why_not_symmetric(cast(Any, alone)) == ""
    assert not alone.asked


def test_processes_in_messages_and_between_pairs_do_not_colour_a_process() -> None:
    """A message over a connection holds a process, and so does a field of each pair: the orbits are those that brute
    force counts, and symmetry is not switched off because a renamed state seems to have other steps."""
    text = Configuration(str(Path(__file__).parents[1] / "own" / "texts" / "passing.py"))
    made = Model(text)
    judged = properties_of(text.protocol)
    code, why = Compiled.of(made, judged, True)
    found = Explorer(code, 1).run(Limits(depth=7), keep_going=True)
    plain = Interpreter(made, judged, True).run(Limits(depth=7), keep_going=True)
    assert not why
    assert (found.levels, found.raw_levels) == (plain.levels, plain.raw_levels)
    assert found.distinct < found.raw
