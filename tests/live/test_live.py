"""From a chosen moment on all is well: who waits for ever then, in zab, its variants, db19 and a text of one's own."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.memory import Budget
from checker.explore.result import Limits
from checker.live.code import LiveCode
from checker.live.lasso import lasso_of
from checker.live.run import ALL, LiveRun
from checker.report.documents import LiveReport
from tests.live.lock import LOCK
from traces import Trace, build_trace, read_trace, verify
from traces.record.fair import NotFair, StableWorld
from traces.record.lasso import Lasso
from traces.replay.replay import replay
from zabspec.language.python.reference import StateView
from zabspec.model import Configuration, Model
from zabspec.typed import read

CRASH = {"nodes": 3, "txns": 1, "timeouts": 0, "crashes": 1, "losses": 0, "max_epoch": 6}
LOSS = {"nodes": 3, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 1, "max_epoch": 6}
TWO = {"nodes": 2, "txns": 1, "timeouts": 1, "crashes": 0, "losses": 0, "max_epoch": 4}
DB19 = {"protocol": "db19", "nodes": 3, "txns": 1, "timeouts": 2, "network": "ordered"}


@cache
def code(variant: str = "", **given: Any) -> LiveCode:
    return LiveCode.of(Model(Configuration(variant=variant, **given)), (), True)[0]


def found(variant: str = "", most: int | None = None, depth: int | None = None, **given: Any) -> LiveRun:
    """The question, asked."""
    run = LiveRun(code(variant, **given), 1)
    run.run(Limits(depth, most, None, None))
    return run


def told(run: LiveRun, goal: str) -> tuple[Trace, Lasso]:
    """The run in which somebody waits, held against the CPython world and the simulator."""
    found = lasso_of(run, run.live.found[goal])
    trace = replace(build_trace(Model(found.configuration), None, found.schedule), lasso=found.lasso)
    verify(trace)
    replay(trace)
    return trace, found.lasso


def asked(*words: str, cwd: Path) -> Result:
    before = Path.cwd()
    os.chdir(cwd)
    try:
        return CliRunner().invoke(main, ["--live", *words])
    finally:
        os.chdir(before)


@pytest.mark.slow(seconds=1)
def test_the_stable_phase_of_the_kernel_is_that_of_the_cpython_world() -> None:
    """Steps, by their words, and what follows them, along random runs of it from random states."""
    for given in (CRASH, DB19):
        c = code(**given)
        world, layout = StableWorld(c.model, c.phase), c.layout
        source = random.Random(19)
        data = c.model.program.initial().key()
        for _ in range(12):
            there = c.next_states(data)
            data = source.choice(there)[1][: layout.size] if there else data
        named = 2
        data = c.stable(data)
        for _ in range(25):
            there = c.stable_steps(data, named)
            s = StateView(layout, data)
            assert sorted({w & 0xFFFFFFFF for w, _ in there}) == sorted(world.choices(s, named))
            waiting = 0
            for k, goal in enumerate(c.phase.goals):
                waiting |= sum(world.waits(goal, s, p, named) << (3 * k + p) for p in range(3))
            assert c.waiting(data, named) == waiting
            if not there:
                break
            data = source.choice(there)[1]


def test_two_processes_that_lose_nobody_get_all_that_they_wait_for() -> None:
    run = found(**TWO)
    assert run.live.complete
    assert run.live.waited == {"follows", "joins", "commits", "delivers"}
    assert not run.live.found


def test_without_the_fairness_of_one_process_somebody_waits_for_ever() -> None:
    """Every class that is asked for is needed: without the steps of any process the same question is answered
    otherwise, so what it says rests on them."""
    c = code(**TWO)
    for p in range(2):
        dropped = sum(1 << k for k, one in enumerate(c.classes) if one.process == p)
        run = LiveRun(c, 1, ALL & ~dropped)
        run.run(Limits(None, None, None, None))
        assert run.live.complete
        assert "follows" in run.live.found
        with pytest.raises(NotFair, match="not fair"):
            told(run, "follows")


@pytest.mark.slow(seconds=3)
def test_strict_rejoin_locks_a_process_out() -> None:
    assert told(found("strict-rejoin", **LOSS, most=200_000, depth=18), "joins")[1].loop is None


LADIS = {"protocol": "ladis", "txns": 1, "timeouts": 1, "crashes": 0, "losses": 0, "max_epoch": 6}


@pytest.mark.slow(seconds=3)
def test_ladis_leaves_a_message_waiting_that_all_have_already() -> None:
    """A follower that comes back with it is sent nothing, so acknowledges nothing."""
    run = found(**LADIS, nodes=3)
    assert run.live.complete
    assert run.live.found.keys() == {"commits", "delivers"}
    for goal in run.live.found:
        assert told(run, goal)[1].loop is None


@pytest.mark.slow(seconds=2)
def test_ladis_with_promise_alone_ends_the_service() -> None:
    """Two have promised epoch 1, nothing was proposed in it, and every later leader takes it again."""
    run = found("promise", **LADIS, nodes=2)
    assert run.live.complete
    assert run.live.found.keys() == {"joins"}
    told(run, "joins")


# --- the command -------------------------------------------------------------------------------


@pytest.mark.slow(seconds=3)
def test_the_command_holds_reports_and_fits_its_schema(tmp_path: Path) -> None:
    words = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0")
    result = asked(*words, cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("holds: no process starves in any fair run, 4 of 4 progress properties;")
    assert "not assumed, and explored both ways: that a process that is down recovers" in result.output
    report = json.loads(asked(*words, "--progress-property", "joins", "--json", cwd=tmp_path).output)
    read(report, LiveReport)
    assert [goal["name"] for goal in report["progress_properties"]] == ["joins"]


LOCKED_OUT = ("--nodes", "3", "--txns", "1", "--timeouts", "0", "--crashes", "1", "--losses", "0")
CUT = ("--progress-property", "joins", "--depth", "9", "--max-states", "100000")


@pytest.mark.slow(seconds=2)
def test_a_violated_goal_names_the_reading_under_which_it_holds(tmp_path: Path) -> None:
    result = asked(*LOCKED_OUT, *CUT, cwd=tmp_path)
    assert result.exit_code == 1
    assert "joins holds under another reading, --variant yield-to-promise, within" in result.output
    report = json.loads(asked(*LOCKED_OUT, *CUT, "--json", cwd=tmp_path).output)
    read(report, LiveReport)
    assert [goal["holds_with"] for goal in report["progress_properties"]] == ["yield-to-promise"]


@pytest.mark.slow(seconds=2)
def test_of_a_variant_no_other_reading_is_named(tmp_path: Path) -> None:
    """It may violate the progress property for a reason of its own: `strict-rejoin` does."""
    result = asked("--variant", "strict-rejoin", *LOCKED_OUT, *CUT, cwd=tmp_path)
    assert result.exit_code == 1
    assert "another reading" not in result.output


@pytest.mark.slow(seconds=1)
def test_an_epoch_too_few_and_too_few_states_are_no_verdict(tmp_path: Path) -> None:
    words = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0")
    result = asked(*words, "--max-epoch", "2", cwd=tmp_path)
    assert result.exit_code == 3
    assert "no verdict: a value would leave its range: new_epoch would leave" in result.output.replace("\n  ", " ")
    result = asked(*words, "--max-states", "1000", cwd=tmp_path)
    assert result.exit_code == 3
    assert "no verdict: --max-states 1000 reached; no starving process was found" in result.output.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--search",), "--search does not go with --live"),
        (("--engine", "interpret"), "--engine does not go with --live"),
        (("--reduction", "auto"), "--reduction does not go with --live"),
        (("--property", "agreement"), "--property does not go with --live"),
        (("--progress-property", "join"), "there is no progress property 'join'"),
        (("--network", "unordered"), "--network unordered: a message may be overtaken forever"),
        (("--network", "stale"), "--network stale: a message may be overtaken forever there, or arrive long after"),
        (("--protocol", "zookeeper"), "no progress property of zookeeper is declared"),
    ],
)
def test_what_does_not_go_together_is_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    result = asked(*words, cwd=tmp_path)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.slow(seconds=2)
def test_where_the_stable_phase_begins_nowhere_that_is_said(tmp_path: Path) -> None:
    words = ("--protocol", "db19", "--nodes", "2", "--txns", "1", "--timeouts", "0", "--network", "ordered")
    result = asked(*words, cwd=tmp_path)
    assert result.exit_code == 3, result.output
    assert result.output.startswith("premise not reached: there is no stabilization time (4 progress properties);")


def test_a_goal_without_live_is_refused() -> None:
    result = CliRunner().invoke(main, ["--progress-property", "joins"])
    assert result.exit_code == 2
    assert "--progress-property is for --live" in result.output


def test_a_lock_of_ones_own_serves_and_one_that_forgets_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The progress property is declared beside the text; what it may do and need not is not taken for granted."""
    (tmp_path / "lock.py").write_text(LOCK)
    result = asked("--protocol", "lock.py", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    assert "served             holds: no process starves" in result.output
    (tmp_path / "forgets.py").write_text(
        LOCK.replace("    s.mode[p] = FREE\n    send(s, p, 0, RELEASE())", "    s.mode[p] = FREE")
    )
    result = asked("--protocol", "forgets.py", cwd=tmp_path)
    assert result.exit_code == 1, result.output
    assert "served is not reached: p1 starves" in result.output
    trace = read_trace(tmp_path / "zabcheck-forgets-served.trace.json")
    monkeypatch.chdir(tmp_path)
    verify(trace)


def test_a_goal_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock.py").write_text(LOCK.replace("def served(s: State, p: Node)", "def served(s: State)"))
    result = asked("--protocol", "lock.py", cwd=tmp_path)
    assert result.exit_code == 2
    assert "a progress property is (s: State, p: Node) -> bool" in result.output


NOW = 'now: Annotated[int, Range(0, 1)] = environment("the clock")\n    taken: '
RINGS = """def early(s: State) -> bool:
    return s.now == 0{when}


@environment_step(when=early)
def ring(s: State) -> None:
    s.now = 1{does}


def holds(s: State, p: Node)"""


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ("s.event == 17", "progress property served reads event, which is of a step, and no state has it"),
        ("s.choices > 0", "progress property served reads choices, which is of a step"),
        (
            "s.crashes_left > 0 and s.mode[p] == WAITING",
            "progress property served reads crashes_left, which is spent from the",
        ),
        ("s.in_flight[0].source == p", "which has no order and so no first element"),
    ],
)
def test_a_goal_that_reads_what_the_stable_phase_lacks_is_refused(reads: str, said: str, tmp_path: Path) -> None:
    """Each was answered before: nobody ever waits."""
    text = LOCK.replace("    return s.mode[p] == WAITING\n", f"    return {reads}\n")
    (tmp_path / "reads.py").write_text(text.replace('network="fifo"', 'network="datagrams"'))
    result = asked("--protocol", "reads.py", "--crashes", "1", cwd=tmp_path)
    assert result.exit_code == 2, result.output
    assert said in result.output


