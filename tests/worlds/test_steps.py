"""The table of step kinds and budgets: what follows from a row, and what may never change."""

from __future__ import annotations

import random
from pathlib import Path

import click
import msgspec
import pytest

from checker.cli import main
from checker.explore import kernel
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.report import documents
from checker.report.result import HOLDS, NO_VERDICT, NOT_REACHED, UNFALSIFIABLE, VIOLATED
from invariants import PROPERTIES, property_named
from tests.copies import copy_of
from traces import Runner, Step, Trace, headline, state_json, verify
from traces.replay.replay import replay
from zabspec.model import Configuration, Model
from zabspec.worlds import steps
from zabspec.worlds.steps import BUDGETS, KINDS

# A saved trace says its steps by these numbers.
ALWAYS = {
    "oracle": 1, "to_leader": 2, "to_follower": 3, "leader_learns": 4, "follower_learns": 5, "abcast": 6, "timeout": 7,
    "crash": 8, "recover": 9, "lose_connection": 10, "partition": 11, "drop_to_leader": 12, "drop_to_follower": 13,
    "repeat_to_leader": 14, "repeat_to_follower": 15, "crash_in_receipt": 16, "receive": 17, "election_timeout": 18,
    "heartbeat": 19, "action": 20, "environment": 21, "drop": 22, "repeat": 23, "power_loss": 24,
    "crash_inside": 25, "power_loss_inside": 26, "elect": 27, "join": 28, "crash_electing": 29,
    "power_loss_electing": 30, "follower_loses": 31, "leader_loses": 32,
}  # fmt: skip


def test_a_kind_keeps_its_number_and_has_its_name_as_a_constant() -> None:
    assert ALWAYS.items() <= {name: k.number for name, k in KINDS.items()}.items()
    for name, k in KINDS.items():
        assert getattr(steps, name.upper()) == k.number < steps.MOST_KINDS


def test_an_exploration_counts_steps_of_every_kind_there_may_be() -> None:
    assert kernel.R_EVENTS + steps.MOST_KINDS <= kernel.R_BROKEN


def test_every_row_is_whole() -> None:
    for k in KINDS.values():
        assert k.spends in ("", *BUDGETS)
        assert k.runs or k.by
        assert set(k.given) <= set(k.names) or not k.runs
        assert all(world in BUDGETS[k.spends].usual for world in k.worlds if k.spends)
    assert {b.name for b in BUDGETS.values()} == {k.spends for k in KINDS.values()} - {""}


def test_every_command_that_explores_has_a_flag_for_every_budget() -> None:
    with click.Context(main) as ctx:
        bmc = main.get_command(ctx, "bmc")
    assert bmc is not None
    for command in (main, bmc):
        flags = {option for p in command.params for option in p.opts}
        assert {f"--{name.replace('_', '-')}" for name in BUDGETS} <= flags


def test_the_types_of_reports_have_the_words_of_verdicts() -> None:
    words = [HOLDS, NOT_REACHED, UNFALSIFIABLE, VIOLATED, NO_VERDICT]
    assert msgspec.json.schema(documents.Verdict)["enum"] == words


RESTLESS = """
from zabcheck.language import action, environment_step


def follows(s: State, p: Node) -> bool:
    return s.role[p] == FOLLOWING


def leads(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


@action(when=follows)
def look_again(s: State, p: Node) -> None:
    on_timer(s, p, ELECTION_TIMER)


@action(when=leads)
def step_down(s: State, p: Node) -> None:
    on_timer(s, p, ELECTION_TIMER)


def two(s: State) -> bool:
    return s.NODES == 2


@environment_step(when=two)
def night_falls(s: State) -> None:
    return
"""


@pytest.fixture
def restless(tmp_path: Path) -> Configuration:
    """db19 whose followers and leaders may look again by themselves, under an environment that changes nothing."""
    return Configuration(protocol=copy_of("db19", tmp_path, RESTLESS), nodes=2, txns=1, timeouts=2, channel=24)


@pytest.mark.slow(seconds=1)
def test_both_engines_explore_internal_and_environment_steps_alike(
    restless: Configuration,
) -> None:
    model = Model(restless)
    judged = (property_named("agreement", PROPERTIES),)
    limits = Limits(depth=7)
    fast = Explorer(Compiled(model, judged, False), 1).run(limits)
    slow = Interpreter(model, judged, False).run(limits)
    assert fast.event_counts == slow.event_counts
    assert fast.levels == slow.levels
    assert fast.event_counts[steps.ACTION] > 0
    assert fast.event_counts[steps.ENVIRONMENT] > 0


def test_internal_steps_are_called_by_their_names_and_replayed(restless: Configuration) -> None:
    runner, chance = Runner(Model(restless)), random.Random(3)
    initial = state_json(runner.state)
    taken: list[Step] = []
    while not taken or taken[-1].word.kind != "action":
        possible = [w for w in runner.possible() if w >> 24 != steps.ENVIRONMENT]
        taken.append(runner.step(chance.choice(possible)))
    word = next(w for w in runner.possible() if w >> 24 == steps.ENVIRONMENT)
    taken.append(runner.step(word))
    assert headline(taken[-2]) == f"p{taken[-2].process}: look-again, looking"
    assert headline(taken[-1]) == "environment: night-falls"
    trace = Trace(restless, "", "", "", initial, tuple(taken), "test")
    verify(trace)
    assert replay(trace).steps == trace.steps
