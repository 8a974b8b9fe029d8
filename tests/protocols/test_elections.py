"""ZAB whose leader oracle is played by the lab's election, in the simulator."""

from __future__ import annotations

import random

import pytest
from click.testing import CliRunner

from checker.cli import main
from traces.judging.simulated import judged_properties, verdicts
from traces.record.events import events_of
from traces.record.simulated import simulated_trace
from traces.replay.replay import replay
from zabspec.language.python.reference import StateView
from zabspec.model import ConfigError
from zabspec.simulator.plan import Fault, Run
from zabspec.simulator.run import play
from zabspec.zab import FOLLOWING, LEADING


def shaken(seed: int, rounds: int = 400, nodes: int = 3, variant: str = "") -> Run:
    """A run in which a way is cut for a while and a process crashes meanwhile."""
    source = random.Random(seed)
    tick = source.randrange(50, rounds - 100)
    a, b, c = source.sample(range(nodes), 3)
    faults = (
        Fault(tick, "cut", a, b),
        Fault(tick, "cut", b, a),
        Fault(tick + 60, "heal", a, b),
        Fault(tick + 60, "heal", b, a),
        Fault(tick + 10, "crash", c),
        Fault(tick + 40, "recover", c),
    )
    return Run(seed, nodes, rounds, 3, (), faults, protocol="zab", variant=variant, oracle="lab")


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("seed", range(2))
def test_a_run_is_a_trace_of_zab_and_replays(seed: int) -> None:
    """Compiled as interpreted; the votes leave no mark on the protocol but whom the oracle names."""
    run = shaken(seed)
    assert bytes(play(run).state.buffer) == bytes(play(run, "interpret").state.buffer)
    trace = simulated_trace(run)
    assert any(step.word.kind == "oracle" for step in trace.steps)
    assert len(replay(trace).steps) == len(trace.steps)


def test_the_latest_history_wins() -> None:
    """A process that lacks what was committed is not elected: p0 is cut off while p1 and p2 go on, and when the leader
    of these crashes the other leads, although p0 campaigns too."""
    ways = ((0, 1), (1, 0), (0, 2), (2, 0))
    cut = tuple(Fault(100, "cut", a, b) for a, b in ways)
    healed = tuple(Fault(500, "heal", a, b) for a, b in ways)

    def played(rounds: int, faults: tuple[Fault, ...]) -> StateView:
        return play(Run(3, 3, rounds, 5, (), faults, protocol="zab", oracle="lab")).state.copy()

    before = played(500, cut)
    leader = next(p for p in (1, 2) if before.role[p] == LEADING)
    assert len(before.history[0]) < len(before.history[leader])
    other = 3 - leader
    after = played(1500, (*cut, *healed, Fault(500, "crash", leader)))
    assert (after.role[other], after.role[0]) == (LEADING, FOLLOWING)
    assert len(after.history[0]) == len(after.history[other])


@pytest.mark.slow(seconds=2)
def test_no_property_breaks() -> None:
    for seed in range(300):
        assert verdicts(shaken(seed, 800, random.Random(seed).choice((3, 5)))) == 0, seed


def test_an_unsafe_variant_breaks() -> None:
    names = [p.name for p in judged_properties("zab")]
    broken = 0
    for seed in range(300):
        broken |= verdicts(shaken(seed, 800, variant="small-quorum"))
    assert "agreement" in {name for k, name in enumerate(names) if broken >> k & 1}


def test_votes_are_events() -> None:
    _, events = events_of(shaken(1, 200))
    votes = [e for e in events if e.get("message", {}).get("kind") == "Vote"]
    assert {e["event"] for e in votes} >= {"send", "deliver"}


def test_it_is_for_zab_alone() -> None:
    with pytest.raises(ConfigError, match="elects by itself"):
        Run(1, oracle="lab")
    done = CliRunner().invoke(main, ["simulate", "--protocol", "zab", "--oracle", "delphi"])
    assert done.exit_code == 2
    assert "there is no oracle 'delphi'" in done.stderr
