"""Symmetry: one state stands for each orbit, by brute force over the n! renamings, and random walks look for what does
not commute with a renaming."""

from __future__ import annotations

import itertools
import random
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
from tests.models import CONFIGURATIONS, USUAL, compiled, walked
from tests.transcript import file_of
from zabspec.language import Schema
from zabspec.language.layout.derive import permuted
from zabspec.model import Configuration, Model


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", [USUAL, CONFIGURATIONS[4]], ids=lambda c: f"n{c.nodes}-{c.network}")
def test_canonical_is_one_state_for_each_orbit(configuration: Configuration) -> None:
    """Every renaming of a state has the same fingerprint and the same image, which is one of its renamings; states of
    different orbits (by the least of all renamings) have different ones."""
    code, every = compiled(configuration, True), [*itertools.permutations(range(configuration.nodes))]
    source = random.Random(5)
    by_fingerprint: dict[int, bytes] = {}
    orbits: set[bytes] = set()
    for data in walked(configuration, 90):
        orbit = {permuted(code.layout, data, p) for p in every}
        fingerprint, image = code.canonical(data)
        assert image in orbit
        least = min(orbit)
        orbits.add(least)
        assert by_fingerprint.setdefault(fingerprint, least) == least
        for other in source.sample(sorted(orbit), min(len(orbit), 8)):
            assert code.canonical(other) == (fingerprint, image)
    assert len(by_fingerprint) == len(orbits) > 50


# --- the second line: random walks that look for what does not commute ----------------------------------


class Toy:
    """A counter of steps beside the process that took the last one, of three, in the place of a compiled model."""

    def __init__(self, end: int = 10**9, wrong: str = "") -> None:
        self.end, self.wrong = end, wrong
        self.layout = SimpleNamespace(size=3, schema=Schema(3, (), {}))
        self.model = SimpleNamespace(program=SimpleNamespace(starts={bytes(3): None}))
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


def test_processes_in_messages_and_between_pairs_do_not_colour_a_process(tmp_path: Path) -> None:
    """A message over a connection holds a process, and so does a field of each pair: the orbits are those that brute
    force counts, and symmetry is not switched off because a renamed state seems to have other steps."""
    path = tmp_path / "passing.py"
    path.write_text(file_of("own/orbits", "passing.py"))
    text = Configuration(str(path))
    made = Model(text)
    judged = properties_of(text.protocol)
    code, why = Compiled.of(made, judged, True)
    found = Explorer(code, 1).run(Limits(depth=7), keep_going=True)
    plain = Interpreter(made, judged, True).run(Limits(depth=7), keep_going=True)
    assert not why
    assert (found.levels, found.raw_levels) == (plain.levels, plain.raw_levels)
    assert found.distinct < found.raw
