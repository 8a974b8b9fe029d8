"""Runs that are drawn: counterexamples by their schedules, and walks at random."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

from invariants import properties_of, property_named
from traces import Runner, Trace, build_trace
from traces.record.trace import StepWord
from zabspec.model import Configuration, Model

DATA = Path(__file__).parent.parent / "data" / "pictured.json"

FAULTY = Configuration(timeouts=1, crashes=1, losses=1)
NETWORKS = {
    "zab": FAULTY,
    "partitions": Configuration(timeouts=0, crashes=1, losses=0, partitions=2),
    "lossy": Configuration(timeouts=1, crashes=0, losses=0, network="lossy", drops=2),
    "unordered": Configuration(timeouts=1, crashes=0, losses=1, network="unordered"),
    "duplicating": Configuration(timeouts=0, crashes=0, losses=1, network="duplicating", duplicates=2),
    "db19": Configuration(protocol="db19", timeouts=3, crashes=1, heartbeats=2),
    "db19 ordered": Configuration(protocol="db19", timeouts=3, crashes=1, network="ordered"),
}


@cache
def walk(configuration: Configuration, seed: int, length: int = 60, together: bool = False) -> Trace:
    """A run taken at random; `together`: in which every process follows p0."""
    model = Model(configuration)
    runner, chance, words = Runner(model), random.Random(seed), []
    while len(words) < length and (possible := runner.possible()):
        if together:
            possible = [w for w in possible if StepWord.of(w).operands.get("leader", 0) == 0]
        words.append(chance.choice(possible))
        runner.step(words[-1])
    return build_trace(model, None, words)


@cache
def pictured(name: str) -> Trace:
    """A counterexample: `equal-epoch`, `join-commit-all` or `db19-prefix`, by its schedule."""
    said = json.loads(DATA.read_text(encoding="utf-8"))[name]
    model = Model(Configuration(**said["configuration"]))
    prop = property_named(said["property"], properties_of(model.configuration.protocol))
    return build_trace(model, prop, said["words"])


PICTURED = ("equal-epoch", "join-commit-all", "db19-prefix")
