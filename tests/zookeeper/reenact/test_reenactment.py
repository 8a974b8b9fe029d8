"""A small re-enactment on real servers, and a mutant of the model that they refute (issue 15, acceptance 3 and 4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checker.zookeeper.runs import trace_of_row
from tests.servers import SPARK, official
from tests.zookeeper.reenact.schedules import zk_4394
from traces.zookeeper.reenact.plan import plan_for
from traces.zookeeper.reenact.random_schedules import drawn
from traces.zookeeper.reenact.reenactment import tried
from traces.zookeeper.reenact.servers import settings_for
from zabspec.zookeeper.state import LOOKING, SERVING

GIVES_UP = 1003  # the seed of a run


@pytest.mark.slow(seconds=8)
def test_a_known_liveness_stop_happens_on_a_real_server_as_the_model_says(tmp_path: Path) -> None:
    release, plan = official("3.9.2"), plan_for(zk_4394(), "3.9.2")
    run, _ = tried(tmp_path, release, plan, 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
    assert len(run.harm) == 1
    assert "NullPointerException" in run.harm[0]
    assert run.after is not None
    assert [len(tree) for tree in run.after.trees.values()] == [1, 1, 1]  # and nothing is lost: the write is everywhere
    left = {p.name for p in (tmp_path / "try1").iterdir()}
    assert {"events.txt", "bytes.jsonl", "log1.txt", "server1", "result.json"} <= left


@pytest.mark.slow(seconds=8)
def test_a_model_that_swaps_two_writes_is_refuted_at_the_first_of_them(tmp_path: Path) -> None:
    """The mutant writes currentEpoch before the log; the servers of 3.9.5 do it the other way round."""
    release, plan = official(SPARK), plan_for(trace_of_row("4643"), "mutant-epoch-log")
    run, _ = tried(tmp_path, release, plan, 0, 5.0, print)
    assert not run.trouble
    step = plan.steps[run.played.steps]
    assert step.label == "write currentEpoch"
    assert any("currentEpoch: the model has" in line for line in run.played.differs)
    assert not run.harm  # nothing is said of what comes after


@pytest.mark.every
@pytest.mark.slow(seconds=9)
def test_a_shutdown_that_does_not_wait_for_a_snapshot_is_seen(tmp_path: Path) -> None:
    """Compared with the repair late-snapshot; a patched build waits, and all 32 steps agree."""
    variant = "snapshots,late-snapshot"
    release = replace(official(SPARK), settings=settings_for(variant))
    plan = plan_for(trace_of_row("late-snapshot"), variant)
    run, _ = tried(tmp_path, release, plan, 0, 10.0, print)
    assert not run.trouble
    assert plan.steps[run.played.steps].word.kind == "follower_learns"
    assert "votes in a new election before its snapshot is written" in run.played.differs[0]


@pytest.mark.slow(seconds=6)
def test_a_random_run_agrees_step_by_step_with_time_put_ahead(tmp_path: Path) -> None:
    """Its leader gives up before it serves: initLimit, five minutes here, has passed by its clock alone."""
    plan = drawn("", GIVES_UP)
    learns = [k for k, s in enumerate(plan.steps) if s.word.kind == "leader_learns"]
    early = [k for k in learns if plan.states[k]["phase"][plan.steps[k].process or 0] != SERVING]
    assert any(plan.steps[k].state["role"][plan.steps[k].process or 0] == LOOKING for k in early)
    run, _ = tried(tmp_path, official(SPARK), plan, 2, 20.0, print)
    assert run.agreed, (run.trouble, run.played.differs)
