"""Counterexamples that are longer than need be."""

from __future__ import annotations

import random
from functools import cache

from invariants import PROPERTIES, property_named
from traces import Trace, build_trace
from traces.shorten.minimise import World
from zabspec.model import Configuration

# A configuration wider than need be, the property, and the fewest steps there are
# (docs/reference/variants.md, benchmarks/results/db19.md).
CASES = {
    "db19": (Configuration(protocol="db19", nodes=3, txns=3, timeouts=3, channel=60), "prefix", 12),
    "small-quorum": (Configuration(variant="small-quorum", nodes=4, txns=3, timeouts=3), "delivered-is-chosen", 11),
}


@cache
def wandering(case: str) -> Trace:
    """A counterexample that a random walk stumbled on."""
    configuration, name, _ = CASES[case]
    world = World(configuration, property_named(name, PROPERTIES))
    for seed in range(2000):
        source, s = random.Random(seed), world.initial.copy()
        words: list[int] = []
        for _ in range(250):
            possible = world.enabled(s)
            if not possible:
                break
            words.append(source.choice(possible))
            before = s.copy()
            world.names["apply"](s, words[-1])
            if world.breaks(before, s):
                return build_trace(world.model, world.prop, words)
    raise AssertionError("no walk breaks it")
