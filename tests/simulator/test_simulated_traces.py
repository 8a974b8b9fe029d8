"""Simulated runs as traces: after every event the explorer's state is the simulator's, abstracted."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariants import PROPERTIES, property_named
from tests.models import faults_of
from traces import Trace, TraceError, to_text, verify, why
from traces.judging.simulated import judge
from traces.record.simulated import configuration_of, simulated_trace
from traces.replay.replay import replay
from traces.shorten.minimise import minimise
from zabspec.language.python.lang import Node, State
from zabspec.simulator import connections
from zabspec.simulator.mail import step_taken
from zabspec.simulator.run import Fault, Run
from zabspec.worlds.actor import on_follower_lost
from zabspec.worlds.steps import LEADER_LEARNS


def faulty(seed: int, protocol: str, network: str = "", variant: str = "") -> Run:
    """A run with a random schedule of faults."""
    chance = random.Random(seed)
    nodes, rounds = chance.choice((2, 3, 3, 4)), chance.choice((200, 300))
    kinds = ["crash", "cut", "timeout", *(["lose"] if protocol == "zab" else [])]
    faults: list[Fault] = []
    for _ in range(chance.randrange(5)):
        tick, (a, b) = chance.randrange(rounds), chance.sample(range(nodes), 2)
        later = min(rounds - 1, tick + chance.randrange(1, 90))
        kind = chance.choice(kinds)
        faults += faults_of(kind, tick, later, a, b)
    return Run(
        seed,
        nodes,
        rounds,
        proposals=chance.randrange(4),
        faults=tuple(faults),
        delays=chance.choice((3, 12, 40)),
        protocol=protocol,
        variant=variant,
        network=network,
    )


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("protocol", "network"),
    [
        ("zab", ""),
        ("zab", "lossy"),
        ("zab", "unordered"),
        ("zab", "duplicating"),
        ("zab", "stale"),
        ("db19", ""),
        ("db19", "ordered"),
    ],
)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_simulator_and_the_explorer_agree(protocol: str, network: str, seed: int) -> None:
    trace = simulated_trace(faulty(seed, protocol, network))
    again = replay(trace)
    assert again.steps == trace.steps


@pytest.mark.slow(seconds=10)
def test_what_was_lost_on_an_ordered_network_is_overtaken() -> None:
    cut = [(300, "cut", 0, 1), (300, "cut", 1, 0), (300, "cut", 2, 0)]
    heal = [(340, "heal", 0, 1), (340, "heal", 1, 0), (340, "heal", 2, 0)]
    run = Run(42, rounds=500, proposals=6, network="ordered", faults=tuple(Fault(*f) for f in (*cut, *heal)))
    trace = simulated_trace(run)
    assert replay(trace).steps == trace.steps


def test_a_trace_of_a_run_is_a_trace() -> None:
    trace = simulated_trace(faulty(3, "zab"))
    verify(trace)
    assert trace.property_name == ""
    assert {"oracle", "to_leader", "to_follower"} <= {step.word.kind for step in trace.steps}
    assert to_text(trace).startswith("A run of ")


def test_budgets_are_counted_from_the_run() -> None:
    run = Run(7, 3, 300, 2, faults=(Fault(40, "crash", 0), Fault(60, "recover", 0)), protocol="zab")
    c = configuration_of(run)
    assert (c.protocol, c.nodes, c.txns, c.crashes) == ("zab", 3, 2, 1)
    kinds = [step.word.kind for step in simulated_trace(run).steps]
    assert kinds.count("crash") == c.crashes
    assert kinds.count("recover") == 1
    assert kinds.count("timeout") == c.timeouts
    assert kinds.count("lose_connection") == c.losses


def test_a_run_that_is_too_large_is_refused() -> None:
    with pytest.raises(TraceError, match=r"larger than every configuration: it abcasts more than 7 times"):
        simulated_trace(Run(42, 3, 1000, 9))
    with pytest.raises(TraceError, match=r"larger than every configuration: --heartbeats must be 0 to 15"):
        simulated_trace(Run(42, 3, 1500, 1))


def broken_run(protocol: str, variant: str, name: str, seeds: range, **more: Any) -> Trace:
    """The first simulated run that breaks a property, up to where it does."""
    p = property_named(name, PROPERTIES)
    for seed in seeds:
        run = dataclasses.replace(Run(seed, protocol=protocol, variant=variant), **more)
        if all(v.held for v in judge(run)[1] if v.of == p):  # which takes a hundredth of the time
            continue
        try:
            return simulated_trace(run, p)
        except TraceError as error:
            if "breaks" not in str(error) and "larger" not in str(error):
                raise
    raise AssertionError("no run breaks it")


@pytest.mark.slow(seconds=4)
def test_a_simulated_violation_is_a_counterexample() -> None:
    """It is explained, replayed and minimised like one that was explored."""
    trace = broken_run("db19", "", "unique-zxid", range(40), rounds=600, proposals=4, delays=60)
    verify(trace)
    assert "one zxid stands for two transactions" in why(trace)
    assert replay(trace).property_name == "unique-zxid"
    shorter = minimise(trace).trace
    assert shorter.property_name == "unique-zxid"
    assert len(shorter.steps) < len(trace.steps)
    replay(shorter)


@pytest.mark.slow(seconds=2)
def test_of_many_proposals_those_count_that_are_abcast_before_it_breaks() -> None:
    run = Run(14, proposals=12)
    order = property_named("total-order", PROPERTIES)
    first = next(v for v in judge(run)[1] if v.of == order)
    trace = simulated_trace(run, order, first.broken_at + 1)
    assert trace.configuration.txns == sum(step.abcast is not None for step in trace.steps) < 7
    assert replay(trace).property_name == "total-order"


def test_a_run_that_breaks_nothing_is_no_counterexample() -> None:
    with pytest.raises(TraceError, match=r"the run violates agreement in none of its \d+ steps"):
        simulated_trace(faulty(3, "zab"), property_named("agreement", PROPERTIES))


def leader_learns(s: State, l: Node, f: Node) -> None:
    """The leader's end stays open."""
    on_follower_lost(s, l, f)
    step_taken(s, LEADER_LEARNS, l, f, 0)


@pytest.mark.slow(seconds=1)
def test_a_rule_of_the_simulator_that_is_broken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    own = FunctionType(leader_learns.__code__, {}, "leader_learns")
    own.__module__ = connections.__name__
    monkeypatch.setattr(connections, "leader_learns", own)
    with pytest.raises(TraceError, match=r"^step \d+ \(tick \d+\), state\.link\[\d\]\[\d\]: the trace says 0, the sim"):
        any(simulated_trace(faulty(seed, "zab")) is None for seed in range(20))


def test_a_crash_in_a_user_protocol_is_a_step_that_leaves_it_down() -> None:
    """The world notes who is down after the handler of the crash, which is still the same step."""
    raft = str(Path(__file__).parents[2] / "examples" / "raft_election.py")
    faults = (Fault(29, "crash", 0), Fault(59, "recover", 0))
    trace = simulated_trace(Run(1, 3, 120, 0, faults=faults, protocol=raft, network="ordered", budgets="elections=2"))
    kinds = [step.word.kind for step in trace.steps]
    assert [trace.steps[kinds.index(kind)].state["crashed"][0] for kind in ("crash", "recover")] == [True, False]
    assert replay(trace).steps == trace.steps
