"""The protocols of examples/, each in one file: what they claim holds, is tested, and breaks with a rule changed.

Small questions, of the interpreter; what compiled code says of any protocol is held by the second semantics.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.symmetry import asymmetry
from checker.requests.live import assumed
from invariants import properties_of
from traces.judging.simulated import judged_properties
from zabspec.model import Configuration, Model

EXAMPLES = Path(__file__).parents[2] / "examples"

# By example: the question, how many states it has, and what is said of symmetry (empty: renamings count once).
HOLDS = {
    "token_ring": ({"budgets": "entries=2,passes=2,mints=1"}, 37, "arithmetic (+) on a process"),
    "leader_lease": ({"nodes": 2, "budgets": "ticks=3,asks=1"}, 294, ""),
    "chain_replication": ({"budgets": "puts=2,reads=1"}, 47, "a process is compared with the number 0"),
    "fenced_lock": ({"budgets": "acquires=2,expiries=1,writes=2", "parameters": "client=1"}, 190, ""),
    "lease": ({"budgets": "ticks=2,asks=2"}, 199, ""),
    "drifting_lease": ({"parameters": "drift=0"}, 162, ""),
    "two_phase_commit": ({}, 45, ""),
    "gossip": ({"nodes": 2}, 56, ""),
    "sharded_commit": ({"crashes": 0, "parameters": "shard=1"}, 69, ""),
    "views": ({"budgets": "retirements=0"}, 59, ""),
    "raft_election": ({"nodes": 2, "crashes": 0, "budgets": "elections=2"}, 17, ""),
}
# By example and variant: the question, what breaks, and after how many steps.
BREAKS = {
    ("token_ring", "minted"): ({"budgets": "entries=2,passes=2,mints=1"}, "one-token", 1),
    ("token_ring", "hasty"): ({"budgets": "entries=2,passes=2,mints=0"}, "mutual-exclusion", 4),
    ("leader_lease", "late"): ({"nodes": 2, "budgets": "ticks=2,asks=2"}, "one-leader", 12),
    ("chain_replication", "anywhere"): ({"budgets": "puts=1,reads=1"}, "reads-are-done", 2),
    ("lease", "late"): ({}, "one-holder", 8),
    ("drifting_lease", "late"): ({"parameters": "drift=0"}, "one-holder", 9),
    ("views", "by-the-new"): ({}, "one-view", 11),
    ("two_phase_commit", "hasty"): ({}, "agreement", 7),
    ("fenced_lock", "unfenced"): ({"budgets": "acquires=2,expiries=1,writes=2"}, "fencing", 11),
    ("gossip", "parrot"): ({"nodes": 2}, "from-somebody", 3),
    ("work_queue", "unfenced"): ({"parameters": "jobs=1", "budgets": "expiries=1,deaths=0"}, "one-effective", 13),
    ("raft_election", "generous"): ({"nodes": 2, "crashes": 0, "budgets": "elections=2"}, "election-safety", 6),
    ("raft_election", "forgetful"): ({"crashes": 1, "budgets": "elections=2"}, "election-safety", 8),
}
LARGE = {("leader_lease", "late"), ("views", "by-the-new"), ("raft_election", "forgetful")}  # compiled


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", HOLDS)
def test_an_example_holds(name: str) -> None:
    options, states, told = HOLDS[name]
    path = str(EXAMPLES / f"{name}.py")
    model, judged = Model(Configuration(path, **options)), properties_of(path)  # type: ignore[arg-type]
    why = asymmetry(model, judged)
    assert bool(why) == bool(told)
    assert told in why
    found = Interpreter(model, judged, not why).run(Limits(), False)
    assert (found.complete, found.error, dict(found.violations)) == (True, "", {})
    assert set(found.witnessed) == {p.name for p in judged}
    assert sum(found.levels) == states


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("name", "variant"), BREAKS)
def test_an_example_with_a_rule_changed_breaks(name: str, variant: str) -> None:
    options, broken, depth = BREAKS[name, variant]
    path = str(EXAMPLES / f"{name}.py")
    model, judged = Model(Configuration(path, variant, **options)), properties_of(path)  # type: ignore[arg-type]
    if (name, variant) in LARGE:
        found = Explorer(Compiled.of(model, judged, True)[0], 1).run(Limits(), False)
    else:
        found = Interpreter(model, judged, False).run(Limits(), False)
    assert found.violations[broken].depth == depth


def test_what_asks_of_messages_in_flight_is_not_judged_in_a_simulated_run() -> None:
    """They lie otherwise in the simulator: its runs are judged by all else."""
    assert [p.name for p in judged_properties(str(EXAMPLES / "token_ring.py"))] == ["mutual-exclusion"]
    assert [p.name for p in judged_properties(str(EXAMPLES / "leader_lease.py"))] == ["one-leader"]


def test_what_the_environment_does_at_its_leisure_is_said() -> None:
    """A progress property holds whether or not it does: beside what processes need not do."""
    said = assumed(Model(Configuration(str(EXAMPLES / "work_queue.py"))))
    assert said[-1].endswith("that a process does expire; that the environment does die")
