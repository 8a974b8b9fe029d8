"""Small explorations, with what they have always found: at which depth each premise is first met and each property
first broken, and exactly how many states, transitions, and entries of each step of the paper there are.

The counts of `acks-ignored` at three processes and one timeout are those that TLC finds of a twin of that model written
by hand; those of `zab` are those that it finds of the exported module.
`pytest tests/explore/test_golden.py --rewrite` writes `data/golden.json` anew; a change of it is to be explained.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.result import Limits
from tests.failing import check_golden
from tests.models import CONFIGURATIONS, compiled, judged
from zabspec.model import Configuration
from zabspec.worlds.steps import NUMBERED

FILE = Path(__file__).parents[1] / "data" / "golden.json"

# What is explored, with symmetry or without, and to which depth (none: to exhaustion). Most are models that other tests
# compile too.
EXPLORED: dict[str, tuple[Configuration, bool, int | None]] = {
    "alone": (CONFIGURATIONS[0], False, None),
    "two": (Configuration(nodes=2, txns=2, timeouts=1, crashes=1, losses=0), True, None),
    "cut": (CONFIGURATIONS[1], False, 22),
    "three": (Configuration(nodes=3, txns=2, timeouts=1, crashes=0, losses=0), True, None),
    "acks-ignored": (
        Configuration(variant="acks-ignored", nodes=3, txns=2, timeouts=1, crashes=0, losses=0), True, None
    ),
    "lossy": (CONFIGURATIONS[5], True, 16),
    "unordered": (CONFIGURATIONS[6], False, 18),
    "duplicating": (CONFIGURATIONS[7], False, 22),
    "stale": (Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0, network="stale"), True, None),
    "inside": (
        Configuration(variant="clear-then-history", nodes=2, txns=1, timeouts=1, crashes=1, losses=0), True, None
    ),
    "re-elected": (Configuration(variant="equal-epoch", nodes=1, txns=2, timeouts=2, crashes=0, losses=0), False, None),
    "datagrams": (
        Configuration(protocol="db19", nodes=2, txns=1, timeouts=1, crashes=1, heartbeats=1), False, None
    ),
    "ordered": (
        Configuration(protocol="db19", network="ordered", nodes=2, txns=2, timeouts=2, crashes=1, heartbeats=1),
        False,
        None,
    ),
}  # fmt: skip

# these in code that was compiled thoroughly, as long runs have it, one over connections and one over datagrams; the
# others in quick code (a second each to compile thoroughly; test_interpret.py asks other networks and a variant)
THOROUGH = ("three", "ordered")


LARGEST = ("three", "acks-ignored", "ordered")
LARGE = pytest.mark.slow(seconds=2)


@cache
def found(name: str, most: int | None = None) -> dict[str, Any]:
    """What an exploration finds, as it is written down; with `most` states it is cut short."""
    configuration, symmetry, depth = EXPLORED[name]
    code = compiled(configuration, symmetry)
    if name in THOROUGH:
        code.worked(math.inf, math.inf)
        assert code.code.thorough
    r = Explorer(code, 1).run(Limits(depth=depth, max_states=most), keep_going=True)
    return {
        "error": r.error,
        "stopped": r.stopped,
        "complete": r.complete,
        "premises": dict(sorted(r.witnessed.items())),
        "violations": {p: v.depth for p, v in sorted(r.violations.items())},
        "depth": r.depth,
        "states": r.distinct,
        "raw": r.raw,
        "transitions": r.generated,
        "ends": r.terminal,
        "steps": r.step_counts,
        "events": {f"{k} {NUMBERED[k].called}": n for k, n in sorted(r.event_counts.items())},
    }


@pytest.fixture(params=[pytest.param(name, marks=LARGE if name in LARGEST else ()) for name in EXPLORED])
def both(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an exploration finds, and what it has always found."""
    name = request.param
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if request.config.getoption("--rewrite"):
        known = {k: known[k] for k in EXPLORED if k in known} | {name: found(name)}
        FILE.write_text(json.dumps(known, indent=1) + "\n")
    return found(name, 2 * known[name]["states"]), known[name]


@pytest.mark.slow(seconds=2)
def test_premises_and_violations(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Each is as deep as it was, or as absent."""
    got, expected = ({what: r[what] for what in ("error", "violations", "premises")} for r in both)
    check_golden(FILE, expected, got)


def test_counts(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    got, expected = both
    check_golden(FILE, expected, got)


@pytest.mark.parametrize(
    ("name", "counted", "number"), [("acks-ignored", "raw", 2_140_737), ("three", "states", 343_891)]
)
def test_the_counts_are_those_of_the_other_model_checker(name: str, counted: str, number: int) -> None:
    """TLC: of `acks-ignored` written by hand in TLA+, and of the module that `export` writes of `zab`, with symmetry
    (docs/how-to/export-to-tla.md)."""
    assert json.loads(FILE.read_text())[name][counted] == number


@pytest.mark.parametrize("protocol", ["zab", "db19"])
def test_every_premise_is_met_somewhere(protocol: str) -> None:
    known = json.loads(FILE.read_text())
    met = {p for name, (c, *_) in EXPLORED.items() if c.protocol == protocol for p in known[name]["premises"]}
    assert met == {p.name for p in judged(protocol)}
