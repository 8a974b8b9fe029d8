"""ZAB whose leader oracle names the next process in order, in the simulator."""

from __future__ import annotations

import random

import pytest
from click.testing import CliRunner

from checker.cli import main
from traces.judging.simulated import verdicts
from traces.record.simulated import simulated_trace
from traces.replay.replay import replay
from zabspec.simulator.plan import Fault, Run
from zabspec.simulator.run import play
from zabspec.zab import BROADCAST, ESTABLISHED, LEADING


def run_of(seed: int, nodes: int, rounds: int, faults: tuple[Fault, ...], oracle: str = "round-robin") -> Run:
    return Run(seed, nodes, rounds, 5, (), faults, protocol="zab", oracle=oracle)


def shaken(seed: int, oracle: str = "round-robin") -> tuple[Run, list[int]]:
    """A run whose last faults crash a minority for good, and who is up at its end."""
    source = random.Random(seed)
    nodes, tick, faults = source.choice((3, 5)), 50, []
    for _ in range(source.randrange(1, 6)):
        tick += source.randrange(10, 200)
        a, b = source.sample(range(nodes), 2)
        cut = [Fault(t, kind, *way) for t, kind in ((tick, "cut"), (tick + 60, "heal")) for way in ((a, b), (b, a))]
        crash = [Fault(tick, "crash", a), Fault(tick + 80, "recover", a)]
        faults += source.choice((cut, crash, [Fault(tick, "timeout", a)]))
    down = source.sample(range(nodes), nodes // 2)
    faults = sorted([*faults, *(Fault(tick + 300, "crash", p) for p in down)], key=lambda fault: fault.tick)
    return run_of(seed, nodes, 3000, tuple(faults), oracle), [p for p in range(nodes) if p not in down]


def test_the_next_in_order_leads_when_the_leader_crashes_and_the_one_after_it_when_that_is_down_too() -> None:
    for crashed, leader in (((), 0), ((0,), 1), ((0, 1), 2)):
        s = play(run_of(1, 5, 1500, tuple(Fault(300, "crash", p) for p in crashed))).state
        assert [p for p in range(5) if s.role[p] == LEADING] == [leader]
        assert len(s.history[leader]) == 5
    s = play(run_of(1, 5, 3000, (Fault(0, "crash", 0), Fault(0, "crash", 1)))).state  # they have never led
    assert [p for p in range(5) if s.role[p] == LEADING] == [2]


def named(run: Run) -> list[tuple[int, int]]:
    """Whom the oracle names to whom, in order."""
    words = [step.word for step in simulated_trace(run).steps if step.word.kind == "oracle"]
    return [(word.operands["process"], word.operands["leader"]) for word in words]


def test_all_are_named_one_leader_a_view_and_the_views_come_in_order() -> None:
    """On a whole network the oracle names the leader of the next view of the process, or of the latest view of all."""
    for seed in range(2):
        views = [0, 0, 0]
        for p, leader in named(
            run_of(seed, 3, 900, (Fault(200, "crash", 0), Fault(500, "crash", 1), Fault(600, "recover", 0)))
        ):
            views[p] = max(views[p] + 1, *views)
            assert leader == (views[p] - 1) % 3
        assert max(views) > 2


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("seed", range(2))
def test_a_run_is_a_trace_of_zab_and_replays(seed: int) -> None:
    run, _ = shaken(seed)
    assert bytes(play(run).state.buffer) == bytes(play(run, "interpret").state.buffer)
    trace = simulated_trace(run)
    assert len(replay(trace).steps) == len(trace.steps)


@pytest.mark.slow(seconds=3)
def test_who_is_left_has_a_leader_and_no_property_breaks() -> None:
    """A leader that fails does not stop the others: the view goes on."""
    for seed in range(100):
        run, up = shaken(seed)
        s = play(run).state
        assert [s.stage[p] for p in up if s.role[p] == LEADING] == [ESTABLISHED], seed
        assert all(s.phase[p] == BROADCAST for p in up), seed
        assert verdicts(run) == 0, seed


def test_the_command_takes_it_for_zab_alone() -> None:
    for protocol, code in (("zab", 0), ("ladis", 2), ("db19", 2)):
        done = CliRunner().invoke(main, ["simulate", "--protocol", protocol, "--oracle", "round-robin", "--seed", "1"])
        assert done.exit_code == code, done.output
