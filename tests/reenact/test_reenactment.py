"""A small re-enactment on real servers, and a mutant of the model that they refute (issue 15, acceptance 3 and 4)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from schedules import zk_4394

from traces.reenact import servers
from traces.reenact.plan import plan_for
from traces.reenact.reenactment import tried


def real(release: str) -> servers.Release:
    try:
        return servers.find_release(release)
    except servers.Cannot as problem:
        pytest.skip(str(problem))


@pytest.mark.slow(seconds=8)
def test_a_known_liveness_stop_happens_on_a_real_server_as_the_model_says(tmp_path: Path) -> None:
    release, plan = real("3.9.2"), plan_for(zk_4394(), "3.9.2")
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
    """The text of 3.9.1 writes currentEpoch before the log; 3.9.2's servers do it the other way round."""
    release, plan = real("3.9.2"), plan_for(zk_4394(), "3.9.1")
    swapped = dataclasses.replace(plan, steps=plan.steps[:13])
    run, _ = tried(tmp_path, release, swapped, 0, 12.0, print)
    assert not run.trouble
    assert plan.steps[run.played.steps].label == "write currentEpoch"
    assert any("currentEpoch" in line for line in run.played.differs)
