"""Runs drawn at random: the lines that are kept of them, and what those say together."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from checker.errors import NoVerdict
from checker.zookeeper.requests.conformance import ConformanceRequest
from tests.servers import nowhere
from tests.zookeeper.reenact.schedules import zk_4394
from traces.zookeeper.reenact import campaign
from traces.zookeeper.reenact.campaign import FILE, Line, kinds_table, release_table
from traces.zookeeper.reenact.distributions import Release
from traces.zookeeper.reenact.mapping import MAPPING
from traces.zookeeper.reenact.periodic import PERIODIC
from traces.zookeeper.reenact.plan import plan_for
from traces.zookeeper.reenact.player import Played
from traces.zookeeper.reenact.random_schedules import drawn
from traces.zookeeper.reenact.reenactment import ReenactedRun
from zabspec.zookeeper.state import AWAITING_ACKS, FOLLOWING, SERVING

LINE = Line(
    "3.9.5", 1, 60, 60, "", [], "", {"crash": 2, "elect": 58}, [], [], 9.0, 5.0,
)  # fmt: skip
OTHER = replace(LINE, release="3.6.0", agreed=9, at="elect", differs=["no"], kinds={"crash": 9})


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("seed", [2017, 2019, 2022])
def test_nothing_is_drawn_that_servers_do_not_do_here(seed: int) -> None:
    """Each of these seeds had such a step: a batch of more than one, a join where no quorum says one epoch, a leader
    with its quorum that waits."""
    plan = drawn("3.9.2", seed)
    for s, step in zip(plan.states, plan.steps, strict=False):
        phase, acks = s["phase"], s["new_leader_acks"]
        assert step.label in MAPPING or step.word.kind in MAPPING
        if step.word.kind == "join":
            l = step.word.operands["leader"]
            behind = [f for f in range(3) if s["role"][f] == FOLLOWING and s["leader"][f] == l]
            assert any((phase[f] == SERVING) == (phase[l] == SERVING) for f in behind)
        if any(phase[l] == AWAITING_ACKS and len(acks[l]) > 1 for l in range(3)):
            assert step.label == "startZkServer"


def test_a_campaign_is_told_by_release() -> None:
    head, rows = release_table([LINE, LINE, OTHER])
    assert head[:6] == ("release", "runs", "whole", "drawn", "played", "agreed")
    assert rows == [
        ("3.9.5", "2", "2", "120", "120", "120", "100.0", "100.0"),
        ("3.6.0", "1", "0", "60", "10", "9", "90.0", "15.0"),
        ("all", "3", "2", "180", "130", "129", "99.2", "71.7"),
    ]
    assert kinds_table([LINE, OTHER])[1] == [("crash", "11", ""), ("elect", "58", "1")]


def test_a_run_that_was_ended_in_its_middle_is_played_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "3.9.5-seed1" / "try1").mkdir(parents=True)
    seen: list[bool] = []

    def played_once(folder: Path, *_: object) -> tuple[ReenactedRun, int]:
        seen.append(folder.exists())
        return ReenactedRun(Played(0, []), None), 1

    monkeypatch.setattr(campaign, "drawn", lambda *_: plan_for(zk_4394(), "3.9.2"))
    monkeypatch.setattr(campaign, "play_until_agreed", played_once)
    (one,) = campaign.played(tmp_path, [(nowhere("3.9.5"), "", 1)], 0, 1.0)
    assert seen == [False]
    assert json.loads((tmp_path / FILE).read_text()) == asdict(one[0])


def test_random_runs_are_of_servers_with_the_settings_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Release] = []

    def played(_: Path, asked: list[tuple[Release, str, int]], *__: object) -> tuple[()]:
        started.extend(real for real, _, _ in asked)
        return ()

    monkeypatch.setattr(ConformanceRequest, "found", lambda _, name: nowhere(name))
    monkeypatch.setattr(campaign, "played", played)
    for number, variant in enumerate(("snapshots", "walk", "power")):
        ConformanceRequest("3.9.5", variant=variant, runs=1, output=str(tmp_path / f"{number}")).answer()
    assert [set(PERIODIC) <= set(real.settings) for real in started] == [True, False, False]
    assert [bool(real.settings) for real in started] == [True, False, True]  # those of `walk` are the defaults
    with pytest.raises(NoVerdict, match="walk"):
        ConformanceRequest("3.9.5", variant="walk,snapshots", runs=1, output=str(tmp_path / "both")).answer()
