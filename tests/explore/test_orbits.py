"""The state that represents an orbit, of up to twenty processes: by brute force where that can be, by the size of the
automorphism group where it is known."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from checker.explore.compiled import Compiled
from tests.symbolic_states import random_state
from zabspec.language import Layout, Role
from zabspec.language.layout import derive
from zabspec.model import ConfigError, Configuration, Model

TEXT = str(Path(__file__).parent.parent / "language" / "every_kind.py")


@cache
def code_of(nodes: int, network: str = "datagrams") -> Compiled:
    return Compiled(Model(Configuration(TEXT, nodes=nodes, network=network, channel=3)), (), True)


def put(layout: Layout, data: bytearray, name: str, value: int, *index: int) -> None:
    at, size = layout.offset(name, *index), layout.fields[name].kind.size
    data[at : at + size] = value.to_bytes(size, "little")


def graph(nodes: int, edges: Iterator[tuple[int, int]] | list[tuple[int, int]], name: str = "known") -> bytes:
    """The state in which of each pair that is an edge one field is 1, and all else as it begins."""
    layout = code_of(nodes).layout
    data = bytearray(layout.size)
    for a, b in edges:
        put(layout, data, name, 1, a, b)
    return bytes(data)


def both(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return edges + [(b, a) for a, b in edges]


def matched(nodes: int) -> list[tuple[int, int]]:
    return both([(k, k + 1) for k in range(0, nodes, 2)])


def ring(nodes: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % nodes) for k in range(nodes)]


def sides(nodes: int) -> list[tuple[int, int]]:
    """Two halves, each process beside all of the other half."""
    return both([(a, b) for a in range(nodes // 2) for b in range(nodes // 2, nodes)])


def cube(nodes: int) -> list[tuple[int, int]]:
    """A hypercube: its processes are alike, and no two are twins."""
    return [(a, a ^ 1 << k) for a in range(nodes) for k in range(nodes.bit_length() - 1)]


def rings(nodes: int) -> list[tuple[int, int]]:
    """Rings of four."""
    return [(k, k - 3 if k % 4 == 3 else k + 1) for k in range(nodes)]


GROUPS: dict[str, tuple[Callable[[int], list[tuple[int, int]]], Callable[[int], int]]] = {
    "nothing": (lambda n: [], math.factorial),
    "ring": (ring, lambda n: n),
    "ring, both ways": (lambda n: both(ring(n)), lambda n: 2 * n),
    "pairs": (matched, lambda n: math.factorial(n // 2) * 2 ** (n // 2)),
    "sides": (sides, lambda n: 2 * math.factorial(n // 2) ** 2),
    "cube": (cube, lambda n: n * math.factorial(n.bit_length() - 1)),
    "rings of four": (rings, lambda n: math.factorial(n // 4) * 4 ** (n // 4)),
}


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("name", GROUPS)
def test_an_orbit_has_the_states_that_the_group_leaves(name: str) -> None:
    """Graphs whose processes hold the same, and are told apart only by whom they are beside."""
    nodes, (edges, order) = 16, GROUPS[name]
    code, source = code_of(nodes), random.Random(nodes)
    data = graph(nodes, edges(nodes), "grid")
    first = code.canonical(data)
    assert code.orbit_size(data) == math.factorial(nodes) // order(nodes)
    for _ in range(20):
        p = tuple(source.sample(range(nodes), nodes))
        other = derive.permuted(code.layout, data, p)
        assert code.rename(data, p) == other
        assert code.canonical(other) == first
        assert code.rename(other, code.renaming_of(other)) == first[1]
        assert code.orbit_size(other) == math.factorial(nodes) // order(nodes)


def states(layout: Layout, count: int) -> Iterator[bytes]:
    """Random states of which most hold little: processes tie, and few or many renamings fix the state."""
    source = random.Random(7)
    fields = [f for f in layout.schema.fields if f.role is not Role.SCRATCH]
    for _ in range(count):
        full = random_state(layout, source)
        data = bytearray(layout.size)
        for f in source.sample(fields, source.randint(1, 2)):
            places = [at for _, at in layout.elements(f.name)]
            for at in source.sample(places, source.randint(1, len(places))):
                pattern = source.choice([at, *places])  # often the value of another
                data[at : at + f.kind.size] = full[pattern : pattern + f.kind.size]
        yield bytes(data)


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize(("nodes", "network"), [(4, "fifo"), (5, "datagrams")])
def test_orbits_are_those_of_brute_force(nodes: int, network: str) -> None:
    """The least of all n! renamings decides which states are of one orbit, and how many there are in it."""
    code = code_of(nodes, network)
    layout, source = code.layout, random.Random(3)
    every = list(itertools.permutations(range(nodes)))
    by_hash: dict[int, bytes] = {}
    sizes = set()
    for data in states(layout, 30 if nodes > 4 else 100):
        images = [derive.permuted(layout, data, p) for p in every]
        orbit = {derive.in_order(layout, image) for image in images}
        found, image = code.canonical(data)
        assert derive.in_order(layout, image) in orbit
        assert code.orbit_size(data) == len(orbit)
        assert by_hash.setdefault(found, min(orbit)) == min(orbit)
        for other in source.sample(images, 8):
            assert code.canonical(other)[0] == found
            assert code.orbit_size(other) == len(orbit)
        sizes.add(len(orbit))
    assert len(set(by_hash.values())) == len(by_hash)
    assert len(sizes) > 4


def test_sets_of_more_than_a_byte_are_renamed() -> None:
    code, source = code_of(16), random.Random(5)
    for _ in range(20):
        data = random_state(code.layout, source)
        p = tuple(source.sample(range(16), 16))
        assert code.rename(data, p) == derive.permuted(code.layout, data, p)
        assert code.canonical(data)[0] == code.canonical(derive.permuted(code.layout, data, p))[0]


def test_the_limits_that_remain_are_said_with_their_reason() -> None:
    with pytest.raises(ConfigError, match="--nodes must be 1 to 20, not 21: 21! renamings do not fit"):
        Configuration(TEXT, nodes=21)
    with pytest.raises(ConfigError, match="--nodes must be 1 to 7, not 8: its elections and cuts go through every set"):
        Configuration(nodes=8)