@pytest.mark.parametrize(
    ("when", "does"), [(" and s.crashes_left > 0", ""), ("", " if s.crashes_left > 0 else 0")], ids=["when", "does"]
)
def test_an_environment_that_asks_for_faults_still_to_come_is_refused(when: str, does: str, tmp_path: Path) -> None:
    """In the stable phase none is left, and what it would do then is not what the text says."""
    text = LOCK.replace("taken: ", NOW, 1).replace(
        "    stored, volatile,", "    Range, environment, environment_step, stored, volatile,"
    )
    text = text.replace("def holds(s: State, p: Node)", RINGS.format(when=when, does=does))
    (tmp_path / "rings.py").write_text(text)
    result = asked("--protocol", "rings.py", cwd=tmp_path)
    assert result.exit_code == 2, result.output
    assert "environment step ring reads crashes_left, which is spent from the stabilization time on" in result.output


@pytest.mark.slow(seconds=2)
def test_what_the_environment_may_do_need_not_be_done(tmp_path: Path) -> None:
    """A lock that is let go once a clock rang, which it need not."""
    text = LOCK.replace("taken: ", NOW, 1).replace(
        "    stored, volatile,", "    Range, environment, environment_step, stored, volatile,"
    )
    text = text.replace("def holds(s: State, p: Node)", RINGS.format(when="", does=""))
    text = text.replace(
        "    return s.mode[p] == HOLDING\n\n\n@action", "    return s.mode[p] == HOLDING and s.now == 1\n\n\n@action"
    )
    text = text.replace("    return s.mode[p] == WAITING\n", "    return s.mode[p] != FREE\n")
    (tmp_path / "rings.py").write_text(text)
    result = asked("--protocol", "rings.py", "--no-trace", cwd=tmp_path)
    assert result.exit_code == 1, result.output


@pytest.mark.slow(seconds=3)
def test_a_goal_that_was_edited_is_asked_as_it_reads_now(tmp_path: Path) -> None:
    """What is kept in machine code goes by the text, goals included."""
    forgets = LOCK.replace("    s.mode[p] = FREE\n    send(s, p, 0, RELEASE())", "    s.mode[p] = FREE")
    for said, code in (("WAITING", 1), ("HOLDING", 0), ("WAITING", 1)):
        text = forgets.replace("    return s.mode[p] == WAITING\n", f"    return s.mode[p] == {said}\n")
        (tmp_path / "edited.py").write_text(text)
        assert asked("--protocol", "edited.py", "--no-trace", cwd=tmp_path).exit_code == code


def test_a_graph_that_grows_keeps_what_went_wrong_in_it() -> None:
    """Two states with one fingerprint, met while there was no room for the next."""
    run = LiveRun(code(**TWO), 1)
    run.graph.clash, run.graph.error, run.graph.error_node = 1, 2, 3
    run.budget, most = Budget(None), run.graph.nodes_most
    run.graph.nodes = most
    run.grow()
    assert run.graph.nodes_most > most
    assert (run.graph.clash, run.graph.error, run.graph.error_node) == (1, 2, 3)


def test_two_states_with_one_fingerprint_are_no_verdict() -> None:
    run = LiveRun(code(**TWO), 1)
    run.graph.clash = 1
    run.run(Limits(None, None, None, None))
    assert not run.live.complete
    assert run.live.stopped == "two states have one fingerprint"


def test_a_moment_that_was_not_taken_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    run = LiveRun(code(**TWO), 1)
    monkeypatch.setattr(run.explorer, "take", lambda *_: setattr(run.explorer, "entered", run.explorer.entered - 1))
    run.run(Limits(None, None, None, None))
    assert not run.live.complete
    assert "not every state of the fault phase was a stabilization time" in run.live.stopped


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("--max-states", "1"), 3),
        (("--time-limit", "0.0001"), 3),
        (("--memory-limit", "1M"), 3),
        (("--channel", "1"), 3),
        (("--max-epoch", "1"), 3),
        (("--depth", "0"), 0),
    ],
)
def test_whatever_cuts_the_graph_short_is_no_verdict(words: tuple[str, ...], exit_code: int, tmp_path: Path) -> None:
    two = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0")
    result = asked(*two, *words, cwd=tmp_path)
    assert result.exit_code == exit_code, result.output
    assert (
        result.output.count("holds") == 0
        if exit_code
        else "stabilization times to depth 0" in result.output.replace("\n  ", " ")
    )
